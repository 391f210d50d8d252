/*
 * The callers of a sampled function, from the registers and the stack bytes that a sample holds
 * (user_stack), by the unwind tables of the programs (.eh_frame, .debug_frame), of any machine that
 * is known, whatever this runs on. Opens no file: what it needs of programs comes from the finder.
 * Every sample and every table is hostile: steps and bytes are bounded. One unwinder per thread.
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
	UNWIND_NO_REGS,   /* no registers or stack in the sample, or of a kind that is not known (a
			     kernel thread, 32 bits …) */
	UNWIND_TRUNCATED, /* it goes on beyond the bytes of stack that were recorded */
	UNWIND_NO_TABLE,  /* code without unwind table, and no frame pointer that makes sense */
	UNWIND_SENSELESS, /* it would go in circles, or outside of any stack */
	UNWIND_MAX,       /* deeper than there is room */
};
const char *unwind_end_name(enum unwind_end end); /* "truncated" … */

/* -ENOTSUP: nothing unwinds this machine's stacks. */
int unwinder_new(const struct unwinder_config *config, struct unwinder **out);
void unwinder_free(struct unwinder *u); /* NULL is fine */

/*
 * The user part of the stack: addresses, the sampled one first, then return addresses (not moved
 * back by one: look names up at address - 1). But for the sampled one, for a frame that a signal
 * interrupted, and for what its handler returns to, whose addresses are exact: their places in *out
 * are marked in exact (bit i % 64 of word i / 64, zeroed by the callee; NULL is fine). Returns how
 * many there are, and why no more.
 */
size_t unwind_user(struct unwinder *u, const struct profile_process *process, uint64_t time_ns,
		   const struct trace_layout *layout, const struct trace_record *sample,
		   uint64_t *out, size_t max, uint64_t *exact, enum unwind_end *end);

/*
 * For samples with a callchain by frame pointers and a short piece of stack: the return addresses
 * that such a chain lacks between its first address and its second, by the unwind tables: those of
 * the sampled function, if it keeps no frame of its own (or not yet, or no more), and of its
 * callers without frames, up to the one whose frame the chain begins with, or as far as the piece
 * goes. They belong behind the first address as they are: whether the chain has one already is told
 * by where it lies on the stack, not by its value, so that recursion is not folded. 0: it lacks
 * none, or nothing is known. *is_whole: the outermost function was reached and none has a frame
 * that the chain begins with, so that all of it behind its first address is by chance, as in
 * programs that use the register of frame pointers for other things.
 */
size_t unwind_to_chain(struct unwinder *u, const struct profile_process *process, uint64_t time_ns,
		       const struct trace_layout *layout, const struct trace_record *sample,
		       uint64_t *out, size_t max, bool *is_whole);

#endif
