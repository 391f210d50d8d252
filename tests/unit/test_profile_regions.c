/*
 * From marks to regions: nesting, losses, several objects, ends of threads, lookups.
 */
#include "kit.h"

#include <math.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "profile/processes_internal.h"
#include "profile/region_calls.h"
#include "profile/region_log.h"
#include "report/functions.h"
#include "report/region_amounts.h"
#include "report/region_sums.h"
#include "report/rules.h"
#include "trace/trace.h"

enum { B = TRACE_MARK_BEGIN, E = TRACE_MARK_END, NAMES = 4 };

static struct profile_processes p;
static struct report_region_sums sums;
static struct profile_filter filter;

HOOK(before_each)
{
	p = (struct profile_processes){.regions = profile_regions_new(),
				       .strangers = profile_strangers_new()};
	sums = (struct report_region_sums){.by_thread = false};
	filter = (struct profile_filter){.from_ns = 0};
	assert_non_null(p.regions);
	assert_non_null(p.strangers);
	assert_int_equal(profile_comms_init(&p.comms), 0);
	for (uint32_t i = 1; i < NAMES; i++) {
		struct trace_mark_name name = {.number = i, .text = {(char)('a' + i - 1)}};

		assert_int_equal(profile_regions_name(p.regions, &name), 0);
	}
}

HOOK(after_each)
{
	report_region_sums_fini(&sums);
	profile_comms_fini(&p.comms);
	profile_strangers_free(p.strangers);
	profile_regions_free(p.regions);
	profile_spans_fini(&p.spans);
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

	assert_int_equal(profile_regions_make(&p, &g, NULL), 0);
	assert_int_equal(report_region_sums_read(&sums, &p, &filter, 0, false), 0);
}

/* Again, with another filter. */
static void read_sums(bool by_thread)
{
	report_region_sums_fini(&sums);
	assert_int_equal(report_region_sums_read(&sums, &p, &filter, 0, by_thread), 0);
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

static const struct report_region_sum *sum_of(uint32_t thread, const char *path)
{
	return dict_at(&sums.sums, report_region_sums_find(&sums, thread, find(path)->number));
}

static const struct report_region_sum *sum(const char *path)
{
	const struct report_region_sum *s = sum_of(REPORT_ALL_THREADS, path);

	assert_non_null(s);
	return s;
}

static void expect(const char *path, uint64_t calls, uint64_t closed, uint64_t wall_ns,
		   uint64_t self_ns)
{
	const struct report_region_sum *s = sum(path);

	assert_int_equal(s->calls, calls);
	assert_int_equal(s->closed, closed);
	assert_int_equal(s->wall_ns, wall_ns);
	assert_int_equal(s->self_ns, self_ns);
}

TEST(regions_nest)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 2, B, 1}, {30, 0, 0, E, 1}, {35, 0, 2, B, 1},
	    {36, 0, 0, E, 1}, {50, 0, 0, E, 0});
	make(NULL, 0);
	assert_int_equal(profile_nr_regions(&p), 3);
	expect("a", 1, 0, 40, 29);
	expect("a > b", 2, 0, 11, 11);
	assert_int_equal(sum("a > b")->min_ns, 1);
	assert_int_equal(sum("a > b")->max_ns, 10);
	assert_int_equal(profile_region_at(&p, 5, 9), PROFILE_NO_REGION);
	assert_int_equal(profile_region_at(&p, 5, 10), find("a")->number);
	assert_int_equal(profile_region_at(&p, 5, 29), find("a > b")->number);
	assert_int_equal(profile_region_at(&p, 5, 30), find("a")->number);
	assert_int_equal(profile_region_at(&p, 5, 50), PROFILE_NO_REGION);
	assert_int_equal(profile_region_at(&p, 6, 29), PROFILE_NO_REGION);
	assert_int_equal(profile_regions_stats(&p)->nr_unmatched, 0);
}

TEST(instants_and_values_are_added_up)
{
	enum { I = TRACE_MARK_INSTANT, V = TRACE_MARK_INT };
	const struct report_region_instant *i;

	ADD(5, 1, {10, 0, 1, B, 0}, {11, 0, 2, I, 0}, {12, 0, 2, I, 0},
	    {13, (uint64_t)-300, 3, V, 0}, {14, 0, 0, E, 0}, {15, 0, 2, I, 0},
	    {16, (uint64_t)INT64_MIN, 3, V, 0});
	ADD(6, 1, {10, 0, 1, B, 0}, {13, 7, 3, V, 0}, {14, (uint64_t)-301, 3, V, 0},
	    {15, 0, 0, E, 0});
	make(NULL, 0);
	assert_int_equal(sums.instants.sums.nr, 4);
	i = dict_at(&sums.instants.sums, 0);
	assert_int_equal(i->nr, 2);
	assert_false(i->is_value);
	assert_int_equal(i->region, find("a")->number);
	assert_string_equal(dict_text(&sums.instants.names, i->name), "b");
	i = dict_at(&sums.instants.sums, 1);
	assert_true(i->is_value);
	assert_int_equal(i->nr, 3);
	assert_int_equal(i->min, -301);
	assert_int_equal(i->max, 7);
	assert_float_equal(i->mean, -198, 1e-9);
	assert_float_equal(report_region_instants_quantile(&sums.instants, 1, 0.1), -300.5, 0);
	assert_float_equal(report_region_instants_quantile(&sums.instants, 1, 0.5), -300.5, 0);
	assert_float_equal(report_region_instants_quantile(&sums.instants, 1, 0.9), 7, 0);
	i = dict_at(&sums.instants.sums, 2);
	assert_int_equal(i->region, PROFILE_NO_REGION);
	assert_int_equal(i->nr, 1);
	assert_float_equal(report_region_instants_quantile(&sums.instants, 3, 0.5), INT64_MIN, 0);
	read_sums(true);
	assert_int_equal(sums.instants.sums.nr, 5);
	assert_true(isnan(report_region_instants_quantile(&sums.instants, 0, 0.5)));
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

TEST(an_end_is_of_its_object)
{
	/* that of c, though b of another object is open in it, at a lesser depth */
	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 3, B, 1}, {40, 0, 0, E, 1}, {60, 0, 0, E, 0});
	ADD(5, 2, {30, 0, 2, B, 0});
	make(NULL, 0);
	expect("a > c > b", 1, 1, 10, 10);
	expect("a > c", 1, 0, 20, 10);
	expect("a", 1, 0, 50, 30);
	assert_int_equal(profile_regions_stats(&p)->nr_unmatched, 0);
}

/* marks of object 2 end what object 1 began, and the other way round; below 0: an object ended more
 * than it began */
TEST(objects_end_regions_of_others)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {30, 0, 1, B, 1}, {60, 0, 0, E, 1}, {80, 0, 0, E, 0});
	ADD(5, 2, {20, 0, 0, E, 0xffff}, {40, 0, 0, E, 0xfffe}, {50, 0, 2, B, 0xfffe},
	    {70, 0, 2, B, 0xffff});
	make(NULL, 0);
	expect("a", 2, 0, 20, 20);
	expect("b", 2, 0, 20, 20);
	assert_int_equal(profile_nr_regions(&p), 3);
	assert_int_equal(profile_regions_stats(&p)->nr_unmatched, 0);
	assert_int_equal(profile_regions_stats(&p)->nr_closed, 0);
}

/* a(c b): the first end is of object 1, which began a, the second one of object 2 */
TEST(ends_of_two_objects_cross)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {30, 0, 0, E, 0}, {50, 0, 1, B, 0}, {70, 0, 0, E, 0},
	    {80, 0, 0, E, 0xffff});
	ADD(5, 2, {20, 0, 2, B, 0}, {40, 0, 0, E, 0}, {60, 0, 2, B, 0});
	make(NULL, 0);
	expect("a > b", 2, 0, 20, 20);
	expect("a", 2, 0, 60, 40);
	assert_int_equal(profile_nr_regions(&p), 3);
	assert_int_equal(profile_regions_stats(&p)->nr_unmatched, 0);
	assert_int_equal(profile_regions_stats(&p)->nr_closed, 0);
}

/* after 70,000 of them, too: a depth has 16 bits */
TEST(objects_end_many_regions_of_others)
{
	enum { NR = 70000 };

	for (uint64_t i = 0; i < NR; i++) {
		ADD(5, 1, {10 * i + 1, 0, 1, B, i & 0xffff});
		ADD(5, 2, {10 * i + 4, 0, 0, E, ~i & 0xffff});
	}
	make(NULL, 0);
	expect("a", NR, 0, 3 * NR, 3 * NR);
	assert_int_equal(profile_nr_regions(&p), 2);
	assert_int_equal(profile_regions_stats(&p)->nr_unmatched, 0);
}

/* an end of object 2 is lost; its next one says so, by its depth */
TEST(lost_ends_of_other_objects)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 1, B, 1}, {40, 0, 2, B, 2});
	ADD(5, 2, {30, 0, 0, E, 0xfffe}, {50, 0, 0, E, 0xfffd});
	make(NULL, 0);
	expect("a", 1, 0, 20, 10);
	expect("a > a", 1, 1, 10, 10);
	expect("b", 1, 0, 10, 10);
	assert_int_equal(profile_nr_regions(&p), 4);
	assert_int_equal(profile_regions_stats(&p)->nr_closed, 1);
}

/* object 2 has lost marks: the end of its b in the first a, say, whose object says what it ends */
TEST(an_object_that_lost_marks_leaves_regions)
{
	static const struct trace_mark b = {20, 0, 2, B, 0},
				       more[] = {{60, 0, 2, B, 0}, {70, 0, 0, E, 0}};
	const struct trace_marks first = {.pid = 1, .tid = 5, .object = 2, .mark = &b, .nr = 1};
	const struct trace_marks rest = {
	    .pid = 1, .tid = 5, .object = 2, .lost = 1, .mark = more, .nr = 2};

	ADD(5, 1, {10, 0, 1, B, 0}, {40, 0, 0, E, 0}, {50, 0, 1, B, 0}, {80, 0, 0, E, 0});
	assert_int_equal(profile_regions_add(p.regions, &first), 0);
	assert_int_equal(profile_regions_add(p.regions, &rest), 0);
	make(NULL, 0);
	expect("a", 2, 0, 60, 30);
	expect("a > b", 2, 1, 30, 30);
	assert_int_equal(profile_nr_regions(&p), 3);
	assert_int_equal(profile_regions_stats(&p)->nr_unmatched, 0);
}

/* by longjmp: each time object 2 counts one more */
TEST(an_object_leaves_regions_each_time)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {30, 0, 0, E, 0}, {40, 0, 1, B, 0}, {60, 0, 0, E, 0});
	ADD(5, 2, {20, 0, 2, B, 0}, {50, 0, 2, B, 1});
	make(NULL, 0);
	expect("a", 2, 0, 40, 20);
	expect("a > b", 2, 2, 20, 20);
	assert_int_equal(profile_nr_regions(&p), 3);
}

/* their counters are others */
TEST(an_end_of_another_object_has_no_counts)
{
	ADD(5, 1, {10, 100, 3, TRACE_MARK_COUNT, 0}, {10, 0, 1, B, 0},
	    {20, 120, 3, TRACE_MARK_COUNT, 0}, {20, 0, 2, B, 1}, {40, 150, 3, TRACE_MARK_COUNT, 0},
	    {40, 0, 0, E, 1});
	ADD(5, 2, {30, 500, 3, TRACE_MARK_COUNT, 0}, {30, 0, 0, E, 0xffff});
	make(NULL, 0);
	assert_int_equal(profile_regions_stats(&p)->nr_marks, 4); /* counts are no marks */
	expect("a > b", 1, 0, 10, 10);
	assert_null(report_region_count_sums_find(
	    &sums.counts, report_region_sums_find(&sums, REPORT_ALL_THREADS, find("a > b")->number),
	    0));
}

TEST(a_process_that_ended_closes_its_regions)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {50, 0, 0, TRACE_MARK_THREAD_END, 0}, {60, 0, 1, B, 0},
	    {65, 0, 0, E, 0});
	make(NULL, 0);
	expect("a", 2, 1, 45, 45);
}

TEST(threads_are_apart)
{
	ADD(6, 1, {10, 0, 1, B, 0}, {50, 0, 0, E, 0}, {60, 0, 1, B, 0}, {61, 0, 0, E, 0});
	ADD(5, 1, {20, 0, 1, B, 0}, {30, 0, 0, E, 0});
	make(NULL, 0);
	expect("a", 3, 0, 51, 51);
	assert_int_equal(sums.nr_threads, 2);
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

TEST(a_child_is_paused_as_its_parent_was)
{
	static const struct profile_change forks[] = {
	    {.time_ns = 45, .pid = 4, .tid = 4, .what = 3, .kind = PROFILE_FORK},
	    {.time_ns = 20, .pid = 2, .tid = 2, .what = 1, .kind = PROFILE_FORK},
	    {.time_ns = 30, .pid = 3, .tid = 3, .what = 2, .kind = PROFILE_FORK},
	    {.time_ns = 30, .pid = 2, .tid = 9, .what = 2, .kind = PROFILE_FORK},
	    {.time_ns = 60, .pid = 3, .tid = 3, .what = 1, .kind = PROFILE_FORK},
	};

	ADD(5, 1, {10, 0, 0, TRACE_MARK_PAUSE, 0}, {40, 0, 0, TRACE_MARK_RESUME, 0});
	make(forks, ARRAY_NR(forks));
	assert_false(profile_is_paused(&p, 2, 2, 19));
	assert_true(profile_is_paused(&p, 2, 2, 50)); /* it did not resume */
	assert_true(profile_is_paused(&p, 3, 3, 59));
	assert_true(profile_is_paused(&p, 4, 4, 45));
	assert_false(profile_is_paused(&p, 3, 3, 60)); /* another process with that number */
	assert_false(profile_is_paused(&p, 1, 5, 40));
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
	assert_int_equal(sum("a")->calls, 1);
	assert_int_equal(sum("a")->closed, 0);
}

/* In place of an end as if there were no memory: the limit is of their texts, 64 MiB. */
TEST(names_beyond_a_limit_are_not_known)
{
	const uint32_t nr = (64 << 20) / TRACE_MARK_NAME_BYTES, last = NAMES + nr;
	struct trace_mark_name name;

	memset(name.text, 'n', sizeof(name.text) - 1);
	name.text[sizeof(name.text) - 1] = '\0';
	for (name.number = NAMES; name.number <= last; name.number++) {
		snprintf(name.text, 11, "%010u", name.number);
		name.text[10] = 'n';
		assert_int_equal(profile_regions_name(p.regions, &name), 0);
		assert_int_equal(profile_regions_stats(&p)->has_unnamed, name.number >= last - 1);
	}
	ADD(5, 1, {10, 0, last, B, 0}, {20, 0, 0, E, 0}, {30, 0, 1, B, 0}, {45, 0, 0, E, 0});
	make(NULL, 0);
	assert_true(profile_regions_stats(&p)->has_unnamed);
	expect("[unknown]", 1, 0, 10, 10);
	expect("a", 1, 0, 15, 15);
}

TEST(times_of_the_filter_cut_calls)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 2, B, 1}, {30, 0, 0, E, 1}, {40, 0, 2, B, 1},
	    {60, 0, 0, E, 1}, {90, 0, 0, E, 0}, {95, 0, 3, B, 0}, {96, 0, 0, E, 0});
	make(NULL, 0);
	filter.from_ns = 30;
	filter.to_ns = 50;
	read_sums(false);
	expect("a", 1, 0, 20, 10);
	expect("a > b", 1, 0, 10, 10); /* the first ended before */
	assert_int_equal(sum("a")->cut, 1);
	assert_int_equal(sum("a > b")->cut, 1);
	assert_true(isnan(report_region_quantile(&sums, sum("a"), 0.5)));
	assert_null(sum_of(REPORT_ALL_THREADS, "c"));
	filter.from_ns = 25;
	filter.to_ns = 0;
	read_sums(false);
	expect("a", 1, 0, 65, 40);
	expect("a > b", 2, 0, 25, 25);
	assert_int_equal(sum("a > b")->cut, 1);
	assert_int_equal(sum("a > b")->min_ns, 20); /* that of 5 was cut */
	assert_true(sum("a > b")->mean_ns == 20);
	assert_true(report_region_quantile(&sums, sum("a > b"), 0.01) == 20);
}

TEST(a_region_is_chosen_by_name_or_path)
{
	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 2, B, 1}, {22, 0, 3, B, 2}, {23, 0, 0, E, 2},
	    {30, 0, 0, E, 1}, {50, 0, 0, E, 0}, {60, 0, 3, B, 0}, {61, 0, 0, E, 0});
	make(NULL, 0);
	filter.regions = (struct profile_globs){.item = {"b"}, .nr = 1};
	read_sums(false);
	expect("a > b", 1, 0, 10, 9);
	expect("a > b > c", 1, 0, 1, 1);
	assert_int_equal(sums.sums.nr, 2);
	filter.regions.item[0] = "*b > c";
	read_sums(false);
	assert_int_equal(sums.sums.nr, 1);
	assert_non_null(sum_of(REPORT_ALL_THREADS, "a > b > c"));
}

static void add_labels(uint64_t number, uint32_t language, const char *texts, uint32_t bytes)
{
	const struct trace_code code = {.number = number,
					.language = language,
					.lines = (const uint8_t *)texts,
					.lines_bytes = bytes};

	assert_int_equal(profile_regions_add_labels(p.regions, &code), 0);
}
#define LABELS(number, language, texts) add_labels(number, language, texts, sizeof(texts))

static void expect_path(uint32_t region, const char *expected)
{
	BUF_AUTO(text, 4096);

	profile_region_text(&p, region, &text);
	assert_string_equal(buf_str(&text), expected);
}

/* A sample has the labels that its goroutine has, whatever was marked, and else what was marked. */
TEST(labels_are_paths)
{
	static const char longest[512] = "k\0v";
	bool *within;

	ADD(1, 1, {10, 0, 1, B, 0}, {20, 0, 0, E, 1});
	assert_false(profile_has_labels(&p));
	LABELS(5, TRACE_LANGUAGE_GO, "phase\0parse\0request\0a\033b"); /* and a NUL */
	LABELS(6, TRACE_LANGUAGE_GO, "phase\0parse");
	LABELS(6, TRACE_LANGUAGE_GO, "phase\0other");
	LABELS(7, TRACE_LANGUAGE_PERL, "phase\0perl");
	add_labels(8, TRACE_LANGUAGE_GO, "phase\0parse\0request\0cut", 23);
	add_labels(9, TRACE_LANGUAGE_GO, "phase", 5);
	add_labels(10, TRACE_LANGUAGE_GO, longest, sizeof(longest));
	make(NULL, 0);
	assert_true(profile_has_labels(&p));
	expect_path(profile_region_of(&p, 1, 15, 5), "phase=parse > request=a?b");
	expect_path(profile_region_of(&p, 1, 15, 6), "phase=parse");
	expect_path(profile_region_of(&p, 1, 15, 7), "a");
	expect_path(profile_region_of(&p, 1, 15, 8), "phase=parse");
	expect_path(profile_region_of(&p, 1, 15, 9), "a");
	expect_path(profile_region_of(&p, 1, 15, 0), "a");
	expect_path(profile_region_of(&p, 1, 25, 0), "[none]");
	assert_true(profile_region(&p, profile_region_of(&p, 1, 15, 5))->is_label);
	assert_false(profile_region(&p, profile_region_of(&p, 1, 15, 0))->is_label);
	filter.regions = (struct profile_globs){.item = {"request=*"}, .nr = 1};
	within = profile_regions_within(&p, &filter.regions);
	assert_true(within[profile_region_of(&p, 1, 15, 5)]);
	assert_false(within[profile_region_of(&p, 1, 15, 6)]);
	mem_free(within);
}

/* Whatever their values are: a key in sets with more other keys is further out; else by name. */
TEST(a_label_that_is_also_alone_is_the_outer_one)
{
	LABELS(1, TRACE_LANGUAGE_GO, "phase\0parse\0request\0a");
	LABELS(2, TRACE_LANGUAGE_GO, "phase\0render\0request\0a");
	LABELS(3, TRACE_LANGUAGE_GO, "phase\0parse\0request\0b\0step\0one");
	LABELS(4, TRACE_LANGUAGE_GO, "request\0b");
	LABELS(5, TRACE_LANGUAGE_GO, "a\0one\0z\0one");
	LABELS(6, TRACE_LANGUAGE_GO, "z\0one");
	LABELS(7, TRACE_LANGUAGE_GO, "z\0two");
	LABELS(8, TRACE_LANGUAGE_GO, "a\0one");
	make(NULL, 0);
	expect_path(profile_region_of(&p, 1, 15, 1), "request=a > phase=parse");
	expect_path(profile_region_of(&p, 1, 15, 2), "request=a > phase=render");
	expect_path(profile_region_of(&p, 1, 15, 3), "request=b > phase=parse > step=one");
	expect_path(profile_region_of(&p, 1, 15, 4), "request=b");
	expect_path(profile_region_of(&p, 1, 15, 5), "a=one > z=one");
	LABELS(9, TRACE_LANGUAGE_GO, "y\0one\0z\0one"); /* while it grows */
	make(NULL, 0);
	expect_path(profile_region_of(&p, 1, 15, 5), "z=one > a=one");
	expect_path(profile_region_of(&p, 1, 15, 3), "request=b > phase=parse > step=one");
}

TEST(labels_beyond_the_limit_end_nothing)
{
	enum { VALUE_BYTES = 255 };
	char texts[2 + VALUE_BYTES + 1] = "k";
	const uint32_t nr = (64 << 20) / VALUE_BYTES;

	memset(texts + 2, 'v', VALUE_BYTES);
	for (uint32_t i = 1; i <= nr; i++) {
		snprintf(texts + 2, 11, "%010u", i);
		texts[12] = 'v';
		add_labels(i, TRACE_LANGUAGE_GO, texts, sizeof(texts));
	}
	assert_true(profile_regions_stats(&p)->has_left_out);
	make(NULL, 0);
	assert_true(p.has_left_out);
	assert_int_equal(profile_region_of(&p, 1, 15, nr), PROFILE_NO_REGION);
	assert_int_not_equal(profile_region_of(&p, 1, 15, 1), PROFILE_NO_REGION);
}

TEST(threads_have_sums_of_their_own)
{
	ADD(6, 1, {10, 0, 1, B, 0}, {50, 0, 0, E, 0});
	ADD(5, 1, {20, 0, 1, B, 0}, {30, 0, 0, E, 0});
	make(NULL, 0);
	read_sums(true);
	assert_int_equal(sum_of(report_region_sums_thread(&sums, 1, 6), "a")->wall_ns, 40);
	assert_int_equal(sum_of(report_region_sums_thread(&sums, 1, 5), "a")->wall_ns, 10);
	assert_int_equal(report_region_sums_thread(&sums, 2, 5), 0);
	filter.pids.item[0].first = filter.pids.item[0].last = 2;
	filter.pids.nr = 1;
	read_sums(true);
	assert_int_equal(sums.sums.nr, 0);
}

/* Name 3 is the event. Counts stand before their mark. */
TEST(regions_have_counts)
{
	enum { C = TRACE_MARK_COUNT };
	const struct report_region_count *c;

	ADD(5, 1, {10, 100, 3, C, 0}, {10, 0, 1, B, 0}, {20, 130, 3, C, 0}, {20, 0, 2, B, 1},
	    {30, 150, 3, C, 0}, {30, 0, 0, E, 1}, {40, 160, 3, C, 0}, {40, 0, 0, E, 0},
	    /* not counted, within one that is; then one without an end of its own */
	    {50, 200, 3, C, 0}, {50, 0, 1, B, 0}, {51, 0, 2, B, 1}, {52, 0, 0, E, 1},
	    {60, 207, 3, C, 0}, {60, 0, 0, E, 0}, {70, 300, 3, C, 0}, {70, 0, 2, B, 0});
	make(NULL, 0);
	c = report_region_count_sums_find(
	    &sums.counts, report_region_sums_find(&sums, REPORT_ALL_THREADS, find("a")->number), 0);
	assert_int_equal(c->calls, 2);
	assert_int_equal(c->total, 67);
	assert_int_equal(c->self_calls, 1);
	assert_int_equal(c->self, 40);
	c = report_region_count_sums_find(
	    &sums.counts, report_region_sums_find(&sums, REPORT_ALL_THREADS, find("a > b")->number),
	    0);
	assert_int_equal(c->calls, 1);
	assert_int_equal(c->total, 20);
	assert_true(sums.counts.is_sparse);
	assert_null(report_region_count_sums_find(
	    &sums.counts, report_region_sums_find(&sums, REPORT_ALL_THREADS, find("b")->number),
	    0));
}

/* a around b around c, and b alone; then b without counts around c. */
TEST(counted_regions_inside_are_counted)
{
	enum { C = TRACE_MARK_COUNT };
	const struct report_region_count *c;

	ADD(5, 1, {1, 0, 4, C, 0}, {1, 0, 1, B, 0}, {2, 0, 4, C, 0}, {2, 0, 2, B, 1},
	    {3, 0, 4, C, 0}, {3, 0, 3, B, 2}, {4, 0, 4, C, 0}, {4, 0, 0, E, 2}, {5, 0, 4, C, 0},
	    {5, 0, 0, E, 1}, {6, 0, 4, C, 0}, {6, 0, 2, B, 1}, {7, 0, 4, C, 0}, {7, 0, 0, E, 1},
	    {8, 0, 4, C, 0}, {8, 0, 0, E, 0});
	ADD(6, 1, {11, 0, 4, C, 0}, {11, 0, 1, B, 0}, {12, 0, 2, B, 1}, {13, 0, 4, C, 0},
	    {13, 0, 3, B, 2}, {14, 0, 4, C, 0}, {14, 0, 0, E, 2}, {15, 0, 0, E, 1},
	    {18, 0, 4, C, 0}, {18, 0, 0, E, 0});
	make(NULL, 0);
	read_sums(true);
	c = report_region_count_sums_find(&sums.counts,
					  report_region_sums_find(&sums, 1, find("a")->number), 0);
	assert_int_equal(c->nr_below, 3);
	assert_int_equal(c->nr_inner, 2);
	c = report_region_count_sums_find(&sums.counts,
					  report_region_sums_find(&sums, 2, find("a")->number), 0);
	assert_int_equal(c->nr_below, 1);
	assert_int_equal(c->self_calls, 0);
}

/* The count of a mark that makes no step is not that of the next one. */
TEST(a_count_is_of_its_mark)
{
	enum { C = TRACE_MARK_COUNT };

	ADD(5, 1, {10, 100, 3, C, 0}, {10, 0, 0, E, 0}, {20, 0, 1, B, 0}, {30, 130, 3, C, 0},
	    {30, 0, 0, E, 0});
	make(NULL, 0);
	assert_int_equal(sums.counts.counts.nr, 0);
}

TEST(quantiles_and_deviation)
{
	enum { CALLS = 1000 };
	const struct report_region_sum *s;
	uint64_t at = 1000;

	for (uint64_t i = 1; i <= CALLS; i++) {
		ADD(5, 1, {at, 0, 1, B, 0}, {at + 1000 * i, 0, 0, E, 0});
		at += 1000 * i;
	}
	ADD(6, 1, {10, 0, 2, B, 0}, {13, 0, 0, E, 0}, {20, 0, 2, B, 0}, {20 + 7, 0, 0, E, 0});
	make(NULL, 0);
	s = sum("a");
	assert_true(fabs(s->mean_ns - 500500) < 0.001);
	assert_true(fabs(report_region_deviation(s) - 288819.4) < 0.1);
	for (int percent = 1; percent <= 100; percent++) {
		double ns = report_region_quantile(&sums, s, percent / 100.0);

		assert_true(fabs(ns / (percent * 10000.0) - 1) <= 0.004);
	}
	s = sum("b");
	assert_true(report_region_quantile(&sums, s, 0.5) == 3);
	assert_true(report_region_quantile(&sums, s, 0.51) == 7);
}

static int write_event(void *arg, const struct profile_region_event *e)
{
	static const char *const kinds[] = {"begin", "end", "instant", "value"};

	buf_printf(arg, "%u %s %s", (unsigned)e->time_ns, kinds[e->kind], e->name);
	if (e->has_value)
		buf_printf(arg, " %d", (int)e->value);
	buf_adds(arg, e->is_closed ? " closed" : "");
	buf_adds(arg, e->is_cut ? " cut\n" : "\n");
	return 0;
}

TEST(events_are_in_order_of_time)
{
	BUF_AUTO(text, 4096);

	ADD(5, 1, {10, 0, 1, B, 0}, {20, (uint64_t)-17, 2, TRACE_MARK_BEGIN_NUMBER, 1},
	    {25, 0, 3, TRACE_MARK_INSTANT, 0}, {26, (uint64_t)-3, 1, TRACE_MARK_INT, 0},
	    {30, 0, 0, E, 0}, {40, 0, 2, B, 0});
	make(NULL, 0);
	assert_int_equal(profile_region_calls(&p, &filter, 0, write_event, &text), 0);
	assert_string_equal(buf_str(&text), "10 begin a\n20 begin b -17\n25 instant c\n"
					    "26 value a -3\n30 end b -17 closed\n30 end a\n"
					    "40 begin b\n40 end b closed\n");
	buf_reset(&text);
	filter.from_ns = 15;
	filter.to_ns = 28;
	assert_int_equal(profile_region_calls(&p, &filter, 0, write_event, &text), 0);
	assert_string_equal(buf_str(&text),
			    "15 begin a cut\n20 begin b -17\n25 instant c\n26 value a -3\n"
			    "28 end b -17 cut\n28 end a cut\n");
}

static void add_span(uint32_t iteration, uint64_t from_ns, uint64_t to_ns, bool is_apart)
{
	struct profile_span *span = MEM_ADD(p.spans.item, p.spans.nr, p.spans.room);

	assert_non_null(span);
	*span = (struct profile_span){from_ns, to_ns, iteration, is_apart};
}

/* a is around all; b is counted where it is within a span; what lies in a gap is not shown. */
TEST(what_is_between_spans_is_cut_out)
{
	enum { COUNT = TRACE_MARK_COUNT, I = TRACE_MARK_INSTANT };
	BUF_AUTO(text, 4096);
	uint64_t ns = 0;

	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 2, B, 1}, {25, 0, 3, I, 0}, {30, 0, 0, E, 1},
	    {31, 7, 3, COUNT, 0}, {31, 0, 2, B, 1}, {33, 9, 3, COUNT, 0}, {33, 0, 0, E, 1},
	    {40, 0, 2, B, 1}, {60, 0, 0, E, 1}, {70, 0, 3, I, 0}, {80, 0, 2, B, 1},
	    {81, 0, 0, E, 1}, {90, 0, 0, E, 0}, {95, 0, 3, B, 0}, {96, 0, 0, E, 0});
	make(NULL, 0);
	add_span(0, 22, 45, true);
	add_span(1, 45, 50, false);
	add_span(2, 52, 52, true);
	add_span(3, 55, 75, true);
	add_span(4, 91, 95, true);
	assert_int_equal(profile_region_calls(&p, &filter, 0, write_event, &text), 0);
	assert_string_equal(buf_str(&text),
			    "22 begin a cut\n22 begin b cut\n25 instant c\n30 end b cut\n"
			    "31 begin b\n33 end b\n40 begin b\n50 end b cut\n50 end a cut\n"
			    "55 begin a cut\n55 begin b cut\n60 end b cut\n70 instant c\n"
			    "75 end a cut\n");
	read_sums(false);
	expect("a", 1, 0, 48, 23);
	expect("a > b", 3, 0, 25, 25);
	assert_int_equal(sum("a")->cut, 1);
	assert_int_equal(sum("a > b")->cut, 2);
	assert_int_equal(sum("a > b")->whole, 1);
	assert_true(sum("a > b")->mean_ns == 2);
	assert_null(sum_of(REPORT_ALL_THREADS, "c"));
	assert_int_equal(profile_region_time(&p, &filter, 20, 80, &ns), 0);
	assert_int_equal(ns, 48);
	filter.to_ns = 30;
	filter.from_ns = 1;
	assert_int_equal(profile_region_time(&p, &filter, 20, 80, &ns), 0);
	assert_int_equal(ns, 28); /* 22 to 50 */
	filter.from_ns = filter.to_ns = 0;
	filter.iterations = (struct profile_ranges){.item = {{1, 3}}, .nr = 1};
	buf_reset(&text);
	assert_int_equal(profile_region_calls(&p, &filter, 0, write_event, &text), 0);
	assert_string_equal(buf_str(&text),
			    "45 begin a cut\n45 begin b cut\n50 end b cut\n50 end a cut\n"
			    "55 begin a cut\n55 begin b cut\n60 end b cut\n70 instant c\n"
			    "75 end a cut\n");
}

/* Lookups begin at places within the steps. */
TEST(many_steps_are_looked_up)
{
	for (uint64_t i = 1; i <= 1000; i++)
		ADD(5, 1, {100 * i, 0, 1, B, 0}, {100 * i + 30, 0, 2, B, 1},
		    {100 * i + 60, 0, 0, E, 1}, {100 * i + 90, 0, 0, E, 0});
	make(NULL, 0);
	for (uint64_t i = 1; i <= 1000; i++) {
		assert_int_equal(profile_region_at(&p, 5, 100 * i - 1), PROFILE_NO_REGION);
		assert_int_equal(profile_region_at(&p, 5, 100 * i), find("a")->number);
		assert_int_equal(profile_region_at(&p, 5, 100 * i + 59), find("a > b")->number);
		assert_int_equal(profile_region_at(&p, 5, 100 * i + 60), find("a")->number);
	}
}

TEST(a_step_takes_few_bytes)
{
	static const struct region_step steps[] = {
	    {.time_ns = 5, .what = 3, .kind = 1},
	    {.time_ns = 1000,
	     .what = UINT32_MAX,
	     .depth = UINT32_MAX,
	     .value = INT64_MIN,
	     .kind = 15},
	    {.time_ns = UINT64_MAX, .value = INT64_MAX},
	    {.time_ns = UINT64_MAX, .value = -1, .depth = 1},
	};
	struct region_log log = {.bytes = NULL};
	struct region_cursor cursor = {.log = &log};
	struct region_step step;

	for (size_t i = 0; i < ARRAY_NR(steps); i++)
		assert_int_equal(region_log_add(&log, &steps[i]), 0);
	/* a time before the last one becomes that */
	assert_int_equal(region_log_add(&log, &(struct region_step){.time_ns = 7}), 0);
	region_log_trim(&log);
	for (size_t i = 0; i < ARRAY_NR(steps); i++) {
		assert_true(region_log_next(&cursor, &step));
		assert_true(step.time_ns == steps[i].time_ns && step.value == steps[i].value);
		assert_true(step.what == steps[i].what && step.depth == steps[i].depth);
		assert_int_equal(step.kind, steps[i].kind);
		assert_true(i || cursor.at == 3);
	}
	assert_true(region_log_next(&cursor, &step));
	assert_true(step.time_ns == UINT64_MAX);
	assert_false(region_log_next(&cursor, &step));
	region_log_fini(&log);
}

/* Of replicates: a call is of the iteration in which it ends; those around a region precede it. */
TEST(amounts_of_replicates)
{
	static const struct report_region_times times[] = {{0, 0}, {20, 30}, {30, 40}};
	const struct report_rules rules = {.nr_merge = 0};
	struct report_functions *functions = report_functions_new(&rules);
	struct report_region_amounts a;
	/* path, replicate, number, value */
	static const struct {
		uint32_t path;
		size_t replicate, number;
		double value;
	} want[] = {
	    {0, 2, REPORT_REGION_CALLS, 1},       {0, 2, REPORT_REGION_WALL, 40},
	    {0, 2, REPORT_REGION_SELF, 29},       {0, 1, REPORT_REGION_CALLS, 0},
	    {1, 1, REPORT_REGION_CALLS, 1},       {1, 1, REPORT_REGION_WALL, 9},
	    {1, 2, REPORT_REGION_CALLS, 1},       {1, 2, REPORT_REGION_WALL, 2},
	    {1, 3, REPORT_REGION_CALLS, 2},       {1, 3, REPORT_REGION_SELF, 11},
	    {1, 1, REPORT_REGION_NR_OWN, 0},      {1, 1, REPORT_REGION_NR_OWN + 1, 7},
	    {0, 1, REPORT_REGION_NR_OWN + 1, 12},
	};
	uint32_t text;

	ADD(5, 1, {10, 0, 1, B, 0}, {20, 0, 2, B, 1}, {29, 0, 0, E, 1}, {35, 0, 2, B, 1},
	    {37, 0, 0, E, 1}, {50, 0, 0, E, 0});
	ADD(6, 1, {1, 0, 3, B, 0}, {2, 0, 0, E, 0}); /* before the first iteration that remains */
	make(NULL, 0);
	report_region_amounts_init(&a, functions, 4, 2, 0);
	assert_int_equal(report_region_amounts_read(&a, &p, &filter, 0, 0, times, 3), 0);
	assert_int_equal(report_region_amounts_read(&a, &p, &filter, 0, 3, NULL, 1), 0);
	text = report_functions_text_number(functions, "a > b");
	report_region_amounts_add(&a, text, 1, 1, 7);
	report_region_amounts_add(&a, report_functions_text_number(functions, "a"), 1, 1, 5);
	report_region_amounts_add(&a, report_functions_text_number(functions, "x"), 1, 1, 5);
	assert_int_equal(a.paths.nr, 3);
	assert_int_equal(report_region_amounts_text(&a, 1), text);
	for (size_t i = 0; i < ARRAY_NR(want); i++)
		assert_true(report_region_amounts_at(&a, want[i].path, want[i].replicate,
						     want[i].number) == want[i].value);
	report_region_amounts_fini(&a);
	/* what ended before the first iteration is of none */
	report_region_amounts_init(&a, functions, 2, 0, 0);
	assert_int_equal(report_region_amounts_read(&a, &p, &filter, 0, 0, times + 1, 2), 0);
	assert_int_equal(a.paths.nr, 2);
	assert_true(report_region_amounts_at(&a, 1, 0, REPORT_REGION_CALLS) == 1);
	report_region_amounts_fini(&a);
	report_functions_free(functions);
}
