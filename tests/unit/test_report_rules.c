/*
 * The rules of a report: what text makes one, what is refused and why, and what a name becomes.
 */
#include "kit.h"

#include "report/rules.h"

typedef int add_fn(struct report_rules *r, const char *text, struct err *e);

enum { MAX_MERGES = 3 };

static const struct {
	const char *rules[MAX_MERGES];
	const char *name, *want; /* NULL: it stays as it is */
} merges[] = {
    {{"s/foo/bar/"}, "foo", "bar"},
    {{"s/foo/bar/"}, "a foo b foo", "a bar b foo"},
    {{"s/foo/bar/"}, "fo", NULL},
    {{"s/o+/0/"}, "fooo", "f0"},
    {{"s/^(a+)(b+)$/\\2-\\1/"}, "aabbb", "bbb-aa"},
    {{"s/(a)(b)(c)(d)(e)(f)(g)(h)(i)/\\9\\8\\7\\6\\5\\4\\3\\2\\1/"}, "xabcdefghiy", "xihgfedcbay"},
    {{"s/a(b)?c/[\\1]/"}, "ac", "[]"},  /* a group that took no part */
    {{"s/a/\\2/"}, "xay", "xy"},        /* one that there is not */
    {{"s/a/\\0\\\\\\//"}, "a", "0\\/"}, /* others stand for themselves */
    {{"s/a/b\\"}, "a", NULL},
    {{"s|/usr/|U:|"}, "/usr/x", "U:x"},
    {{"s#a#/#"}, "a", "/"},
    {{"s/\\/usr\\//U\\//"}, "/usr/x", "U/x"},
    {{"s,a\\,b,c\\,d,"}, "a,b", "c,d"},
    {{"s/\\./_/"}, "a.b", "a_b"}, /* an escape of the expression's own stays */
    {{"s/\\\\/x/"}, "a\\b", "axb"},
    {{"s/foo//"}, "foobar", "bar"},
    {{"s/.*//"}, "foobar", ""},
    {{"s/a/1/", "s/b/2/", "s/./3/"}, "b", "2"}, /* the first that matches, and it alone */
    {{"s/a/1/", "s/b/2/", "s/./3/"}, "ba", "b1"},
    {{"s/x*/y/"}, "abc", "yabc"}, /* nothing, at the beginning */
    {{"s/std::(map|set)<.*>/std::\\1/"}, "f(std::map<int, int>)", "f(std::map)"},
};

TEST(merged)
{
	for (size_t i = 0; i < NR(merges); i++) {
		struct report_rules r = {0};
		struct err e = {0};
		char *name;
		int rc = 0;

		for (size_t k = 0; k < MAX_MERGES && merges[i].rules[k] && !rc; k++)
			rc = report_rules_add_merge(&r, merges[i].rules[k], &e);
		if (merges[i].want && rc)
			fail_msg("%s: %s", merges[i].rules[0], e.msg);
		name = report_rules_merged(&r, merges[i].name, &rc);
		assert_int_equal(rc, 0);
		if (merges[i].want && !name)
			fail_msg("%s: %s stays", merges[i].rules[0], merges[i].name);
		if (merges[i].want)
			assert_string_equal(name, merges[i].want);
		else
			assert_null(name);
		mem_free(name);
		report_rules_fini(&r);
	}
}

static const struct {
	add_fn *add;
	const char *text, *msg, *hint;
} refused[] = {
    {report_rules_add_merge, "", "--merge=: invalid", "--merge='s/REGEX/NAME/'"},
    {report_rules_add_merge, "s", "--merge=s: invalid", NULL},
    {report_rules_add_merge, "foo", "--merge=foo: invalid", NULL},
    {report_rules_add_merge, "s/a", "--merge=s/a: invalid", NULL},
    {report_rules_add_merge, "s/a/b", "--merge=s/a/b: invalid", NULL},
    {report_rules_add_merge, "s/a/b/g", "--merge=s/a/b/g: invalid", NULL},
    {report_rules_add_merge, "s/a/b/c/", "--merge=s/a/b/c/: invalid", NULL},
    {report_rules_add_merge, "s/a\\/b/", "--merge=s/a\\/b/: invalid", NULL},
    {report_rules_add_merge, "s\\a\\b\\", "--merge=s\\a\\b\\: invalid", NULL},
    {report_rules_add_merge, "s//b/", "--merge: an empty expression matches everything", NULL},
    {report_rules_add_merge, "s/(a/b/", "--merge: \"(a\": Unmatched ( or \\(",
     "use a POSIX extended regular expression*"},
    {report_rules_add_split, "", "--split=: invalid", "--split='CALLER>CALLEE/NAME'"},
    {report_rules_add_split, "a/b", "--split=a/b: invalid", NULL},
    {report_rules_add_split, "a>b", "--split=a>b: invalid", NULL},
    {report_rules_add_split, "a>b/", "--split=a>b/: invalid", NULL},
    {report_rules_add_split, "a/b>c", "--split=a/b>c: invalid", NULL},
    {report_rules_add_split, "a\\>b/c", "--split=a\\>b/c: invalid", NULL},
    {report_rules_add_split, ">b/c", "--split: an empty expression matches everything", NULL},
    {report_rules_add_split, "a>/c", "--split: an empty expression matches everything", NULL},
    {report_rules_add_split, "a>[/c", "--split: \"[\": *", NULL},
    {report_rules_add_split, "a{2,1}>b/c", "--split: \"a{2,1}\": *", NULL},
    {report_rules_add_hide, "", "--hide: an empty expression matches everything", NULL},
    {report_rules_add_hide, "a)(", "--hide: \"a)(\": *", NULL},
    {report_rules_add_only, "*", NULL, NULL}, /* glibc takes it as a character */
    {report_rules_add_only, "[", "--only: \"[\": *", NULL},
};

static void assert_like(const char *text, const char *glob)
{
	size_t len = strlen(glob);

	if (len && glob[len - 1] == '*' ? strncmp(text, glob, len - 1) : strcmp(text, glob))
		fail_msg("\"%s\" is not \"%s\"", text, glob);
}

TEST(nonsense)
{
	for (size_t i = 0; i < NR(refused); i++) {
		struct report_rules r = {0};
		struct err e = {0};
		int rc = refused[i].add(&r, refused[i].text, &e);

		if (refused[i].msg) {
			assert_int_equal(rc, -EINVAL);
			assert_like(e.msg, refused[i].msg);
			assert_int_equal(r.nr_merge + r.nr_split + r.nr_hide + r.nr_only, 0);
		}
		if (refused[i].hint)
			assert_like(e.hint, refused[i].hint);
		report_rules_fini(&r);
	}
}

static const struct {
	const char *text, *caller, *callee, *name; /* that match, and what they are called then */
	const char *not_caller, *not_callee;
} splits[] = {
    {"main>work/main's work", "xmainx", "work_a", "main's work", "man", "wor"},
    {"^a$>^b$/c", "a", "b", "c", "aa", "bb"},
    {"a|b>c/d", "b", "c", "d", "d", "a"},
    {"operator\\>>b/c", "operator>", "b", "c", "operator", "c"},
    {"a>operator\\/$/c", "a", "operator/", "c", "b", "operator"},
    {"a>x>y/c", "a", "x>y", "c", "b", "x"}, /* the first > parts them */
    {"a/b>c/d", "a/b", "c", "d", "a", "b"}, /* and the last / */
    {"a>b/c/d", "a", "b/c", "d", "x", "b"},
    {"a>b/c\\/d", "a", "b", "c/d", "b", "a"}, /* unless it is escaped */
    {"a>b/c\\>d", "a", "b", "c>d", "b", "a"},
    {"a\\.b>c/d", "a.b", "c", "d", "axb", "b"},
};

TEST(split)
{
	for (size_t i = 0; i < NR(splits); i++) {
		struct report_rules r = {0};
		struct err e = {0};

		if (report_rules_add_split(&r, splits[i].text, &e))
			fail_msg("%s: %s", splits[i].text, e.msg);
		assert_int_equal(r.nr_split, 1);
		if (!report_pattern_matches(&r.split[0].caller, splits[i].caller) ||
		    !report_pattern_matches(&r.split[0].callee, splits[i].callee) ||
		    report_pattern_matches(&r.split[0].caller, splits[i].not_caller) ||
		    report_pattern_matches(&r.split[0].callee, splits[i].not_callee))
			fail_msg("%s: matches another", splits[i].text);
		assert_string_equal(r.split[0].name, splits[i].name);
		report_rules_fini(&r);
	}
}

TEST(too_many)
{
	static const struct {
		add_fn *add;
		const char *text, *msg;
	} kinds[] = {
	    {report_rules_add_merge, "s/a/b/", "--merge: used more than 32 times"},
	    {report_rules_add_split, "a>b/c", "--split: used more than 32 times"},
	    {report_rules_add_hide, "a", "--hide: used more than 32 times"},
	    {report_rules_add_only, "a", "--only: used more than 32 times"},
	};

	for (size_t k = 0; k < NR(kinds); k++) {
		struct report_rules r = {0};
		struct err e = {0};

		for (int i = 0; i < REPORT_MAX_RULES; i++)
			assert_int_equal(kinds[k].add(&r, kinds[k].text, &e), 0);
		assert_int_equal(kinds[k].add(&r, kinds[k].text, &e), -E2BIG);
		assert_string_equal(e.msg, kinds[k].msg);
		assert_string_equal(e.hint, "join expressions with |");
		report_rules_fini(&r);
		assert_int_equal(r.nr_merge + r.nr_split + r.nr_hide + r.nr_only, 0);
	}
}

static int add_all(void *arg)
{
	struct report_rules r = {0};
	struct err e = {0};
	char *name = NULL;
	int rc = report_rules_add_merge(&r, "s/(a)/b\\1/", &e);

	(void)arg;
	if (rc == 0)
		rc = report_rules_add_split(&r, "a>b/c", &e);
	if (rc == 0)
		rc = report_rules_add_hide(&r, "h", &e);
	if (rc == 0)
		rc = report_rules_add_only(&r, "o", &e);
	if (rc == 0)
		name = report_rules_merged(&r, "xax", &rc);
	if (rc == 0)
		assert_string_equal(name, "xbax");
	else
		assert_null(name);
	mem_free(name);
	report_rules_fini(&r);
	return rc;
}

TEST(everything_fails_once)
{
	inject_every(add_all, NULL, 6, 0);
}

/* A name beyond the ceiling is no name cut short. */
TEST(long_name)
{
	static char longest[70000];
	struct report_rules r = {0};
	struct err e = {0};
	int rc;

	memset(longest, 'a', sizeof(longest) - 1);
	assert_int_equal(report_rules_add_merge(&r, "s/b?$/c/", &e), 0);
	assert_null(report_rules_merged(&r, longest, &rc));
	assert_int_equal(rc, -EFBIG);
	report_rules_fini(&r);
}
