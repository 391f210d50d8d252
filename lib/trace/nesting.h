/*
 * How the marks of a thread nest. An object (a program or a library) knows its own marks alone, and
 * writes its beginnings less its ends; an end belongs to the innermost region of the thread,
 * whichever object began it. So the sum over the objects says how deep a mark is. Marks are passed
 * in order of time.
 *
 *	keep = nesting_begin(n, object, m->depth);
 *	those from keep on are closed; nesting_push(n, object);
 *
 *	end = nesting_end(n, object, m->depth);
 *	those from end.keep + 1 on are closed; the one at end.keep has ended if end.is_matched, else
 *	it is closed, too.
 *
 * Must not trust a mark. Not thread-safe.
 */
#ifndef TRACE_NESTING_H
#define TRACE_NESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NESTING_MAX = 128 };

struct nesting_object {
	int64_t depth; /* beginnings less ends so far, with lost ones */
	bool has_lost; /* some of its marks were lost */
};

/* A region that has begun. */
struct nesting_open {
	size_t object;
	int64_t depth; /* as marked */
	int64_t level; /* rises from the outermost one on */
};

/* Zero-initialise. */
struct nesting {
	struct nesting_object *objects; /* borrowed */
	size_t nr_objects;
	struct nesting_open *open; /* owned */
	size_t nr, room;
	int64_t level; /* the sum of the objects' depths */
	/* Whether an end of the object that is still to come leaves it that low. NULL: that is not
	 * known; what others began inside is then taken as left open. */
	bool (*gets_to)(void *arg, size_t object, int64_t depth);
	void *arg;
};

void nesting_fini(struct nesting *n);
/* How much deeper a mark is than its object was, of which it has the low 16 bits. */
int64_t nesting_deeper(int64_t depth, uint16_t marked);
/* How many remain open: those after them are of its depth or deeper, so their ends were lost. */
size_t nesting_begin(struct nesting *n, size_t object, uint16_t marked);
/* The region that begins is open. 0, -ENOMEM or -ENOSPC. */
int nesting_push(struct nesting *n, size_t object);
struct nesting_end {
	size_t keep;     /* so many remain open */
	bool is_matched; /* the end is that of the region after these */
	bool is_own;     /* the same object began it */
};
struct nesting_end nesting_end(struct nesting *n, size_t object, uint16_t marked);
/* The thread ends. */
void nesting_reset(struct nesting *n);

#endif
