/*
 * What can be derived from counts: instructions per cycle, misses, where the slots of the pipeline
 * went. A table of formulas; those are made whose events are measured. For the top-down report and
 * the dashboard. Knows nothing of sessions and formats.
 */
#ifndef REPORT_FORMULAS_H
#define REPORT_FORMULAS_H

#include "metric/metric.h"

struct arena;
struct err;

/* A row of the table. */
struct report_topdown_row {
	const char *name, *expr, *unit;
	const char *what; /* in words */
	const char *spec; /* of those that are shipped: one that measures it */
	/* Beyond what is usual: a limit (NULL: none), and what it may mean. */
	const char *low, *low_hint, *high, *high_hint;
	bool is_by_time; /* holds in one iteration, not in sums over several */
};
size_t report_topdown_nr_rows(void);
const struct report_topdown_row *report_topdown_row(size_t i);

/* Of what is measured, or was to be; flags: the spec's, as in traces. */
struct report_formula_event {
	const char *group, *name;
	uint32_t flags;
	bool is_missing; /* it is not measured: no formula has it */
};

enum { REPORT_MAX_FORMULAS = 256 };

struct report_formula {
	const struct report_topdown_row *row;
	const char *part; /* "", "user", "kernel" */
};

/* metric[i] is of item[i]; named "ipc", "ipc user", "llc_misses/1k". */
struct report_formulas {
	size_t nr;
	struct metric metric[REPORT_MAX_FORMULAS];
	struct report_formula item[REPORT_MAX_FORMULAS];
};

/* Those whose operands are among the events; an operand is a place there. with_times: those of one
 * iteration too. In the arena. 0; -ENOMEM, -EINVAL with *e. */
int report_formulas_make(const struct report_formula_event *events, size_t nr, bool with_times,
			 struct arena *a, struct report_formulas *out, struct err *e);

/* The metrics of a spec, and behind them all that can be derived and has another name, without
 * limits: what is usual is no warning while one looks on. In the arena. As above. */
int report_formulas_join(const struct metric_set *metrics,
			 const struct report_formula_event *events, size_t nr, struct arena *a,
			 struct metric_set *out, struct err *e);

#endif
