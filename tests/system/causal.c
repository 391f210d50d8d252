/*
 * Threads of which it is known what a faster function would bring: causal HOW WHOLE PART [PERCENT
 * [PERCENT]]. `critical` runs for so many million loops in one thread, `slack` for the part in
 * another one; they are joined, or meet at a barrier ten times, or (serial) run in one thread;
 * lock: both in each of two threads, critical with a lock; masked: in one that blocks all signals,
 * of a child by fork; pipe: of a child that says so by a pipe. served: a thread does a thousandth
 * of the loops of critical for each of 1000 requests, another one that of slack, in a region
 * "handle" of cpuperf/mark.h, and one "handled" of coz, and passes the progress point "request" of
 * coz; of its region "held" ROOM are always under way; serve: for ever. Of
 * critical alone: c11, in a thread of C11; futex, in one that then wakes the first by syscall(2);
 * socket, in a child that says so by one; robust, none, but locks a mutex whose owner has died;
 * loaded, that of the library $LOADED; turnover, a thousandth of it in each of four threads, then
 * in a child, for ever; outside_WAY, in a thread that says so to a child, which says so by a
 * connection for which the first thread waits in that way (poll, epoll_wait …). once_CHANNEL_WAY: a
 * thread says so by the channel (pipe, eventfd, pair, tcp), for which the first thread waits in
 * that way; talk_CHANNEL_WAY: a hundred times, and the first thread runs slack each time;
 * echo_CHANNEL_WAY: and answers by another one, for which is waited, so that both take turns.
 * regions: a thread runs critical for half of the whole in a region "outer", then both functions
 * for the other half in ten regions "inner" in it; another one runs both for the part in a region
 * "spare", and as much outside of one. open: in a region "outer" one that does not end ("lost"),
 * and a region "passed" that another thread ends, then critical in "later". closed: the library
 * $LOADED is loaded and unloaded ten times; each time its critical runs in a region "library", and
 * then slack, while a thread runs the region "outer". full: critical, for a fourth of the whole,
 * and as many marks as a ring holds in a region "outer", then critical. tool: critical in a region
 * of Kokkos, "tool's". The last arguments really cut the loops of critical, and of slack.
 */
#define _GNU_SOURCE
#include "cpuperf/mark_keyed.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

enum { ROUNDS = 10, REQUESTS = 1000, ROOM = 4 };

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long rounds = 1;
static const unsigned long million = 1000000;

#ifdef LIBRARY
#define CRITICAL
#else
#define CRITICAL static
#endif
CRITICAL __attribute__((noinline)) unsigned long critical(unsigned long nr)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < nr; i++)
		__asm__ volatile("" : "+r"(x));
	return x;
}

#ifdef LIBRARY
unsigned long within(unsigned long nr)
{
	unsigned long x;

	CPUPERF_BEGIN("library");
	x = critical(nr);
	CPUPERF_END;
	return x;
}
#endif

static __attribute__((noinline)) unsigned long slack(unsigned long nr)
{
	unsigned long x = 2;

	for (unsigned long i = 0; i < nr; i++)
		__asm__ volatile("" : "+r"(x));
	return x;
}

struct work {
	unsigned long (*function)(unsigned long);
	unsigned long nr;
};

static void *run(void *of)
{
	const struct work *w = of;

	for (long i = 0; i < rounds; i++) {
		(void)w->function(w->nr / (unsigned long)rounds);
		if (rounds > 1)
			pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void *run_locked(void *of)
{
	const struct work *w = of;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		(void)critical(w[0].nr / (2 * ROUNDS));
		pthread_mutex_unlock(&lock);
		(void)slack(w[1].nr / (2 * ROUNDS));
	}
	return NULL;
}

/* As coz.h has it. */
struct counter {
	size_t count, unused;
};

static sem_t room, requests;

static void *receive(void *of)
{
	const struct work *w = of;

	for (;;) {
		sem_wait(&room);
		(void)w->function(w->nr / REQUESTS);
		sem_post(&requests);
	}
	return NULL;
}

enum { POINT = 1, BEGIN, END };

static struct counter *find_counter(int type, const char *name)
{
	static struct counter none;
	struct counter *(*find)(int, const char *) = NULL;

	*(void **)&find = dlsym(RTLD_DEFAULT, "_coz_get_counter");
	return find ? find(type, name) : &none;
}

static void pass(struct counter *count, size_t nr)
{
	__atomic_fetch_add(&count->count, nr, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void answer(struct counter *count)
{
	pass(count, 1);
	CPUPERF_INSTANT("answered");
}

static int serve(struct work *whole, const struct work *part, unsigned long left)
{
	struct counter *count = find_counter(POINT, "request");
	struct counter *begun = find_counter(BEGIN, "handled"),
		       *ended = find_counter(END, "handled");
	struct counter *taken = find_counter(BEGIN, "held"), *given = find_counter(END, "held");
	pthread_t receiver;

	pass(taken, ROOM);
	sem_init(&room, 0, ROOM);
	sem_init(&requests, 0, 0);
	if (pthread_create(&receiver, NULL, receive, whole))
		return 1;
	while (left--) {
		sem_wait(&requests);
		CPUPERF_BEGIN("handle");
		pass(begun, 1);
		(void)part->function(part->nr / REQUESTS);
		pass(ended, 1);
		CPUPERF_END;
		pass(given, 1);
		pass(taken, 1);
		sem_post(&room);
		answer(count);
	}
	return 0;
}

static int run_of_c11(void *of)
{
	run(of);
	return 5;
}

static int join_of_c11(struct work *w)
{
	thrd_t thread;
	int status = 1;

	if (thrd_create(&thread, run_of_c11, w) == thrd_success)
		thrd_join(thread, &status);
	return status;
}

static int is_done;

static void *run_and_wake(void *of)
{
	run(of);
	__atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &is_done, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

static int wait_by_futex(struct work *w)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_and_wake, w))
		return 1;
	while (!__atomic_load_n(&is_done, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &is_done, FUTEX_WAIT, 0, NULL, NULL, 0);
	return 6;
}

static int wait_for_socket(struct work *w)
{
	int fds[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		return 1;
	if (fork())
		return recv(fds[0], &byte, 1, 0) == 1 ? 7 : 1;
	run(w);
	_exit(send(fds[1], "", 1, 0) != 1);
}

/* For how long a thread has waited for a CPU. */
static unsigned long delay_of(long tid)
{
	unsigned long ran = 0, waited = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", tid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%lu %lu", &ran, &waited) != 2)
		abort();
	fclose(f);
	return waited;
}

static long runs_for_ever;

static void *run_for_ever(void *of)
{
	const struct work *w = of;

	runs_for_ever = syscall(SYS_gettid);
	pthread_barrier_wait(&barrier);
	for (;;)
		(void)critical(w->nr / ROUNDS);
	return NULL;
}

static int end_beside(struct work *w)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, run_for_ever, w))
		return 1;
	pthread_barrier_wait(&barrier);
	(void)slack(w->nr);
	printf("%lu\n", delay_of(getpid()) + delay_of(runs_for_ever));
	return 12;
}

static pthread_mutex_t robust;

static void *end_with_lock(void *of)
{
	return pthread_mutex_lock(&robust) ? NULL : of;
}

static int lock_of_dead(struct work *w)
{
	pthread_mutexattr_t how;
	pthread_t thread;

	alarm(60); /* it is not to wait for itself */
	pthread_mutexattr_init(&how);
	pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &how);
	if (pthread_create(&thread, NULL, end_with_lock, w) || pthread_join(thread, NULL) ||
	    pthread_mutex_lock(&robust) != EOWNERDEAD || pthread_mutex_consistent(&robust))
		return 1;
	return pthread_mutex_unlock(&robust) ? 1 : 11;
}

static int run_loaded(struct work *w)
{
	void *library = dlopen(getenv("LOADED"), RTLD_NOW);

	*(void **)&w->function = library ? dlsym(library, "critical") : NULL;
	if (!w->function)
		return 1;
	run(w);
	return 8;
}

/* --- channels by which threads talk, and ways to wait for them */

static int make_eventfd(int fds[2])
{
	fds[0] = fds[1] = eventfd(0, EFD_SEMAPHORE);
	return fds[0] < 0;
}

static int make_pair(int fds[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
}

static int listen_at(struct sockaddr_in *a)
{
	socklen_t len = sizeof(*a);
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	*a = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	return bind(fd, (void *)a, len) || listen(fd, 1) || getsockname(fd, (void *)a, &len) ? -1
											     : fd;
}

static int connect_to(const struct sockaddr_in *a)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	return connect(fd, (const void *)a, sizeof(*a)) ? -1 : fd;
}

static int make_tcp(int fds[2])
{
	struct sockaddr_in a;
	const int listening = listen_at(&a);

	fds[1] = connect_to(&a);
	fds[0] = accept(listening, NULL, NULL);
	return fds[0] < 0 || fds[1] < 0;
}

static const struct {
	const char *name;
	int (*make)(int fds[2]);
} channels[] = {{"pipe", pipe}, {"eventfd", make_eventfd}, {"pair", make_pair}, {"tcp", make_tcp}};
enum { CHANNELS = sizeof(channels) / sizeof(channels[0]), WAYS = 7, TURNS = 100 };

static int wait_read(int fd)
{
	(void)fd;
	return 1;
}

static int wait_poll(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, -1);
}

static int wait_ppoll(int fd)
{
	struct pollfd p[] = {{.fd = -1}, {.fd = fd, .events = POLLIN}};

	return ppoll(p, 2, NULL, NULL);
}

static int wait_select(int fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, NULL);
}

static int wait_pselect(int fd)
{
	fd_set set, others;

	FD_ZERO(&set);
	FD_ZERO(&others);
	FD_SET(fd, &set);
	FD_SET(fd, &others);
	return pselect(fd + 1, &set, NULL, &others, NULL, NULL);
}

/* Its number is no descriptor. */
static int watch(int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data = {.u64 = UINT64_MAX - (unsigned)fd}};
	const int epoll = epoll_create1(0);

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) ? -1 : epoll;
}

static int watched[1024]; /* by descriptor */

static int wait_epoll(int fd)
{
	struct epoll_event e;

	return epoll_wait(watched[fd], &e, 1, -1);
}

static int wait_epoll_pwait(int fd)
{
	struct epoll_event e[2];

	return epoll_pwait(watched[fd], e, 2, -1, NULL);
}

static const struct {
	const char *name;
	int (*wait)(int fd);
} ways[WAYS] = {{"read", wait_read},
		{"poll", wait_poll},
		{"ppoll", wait_ppoll},
		{"select", wait_select},
		{"pselect", wait_pselect},
		{"epoll_wait", wait_epoll},
		{"epoll_pwait", wait_epoll_pwait}};

struct talk {
	struct work w;
	int fd, nr;
	int back; /* from which an answer comes to each; 0: none */
	int (*wait)(int fd);
};

static bool hear(int (*wait)(int fd), int fd)
{
	unsigned long word;

	return wait(fd) == 1 && read(fd, &word, sizeof(word)) == sizeof(word);
}

static void *say(void *of)
{
	static const unsigned long word = 1;
	const struct talk *t = of;

	for (int i = 0; i < t->nr; i++) {
		(void)t->w.function(t->w.nr / (unsigned long)t->nr);
		if (write(t->fd, &word, sizeof(word)) != sizeof(word) ||
		    (t->back && !hear(t->wait, t->back)))
			abort();
	}
	return NULL;
}

static int talk(size_t channel, size_t way, const struct work *whole, const struct work *part,
		int nr, bool is_answered)
{
	static const unsigned long word = 1;
	struct talk t = {.w = *whole, .nr = nr, .wait = ways[way].wait};
	pthread_t thread;
	int fds[2], back[2];

	if (channels[channel].make(fds) || channels[channel].make(back))
		return 1;
	t.fd = fds[1];
	t.back = is_answered ? back[0] : 0;
	watched[fds[0]] = watch(fds[0]);
	watched[back[0]] = watch(back[0]);
	if (pthread_create(&thread, NULL, say, &t))
		return 1;
	for (int i = 0; i < nr; i++) {
		if (!hear(ways[way].wait, fds[0]))
			return 1;
		(void)part->function(part->nr / (unsigned long)nr);
		if (is_answered && write(back[1], &word, sizeof(word)) != sizeof(word))
			return 1;
	}
	return pthread_join(thread, NULL);
}

static int talk_as(const char *how, const struct work *whole, const struct work *part, int nr,
		   bool is_answered)
{
	char name[64];

	for (size_t i = 0; i < CHANNELS * WAYS; i++) {
		snprintf(name, sizeof(name), "_%s_%s", channels[i / WAYS].name,
			 ways[i % WAYS].name);
		if (strcmp(how, name) == 0)
			return talk(i / WAYS, i % WAYS, whole, part, nr, is_answered);
	}
	return 2;
}

/* The first thread does nothing more. */
static int wait_for_outside(const char *way, const struct work *w)
{
	struct talk t = {.w = *w, .nr = 1};
	struct sockaddr_in a;
	pthread_t thread;
	unsigned long word;
	const int listening = listen_at(&a);
	int fds[2], fd;

	if (pipe(fds))
		return 1;
	if (fork() == 0) {
		fd = connect_to(&a);
		if (read(fds[0], &word, sizeof(word)) != sizeof(word))
			_exit(1);
		_exit(write(fd, &word, sizeof(word)) != sizeof(word));
	}
	fd = accept(listening, NULL, NULL);
	watched[fd] = watch(fd);
	t.fd = fds[1];
	if (fd < 0 || pthread_create(&thread, NULL, say, &t))
		return 1;
	for (size_t i = 0; i < WAYS; i++)
		if (strcmp(ways[i].name, way) == 0)
			return ways[i].wait(fd) == 1 ? 10 : 1;
	return 2;
}

/* --- regions */

static void *run_outer(void *of)
{
	const struct work *w = of;

	CPUPERF_BEGIN("outer");
	(void)critical(w->nr / 2);
	for (unsigned long i = 0; i < ROUNDS; i++) {
		CPUPERF_BEGIN_NUMBER("inner", (int64_t)i);
		(void)critical(w->nr / 4 / ROUNDS);
		(void)slack(w->nr / 4 / ROUNDS);
		CPUPERF_INT("so many", (int64_t)i);
		CPUPERF_END;
	}
	CPUPERF_END;
	return NULL;
}

static void *run_spare(void *of)
{
	const struct work *w = of;

	CPUPERF_BEGIN("spare");
	(void)critical(w->nr / 2);
	CPUPERF_BEGIN("spare");
	(void)slack(w->nr / 2);
	CPUPERF_END;
	CPUPERF_END;
	(void)slack(w->nr);
	return NULL;
}

static int run_regions(struct work *w)
{
	pthread_t outer, spare;

	if (pthread_create(&outer, NULL, run_outer, &w[0]) ||
	    pthread_create(&spare, NULL, run_spare, &w[1]))
		return 1;
	return pthread_join(outer, NULL) || pthread_join(spare, NULL);
}

enum { KEY = 1 };

static void *end_passed(void *of)
{
	cpuperf_keyed_end_anywhere(KEY);
	return of;
}

static int leave_open(struct work *w)
{
	pthread_t other;
	{
		CPUPERF_REGION("outer");
		CPUPERF_BEGIN("lost");
		(void)critical(w->nr);
	}
	cpuperf_keyed_begin(KEY, "passed");
	(void)critical(w->nr);
	if (pthread_create(&other, NULL, end_passed, w) || pthread_join(other, NULL))
		return 1;
	cpuperf_keyed_begin(KEY + 1, "later");
	(void)critical(w->nr);
	cpuperf_keyed_end(KEY + 1);
	return 0;
}

/* More marks than a ring holds, of a region around them, whose end is lost. */
static int fill_ring(struct work *w)
{
	CPUPERF_BEGIN("outer");
	(void)critical(w->nr / 4);
	for (int i = 0; i < CPUPERF_MARK_NR_UNITS; i++)
		CPUPERF_INSTANT("one of many");
	CPUPERF_END;
	(void)critical(w->nr);
	return 0;
}

/* As Kokkos does. */
static int run_in_tool(struct work *w)
{
	void *tool = dlopen(getenv("KOKKOS_TOOLS_LIBS"), RTLD_NOW);
	void (*push)(const char *) = NULL, (*pop)(void) = NULL;

	if (!tool)
		return 1;
	*(void **)&push = dlsym(tool, "kokkosp_push_profile_region");
	*(void **)&pop = dlsym(tool, "kokkosp_pop_profile_region");
	if (!push || !pop)
		return 1;
	push("tool's");
	(void)critical(w->nr);
	pop();
	return 0;
}

static int load_and_unload(struct work *w)
{
	pthread_t outer;

	if (pthread_create(&outer, NULL, run_outer, w))
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		void *library = dlopen(getenv("LOADED"), RTLD_NOW);

		*(void **)&w->function = library ? dlsym(library, "within") : NULL;
		if (!w->function)
			return 1;
		(void)w->function(w->nr / ROUNDS);
		if (dlclose(library))
			return 1;
		(void)slack(w->nr / ROUNDS);
	}
	return pthread_join(outer, NULL) ? 1 : 9;
}

static void *run_part(void *of)
{
	const struct work *w = of;

	(void)w->function(w->nr / REQUESTS);
	return of;
}

static int turn_over(struct work *w)
{
	for (;;) {
		pthread_t thread[4];
		void *result;
		pid_t child;
		int status;

		for (int i = 0; i < 4; i++)
			if (pthread_create(&thread[i], NULL, run_part, w))
				return 1;
		for (int i = 0; i < 4; i++)
			if (pthread_join(thread[i], &result) || result != w)
				return 1;
		child = fork();
		if (child == 0) {
			run_part(w);
			_exit(7);
		}
		if (waitpid(child, &status, 0) != child || status != 7 << 8)
			return 1;
	}
}

static const struct {
	const char *how;
	int (*run)(struct work *w);
} others[] = {{"c11", join_of_c11},     {"futex", wait_by_futex},    {"socket", wait_for_socket},
	      {"robust", lock_of_dead}, {"loaded", run_loaded},      {"turnover", turn_over},
	      {"open", leave_open},     {"closed", load_and_unload}, {"full", fill_ring},
	      {"tool", run_in_tool},    {"beside", end_beside}};

int main(int argc, char **argv)
{
	static struct work whole = {critical, 0}, part = {slack, 0}; /* threads outlive main */
	pthread_t other, one;
	pid_t child = -1;
	sigset_t all;
	int status, fds[2];
	char byte;

	if (argc < 4)
		return 2;
	whole.nr = million * strtoul(argv[2], NULL, 10);
	part.nr = million * strtoul(argv[3], NULL, 10);
	if (argc > 4)
		whole.nr = whole.nr / 100 * (100 - strtoul(argv[4], NULL, 10));
	if (argc > 5)
		part.nr = part.nr / 100 * (100 - strtoul(argv[5], NULL, 10));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(argv[1], others[i].how) == 0)
			return others[i].run(&whole);
	if (strcmp(argv[1], "regions") == 0)
		return run_regions((struct work[]){whole, part});
	if (strncmp(argv[1], "talk", 4) == 0)
		return talk_as(argv[1] + 4, &whole, &part, TURNS, false);
	if (strncmp(argv[1], "once", 4) == 0)
		return talk_as(argv[1] + 4, &whole, &part, 1, false);
	if (strncmp(argv[1], "echo", 4) == 0)
		return talk_as(argv[1] + 4, &whole, &part, TURNS, true);
	if (strncmp(argv[1], "outside_", 8) == 0)
		return wait_for_outside(argv[1] + 8, &whole);
	if (strcmp(argv[1], "masked") == 0) {
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, NULL);
		child = fork();
		if (child)
			return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1;
	}
	if (strcmp(argv[1], "pipe") == 0) {
		if (pipe(fds))
			return 1;
		child = fork();
		if (child)
			return read(fds[0], &byte, 1) == 1 ? 4 : 1;
		run(&whole);
		_exit(write(fds[1], "", 1) != 1);
	}
	if (strcmp(argv[1], "serial") == 0 || child == 0) {
		run(&whole);
		run(&part);
		return 3;
	}
	if (strncmp(argv[1], "serve", 5) == 0)
		return serve(&whole, &part, argv[1][5] ? REQUESTS : (unsigned long)-1);
	if (strcmp(argv[1], "barrier") == 0)
		rounds = ROUNDS;
	pthread_barrier_init(&barrier, NULL, 2);
	if (strcmp(argv[1], "lock") == 0) {
		const struct work both[] = {whole, part};

		if (pthread_create(&one, NULL, run_locked, (void *)both))
			return 1;
		(void)run_locked((void *)both);
		pthread_join(one, NULL);
		return 0;
	}
	if (pthread_create(&one, NULL, run, &whole) || pthread_create(&other, NULL, run, &part))
		return 1;
	pthread_join(other, NULL);
	pthread_join(one, NULL);
	return 0;
}
