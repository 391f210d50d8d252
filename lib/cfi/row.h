/*
 * One row of an unwind table: how to get from a place in a function to its caller. Nearly all rows
 * have one simple shape, which this holds in few bytes; the others are marked as hard. Independent
 * of where rows come from.
 */
#ifndef CFI_ROW_H
#define CFI_ROW_H

#include "cfi/frame.h"

enum cfi_row_kind {
	CFI_ROW_UNKNOWN = 1, /* there is no file that could have a table */
	CFI_ROW_NONE,        /* the tables have no entry for the place */
	CFI_ROW_OUTERMOST,   /* it has no caller */
	CFI_ROW_PLAIN,
	CFI_ROW_HARD, /* apply the rules (cfi_rules_apply): they do not fit into a row */
};

enum { CFI_MAX_SAVED = 13 };

struct cfi_row {
	uint8_t kind;    /* enum cfi_row_kind */
	bool is_signal;  /* the caller was interrupted, and did not call */
	uint8_t cfa_reg; /* the caller's stack pointer is this register … */
	uint8_t ra_reg;  /* where the return address is: a register; CFI_NO_REG: … */
	int32_t cfa_off; /* … and this */
	int32_t ra_off;  /* … on the stack, at the caller's stack pointer and this */
	uint8_t nr_saved;
	uint8_t saved_reg[CFI_MAX_SAVED]; /* registers that are on the stack: at … */
	int32_t saved_off[CFI_MAX_SAVED]; /* … the caller's stack pointer and this */
};

/* Steps to the caller by a plain row. Unless it goes on, f is half changed. */
enum cfi_end cfi_row_apply(const struct cfi_row *r, struct cfi_frame *f);

/* The end of any step by a table: from the registers as they were loaded to the caller. Fails with
 * CFI_SENSELESS unless the stack pointer moves toward the stack's beginning. */
struct cfi_arrival {
	uint64_t sp, ra;
	uint64_t known; /* bits: the registers that are known now */
	bool ra_was_lr, is_signal;
};
enum cfi_end cfi_frame_arrive(struct cfi_frame *f, const struct cfi_arrival *a);

#endif
