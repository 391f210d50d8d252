/*
 * Compares amounts of whole replicates, such as the time and the counts of a command: those of
 * sessions, or of the runs of one session per side.
 *
 * Each amount is tested by Welch's t over the replicates (estimate/chance.h), those of one session
 * per side also in blocks of neighbours. The primary amount answers a question of its own and is
 * tested at 5 % without correction. p of all others is adjusted by Holm over them.
 */
#ifndef REPORT_AMOUNTS_H
#define REPORT_AMOUNTS_H

#include <stdbool.h>
#include <stddef.h>

struct amount {
	/* In: the replicates before (0) and after (1), in order; borrowed. */
	const double *value[2];
	size_t nr[2];
	bool is_primary;
	bool is_unjudged; /* it is not tested */
	/* Out. No number is NaN. */
	double mean[2];
	double relative; /* to the mean before; 0.1: 10 % more; INFINITY: that was 0 */
	double half;     /* half of relative's 95 % interval, corrected as p is: without 0 exactly
			    where the amount is significant; 0: not tested */
	double p, adjusted; /* 1 if not tested */
	bool is_tested;     /* each side has two replicates */
	bool is_significant;
};

/* Fills all. are_neighbours: replicates are iterations of one session per side, that are no runs. 0
 * or -ENOMEM. */
int amounts_judge(struct amount *list, size_t nr, bool are_neighbours);
/* True if it grew significantly and by more than relative; for --fail-over. */
bool amount_is_over(const struct amount *a, double relative);

#endif
