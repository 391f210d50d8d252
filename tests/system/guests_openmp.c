/*
 * A program of OpenMP: parts of which each thread does a known number, and a pause between two
 * parallel regions, in which workers wait for the second.
 */
#include <omp.h>
#include <time.h>

enum { NR_THREADS = 3, NR_TASKS = 5, PAUSE_NS = 150000000 };

static int sum;

__attribute__((noinline)) static void first(void)
{
	omp_lock_t lock;

	omp_init_lock(&lock);
#pragma omp parallel num_threads(NR_THREADS)
	{
#pragma omp barrier
#pragma omp for
		for (int i = 0; i < NR_THREADS; i++)
#pragma omp atomic
			sum += i;
#pragma omp critical
		sum++;
#pragma omp single
		{
			for (int i = 0; i < NR_TASKS; i++)
#pragma omp task
#pragma omp atomic
				sum++;
#pragma omp taskwait
		}
		omp_set_lock(&lock);
		sum++;
		omp_unset_lock(&lock);
	}
	omp_destroy_lock(&lock);
}

__attribute__((noinline)) static void second(void)
{
#pragma omp parallel num_threads(NR_THREADS)
#pragma omp atomic
	sum++;
}

int main(void)
{
	first();
	(void)nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	second();
	return sum == 3 + 3 * NR_THREADS + NR_TASKS ? 7 : 1;
}
