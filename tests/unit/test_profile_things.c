/*
 * Things of a trace, gathered in any order: readings and names come together, whatever the file
 * has twice, lacks or brings too early.
 */
#include "kit.h"

#include "base/mem.h"
#include "profile/things.h"

/* One frame's worth: a reading, or a name. */
struct step {
	enum trace_boundary boundary;
	uint32_t event, number;
	uint64_t raw;
	const char *name; /* NULL: a reading */
};

static int take(struct profile_things *t, const struct step *s, uint64_t offset)
{
	const struct trace_thing item = {s->number, s->name};
	const struct trace_things names = {&s->event, 1, &item, 1};
	const struct reading r = {
	    .event = s->event, .instance = s->number, .state = READING_OK, .raw = s->raw};

	return s->name ? profile_things_name(t, &names)
		       : profile_things_add(t, s->boundary, &r, offset);
}

static const struct step steps[] = {
    {TRACE_END, 1, 0, 900, NULL}, /* the end before the start */
    {TRACE_START, 1, 0, 100, NULL},
    {TRACE_START, 0, UINT32_MAX, 3, NULL},
    {0, 0, 7, 0, "old"},
    {TRACE_START, 0, 7, 10, NULL},
    {TRACE_START, 0, 7, 11, NULL}, /* again: the first start counts */
    {TRACE_END, 0, 7, 20, NULL},
    {TRACE_END, 0, 7, 21, NULL}, /* and the last end */
    {0, 0, 7, 0, "new"},         /* and the last name */
    {TRACE_END, 0, 2, 5, NULL},  /* found in the iteration, and never named */
    {0, UINT32_MAX, 3, 0, "no event of ours"},
    {TRACE_END, 1, 3, 70, NULL}, /* the next event's first thing has the same number */
};

static const struct {
	uint32_t event, number;
	const char *name;
	bool has_start, has_end;
	uint64_t start, end;
	uint64_t start_offset, end_offset;
} wanted[] = {
    {0, 7, "new", true, true, 10, 21, 4, 7},
    {0, 2, "", false, true, 0, 5, 0, 9},
    {0, UINT32_MAX, "", true, false, 3, 0, 2, 0},
    {1, 0, "", true, true, 100, 900, 1, 0},
    {1, 3, "", false, true, 0, 70, 0, 11},
    {UINT32_MAX, 3, "no event of ours", false, false, 0, 0, 0, 0},
};

static void check(const struct profile_things *t)
{
	assert_int_equal(t->nr, NR(wanted));
	for (size_t i = 0; i < t->nr; i++) {
		const struct profile_thing *got = &t->item[i];

		assert_int_equal(got->event, wanted[i].event);
		assert_int_equal(got->number, wanted[i].number);
		assert_string_equal(got->name, wanted[i].name);
		assert_int_equal(got->pair.has_start, wanted[i].has_start);
		assert_int_equal(got->pair.has_end, wanted[i].has_end);
		assert_int_equal(got->pair.start.raw, wanted[i].start);
		assert_int_equal(got->pair.end.raw, wanted[i].end);
		assert_int_equal(got->pair.start_offset, wanted[i].start_offset);
		assert_int_equal(got->pair.end_offset, wanted[i].end_offset);
	}
}

/* In the order of events and of their ends in the file, again after a reset. */
TEST(gathered)
{
	struct profile_things t;

	profile_things_init(&t);
	assert_int_equal(profile_things_join(&t), 0);
	assert_int_equal(t.nr, 0);
	for (int again = 0; again < 3; again++) {
		for (size_t i = 0; i < NR(steps); i++)
			assert_int_equal(take(&t, &steps[i], i), 0);
		assert_int_equal(profile_things_join(&t), 0);
		check(&t);
		profile_things_reset(&t);
		assert_int_equal(profile_things_join(&t), 0);
		assert_int_equal(t.nr, 0);
	}
	profile_things_fini(&t);
}

/* A frame of names is of each of its events; the copies do not need the frame. */
TEST(names_of_several_events)
{
	static const uint32_t events[] = {4, 2};
	char name[] = "sda", other[] = "sdb";
	const struct trace_thing items[] = {{1, other}, {0, name}};
	const struct trace_things names = {events, NR(events), items, NR(items)};
	struct profile_things t;

	profile_things_init(&t);
	assert_int_equal(profile_things_name(&t, &names), 0);
	memset(name, 'x', 3), memset(other, 'x', 3);
	assert_int_equal(profile_things_join(&t), 0);
	assert_int_equal(t.nr, 4);
	for (size_t i = 0; i < t.nr; i++) {
		assert_int_equal(t.item[i].event, i < 2 ? 2 : 4);
		assert_int_equal(t.item[i].number, i % 2);
		assert_string_equal(t.item[i].name, i % 2 ? "sdb" : "sda");
	}
	profile_things_fini(&t);
}

/* Beyond the limit the rest is skipped, and is_full until the reset. */
TEST(too_many)
{
	const struct reading r = {.state = READING_OK};
	struct profile_things t;

	profile_things_init(&t);
	for (size_t i = 0; i < PROFILE_MAX_THINGS; i++)
		assert_int_equal(profile_things_add(&t, TRACE_END, &r, 0), 0);
	assert_false(t.is_full);
	assert_int_equal(profile_things_add(&t, TRACE_END, &r, 0), 0);
	assert_true(t.is_full);
	assert_int_equal(t.nr_entries, PROFILE_MAX_THINGS);
	profile_things_reset(&t);
	assert_false(t.is_full);
	profile_things_fini(&t);
}

static size_t countdown;

static void *failing_alloc(size_t size)
{
	return countdown && countdown-- ? malloc(size) : NULL;
}

static void *failing_resize(void *p, size_t size)
{
	return countdown && countdown-- ? realloc(p, size) : NULL;
}

/* Each allocation fails once: -ENOMEM, and nothing is lost that was taken. */
TEST(no_memory)
{
	static const struct mem_ops ops = {failing_alloc, failing_resize, free};
	int rc = -ENOMEM;

	for (size_t allowed = 0; rc; allowed++) {
		struct profile_things t;

		profile_things_init(&t);
		mem_set_ops(&ops);
		countdown = allowed;
		rc = 0;
		for (size_t i = 0; i < NR(steps) && rc == 0; i++)
			rc = take(&t, &steps[i], i);
		if (rc == 0)
			rc = profile_things_join(&t);
		mem_set_ops(NULL);
		assert_true(rc == 0 || rc == -ENOMEM);
		assert_true(allowed < 100);
		if (rc == 0)
			check(&t);
		profile_things_fini(&t);
	}
}
