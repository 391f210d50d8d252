/*
 * The hosts that a user names: what ssh gets, and what is refused.
 */
#include "kit.h"

#include "base/array.h"
#include "base/err.h"
#include "hosts/address.h"

#include <stdlib.h>

static int parse(const char *list, struct hosts_addresses *out, struct err *e)
{
	*e = (struct err){0};
	return hosts_address_list(list, out, e);
}

TEST(parts_of_a_name)
{
	static const struct {
		const char *name, *target, *port;
	} cases[] = {
	    {"a", "a", ""},
	    {"a.example-1.org", "a.example-1.org", ""},
	    {"alice@a:22", "alice@a", "22"},
	    {"a:65535", "a", "65535"},
	    {"[::1]:22", "::1", "22"},
	    {"alice@[fe80::1%eth0]", "alice@fe80::1%eth0", ""},
	    {"::1", "::1", ""},
	};
	struct hosts_addresses a;
	struct err e;

	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		assert_int_equal(parse(cases[i].name, &a, &e), 0);
		assert_int_equal(a.nr, 1);
		assert_string_equal(a.item[0].name, cases[i].name);
		assert_string_equal(a.item[0].target, cases[i].target);
		assert_string_equal(a.item[0].port, cases[i].port);
		hosts_address_free(&a);
	}
}

TEST(lists)
{
	struct root r = tree_make();
	char path[sizeof(r.dir) + 16];
	struct hosts_addresses a;
	struct err e;

	assert_int_equal(parse("b,a,c:1", &a, &e), 0);
	assert_int_equal(a.nr, 3);
	assert_string_equal(a.item[0].name, "b");
	assert_string_equal(a.item[2].target, "c");
	hosts_address_free(&a);
	tree_text(&r, "/list", "# all\n a \t# the first\n\n#b\nc:7\r\nd");
	snprintf(path, sizeof(path), "@%s/list", r.dir);
	assert_int_equal(parse(path, &a, &e), 0);
	assert_int_equal(a.nr, 3);
	assert_string_equal(a.item[0].name, "a");
	assert_string_equal(a.item[1].port, "7");
	assert_string_equal(a.item[2].name, "d");
	hosts_address_free(&a);
	tree_text(&r, "/list", "# none\n");
	assert_int_equal(parse(path, &a, &e), -EINVAL);
	tree_put(&r, "/list", "a\0b", 3);
	assert_int_equal(parse(path, &a, &e), -EINVAL);
	tree_text(&r, "/list", "a\n-oProxyCommand=x\n");
	assert_int_equal(parse(path, &a, &e), -EINVAL);
	tree_remove(&r);
	assert_int_equal(parse(path, &a, &e), -ENOENT);
}

TEST(refused)
{
	static const char *const lists[] = {
	    "",         "a,",    ",a",     "a,,b",   "-a",       "-oProxyCommand=x",
	    "alice@-a", "-l@a",  "a b",    "a\nb",   "a\x1b[2J", "a;b",
	    "$(a)",     "a,b,a", "a:",     "a:0",    "a:65536",  "a:-1",
	    "a:x",      "@",     "alice@", "b@c@d",  "[::1",     "[::1]x",
	    "a]",       "a/b",   "\xff",   "[-a]:1",
	};
	char many[8 * (HOSTS_MAX_HOSTS + 1)], *at = many;
	struct hosts_addresses a;
	struct err e;

	for (size_t i = 0; i < ARRAY_NR(lists); i++) {
		if (parse(lists[i], &a, &e) == 0)
			fail_msg("\"%s\" is accepted", lists[i]);
		assert_true(e.msg[0] != '\0');
	}
	memset(many, 'x', HOSTS_NAME_BYTES);
	many[HOSTS_NAME_BYTES] = '\0';
	assert_int_equal(parse(many, &a, &e), -EINVAL);
	for (int i = 0; i <= HOSTS_MAX_HOSTS; i++)
		at += sprintf(at, "%sh%d", i ? "," : "", i);
	assert_int_equal(parse(many, &a, &e), -E2BIG);
	*strrchr(many, ',') = '\0';
	assert_int_equal(parse(many, &a, &e), 0);
	assert_int_equal(a.nr, HOSTS_MAX_HOSTS);
	hosts_address_free(&a);
}

static int list(void *arg)
{
	struct hosts_addresses a = {.nr = 0};
	struct err e = {0};
	int rc = hosts_address_list(arg, &a, &e);

	assert_true(rc == 0 || e.msg[0]);
	hosts_address_free(&a);
	return rc;
}

TEST(failures)
{
	struct root r = tree_make();
	char path[sizeof(r.dir) + 16];

	tree_text(&r, "/list", "a\nb\n");
	snprintf(path, sizeof(path), "@%s/list", r.dir);
	inject_every(list, path, 2, 2);
	tree_remove(&r);
}
