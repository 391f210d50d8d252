/*
 * A row of an unwind table: how to step from an address to its caller. Nearly all rows have one
 * simple shape, which fits into a few bytes; the others are marked as hard.
 */
#ifndef CFI_ROW_H
#define CFI_ROW_H

#include "cfi/frame.h"

enum cfi_row_kind {
	CFI_ROW_UNKNOWN = 1, /* no file with tables */
	CFI_ROW_NONE,        /* the tables have no entry for the address */
	CFI_ROW_POINTER,     /* nor for much else around it, which keeps frame pointers instead */
	CFI_ROW_OUTERMOST,   /* no caller */
	CFI_ROW_PLAIN,
	CFI_ROW_HARD, /* too complex for a row: apply the rules (cfi_rules_apply) */
};

enum { CFI_MAX_SAVED = 13 };

struct cfi_row {
	uint8_t kind;    /* enum cfi_row_kind */
	bool is_signal;  /* the caller was interrupted by a signal */
	uint8_t cfa_reg; /* the CFA (the caller's stack pointer) is this register … */
	uint8_t ra_reg; /* the register of the return address; CFI_NO_REG: it is on the stack … */
	int32_t cfa_off; /* … plus this */
	int32_t ra_off;  /* … at the CFA plus this */
	uint8_t nr_saved;
	uint8_t saved_reg[CFI_MAX_SAVED]; /* registers saved on the stack, at … */
	int32_t saved_off[CFI_MAX_SAVED]; /* … the CFA plus this */
};

/* Steps to the caller by a plain row. If it fails, *f is invalid; after CFI_TRUNCATED as before. */
enum cfi_end cfi_row_apply(const struct cfi_row *r, struct cfi_frame *f);

/* The last part of a step: f->reg has the loaded registers. CFI_INVALID unless the stack pointer
 * moves toward the stack's start. */
struct cfi_arrival {
	uint64_t sp, ra;
	uint64_t known; /* bits: the registers known now */
	bool ra_was_lr, is_signal;
};
enum cfi_end cfi_frame_arrive(struct cfi_frame *f, const struct cfi_arrival *a);

#endif
