/*
 * What the files of --causal share.
 */
#ifndef CPUPERF_CAUSAL_CORE_H
#define CPUPERF_CAUSAL_CORE_H

#include "base/arena.h"
#include "experiments/causal.h"
#include "experiments/causal_attached.h"
#include "experiments/causal_memory.h"
#include "experiments/causal_points.h"
#include "machine.h"
#include "versus/turns.h"

enum { CAUSAL_TEXT_BYTES = 256 };

struct causal_kind;
struct causal_run;
struct wire;

struct causal {
	const struct options *o;
	const struct causal_kind *kind; /* what candidates are */
	const char *scope;              /* which of them; NULL: those of the program */
	struct turns turns;
	struct machine machine;
	bool has_machine;
	struct causal_candidates candidates;
	struct arena strings; /* of lines and regions */
	struct causal_shared shared;
	const char *subject;             /* what is measured, for messages */
	struct causal_attached attached; /* of --pid; pid 0: a command is measured */
	struct wire *wire;               /* owned: programs ask it for the memory */
	struct causal_point *point;      /* owned; NULL: the wall time of runs is measured */
	unsigned percent[CAUSAL_MAX_SPEEDUPS];
	size_t nr_percent;
	uint64_t nr_drawn;                     /* amounts, with result.seed */
	uint32_t chosen[CAUSAL_MAX_FUNCTIONS]; /* the longest first */
	size_t nr_chosen;
	uint64_t sampled_ns, queued_ns; /* of all runs */
	struct causal_run *run;         /* owned; whole runs, by their number in turns */
	size_t run_room;
	char name[CAUSAL_MAX_FUNCTIONS][ELF_MAX_NAME_BYTES];
	struct turns_arm arm[1 + CAUSAL_MAX_FUNCTIONS * CAUSAL_MAX_SPEEDUPS];
	char text[CAUSAL_TEXT_BYTES]; /* the command line */
	char why_none[2 * CAUSAL_TEXT_BYTES];
	struct causal_result result;
};

/* Sets the times of the candidates, of all runs so far. */
void causal_look_at_times(struct causal *c);
/* Chooses what is tried: the candidates that ran most by their times, which are set. Sets the arms,
 * and makes their rows, of what is measured. 0, or -ENODATA with *e: nothing ran. */
int causal_choose(struct causal *c, struct err *e);
/* Of the rows, by the CPU time of all runs: the part of each. */
void causal_set_shares(struct causal *c);
/* Whether the interval of a row is narrow enough. */
bool causal_is_row_known(const struct causal_result *r, const struct causal_row *row);
/* -ENOTSUP with *e: the agent is not in the command. */
int causal_check_agent(const struct causal *c, struct err *e);
/* The process that was started, or that ran already. */
pid_t causal_pid(const struct causal *c);
/* Whether it has ended, by that time (CLOCK_MONOTONIC) or until a signal comes. */
bool causal_has_ended(const struct causal *c, uint64_t until_ns);
/* Nothing ends, or nothing was counted: adds what could be a point to *e, while the program runs.
 */
void causal_hint_points(struct causal *c, struct err *e);
/* Tries that arm from now on; 0: nothing. */
void causal_try(struct causal *c, size_t arm);

/* causal_rounds.c: measures in rounds within the runs of the command, until the rule is met. 0 or
 * -errno with *e. */
int causal_rounds_run(struct causal *c, struct err *e);

#endif
