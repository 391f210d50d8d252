/*
 * Where a sample counts that is one of a row, at equal distances: in sums of segments, from which
 * the error of a share follows (estimate/interval.h). Also for programs in the kernel.
 */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

enum {
	PLACE_SEGMENTS = 12,
	PLACE_OF_SEGMENT = 8,
	PLACE_SUMS = PLACE_SEGMENTS * PLACE_OF_SEGMENT,
	PLACE_MINUS = 1 << 7, /* the sample is subtracted */
};

/* As hash_mix. */
static inline unsigned long long place_mix(unsigned long long seed, unsigned long long word)
{
	seed = (seed ^ word) * 0x9e3779b97f4a7c15ull;
	return seed ^ seed >> 32;
}

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
	const unsigned long long random = place_mix(place_mix(row, turn), turn);
	const unsigned int to = (nr + (unsigned int)(random >> 48)) % PLACE_SEGMENTS;

	return (unsigned char)(to * PLACE_OF_SEGMENT + at % PLACE_OF_SEGMENT +
			       (random >> nr & 1 ? PLACE_MINUS : 0));
}

#endif
