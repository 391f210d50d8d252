/*
 * Reads a session while it is recorded: its iterations as they end, within a budget of CPU time.
 * Of many samples a part is read, chosen by chance, so that each iteration is. The newest are read
 * first; what the budget does not allow waits, and is dropped when it is older than the last
 * seconds. What children of this process use is charged, too.
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
	uint64_t children_ns; /* what they used; charged */
	uint64_t cost_ns;     /* of reading an iteration, of late at most */
	uint32_t every;       /* one of so many samples of an iteration is read; 0: not known yet */
	uint64_t nr_samples;  /* taken, in the iterations read */
	uint64_t read_ns;     /* the CPU time when the last ones were read */
	uint32_t nr_ended;    /* and how many had ended */
	uint64_t shares_ns[8], used_ns[8]; /* the last times and what had been used */
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
