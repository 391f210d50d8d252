/*
 * The callers of a sampled function, from the registers and the stack bytes that a sample holds
 * (user_stack): through libunwind for the machine this runs on, through libdw where that cannot.
 * Opens no file: what it needs of programs comes from the finder. Every sample and every table is
 * hostile: steps and bytes are bounded. One unwinder per thread.
 */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

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
 * back by one: look names up at address - 1). But for a frame that a signal interrupted, whose
 * address is exact: its place in *out is marked in exact (bit i % 64 of word i / 64, zeroed by the
 * callee; NULL is fine). Returns how many there are, and why no more.
 */
size_t unwind_user(struct unwinder *u, const struct profile_process *process, uint64_t time_ns,
		   const struct trace_layout *layout, const struct trace_record *sample,
		   uint64_t *out, size_t max, uint64_t *exact, enum unwind_end *end);

/*
 * For samples with a callchain by frame pointers and a short piece of stack: the return address
 * into the caller of the sampled function, which such a chain lacks where the function keeps no
 * frame of its own. One step by the unwind table. 0: not known.
 */
uint64_t unwind_leaf_caller(struct unwinder *u, const struct profile_process *process,
			    uint64_t time_ns, const struct trace_layout *layout,
			    const struct trace_record *sample);

#endif
