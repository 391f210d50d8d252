/*
 * Commands that run in turns, unobserved, until enough is known: the two of --versus, those of each
 * value of --sweep, or both. Rounds go forth and back (a b c, c b a, …), so that what drifts adds
 * to one round what it takes from the other.
 *
 * The commands are a list: two of --versus, one for each value of --sweep, or two for each value
 * with both. A process that was made as early as that of a command makes those of all measured
 * runs (runner.c): their argv is sent to it before each, and what wait4 returns is all that
 * is measured.
 */
#ifndef CPUPERF_TURNS_H
#define CPUPERF_TURNS_H

#include "versus/versus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct options;

enum { TURNS_NAME_BYTES = 64 };

/* One of the commands. */
struct turns_arm {
	char *const *argv;           /* borrowed */
	char *const *prepare;        /* runs before each run, not measured; borrowed; NULL: none */
	char name[TURNS_NAME_BYTES]; /* in messages: "old" */
};

struct turns {
	const struct options *o;
	struct versus_runner *runner;
	struct versus_rule rule;
	char **setup, **prepare, **cleanup; /* as the options have them; NULL: none */
	const struct turns_arm *arm;        /* borrowed */
	size_t nr_arms;
	/* Looks at all whole rounds, and sets is_known. 0 or -ENOMEM. */
	int (*look)(struct turns *t, void *arg);
	/* What is known, for the terminal. */
	void (*put_status)(const struct turns *t, const void *arg, struct buf *out);
	/* In place of the first runs: may set the arms. NULL: there is nothing to do. 0 or -errno
	 * with *e. */
	int (*survey)(struct turns *t, void *arg, struct err *e);
	/* Before and after a run that is measured, of that arm; both or none. The second may change
	 * what was measured. 0 or -errno with *e. */
	int (*begin)(struct turns *t, size_t arm, void *arg, struct err *e);
	int (*end)(struct turns *t, size_t arm, struct versus_run *run, void *arg, struct err *e);
	void *arg;

	struct versus_run *run; /* run[round * nr_arms + arm] */
	size_t nr_rounds;       /* whole ones */
	double seconds;         /* that they took, at the last look */
	bool is_known;          /* else the time was over before */
	/* for turns.c */
	size_t nr_runs, room, nr_looked;
	bool is_strict; /* at_most was asked: also of the least number of rounds */
	uint64_t begin_ns;
};

/* Sets the rule and the commands beside, by the options. 0 or -errno with *e. */
int turns_init(struct turns *t, const struct options *o, struct err *e);
void turns_fini(struct turns *t);
/* A command line of an option, as words, for mem_free; NULL has none. 0 or -errno with *e. */
int turns_split(const char *option, const char *text, char ***out, struct err *e);

/* From here on signals end the runs, and not this program. */
void turns_catch_signals(struct turns *t);
/* The signal that came; 0: none. */
int turns_caught(void);
/* Setup, a first run of each that is not measured, then rounds until the rule is met, or a signal
 * came. 0 or -errno with *e. */
int turns_run(struct turns *t, struct err *e);
/* What turns_run does, in parts: the commands of --setup and --prepare, if there are some; a run of
 * an arm that is not measured, and whose error has what it says. 0 or -errno with *e. */
int turns_set_up(struct turns *t, struct err *e);
int turns_prepare(struct turns *t, struct err *e);
int turns_try(struct turns *t, size_t arm, struct err *e);
/* Runs this program itself, with the options, then the command; both end with NULL. 0 or -errno
 * with *e. */
int turns_run_self(struct turns *t, char *const *options, char *const *command,
		   struct versus_run *out, struct err *e);
/* Runs the command of --cleanup, if there is one; its failure is a warning. */
void turns_clean_up(struct turns *t);
/* Whether a run ended well: 0, or -EIO with *e, which says in words what did not. */
int turns_check_end(const struct turns *t, const char *program, const char *what, int status,
		    struct err *e);
/* The program's exit status of what was printed (EXIT_DONE, EXIT_FAILED or another one), unless a
 * signal came. */
int turns_status(int printed);
/* The exit status of an error: a command that cannot be executed has one of its own. */
int turns_status_of(const struct err *e);

/* True if progress is shown: a person reads standard error. */
bool turns_show_progress(const struct turns *t);
#define TURNS_ERASE "\r\033[K"
/* Shows what is known so far, if a person looks. */
void turns_show(const struct turns *t);

/* Opens or makes the folder of results. header: the first line of its file of runs, by which an
 * existing folder is recognised as ours. A descriptor, or -errno with *e. */
#define TURNS_RUNS_FILE "runs.csv"
int turns_open_folder(const char *path, const char *header, struct err *e);
/* Writes the file of runs. A failure is a warning. */
void turns_save_runs(int dir, const char *folder, const struct buf *runs);

#endif
