/*
 * Which of many ranges that overlap covers an address: the last one, of all or of the first n. A
 * segment tree, so that a query takes the square of a logarithm however many ranges are stacked.
 */
#ifndef BASE_COVER_H
#define BASE_COVER_H

#include <stddef.h>
#include <stdint.h>

enum { COVER_NONE = UINT32_MAX };

/*
 * Zero-initialise. bounds divide the addresses into pieces; the leaf of piece i is node nr_pieces +
 * i, its ancestors are nodes i / 2 …; each node lists the ranges that cover all of it but not all
 * of its parent.
 */
struct cover {
	uint64_t *bounds; /* owned; nr_pieces + 1 */
	uint32_t nr_pieces;
	uint32_t *firsts;  /* owned; of node i in entries; 2 * nr_pieces + 1 */
	uint32_t *entries; /* owned */
};

/* Range i is [*start, *end), which is not empty. */
typedef void cover_range_fn(const void *arg, size_t i, uint64_t *start, uint64_t *end);
/* 0, or -ENOMEM: then fini. */
int cover_make(struct cover *c, size_t nr, cover_range_fn *range, const void *arg);
void cover_fini(struct cover *c);
/* The last of the first nr ranges that cover the address, or COVER_NONE. The answer holds for all
 * addresses of [*start, *end), which has the address. */
uint32_t cover_find(const struct cover *c, uint32_t nr, uint64_t address, uint64_t *start,
		    uint64_t *end);

#endif
