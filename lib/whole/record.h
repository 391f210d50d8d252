/*
 * The record of a sample whose stack was unwound: a callchain with all addresses, in place of
 * registers and stack bytes.
 *
 * The user's part of the callchain begins with PERF_CONTEXT_USER. That mark is repeated before an
 * address that is no return address, as of a function that a signal interrupted: readers take the
 * first address behind a mark as it is. It is also the last word of a callchain that reaches the
 * outermost function, the last two of one that ends with the stack bytes, and the last three of
 * one that leaves the stack (enum whole_end).
 *
 * The stack of who ended a wait is in its raw data, with a callchain of its own (trace/waker.h): it
 * is unwound in the same way, but the sample keeps its id, as its layout stays.
 */
#ifndef WHOLE_RECORD_H
#define WHOLE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct perf_event_attr;
struct trace_layout;
struct trace_record;

enum { WHOLE_MAX_DEPTH = 1024 }; /* as readers have */

/* Samples of that event can be unwound: they have what is needed, and ids. */
bool whole_record_is_possible(const struct perf_event_attr *attr);
/* The attr of those that were unwound, and their id. */
struct perf_event_attr whole_record_attr(const struct perf_event_attr *attr);
uint64_t whole_record_id(uint64_t id);

/* The number of the kernel's addresses in the callchain, with their mark. False: it has parts that
 * are of neither. */
bool whole_record_kernel(const struct trace_record *r, size_t *nr);

enum whole_end {
	WHOLE_END_UNKNOWN,   /* not a mark: the kernel's chain has more, or nothing has */
	WHOLE_END_START = 1, /* it reaches the outermost function */
	WHOLE_END_BYTES,     /* the stack goes on beyond the recorded bytes */
	WHOLE_END_INVALID,   /* it goes on elsewhere, as below a handler with a stack of its own */
};

struct whole_stack {
	uint64_t address[WHOLE_MAX_DEPTH];
	uint64_t exact[WHOLE_MAX_DEPTH / 64]; /* bits, as of unwind_user */
	size_t nr;
	enum whole_end end;
	bool refutes_chain; /* the kernel's chain is not used (unwinder_refutes_chain) */
};
/* Appends the record of a sample with an id, decoded from bytes in that layout, with this stack, in
 * place of its own, unless that is longer and this one is not whole: as readers do. Errors stick in
 * *out. False: readers would not see the same, unless its end is unknown; nothing is added. */
bool whole_record_add(struct buf *out, const struct trace_layout *l, const struct trace_record *r,
		      const struct whole_stack *stack);
/* Appends the record with only those bytes of the stack that were really copied, at most the first
 * max_bytes. */
void whole_record_add_short(struct buf *out, const struct trace_record *r, size_t max_bytes);

/* Appends the record, whose raw data has a waker with stack bytes (trace/waker.h), with that stack,
 * which has an address, as its program's callchain, and without the bytes. Errors stick in *out.
 * False: raw data has no room for so many addresses; nothing is added. */
bool whole_record_add_waker(struct buf *out, const struct trace_record *r,
			    const struct whole_stack *stack);
/* Appends the record with so many bytes of its waker's stack, of at least as many. */
void whole_record_add_short_waker(struct buf *out, const struct trace_record *r, uint32_t bytes);

#endif
