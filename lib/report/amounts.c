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

static void test_one(struct amount *a, bool are_neighbours, struct chance_errors *errors)
{
	double was, difference;

	for (unsigned side = 0; side < 2; side++)
		a->mean[side] = mean_of(a->value[side], a->nr[side]);
	was = fabs(a->mean[0]);
	difference = a->mean[1] - a->mean[0];
	a->is_tested = !a->is_unjudged && chance_errors_numbers(a->value[0], a->nr[0], a->value[1],
								a->nr[1], are_neighbours, errors);
	a->p = a->adjusted = a->is_tested ? chance_errors_p(errors, difference) : 1;
	a->relative = was > 0 ? difference / was : difference > 0 ? INFINITY : 0;
}

/* Of what is tested; level: that of its p. */
static void decide(struct amount *a, const struct chance_errors *errors, double level)
{
	const double was = fabs(a->mean[0]);

	a->is_significant = a->adjusted < DIFF_SIGNIFICANCE;
	a->half = was > 0 ? chance_errors_half(errors, level) / was : 0;
}

int amounts_judge(struct amount *list, size_t nr, bool are_neighbours)
{
	MEM_AUTO double *p = mem_calloc(nr + 1, 3 * sizeof(*p));
	MEM_AUTO struct chance_errors *errors = mem_calloc(nr + 1, sizeof(*errors));
	double *adjusted, *level;
	size_t nr_others = 0;

	if (!p || !errors)
		return -ENOMEM;
	adjusted = p + nr;
	level = p + 2 * nr;
	for (size_t i = 0; i < nr; i++) {
		test_one(&list[i], are_neighbours, &errors[i]);
		if (list[i].is_tested && !list[i].is_primary)
			p[nr_others++] = list[i].p;
	}
	if (nr_others && chance_holm(p, NULL, nr_others, adjusted, level))
		return -ENOMEM;
	for (size_t i = 0, k = 0; i < nr; i++) {
		double own = DIFF_SIGNIFICANCE;

		list[i].is_significant = false;
		list[i].half = 0;
		if (!list[i].is_tested)
			continue;
		if (!list[i].is_primary) {
			list[i].adjusted = adjusted[k];
			own = level[k++];
		}
		decide(&list[i], &errors[i], own);
	}
	return 0;
}

bool amount_is_over(const struct amount *a, double relative)
{
	return a->is_significant && a->relative > relative;
}
