#include "base/order.h"

#include <stdlib.h>

int order_numbers(const void *a, const void *b)
{
	return order_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

int order_ids(const void *a, const void *b)
{
	return order_u64(*(const uint32_t *)a, *(const uint32_t *)b);
}

int order_reals(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void order_sort(void *items, size_t nr, size_t size, int (*compare)(const void *, const void *))
{
	const char *item = items;

	for (size_t i = 1; i < nr; i++, item += size)
		if (compare(item, item + size) > 0) {
			qsort(items, nr, size, compare);
			return;
		}
}
