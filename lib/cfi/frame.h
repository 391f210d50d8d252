/*
 * The state of a stack while it is unwound: a function's registers, as far as they are known, and
 * the readable bytes of its stack.
 */
#ifndef CFI_FRAME_H
#define CFI_FRAME_H

#include "cfi/machine.h"

/* The result of a step or of a part of it. */
enum cfi_end {
	CFI_GOES_ON,
	CFI_WHOLE,     /* the outermost function was reached */
	CFI_TRUNCATED, /* the stack continues beyond the readable bytes */
	CFI_NO_TABLE,  /* no unwind table, and no valid frame pointer */
	CFI_INVALID,   /* no progress toward the stack's start, or outside the stack */
};

struct cfi_stack {
	const uint8_t *bytes;
	uint64_t start, len; /* address of the first byte, number of bytes */
};

struct cfi_frame {
	const struct cfi_machine *machine;
	struct cfi_stack stack;
	uint64_t pc;
	uint64_t reg[CFI_MAX_REGS]; /* by DWARF number */
	uint64_t known;             /* bits: the known registers */
	bool is_exact;              /* pc is the interrupted instruction, not a return address */
};

/* Reads a word of the stack: CFI_GOES_ON, CFI_TRUNCATED or CFI_INVALID. */
enum cfi_end cfi_frame_word(const struct cfi_frame *f, uint64_t address, uint64_t *out);

/* False: the value is not known. */
bool cfi_frame_reg(const struct cfi_frame *f, uint64_t number, uint64_t *out);
void cfi_frame_set(struct cfi_frame *f, unsigned number, uint64_t value);

/* The address to look up in tables: a return address minus 1 is inside its call. */
uint64_t cfi_frame_lookup(const struct cfi_frame *f);

/*
 * Steps to the caller by the frame pointer, which points to the caller's frame pointer, followed by
 * the return address. CFI_WHOLE at the end of the chain; CFI_NO_TABLE if it does not point upward
 * into the stack; CFI_TRUNCATED.
 */
enum cfi_end cfi_frame_by_pointer(struct cfi_frame *f);
/* Steps to the frame that a signal interrupted, by the frame that Linux pushed (struct rt_sigframe
 * of arm64). */
enum cfi_end cfi_frame_by_sigframe(struct cfi_frame *f);
/* Steps out of the vdso of i386, whose file is unknown: from a system call (__kernel_vsyscall),
 * from the code to which a handler returns, else by the frame pointer. CFI_NO_TABLE: no valid
 * frame. */
enum cfi_end cfi_frame_by_vdso32(struct cfi_frame *f);

#endif
