/*
 * cpuperf --causal -- COMMAND, or --pid: what a faster function would bring to a command, by
 * experiments. One function is virtually sped up by an agent in the program (lib/agent/causal): all
 * other threads are slowed down while one runs it, and the delays are subtracted from the time. By
 * the wall time of whole runs, which are turns, as those of --versus, of which the first arm is the
 * program with the agent and without a delay; or, with a progress point, by how often that is
 * visited in rounds within one run.
 *
 *   causal.c         the runs, the whole
 *   causal_scope.c   which functions are meant
 *   causal_lines.c   the source lines of these
 *   causal_regions.c  regions of marks in their place
 *   causal_rounds.c  the rounds within a run (causal/rounds.h has their arithmetic)
 *   causal_attached.c  a process that runs already, in place of a command
 *   causal_points.c  progress points
 *   causal_calls.c   which functions could be one
 *   causal_memory.c  candidates, and the memory that is shared with the agent
 *   causal_kept.c    where results are kept, with a recorded run; cpuperf_print prints them
 *
 * What is tried is decided before, by the CPU time of each candidate, which the agent counts; so
 * nothing is recorded, and nothing of symbols beyond addresses leaves this program.
 */
#ifndef CPUPERF_CAUSAL_H
#define CPUPERF_CAUSAL_H

#include "elf/demangle.h"
#include "estimate/paired.h"
#include "versus/versus.h"

#include <stdbool.h>
#include <stddef.h>

struct err;
struct options;
struct turns;

enum { CAUSAL_MAX_FUNCTIONS = 5, CAUSAL_MAX_SPEEDUPS = 8 };

/* Of all intervals together; each has its part of it (Bonferroni). */
#define CAUSAL_ERROR 0.05

/* What an experiment measures. */
enum causal_of {
	CAUSAL_OF_WALL,       /* the part of the wall time that is saved */
	CAUSAL_OF_THROUGHPUT, /* by which part the point is visited more often */
	CAUSAL_OF_LATENCY     /* the part of the region's time that is saved */
};

/* A function, a line, or a region at a speed-up. */
struct causal_row {
	enum causal_of of;
	const char *name, *linkage_name, *object; /* borrowed; of a line: a function that has it */
	const char *source;                       /* of a line; NULL: it is of the function */
	const char *region;                       /* NULL: it is of code; else the rest is "" */
	unsigned line;
	unsigned percent;    /* of its time that is cut */
	double on_cpu;       /* its part of all CPU time */
	struct paired saved; /* parts, as of says; nr 0: not measured */
};

struct causal_result {
	const char *command;
	const char *why_none; /* no experiments are possible; NULL: they are */
	struct versus_rule rule;
	struct causal_row row[2 * CAUSAL_MAX_FUNCTIONS * CAUSAL_MAX_SPEEDUPS];
	size_t nr, nr_ran;         /* rows; functions that were meant and ran */
	double wall;               /* seconds, with the agent and without a delay: the mean of
				    * those that are used; 0: there is none */
	size_t nr_rounds;          /* of runs; with a point: blocks of rounds that were compared */
	const char *point;         /* NULL: runs were measured */
	double rate;               /* visits in a second, without a delay */
	double latency;            /* seconds, the same; 0: the point is no region */
	bool is_by_looks;          /* it is by causal_flow */
	size_t nr_used, nr_unused; /* rounds, or runs; not used: threads waited for a CPU, or marks
				    * were lost */
	size_t nr_late;            /* used, but their latency is not known */
	size_t nr_runs;            /* of the command, with a point */
	double seconds;
	uint64_t seed;         /* of amounts that are drawn by chance; 0: they are fixed */
	uint32_t nr_unsampled; /* threads, most of a run */
	double queued;         /* for how much of their time threads waited for a CPU */
	bool is_of_regions;    /* what is tried */
	bool is_known, is_cut;
};

/* The half of an interval that is narrow enough, as a part. */
#define CAUSAL_CLOSE 0.01
double causal_close(const struct causal_result *r);
double causal_half(const struct paired *saved);
/* Whether what is found out can be kept where --output says. 0 or -errno with *e. */
int causal_kept_check(const struct options *o, struct err *e);
/* Keeps it in a session, with a run that it records, and prints that. The exit status. */
int causal_kept_print(const struct causal_result *r, struct turns *t);

/* The whole. Returns the exit status. */
int causal(struct options *o);

#endif
