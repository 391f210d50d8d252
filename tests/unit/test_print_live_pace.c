/*
 * How many samples of an iteration the screen of functions reads: a simulated reader, whose cost
 * has a part that reading fewer samples does not lower.
 */
#include "kit.h"

#include "live/pace.h"

enum { MS = 1000000, BYTES_OF_SAMPLE = 130 };

struct reader {
	uint64_t nr_samples; /* of an iteration */
	uint64_t fixed_ns, sample_ns;
};

static uint64_t cost_ns(const struct reader *r, uint32_t every)
{
	return r->fixed_ns + r->nr_samples / every * r->sample_ns;
}

/* What it reads after so many iterations. */
static uint32_t run(const struct reader *r, uint64_t allowed_ns, unsigned iterations)
{
	uint32_t every = pace_begin(r->nr_samples * BYTES_OF_SAMPLE, allowed_ns);

	while (iterations--)
		every = pace_next(every, cost_ns(r, every), allowed_ns, r->nr_samples);
	return every;
}

TEST(few_samples_are_all_read)
{
	const struct reader r = {2000, 0, 1000};

	assert_int_equal(run(&r, 45 * MS, 10), 1);
	/* even if it costs too much: iterations are dropped then */
	assert_int_equal(run(&r, MS, 10), 1);
	assert_int_equal(pace_begin(0, 0), 1);
	assert_int_equal(pace_next(1, 0, 0, 0), 1);
}

TEST(many_fit_what_is_allowed)
{
	static const struct reader rows[] = {
	    {640000, 0, 1200}, {640000, 10 * MS, 1200}, {640000, 20 * MS, 500}, {60000, MS, 2500}};

	for (size_t i = 0; i < NR(rows); i++) {
		const uint32_t every = run(&rows[i], 40 * MS, 30);

		assert_true(every > 1);
		assert_true(cost_ns(&rows[i], every) <= 40 * MS);
		/* and no fewer than that asks for */
		assert_true(cost_ns(&rows[i], every) >= 15 * MS);
	}
}

TEST(never_fewer_than_some)
{
	const struct reader r = {640000, 100 * MS, 1200};

	assert_int_equal(run(&r, 40 * MS, 100), 640000 / PACE_MIN_SAMPLES);
}

TEST(all_are_read_again_when_there_are_few)
{
	const struct reader busy = {640000, MS, 1200}, quiet = {3000, MS, 1200};
	uint32_t every = run(&busy, 40 * MS, 30);

	every = pace_next(every, cost_ns(&quiet, every), 40 * MS, quiet.nr_samples);
	assert_int_equal(every, 1);
	/* or when the machine is faster than it was */
	every = run(&busy, 40 * MS, 30);
	for (unsigned i = 0; i < 50; i++)
		every = pace_next(every, MS, 40 * MS, busy.nr_samples);
	assert_int_equal(every, 1);
}

TEST(begins_by_size)
{
	const uint64_t bytes = 640000 * (uint64_t)BYTES_OF_SAMPLE;
	const uint32_t every = pace_begin(bytes, 60 * MS);

	assert_in_range(every, 10, 40);
	assert_true(pace_guess_ns(bytes, every) <= 60 * MS);
	assert_int_equal(pace_guess_ns(1000, 1), 10000);
}
