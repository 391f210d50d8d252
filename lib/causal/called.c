#include "causal/called.h"

#include "base/order.h"

#include <string.h>

static uint64_t spent_ns(const struct causal_called *f)
{
	return f->is_out ? 0 : f->calls * f->cost_ns;
}

size_t causal_called_leave_out(struct causal_called *f, size_t nr, uint64_t most_ns)
{
	size_t left_out = 0;
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < nr; i++)
		sum_ns += spent_ns(&f[i]);
	for (; sum_ns > most_ns; left_out++) {
		size_t dearest = 0;

		for (size_t i = 1; i < nr; i++)
			if (spent_ns(&f[i]) > spent_ns(&f[dearest]))
				dearest = i;
		sum_ns -= spent_ns(&f[dearest]);
		f[dearest].is_out = true;
	}
	return left_out;
}

static int compare(const void *a, const void *b)
{
	const struct causal_called *x = a, *y = b;

	return x->is_out - y->is_out
		   ?: (x->is_out ? order_reals(&x->rate, &y->rate)
				 : order_reals(&y->rate, &x->rate))
			      ?: strcmp(x->name, y->name);
}

size_t causal_called_sort(struct causal_called *f, size_t nr, double least)
{
	size_t enough = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct causal_called one = f[i];

		if (!(one.rate >= least))
			continue;
		f[i] = f[enough];
		f[enough++] = one;
	}
	order_sort(f, enough, sizeof(*f), compare);
	return enough;
}
