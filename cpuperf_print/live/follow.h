/*
 * Reads a session while it is recorded: its iterations as they end, within a budget of CPU time.
 * Of many samples a part is read, chosen by chance, so that each iteration is. The newest are read
 * first; what the budget does not allow waits, and is dropped when it is older than the last
 * seconds. What children of this process use is charged, too.
 *
 *     iterations that have ended --+-> report/sums.h: rows by function, by thread ----+ no filter
 *                                  +-> report/kept.h: entries by stack, thread, CPU   |
 *                                        +-> report/flat.h, calls.h ------------------+ a filter
 *     dashboard/top.h: order, search <-- view.h: rows of the last seconds and of all <+
 *
 * Each look opens the session anew (profile/growth.h), so the cost follows the tasks that are left
 * and the names known. Looks and readings are charged to a credit (budget.h), which grows by a
 * little less than 5 % of the time that passes. What had ended before the screen was opened waits
 * as long as nothing newer does. The screen says by how much it is behind.
 */
#ifndef CPUPERF_PRINT_LIVE_FOLLOW_H
#define CPUPERF_PRINT_LIVE_FOLLOW_H

#include "inputs.h"
#include "live/backlog.h"
#include "live/budget.h"
#include "report/engine.h"

struct report_kept;
struct report_sums;
struct selection;

/* Of one CPU, in the long run. */
#define FOLLOW_BUDGET 0.05

/* Zero-initialise; follow_init. */
struct follow {
	struct inputs *in;
	const struct selection *selection;
	struct report_sums *by_function, *by_thread; /* owned: what was read, added up */
	struct report_kept *kept;                    /* owned: what was read */
	struct report_stats stats;                   /* of it */
	struct report_sink sink;
	struct backlog backlog;
	bool is_over; /* the session has ended */
	uint64_t looked_ns;
	uint64_t smaller_ns; /* the last look before `end` was found */
	bool has_names;
	double span_s; /* of an iteration; 0: not known yet */
	/* The budget. */
	struct budget budget;
	uint64_t children_ns; /* what children have used, as far as it was charged */
	uint64_t cost_ns;     /* of reading an iteration: the most of late */
	uint32_t every;       /* one of so many samples of an iteration is read; 0: not known yet */
	uint64_t nr_samples;  /* taken, in the iterations read */
	uint64_t read_ns;     /* the CPU time when the last ones were read */
	uint32_t nr_ended;    /* and how many had ended */
	uint64_t shares_ns[8], used_ns[8]; /* the last times, and what had been used by then */
	size_t nr_shares;
	double own_share; /* of a CPU, in the last seconds */
};

/* -errno with *e. */
int follow_init(struct follow *f, struct inputs *in, const struct selection *s, struct err *e);
void follow_fini(struct follow *f);
/* Looks for iterations that have ended if it is time to, and reads some. 1: it has read some, or
 * the session has ended; 0: there was nothing to do, or the budget allows nothing; -errno with *e:
 * what cannot be read. */
int follow_step(struct follow *f, struct err *e);
/* When to call it again. */
int follow_wait_ms(struct follow *f);
/* The first iteration of the last seconds; of more if none of them was read yet. */
uint32_t follow_recent_from(const struct follow *f);
/* The time of iterations that wait, known or, without a look for them, not. */
double follow_behind_s(const struct follow *f);

#endif
