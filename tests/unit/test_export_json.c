/*
 * The JSON writer: commas, keys, nesting, and numbers that must be exact.
 */
#include "kit.h"

#include "base/buf.h"
#include "export/json.h"

TEST(nesting)
{
	struct buf b;
	struct export_json j;

	buf_init(&b, 1000);
	export_json_init(&j, &b);
	export_json_object(&j, NULL);
	export_json_array(&j, "empty");
	export_json_end(&j);
	export_json_array(&j, "a");
	export_json_u64(&j, NULL, 0);
	export_json_object(&j, NULL);
	export_json_end(&j);
	export_json_object(&j, NULL);
	export_json_text(&j, "none", NULL);
	export_json_text(&j, "k\"", "v\\\n");
	export_json_u64(&j, "max", UINT64_MAX);
	export_json_end(&j);
	export_json_end(&j);
	export_json_next(&j, "own");
	buf_adds(&b, "true");
	export_json_end(&j);
	assert_string_equal(buf_str(&b), "{\"empty\":[],\"a\":[0,{},{\"k\\\"\":\"v\\\\\\n\","
					 "\"max\":18446744073709551615}],\"own\":true}");
	assert_int_equal(j.depth, 0);
	buf_fini(&b);
}

/* What was written may go away in between. */
TEST(emptied)
{
	struct buf b;
	struct export_json j;

	buf_init(&b, 100);
	export_json_init(&j, &b);
	export_json_array(&j, NULL);
	export_json_u64(&j, NULL, 1);
	buf_reset(&b);
	export_json_u64(&j, NULL, 2);
	assert_string_equal(buf_str(&b), ",2");
	buf_fini(&b);
}

TEST(depth)
{
	struct buf b;
	struct export_json j;

	buf_init(&b, 100);
	export_json_init(&j, &b);
	for (int i = 0; i < EXPORT_JSON_DEPTH; i++)
		export_json_array(&j, NULL);
	for (int i = 0; i < EXPORT_JSON_DEPTH; i++)
		export_json_end(&j);
	assert_string_equal(buf_str(&b), "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]");
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
		struct buf b;

		buf_init(&b, 100);
		export_json_us(&b, cases[i].ns);
		assert_string_equal(buf_str(&b), cases[i].text);
		buf_fini(&b);
	}
}
