/*
 * The recorder's end of the memory of experiments (wire/causal_memory.h): which candidates there
 * are, and where; what is tried, and what the program has counted. The program may write anything
 * there; at worst its own answer is wrong.
 *
 * Not thread-safe. The thread that calls causal_shared_open is the one whose death the program
 * sees.
 */
#ifndef CPUPERF_CAUSAL_MEMORY_H
#define CPUPERF_CAUSAL_MEMORY_H

#include "wire/causal_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* What may be made faster: code of a name, or what runs in a region. Strings are borrowed. */
struct causal_candidate {
	const char *path, *name; /* of the object, and of the symbol; of a region "" */
	const char *source;      /* of a line; NULL: it is a function, or a region */
	const char *region;      /* its name; NULL: it is code, or has not begun */
	unsigned line;
	bool is_left_open; /* a region, or ended in another thread */
	uint64_t ns;       /* CPU time of its samples, of all runs; causal_shared_times */
};

struct causal_range {
	uint64_t device, inode, address, size; /* in the file */
	uint32_t candidate;
};

/* Zeroes are an empty list. */
struct causal_candidates {
	struct causal_candidate *list; /* owned */
	struct causal_range *range;    /* owned */
	size_t nr, room, nr_ranges, range_room;
	uint32_t nr_regions; /* all are, and this is their room; 0: none is */
};

void causal_candidates_fini(struct causal_candidates *c);
/* 0, -ENOMEM, or -E2BIG. */
int causal_candidates_add(struct causal_candidates *c, const struct causal_candidate *one);
/* Adds code of a candidate. The same. */
int causal_candidates_add_range(struct causal_candidates *c, const struct causal_range *range);

struct causal_shared {
	struct causal_memory *at; /* NULL: there is none */
	int fd;
	size_t bytes;
	uint32_t nr_objects, nr_ranges, nr_candidates, nr_regions;
};

/* Sorts the ranges, and makes the memory; point: the name of a region, of which it is to be known
 * what threads pay in it; NULL: of none, unless regions are the candidates. 0 or -errno with *e. */
int causal_shared_open(struct causal_candidates *c, const char *point, struct causal_shared *out,
		       struct err *e);
/* From now on nobody is slowed down. */
void causal_shared_end(struct causal_shared *s);
/* at NULL and fd -1 are fine. */
void causal_shared_close(struct causal_shared *s);
/* Before a run: nothing has been counted but the time of candidates, and nothing is tried. */
void causal_shared_reset(struct causal_shared *s);
/* From now on. CAUSAL_MEMORY_NONE: nothing is tried. */
void causal_shared_try(struct causal_shared *s, uint32_t candidate, unsigned percent);
/* Sets the times of the candidates. */
void causal_shared_times(const struct causal_shared *s, struct causal_candidates *c);
const struct causal_memory_point *causal_shared_points(const struct causal_shared *s);
const struct causal_memory_region *causal_shared_regions(const struct causal_shared *s);
/* What threads have slept, or were spared, in regions of that name; of all runs. */
uint64_t causal_shared_paid(const struct causal_shared *s, const char *name);

#endif
