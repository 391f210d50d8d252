/*
 * Welford.
 */
#include "estimate/spread.h"

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
