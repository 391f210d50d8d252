/*
 * The table that counts samples that agree: what is one entry and what is two, what happens when it
 * is full, and that no sample is lost.
 */
#include "inject.h"

#include "report/fold.h"

enum { NR_FUNCTIONS = 64, FULL_AT = 1 << 15, MAX_KEPT = 1 << 17 };

static struct report_function functions[NR_FUNCTIONS];

/* What the table was emptied into. */
struct kept {
	size_t nr_calls, nr_frames, fail_at;
	struct report_weight sum;
	struct report_entry last;
	struct report_frame frames[4];
};

static int keep(void *arg, const struct report_entry *e)
{
	struct kept *k = arg;

	if (++k->nr_calls == k->fail_at)
		return -ENOSPC;
	report_weight_add(&k->sum, &e->weight);
	k->nr_frames += e->nr_frames;
	k->last = *e;
	for (size_t i = 0; i < e->nr_frames && i < 4; i++)
		k->frames[i] = e->frames[i];
	return 0;
}

static struct report_frame frame(unsigned function, uint32_t line)
{
	return (struct report_frame){.function = &functions[function], .line = line};
}

static void counts(void **state)
{
	const struct report_frame a[] = {frame(0, 0), frame(1, 0)};
	const struct report_key key = {.event = 2, .pid = 7};
	struct kept k = {0};
	struct report_fold *f = report_fold_new(keep, &k);
	uint32_t place;

	(void)state;
	place = report_fold_place(f, &key, a, 2);
	assert_int_equal(report_fold_place(f, &key, a, 2), place);
	report_fold_count(f, place, 10);
	report_fold_count(f, place, 3);
	assert_int_equal(report_fold_empty(f), 0);
	assert_int_equal(k.nr_calls, 1);
	assert_int_equal(k.sum.samples, 2);
	assert_int_equal(k.sum.weight, 13);
	assert_true(k.sum.squares == 109);
	assert_memory_equal(&k.last.key, &key, sizeof(key));
	assert_int_equal(k.last.nr_frames, 2);
	assert_memory_equal(k.frames, a, sizeof(a));
	assert_int_equal(report_fold_empty(f), 0); /* there is nothing any more */
	assert_int_equal(k.nr_calls, 1);
	report_fold_free(f);
	report_fold_free(NULL);
}

/* Stacks that differ in one thing are two. */
static void tells_apart(void **state)
{
	static const char *const files[] = {"a", "b"};
	const struct report_key keys[] = {
	    {0},        {.event = 1}, {.session = 1}, {.iteration = 1}, {.cpu = 1},   {.pid = 1},
	    {.tid = 1}, {.comm = 1},  {.branch = 1},  {.event = 2},     {.comm = 256}};
	const struct report_frame stacks[][4] = {
	    {frame(0, 0)},
	    {frame(0, 0), frame(0, 0)},
	    {frame(0, 0), frame(1, 0)},
	    {frame(1, 0), frame(0, 0)},
	    {frame(1, 0)},
	    {frame(0, 1)},
	    {frame(0, 1 << 16)},
	    {frame(0, 1 + (1 << 16))},
	    {frame(0, 1u << 31)},
	    {{&functions[0], files[0], 1}},
	    {{&functions[0], files[1], 1}},
	    {frame(0, 0), frame(0, 0), frame(0, 0)},
	};
	struct kept k = {0};
	struct report_fold *f = report_fold_new(keep, &k);
	uint32_t nr = 0;

	(void)state;
	for (int again = 0; again < 2; again++) {
		nr = 0;
		for (size_t i = 0; i < INJECT_NR(keys); i++)
			for (size_t s = 0; s < INJECT_NR(stacks); s++) {
				size_t depth = 0;
				uint32_t place;

				while (depth < 4 && stacks[s][depth].function)
					depth++;
				place = report_fold_place(f, &keys[i], stacks[s], depth);
				if (place != nr++)
					fail_msg("key %zu, stack %zu: as one before", i, s);
				report_fold_count(f, place, 1);
			}
	}
	assert_int_equal(report_fold_empty(f), 0);
	assert_int_equal(k.nr_calls, nr);
	assert_int_equal(k.sum.samples, 2 * nr);
	report_fold_free(f);
}

static uint32_t count(struct report_fold *f, uint32_t tid, const struct report_frame *frames,
		      size_t nr)
{
	const struct report_key key = {.tid = tid};
	uint32_t place = report_fold_place(f, &key, frames, nr);

	if (place != REPORT_FOLD_FULL)
		report_fold_count(f, place, tid);
	return place;
}

/* Full of entries: emptied and filled again, the sums are exact. */
static void full(void **state)
{
	const struct report_frame a[] = {frame(0, 0)};
	struct kept k = {0};
	struct report_fold *f = report_fold_new(keep, &k);
	uint64_t want = 0;
	size_t nr_full = 0;

	(void)state;
	for (uint32_t i = 0; i < 3 * FULL_AT; i++) {
		want += i;
		if (count(f, i, a, 1) != REPORT_FOLD_FULL)
			continue;
		nr_full++;
		assert_int_equal(k.nr_calls, (nr_full - 1) * FULL_AT);
		/* what is there is counted on all the same */
		assert_int_not_equal(count(f, i - 1, a, 1), REPORT_FOLD_FULL);
		want += i - 1;
		assert_int_equal(report_fold_empty(f), 0);
		assert_int_not_equal(count(f, i, a, 1), REPORT_FOLD_FULL);
	}
	assert_int_equal(nr_full, 2);
	assert_int_equal(report_fold_empty(f), 0);
	assert_int_equal(k.nr_calls, 3 * FULL_AT);
	assert_int_equal(k.sum.weight, want);
	assert_int_equal(k.sum.samples, 3 * FULL_AT + 2);
	report_fold_free(f);
}

/* Full of frames, with few entries; an empty one takes the deepest stack. */
static void deep(void **state)
{
	static struct report_frame deepest[REPORT_MAX_FRAMES];
	struct kept k = {0};
	struct report_fold *f = report_fold_new(keep, &k);
	size_t nr_full = 0;

	(void)state;
	for (size_t i = 0; i < REPORT_MAX_FRAMES; i++)
		deepest[i] = frame((unsigned)(i % NR_FUNCTIONS), 0);
	for (uint32_t i = 0; i < 1000; i++)
		if (count(f, i, deepest, REPORT_MAX_FRAMES) == REPORT_FOLD_FULL) {
			nr_full++;
			assert_int_equal(report_fold_empty(f), 0);
			assert_int_equal(count(f, i, deepest, REPORT_MAX_FRAMES), 0);
		}
	assert_true(nr_full >= 3);
	assert_int_equal(report_fold_empty(f), 0);
	assert_int_equal(k.nr_calls, 1000);
	assert_int_equal(k.nr_frames, 1000 * REPORT_MAX_FRAMES);
	assert_int_equal(k.sum.weight, 999 * 1000 / 2);
	report_fold_free(f);
}

/* What refuses an entry is asked no more, and the table is empty then. */
static void refused(void **state)
{
	const struct report_frame a[] = {frame(0, 0)};
	struct kept k = {.fail_at = 3};
	struct report_fold *f = report_fold_new(keep, &k);

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		count(f, i, a, 1);
	assert_int_equal(report_fold_empty(f), -ENOSPC);
	assert_int_equal(k.nr_calls, 3);
	assert_int_equal(report_fold_empty(f), 0);
	assert_int_equal(k.nr_calls, 3);
	assert_int_equal(count(f, 5, a, 1), 0);
	report_fold_free(f);
}

static void no_memory(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 4; n++) {
		struct kept k = {0};

		inject_mem(n);
		assert_null(report_fold_new(keep, &k));
		assert_int_equal(inject.nr_live, 0);
		inject_stop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(counts), cmocka_unit_test(tells_apart), cmocka_unit_test(full),
	    cmocka_unit_test(deep),   cmocka_unit_test(refused),     cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
