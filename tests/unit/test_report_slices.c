/*
 * Counts over time: what agrees is one count, nothing is lost when slices become longer, and there
 * are never more counts than may be.
 */
#include "kit.h"
#include "test_report.h"

#include "report/slices.h"

struct sample {
	uint32_t stack, group, slice;
	uint64_t weight;
};

static uint64_t weight_of(const struct report_slices *s, uint32_t stack, uint32_t group,
			  uint32_t slice, uint64_t *samples)
{
	uint64_t weight = 0;
	size_t nr, nr_found = 0;
	const struct report_slice *c = report_slices_counts(s, &nr);

	*samples = 0;
	for (size_t i = 0; i < nr; i++) {
		if (c[i].stack != stack || c[i].group != group || c[i].slice != slice)
			continue;
		nr_found++;
		weight += c[i].weight;
		*samples += c[i].samples;
	}
	assert_true(nr_found <= 1);
	return weight;
}

static void expect(const struct report_slices *s, uint32_t stack, uint32_t group, uint32_t slice,
		   uint64_t samples, uint64_t weight)
{
	uint64_t got;

	assert_int_equal(weight_of(s, stack, group, slice, &got), weight);
	assert_int_equal(got, samples);
}

TEST(counts)
{
	static const struct sample samples[] = {
	    {1, 0, 0, 10}, {1, 0, 0, 11}, {2, 0, 0, 12}, {1, 1, 0, 13},
	    {1, 0, 1, 14}, {1, 0, 0, 15}, {0, 0, 7, 16}, {1, 0, 6, 17},
	};
	struct report_slices *s = report_slices_new(100);
	size_t nr;

	for (size_t i = 0; i < NR(samples); i++)
		assert_int_equal(report_slices_add(s, samples[i].stack, samples[i].group,
						   samples[i].slice, 1, samples[i].weight,
						   2 * (double)samples[i].weight),
				 0);
	report_slices_counts(s, &nr);
	assert_int_equal(nr, 6);
	expect(s, 1, 0, 0, 3, 36);
	expect(s, 2, 0, 0, 1, 12);
	expect(s, 1, 1, 0, 1, 13);
	expect(s, 1, 0, 1, 1, 14);
	expect(s, 0, 0, 7, 1, 16);
	assert_int_equal(report_slices_doubled(s), 0);
	assert_int_equal(report_slices_double(s), 0);
	assert_int_equal(report_slices_doubled(s), 1);
	report_slices_counts(s, &nr);
	assert_int_equal(nr, 5);
	expect(s, 1, 0, 0, 4, 50);
	expect(s, 1, 0, 3, 1, 17);
	expect(s, 0, 0, 3, 1, 16);
	assert_int_equal(report_slices_add(s, 1, 0, 7, 1, 1, 1), 0); /* slices as at first */
	expect(s, 1, 0, 3, 2, 18);
	report_slices_free(s);
}

/* Each with a slice of its own. */
TEST(bounded)
{
	enum { NR = 10000, MAX = 64 };
	struct report_slices *s = report_slices_new(MAX);
	uint64_t samples = 0, weight = 0;
	const struct report_slice *c;
	size_t nr;

	for (uint32_t i = 0; i < NR; i++) {
		assert_int_equal(report_slices_add(s, 1 + i % 3, 0, i, 1, i, 1), 0);
		report_slices_counts(s, &nr);
		assert_true(nr <= MAX);
	}
	c = report_slices_counts(s, &nr);
	assert_true(nr > MAX / 4);
	assert_true(report_slices_doubled(s) >= 8 && report_slices_doubled(s) <= 10);
	for (size_t i = 0; i < nr; i++) {
		samples += c[i].samples;
		weight += c[i].weight;
		assert_true(c[i].slice <= (uint32_t)NR >> report_slices_doubled(s));
	}
	assert_int_equal(samples, NR);
	assert_int_equal(weight, (uint64_t)NR * (NR - 1) / 2);
	report_slices_free(s);
}

/* Stacks alone are too many. */
TEST(too_many)
{
	struct report_slices *s = report_slices_new(8);
	size_t nr;

	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(report_slices_add(s, i, 0, UINT32_MAX, 1, 1, 1), 0);
	assert_int_equal(report_slices_add(s, 8, 0, UINT32_MAX, 1, 1, 1), -EFBIG);
	assert_int_equal(report_slices_add(s, 0, 1, 0, 1, 1, 1), -EFBIG);
	assert_int_equal(report_slices_add(s, 7, 0, 0, 1, 1, 1), 0);
	report_slices_counts(s, &nr);
	assert_int_equal(nr, 8);
	expect(s, 7, 0, 0, 2, 2);
	report_slices_free(s);
}

TEST(no_memory)
{
	unsigned n = 0;

	do {
		struct report_slices *s;
		int rc = 0;

		inject_mem(++n);
		s = report_slices_new(40);
		for (uint32_t i = 0; s && rc == 0 && i < 100; i++)
			rc = report_slices_add(s, i % 7, 0, i, 1, 1, 1);
		assert_true(inject.fired == (!s || rc == -ENOMEM));
		report_slices_free(s);
		inject_stop();
		assert_int_equal(inject.nr_live, 0);
	} while (inject.fired);
	assert_true(n > 5);
}
