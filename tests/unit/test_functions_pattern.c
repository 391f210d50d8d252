/*
 * Which functions and files a text means.
 */
#include "kit.h"

#include "functions/pattern.h"

TEST(parts)
{
	static const struct {
		const char *text, *object, *glob; /* NULL: refused */
	} cases[] = {
	    {"parse_*", "", "parse_*"},
	    {"libfoo.so:*", "libfoo.so", "*"},
	    {"ns::f", "", "ns::f"},
	    {"libfoo.so:ns::f", "libfoo.so", "ns::f"},
	    {"/a/b.so:ns::*::g", "/a/b.so", "ns::*::g"},
	    {"::f", "", "::f"},
	    {"f(std::string)", "", "f(std::string)"},
	    {"", NULL, NULL},
	    {"libfoo.so:", NULL, NULL},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct functions_pattern p;
		int rc = functions_pattern_parse(cases[i].text, &p);

		assert_int_equal(rc, cases[i].glob ? 0 : -EINVAL);
		if (rc)
			continue;
		assert_string_equal(p.object, cases[i].object);
		assert_string_equal(p.glob, cases[i].glob);
	}
}

TEST(too_long)
{
	static char text[2 * PATH_MAX];
	struct functions_pattern p;

	memset(text, 'a', FUNCTIONS_MAX_GLOB_BYTES);
	assert_int_equal(functions_pattern_parse(text, &p), -EINVAL);
	text[FUNCTIONS_MAX_GLOB_BYTES - 1] = '\0';
	assert_int_equal(functions_pattern_parse(text, &p), 0);
	memset(text, 'a', PATH_MAX);
	memcpy(text + PATH_MAX, ":f", 3);
	assert_int_equal(functions_pattern_parse(text, &p), -EINVAL);
}

TEST(files)
{
	static const struct {
		const char *text, *path;
		bool is_it;
	} cases[] = {
	    {"libfoo.so:f", "/lib/libfoo.so", true},
	    {"libfoo.so:f", "/lib/libfoo.so.1.2", true},
	    {"libfoo.so:f", "/lib/libfoo.source", false},
	    {"libfoo:f", "/lib/libfoo.so.1", true},
	    {"foo:f", "/lib/libfoo.so.1", false},
	    {"lib*:f", "/lib/libfoo.so.1", true},
	    {"/lib/*:f", "/lib/libfoo.so.1", true},
	    {"/usr/*:f", "/lib/libfoo.so.1", false},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct functions_pattern p;

		assert_int_equal(functions_pattern_parse(cases[i].text, &p), 0);
		if (functions_pattern_has_file(&p, cases[i].path) != cases[i].is_it)
			fail_msg("%s: %s", cases[i].text, cases[i].path);
	}
}

TEST(names)
{
	static const struct {
		const char *glob, *name;
		bool is_it;
	} cases[] = {
	    {"main", "main", true},
	    {"main", "Main", false},
	    {"main", "domain", false},
	    {"*main", "domain", true},
	    {"memcpy", "memcpy@@GLIBC_2.14", true},
	    {"memcpy@*", "memcpy@@GLIBC_2.14", true},
	    {"_Z3fooi", "_Z3fooi", true},
	    {"foo", "_Z3fooi", true},
	    {"foo(int)", "_Z3fooi", true},
	    {"foo(long)", "_Z3fooi", false},
	    {"fo", "_Z3fooi", false},
	    {"ns::*", "_ZN2ns1fEv", true},
	    {"f", "_ZN2ns1fEv", false},
	    {"*::size", "_ZNKSt6vectorIiSaIiEE4sizeEv", true},
	    /* "int ns::g<int>(int)": without what it returns */
	    {"ns::g<int>", "_ZN2ns1gIiEEiT_", true},
	    {"int ns::g<int>(int)", "_ZN2ns1gIiEEiT_", true},
	    {"*operator()", "_ZZ4mainENKUliE_clEi", true},
	    {"operator new", "_Znwm", true},
	    {"core::fmt::Write::write_fmt", "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
	     true},
	    {"*", "", true},
	    {"?*", "", false},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct functions_pattern p;

		assert_int_equal(functions_pattern_parse(cases[i].glob, &p), 0);
		if (functions_pattern_has_name(&p, cases[i].name) != cases[i].is_it)
			fail_msg("%s: %s", cases[i].glob, cases[i].name);
	}
}
