/*
 * Latencies in log-linear buckets.
 */
#include "estimate/histogram.h"

#include <math.h>

uint64_t histogram_low(size_t bucket)
{
	size_t k = bucket >> HISTOGRAM_BITS;
	uint64_t j = bucket & ((1 << HISTOGRAM_BITS) - 1);

	return k ? (j + (1 << HISTOGRAM_BITS)) << (k - 1) : j;
}

size_t histogram_bucket(uint64_t ns)
{
	unsigned shift;
	size_t at;

	if (ns < 1 << HISTOGRAM_BITS)
		return ns;
	shift = (unsigned)(63 - __builtin_clzll(ns)) - HISTOGRAM_BITS;
	at = ((size_t)shift << HISTOGRAM_BITS) + (size_t)(ns >> shift);
	return at < HISTOGRAM_BUCKETS ? at : HISTOGRAM_BUCKETS - 1;
}

void histogram_add(struct histogram *h, size_t bucket, uint64_t count)
{
	h->bucket[bucket] += count;
	h->count += count;
}

uint64_t histogram_longest(uint64_t max_ns, size_t last)
{
	uint64_t low = histogram_low(last), high = histogram_low(last + 1) - 1;

	if (max_ns < low || (max_ns > high && last + 1 < HISTOGRAM_BUCKETS))
		return high; /* it is of another iteration */
	return max_ns;
}

void histogram_add_sum(struct histogram *h, uint64_t sum_ns, uint64_t max_ns, size_t last)
{
	max_ns = histogram_longest(max_ns, last);
	h->sum_ns += sum_ns;
	h->max_ns = max_ns > h->max_ns ? max_ns : h->max_ns;
}

void histogram_merge(struct histogram *h, const struct histogram *other)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		histogram_add(h, i, other->bucket[i]);
	h->sum_ns += other->sum_ns;
	h->max_ns = other->max_ns > h->max_ns ? other->max_ns : h->max_ns;
}

double histogram_mean(const struct histogram *h)
{
	return h->count ? (double)h->sum_ns / (double)h->count : NAN;
}

/* The least k with P(X <= k) >= share, of X binomially distributed with small variance: the sum
 * from 0 on, where p is at most 1/2. */
static double count_up(double n, double p, double share)
{
	double term = exp(n * log1p(-p)), sum = term, k = 0;

	while (sum < share && k < n) {
		term *= (n - k) / (k + 1) * (p / (1 - p));
		sum += term;
		k++;
	}
	return k;
}

static double quantile_of_binomial(double n, double p, double share)
{
	const double z = 1.959963984540054; /* of 2.5 % at each end */
	double variance = n * p * (1 - p);

	if (variance > 100)
		return floor(n * p + (share < 0.5 ? -z : z) * sqrt(variance) + 0.5);
	return p <= 0.5 ? count_up(n, p, share) : n - count_up(n, 1 - p, 1 - share);
}

/* The bucket of the latency with this rank, from 1. */
static size_t bucket_at(const struct histogram *h, double rank)
{
	double before = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		before += (double)h->bucket[i];
		if (before >= rank)
			return i;
	}
	return HISTOGRAM_BUCKETS - 1;
}

/* Bounds of the mean within a bucket: of the sum, the other buckets have at least and at most what
 * their edges say. Beyond the bucket's edges where the sum was read at another time. */
static void bound_mean(const struct histogram *h, size_t at, double *least, double *most)
{
	double sum = (double)h->sum_ns, low = 0, high = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (i == at || !h->bucket[i])
			continue;
		low += (double)h->bucket[i] * (double)histogram_low(i);
		high +=
		    (double)h->bucket[i] * fmin((double)histogram_low(i + 1), (double)h->max_ns);
	}
	*least = (sum - high) / (double)h->bucket[at];
	*most = (sum - low) / (double)h->bucket[at];
}

/* The middle of the bucket's latencies, as far as their sum shows it. */
static double middle_of(const struct histogram *h, size_t at)
{
	double low = (double)histogram_low(at), high = (double)histogram_low(at + 1), least, most;

	bound_mean(h, at, &least, &most);
	least = fmax(least, low);
	most = fmin(most, high);
	return least <= most ? (least + most) / 2 : (low + high) / 2;
}

/* Within its bucket, latencies are taken as evenly distributed around their middle. */
static double value_at(const struct histogram *h, double rank)
{
	size_t at = bucket_at(h, rank);
	double before = 0, low = (double)histogram_low(at), high = (double)histogram_low(at + 1);
	double middle = middle_of(h, at), reach = fmin(middle - low, high - middle);

	for (size_t i = 0; i < at; i++)
		before += (double)h->bucket[i];
	middle += reach * (2 * (rank - before - 0.5) / (double)h->bucket[at] - 1);
	return fmin(middle, (double)h->max_ns);
}

struct histogram_quantile histogram_quantile(const struct histogram *h, double q)
{
	double n = (double)h->count, low, high;
	struct histogram_quantile out = {NAN, NAN, NAN};

	if (!h->count)
		return out;
	out.ns = value_at(h, fmax(ceil(n * q), 1));
	low = quantile_of_binomial(n, q, 0.025); /* ranks from 0: fewer are below the quantile */
	high = quantile_of_binomial(n, q, 0.975) + 1;
	out.low_ns = low < 1 ? 0 : (double)histogram_low(bucket_at(h, low));
	out.high_ns = INFINITY;
	if (high <= n)
		out.high_ns =
		    fmin((double)histogram_low(bucket_at(h, high) + 1), (double)h->max_ns);
	return out;
}
