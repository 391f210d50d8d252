/*
 * The callers of a sampled function, from the registers and stack bytes of a sample (user_stack),
 * by the unwind tables of the programs (.eh_frame, .debug_frame), for any known machine, on any
 * host. Files come from the finder. Samples and tables are hostile: steps and bytes are bounded.
 * One unwinder per thread.
 */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct elf_finder;
struct profile_lookup;
struct profile_process;
struct trace_layout;
struct trace_record;
struct unwinder;

struct unwinder_config {
	struct elf_finder *finder;     /* borrowed */
	struct profile_lookup *lookup; /* borrowed; of the same thread */
	const char *machine;           /* of the recorder: "x86_64", "aarch64" */
	const struct elf_file *vdso;   /* the recorder's, borrowed: the reader's own if it is of the
					  same boot; NULL: none */
};

enum unwind_end {
	UNWIND_WHOLE,     /* the outermost function was reached */
	UNWIND_NO_REGS,   /* the sample has no registers or stack, or of an unknown kind (a
			     kernel thread, 32 bits …) */
	UNWIND_TRUNCATED, /* the stack continues beyond the recorded bytes */
	UNWIND_NO_TABLE,  /* no unwind table, and no valid frame pointer */
	UNWIND_SENSELESS, /* it would go in circles, or outside of any stack */
	UNWIND_MAX,       /* deeper than there is room */
};
const char *unwind_end_name(enum unwind_end end); /* "truncated" … */

/* 0; -ENOTSUP: unknown machine; -ENOMEM. */
int unwinder_new(const struct unwinder_config *config, struct unwinder **out);
void unwinder_free(struct unwinder *u); /* NULL is fine */

/*
 * The user part of the stack: the sampled address first, then return addresses (not moved back by
 * one: look names up at address - 1). The sampled address, that of a frame that a signal
 * interrupted and the return address of a handler are exact: they are marked in exact (bit i % 64
 * of word i / 64, zeroed by the callee; NULL is fine). Returns the number of addresses; *end: why
 * no more.
 */
size_t unwind_user(struct unwinder *u, const struct profile_process *process, uint64_t time_ns,
		   const struct trace_layout *layout, const struct trace_record *sample,
		   uint64_t *out, size_t max, uint64_t *exact, enum unwind_end *end);

/*
 * For samples with a callchain by frame pointers and a short piece of stack: the return addresses
 * that the chain lacks between its first and second address, by the unwind tables. These are the
 * sampled function's, if it has no frame (or not yet, or no more), and those of callers without
 * frames, up to the frame that the chain begins with, or to the end of the piece. Insert them
 * behind the first address: an address is recognized by its place on the stack, not by its value,
 * so that recursion is not folded. 0: none is lacking, or nothing is known. *is_whole: the
 * outermost function was reached without the frame that the chain begins with, so the chain behind
 * its first address is accidental, as in programs that use the frame pointer register for other
 * things.
 */
size_t unwind_to_chain(struct unwinder *u, const struct profile_process *process, uint64_t time_ns,
		       const struct trace_layout *layout, const struct trace_record *sample,
		       uint64_t *out, size_t max, bool *is_whole);

#endif
