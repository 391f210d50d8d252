/*
 * The table of formulas, and which of them a session's events make. Operands of one formula count
 * in the same modes. Knows names of events, and what they mean on each vendor's CPUs no better than
 * the kernel.
 */
#include "counts/formulas.h"

#include "base/arena.h"
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OS = 1, USER = 2, GUEST = 1024, HOST = 2048, MODES = OS | USER | GUEST | HOST };

static const struct counts_topdown_row rows[] = {
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
    /* By time: nothing that sums over iterations could be divided by. */
    {"memory_read", "{misc:memory_bytes_read} / duration / 1e9", "GB/s", "memory read", NULL, NULL,
     NULL, NULL, NULL, true},
    {"memory_written", "{misc:memory_bytes_written} / duration / 1e9", "GB/s", "memory written",
     NULL, NULL, NULL, NULL, NULL, true},
    {"memory_bandwidth",
     "({misc:memory_bytes_read} + {misc:memory_bytes_written}) / duration / 1e9", "GB/s",
     "memory read and written", NULL, NULL, NULL, NULL, NULL, true},
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
_Static_assert(NR_ROWS *NR_PARTS <= COUNTS_MAX_FORMULAS, "there is room for all");

size_t counts_topdown_nr_rows(void)
{
	return NR_ROWS;
}

const struct counts_topdown_row *counts_topdown_row(size_t i)
{
	return &rows[i];
}

static bool is_named(const struct counts_formula_event *e, const char *name)
{
	size_t len = strlen(e->group);

	return strncmp(name, e->group, len) == 0 && name[len] == ':' &&
	       strcmp(name + len + 1, e->name) == 0;
}

/* Without either of os and user, both are counted. */
static uint32_t modes_of(const struct counts_formula_event *e)
{
	uint32_t modes = e->flags & MODES;

	return modes & (OS | USER) ? modes : modes | OS | USER;
}

/* SIZE_MAX: it is not there. */
static size_t find_event(const struct counts_formula_event *events, size_t nr, const char *name,
			 uint32_t modes)
{
	for (size_t i = 0; i < nr; i++)
		if (!events[i].is_missing && is_named(&events[i], name) &&
		    modes_of(&events[i]) == modes)
			return i;
	return SIZE_MAX;
}

static size_t find_operand(const struct counts_formula_event *events, size_t nr, const char *name,
			   uint32_t modes)
{
	for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++) {
		size_t found = SIZE_MAX;

		if (strcmp(operands[i].name, name) != 0)
			continue;
		for (size_t k = 0; operands[i].events[k] && found == SIZE_MAX; k++)
			found = find_event(events, nr, operands[i].events[k], modes);
		return found;
	}
	return find_event(events, nr, name, modes);
}

static bool find_operands(const struct counts_formula_event *events, size_t nr, struct expr *x,
			  uint32_t modes)
{
	for (size_t i = 0; i < x->nr_steps; i++) {
		if (x->steps[i].op != EXPR_OPERAND)
			continue;
		x->steps[i].operand = find_operand(events, nr, x->steps[i].name, modes);
		if (x->steps[i].operand == SIZE_MAX)
			return false;
	}
	return true;
}

static struct metric_limit limit_of(const char *text)
{
	return (struct metric_limit){text, text ? strtod(text, NULL) : 0};
}

/* With the unit where that is how often something is counted, as events are called so too. */
static int make_name(const struct counts_topdown_row *row, const char *part, struct arena *a,
		     const char **out)
{
	*out = arena_printf(a, "%s%s%s%s", row->name, *row->unit == '/' ? row->unit : "",
			    *part ? " " : "", part);
	return *out ? 0 : -ENOMEM;
}

static int add_formula(struct counts_formulas *f, const struct counts_formula_event *events,
		       size_t nr, size_t row, size_t part, struct arena *a, struct err *e)
{
	struct counts_formula *to = &f->item[f->nr];
	struct metric m = {.unit = rows[row].unit,
			   .warn_below = limit_of(rows[row].low),
			   .warn_above = limit_of(rows[row].high)};
	size_t offset;
	int rc = make_name(&rows[row], parts[part].part, a, &m.name);

	if (rc == 0)
		rc = expr_parse(rows[row].expr, a, &m.expr, &offset, e);
	if (rc || !find_operands(events, nr, &m.expr, parts[part].modes))
		return rc;
	*to = (struct counts_formula){.row = &rows[row], .part = parts[part].part};
	f->metric[f->nr++] = m;
	return 0;
}

int counts_formulas_make(const struct counts_formula_event *events, size_t nr, bool with_times,
			 struct arena *a, struct counts_formulas *out, struct err *e)
{
	int rc = 0;

	out->nr = 0;
	for (size_t i = 0; i < NR_ROWS && rc == 0; i++)
		for (size_t k = 0; k < NR_PARTS && rc == 0; k++)
			if (with_times || !rows[i].is_by_time)
				rc = add_formula(out, events, nr, i, k, a, e);
	return rc;
}

static bool has_name(const struct metric *metrics, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(metrics[i].name, name) == 0)
			return true;
	return false;
}

int counts_formulas_join(const struct metric_set *metrics,
			 const struct counts_formula_event *events, size_t nr, struct arena *a,
			 struct metric_set *out, struct err *e)
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
