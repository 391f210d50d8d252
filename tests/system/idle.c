/*
 * Four threads wait for work that never comes, while two wait for each other's mutex, whose owner
 * sleeps. When they have done so fifty times as long as the four took to begin to wait, the
 * program ends, without waking them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { NR_WORKERS = 4, NR_TAKERS = 2, TIMES = 50 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER,
		       queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_job = PTHREAD_COND_INITIALIZER;
static int nr_jobs, nr_waiting;
static pid_t waiting[NR_WORKERS];
static atomic_bool is_end;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void nap(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

__attribute__((noinline)) static int next_job(void)
{
	pthread_mutex_lock(&queue_lock);
	waiting[nr_waiting++] = gettid();
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

static bool is_asleep(pid_t tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		exit(1);
	fclose(f);
	return state == 'S';
}

/* All, and none of them still waits for a CPU on its way to sleep. */
static bool are_workers_waiting(void)
{
	int nr;

	pthread_mutex_lock(&queue_lock);
	nr = nr_waiting;
	pthread_mutex_unlock(&queue_lock);
	for (int i = 0; i < nr; i++)
		if (!is_asleep(waiting[i]))
			return false;
	return nr == NR_WORKERS;
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
	while (!are_workers_waiting())
		nap(1);
	start_ns = now_ns() - begin_ns;
	for (int i = 0; i < NR_TAKERS; i++)
		if (pthread_create(&takers[i], NULL, change, NULL))
			return 1;
	do
		nap(100);
	while (now_ns() - begin_ns < TIMES * start_ns);
	atomic_store(&is_end, true);
	for (int i = 0; i < NR_TAKERS; i++)
		pthread_join(takers[i], NULL);
	_exit(0);
}
