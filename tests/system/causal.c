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
 * socket, in a child that says so by one; loaded, that of the library $LOADED; The last arguments
 * really cut the loops of critical, and of slack.
 */
#include "cpuperf/mark.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static int run_loaded(struct work *w)
{
	void *library = dlopen(getenv("LOADED"), RTLD_NOW);

	*(void **)&w->function = library ? dlsym(library, "critical") : NULL;
	if (!w->function)
		return 1;
	run(w);
	return 8;
}

static const struct {
	const char *how;
	int (*run)(struct work *w);
} others[] = {{"c11", join_of_c11},
	      {"futex", wait_by_futex},
	      {"socket", wait_for_socket},
	      {"loaded", run_loaded}};

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
