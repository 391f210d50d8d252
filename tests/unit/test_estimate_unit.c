/* What a number over time is shown as. */
#include "kit.h"

#include "estimate/unit.h"

static const struct {
	enum event_kind kind;
	const char *unit;
	struct cell cell;
	double number; /* negative: none */
	const char *shown, *per;
} cases[] = {
    {EVENT_COUNT,
     "ns",
     {.state = CELL_OK, .value = 346.5e6, .span_ns = 1000000000},
     34.65,
     "%",
     ""},
    {EVENT_COUNT, "ns", {.state = CELL_OK, .value = 4e6, .span_ns = 2000000}, 200, "%", ""},
    {EVENT_COUNT, "B", {.state = CELL_OK, .value = 512, .span_ns = 500000000}, 1024, "B", "/s"},
    {EVENT_COUNT, "", {.state = CELL_OFFLINE, .value = 3, .span_ns = 1000000000}, 3, "", "/s"},
    {EVENT_COUNT, "B", {.state = CELL_OK, .value = 512}, -1, "B", "/s"}, /* over no time */
    {EVENT_COUNT, "ns", {.state = CELL_NOT_COUNTED, .span_ns = 1}, -1, "%", ""},
    {EVENT_VALUE, "ns", {.state = CELL_OK, .value = 77}, 77, "ns", ""},
    {EVENT_VALUE, "tasks", {.state = CELL_NA}, -1, "tasks", ""},
    {EVENT_SHARE, "%", {.state = CELL_OK, .value = 12.5, .span_ns = 1000000000}, 12.5, "%", ""},
};

TEST(rates)
{
	for (size_t i = 0; i < NR(cases); i++) {
		struct unit u = unit_shown(cases[i].kind, cases[i].unit);
		double x = -1;

		assert_int_equal(unit_number(cases[i].kind, cases[i].unit, &cases[i].cell, &x),
				 cases[i].number >= 0);
		assert_float_equal(x, cases[i].number, 1e-9);
		assert_string_equal(u.name, cases[i].shown);
		assert_string_equal(u.per, cases[i].per);
	}
}
