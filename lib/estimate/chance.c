/*
 * Student's distribution by the incomplete beta function, Welch's test by that, and Holm's
 * correction.
 */
#include "estimate/chance.h"

#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* log(gamma(a + 1/2) / gamma(a)); the difference of two logarithms loses its digits as a grows. */
static double log_gamma_half(double a)
{
	int sign;

	if (a < 50)
		return lgamma_r(a + 0.5, &sign) - lgamma_r(a, &sign);
	return log(a) / 2 - (1 - 1 / (24 * a * a)) / (8 * a);
}

static double log_beta(double a, double b)
{
	int sign;

	if (b == 0.5)
		return log(M_PI) / 2 - log_gamma_half(a);
	if (a == 0.5)
		return log(M_PI) / 2 - log_gamma_half(b);
	return lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
}

enum { MAX_STEPS = 100000, MIN_BLOCKS = 3 };

static double away_from_zero(double x)
{
	return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method; it is
 * short for x below a / (a + b). */
static double fraction(double a, double b, double x)
{
	double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), f = d;

	for (int m = 1; m < MAX_STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 / away_from_zero(1 + even * d);
		c = away_from_zero(1 + even / c);
		f *= c * d;
		d = 1 / away_from_zero(1 + odd * d);
		c = away_from_zero(1 + odd / c);
		step = c * d;
		f *= step;
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return f;
}

/* x and 1 - x both, so that neither loses its digits; both above 0. */
static double beta(double a, double b, double x, double rest)
{
	double log_x = x < 0.5 ? log(x) : log1p(-rest);
	double log_rest = rest < 0.5 ? log(rest) : log1p(-x);
	double front = exp(a * log_x + b * log_rest - log_beta(a, b));

	if (x < (a + 1) / (a + b + 2))
		return front * fraction(a, b, x) / a;
	return 1 - front * fraction(b, a, rest) / b;
}

double chance_beta(double a, double b, double x)
{
	return x <= 0 ? 0 : x >= 1 ? 1 : beta(a, b, x, 1 - x);
}

double chance_student(double t, double df)
{
	double t2 = t * t, x = df / (df + t2), rest = t2 / (df + t2);

	if (isinf(t2) || !(x > 0))
		return 0;
	return rest > 0 ? fmin(fmax(beta(df / 2, 0.5, x, rest), 0), 1) : 1;
}

/* By Newton's method: the probability falls ever less steeply, so that no step is too long. */
double chance_student_inverse(double p, double df)
{
	double t = 0, step = 1, log_scale = -log_beta(df / 2, 0.5);

	p = fmax(p, 1e-15);
	for (int i = 0; i < 1000 && step > 1e-14 * t; i++) {
		/* the density of |t| */
		double slope = 2 * exp(log_scale - (df + 1) / 2 * log1p(t * t / df)) / sqrt(df);

		step = slope > 0 ? (chance_student(t, df) - p) / slope : 0;
		t += fmax(step, 0);
	}
	return t;
}

/* The variance of the mean. */
static double variance(const struct spread *s, double least)
{
	double deviation = spread_deviation(s);

	return fmax(deviation * deviation, least) / (double)s->nr;
}

bool chance_errors_add(struct chance_errors *e, const struct spread *a, const struct spread *b,
		       const double least[2])
{
	double va, vb, df;

	if (a->nr < 2 || b->nr < 2)
		return false;
	va = variance(a, least[0]);
	vb = variance(b, least[1]);
	df = (double)(a->nr + b->nr - 2);
	if (va + vb > 0) {
		double fa = va / (va + vb), fb = vb / (va + vb);

		df = 1 / (fa * fa / (double)(a->nr - 1) + fb * fb / (double)(b->nr - 1));
	}
	e->of[e->nr].error = sqrt(va + vb);
	e->of[e->nr++].df = df;
	return true;
}

double chance_errors_p(const struct chance_errors *e, double difference)
{
	double p = e->nr ? 0 : 1;

	for (size_t i = 0; i < e->nr; i++) {
		const double error = e->of[i].error;

		p = fmax(p, error > 0         ? chance_student(difference / error, e->of[i].df)
			    : difference == 0 ? 1
					      : 0);
	}
	return p;
}

double chance_errors_half(const struct chance_errors *e, double level)
{
	double half = 0;

	for (size_t i = 0; i < e->nr; i++) {
		const double error = e->of[i].error;
		const double own =
		    error > 0 ? error * chance_student_inverse(level, e->of[i].df) : 0;

		half = fmax(half, own);
	}
	return half;
}

bool chance_welch(const struct spread *a, const struct spread *b, const double least[2],
		  struct chance_test *out)
{
	const double difference = b->mean - a->mean;
	struct chance_errors e = {.nr = 0};

	if (!chance_errors_add(&e, a, b, least))
		return false;
	*out = (struct chance_test){.df = e.of[0].df,
				    .p = chance_errors_p(&e, difference),
				    .half = chance_errors_half(&e, CHANCE_SIGNIFICANCE)};
	if (e.of[0].error > 0)
		out->t = difference / e.of[0].error;
	else if (difference != 0)
		out->t = difference > 0 ? INFINITY : -INFINITY;
	return true;
}

size_t chance_longest_block(size_t nr_a, size_t nr_b)
{
	size_t nr = (nr_a < nr_b ? nr_a : nr_b) / MIN_BLOCKS;

	return nr < 1 ? 1 : nr < CHANCE_LONGEST_BLOCK ? nr : CHANCE_LONGEST_BLOCK;
}

/* The means of blocks; an incomplete block is dropped. */
static struct spread spread_of(const double *x, size_t nr, size_t length)
{
	struct spread s = {0};

	for (size_t i = 0; i + length <= nr; i += length) {
		double sum = 0;

		for (size_t k = i; k < i + length; k++)
			sum += x[k];
		spread_add(&s, sum / (double)length);
	}
	return s;
}

bool chance_errors_numbers(const double *a, size_t nr_a, const double *b, size_t nr_b,
			   bool are_neighbours, struct chance_errors *out)
{
	static const double none[2];

	*out = (struct chance_errors){.nr = 0};
	for (size_t length = are_neighbours ? chance_longest_block(nr_a, nr_b) : 1; length;
	     length--) {
		struct spread sa = spread_of(a, nr_a, length), sb = spread_of(b, nr_b, length);

		if (!chance_errors_add(out, &sa, &sb, none))
			return false;
	}
	return true;
}

/* A test of many. */
struct one {
	double ratio, weight; /* ratio: p for a weight of 1 */
	size_t i;
};

static int by_ratio(const void *x, const void *y)
{
	const struct one *a = x, *b = y;

	if (a->ratio != b->ratio)
		return a->ratio < b->ratio ? -1 : 1;
	return order_u64(a->i, b->i);
}

int chance_holm(const double *p, const double *weight, size_t nr, double *adjusted, double *level)
{
	struct one *order = mem_calloc(nr, sizeof(*order));
	double most = 0, left = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		double w = weight ? weight[i] : 1;

		order[i] = (struct one){p[i] / w, w, i};
	}
	qsort(order, nr, sizeof(*order), by_ratio);
	for (size_t i = nr; i-- > 0;) { /* from the end: the sum of what is left */
		left += order[i].weight;
		adjusted[order[i].i] = order[i].ratio * left;
		if (level) /* where the others before it change nothing */
			level[order[i].i] = CHANCE_SIGNIFICANCE * order[i].weight / left;
	}
	for (size_t i = 0; i < nr; i++) {
		const size_t at = order[i].i;

		most = fmax(most, adjusted[at]);
		if (level && most > adjusted[at])
			level[at] = CHANCE_SIGNIFICANCE * p[at] / most;
		adjusted[at] = fmin(most, 1);
	}
	mem_free(order);
	return 0;
}
