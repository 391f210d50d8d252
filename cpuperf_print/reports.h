/*
 * The reports of cpuperf_print, one row each: what a name prints of the open sessions.
 */
#ifndef CPUPERF_PRINT_REPORTS_H
#define CPUPERF_PRINT_REPORTS_H

#include "samples.h"

/* Prints: 0 or -errno with *e. */
typedef int report_fn(struct job *j, struct err *e);

struct report {
	const char *name;
	bool needs_names;     /* samples_load_names; of samples */
	bool adds_up;         /* several sessions at once; else it is called for each */
	bool is_side_by_side; /* so too with --by-session, of what measured the same */
	report_fn *print;
	/* Exports, formats that other programs read: */
	bool is_binary;  /* nothing for a terminal */
	bool takes_diff; /* compares with the sessions of --diff, if there are any */
};

/* NULL with *e: there is none of that name. */
const struct report *report_find(const char *name, struct err *e);
/* The export of that --output-format; NULL: that is none. An export that does not add up is of one
 * session. */
const struct report *report_find_export(const char *format);

report_fn report_summary_print, report_records_print, report_flat_print, report_threads_print,
    report_tree_print, report_callers_print, report_stacks_print, report_calls_print,
    report_branches_print, report_perf_data_print, report_diff_print, report_series_print,
    report_topdown_print;

report_fn export_folded;
report_fn export_perfetto;
report_fn export_pprof;
report_fn export_speedscope;
report_fn export_chrome;
report_fn export_perf_data;
report_fn export_html;
report_fn export_openmetrics;
report_fn export_sqlite;

/* For people: a column for each session. rows are those of a flat report with the session among its
 * columns. */
struct report_flat_row;
int report_flat_side_by_side(struct job *j, unsigned columns, const struct report_stats *stats,
			     const struct report_flat_row *rows, size_t nr_rows, struct err *e);

/* What is common to those of samples, report_common.c: */

/* The events of the samples that were read, for people: a line before the rows of each. */
void report_heading(struct job *j, const struct report_stats *stats, uint32_t event);
/* For people, where there is no row: "No samples", and how many of those that there are are left
 * out. */
void report_nothing(struct job *j, const struct report_stats *stats, const char *what);
/* Counts know no tasks: a warning if options are given that such a report cannot follow. */
enum { REPORT_BY_TASK = 1 << 0, REPORT_BY_EVENT = 1 << 1, REPORT_BY_TIME = 1 << 2 };
void report_warn_unfiltered(struct job *j, unsigned by);
/* Of a format whose readers look names up themselves: a warning if options are given that shape
 * names and stacks. */
void report_warn_unshaped(struct job *j);
/* Rows of an event that are not shown: there are too many, or they are below --min-percent. */
struct report_rest {
	size_t nr;
	bool is_beyond_top, is_small; /* of any of them */
	struct report_weight weight;
};
void report_rest_add(struct report_rest *r, const struct report_weight *w, bool is_beyond_top,
		     bool is_small);
/* For people, a line: how many, what part (NULL: not told), and what shows them. */
void report_rest_put(const struct job *j, const struct report_rest *r,
		     const struct share_interval *share, struct grid *g);
/* For people, after the rows: what must be known of the stacks. */
void report_stack_notes(struct job *j, const struct report_stats *stats, struct grid *g);
/* Part of the event's samples that entered. */
struct share_interval report_share(const struct report_stats *stats, uint32_t event,
				   const struct report_weight *part);
struct share_interval report_share_of(const struct report_weight *part,
				      const struct report_weight *all);
/* Count × scale for people, raw for programs. */
uint64_t report_amount(const struct job *j, uint32_t event, uint64_t weight);
/* Samples have callers. */
bool report_has_callers(const struct job *j);
/* Rows at most; what is left out below. */
uint64_t report_top(const struct job *j, uint64_t for_people);
double report_min_share(const struct job *j, double for_people_percent);
/* Writes the grid and frees it; rc is what came before. */
int report_end(struct job *j, struct grid *g, int rc, struct err *e);
/* The columns are copied. For machines the grids of a report are one table, with the session where
 * rows are of several. */
struct grid *report_grid(struct job *j, const struct grid_column *columns, size_t nr);

#endif
