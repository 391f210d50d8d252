/*
 * Clocks. Everything is measured in nanoseconds of CLOCK_MONOTONIC; a triple relates it to the
 * other clocks.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

struct clock_triple {
	uint64_t monotonic_ns, boottime_ns, realtime_ns; /* read as close together as possible */
};

uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);    /* since 1970 */
uint64_t clock_thread_cpu_ns(void);  /* of the calling thread */
uint64_t clock_process_cpu_ns(void); /* of all threads of this process */
/* Of its children that have ended and were waited for, and of theirs; in microseconds. */
uint64_t clock_children_cpu_ns(void);
void clock_triple_now(struct clock_triple *out);

#endif
