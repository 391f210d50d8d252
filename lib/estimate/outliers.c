/*
 * Each item is left out in turn, by value. Of sorted numbers the median of all but one is found by
 * its index, and at most three different medians occur: for each of them the distances are sorted
 * once.
 */
#include "estimate/outliers.h"

#include "base/mem.h"
#include "base/order.h"
#include "estimate/chance.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

/* The standard deviation of normal numbers by their median distance. */
#define NORMAL_MAD 1.4826022185056018
/* See struct outlier. */
#define DF_PER_ITEM 0.385

struct place {
	double value;
	size_t item;
};

struct search {
	size_t nr;
	struct place *places; /* the items by value */
	double *sorted;       /* their values */
	double *distances;    /* from the median, sorted */
	double median;        /* of the distances */
	bool has_distances;
	double variance; /* the median of all */
};

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The first index whose number is not below x. */
static size_t find(const double *sorted, size_t nr, double x)
{
	return ORDER_FIRST(i, nr, sorted[i] >= x);
}

/* The median of all but the value at index left. */
static double median_without(const double *sorted, size_t nr, size_t left)
{
	size_t rest = nr - 1, low = (rest - 1) / 2, high = rest / 2;

	return (sorted[low + (low >= left)] + sorted[high + (high >= left)]) / 2;
}

/* Small numbers of items have a smaller median distance (Croux and Rousseeuw, 1992). */
static double correction(size_t nr)
{
	static const double small[] = {0,     0,     1.196, 1.495, 1.363,
				       1.206, 1.200, 1.140, 1.129, 1.107};

	return nr < sizeof(small) / sizeof(small[0]) ? small[nr] : (double)nr / ((double)nr - 0.8);
}

static void set_median(struct search *s, double median)
{
	if (s->has_distances && s->median == median)
		return;
	s->has_distances = true;
	s->median = median;
	for (size_t i = 0; i < s->nr; i++)
		s->distances[i] = fabs(s->sorted[i] - median);
	order_sort(s->distances, s->nr, sizeof(*s->distances), compare);
}

static struct outlier judge(struct search *s, size_t at, double variance)
{
	const size_t others = s->nr - 1;
	struct outlier o = {.usual = median_without(s->sorted, s->nr, at), .p = 1};
	const double difference = s->sorted[at] - o.usual;
	double spread;

	if (difference == 0)
		return o;
	set_median(s, o.usual);
	spread = NORMAL_MAD * correction(others) *
		 median_without(s->distances, s->nr, find(s->distances, s->nr, fabs(difference)));
	/* Where the others agree by chance, their own errors are the spread. */
	variance = fmax(spread * spread, s->variance) * (1 + M_PI / 2 / (double)others) +
		   fmax(variance - s->variance, 0);
	o.z = variance > 0 ? difference / sqrt(variance) : difference > 0 ? INFINITY : -INFINITY;
	o.p = chance_student(o.z, others == OUTLIERS_MIN - 1 ? 1 : DF_PER_ITEM * (double)others);
	return o;
}

int outliers_find(const struct outliers_item *items, size_t nr, struct outlier *out)
{
	MEM_AUTO double *numbers = mem_calloc(2 * nr + 1, sizeof(*numbers));
	MEM_AUTO struct place *places = mem_calloc(nr + 1, sizeof(*places));
	struct search s = {.nr = nr, .places = places, .sorted = numbers};

	if (!numbers || !places)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		out[i] = (struct outlier){.p = 1};
		places[i] = (struct place){items[i].value, i};
		numbers[i] = items[i].variance;
	}
	if (nr < OUTLIERS_MIN)
		return 0;
	order_sort(numbers, nr, sizeof(*numbers), compare);
	s.variance = (numbers[(nr - 1) / 2] + numbers[nr / 2]) / 2;
	order_sort(places, nr, sizeof(*places), compare); /* the value comes first */
	for (size_t i = 0; i < nr; i++)
		numbers[i] = places[i].value;
	s.distances = numbers + nr;
	for (size_t i = 0; i < nr; i++)
		out[places[i].item] = judge(&s, i, items[places[i].item].variance);
	return 0;
}

void outliers_imbalance(const double *values, size_t nr, struct imbalance *out)
{
	double sum = 0;

	*out = (struct imbalance){.max = values[0]};
	for (size_t i = 0; i < nr; i++) {
		sum += values[i];
		if (values[i] > out->max) {
			out->max = values[i];
			out->slowest = i;
		}
	}
	out->mean = sum / (double)nr;
	if (!(sum > 0))
		return;
	out->over = out->max / out->mean - 1;
	out->idle = (out->max - out->mean) / out->max;
}
