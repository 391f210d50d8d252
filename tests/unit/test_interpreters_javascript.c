/* Names of V8 as people write them: what has none, and the URLs of modules, which may be anything.
 */
#include "kit.h"

#include "interpreters/language.h"
#include "trace/trace.h"

static const struct {
	const char *name, *file, *shown, *shown_file;
} cases[] = {
    {"f", "/a/b.js", "f", "/a/b.js"},
    {"", "node:fs", "(anonymous)", "node:fs"},
    {"f", "", "f", "<anonymous>"},
    {"f", "file:///a/b.mjs", "f", "/a/b.mjs"},
    {"f", "file:///a%20b/%C3%bc.mjs", "f", "/a b/\xc3\xbc.mjs"},
    {"f", "file:///100%/%2/%zz%00%", "f", "/100%/%2/%zz%00%"},
    {"f", "file://", "f", ""},
    {"f", "http://a/%20", "f", "http://a/%20"},
};

TEST(names_are_as_people_write_them)
{
	static struct trace_code code;

	for (size_t i = 0; i < NR(cases); i++) {
		snprintf(code.name, sizeof(code.name), "%s", cases[i].name);
		snprintf(code.file, sizeof(code.file), "%s", cases[i].file);
		interpreters_javascript.name(&code, NULL);
		assert_string_equal(code.name, cases[i].shown);
		assert_string_equal(code.file, cases[i].shown_file);
	}
}
