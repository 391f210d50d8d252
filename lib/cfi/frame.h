/*
 * The state of a stack that is being unwound: the registers as a function had them, as far as they
 * are known, and the bytes of stack that may be read. Independent of tables.
 */
#ifndef CFI_FRAME_H
#define CFI_FRAME_H

#include "cfi/machine.h"

/* What a step, or a part of it, results in. */
enum cfi_end {
	CFI_GOES_ON,
	CFI_WHOLE,     /* the outermost function was reached */
	CFI_TRUNCATED, /* the stack continues beyond the bytes that may be read */
	CFI_NO_TABLE,  /* no unwind table, and no valid frame pointer */
	CFI_SENSELESS, /* it would go in circles, or outside of any stack */
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
	uint64_t known;             /* bits: which of them are known */
	bool is_exact;              /* pc is where it was interrupted, not a return address */
};

/* Reads a word of the stack: CFI_GOES_ON, CFI_TRUNCATED or CFI_SENSELESS. */
enum cfi_end cfi_stack_word(const struct cfi_stack *s, uint64_t address, uint64_t *out);

/* Reads a register; false if its value is not known. */
bool cfi_frame_reg(const struct cfi_frame *f, uint64_t number, uint64_t *out);
void cfi_frame_set(struct cfi_frame *f, unsigned number, uint64_t value);

/* The address to look up in tables: a return address belongs to the call before it. */
uint64_t cfi_frame_lookup(const struct cfi_frame *f);

/*
 * Steps to the caller by the frame pointer: it points at the caller's frame pointer, behind which
 * the return address is. CFI_WHOLE at a chain's end; CFI_NO_TABLE if it does not point upward into
 * the stack; or CFI_TRUNCATED.
 */
enum cfi_end cfi_frame_by_pointer(struct cfi_frame *f);
/* Steps to the frame that a signal interrupted, by what Linux left on the stack (struct rt_sigframe
 * of arm64). */
enum cfi_end cfi_frame_by_sigframe(struct cfi_frame *f);

#endif
