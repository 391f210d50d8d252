/*
 * A synthetic session for the tests of the dashboard: counts of all sorts, a metric with a limit,
 * numbers of the machine, processes. All numbers follow from CPU and iteration.
 */
#ifndef TEST_DASHBOARD_H
#define TEST_DASHBOARD_H

#include "kit.h"

#include "base/arena.h"
#include "dashboard/model.h"

enum { EVENTS = 9, METRICS = 2, NS_PER_S = 1000000000, START_NS = 5000 };
enum { CYCLES, INSTRUCTIONS, CLOCK, MISSES, BUSY, MEMORY, SWITCHES, TIME_OF, RSS_OF };

static const struct table_column events[EVENTS] = {
    [CYCLES] = {"fixed", "unhalted_core_cycles", "cycles", "cycles", EVENT_COUNT, EVENT_SCOPE_CPU},
    [INSTRUCTIONS] = {"fixed", "instructions_retired", "instructions_retired", "instructions",
		      EVENT_COUNT, EVENT_SCOPE_CPU},
    [CLOCK] = {"software", "cpu_clock", "cpu_clock", "ns", EVENT_COUNT, EVENT_SCOPE_CPU},
    [MISSES] = {"arch", "llc_misses", "llc_misses", "", EVENT_COUNT, EVENT_SCOPE_CPU,
		.reason = "no PMU in this machine"},
    [BUSY] = {"misc", "cpu_utilization", "cpu_utilization", "%", EVENT_SHARE, EVENT_SCOPE_CPU},
    [MEMORY] = {"misc", "memory_available", "memory_available", "B", EVENT_VALUE,
		EVENT_SCOPE_SYSTEM},
    [SWITCHES] = {"misc", "context_switches", "context_switches", "switches", EVENT_COUNT,
		  EVENT_SCOPE_SYSTEM},
    [TIME_OF] = {"misc", "process_cpu_time", "process_cpu_time", "ns", EVENT_COUNT,
		 EVENT_SCOPE_THINGS},
    [RSS_OF] = {"misc", "process_rss", "process_rss", "B", EVENT_VALUE, EVENT_SCOPE_THINGS},
};

struct session_under_test {
	struct arena arena;
	struct metric metric[METRICS];
	struct model_cpu *cpus;
	struct model_facts facts;
	struct model m;
	struct table *t;
};

/* {cycles} and {instructions} of the text become places. */
static void make_metric(struct session_under_test *s, size_t i, const char *name, const char *unit,
			const char *text)
{
	struct metric *m = &s->metric[i];
	size_t offset;

	*m = (struct metric){.name = name, .unit = unit};
	assert_int_equal(expr_parse(text, &s->arena, &m->expr, &offset, NULL), 0);
	for (size_t k = 0; k < m->expr.nr_steps; k++)
		if (m->expr.steps[k].op == EXPR_OPERAND)
			m->expr.steps[k].operand =
			    strcmp(m->expr.steps[k].name, "cycles") == 0 ? CYCLES : INSTRUCTIONS;
}

/* Two packages, one NUMA node each; the upper half of the CPUs are of another type. */
static void make_cpus(struct session_under_test *s, size_t nr)
{
	s->cpus = arena_calloc(&s->arena, nr, sizeof(*s->cpus));
	for (uint32_t i = 0; i < nr; i++)
		s->cpus[i] = (struct model_cpu){.cpu = i,
						.package = (int32_t)(2 * i / nr),
						.node = (int32_t)(2 * i / nr),
						.type = 2 * i < nr ? "cpu_core" : "cpu_atom"};
}

static void begin_session(struct session_under_test *s, size_t nr_cpus)
{
	*s = (struct session_under_test){.t = NULL};
	arena_init(&s->arena, 16 << 20);
	make_metric(s, 0, "ipc", "", "{instructions} / {cycles}");
	make_metric(s, 1, "work", "GI/s", "{instructions} / duration / 1e9");
	s->metric[0].warn_below = (struct metric_limit){"0.69", 0.69};
	make_cpus(s, nr_cpus);
	s->facts = (struct model_facts){.name = "synthetic",
					.host = "testhost",
					.cpu_model = "Model 1 of none",
					.nr_iterations = 100,
					.duration_ns = NS_PER_S,
					.events = events,
					.nr_events = EVENTS,
					.metrics = {s->metric, METRICS},
					.cpus = s->cpus,
					.nr_cpus = nr_cpus};
	assert_int_equal(model_init(&s->m, &s->facts), 0);
	s->t = model_new_table(&s->m);
	assert_non_null(s->t);
}

static void end_session(struct session_under_test *s)
{
	table_free(s->t);
	model_fini(&s->m);
	arena_fini(&s->arena);
}

static struct cell counted(uint64_t n, double running)
{
	return (struct cell){.state = CELL_OK,
			     .is_perf = true,
			     .count = n,
			     .value = (double)n,
			     .raw = n,
			     .enabled_ns = NS_PER_S,
			     .running_ns = (uint64_t)(running * NS_PER_S),
			     .span_ns = NS_PER_S};
}

static struct cell value_of(uint64_t n)
{
	return (struct cell){.state = CELL_OK, .count = n, .value = (double)n, .raw = n};
}

/* Goes up and down with iterations and differs from CPU to CPU. */
static uint64_t wave(uint32_t cpu, uint32_t iteration)
{
	return 1000 + 100 * (uint64_t)(cpu % 10) + 50 * (uint64_t)(iteration * iteration % 7);
}

static void fill_row(struct table *t, size_t row, uint32_t iteration)
{
	uint32_t cpu = t->row_cpu[row];
	uint64_t n = wave(cpu, iteration);

	*table_cell(t, row, CYCLES) = counted(2000000 * n, 1);
	*table_cell(t, row, INSTRUCTIONS) = counted(1000000 * n + 500000000, 0.62);
	*table_cell(t, row, CLOCK) = counted(NS_PER_S / 4 * (cpu % 4 + 1), 1);
	*table_cell(t, row, MISSES) = (struct cell){.state = CELL_NOT_SUPPORTED};
	*table_cell(t, row, BUSY) = (struct cell){.state = CELL_OK,
						  .is_real = true,
						  .value = (double)(n % 1000) / 10,
						  .raw = n % 1000,
						  .base = 1000,
						  .span_ns = NS_PER_S};
}

static void add_process(struct table *t, uint32_t number, const char *name, uint64_t ns)
{
	const struct reading start = {.state = READING_OK, .time_ns = t->start_ns};
	struct reading end = {.state = READING_OK, .time_ns = t->end_ns, .raw = ns};

	assert_int_equal(table_add_thing(t, TIME_OF, number, name, &start, &end), 0);
	end.raw = 1000000 * (uint64_t)number;
	assert_int_equal(table_add_thing(t, RSS_OF, number, name, &start, &end), 0);
}

static void fill(struct table *t, uint32_t iteration)
{
	t->iteration = iteration;
	t->start_ns = START_NS + (uint64_t)iteration * NS_PER_S;
	t->end_ns = t->start_ns + NS_PER_S;
	t->realtime_ns = (uint64_t)NS_PER_S * (1700000000 + (uint64_t)iteration);
	t->is_cut = false;
	table_drop_things(t);
	for (uint32_t row = 0; row < t->nr_rows; row++) {
		t->row_trace[row] = t->row_cpu[row] = row;
		fill_row(t, row, iteration);
	}
	*table_cell(t, 0, MEMORY) = value_of(24000000000 + 100000000 * (uint64_t)(iteration % 5));
	*table_cell(t, 0, SWITCHES) = counted(12000 + 700 * (uint64_t)(iteration % 4), 1);
	table_cell(t, 0, TIME_OF)->state = table_cell(t, 0, RSS_OF)->state = CELL_NONE;
	add_process(t, 17, "17 postgres", NS_PER_S / 2);
	add_process(t, 230, "230 \033[31mred 世界", NS_PER_S / 4 + iteration);
}

static void add_iterations(struct session_under_test *s, uint32_t from, uint32_t nr)
{
	for (uint32_t i = from; i < from + nr; i++) {
		s->t->nr_rows = s->facts.nr_cpus;
		fill(s->t, i);
		model_add(&s->m, &s->t);
	}
}

static enum model_action press(struct session_under_test *s, int code)
{
	return model_key(&s->m, &(struct key){.code = code});
}

#endif
