#include "estimate/scaling.h"

#include "base/mem.h"
#include "estimate/paired.h"

#include <errno.h>
#include <math.h>

#define CLOSE 0.05

/* t(n) = serial + shared / n: both are sums of the times with these weights. */
struct weights {
	double serial[SCALING_MAX], shared[SCALING_MAX];
};

static void find_typical(const double *times, size_t nr, size_t nr_rounds,
			 double typical[SCALING_MAX])
{
	for (size_t i = 0; i < nr; i++) {
		double sum = 0;

		for (size_t k = 0; k < nr_rounds; k++)
			sum += log(times[k * nr + i]);
		typical[i] = exp(sum / (double)nr_rounds);
	}
}

/* Of the normal equations, whose weights are 1 / t², so that errors are relative. False: the
 * numbers of workers are too alike. */
static bool find_weights(const double *workers, const double *typical, size_t nr,
			 struct weights *out)
{
	double s = 0, sx = 0, sxx = 0, det;

	for (size_t i = 0; i < nr; i++) {
		const double w = 1 / (typical[i] * typical[i]), x = 1 / workers[i];

		s += w;
		sx += w * x;
		sxx += w * x * x;
	}
	det = s * sxx - sx * sx;
	if (!(det > 1e-12 * s * sxx))
		return false;
	for (size_t i = 0; i < nr; i++) {
		const double x = 1 / workers[i];
		const double w = 1 / (typical[i] * typical[i]) / det;

		out->serial[i] = w * (sxx - sx * x);
		out->shared[i] = w * (s * x - sx);
	}
	return true;
}

static double sum_of(const double *weight, const double *times, size_t nr)
{
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += weight[i] * times[i];
	return sum;
}

static double share_of(const struct weights *w, const double *times, size_t nr)
{
	const double serial = sum_of(w->serial, times, nr);

	return serial / (serial + sum_of(w->shared, times, nr));
}

/* Sets the farthest; whether all are near enough. */
static bool is_near(const struct weights *w, const double *workers, const double *half,
		    const double *typical, size_t nr, struct scaling *out)
{
	const double serial = sum_of(w->serial, typical, nr);
	const double shared = sum_of(w->shared, typical, nr);
	bool is_each = true;

	for (size_t i = 0; i < nr; i++) {
		const double off = typical[i] / (serial + shared / workers[i]) - 1;

		if (fabs(off) > fabs(out->farthest)) {
			out->farthest = off;
			out->farthest_from = i;
		}
		is_each &= fabs(off) <= CLOSE + half[i];
	}
	return is_each;
}

int scaling_fit(const double *workers, const double *half, size_t nr, const double *times,
		size_t nr_rounds, bool is_fixed, struct scaling *out)
{
	double typical[SCALING_MAX], *share;
	struct weights w;
	struct paired p;
	int rc;

	*out = (struct scaling){0};
	if (nr < SCALING_MIN || nr > SCALING_MAX || !nr_rounds)
		return -EINVAL;
	find_typical(times, nr, nr_rounds, typical);
	if (!find_weights(workers, typical, nr, &w))
		return -EDOM;
	share = mem_calloc(nr_rounds, sizeof(*share));
	if (!share)
		return -ENOMEM;
	for (size_t k = 0; k < nr_rounds; k++)
		share[k] = share_of(&w, times + k * nr, nr);
	rc = paired_interval(share, nr_rounds, 0, is_fixed, &p);
	mem_free(share);
	if (rc)
		return rc;
	out->serial = p.mean;
	out->low = p.low;
	out->high = p.high;
	out->fits =
	    is_near(&w, workers, half, typical, nr, out) && p.low <= 1 + CLOSE && p.high >= -CLOSE;
	return 0;
}
