/*
 * What traces say together: when, how long, how much of it events ran, notes, cuts, and the clocks.
 */
#include "kit.h"

#include "base/reading.h"
#include "profile/about.h"
#include "profile/iterator.h"

static struct profile_pair pair(uint64_t enabled_ns, uint64_t running_ns)
{
	return (struct profile_pair){
	    .has_start = true,
	    .has_end = true,
	    .start = {.enabled_ns = 10, .running_ns = 5},
	    .end = {.enabled_ns = 10 + enabled_ns, .running_ns = 5 + running_ns}};
}

static void add(struct profile_about *a, uint32_t iteration, uint64_t start_ns, uint64_t end_ns,
		const struct profile_pair *pairs, bool is_cut)
{
	const struct profile_trace t = {
	    .head = {.iteration = iteration},
	    .pairs = pairs,
	    .start_ns = start_ns,
	    .end_ns = end_ns,
	    .is_cut = is_cut,
	    .has_clocks = true,
	    .clocks = {.monotonic_ns = 1000 + iteration, .realtime_ns = 5000}};

	profile_about_add(a, &t);
}

/* Traces of an iteration cover the same time; a pair that goes backward did not run. */
TEST(times)
{
	const struct profile_pair pairs[] = {pair(100, 40), pair(50, 50)},
				  backward[] = {pair(20, 30), {.has_start = true}};
	struct profile_about a;

	assert_int_equal(profile_about_init(&a, 2), 0);
	assert_int_equal(profile_about_realtime(&a, 1700), 0); /* no clocks yet */
	add(&a, 3, 1000, 1100, pairs, false);
	add(&a, 3, 990, 1090, pairs, false);
	add(&a, 4, 1200, 1250, pairs, true);
	add(&a, 5, 0, 7, backward, false); /* times that nobody read */
	assert_int_equal(a.start_ns, 990);
	assert_int_equal(a.end_ns, 1250);
	assert_int_equal(a.measured_ns, 150);
	assert_int_equal(a.ran[0].enabled_ns, 300);
	assert_int_equal(a.ran[0].running_ns, 120);
	assert_int_equal(a.ran[1].enabled_ns, 150);
	assert_int_equal(a.ran[1].running_ns, 150);
	assert_true(a.is_cut);
	assert_int_equal(a.cut_iteration, 4);
	assert_int_equal(profile_about_realtime(&a, 1703), 5700); /* by the first clocks */
	assert_int_equal(profile_about_realtime(&a, 0), 0);
	profile_about_fini(&a);
}

/* Each text once, in order. */
TEST(notes)
{
	struct profile_trace t = {.notes = {"one", "two"}, .nr_notes = 2};
	struct profile_about a;
	size_t at = 0;

	assert_int_equal(profile_about_init(&a, 0), 0);
	profile_about_add(&a, &t);
	t.notes[0] = "three";
	profile_about_add(&a, &t);
	assert_string_equal(profile_about_note(&a, &at), "one");
	assert_string_equal(profile_about_note(&a, &at), "two");
	assert_string_equal(profile_about_note(&a, &at), "three");
	assert_null(profile_about_note(&a, &at));
	profile_about_fini(&a);
}
