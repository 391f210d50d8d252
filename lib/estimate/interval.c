/*
 * Wilson's interval: the shares from which the found one is at most 1.96 deviations away.
 */
#include "estimate/interval.h"

#include <math.h>
#include <stdbool.h>
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

/* What a segment's places say, as sums over all samples in rows. A sample is off by 1 less the
 * share if it is of the part, by the share if it is not. */
struct segment_sums {
	double squares;  /* of how far each is off */
	double apart[2]; /* of differences of two that are one, or two, apart */
	double of[2];    /* of how far the same ones are off */
	double nr;       /* how many of one apart differ: of so many alike squares */
	double slow;     /* of what changes over a segment, or more slowly */
};

/* Of each three neighbours, so that an end, wherever it is, has twice as much two apart as one. */
static void add_apart(const double off[INTERVAL_PLACES], struct segment_sums *to, double *fourths)
{
	enum { NR = INTERVAL_PLACES - 2 };
	static const double EACH = (double)INTERVAL_PLACES / NR;

	for (int i = 0; i < NR; i++) {
		const double first = off[i + 1] - off[i], second = off[i + 2] - off[i + 1];
		const double square = (first * first + second * second) / 2;
		const double outer = off[i] * off[i] + off[i + 2] * off[i + 2];

		to->apart[0] += EACH * square;
		to->apart[1] += EACH * (first + second) * (first + second);
		to->of[0] += EACH * (outer / 2 + off[i + 1] * off[i + 1]);
		to->of[1] += EACH * outer;
		*fourths += EACH * square * square;
	}
	for (int i = 0; i < INTERVAL_PLACES; i++)
		to->squares += off[i] * off[i];
}

/* By two windows of sines (Riedel and Sidorenko, 1995), so that what changes faster hardly counts:
 * sin(pi k / 9) and sin(2 pi k / 9). */
static void add_slow(const double off[INTERVAL_PLACES], struct segment_sums *to)
{
	static const double window[][INTERVAL_PLACES] = {
	    {0.342020, 0.642788, 0.866025, 0.984808, 0.984808, 0.866025, 0.642788, 0.342020},
	    {0.642788, 0.984808, 0.866025, 0.342020, -0.342020, -0.866025, -0.984808, -0.642788},
	};
	enum { NR = sizeof(window) / sizeof(window[0]) };
	static const double EACH = 2.0 / (INTERVAL_PLACES + 1) * INTERVAL_PLACES / NR;

	for (int i = 0; i < NR; i++) {
		double sum = 0;

		for (int k = 0; k < INTERVAL_PLACES; k++)
			sum += off[k] * window[i][k];
		to->slow += EACH * sum * sum;
	}
}

static struct segment_sums sums_of(const struct interval_segments *part,
				   const struct interval_segments *all, double share)
{
	struct segment_sums sums = {.squares = 0};
	double fourths = 0;

	for (int i = 0; i < INTERVAL_SEGMENTS; i++) {
		double off[INTERVAL_PLACES];

		for (int k = 0; k < INTERVAL_PLACES; k++)
			off[k] = part->at[i][k] - share * all->at[i][k];
		add_apart(off, &sums, &fourths);
		add_slow(off, &sums);
	}
	sums.nr = fourths > 0 ? sums.apart[0] * (sums.apart[0] / fourths) : 0;
	return sums;
}

/* The correlation of two samples that are one (0) or two (1) apart. Differences are divided by the
 * squares of the same pairs: each place of a segment is in so many of them, and where rows are
 * short, not all have samples. */
static double alike_by(const struct segment_sums *s, int apart)
{
	return s->of[apart] > 0 ? fmax(1 - s->apart[apart] / s->of[apart], 0) : 0;
}

/*
 * What a process varies by when it is sampled at a distance of 1, if it is left at a constant rate
 * and so is alike by exp(-distance * rate), here x at a distance of 1: the sum of that over all
 * distances, less its integral. From 1, of independent samples, it falls steeply; where x cannot be
 * told from 0, which is none, the interval must hold for independent ones: a straight line to KNEE.
 */
static double varies_by(double x, double none)
{
	static const double KNEE = 0.4, AT_KNEE = 0.15062;
	const double rate = -log(x);

	return x > 0.999   ? (1 - x) / 6
	       : x >= KNEE ? 1 / tanh(rate / 2) - 2 / rate
	       : x > none  ? 1 - (1 - AT_KNEE) * (x - none) / (KNEE - none)
			   : 1;
}

/*
 * The variance of the number of samples in the part, as far as they are in rows.
 *
 * Let alike[k] be the correlation of samples that are k apart. Let the part be a mixture: of what
 * is independent from sample to sample, and of what is alike by x^k. Both follow from alike[1] and
 * alike[2]; of all mixtures of more such that have these two, this one varies most. Of phases that
 * are long, alike[k] = 1 - k T / (2 squares): each end adds 1 to the squares of differences. Then
 * it is T / 12. Of independent ones, differences are as large as their squares: alike is 0.
 *
 * What is regular varies less than both, as its number in a segment does: that is an upper bound
 * (the variance of a sum over long times is that of the times themselves and that of sampling),
 * which is known less well, hence the factor. It is no less than that of ends.
 *
 * The sums are known from few signs, or of few samples or changes, hence Student's quantile: what
 * is independent is a difference of two sums, known the less the more is not. Two ends there are,
 * and up to eight samples say nothing of how alike they are.
 */
static double variance_of_rows(const struct interval_segments *part,
			       const struct interval_segments *all, double share)
{
	const struct segment_sums sums = sums_of(part, all, share);
	const double nr = fmin(INTERVAL_SEGMENTS * INTERVAL_PLACES, (double)all->nr);
	const double none = fmin(0.5 / sqrt(nr), 0.2);
	const double t = student(fmax(nr / 1.7, 4)) / Z;
	const double alike = alike_by(&sums, 0);
	/* x lies between alike, if nothing is independent, and 1 */
	const double second = fmin(fmax(alike_by(&sums, 1), alike * alike), alike);
	const double dependent = second > 0 ? alike * alike / second : 0;
	const double of_those = dependent > 0 ? dependent * varies_by(second / alike, none) : 0;
	const double independent = sums.squares * (1 - dependent);
	const double sure = fmin(independent / fmax(sums.apart[0] / 2, 0.5), 1);
	const double t_of_few = student(fmax(fmin(nr * sure / 8, 2 * sums.nr), 4)) / Z;
	const double variance = t_of_few * t_of_few * independent + t * t * sums.squares * of_those;
	const double regular = fmax((1 + 5 / sqrt(nr)) * sums.slow, sums.apart[0] / 12);
	const double untold = fmin(8 / (double)all->nr, 1);
	const double least = fmax(1.0 / 6, untold * untold * sums.squares);

	return fmax(fmin(variance, regular), least);
}

static double variance_of_independent(double part, double all, double share)
{
	return fmax(part, 0) * (1 - share) * (1 - share) + fmax(all - part, 0) * share * share;
}

static const struct interval_segments *rows_of(const struct interval_weights *w)
{
	static const struct interval_segments none = {0};

	return w->rows ? w->rows : &none;
}

/* Of few samples, shares are few, and some lie just outside of Wilson's interval: by chance, of 4
 * to 20 samples it holds in 87 to 93 % at the worst share, so much wider in 93 to 98 %. */
static double few_vary_by(const struct interval_weights *all)
{
	return rows_of(all)->nr && all->nr ? 1 + 1.5 / (double)all->nr : 1;
}

/* How many samples have places that tell how they follow each other. Where some samples are added
 * up, the others do not: they found no room in the table, and what was between them is missing. */
static double nr_told(const struct interval_segments *rows, const struct interval_segments *of)
{
	return (double)(of->nr_added_up ? rows->nr_added_up : rows->nr);
}

/* False: the sums are of no use, as one had no room, or as they are of more samples than are
 * counted here: a stack that was added up has the places of all of its samples in one part, and the
 * other parts count elsewhere if its code got another name meanwhile. */
static bool has_rows(const struct interval_weights *w)
{
	const struct interval_segments *rows = rows_of(w);

	for (unsigned i = 0; i < INTERVAL_SEGMENTS; i++)
		for (unsigned k = 0; k < INTERVAL_PLACES; k++)
			if (rows->at[i][k] == INTERVAL_FULL)
				return false;
	return rows->nr <= w->nr;
}

/* The variance of the share, in that of independent samples. */
static double ratio_of(const struct interval_weights *part, const struct interval_weights *all)
{
	const struct interval_segments *in = rows_of(part), *of = rows_of(all);
	const double k = (double)part->nr, n = (double)all->nr, share = n > 0 ? k / n : 0;
	const double independent = variance_of_independent(k, n, share);
	const double beside =
	    variance_of_independent(k - nr_told(in, of), n - nr_told(of, of), share);

	/* one alone follows no other */
	if (!(independent > 0) || !of->nr || k < 2 || n - k < 2 || !has_rows(part) ||
	    !has_rows(all))
		return few_vary_by(all);
	return few_vary_by(all) * (beside + variance_of_rows(in, of, share)) / independent;
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
		return of_random(share, effective(all) / few_vary_by(all), all);
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
