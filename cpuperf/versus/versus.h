/*
 * cpuperf --versus=OLD -- NEW: whether the new command is faster than the old one. Both run in
 * turns (old new, new old, …), unobserved, until the difference is known; then both are recorded,
 * and compared by cpuperf_print, which prints where the difference is.
 *
 *   turns.c        the turns, when to stop: those of --sweep, too
 *   versus.c       the commands, the recordings, the exit status
 *   runner.c       one run
 *   verdict.c      what the runs say, in numbers and in words
 *   differences.c  what differs between the recordings
 *   report.c       what is printed of it, in which format by comparison.c
 *
 * No session exists while it compares. A second process, whose standard error is stored, makes
 * what runs aside: commands before and after, and at the end cpuperf itself, to record each side.
 * estimate/paired.h has the interval that may be looked at after each pair.
 */
#ifndef CPUPERF_VERSUS_H
#define CPUPERF_VERSUS_H

#include "estimate/paired.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;
struct options;

struct versus_options {
	const char *old;   /* a command line, or VERSUS_SELF; NULL: no two commands are compared */
	const char *sweep; /* NAME=VALUES; NULL: there is no parameter */
	bool is_causal;
	const char *causal;   /* which functions; NULL: those of the program */
	const char *speedup;  /* of is_causal */
	const char *progress; /* the same: a point; NULL: the wall time of runs */
	const char *until, *at_most, *by, *fail_over;
	const char *setup, *prepare, *cleanup; /* command lines */
	const char *input;
	bool ignores_status, is_verdict_only;
	struct versus_runner *runner; /* owned by main */
};

/* True: one of them, or one that requires old or sweep. */
static inline bool versus_options_are_used(const struct versus_options *o)
{
	return o->old || o->sweep || o->is_causal || o->speedup || o->progress || o->until ||
	       o->at_most || o->by || o->fail_over || o->setup || o->prepare || o->cleanup ||
	       o->input || o->ignores_status || o->is_verdict_only;
}

#define VERSUS_SELF "self"
/* The section of these options in the help, which recordings do not receive. */
#define VERSUS_SECTION "A against B"

/* --- one run */

enum versus_measure {
	VERSUS_WALL,
	VERSUS_CPU_TIME,
	VERSUS_PEAK_MEMORY,
	VERSUS_PAGE_FAULTS,
	VERSUS_NR
};

struct versus_run {
	double value[VERSUS_NR]; /* seconds, bytes, a number */
	int status;              /* as of waitpid */
};

/* Where the standard streams of a run lead to. Output is written nowhere. */
enum versus_streams {
	VERSUS_MEASURED, /* errors neither */
	VERSUS_ASIDE,    /* errors are stored */
	VERSUS_OURS,     /* input and errors are those of this program */
	VERSUS_NR_STREAMS
};

/* Makes the processes that make those of the runs; is_ours: also one of VERSUS_OURS. Call it before
 * anything is opened that they could inherit. Standard input of the runs is the file input (NULL:
 * /dev/null, or ours). 0 or -errno with *e. */
int versus_runner_new(const char *input, bool is_ours, struct versus_runner **out, struct err *e);
void versus_runner_free(struct versus_runner *r); /* NULL is fine */
/* Runs argv to its end. is_measured: what it writes to standard error is not stored, either. 0 or
 * -errno with *e: it could not be executed. */
int versus_runner_run(struct versus_runner *r, char *const *argv, bool is_measured,
		      struct versus_run *out, struct err *e);
/* The same in steps: begins a run; true if it has ended, by that time (CLOCK_MONOTONIC; UINT64_MAX:
 * by any) or until a signal comes; waits for its end. */
int versus_runner_begin(struct versus_runner *r, char *const *argv, enum versus_streams streams,
			struct err *e);
pid_t versus_runner_pid(const struct versus_runner *r);
bool versus_runner_has_ended(const struct versus_runner *r, uint64_t until_ns);
void versus_runner_end(struct versus_runner *r, struct versus_run *out);
/* Sets a variable in the environment of all later runs but those aside, of which the next one is
 * of argv. 0 or -errno with *e. */
int versus_runner_set_variable(struct versus_runner *r, char *const *argv, const char *name,
			       const char *value, struct err *e);
/* What the last run wrote to its standard error: the last line with an error, or the last, made
 * visible. Nothing if it was measured. */
void versus_runner_last_line(const struct versus_runner *r, struct buf *out);
/* Async-signal-safe. */
void versus_runner_signal(struct versus_runner *r, int number);
/* The same to all that the command has made, too: a shell does not pass signals on. Not for signal
 * handlers. */
void versus_runner_stop(struct versus_runner *r, int number);

/* --- what they say */

enum { VERSUS_OLD, VERSUS_NEW, VERSUS_NR_SIDES };

/* Pairs of runs among those of more commands: a pair is run[i * stride + side]. */
struct versus_runs {
	const struct versus_run *run;
	size_t nr, stride;
};

/* When to stop, and what is compared. */
struct versus_rule {
	enum versus_measure by;
	double until;        /* half of the interval, a part of the old side; 0: by itself */
	uint64_t at_most_ns; /* of all pairs */
	size_t nr_pairs;     /* 0: until the difference is known */
	double fail_over;    /* a part; negative: none */
};

struct versus_verdict {
	struct paired of[VERSUS_NR]; /* logarithms of new / old; nr 0: not measured */
	struct versus_rule rule;
	size_t nr_pairs;
	double seconds;                    /* that they took */
	bool is_known;                     /* else the time was over before */
	bool is_cut;                       /* a signal ended it */
	bool is_self;                      /* both sides are the same command */
	const char *name[VERSUS_NR_SIDES]; /* command lines */
	const char *parameter, *value;     /* of --sweep; NULL: there is none */
	const char *folder;                /* of the recordings; NULL: there are none */
	/* Rows of ndjson of what differs between them by more than chance; NULL: not compared. */
	const char *differences;
	const char *old;       /* of --versus, for what to type next; NULL: nothing is */
	char *const *new_argv; /* the same */
	double typical[VERSUS_NR][VERSUS_NR_SIDES]; /* geometric means */
};

/* The row of a name; VERSUS_NR: there is none. */
enum versus_measure versus_measure_find(const char *name);
/* Sets all but name, seconds, is_cut and rule, which is given. 0 or -ENOMEM. */
int versus_verdict_make(const struct versus_runs *runs, struct versus_verdict *v);
/* The sides differ, by the measure that was chosen, by more than chance. */
bool versus_verdict_is_difference(const struct versus_verdict *v);
/* There is a difference to be looked for: that one, or one of CPU time where wall time shows none.
 */
bool versus_verdict_is_explicable(const struct versus_verdict *v);
bool versus_verdict_fails(const struct versus_verdict *v); /* by fail_over */
/* For the terminal while it goes on: "12 + 12 runs in 8 s: -2.9 % [-3.4, -2.4]". */
void versus_verdict_status(const struct versus_verdict *v, struct buf *out);
/* The row's names and its unit ("s", "B", ""). */
const char *versus_measure_name(enum versus_measure m);
const char *versus_measure_header(enum versus_measure m);
const char *versus_measure_unit(enum versus_measure m);
/* Values are multiples of a step, as of a page: the step as a part of this value. */
double versus_measure_step(enum versus_measure m, double value);
void versus_put_value(enum versus_measure m, double value, struct buf *out);
/* "[-3.4, -2.4]" in percent; is_less: of how much less it is, of the old one. */
void versus_put_interval(const struct paired *p, bool is_less, struct buf *out);
/* Half of the interval, a part of the mean; so many decimals that in percent it has two digits. */
double versus_half(const struct paired *p);
int versus_decimals(const struct paired *p);
/* A command line, cut if it is long. */
void versus_put_name(const char *name, struct buf *out);
/* "new/prog: 3.1 % faster [2.6, 3.6]"; "(wall time 1.204 s to 1.167 s, 24 + 24 runs)" */
void versus_put_conclusion(const struct versus_verdict *v, struct buf *out);
void versus_put_basis(const struct versus_verdict *v, struct buf *out);
/* "less", "more", "none" or "unknown" */
const char *versus_difference_name(const struct versus_verdict *v);
/* How intervals are to be read. */
void versus_put_rule(const struct versus_rule *rule, const char *what, struct buf *out);

/* Verdicts, one of each value of a sweep, in an output format. 0 or -errno. */
int versus_verdicts_write(const struct versus_verdict *v, size_t nr, const char *format,
			  unsigned width, struct buf *out);
/* Each run, as csv. */
#define VERSUS_RUN_HEADER  "side,wall_seconds,cpu_seconds,peak_bytes,page_faults\n"
#define VERSUS_RUNS_HEADER "pair," VERSUS_RUN_HEADER
extern const char *const versus_side_names[VERSUS_NR_SIDES];
/* A line's end, of a side's run. */
void versus_run_write(size_t side, const struct versus_run *run, struct buf *out);
void versus_runs_write(const struct versus_runs *runs, struct buf *out);

/* --- the recordings, in a folder */

/* What cpuperf_print has of both, in a format, to fd. is_report: the differences, else all. Its
 * exit status or -errno. */
int versus_compare(const char *folder, const char *format, bool is_report, int fd);
/* Rows of ndjson: the significant differences, of which lists take turns, as not all may find room.
 * Without them after a failure. */
void versus_read_differences(const char *folder, struct buf *out);

/* --- the whole */

/* args: the program's own options. Returns the exit status. versus_or_sweep runs what is asked,
 * also --causal. */
int versus_or_sweep(struct options *o, int nr_args, char **args);
int versus(struct options *o, int nr_args, char **args);

#endif
