/*
 * From traces to tables: what a row takes from its trace, and what the iteration takes from any.
 */
#include "kit.h"

#include "base/array.h"
#include "counts/tally.h"

static const struct trace_event events[] = {
    {.kind = EVENT_COUNT, .group = "g", .name = "n", .label = ""}};
static const struct metric_set none;
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

	assert_int_equal(counts_tally_add(t, &p), 1);
	assert_int_equal(table_cell(t, t->nr_rows - 1, 0)->count, 20);
	assert_int_equal(t->row_trace[t->nr_rows - 1], trace);
	assert_int_equal(t->row_cpu[t->nr_rows - 1], 5);
}

/* An iteration was cut if any of its traces says so: the end of the first can be lost. */
TEST(any_trace_says_cut)
{
	static const bool is_cut[][2] = {
	    {false, false}, {true, true}, {false, true}, {true, false}, {false, false}};
	struct profile_trace next = {0};
	struct table *t = NULL;

	assert_int_equal(counts_tally_new(&facts, &none, &t, NULL), 0);
	for (uint32_t i = 0; i < sizeof(is_cut) / sizeof(is_cut[0]); i++) {
		t->nr_rows = 0;
		add(t, i, 0, 200, is_cut[i][0]);
		add(t, i, 1, 300, is_cut[i][1]);
		assert_int_equal(t->iteration, i);
		assert_int_equal(t->end_ns, 200);
		assert_int_equal(t->is_cut, is_cut[i][0] || is_cut[i][1]);
		next.head.iteration = i;
		assert_false(counts_tally_is_next(t, &next));
		next.head.iteration = i + 1;
		assert_true(counts_tally_is_next(t, &next));
	}
	table_free(t);
}

/* The parts of an event (boxes of memory): each is scaled by its own times, then they add up; one
 * that never ran, or failed, leaves no number. */
TEST(parts_of_an_event)
{
	static const struct {
		uint64_t raw[3], enabled[3], running[3];
		enum cell_state state;
		uint64_t count;
	} rows[] = {
	    {{1000, 1000, 0}, {100, 100, 100}, {100, 25, 100}, CELL_OK, 5000},
	    {{1000, 1000, 500}, {100, 100, 100}, {100, 100, 100}, CELL_OK, 2500},
	    {{1000, 0, 1000}, {100, 100, 100}, {100, 0, 100}, CELL_NOT_COUNTED, 0},
	    {{1000, 1000, 0}, {100, 100, 100}, {100, 100, 0}, CELL_NOT_COUNTED, 0},
	};
	static struct profile_pair further[PROFILE_MAX_PARTS - 1];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct profile_pair pairs[3] = {0};
		struct profile_trace p = {.events = events, .pairs = pairs, .further = further};
		struct table *t = NULL;

		for (size_t k = 0; k < 3; k++)
			pairs[k] = (struct profile_pair){.has_start = true,
							 .has_end = true,
							 .start = {.state = READING_OK},
							 .end = {.state = READING_OK,
								 .raw = rows[i].raw[k],
								 .enabled_ns = rows[i].enabled[k],
								 .running_ns = rows[i].running[k]}};
		further[0] = pairs[1];
		further[PROFILE_MAX_PARTS - 2] = pairs[2];
		assert_int_equal(counts_tally_new(&facts, &none, &t, NULL), 0);
		counts_tally_add(t, &p);
		assert_int_equal(table_cell(t, 0, 0)->state, rows[i].state);
		assert_int_equal(table_cell(t, 0, 0)->count, rows[i].count);
		table_free(t);
	}
}

/* A trace can hold a part without the one of number 0. */
TEST(part_without_the_first)
{
	static struct profile_pair further[PROFILE_MAX_PARTS - 1];
	const struct profile_pair blank = {0};
	struct profile_trace p = {.events = events, .pairs = &blank, .further = further};
	struct table *t = NULL;

	further[8] = (struct profile_pair){.has_start = true,
					   .has_end = true,
					   .start = {.state = READING_OK, .raw = 10},
					   .end = {.state = READING_OFFLINE, .raw = 30}};
	assert_int_equal(counts_tally_new(&facts, &none, &t, NULL), 0);
	assert_int_equal(counts_tally_add(t, &p), 1);
	assert_int_equal(table_cell(t, 0, 0)->state, CELL_OFFLINE);
	assert_int_equal(table_cell(t, 0, 0)->count, 20);
	table_free(t);
}

static const struct trace_event sampled_events[] = {
    {.kind = EVENT_COUNT, .group = "g", .name = "n", .label = ""},
    {.kind = EVENT_COUNT,
     .group = "software",
     .name = "cpu_clock",
     .label = "",
     .rate = 1000,
     .flags = 1024},
    {.kind = EVENT_COUNT, .group = "arch", .name = "a", .label = "", .frequency = 4000},
};

static struct profile_pair pair_of(uint64_t raw)
{
	return (struct profile_pair){
	    .has_start = true,
	    .has_end = true,
	    .start = {.state = READING_OK},
	    .end = {.state = READING_OK, .raw = raw, .enabled_ns = 1, .running_ns = 1}};
}

/* What the trace says of samples: of parts that add up, of events that are not sampled, or not
 * there. A trace that says nothing leaves nothing of the row before. */
TEST(samples_of_a_trace)
{
	const struct profile_facts f = {.events = sampled_events, .nr_events = 3, .max_rows = 2};
	const struct profile_pair pairs[] = {pair_of(7), pair_of(5000), pair_of(999)};
	const struct trace_sampled items[] = {
	    {.event = 1, .samples = 3, .idle = 1, .weight = 3000, .lost = 2, .throttled = 4},
	    {.event = 2, .samples = 1, .weight = 600, .lost = UINT64_MAX},
	    {.event = 2, .instance = 1, .samples = 2, .weight = 300, .lost = 1},
	    {.event = 0, .samples = 9},
	    {.event = 3, .samples = 9},
	    {.event = UINT32_MAX, .samples = 9}};
	const struct trace_sampling sampling = {.ring_bytes = 8,
						.max_rate_start = 100,
						.max_rate_end = 50,
						.idle_ns = 77,
						.lost = 6,
						.ticks = 10,
						.ticks_missed = 1,
						.item = items,
						.nr = sizeof(items) / sizeof(items[0])};
	struct profile_trace p = {.events = sampled_events, .pairs = pairs, .sampling = &sampling};
	struct table *t = NULL;

	assert_int_equal(counts_tally_new(&f, &none, &t, NULL), 0);
	assert_int_equal(t->columns[1].sampling.period, 1000);
	assert_true(t->columns[1].sampling.is_clock && t->columns[1].sampling.is_partial);
	assert_int_equal(t->columns[2].sampling.frequency, 4000);
	assert_int_equal(counts_tally_add(t, &p), 3);
	assert_int_equal(table_sampled(t, 0, 0)->claim, SAMPLED_NONE);
	assert_int_equal(table_sampled(t, 0, 1)->claim, SAMPLED_PARTIAL);
	assert_int_equal(table_sampled(t, 0, 1)->n.samples, 3);
	assert_int_equal(table_sampled(t, 0, 1)->n.idle, 1);
	assert_int_equal(table_sampled(t, 0, 1)->n.lost, 2);
	assert_int_equal(table_sampled(t, 0, 1)->n.throttled, 4);
	assert_int_equal(table_sampled(t, 0, 1)->residual, 2000);
	assert_int_equal(table_sampled(t, 0, 2)->n.samples, 3);
	assert_int_equal(table_sampled(t, 0, 2)->residual, 99);
	assert_true(table_sampled(t, 0, 2)->n.lost == SAMPLED_UNKNOWN);
	assert_int_equal(t->row_sampling[0].ring_bytes, 8);
	assert_int_equal(t->row_sampling[0].max_rate_start, 100);
	assert_int_equal(t->row_sampling[0].max_rate_end, 50);
	assert_int_equal(t->row_sampling[0].idle_ns, 77);
	assert_int_equal(t->row_sampling[0].lost, 6);
	assert_int_equal(t->row_sampling[0].ticks, 10);
	assert_int_equal(t->row_sampling[0].ticks_missed, 1);
	p.sampling = NULL;
	t->nr_rows = 0;
	counts_tally_add(t, &p);
	assert_int_equal(table_sampled(t, 0, 1)->claim, SAMPLED_NONE);
	assert_int_equal(table_lost(t), 0);
	assert_true(t->row_sampling[0].idle_ns == UINT64_MAX); /* unknown */
	table_free(t);
}

/* By the rates of the trace, which are not always those of the events. */
TEST(samples_at_divided_rates)
{
	static const struct trace_event divided[] = {{.group = "software",
						      .name = "page_faults",
						      .label = "",
						      .unit = "",
						      .rate = 10,
						      .kind = EVENT_COUNT},
						     {.group = "software",
						      .name = "cpu_clock",
						      .label = "",
						      .unit = "",
						      .frequency = 800,
						      .kind = EVENT_COUNT}};
	static const struct trace_sampled items[] = {{.event = 0, .samples = 1, .weight = 40}};
	static const struct {
		uint32_t divisor;
		uint64_t period, frequency, expected;
	} cases[] = {{0, 10, 800, 90}, {1, 10, 800, 90}, {4, 40, 200, 80}, {8, 80, 100, 80}};
	const struct profile_facts f = {.events = divided, .nr_events = 2, .max_rows = 1};
	const struct profile_pair pairs[] = {pair_of(97), pair_of(1)};

	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		const struct trace_sampling sampling = {
		    .item = items, .nr = 1, .divisor = cases[i].divisor};
		struct profile_trace p = {.events = divided, .pairs = pairs, .sampling = &sampling};
		struct sampled_event clock;
		struct table *t = NULL;

		assert_int_equal(counts_tally_new(&f, &none, &t, NULL), 0);
		counts_tally_add(t, &p);
		clock = table_sampling(t, 0, 1);
		assert_int_equal(table_sampling(t, 0, 0).period, cases[i].period);
		assert_int_equal(clock.frequency, cases[i].frequency);
		assert_int_equal(table_sampled(t, 0, 0)->expected, cases[i].expected);
		assert_int_equal(t->columns[0].sampling.period, 10); /* of the session */
		table_free(t);
	}
}

/* Of a CPU that is not selected, only the machine's numbers remain. */
TEST(clear_a_cpu)
{
	struct trace_event two[] = {sampled_events[1], sampled_events[0]};
	const struct profile_facts f = {.events = two, .nr_events = 2, .max_rows = 2};
	const struct profile_pair pairs[] = {pair_of(5000), pair_of(7)};
	const struct trace_sampled items[] = {{.event = 0, .samples = 3, .weight = 3000}};
	const struct trace_sampling sampling = {.lost = 6, .item = items, .nr = 1};
	struct profile_trace p = {.events = two, .pairs = pairs, .sampling = &sampling};
	struct table *t = NULL;

	two[0].scope = EVENT_SCOPE_CPU;
	two[1].scope = EVENT_SCOPE_SYSTEM;
	assert_int_equal(counts_tally_new(&f, &none, &t, NULL), 0);
	assert_int_equal(counts_tally_add(t, &p), 2);
	assert_int_equal(table_lost(t), 6);
	counts_tally_clear_cpu(t, 0);
	assert_int_equal(table_cell(t, 0, 0)->state, CELL_NONE);
	assert_int_equal(table_cell(t, 0, 1)->count, 7);
	assert_int_equal(table_sampled(t, 0, 0)->n.samples, 0);
	assert_int_equal(table_lost(t), 0);
	table_free(t);
}

/* Metrics are behind the events, and none of the numbers of a trace: they are made of the rows. */
TEST(metrics_of_traces)
{
	struct expr_step steps[] = {{.op = EXPR_OPERAND, .name = "n", .operand = 0},
				    {.op = EXPR_OPERAND, .name = "a", .operand = 2},
				    {.op = EXPR_DIVIDE}};
	const struct metric metric = {.name = "m", .unit = "", .expr = {steps, 3}};
	const struct metric_set metrics = {&metric, 1};
	const struct profile_facts f = {.events = sampled_events, .nr_events = 3, .max_rows = 2};
	const struct profile_pair pairs[] = {pair_of(6), pair_of(5000), pair_of(8)};
	const struct trace_sampled items[] = {{.event = 3, .samples = 9}};
	const struct trace_sampling sampling = {.item = items, .nr = 1};
	struct profile_trace p = {.events = sampled_events, .pairs = pairs, .sampling = &sampling};
	struct table *t = NULL;

	assert_int_equal(counts_tally_new(&f, &metrics, &t, NULL), 0);
	assert_int_equal(t->nr_columns, 4);
	assert_int_equal(t->nr_events, 3);
	assert_int_equal(counts_tally_add(t, &p), 3);
	assert_int_equal(counts_tally_add(t, &p), 3);
	table_total(t);
	assert_true(table_cell(t, 0, 3)->value == 0.75);
	assert_true(table_cell(t, 1, 3)->value == 0.75);
	assert_true(t->totals[3].value == 0.75);
	assert_int_equal(table_sampled(t, 0, 3)->n.samples, 0);
	t->nr_rows = 0; /* the next iteration has one trace, without the second event */
	p.pairs = (const struct profile_pair[]){pair_of(6), pair_of(5000), {0}};
	assert_int_equal(counts_tally_add(t, &p), 2);
	table_total(t);
	assert_int_equal(table_cell(t, 0, 3)->state, CELL_NA);
	assert_int_equal(t->totals[3].state, CELL_NA);
	table_free(t);
}

static const struct trace_event thing_events[] = {
    {.kind = EVENT_COUNT,
     .group = "misc",
     .scope = EVENT_SCOPE_THINGS,
     .name = "disk_read_bytes",
     .label = ""},
    {.kind = EVENT_COUNT,
     .group = "misc",
     .scope = EVENT_SCOPE_SYSTEM,
     .name = "forks",
     .label = ""},
    {.kind = EVENT_VALUE,
     .scope = EVENT_SCOPE_THINGS,
     .group = "misc",
     .name = "process_rss",
     .label = "",
     .state = READING_NO_PERMISSION},
};

static struct profile_thing thing_of(uint32_t event, uint32_t number, const char *name,
				     bool has_start, bool has_end)
{
	return (struct profile_thing){.event = event,
				      .number = number,
				      .name = name,
				      .pair = {.has_start = has_start,
					       .has_end = has_end,
					       .start = {.state = READING_OK, .raw = 10},
					       .end = {.state = READING_OK, .raw = 40}}};
}

/* Things are of the first row, of their iteration alone; who came counts from 0, who went does not;
 * of the last event there is none, and it says why. */
TEST(things_of_a_trace)
{
	const struct profile_facts f = {.events = thing_events, .nr_events = 3, .max_rows = 2};
	const struct profile_thing things[] = {
	    thing_of(0, 0, "sda", true, true), thing_of(0, 1, "came", false, true),
	    thing_of(0, 2, "went", true, false), thing_of(2, 0, "1 init", true, false)};
	struct profile_pair pairs[3] = {0};
	struct profile_trace p = {
	    .events = thing_events, .pairs = pairs, .things = things, .nr_things = 4};
	struct table *t = NULL;

	pairs[1] = pair_of(8);
	assert_int_equal(counts_tally_new(&f, &none, &t, NULL), 0);
	assert_int_equal(counts_tally_add(t, &p), 1);
	p.head.trace = 1;
	assert_int_equal(counts_tally_add(t, &p), 1);
	assert_int_equal(t->nr_things, 2);
	assert_string_equal(t->things[0].name, "sda");
	assert_string_equal(t->things[1].name, "came");
	assert_int_equal(t->things[1].number, 1);
	assert_int_equal(table_cell(t, 0, 0)->count, 30 + 40);
	assert_int_equal(table_cell(t, 1, 0)->state, CELL_NONE);
	assert_int_equal(table_cell(t, 0, 2)->state, CELL_NO_PERMISSION);
	assert_int_equal(table_cell(t, 1, 2)->state, CELL_NONE);
	table_total(t);
	assert_int_equal(t->totals[0].count, 70);
	p.head.iteration = 1;
	p.nr_things = 1;
	t->nr_rows = 0;
	counts_tally_add(t, &p);
	assert_int_equal(t->nr_things, 1);
	assert_int_equal(table_cell(t, 0, 0)->count, 30);
	table_free(t);
}

TEST(too_much_for_a_table)
{
	struct profile_facts f = facts;
	struct table *t = NULL;

	f.max_rows = (4u << 20) + 1;
	assert_true(counts_tally_new(&f, &none, &t, NULL) < 0);
	assert_null(t);
	f.max_rows = 2u << 20; /* a column each for an event and a metric, and one more */
	assert_true(counts_tally_new(&f, &(struct metric_set){NULL, 2}, &t, NULL) < 0);
	assert_null(t);
}
