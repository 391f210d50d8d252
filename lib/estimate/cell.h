/*
 * The arithmetic of a tally: two raw readings to a number, scaled by its running share, and numbers
 * to their sum. The live table and cpuperf_print share it.
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
	CELL_NOT_COUNTED, /* no number: it never ran in this span, the base did not change, or its
			     start is unknown */
	CELL_OFFLINE,     /* partial: counted until the CPU went away */
	CELL_NOT_SUPPORTED,
	CELL_NO_PERMISSION,
	CELL_LIMIT,
	CELL_FAILED,
	CELL_DISABLED, /* no number: it was disabled on request in all of this span */
	CELL_NA,       /* of a metric: an operand has no number, or there is no result; of a wait:
			* its number is found when the session has ended */
	CELL_NR_STATES
};

/* "", "ok", "not counted", "offline", "not supported", "no permission", "limit reached", "failed",
 * "disabled", "n/a" */
const char *cell_state_name(enum cell_state s);
/* The cell state for a reading's state (enum reading_state, or any number of a file). */
enum cell_state cell_state_of_reading(uint32_t reading_state);

/* A metric's value against the limits of its spec. */
enum cell_limit { CELL_WITHIN = 0, CELL_LOW, CELL_HIGH };

/* Numbers are valid if cell_has_value, else 0. */
struct cell {
	enum cell_state state;
	bool is_perf;   /* enabled_ns and running_ns are valid */
	bool is_real;   /* only value is valid, not count: a share, or a scale that is no integer */
	bool is_metric; /* computed from other cells: only value, times and limit are valid */
	bool is_short;  /* a part was not read; how much is unknown */
	bool is_over;   /* more than the machine can do in the span: a part is of before */
	bool has_rest;  /* a sum that has what its parts lack: it is not short */
	enum cell_limit limit;
	uint64_t count; /* exact: the count, scaled and rounded, or the value; 0 if is_real */
	double value;   /* count as a double, or the real number */
	uint64_t raw;   /* difference (count, share) or reading (value) as the kernel returned it */
	uint64_t enabled_ns, running_ns; /* differences; 0 if not a perf event */
	uint64_t base;                   /* difference of the base; 0 if there is none */
	uint64_t time_ns;                /* when the end was read, CLOCK_MONOTONIC */
	uint64_t span_ns;    /* between the two readings; 0 for an instantaneous value */
	uint32_t nr_with;    /* of a sum over CPUs or things: the parts with a number */
	uint32_t nr_without; /* the parts without */
};

bool cell_has_value(const struct cell *c); /* CELL_OK or CELL_OFFLINE */
/* The number is partial: a CPU went offline, a CPU or thing is missing from the sum, a part of a
 * thing ended between two readings, or an operand is partial; or it is_over. */
bool cell_is_partial(const struct cell *c);
/* cell_state_name; "partial: 5 of 111" for an incomplete number, "partial" if the number of parts
 * is unknown, "more than possible". The result may be in out. */
enum { CELL_STATE_BYTES = 48 };
const char *cell_state_text(const struct cell *c, char out[CELL_STATE_BYTES]);
/* True where cell_is_partial is, except for a CPU that went offline. */
bool cell_is_short(const struct cell *c);
/* True if more parts are missing than from the other, which may be zeroes. */
bool cell_is_shorter(const struct cell *c, const struct cell *than);
/* running_share of its times; 1 if it is not a perf event. */
double cell_running_share(const struct cell *c);
/* count per second of the real span; 0 if the span is 0 or there is no value. */
double cell_rate(const struct cell *c);

/*
 * The cell of one event over one iteration; either reading may be NULL.
 * - an end with READING_DISABLED: CELL_DISABLED.
 * - no end: CELL_NONE. No start (but for values): CELL_FAILED.
 * - count: Δraw; if it ran for less than it was enabled, Δraw × Δenabled / Δrunning.
 *   A perf event (any of the four times is not 0) that did not run in the span is
 *   CELL_NOT_COUNTED, even if the span is empty; other events count 0 then. If the base grew, a
 *   part ended between two readings: is_short.
 * - share: 100 × Δraw / Δbase; CELL_NOT_COUNTED if the base did not change.
 * - a counter that decreased, or that exceeds 64 bits when scaled: CELL_FAILED; a share, whose
 * parts may decrease a little in the kernel: CELL_NOT_COUNTED.
 */
void cell_make(enum event_kind kind, const struct reading *start, const struct reading *end,
	       struct cell *out);
/* Multiplies a cell of cell_make by the event's scale (bytes of memory, joules, degrees). With a
 * whole scale the count stays exact (beyond 64 bits: CELL_FAILED); with another it becomes real,
 * and a value is signed. 0 stands for 1; shares have none. */
void cell_scale(enum event_kind kind, double scale, struct cell *c);
/*
 * Adds a further part of the same event on the same CPU (a memory box) to the cell of the first.
 * Each is scaled by its own times. A part without a number makes the cell one without, in the
 * part's state: the sum would be wrong.
 */
void cell_join(enum event_kind kind, struct cell *c, const struct cell *part);
/*
 * Adds a cell to a total over CPUs (all zero at first). Counts are summed; of shares raw and base
 * are; values are not: the total of one row is its value, of several CELL_NONE. The span is the
 * longest. Cells without a number are not summed; if all are without, the total has the state of
 * the first. A cell that is a sum counts with all its parts. A sum beyond 64 bits is CELL_FAILED.
 */
void cell_total(enum event_kind kind, struct cell *total, const struct cell *c);

/* The quality of several cells. Initialise with running = 1. */
struct cell_quality {
	uint64_t nr_with, nr_without; /* cells with and without a number */
	enum cell_state state;        /* of the last cell without */
	double running;               /* the smallest running share */
	struct cell least; /* the one with the most missing parts; zeroes: none misses any */
};
void cell_quality_add(struct cell_quality *q, const struct cell *c);

#endif
