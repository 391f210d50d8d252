/*
 * The tree that counts samples that agree: what is one entry and what is two, what happens when it
 * is full, and that no sample is lost.
 */
#include "kit.h"

#include "report/fold.h"

enum { NR_FUNCTIONS = 64, FULL_AT = 1 << 15, MAX_KEPT = 1 << 17 };

static struct report_function functions[NR_FUNCTIONS];

/* What the tree was emptied into. */
struct file_cache {
	size_t nr_calls, nr_all, fail_at;
	size_t nr_as_line; /* entries whose weight is the line of their frame */
	struct report_weight sum;
	struct report_key key;
	struct report_frame frames[4]; /* of the last */
	size_t nr_frames;
};

static int keep(void *arg, const struct report_key *key, const struct report_weight *weight,
		struct report_frame *frames, size_t nr)
{
	struct file_cache *k = arg;

	if (++k->nr_calls == k->fail_at)
		return -ENOSPC;
	report_weight_add(&k->sum, weight);
	k->nr_all += nr;
	k->nr_as_line += weight->weight == frames[0].line;
	k->key = *key;
	k->nr_frames = nr;
	for (size_t i = 0; i < nr && i < 4; i++)
		k->frames[i] = frames[i];
	return 0;
}

static struct report_frame frame(unsigned function, uint32_t line)
{
	return (struct report_frame){.function = &functions[function], .line = line};
}

/* Counts a stack, the sampled frame first: its node, or REPORT_FOLD_FULL. */
static uint32_t count(struct report_fold *f, const struct report_key *key,
		      const struct report_frame *frames, size_t nr, uint64_t weight)
{
	uint32_t node = REPORT_FOLD_ROOT;

	while (nr && node != REPORT_FOLD_FULL)
		node = report_fold_child(f, node, &frames[--nr]);
	if (node == REPORT_FOLD_FULL ||
	    !report_fold_count(f, node, key,
			       &(struct report_count){1, weight, weight, 1, weight, false, false}))
		return REPORT_FOLD_FULL;
	return node;
}

TEST(counts)
{
	const struct report_frame a[] = {frame(0, 0), frame(1, 0)};
	const struct report_key key = {.event = 2, .pid = 7};
	const struct report_count exact = {.samples = 1, .weight = 100};
	struct file_cache k = {0};
	struct report_fold *f = report_fold_new(keep, &k);
	uint32_t node;

	node = count(f, &key, a, 2, 10);
	assert_int_equal(count(f, &key, a, 2, 3), node);
	assert_true(report_fold_count(f, node, &key, &exact)); /* not by chance */
	assert_int_equal(report_fold_empty(f), 0);
	assert_int_equal(k.nr_calls, 1);
	assert_int_equal(k.sum.samples, 3);
	assert_int_equal(k.sum.random, 2);
	assert_int_equal(k.sum.weight, 113);
	assert_int_equal(k.sum.rows.nr, 2);
	assert_true(k.sum.squares == 109);
	assert_memory_equal(&k.key, &key, sizeof(key));
	assert_int_equal(k.nr_frames, 2);
	assert_memory_equal(k.frames, a, sizeof(a));
	assert_int_equal(report_fold_empty(f), 0); /* there is nothing any more */
	assert_int_equal(k.nr_calls, 1);
	report_fold_free(f);
	report_fold_free(NULL);
}

/* Stacks that differ in one thing are two. */
TEST(tells_apart)
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
	struct file_cache k = {0};
	struct report_fold *f = report_fold_new(keep, &k);
	uint32_t nr = 0;

	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < NR(keys); i++)
			for (size_t s = 0; s < NR(stacks); s++) {
				size_t depth = 0;

				while (depth < 4 && stacks[s][depth].function)
					depth++;
				nr += again == 0;
				count(f, &keys[i], stacks[s], depth, 1);
			}
	assert_int_equal(report_fold_empty(f), 0);
	assert_int_equal(k.nr_calls, nr);
	assert_int_equal(k.sum.samples, 2 * nr);
	report_fold_free(f);
}

/* Many stacks with one key, the last first: each has its own weight. */
TEST(many_stacks)
{
	const struct report_key key = {.event = 1};
	struct file_cache k = {0};
	struct report_fold *f = report_fold_new(keep, &k);
	uint32_t nodes[FULL_AT / 4];

	for (uint32_t i = 0; i < FULL_AT / 4; i++) {
		struct report_frame one = frame(0, i);

		nodes[i] = report_fold_child(f, REPORT_FOLD_ROOT, &one);
	}
	for (uint32_t i = FULL_AT / 4; i--;)
		assert_true(
		    report_fold_count(f, nodes[i], &key, &(struct report_count){1, i, i, 0, 0}));
	assert_int_equal(report_fold_empty(f), 0);
	assert_int_equal(k.nr_calls, FULL_AT / 4);
	assert_int_equal(k.nr_as_line, k.nr_calls);
	report_fold_free(f);
}

static uint32_t count_tid(struct report_fold *f, uint32_t tid, const struct report_frame *frames,
			  size_t nr)
{
	return count(f, &(struct report_key){.tid = tid}, frames, nr, tid);
}

/* Full of entries: emptied and filled again, the sums are exact. */
TEST(full)
{
	const struct report_frame a[] = {frame(0, 0)};
	struct file_cache k = {0};
	struct report_fold *f = report_fold_new(keep, &k);
	uint64_t want = 0;
	size_t nr_full = 0;

	for (uint32_t i = 0; i < 3 * FULL_AT; i++) {
		want += i;
		if (count_tid(f, i, a, 1) != REPORT_FOLD_FULL)
			continue;
		nr_full++;
		assert_int_equal(k.nr_calls, (nr_full - 1) * FULL_AT);
		/* what is there is counted on all the same */
		assert_int_not_equal(count_tid(f, i - 1, a, 1), REPORT_FOLD_FULL);
		want += i - 1;
		assert_int_equal(report_fold_empty(f), 0);
		assert_int_not_equal(count_tid(f, i, a, 1), REPORT_FOLD_FULL);
	}
	assert_int_equal(nr_full, 2);
	assert_int_equal(report_fold_empty(f), 0);
	assert_int_equal(k.nr_calls, 3 * FULL_AT);
	assert_int_equal(k.sum.weight, want);
	assert_int_equal(k.sum.samples, 3 * FULL_AT + 2);
	report_fold_free(f);
}

/* Full of nodes, with few entries; an empty one takes the deepest stack. */
TEST(deep)
{
	static struct report_frame deepest[REPORT_MAX_FRAMES];
	struct file_cache k = {0};
	struct report_fold *f = report_fold_new(keep, &k);
	size_t nr_full = 0;

	for (size_t i = 0; i < REPORT_MAX_FRAMES; i++)
		deepest[i] = frame((unsigned)(i % NR_FUNCTIONS), 0);
	for (uint32_t i = 0; i < 200; i++) {
		deepest[REPORT_MAX_FRAMES - 1].line = i; /* so that no frame is shared */
		if (count_tid(f, i, deepest, REPORT_MAX_FRAMES) == REPORT_FOLD_FULL) {
			nr_full++;
			assert_int_equal(report_fold_empty(f), 0);
			assert_int_not_equal(count_tid(f, i, deepest, REPORT_MAX_FRAMES),
					     REPORT_FOLD_FULL);
		}
	}
	assert_true(nr_full >= 3);
	assert_int_equal(report_fold_empty(f), 0);
	assert_int_equal(k.nr_calls, 200);
	assert_int_equal(k.nr_all, 200 * REPORT_MAX_FRAMES);
	assert_int_equal(k.sum.weight, 199 * 200 / 2);
	report_fold_free(f);
}

/* What is deeper is counted where there are no further nodes: at the innermost that there is. */
TEST(too_deep)
{
	struct file_cache k = {0};
	struct report_fold *f = report_fold_new(keep, &k);
	uint32_t node = REPORT_FOLD_ROOT;

	for (uint32_t i = 0; i < 2 * REPORT_MAX_FRAMES; i++) {
		struct report_frame one = frame(0, i);

		node = report_fold_child(f, node, &one);
	}
	assert_true(report_fold_count(f, node, &(struct report_key){0},
				      &(struct report_count){1, 1, 1, 0, 0}));
	assert_int_equal(report_fold_empty(f), 0);
	assert_int_equal(k.nr_frames, REPORT_MAX_FRAMES);
	assert_int_equal(k.frames[0].line, REPORT_MAX_FRAMES - 1);
	report_fold_free(f);
}

/* What refuses an entry is asked no more, and the table is empty then. */
TEST(refused)
{
	const struct report_frame a[] = {frame(0, 0)};
	struct file_cache k = {.fail_at = 3};
	struct report_fold *f = report_fold_new(keep, &k);

	for (uint32_t i = 0; i < 10; i++)
		count_tid(f, i, a, 1);
	assert_int_equal(report_fold_empty(f), -ENOSPC);
	assert_int_equal(k.nr_calls, 3);
	assert_int_equal(report_fold_empty(f), 0);
	assert_int_equal(k.nr_calls, 3);
	assert_int_equal(count_tid(f, 5, a, 1), 1);
	report_fold_free(f);
}

TEST(no_memory)
{
	for (unsigned n = 1; n <= 5; n++) {
		struct file_cache k = {0};

		inject_mem(n);
		assert_null(report_fold_new(keep, &k));
		assert_int_equal(inject.nr_live, 0);
		inject_stop();
	}
}
