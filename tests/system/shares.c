/*
 * shares SEED: 600 sleeps, by chance short ones in one function or long ones in another. Prints how
 * long it asked to sleep in each: "a_ns N b_ns N". A thread that waits for a CPU after its sleep is
 * not blocked any more, so that others' work does not matter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

__attribute__((noinline)) static void nap(long ns)
{
	const struct timespec t = {0, ns};

	nanosleep(&t, NULL);
	__asm__ volatile("");
}

__attribute__((noinline)) static void nap_a(long ns, long *sum)
{
	nap(ns);
	*sum += ns;
}

__attribute__((noinline)) static void nap_b(long ns, long *sum)
{
	*sum += ns;
	nap(ns);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	long a = 0, b = 0;

	prctl(PR_SET_TIMERSLACK, 1L, 0L, 0L, 0L);
	srand(argc > 1 ? (unsigned)atoi(argv[1]) : 0);
	for (int i = 0; i < 600; i++) {
		int is_a = rand() % 4;
		long ns = is_a ? 100000 + rand() % 200000 : 500000 + rand() % 1000000;

		is_a ? nap_a(ns, &a) : nap_b(ns, &b);
	}
	printf("a_ns %ld b_ns %ld\n", a, b);
	return 0;
}
