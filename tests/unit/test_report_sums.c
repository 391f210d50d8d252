/*
 * Rows that grow by iteration: against a flat report of all entries, or of those of the last
 * iterations.
 */
#include "inject.h"
#include "kit.h"
#include "test_report.h"

#include "report/sums.h"

enum { NR_ITERATIONS = 3 * REPORT_SUMS_ITERATIONS, NR_ENTRIES = 2000 };

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % n;
}

struct given {
	struct report_key key;
	char letters[4];
	uint64_t samples;
};

static void make(struct given *g, uint32_t iteration)
{
	*g = (struct given){
	    .key = {.event = random_below(2),
		    .iteration = iteration,
		    .cpu = random_below(3),
		    .pid = 10 + random_below(2),
		    .tid = 20 + random_below(2)},
	    .letters = {(char)('a' + random_below(5)), (char)('a' + random_below(5)), 'z'},
	    .samples = 1 + random_below(9)};
}

/* Both have the same rows, with the same weights. */
static void assert_same(struct report_sums *s, struct report_functions *f,
			const struct given *given, uint32_t from, uint32_t end)
{
	struct report_flat *flat = report_flat_new(f, 1 << REPORT_FUNCTION, true);
	const struct report_flat_row *want, *rows;
	size_t nr_want, nr, same = 0;

	for (size_t i = 0; i < NR_ENTRIES; i++) {
		const struct report_key key = {.event = given[i].key.event};

		if (given[i].key.iteration < from || given[i].key.iteration >= end)
			continue;
		assert_int_equal(
		    test_give(report_flat_sink(flat), f, &key, given[i].letters, given[i].samples),
		    0);
	}
	want = report_flat_rows(flat, &nr_want);
	assert_int_equal(report_sums_rows(s, from, &rows, &nr), 0);
	assert_int_equal(nr, nr_want);
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < nr; k++)
			same +=
			    memcmp(rows[i].column, want[k].column, sizeof(want[k].column)) == 0 &&
			    rows[i].self.samples == want[k].self.samples &&
			    rows[i].self.weight == want[k].self.weight &&
			    rows[i].total.samples == want[k].total.samples &&
			    rows[i].total.squares == want[k].total.squares;
	assert_int_equal(same, nr);
	report_flat_free(flat);
}

TEST(rows)
{
	static struct given given[NR_ENTRIES];
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_sums *s = report_sums_new(f, 1 << REPORT_FUNCTION, true);

	for (uint32_t i = 0; i < NR_ENTRIES; i++) {
		/* mostly in order; an old one now and then */
		make(&given[i], i % 7 ? i * NR_ITERATIONS / NR_ENTRIES
				      : random_below(1 + i * NR_ITERATIONS / NR_ENTRIES));
		assert_int_equal(test_give(report_sums_sink(s), f, &given[i].key, given[i].letters,
					   given[i].samples),
				 0);
	}
	assert_same(s, f, given, 0, NR_ITERATIONS);
	assert_same(s, f, given, 0, NR_ITERATIONS); /* asking changes nothing */
	assert_same(s, f, given, NR_ITERATIONS - 5, NR_ITERATIONS);
	assert_same(s, f, given, NR_ITERATIONS, NR_ITERATIONS);
	report_sums_free(s);
	report_functions_free(f);
}

/* Columns that are keys of threads. */
TEST(threads)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_sums *s = report_sums_new(f, 1 << REPORT_PID | 1 << REPORT_TID, false);
	const struct report_flat_row *rows;
	struct report_key key = {.cpu = 3, .pid = 5, .tid = 6, .comm = 9};
	size_t nr;

	assert_int_equal(test_give(report_sums_sink(s), f, &key, "ab", 1), 0);
	key.cpu = 4;
	key.comm = 8;
	key.iteration = 1;
	assert_int_equal(test_give(report_sums_sink(s), f, &key, "c", 2), 0);
	assert_int_equal(report_sums_rows(s, 0, &rows, &nr), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(rows[0].column[REPORT_PID], 5);
	assert_int_equal(rows[0].column[REPORT_TID], 6);
	assert_int_equal(rows[0].total.samples, 3);
	report_sums_free(s);
	report_functions_free(f);
}

static int use(void *arg)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_sums *s = f ? report_sums_new(f, 1 << REPORT_FUNCTION, true) : NULL;
	const struct report_flat_row *rows;
	size_t nr;
	int rc = s ? 0 : -ENOMEM;

	(void)arg;
	for (uint32_t i = 0; i < 2 * REPORT_SUMS_ITERATIONS && rc == 0; i++) {
		const struct report_key key = {.iteration = i};

		rc = test_give(report_sums_sink(s), f, &key, "cba", 1);
	}
	rc = rc ?: report_sums_rows(s, 0, &rows, &nr);
	report_sums_free(s);
	report_functions_free(f);
	return rc;
}

TEST(no_memory)
{
	inject_every(use, NULL, 10, 0);
}
