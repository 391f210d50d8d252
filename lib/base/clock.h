/*
 * Time: CLOCK_MONOTONIC in nanoseconds is the clock of everything that is
 * measured; the triple ties it to the others.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

struct clock_triple {
	uint64_t monotonic_ns, boottime_ns, realtime_ns; /* read within one another's reach */
};

uint64_t clock_monotonic_ns(void);
uint64_t clock_thread_cpu_ns(void); /* of the calling thread */
void clock_triple_now(struct clock_triple *out);

#endif
