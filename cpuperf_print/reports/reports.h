/*
 * The reports, and what they share.
 */
#ifndef CPUPERF_PRINT_REPORTS_REPORTS_H
#define CPUPERF_PRINT_REPORTS_REPORTS_H

#include "samples.h"

/* Each prints a job: 0 or -errno with *e. */
int reports_records(struct job *j, struct err *e);
int reports_flat(struct job *j, struct err *e);
int reports_threads(struct job *j, struct err *e);
int reports_tree(struct job *j, struct err *e);
int reports_callers(struct job *j, struct err *e);
int reports_calls(struct job *j, struct err *e);
int reports_stacks(struct job *j, struct err *e);
int reports_branches(struct job *j, struct err *e);
int reports_diff(struct job *j, struct err *e);
int reports_series(struct job *j, struct err *e);
int reports_topdown(struct job *j, struct err *e);
/* The summary of a perf.data file. */
int reports_perf_data(struct job *j, struct err *e);

/* For people: a column for each session. rows are those of a flat report with the session among its
 * columns. */
struct report_flat_row;
int reports_side_by_side(struct job *j, unsigned columns, const struct report_stats *stats,
			 const struct report_flat_row *rows, size_t nr_rows, struct err *e);

/* --- common.c --- */

/* The events of the samples that were read, for people: a line before the rows of each. */
void reports_heading(struct job *j, const struct report_stats *stats, uint32_t event);
/* For people, where there is no row: "No samples", and how many of those that there are are left
 * out. */
void reports_nothing(struct job *j, const struct report_stats *stats, const char *what);
/* Rows of an event that are not shown: there are too many, or they are below --min-percent. */
struct reports_rest {
	size_t nr;
	bool is_beyond_top, is_small; /* of any of them */
	struct report_weight weight;
};
void reports_rest_add(struct reports_rest *r, const struct report_weight *w, bool is_beyond_top,
		      bool is_small);
/* For people, a line: how many, what part (NULL: not told), and what shows them. */
void reports_rest_put(const struct job *j, const struct reports_rest *r,
		      const struct share_interval *share, struct grid *g);
/* For people, after the rows: what must be known of the stacks. */
void reports_stack_notes(struct job *j, const struct report_stats *stats, struct grid *g);
/* Part of the event's samples that entered. */
struct share_interval reports_share(const struct report_stats *stats, uint32_t event,
				    const struct report_weight *part);
struct share_interval reports_share_of(const struct report_weight *part,
				       const struct report_weight *all);
/* Count × scale for people, raw for programs. */
uint64_t reports_amount(const struct job *j, uint32_t event, uint64_t weight);
/* Samples have callers. */
bool reports_has_callers(const struct job *j);
/* Rows at most; what is left out below. */
uint64_t reports_top(const struct job *j, uint64_t for_people);
double reports_min_share(const struct job *j, double for_people_percent);
/* Writes the grid and frees it; rc is what came before. */
int reports_end(struct job *j, struct grid *g, int rc, struct err *e);
/* The columns are copied. For machines the grids of a report are one table, with the session where
 * rows are of several. */
struct grid *reports_grid(struct job *j, const struct grid_column *columns, size_t nr);

#endif
