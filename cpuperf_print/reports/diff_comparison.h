/*
 * The state of the report diff: what is compared (diff.c), and how it is shown (diff_shown.c).
 */
#ifndef CPUPERF_PRINT_REPORTS_DIFF_COMPARISON_H
#define CPUPERF_PRINT_REPORTS_DIFF_COMPARISON_H

#include "report/diff.h"
#include "report/states.h"
#include "reports/diff.h"
#include "samples.h"

enum { WAS, IS };
enum { DIFF_ANY_STATE = REPORT_NR_STATES };

struct diff_comparison {
	struct job *j;
	unsigned columns; /* that distinguish rows */
	bool by_iteration;
	bool are_runs; /* the iterations are runs of a command: they show what varies from run to
			  run */
	struct report_flat *flat[2];
	struct report_stats stats[2];
	const struct report_flat_row *rows[2];
	size_t nr_rows[2];
	size_t nr_replicates[2], nr_cut[2];
	struct diff_replicate *replicates[2]; /* owned; NULL: shares of sessions are compared */
	struct diff_replicate
	    *of_values[2]; /* owned; those that arguments need, if these are NULL */
	bool has_samples;
	bool are_rates;      /* amounts per second: a side has only replicates that were cut */
	uint64_t longest_ns; /* replicate, of both sides */
	size_t first[2];     /* of the inputs */
	uint32_t event;
	uint32_t state; /* ANY_STATE: rows of all are compared at once */
	struct diff *diff;
	struct report_comparable *comparable;
	struct diff_totals *totals;    /* NULL: no target was measured */
	struct diff_regions *regions;  /* NULL: they are not compared */
	struct diff_values *values;    /* the same */
	struct buf key;                /* of the current row */
	struct buf largest;            /* in text: the largest significant amounts of each list */
	size_t nr_compared, nr_tested; /* events or states; rows of them */
	size_t nr_states;              /* of the event, so far */
	bool is_testable;
	struct grid *g;
	struct cases *cases; /* printed in place of grids; NULL: not */
};

/* "run", "iteration" or "session" */
const char *diff_replicate_name(const struct diff_comparison *c);
/* Cut replicates did less work; but their shares and rates can be compared, unless they are runs.
 */
bool diff_ignores_cut(const struct diff_comparison *c);
/* Restores the columns of a row from its key. */
void diff_read_key(const struct diff_comparison *c, const char *key, struct report_flat_row *out);
/* --fail-over as a part of 1. */
double diff_limit(const struct diff_comparison *c);

/* Says if the sides left out other times, by delays or by --control: of a command that ran to its
 * end they measured different parts. */
void diff_remark_gaps(struct diff_comparison *c);
/* NULL: no memory. */
struct grid *diff_make_grid(const struct diff_comparison *c);
/* The rows of an event, or of a state of it, in the grid or as test cases. 0 or -errno with *e. */
int diff_put(struct diff_comparison *c, const struct diff_result *r, struct err *e);
/* In text: a sentence of the largest significant amounts of all that was put. */
void diff_put_largest(struct diff_comparison *c);
/* For programs: a row in the grid. What stands in the columns of a row may follow. */
void diff_put_amount(struct diff_comparison *c, const char *name, const struct amount *a);

#endif
