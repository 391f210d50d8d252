/*
 * The 95 % confidence interval of a share that was found by sampling.
 *
 * Samples come in bursts (a time slice, a storm of interrupts), so that a hundred of them may say
 * no more than ten independent ones. The variance is therefore that of blocks of time, 25 to 48 of
 * them: half the mean square of the difference between neighbouring blocks. The difference from
 * the mean would count long phases (idle first, busy later) as error too. The variance of
 * independent samples is the minimum: samples that fall into step with the program hardly vary, and
 * may be wrong nevertheless.
 *
 * The interval covers what varies within a block, about a fiftieth of the session. It cannot show
 * what is longer (a session shorter than the program's phases, other load on another day), nor a
 * fixed period near a multiple of the program's own, where each sample hits the same spot. The
 * variation from run to run is measured over sessions: estimate/chance.h.
 */
#ifndef ESTIMATE_INTERVAL_H
#define ESTIMATE_INTERVAL_H

#include <stdint.h>

enum {
	INTERVAL_BLOCKS = 48,
	INTERVAL_MIN_BLOCKS = 8,  /* of equal size; with fewer, samples count as independent */
	INTERVAL_BLOCK_SHIFT = 17 /* of a time in ns: the shortest block is 131 us */
};

/*
 * Samples by their time since the session's beginning. Blocks double in length when the time
 * reaches the last one: no length needs to be known in advance, and the blocks of any two sets of
 * samples can be added. Zero-initialise.
 */
struct interval_blocks {
	uint32_t shift;      /* a block is 1 << (INTERVAL_BLOCK_SHIFT + shift) ns */
	uint16_t first, end; /* blocks with samples lie in [first, end) */
	uint32_t nr[INTERVAL_BLOCKS];
};

/* Makes blocks at least 1 << shift of the shortest ones long. */
void interval_blocks_widen(struct interval_blocks *b, uint32_t shift);

static inline void interval_blocks_cover(struct interval_blocks *b, unsigned first, unsigned end)
{
	b->first = (uint16_t)(b->end && b->first < first ? b->first : first);
	b->end = (uint16_t)(b->end > end ? b->end : end);
}

/* Counts a sample; at: its time, in shortest blocks. */
static inline void interval_blocks_count(struct interval_blocks *b, uint64_t at)
{
	uint32_t shift = b->shift;

	while (at >> shift >= INTERVAL_BLOCKS)
		shift++;
	if (shift > b->shift)
		interval_blocks_widen(b, shift);
	at >>= shift;
	b->nr[at]++;
	interval_blocks_cover(b, (unsigned)at, (unsigned)at + 1);
}

/* Counts that many samples, spread evenly from one time to the other, which is not before it. */
void interval_blocks_spread(struct interval_blocks *b, uint64_t from, uint64_t to, uint64_t nr);

static inline void interval_blocks_add(struct interval_blocks *to,
				       const struct interval_blocks *from)
{
	uint32_t more;

	if (!from->end)
		return;
	if (from->shift > to->shift)
		interval_blocks_widen(to, from->shift);
	more = to->shift - from->shift;
	for (unsigned i = from->first; i < from->end; i++)
		to->nr[(uint64_t)i >> more] += from->nr[i];
	interval_blocks_cover(to, (unsigned)((uint64_t)from->first >> more),
			      (unsigned)((uint64_t)(from->end - 1) >> more) + 1);
}

/* 0 <= low <= share <= high <= 1; of an amount without the 1. */
struct interval {
	double share, low, high;
};

/* Samples by their weights (a period each, or 1). All zero: none. Those that were not left to
 * chance are in sum alone. */
struct interval_weights {
	uint64_t nr;                          /* samples */
	double sum;                           /* of the weights of all */
	double squares;                       /* of their weights */
	const struct interval_blocks *blocks; /* NULL: samples count as independent */
};

/* k of n samples of equal weight; k <= n. Without samples the share is 0, the interval 0 to 1. */
struct interval interval_count(uint64_t k, uint64_t n);
/* The share of a part whose samples are among those of all. If none was left to chance, the
 * interval is the share alone. */
struct interval interval_part(const struct interval_weights *part,
			      const struct interval_weights *all);
/* An amount of which nothing is known but its samples, as how long a thread waited: the sum, and
 * between which ones it lies. unit: what a sample stands for at least; 0: nothing is left to
 * chance.
 */
struct interval interval_amount(const struct interval_weights *w, double unit);
/* The larger distance of the share from the ends of the interval. */
double interval_half(const struct interval *i);

#endif
