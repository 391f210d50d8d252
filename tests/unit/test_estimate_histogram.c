/*
 * Histograms of latencies: the edges of buckets, sums, and whether the interval of a quantile holds
 * as often as it says, in seeded synthetic cases.
 */
#include "kit.h"
#include "synthetic.h"

#include "estimate/histogram.h"

/* Every ns has one bucket, within a sixteenth of it. */
TEST(edges)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t low = histogram_low(i), end = histogram_low(i + 1);

		assert_true(low < end && (end - low) * 16 <= (low < 16 ? 16 : low));
		assert_int_equal(histogram_bucket(low), i);
		assert_int_equal(histogram_bucket(end - 1), i);
	}
	assert_int_equal(histogram_low(0), 0);
	assert_true(histogram_low(HISTOGRAM_BUCKETS) == UINT64_C(1) << 42);
	assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static void add(struct histogram *h, uint64_t ns)
{
	histogram_add(h, histogram_bucket(ns), 1);
	histogram_add_sum(h, ns, ns, histogram_bucket(ns));
}

TEST(sums)
{
	struct histogram all = {0}, part = {0};

	for (uint64_t i = 1; i <= 1000; i++) {
		add(&all, i * i);
		if (i % 3)
			add(&part, i * i);
	}
	assert_int_equal(all.count, 1000);
	assert_int_equal(all.sum_ns, 333833500);
	assert_int_equal(all.max_ns, 1000000);
	for (uint64_t i = 3; i <= 1000; i += 3)
		add(&part, i * i);
	assert_memory_equal(&all, &part, sizeof(all));
	histogram_merge(&part, &all);
	assert_int_equal(part.count, 2000);
	assert_int_equal(part.sum_ns, 2 * all.sum_ns);
	assert_int_equal(part.max_ns, 1000000);
	assert_true(histogram_mean(&part) == 333833.5);
}

/* The longest is within the last bucket: one of another iteration is not. */
TEST(longest)
{
	struct histogram h = {0};
	size_t last = histogram_bucket(1000);

	histogram_add(&h, last, 1);
	histogram_add_sum(&h, 1000, 5000, last);
	assert_int_equal(h.max_ns, histogram_low(last + 1) - 1);
	h.max_ns = 0;
	histogram_add_sum(&h, 1000, 10, last);
	assert_int_equal(h.max_ns, histogram_low(last + 1) - 1);
	h.max_ns = 0;
	histogram_add_sum(&h, 1000, 1001, last);
	assert_int_equal(h.max_ns, 1001);
}

TEST(few)
{
	struct histogram h = {0};
	struct histogram_quantile q = histogram_quantile(&h, 0.5);

	assert_true(isnan(q.ns) && isnan(q.low_ns) && isnan(q.high_ns));
	assert_true(isnan(histogram_mean(&h)));
	add(&h, 1000);
	q = histogram_quantile(&h, 0.5);
	assert_true(q.ns >= 992 && q.ns <= 1024 && q.low_ns == 0 && isinf(q.high_ns));
	/* 6 are the fewest of which the extremes enclose the median in 95 % (1 - 2^-5 × …) */
	for (int i = 0; i < 4; i++)
		add(&h, 1000);
	assert_true(isinf(histogram_quantile(&h, 0.5).high_ns));
	add(&h, 1000);
	q = histogram_quantile(&h, 0.5);
	assert_true(q.low_ns == 992 && q.high_ns == 1000);
	assert_true(isinf(histogram_quantile(&h, 0.99).high_ns));
}

/* A bucket's edges are a sixteenth apart, but the sum shows where in it its latencies are. */
TEST(middle)
{
	const uint64_t ns = 10060000;
	struct histogram h = {0};
	size_t at = histogram_bucket(ns);
	double low = (double)histogram_low(at), high = (double)histogram_low(at + 1);
	struct histogram_quantile q;

	for (int i = 0; i < 49; i++)
		add(&h, ns);
	add(&h, (uint64_t)high - 1);
	q = histogram_quantile(&h, 0.5);
	assert_true(q.ns > 0.99 * (double)ns && q.ns <= 1.003 * (double)ns && q.low_ns == low);
	/* with others, of which the sum is known within their edges */
	for (int i = 0; i < 5; i++) {
		add(&h, 2 * ns);
		add(&h, 1000);
	}
	q = histogram_quantile(&h, 0.5);
	assert_true(q.ns > 0.99 * (double)ns && q.ns < 1.01 * (double)ns);
	/* others that have most of the sum say little; and a sum of another moment says nothing */
	for (int i = 0; i < 5; i++)
		add(&h, 1000 * ns);
	q = histogram_quantile(&h, 0.5);
	assert_true(q.ns >= low && q.ns < high);
	for (int i = 0; i < 2; i++) {
		h.sum_ns = i ? UINT64_MAX : 0;
		q = histogram_quantile(&h, 0.5);
		assert_true(fabs(q.ns - (low + high) / 2) < (high - low) / 10);
	}
}

/* Ranks of the order statistics as of R's qbinom. */
TEST(known_ranks)
{
	static const struct {
		unsigned n;
		double q;
		unsigned low, high; /* 0: none */
	} rows[] = {{100, 0.5, 40, 61},    {100, 0.9, 84, 96},     {100, 0.99, 97, 0},
		    {1000, 0.5, 469, 532}, {1000, 0.99, 983, 997}, {10000, 0.999, 9983, 9997}};

	for (size_t i = 0; i < NR(rows); i++) {
		struct histogram h = {0};
		struct histogram_quantile q;

		/* one latency to a bucket of its own is not possible: ranks are in the sums */
		for (unsigned k = 1; k <= rows[i].n; k++)
			histogram_add(&h,
				      k <= rows[i].low                    ? 100
				      : k < rows[i].high || !rows[i].high ? 200
									  : 300,
				      1);
		h.max_ns = histogram_low(301);
		q = histogram_quantile(&h, rows[i].q);
		if (q.low_ns != (double)histogram_low(100))
			fail_msg("%u %g: low rank is above %u", rows[i].n, rows[i].q, rows[i].low);
		if (rows[i].high ? q.high_ns != (double)histogram_low(301) : !isinf(q.high_ns))
			fail_msg("%u %g: high rank is below %u", rows[i].n, rows[i].q,
				 rows[i].high);
	}
}

/* Of evenly distributed latencies of 0 … 1 s: the quantile q is q s. */
TEST(holds)
{
	static const double qs[] = {0.5, 0.9, 0.99, 0.999};
	static const unsigned ns[] = {10, 100, 1000};
	uint64_t r = 42;

	for (size_t i = 0; i < NR(qs); i++) {
		for (size_t k = 0; k < NR(ns); k++) {
			unsigned held = 0;

			for (unsigned nr = 0; nr < 1000; nr++) {
				struct histogram h = {0};
				struct histogram_quantile q;

				for (unsigned j = 0; j < ns[k]; j++)
					add(&h, (uint64_t)(synthetic_uniform(&r) * 1e9));
				q = histogram_quantile(&h, qs[i]);
				held += q.low_ns <= qs[i] * 1e9 && qs[i] * 1e9 <= q.high_ns;
			}
			if (held < 935)
				fail_msg("p%g of %u: %u of 1000", 100 * qs[i], ns[k], held);
		}
	}
}
