/*
 * What a reader that is too slow reads, drops, and says.
 */
#include "kit.h"

#include "live/backlog.h"

enum { RECENT = 5 };

/* An iteration ends; how many may be read then. Returns how many were. */
static uint32_t end_one(struct backlog *b, uint32_t may_read)
{
	const uint32_t end = b->end + 1;
	uint32_t first, nr = 0;

	backlog_add(b, b->end, end, 1000 * end);
	if (end > RECENT)
		backlog_drop(b, end - RECENT);
	while (nr < may_read && backlog_nr_waiting(b))
		nr += backlog_take(b, may_read - nr, &first);
	return nr;
}

static void expect_whole(const struct backlog *b)
{
	assert_int_equal(b->nr_read + b->nr_dropped + backlog_nr_waiting(b), b->end);
}

TEST(who_keeps_up_reads_all)
{
	struct backlog b = {0};

	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(end_one(&b, i % 4 == 3 ? 4 : 0), i % 4 == 3 ? 4 : 0);
	assert_int_equal(b.nr_dropped, 0);
	assert_int_equal(b.nr_read, 100);
	assert_int_equal(backlog_recent_from(&b, RECENT), 95);
	assert_int_equal(backlog_nr_read_from(&b, 95), 5);
}

/* One of three: the newest, and what it passes over only while it is of the last seconds. */
TEST(who_is_slow_drops)
{
	struct backlog b = {0};

	for (uint32_t i = 0; i < 300; i++) {
		uint32_t from;

		end_one(&b, i % 3 == 0);
		expect_whole(&b);
		assert_true(b.nr_waiting <= RECENT);
		assert_true(!b.nr_waiting || b.waiting[0].first + RECENT >= b.end);
		from = backlog_recent_from(&b, RECENT);
		assert_int_equal(b.end - from, b.end < RECENT ? b.end : RECENT);
		assert_in_range(backlog_nr_read_from(&b, from), 1, 2);
	}
	assert_int_equal(b.nr_read, 100);
	assert_in_range(b.nr_dropped, 195, 200);
}

/* Rows of the last seconds never lack what was read last. */
TEST(what_was_read_last_is_shown)
{
	struct backlog b = {0};
	uint32_t first = 0;

	for (uint32_t i = 0; i < 10; i++)
		end_one(&b, 1);
	for (uint32_t i = 0; i < 20; i++)
		end_one(&b, 0);
	assert_int_equal(backlog_recent_from(&b, RECENT), 9);
	assert_int_equal(backlog_nr_read_from(&b, 9), 1);
	assert_int_equal(b.nr_dropped, 15);
	assert_int_equal(backlog_take(&b, 4, &first), 4);
	assert_int_equal(first, 26);
	assert_int_equal(backlog_recent_from(&b, RECENT), 25);
	assert_int_equal(backlog_nr_read_from(&b, 25), 4);
	assert_int_equal(backlog_take(&b, 4, &first), 1);
	assert_int_equal(first, 25);
	assert_int_equal(backlog_take(&b, 4, &first), 0);
	expect_whole(&b);
}

/* What had ended before there was a reader is read as long as nothing newer is late. */
TEST(history)
{
	struct backlog b = {.history = 1000};
	uint32_t first;

	backlog_add(&b, 10, 1000, 0); /* ten were removed */
	backlog_drop(&b, 995);
	assert_int_equal(backlog_nr_waiting(&b), 990);
	for (uint32_t i = 0; i < 50; i++)
		end_one(&b, 2);
	assert_int_equal(b.nr_dropped, 0);
	assert_int_equal(b.nr_read, 100);
	assert_int_equal(backlog_take(&b, 4, &first), 4);
	for (uint32_t i = 0; i < 6; i++)
		end_one(&b, 0);
	assert_int_equal(backlog_nr_waiting(&b), RECENT);
	assert_int_equal(b.waiting[0].first, b.end - RECENT);
	assert_int_equal(b.nr_read + b.nr_dropped + RECENT, 990 + 56);
}

TEST(room)
{
	struct backlog b = {.history = UINT32_MAX};
	uint32_t first;

	for (uint32_t i = 0; !backlog_is_full(&b); i++) {
		backlog_add(&b, b.end, b.end + 2, i);
		assert_int_equal(backlog_take(&b, 1, &first), 1);
	}
	assert_int_equal(b.nr_waiting, BACKLOG_MAX_RANGES);
	backlog_drop(&b, b.end);
	assert_int_equal(b.nr_waiting, BACKLOG_MAX_RANGES);
	b.history = 0;
	backlog_drop(&b, b.end);
	assert_int_equal(b.nr_waiting, 0);
	expect_whole(&b);
}
