/*
 * What reading costs besides the samples is not known, so `every` grows by the ratio of the cost to
 * what is allowed: again and again, as far as that helps. It falls more slowly.
 */
#include "live/pace.h"

/* Measured with stacks of 12 frames; of two machines that differ by some, corrected at once. */
enum { NS_PER_BYTE = 10 };

/* A part is left for what had ended before, and for what the next one costs more. */
static uint64_t aim_ns(uint64_t allowed_ns)
{
	return allowed_ns / 4 * 3 + 1;
}

static uint32_t at_least_1(double every)
{
	return every > UINT32_MAX ? UINT32_MAX : every > 1 ? (uint32_t)every : 1;
}

uint32_t pace_begin(uint64_t bytes, uint64_t allowed_ns)
{
	return at_least_1((double)bytes * NS_PER_BYTE / (double)aim_ns(allowed_ns) + 1);
}

uint64_t pace_guess_ns(uint64_t bytes, uint32_t every)
{
	return (uint64_t)((double)bytes * NS_PER_BYTE / every);
}

uint32_t pace_next(uint32_t every, uint64_t cost_ns, uint64_t allowed_ns, uint64_t nr_samples)
{
	const double ratio = (double)cost_ns / (double)aim_ns(allowed_ns);
	const uint64_t most = nr_samples / PACE_MIN_SAMPLES;
	uint32_t next = every;

	if (ratio > 1)
		next = at_least_1((double)every * ratio + 1);
	else if (ratio < 0.5)
		next = every - every / 4 - (every > 1 && every < 4);
	return next < most ? next : at_least_1((double)most);
}
