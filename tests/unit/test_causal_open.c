/*
 * Regions that are open on a thread, by marks of which only those so far are known: as reports nest
 * them.
 */
#include "kit.h"

#include "causal/open.h"
#include "trace/nesting.h"

enum { OBJECTS = 3, STEPS = 20000, DEEPEST = 24 };

static uint32_t begin(struct causal_open *o, uint32_t object, uint16_t depth, uint32_t name)
{
	const uint32_t keep = causal_open_begin(o, object, depth);

	causal_open_push(o, object, name);
	return keep;
}

TEST(nested)
{
	struct causal_open o = {.nr = 0};
	bool is_matched;

	assert_int_equal(begin(&o, 0, 0, 7), 0);
	assert_int_equal(begin(&o, 0, 1, 8), 1);
	assert_int_equal(o.nr, 2);
	assert_int_equal(o.region[0].name, 7);
	assert_int_equal(o.region[1].name, 8);
	assert_int_equal(causal_open_end(&o, 0, 1, &is_matched), 1);
	assert_true(is_matched);
	assert_int_equal(begin(&o, 0, 1, 9), 1);
	assert_int_equal(o.region[1].name, 9);
	(void)causal_open_end(&o, 0, 1, &is_matched);
	assert_int_equal(causal_open_end(&o, 0, 0, &is_matched), 0);
	assert_true(is_matched);
	assert_int_equal(o.nr, 0);
}

/* It began before it was looked at. */
TEST(end_without_a_beginning)
{
	struct causal_open o = {.nr = 0};
	bool is_matched;

	assert_int_equal(causal_open_end(&o, 0, 0xffff, &is_matched), 0);
	assert_false(is_matched);
	assert_int_equal(begin(&o, 0, 0xffff, 7), 0);
	assert_int_equal(o.nr, 1);
	(void)causal_open_end(&o, 0, 0xffff, &is_matched);
	assert_true(is_matched);
	assert_int_equal(o.nr, 0);
}

/* Of the inner one there is no end: the next of its depth takes its place. */
TEST(left_open)
{
	struct causal_open o = {.nr = 0};
	bool is_matched;

	begin(&o, 0, 0, 7);
	begin(&o, 0, 1, 8);
	assert_int_equal(begin(&o, 0, 1, 9), 1);
	assert_int_equal(o.nr, 2);
	assert_int_equal(o.region[1].name, 9);
	assert_int_equal(causal_open_end(&o, 0, 0, &is_matched), 0);
	assert_true(is_matched);
	assert_int_equal(o.nr, 0);
}

/* An object ends what another one has begun, or leaves it open. */
TEST(objects)
{
	struct causal_open o = {.nr = 0};
	bool is_matched;

	begin(&o, 0, 0, 7);
	begin(&o, 0, 1, 8);
	assert_int_equal(causal_open_end(&o, 1, 0xffff, &is_matched), 1);
	assert_true(is_matched);
	assert_int_equal(o.nr, 1);
	begin(&o, 1, 0xffff, 9);
	assert_int_equal(o.nr, 2);
	assert_int_equal(causal_open_end(&o, 0, 1, &is_matched), 1); /* of the innermost one */
	assert_true(is_matched);
	assert_int_equal(causal_open_end(&o, 0, 0, &is_matched), 0);
	assert_int_equal(o.nr, 0);
	begin(&o, 1, 0, 9);
	assert_int_equal(o.level, 1);
	causal_open_leave(&o, 1);
	assert_int_equal(o.nr, 0);
	assert_int_equal(o.level, 0);
	begin(&o, 1, 0, 7);
	begin(&o, 0, 0, 8);
	causal_open_forget(&o);
	assert_int_equal(o.nr, 0);
	begin(&o, 0, 1, 9);
	assert_int_equal(o.region[0].level, 2);
}

/* Deeper ones than fit are not known, and those that fit are. */
TEST(deep)
{
	struct causal_open o = {.nr = 0};
	bool is_matched;

	for (uint32_t i = 0; i < CAUSAL_OPEN_MAX + 5; i++)
		begin(&o, 0, (uint16_t)i, i);
	assert_int_equal(o.nr, CAUSAL_OPEN_MAX);
	for (uint16_t i = CAUSAL_OPEN_MAX + 5; i-- > 3;)
		(void)causal_open_end(&o, 0, i, &is_matched);
	assert_int_equal(o.nr, 3);
	assert_int_equal(o.region[2].name, 2);
}

static uint32_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static void assert_same(const struct causal_open *o, const struct nesting *n)
{
	assert_int_equal(o->nr, n->nr);
	assert_int_equal(o->level, n->level);
	for (uint32_t i = 0; i < o->nr; i++) {
		assert_int_equal(o->region[i].object, n->open[i].object);
		assert_int_equal(o->region[i].depth, n->open[i].depth);
		assert_int_equal(o->region[i].level, n->open[i].level);
	}
}

/* Marks of several objects, of which some are lost. */
TEST(as_reports)
{
	struct nesting_object objects[OBJECTS] = {{0}};
	struct nesting n = {.objects = objects, .nr_objects = OBJECTS};
	struct causal_open o = {.nr = 0};
	uint16_t depth[OBJECTS] = {0};
	uint64_t state = 1;

	for (int i = 0; i < STEPS; i++) {
		const uint32_t object = draw(&state) % OBJECTS;
		const bool is_begin = n.nr < DEEPEST && draw(&state) % 2,
			   is_lost = draw(&state) % 16 == 0;
		const uint16_t marked = is_begin ? depth[object]++ : --depth[object];
		bool is_matched;

		if (is_lost)
			continue;
		if (is_begin) {
			assert_int_equal(begin(&o, object, marked, 1),
					 nesting_begin(&n, object, marked));
			assert_int_equal(nesting_push(&n, object), 0);
		} else {
			const uint32_t keep = causal_open_end(&o, object, marked, &is_matched);
			const struct nesting_end end = nesting_end(&n, object, marked);

			assert_int_equal(keep, end.keep);
			assert_int_equal(is_matched, end.is_matched);
		}
		assert_same(&o, &n);
	}
	nesting_fini(&n);
}
