/*
 * Command lines against the words that a shell makes of them.
 */
#include "inject.h"
#include "kit.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/words.h"

static void expect(const char *text, const char *const *words)
{
	struct err e = {0};
	char **found = NULL;
	size_t i;

	if (words_split(text, &found, &e))
		fail_msg("%s: %s", text, e.msg);
	for (i = 0; words[i] && found[i]; i++)
		assert_string_equal(found[i], words[i]);
	assert_null(words[i]);
	assert_null(found[i]);
	mem_free(found);
}

#define EXPECT(text, ...) expect(text, (const char *const[]){__VA_ARGS__, NULL})

TEST(words)
{
	EXPECT("a", "a");
	EXPECT("  old/prog\t-x  1\n", "old/prog", "-x", "1");
	EXPECT("a 'b c' \"d e\" f\\ g", "a", "b c", "d e", "f g");
	EXPECT("'a'b\"c\"\\d", "abcd");
	EXPECT("a '' \"\"", "a", "", "");
	EXPECT("''", "");
	EXPECT("x\"\"", "x");
	EXPECT("'it'\\''s'", "it's");
	EXPECT("\"a\\\"b\\\\c\\d\"", "a\"b\\c\\d");
	EXPECT("'a\\' b", "a\\", "b");
	EXPECT("a\\\nb \"c\\\nd\"", "ab", "cd");
	EXPECT("'|' \"&;<>\" \\$x", "|", "&;<>", "$x");
	EXPECT("*.c [x] ?", "*.c", "[x]", "?");
	EXPECT("a\\", "a\\");
	EXPECT("\xc3\xa4 b", "\xc3\xa4", "b");
}

/* What is refused, and where. */
TEST(what_is_for_a_shell)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"a | b", "'|'"},          {"a >b", "'>'"},   {"a && b", "'&'"},
	    {"a; b", "';'"},           {"(a)", "'('"},    {"echo $HOME", "'$'"},
	    {"a `b`", "'`'"},          {"\"$x\"", "'$'"}, {"a 'b", "the quote '"},
	    {"a \"b", "the quote \""}, {"", "no word"},   {" \n", "no word"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct err e = {0};
		char **found = NULL;

		assert_int_equal(words_split(cases[i].text, &found, &e), -EINVAL);
		assert_null(found);
		if (!strstr(e.msg, cases[i].says))
			fail_msg("%s: %s", cases[i].text, e.msg);
	}
}

static int split(void *arg)
{
	struct err e = {0};
	char **found = NULL;
	int rc = words_split(arg, &found, &e);

	mem_free(found);
	return rc;
}

TEST(no_memory)
{
	char text[] = "a 'b c'";

	inject_every(split, text, 1, 0);
}
