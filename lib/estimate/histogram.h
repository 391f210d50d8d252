/*
 * A histogram of latencies in log-linear buckets, and the quantiles that it contains. Buckets below
 * 16 ns hold one ns each; from there on each power of two has 16 of equal width, so that a latency
 * is known within 1/16 of its value. Histograms add up exactly.
 */
#ifndef ESTIMATE_HISTOGRAM_H
#define ESTIMATE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_BITS = 4, HISTOGRAM_BUCKETS = 624 };

/* Zero-initialise. */
struct histogram {
	uint64_t count, sum_ns;
	uint64_t max_ns; /* no latency is longer */
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* The least ns of a bucket; of HISTOGRAM_BUCKETS: 2^42, where the last one ends, which has also all
 * that is longer. */
uint64_t histogram_low(size_t bucket);
/* The bucket that contains ns. */
size_t histogram_bucket(uint64_t ns);

/* Adds latencies to a bucket. */
void histogram_add(struct histogram *h, size_t bucket, uint64_t count);
/* The longest of an iteration: max_ns (as of struct trace_histogram) or, if that is of another
 * iteration, where the last bucket with a count ends. */
uint64_t histogram_longest(uint64_t max_ns, size_t last);
/* Adds what follows from the sum and the longest of what was added to buckets. max_ns: as of struct
 * trace_histogram; last: the last bucket with a count. */
void histogram_add_sum(struct histogram *h, uint64_t sum_ns, uint64_t max_ns, size_t last);
void histogram_merge(struct histogram *h, const struct histogram *other);

/* A quantile in ns, with its 95 % interval: order statistics whose ranks are binomially distributed
 * (the latencies are taken as independent), at the edges of their buckets. high is infinite, and
 * low 0, where too few latencies were counted for such a bound. Of an empty histogram all is NaN.
 */
struct histogram_quantile {
	double ns, low_ns, high_ns;
};
struct histogram_quantile histogram_quantile(const struct histogram *h, double q);
/* NaN if it is empty. */
double histogram_mean(const struct histogram *h);

#endif
