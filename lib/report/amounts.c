/*
 * Amounts of whole replicates, each tested; p adjusted over all but the primary one.
 */
#include "report/amounts.h"

#include "base/mem.h"
#include "estimate/chance.h"
#include "report/diff.h"

#include <errno.h>
#include <math.h>

static double mean_of(const double *x, size_t nr)
{
	struct spread s = {0};

	for (size_t i = 0; i < nr; i++)
		spread_add(&s, x[i]);
	return s.mean;
}

static void test_one(struct amount *a, bool are_neighbours)
{
	struct chance_test test = {.p = 1};
	double was, difference;

	for (unsigned side = 0; side < 2; side++)
		a->mean[side] = mean_of(a->value[side], a->nr[side]);
	was = fabs(a->mean[0]);
	difference = a->mean[1] - a->mean[0];
	a->is_tested = !a->is_unjudged && chance_numbers(a->value[0], a->nr[0], a->value[1],
							 a->nr[1], are_neighbours, &test);
	a->p = a->adjusted = test.p;
	a->relative = was > 0 ? difference / was : difference > 0 ? INFINITY : 0;
	a->half = was > 0 ? test.half / was : 0;
}

int amounts_judge(struct amount *list, size_t nr, bool are_neighbours)
{
	MEM_AUTO double *p = mem_calloc(nr + 1, 2 * sizeof(*p));
	size_t nr_others = 0;
	double *adjusted;

	if (!p)
		return -ENOMEM;
	adjusted = p + nr;
	for (size_t i = 0; i < nr; i++) {
		test_one(&list[i], are_neighbours);
		if (list[i].is_tested && !list[i].is_primary)
			p[nr_others++] = list[i].p;
	}
	if (nr_others && chance_holm(p, NULL, nr_others, adjusted))
		return -ENOMEM;
	for (size_t i = 0, k = 0; i < nr; i++) {
		if (list[i].is_tested && !list[i].is_primary)
			list[i].adjusted = adjusted[k++];
		list[i].is_significant = list[i].adjusted < DIFF_SIGNIFICANCE;
	}
	return 0;
}

bool amount_is_over(const struct amount *a, double relative)
{
	return a->is_significant && a->relative > relative;
}
