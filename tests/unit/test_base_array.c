/* Lengths of arrays, and linear searches. */
#include "kit.h"

#include "base/array.h"

struct item {
	int key, value;
};

TEST(searches)
{
	const struct item items[] = {{1, 10}, {2, 20}, {2, 30}, {4, 40}};
	const struct {
		int key;
		size_t nr;
		int value; /* 0: none */
	} cases[] = {
	    {1, 4, 10}, {2, 4, 20}, {4, 4, 40}, {3, 4, 0}, {4, 3, 0}, {1, 1, 10}, {1, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		const struct item *found =
		    ARRAY_FIND(x, items, cases[i].nr, x->key == cases[i].key);

		assert_int_equal(found ? found->value : 0, cases[i].value);
		assert_int_equal(ARRAY_ANY(x, items, cases[i].nr, x->key == cases[i].key),
				 cases[i].value != 0);
	}
}

/* The first one ends the search; a search of nothing needs no list. */
TEST(looks_no_further)
{
	const int list[] = {5, 6, 7};
	const int *const none = NULL;
	size_t nr_looks = 0;

	assert_ptr_equal(ARRAY_FIND(x, list, ARRAY_NR(list), nr_looks++ && *x == 6), &list[1]);
	assert_int_equal(nr_looks, 2);
	assert_false(ARRAY_ANY(x, none, 0, *x == 5));
}

/* Fails at one of three items; counts the steps. */
static int step(size_t i, size_t fails_at, size_t *nr_steps)
{
	(*nr_steps)++;
	return i == fails_at ? -5 : 0;
}

TEST(runs_until_one_fails)
{
	size_t nr = 0, none = 0;

	assert_int_equal(ARRAY_RUN(i, 3, step(i, 9, &nr)), 0);
	assert_int_equal(nr, 3);
	assert_int_equal(ARRAY_RUN(i, 3, step(i, 1, &nr)) ?: 1, -5);
	assert_int_equal(nr, 5);
	assert_int_equal(ARRAY_RUN(i, none, step(i, 0, &nr)), 0);
	assert_int_equal(nr, 5);
}
