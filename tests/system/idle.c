/*
 * Four threads wait for work that never comes, while two wait for each other's mutex, whose owner
 * sleeps. The program ends without waking the four; but each needs a CPU to begin to wait, and one
 * to end. So it goes on fifty times as long as they took to begin, and as any thread has
 * waited for a CPU when it woke.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { NR_WORKERS = 4, NR_TAKERS = 2, TIMES = 50 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER,
		       queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_job = PTHREAD_COND_INITIALIZER;
static int nr_jobs, nr_waiting;
static atomic_bool is_end;
static _Atomic uint64_t latest_ns; /* the longest time from when a nap was over to its end */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void nap(long ms)
{
	const uint64_t due_ns = now_ns() + (uint64_t)ms * 1000000;
	uint64_t late_ns, latest = atomic_load(&latest_ns);

	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
	late_ns = now_ns() - due_ns;
	while (late_ns > latest && !atomic_compare_exchange_weak(&latest_ns, &latest, late_ns))
		;
}

__attribute__((noinline)) static int next_job(void)
{
	pthread_mutex_lock(&queue_lock);
	nr_waiting++;
	while (!nr_jobs)
		pthread_cond_wait(&has_job, &queue_lock);
	nr_jobs--;
	pthread_mutex_unlock(&queue_lock);
	return 1;
}

static void *work(void *arg)
{
	while (next_job())
		;
	return arg;
}

static int nr_workers_waiting(void)
{
	int nr;

	pthread_mutex_lock(&queue_lock);
	nr = nr_waiting;
	pthread_mutex_unlock(&queue_lock);
	return nr;
}

static uint64_t longest_ns(uint64_t start_ns)
{
	const uint64_t late_ns = atomic_load(&latest_ns);

	return start_ns > late_ns ? start_ns : late_ns;
}

__attribute__((noinline)) static void take(void)
{
	pthread_mutex_lock(&table_lock);
	nap(20);
	pthread_mutex_unlock(&table_lock);
	nap(1); /* else it takes the lock again before the other one wakes */
}

static void *change(void *arg)
{
	while (!atomic_load(&is_end))
		take();
	return arg;
}

int main(void)
{
	pthread_t workers[NR_WORKERS], takers[NR_TAKERS];
	const uint64_t begin_ns = now_ns();
	uint64_t start_ns;

	for (int i = 0; i < NR_WORKERS; i++)
		if (pthread_create(&workers[i], NULL, work, NULL))
			return 1;
	while (nr_workers_waiting() < NR_WORKERS)
		nap(1);
	start_ns = now_ns() - begin_ns;
	for (int i = 0; i < NR_TAKERS; i++)
		if (pthread_create(&takers[i], NULL, change, NULL))
			return 1;
	do
		nap(100);
	while (now_ns() - begin_ns < TIMES * longest_ns(start_ns));
	atomic_store(&is_end, true);
	for (int i = 0; i < NR_TAKERS; i++)
		pthread_join(takers[i], NULL);
	_exit(0);
}
