/*
 * Answers that the navigator keeps: which are found, and which make room.
 */
#include "kit.h"

#include "navigator/answers.h"

#include <string.h>

enum { MAX_BYTES = 4000 };

static struct http_request request(const char *name, const char *value)
{
	return (struct http_request){
	    .path = "/api/flat", .arguments = {{name, value}}, .nr_arguments = name != NULL};
}

static void keep(struct answers *a, const char *value, size_t len)
{
	const struct http_request r = request("top", value);
	struct answers_parts parts = {.text = {.max_bytes = 2 * MAX_BYTES}};

	buf_fill(&parts.text, *value, len);
	answers_add(a, &r, &parts);
	answers_parts_fini(&parts);
}

/* Its length, after the text was compared; SIZE_MAX: none. */
static size_t kept(struct answers *a, const char *value)
{
	const struct http_request r = request("top", value);
	struct answers_parts parts = {.text = {.max_bytes = 2 * MAX_BYTES}};
	const bool is_found = answers_find(a, &r, &parts);
	const size_t len = is_found ? parts.text.len : SIZE_MAX;

	assert_int_equal(answers_has(a, &r), is_found);
	assert_int_equal(strspn(buf_str(&parts.text), value), parts.text.len);
	answers_parts_fini(&parts);
	return len;
}

TEST(requests_are_told_apart)
{
	static const struct http_request others[] = {
	    {.path = "/api/tree", .arguments = {{"top", "1"}}, .nr_arguments = 1},
	    {.path = "/api/flat", .nr_arguments = 0},
	    {.path = "/api/flat", .arguments = {{"top", "11"}}, .nr_arguments = 1},
	    {.path = "/api/flat", .arguments = {{"to", "p1"}}, .nr_arguments = 1},
	    {.path = "/api/flat", .arguments = {{"top", "1"}, {"pid", "1"}}, .nr_arguments = 2},
	    {.path = "/api/flat", .arguments = {{"pid", "1"}, {"top", "1"}}, .nr_arguments = 2},
	};
	struct answers *a = answers_new(MAX_BYTES);

	assert_non_null(a);
	keep(a, "1", 3);
	for (size_t i = 0; i < NR(others); i++)
		assert_false(answers_has(a, &others[i]));
	assert_int_equal(kept(a, "1"), 3);
	answers_free(a);
	answers_free(NULL);
}

TEST(parts_stand_apart)
{
	const struct http_request r = request(NULL, NULL);
	struct answers *a = answers_new(MAX_BYTES);
	struct answers_parts parts = {{.max_bytes = 100}, {.max_bytes = 100}, {.max_bytes = 100}},
			     found = parts;

	assert_non_null(a);
	buf_adds(&parts.text, "text");
	buf_adds(&parts.about, "[]");
	buf_add(&parts.faults, "a\0b", 3);
	answers_add(a, &r, &parts);
	assert_true(answers_find(a, &r, &found));
	assert_string_equal(buf_str(&found.text), "text");
	assert_string_equal(buf_str(&found.about), "[]");
	assert_int_equal(found.faults.len, 3);
	assert_memory_equal(found.faults.data, "a\0b", 3);
	answers_parts_fini(&found);
	found.text.max_bytes = 3; /* no room for it */
	assert_false(answers_find(a, &r, &found));
	assert_int_equal(found.text.len + found.about.len + found.faults.len, 0);
	answers_parts_fini(&found);
	answers_parts_fini(&parts);
	answers_free(a);
}

TEST(the_oldest_make_room)
{
	struct answers *a = answers_new(MAX_BYTES);

	assert_non_null(a);
	for (const char *c = "a\0b\0c\0d\0"; *c; c += 2)
		keep(a, c, 900);
	assert_int_equal(kept(a, "a"), 900); /* is the newest now */
	keep(a, "e", 900);
	assert_int_equal(kept(a, "b"), SIZE_MAX);
	assert_int_equal(kept(a, "a"), 900);
	keep(a, "f", MAX_BYTES / 4 + 1); /* too large to make others go */
	assert_int_equal(kept(a, "f"), SIZE_MAX);
	keep(a, "a", 10); /* takes its own place */
	keep(a, "g", 800);
	assert_int_equal(kept(a, "a"), 10);
	assert_int_equal(kept(a, "c"), 900);
	assert_int_equal(kept(a, "d"), 900);
	assert_int_equal(kept(a, "e"), 900);
	answers_free(a);
}

TEST(many_small_ones)
{
	struct answers *a = answers_new(1 << 20);
	char value[16];

	assert_non_null(a);
	for (int i = 0; i < 1000; i++) {
		snprintf(value, sizeof(value), "%d", i);
		keep(a, value, 1);
	}
	assert_int_equal(kept(a, "0"), SIZE_MAX);
	assert_int_equal(kept(a, "743"), SIZE_MAX);
	assert_int_equal(kept(a, "744"), 1);
	answers_free(a);
}

static int keep_one(void *arg)
{
	struct answers *a = answers_new(MAX_BYTES);
	const struct http_request r = request("top", "1");
	const struct answers_parts parts = {.text = {.data = (char[]){"1"}, .len = 1}};
	struct answers_parts found = {.text = {.max_bytes = MAX_BYTES}};
	bool is_found;

	(void)arg;
	if (!a)
		return -ENOMEM;
	answers_add(a, &r, &parts);
	is_found = answers_find(a, &r, &found);
	answers_parts_fini(&found);
	answers_free(a);
	return is_found ? 0 : -ENOMEM;
}

TEST(without_memory_none_is_kept)
{
	inject_every(keep_one, NULL, 4, 0);
}
