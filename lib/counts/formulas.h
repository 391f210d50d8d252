/*
 * Formulas over counts: instructions per cycle, misses, the use of the pipeline's slots. Those
 * whose events are measured become metrics, for the top-down report and the dashboard.
 */
#ifndef COUNTS_FORMULAS_H
#define COUNTS_FORMULAS_H

#include "estimate/metric.h"

struct arena;
struct err;
struct trace_event;

/* A row of the table. */
struct counts_formula_row {
	const char *name, *expr, *unit;
	const char *what; /* a description */
	const char *spec; /* a shipped spec that measures it; NULL */
	/* Unusual values: limits (NULL: none), and what they may mean. */
	const char *low, *low_hint, *high, *high_hint;
	bool is_by_time; /* valid for one iteration, not for sums over several */
};
size_t counts_formula_nr_rows(void);
const struct counts_formula_row *counts_formula_row(size_t i);

enum { COUNTS_MAX_FORMULAS = 256 };

struct counts_formula {
	const struct counts_formula_row *row;
	const char *part; /* "", "user", "kernel" */
};

/* metric[i] belongs to item[i]; named "ipc", "ipc user", "llc_misses/1k". */
struct counts_formulas {
	size_t nr;
	struct metric metric[COUNTS_MAX_FORMULAS];
	struct counts_formula item[COUNTS_MAX_FORMULAS];
};

/* Makes the formulas whose operands are among the events; an operand is an index in them. is_live:
 * uses only measured events, and includes formulas of one iteration. In the arena. 0; -ENOMEM,
 * -EINVAL with *e. */
int counts_formulas_make(const struct trace_event *events, size_t nr, bool is_live, struct arena *a,
			 struct counts_formulas *out, struct err *e);

/* Returns the metrics of a spec, followed by formulas with other names whose events are measured,
 * without limits, which are for reports. In the arena. Returns as above. */
int counts_formulas_join(const struct metric_set *metrics, const struct trace_event *events,
			 size_t nr, struct arena *a, struct metric_set *out, struct err *e);

#endif
