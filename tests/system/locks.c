/*
 * A program of two locks, which says itself how often it waits for each. A thread named "update"
 * holds table_lock, "log" holds one with priority inheritance, on the heap: each takes it and then
 * lets each waiter know that it can begin to wait, waits until all of them do (by /proc), and gives
 * the lock back. locks ROUNDS: prints "table N log N heap ADDRESS update TID": waits of all
 * threads. locks serial: update computes with table_lock held, for which three others wait. locks
 * follow: one holds table_lock while it waits for a byte that never comes, and main computes. locks
 * value: waits until a word changes, which is the number of a thread. locks
 * calls: the same by the calls that are younger than futex(2); status 77: the kernel lacks them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WAITERS = 3 };

struct shared {
	pthread_mutex_t *lock;
	const char *name;
	int nr_waiters;
	pthread_barrier_t begin, end; /* of a round */
	atomic_int tids[MAX_WAITERS], holder;
	atomic_long waits;
	pthread_t threads[MAX_WAITERS + 1];
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static long rounds;

static int own_tid(void)
{
	return (int)syscall(SYS_gettid);
}

/* The number of the system call that the thread waits in, and its first argument; -1: none. */
static long call_of(int tid, unsigned long *argument)
{
	char path[64], text[256] = "", *first = text;
	long call = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f))
		call = *text >= '0' && *text <= '9' ? strtol(text, &first, 10) : -1;
	if (f)
		fclose(f);
	if (argument)
		*argument = strtoul(first, NULL, 16);
	return call;
}

/* Whether the thread waits at that address. */
static int is_at(int tid, const void *lock)
{
	unsigned long argument;

	return call_of(tid, &argument) == SYS_futex && argument == (unsigned long)lock;
}

static void *hold(void *arg)
{
	struct shared *s = arg;

	pthread_setname_np(pthread_self(), s->name);
	atomic_store(&s->holder, own_tid());
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(s->lock);
		pthread_barrier_wait(&s->begin);
		for (int k = 0; k < s->nr_waiters; k++)
			while (!is_at(atomic_load(&s->tids[k]), s->lock))
				usleep(500);
		pthread_mutex_unlock(s->lock);
		pthread_barrier_wait(&s->end);
	}
	return NULL;
}

__attribute__((noinline)) static void take(struct shared *s)
{
	if (pthread_mutex_trylock(s->lock)) {
		atomic_fetch_add(&s->waits, 1);
		pthread_mutex_lock(s->lock);
	}
	pthread_mutex_unlock(s->lock);
}

static void *wait_for(void *arg)
{
	struct shared *s = arg;
	static _Thread_local int me;

	me = own_tid();
	for (int k = 0; k < s->nr_waiters; k++) {
		int none = 0;

		if (atomic_compare_exchange_strong(&s->tids[k], &none, me))
			break;
	}
	for (long i = 0; i < rounds; i++) {
		pthread_barrier_wait(&s->begin);
		take(s);
		pthread_barrier_wait(&s->end);
	}
	return NULL;
}

static void start(struct shared *s)
{
	pthread_barrier_init(&s->begin, NULL, (unsigned)s->nr_waiters + 1);
	pthread_barrier_init(&s->end, NULL, (unsigned)s->nr_waiters + 1);
	for (int i = 0; i <= s->nr_waiters; i++)
		if (pthread_create(&s->threads[i], NULL, i ? wait_for : hold, s))
			abort();
}

static void join(struct shared *s)
{
	for (int i = 0; i <= s->nr_waiters; i++)
		pthread_join(s->threads[i], NULL);
}

static void compute_for(long ns)
{
	struct timespec t = {0, 0};
	volatile int unused = 0;

	while (!t.tv_sec && t.tv_nsec < ns) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		for (int i = 0; i < 100000; i++)
			unused = i;
	}
	(void)unused;
}

static void *compute(void *arg)
{
	struct shared *s = arg;

	pthread_setname_np(pthread_self(), s->name);
	pthread_mutex_lock(s->lock);
	pthread_barrier_wait(&s->begin);
	compute_for(400000000);
	pthread_mutex_unlock(s->lock);
	return NULL;
}

static void *wait_once(void *arg)
{
	struct shared *s = arg;

	pthread_barrier_wait(&s->begin);
	take(s);
	return NULL;
}

static int serial(struct shared *s)
{
	pthread_barrier_init(&s->begin, NULL, (unsigned)s->nr_waiters + 1);
	for (int i = 0; i <= s->nr_waiters; i++)
		if (pthread_create(&s->threads[i], NULL, i ? wait_once : compute, s))
			return 1;
	join(s);
	return 0;
}

static void *lead(void *arg)
{
	const int *pipe = arg;
	char c;

	pthread_mutex_lock(&table_lock);
	if (read(*pipe, &c, 1) < 0)
		abort();
	pthread_mutex_unlock(&table_lock);
	return NULL;
}

static int follow(void)
{
	pthread_t threads[4];
	int fds[2];

	if (pipe(fds))
		return 1;
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, lead, fds))
			return 1;
	compute_for(400000000);
	close(fds[1]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static atomic_int word;

static void *wait_for_change(void *arg)
{
	const int before = atomic_load(&word);

	atomic_store((atomic_int *)arg, own_tid());
	while (atomic_load(&word) == before)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, before, NULL, NULL, 0);
	return NULL;
}

static int change(void)
{
	static atomic_int tid;
	pthread_t thread;

	atomic_store(&word, own_tid());
	if (pthread_create(&thread, NULL, wait_for_change, &tid))
		return 1;
	while (!is_at(atomic_load(&tid), &word))
		usleep(500);
	atomic_store(&word, 0);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(thread, NULL);
	return 0;
}

/* Numbers and layout of the younger calls are those of all machines; headers may lack them. */
enum { WAITV_CALL = 449, WAIT_CALL = 455, OF_32_BITS = 2, PRIVATE = 128 };

struct waiter {
	uint64_t value, address;
	uint32_t flags, reserved;
};

static atomic_int first_word, second_word;
static atomic_int call_tids[2];

static void check_call(long result)
{
	if (result < 0 && (errno == ENOSYS || errno == EPERM))
		exit(77);
}

static void *wait_for_first(void *arg)
{
	struct waiter w[] = {{0, (uint64_t)(uintptr_t)&first_word, OF_32_BITS | PRIVATE, 0},
			     {0, (uint64_t)(uintptr_t)&second_word, OF_32_BITS | PRIVATE, 0}};

	(void)arg;
	atomic_store(&call_tids[0], own_tid());
	while (!atomic_load(&first_word))
		check_call(syscall(WAITV_CALL, w, 2, 0, NULL, 0));
	return NULL;
}

static void *wait_for_second(void *arg)
{
	(void)arg;
	atomic_store(&call_tids[1], own_tid());
	while (!atomic_load(&second_word))
		check_call(syscall(WAIT_CALL, &second_word, 0L, ~0UL >> 32, OF_32_BITS | PRIVATE,
				   NULL, 0L));
	return NULL;
}

static int wait_by_younger_calls(void)
{
	static atomic_int *const words[] = {&first_word, &second_word};
	static const long numbers[] = {WAITV_CALL, WAIT_CALL};
	pthread_t threads[2];

	if (pthread_create(&threads[0], NULL, wait_for_first, NULL) ||
	    pthread_create(&threads[1], NULL, wait_for_second, NULL))
		return 1;
	for (int i = 0; i < 2; i++)
		while (call_of(atomic_load(&call_tids[i]), NULL) != numbers[i])
			usleep(500);
	for (int i = 0; i < 2; i++) {
		atomic_store(words[i], 1);
		syscall(SYS_futex, words[i], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		pthread_join(threads[i], NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct shared table = {.lock = &table_lock, .name = "update", .nr_waiters = 3};
	static struct shared log = {.name = "log", .nr_waiters = 1};

	pthread_mutexattr_t attr;

	if (argc > 1 && strcmp(argv[1], "serial") == 0)
		return serial(&table);
	if (argc > 1 && strcmp(argv[1], "follow") == 0)
		return follow();
	if (argc > 1 && strcmp(argv[1], "value") == 0)
		return change();
	if (argc > 1 && strcmp(argv[1], "calls") == 0)
		return wait_by_younger_calls();
	rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
	log.lock = malloc(sizeof(pthread_mutex_t));
	if (!log.lock || pthread_mutexattr_init(&attr) ||
	    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT) ||
	    pthread_mutex_init(log.lock, &attr))
		return 1;
	start(&table);
	start(&log);
	join(&table);
	join(&log);
	printf("table %ld log %ld heap %lu update %d\n", atomic_load(&table.waits),
	       atomic_load(&log.waits), (unsigned long)log.lock, atomic_load(&table.holder));
	return 0;
}
