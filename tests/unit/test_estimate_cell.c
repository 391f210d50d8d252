/*
 * The arithmetic of a tally, to the last unit.
 */
#include "kit.h"

#include "estimate/cell.h"
#include "estimate/spread.h"

#include <math.h>

#define MAX      UINT64_MAX
#define DISABLED READING_DISABLED

/* raw, enabled, running, base, time, state (0 in the table means READING_OK) */
struct point {
	uint64_t raw, enabled, running, base, time;
	uint32_t state, flags;
	bool is_missing;
};

static const struct {
	const char *name;
	enum event_kind kind;
	struct point start, end;
	enum cell_state state;
	uint64_t count;
	double value, share;
} cells[] = {
    {"plain", EVENT_COUNT, {5, 10, 10}, {12, 20, 20}, CELL_OK, 7, 7, 1},
    {"misc", EVENT_COUNT, {5}, {12}, CELL_OK, 7, 7, 1},
    {"misc, nothing", EVENT_COUNT, {5}, {5}, CELL_OK, 0, 0, 1},
    {"beyond 53 bits", EVENT_COUNT, {1}, {(1ull << 53) + 2}, CELL_OK, (1ull << 53) + 1, 0x1p53, 1},
    {"all of 64 bits", EVENT_COUNT, {0}, {MAX}, CELL_OK, MAX, 0x1p64, 1},
    {"half", EVENT_COUNT, {0, 0, 0}, {100, 1000, 500}, CELL_OK, 200, 200, 0.5},
    {"third, down", EVENT_COUNT, {0, 0, 0}, {100, 4, 3}, CELL_OK, 133, 133, 0.75},
    {"third, up", EVENT_COUNT, {0, 0, 0}, {50, 4, 3}, CELL_OK, 67, 67, 0.75},
    {"half a unit", EVENT_COUNT, {0, 0, 0}, {1, 3, 2}, CELL_OK, 2, 2, 2.0 / 3},
    {"scaled beyond 53 bits",
     EVENT_COUNT,
     {0, 0, 0},
     {(1ull << 62) + 1, 3000000000, 1500000000},
     CELL_OK,
     (1ull << 63) + 2,
     0x1p63,
     0.5},
    {"scaled beyond 64 bits", EVENT_COUNT, {0, 0, 0}, {1ull << 63, 2, 1}, CELL_FAILED, 0, 0, 1},
    {"enabled, never ran", EVENT_COUNT, {5, 10, 10}, {5, 20, 10}, CELL_NOT_COUNTED, 0, 0, 0},
    {"empty span of perf", EVENT_COUNT, {5, 10, 10}, {5, 10, 10}, CELL_NOT_COUNTED, 0, 0, 1},
    {"ran longer", EVENT_COUNT, {0, 0, 0}, {9, 10, 11}, CELL_OK, 9, 9, 1},
    {"backwards", EVENT_COUNT, {6, 10, 10}, {5, 20, 20}, CELL_FAILED, 0, 0, 1},
    {"enabled backwards", EVENT_COUNT, {5, 21, 10}, {6, 20, 20}, CELL_FAILED, 0, 0, 1},
    {"running backwards", EVENT_COUNT, {5, 10, 21}, {6, 20, 20}, CELL_FAILED, 0, 0, 1},
    {"time backwards", EVENT_COUNT, {5, 0, 0, 0, 9}, {6, 0, 0, 0, 8}, CELL_FAILED, 0, 0, 1},
    {"offline",
     EVENT_COUNT,
     {5, 10, 10},
     {12, 20, 20, .state = READING_OFFLINE},
     CELL_OFFLINE,
     7,
     7,
     1},
    {"offline all the time",
     EVENT_COUNT,
     {5, 10, 10, .state = READING_OFFLINE},
     {5, 10, 10, .state = READING_OFFLINE},
     CELL_NOT_COUNTED,
     0,
     0,
     1},
    {"disabled", EVENT_COUNT, {5, 10, 10}, {5, 10, 10, .flags = DISABLED}, CELL_DISABLED, 0, 0, 1},
    {"disabled, never enabled", EVENT_COUNT, {0}, {0, .flags = DISABLED}, CELL_DISABLED, 0, 0, 1},
    {"disabled until the start",
     EVENT_COUNT,
     {5, 10, 10, .flags = DISABLED},
     {12, 20, 20},
     CELL_OK,
     7,
     7,
     1},
    {"no end", EVENT_COUNT, {5}, {.is_missing = true}, CELL_NONE, 0, 0, 1},
    {"no start", EVENT_COUNT, {.is_missing = true}, {5}, CELL_FAILED, 0, 0, 1},
    {"not supported",
     EVENT_COUNT,
     {5},
     {9, .state = READING_NOT_SUPPORTED},
     CELL_NOT_SUPPORTED,
     0,
     0,
     1},
    {"no permission at start",
     EVENT_COUNT,
     {5, .state = READING_NO_PERMISSION},
     {9},
     CELL_NO_PERMISSION,
     0,
     0,
     1},
    {"unknown state", EVENT_COUNT, {5}, {9, .state = 77}, CELL_FAILED, 0, 0, 1},
    {"value", EVENT_VALUE, {900}, {12}, CELL_OK, 12, 12, 1},
    {"value without start", EVENT_VALUE, {.is_missing = true}, {MAX}, CELL_OK, MAX, 0x1p64, 1},
    {"value without end", EVENT_VALUE, {9}, {.is_missing = true}, CELL_NONE, 0, 0, 1},
    {"share", EVENT_SHARE, {10, 0, 0, 100}, {35, 0, 0, 200}, CELL_OK, 0, 25, 1},
    {"share of nothing", EVENT_SHARE, {10, 0, 0, 100}, {10, 0, 0, 100}, CELL_NOT_COUNTED, 0, 0, 1},
    {"share backwards", EVENT_SHARE, {10, 0, 0, 100}, {9, 0, 0, 200}, CELL_NOT_COUNTED, 0, 0, 1},
    {"base backwards", EVENT_SHARE, {10, 0, 0, 100}, {11, 0, 0, 99}, CELL_NOT_COUNTED, 0, 0, 1},
};

static struct reading reading(const struct point *p)
{
	return (struct reading){.state = p->state ? p->state : READING_OK,
				.flags = p->flags,
				.time_ns = p->time,
				.raw = p->raw,
				.enabled_ns = p->enabled,
				.running_ns = p->running,
				.base = p->base};
}

TEST(make_cells)
{
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		struct reading a = reading(&cells[i].start), b = reading(&cells[i].end);
		struct cell c;

		cell_make(cells[i].kind, cells[i].start.is_missing ? NULL : &a,
			  cells[i].end.is_missing ? NULL : &b, &c);
		if (c.state != cells[i].state || c.count != cells[i].count ||
		    fabs(c.value - cells[i].value) > 1e-9 ||
		    fabs(cell_running_share(&c) - cells[i].share) > 1e-9)
			fail_msg("%s: %s, count %llu, value %g, share %g", cells[i].name,
				 cell_state_name(c.state), (unsigned long long)c.count, c.value,
				 cell_running_share(&c));
		if (!cell_has_value(&c) && (c.raw || c.base || c.span_ns))
			fail_msg("%s: numbers without a value", cells[i].name);
	}
}

TEST(keep_raw_numbers)
{
	struct reading a = {.state = READING_OK, .time_ns = 1000, .raw = 5, .enabled_ns = 7};
	struct reading b = a;
	struct cell c;

	b.time_ns += 500, b.raw += 10, b.enabled_ns += 400, b.running_ns += 100;
	cell_make(EVENT_COUNT, &a, &b, &c);
	assert_int_equal(c.raw, 10);
	assert_int_equal(c.count, 40);
	assert_int_equal(c.enabled_ns, 400);
	assert_int_equal(c.running_ns, 100);
	assert_int_equal(c.time_ns, 1500);
	assert_int_equal(c.span_ns, 500);
	assert_true(c.is_perf);
	assert_true(cell_rate(&c) == 40 * 1e9 / 500);
}

/* The base of a count: so often something ended unseen. */
TEST(ended_unseen)
{
	const struct reading a = {.state = READING_OK, .raw = 5, .base = 2};
	struct reading b = {.state = READING_OK, .raw = 9, .base = 2};
	struct cell whole, c, total = {0};
	char text[CELL_STATE_BYTES];

	cell_make(EVENT_COUNT, &a, &b, &whole);
	assert_false(cell_is_partial(&whole));
	b.base = 3;
	cell_make(EVENT_COUNT, &a, &b, &c);
	assert_true(cell_is_partial(&c) && c.count == 4 && c.base == 0);
	assert_string_equal(cell_state_text(&c, text), "partial");
	cell_total(EVENT_COUNT, &total, &c);
	cell_total(EVENT_COUNT, &total, &whole);
	assert_true(cell_is_partial(&total));
	assert_string_equal(cell_state_text(&total, text), "partial");
	assert_true(cell_is_shorter(&c, &whole) && !cell_is_shorter(&whole, &c));
	assert_false(cell_is_shorter(&c, &total));
	total.nr_without = 3;
	assert_true(cell_is_shorter(&total, &c));
	assert_string_equal(cell_state_text(&total, text), "partial: 2 of 5");
}

static struct cell counted(uint64_t count)
{
	return (struct cell){
	    .state = CELL_OK, .count = count, .raw = count, .value = (double)count};
}

TEST(totals)
{
	struct cell a = counted(MAX - 1), one = counted(1), none = {0}, total = {0};
	struct cell away = {.state = CELL_OFFLINE, .count = 5, .raw = 5};
	struct cell refused = {.state = CELL_NO_PERMISSION};

	cell_total(EVENT_COUNT, &total, &none);
	assert_int_equal(total.state, CELL_NONE);
	cell_total(EVENT_COUNT, &total, &refused);
	assert_int_equal(total.state, CELL_NO_PERMISSION);
	cell_total(EVENT_COUNT, &total, &a);
	assert_int_equal(total.state, CELL_OK);
	assert_true(cell_is_partial(&total));
	cell_total(EVENT_COUNT, &total, &one);
	assert_true(total.count == MAX);
	cell_total(EVENT_COUNT, &total, &one);
	assert_int_equal(total.state, CELL_FAILED);
	cell_total(EVENT_COUNT, &total, &away);
	assert_int_equal(total.state, CELL_FAILED); /* and stays so */

	total = (struct cell){0};
	cell_total(EVENT_COUNT, &total, &one);
	assert_false(cell_is_partial(&total));
	cell_total(EVENT_COUNT, &total, &away);
	assert_int_equal(total.state, CELL_OFFLINE);
	assert_int_equal(total.count, 6);
	assert_true(cell_is_partial(&total));
}

/* The rate of a sum is that of the longest span in it, in whatever order the cells come. */
TEST(total_spans)
{
	static const uint64_t spans[][3] = {{500, 700, 300}, {700, 500, 300}, {300, 500, 700}};

	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		struct cell total = {0};

		for (int k = 0; k < 3; k++) {
			struct cell c = counted(7);

			c.span_ns = spans[i][k];
			cell_total(EVENT_COUNT, &total, &c);
		}
		assert_int_equal(total.span_ns, 700);
		assert_true(cell_rate(&total) == 21 * 1e9 / 700);
	}
}

TEST(totals_of_shares_and_values)
{
	struct cell a = {.state = CELL_OK, .raw = 10, .base = 100, .value = 10};
	struct cell b = {.state = CELL_OK, .raw = 90, .base = 300, .value = 30};
	struct cell v = counted(4), total = {0};

	cell_total(EVENT_SHARE, &total, &a);
	cell_total(EVENT_SHARE, &total, &b);
	assert_true(total.value == 25); /* not 20, the mean of the two */

	total = (struct cell){0};
	cell_total(EVENT_VALUE, &total, &v);
	assert_int_equal(total.count, 4);
	cell_total(EVENT_VALUE, &total, &v);
	assert_int_equal(total.state, CELL_NONE);
	cell_total(EVENT_VALUE, &total, &v);
	assert_int_equal(total.state, CELL_NONE);
}

TEST(spreads)
{
	struct spread s = {0}, far = {0};

	assert_true(spread_deviation(&s) == 0);
	spread_add(&s, 2);
	assert_true(s.mean == 2 && spread_deviation(&s) == 0 && spread_mean_half(&s) == 0);
	spread_add(&s, 4);
	spread_add(&s, 9);
	assert_true(fabs(s.mean - 5) < 1e-12);
	assert_true(fabs(spread_deviation(&s) - sqrt(13)) < 1e-12);
	/* Student's 4.3027 for two degrees of freedom */
	assert_true(fabs(spread_mean_half(&s) - 4.302652729911 * sqrt(13.0 / 3)) < 1e-9);
	/* sum of squares minus square of sums would find nothing left here */
	for (int i = 0; i < 4; i++)
		spread_add(&far, 1e15 + i % 2);
	assert_true(fabs(spread_deviation(&far) - sqrt(1.0 / 3)) < 1e-6);
}

TEST(names)
{
	assert_string_equal(cell_state_name(CELL_NONE), "");
	assert_string_equal(cell_state_name(CELL_NOT_COUNTED), "not counted");
	assert_string_equal(cell_state_name(CELL_NR_STATES), "unknown state");
	for (uint32_t s = READING_OK; s < READING_NR_STATES; s++)
		assert_string_equal(cell_state_name(cell_state_of_reading(s)),
				    reading_state_name(s));
}
