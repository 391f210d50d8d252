/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Arithmetic for programs in the kernel. Without branches: the verifier follows each way through
 * them, again in each place.
 */
#ifndef BPF_BITS_SHARED_H
#define BPF_BITS_SHARED_H

#include <linux/types.h>

/* The number of the highest bit of n, which is not 0. */
static inline __u32 bpf_log2(__u64 n)
{
	n |= n >> 1;
	n |= n >> 2;
	n |= n >> 4;
	n |= n >> 8;
	n |= n >> 16;
	n |= n >> 32;
	/* the number of bits */
	n -= n >> 1 & 0x5555555555555555;
	n = (n & 0x3333333333333333) + (n >> 2 & 0x3333333333333333);
	n = (n + (n >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return (__u32)(n * 0x0101010101010101 >> 56) - 1;
}

#endif
