/*
 * Progress points: places in a program of which the visits can be counted while it runs
 * (--progress).
 *
 *   NAME           of a progress point of coz's macros, which counts in the memory of the
 *                  experiment (with COZ_BEGIN and COZ_END it counts at the latter, and has a
 *                  latency, by Little's law); or a region or a mark of cpuperf/mark.h (a region
 *                  counts when it ends, and has a latency)
 *   function:NAME  calls of a function, counted by a breakpoint
 *
 * Threads: one uses a point; the thread of the wire passes marks.
 */
#ifndef CPUPERF_CAUSAL_POINTS_H
#define CPUPERF_CAUSAL_POINTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct causal_attached;
struct causal_point;
struct causal_shared;
struct err;
struct machine;
struct wire_config;

/* Cumulative, up to a time. */
struct causal_visits {
	uint64_t nr;
	double nr_timed; /* regions of that name that ended, and their latencies: */
	uint64_t timed_ns;
	uint64_t paid_ns;          /* of these, where each was measured: not of virtual time */
	uint64_t looks, met, late; /* of causal_flow: by Little's law; 0: each was measured */
	uint64_t lost;             /* marks, of any name */
};

/* The name of the region that the point of --progress may be, borrowed; NULL: it is none. */
const char *causal_point_region(const char *text);
/* text: of --progress, borrowed; NULL: it only sees which marks there are. needs_marks: they are
 * received in any case. 0 or -errno with *e. */
int causal_point_open(const char *text, bool needs_marks, const struct machine *m,
		      struct causal_point **out, struct err *e);
/* Whether the program has passed some mark so far. */
bool causal_point_has_marks(struct causal_point *p);
/* How many were lost so far, of all runs. */
uint64_t causal_point_lost(struct causal_point *p);
void causal_point_close(struct causal_point *p); /* NULL is fine */
/* Sets what the point needs of the wire, and who may connect: also the processes of attached,
 * borrowed. */
void causal_point_listen(struct causal_point *p, const struct causal_attached *attached,
			 struct wire_config *config);
/* The command runs, as this process; or a process that runs already is measured, too. */
void causal_point_begin_run(struct causal_point *p, pid_t pid);
/* What was counted until now; takes up to some ms. s: as the run has it. Returns the time,
 * CLOCK_MONOTONIC. */
uint64_t causal_point_read(struct causal_point *p, const struct causal_shared *s,
			   struct causal_visits *out);
/* Looks at what is under way, of a point with COZ_BEGIN and COZ_END, as the run has it. Returns
 * when to do it again; UINT64_MAX: no need. */
uint64_t causal_point_look(struct causal_point *p, const struct causal_shared *s);
/* Adds what the program has passed so far and could be a point: "a, b". */
void causal_points_list(struct causal_point *p, const struct causal_shared *s, struct buf *out);

#endif
