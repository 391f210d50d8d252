/*
 * The formulas are metrics like those of a spec, beside the events of the session, so that tables
 * make them. Operands of one formula count in the same modes. Knows names of events, and what they
 * mean on each vendor's CPUs no better than the kernel.
 */
#include "report/topdown.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "report/filter.h"
#include "report/tally.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OS = 1, USER = 2, GUEST = 1024, HOST = 2048, MODES = OS | USER | GUEST | HOST };
enum { MAX_BYTES = 1 << 20 };

static const struct report_topdown_row rows[] = {
    {"ipc", "{instructions} / {cycles}", "", "instructions per cycle", "basic-cpu", "0.7",
     "the CPUs mostly wait: see the misses", NULL, NULL},
    {"frequency_ratio", "{cycles} / {reference_cycles}", "",
     "the clock, as part of the nominal one", "basic-cpu", "0.7",
     "the clock is lowered: power or heat", NULL, NULL},

    /* Where the slots of the pipeline went: Intel since Ice Lake, as the kernel names them. */
    {"retiring", "100 * {model:topdown-retiring} / {model:slots}", "%",
     "slots whose work was of use", NULL, NULL, NULL, NULL, NULL},
    {"bad_speculation", "100 * {model:topdown-bad-spec} / {model:slots}", "%",
     "slots lost to wrong branches", NULL, NULL, NULL, "10", "look for mispredicted branches"},
    {"frontend_bound", "100 * {model:topdown-fe-bound} / {model:slots}", "%",
     "slots without an instruction", NULL, NULL, NULL, "20",
     "code does not come fast enough: caches and TLB of instructions"},
    {"backend_bound", "100 * {model:topdown-be-bound} / {model:slots}", "%",
     "slots that waited for data or a unit", NULL, NULL, NULL, "40",
     "look for misses of data, and for long chains of operations"},
    /* The same before Ice Lake. */
    {"retiring", "100 * {model:topdown-slots-retired} / {model:topdown-total-slots}", "%",
     "slots whose work was of use", NULL, NULL, NULL, NULL, NULL},
    {"bad_speculation",
     "100 * ({model:topdown-slots-issued} - {model:topdown-slots-retired} + "
     "{model:topdown-recovery-bubbles}) / {model:topdown-total-slots}",
     "%", "slots lost to wrong branches", NULL, NULL, NULL, "10", "look for mispredicted branches"},
    {"frontend_bound", "100 * {model:topdown-fetch-bubbles} / {model:topdown-total-slots}", "%",
     "slots without an instruction", NULL, NULL, NULL, "20",
     "code does not come fast enough: caches and TLB of instructions"},
    {"backend_bound",
     "100 - 100 * ({model:topdown-slots-issued} + {model:topdown-recovery-bubbles} + "
     "{model:topdown-fetch-bubbles}) / {model:topdown-total-slots}",
     "%", "slots that waited for data or a unit", NULL, NULL, NULL, "40",
     "look for misses of data, and for long chains of operations"},

    {"frontend_stalls", "100 * {arch:stalled_cycles_frontend} / {cycles}", "%",
     "cycles in which no instruction came", "frontend-backend", NULL, NULL, "25",
     "code does not come fast enough: caches and TLB of instructions"},
    {"backend_stalls", "100 * {arch:stalled_cycles_backend} / {cycles}", "%",
     "cycles that waited for data or a unit", "frontend-backend", NULL, NULL, "40",
     "look for misses of data, and for long chains of operations"},

    {"branches", "1000 * {branches} / {instructions}", "/1k", "branches per 1,000 instructions",
     "branches", NULL, NULL, NULL, NULL},
    {"mispredicted", "100 * {branch_misses} / {branches}", "%", "branches that were mispredicted",
     "branches", NULL, NULL, "5", "branches on data that is hard to foresee"},
    {"branch_misses", "1000 * {branch_misses} / {instructions}", "/1k",
     "mispredicted branches per 1,000 instructions", "branches", NULL, NULL, "10",
     "branches on data that is hard to foresee"},
    {"mispredicted_spec", "100 * {arch:br_mis_pred} / {arch:br_pred}", "%",
     "predictable branches that were mispredicted, also on wrong ways", NULL, NULL, NULL, "5",
     "branches on data that is hard to foresee"},

    {"l1d_miss_ratio", "100 * {arch:l1d_load_misses} / {arch:l1d_loads}", "%",
     "loads that missed the level 1 cache", "l1", NULL, NULL, "10",
     "data does not stay near: its order, or its size"},
    {"l1d_misses", "1000 * {arch:l1d_load_misses} / {instructions}", "/1k",
     "misses of the level 1 data cache per 1,000 instructions", "l1", NULL, NULL, "50",
     "data does not stay near: its order, or its size"},
    {"l1i_misses", "1000 * {arch:l1i_load_misses} / {instructions}", "/1k",
     "misses of the level 1 instruction cache per 1,000 instructions", "l1", NULL, NULL, "20",
     "much code in turn: its layout, its size"},
    {"l1d_refill_ratio", "100 * {arch:l1d_cache_refill} / {arch:l1d_cache}", "%",
     "accesses that missed the level 1 data cache", NULL, NULL, NULL, "10",
     "data does not stay near: its order, or its size"},
    {"l1i_refill_ratio", "100 * {arch:l1i_cache_refill} / {arch:l1i_cache}", "%",
     "accesses that missed the level 1 instruction cache", NULL, NULL, NULL, "5",
     "much code in turn: its layout, its size"},
    {"l2d_refill_ratio", "100 * {arch:l2d_cache_refill} / {arch:l2d_cache}", "%",
     "accesses that missed the level 2 cache", "l2-arm", NULL, NULL, "50",
     "data is larger than the level 2 cache"},
    {"llc_miss_ratio", "100 * {arch:llc_misses} / {arch:llc_references}", "%",
     "references that missed what the kernel maps as the last level cache", "basic-cpu", NULL, NULL,
     "50", "data is larger than the caches"},
    {"llc_misses", "1000 * {arch:llc_misses} / {instructions}", "/1k",
     "misses of what the kernel maps as the last level cache per 1,000 instructions", "basic-cpu",
     NULL, NULL, "10", "memory is waited for: see where, with cache-misses.cpspec"},
    {"llc_load_miss_ratio", "100 * {arch:llc_load_misses} / {arch:llc_loads}", "%",
     "loads that missed the last level cache", "l3", NULL, NULL, "50",
     "data is larger than the caches"},
    {"llc_load_misses", "1000 * {arch:llc_load_misses} / {instructions}", "/1k",
     "loads that missed the last level cache per 1,000 instructions", "l3", NULL, NULL, "5",
     "memory is waited for: see where, with cache-misses.cpspec"},

    {"dtlb_misses", "1000 * {arch:dtlb_load_misses} / {instructions}", "/1k",
     "misses of the data TLB per 1,000 instructions", "tlb", NULL, NULL, "5",
     "data is in many pages: larger ones may help"},
    {"itlb_misses", "1000 * {arch:itlb_load_misses} / {instructions}", "/1k",
     "misses of the instruction TLB per 1,000 instructions", "tlb", NULL, NULL, "1",
     "code is in many pages: larger ones may help"},
    {"l1d_tlb_refills", "1000 * {arch:l1d_tlb_refill} / {instructions}", "/1k",
     "refills of the level 1 data TLB per 1,000 instructions", NULL, NULL, NULL, "20",
     "data is in many pages: larger ones may help"},
    {"page_faults", "1000000 * {software:page_faults} / {instructions}", "/1M",
     "page faults per 1,000,000 instructions", "tlb", NULL, NULL, "100",
     "memory is given back and taken anew, or first used"},
};

/* What an operand may be called in a session, the first that is there. */
static const struct {
	const char *name, *events[5];
} operands[] = {
    {"instructions",
     {"fixed:instructions_retired", "arch:instructions_retired", "arch:inst_retired"}},
    {"cycles",
     {"fixed:unhalted_core_cycles", "arch:unhalted_core_cycles", "fixed:cycle_counter",
      "arch:cpu_cycles"}},
    {"reference_cycles", {"fixed:unhalted_reference_cycles", "arch:unhalted_reference_cycles"}},
    {"branches", {"arch:branch_instructions_retired", "arch:branches_retired"}},
    {"branch_misses", {"arch:branch_misses_retired"}},
};

static const struct {
	uint32_t modes;
	const char *part;
} parts[] = {{OS | USER, ""}, {USER, "user"}, {OS, "kernel"}};

enum { NR_ROWS = sizeof(rows) / sizeof(rows[0]), NR_PARTS = sizeof(parts) / sizeof(parts[0]) };

struct report_topdown {
	struct arena arena;
	const struct profile_facts *facts;
	size_t nr;
	struct metric metric[NR_ROWS * NR_PARTS];
	struct report_topdown_value value[NR_ROWS * NR_PARTS];
	uint64_t nr_partial[NR_ROWS * NR_PARTS]; /* iterations without a number of all CPUs */
	struct cell *sums;                       /* owned; of each event, over the iterations */
};

size_t report_topdown_nr_rows(void)
{
	return NR_ROWS;
}

const struct report_topdown_row *report_topdown_row(size_t i)
{
	return &rows[i];
}

size_t report_topdown_nr(const struct report_topdown *t)
{
	return t->nr;
}

const struct report_topdown_value *report_topdown_at(const struct report_topdown *t, size_t i)
{
	return &t->value[i];
}

/* --- which formulas -------------------------------------------------------------------------- */

static bool is_named(const struct trace_event *e, const char *name)
{
	size_t len = strlen(e->group);

	return strncmp(name, e->group, len) == 0 && name[len] == ':' &&
	       strcmp(name + len + 1, e->name) == 0;
}

/* Without either of os and user, both are counted. */
static uint32_t modes_of(const struct trace_event *e)
{
	uint32_t modes = e->flags & MODES;

	return modes & (OS | USER) ? modes : modes | OS | USER;
}

/* SIZE_MAX: it is not there. */
static size_t find_event(const struct profile_facts *f, const char *name, uint32_t modes)
{
	for (size_t i = 0; i < f->nr_events; i++)
		if (is_named(&f->events[i], name) && modes_of(&f->events[i]) == modes)
			return i;
	return SIZE_MAX;
}

static size_t find_operand(const struct profile_facts *f, const char *name, uint32_t modes)
{
	for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++) {
		size_t found = SIZE_MAX;

		if (strcmp(operands[i].name, name) != 0)
			continue;
		for (size_t k = 0; operands[i].events[k] && found == SIZE_MAX; k++)
			found = find_event(f, operands[i].events[k], modes);
		return found;
	}
	return find_event(f, name, modes);
}

static bool find_operands(const struct profile_facts *f, struct expr *x, uint32_t modes)
{
	for (size_t i = 0; i < x->nr_steps; i++) {
		if (x->steps[i].op != EXPR_OPERAND)
			continue;
		x->steps[i].operand = find_operand(f, x->steps[i].name, modes);
		if (x->steps[i].operand == SIZE_MAX)
			return false;
	}
	return true;
}

static struct metric_limit limit_of(const char *text)
{
	return (struct metric_limit){text, text ? strtod(text, NULL) : 0};
}

static int add_formula(struct report_topdown *t, const struct report_topdown_row *row, size_t part,
		       struct err *e)
{
	struct metric *m = &t->metric[t->nr];
	size_t offset;
	int rc;

	*m = (struct metric){.name = row->name,
			     .unit = row->unit,
			     .warn_below = limit_of(row->low),
			     .warn_above = limit_of(row->high)};
	rc = expr_parse(row->expr, &t->arena, &m->expr, &offset, e);
	if (rc || !find_operands(t->facts, &m->expr, parts[part].modes))
		return rc;
	t->value[t->nr++] =
	    (struct report_topdown_value){.row = row, .part = parts[part].part, .running = 1};
	return 0;
}

static int add_formulas(struct report_topdown *t, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < NR_ROWS && rc == 0; i++)
		for (size_t k = 0; k < NR_PARTS && rc == 0; k++)
			rc = add_formula(t, &rows[i], k, e);
	return rc;
}

/* --- their numbers --------------------------------------------------------------------------- */

static void add_total(struct report_topdown *t, size_t i, const struct table *table)
{
	struct report_topdown_value *v = &t->value[i];
	const struct cell *cell = &table->totals[table->nr_events + i];

	t->nr_partial[i] += !cell_has_value(cell) || cell->nr_without;
	if (!cell_has_value(cell)) {
		v->total.state = v->spread.nr ? v->total.state : cell->state;
		v->reason = table->columns[table->nr_events + i].reason;
		return;
	}
	v->total = *cell;
	v->running = fmin(v->running, cell_running_share(cell));
	if (!table->is_cut || !v->spread.nr)
		spread_add(&v->spread, cell->value);
}

static void end_iteration(struct report_topdown *t, struct table *table)
{
	if (!table->nr_rows)
		return;
	table_total(table);
	for (size_t i = 0; i < table->nr_events; i++)
		cell_total(table->columns[i].kind, &t->sums[i], &table->totals[i]);
	for (size_t i = 0; i < t->nr; i++)
		add_total(t, i, table);
	table->nr_rows = 0;
}

/* Of all iterations together. Where events lack parts of different times their sums do not belong
 * together: then it is the mean of those that have a number. */
static void end_value(struct report_topdown *t, size_t i)
{
	struct report_topdown_value *v = &t->value[i];
	struct cell all;

	if (!v->spread.nr)
		return;
	metric_make(&t->metric[i], t->sums, 0, &all);
	if (!t->nr_partial[i] && cell_has_value(&all))
		v->total = all;
	else
		v->total.value = v->spread.mean;
	v->total.limit = v->row->low && v->total.value < t->metric[i].warn_below.value ? CELL_LOW
			 : v->row->high && v->total.value > t->metric[i].warn_above.value
			     ? CELL_HIGH
			     : CELL_WITHIN;
	v->hint = v->total.limit == CELL_LOW    ? v->row->low_hint
		  : v->total.limit == CELL_HIGH ? v->row->high_hint
						: NULL;
}

static void add_trace(struct report_topdown *t, struct table *table,
		      const struct report_filter *filter, const struct profile_trace *trace)
{
	if (!report_ranges_has(&filter->iterations, trace->head.iteration))
		return;
	if (report_tally_is_next(table, trace))
		end_iteration(t, table);
	report_tally_add(table, trace);
	if (!report_ranges_has(&filter->cpus, trace->head.cpu))
		report_tally_leave_cpu(table, table->nr_rows - 1);
}

static int read_traces(struct report_topdown *t, struct profile_session *s,
		       const struct report_filter *filter, struct err *e)
{
	const struct metric_set set = {t->metric, t->nr};
	struct profile_trace trace;
	struct table *table;
	int rc = report_tally_new(t->facts, &set, &table, e);

	if (rc)
		return rc;
	profile_session_rewind(s);
	while ((rc = profile_session_next(s, &trace)) == 1)
		add_trace(t, table, filter, &trace);
	if (rc == 0)
		end_iteration(t, table);
	table_free(table);
	for (size_t i = 0; i < t->nr; i++)
		end_value(t, i);
	return rc;
}

int report_topdown_read(struct profile_session *s, const struct report_filter *filter,
			struct report_topdown **out, struct err *e)
{
	struct report_topdown *t = mem_zalloc(sizeof(*t));
	int rc = -ENOMEM;

	if (t) {
		arena_init(&t->arena, MAX_BYTES);
		t->facts = profile_session_facts(s);
		t->sums = mem_calloc(t->facts->nr_events + 1, sizeof(*t->sums));
		rc = t->sums ? add_formulas(t, e) : -ENOMEM;
	}
	if (rc == 0 && t->nr)
		rc = read_traces(t, s, filter, e);
	if (rc == 0)
		*out = t;
	else
		report_topdown_free(t);
	return rc == -ENOMEM && e && !e->code ? err_set(e, rc, "out of memory") : rc;
}

void report_topdown_free(struct report_topdown *t)
{
	if (!t)
		return;
	mem_free(t->sums);
	arena_fini(&t->arena);
	mem_free(t);
}
