/*
 * Metrics as columns of tables: which rows have one, what the totals are of, what a session comes
 * to, and where a metric was beyond its limits.
 */
#include "kit.h"

#include "base/arena.h"
#include "base/buf.h"
#include "estimate/table.h"

#include <math.h>

enum { NR_EVENTS = 2, MAX_ROWS = 3 };

static struct arena arena;

/* Of {a} and {b}, the table's events. */
static struct metric metric_of(const char *expr)
{
	struct metric m = {.name = "m", .unit = "u"};
	size_t offset;

	assert_int_equal(expr_parse(expr, &arena, &m.expr, &offset, NULL), 0);
	for (size_t i = 0; i < m.expr.nr_steps; i++)
		if (m.expr.steps[i].op == EXPR_OPERAND)
			m.expr.steps[i].operand = (size_t)(m.expr.steps[i].name[0] - 'a');
	return m;
}

static struct table *table_of(const struct metric *m, size_t nr_rows, enum event_scope a,
			      enum event_scope b)
{
	const struct metric_set set = {m, 1};
	struct table *t = table_new(NR_EVENTS + 1, nr_rows);

	assert_non_null(t);
	t->columns[0] = (struct table_column){.kind = EVENT_COUNT, .scope = a, .label = "a"};
	t->columns[1] = (struct table_column){.kind = EVENT_COUNT, .scope = b, .label = "b"};
	table_set_metrics(t, &set);
	t->start_ns = 1000, t->end_ns = 1000000001000;
	return t;
}

/* A number; "-" blank; "x" not counted; "!" with a number until its CPU went away. */
static struct cell cell_of(const char *text)
{
	struct cell c = {.state = *text == '-'   ? CELL_NONE
				  : *text == 'x' ? CELL_NOT_COUNTED
						 : CELL_OK};

	if (!cell_has_value(&c))
		return c;
	if (*text == '!')
		c.state = CELL_OFFLINE;
	c.count = strtoull(text + (*text == '!'), NULL, 10);
	c.value = (double)c.count;
	return c;
}

/* As cell_of, and "n" for n/a; marks of a total behind it: "p" partial. */
static void expect_cell(size_t i, const char *what, const struct cell *c, const char *text)
{
	bool is_partial = strchr(text, 'p') != NULL;
	enum cell_state state = *text == '-' ? CELL_NONE : *text == 'n' ? CELL_NA : CELL_OK;

	state = *text == '!' ? CELL_OFFLINE : state;
	if (c->state != state || c->value != strtod(text + strspn(text, "-n!"), NULL))
		fail_msg("case %zu, %s: %s %g, not %s", i, what, cell_state_name(c->state),
			 c->value, text);
	assert_int_equal(cell_is_partial(c), is_partial || state == CELL_OFFLINE);
}

#define C EVENT_SCOPE_CPU
#define M EVENT_SCOPE_SYSTEM
#define P EVENT_SCOPE_PACKAGE
#define T EVENT_SCOPE_THINGS

TEST(rows_and_totals)
{
	static const struct {
		const char *expr;
		enum event_scope scope_a, scope_b;
		const char *a[MAX_ROWS], *b[MAX_ROWS], *rows[MAX_ROWS], *total;
	} cases[] = {
	    /* of the totals: 4 / 10, not the mean of the rows */
	    {"{a}/{b}", C, C, {"1", "3"}, {"1", "9"}, {"1", "0.33333333333333331"}, "0.4"},
	    /* a CPU without one of them is in no total */
	    {"{a}/{b}", C, C, {"1", "x"}, {"2", "9"}, {"0.5", "n"}, "0.5p"},
	    {"{a}/{b}", C, C, {"1", "5", "x"}, {"2", "x", "9"}, {"0.5", "n", "n"}, "0.5p"},
	    {"{b}/({a}+{b})",
	     C,
	     C,
	     {"1", "x", "2"},
	     {"1", "9", "4"},
	     {"0.5", "n", "0.66666666666666663"},
	     "0.625p"},
	    {"{a}/{b}", C, C, {"x", "5"}, {"2", "x"}, {"n", "n"}, "n"},
	    {"{a}/{b}", C, C, {"x", "x"}, {"2", "9"}, {"n", "n"}, "n"},
	    {"{a}/{b}", C, C, {"x", "x"}, {"x", "x"}, {"n", "n"}, "n"},
	    /* a division by zero is of the row alone */
	    {"{a}/{b}", C, C, {"1", "3"}, {"0", "8"}, {"n", "0.375"}, "0.5"},
	    {"{a}/{b}", C, C, {"1", "3"}, {"0", "0"}, {"n", "n"}, "n"},
	    /* a type of core that does not have one of them */
	    {"{a}/{b}", C, C, {"1", "-"}, {"2", "9"}, {"0.5", "n"}, "0.5p"},
	    {"{a}/{b}", C, C, {"1", "-"}, {"2", "-"}, {"0.5", "-"}, "0.5"},
	    /* the machine's, in row 0 */
	    {"{a}/{b}", M, M, {"6", "-"}, {"2", "-"}, {"3", "-"}, "3"},
	    {"{a}/{b}", M, M, {"6", "-"}, {"x", "-"}, {"n", "-"}, "n"},
	    {"{a}/{b}",
	     P,
	     P,
	     {"6", "-", "4"},
	     {"2", "-", "3"},
	     {"3", "-", "1.3333333333333333"},
	     "2"},
	    {"{a}/{b}", T, M, {"6", "-"}, {"2", "-"}, {"3", "-"}, "3"},
	    /* of both: over all CPUs only */
	    {"{a}/{b}", T, C, {"12", "-"}, {"2", "4"}, {"-", "-"}, "2"},
	    {"{a}/{b}", M, C, {"12", "-"}, {"2", "4"}, {"-", "-"}, "2"},
	    {"{a}/{b}", C, P, {"12", "6", "3"}, {"1", "-", "2"}, {"-", "-", "-"}, "7"},
	    {"{a}/{b}", M, C, {"12", "-"}, {"2", "x"}, {"-", "-"}, "6p"},
	    {"{a}/{b}", M, C, {"x", "-"}, {"2", "4"}, {"-", "-"}, "n"},
	    {"{a}/{b}", M, C, {"-", "-"}, {"-", "-"}, {"-", "-"}, "-"},
	    /* an event twice counts once */
	    {"{a}/({a}+{b})", C, C, {"1", "2"}, {"1", "8"}, {"0.5", "0.2"}, "0.25"},
	    {"{a} * {a}", C, M, {"2", "3"}, {"-", "-"}, {"4", "9"}, "25"},
	    {"{a}/{b}", C, C, {"!1", "3"}, {"1", "1"}, {"!1", "3"}, "!2"},
	    {"{a}/{b}", C, C, {"1"}, {"2"}, {"0.5"}, "0.5"},
	    {"{a} + 0 * duration", C, C, {"1"}, {"2"}, {"1"}, "1"},
	    {"{a} / duration", C, C, {"2000"}, {"2"}, {"2"}, "2"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct metric m = metric_of(cases[i].expr);
		struct table *t;
		size_t nr = 0;

		while (nr < MAX_ROWS && cases[i].rows[nr])
			nr++;
		t = table_of(&m, nr, cases[i].scope_a, cases[i].scope_b);
		for (size_t row = 0; row < nr; row++) {
			*table_cell(t, row, 0) = cell_of(cases[i].a[row]);
			*table_cell(t, row, 1) = cell_of(cases[i].b[row]);
		}
		table_total(t);
		table_total(t); /* from anew */
		for (size_t row = 0; row < nr; row++)
			expect_cell(i, "row", table_cell(t, row, 2), cases[i].rows[row]);
		expect_cell(i, "total", &t->totals[2], cases[i].total);
		table_free(t);
	}
}

/* Values do not add up: with several there is no total, and nothing is made of none. */
/* Of a target what is counted is in the last row, of all CPUs; of cores of two types none is. */
TEST(counted_and_sampled)
{
	struct metric m = metric_of("{a}/{b}");

	for (size_t k = 0; k < 4; k++) {
		struct table *t = table_of(&m, 3, C, C);
		static const char *const a[] = {"-", "-", "12"}, *const b[] = {"2", "4", "-"};

		for (size_t row = 0; row < 3; row++) {
			t->row_cpu[row] = row < 2 || k == 1 ? (uint32_t)row : TABLE_ALL_CPUS;
			*table_cell(t, row, 0) = cell_of(a[row]);
			*table_cell(t, row, 1) = cell_of(k == 2 && row == 0 ? "x" : b[row]);
		}
		if (k == 3) /* both are there */
			*table_cell(t, 2, 1) = cell_of("3");
		table_total(t);
		expect_cell(k, "total", &t->totals[2], (const char *[]){"2", "n", "3p", "4p"}[k]);
		table_free(t);
	}
}

TEST(values_and_shares)
{
	static const char *const exprs[] = {"{a} / 10", "{b} / {a}", "100 - {b}"};
	static const char *const totals[] = {"-", "n", "75"};

	for (size_t i = 0; i < NR(exprs); i++) {
		struct metric m = metric_of(exprs[i]);
		struct table *t = table_of(&m, 2, C, C);

		t->columns[0].kind = EVENT_VALUE;
		t->columns[1].kind = EVENT_SHARE;
		for (uint32_t row = 0; row < 2; row++) {
			*table_cell(t, row, 0) = cell_of("40");
			*table_cell(t, row, 1) = (struct cell){.state = CELL_OK,
							       .is_real = true,
							       .value = row ? 20 : 50,
							       .raw = row ? 50 : 25,
							       .base = row ? 250 : 50};
		}
		table_total(t);
		expect_cell(i, "total", &t->totals[2], totals[i]);
		table_free(t);
	}
}

TEST(columns)
{
	struct metric m = metric_of("{a} / {b}");
	struct table *t = table_of(&m, 1, C, C);
	const struct metric_set set = {&m, 1};
	struct buf reason;

	assert_int_equal(t->nr_events, 2);
	assert_string_equal(t->columns[2].group, "metric");
	assert_string_equal(t->columns[2].name, "m");
	assert_string_equal(t->columns[2].label, "m");
	assert_string_equal(t->columns[2].unit, "u");
	assert_ptr_equal(t->columns[2].metric, &m);
	assert_null(t->columns[2].reason);
	assert_int_equal(t->columns[2].scope, C);
	assert_false(t->columns[2].is_total_only);
	t->columns[0].scope = M;
	table_set_metrics(t, &set);
	assert_int_equal(t->columns[2].scope, M);
	assert_true(t->columns[2].is_total_only);
	t->columns[1].scope = T;
	table_set_metrics(t, &set);
	assert_int_equal(t->columns[2].scope, M);
	assert_false(t->columns[2].is_total_only);
	t->columns[1].reason = "why";
	table_set_metrics(t, &set);
	buf_init(&reason, 64);
	table_reason(&t->columns[1], &reason);
	assert_string_equal(buf_str(&reason), "why");
	buf_reset(&reason);
	table_reason(&t->columns[2], &reason); /* of "a / b" */
	assert_string_equal(buf_str(&reason), "b: why");
	buf_reset(&reason);
	table_reason(&t->columns[0], &reason);
	assert_string_equal(buf_str(&reason), "");
	buf_fini(&reason);
	assert_null(t->columns[0].metric);
	table_set_metrics(t, &(struct metric_set){NULL, 0});
	assert_int_equal(t->nr_events, 3);
	table_free(t);
}

/* The mean of what the iterations came to, and what was said of the cells. */
TEST(summary)
{
	static const char *const a[] = {"1", "6", "x"}, *const b[] = {"2", "2", "2"};
	struct metric m = metric_of("{a} / {b}");
	struct table_summary *s = table_summary_new(3);
	struct table *t = table_of(&m, 1, C, C);

	for (uint32_t i = 0; i < 3; i++) {
		t->cells[0] = cell_of(a[i]);
		t->cells[1] = cell_of(b[i]);
		t->cells[1].is_perf = true;
		t->cells[1].enabled_ns = 100;
		t->cells[1].running_ns = i ? 40 : 100;
		t->iteration = i;
		table_total(t);
		table_summary_add(s, t);
	}
	assert_int_equal(s->column[2].spread.nr, 2);
	assert_true(s->column[2].spread.mean == 1.75);
	assert_true(fabs(spread_deviation(&s->column[2].spread) - 1.7677669529663689) < 1e-12);
	assert_true(s->column[2].min.value == 0.5 && s->column[2].max.value == 3);
	assert_int_equal(s->column[2].nr_cells[CELL_OK], 2);
	assert_int_equal(s->column[2].nr_cells[CELL_NA], 1);
	assert_int_equal(s->column[2].nr_multiplexed, 1);
	assert_true(fabs(s->column[2].min_running - 0.4) < 1e-12);
	table_summary_free(s);
	table_free(t);
}

/* The total stands for the cells of what has no rows. */
TEST(summary_without_rows)
{
	struct metric m = metric_of("{a} / {b}");
	struct table_summary *s = table_summary_new(3);
	struct table *t = table_of(&m, 2, M, C);

	*table_cell(t, 0, 0) = cell_of("6");
	*table_cell(t, 0, 1) = cell_of("1");
	*table_cell(t, 1, 1) = cell_of("2");
	table_total(t);
	table_summary_add(s, t);
	assert_int_equal(s->column[2].nr_cells[CELL_OK], 1);
	assert_true(s->column[2].spread.mean == 2);
	table_summary_free(s);
	table_free(t);
}

/* One iteration of the CPUs 4 and 7. */
static void add_iteration(struct table *t, struct table_summary *s, uint32_t iteration,
			  const char *first, const char *second)
{
	t->iteration = iteration;
	t->row_cpu[0] = 4;
	t->row_cpu[1] = 7;
	*table_cell(t, 0, 0) = cell_of(first);
	*table_cell(t, 1, 0) = cell_of(second);
	*table_cell(t, 0, 1) = cell_of("1");
	*table_cell(t, 1, 1) = cell_of("1");
	table_total(t);
	table_summary_add(s, t);
}

TEST(beyond_limits)
{
	struct metric m = metric_of("{a} / {b}");
	struct table_summary *s = table_summary_new(3);
	const struct table_beyond *low = &s->column[2].low, *high = &s->column[2].high;
	struct table *t = table_of(&m, 2, C, C);

	m.warn_below = (struct metric_limit){"3", 3};
	m.warn_above = (struct metric_limit){"8", 8};
	add_iteration(t, s, 0, "5", "5");
	assert_int_equal(low->nr_iterations + high->nr_iterations, 0);
	add_iteration(t, s, 1, "2", "5");
	assert_int_equal(table_cell(t, 0, 2)->limit, CELL_LOW);
	assert_int_equal(table_cell(t, 1, 2)->limit, CELL_WITHIN);
	assert_int_equal(t->totals[2].limit, CELL_WITHIN);
	add_iteration(t, s, 2, "1", "9");
	add_iteration(t, s, 4, "1", "1");
	add_iteration(t, s, 5, "x", "5");
	assert_int_equal(low->nr_iterations, 3);
	assert_int_equal(low->nr_spans, 2);
	assert_int_equal(low->span[0].first, 1);
	assert_int_equal(low->span[0].last, 2);
	assert_int_equal(low->span[1].first, 4);
	assert_int_equal(low->span[1].last, 4);
	assert_int_equal(cpuset_count(&low->cpus), 2);
	assert_int_equal(high->nr_iterations, 1);
	assert_int_equal(cpuset_count(&high->cpus), 1);
	assert_true(cpuset_has(&high->cpus, 7));
	for (uint32_t i = 0; i < 20; i++)
		add_iteration(t, s, 10 + 2 * i, "1", "5");
	assert_int_equal(low->nr_iterations, 23);
	assert_int_equal(low->nr_spans, TABLE_MAX_SPANS);
	assert_int_equal(low->nr_in_spans, 3 + TABLE_MAX_SPANS - 2);
	table_summary_free(s);
	table_free(t);
}

/* Two CPUs within a limit, and their sum beyond it. */
TEST(beyond_in_total)
{
	struct metric m = metric_of("{a}");
	struct table_summary *s = table_summary_new(3);
	struct table *t = table_of(&m, 2, C, C);

	m.warn_above = (struct metric_limit){"8", 8};
	add_iteration(t, s, 3, "5", "5");
	assert_int_equal(s->column[2].high.nr_iterations, 1);
	assert_int_equal(cpuset_count(&s->column[2].high.cpus), 0);
	assert_int_equal(s->column[2].low.nr_iterations, 0);
	table_summary_free(s);
	table_free(t);
}

HOOK(before_all)
{
	arena_init(&arena, 1 << 20);
}

HOOK(after_all)
{
	arena_fini(&arena);
}
