/*
 * Compares two sides row by row and tests which differences are significant. A side has replicates
 * (sessions, or the iterations of one session); a replicate has rows, identified by a key (a
 * function's name).
 *
 * Rows are tested by Welch's t over the replicates (estimate/chance.h), with the variance of
 * counting samples as the minimum. Only rows are tested that would be significant if all of their
 * samples were on one side, so that rows of a few samples do not raise the bar for the others. p is
 * adjusted by Holm over the tested rows: half of the error rate is divided equally, half by size,
 * so that a large function needs less evidence than one of hundreds of small ones. Both choices
 * depend only on the sum of the sides, which is independent of a difference.
 *
 * Neighbouring iterations are correlated. They are also tested with the error of blocks of 2 to 5
 * neighbours, as long as each side has three blocks, and the largest p counts. A significant
 * difference then holds within these two runs; the variation between runs is unknown.
 *
 * Not thread-safe.
 *
 * Shares are the default basis, as they do not depend on how long or busy a session was.
 */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include "estimate/chance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff;

enum diff_basis {
	/* Each row's part of its replicate, whatever the duration and load. Shares add up to 1: if
	 * one row grows, all others shrink, and with enough samples significantly so. */
	DIFF_SHARES,
	/* The weight per replicate, not divided by its duration. For replicates that do the same
	 * work (a benchmark that runs to its end), or run for the same time under the same load.
	 * The caller skips replicates that were cut. */
	DIFF_WEIGHTS,
};

enum {
	DIFF_MAX_REPLICATES = 10000, /* of each side */
	DIFF_MIN_SAMPLES = 5,        /* of a tested row, on both sides together */
};
/* The most memory for rows, and for keys. */
#define DIFF_MAX_BYTES ((size_t)1 << 30)
/* An adjusted p below this is significant. */
#define DIFF_SIGNIFICANCE CHANCE_SIGNIFICANCE

struct diff_options {
	enum diff_basis basis;
	size_t nr_replicates[2]; /* of side 0 (before) and side 1 (after); from 1 */
	bool are_iterations; /* replicates are iterations: significance holds within these two runs
				only */
};

/* 0, -ENOMEM, -EINVAL (no replicates) or -EFBIG (too many). */
int diff_new(const struct diff_options *options, struct diff **out);
void diff_free(struct diff *d); /* NULL is fine */

/* Adds weight and samples to a row, in any order; squares: the sum of the squares of the weights of
 * samples, 0 if nothing was left to chance. The key is copied. 0, -ENOMEM, -EFBIG
 * (DIFF_MAX_BYTES), or -EINVAL (no such replicate). */
int diff_add(struct diff *d, unsigned side, size_t replicate, const char *key, uint64_t weight,
	     uint64_t nr_samples, double squares);
/* Adds to the total of a replicate: all of its samples, also those without a row. A replicate
 * without weight is ignored. 0 or -EINVAL (no such replicate). */
int diff_total(struct diff *d, unsigned side, size_t replicate, uint64_t weight,
	       uint64_t duration_ns);

/* The replicate counts also without weight: it has 0 of each row. 0 or -EINVAL. */
int diff_measured(struct diff *d, unsigned side, size_t replicate);

/* Means over the replicates of a side. */
struct diff_value {
	double share;        /* of the replicate, 0 to 1 */
	double weight;       /* of one replicate */
	uint64_t nr_samples; /* of all replicates */
};

/* No number is NaN. */
struct diff_row {
	const char *key;
	struct diff_value side[2];
	double difference;  /* side 1 minus side 0: of shares; or of weights, divided by the mean
			     * total of side 0 (of side 1 if that is 0) */
	double half;        /* half of the 95 % interval with the correction of p: without 0 exactly
			       where the row is significant; 0: not tested */
	double relative;    /* to side 0; 0.1: 10 % more; INFINITY: it was 0 */
	double p, adjusted; /* 1 if not tested */
	bool is_tested, is_significant;
};

struct diff_total {
	size_t nr_replicates; /* with weight, or measured without */
	double weight;        /* of one replicate */
	double duration_ns;   /* of one replicate */
};

struct diff_result {
	struct diff_options options;
	const struct diff_row *rows; /* significant ones first; then by size */
	size_t nr_rows, nr_tested, nr_significant;
	struct diff_total side[2];
	bool is_testable; /* each side has at least two replicates */
	/* The replicates of the two sides differ in duration by more than 1 %: weights are
	 * comparable only if the work was the same. */
	bool has_other_duration;
};

/* Call once, after the last row. The result is owned by d. 0 or -ENOMEM. */
int diff_finish(struct diff *d, struct diff_result *out);

/* True if the row, or any row, grew significantly and by more than relative (0.05: by more than
 * 5 %); for --fail-over. */
bool diff_row_is_over(const struct diff_row *row, double relative);
bool diff_is_over(const struct diff_result *r, double relative);

#endif
