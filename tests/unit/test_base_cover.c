/*
 * The last range that covers an address is what a search of all of them finds.
 */
#include "kit.h"

#include "base/cover.h"

#include <stdlib.h>

struct range {
	uint64_t start, end;
};

static void range_of(const void *arg, size_t i, uint64_t *start, uint64_t *end)
{
	const struct range *r = arg;

	*start = r[i].start;
	*end = r[i].end;
}

static uint32_t find(const struct range *r, uint32_t nr, uint64_t address)
{
	while (nr--)
		if (r[nr].start <= address && address < r[nr].end)
			return nr;
	return COVER_NONE;
}

static void check(const struct range *r, uint32_t nr, uint64_t addresses)
{
	struct cover c = {0};

	assert_int_equal(cover_make(&c, nr, range_of, r), 0);
	for (uint64_t address = 0; address < addresses; address++)
		for (uint32_t until = 0; until <= nr; until++) {
			uint64_t start, end;
			uint32_t found = cover_find(&c, until, address, &start, &end);

			assert_int_equal(found, find(r, until, address));
			assert_true(start <= address && address < end);
			assert_int_equal(find(r, until, start), found);
			assert_int_equal(find(r, until, end - 1), found);
		}
	cover_fini(&c);
}

TEST(any)
{
	struct range r[12];
	uint64_t seed = 1;

	check(NULL, 0, 4);
	for (unsigned round = 0; round < 200; round++) {
		const uint32_t nr = 1 + round % NR(r);

		for (uint32_t i = 0; i < nr; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			r[i].start = 5 + (seed >> 33) % 24;
			r[i].end = r[i].start + 1 + (seed >> 48) % 12;
		}
		check(r, nr, 48);
	}
}

TEST(ends)
{
	static const struct range r[] = {{0, UINT64_MAX}, {UINT64_MAX - 1, UINT64_MAX}};
	struct cover c = {0};
	uint64_t start, end;

	assert_int_equal(cover_make(&c, 2, range_of, r), 0);
	assert_int_equal(cover_find(&c, 2, 0, &start, &end), 0);
	assert_int_equal(cover_find(&c, 2, UINT64_MAX - 1, &start, &end), 1);
	assert_int_equal(cover_find(&c, 2, UINT64_MAX, &start, &end), COVER_NONE);
	cover_fini(&c);
}

static int make_one(void *arg)
{
	static const struct range r[] = {{1, 4}, {2, 6}};
	struct cover c = {0};
	int rc = cover_make(&c, 2, range_of, r);

	(void)arg;
	cover_fini(&c);
	return rc;
}

TEST(failures)
{
	inject_every(make_one, NULL, 3, 0);
}
