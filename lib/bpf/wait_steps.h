/*
 * The table of bpf_wait_weight, from the function that readers of samples use. Private to bpf/.
 */
#ifndef BPF_WAIT_STEPS_H
#define BPF_WAIT_STEPS_H

#include "base/wait_weight.h"
#include "bpf/waits_shared.h"

/* steps: BPF_WAIT_STEPS + 1 of them. */
static inline void wait_steps_fill(uint32_t *steps)
{
	const uint64_t mean = (uint64_t)1 << 40, step = mean / BPF_WAIT_STEPS_OF_MEAN;

	steps[0] = 1 << 16; /* a very short wait stands for mean */
	for (uint64_t i = 1; i <= BPF_WAIT_STEPS; i++)
		steps[i] = (uint32_t)((wait_weight(i * step, mean) - i * step + (1 << 23)) >> 24);
}

#endif
