/*
 * The addresses of a sample's stack, from its callchain, its registers and stack bytes, or its
 * sampled address alone.
 */
#ifndef REPORT_STACK_H
#define REPORT_STACK_H

#include "report/ends.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>

struct profile_lookup;
struct profile_mapping;
struct profile_process;
struct profile_processes;
struct profile_sample;
struct trace_interpreted;

enum {
	REPORT_MAX_DEPTH = 1024,   /* addresses per stack; deeper ones are dropped */
	REPORT_PIECE_BYTES = 1024, /* so few were recorded for the leaf's caller only */
};

/* Addresses, the sampled one first, as names are looked up: return addresses are moved back into
 * their calls. */
struct report_stack {
	uint64_t address[REPORT_MAX_DEPTH];
	uint8_t moved[REPORT_MAX_DEPTH]; /* how far each was moved back: 0 or 1 */
	size_t nr, nr_kernel;
	bool has_callers;    /* there is a user part, recorded with callers; then end is valid */
	enum report_end end; /* not WHOLE: unless report_stack_finish finds a start */
	uint64_t unwound[REPORT_MAX_DEPTH]; /* scratch */
};

static inline uint64_t report_stack_recorded(const struct report_stack *s, size_t i)
{
	return s->address[i] + s->moved[i];
}

/* unwinder NULL: stack bytes are ignored. with_callers false: at most the sampled address. */
void report_stack_make(struct unwinder *unwinder, const struct profile_process *process,
		       const struct profile_sample *sample, bool with_callers,
		       struct report_stack *out);

/* Adds the next caller; of one beyond the limit nothing but the end is said. */
void report_stack_add(struct report_stack *s, uint64_t address, uint8_t moved);
/* Removes the innermost nr addresses, which are the kernel's. */
void report_stack_remove(struct report_stack *s, size_t nr);

/* What the function at an address of the sample's process implies. */
typedef enum report_start report_start_fn(void *arg, uint64_t address);
/*
 * After report_stack_make with the same arguments. Removes an address outside code that the
 * callchain repeats up to its limit. Sets end to REPORT_END_WHOLE if the outermost
 * function is a start. If not, and end is REPORT_END_PIECE, unwinds the piece: the result replaces
 * the user part if it is longer or whole, and end says why it ended. Does nothing to a stack
 * without has_callers.
 */
void report_stack_finish(struct unwinder *unwinder, const struct profile_process *process,
			 const struct profile_sample *sample, report_start_fn *start, void *arg,
			 struct report_stack *s);

/* After that: puts what was interpreted in the place of the functions that interpret, if each of
 * their frames is one; else between what was called last, and what called the first. own: where the
 * interpreter's file is mapped, whose frames are parts of what it interprets; NULL: they stay. */
void report_stack_merge(const struct profile_processes *processes,
			const struct trace_interpreted *interpreted,
			const struct profile_mapping *own, bool with_callers,
			struct report_stack *s);

/* What is at an address of the process. */
enum report_code {
	REPORT_CODE_OF_FILE,
	REPORT_CODE_NAMED, /* made at run time, and a dump or a map names it */
	/* the function that was asked for, with what is inlined there (runtimes/v8.h) */
	REPORT_CODE_SCRIPT,
	REPORT_CODE_WITHOUT_NAME,
};
/* function: what the frame there is, as an address of code (profile/codes.h). */
typedef enum report_code report_code_fn(void *arg, uint64_t address, uint64_t function);
struct report_placing {
	const struct profile_processes *processes;
	bool with_native; /* what the interpreter itself does stays */
	report_code_fn *code;
	void *arg; /* of code */
};
/* The same for a language whose functions have native frames (JavaScript): puts each in the place
 * of its own, unless that has a name. */
void report_stack_place(const struct report_placing *c, const struct trace_interpreted *interpreted,
			bool with_callers, struct report_stack *s);

/* unwinder_config.maps: what the session says of the processes (struct profile_process) that the
 * lookup, borrowed, finds. */
struct unwind_maps report_stack_maps(struct profile_lookup *lookup);

/* unwinder_config.find_made, with arg a struct symbols. */
bool report_find_made(void *symbols, const struct unwind_mapping *mapping, uint64_t address,
		      uint64_t time_ns, struct unwind_made *out);
/* unwinder_config.find_method, with the same arg. */
bool report_find_method(void *symbols, const struct unwind_mapping *mapping, uint64_t method,
			uint64_t bcp, uint64_t time_ns, uint64_t *address);

#endif
