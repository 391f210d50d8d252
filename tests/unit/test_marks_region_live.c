/*
 * Regions while they are recorded: what ended and what is open since the last reading, recursion,
 * lost ends, and limits.
 */
#include "kit.h"

#include "base/array.h"
#include "marks/region_live.h"
#include "marks/region_stream.h"
#include "trace/trace.h"

enum { B = TRACE_MARK_BEGIN, N = TRACE_MARK_BEGIN_NUMBER, E = TRACE_MARK_END };
enum { PARSE = 1, SORT };

static struct region_live l;
static struct region_stream stream;
static struct region_times_list list;

static bool is_there(uint32_t pid, uint32_t tid)
{
	(void)pid;
	(void)tid;
	return true;
}

static void add_live(void *arg, uint32_t pid, uint32_t tid, const struct wire_mark *m)
{
	region_live_add(arg, pid, tid, m);
}

HOOK(before_each)
{
	assert_int_equal(region_live_init(&l), 0);
	region_stream_init(&stream, add_live, &l);
	stream.is_there = is_there;
	region_live_name(&l, PARSE, "parse");
	region_live_name(&l, SORT, "sort");
}

HOOK(after_each)
{
	region_stream_fini(&stream);
	region_live_fini(&l);
}

/* {time, value, name, kind, depth} */
#define ADD(thread, ...)                                                                           \
	do {                                                                                       \
		const struct wire_mark marks_[] = {__VA_ARGS__};                                   \
		region_stream_add(&stream, &(struct wire_marks){.pid = 1,                          \
								.tid = (thread),                   \
								.object = 1,                       \
								.mark = marks_,                    \
								.nr = ARRAY_NR(marks_)});          \
		region_stream_pass(&stream, UINT64_MAX);                                           \
	} while (0)

static void expect(size_t i, const char *name, uint64_t calls, uint64_t wall_ns, uint64_t ended_ns)
{
	assert_true(i < list.nr);
	assert_string_equal(list.row[i].name, name);
	assert_int_equal(list.row[i].calls, calls);
	assert_int_equal(list.row[i].wall_ns, wall_ns);
	assert_int_equal(list.row[i].ended_ns, ended_ns);
}

TEST(the_most_time_comes_first)
{
	ADD(5, {10, 0, PARSE, B, 0}, {20, 7, SORT, N, 1}, {30, 0, 0, E, 1}, {50, 0, 0, E, 0});
	ADD(6, {10, 0, SORT, B, 0}, {100, 0, 0, E, 0});
	region_live_take(&l, 200, &list);
	assert_int_equal(list.nr, 2);
	expect(0, "sort", 2, 100, 100);
	expect(1, "parse", 1, 40, 40);
	region_live_take(&l, 300, &list);
	assert_int_equal(list.nr, 0);
}

TEST(open_regions_have_their_part)
{
	ADD(5, {10, 0, PARSE, B, 0});
	region_live_take(&l, 110, &list);
	expect(0, "parse", 0, 100, 0);
	region_live_take(&l, 210, &list);
	expect(0, "parse", 0, 100, 0);
	ADD(5, {215, 0, 0, E, 0});
	region_live_take(&l, 310, &list);
	expect(0, "parse", 1, 5, 205);
}

/* A mark that ended before the last reading arrives after it: no time is negative. */
TEST(a_late_end)
{
	ADD(5, {10, 0, PARSE, B, 0});
	region_live_take(&l, 110, &list);
	ADD(5, {100, 0, 0, E, 0});
	region_live_take(&l, 210, &list);
	expect(0, "parse", 1, 0, 90);
}

TEST(recursion_counts_once)
{
	ADD(5, {10, 0, PARSE, B, 0}, {20, 0, PARSE, B, 1}, {30, 0, 0, E, 1}, {50, 0, 0, E, 0});
	region_live_take(&l, 200, &list);
	expect(0, "parse", 2, 40, 50);
}

TEST(lost_ends)
{
	ADD(5, {5, 0, 0, E, 0}, {10, 0, PARSE, B, 0}, {20, 0, SORT, B, 1}, {50, 0, 0, E, 0});
	ADD(5, {60, 0, SORT, B, 3}, {70, 0, 0, E, 3}, {80, 0, SORT, B, 30}, {90, 0, 0, E, 30});
	region_live_take(&l, 200, &list);
	expect(0, "sort", 3, 50, 50);
	expect(1, "parse", 1, 40, 40);
}

TEST(names_beyond_the_limit)
{
	char name[16];

	for (uint32_t i = 3; i < 2000; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		region_live_name(&l, i, name);
	}
	ADD(5, {10, 0, 1900, B, 0}, {30, 0, 0, E, 0}, {30, 0, 1901, B, 0}, {40, 0, 0, E, 0});
	ADD(5, {40, 0, 1 << 20, B, 0}, {45, 0, 0, E, 0});
	region_live_take(&l, 200, &list);
	assert_int_equal(list.nr, 1);
	expect(0, "[others]", 3, 35, 35);
	for (uint32_t i = 1; i <= 40; i++)
		ADD(5, {1000 * i, 0, i, B, 0}, {1000 * i + 100 - i, 0, 0, E, 0});
	region_live_take(&l, 50000, &list);
	assert_int_equal(list.nr, REGION_TIMES_MAX);
	assert_int_equal(list.nr_more, 40 - REGION_TIMES_MAX);
	expect(0, "parse", 1, 99, 99);
}

/* Threads without an open region make room for others. */
TEST(threads_beyond_the_limit)
{
	ADD(1, {1, 0, SORT, B, 0});
	for (uint32_t i = 0; i < 3 * REGION_LIVE_MAX_THREADS; i++) {
		ADD(100000 + i, {200, 0, PARSE, B, 0}, {201, 0, 0, E, 0});
		if (i % 1000 == 0)
			region_live_take(&l, 1000, &list);
	}
	region_live_take(&l, 1000, &list);
	ADD(1, {1100, 0, 0, E, 0}, {1100, 0, PARSE, B, 0}, {1101, 0, 0, E, 0});
	ADD(999999, {1990, 0, SORT, B, 0}, {1995, 0, 0, E, 0});
	region_live_take(&l, 2000, &list);
	expect(0, "sort", 2, 105, 1104);
	expect(1, "parse", 1, 1, 1);
}
