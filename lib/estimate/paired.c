/*
 * The interval of paired differences.
 */
#include "estimate/paired.h"

#include "base/mem.h"
#include "estimate/chance.h"
#include "estimate/spread.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define ALPHA 0.05
/* The variance of the mean in the mixture, in variances of a difference: the interval is narrowest
 * where the mean is about its root of standard deviations from 0, and little wider elsewhere. */
#define PRIOR 4.0
/* A normal distribution's standard deviation, in medians of the distance from its median. */
#define DEVIATIONS 1.4826
#define FARTHEST   5

/* How many standard errors the interval reaches. The mixture's ratio at t is
 *     (1 + n g)^(-1/2) * ((1 + t²/v) / (1 + t²/(v (1 + n g))))^(n/2), v = n - 1;
 * it is 1 / alpha there. */
static double reach_at_each_look(size_t nr, double alpha)
{
	const double n = (double)nr, r = 1 + n * PRIOR, v = n - 1;
	const double k = pow(sqrt(r) / alpha, 2 / n);

	return k < r ? sqrt(v * (k - 1) / (1 - k / r)) : INFINITY;
}

static size_t nr_beyond(const double *d, size_t nr, double middle, double usual)
{
	size_t found = 0;

	for (size_t i = 0; i < nr; i++)
		found += fabs(d[i] - middle) > usual;
	return found;
}

/* Returns how many were limited. */
static size_t limit(double *d, double *sorted, size_t nr)
{
	double middle, usual;
	size_t nr_limited;

	memcpy(sorted, d, nr * sizeof(*d));
	middle = spread_median(sorted, nr);
	for (size_t i = 0; i < nr; i++)
		sorted[i] = fabs(d[i] - middle);
	usual = FARTHEST * DEVIATIONS * spread_median(sorted, nr);
	nr_limited = nr_beyond(d, nr, middle, usual);
	if (usual == 0 || nr_limited > 1 + nr / PAIRED_LIMITED)
		return 0;
	for (size_t i = 0; i < nr; i++)
		d[i] = fmin(fmax(d[i], middle - usual), middle + usual);
	return nr_limited;
}

int paired_interval_of(const double *d, size_t nr, double least, bool is_fixed, double alpha,
		       struct paired *out)
{
	struct spread s = {0};
	double half = INFINITY, *v;

	*out = (struct paired){.nr = nr, .low = -INFINITY, .high = INFINITY};
	if (!nr)
		return 0;
	v = mem_calloc(2 * nr, sizeof(*v));
	if (!v)
		return -ENOMEM;
	memcpy(v, d, nr * sizeof(*d));
	if (nr >= PAIRED_MIN_LIMIT)
		out->nr_limited = limit(v, v + nr, nr);
	for (size_t i = 0; i < nr; i++)
		spread_add(&s, v[i]);
	mem_free(v);
	if (nr >= 2)
		half = (is_fixed ? chance_student_inverse(alpha, (double)nr - 1)
				 : reach_at_each_look(nr, alpha)) *
		       fmax(spread_deviation(&s), least) / sqrt((double)nr);
	out->mean = s.mean;
	if (isfinite(half)) {
		out->low = s.mean - half;
		out->high = s.mean + half;
	}
	return 0;
}

int paired_interval(const double *d, size_t nr, double least, bool is_fixed, struct paired *out)
{
	return paired_interval_of(d, nr, least, is_fixed, ALPHA, out);
}
