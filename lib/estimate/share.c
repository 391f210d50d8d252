/*
 * Wilson's interval: the shares from which the found one is at most 1.96 deviations away.
 */
#include "estimate/share.h"

#include <math.h>
#include <stddef.h>

static const double Z = 1.959963984540054; /* of the normal distribution, 97.5 % */

double share_weights_effective(const struct share_weights *w)
{
	double n = w->squares > 0 ? w->sum * (w->sum / w->squares) : 0;

	return fmin(n, (double)w->nr);
}

/*
 * For a share of one to three samples Wilson's lower end is too high: what has one sample in 1,000
 * may well have had 0.1 expected, and would be outside in 16 of 100 cases. From Poisson's
 * distribution: the mean of which so many or more come in 5 of 100 cases (Brown, Cai, DasGupta:
 * Interval estimation for a binomial proportion, 2001). Between them, for samples of unequal
 * weight, a straight line.
 */
static double few(double k)
{
	static const double mean[] = {0, 0.05129, 0.35536, 0.81769};
	enum { LAST = sizeof(mean) / sizeof(mean[0]) - 1 };
	size_t i = (size_t)fmin(fmax(k, 0), LAST);

	return i < LAST   ? mean[i] + (k - (double)i) * (mean[i + 1] - mean[i])
	       : k > LAST ? k
			  : mean[LAST];
}

static double lower_end(double share, double n)
{
	double z2 = Z * Z, middle = (share + z2 / (2 * n)) / (1 + z2 / n);
	double half = Z / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n));

	return fmin(fmin(fmax(middle - half, 0), few(share * n) / n), share);
}

/* The upper end is what the lower end of the rest leaves. */
static struct share_interval wilson(double share, double n)
{
	if (!(n > 0))
		return (struct share_interval){0, 0, 1};
	return (struct share_interval){share, lower_end(share, n),
				       fmax(1 - lower_end(1 - share, n), share)};
}

struct share_interval share_interval_count(uint64_t k, uint64_t n)
{
	return wilson(n ? (double)k / (double)n : 0, (double)n);
}

static double share_of(double part, const struct share_weights *all)
{
	double share = all->sum > 0 ? part / all->sum : 0;

	return share < 1 ? fmax(share, 0) : 1;
}

struct share_interval share_interval(double part, const struct share_weights *all)
{
	return wilson(share_of(part, all), share_weights_effective(all));
}

/* The variance of a ratio of two sums: each sample is away from the share by 1 - share or by
 * share, times its weight. So many samples of one weight have the same. */
struct share_interval share_interval_part(const struct share_weights *part,
					  const struct share_weights *all)
{
	double share = share_of(part->sum, all), rest = 1 - share;
	double others = fmax(all->squares - part->squares, 0);
	double squares = rest * rest * part->squares + share * share * others;
	double n = squares > 0 ? share * rest * all->sum * (all->sum / squares) : 0;

	return wilson(share, n > 0 ? n : share_weights_effective(all));
}

double share_interval_half(const struct share_interval *i)
{
	return fmax(i->high - i->share, i->share - i->low);
}
