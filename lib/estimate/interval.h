/*
 * The 95 % confidence interval of a share that was found by sampling: of the share in this session.
 * What varies from run to run is measured over sessions: estimate/chance.h.
 *
 * Samples that are taken each by itself vary as binomial ones. Those of a clock, or of each so many
 * occurrences, are in rows, at equal distances: what lasts longer than the distance is found
 * precisely, and chance is only in where it begins and ends. With T changes between "in the part"
 * and "not in it", the count of phases varies by T / 12 (each end by 1 / 12: it lies anywhere
 * between two samples), that of what changes from sample to sample by T / 2, as binomial ones.
 * How much is of which kind follows from contrasts of two neighbours and of two pairs of them
 * (those of Haar's wavelets): in the second, ends of phases have three times the squares that they
 * have in the first, changes by chance the same (derived at variance_of_rows).
 *
 * It cannot show a period of the program near a multiple of the samples' distance, where each
 * sample hits the same spot, or wanders slowly over it.
 *
 * report_weight has the contrasts, in sums with random signs, so that weights of rows still add
 * up. A sample's place among those of its clock (a CPU's, or a task's on it) is found before
 * filters (report/counter.h); clocks of CPUs are in step, and have places by time. Verified on
 * synthetic programs and, by scripts/bench-interval, on real ones.
 */
#ifndef ESTIMATE_INTERVAL_H
#define ESTIMATE_INTERVAL_H

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

enum { INTERVAL_CONTRASTS = 48 };

/*
 * Contrasts of samples in rows, each added with a sign chosen by chance (of its place) to one of a
 * few sums, whose squares add up to about those of the contrasts. So those of any two sets of
 * samples can be added, and the part's less a share of the whole's are those of the difference.
 * Zero-initialise.
 */
struct interval_contrasts {
	uint64_t nr;      /* samples in rows */
	uint64_t nr_rows; /* first samples of them */
	int16_t pair[INTERVAL_CONTRASTS];
	int16_t four[INTERVAL_CONTRASTS];
};

/* Wraps in place of an overflow: with signs chosen by chance, of 10^10 samples. */
static inline void interval_contrast_add(int16_t *to, int by)
{
	*to = (int16_t)(uint16_t)(*to + by);
}

/* Counts a sample of a row, at a place there. Rows of clocks that are in step have the same number
 * and the same places at the same times; all others have numbers of their own. */
static inline void interval_contrasts_count(struct interval_contrasts *c, uint64_t row,
					    uint64_t place, bool is_first)
{
	const uint64_t four = hash_mix(hash_mix(row, place >> 2), place >> 2);
	const uint64_t pair = four >> (place & 2 ? 20 : 40);

	c->nr++;
	c->nr_rows += is_first;
	interval_contrast_add(&c->pair[(pair & 0xffff) * INTERVAL_CONTRASTS >> 16],
			      (pair >> 16 ^ place) & 1 ? -1 : 1);
	interval_contrast_add(&c->four[(four & 0xffff) * INTERVAL_CONTRASTS >> 16],
			      (four >> 16 ^ place >> 1) & 1 ? -1 : 1);
}

static inline void interval_contrasts_add(struct interval_contrasts *to,
					  const struct interval_contrasts *from)
{
	if (!from->nr)
		return;
	to->nr += from->nr;
	to->nr_rows += from->nr_rows;
	for (unsigned i = 0; i < INTERVAL_CONTRASTS; i++) {
		interval_contrast_add(&to->pair[i], from->pair[i]);
		interval_contrast_add(&to->four[i], from->four[i]);
	}
}

/* 0 <= low <= share <= high <= 1; of an amount without the 1. */
struct interval {
	double share, low, high;
};

/* Samples by their weights (a period each, or 1). All zero: none. Those that were not left to
 * chance are in sum alone. */
struct interval_weights {
	uint64_t nr;                           /* samples */
	double sum;                            /* of the weights of all */
	double squares;                        /* of their weights */
	const struct interval_contrasts *rows; /* NULL: each was taken by itself */
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
/* The same where samples have different units, unit the largest of them, and some are certain: of
 * what happened when others were taken, more may be that none is of. */
struct interval interval_beside(const struct interval_weights *w, double unit);
/* The larger distance of the share from the ends of the interval. */
double interval_half(const struct interval *i);

#endif
