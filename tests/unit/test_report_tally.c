/*
 * From traces to tables: what a row takes from its trace, and what the iteration takes from any.
 */
#include "report/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct trace_event events[] = {{.kind = EVENT_COUNT, .name = "n", .label = ""}};
static const struct profile_facts facts = {.events = events, .nr_events = 1, .max_rows = 2};

static void add(struct table *t, uint32_t iteration, uint32_t trace, uint64_t end_ns, bool is_cut)
{
	const struct profile_pair pair = {.has_start = true,
					  .has_end = true,
					  .start = {.state = READING_OK, .raw = 10},
					  .end = {.state = READING_OK, .raw = 30}};
	struct profile_trace p = {.head = {.iteration = iteration, .trace = trace, .cpu = 5},
				  .events = events,
				  .pairs = &pair,
				  .start_ns = 100,
				  .end_ns = end_ns,
				  .is_cut = is_cut};

	assert_int_equal(report_tally_add(t, &p), 1);
	assert_int_equal(table_cell(t, t->nr_rows - 1, 0)->count, 20);
	assert_int_equal(t->row_trace[t->nr_rows - 1], trace);
	assert_int_equal(t->row_cpu[t->nr_rows - 1], 5);
}

/* An iteration was cut if any of its traces says so: the end of the first can be lost. */
static void any_trace_says_cut(void **state)
{
	static const bool is_cut[][2] = {
	    {false, false}, {true, true}, {false, true}, {true, false}, {false, false}};
	struct profile_trace next = {0};
	struct table *t = NULL;

	(void)state;
	assert_int_equal(report_tally_new(&facts, &t, NULL), 0);
	for (uint32_t i = 0; i < sizeof(is_cut) / sizeof(is_cut[0]); i++) {
		t->nr_rows = 0;
		add(t, i, 0, 200, is_cut[i][0]);
		add(t, i, 1, 300, is_cut[i][1]);
		assert_int_equal(t->iteration, i);
		assert_int_equal(t->end_ns, 200);
		assert_int_equal(t->is_cut, is_cut[i][0] || is_cut[i][1]);
		next.head.iteration = i;
		assert_false(report_tally_is_next(t, &next));
		next.head.iteration = i + 1;
		assert_true(report_tally_is_next(t, &next));
	}
	table_free(t);
}

static void too_much_for_a_table(void **state)
{
	struct profile_facts f = facts;
	struct table *t = NULL;

	(void)state;
	f.max_rows = (4u << 20) + 1;
	assert_true(report_tally_new(&f, &t, NULL) < 0);
	assert_null(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(any_trace_says_cut),
	    cmocka_unit_test(too_much_for_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
