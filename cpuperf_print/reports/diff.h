/*
 * Parts of the comparison.
 */
#ifndef CPUPERF_PRINT_REPORTS_DIFF_H
#define CPUPERF_PRINT_REPORTS_DIFF_H

#include "estimate/latencies.h"
#include "job.h"
#include "report/amounts.h"
#include "report/comparable.h"
#include "report/flat.h"
#include "report/region_amounts.h"
#include "screen/cases.h"
#include "screen/grid.h"

/* Adds the objects of an input: whether they have names, and their build-ids. rows: by function. 0
 * or -ENOMEM. */
int diff_names_add(struct report_comparable *c, const struct job *j, size_t session,
		   const struct report_flat_row *rows, size_t nr);
/* Reports which objects are compared as a whole, and why: lines in text, else warnings. */
void diff_names_report(const struct report_comparable *c, struct job *j);

/* A replicate: an iteration, or a session. */
struct diff_replicate {
	uint64_t duration_ns;
	uint64_t delay_ns;                /* before it, as requested */
	uint64_t disabled_ns;             /* by --control; of a target */
	struct report_region_times times; /* of an iteration */
	bool is_cut;    /* it, or an iteration of it, ended early: not the same work */
	uint32_t cause; /* of an iteration: why it ended, enum cause */
};
/* Loads the replicates of inputs [first, first + nr); by_iteration: of the one input. *out is owned
 * by the caller. 0 or -ENOMEM. */
int diff_replicates_load(struct job *j, size_t first, size_t nr, bool by_iteration,
			 struct diff_replicate **out);

/* The times and counts of the command that both sides measured; of sessions without samples also
 * those of the machine. */
struct diff_totals;
/* Reads and judges them. *out is NULL if a session measured no target and has samples; else free
 * it. by_iteration: the iterations of the one session per side are the replicates; are_runs: each
 * is a run of its own, as independent of its neighbours as of others. 0 or -errno with *e. */
int diff_totals_new(struct job *j, bool by_iteration, bool are_runs, struct diff_totals **out,
		    struct err *e);
void diff_totals_free(struct diff_totals *t); /* NULL is fine */
/* In text: appends the headline, and a table of all amounts but the first. 0 or -errno with *e. */
int diff_totals_print(struct diff_totals *t, struct err *e);
/* The amounts: nr of them, judged. */
const struct amount *diff_totals_list(const struct diff_totals *t, size_t *nr);
/* Of the amount at index i: "wall_time", "cpu_time", or the event's label. */
const char *diff_totals_name(const struct diff_totals *t, size_t i);
/* The amounts are per second: a run of a side did not reach its end. */
bool diff_totals_are_rates(const struct diff_totals *t);
/* The amount at index i is of a latency: not per second. */
bool diff_totals_is_latency(const struct diff_totals *t, size_t i);

/* An amount in text: "+6.1 %"; "[0.7, 11.6]", the interval of its change in percent; "slower",
 * "more", "no significant change"; its p. Nothing is appended where there is none. */
void diff_amount_change(struct buf *b, const struct amount *a);
void diff_amount_interval(struct buf *b, const struct amount *a);
const char *diff_amount_verdict(const struct amount *a);
void diff_amount_p(struct buf *b, const struct amount *a);
/* The wall time changed, and not by work, and threads waited longer for a CPU by half of that or
 * more: what else ran may be the cause. */
bool diff_amount_is_of_queue(const struct amount *wall, const struct amount *cpu_time,
			     const struct amount *queue);
/* All as cells of the row, in the columns DIFF_AMOUNT_COLUMNS. is_rate: it is per second. */
void diff_amount_put(struct grid *g, const struct amount *a, const char *unit, bool is_rate);
/* Ends a line: how many of them were tested and changed significantly, or that there are too few
 * replicates, which are called what. */
void diff_amounts_say_tested(const struct amount *list, size_t nr, const char *what, struct buf *b);
#define DIFF_AMOUNT_COLUMNS                                                                        \
	{"was", NULL, NULL, GRID_TEXT, GRID_ALL}, {"is", NULL, NULL, GRID_TEXT, GRID_ALL},         \
	    {"change", NULL, "%", GRID_CHANGE, GRID_ALL},                                          \
	    {"interval", "95 % interval", NULL, GRID_TEXT, GRID_ALL},                              \
	    {"verdict", NULL, NULL, GRID_TEXT, GRID_ALL},                                          \
	{                                                                                          \
		"p", NULL, NULL, GRID_TEXT, GRID_ALL                                               \
	}

/* A side of the comparison. */
struct diff_side {
	size_t first, nr; /* of the inputs */
	size_t nr_replicates, nr_cut;
	const struct diff_replicate *replicates;
	const struct report_flat_row *rows; /* by region and replicate */
	size_t nr_rows;
};
struct diff_regions_options {
	bool by_iteration, are_runs;
	bool are_rates; /* of sessions that did not do the same work */
};

/* The calls and times of the regions that both sides marked, and what events sampled in them, with
 * the regions inside: amounts of replicates, each judged. */
struct diff_regions;
/* *out is NULL if neither side has regions; else free it. 0 or -errno with *e. */
int diff_regions_new(struct job *j, const struct diff_regions_options *o,
		     const struct diff_side side[2], struct diff_regions **out, struct err *e);
void diff_regions_free(struct diff_regions *r); /* NULL is fine */
/* In text: a heading and a table. 0 or -errno with *e. */
int diff_regions_print(struct diff_regions *r, struct err *e);
/* The amounts: nr of them, judged, those of a region one after the other. */
const struct amount *diff_regions_list(const struct diff_regions *r, size_t *nr);
/* Of the amount at index i: "region_calls", "region_wall_ns", "region_cpu_clock", and the path. */
const char *diff_regions_name(const struct diff_regions *r, size_t i);
const char *diff_regions_path(const struct diff_regions *r, size_t i);
/* A limit for changes applies to it: it does not depend on how long was measured. */
bool diff_regions_has_limit(const struct diff_regions *r, size_t i);

/* The arguments and results of functions that both sides recorded: amounts of replicates, each
 * judged. */
struct diff_values;
/* *out is NULL if there are none; else free it. 0 or -errno with *e. */
int diff_values_new(struct job *j, const struct diff_regions_options *o,
		    const struct diff_side side[2], struct diff_values **out, struct err *e);
void diff_values_free(struct diff_values *d); /* NULL is fine */
/* In text: a heading and a table. 0 or -errno with *e. */
int diff_values_print(struct diff_values *d, struct err *e);
/* The amounts: nr of them, judged, those of an argument one after the other. */
const struct amount *diff_values_list(const struct diff_values *d, size_t *nr);
/* Appends the name of the amount at index i: "handle(size = 1000) calls", "… ns_per_call";
 * "handle(size) mean". */
void diff_values_name(const struct diff_values *d, size_t i, struct buf *b);
/* A limit for changes applies to it: it is a time. */
bool diff_values_has_limit(const struct diff_values *d, size_t i);

/* Latencies as numbers: DIFF_LATENCY_NR of each event and part, which kinds numbers: the quantiles,
 * and the longest, in ns. Where a replicate has too few latencies for the interval of a quantile,
 * it is NAN. */
enum { DIFF_LATENCY_NR = 4, DIFF_TOTALS_NAME_BYTES = 300 };
void diff_latencies_init(struct dict *kinds);
/* Into *out, which grows to *nr numbers; owned by the caller. 0, -ENOMEM or -EFBIG. */
int diff_latencies_numbers(struct dict *kinds, const struct latencies *l, double **out, size_t *nr);
/* Of a number: false for the longest, which grows with the number of latencies. */
bool diff_latencies_is_judged(size_t i);
/* "block, device p99" */
void diff_latencies_name(const struct dict *kinds, const struct job *j, size_t i,
			 char name[DIFF_TOTALS_NAME_BYTES]);

/* The functions whose calls are compared as latencies. */
enum { DIFF_MAX_FUNCTIONS = 10, DIFF_MAX_FUNCTION_BYTES = 1 << 20 };
struct diff_function {
	uint32_t event;
	const char *linkage, *object; /* the name in the table of symbols, and in the file's path */
	char name[LATENCIES_NAME_BYTES]; /* in the source; "": that of the event */
};
struct diff_functions { /* zero-initialise */
	struct diff_function item[DIFF_MAX_FUNCTIONS];
	size_t nr, nr_left; /* left: functions beyond that */
	struct arena texts;
};
/* Those of the sessions now that have times, and the most of it. 0 or -ENOMEM; diff_functions_fini
 * in any case. */
int diff_functions_choose(struct diff_functions *c, const struct job *j);
void diff_functions_fini(struct diff_functions *c);
/* Adds their calls in a trace, as part of their event. 0 or -ENOMEM. */
int diff_functions_add(const struct diff_functions *c, const struct profile_trace *t,
		       struct latencies *to);

/* For CI (screen/cases.h). */
struct diff_case {
	double relative, limit; /* parts of 1; INFINITY: it was 0 */
	double p;
	bool is_over;
};
void diff_cases_add(struct cases *x, const char *event, const char *name,
		    const struct diff_case *r);

#endif
