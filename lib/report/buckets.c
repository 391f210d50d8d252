#include "report/buckets.h"

#include "base/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_BUCKETS = 1 << 23, BITS = 7 };

/* The key has no padding. */
struct bucket {
	uint32_t owner;
	int32_t number; /* key */
	uint64_t count;
};

void report_buckets_init(struct report_buckets *b)
{
	*b = (struct report_buckets){.is_full = false};
	dict_init(&b->items, sizeof(struct bucket), DICT_KEY(struct bucket, number), MAX_BUCKETS);
}

void report_buckets_fini(struct report_buckets *b)
{
	dict_fini(&b->items);
}

/* Below 2^BITS one each; from there on 2^BITS for each power of two. */
static int32_t number_of(uint64_t n)
{
	unsigned shift = n >> BITS ? 63 - (unsigned)__builtin_clzll(n) - BITS : 0;

	return (int32_t)(n >> BITS ? ((uint64_t)shift << BITS) + (n >> shift) : n);
}

static double middle_of(int32_t number)
{
	unsigned at = (unsigned)abs(number), shift = at >> BITS ? (at >> BITS) - 1 : 0;
	double low = ldexp((double)(at - (shift << BITS)), (int)shift);

	return copysign(low + (ldexp(1, (int)shift) - 1) / 2, number);
}

int report_buckets_add(struct report_buckets *b, uint32_t owner, int64_t value)
{
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
	const struct bucket key = {.owner = owner,
				   .number = value < 0 ? -number_of(size) : number_of(size)};
	struct bucket *bucket = dict_get(&b->items, &key);

	if (bucket)
		bucket->count++;
	else if (b->items.nr < MAX_BUCKETS)
		return -ENOMEM;
	b->is_full |= !bucket;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct bucket *x = a, *y = b;

	return order_u64(x->owner, y->owner) ?: (x->number > y->number) - (x->number < y->number);
}

void report_buckets_sort(struct report_buckets *b)
{
	order_sort(b->items.items, b->items.nr, sizeof(struct bucket), compare);
}

double report_buckets_quantile(const struct report_buckets *b, uint32_t owner, uint64_t nr,
			       int64_t min, int64_t max, double q)
{
	const struct bucket *at = b->items.items;
	uint64_t rank = (uint64_t)ceil(q * (double)nr), seen = 0;

	for (size_t i = ORDER_FIRST(k, b->items.nr, at[k].owner >= owner);
	     i < b->items.nr && at[i].owner == owner; i++) {
		seen += at[i].count;
		if (seen >= rank && seen)
			return fmin(fmax(middle_of(at[i].number), (double)min), (double)max);
	}
	return NAN;
}
