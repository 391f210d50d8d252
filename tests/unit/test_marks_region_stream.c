/*
 * Marks of several objects of a thread, in order of time and nested; what waits, threads that are
 * gone, limits.
 */
#include "kit.h"

#include "base/array.h"
#include "base/buf.h"
#include "marks/region_stream.h"
#include "trace/trace.h"

#include <inttypes.h>

enum { B = TRACE_MARK_BEGIN, E = TRACE_MARK_END, I = TRACE_MARK_INSTANT };

static struct region_stream s;
static struct buf seen;
static uint32_t gone;
static size_t nr_asked;

static bool is_there(uint32_t pid, uint32_t tid)
{
	nr_asked += pid > 0;
	return tid != gone;
}

static void add_seen(void *arg, uint32_t pid, uint32_t tid, const struct wire_mark *m)
{
	(void)arg;
	(void)pid;
	buf_printf(&seen, "%s%u:%u@%" PRIu64 " ",
		   m->kind == B   ? "("
		   : m->kind == E ? ")"
				  : "!",
		   tid, m->depth, m->time_ns);
}

HOOK(before_each)
{
	buf_init(&seen, 1 << 20);
	region_stream_init(&s, add_seen, NULL);
	s.is_there = is_there;
	gone = 0;
	nr_asked = 0;
}

HOOK(after_each)
{
	region_stream_fini(&s);
	buf_fini(&seen);
}

/* {time, value, name, kind, depth} */
#define ADD(thread, from, ...)                                                                     \
	do {                                                                                       \
		const struct wire_mark marks_[] = {__VA_ARGS__};                                   \
		region_stream_add(&s, &(struct wire_marks){.pid = 1,                               \
							   .tid = (thread),                        \
							   .object = (from),                       \
							   .mark = marks_,                         \
							   .nr = ARRAY_NR(marks_)});               \
	} while (0)

static void expect(const char *text)
{
	assert_string_equal(buf_str(&seen), text);
	buf_reset(&seen);
}

TEST(objects_are_merged)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 1, B, 1}, {25, 0, 1, I, 0}, {50, 0, 1, B, 2});
	ADD(5, 2, {30, 0, 0, E, (uint16_t)-1}, {40, 0, 0, E, (uint16_t)-2},
	    {60, 0, 0, E, (uint16_t)-3});
	region_stream_pass(&s, UINT64_MAX);
	expect("(5:0@10 (5:1@20 !5:0@25 )5:1@30 )5:0@40 (5:0@50 )5:0@60 ");
}

/* An end is there before a beginning in a ring that was read earlier. */
TEST(later_marks_wait)
{
	ADD(5, 2, {30, 0, 0, E, (uint16_t)-1});
	region_stream_pass(&s, 29);
	expect("");
	ADD(5, 1, {28, 0, 1, B, 0});
	region_stream_pass(&s, 30);
	expect("(5:0@28 )5:0@30 ");
}

TEST(each_region_has_an_end)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 1, B, 1}, {30, 0, 1, B, 2}, {40, 0, 1, B, 1},
	    {50, 0, 0, E, 0});
	ADD(6, 1, {60, 0, 1, B, 0}, {61, 0, 1, B, 1}, {62, 0, 0, TRACE_MARK_THREAD_END, 0},
	    {63, 0, 0, E, 0});
	region_stream_pass(&s, UINT64_MAX);
	expect("(5:0@10 (5:1@20 (5:2@30 )5:2@40 )5:1@40 (5:1@40 )5:1@50 )5:0@50 "
	       "(6:0@60 (6:1@61 )6:1@62 )6:0@62 ");
}

TEST(threads_that_are_gone)
{
	ADD(5, 1, {10, 0, 1, B, 0});
	ADD(6, 1, {11, 0, 1, B, 0});
	gone = 5;
	region_stream_pass(&s, 1000000000); /* its marks are of this look */
	expect("(5:0@10 (6:0@11 ");
	region_stream_pass(&s, 1900000000);
	expect("");
	region_stream_pass(&s, 2000000000);
	expect(")5:0@10 ");
}

TEST(threads_beyond_the_limit)
{
	for (uint32_t i = 0; i < 2 * REGION_STREAM_MAX_THREADS; i++) {
		ADD(100 + i, 1, {i, 0, 1, B, 0});
		if (i % 3 == 0)
			ADD(100 + i, 1, {i, 0, 0, E, 0});
	}
	region_stream_pass(&s, UINT64_MAX);
	/* all are there: little room was made, and looked for once */
	assert_in_range(nr_asked, 1, REGION_STREAM_MAX_THREADS);
	buf_reset(&seen);
	gone = 101;
	ADD(999999, 1, {9999, 0, 1, B, 0});
	region_stream_pass(&s, UINT64_MAX);
	expect(")101:0@1 (999999:0@9999 ");
}

TEST(marks_beyond_the_limit)
{
	for (uint32_t i = 0; i <= REGION_STREAM_MAX_WAITING; i++)
		ADD(5, 1, {10, 0, 1, TRACE_MARK_PAUSE, 0});
	assert_int_equal(s.nr, 1);
}

/* Regions of two objects that overlap: the first end is that of the inner one if the other object
 * ends the outer one, as far as that mark is known. Else what is inside was left open. */
TEST(ends_of_two_objects_cross)
{
	static const struct {
		uint64_t until_ns;
		const char *seen;
	} cases[] = {
	    {UINT64_MAX, "(5:0@10 (5:1@20 )5:1@30 )5:0@40 "},
	    {35, "(5:0@10 (5:1@20 )5:1@30 )5:0@30 "},
	};

	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		ADD(5, 1, {10, 0, 1, B, 0});
		ADD(5, 2, {20, 0, 1, B, 0});
		ADD(5, 1, {30, 0, 0, E, 0});
		region_stream_pass(&s, cases[i].until_ns == 35 ? 35 : 29);
		ADD(5, 2, {40, 0, 0, E, 0});
		region_stream_pass(&s, UINT64_MAX);
		expect(cases[i].seen);
	}
}

/* What another object began inside is not ended later. */
TEST(left_open_by_another_object)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {30, 0, 0, E, 0}, {40, 0, 1, B, 0}, {50, 0, 0, E, 0});
	ADD(5, 2, {20, 0, 1, B, 0}, {45, 0, 1, B, 1}, {48, 0, 0, E, 1});
	region_stream_pass(&s, UINT64_MAX);
	expect("(5:0@10 (5:1@20 )5:1@30 )5:0@30 (5:0@40 (5:1@45 )5:1@48 )5:0@50 ");
}
