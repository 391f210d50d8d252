/*
 * Which traces of a long session remain.
 */
#include "kit.h"

#include "base/clock.h"
#include "session/retain.h"
#include "spec/spec.h"

static const uint64_t second_ns = 1000000000;
static const struct clock_triple clocks = {.monotonic_ns = 1000, .realtime_ns = 500001000};

/* A day of iterations of a second, in segments or each in a file of its own: the limit holds after
 * each, and at least nine tenths of it are used; memory does not grow. */
static void check_day(const struct spec_retain *limits, uint64_t nr, bool is_segmented)
{
	enum { DAY = 86400, BYTES = 100, COMMON = 1000 };
	uint64_t number = 0, removed = 0;
	struct retain r;
	bool has_changed;
	size_t room = 0;

	retain_init(&r, limits);
	for (uint64_t i = 0; i < DAY; i++) {
		const struct retain_part *newest = retain_newest(&r), *part;

		number = is_segmented ? number + retain_is_full(&r) : i;
		assert_int_equal(
		    retain_add(&r, number, i, i * second_ns, (i + 1) * second_ns, &clocks), 0);
		newest = retain_newest(&r);
		retain_set_bytes(&r, BYTES * (newest->end - newest->first));
		has_changed = retain_trim(&r, COMMON);
		assert_int_equal(has_changed, r.removed.iterations != removed);
		removed = r.removed.iterations;
		part = &r.parts[r.first];
		assert_int_equal(part->first, removed);
		assert_int_equal(newest->end, i + 1);
		assert_true(i + 1 - removed <= nr);
		assert_true(i < nr || i + 1 - removed >= nr - nr / 10);
		if (removed) {
			assert_int_equal(r.removed.begin_ns, clocks.realtime_ns - 1000);
			assert_int_equal(r.removed.end_ns,
					 removed * second_ns + clocks.realtime_ns - 1000);
			assert_int_equal(r.removed.numbers, part->number);
		}
		room = i == DAY / 2 ? r.room : room;
	}
	assert_true(removed > 0 && r.room == room);
	retain_fini(&r);
}

TEST(a_day)
{
	static const struct spec_retain cases[] = {
	    {.iterations = 1000},
	    {.span_ns = 1000 * 1000000000ull},
	    {.bytes = 1000 * 100 + 1000},
	    {.iterations = 1000, .span_ns = 2000 * 1000000000ull, .bytes = 1 << 30},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_day(&cases[i], 1000, true);
		check_day(&cases[i], 1000, false);
	}
}

/* The newest part remains, however small the limits are. */
TEST(the_newest_remains)
{
	static const struct spec_retain limits = {.iterations = 1, .span_ns = 1, .bytes = 1};
	struct retain r;

	retain_init(&r, &limits);
	for (uint64_t i = 0; i < 5; i++) {
		assert_int_equal(retain_add(&r, i, i, i * second_ns, (i + 1) * second_ns, &clocks),
				 0);
		retain_set_bytes(&r, 1000);
		assert_int_equal(retain_trim(&r, 1000), i > 0);
		assert_int_equal(r.removed.iterations, i);
		assert_true(retain_is_full(&r));
	}
	retain_fini(&r);
}

TEST(nothing_to_remove)
{
	static const struct spec_retain limits = {.iterations = 3};
	struct retain r;

	retain_init(&r, &limits);
	assert_null(retain_newest(&r));
	assert_false(retain_is_full(&r) || retain_trim(&r, 1000));
	assert_int_equal(retain_add(&r, 0, 0, 0, second_ns, &clocks), 0);
	assert_false(retain_trim(&r, 1000));
	assert_int_equal(r.removed.iterations, 0);
	retain_fini(&r);
}
