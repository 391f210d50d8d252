/*
 * pool THREADS NAPS: each thread naps so often, for 0.2 ms; the first one waits for them.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum { MAX_THREADS = 64 };

static long nr_naps;

__attribute__((noinline)) static void nap(void)
{
	const struct timespec t = {0, 200000};

	nanosleep(&t, NULL);
	__asm__ volatile("");
}

static void *work(void *arg)
{
	prctl(PR_SET_TIMERSLACK, 1L, 0L, 0L, 0L);
	for (long i = 0; i < nr_naps; i++)
		nap();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[MAX_THREADS];
	long nr = argc > 1 ? strtol(argv[1], NULL, 10) : 1;

	nr_naps = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	if (nr > MAX_THREADS)
		return 2;
	for (long i = 0; i < nr; i++)
		if (pthread_create(&t[i], NULL, work, NULL))
			return 1;
	for (long i = 0; i < nr; i++)
		pthread_join(t[i], NULL);
	return 0;
}
