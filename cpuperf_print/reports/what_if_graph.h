/*
 * A recorded session as what ended what, by which reports replay it with a part of some time cut
 * (causal/graph.h).
 */
#ifndef CPUPERF_PRINT_REPORTS_WHAT_IF_GRAPH_H
#define CPUPERF_PRINT_REPORTS_WHAT_IF_GRAPH_H

#include "causal/graph.h"
#include "estimate/interval.h"
#include "trace/trace.h"

struct err;
struct job;
struct profile_processes;
struct report_function;
struct what_if;

struct what_if_function {
	const struct report_function *is; /* NULL: it is in no sample that counts */
	uint64_t ns;                      /* on a CPU, in itself */
	uint64_t unknown_ns;              /* blocked, below it, until something unknown ended it */
};

/* A region that the program marked, wherever it is: the regions of that name together. */
struct what_if_region {
	const char *name;   /* safe to show */
	uint64_t ns;        /* on a CPU while it was open on the thread */
	uint64_t nr_closed; /* calls without an end of their own */
	uint32_t last;      /* private */
};

/* Reads the job's first input. 0, or -errno with *e: -ENODATA: the session does not have what is
 * needed; -EINVAL: the selection leaves some samples out. */
int what_if_new(struct job *j, struct what_if **out, struct err *e);
void what_if_free(struct what_if *r); /* NULL is fine */

/* Of the command that ended. */
const struct trace_target *what_if_target(const struct what_if *r);
double what_if_run_ns(const struct what_if *r);
/* By number of the function. */
const struct what_if_function *what_if_functions(const struct what_if *r, size_t *nr);
/* In the order in which they are first begun; nr 0: none was recorded. */
const struct what_if_region *what_if_regions(const struct what_if *r, size_t *nr);
/* NULL: none of that name was recorded. */
const struct what_if_region *what_if_find_region(const struct what_if *r, const char *name);
/* With the regions (profile/regions.h), as long as r is there. */
const struct profile_processes *what_if_processes(const struct what_if *r);
/* By how many ns the command ends earlier. */
double what_if_saved(struct what_if *r, const struct causal_cut *cut);
/* The same with that share of the time of the functions that match cut; has_callees: and of what
 * they call. */
typedef bool what_if_match_fn(const void *arg, const struct report_function *f);
double what_if_saved_by(struct what_if *r, what_if_match_fn *is_meant, const void *arg,
			double share, bool has_callees);
/* Whether some function of the samples, or of who woke, matches. */
bool what_if_has(const struct what_if *r, what_if_match_fn *is_meant, const void *arg);
/* The same with that share of what ran on a thread while a region of that name, one of
 * what_if_regions, was open on it. */
double what_if_saved_in(struct what_if *r, const struct what_if_region *region, double share);
/* The same of the regions for which within has true, by the numbers of their paths:
 * profile_regions_within. */
double what_if_saved_within(struct what_if *r, const bool *within, double share);
/* Of the run. Chance is in how many samples of what was cut lie on the longest path. */
struct interval what_if_share(const struct what_if *r, double ns, double share);

#endif
