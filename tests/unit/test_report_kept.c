/*
 * Entries that are kept: what comes out is what went in, of all iterations or the last ones; and a
 * limit.
 */
#include "inject.h"
#include "kit.h"
#include "test_report.h"

#include "report/flat.h"
#include "report/kept.h"

static void give(struct report_kept *k, struct report_functions *f, const struct report_key *key,
		 const char *letters, uint64_t samples)
{
	assert_int_equal(test_give(report_kept_sink(k), f, key, letters, samples), 0);
}

/* "a 2/5": function, self and total samples, as a flat report has them. */
static void assert_passes(struct report_kept *k, struct report_functions *f, uint32_t from,
			  const char *want)
{
	struct report_flat *flat = report_flat_new(f, 1 << REPORT_FUNCTION, true);
	const struct report_flat_row *rows;
	char text[512] = "";
	size_t nr;

	assert_int_equal(report_kept_pass(k, from, report_flat_sink(flat)), 0);
	rows = report_flat_rows(flat, &nr);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(rows[i].total.weight, 10 * rows[i].total.samples);
		sprintf(text + strlen(text), "%s%s %d/%d", i ? ", " : "",
			report_functions_at(f, rows[i].column[REPORT_FUNCTION])->name,
			(int)rows[i].self.samples, (int)rows[i].total.samples);
	}
	assert_string_equal(text, want);
	report_flat_free(flat);
}

TEST(spans)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_kept *k = report_kept_new(f, REPORT_KEPT_USUAL);
	struct report_key key = {.iteration = 0};

	give(k, f, &key, "cba", 1);
	give(k, f, &key, "aaa", 4); /* a calls itself: once */
	key.iteration = 7;
	give(k, f, &key, "cba", 2);
	key.iteration = 3; /* the newest are read first */
	give(k, f, &key, "ba", 8);
	assert_passes(k, f, 0, "b 8/11, a 4/15, c 3/3");
	assert_passes(k, f, 3, "b 8/10, c 2/2, a 0/10");
	assert_passes(k, f, 4, "c 2/2, a 0/2, b 0/2");
	assert_passes(k, f, 8, "");
	report_kept_free(k);
	report_functions_free(f);
}

/* An iteration's list is replaced by one that has its place; an older one is in the sums alone. */
TEST(window)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_kept *k = report_kept_new(f, REPORT_KEPT_USUAL);
	struct report_key key = {.iteration = 2};

	give(k, f, &key, "a", 1);
	key.iteration = 2 + REPORT_KEPT_ITERATIONS;
	give(k, f, &key, "b", 2);
	key.iteration = 2;
	give(k, f, &key, "c", 4);
	assert_passes(k, f, 0, "c 4/4, b 2/2, a 1/1");
	assert_passes(k, f, 1, "b 2/2");
	report_kept_free(k);
	report_functions_free(f);
}

static int add_key(void *arg, const struct report_entry *e)
{
	char *text = arg;

	sprintf(text + strlen(text), "%u %u/%u cpu %d comm %u: %s x%d\n", e->key.event, e->key.pid,
		e->key.tid, (int)e->key.cpu, e->key.comm, e->frames[0].function->name,
		(int)e->weight.samples);
	return 0;
}

TEST(keys)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_kept *k = report_kept_new(f, REPORT_KEPT_USUAL);
	struct report_key key = {.event = 1, .cpu = 3, .pid = 5, .tid = 6, .comm = 7};
	char text[512] = "";
	const struct report_sink sink = {.entry = add_key, .arg = text};

	give(k, f, &key, "ba", 1);
	give(k, f, &key, "ba", 1);
	key.cpu = 2;
	give(k, f, &key, "ba", 1);
	key.tid = 8;
	give(k, f, &key, "ba", 4);
	assert_int_equal(report_kept_pass(k, 0, &sink), 0);
	assert_string_equal(text, "1 5/6 cpu 3 comm 7: b x2\n"
				  "1 5/6 cpu 2 comm 7: b x1\n"
				  "1 5/8 cpu 2 comm 7: b x4\n");
	report_kept_free(k);
	report_functions_free(f);
}

/* Beyond the limit callers, thread and CPU go; no sample does. */
TEST(full)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_kept *k = report_kept_new(f, 2);
	struct report_key key = {.pid = 5, .tid = 5};
	char text[512] = "";
	const struct report_sink sink = {.entry = add_key, .arg = text};

	give(k, f, &key, "ba", 1);
	give(k, f, &key, "ca", 1);
	assert_int_equal(report_kept_nr_cut(k), 0);
	give(k, f, &key, "bca", 4);
	key.tid = 9;
	give(k, f, &key, "bc", 8);
	assert_int_equal(report_kept_nr_cut(k), 12);
	assert_int_equal(report_kept_pass(k, 0, &sink), 0);
	assert_non_null(strstr(text, "cpu -1 comm 0: b x12\n"));
	/* rows by process, as keys are passed whole */
	assert_passes(k, f, 0, "b 12/12, b 1/1, c 1/1, a 0/2");
	report_kept_free(k);
	report_functions_free(f);
}

static int make_kept(void *arg)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_kept *k = f ? report_kept_new(f, 10) : NULL;
	int rc = k ? 0 : -ENOMEM;

	(void)arg;
	for (uint32_t i = 0; i < 3 && rc == 0; i++) {
		const struct report_key key = {.iteration = i, .tid = i};

		rc = test_give(report_kept_sink(k), f, &key, "cba", 1);
	}
	report_kept_free(k);
	report_functions_free(f);
	return rc;
}

TEST(no_memory)
{
	inject_every(make_kept, NULL, 5, 0);
}
