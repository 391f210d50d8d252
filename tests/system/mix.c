/*
 * A program whose profile is known: work_a, work_b and work_c are the same loop and take 70, 20
 * and 10 of each hundred turns; run calls them, and main (in further threads: thread) calls run,
 * all with frame pointers. Prints what it knows of itself. Knows nothing of cpuperf.
 *
 * mix ms N [THREADS [CPU]]      each thread works for so long
 * mix cpu_ms N [THREADS [CPU]]  each thread works until it had so much time of a CPU
 * mix rounds N [THREADS [CPU]]  each thread does the same N rounds of work, every time
 *
 * Behind CPU: A [B [C]], by so many percent work_a, work_b and work_c are slower.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64 };

/* How long to work: in rounds, or by a clock. */
static clockid_t clock_id = CLOCK_MONOTONIC;
static uint64_t duration_ns = UINT64_MAX, nr_rounds = UINT64_MAX;
static uint64_t slower_percent[3];

static uint64_t now_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t next_random(uint64_t x)
{
	return x * 6364136223846793005u + 1442695040888963407u;
}

/* Each turn waits for the one before it, so that it makes no difference where a loop lies in
 * memory. The asm keeps the compiler from making one function of the three, and, because it asks
 * for the frame's address, from leaving out the frame of a leaf. */
#define WORK(name)                                                                                 \
	static __attribute__((noinline)) uint64_t name(uint64_t turns, uint64_t x)                 \
	{                                                                                          \
		for (; turns; turns--) {                                                           \
			x = next_random(x);                                                        \
			__asm__ volatile("/* " #name " */"                                         \
					 : "+r"(x)                                                 \
					 : "r"(__builtin_frame_address(0)));                       \
		}                                                                                  \
		return x;                                                                          \
	}
WORK(work_a)
WORK(work_b)
WORK(work_c)

/* Rounds are of random length, so that no sampling clock can fall into step with them. */
static __attribute__((noinline)) uint64_t run(void)
{
	uint64_t start_ns = now_ns(clock_id), random = 1, x = 1;

	for (uint64_t i = 0; i < nr_rounds && now_ns(clock_id) - start_ns < duration_ns; i++) {
		uint64_t turns = 500 + (random >> 32) % 1000;

		x = work_a(70 * turns * (100 + slower_percent[0]) / 100, x);
		x = work_b(20 * turns * (100 + slower_percent[1]) / 100, x);
		x = work_c(10 * turns * (100 + slower_percent[2]) / 100, x);
		random = next_random(random);
	}
	return x;
}

static void *thread(void *result)
{
	*(uint64_t *)result = run();
	return NULL;
}

static int run_threads(size_t nr)
{
	static uint64_t results[MAX_THREADS];
	pthread_t ids[MAX_THREADS];

	for (size_t i = 0; i < nr; i++)
		if (pthread_create(&ids[i], NULL, thread, &results[i]))
			return -1;
	for (size_t i = 0; i < nr; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

static int go_to(long cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

static long to_us(struct timeval t)
{
	return t.tv_sec * 1000000 + t.tv_usec;
}

static void print_usage(uint64_t start_ns)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	printf("{\"pid\": %d, \"start_ns\": %llu, \"end_ns\": %llu, \"user_us\": %ld, "
	       "\"system_us\": %ld}\n",
	       (int)getpid(), (unsigned long long)start_ns,
	       (unsigned long long)now_ns(CLOCK_MONOTONIC), to_us(u.ru_utime), to_us(u.ru_stime));
}

static int set_duration(const char *how, uint64_t n)
{
	if (strcmp(how, "rounds") == 0)
		nr_rounds = n;
	else
		duration_ns = n * 1000000;
	if (strcmp(how, "cpu_ms") == 0)
		clock_id = CLOCK_THREAD_CPUTIME_ID;
	else if (strcmp(how, "ms") != 0 && strcmp(how, "rounds") != 0)
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t start_ns = now_ns(CLOCK_MONOTONIC);
	size_t nr_threads = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
	volatile uint64_t result;

	if (argc < 3 || set_duration(argv[1], strtoull(argv[2], NULL, 10)))
		return 2;
	if (nr_threads < 1 || nr_threads > MAX_THREADS)
		return 2;
	if (argc > 4 && go_to(strtol(argv[4], NULL, 10)))
		return 1;
	for (int i = 5; i < argc && i < 8; i++)
		slower_percent[i - 5] = strtoul(argv[i], NULL, 10);
	if (nr_threads == 1)
		result = run();
	else if (run_threads(nr_threads))
		return 1;
	(void)result;
	print_usage(start_ns);
	return 0;
}
