/*
 * Wilson's interval: the shares from which what was found is at most 1.96 deviations away. Knows
 * nothing of where samples come from.
 */
#include "metric/interval.h"

#include <math.h>

static const double Z = 1.959963984540054; /* of the normal distribution, 97.5 % */

void share_weights_add(struct share_weights *w, double weight)
{
	w->nr++;
	w->sum += weight;
	w->squares += weight * weight;
}

void share_weights_merge(struct share_weights *to, const struct share_weights *from)
{
	to->nr += from->nr;
	to->sum += from->sum;
	to->squares += from->squares;
}

double share_weights_effective(const struct share_weights *w)
{
	double n = w->squares > 0 ? w->sum * (w->sum / w->squares) : 0;

	return fmin(n, (double)w->nr);
}

/* The same for k and n - k, so that a share and the rest of it have the same width. */
static struct share_interval wilson(double share, double n)
{
	double z2 = Z * Z, middle, half;

	if (!(n > 0))
		return (struct share_interval){0, 0, 1};
	middle = (share + z2 / (2 * n)) / (1 + z2 / n);
	half = Z / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n));
	return (struct share_interval){.share = share,
				       .low = share > 0 ? fmin(fmax(middle - half, 0), share) : 0,
				       .high = share < 1 ? fmax(fmin(middle + half, 1), share) : 1};
}

struct share_interval share_interval_count(uint64_t k, uint64_t n)
{
	return wilson(n ? (double)k / (double)n : 0, (double)n);
}

struct share_interval share_interval(double part, const struct share_weights *all)
{
	double share = all->sum > 0 ? part / all->sum : 0;

	return wilson(share < 1 ? fmax(share, 0) : 1, share_weights_effective(all));
}

double share_interval_half(const struct share_interval *i)
{
	return fmax(i->high - i->share, i->share - i->low);
}

struct share_interval share_interval_difference(const struct share_interval *a,
						const struct share_interval *b)
{
	double d = b->share - a->share;
	double below = hypot(b->share - b->low, a->high - a->share);
	double above = hypot(b->high - b->share, a->share - a->low);

	return (struct share_interval){d, fmax(d - below, -1), fmin(d + above, 1)};
}
