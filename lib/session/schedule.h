/*
 * The windows of a session: gaps and captures, one after the other. Their deadlines lie on a grid
 * from the start of each window, so that a late boundary delays no later one.
 *
 * In a gap all events but the side band are disabled. Nothing is reset, and what tasks inherited
 * keeps its counts: the start of a capture is read after the events are enabled, and samples
 * before it are dropped.
 *
 * With windows, exec must not enable the events of a task. So they are opened enabled and disabled
 * at once: ARM's check of a group's size skips disabled leaders without enable_on_exec, and would
 * let groups pass that do not fit. The clock process_cputime must go on in gaps: it has task-clock
 * events of its own (cputime.h).
 */
#ifndef SESSION_SCHEDULE_H
#define SESSION_SCHEDULE_H

#include "plan/plan.h"
#include "session/cputime.h"
#include "trace/trace.h"

/* A time on a clock. SPEC_REALTIME: CLOCK_MONOTONIC; SPEC_PROCESS_CPUTIME: cputime_ns. */
struct deadline {
	enum spec_clock clock;
	uint64_t at_ns;
};

struct schedule {
	const struct plan *plan; /* borrowed */
	struct cputime cputime;  /* open if a window is on this clock */
	size_t window;           /* of the next capture, or the one in progress; as below */
	uint64_t cycle;
	uint64_t base_ns;    /* where its delay begins, on the window's clock */
	uint64_t capture_ns; /* when it began, on the same clock */
	struct trace_window capture;
};

/* 0 or -errno: the CPU time of the target cannot be counted. */
int schedule_open(struct schedule *s, const struct plan *plan, const struct pmu_ops *pmu);
void schedule_close(struct schedule *s); /* zeroes are fine */

/* The first window begins at now_ns (CLOCK_MONOTONIC). */
void schedule_begin(struct schedule *s, uint64_t now_ns);
/* The end of the gap before the next capture. */
struct deadline schedule_gap_end(const struct schedule *s);
/* The capture has begun. Its end. */
struct deadline schedule_capture(struct schedule *s);
/* The capture has ended: completes s->capture, and goes on to the next one. */
void schedule_end_capture(struct schedule *s, const struct deadline *end);

/* How long to sleep before the deadline can be over; 0: it is over. */
uint64_t schedule_left_ns(struct schedule *s, const struct deadline *d);

#endif
