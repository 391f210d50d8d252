/*
 * Tables: which cell gets what, the totals, and what many tables come to.
 */
#include "kit.h"

#include "base/cause.h"
#include "base/mem.h"
#include "estimate/table.h"

#include <math.h>

TEST(absent_readings_say_why)
{
	static const struct {
		enum event_scope scope;
		size_t row;
		uint32_t event_state;
		enum cell_state expected;
	} rows[] = {
	    {EVENT_SCOPE_CPU, 0, READING_NOT_SUPPORTED, CELL_NOT_SUPPORTED},
	    {EVENT_SCOPE_CPU, 1, READING_NOT_SUPPORTED, CELL_NOT_SUPPORTED},
	    {EVENT_SCOPE_SYSTEM, 0, READING_NO_PERMISSION, CELL_NO_PERMISSION},
	    {EVENT_SCOPE_SYSTEM, 1, READING_NO_PERMISSION, CELL_NONE},
	    {EVENT_SCOPE_CPU, 1, READING_OK, CELL_NONE},
	    {EVENT_SCOPE_CPU, 1, READING_OFFLINE, CELL_NONE},
	    {EVENT_SCOPE_CPU, 1, 99, CELL_FAILED},
	};
	struct table *t = table_new(1, 2);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		t->columns[0] = (struct table_column){.kind = EVENT_COUNT, .scope = rows[i].scope};
		table_set(t, rows[i].row, 0, rows[i].event_state, NULL, 0);
		if (table_cell(t, rows[i].row, 0)->state != rows[i].expected)
			fail_msg("row %zu: %s", i,
				 cell_state_name(table_cell(t, rows[i].row, 0)->state));
	}
	table_free(t);
}

TEST(rows_are_numbered_and_totalled)
{
	struct reading a = {.state = READING_OK}, b = {.state = READING_OK, .raw = 21};
	struct table *t = table_new(2, 3);

	t->columns[0].kind = t->columns[1].kind = EVENT_COUNT;
	for (uint32_t row = 0; row < 3; row++) {
		assert_int_equal(t->row_trace[row], row);
		table_set(t, row, 1, READING_OK, &(struct table_part){&a, &b}, 1);
	}
	table_total(t);
	table_total(t); /* starts anew */
	assert_int_equal(t->totals[0].state, CELL_NONE);
	assert_int_equal(t->totals[1].count, 63);
	assert_int_equal(t->totals[1].nr_with, 3);
	table_free(t);
}

/* Three things: 10, nothing, 4. */
TEST(totals_of_values)
{
	static const struct {
		enum event_total total;
		uint32_t missing;
		double expected;
		uint32_t nr_without;
	} rows[] = {
	    {EVENT_TOTAL_SUM, READING_NOT_SUPPORTED, 14, 1},
	    {EVENT_TOTAL_MEAN, READING_NOT_SUPPORTED, 7, 0},
	    {EVENT_TOTAL_LARGEST, READING_NOT_SUPPORTED, 10, 0},
	    {EVENT_TOTAL_SUM, READING_FAILED, 14, 1},
	    {EVENT_TOTAL_MEAN, READING_FAILED, 7, 1},
	    {EVENT_TOTAL_LARGEST, READING_NO_PERMISSION, 10, 1},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		const struct reading things[] = {
		    {.state = READING_OK, .raw = 10},
		    {.state = rows[i].missing, .flags = READING_OF_THING},
		    {.state = READING_OK, .raw = 4, .time_ns = 9}};
		struct table *t = table_new(1, 1);

		t->columns[0] = (struct table_column){
		    .kind = EVENT_VALUE, .scope = EVENT_SCOPE_THINGS, .total = rows[i].total};
		table_set(t, 0, 0, READING_OK, NULL, 0);
		for (uint32_t k = 0; k < NR(things); k++)
			assert_int_equal(table_add_thing(t, 0, k, "a thing", NULL, &things[k]), 0);
		table_total(t);
		assert_true(t->totals[0].value == rows[i].expected);
		assert_int_equal(t->totals[0].nr_with, 2);
		assert_int_equal(t->totals[0].nr_without, rows[i].nr_without);
		table_free(t);
	}
}

TEST(time_of_day)
{
	const struct clock_triple clocks = {.monotonic_ns = 1000, .realtime_ns = 5000}, none = {0};
	struct table *t = table_new(0, 0);

	table_set_time(t, 100, 900, &clocks);
	assert_int_equal(t->realtime_ns, 4900);
	table_set_time(t, 100, 1200, &clocks);
	assert_int_equal(t->realtime_ns, 5200);
	table_set_time(t, 100, 1200, &none);
	assert_int_equal(t->realtime_ns, 0);
	table_free(t);
}

TEST(summaries)
{
	static const uint64_t counts[] = {UINT64_MAX - 1, UINT64_MAX, UINT64_MAX - 3};
	struct table_summary *s = table_summary_new(1);
	struct table *t = table_new(1, 1);

	t->columns[0].kind = EVENT_COUNT;
	for (size_t i = 0; i < 3; i++) {
		t->cells[0] = (struct cell){.state = CELL_OK,
					    .count = counts[i],
					    .value = (double)counts[i],
					    .enabled_ns = 100,
					    .running_ns = i ? 100 : 40};
		table_total(t);
		table_summary_add(s, t);
	}
	t->cells[0] = (struct cell){.state = CELL_NOT_COUNTED, .enabled_ns = 100};
	table_total(t);
	table_summary_add(s, t);
	assert_int_equal(s->nr_iterations, 4);
	assert_int_equal(s->column[0].spread.nr, 3);
	assert_true(s->column[0].sum == 3 * (unsigned __int128)UINT64_MAX - 4);
	assert_true(s->column[0].min.count == UINT64_MAX - 3);
	assert_true(s->column[0].max.count == UINT64_MAX);
	assert_int_equal(s->column[0].nr_cells[CELL_NOT_COUNTED], 1);
	assert_int_equal(s->column[0].nr_cells[CELL_OK], 3);
	assert_int_equal(s->column[0].nr_multiplexed, 1);
	assert_true(fabs(s->column[0].min_running - 0.4) < 1e-12);
	table_free(t);
	table_summary_free(s);
}

/* A cut iteration is in the sum; in the rest only where there is nothing else. */
/* A copy replaces what was there; the summary adds iterations up. */
TEST(latencies)
{
	struct table *from = table_new(2, 1), *to = table_new(2, 1);
	struct table_summary *sum = table_summary_new(2);
	const struct histogram *h;

	for (uint64_t i = 1; i < 4; i++) {
		latencies_fini(&from->latencies);
		histogram_add(latencies_get(&from->latencies, 1, "queue", ""),
			      histogram_bucket(100 * i), i);
		assert_int_equal(table_copy_events(to, from), 0);
		table_summary_add(sum, to);
	}
	h = latencies_find(&to->latencies, 1, "queue", "");
	assert_non_null(h);
	assert_int_equal(h->count, 3);
	assert_int_equal(h->bucket[histogram_bucket(300)], 3);
	assert_null(latencies_find(&to->latencies, 0, "queue", ""));
	h = latencies_find(&sum->latencies, 1, "queue", "");
	assert_non_null(h);
	assert_int_equal(h->count, 6);
	assert_int_equal(h->bucket[histogram_bucket(200)], 2);
	table_summary_free(sum);
	table_free(from);
	table_free(to);
}

TEST(cut_iterations)
{
	static const struct {
		uint64_t counts[3]; /* 0: no number; the last is cut */
		uint64_t nr, sum, cut, min, max;
	} rows[] = {
	    {{100, 200, 7}, 2, 307, 7, 100, 200},
	    {{0, 200, 7}, 1, 207, 7, 200, 200},
	    {{0, 0, 7}, 1, 7, 0, 7, 7},
	    {{100, 200, 0}, 2, 300, 0, 100, 200},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct table_summary *s = table_summary_new(1);
		struct table *t = table_new(1, 1);

		t->columns[0].kind = EVENT_COUNT;
		for (size_t k = 0; k < 3; k++) {
			uint64_t n = rows[i].counts[k];

			t->cells[0] = (struct cell){.state = n ? CELL_OK : CELL_NOT_COUNTED,
						    .count = n,
						    .value = (double)n};
			t->is_cut = k == 2;
			t->start_ns = 1000, t->end_ns = k == 2 ? 1102 : 2000;
			table_total(t);
			table_summary_add(s, t);
		}
		assert_int_equal(s->nr_iterations, 3);
		assert_int_equal(s->nr_cut, 1);
		assert_int_equal(s->cut_ns, 102);
		assert_int_equal(s->column[0].spread.nr, rows[i].nr);
		assert_true(s->column[0].sum == rows[i].sum);
		assert_true(s->column[0].cut == rows[i].cut);
		assert_int_equal(s->column[0].min.count, rows[i].min);
		assert_int_equal(s->column[0].max.count, rows[i].max);
		table_free(t);
		table_summary_free(s);
	}
}

/* What has a broken scale (joules) is in the total even of a cut iteration. */
TEST(cut_iteration_of_real_numbers)
{
	const struct reading start = {.state = READING_OK};
	struct table_summary *s = table_summary_new(1);
	struct table *t = table_new(1, 1);

	t->columns[0].kind = EVENT_COUNT;
	t->columns[0].scale = 0.5;
	for (unsigned k = 0; k < 2; k++) {
		const struct reading end = {.state = READING_OK, .raw = k ? 90 : 10};

		table_set(t, 0, 0, READING_OK, &(struct table_part){&start, &end}, 1);
		t->is_cut = k == 1;
		table_total(t);
		table_summary_add(s, t);
	}
	assert_true(s->column[0].max.is_real);
	assert_true(s->column[0].real_sum == 50);
	assert_true(s->column[0].spread.mean == 5);
	table_free(t);
	table_summary_free(s);
}

/* Iterations of another cause than the first, complete or not, are in the sum only. */
TEST(causes)
{
	static const struct {
		uint32_t cause[3];
		uint64_t nr, nr_other, cut;
	} rows[] = {
	    {{CAUSE_TIME, CAUSE_TIME, CAUSE_TIME}, 3, 0, 0},
	    {{CAUSE_TIME, CAUSE_TIME, CAUSE_END}, 2, 1, 7},
	    {{CAUSE_RUN, CAUSE_RUN, CAUSE_END}, 2, 1, 7},
	    {{CAUSE_END, CAUSE_TIME, CAUSE_END}, 2, 1, 200},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const uint64_t counts[] = {100, 200, 7};
		struct table_summary *s = table_summary_new(1);
		struct table *t = table_new(1, 1);

		t->columns[0].kind = EVENT_COUNT;
		for (size_t k = 0; k < 3; k++) {
			t->cells[0] = (struct cell){
			    .state = CELL_OK, .count = counts[k], .value = (double)counts[k]};
			t->cause = rows[i].cause[k];
			table_total(t);
			table_summary_add(s, t);
		}
		assert_int_equal(s->cause, rows[i].cause[0]);
		assert_int_equal(s->nr_cut, 0);
		assert_int_equal(s->nr_other, rows[i].nr_other);
		assert_int_equal(s->column[0].spread.nr, rows[i].nr);
		assert_true(s->column[0].sum == 307);
		assert_true(s->column[0].cut == rows[i].cut);
		table_free(t);
		table_summary_free(s);
	}
}

static size_t countdown;

static void *failing_alloc(size_t size)
{
	return countdown-- ? malloc(size) : NULL;
}

TEST(no_memory)
{
	static const struct mem_ops ops = {failing_alloc, realloc, free};
	struct table *t = NULL;
	struct table_summary *s = NULL;

	mem_set_ops(&ops);
	for (size_t n = 0; !t; n++) {
		countdown = n;
		t = table_new(3, 3);
	}
	for (size_t n = 0; !s; n++) {
		countdown = n;
		s = table_summary_new(3);
	}
	table_free(t);
	table_summary_free(s);
	countdown = SIZE_MAX;
	assert_null(table_new(SIZE_MAX, 2));
	mem_set_ops(NULL);
}
