/*
 * From marks to regions: nesting, losses, several objects, ends of threads, lookups.
 */
#include "kit.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "profile/processes_internal.h"
#include "profile/regions.h"
#include "trace/trace.h"

enum { B = TRACE_MARK_BEGIN, E = TRACE_MARK_END, NAMES = 4 };

static struct profile_processes p;

void before_each(void)
{
	p = (struct profile_processes){.regions = profile_regions_new()};
	assert_non_null(p.regions);
	for (uint32_t i = 1; i < NAMES; i++) {
		struct trace_mark_name name = {.number = i, .text = {(char)('a' + i - 1)}};

		assert_int_equal(profile_regions_name(p.regions, &name), 0);
	}
}

void after_each(void)
{
	profile_regions_free(p.regions);
}

static void add(uint32_t tid, uint32_t object, const struct trace_mark *marks, size_t nr)
{
	const struct trace_marks m = {
	    .pid = 1, .tid = tid, .object = object, .mark = marks, .nr = nr};

	assert_int_equal(profile_regions_add(p.regions, &m), 0);
}

/* {time, value, name, kind, depth} */
#define ADD(tid, object, ...)                                                                      \
	do {                                                                                       \
		const struct trace_mark marks_[] = {__VA_ARGS__};                                  \
		add(tid, object, marks_, ARRAY_NR(marks_));                                        \
	} while (0)

static void make(const struct profile_change *changes, size_t nr)
{
	const struct profile_gathered g = {.changes = (struct profile_change *)changes,
					   .nr_changes = nr};

	assert_int_equal(profile_regions_make(&p, &g), 0);
}

static const struct profile_region *find(const char *path)
{
	BUF_AUTO(text, 1000);

	for (uint32_t i = 0; i < profile_nr_regions(&p); i++) {
		buf_reset(&text);
		profile_region_text(&p, i, &text);
		if (strcmp(buf_str(&text), path) == 0)
			return profile_region(&p, i);
	}
	fail_msg("no region %s", path);
	return NULL;
}

static void expect(const char *path, uint64_t calls, uint64_t closed, uint64_t wall_ns,
		   uint64_t self_ns)
{
	const struct profile_region *r = find(path);

	assert_int_equal(r->calls, calls);
	assert_int_equal(r->closed, closed);
	assert_int_equal(r->wall_ns, wall_ns);
	assert_int_equal(r->self_ns, self_ns);
}

TEST(regions_nest)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 2, B, 1}, {30, 0, 0, E, 1}, {35, 0, 2, B, 1},
	    {36, 0, 0, E, 1}, {50, 0, 0, E, 0});
	make(NULL, 0);
	assert_int_equal(profile_nr_regions(&p), 3);
	expect("a", 1, 0, 40, 29);
	expect("a > b", 2, 0, 11, 11);
	assert_int_equal(find("a > b")->min_ns, 1);
	assert_int_equal(find("a > b")->max_ns, 10);
	assert_int_equal(profile_region_at(&p, 5, 9), PROFILE_NO_REGION);
	assert_int_equal(profile_region_at(&p, 5, 10), find("a")->number);
	assert_int_equal(profile_region_at(&p, 5, 29), find("a > b")->number);
	assert_int_equal(profile_region_at(&p, 5, 30), find("a")->number);
	assert_int_equal(profile_region_at(&p, 5, 50), PROFILE_NO_REGION);
	assert_int_equal(profile_region_at(&p, 6, 29), PROFILE_NO_REGION);
	assert_int_equal(profile_regions_stats(&p)->nr_unmatched, 0);
}

TEST(recursion_is_a_path)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 1, B, 1}, {30, 0, 0, E, 1}, {50, 0, 0, E, 0});
	make(NULL, 0);
	expect("a", 1, 0, 40, 30);
	expect("a > a", 1, 0, 10, 10);
}

TEST(objects_of_a_thread_are_merged_by_time)
{
	ADD(5, 2, {20, 0, 2, B, 0}, {30, 0, 0, E, 0});
	ADD(5, 1, {10, 0, 1, B, 0}, {50, 0, 0, E, 0});
	make(NULL, 0);
	expect("a", 1, 0, 40, 30);
	expect("a > b", 1, 0, 10, 10);
}

TEST(threads_are_apart)
{
	ADD(6, 1, {10, 0, 1, B, 0}, {50, 0, 0, E, 0});
	ADD(5, 1, {20, 0, 1, B, 0}, {30, 0, 0, E, 0});
	make(NULL, 0);
	expect("a", 2, 0, 50, 50);
	assert_int_equal(profile_regions_stats(&p)->nr_threads, 2);
	assert_int_equal(profile_region_at(&p, 5, 40), PROFILE_NO_REGION);
	assert_int_equal(profile_region_at(&p, 6, 40), find("a")->number);
}

TEST(a_lost_end_closes_its_region)
{
	/* the end of the first b is lost: the next one has the same depth */
	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 2, B, 1}, {30, 0, 2, B, 1}, {35, 0, 0, E, 1},
	    {50, 0, 0, E, 0});
	make(NULL, 0);
	expect("a > b", 2, 1, 15, 15);
	expect("a", 1, 0, 40, 25);
}

TEST(an_end_closes_what_is_inside)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 2, B, 1}, {30, 0, 3, B, 2}, {50, 0, 0, E, 0},
	    {60, 0, 1, B, 0}, {61, 0, 0, E, 0});
	make(NULL, 0);
	expect("a > b > c", 1, 1, 20, 20);
	expect("a > b", 1, 1, 30, 10);
	expect("a", 2, 0, 41, 11);
}

TEST(an_end_without_a_beginning_is_counted)
{
	ADD(5, 1, {5, 0, 0, E, 1}, {10, 0, 1, B, 1}, {20, 0, 0, E, 1}, {30, 0, 0, E, 0});
	make(NULL, 0);
	expect("a", 1, 0, 10, 10);
	assert_int_equal(profile_regions_stats(&p)->nr_unmatched, 2);
}

TEST(the_end_of_a_thread_closes_its_regions)
{
	const struct profile_change ends[] = {
	    {.time_ns = 70, .pid = 1, .tid = 5, .kind = PROFILE_EXIT},
	    {.time_ns = 60, .pid = 1, .tid = 6, .kind = PROFILE_EXEC},
	    {.time_ns = 40, .pid = 1, .tid = 99, .kind = PROFILE_EXIT}};

	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 2, B, 1});
	ADD(6, 1, {10, 0, 3, B, 0});
	ADD(7, 1, {10, 0, 3, B, 0}, {15, 0, 1, B, 1});
	make(ends, ARRAY_NR(ends));
	expect("a", 1, 1, 60, 10);
	expect("a > b", 1, 1, 50, 50);
	expect("c", 2, 2, 55, 55); /* that of 7 ends with its last mark */
	assert_int_equal(profile_region_at(&p, 5, 69), find("a > b")->number);
	assert_int_equal(profile_region_at(&p, 5, 70), PROFILE_NO_REGION);
}

TEST(pauses_are_of_a_thread_or_its_process)
{
	ADD(5, 1, {10, 0, 0, TRACE_MARK_PAUSE_THREAD, 0}, {20, 0, 0, TRACE_MARK_RESUME_THREAD, 0});
	ADD(6, 1, {30, 0, 0, TRACE_MARK_PAUSE, 0});
	ADD(5, 1, {40, 0, 0, TRACE_MARK_RESUME, 0});
	make(NULL, 0);
	assert_false(profile_is_paused(&p, 1, 5, 9));
	assert_true(profile_is_paused(&p, 1, 5, 10));
	assert_false(profile_is_paused(&p, 1, 6, 10));
	assert_false(profile_is_paused(&p, 1, 5, 20));
	assert_true(profile_is_paused(&p, 1, 5, 30));
	assert_true(profile_is_paused(&p, 1, 8, 39)); /* a thread without marks */
	assert_false(profile_is_paused(&p, 2, 8, 39));
	assert_false(profile_is_paused(&p, 1, 6, 40));
}

TEST(deep_nesting_is_bounded)
{
	enum { DEEP = 3 * PROFILE_MAX_REGION_DEPTH };
	struct trace_mark marks[2 * DEEP];

	for (uint32_t i = 0; i < DEEP; i++) {
		marks[i] = (struct trace_mark){10 + i, 0, 1 + i % 2, B, i};
		marks[2 * DEEP - 1 - i] = (struct trace_mark){10 + 2 * DEEP - i, 0, 0, E, i};
	}
	add(5, 1, marks, 2 * DEEP);
	make(NULL, 0);
	assert_int_equal(profile_nr_regions(&p), PROFILE_MAX_REGION_DEPTH + 1);
	assert_true(profile_regions_stats(&p)->has_left_out);
	assert_int_equal(find("a")->calls, 1);
	assert_int_equal(find("a")->closed, 0);
}
