/*
 * Metrics: the cell that is made of others, and what it says of them.
 */
#include "kit.h"

#include "base/arena.h"
#include "estimate/metric.h"

enum { S = 1000000000 };

static struct arena arena;

/* Operands are a, b, c …: the first, second, third event. */
static struct metric metric_of(const char *expr)
{
	struct metric m = {.name = "m", .unit = ""};
	const struct expr_step *operand;
	size_t offset;

	assert_int_equal(expr_parse(expr, &arena, &m.expr, &offset, NULL), 0);
	for (size_t i = 0; (operand = metric_operand(&m, &i));)
		m.expr.steps[operand - m.expr.steps].operand = (size_t)(operand->name[0] - 'a');
	return m;
}

static struct cell count(uint64_t n)
{
	return (struct cell){
	    .state = CELL_OK, .count = n, .value = (double)n, .raw = n, .span_ns = 2ull * S};
}

static struct cell perf(uint64_t n, uint64_t enabled, uint64_t running)
{
	struct cell c = count(n);

	c.is_perf = true;
	c.enabled_ns = enabled;
	c.running_ns = running;
	return c;
}

static struct cell in_state(enum cell_state state)
{
	struct cell c =
	    cell_has_value(&(struct cell){.state = state}) ? count(8) : (struct cell){.state = 0};

	c.state = state;
	return c;
}

/* What one operand is in, beside a number. */
TEST(states)
{
	static const struct {
		enum cell_state a, b, metric;
		enum metric_has has;
	} rows[] = {
	    {CELL_OK, CELL_OK, CELL_OK, METRIC_ALL},
	    {CELL_NONE, CELL_NONE, CELL_NONE, METRIC_BLANK},
	    {CELL_OK, CELL_NONE, CELL_NA, METRIC_SOME},
	    {CELL_NONE, CELL_OK, CELL_NA, METRIC_SOME},
	    {CELL_OK, CELL_NOT_COUNTED, CELL_NA, METRIC_LACKS},
	    {CELL_NOT_COUNTED, CELL_OK, CELL_NA, METRIC_LACKS},
	    {CELL_OK, CELL_NOT_SUPPORTED, CELL_NA, METRIC_LACKS},
	    {CELL_OK, CELL_NO_PERMISSION, CELL_NA, METRIC_LACKS},
	    {CELL_OK, CELL_LIMIT, CELL_NA, METRIC_LACKS},
	    {CELL_OK, CELL_FAILED, CELL_NA, METRIC_LACKS},
	    {CELL_NOT_COUNTED, CELL_NONE, CELL_NA, METRIC_LACKS},
	    {CELL_NOT_SUPPORTED, CELL_NOT_SUPPORTED, CELL_NA, METRIC_LACKS},
	    {CELL_OFFLINE, CELL_OK, CELL_OFFLINE, METRIC_ALL},
	    {CELL_OK, CELL_OFFLINE, CELL_OFFLINE, METRIC_ALL},
	    {CELL_OFFLINE, CELL_NOT_COUNTED, CELL_NA, METRIC_LACKS},
	};
	struct metric m = metric_of("{a} / {b}"), turned = metric_of("0 * {b} + {a} - {a}");

	for (size_t i = 0; i < NR(rows); i++) {
		const struct cell cells[] = {in_state(rows[i].a), in_state(rows[i].b)};
		struct cell c;

		metric_make(&m, cells, S, &c);
		if (c.state != rows[i].metric || metric_has(&m, cells) != rows[i].has)
			fail_msg("row %zu: %s", i, cell_state_name(c.state));
		assert_true(c.value == (cell_has_value(&c) ? 1 : 0));
		metric_make(&turned, cells, S, &c);
		assert_int_equal(c.state, rows[i].metric);
	}
}

/* What they are is not what they come to: counts, shares in percent, values. */
TEST(numbers)
{
	const struct cell cells[] = {
	    count(7),
	    {.state = CELL_OK, .is_real = true, .value = 12.5, .raw = 1, .base = 8},
	    {.state = CELL_OK, .is_real = true, .value = -3.5},
	};
	static const struct {
		const char *expr;
		double value;
	} rows[] = {
	    {"{a} * 3", 21}, {"100 - {b}", 87.5}, {"{c} + 1", -2.5}, {"{a} * {b} * {c}", -306.25}};

	for (size_t i = 0; i < NR(rows); i++) {
		struct metric m = metric_of(rows[i].expr);
		struct cell c;

		metric_make(&m, cells, S, &c);
		assert_true(c.value == rows[i].value);
		assert_true(c.is_metric && c.is_real && !c.is_perf);
		assert_int_equal(c.count | c.raw | c.base, 0);
	}
}

TEST(no_result_is_not_zero)
{
	const struct cell cells[] = {count(7), count(0)};
	static const char *const rows[] = {"{a} / {b}", "{b} / {b}", "1 / ({a} / {b})",
					   "1 / {b} * 0"};

	for (size_t i = 0; i < NR(rows); i++) {
		struct metric m = metric_of(rows[i]);
		struct cell c;

		m.warn_below = (struct metric_limit){"1", 1};
		metric_make(&m, cells, S, &c);
		assert_int_equal(c.state, CELL_NA);
		assert_int_equal(c.limit, CELL_WITHIN);
		assert_true(c.value == 0 && !cell_has_value(&c));
		assert_int_equal(metric_has(&m, cells), METRIC_ALL);
	}
}

/* The estimate that is the roughest is said. */
TEST(multiplexed)
{
	static const struct {
		struct {
			uint64_t enabled, running;
		} a, b;
		uint64_t enabled, running;
	} rows[] = {
	    {{100, 100}, {200, 200}, 100, 100}, {{100, 50}, {100, 100}, 100, 50},
	    {{100, 100}, {100, 50}, 100, 50},   {{100, 50}, {100, 25}, 100, 25},
	    {{100, 25}, {100, 50}, 100, 25},    {{1000, 900}, {100, 80}, 100, 80},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct metric m = metric_of("{a} / {b} + {c}");
		const struct cell cells[] = {perf(30, rows[i].a.enabled, rows[i].a.running),
					     perf(10, rows[i].b.enabled, rows[i].b.running),
					     count(1)};
		struct cell c;

		metric_make(&m, cells, S, &c);
		assert_true(c.is_perf && c.value == 4);
		assert_int_equal(c.enabled_ns, rows[i].enabled);
		assert_int_equal(c.running_ns, rows[i].running);
	}
}

/* duration: the longest span of the operands; of values, which have none, that of the iteration. */
TEST(spans)
{
	struct metric rate = metric_of("{a} / duration"), two = metric_of("({a} + {b}) / duration");
	struct cell cells[] = {count(10), count(10)}, c;

	metric_make(&rate, cells, 100, &c);
	assert_true(c.value == 5);
	assert_int_equal(c.span_ns, 2ull * S);
	cells[1].span_ns = 4ull * S;
	cells[1].time_ns = 9;
	metric_make(&two, cells, 100, &c);
	assert_true(c.value == 5);
	assert_int_equal(c.time_ns, 9);
	cells[0].span_ns = 0;
	metric_make(&rate, cells, 5ull * S, &c);
	assert_true(c.value == 2);
	metric_make(&rate, cells, 0, &c);
	assert_int_equal(c.state, CELL_NA);
}

TEST(limits)
{
	static const struct {
		const char *below, *above;
		uint64_t n;
		enum cell_limit limit;
	} rows[] = {
	    {NULL, NULL, 0, CELL_WITHIN}, {"5", NULL, 4, CELL_LOW},    {"5", NULL, 5, CELL_WITHIN},
	    {"5", NULL, 6, CELL_WITHIN},  {NULL, "5", 4, CELL_WITHIN}, {NULL, "5", 5, CELL_WITHIN},
	    {NULL, "5", 6, CELL_HIGH},    {"5", "7", 4, CELL_LOW},     {"5", "7", 6, CELL_WITHIN},
	    {"5", "7", 8, CELL_HIGH},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct metric m = metric_of("{a}");
		const struct cell cell = count(rows[i].n);
		struct cell c;

		m.warn_below.text = rows[i].below;
		m.warn_below.value = rows[i].below ? strtod(rows[i].below, NULL) : 0;
		m.warn_above.text = rows[i].above;
		m.warn_above.value = rows[i].above ? strtod(rows[i].above, NULL) : 0;
		metric_make(&m, &cell, S, &c);
		if (c.limit != rows[i].limit)
			fail_msg("row %zu: %d", i, (int)c.limit);
	}
}

HOOK(before_all)
{
	arena_init(&arena, 1 << 20);
}

HOOK(after_all)
{
	arena_fini(&arena);
}
