/*
 * Which tasks remaining samples need: scenes of what the common file has, and what is dropped.
 */
#include "kit.h"
#include "test_processes.h"

#include "base/array.h"
#include "trace/lives.h"

enum { MAX_STEPS = 16, MAX_PERIODS = 4 };

/* A step and whether it is needed. */
struct line {
	struct step step;
	bool is_needed;
};

#define FORKED(t, child, parent)                                                                   \
	{                                                                                          \
		.op = FORK, .time_ns = t, .pid = child, .tid = child, .ppid = parent,              \
		.ptid = parent                                                                     \
	}
#define THREAD(t, p, th, parent)                                                                   \
	{                                                                                          \
		.op = FORK, .time_ns = t, .pid = p, .tid = th, .ppid = p, .ptid = parent           \
	}
#define FOUND(t, p)                                                                                \
	{                                                                                          \
		.op = FORK, .is_made = true, .time_ns = t, .pid = p, .tid = p, .ppid = 1,          \
		.ptid = 1                                                                          \
	}
#define NAMED(t, p, th)                                                                            \
	{                                                                                          \
		.op = COMM, .time_ns = t, .pid = p, .tid = th, .text = "name"                      \
	}
#define EXECED(t, p)                                                                               \
	{                                                                                          \
		.op = EXEC, .time_ns = t, .pid = p, .tid = p, .text = "name"                       \
	}
#define EXITED(t, p, th)                                                                           \
	{                                                                                          \
		.op = EXIT, .time_ns = t, .pid = p, .tid = th, .ppid = 1, .ptid = 1                \
	}
#define MAPPED(t, p, th)                                                                           \
	{                                                                                          \
		.op = MAP, .time_ns = t, .pid = p, .tid = th, .start = 4096, .end = 8192,          \
		.text = "/lib/x", .inode = 7                                                       \
	}

static const struct scene {
	const char *name;
	struct trace_period periods[MAX_PERIODS];
	struct line lines[MAX_STEPS];
} scenes[] = {
    {"a process that ended before",
     {{100, 200}},
     {{FORKED(10, 5, 4), false},
      {EXECED(11, 5), false},
      {MAPPED(12, 5, 5), false},
      {EXITED(99, 5, 5), false},
      {FORKED(300, 6, 4), false},
      {NAMED(301, 6, 6), false}}},
    {"one that lived at the edge of a period, between periods, and in one of two",
     {{100, 200}, {300, 400}},
     {{FORKED(10, 5, 4), true},
      {EXITED(100, 5, 5), true},
      {FORKED(200, 6, 4), true},
      {EXITED(210, 6, 6), true},
      {FORKED(210, 7, 4), false},
      {MAPPED(220, 7, 7), false},
      {EXITED(290, 7, 7), false},
      {FORKED(290, 8, 4), true},
      {EXITED(310, 8, 8), true}}},
    {"a pid that is used again",
     {{100, 200}},
     {{FORKED(10, 5, 4), false},
      {MAPPED(11, 5, 5), false},
      {EXITED(20, 5, 5), false},
      {FORKED(30, 5, 4), true},
      {EXECED(31, 5), true},
      {MAPPED(32, 5, 5), true}}},
    {"used again, and the first end was lost",
     {{100, 200}},
     {{FORKED(10, 5, 4), false},
      {NAMED(11, 5, 5), false},
      {FORKED(50, 5, 4), true},
      {MAPPED(60, 5, 5), true}}},
    {"mappings and names of ended parents are inherited",
     {{100, 200}},
     {{FORKED(10, 5, 4), true},
      {MAPPED(11, 5, 5), true},
      {FORKED(12, 6, 5), true},
      {EXITED(13, 5, 5), true},
      {FORKED(14, 7, 6), true},
      {EXITED(15, 6, 6), true},
      {FORKED(16, 8, 7), false},
      {EXITED(17, 8, 8), false},
      {FORKED(20, 5, 7), false},
      {EXITED(30, 5, 5), false}}},
    {"threads that ended, and the one that created a thread that did not",
     {{100, 200}},
     {{FORKED(10, 5, 4), true},
      {THREAD(11, 5, 6, 5), false},
      {NAMED(12, 5, 6), false},
      {MAPPED(13, 5, 6), true},
      {EXITED(14, 5, 6), false},
      {THREAD(15, 5, 7, 5), true},
      {NAMED(16, 5, 7), true},
      {THREAD(17, 5, 8, 7), true},
      {EXITED(18, 5, 7), true}}},
    {"a main thread that ended before its process",
     {{100, 200}},
     {{FORKED(10, 5, 4), true},
      {MAPPED(11, 5, 5), true},
      {THREAD(12, 5, 6, 5), true},
      {EXITED(13, 5, 5), true},
      {MAPPED(14, 5, 6), true}}},
    {"a thread whose creation was lost, and a fork by such a one that ended",
     {{100, 200}},
     {{FORKED(10, 5, 4), true},
      {EXITED(12, 5, 5), true},
      {NAMED(13, 5, 6), true},
      {FORKED(14, 7, 4), true},
      {MAPPED(15, 7, 7), true},
      {{.op = FORK, .time_ns = 16, .pid = 8, .tid = 8, .ppid = 7, .ptid = 9}, true},
      {EXITED(17, 7, 7), true}}},
    {"a thread that calls exec becomes the main thread",
     {{100, 200}},
     {{FORKED(10, 5, 4), true},
      {THREAD(11, 5, 6, 5), false},
      {EXITED(12, 5, 5), true},
      {EXECED(13, 5), true},
      {MAPPED(14, 5, 5), true}}},
    {"found by the survey: it lives from the beginning",
     {{100, 200}},
     {{FOUND(10, 5), true},
      {MAPPED(11, 5, 5), true},
      {FOUND(10, 6), false},
      {MAPPED(11, 6, 6), false},
      {EXITED(20, 6, 6), false}}},
    {"unknown tasks, and what is not of tasks",
     {{100, 200}},
     {{MAPPED(10, 5, 5), true},
      {MAPPED(10, UINT32_MAX, UINT32_MAX), true},
      {EXITED(20, UINT32_MAX, UINT32_MAX), true},
      {{.op = SYMBOL, .time_ns = 10, .pid = 0, .start = 1, .end = 2, .text = "s"}, true}}},
};

/* The record of a step, which lies in *b. */
static struct trace_record record_of(struct tape *t, const struct step *s)
{
	struct trace_layout layout;
	struct trace_record r;
	struct buf *b = &t->records[s->is_made];
	size_t at = b->len;

	tape_add(t, s);
	trace_layout_side_band(&layout, s->is_made);
	assert_int_equal(
	    trace_record_decode(&layout, (const uint8_t *)b->data + at, b->len - at, &r), 0);
	return r;
}

/* In the order of the file and against it: rings follow one another by CPU. */
TEST(scenes)
{
	for (size_t i = 0; i < 2 * ARRAY_NR(scenes); i++) {
		const struct scene *s = &scenes[i / 2];
		struct trace_lives l = {0};
		size_t nr = 0, nr_periods = 0;
		struct tape t;

		while (nr < MAX_STEPS && s->lines[nr].step.op)
			nr++;
		while (nr_periods < MAX_PERIODS && s->periods[nr_periods].to_ns)
			nr_periods++;
		tape_init(&t);
		for (size_t k = 0; k < nr; k++) {
			const struct step *step = &s->lines[i % 2 ? nr - 1 - k : k].step;
			struct trace_record r = record_of(&t, step);

			assert_int_equal(trace_lives_add(&l, &r, step->is_made), 0);
		}
		assert_int_equal(trace_lives_decide(&l, s->periods, nr_periods), 0);
		for (size_t k = 0; k < nr; k++) {
			struct trace_record r = record_of(&t, &s->lines[k].step);

			if (trace_lives_needs(&l, &r) != s->lines[k].is_needed)
				fail_msg("%s: step %zu", s->name, k);
		}
		trace_lives_fini(&l);
		tape_fini(&t);
	}
}

/* A chain of forks that is as long as the file: no recursion, and each life once. */
TEST(chain)
{
	enum { NR = 100000 };
	static const struct trace_period now = {2 * NR, UINT64_MAX};
	struct trace_lives l = {0};

	for (uint32_t i = 1; i <= NR; i++) {
		struct trace_record r = {.kind = PERF_RECORD_FORK,
					 .time_ns = 2 * i,
					 .pid = i + 1,
					 .tid = i + 1,
					 .ppid = i,
					 .ptid = i};

		assert_int_equal(trace_lives_add(&l, &r, false), 0);
		r = (struct trace_record){
		    .kind = PERF_RECORD_EXIT, .time_ns = 2 * i + 1, .pid = i, .tid = i};
		assert_int_equal(trace_lives_add(&l, &r, false), 0);
	}
	assert_int_equal(trace_lives_decide(&l, &now, 1), 0);
	for (uint32_t i = 1; i <= NR; i++)
		assert_true(trace_lives_needs_process(&l, i, 2 * i));
	trace_lives_fini(&l);
}
