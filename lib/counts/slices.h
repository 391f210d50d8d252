/*
 * What the samples of traces add up to in slices of time, kept so that a series of the same slices
 * need not read them again: up to a million, of one session. Not thread-safe.
 */
#ifndef COUNTS_SLICES_H
#define COUNTS_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counts_slices;

struct counts_slice {
	uint32_t event;
	uint64_t start_ns, end_ns;
	uint64_t nr, weight; /* of its samples */
};

/* Of one trace. */
struct counts_slices_trace {
	uint32_t iteration, trace; /* the key */
	bool is_whole;             /* all are there */
	struct counts_slice *item; /* owned; in the order in which they were added */
	size_t nr;
	size_t room;
};

struct counts_slices *counts_slices_new(void);    /* NULL: no memory */
void counts_slices_free(struct counts_slices *k); /* NULL is fine */

/* Those of the trace, valid until the next call; NULL: they are not whole, or k is NULL. */
const struct counts_slices_trace *counts_slices_find(const struct counts_slices *k,
						     uint32_t iteration, uint32_t trace);
/* Begins those of the trace anew, which is then the current one. */
void counts_slices_begin(struct counts_slices *k, uint32_t iteration, uint32_t trace);
/* Adds one to the current trace. Without memory, or when there are too many, it has none. */
void counts_slices_add(struct counts_slices *k, const struct counts_slice *slice);
/* The current trace ends; unless it is whole, its slices are removed. */
void counts_slices_end(struct counts_slices *k, bool is_whole);

#endif
