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

void interval_blocks_widen(struct interval_blocks *b, uint32_t shift)
{
	uint32_t more = shift > b->shift ? shift - b->shift : 0;

	if (!more)
		return;
	b->shift = shift;
	for (unsigned i = b->first; i < b->end; i++) {
		uint32_t nr = b->nr[i];

		b->nr[i] = 0;
		b->nr[(uint64_t)i >> more] += nr;
	}
	b->first = (uint16_t)((uint64_t)b->first >> more);
	b->end = (uint16_t)(b->end ? ((uint64_t)(b->end - 1) >> more) + 1 : 0);
}

void interval_blocks_spread(struct interval_blocks *b, uint64_t from, uint64_t to, uint64_t nr)
{
	uint32_t shift = b->shift;
	uint64_t first, last, counted = 0;

	while (to >> shift >= INTERVAL_BLOCKS)
		shift++;
	interval_blocks_widen(b, shift);
	first = from >> shift;
	last = to >> shift;
	for (uint64_t i = first; i <= last; i++) {
		/* up to the end of block i; exact enough for numbers of samples */
		uint64_t end = ((i + 1) << shift) - from, span = to - from + 1;
		uint64_t until =
		    i == last ? nr : (uint64_t)((double)nr * ((double)end / (double)span));

		b->nr[i] += (uint32_t)(until - counted);
		counted = until;
	}
	interval_blocks_cover(b, (unsigned)first, (unsigned)last + 1);
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
 * The variance of the share, in that of independent samples; at least 1. Each block is off by its
 * samples of the part less the share of all of its samples. The difference of two blocks has twice
 * the variance of one. A variance estimated from so few blocks is uncertain itself: Student's
 * quantile replaces the normal one, gradually up to a ratio of 2, because below that the minimum of
 * 1 widens the interval already. Differences of neighbours have two thirds of the degrees of
 * freedom.
 */
static double excess(const struct interval_weights *part, const struct interval_weights *all)
{
	struct interval_blocks in, of;
	double nr = 0, squares = 0, k = 0, before = 0, sum = 0, counting, blocks, ratio, t;

	if (!part->blocks || !all->blocks)
		return 1;
	in = *part->blocks;
	of = *all->blocks;
	interval_blocks_widen(&in, of.shift);
	interval_blocks_widen(&of, in.shift);
	for (unsigned i = 0; i < INTERVAL_BLOCKS; i++) {
		nr += of.nr[i];
		squares += (double)of.nr[i] * of.nr[i];
		k += in.nr[i];
	}
	counting = k * (1 - k / nr);
	blocks = nr * nr / squares; /* of equal size */
	if (!(counting > 0) || !(blocks >= INTERVAL_MIN_BLOCKS))
		return 1;
	for (unsigned i = 0; i < INTERVAL_BLOCKS; i++) {
		double off = in.nr[i] - of.nr[i] * (k / nr);

		sum += i ? (off - before) * (off - before) / 2 : 0;
		before = off;
	}
	ratio = sum * blocks / (blocks - 1) / counting;
	t = student((blocks - 1) / 1.5) / Z;
	return ratio > 1 ? ratio * (1 + (t * t - 1) * fmin(ratio - 1, 1)) : 1;
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
		return of_random(share, effective(all) / excess(part, all), all);
	n = share * rest * all->sum * (all->sum / squares);

	return wilson(share, n / excess(part, all));
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

double interval_half(const struct interval *i)
{
	return fmax(i->high - i->share, i->share - i->low);
}
