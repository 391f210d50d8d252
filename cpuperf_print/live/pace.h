/*
 * Which part of an iteration's samples to read, so that each iteration can be read within what may
 * be used until the next: shares of the last seconds from a part of the samples say more than those
 * of a second some time ago. Pure: its inputs are numbers.
 *
 * A part is one of each row of samples, chosen by chance, with the weight of all of it
 * (profile_samples_thin); from one of 64 on, also one of each row of frames, of which the others
 * are not even read, as that costs most then. So shares of the last seconds are always there,
 * unbiased, with the ± of what was read, of 2,000 samples of an iteration or more.
 */
#ifndef CPUPERF_PRINT_LIVE_PACE_H
#define CPUPERF_PRINT_LIVE_PACE_H

#include <stdint.h>

/* So many are read of each iteration that has them. */
enum { PACE_MIN_SAMPLES = 2000 };

/* One of `every` samples before anything was read: of an iteration of so many bytes. At least 1. */
uint32_t pace_begin(uint64_t bytes, uint64_t allowed_ns);
/* What the first one will cost. */
uint64_t pace_guess_ns(uint64_t bytes, uint32_t every);
/* From what an iteration of nr_samples cost: the next one of `every` samples. At least 1. */
uint32_t pace_next(uint32_t every, uint64_t cost_ns, uint64_t allowed_ns, uint64_t nr_samples);

#endif
