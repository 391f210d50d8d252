/*
 * One row of an unwind table: how to get from a place in a function to its caller. Nearly all rows
 * are of one simple shape, which this holds in few bytes; the rest are marked as hard. Knows
 * nothing of where rows come from.
 */
#ifndef UNWIND_ROW_H
#define UNWIND_ROW_H

#include "unwind/frame.h"

enum unwind_row_kind {
	UNWIND_ROW_UNKNOWN = 1, /* there is no file that could have a table */
	UNWIND_ROW_NONE,        /* the tables say nothing of the place */
	UNWIND_ROW_OUTERMOST,   /* it has no caller */
	UNWIND_ROW_PLAIN,
	UNWIND_ROW_HARD, /* expressions: the source of the row steps itself */
};

enum { UNWIND_MAX_SAVED = 13 };

struct unwind_row {
	uint8_t kind;    /* enum unwind_row_kind */
	bool is_signal;  /* the caller was interrupted, and did not call */
	uint8_t cfa_reg; /* the caller's stack pointer is this register … */
	uint8_t ra_reg;  /* where the return address is: a register; UNWIND_NO_REG: … */
	int32_t cfa_off; /* … and this */
	int32_t ra_off;  /* … on the stack, at the caller's stack pointer and this */
	uint8_t nr_saved;
	uint8_t saved_reg[UNWIND_MAX_SAVED]; /* registers that are on the stack: at … */
	int32_t saved_off[UNWIND_MAX_SAVED]; /* … the caller's stack pointer and this */
};

/* To the caller, by a plain row. Goes on, or why not: f is half changed then. */
int unwind_row_apply(const struct unwind_row *r, struct unwind_frame *f);

/* The end of any step by a table: from the registers that were put into place (kept: bits of those
 * that are known now) to the caller. Refuses what does not get nearer to the stack's beginning. */
struct unwind_arrival {
	uint64_t sp, ra, kept;
	bool ra_was_lr, is_signal;
};
int unwind_frame_arrive(struct unwind_frame *f, const struct unwind_arrival *a);

#endif
