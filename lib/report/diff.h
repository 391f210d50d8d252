/*
 * Two sides compared row by row: what changed, and whether beyond chance. A side has replicates
 * (sessions, or the iterations of its one session), a replicate has rows that are known by a key
 * (a function's name). Knows nothing of files, of what the keys are, and of formats.
 *
 * What is compared, the basis:
 * - DIFF_SHARES, the one to take if nothing is known: each row's part of its replicate. How long
 *   the replicates were and how busy the machine was does not matter, and what makes all rows of a
 *   replicate larger is no noise. But parts add up to one: where one row becomes slower, those of
 *   the others become smaller, and with enough samples certainly so. What the others lose together
 *   is what the one gained, so that by the size of the difference it comes first (unless there is
 *   but one other).
 * - DIFF_WEIGHTS, where each replicate is the same work (a benchmark that runs to its end), or the
 *   same time under the same load: the weight itself (events, nanoseconds) per replicate. A
 * function that is 10 % slower has 10 % more, the others have what they had. Nothing is divided by
 * the duration: of the same work a slower run lasts longer, and that is the point. Replicates that
 *   were cut short are left out by who adds them.
 *
 * Rows are tested by Welch's t over the replicates (metric/chance.h), with the variance of counting
 * samples as the least; p is adjusted by Holm over the rows tested: half of the 5 in 100 is for all
 * rows alike, half for each by its size, so that a function with a fifth of the samples is not
 * asked to be as certain as one of hundreds. A row is tested if it could be certain: if it were
 * with all of its samples on one side. Both are decided by the samples of both sides together,
 * which say nothing of a difference; rows of a few samples would only raise what is asked of the
 * others.
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
/* Of rows and keys together; beyond: -EFBIG. */
#define DIFF_MAX_BYTES ((size_t)1 << 30)
/* An adjusted p below this is certain. */
#define DIFF_CERTAIN 0.05

struct diff_options {
	enum diff_basis basis;
	size_t nr_replicates[2]; /* of side 0 (what was) and side 1 (what is); from 1 */
	bool are_iterations; /* replicates are iterations: what is certain is so within two runs */
};

/* 0, -ENOMEM, -EINVAL (no replicates) or -EFBIG (too many). */
int diff_new(const struct diff_options *options, struct diff **out);
void diff_free(struct diff *d); /* NULL is fine */

/* Adds to a row: so much weight by so many samples. The same key may come again, in any order. The
 * key is copied. 0, -ENOMEM, -EFBIG, or -EINVAL (there is no such replicate). */
int diff_add(struct diff *d, unsigned side, size_t replicate, const char *key, uint64_t weight,
	     uint64_t nr_samples);
/* Adds to what the replicate's rows are parts of: the weight of all its samples, those too that no
 * row was added for. A replicate without weight has no shares and is left out. 0 or -EINVAL. */
int diff_total(struct diff *d, unsigned side, size_t replicate, uint64_t weight,
	       uint64_t duration_ns);

/* Means over the replicates of a side. */
struct diff_value {
	double share;        /* part of the replicate, 0 to 1 */
	double weight;       /* of one replicate */
	uint64_t nr_samples; /* of all replicates */
};

/* No number is NaN. */
struct diff_row {
	const char *key;
	struct diff_value side[2];
	double difference;  /* side 1 less side 0: of shares; of weights as a part of side 0's mean
			     * total (of side 1's, where side 0 has none) */
	double half;        /* ± so much in 95 of 100 cases, this row by itself; 0: not tested */
	double relative;    /* to side 0; 0.1: a tenth more; INFINITY: there was nothing */
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
	const struct diff_row *rows; /* certain ones first; then by the size of the difference */
	size_t nr_rows, nr_tested, nr_certain;
	struct diff_total side[2];
	bool is_testable; /* there are two replicates or more on each side */
	/* The replicates of the two sides lasted differently long, by more than a hundredth:
	 * weights are to be compared only if the work was the same. */
	bool has_other_duration;
};

/* Once, after all was added. The result is d's, until diff_free. 0 or -ENOMEM. */
int diff_finish(struct diff *d, struct diff_result *out);

/* True if a row has certainly become larger by more than so much of what it was (0.05: by more than
 * 5 %): what a build is to fail over. */
bool diff_is_over(const struct diff_result *r, double relative);

#endif
