/*
 * The manifest: what is written, to the byte, and that a failed read leaves nothing behind.
 */
#include "kit.h"

#include "base/buf.h"
#include "spec/cpsession.h"

TEST(written)
{
	static const struct {
		struct cpsession s;
		const char *json;
	} cases[] = {
	    {{.config_name = "c",
	      .model_name = "m",
	      .num_iterations = 3,
	      .num_traces = 2,
	      .output_path_prefix = "/tmp/x",
	      .session_id = "00112233445566778899aabbccddeeff"},
	     "{\"config_name\":\"c\",\"model_name\":\"m\",\"num_iterations\":3,\"num_traces\":2,"
	     "\"output_path_prefix\":\"/tmp/x\","
	     "\"session_id\":\"00112233445566778899aabbccddeeff\"}\n"},
	    {{.config_name = "", .model_name = "", .num_traces = 1, .output_path_prefix = ""},
	     "{\"num_traces\":1,\"output_path_prefix\":\"\"}\n"},
	    {{.config_name = "\"\n", .model_name = "", .output_path_prefix = "\\"},
	     "{\"config_name\":\"\\\"\\n\",\"output_path_prefix\":\"\\\\\"}\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf json;

		buf_init(&json, 1 << 16);
		cpsession_to_json(&cases[i].s, &json);
		assert_string_equal(buf_str(&json), cases[i].json);
		buf_fini(&json);
	}
}

static int parse(const char *text, struct cpsession *s, struct err_list *errs)
{
	return cpsession_parse(text, strlen(text), "t", s, errs);
}

TEST(read)
{
	struct err_list errs = {.nr = 0};
	struct cpsession s;

	cpsession_init(&s);
	assert_int_equal(
	    parse("{ \"num_traces\": 4, // comment\n \"config_name\": \"x\", }", &s, &errs), 0);
	assert_string_equal(s.config_name, "x");
	assert_string_equal(s.model_name, "");
	assert_int_equal(s.num_traces, 4);
	assert_int_equal(s.num_iterations, 0);
	assert_string_equal(s.output_path_prefix, "");

	/* what was read before is gone, as is what was read until the error */
	assert_int_equal(parse("{ \"config_name\": \"y\", \"num_traces\": 0 }", &s, &errs),
			 -EINVAL);
	assert_int_equal(errs.nr, 1);
	assert_string_equal(s.config_name, "");
	assert_int_equal(s.num_traces, 0);
	cpsession_fini(&s);
}

/* A file of another kind is said to be one; what may be a broken manifest has its first error. */
TEST(of_another_kind)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
	    {"hello\n", "is neither a manifest"},
	    {" \n\t\xef\xbb\xbf", "is neither a manifest"},
	    {"# a comment\n{}", "is neither a manifest"},
	    {"\x7f"
	     "ELF\x02",
	     "is neither a manifest"},
	    {"", "syntax error"},
	    {"\n", "syntax error"},
	    {"/", "syntax error"},
	    {"// hello\n", "syntax error"},
	    {"[]", "must be an object"},
	    {"\xef\xbb\xbf {", "syntax error"},
	    {"{ num_traces }", "syntax error"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct err_list errs = {.nr = 0};
		struct cpsession s;

		cpsession_init(&s);
		assert_int_equal(parse(rows[i].text, &s, &errs), -EINVAL);
		if (errs.nr != 1 || !strstr(errs.item[0].msg, rows[i].said))
			fail_msg("%zu: %s", i, errs.item[0].msg);
		cpsession_fini(&s);
	}
}
