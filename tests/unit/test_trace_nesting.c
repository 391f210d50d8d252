/*
 * How marks nest without a look at what follows: several objects, lost ends, what is left open,
 * limits.
 */
#include "kit.h"

#include "trace/nesting.h"

#include <errno.h>

static struct nesting_object objects[2];
static struct nesting n;

HOOK(before_each)
{
	memset(objects, 0, sizeof(objects));
	n = (struct nesting){.objects = objects, .nr_objects = 2};
}

HOOK(after_each)
{
	nesting_fini(&n);
}

static void begin(size_t object, uint16_t depth, size_t keep)
{
	assert_int_equal(nesting_begin(&n, object, depth), keep);
	assert_int_equal(nesting_push(&n, object), 0);
}

static void end(size_t object, uint16_t depth, size_t keep, bool is_matched, bool is_own)
{
	struct nesting_end e = nesting_end(&n, object, depth);

	assert_int_equal(e.keep, keep);
	assert_int_equal(e.is_matched, is_matched);
	assert_int_equal(e.is_own, is_own);
	assert_int_equal(n.nr, keep);
}

TEST(an_end_may_be_of_another_object)
{
	begin(0, 0, 0);
	begin(0, 1, 1);
	end(1, (uint16_t)-1, 1, true, false);
	begin(1, (uint16_t)-1, 1);
	end(0, 1, 1, true, false);
	end(1, (uint16_t)-1, 0, true, false);
	end(0, 0, 0, false, false);
}

TEST(ends_are_lost)
{
	begin(0, 0, 0);
	begin(0, 1, 1);
	begin(0, 2, 2);
	begin(0, 1, 1); /* that of 2 and 1 */
	end(0, 0, 0, true, true);
	end(0, 0, 0, false, false);
}

/* Nobody says what follows: what another object began inside was left open. */
TEST(left_open_by_another_object)
{
	begin(0, 0, 0);
	begin(1, 0, 1);
	end(0, 0, 0, true, true);
	begin(0, 0, 0);
	end(0, 0, 0, true, true);
}

TEST(depths_have_16_bits)
{
	for (uint32_t i = 0; i < 3 * 65536; i++) {
		begin(0, (uint16_t)i, 0);
		end(1, (uint16_t)(0 - i - 1), 0, true, false);
	}
	assert_int_equal(nesting_deeper(-1, 0xffff), 0);
	assert_int_equal(nesting_deeper(70000, (uint16_t)70003), 3);
	assert_int_equal(nesting_deeper(70000, (uint16_t)69997), -3);
}

TEST(limits)
{
	for (uint32_t i = 0; i < NESTING_MAX; i++)
		begin(0, i, i);
	assert_int_equal(nesting_begin(&n, 0, NESTING_MAX), NESTING_MAX);
	assert_int_equal(nesting_push(&n, 0), -ENOSPC);
	end(0, NESTING_MAX, NESTING_MAX, false, false);
	end(0, NESTING_MAX - 1, NESTING_MAX - 1, true, true);
	nesting_reset(&n);
	begin(0, 0, 0);
}
