/*
 * From a GPU's clock to CLOCK_MONOTONIC, by pairs of readings of both.
 */
#ifndef GPU_PM_CLOCK_H
#define GPU_PM_CLOCK_H

#include <stdint.h>

struct pm_clock {
	uint64_t gpu_ns, ns; /* ns: CLOCK_MONOTONIC */
};

/* The time on the line through two pairs. Pairs that fit no line (the same time, a clock that was
 * set back or runs at less than half or more than twice its speed): as far from b as by the GPU's
 * clock. */
uint64_t pm_clock_convert(const struct pm_clock *a, const struct pm_clock *b, uint64_t gpu_ns);

#endif
