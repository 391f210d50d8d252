/*
 * Compares two sides row by row: what changed, and whether beyond chance. A side has replicates
 * (sessions, or the iterations of its one session); a replicate has rows, identified by a key (a
 * function's name).
 *
 * What is compared, the basis:
 * - DIFF_SHARES, the default: each row's part of its replicate. The length of replicates and the
 * load of the machine do not matter, and what scales all rows of a replicate adds no noise. But
 * shares add up to one: where one row becomes slower, the shares of the others fall, with enough
 * samples certainly so. The others together lose what the one gains, so it comes first by the size
 * of the difference (unless there is only one other).
 * - DIFF_WEIGHTS, where each replicate is the same work (a benchmark that runs to its end), or the
 *   same time under the same load: the weight itself (events, nanoseconds) per replicate. A
 * function that is 10 % slower has 10 % more, the others have what they had. Nothing is divided by
 * the duration: a slower run of the same work lasts longer, and that is to be seen. The caller
 * leaves out replicates that were cut short.
 *
 * Rows are tested by Welch's t over the replicates (estimate/chance.h), with the variance of
 * counting samples as the minimum; p is adjusted by Holm over the tested rows: half of the 5 % is
 * shared equally, half by size, so that a function with a fifth of the samples needs less evidence
 * than one of hundreds of small ones. A row is tested if it could be certain: if it were with all
 * of its samples on one side. Both choices use the samples of both sides together, which are
 * independent of a difference; rows of a few samples would only raise the bar for the others.
 *
 * Neighbouring iterations are not independent: what makes one longer lasts into the next. So
 * iterations are also tested in blocks of 2 to 5 neighbours, as long as each side has three blocks,
 * and the largest p counts. A difference that is significant then is so within these two runs; what
 * varies from run to run is unknown.
 *
 * Of one thread.
 */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff;

enum diff_basis { DIFF_SHARES, DIFF_WEIGHTS };

enum {
	DIFF_MAX_REPLICATES = 10000, /* of each side */
	DIFF_MIN_SAMPLES = 5,        /* a row with fewer, both sides together, is never tested */
};
/* The memory of rows and keys; beyond: -EFBIG. */
#define DIFF_MAX_BYTES ((size_t)1 << 30)
/* An adjusted p below this is significant. */
#define DIFF_CERTAIN 0.05

struct diff_options {
	enum diff_basis basis;
	size_t nr_replicates[2]; /* of side 0 (before) and side 1 (after); from 1 */
	bool are_iterations; /* replicates are iterations: significance holds within these two runs
				only */
};

/* 0, -ENOMEM, -EINVAL (no replicates) or -EFBIG (too many). */
int diff_new(const struct diff_options *options, struct diff **out);
void diff_free(struct diff *d); /* NULL is fine */

/* Adds weight and samples to a row. Keys may repeat, in any order. The key is copied. 0, -ENOMEM,
 * -EFBIG, or -EINVAL (no such replicate). */
int diff_add(struct diff *d, unsigned side, size_t replicate, const char *key, uint64_t weight,
	     uint64_t nr_samples);
/* Adds to the total of a replicate, of which its rows are shares: all of its samples, also those
 * without a row. A replicate without weight has no shares and is ignored. 0 or -EINVAL. */
int diff_total(struct diff *d, unsigned side, size_t replicate, uint64_t weight,
	       uint64_t duration_ns);

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
	double difference;  /* side 1 less side 0: of shares; of weights as a part of side 0's mean
			     * total (of side 1's, where side 0 has none) */
	double half;        /* half of the 95 % interval of this row alone; 0: not tested */
	double relative;    /* to side 0; 0.1: 10 % more; INFINITY: it was 0 */
	double p, adjusted; /* 1 if not tested */
	bool is_tested, is_certain;
};

struct diff_total {
	size_t nr_replicates; /* with weight */
	double weight;        /* of one replicate */
	double duration_ns;   /* of one replicate */
};

struct diff_result {
	struct diff_options options;
	const struct diff_row *rows; /* significant ones first; then by size */
	size_t nr_rows, nr_tested, nr_certain;
	struct diff_total side[2];
	bool is_testable; /* each side has at least two replicates */
	/* The replicates of the two sides differ in duration by more than 1 %: weights are
	 * comparable only if the work was the same. */
	bool has_other_duration;
};

/* Call once, after the last row. The result is owned by d. 0 or -ENOMEM. */
int diff_finish(struct diff *d, struct diff_result *out);

/* True if a row grew significantly and by more than relative (0.05: by more than 5 %); for
 * --fail-over. */
bool diff_is_over(const struct diff_result *r, double relative);

#endif
