/*
 * Welford.
 */
#include "estimate/spread.h"

#include "base/order.h"
#include "estimate/chance.h"

#include <math.h>

void spread_add(struct spread *s, double x)
{
	double d = x - s->mean;

	s->nr++;
	s->mean += d / (double)s->nr;
	s->m2 += d * (x - s->mean);
}

double spread_deviation(const struct spread *s)
{
	return s->nr < 2 ? 0 : sqrt(s->m2 / (double)(s->nr - 1));
}

double spread_mean_half(const struct spread *s)
{
	const double nr = (double)s->nr;

	return s->nr < 2 ? 0
			 : chance_student_inverse(0.05, nr - 1) * spread_deviation(s) / sqrt(nr);
}

double spread_median(double *v, size_t nr)
{
	order_sort(v, nr, sizeof(*v), order_reals);
	return nr % 2 ? v[nr / 2] : (v[nr / 2 - 1] + v[nr / 2]) / 2;
}
