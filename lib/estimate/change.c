#include "estimate/change.h"

#include "base/mem.h"
#include "base/order.h"
#include "estimate/spread.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_ORDERS = 19999,
	/* So many that differ as much are enough: p is known to a tenth (Besag and Clifford). */
	ENOUGH = 100,
};
#define SEED UINT64_C(0x9e3779b97f4a7c15)
/* Sums of ranks are multiples of a half: only rounding is less. */
#define EPSILON 1e-9

/* Equal numbers have the mean of their ranks. sorted: of v. */
static void make_ranks(const double *v, const double *sorted, size_t nr, double *rank)
{
	for (size_t i = 0; i < nr; i++) {
		size_t below = 0, equal = 0;

		for (size_t k = 0; k < nr && sorted[k] <= v[i]; k++) {
			below += sorted[k] < v[i];
			equal += sorted[k] == v[i];
		}
		rank[i] = (double)below + ((double)equal + 1) / 2;
	}
}

/* One over the deviation of the rank sum of the first i + 1 of nr numbers, without ties: these are
 * the same in all orders. */
static void make_scales(size_t nr, double *scale)
{
	for (size_t i = 0; i + 1 < nr; i++) {
		double a = (double)(i + 1), b = (double)(nr - i - 1);

		scale[i] = 1 / sqrt(a * b * (double)(nr + 1) / 12);
	}
}

/* How much the sides of the division differ that differ most. */
static double score(const double *rank, const double *scale, size_t nr)
{
	double sum = 0, most = 0, mean = (double)(nr + 1) / 2;

	for (size_t i = 0; i + CHANGE_SIDE < nr; i++) {
		sum += rank[i] - mean;
		if (i + 1 >= CHANGE_SIDE && fabs(sum) * scale[i] > most)
			most = fabs(sum) * scale[i];
	}
	return most;
}

/* xorshift64*: the same orders on all machines. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

static void shuffle(double *v, size_t nr, uint64_t *state)
{
	for (size_t i = nr - 1; i > 0; i--) {
		size_t k = (size_t)((next_random(state) >> 32) * (i + 1) >> 32);
		double x = v[i];

		v[i] = v[k];
		v[k] = x;
	}
}

static double find_p(double *rank, const double *scale, size_t nr, double least)
{
	uint64_t state = SEED;
	size_t nr_as_much = 0;

	for (size_t i = 1; i <= MAX_ORDERS; i++) {
		shuffle(rank, nr, &state);
		nr_as_much += score(rank, scale, nr) >= least - EPSILON;
		if (nr_as_much == ENOUGH)
			return (double)nr_as_much / (double)i;
	}
	return (double)(nr_as_much + 1) / (MAX_ORDERS + 1);
}

static double distance(double *side, size_t nr, double *middle)
{
	double sum = 0;

	*middle = spread_median(side, nr);
	for (size_t i = 0; i < nr; i++)
		sum += fabs(side[i] - *middle);
	return sum;
}

/* Where two levels fit the numbers best: ranks say less of the place. */
static void find_place(const double *v, size_t nr, double *scratch, struct change *out)
{
	double least = INFINITY;

	for (size_t at = CHANGE_SIDE; at + CHANGE_SIDE <= nr; at++) {
		double before, after, sum;

		memcpy(scratch, v, nr * sizeof(*v));
		sum = distance(scratch, at, &before) + distance(scratch + at, nr - at, &after);
		if (sum >= least)
			continue;
		least = sum;
		out->at = at;
		out->before = before;
		out->after = after;
	}
}

int change_find(const double *v, size_t nr, struct change *out)
{
	double *sorted, *rank, *scale;

	if (nr > CHANGE_MAX)
		return -EFBIG;
	if (nr < CHANGE_MIN)
		return 0;
	sorted = mem_calloc(3 * nr, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	rank = sorted + nr;
	scale = rank + nr;
	memcpy(sorted, v, nr * sizeof(*v));
	qsort(sorted, nr, sizeof(*sorted), order_reals);
	if (sorted[0] == sorted[nr - 1]) {
		mem_free(sorted);
		return 0;
	}
	make_ranks(v, sorted, nr, rank);
	make_scales(nr, scale);
	out->p = find_p(rank, scale, nr, score(rank, scale, nr));
	find_place(v, nr, sorted, out);
	mem_free(sorted);
	return 1;
}
