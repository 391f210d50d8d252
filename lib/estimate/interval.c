/*
 * Wilson's interval: the shares from which the found one is at most 1.96 deviations away.
 */
#include "estimate/interval.h"

#include <math.h>
#include <stddef.h>

static const double Z = 1.959963984540054; /* of the normal distribution, 97.5 % */

/* The number of samples of equal weight that vary as much: sum² / squares; at most nr. */
static double effective(const struct interval_weights *w)
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
static struct interval wilson(double share, double n)
{
	if (!(n > 0))
		return (struct interval){0, 0, 1};
	return (struct interval){share, lower_end(share, n),
				 fmax(1 - lower_end(1 - share, n), share)};
}

struct interval interval_count(uint64_t k, uint64_t n)
{
	return wilson(n ? (double)k / (double)n : 0, (double)n);
}

static double share_of(double part, const struct interval_weights *all)
{
	double share = all->sum > 0 ? part / all->sum : 0;

	return share < 1 ? fmax(share, 0) : 1;
}

/* The 97.5 % quantile of Student's distribution, df >= 4: Fisher's expansion around the normal one,
 * error below 0.003. chance_student_inverse is exact, and too slow for each row of a report. */
static double student(double df)
{
	double z3 = Z * Z * Z, z5 = z3 * Z * Z, z7 = z5 * Z * Z;

	return Z + (z3 + Z) / (4 * df) + (5 * z5 + 16 * z3 + 3 * Z) / (96 * df * df) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * Z) / (384 * df * df * df);
}

/*
 * The variance of the number of samples in the part, as far as they are in rows. A sample is off by
 * 1 less the share if it is of the part, by the share if it is not. Of pairs of neighbours, let
 * squares be the sum of the squared differences; of fours, that of the squared differences of their
 * two pairs.
 * - What changes from sample to sample with a variance v has 2 v a pair and 4 v a four: n v in each
 *   sum, and varies by n v.
 * - The end of a phase adds 1 to the squares of the pair in which it lies, which is every second
 * one; and to those of a four 1, 4 or 1, if it is not between two: T / 2 and 3 T / 2 in all. It
 * varies by T / 12.
 *
 * The sums are known from few signs, or of few samples, hence Student's quantile. One end at least
 * there is.
 */
static double variance_of_rows(const struct interval_contrasts *part,
			       const struct interval_contrasts *all, double share)
{
	const double nr = fmin(INTERVAL_CONTRASTS, (double)all->nr / 4);
	const double t = student(fmax(nr / 1.5, 4)) / Z;
	double squares = 0, fours = 0, by_chance;

	for (unsigned i = 0; i < INTERVAL_CONTRASTS; i++) {
		const double pair = part->pair[i] - share * all->pair[i];
		const double four = part->four[i] - share * all->four[i];

		squares += pair * pair;
		fours += four * four;
	}
	by_chance = fmin(fmax((3 * squares - fours) / 2, 0), squares);
	return fmax(t * t * (by_chance + (squares - by_chance) / 6), 1.0 / 6);
}

static double variance_of_independent(double part, double all, double share)
{
	return fmax(part, 0) * (1 - share) * (1 - share) + fmax(all - part, 0) * share * share;
}

/* The variance of the share, in that of independent samples. */
static double ratio_of(const struct interval_weights *part, const struct interval_weights *all)
{
	static const struct interval_contrasts none = {0};
	const struct interval_contrasts *in = part->rows ? part->rows : &none;
	const struct interval_contrasts *of = all->rows ? all->rows : &none;
	const double k = (double)part->nr, n = (double)all->nr, share = n > 0 ? k / n : 0;
	const double independent = variance_of_independent(k, n, share);
	const double beside =
	    variance_of_independent(k - (double)in->nr, n - (double)of->nr, share);

	/* one alone follows no other */
	if (!(independent > 0) || !of->nr || k < 2 || n - k < 2)
		return 1;
	/* a row has two ends of its own, too */
	return (beside + variance_of_rows(in, of, share) +
		variance_of_independent((double)in->nr_rows, (double)of->nr_rows, share) / 6) /
	       independent;
}

/* The share is 0 or 1: only what was left to chance may differ, at most sqrt(nr * squares) of the
 * sum (Cauchy and Schwarz; of equal weights just that). */
static struct interval of_random(double share, double n, const struct interval_weights *all)
{
	double random = fmin(sqrt((double)all->nr * all->squares) / all->sum, 1);
	struct interval i = wilson(share, n);

	if (!(all->sum > 0))
		return i;
	i.low = share - random * (share - i.low);
	i.high = share + random * (i.high - share);
	return i;
}

/* The variance of a ratio of two sums: each sample is away from the share by 1 - share or by
 * share, times its weight. So many samples of one weight have the same. */
struct interval interval_part(const struct interval_weights *part,
			      const struct interval_weights *all)
{
	double share = share_of(part->sum, all), rest = 1 - share;
	double others = fmax(all->squares - part->squares, 0);
	double squares = rest * rest * part->squares + share * share * others;
	double n;

	if (all->sum > 0 && !(all->squares > 0))
		return (struct interval){share, share, share};
	if (!(squares > 0))
		return of_random(share, effective(all), all);
	n = share * rest * all->sum * (all->sum / squares);

	return wilson(share, n / ratio_of(part, all));
}

/* So many samples of one weight have the same variance, and their number is Poisson's: Wilson's
 * interval of a small share. */
struct interval interval_amount(const struct interval_weights *w, double unit)
{
	double n = w->squares > 0 ? w->sum * (w->sum / w->squares) : 0, z2 = Z * Z;
	double middle = n + z2 / 2, half = Z * sqrt(n + z2 / 4);
	double one = n > 0 ? w->sum / n : unit;

	if (!(one > 0) || (!(n > 0) && w->sum > 0))
		return (struct interval){w->sum, w->sum, w->sum};
	return (struct interval){w->sum, one * fmin(middle - half, few(n)), one * (middle + half)};
}

/* What varies is as much as samples of the largest unit would: if they all have it, it is the sum
 * of those, else of fewer, which have a wider interval. The rest is certain. */
struct interval interval_beside(const struct interval_weights *w, double unit)
{
	const double by_chance = unit > 0 ? fmin(w->squares / unit, w->sum) : w->sum;
	const struct interval_weights part = {.sum = by_chance, .squares = w->squares};
	const struct interval i = interval_amount(&part, unit);
	const double certain = w->sum - by_chance;

	return (struct interval){w->sum, certain + i.low, certain + i.high};
}

double interval_half(const struct interval *i)
{
	return fmax(i->high - i->share, i->share - i->low);
}
