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

/* The bucket of n in a histogram of nr buckets: below 2^bits each number has one, then each power
 * of two has 2^bits; the last one also has what is greater. */
static inline __u32 bpf_bucket(__u64 n, __u32 bits, __u32 nr)
{
	__u32 log2, at;

	if (n < 1ULL << bits)
		return (__u32)n;
	log2 = bpf_log2(n);
	at = (log2 - bits) << bits;
	at += (__u32)(n >> (log2 - bits));
	return at < nr ? at : nr - 1;
}

#endif
