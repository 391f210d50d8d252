/*
 * The socket, and the thread that answers it and empties the memories.
 */
#include "wire/wire.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "wire/memory.h"

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
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	MAX_MEMORIES = 1024,
	PACE_MS = 8, /* a ring holds 2,000,000 marks a second for twice as long */
	FREE_SLOTS_NS = 1000000000,
	MIN_SPAN_NS = 1000000, /* between the readings of clocks by which times are converted */
};

struct connection {
	struct wire_memory memory;
	int pidfd; /* -1: not supported */
};

struct wire {
	struct wire_config config;
	struct wire_reader reader;
	char name[IO_RANDOM_NAME_BYTES]; /* that nobody guesses */
	int listener, stop;              /* stop: an eventfd */
	uint32_t clock, nr_objects;
	struct connection *connections; /* owned */
	size_t nr, room;
	uint64_t free_slots_ns; /* when they are looked for next */
	pthread_t thread;
	bool is_started;
};

static int listen_at(const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;

	if (fd < 0)
		return -errno;
	snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "%s", name);
	if (bind(fd, (struct sockaddr *)&to, (socklen_t)len) || listen(fd, SOMAXCONN)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

int wire_open(const struct wire_config *config, struct wire **out, struct err *e)
{
	struct wire *w = mem_zalloc(sizeof(*w));
	int rc;

	if (!w)
		return err_set(e, -ENOMEM, "no memory for marks");
	w->config = *config;
	w->listener = w->stop = -1;
	w->clock = wire_has_cycles() ? CPUPERF_MARK_CYCLES : CPUPERF_MARK_MONOTONIC;
	rc = wire_reader_init(&w->reader, &w->config) ?: io_random_name(w->name);
	if (rc == 0) {
		w->listener = listen_at(w->name);
		w->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		rc = w->listener < 0 ? w->listener : w->stop < 0 ? -errno : 0;
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

static int send_file(int to, int fd)
{
	char byte = 0;
	struct iovec part = {&byte, 1};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	return sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

/* Makes memory for the process at the other end. */
static int serve(struct wire *w, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct connection *c;
	int file = -1, rc;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return -errno;
	if (peer.pid <= 0 || peer.uid != geteuid() || w->nr == MAX_MEMORIES)
		return -EAGAIN;
	c = MEM_ADD(w->connections, w->nr, w->room);
	if (!c)
		return -ENOMEM;
	rc = wire_memory_init(&c->memory, (uint32_t)peer.pid, ++w->nr_objects, w->clock, &file);
	if (rc) {
		w->nr--;
		return rc;
	}
	c->pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	rc = send_file(fd, file);
	close(file);
	return rc; /* without a receiver the memory stays empty, until the process ends */
}

static void accept_all(struct wire *w)
{
	for (;;) {
		int fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (serve(w, fd))
			w->reader.totals.refused++;
		else
			w->reader.totals.connections++;
		close(fd);
	}
}

static bool has_ended(const struct connection *c)
{
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};

	return c->pidfd < 0 ? kill((pid_t)c->memory.pid, 0) && errno == ESRCH : poll(&p, 1, 0) > 0;
}

static void end_connection(struct wire *w, size_t i)
{
	struct connection *c = &w->connections[i];

	wire_memory_close(&c->memory, &w->reader);
	wire_memory_fini(&c->memory);
	io_close(&c->pidfd);
	*c = w->connections[--w->nr];
}

/* The end of a process is looked for before its memory is read: nothing is written after it. */
static void drain_all(struct wire *w)
{
	struct wire_reader *r = &w->reader;
	bool frees = r->now.ns >= w->free_slots_ns;

	if (r->now.ns - r->before.ns > MIN_SPAN_NS)
		r->before = r->now;
	wire_clocks_now(&r->now);
	for (size_t i = w->nr; i-- > 0;) {
		bool ended = has_ended(&w->connections[i]);

		wire_memory_drain(&w->connections[i].memory, r);
		if (ended)
			end_connection(w, i);
		else if (frees)
			wire_memory_free_slots(&w->connections[i].memory);
	}
	if (frees)
		w->free_slots_ns = r->now.ns + FREE_SLOTS_NS;
}

static void *run(void *arg)
{
	struct wire *w = arg;
	struct pollfd fds[] = {{.fd = w->stop, .events = POLLIN},
			       {.fd = w->listener, .events = POLLIN}};

	while (poll(fds, 2, w->nr ? PACE_MS : -1) >= 0 || errno == EINTR) {
		if (fds[0].revents)
			break;
		drain_all(w);
		accept_all(w);
	}
	return NULL;
}

int wire_start(struct wire *w)
{
	int rc = -pthread_create(&w->thread, NULL, run, w);

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
	drain_all(w);
	while (w->nr)
		end_connection(w, w->nr - 1);
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
