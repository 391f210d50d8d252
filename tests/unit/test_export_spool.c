/*
 * The spool: every record comes back once, in its bucket, in the order of time, then of rank, then
 * as it came, however it came; and without a disk or memory it says so and leaves nothing.
 */
#include "kit.h"

#include "export/spool.h"

enum { NR_TAGS = 7, NR_BUCKETS = 5 };

/* Bucket 3 is of no tag. */
static const struct export_place places[NR_TAGS] = {{0, 6}, {1, 5}, {1, 4}, {2, 3},
						    {4, 2}, {4, 1}, {4, 0}};

static uint32_t next(uint32_t *random)
{
	return *random = *random * 1664525 + 1013904223;
}

/* How times follow one another. */
typedef uint64_t time_fn(size_t i, uint32_t *random);

static uint64_t rising(size_t i, uint32_t *random)
{
	(void)random;
	return i;
}

static uint64_t falling(size_t i, uint32_t *random)
{
	(void)random;
	return 1000000 - i;
}

static uint64_t same(size_t i, uint32_t *random)
{
	(void)i;
	(void)random;
	return 5;
}

/* Several CPUs, by turns. */
static uint64_t turns(size_t i, uint32_t *random)
{
	(void)random;
	return (i % 1000) * 3 + i / 1000;
}

static uint64_t little(size_t i, uint32_t *random)
{
	return i + next(random) / 65536 % 8;
}

static uint64_t any(size_t i, uint32_t *random)
{
	(void)i;
	return (uint64_t)next(random) << 32 | next(random);
}

/* The stack is the number of its coming. */
static void check_bucket(const struct export_spool *s, uint32_t bucket, size_t nr_records,
			 bool *seen)
{
	size_t nr;
	const struct export_record *r = export_spool_bucket(s, bucket, &nr);

	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(places[r[i].tag].bucket, bucket);
		assert_true(r[i].stack < nr_records && !seen[r[i].stack]);
		seen[r[i].stack] = true;
		assert_int_equal(r[i].weight, r[i].stack ^ r[i].time_ns);
		if (!i)
			continue;
		assert_true(r[i - 1].time_ns <= r[i].time_ns);
		if (r[i - 1].time_ns < r[i].time_ns)
			continue;
		assert_true(places[r[i - 1].tag].rank <= places[r[i].tag].rank);
		if (places[r[i - 1].tag].rank == places[r[i].tag].rank)
			assert_true(r[i - 1].stack < r[i].stack);
	}
}

static void check(time_fn *time, size_t nr)
{
	struct err e = {0};
	struct export_spool *s = export_spool_new(&e);
	uint32_t random = 1;
	bool *seen = calloc(nr + 1, sizeof(*seen));

	assert_non_null(s);
	for (size_t i = 0; i < nr; i++) {
		uint64_t at = time(i, &random);
		struct export_record r = {at, at ^ i, next(&random) / 65536 % NR_TAGS, (uint32_t)i};

		assert_int_equal(export_spool_add(s, &r, &e), 0);
	}
	assert_int_equal(export_spool_sort(s, places, NR_BUCKETS, &e), 0);
	for (uint32_t b = 0; b < NR_BUCKETS; b++)
		check_bucket(s, b, nr, seen);
	for (size_t i = 0; i < nr; i++)
		assert_true(seen[i]);
	free(seen);
	export_spool_free(s);
}

TEST(orders)
{
	static time_fn *const times[] = {rising, falling, same, turns, little, any};
	static const size_t nrs[] = {0, 1, 2, 3, 10, 4096, 4097, 20000};

	for (size_t i = 0; i < NR(times); i++)
		for (size_t k = 0; k < NR(nrs); k++)
			check(times[i], nrs[k]);
}

TEST(no_buckets)
{
	struct err e = {0};
	struct export_spool *s = export_spool_new(&e);

	assert_non_null(s);
	assert_int_equal(export_spool_sort(s, NULL, 0, &e), 0);
	export_spool_free(s);
	export_spool_free(NULL);
}

/* Of the stacks of all records, which says whether one is missing. */
static uint64_t sum_stacks(const struct export_spool *s)
{
	uint64_t sum = 0;

	for (uint32_t b = 0; b < NR_BUCKETS; b++) {
		size_t nr;
		const struct export_record *r = export_spool_bucket(s, b, &nr);

		while (nr)
			sum += r[--nr].stack;
	}
	return sum;
}

static int fill_and_sort(void *arg)
{
	struct err e = {0};
	struct export_spool *s = export_spool_new(&e);
	int rc = s ? 0 : e.code;

	(void)arg;
	for (uint32_t i = 0; i < 5000 && rc == 0; i++)
		rc = export_spool_add(s, &(struct export_record){5000 - i, 1, i % NR_TAGS, i}, &e);
	if (rc == 0)
		rc = export_spool_sort(s, places, NR_BUCKETS, &e);
	assert_int_equal(rc, e.code);
	assert_true(rc == 0 || *e.msg);
	assert_true(rc != 0 || sum_stacks(s) == 5000 * 4999 / 2);
	export_spool_free(s);
	return rc;
}

TEST(failures)
{
	inject_every(fill_and_sort, NULL, 2, 3);
}

TEST(no_folder)
{
	struct err e = {0};

	setenv("TMPDIR", "/nonexistent", 1);
	assert_null(export_spool_new(&e));
	unsetenv("TMPDIR");
	assert_int_equal(e.code, -ENOENT);
	assert_non_null(strstr(e.msg, "/nonexistent"));
	assert_non_null(strstr(e.hint, "TMPDIR"));
}
