/*
 * A process of the heap: its memory, and the last two readings of it. A program may write
 * anything into its memory: what never becomes less does not here either.
 *
 * A program's own dump is a question on the wire, whose thread requests the end of the iteration.
 * The caller waits, 2 s at most, for a number in its memory that is odd while the session reads
 * it.
 */
#ifndef HEAP_PROCESS_H
#define HEAP_PROCESS_H

#include "heap/heap.h"

struct heap_pages;

/* Of a stack's live blocks, by their pages. */
struct heap_paged {
	struct wire_heap_amount resident, untouched;
};

struct heap_process {
	uint32_t pid;
	int pidfd;                /* owned; below 0: not supported */
	struct wire_heap *memory; /* owned */
	bool is_replaced;         /* by exec: a later process has its number */
	bool has_ended;           /* at the last reading */
	bool is_unread;           /* then, for want of memory */
	bool misses_pages;        /* at the last reading */
	bool is_guessed;          /* the moment of its peak is by samples, which was noted */
	bool is_thinned;          /* not each allocation is recorded any more, which was noted */
	bool is_bypassed;         /* its heap is not measured, which was noted */
	uint32_t missed[WIRE_HEAP_NR_MISSED]; /* what it said by then */
	struct wire_heap_sums sums;
	struct wire_heap_times times;
	struct wire_heap_stack *now, *before; /* owned; at the last two readings */
	size_t nr_now, nr_before, now_room, before_room;
	/* now: it is not freed; the last search took too long; under the session's lock */
	bool is_held, was_cut;
	pthread_mutex_t lock;
	struct wire_heap_amount *unreachable; /* owned; at the last search; under this lock */
	size_t nr_unreachable;
	/* owned; by stack, when it ended by itself; NULL: it did not; under this lock */
	struct heap_paged *last_pages;
	size_t nr_last_pages;
	struct wire_heap_class classes[WIRE_HEAP_NR_CLASSES];
	struct wire_heap_class classes_before[WIRE_HEAP_NR_CLASSES];
};

void heap_process_free(struct heap_process *p);
/* The kernel says that it has ended. */
bool heap_process_is_gone(const struct heap_process *p);
/* It has ended by itself: what is live is leaked. */
bool heap_process_is_leaking(const struct heap_process *p);

/* Reads it anew; the end is looked for first: nothing is written after it. Without memory all stays
 * as it was, and is read later. pages: NULL: of none. */
void heap_process_read(const struct heap_use *h, struct heap_process *p,
		       const struct heap_pages *pages);
/* Adds what it has done by now, between two readings. */
void heap_process_look(const struct heap_process *p, uint64_t counts[HEAP_NR_COUNTS]);
/* arg: the process; unreachable: what a search has found, by stack: now the process owns it. Any
 * thread. */
void heap_process_keep_unreachable(void *arg, struct wire_heap_amount *unreachable, size_t nr);

/* Its pages now, for when it has ended. Any thread, while it is not freed. */
void heap_process_keep_pages(struct heap_process *p, const struct heap_pages *pages);
/* Whether they were kept. Any thread. */
bool heap_process_has_last_pages(struct heap_process *p);

/* Whether the stack's amounts are of that kind. */
bool heap_process_has_kind(const struct heap_process *p, const struct wire_heap_stack *s, int kind);
/* In the unit of the kind; of lifetimes those of a class. */
struct wire_heap_amount heap_process_amount(const struct wire_heap_stack *s, int kind,
					    uint32_t life);
/* How many classes an amount of the kind has. */
uint32_t heap_nr_lives(int kind);

#endif
