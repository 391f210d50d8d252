/*
 * Whether a session samples too often for what it may use of a CPU (max_own_cpu), and how much
 * less often it samples then. Numbers only: run.c opens the events anew.
 *
 * After each iteration the CPU time of this process is compared with the limit, and rates are
 * divided by what follows from it (plan.divisor; plan_rate and plan_frequency are what is opened).
 * If half the rate saved less than a tenth, it is taken back: then the cost does not depend on
 * rates, and a lower rate saves nothing.
 *
 * All events are then opened anew, as for runs, since the kernel changes the period neither of
 * what tasks inherited nor of programs that sample waits. The gap is stated like one between
 * windows. The events frame has the rate of the spec, so that columns and sessions compare; an
 * attr has the rate in force, by which samples weigh; the divisor is a frame of each trace, by
 * which samples are expected (table_sampling).
 */
#ifndef SESSION_PACE_H
#define SESSION_PACE_H

#include "plan/notes.h"
#include "plan/plan.h"

struct session_pace {
	uint64_t max;              /* of a CPU, in 1e-9 percent; 0: any */
	uint64_t used_ns, time_ns; /* at the end of the last iteration, or after the last change */
	unsigned nr_above, nr_below; /* iterations in a row */
	uint64_t above;              /* sum of what those above used */
	unsigned nr_calm;            /* iterations in a row that are not above max */
	/* What was used until rates were halved, while use is above max since; or 0. */
	uint64_t before;
	uint64_t held; /* the use that half the rate did not lower; 0: none */
	/* Rows above max since then, and those after which it is tried again. */
	uint32_t nr_held, hold;
	bool has_noted_limit; /* a note said why rates stay as they are */
};

/* Begins to measure. used_ns: the CPU time of this process so far. */
void pace_begin(struct session_pace *p, uint64_t used_ns, uint64_t now_ns);
/*
 * After an iteration: the number by which rates are to be divided from the next one on; the plan's,
 * if nothing changes. Adds a note of what is done, or once of why nothing can be. The caller calls
 * pace_begin after a change, so that what it cost is not in the next iteration.
 */
uint32_t pace_next(struct session_pace *p, const struct plan *plan, uint32_t iteration,
		   uint64_t used_ns, uint64_t now_ns, struct notes *notes);

#endif
