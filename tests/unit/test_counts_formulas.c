/*
 * Which formulas a session's events make, and what their metrics are called.
 */
#include "kit.h"

#include "counts/formulas.h"
#include "trace/trace.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* An event as a trace describes it. */
#define EVENT(group_, name_, flags_, state_)                                                       \
	{                                                                                          \
		.group = group_, .name = name_, .flags = flags_, .state = state_                   \
	}

enum { OS = 1, USER = 2, HOST = 2048, MAX_BYTES = 4 << 20 };

static const struct metric *find(const struct metric_set *set, const char *name)
{
	for (size_t i = 0; i < set->nr; i++)
		if (strcmp(set->item[i].name, name) == 0)
			return &set->item[i];
	return NULL;
}

static struct metric_set join(struct arena *a, const struct metric_set *metrics,
			      const struct trace_event *events, size_t nr)
{
	struct metric_set out;
	struct err e = {0};

	assert_int_equal(counts_formulas_join(metrics, events, nr, a, &out, &e), 0);
	return out;
}

TEST(operands_are_places)
{
	static const struct trace_event events[] = {
	    EVENT("software", "page_faults", 0, READING_OK),
	    EVENT("fixed", "unhalted_core_cycles", 0, READING_OK),
	    EVENT("arch", "instructions_retired", 0, READING_OK),
	    EVENT("misc", "memory_bytes_read", 0, READING_OK),
	};
	const struct metric_set none = {NULL, 0};
	struct metric_set out;
	struct arena a;
	const struct metric *m;

	arena_init(&a, MAX_BYTES);
	out = join(&a, &none, events, NR(events));
	m = find(&out, "ipc");
	assert_non_null(m);
	for (size_t i = 0, operand = 2; i < m->expr.nr_steps; i++) {
		if (m->expr.steps[i].op != EXPR_OPERAND)
			continue;
		assert_int_equal(m->expr.steps[i].operand, operand);
		operand = 1;
	}
	assert_null(m->warn_below.text); /* what is usual is for the report */
	assert_non_null(find(&out, "page_faults/1M"));
	assert_string_equal(find(&out, "memory_read")->unit, "GB/s");
	assert_null(find(&out, "memory_bandwidth")); /* nothing says what was written */
	assert_null(find(&out, "frequency_ratio"));
	assert_int_equal(out.nr, 3);
	arena_fini(&a);
}

/* What is not measured, of other modes, or already there under the name, makes none. */
TEST(what_makes_none)
{
	static const struct {
		struct trace_event events[2];
		const char *ipc;
	} cases[] = {
	    {{EVENT("fixed", "instructions_retired", 0, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", 0, READING_OK)},
	     "ipc"},
	    {{EVENT("fixed", "instructions_retired", 0, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", 0, READING_NOT_SUPPORTED)},
	     NULL},
	    {{EVENT("fixed", "instructions_retired", 0, READING_NOT_SUPPORTED),
	      EVENT("fixed", "unhalted_core_cycles", 0, READING_OK)},
	     NULL},
	    {{EVENT("fixed", "instructions_retired", USER, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", USER, READING_OK)},
	     "ipc user"},
	    {{EVENT("fixed", "instructions_retired", OS, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", OS, READING_OK)},
	     "ipc kernel"},
	    {{EVENT("fixed", "instructions_retired", USER, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", OS, READING_OK)},
	     NULL},
	    {{EVENT("fixed", "instructions_retired", OS | USER, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", 0, READING_OK)},
	     "ipc"},
	    {{EVENT("fixed", "instructions_retired", HOST, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", 0, READING_OK)},
	     NULL},
	};
	const struct metric mine = {.name = "ipc", .warn_below = {"1", 1}};
	const struct metric_set none = {NULL, 0}, one = {&mine, 1};

	for (size_t i = 0; i < NR(cases); i++) {
		struct metric_set out;
		struct arena a;

		arena_init(&a, MAX_BYTES);
		out = join(&a, &none, cases[i].events, 2);
		assert_int_equal(out.nr, cases[i].ipc != NULL);
		if (cases[i].ipc)
			assert_string_equal(out.item[0].name, cases[i].ipc);
		out = join(&a, &one, cases[i].events, 2);
		assert_string_equal(out.item[0].name, "ipc");
		assert_string_equal(out.item[0].warn_below.text, "1"); /* the spec's own */
		assert_int_equal(out.nr, 1 + (cases[i].ipc && strcmp(cases[i].ipc, "ipc") != 0));
		arena_fini(&a);
	}
}

/* An event and its count over 2 s. The first event of an operand in the formulas' table is used,
 * wherever it is in the session. */
static const struct {
	const char *group, *name;
	double count;
} counted[] = {
    {"arch", "inst_retired", 1},
    {"arch", "cpu_cycles", 1},
    {"fixed", "instructions_retired", 10000},
    {"fixed", "unhalted_core_cycles", 8000},
    {"fixed", "unhalted_reference_cycles", 16000},
    {"model", "slots", 40000},
    {"model", "topdown-retiring", 16000},
    {"model", "topdown-bad-spec", 4000},
    {"model", "topdown-fe-bound", 8000},
    {"model", "topdown-be-bound", 12000},
    {"model", "topdown-total-slots", 32000},
    {"model", "topdown-slots-issued", 17000},
    {"model", "topdown-slots-retired", 15000},
    {"model", "topdown-recovery-bubbles", 1200},
    {"model", "topdown-fetch-bubbles", 6000},
    {"arch", "stalled_cycles_frontend", 1000},
    {"arch", "stalled_cycles_backend", 2000},
    {"arch", "branch_instructions_retired", 2000},
    {"arch", "branch_misses_retired", 50},
    {"arch", "br_mis_pred", 30},
    {"arch", "br_pred", 1500},
    {"arch", "l1d_load_misses", 120},
    {"arch", "l1d_loads", 3000},
    {"arch", "l1i_load_misses", 70},
    {"arch", "l1d_cache_refill", 250},
    {"arch", "l1d_cache", 5000},
    {"arch", "l1i_cache_refill", 40},
    {"arch", "l1i_cache", 4000},
    {"arch", "l2d_cache_refill", 90},
    {"arch", "l2d_cache", 600},
    {"arch", "llc_misses", 20},
    {"arch", "llc_references", 80},
    {"arch", "llc_load_misses", 15},
    {"arch", "llc_loads", 75},
    {"arch", "dtlb_load_misses", 8},
    {"arch", "itlb_load_misses", 3},
    {"arch", "l1d_tlb_refill", 110},
    {"software", "page_faults", 5},
    {"misc", "memory_bytes_read", 3e9},
    {"misc", "memory_bytes_written", 1e9},
};

/* By hand. The slots of each kind of CPU add up to 100 %. */
static const char values[] = "ipc = 1.25 \n"
			     "frequency_ratio = 0.5 \n"
			     "retiring = 40 %\n"
			     "bad_speculation = 10 %\n"
			     "frontend_bound = 20 %\n"
			     "backend_bound = 30 %\n"
			     "retiring = 46.875 %\n"
			     "bad_speculation = 10 %\n"
			     "frontend_bound = 18.75 %\n"
			     "backend_bound = 24.375 %\n"
			     "frontend_stalls = 12.5 %\n"
			     "backend_stalls = 25 %\n"
			     "branches/1k = 200 /1k\n"
			     "mispredicted = 2.5 %\n"
			     "branch_misses/1k = 5 /1k\n"
			     "mispredicted_spec = 2 %\n"
			     "l1d_miss_ratio = 4 %\n"
			     "l1d_misses/1k = 12 /1k\n"
			     "l1i_misses/1k = 7 /1k\n"
			     "l1d_refill_ratio = 5 %\n"
			     "l1i_refill_ratio = 1 %\n"
			     "l2d_refill_ratio = 15 %\n"
			     "llc_miss_ratio = 25 %\n"
			     "llc_misses/1k = 2 /1k\n"
			     "llc_load_miss_ratio = 20 %\n"
			     "llc_load_misses/1k = 1.5 /1k\n"
			     "dtlb_misses/1k = 0.8 /1k\n"
			     "itlb_misses/1k = 0.3 /1k\n"
			     "l1d_tlb_refills/1k = 11 /1k\n"
			     "page_faults/1M = 500 /1M\n"
			     "memory_read = 1.5 GB/s\n"
			     "memory_written = 0.5 GB/s\n"
			     "memory_bandwidth = 2 GB/s\n";

TEST(values_of_all)
{
	struct trace_event events[NR(counted)];
	struct cell cells[NR(counted)];
	struct counts_formulas *f;
	struct err e = {0};
	struct arena a;
	struct buf b;

	for (size_t i = 0; i < NR(counted); i++) {
		events[i] =
		    (struct trace_event)EVENT(counted[i].group, counted[i].name, 0, READING_OK);
		cells[i] = (struct cell){
		    .state = CELL_OK, .value = counted[i].count, .span_ns = 2000000000};
	}
	arena_init(&a, MAX_BYTES);
	buf_init(&b, MAX_BYTES);
	f = arena_alloc(&a, sizeof(*f));
	assert_int_equal(counts_formulas_make(events, NR(events), true, &a, f, &e), 0);
	assert_int_equal(f->nr, counts_formula_nr_rows());
	for (size_t i = 0; i < f->nr; i++) {
		struct cell out;

		metric_make(&f->metric[i], cells, 0, &out);
		assert_int_equal(out.state, CELL_OK);
		buf_printf(&b, "%s = %.6g %s\n", f->metric[i].name, out.value, f->metric[i].unit);
	}
	assert_string_equal(buf_str(&b), values);
	buf_fini(&b);
	arena_fini(&a);
}

/* The report sums over iterations: formulas by time are not for it. */
TEST(by_time)
{
	static const struct trace_event events[] = {
	    EVENT("misc", "memory_bytes_read", 0, READING_OK),
	    EVENT("misc", "memory_bytes_written", 0, READING_OK)};
	struct counts_formulas *f;
	struct err e = {0};
	struct arena a;

	arena_init(&a, MAX_BYTES);
	f = arena_alloc(&a, sizeof(*f));
	assert_int_equal(counts_formulas_make(events, 2, false, &a, f, &e), 0);
	assert_int_equal(f->nr, 0);
	assert_int_equal(counts_formulas_make(events, 2, true, &a, f, &e), 0);
	assert_int_equal(f->nr, 3);
	arena_fini(&a);
}

TEST(no_memory)
{
	static const struct trace_event events[] = {
	    EVENT("software", "page_faults", 0, READING_OK)};
	const struct metric_set none = {NULL, 0};
	int rc = -ENOMEM;

	for (unsigned n = 1; rc; n++) {
		struct metric_set out;
		struct err e = {0};
		struct arena a;

		arena_init(&a, MAX_BYTES);
		inject_mem(n);
		rc = counts_formulas_join(&none, events, 1, &a, &out, &e);
		arena_fini(&a);
		assert_int_equal(inject.nr_live, 0);
		inject_stop();
		assert_true(rc == 0 || rc == -ENOMEM);
	}
}
