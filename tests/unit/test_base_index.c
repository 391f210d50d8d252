/*
 * The index of numbered things: against a plain list, with hashes that collide, and without memory.
 */
#include "kit.h"

#include "base/index.h"

enum { NR_THINGS = 100000 };

struct things {
	const uint64_t *item;
	unsigned nr_asked;
};

static bool is_same(const void *arg, const void *key, uint32_t number)
{
	const struct things *t = arg;

	((struct things *)arg)->nr_asked++;
	return t->item[number] == *(const uint64_t *)key;
}

TEST(finds_all)
{
	static uint64_t item[NR_THINGS];
	struct things t = {.item = item};
	struct index x = {0};
	uint64_t none = 7;

	assert_int_equal(index_find(&x, 5, is_same, &t, &none), INDEX_NONE);
	for (uint32_t i = 0; i < NR_THINGS; i++) {
		item[i] = (uint64_t)i * i * 1000003 + 11;
		assert_int_equal(index_add(&x, index_hash(0, &item[i], 8), i), 0);
	}
	assert_int_equal(x.nr, NR_THINGS);
	assert_true(x.room >= 2 * x.nr);
	assert_int_equal(x.room & (x.room - 1), 0);
	for (uint32_t i = 0; i < NR_THINGS; i++)
		assert_int_equal(index_find(&x, index_hash(0, &item[i], 8), is_same, &t, &item[i]),
				 i);
	/* others with the same hash are asked of hardly ever */
	assert_in_range(t.nr_asked, NR_THINGS, NR_THINGS + 10);
	assert_int_equal(index_find(&x, index_hash(0, &none, 8), is_same, &t, &none), INDEX_NONE);
	index_fini(&x);
	assert_null(x.slots);
	assert_int_equal(x.room, 0);
}

/* All of one hash, near the end of the table: it goes round, and the first that is the same is
 * it. */
TEST(collisions)
{
	static const uint64_t item[] = {1, 2, 3, 2, 4};
	struct things t = {.item = item};
	struct index x = {0};

	for (uint32_t i = 0; i < NR(item); i++)
		assert_int_equal(index_add(&x, UINT32_MAX, i), 0);
	for (uint32_t i = 0; i < NR(item); i++)
		assert_int_equal(index_find(&x, UINT32_MAX, is_same, &t, &item[i]), i == 3 ? 1 : i);
	/* the same slot, another hash: not asked of */
	t.nr_asked = 0;
	assert_int_equal(index_find(&x, UINT32_MAX >> 1, is_same, &t, &item[0]), INDEX_NONE);
	assert_int_equal(t.nr_asked, 0);
	index_fini(&x);
}

static bool is_none(const void *arg, const void *key, uint32_t number)
{
	(void)key;
	(void)number;
	((struct things *)arg)->nr_asked++;
	return false;
}

/* Of 100,000 things of one hash 64 are asked of, and no more. */
TEST(crowded)
{
	struct things t = {.item = NULL};
	struct index x = {0};

	for (uint32_t i = 0; i < NR_THINGS; i++)
		assert_int_equal(index_add(&x, 7, i), 0);
	assert_int_equal(index_find(&x, 7, is_none, &t, &t), INDEX_NONE);
	assert_int_equal(t.nr_asked, 64);
	index_fini(&x);
}

TEST(hashes)
{
	assert_int_equal(index_hash(0, "abc", 3), index_hash(0, "abcd", 3));
	assert_int_not_equal(index_hash(0, "abc", 3), index_hash(0, "abd", 3));
	assert_int_not_equal(index_hash(0, "abc", 3), index_hash(1, "abc", 3));
	assert_int_not_equal(index_hash(0, "abc", 3), index_hash(0, "abc", 2));
}

/* What was there before an addition fails is there after it. */
TEST(fails)
{
	uint64_t item[1000];
	struct things t = {.item = item};
	struct index x = {0};

	for (unsigned n = 1; n <= 4; n++) {
		uint32_t i = 0;

		inject_mem(n);
		for (; i < NR(item); i++) {
			item[i] = i;
			if (index_add(&x, index_hash(0, &item[i], 8), i))
				break;
		}
		assert_int_equal(inject.fired, n <= 4 && i < NR(item));
		assert_int_equal(x.nr, i);
		for (uint32_t k = 0; k < i; k++)
			assert_int_equal(
			    index_find(&x, index_hash(0, &item[k], 8), is_same, &t, &item[k]), k);
		index_fini(&x);
		assert_int_equal(inject.nr_live, 0);
		inject_stop();
	}
}
