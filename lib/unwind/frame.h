/*
 * The state of a stack that is being unwound: the registers as a function had them, as far as they
 * are known, and the bytes of stack that were recorded. Knows nothing of tables.
 */
#ifndef UNWIND_FRAME_H
#define UNWIND_FRAME_H

#include "unwind/machine.h"
#include "unwind/unwind.h"

struct trace_layout;
struct trace_record;

/* Of a step that went well, besides the ends. */
enum { UNWIND_GOES_ON = -1 };

struct unwind_stack {
	const uint8_t *bytes;
	uint64_t start, len; /* address of the first, how many */
};

struct unwind_frame {
	const struct unwind_machine *machine;
	struct unwind_stack stack;
	uint64_t pc;
	uint64_t reg[UNWIND_MAX_REGS]; /* by DWARF number */
	uint64_t known;                /* bits: which of them are */
	bool is_exact;                 /* pc is where it was interrupted, not a return address */
};

/* From the registers and the stack of a sample. False: it has none, or not these. */
bool unwind_frame_init(struct unwind_frame *f, const struct unwind_machine *m,
		       const struct trace_layout *layout, const struct trace_record *sample);

/* A word of the stack: UNWIND_GOES_ON; UNWIND_TRUNCATED: behind what was recorded; or
 * UNWIND_SENSELESS. */
int unwind_stack_word(const struct unwind_stack *s, uint64_t address, uint64_t *out);

/* What is known of a register; false: nothing. */
bool unwind_frame_reg(const struct unwind_frame *f, uint64_t number, uint64_t *out);
void unwind_frame_set(struct unwind_frame *f, unsigned number, uint64_t value);

/* The address to look up in tables: a return address belongs to the call before it. */
uint64_t unwind_frame_lookup(const struct unwind_frame *f);

/*
 * The frame pointer's way: it points at the caller's frame pointer, behind which the return address
 * is. Goes on; UNWIND_WHOLE at a chain's end; UNWIND_TRUNCATED; UNWIND_NO_TABLE if it does not
 * point upward into the stack.
 */
int unwind_frame_by_pointer(struct unwind_frame *f);
/* The frame that a signal interrupted, from what Linux left on the stack (struct rt_sigframe of
 * arm64). */
int unwind_frame_by_sigframe(struct unwind_frame *f);

#endif
