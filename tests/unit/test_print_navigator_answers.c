/*
 * Answers that the navigator keeps: which are found, and which make room.
 */
#include "kit.h"

#include "navigator/answers.h"

#include <string.h>

enum { MAX_BYTES = 4000 };

static const struct buf nothing;

static struct http_request request(const char *name, const char *value)
{
	return (struct http_request){
	    .path = "/api/flat", .arguments = {{name, value}}, .nr_arguments = name != NULL};
}

static void keep(struct answers *a, const char *value, size_t len)
{
	const struct http_request r = request("top", value);
	BUF_AUTO(text, 2 * MAX_BYTES);

	buf_fill(&text, *value, len);
	answers_add(a, &r, &text, &nothing);
}

/* Its length, after the text was compared; SIZE_MAX: none. */
static size_t kept(struct answers *a, const char *value)
{
	const struct http_request r = request("top", value);
	BUF_AUTO(text, 2 * MAX_BYTES);
	BUF_AUTO(faults, 100);
	const bool is_found = answers_find(a, &r, &text, &faults);

	assert_int_equal(answers_has(a, &r), is_found);
	assert_int_equal(strspn(buf_str(&text), value), text.len);
	return is_found ? text.len : SIZE_MAX;
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

TEST(faults_stand_apart)
{
	const struct http_request r = request(NULL, NULL);
	struct answers *a = answers_new(MAX_BYTES);
	BUF_AUTO(text, 100);
	BUF_AUTO(faults, 100);
	BUF_AUTO(small, 3);

	assert_non_null(a);
	buf_adds(&text, "text");
	buf_add(&faults, "a\0b", 3);
	answers_add(a, &r, &text, &faults);
	buf_reset(&text);
	buf_reset(&faults);
	assert_true(answers_find(a, &r, &text, &faults));
	assert_string_equal(buf_str(&text), "text");
	assert_int_equal(faults.len, 3);
	assert_memory_equal(faults.data, "a\0b", 3);
	assert_false(answers_find(a, &r, &small, &faults)); /* no room for it */
	assert_int_equal(small.len + faults.len, 0);
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
	BUF_AUTO(text, MAX_BYTES);
	BUF_AUTO(faults, MAX_BYTES);
	bool is_found;

	(void)arg;
	if (!a)
		return -ENOMEM;
	answers_add(a, &r, &(struct buf){.data = (char[]){"1"}, .len = 1}, &nothing);
	is_found = answers_find(a, &r, &text, &faults);
	answers_free(a);
	return is_found ? 0 : -ENOMEM;
}

TEST(without_memory_none_is_kept)
{
	inject_every(keep_one, NULL, 4, 0);
}
