/*
 * What goes wrong while inputs are read. Each problem is reported once, however often a file is
 * read: a warning at once, the losses of a file in one line at the end.
 */
#ifndef CPUPERF_PRINT_PROBLEMS_H
#define CPUPERF_PRINT_PROBLEMS_H

#include "base/buf.h"
#include "base/dict.h"

#include <stdbool.h>

struct err;
struct problems_held;

enum { PROBLEMS_MAX_LOGGED = 100 };

struct problems {
	bool has_loss;       /* something of an input could not be read */
	struct buf losses;   /* the first of them: a line each, ended by NUL */
	size_t nr_losses;    /* all */
	size_t nr_logged[2]; /* of warnings, of losses; more than PROBLEMS_MAX_LOGGED are counted */
	struct problems_held *held; /* owned; losses to be logged, those of one file joined */
	size_t nr_held, held_room;
	struct dict seen; /* hashes of problems: equal ones count as the same problem */
	/* Receives problems while the terminal has another use. NULL: they are logged. */
	void (*report)(void *arg, const struct err *problem);
	void *arg;
	/* Receives each problem besides. NULL: nothing does. */
	void (*also)(void *also_arg, const struct err *problem);
	void *also_arg;
};

void problems_init(struct problems *p);
/* Logs the losses, one line per file, and how many more problems there were than are logged. */
void problems_end(struct problems *p);
void problems_fini(struct problems *p);
/* Logs a warning; arg is not used. */
void problems_log(void *arg, const struct err *problem);
/* A warning of a struct problems. */
void problems_add_warning(void *problems, const struct err *problem);
/* A profile_problem_fn; problems is a struct problems. is_loss: the exit status becomes 1. */
void problems_add(void *problems, bool is_loss, const struct err *problem);

#endif
