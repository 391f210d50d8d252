/*
 * Of the samples of waits that are due, the programs in the kernel may write only some, chosen at
 * random. Of level n, waits as long as 2^n means are all written; of shorter ones fewer, down to
 * one in 2^n of those of a mean or less. Each counts for those that were left out. The level lies
 * above the ns in a sample's word. Also for programs in the kernel: no floating point.
 */
#ifndef BASE_WAIT_THINNING_H
#define BASE_WAIT_THINNING_H

enum {
	WAIT_NS_BITS = 58, /* 9 years */
	WAIT_MAX_LEVEL = 10,
	WAIT_KEPT_BITS = 24,
};

/* The probability that a sample is written, with WAIT_KEPT_BITS behind the point; above 0. mean_ns:
 * from 1 to 2^42. */
static inline unsigned int wait_kept(unsigned long long ns, unsigned long long mean_ns,
				     unsigned int level)
{
	unsigned long long all = mean_ns << level, part = ns > mean_ns ? ns : mean_ns;

	if (part >= all)
		return 1u << WAIT_KEPT_BITS;
	if (all >> 38) {
		all >>= WAIT_KEPT_BITS;
		part >>= WAIT_KEPT_BITS;
	}
	return (unsigned int)((part << WAIT_KEPT_BITS) / all);
}

#endif
