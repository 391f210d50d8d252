/*
 * What the dashboard shows of what it was given: rows made of CPUs, their order, history, baseline,
 * keys and the mouse.
 */
#include "kit.h"
#include "test_dashboard.h"

#include "dashboard/model.h"

#include <math.h>

static double shown(const struct session_under_test *s, uint32_t row, size_t column)
{
	return model_number(model_column(&s->m, column), model_cell(&s->m, row, column), false);
}

static uint32_t named(const struct session_under_test *s, const char *name)
{
	char text[MODEL_NAME_BYTES];

	for (uint32_t row = 0; row < s->m.nr_rows; row++)
		if (strcmp(model_row_name(&s->m, row, text), name) == 0)
			return row;
	fail_msg("there is no row %s", name);
	return 0;
}

static void press_all(struct session_under_test *s, const char *keys)
{
	for (; *keys; keys++)
		press(s, *keys);
}

/* A group is the sum of its CPUs, its metric that of the sums. */
TEST(groups_add_up)
{
	static const struct {
		const char *name;
		uint32_t first, last;
	} groups[] = {{"all", 0, 7},    {"package 0", 0, 3}, {"package 1", 4, 7},
		      {"node 1", 4, 7}, {"cpu_core", 0, 3},  {"cpu_atom", 4, 7},
		      {"0-1", 0, 1},    {"6-7", 6, 7},       {"0-3", 0, 3},
		      {"0-7", 0, 7},    {"5", 5, 5}};
	struct session_under_test s;

	begin_session(&s, 8);
	add_iterations(&s, 3, 1);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		uint32_t row = named(&s, groups[i].name);
		double cycles = 0, instructions = 0;

		for (uint32_t cpu = groups[i].first; cpu <= groups[i].last; cpu++) {
			cycles += 2e6 * (double)wave(cpu, 3);
			instructions += 1e6 * (double)wave(cpu, 3) + 5e8;
		}
		assert_float_equal(shown(&s, row, CYCLES), cycles, 1);
		assert_float_equal(shown(&s, row, EVENTS), instructions / cycles, 1e-9);
		assert_true(model_cell(&s.m, row, EVENTS)->running_ns <
			    model_cell(&s.m, row, EVENTS)->enabled_ns);
	}
	assert_true(isnan(shown(&s, 0, MISSES)));
	assert_float_equal(shown(&s, 1, CLOCK), 25, 1e-9);
	end_session(&s);
}

/* CPUs that the iteration has no trace of, and traces that the session does not have. */
TEST(missing_traces)
{
	struct session_under_test s;

	begin_session(&s, 4);
	s.t->nr_rows = 3;
	fill(s.t, 0);
	s.t->row_trace[0] = 2;
	s.t->row_trace[1] = 0;
	s.t->row_trace[2] = 4000000000;
	model_add(&s.m, &s.t);
	assert_float_equal(shown(&s, 3, CYCLES), 2e6 * (double)wave(0, 0), 1);
	assert_float_equal(shown(&s, 1, CYCLES), 2e6 * (double)wave(1, 0), 1);
	assert_null(model_cell(&s.m, 2, CYCLES));
	assert_null(model_cell(&s.m, 4, CYCLES));
	assert_null(model_cell(&s.m, s.m.nr_rows, CYCLES));
	assert_float_equal(shown(&s, named(&s, "0-1"), CYCLES), 2e6 * (double)wave(1, 0), 1);
	assert_true(cell_is_partial(model_cell(&s.m, named(&s, "0-1"), CYCLES)));
	assert_true(cell_is_partial(model_cell(&s.m, 0, CYCLES)));
	assert_true(cell_is_partial(model_cell(&s.m, 0, EVENTS)));
	assert_false(cell_is_partial(model_cell(&s.m, 0, MEMORY)));
	assert_false(cell_is_partial(model_cell(&s.m, 1, CYCLES)));
	s.t->nr_rows = 4;
	fill(s.t, 1);
	model_add(&s.m, &s.t);
	assert_false(cell_is_partial(model_cell(&s.m, named(&s, "0-1"), CYCLES)));
	assert_false(cell_is_partial(model_cell(&s.m, 0, EVENTS)));
	end_session(&s);
}

TEST(folds_only_as_far_as_needed)
{
	static const struct {
		size_t nr_cpus, lines, nr;
		const char *first, *last;
	} cases[] = {
	    {64, 64, 64, "0", "63"},      {64, 100, 64, "0", "63"},   {64, 63, 32, "0-1", "62-63"},
	    {64, 20, 16, "0-3", "60-63"}, {64, 1, 1, "0-63", "0-63"}, {64, 0, 1, "0-63", "0-63"},
	    {5, 3, 3, "0-1", "4-4"},      {1, 0, 1, "0", "0"},        {3, 1, 1, "0-2", "0-2"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct session_under_test s;
		char text[MODEL_NAME_BYTES];

		begin_session(&s, cases[i].nr_cpus);
		add_iterations(&s, 0, 1);
		model_arrange(&s.m, cases[i].lines);
		assert_int_equal(s.m.nr_order, cases[i].nr);
		assert_string_equal(model_row_name(&s.m, s.m.order[0], text), cases[i].first);
		assert_string_equal(model_row_name(&s.m, s.m.order[s.m.nr_order - 1], text),
				    cases[i].last);
		press(&s, 'f');
		model_arrange(&s.m, cases[i].lines);
		assert_int_equal(s.m.nr_order, cases[i].nr_cpus);
		end_session(&s);
	}
}

/* More CPUs than lines of any screen, and than a history of each has room for. */
TEST(many_cpus)
{
	struct session_under_test s;

	begin_session(&s, 8192);
	assert_false(s.m.has_row_history);
	add_iterations(&s, 0, 2);
	model_arrange(&s.m, 50);
	assert_in_range(s.m.nr_order, 1, 50);
	assert_int_equal(s.m.history.nr, 2);
	press(&s, 'b');
	assert_true(s.m.baseline.is_set);
	assert_true(isnan(model_difference(&s.m, 7, CYCLES).amount));
	assert_false(isnan(model_difference(&s.m, 0, CYCLES).amount));
	end_session(&s);
}

static void expect_order(struct session_under_test *s, const uint32_t *rows, size_t nr)
{
	model_arrange(&s->m, 100);
	assert_int_equal(s->m.nr_order, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(s->m.order[i], rows[i]);
}

TEST(sorts_and_follows)
{
	static const uint32_t as_they_are[] = {1, 2, 3, 4}, down[] = {3, 2, 1, 4},
			      up[] = {1, 2, 3, 4};
	struct session_under_test s;

	begin_session(&s, 4);
	s.t->nr_rows = 3; /* the last CPU has no number: it is behind, either way */
	fill(s.t, 0);
	model_add(&s.m, &s.t);
	expect_order(&s, as_they_are, 4);
	press_all(&s, "j");
	assert_int_equal(s.m.selected_row, 1);
	press(&s, 's');
	expect_order(&s, down, 4);
	assert_int_equal(s.m.selected_line, 2); /* still CPU 0 */
	press(&s, 's');
	expect_order(&s, up, 4);
	assert_int_equal(s.m.selected_line, 0);
	press_all(&s, "ls");
	assert_int_equal(s.m.sort_column, 1);
	assert_false(s.m.sorts_up);
	press_all(&s, "ss");
	assert_int_equal(s.m.sort_column, SIZE_MAX);
	expect_order(&s, as_they_are, 4);
	end_session(&s);
}

TEST(moves_within_bounds)
{
	struct session_under_test s;

	begin_session(&s, 20);
	add_iterations(&s, 0, 1);
	press(&s, 'f');
	model_arrange(&s.m, 5);
	s.m.layout.nr_lines = 5;
	for (size_t i = 0; i < 3; i++)
		press(&s, KEY_CODE_PAGE_DOWN);
	model_arrange(&s.m, 5);
	assert_int_equal(s.m.selected_line, 14);
	assert_int_equal(s.m.first_line, 10);
	for (size_t i = 0; i < 30; i++)
		press(&s, KEY_CODE_DOWN);
	model_arrange(&s.m, 5);
	assert_int_equal(s.m.selected_row, 20);
	assert_int_equal(s.m.first_line, 15);
	for (size_t i = 0; i < 30; i++)
		press(&s, KEY_CODE_PAGE_UP);
	model_arrange(&s.m, 5);
	assert_int_equal(s.m.selected_line, SIZE_MAX);
	assert_int_equal(s.m.selected_row, 0);
	assert_int_equal(s.m.first_line, 0);
	press(&s, KEY_CODE_LEFT);
	assert_int_equal(s.m.selected_column, 0);
	press(&s, KEY_CODE_END);
	assert_int_equal(s.m.columns[s.m.selected_column], EVENTS + METRICS - 1);
	press(&s, KEY_CODE_RIGHT);
	press(&s, KEY_CODE_HOME);
	assert_int_equal(s.m.selected_column, 0);
	end_session(&s);
}

/* Columns of the table are those of CPUs, in the order of the spec. */
TEST(columns_of_the_table)
{
	/* what is not measured comes with its first number, at the end */
	static const size_t want[] = {CYCLES, INSTRUCTIONS, CLOCK, BUSY,
				      EVENTS, EVENTS + 1,   MISSES};
	const size_t nr = sizeof(want) / sizeof(want[0]);
	struct session_under_test s;

	begin_session(&s, 2);
	add_iterations(&s, 0, 1);
	assert_int_equal(s.m.nr_shown_columns, nr - 1);
	s.t->nr_rows = 2;
	fill(s.t, 1);
	*table_cell(s.t, 1, MISSES) = counted(7, 1);
	model_add(&s.m, &s.t);
	assert_int_equal(s.m.nr_shown_columns, nr);
	add_iterations(&s, 2, 1);
	assert_int_equal(s.m.nr_shown_columns, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(s.m.columns[i], want[i]);
	end_session(&s);
}

/* Tab leads from the table to each kind of things, whose keys are the same. */
TEST(focus)
{
	struct session_under_test s;
	const struct model_block *b = &s.m.blocks[0];

	begin_session(&s, 2);
	press(&s, '\t'); /* before there is anything */
	assert_int_equal(s.m.focus, 0);
	add_iterations(&s, 0, 1);
	press(&s, '\t');
	assert_int_equal(s.m.focus, 1);
	for (int i = 0; i < 3; i++)
		press(&s, KEY_CODE_RIGHT);
	assert_int_equal(b->column, 1);
	for (int i = 0; i < 3; i++)
		press(&s, 'j');
	assert_int_equal(b->selected, 1);
	press(&s, 's');
	assert_true(b->sort == 1 && !b->sorts_up && b->selected == 0);
	press(&s, 's');
	assert_true(b->sort == 1 && b->sorts_up);
	press(&s, 's');
	assert_true(b->sort == SIZE_MAX);
	press(&s, KEY_CODE_PAGE_DOWN);
	assert_int_equal(b->selected, 1);
	press(&s, KEY_CODE_PAGE_UP);
	assert_int_equal(b->selected, 0);
	press(&s, 'h');
	assert_int_equal(b->column, 0);
	assert_true(s.m.selected_column == 0 && s.m.sort_column == SIZE_MAX);
	press(&s, 'r'); /* as always */
	assert_true(s.m.is_counts);
	press(&s, '\t'); /* the machine's values */
	assert_int_equal(s.m.focus, MODEL_FOCUS_MACHINE);
	press(&s, 'l');
	press(&s, 'l');
	assert_int_equal(s.m.item, SWITCHES);
	press(&s, 'h');
	assert_int_equal(s.m.item, MEMORY);
	press(&s, '\t');
	assert_int_equal(s.m.focus, MODEL_FOCUS_TABLE);
	press(&s, 'l');
	assert_int_equal(s.m.selected_column, 1);
	press(&s, '\t');
	press(&s, KEY_CODE_ESCAPE);
	assert_int_equal(s.m.focus, MODEL_FOCUS_TABLE);
	end_session(&s);
}

/* Of an iteration of which a CPU's trace is missing, what is of all CPUs stays out of statistics
 * and charts; what is of the other CPUs, and of the machine, does not. */
TEST(missing_trace)
{
	struct session_under_test s;
	const uint32_t package_0 = 3; /* behind the total and the CPUs */

	begin_session(&s, 2);
	add_iterations(&s, 0, 5);
	s.t->nr_rows = 1;
	fill(s.t, 5);
	model_add(&s.m, &s.t);
	for (size_t i = 0; i < s.m.nr_columns; i++) {
		const uint64_t nr = s.m.history.totals[model_series(&s.m, 0, i)].spread.nr;

		if (i == CYCLES || i == CLOCK || i == BUSY || i == EVENTS)
			assert_int_equal(nr, 5);
		else if (i == MEMORY || i == SWITCHES)
			assert_int_equal(nr, 6);
	}
	assert_true(isnan(history_value(&s.m.history, 5, model_series(&s.m, 0, CYCLES))));
	assert_int_equal(s.m.history.totals[model_series(&s.m, 1, CYCLES)].spread.nr, 6);
	assert_int_equal(s.m.history.totals[model_series(&s.m, 2, CYCLES)].spread.nr, 5);
	assert_int_equal(s.m.history.totals[model_series(&s.m, package_0, CYCLES)].spread.nr, 6);
	assert_int_equal(s.m.history.totals[model_series(&s.m, package_0 + 1, CYCLES)].spread.nr,
			 5);
	assert_true(cell_is_partial(model_cell(&s.m, 0, CYCLES))); /* it is shown, and marked */
	end_session(&s);
}

TEST(pauses_while_it_goes_on)
{
	struct session_under_test s;

	begin_session(&s, 2);
	press(&s, 'p'); /* before there is anything: the first is shown all the same */
	add_iterations(&s, 0, 3);
	assert_true(s.m.shown->is_set);
	assert_int_equal(s.m.shown->table->iteration, 0);
	assert_int_equal(s.m.history.nr, 3);
	assert_int_equal(s.m.last_iteration, 2);
	press(&s, ' ');
	add_iterations(&s, 3, 1);
	assert_int_equal(s.m.shown->table->iteration, 3);
	end_session(&s);
}

TEST(history_keeps_the_last)
{
	struct session_under_test s;
	size_t series, from, to;

	begin_session(&s, 2);
	add_iterations(&s, 0, HISTORY_MAX_DEPTH + 50);
	series = model_series(&s.m, 1, CYCLES);
	assert_int_equal(s.m.history.nr, HISTORY_MAX_DEPTH);
	for (size_t i = 0; i < HISTORY_MAX_DEPTH; i++) {
		assert_int_equal(history_entry(&s.m.history, i)->iteration, 50 + i);
		assert_float_equal(history_value(&s.m.history, i, series),
				   2e6 * (double)wave(0, (uint32_t)i + 50), 300);
	}
	assert_int_equal(s.m.history.totals[series].spread.nr, HISTORY_MAX_DEPTH + 50);
	assert_float_equal(s.m.history.totals[series].min, 2e9, 1);
	assert_float_equal(s.m.history.totals[series].max, 2e6 * 1200, 1);
	history_range(&s.m.history, 60, 69, &from, &to);
	assert_int_equal(from, 10);
	assert_int_equal(to, 20);
	history_range(&s.m.history, 0, 40, &from, &to);
	assert_int_equal(from, to);
	assert_true(isnan(history_value(&s.m.history, 0, model_series(&s.m, 1, MISSES))));
	model_forget(&s.m);
	assert_int_equal(s.m.history.nr, 0);
	assert_int_equal(s.m.history.totals[series].spread.nr, 0);
	end_session(&s);
}

/* A cut iteration is in the chart, but in no mean. */
TEST(cut_iteration)
{
	struct session_under_test s;

	begin_session(&s, 1);
	add_iterations(&s, 0, 2);
	s.t->nr_rows = 1;
	fill(s.t, 2);
	s.t->is_cut = true;
	*table_cell(s.t, 0, CYCLES) = counted(1, 1);
	model_add(&s.m, &s.t);
	assert_int_equal(s.m.history.nr, 3);
	assert_int_equal(s.m.history.totals[model_series(&s.m, 1, CYCLES)].spread.nr, 2);
	assert_int_equal(history_spread(&s.m.history, model_series(&s.m, 1, CYCLES), 0, 3).nr, 2);
	end_session(&s);
}

/* The number of CPU 0's cycles in the next iteration. */
static void add_one(struct session_under_test *s, uint32_t iteration, uint64_t cycles)
{
	s->t->nr_rows = s->facts.nr_cpus;
	fill(s->t, iteration);
	*table_cell(s->t, 0, CYCLES) = counted(cycles, 1);
	model_add(&s->m, &s->t);
}

TEST(baseline_and_difference)
{
	struct model_difference d;
	struct session_under_test s;
	uint32_t i = 0;

	begin_session(&s, 2);
	press(&s, 'b');
	assert_false(s.m.baseline.is_set); /* there is nothing yet */
	press(&s, 'd');
	assert_false(s.m.shows_difference);
	for (; i < 10; i++)
		add_one(&s, i, 1000 + i % 2 * 20);
	press(&s, 'b');
	assert_true(s.m.shows_difference);
	assert_int_equal(s.m.baseline.first, 0);
	assert_int_equal(s.m.baseline.last, 9);
	add_one(&s, i++, 1015);
	d = model_difference(&s.m, 1, CYCLES);
	assert_float_equal(d.amount, 100 * 5.0 / 1010, 1e-9);
	assert_int_equal(d.spread, MODEL_INSIDE);
	add_one(&s, i++, 1111);
	d = model_difference(&s.m, 1, CYCLES);
	assert_float_equal(d.amount, 10, 1e-9);
	assert_false(d.is_points);
	assert_int_equal(d.spread, MODEL_BEYOND);
	assert_true(isnan(model_difference(&s.m, 1, MISSES).amount));
	press(&s, 'b'); /* from the last mark on */
	assert_int_equal(s.m.baseline.first, 10);
	assert_int_equal(s.m.baseline.last, 11);
	press(&s, 'd');
	assert_false(s.m.shows_difference);
	end_session(&s);
}

static void add_shares(struct session_under_test *s, uint32_t iteration, uint64_t raw)
{
	fill(s->t, iteration);
	*table_cell(s->t, 0, BUSY) = (struct cell){.state = CELL_OK,
						   .value = (double)raw / 10,
						   .raw = raw,
						   .base = 1000,
						   .span_ns = NS_PER_S};
	*table_cell(s->t, 0, CLOCK) = counted(raw * NS_PER_S / 1000, 1);
	model_add(&s->m, &s->t);
}

/* The difference of two percentages is in points: 0.5 % after 0.1 % is not "+400 %". */
TEST(difference_of_shares)
{
	static const size_t columns[] = {BUSY, CLOCK}; /* a share; time, shown as percent of time */
	struct model_difference d;
	struct session_under_test s;

	begin_session(&s, 2);
	add_shares(&s, 0, 1);
	add_shares(&s, 1, 1);
	press(&s, 'b');
	add_shares(&s, 2, 5);
	for (size_t i = 0; i < 2; i++) {
		d = model_difference(&s.m, 1, columns[i]);
		assert_true(d.is_points);
		assert_float_equal(d.amount, 0.4, 1e-9);
	}
	s.m.is_counts = true; /* of time: 5 ms after 1 ms */
	d = model_difference(&s.m, 1, CLOCK);
	assert_false(d.is_points);
	assert_float_equal(d.amount, 400, 1e-6);
	assert_true(model_difference(&s.m, 1, BUSY).is_points);
	end_session(&s);

	begin_session(&s, 2); /* from none */
	add_shares(&s, 0, 0);
	press(&s, 'b');
	add_shares(&s, 1, 5);
	assert_float_equal(model_difference(&s.m, 1, BUSY).amount, 0.5, 1e-9);
	end_session(&s);
}

/* By a t-test with 9 degrees of freedom, 5 of 100 iterations are more than 25.0 away. */
TEST(beyond_the_spread)
{
	struct session_under_test s;
	uint32_t i = 0;

	begin_session(&s, 2);
	for (; i < 10; i++)
		add_one(&s, i, 1000 + i % 2 * 20);
	press(&s, 'b');
	add_one(&s, i++, 1034);
	assert_int_equal(model_difference(&s.m, 1, CYCLES).spread, MODEL_INSIDE);
	add_one(&s, i++, 1036);
	assert_int_equal(model_difference(&s.m, 1, CYCLES).spread, MODEL_BEYOND);
	end_session(&s);
}

/* More than a negative number is an increase. */
TEST(difference_of_negative_numbers)
{
	struct session_under_test s;

	begin_session(&s, 1);
	for (uint32_t i = 0; i < 2; i++) {
		s.t->nr_rows = 1;
		fill(s.t, i);
		*table_cell(s.t, 0, MEMORY) =
		    (struct cell){.state = CELL_OK, .is_real = true, .value = i ? -8 : -10};
		model_add(&s.m, &s.t);
		if (i == 0)
			press(&s, 'b');
	}
	assert_float_equal(model_difference(&s.m, 0, MEMORY).amount, 20, 1e-9);
	end_session(&s);
}

/* One iteration has no spread: nothing is beyond it. */
TEST(baseline_of_one)
{
	struct session_under_test s;

	begin_session(&s, 2);
	add_one(&s, 0, 1000);
	press(&s, 'b');
	add_one(&s, 1, 2000);
	assert_float_equal(model_difference(&s.m, 1, CYCLES).amount, 100, 1e-9);
	assert_int_equal(model_difference(&s.m, 1, CYCLES).spread, MODEL_UNKNOWN);
	end_session(&s);
}

TEST(views_that_are_known)
{
	static const enum model_view all[] = {MODEL_TOTAL, MODEL_PACKAGES, MODEL_NODES, MODEL_TYPES,
					      MODEL_CPUS};
	struct session_under_test s;

	begin_session(&s, 4);
	add_iterations(&s, 0, 1);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		press(&s, 'v');
		assert_int_equal(s.m.view, all[i]);
		model_arrange(&s.m, 10);
		assert_int_equal(s.m.nr_order, all[i] == MODEL_TOTAL  ? 0
					       : all[i] == MODEL_CPUS ? 4
								      : 2);
	}
	press(&s, 't');
	assert_int_equal(s.m.view, MODEL_TOTAL);
	press(&s, 't');
	assert_int_equal(s.m.view, MODEL_CPUS);
	end_session(&s);
	s.facts.nr_cpus = 0;
	begin_session(&s, 4);
	model_fini(&s.m);
	for (size_t i = 0; i < 4; i++)
		s.cpus[i] = (struct model_cpu){.cpu = 2 * (uint32_t)i, .package = -1, .node = -1};
	assert_int_equal(model_init(&s.m, &s.facts), 0);
	press_all(&s, "v");
	assert_int_equal(s.m.view, MODEL_TOTAL);
	press_all(&s, "v"); /* nothing else is known */
	assert_int_equal(s.m.view, MODEL_CPUS);
	named(&s, "0…2");
	end_session(&s);
}

static void click(struct session_under_test *s, unsigned x, unsigned y)
{
	model_key(&s->m, &(struct key){.code = KEY_CODE_CLICK, .x = x, .y = y});
}

TEST(the_mouse)
{
	struct session_under_test s;

	begin_session(&s, 4);
	add_iterations(&s, 0, 1);
	model_arrange(&s.m, 4);
	s.m.layout = (struct model_layout){.title_y = 4,
					   .rows_y = 6,
					   .nr_lines = 4,
					   .first_width = 6,
					   .nr_shown = 2,
					   .shown = {CYCLES, INSTRUCTIONS},
					   .x = {7, 18},
					   .width = {10, 12}};
	click(&s, 20, 8);
	assert_int_equal(s.m.selected_column, 1);
	assert_int_equal(s.m.selected_row, 2);
	click(&s, 8, 6);
	assert_int_equal(s.m.selected_column, 0);
	assert_int_equal(s.m.selected_row, 0);
	click(&s, 3, 10); /* a name: the row alone */
	assert_int_equal(s.m.selected_column, 0);
	assert_int_equal(s.m.selected_row, 4);
	click(&s, 19, 4);
	assert_int_equal(s.m.sort_column, 1);
	click(&s, 17, 4); /* between two titles */
	click(&s, 3, 5);
	click(&s, 19, 3);
	click(&s, 19, 11);
	assert_int_equal(s.m.sort_column, 1);
	assert_int_equal(s.m.selected_row, 4);
	press(&s, KEY_CODE_WHEEL_UP);
	assert_int_equal(s.m.selected_line, 0);
	press(&s, KEY_CODE_WHEEL_DOWN);
	assert_int_equal(s.m.selected_line, 3);
	end_session(&s);
}

TEST(replay_steps)
{
	static const struct {
		int key;
		uint32_t wanted;
	} steps[] = {{'.', 1},  {'.', 2},  {',', 1},  {'>', 11}, {'<', 1}, {'<', 0}, {',', 0},
		     {'G', 99}, {'.', 99}, {'>', 99}, {'g', 0},  {']', 1}, {'[', 0}};
	struct session_under_test s;

	begin_session(&s, 2);
	s.m.facts.is_replay = true;
	add_iterations(&s, 0, 3);
	assert_false(s.m.shown->is_set); /* the history alone */
	assert_int_equal(press(&s, 'b'), MODEL_NOTHING);
	s.t->nr_rows = 2;
	fill(s.t, 1);
	model_show(&s.m, &s.t);
	assert_int_equal(s.m.shown->table->iteration, 1);
	assert_int_equal(s.m.history.nr, 3);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		press(&s, steps[i].key);
		assert_int_equal(s.m.wanted, steps[i].wanted);
	}
	press(&s, ' ');
	assert_true(s.m.is_playing);
	assert_false(s.m.is_paused);
	press(&s, '.');
	assert_false(s.m.is_playing);
	end_session(&s);
}

TEST(actions_and_overlays)
{
	struct session_under_test s;

	begin_session(&s, 2);
	assert_int_equal(press(&s, 'q'), MODEL_QUIT);
	assert_int_equal(press(&s, 'S'), MODEL_SAVE);
	assert_int_equal(press(&s, 'L' - '@'), MODEL_REDRAW);
	assert_int_equal(press(&s, 'x'), MODEL_NOTHING);
	assert_int_equal(press(&s, KEY_CODE_NONE), MODEL_NOTHING);
	assert_int_equal(press(&s, ','), MODEL_NOTHING);
	assert_int_equal(s.m.wanted, 0);
	press(&s, '?');
	assert_int_equal(s.m.overlay, MODEL_HELP);
	assert_int_equal(press(&s, 'q'), MODEL_NOTHING); /* closes it, and nothing else */
	assert_int_equal(s.m.overlay, MODEL_NO_OVERLAY);
	press(&s, 'w');
	press(&s, 'w');
	assert_int_equal(s.m.overlay, MODEL_NO_OVERLAY);
	for (unsigned i = 0; i < 3 * MODEL_MAX_NOTES; i++)
		model_note(&s.m, "a warning");
	assert_int_equal(s.m.nr_notes, 3 * MODEL_MAX_NOTES);
	end_session(&s);
}

/* Without memory there is no model, and nothing is left behind. */
TEST(no_memory)
{
	struct session_under_test s;
	struct model m;
	int rc = -ENOMEM;

	begin_session(&s, 4);
	for (unsigned n = 1; rc; n++) {
		inject_mem(n);
		rc = model_init(&m, &s.facts);
		if (rc) {
			assert_int_equal(rc, -ENOMEM);
			assert_int_equal(inject.nr_live, 0);
		} else {
			model_fini(&m);
			assert_int_equal(inject.nr_live, 0);
		}
		inject_stop();
	}
	end_session(&s);
}
