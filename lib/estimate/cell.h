/*
 * The arithmetic of a tally: from two raw readings to a number, and from numbers to their sum. The
 * live table and cpuperf_print share it. Independent of where readings come from and of how
 * numbers are shown.
 */
#ifndef ESTIMATE_CELL_H
#define ESTIMATE_CELL_H

#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of a cell. */
enum cell_state {
	CELL_NONE = 0, /* blank: this trace has no result for the event */
	CELL_OK,
	CELL_NOT_COUNTED, /* it never ran in this span, the base did not move, or nobody knows where
			   it began: no number */
	CELL_OFFLINE,     /* partial: counted until the CPU went away */
	CELL_NOT_SUPPORTED,
	CELL_NO_PERMISSION,
	CELL_LIMIT,
	CELL_FAILED,
	CELL_NA, /* of a metric: an operand has no number, or there is no result */
	CELL_NR_STATES
};

/* "", "ok", "not counted", "offline", "not supported", "no permission", "limit reached", "failed",
 * "n/a" */
const char *cell_state_name(enum cell_state s);
/* What a reading's state (enum reading_state, or anything from outside) makes of a cell. */
enum cell_state cell_state_of_reading(uint32_t reading_state);

/* Where a metric is, by the limits that its spec warns of. */
enum cell_limit { CELL_WITHIN = 0, CELL_LOW, CELL_HIGH };

/* The numbers hold if cell_has_value; the rest are 0 then. */
struct cell {
	enum cell_state state;
	bool is_perf;   /* enabled_ns and running_ns hold */
	bool is_real;   /* only value holds, no exact count: shares, and what has a broken scale */
	bool is_metric; /* made of other cells: only value, the times and limit hold */
	bool is_short;  /* something that belongs to it was not seen; how much is not known */
	enum cell_limit limit;
	uint64_t count; /* exact: the count, scaled and rounded, or the value; 0 if is_real */
	double value;   /* count as a double, or the real number */
	uint64_t raw;   /* difference (count, share) or reading (value) as the kernel gave it */
	uint64_t enabled_ns, running_ns; /* differences; 0 for what is no perf event */
	uint64_t base;                   /* difference of the base; 0 where there is none */
	uint64_t time_ns;                /* when the end was read, CLOCK_MONOTONIC */
	uint64_t span_ns;    /* between the two readings; 0 for an instantaneous value */
	uint32_t nr_with;    /* of a sum over CPUs, or many things: those that are in it */
	uint32_t nr_without; /* those that should be in it but have no number */
};

bool cell_has_value(const struct cell *c); /* CELL_OK or CELL_OFFLINE */
/* The number is partial: a CPU went offline, a CPU or thing is missing from the sum, a part of a
 * thing ended between two readings, or an operand is partial. */
bool cell_is_partial(const struct cell *c);
/* cell_state_name, and of a number that lacks something "partial: 5 of 111", or "partial"
 * where it is not known of how many. Uses out, or not. */
enum { CELL_STATE_BYTES = 48 };
const char *cell_state_text(const struct cell *c, char out[CELL_STATE_BYTES]);
/* That without a CPU that went away; and whether it lacks more than the other, which may be zeroes.
 */
bool cell_is_short(const struct cell *c);
bool cell_is_shorter(const struct cell *c, const struct cell *than);
/* running / enabled in 0 … 1; 1 if it was not multiplexed or has no such times. */
double cell_running_share(const struct cell *c);
/* count per second of the real span; 0 if the span is 0 or there is no value. */
double cell_rate(const struct cell *c);

/*
 * The cell of one event over one iteration; either reading may be NULL.
 * - no end: CELL_NONE. No start (but for values): CELL_FAILED, there is nothing to subtract.
 * - count: Δraw, and if it ran for less than it was enabled, Δraw × Δenabled / Δrunning.
 *   A perf event (any of the four times is not 0) that did not run in the span is
 *   CELL_NOT_COUNTED, also when the span is empty; what is no perf event counts 0 then. Where
 *   the base grew something ended between two readings: is_short.
 * - share: 100 × Δraw / Δbase; CELL_NOT_COUNTED if the base did not move.
 * - what went backwards, or is beyond 64 bits when scaled, has no number: CELL_FAILED; a share
 *   (whose parts may go back a little in the kernel) CELL_NOT_COUNTED.
 */
void cell_make(enum event_kind kind, const struct reading *start, const struct reading *end,
	       struct cell *out);
/* What is shown is count × scale (bytes of memory, joules, degrees): applies it to a cell that
 * cell_make made. A whole scale keeps the count exact (beyond 64 bits: CELL_FAILED), another one
 * makes it real; a value is signed then. 0 stands for 1; shares have none. */
void cell_scale(enum event_kind kind, double scale, struct cell *c);
/*
 * Adds a further part of the same event on the same CPU (a box of memory) to the cell of the first:
 * each was scaled by its own times. A part without a number leaves the cell without one, in the
 * part's state: a sum that lacks a part is wrong.
 */
void cell_join(enum event_kind kind, struct cell *c, const struct cell *part);
/*
 * Adds a cell into a total over CPUs (all zero at first): counts add up, shares add raw and base,
 * values do not add: the total of a value is that of its single row, CELL_NONE with several.
 * Its span is the longest of theirs.
 * Cells without a number enter no sum, but a total of nothing else takes the state of the first. A
 * cell that is a sum itself stands for all that it was made of.
 * A sum beyond 64 bits is CELL_FAILED.
 */
void cell_total(enum event_kind kind, struct cell *total, const struct cell *c);

/* How far the numbers of several cells can be trusted. Initialise with running = 1. */
struct cell_quality {
	uint64_t nr_with, nr_without; /* cells with and without a number */
	enum cell_state state;        /* of the last cell without */
	double running;               /* the smallest running share */
	struct cell least;            /* the cell that lacks most; zeroes if none lacks anything */
};
void cell_quality_add(struct cell_quality *q, const struct cell *c);

#endif
