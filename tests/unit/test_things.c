/*
 * What the sources of many share: folders that are looked at time after time, and notes.
 */
#include "kit.h"
#include "test_things_many.h"

#include "things/listing.h"
#include "things/things.h"

#include <malloc.h>

/* Entries in all, and of that name. */
static void expect_entries(const struct listing *l, size_t nr, const char *name, size_t nr_named)
{
	const char *entry;
	size_t at = 0;

	while ((entry = listing_each(l, &at))) {
		nr--;
		nr_named -= strcmp(entry, name) == 0;
	}
	assert_int_equal(nr, 0);
	assert_int_equal(nr_named, 0);
}

TEST(listing)
{
	struct root r = tree_make();
	struct listing l;

	tree_text(&r, "/f/a", "");
	assert_int_equal(listing_open(&l, &r, "/f"), 0);
	assert_int_equal(listing_look(&l), 1);
	expect_entries(&l, 1, "a", 1);
	assert_int_equal(listing_look(&l), 0);
	tree_text(&r, "/f/a", "more");
	assert_int_equal(listing_look(&l), 0);
	tree_text(&r, "/f/b", "");
	assert_int_equal(listing_look(&l), 1);
	expect_entries(&l, 2, "b", 1);
	tree_rename(&r, "/f/b", "/f/c"); /* the same number of bytes */
	assert_int_equal(listing_look(&l), 1);
	expect_entries(&l, 2, "c", 1);
	tree_drop(&r, "/f/c");
	assert_int_equal(listing_look(&l), 1);
	expect_entries(&l, 1, "c", 0);
	assert_int_equal(listing_look(&l), 0);
	listing_close(&l);
	tree_remove(&r);
}

/* Memory that is never the same twice, as it is after a while. */
static void *used_alloc(size_t size)
{
	static int nr;

	return memset(malloc(size), ++nr, size);
}

static void *used_resize(void *old, size_t size)
{
	size_t was = malloc_usable_size(old);
	void *p = used_alloc(size);

	if (old)
		memcpy(p, old, was < size ? was : size);
	free(old);
	return p;
}

/* What memory held before is no change. */
TEST(used_memory)
{
	static const struct mem_ops used = {used_alloc, used_resize, free};
	struct root r = tree_make();
	struct listing l;

	tree_text(&r, "/f/a", "");
	tree_text(&r, "/f/abcdefgh", "");
	mem_set_ops(&used);
	assert_int_equal(listing_open(&l, &r, "/f"), 0);
	assert_int_equal(listing_look(&l), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(listing_look(&l), 0);
	listing_close(&l);
	mem_set_ops(NULL);
	tree_remove(&r);
}

/* More than the kernel gives at a time. */
TEST(long_listing)
{
	enum { NR = 3000 };
	struct root r = tree_make();
	struct listing l;

	for (int i = 0; i < NR; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/f/a-longer-name-than-most-%d", i);
		tree_text(&r, path, "");
	}
	assert_int_equal(listing_open(&l, &r, "/f"), 0);
	assert_int_equal(listing_look(&l), 1);
	expect_entries(&l, NR, "a-longer-name-than-most-2999", 1);
	assert_int_equal(listing_look(&l), 0);
	listing_close(&l);
	tree_remove(&r);
}

TEST(no_folder)
{
	struct root r = tree_make();
	struct listing l;

	assert_int_equal(listing_open(&l, &r, "/f"), -ENOENT);
	tree_text(&r, "/f", "");
	assert_int_equal(listing_open(&l, &r, "/f"), 0);
	assert_int_equal(listing_look(&l), -ENOTDIR);
	listing_close(&l);
	tree_remove(&r);
}

/* A look that failed leaves what was seen, and what changed is still to be seen. */
TEST(failed_look)
{
	struct root r = tree_make();
	struct listing l;

	tree_text(&r, "/f/a", "");
	assert_int_equal(listing_open(&l, &r, "/f"), 0);
	for (unsigned n = 1; n < 3; n++) {
		inject_mem(n);
		assert_int_equal(listing_look(&l), -ENOMEM);
		inject_stop();
		expect_entries(&l, 0, "a", 0);
	}
	assert_int_equal(listing_look(&l), 1);
	tree_text(&r, "/f/b", "");
	inject_mem(1);
	assert_int_equal(listing_look(&l), -ENOMEM);
	inject_stop();
	expect_entries(&l, 1, "a", 1);
	assert_int_equal(listing_look(&l), 1);
	expect_entries(&l, 2, "b", 1);
	listing_close(&l);
	tree_remove(&r);
}

static const struct things_kind kind = {.name = "test"};

/* Each whole, in order, until there is no room; and anew when they were taken. */
TEST(notes)
{
	struct things t;
	int nr[2] = {0};

	things_init(&t, &kind, &root_live, 0);
	assert_null(things_note(&t));
	for (int round = 0; round < 2; round++) {
		const char *note;

		for (int i = 0; i < 5000; i++)
			things_add_note(&t, "note %d of \033[31m\n", i);
		for (; (note = things_note(&t)); nr[round]++) {
			char expected[64];

			snprintf(expected, sizeof(expected), "note %d of ?[31m?", nr[round]);
			assert_string_equal(note, expected);
		}
	}
	assert_true(nr[0] > 1000 && nr[0] < 5000);
	assert_int_equal(nr[0], nr[1]);
	things_fini(&t);
}

/* Names in any order, names that begin alike; numbers that are never given again. */
TEST(names)
{
	static const char *const names[] = {"a", "ab", "b", "", "abc"};
	struct thing *thing;
	struct things t;

	things_init(&t, &kind, &root_live, 0);
	for (size_t i = 0; i < NR(names); i++) {
		assert_null(things_find(&t, names[i], strlen(names[i])));
		assert_int_equal(things_add(&t, names[i], strlen(names[i]), &thing), 0);
		assert_int_equal(thing->number, i);
	}
	for (size_t k = 0; k < 3 * NR(names); k++) {
		const char *name = names[k * k % NR(names)];

		thing = things_find(&t, name, strlen(name));
		assert_true(thing && strcmp(thing->name, name) == 0);
	}
	thing = things_find(&t, "abx", 2);
	assert_true(thing && thing->number == 1);
	things_drop(&t, thing);
	assert_null(things_find(&t, "ab", 2));
	assert_int_equal(things_add(&t, "ab", 2, &thing), 0);
	assert_int_equal(thing->number, NR(names));
	things_begin(&t);
	assert_true(things_is_missing(&t));
	assert_non_null(things_find(&t, "b", 1));
	assert_non_null(things_find(&t, "", 0));
	things_end(&t);
	assert_int_equal(t.nr, 2);
	assert_false(things_is_missing(&t));
	assert_null(things_find(&t, "abc", 3));
	assert_string_equal(t.list[0].name, "b");
	assert_int_equal(things_add(&t, "c", 1, &thing), 0);
	assert_non_null(things_find(&t, "", 0)); /* the next is expected at the end */
	while (t.nr > 1)
		things_drop(&t, &t.list[t.nr - 1]);
	assert_null(things_find(&t, "c", 1));
	assert_non_null(things_find(&t, "b", 1));
	things_fini(&t);
}

/* The kernel's bytes find it again; what is shown is harmless. */
TEST(shown)
{
	static const char name[] = "\x1b]0;x\x07\xff";
	struct things_one shown;
	struct thing *thing;
	struct things t;

	things_init(&t, &kind, &root_live, 0);
	assert_int_equal(things_add(&t, name, strlen(name), &thing), 0);
	assert_ptr_equal(things_find(&t, name, strlen(name)), thing);
	things_get(&t, 0, &shown);
	assert_string_equal(shown.name, "?]0;x??");
	things_fini(&t);
}

/* What is wrong with a file is noted once, of each file on its own, however many there are. */
TEST(notes_of_many_files)
{
	enum { LATER = 40, NR_READINGS = 2 };
	static struct things_file files[LATER + 1];
	static const struct things_kind many = {
	    .name = "test", .files = files, .nr_files = NR(files)};
	struct root r = tree_make();
	struct thing *thing;
	struct things t;

	for (size_t i = 0; i < NR(files); i++)
		files[i] = (struct things_file){.name = "no"};
	files[LATER - 32] =
	    (struct things_file){.name = "a", .fields = 1, .scale = 1, .without = "a is damaged"};
	files[LATER] = (struct things_file){
	    .name = "b", .fields = 2, .scale = 1, .field = 1, .without = "b is damaged"};
	tree_text(&r, "/f/a", "x");
	tree_text(&r, "/f/b", "x");
	things_init(&t, &many, &r, 3);
	assert_int_equal(things_open(&t, "/f", "f", &thing), 0);
	for (int i = 0; i < NR_READINGS; i++)
		assert_int_equal(things_read(&t, thing), 0);
	assert_int_equal(thing->failed, 3);
	assert_string_equal(things_note(&t), "test f: a cannot be read: Invalid argument");
	assert_string_equal(things_note(&t), "test f: b cannot be read: Invalid argument");
	assert_null(things_note(&t));
	things_fini(&t);
	tree_remove(&r);
}
