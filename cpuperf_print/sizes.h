/*
 * What programs allocated by size: classes of powers of two, of the histograms of traces.
 */
#ifndef SIZES_H
#define SIZES_H

#include "profile/session.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	SIZES_CALLS,
	SIZES_BYTES,
	SIZES_SQUARES, /* by how much bytes vary by chance, in 1024 square bytes */
	SIZES_LIVE_CALLS,
	SIZES_LIVE_BYTES,
	SIZES_LIVE_SQUARES,
	SIZES_NR_PARTS
};
enum { SIZES_NR_CLASSES = 64 };

struct sizes_sums {
	bool has_part[SIZES_NR_PARTS];
	/* class i begins at 2^(i - 1), class 0 is of 0 bytes */
	uint64_t of[SIZES_NR_PARTS][SIZES_NR_CLASSES];
};

/* Adds those of a trace, if it has any: what is live then replaces what was. */
void sizes_add(struct sizes_sums *s, const struct profile_trace *trace);
bool sizes_has_class(const struct sizes_sums *s, uint32_t class);

/* The first and the last size of a class. */
uint64_t sizes_low(uint32_t class);
uint64_t sizes_high(uint32_t class);

#endif
