/*
 * The clocks.
 */
#include "base/clock.h"

#include <sys/resource.h>
#include <time.h>

static uint64_t now_ns(clockid_t id)
{
	struct timespec t = {0};

	clock_gettime(id, &t); /* cannot fail for these clocks */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

uint64_t clock_realtime_ns(void)
{
	return now_ns(CLOCK_REALTIME);
}

uint64_t clock_thread_cpu_ns(void)
{
	return now_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_process_cpu_ns(void)
{
	return now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static uint64_t ns_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

uint64_t clock_children_cpu_ns(void)
{
	struct rusage used = {0};

	getrusage(RUSAGE_CHILDREN, &used); /* cannot fail */
	return ns_of(&used.ru_utime) + ns_of(&used.ru_stime);
}

void clock_triple_now(struct clock_triple *out)
{
	out->monotonic_ns = now_ns(CLOCK_MONOTONIC);
	out->boottime_ns = now_ns(CLOCK_BOOTTIME);
	out->realtime_ns = now_ns(CLOCK_REALTIME);
}
