/*
 * Errors: the first wins, with its own hint; cut and formatted for people.
 */
#include "kit.h"

TEST(first_wins)
{
	struct err e = {0};

	assert_int_equal(err_set_at(&e, -EINVAL, "a.cpspec", 3, 7, "bad %s", "key"), -EINVAL);
	assert_int_equal(err_set(&e, -EIO, "second"), -EIO);
	err_hint(&e, "hint of the second"); /* the first one's chance is over */
	assert_int_equal(e.code, -EINVAL);
	assert_int_equal(e.line, 3);
	assert_int_equal(e.column, 7);
	assert_string_equal(e.source, "a.cpspec");
	assert_string_equal(e.msg, "bad key");
	assert_string_equal(e.hint, "");
}

TEST(hint_once)
{
	struct err e = {0};

	err_hint(&e, "of no error");
	assert_string_equal(e.hint, "");
	err_set(&e, -EINVAL, "x");
	err_hint(&e, "one");
	err_hint(&e, "two");
	assert_string_equal(e.hint, "one");
	err_clear(&e);
	assert_int_equal(e.code, 0);
	err_set(&e, -EIO, "y");
	err_hint(&e, "three");
	assert_string_equal(e.msg, "y");
	assert_string_equal(e.hint, "three");
}

TEST(nobody_listens)
{
	assert_int_equal(err_set(NULL, -EIO, "x"), -EIO);
	assert_int_equal(err_set_at(NULL, -EPERM, NULL, 0, 0, "x"), -EPERM);
	err_hint(NULL, "x");
}

TEST(format)
{
	static const struct {
		const char *source, *hint;
		unsigned line, column;
		const char *text;
	} rows[] = {
	    {NULL, NULL, 0, 0, "error: m"},
	    {"f", NULL, 0, 0, "f: error: m"},
	    {"f", NULL, 1, 2, "f:1:2: error: m"},
	    {"f", "h", 4294967295u, 4294967295u, "f:4294967295:4294967295: error: m\n  hint: h"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct err e = {0};
		char text[128], cut[4];

		err_set_at(&e, -EIO, rows[i].source, rows[i].line, rows[i].column, "m");
		if (rows[i].hint)
			err_hint(&e, "%s", rows[i].hint);
		err_format(&e, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
		err_format(&e, cut, sizeof(cut));
		assert_memory_equal(cut, rows[i].text, 3);
		assert_int_equal(cut[3], 0);
	}
}

TEST(too_long)
{
	struct err e = {0};
	char text[2048], name[2000];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	err_set_at(&e, -EIO, name, 1, 1, "%s", name);
	err_hint(&e, "%s", name);
	assert_int_equal(strlen(e.source), sizeof(e.source) - 1);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	assert_int_equal(strlen(e.hint), sizeof(e.hint) - 1);
	err_format(&e, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
}

/* Text from outside reaches no terminal as it is: escapes, lines of its own, C1 in UTF-8. */
TEST(disarmed)
{
	static const char odd[] = "a\x1b[31m\nb\t\x7f\xc2\x9b\xc2\xa0\xc3\xa9";
	static const char tame[] = "a?[31m?b????\xc2\xa0\xc3\xa9";
	struct err e = {0};

	err_set_at(&e, -EIO, odd, 1, 1, "%s", odd);
	err_hint(&e, "%s", odd);
	assert_string_equal(e.source, tame);
	assert_string_equal(e.msg, tame);
	assert_string_equal(e.hint, tame);
}

TEST(list)
{
	static struct err_list l;

	for (int i = 0; i < ERR_LIST_MAX; i++)
		assert_int_equal(err_set(err_list_add(&l), -EIO, "%d", i), -EIO);
	assert_null(err_list_add(&l));
	assert_null(err_list_add(&l));
	assert_int_equal(l.nr, ERR_LIST_MAX);
	assert_int_equal(l.dropped, 2);
	assert_string_equal(l.item[ERR_LIST_MAX - 1].msg, "31");
}
