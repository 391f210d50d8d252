/* Rows of an answer: totals without empty fields, and each reason once. */
#include "kit.h"

#include "base/buf.h"
#include "base/cause.h"
#include "screen/format.h"

#include <string.h>

enum { NR_EVENTS = 4 };

static struct table_column columns[NR_EVENTS] = {
    {.group = "fixed", .name = "cycles", .unit = "cycles", .reason = "no PMU"},
    {.group = "software", .name = "faults", .unit = "faults", .kind = EVENT_COUNT},
    {.group = "fixed", .name = "instructions", .unit = "instructions", .reason = "no PMU"},
    {.group = "misc", .name = "power", .unit = "W", .reason = "no sensor"},
};
static struct column_summary sums[NR_EVENTS];
static struct table t = {.columns = columns, .nr_columns = NR_EVENTS, .nr_events = NR_EVENTS};
static struct table_summary sum = {.nr_columns = NR_EVENTS, .column = sums, .nr_iterations = 3};

HOOK(before_each)
{
	static const double values[] = {10, 20, 30};

	memset(sums, 0, sizeof(sums));
	for (size_t i = 0; i < NR(values); i++)
		spread_add(&sums[1].spread, values[i]);
	sums[1].sum = 60;
	sums[1].min_running = 1;
}

static void require_totals(const char *expected)
{
	BUF_AUTO(out, 4096);

	screen_ndjson_totals(&t, &sum, &out);
	assert_string_equal(buf_str(&out), expected);
}

TEST(totals)
{
	sum.cause = CAUSE_TIME;
	require_totals("{\"group\":\"software\",\"event\":\"faults\",\"unit\":\"faults\","
		       "\"total\":60,\"mean\":20.0000}\n");
	sums[1].min_running = 0.5;
	require_totals("{\"group\":\"software\",\"event\":\"faults\",\"unit\":\"faults\","
		       "\"total\":60,\"mean\":20.0000,\"min_running\":0.5000}\n");
}

/* Student's, of 3 values: 4.303 × 10 / √3. */
TEST(interval_of_runs)
{
	sum.cause = CAUSE_RUN;
	require_totals("{\"group\":\"software\",\"event\":\"faults\",\"unit\":\"faults\","
		       "\"total\":60,\"mean\":20.0000,\"mean_low\":-4.841377118,\"mean_high\":44."
		       "841377118}\n");
}

TEST(reasons)
{
	BUF_AUTO(out, 4096);

	screen_ndjson_absent(&t, &sum, &out);
	assert_string_equal(
	    buf_str(&out),
	    "{\"reason\":\"no PMU\",\"events\":[\"fixed:cycles\",\"fixed:instructions\"]}\n"
	    "{\"reason\":\"no sensor\",\"events\":[\"misc:power\"]}\n");
}
