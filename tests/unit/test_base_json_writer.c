/*
 * The JSON writer: commas, keys, nesting, and numbers that must be exact.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/json_writer.h"

TEST(nesting)
{
	struct buf b;
	struct json_writer j;

	buf_init(&b, 1000);
	jsonw_init(&j, &b, false);
	jsonw_object(&j, NULL);
	jsonw_array(&j, "empty");
	jsonw_end(&j);
	jsonw_array(&j, "a");
	jsonw_u64(&j, NULL, 0);
	jsonw_object(&j, NULL);
	jsonw_end(&j);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "none", NULL);
	jsonw_text(&j, "k\"", "v\\\n");
	jsonw_u64(&j, "max", UINT64_MAX);
	jsonw_end(&j);
	jsonw_end(&j);
	jsonw_key(&j, "own");
	buf_adds(&b, "true");
	jsonw_end(&j);
	assert_string_equal(buf_str(&b), "{\"empty\":[],\"a\":[0,{},{\"k\\\"\":\"v\\\\\\n\","
					 "\"max\":18446744073709551615}],\"own\":true}");
	assert_int_equal(j.depth, 0);
	buf_fini(&b);
}

/* What was written may go away in between. */
TEST(emptied)
{
	struct buf b;
	struct json_writer j;

	buf_init(&b, 100);
	jsonw_init(&j, &b, false);
	jsonw_array(&j, NULL);
	jsonw_u64(&j, NULL, 1);
	buf_reset(&b);
	jsonw_u64(&j, NULL, 2);
	assert_string_equal(buf_str(&b), ",2");
	buf_fini(&b);
}

TEST(depth)
{
	struct buf b;
	struct json_writer j;

	buf_init(&b, 100);
	jsonw_init(&j, &b, false);
	for (int i = 0; i < JSONW_MAX_DEPTH; i++)
		jsonw_array(&j, NULL);
	for (int i = 0; i < JSONW_MAX_DEPTH; i++)
		jsonw_end(&j);
	assert_string_equal(buf_str(&b), "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]");
	buf_fini(&b);
}

TEST(indented)
{
	struct buf b;
	struct json_writer j;

	buf_init(&b, 100);
	jsonw_init(&j, &b, true);
	jsonw_object(&j, NULL);
	jsonw_array(&j, "a");
	jsonw_u64(&j, NULL, 1);
	jsonw_raw(&j, NULL, "true");
	jsonw_end(&j);
	jsonw_object(&j, "b");
	jsonw_end(&j);
	jsonw_end(&j);
	assert_string_equal(buf_str(&b), "{\n  \"a\": [\n    1,\n    true\n  ],\n  \"b\": {}\n}");
	buf_fini(&b);
}

TEST(us)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
	    {0, "0.000"},
	    {1, "0.001"},
	    {-1, "-0.001"},
	    {999, "0.999"},
	    {1000, "1.000"},
	    {-12345, "-12.345"},
	    {1002003, "1002.003"},
	    {INT64_MAX, "9223372036854775.807"},
	    {INT64_MIN, "-9223372036854775.808"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct json_writer j;
		struct buf b;

		buf_init(&b, 100);
		jsonw_init(&j, &b, false);
		jsonw_us(&j, NULL, cases[i].ns);
		assert_string_equal(buf_str(&b), cases[i].text);
		buf_fini(&b);
	}
}
