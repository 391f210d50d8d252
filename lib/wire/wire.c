/*
 * The socket, and the thread that answers it and empties the memories.
 */
#include "wire/wire.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/sys.h"
#include "wire/functions.h"
#include "wire/functions_memory.h"
#include "wire/heap.h"
#include "wire/heap_memory.h"
#include "wire/memory.h"
#include "wire/tasks.h"

#define CPUPERF_NO_MARKS
#include "cpuperf/mark.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	MAX_MEMORIES = 1024,
	MAX_WAITING = 64,      /* connections that have not said hello */
	HELLO_NS = 1000000000, /* for which they may wait */
	NR_TRIES = 8,          /* for a number that no other recorder has */
	NAME_BYTES = sizeof(CPUPERF_MARK_SOCKET) + 8,
	PACE_MS = 8, /* a ring holds 2,000,000 marks a second for twice as long */
	FREE_SLOTS_NS = 1000000000,
	LOOK_NS = 100000000, /* with few memories; each costs a microsecond */
	LOOK_PER_MEMORY_NS = 4000000,
};

struct connection {
	struct wire_memory memory;
	int pidfd; /* below 0: not supported */
};

struct waiting {
	int fd;
	uint64_t until_ns;
};

struct wire {
	struct wire_config config;
	struct wire_reader reader;
	uint32_t number;
	char name[NAME_BYTES];
	int listener, stop; /* stop: an eventfd */
	uint32_t counter, nr_objects;
	struct connection *connections; /* owned */
	size_t nr, room;
	struct waiting waiting[MAX_WAITING];
	size_t nr_waiting;
	uint64_t free_slots_ns; /* when they are looked for next */
	uint64_t look_ns;       /* the same of processes that run another program */
	pthread_t thread;
	bool is_started;
	bool is_full; /* no descriptors for connections: they are tried again at the pace */
};

static socklen_t make_address(uint32_t number, struct sockaddr_un *to)
{
	*to = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(to->sun_path + 1, sizeof(to->sun_path) - 1, CPUPERF_MARK_SOCKET "%08x", number);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + NAME_BYTES);
}

static int listen_at(uint32_t number)
{
	struct sockaddr_un to;
	socklen_t len = make_address(number, &to);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&to, len) || listen(fd, SOMAXCONN)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

/* Listens under a random number that is free. */
static int listen_somewhere(struct wire *w)
{
	int rc = -EADDRINUSE;

	for (int i = 0; i < NR_TRIES && rc == -EADDRINUSE; i++) {
		if (sys()->getrandom(&w->number, sizeof(w->number)) != (int)sizeof(w->number))
			return -EIO;
		rc = w->number ? listen_at(w->number) : -EADDRINUSE;
	}
	if (rc < 0)
		return rc;
	w->listener = rc;
	snprintf(w->name, sizeof(w->name), CPUPERF_MARK_SOCKET "%08x", w->number);
	return 0;
}

bool wire_is_there(uint32_t number)
{
	const struct cpuperf_mark_hello hello = {.magic = CPUPERF_MARK_MAGIC,
						 .version = CPUPERF_MARK_VERSION,
						 .ask = CPUPERF_MARK_ASK_NOTHING};
	struct sockaddr_un to;
	socklen_t len = make_address(number, &to);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool is_there;

	if (fd < 0)
		return true;
	is_there = connect(fd, (struct sockaddr *)&to, len) == 0 || errno != ECONNREFUSED;
	if (is_there)
		(void)send(fd, &hello, sizeof(hello), MSG_NOSIGNAL);
	close(fd);
	return is_there;
}

int wire_open(const struct wire_config *config, struct wire **out, struct err *e)
{
	struct wire *w = mem_zalloc(sizeof(*w));
	int rc;

	if (!w)
		return err_set(e, -ENOMEM, "no memory for marks");
	w->config = *config;
	w->listener = w->stop = -1;
	w->counter = wire_counter(&root_live);
	rc = wire_reader_init(&w->reader, &w->config) ?: listen_somewhere(w);
	if (rc == 0) {
		w->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		rc = w->stop < 0 ? -errno : 0;
	}
	if (rc) {
		wire_free(w);
		return err_set(e, rc, "cannot listen for marks: %s", strerror(-rc));
	}
	*out = w;
	return 0;
}

const char *wire_name(const struct wire *w)
{
	return w->name;
}

uint32_t wire_number(const struct wire *w)
{
	return w->number;
}

static int answer(int to, const int *fds, uint32_t nr)
{
	char byte = 0;
	struct iovec part = {&byte, 1};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(CPUPERF_MARK_MAX_COUNTS * sizeof(int))];
	} control = {.bytes = {0}};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(nr * sizeof(int));
	memcpy(CMSG_DATA(c), fds, nr * sizeof(int));
	message.msg_controllen = CMSG_SPACE(nr * sizeof(int));
	if (!nr)
		message.msg_control = NULL, message.msg_controllen = 0;
	return sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

static void end_connection(struct wire *w, size_t i, bool has_ended)
{
	struct connection *c = &w->connections[i];

	if (has_ended)
		wire_memory_end_threads(&c->memory, &w->reader);
	wire_memory_close(&c->memory, &w->reader);
	wire_memory_fini(&c->memory);
	io_close(&c->pidfd);
	*c = w->connections[--w->nr];
}

/* A program that runs another by exec keeps its number and not its memory: the regions that it left
 * open end before those of the other begin. */
static void end_image_before(struct wire *w, uint32_t pid)
{
	for (size_t i = w->nr; i-- > 0;) {
		struct wire_memory *m = &w->connections[i].memory;

		if (m->pid != pid)
			continue;
		wire_memory_drain(m, &w->reader);
		if (!wire_memory_is_open(m) || wire_memory_is_mapped(m))
			continue;
		wire_clocks_now(&w->reader.now);
		end_connection(w, i, true);
	}
}

/* Another program without marks says no hello: it is looked for. */
static bool has_left_image(struct wire *w, size_t i)
{
	struct wire_memory *m = &w->connections[i].memory;

	return wire_memory_is_open(m) && wire_memory_runs_another(m) && !wire_memory_is_mapped(m);
}

/* Makes memory for an object of the process at the other end. */
static int serve_object(struct wire *w, int fd, uint32_t pid, const struct cpuperf_mark_hello *h)
{
	struct wire_memory_config config = {.pid = pid,
					    .object = w->nr_objects + 1,
					    .clock = wire_clock(w->counter, h->object),
					    .is_nested = wire_is_nested(&root_live, pid),
					    .nr_counts = w->config.nr_counts,
					    .chance = w->config.chance};
	struct connection *c;
	int file = -1, rc;

	if (!w->config.marks)
		return -ENOTSUP;
	end_image_before(w, pid);
	if (w->nr == MAX_MEMORIES)
		return -ENOSPC;
	c = MEM_ADD(w->connections, w->nr, w->room);
	if (!c)
		return -ENOMEM;
	rc = wire_memory_init(&c->memory, &config, &file);
	if (rc) {
		w->nr--;
		return rc;
	}
	w->nr_objects++;
	c->pidfd = sys()->pidfd_open((pid_t)pid);
	rc = answer(fd, &file, 1);
	close(file);
	if (rc) {
		end_connection(w, w->nr - 1, false);
		if (w->config.gave_up)
			w->config.gave_up(w->config.arg, pid);
	}
	return rc;
}

/* An agent that was loaded before, or is another root folder's. */
static int refuse_old_heap(struct wire *w, uint32_t pid)
{
	w->reader.totals.heaps_old++;
	if (w->config.heap && w->config.heap_old)
		w->config.heap_old(w->config.arg, pid);
	return -EPROTO;
}

/* Makes memory for the heap of the process at the other end. */
static int serve_heap(struct wire *w, int fd, uint32_t pid)
{
	struct wire_heap *heap;
	int file, pidfd,
	    rc = w->config.heap ? wire_heap_new(w->config.heap, &heap, &file) : -ENOTSUP;

	if (rc)
		return rc;
	pidfd = sys()->pidfd_open((pid_t)pid);
	/* a heap that nobody writes to is no harm; one that nobody reads would be a loss */
	if (!w->config.heap_added(w->config.arg, pid, pidfd, heap)) {
		io_close(&pidfd);
		wire_heap_free(heap);
		close(file);
		return -ENOSPC;
	}
	rc = answer(fd, &file, 1);
	close(file);
	return rc;
}

static bool has_hung_up(int fd)
{
	struct pollfd p = {.fd = fd};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

static int lose_functions(const struct wire *w, uint32_t pid, int error)
{
	if (w->config.functions && w->config.functions_lost)
		w->config.functions_lost(w->config.arg, pid, error);
	return error;
}

/* Makes memory for the calls of the process at the other end. */
static int serve_functions(struct wire *w, int fd, uint32_t pid, uint32_t version)
{
	struct wire_functions *f;
	int file, files[2], pidfd, rc = -ENOTSUP;

	if (version != FUNCTIONS_MEMORY_VERSION)
		return -EPROTO;
	if (has_hung_up(fd))
		return lose_functions(w, pid, -ETIMEDOUT);
	if (w->config.functions)
		rc = wire_functions_new(w->config.functions, &f, &file);
	if (rc)
		return lose_functions(w, pid, rc);
	pidfd = sys()->pidfd_open((pid_t)pid);
	if (!w->config.functions_added(w->config.arg, pid, pidfd, f)) {
		io_close(&pidfd);
		wire_functions_free(f);
		close(file);
		return -ENOSPC;
	}
	files[0] = file;
	files[1] = w->config.functions->wanted;
	rc = answer(fd, files, files[1] < 0 ? 1 : 2);
	close(file);
	return rc ? lose_functions(w, pid, -ETIMEDOUT) : 0;
}

/* All processes have the same memory. */
static int serve_experiment(const struct wire *w, int fd)
{
	return w->config.has_experiment ? answer(fd, &w->config.experiment, 1) : -ENOTSUP;
}

static int serve_question(const struct wire *w, bool (*serves)(void *arg, uint32_t pid), int fd,
			  uint32_t pid)
{
	const int none = -1;

	if (!w->config.heap || !serves || !serves(w->config.arg, pid))
		return -ENOTSUP;
	return answer(fd, &none, 0);
}

static struct wire_memory *find_memory(struct wire *w, uint32_t pid, uint32_t object)
{
	for (size_t i = 0; i < w->nr; i++)
		if (w->connections[i].memory.object == object &&
		    w->connections[i].memory.pid == pid)
			return &w->connections[i].memory;
	return NULL;
}

/* Finds the thread, and opens its counters. */
static int serve_thread(struct wire *w, int fd, uint32_t pid, const struct cpuperf_mark_hello *h)
{
	struct wire_memory *m = find_memory(w, pid, h->object);
	uint32_t tid = !m ? 0 : m->is_nested ? wire_find_thread(&root_live, pid, h->tid) : h->tid;
	void *counters = NULL;
	int files[CPUPERF_MARK_MAX_COUNTS] = {0}, rc;

	if (!m)
		return -ENOENT;
	if (tid && w->config.nr_counts)
		counters = w->config.counters_open(w->config.arg, pid, tid, files);
	rc = wire_memory_greet(m, &w->reader, h->slot, tid, counters);
	if (rc && counters)
		w->config.counters_close(w->config.arg, counters);
	return rc ?: answer(fd, files, counters ? w->config.nr_counts : 0);
}

/* Frees slots of threads of the process that have ended. */
static int serve_room(struct wire *w, int fd, uint32_t pid)
{
	const int none = -1;

	for (size_t i = 0; i < w->nr; i++) {
		struct wire_memory *m = &w->connections[i].memory;

		if (m->pid != pid)
			continue;
		wire_memory_drain(m, &w->reader);
		wire_memory_free_slots(m, &w->reader);
	}
	return answer(fd, &none, 0);
}

static bool may_connect(const struct wire *w, const struct ucred *peer)
{
	return peer->pid > 0 && (peer->uid == geteuid() ||
				 (w->config.may_connect &&
				  w->config.may_connect(w->config.arg, (uint32_t)peer->pid)));
}

/* Answers what the process at the other end says first. -EAGAIN: it says nothing yet. */
static int serve(struct wire *w, int fd)
{
	struct cpuperf_mark_hello hello;
	ssize_t bytes = recv(fd, &hello, sizeof(hello), MSG_DONTWAIT);
	socklen_t len = sizeof(struct ucred);
	struct wire_totals *t = &w->reader.totals;
	struct ucred peer;
	int rc = -EINVAL;

	if (bytes < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (bytes == 0)
		return 0; /* it has gone */
	if (bytes == sizeof(hello) && hello.ask == CPUPERF_MARK_ASK_NOTHING)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || !may_connect(w, &peer)) {
		t->refused++;
	} else if (bytes != sizeof(hello) || hello.magic != CPUPERF_MARK_MAGIC ||
		   hello.version != CPUPERF_MARK_VERSION) {
		t->old++;
	} else if (hello.ask == CPUPERF_MARK_ASK_MEMORY) {
		rc = serve_object(w, fd, (uint32_t)peer.pid, &hello);
		t->connections += rc == 0;
		t->refused += rc != 0;
		t->refused_why = rc ?: t->refused_why;
	} else if (hello.ask == CPUPERF_MARK_ASK_REGRET) {
		t->unmapped++;
	} else if (hello.ask == CPUPERF_MARK_ASK_THREAD) {
		rc = serve_thread(w, fd, (uint32_t)peer.pid, &hello);
	} else if (hello.ask == CPUPERF_MARK_ASK_ROOM) {
		rc = serve_room(w, fd, (uint32_t)peer.pid);
	} else if (hello.ask == CPUPERF_MARK_ASK_HEAP && hello.object != HEAP_VERSION) {
		rc = refuse_old_heap(w, (uint32_t)peer.pid);
	} else if (hello.ask == CPUPERF_MARK_ASK_HEAP) {
		rc = serve_heap(w, fd, (uint32_t)peer.pid);
		t->heaps += rc == 0;
		t->heaps_refused += rc != 0;
	} else if (hello.ask == CPUPERF_MARK_ASK_DUMP) {
		rc = serve_question(w, w->config.heap_dump, fd, (uint32_t)peer.pid);
	} else if (hello.ask == CPUPERF_MARK_ASK_REACH) {
		rc = serve_question(w, w->config.heap_reach, fd, (uint32_t)peer.pid);
	} else if (hello.ask == CPUPERF_MARK_ASK_PAGES) {
		rc = serve_question(w, w->config.heap_pages, fd, (uint32_t)peer.pid);
	} else if (hello.ask == CPUPERF_MARK_ASK_FUNCTIONS) {
		rc = serve_functions(w, fd, (uint32_t)peer.pid, hello.object);
		t->functions += rc == 0;
		t->functions_refused += rc != 0;
	} else if (hello.ask == CPUPERF_MARK_ASK_EXPERIMENT) {
		rc = serve_experiment(w, fd);
	}
	return rc;
}

/* Without a word for so long: cpuperf/mark.h of version 1 waited for an answer at once. */
static void end_waiting(struct wire *w, size_t i)
{
	close(w->waiting[i].fd);
	w->waiting[i] = w->waiting[--w->nr_waiting];
}

static void serve_waiting(struct wire *w, bool is_last)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = w->nr_waiting; i-- > 0;) {
		bool is_silent = serve(w, w->waiting[i].fd) == -EAGAIN;

		if (is_silent && !is_last && now_ns < w->waiting[i].until_ns)
			continue;
		w->reader.totals.old += is_silent;
		end_waiting(w, i);
	}
}

static void note_full(struct wire *w, int error)
{
	bool was_full = w->is_full;

	w->is_full = error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
	if (w->is_full && !was_full)
		(void)lose_functions(w, 0, -error);
}

static void accept_all(struct wire *w)
{
	while (w->nr_waiting < MAX_WAITING) {
		int fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		note_full(w, fd < 0 ? errno : 0);
		if (fd < 0)
			break;
		w->waiting[w->nr_waiting++] =
		    (struct waiting){.fd = fd, .until_ns = clock_monotonic_ns() + HELLO_NS};
	}
}

static bool has_ended(const struct connection *c)
{
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};

	return c->pidfd < 0 ? kill((pid_t)c->memory.pid, 0) && errno == ESRCH : poll(&p, 1, 0) > 0;
}

static void pass(const struct wire *w, uint64_t until_ns)
{
	if (w->config.passed)
		w->config.passed(w->config.arg, until_ns);
}

/* The end of a process is looked for before its memory is read: nothing is written after it. What a
 * thread wrote before begin_ns is found in all of its rings, since it finishes a mark before it
 * begins the next one. */
static void drain_all(struct wire *w)
{
	struct wire_reader *r = &w->reader;
	uint64_t begin_ns = clock_monotonic_ns();
	bool frees = r->now.ns >= w->free_slots_ns, looks = r->now.ns >= w->look_ns;

	wire_reader_begin(r);
	for (size_t i = w->nr; i-- > 0;) {
		bool ended = has_ended(&w->connections[i]);

		wire_memory_drain(&w->connections[i].memory, r);
		if (ended || (looks && has_left_image(w, i)))
			end_connection(w, i, true);
		else if (frees || wire_memory_has_grown(&w->connections[i].memory))
			wire_memory_free_slots(&w->connections[i].memory, r);
	}
	if (frees)
		w->free_slots_ns = r->now.ns + FREE_SLOTS_NS;
	if (looks)
		w->look_ns = r->now.ns + LOOK_NS + w->nr * LOOK_PER_MEMORY_NS;
	pass(w, begin_ns);
}

static void *run(void *arg)
{
	struct wire *w = arg;
	struct pollfd fds[2 + MAX_WAITING + MAX_MEMORIES] = {{.fd = w->stop, .events = POLLIN},
							     {.fd = w->listener, .events = POLLIN}};
	nfds_t nr = 2;

	while (poll(fds, nr, w->nr || w->nr_waiting || w->is_full ? PACE_MS : -1) >= 0 ||
	       errno == EINTR) {
		if (fds[0].revents)
			break;
		drain_all(w);
		accept_all(w);
		serve_waiting(w, false);
		for (nr = 2; nr < 2 + w->nr_waiting; nr++)
			fds[nr] = (struct pollfd){.fd = w->waiting[nr - 2].fd, .events = POLLIN};
		/* open regions end with their process: it is looked at at once */
		for (size_t i = 0; i < w->nr; i++)
			fds[nr++] =
			    (struct pollfd){.fd = w->connections[i].pidfd, .events = POLLIN};
		fds[1].fd = w->nr_waiting < MAX_WAITING && !w->is_full ? w->listener : -1;
	}
	return NULL;
}

int wire_start(struct wire *w)
{
	int rc;

	wire_reader_name_counts(&w->reader);
	rc = -pthread_create(&w->thread, NULL, run, w);

	w->is_started = rc == 0;
	return rc;
}

void wire_stop(struct wire *w)
{
	if (!w->is_started)
		return;
	(void)eventfd_write(w->stop, 1);
	pthread_join(w->thread, NULL);
	w->is_started = false;
	accept_all(w);
	serve_waiting(w, true);
	drain_all(w);
	while (w->nr)
		end_connection(w, w->nr - 1, false);
	pass(w, UINT64_MAX);
	io_close(&w->listener);
}

void wire_totals(const struct wire *w, struct wire_totals *out)
{
	*out = w->reader.totals;
}

void wire_free(struct wire *w)
{
	if (!w)
		return;
	wire_stop(w);
	io_close(&w->listener);
	io_close(&w->stop);
	wire_reader_fini(&w->reader);
	mem_free(w->connections);
	mem_free(w);
}
