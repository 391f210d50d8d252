/*
 * How the time of the same work shrinks with the number of workers: Amdahl's law. Of one worker's
 * time a share, the serial one, does not shrink: t(n) = t(1) * (s + (1 - s) / n).
 */
#ifndef ESTIMATE_SCALING_H
#define ESTIMATE_SCALING_H

#include <stdbool.h>
#include <stddef.h>

enum { SCALING_MIN = 3, SCALING_MAX = 64 /* numbers of workers */ };

struct scaling {
	double serial;        /* the share, a part of 1; may be outside 0 to 1 if it does not fit */
	double low, high;     /* 95 % */
	double farthest;      /* a time less what is expected of it, a part of that: the largest */
	size_t farthest_from; /* which number of workers has it */
	/* Each time is within 5 % of what is expected, and what its own interval allows beside
	 * that, and so is the share within 0 to 1. */
	bool fits;
};

/*
 * workers: SCALING_MIN to SCALING_MAX different numbers above 0. times: of each round nr in their
 * order, above 0. half: of the interval of each typical time, a part
 * of it. is_fixed: as of paired_interval. Least squares of relative errors; the interval is that
 * of the shares of single rounds. 0, -EINVAL (too few or too many workers, no round), -EDOM (their
 * numbers are too alike) or -ENOMEM.
 */
int scaling_fit(const double *workers, const double *half, size_t nr, const double *times,
		size_t nr_rounds, bool is_fixed, struct scaling *out);

#endif
