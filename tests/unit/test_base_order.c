/* Sorting, searching, and heaps. */
#include "kit.h"

#include "base/heap.h"
#include "base/order.h"

TEST(compare)
{
	assert_int_equal(order_u64(1u, 2u), -1);
	assert_int_equal(order_u64(2, 2), 0);
	assert_int_equal(order_u64(UINT64_MAX, (uint64_t)1), 1);
	assert_int_equal(order_u64(1, 1) ?: order_u64(3, 2) ?: order_u64(0, 9), 1);
}

TEST(first)
{
	static const uint64_t list[] = {1, 3, 3, 7, UINT64_MAX};

	for (size_t nr = 0; nr <= NR(list); nr++)
		for (uint64_t x = 0; x < 9; x++) {
			size_t at = 0;

			while (at < nr && list[at] <= x)
				at++;
			assert_int_equal(ORDER_FIRST(i, nr, list[i] > x), at);
		}
}

static size_t nr_compared;

static int counted(const void *a, const void *b)
{
	nr_compared++;
	return order_numbers(a, b);
}

TEST(sort)
{
	uint64_t list[100];

	order_sort(NULL, 0, sizeof(*list), order_numbers);
	for (size_t i = 0; i < NR(list); i++)
		list[i] = i / 2;
	order_sort(list, NR(list), sizeof(*list), counted);
	assert_int_equal(nr_compared, NR(list) - 1); /* in order already */
	for (size_t i = 0; i < NR(list); i++)
		list[i] = i * 37 % NR(list);
	order_sort(list, NR(list), sizeof(*list), order_numbers);
	for (size_t i = 0; i < NR(list); i++)
		assert_int_equal(list[i], i);
	list[NR(list) - 2] = UINT64_MAX; /* only the last is out of order */
	order_sort(list, NR(list), sizeof(*list), order_numbers);
	assert_int_equal(list[NR(list) - 2], NR(list) - 1);
}

static bool is_less(const void *a, const void *b)
{
	return *(const uint64_t *)a < *(const uint64_t *)b;
}

TEST(heap)
{
	uint64_t n[200], last = 0;
	struct heap h = {0};

	for (size_t i = 0; i < NR(n); i++) {
		n[i] = 1 + i * 73 % NR(n);
		assert_int_equal(heap_push(&h, &n[i], is_less), 0);
	}
	for (size_t i = 0; i < NR(n) / 2; i++) { /* the first becomes the last */
		*(uint64_t *)h.item[0] += NR(n);
		heap_settle(&h, is_less);
	}
	for (; h.nr; heap_pop(&h, is_less)) {
		uint64_t first = *(uint64_t *)h.item[0];

		assert_true(first > last);
		last = first;
	}
	assert_int_equal(last, NR(n) + NR(n) / 2);
	mem_free(h.item);
}
