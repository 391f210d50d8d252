/* What was kept is passed on as it came: to sinks of fewer parts, and only what is wanted. */
#include "kit.h"
#include "test_report.h"

#include "report/calls.h"
#include "report/flat.h"
#include "report/pool.h"

#include <errno.h>
#include <stdio.h>

enum { NR_ENTRIES = 3000, WANTED_PID = 2 };

static bool is_wanted(void *arg, const struct report_key *key)
{
	return !*(const bool *)arg || key->pid == WANTED_PID;
}

static struct report_weight counted, omitted;

static void count(void *arg, const struct report_key *key, const struct report_weight *weight,
		  bool wanted)
{
	(void)arg;
	(void)key;
	report_weight_add(wanted ? &counted : &omitted, weight);
}

static void forget(void)
{
	memset(&counted, 0, sizeof(counted));
	memset(&omitted, 0, sizeof(omitted));
}

/* The rows as text. */
static void write_rows(struct report_functions *f, struct report_flat *flat, struct buf *out)
{
	size_t nr;
	const struct report_flat_row *rows = report_flat_rows(flat, &nr);

	for (size_t i = 0; i < nr; i++)
		buf_printf(out, "%u %u %s %d %d %d %d\n", rows[i].column[REPORT_EVENT],
			   rows[i].column[REPORT_PID],
			   report_functions_at(f, rows[i].column[REPORT_FUNCTION])->name,
			   (int)rows[i].self.samples, (int)rows[i].total.weight,
			   (int)rows[i].total.random, (int)rows[i].total.squares);
}

static void give_all(const struct report_sink *sink, struct report_functions *f, bool wanted_only,
		     unsigned parts)
{
	uint64_t state = 1;

	for (int i = 0; i < NR_ENTRIES; i++) {
		char letters[TEST_MAX_FRAMES];
		struct report_key key = {.event = test_random(&state, 2),
					 .pid = test_random(&state, 4),
					 .comm = test_random(&state, 2)};
		const bool is_one = key.pid == WANTED_PID;

		test_random_stack(&state, letters);
		key.pid = parts & REPORT_BY_PID ? key.pid : 0;
		key.comm = parts & REPORT_BY_COMM ? key.comm : 0;
		if (!wanted_only || is_one)
			assert_int_equal(test_give(sink, f, &key, letters, 1 + i % 7), 0);
	}
}

static void compare(unsigned columns, bool wanted_only)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_flat *direct = report_flat_new(f, columns, true),
			   *again = report_flat_new(f, columns, true);
	const struct report_sink *sink = report_flat_sink(again);
	struct report_pool *k = report_pool_new(sink, 64 << 20);
	const struct report_pool_choice choice = {is_wanted, count, &wanted_only};
	BUF_AUTO(want, 1 << 20);
	BUF_AUTO(have, 1 << 20);

	forget();
	give_all(report_flat_sink(direct), f, wanted_only, sink->parts);
	give_all(report_pool_sink(k), f, false, report_pool_parts(sink));
	assert_int_equal(report_pool_read(k, sink, &choice), 0);
	write_rows(f, direct, &want);
	write_rows(f, again, &have);
	assert_string_equal(buf_str(&want), buf_str(&have));
	assert_int_equal(counted.samples + omitted.samples, 3000 / 7 * 28 + 1 + 2 + 3 + 4);
	assert_int_equal(omitted.samples != 0, wanted_only);
	report_pool_free(k);
	report_flat_free(direct);
	report_flat_free(again);
	report_functions_free(f);
}

TEST(as_it_came)
{
	for (int wanted_only = 0; wanted_only < 2; wanted_only++) {
		compare(1 << REPORT_FUNCTION, wanted_only);
		compare(1 << REPORT_FUNCTION | 1 << REPORT_PID, wanted_only);
		compare(1 << REPORT_FUNCTION | 1 << REPORT_COMM | 1 << REPORT_STATE, wanted_only);
	}
}

struct seen {
	uint64_t weight[2]; /* by number of frames: one, two */
};

static int see(void *arg, const struct report_entry *e)
{
	struct seen *s = arg;

	assert_in_range(e->nr_frames, 1, 2);
	assert_string_equal(e->frames[0].function->name, e->nr_frames == 1 ? "a" : "i");
	assert_int_equal(e->frames[0].is_inlined, e->nr_frames == 2);
	s->weight[e->nr_frames - 1] += e->weight.weight;
	return 0;
}

/* A sink without callers reads what was kept with them: the sampled function, and that into which
 * it was inlined. */
TEST(without_callers)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	const struct report_sink like = {.parts = REPORT_BY_STACK};
	struct report_pool *k = report_pool_new(&like, 1 << 20);
	struct seen seen = {{0}};
	const struct report_sink sink = {.entry = see, .arg = &seen};
	bool wanted_only = false;
	const struct report_pool_choice choice = {is_wanted, count, &wanted_only};
	struct report_frame frames[] = {
	    {.function = report_functions_named(f, "i", ""), .is_inlined = true},
	    {.function = report_functions_named(f, "a", "")},
	    {.function = report_functions_named(f, "b", "")}};
	struct report_entry e = {.weight = {.samples = 1, .weight = 3}};

	forget();
	for (size_t i = 0; i < 2; i++) {
		e.frames = frames + i;
		e.nr_frames = NR(frames) - i;
		e.weight.weight += i;
		assert_int_equal(report_pool_sink(k)->entry(report_pool_sink(k)->arg, &e), 0);
	}
	assert_int_equal(report_pool_read(k, &sink, &choice), 0);
	assert_int_equal(seen.weight[0], 4);
	assert_int_equal(seen.weight[1], 3);
	assert_int_equal(counted.samples, 2);
	report_pool_free(k);
	report_functions_free(f);
}

/* Rows that are the same are one. */
TEST(memory)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	const struct report_sink like = {.parts = REPORT_BY_STACK};
	struct report_pool *k = report_pool_new(&like, 4096);
	const struct report_key key = {.pid = 1};
	char letters[TEST_MAX_FRAMES];
	uint64_t state = 1;
	size_t bytes;
	int rc = 0;

	assert_int_equal(test_give(report_pool_sink(k), f, &key, "cba", 1), 0);
	bytes = report_pool_bytes(k);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(test_give(report_pool_sink(k), f, &key, "cba", 1), 0);
	assert_int_equal(report_pool_bytes(k), bytes);
	for (int i = 0; i < 1000 && rc == 0; i++) {
		test_random_stack(&state, letters);
		rc = test_give(report_pool_sink(k), f, &key, letters, 1);
	}
	assert_int_equal(rc, -ENOSPC);
	report_pool_free(k);
	report_functions_free(f);
}

static int add_maximum(void *arg, const struct report_entry *e)
{
	*(unsigned *)arg += e->weight.is_maximum ? 100 : 1;
	return 0;
}

/* Only sinks that take the largest of several receive such. */
TEST(maxima)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	unsigned nr = 0;
	bool all = false;
	struct report_sink sink = {.parts = REPORT_BY_STACK, .entry = add_maximum, .arg = &nr};
	struct report_pool *k = report_pool_new(&sink, 1 << 20);
	const struct report_pool_choice choice = {is_wanted, count, &all};
	struct report_frame frames[TEST_MAX_FRAMES];
	struct report_entry e = {.weight = {.samples = 1, .weight = 5, .is_maximum = true},
				 .frames = frames,
				 .nr_frames = test_frames(f, "ba", frames)};
	const struct report_sink *to = report_pool_sink(k);

	assert_int_equal(to->entry(to->arg, &e), 0);
	e.key.event = 1;
	e.weight.is_maximum = false;
	assert_int_equal(to->entry(to->arg, &e), 0);
	assert_int_equal(report_pool_read(k, &sink, &choice), 0);
	assert_int_equal(nr, 1);
	sink.takes_maxima = true;
	assert_int_equal(report_pool_read(k, &sink, &choice), 0);
	assert_int_equal(nr, 102);
	report_pool_free(k);
	report_functions_free(f);
}
