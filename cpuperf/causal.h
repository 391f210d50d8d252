/*
 * cpuperf --causal -- COMMAND: what a faster function would bring to the wall time of a command, by
 * experiments. In each run one function is virtually sped up by an agent in the program
 * (lib/agent/causal): all other threads are slowed down while one runs it, and the delays are
 * subtracted from the wall time. The runs are turns, as those of --versus, of which the first arm
 * is the program with the agent and without a delay.
 *
 *   causal.c         the functions, the memory that is shared with the agent, the runs
 *   causal_scope.c   which functions are meant
 *   causal_kept.c    where they are kept, with a recorded run; cpuperf_print prints them
 *
 * Which functions are tried is decided by a run before, in which the agent counts the CPU time of
 * each, so nothing is recorded, and nothing of symbols beyond addresses leaves this program.
 */
#ifndef CPUPERF_CAUSAL_H
#define CPUPERF_CAUSAL_H

#include "elf/demangle.h"
#include "estimate/paired.h"
#include "versus.h"

#include <stdbool.h>
#include <stddef.h>

struct err;
struct options;
struct turns;

enum { CAUSAL_MAX_FUNCTIONS = 5, CAUSAL_MAX_SPEEDUPS = 8 };

/* Of all intervals together; each has its part of it (Bonferroni). */
#define CAUSAL_ERROR 0.05

/* A function at a speed-up. */
struct causal_row {
	const char *name, *linkage_name, *object; /* borrowed */
	unsigned percent;                         /* of its time that is cut */
	double on_cpu;                            /* its part of all CPU time */
	struct paired saved;                      /* parts of the wall time; nr 0: not measured */
};

struct causal_result {
	const char *command;
	const char *why_none; /* no experiments are possible; NULL: they are */
	struct versus_rule rule;
	struct causal_row row[CAUSAL_MAX_FUNCTIONS * CAUSAL_MAX_SPEEDUPS];
	size_t nr, nr_ran; /* rows; functions that were meant and ran */
	double wall;       /* seconds, with the agent and without a delay; the mean */
	size_t nr_rounds;
	double seconds;
	uint32_t nr_unsampled; /* threads, most of a run */
	double queued;         /* for how much of their time threads waited for a CPU */
	bool is_known, is_cut;
};

/* The half of an interval that is narrow enough, as a part. */
#define CAUSAL_CLOSE 0.01
double causal_close(const struct causal_result *r);
double causal_half(const struct paired *saved);
/* Whether what is found out can be kept where --output says. 0 or -errno with *e. */
int causal_kept_check(const struct options *o, struct err *e);
/* Keeps it in a session, with a run that it records, and prints that. The exit status. */
int causal_kept_print(const struct causal_result *r, const struct turns *t);

/* The whole. Returns the exit status. */
int causal(struct options *o);

#endif
