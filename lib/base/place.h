/*
 * Where a sample counts that is one of a row, at equal distances: in sums of segments, from which
 * the error of a share follows (estimate/interval.h). Also for programs in the kernel.
 */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include "base/mix.h"

enum {
	PLACE_SEGMENTS = 12,
	PLACE_OF_SEGMENT = 8,
	PLACE_SUMS = PLACE_SEGMENTS * PLACE_OF_SEGMENT,
	PLACE_MINUS = 1 << 7, /* the sample is subtracted */
	/* Of so few samples a word has the places, a byte each, the first one the lowest. */
	PLACE_FEW = 8,
};

/* The sum, below PLACE_SUMS, and PLACE_MINUS or not, of a place of a row. Rows of clocks that are
 * in step have the same number and the same places at the same times; all others have numbers of
 * their own, that are random: a row begins anywhere in its first segment, so that those of one
 * sample are at all places. Neighbouring segments are in different sums, so that those of a short
 * row are all apart. */
static inline unsigned char place_in_sums(unsigned long long row, unsigned long long place)
{
	const unsigned long long at = place + (row >> 32) % PLACE_OF_SEGMENT;
	const unsigned long long segment = at / PLACE_OF_SEGMENT, turn = segment / PLACE_SEGMENTS;
	const unsigned int nr = (unsigned int)(segment % PLACE_SEGMENTS);
	const unsigned long long random = hash_mix(hash_mix(row, turn), turn);
	const unsigned int to = (nr + (unsigned int)(random >> 48)) % PLACE_SEGMENTS;

	return (unsigned char)(to * PLACE_OF_SEGMENT + at % PLACE_OF_SEGMENT +
			       (random >> nr & 1 ? PLACE_MINUS : 0));
}

/* Adds a sample, which is at that place, to PLACE_SUMS sums. */
static inline void place_count(short *sums, unsigned long long place)
{
	sums[place & (PLACE_MINUS - 1)] += place & PLACE_MINUS ? -1 : 1;
}

/* The same of the first nr places in a word. */
static inline void place_count_few(short *sums, unsigned long long places, unsigned long long nr)
{
	for (unsigned long long i = 0; i < nr; i++)
		place_count(sums, places >> 8 * i & 0xff);
}

#endif
