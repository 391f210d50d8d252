/*
 * The 95 % confidence interval of a share that was found by sampling: of the share in this session.
 * What varies from run to run is measured over sessions: estimate/chance.h.
 *
 * Samples that are taken each by itself vary as binomial ones. Those of a clock, or of each so many
 * occurrences, are in rows, at equal distances: what lasts longer than the distance is found
 * precisely, and chance is only in where it begins and ends: T ends vary by T / 12 (each lies
 * anywhere between two samples), what changes from sample to sample by T / 2, as binomial ones.
 * How much is of which kind follows from how alike samples are that are one and two apart
 * (variance_of_rows).
 *
 * It cannot show a period of the program that fits nearly a whole number of times into the samples'
 * distance: each sample hits the same spot, or they wander slowly over it. Of most kinds of
 * programs 93 to 97.5 % of intervals hold, and they are 1 to 1.4 times as wide as 95 % of the true
 * errors. Not so:
 * - Turns of up to three distances look as if by chance: 97.5 to 100 % hold, 1.3 to 2 times as
 *   wide; if they recur seldom, up to 3.3 times.
 * - Of up to 8 samples all are taken as if by chance: 95 to 100 % hold, phases up to 3 times as
 *   wide.
 * - Phases of 4 distances, sessions of two ends, tasks of few samples: 98 %.
 * - Where samples are lost in a row, it is of the time that is left. If a tenth is lost, each by
 *   itself: from clocks of tasks, where that leaves no gap, and in long phases, 70 % hold, half as
 *   wide; from clocks in step 93 %.
 *
 * report_weight has segments of the rows, in sums with random signs, so that weights of rows of a
 * report still add up. A sample's place among those of its clock (a CPU's, or one that tasks on
 * it hand over) is found before filters (report/rows.h), or where samples are added up
 * (bpf/programs/aggregate.bpf.c, whole/sums.h); clocks of CPUs are in step, and have
 * places by time.
 * Held by tests/unit/test_estimate_holds.c and, on real programs, by scripts/bench-interval.
 */
#ifndef ESTIMATE_INTERVAL_H
#define ESTIMATE_INTERVAL_H

#include "base/place.h"

#include <stdbool.h>
#include <stdint.h>

/* So many sums, each of segments of so many places. */
enum { INTERVAL_SEGMENTS = PLACE_SEGMENTS, INTERVAL_PLACES = PLACE_OF_SEGMENT };

/*
 * Segments of rows (1 where a sample is, else 0), each added with a sign chosen by chance to one of
 * a few: what is not of the same segment is multiplied by signs that do not agree, so that squares
 * of the sums, and of differences of their places, are about the sums of the segments' own. So
 * those of any two sets of samples can be added, and the part's less a share of the whole's are
 * those of the difference. Zero-initialise.
 */
struct interval_segments {
	uint64_t nr;          /* samples in rows */
	uint64_t nr_added_up; /* of them, by interval_segments_add_sums */
	int16_t at[INTERVAL_SEGMENTS][INTERVAL_PLACES];
};

/* A sum that had no room: with signs chosen by chance, of 10^10 samples; where CPUs are in step,
 * all have the same signs: of so many by the number of CPUs. It stays so, and the samples count as
 * independent. */
enum { INTERVAL_FULL = INT16_MIN };

static inline void interval_segment_add(int16_t *to, int by)
{
	const int sum = *to + by;
	const bool is_full =
	    *to == INTERVAL_FULL || by == INTERVAL_FULL || sum > INT16_MAX || sum <= INTERVAL_FULL;

	*to = (int16_t)(is_full ? INTERVAL_FULL : sum);
}

/* Counts a sample of a row, at a place there: place_in_sums. */
static inline void interval_segments_count(struct interval_segments *s, uint64_t row,
					   uint64_t place)
{
	const unsigned char to = place_in_sums(row, place);
	const unsigned sum = to & (PLACE_MINUS - 1);

	s->nr++;
	interval_segment_add(&s->at[sum / INTERVAL_PLACES][sum % INTERVAL_PLACES],
			     to & PLACE_MINUS ? -1 : 1);
}

/* Adds samples that were counted by place_in_sums. */
static inline void interval_segments_add_sums(struct interval_segments *to, uint64_t nr,
					      const int16_t sums[PLACE_SUMS])
{
	to->nr += nr;
	to->nr_added_up += nr;
	for (unsigned i = 0; i < PLACE_SUMS; i++)
		interval_segment_add(&to->at[i / INTERVAL_PLACES][i % INTERVAL_PLACES], sums[i]);
}

static inline void interval_segments_add(struct interval_segments *to,
					 const struct interval_segments *from)
{
	if (!from->nr)
		return;
	to->nr += from->nr;
	to->nr_added_up += from->nr_added_up;
	for (unsigned i = 0; i < INTERVAL_SEGMENTS; i++)
		for (unsigned k = 0; k < INTERVAL_PLACES; k++)
			interval_segment_add(&to->at[i][k], from->at[i][k]);
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
	const struct interval_segments *rows; /* NULL: each was taken by itself */
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
