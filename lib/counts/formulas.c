/*
 * The table of formulas, and the selection of those whose events a session measures. The operands
 * of one formula count in the same modes. The meaning of an event differs by vendor, as in the
 * kernel.
 */
#include "counts/formulas.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/err.h"
#include "profile/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OS = 1, USER = 2, GUEST = 1024, HOST = 2048, MODES = OS | USER | GUEST | HOST };

/* Hints that several formulas share. */
#define FETCH_HINT       "instruction fetch is too slow: look at instruction cache and TLB misses"
#define PREDICTION_HINT  "branches depend on unpredictable data"
#define LOCALITY_HINT    "poor data locality: access order, or working set size"
#define PAGES_HINT       "data is spread over many pages: huge pages may help"
#define SIZE_HINT        "data is larger than the caches"
#define MEMORY_HINT      "stalled on memory: cache-misses.cpspec shows where"
#define SPECULATION_HINT "look for mispredicted branches"
#define BACKEND_HINT     "look at data cache misses and long dependency chains"

static const struct counts_formula_row rows[] = {
    {.name = "ipc",
     .expr = "{instructions} / {cycles}",
     .unit = "",
     .what = "instructions per cycle",
     .spec = "basic-cpu",
     .low = "0.7",
     .low_hint = "the CPUs mostly stall: see the misses"},
    {.name = "frequency_ratio",
     .expr = "{cycles} / {reference_cycles}",
     .unit = "",
     .what = "the clock, relative to the nominal one",
     .spec = "basic-cpu",
     .low = "0.7",
     .low_hint = "the clock is reduced: power or heat"},
    /* The use of pipeline slots: Intel since Ice Lake, with the kernel's names. */
    {.name = "retiring",
     .expr = "100 * {model:topdown-retiring} / {model:slots}",
     .unit = "%",
     .what = "slots with useful work"},
    {.name = "bad_speculation",
     .expr = "100 * {model:topdown-bad-spec} / {model:slots}",
     .unit = "%",
     .what = "slots lost to mispredicted branches",
     .high = "10",
     .high_hint = SPECULATION_HINT},
    {.name = "frontend_bound",
     .expr = "100 * {model:topdown-fe-bound} / {model:slots}",
     .unit = "%",
     .what = "slots the front end left empty",
     .high = "20",
     .high_hint = FETCH_HINT},
    {.name = "backend_bound",
     .expr = "100 * {model:topdown-be-bound} / {model:slots}",
     .unit = "%",
     .what = "slots stalled on data or an execution unit",
     .high = "40",
     .high_hint = BACKEND_HINT},
    /* The same before Ice Lake. */
    {.name = "retiring",
     .expr = "100 * {model:topdown-slots-retired} / {model:topdown-total-slots}",
     .unit = "%",
     .what = "slots with useful work"},
    {.name = "bad_speculation",
     .expr = "100 * ({model:topdown-slots-issued} - {model:topdown-slots-retired} + "
	     "{model:topdown-recovery-bubbles}) / {model:topdown-total-slots}",
     .unit = "%",
     .what = "slots lost to mispredicted branches",
     .high = "10",
     .high_hint = SPECULATION_HINT},
    {.name = "frontend_bound",
     .expr = "100 * {model:topdown-fetch-bubbles} / {model:topdown-total-slots}",
     .unit = "%",
     .what = "slots the front end left empty",
     .high = "20",
     .high_hint = FETCH_HINT},
    {.name = "backend_bound",
     .expr = "100 - 100 * ({model:topdown-slots-issued} + {model:topdown-recovery-bubbles} + "
	     "{model:topdown-fetch-bubbles}) / {model:topdown-total-slots}",
     .unit = "%",
     .what = "slots stalled on data or an execution unit",
     .high = "40",
     .high_hint = BACKEND_HINT},
    {.name = "frontend_stalls",
     .expr = "100 * {arch:stalled_cycles_frontend} / {cycles}",
     .unit = "%",
     .what = "cycles in which the front end delivered nothing",
     .spec = "frontend-backend",
     .high = "25",
     .high_hint = FETCH_HINT},
    {.name = "backend_stalls",
     .expr = "100 * {arch:stalled_cycles_backend} / {cycles}",
     .unit = "%",
     .what = "cycles stalled on data or an execution unit",
     .spec = "frontend-backend",
     .high = "40",
     .high_hint = BACKEND_HINT},
    {.name = "branches",
     .expr = "1000 * {branches} / {instructions}",
     .unit = "/1k",
     .what = "branches per 1,000 instructions",
     .spec = "branches"},
    {.name = "mispredicted",
     .expr = "100 * {branch_misses} / {branches}",
     .unit = "%",
     .what = "branches that were mispredicted",
     .spec = "branches",
     .high = "5",
     .high_hint = PREDICTION_HINT},
    {.name = "branch_misses",
     .expr = "1000 * {branch_misses} / {instructions}",
     .unit = "/1k",
     .what = "mispredicted branches per 1,000 instructions",
     .spec = "branches",
     .high = "10",
     .high_hint = PREDICTION_HINT},
    {.name = "mispredicted_spec",
     .expr = "100 * {arch:br_mis_pred} / {arch:br_pred}",
     .unit = "%",
     .what = "predictable branches that were mispredicted, speculative ones included",
     .high = "5",
     .high_hint = PREDICTION_HINT},
    {.name = "l1d_miss_ratio",
     .expr = "100 * {arch:l1d_load_misses} / {arch:l1d_loads}",
     .unit = "%",
     .what = "loads that missed the level 1 cache",
     .spec = "l1",
     .high = "10",
     .high_hint = LOCALITY_HINT},
    {.name = "l1d_misses",
     .expr = "1000 * {arch:l1d_load_misses} / {instructions}",
     .unit = "/1k",
     .what = "misses of the level 1 data cache per 1,000 instructions",
     .spec = "l1",
     .high = "50",
     .high_hint = LOCALITY_HINT},
    {.name = "l1i_misses",
     .expr = "1000 * {arch:l1i_load_misses} / {instructions}",
     .unit = "/1k",
     .what = "misses of the level 1 instruction cache per 1,000 instructions",
     .spec = "l1",
     .high = "20",
     .high_hint = "large code footprint: code layout, or code size"},
    {.name = "l1d_refill_ratio",
     .expr = "100 * {arch:l1d_cache_refill} / {arch:l1d_cache}",
     .unit = "%",
     .what = "accesses that missed the level 1 data cache",
     .high = "10",
     .high_hint = LOCALITY_HINT},
    {.name = "l1i_refill_ratio",
     .expr = "100 * {arch:l1i_cache_refill} / {arch:l1i_cache}",
     .unit = "%",
     .what = "accesses that missed the level 1 instruction cache",
     .high = "5",
     .high_hint = "large code footprint: code layout, or code size"},
    {.name = "l2d_refill_ratio",
     .expr = "100 * {arch:l2d_cache_refill} / {arch:l2d_cache}",
     .unit = "%",
     .what = "accesses that missed the level 2 cache",
     .spec = "l2-arm",
     .high = "50",
     .high_hint = "data is larger than the level 2 cache"},
    {.name = "llc_miss_ratio",
     .expr = "100 * {arch:llc_misses} / {arch:llc_references}",
     .unit = "%",
     .what = "references that missed what the kernel maps as the last level cache",
     .spec = "basic-cpu",
     .high = "50",
     .high_hint = SIZE_HINT},
    {.name = "llc_misses",
     .expr = "1000 * {arch:llc_misses} / {instructions}",
     .unit = "/1k",
     .what = "misses of what the kernel maps as the last level cache per 1,000 instructions",
     .spec = "basic-cpu",
     .high = "10",
     .high_hint = MEMORY_HINT},
    {.name = "llc_load_miss_ratio",
     .expr = "100 * {arch:llc_load_misses} / {arch:llc_loads}",
     .unit = "%",
     .what = "loads that missed the last level cache",
     .spec = "l3",
     .high = "50",
     .high_hint = SIZE_HINT},
    {.name = "llc_load_misses",
     .expr = "1000 * {arch:llc_load_misses} / {instructions}",
     .unit = "/1k",
     .what = "loads that missed the last level cache per 1,000 instructions",
     .spec = "l3",
     .high = "5",
     .high_hint = MEMORY_HINT},
    {.name = "dtlb_misses",
     .expr = "1000 * {arch:dtlb_load_misses} / {instructions}",
     .unit = "/1k",
     .what = "misses of the data TLB per 1,000 instructions",
     .spec = "tlb",
     .high = "5",
     .high_hint = PAGES_HINT},
    {.name = "itlb_misses",
     .expr = "1000 * {arch:itlb_load_misses} / {instructions}",
     .unit = "/1k",
     .what = "misses of the instruction TLB per 1,000 instructions",
     .spec = "tlb",
     .high = "1",
     .high_hint = "code is spread over many pages: huge pages may help"},
    {.name = "l1d_tlb_refills",
     .expr = "1000 * {arch:l1d_tlb_refill} / {instructions}",
     .unit = "/1k",
     .what = "refills of the level 1 data TLB per 1,000 instructions",
     .high = "20",
     .high_hint = PAGES_HINT},
    {.name = "page_faults",
     .expr = "1000000 * {software:page_faults} / {instructions}",
     .unit = "/1M",
     .what = "page faults per 1,000,000 instructions",
     .spec = "tlb",
     .high = "100",
     .high_hint = "memory is freed and allocated again, or used for the first time"},
    /* Divided by time: not valid for sums over iterations. */
    {.name = "memory_read",
     .expr = "{misc:memory_bytes_read} / duration / 1e9",
     .unit = "GB/s",
     .what = "memory read",
     .is_by_time = true},
    {.name = "memory_written",
     .expr = "{misc:memory_bytes_written} / duration / 1e9",
     .unit = "GB/s",
     .what = "memory written",
     .is_by_time = true},
    {.name = "memory_bandwidth",
     .expr = "({misc:memory_bytes_read} + {misc:memory_bytes_written}) / duration / 1e9",
     .unit = "GB/s",
     .what = "memory read and written",
     .is_by_time = true},
};

/* Names of operands in a session; the first one found is used. */
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

enum { NR_ROWS = ARRAY_NR(rows), NR_PARTS = ARRAY_NR(parts) };
_Static_assert(NR_ROWS *NR_PARTS <= COUNTS_MAX_FORMULAS, "there is room for all");

size_t counts_formula_nr_rows(void)
{
	return NR_ROWS;
}

const struct counts_formula_row *counts_formula_row(size_t i)
{
	return &rows[i];
}

/* The events that are searched for operands. */
struct choice {
	const struct trace_event *events;
	size_t nr;
	bool is_live;
	uint32_t modes;
};

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

/* SIZE_MAX: not found. */
static size_t find_event(const struct choice *c, const char *name)
{
	for (size_t i = 0; i < c->nr; i++)
		if (is_named(&c->events[i], name) && modes_of(&c->events[i]) == c->modes &&
		    (!c->is_live || c->events[i].state == READING_OK))
			return i;
	return SIZE_MAX;
}

static size_t find_operand(const struct choice *c, const char *name)
{
	for (size_t i = 0; i < ARRAY_NR(operands); i++) {
		size_t found = SIZE_MAX;

		if (strcmp(operands[i].name, name) != 0)
			continue;
		for (size_t k = 0; operands[i].events[k] && found == SIZE_MAX; k++)
			found = find_event(c, operands[i].events[k]);
		return found;
	}
	return find_event(c, name);
}

static struct metric_limit limit_of(const char *text)
{
	return (struct metric_limit){text, text ? strtod(text, NULL) : 0};
}

/* Adds the formula if its operands are found. 0, -ENOMEM or -EINVAL. */
static int add_formula(struct counts_formulas *f, const struct choice *c,
		       const struct counts_formula_row *row, const char *part, struct arena *a,
		       struct err *e)
{
	struct metric m = {
	    .unit = row->unit, .warn_below = limit_of(row->low), .warn_above = limit_of(row->high)};
	size_t offset;
	int rc;

	/* "llc_misses/1k": llc_misses may be the name of an event */
	m.name = arena_printf(a, "%s%s%s%s", row->name, *row->unit == '/' ? row->unit : "",
			      *part ? " " : "", part);
	rc = m.name ? expr_parse(row->expr, a, &m.expr, &offset, e) : -ENOMEM;
	if (rc)
		return rc;
	for (size_t i = 0; i < m.expr.nr_steps; i++) {
		struct expr_step *step = &m.expr.steps[i];

		if (step->op != EXPR_OPERAND)
			continue;
		step->operand = find_operand(c, step->name);
		if (step->operand == SIZE_MAX)
			return 0;
	}
	f->item[f->nr] = (struct counts_formula){.row = row, .part = part};
	f->metric[f->nr++] = m;
	return 0;
}

int counts_formulas_make(const struct trace_event *events, size_t nr, bool is_live, struct arena *a,
			 struct counts_formulas *out, struct err *e)
{
	struct choice c = {.events = events, .nr = nr, .is_live = is_live};
	int rc = 0;

	out->nr = 0;
	for (size_t i = 0; i < NR_ROWS; i++) {
		if (rows[i].is_by_time && !is_live)
			continue;
		for (size_t k = 0; k < NR_PARTS && rc == 0; k++) {
			c.modes = parts[k].modes;
			rc = add_formula(out, &c, &rows[i], parts[k].part, a, e);
		}
	}
	return rc;
}

static bool has_name(const struct metric *metrics, size_t nr, const char *name)
{
	return ARRAY_ANY(x, metrics, nr, strcmp(x->name, name) == 0);
}

int counts_formulas_join(const struct metric_set *metrics, const struct trace_event *events,
			 size_t nr, struct arena *a, struct metric_set *out, struct err *e)
{
	struct counts_formulas *f = arena_alloc(a, sizeof(*f));
	struct metric *all = arena_calloc(a, metrics->nr + COUNTS_MAX_FORMULAS, sizeof(*all));
	size_t nr_all = metrics->nr;
	int rc;

	if (!f || !all)
		return err_set(e, -ENOMEM, "out of memory");
	rc = counts_formulas_make(events, nr, true, a, f, e);
	if (rc)
		return rc;
	if (metrics->nr)
		memcpy(all, metrics->item, metrics->nr * sizeof(*all));
	for (size_t i = 0; i < f->nr; i++) {
		if (has_name(all, nr_all, f->metric[i].name))
			continue;
		all[nr_all] = f->metric[i];
		all[nr_all].warn_below = all[nr_all].warn_above = (struct metric_limit){NULL, 0};
		nr_all++;
	}
	*out = (struct metric_set){all, nr_all};
	return 0;
}
