/*
 * Control groups: the text of their files, where they are mounted, groups that come and go, and
 * controllers that are not enabled; and every failure in turn.
 */
#include "kit.h"
#include "test_things_many.h"

#include "things/cgroup.h"
#include "things/cgroup_text.h"

#define ALL ((1u << CGROUP_NR_FIELDS) - 1)
#define CPU (1u << CGROUP_CPU_USAGE | 1u << CGROUP_CPU_THROTTLED)
#define MEM (1u << CGROUP_MEMORY_CURRENT)
#define IO  (1u << CGROUP_IO_READ_BYTES | 1u << CGROUP_IO_WRITE_BYTES)

typedef int parse_fn(const char *text, size_t len, uint64_t *values, uint32_t *has);

static const struct {
	const char *what;
	parse_fn *parse;
	const char *text;
	int rc;
	uint32_t has;
	uint64_t values[CGROUP_NR_FIELDS];
} texts[] = {
    {"with the controller",
     cgroup_parse_cpu,
     "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 0\nnr_throttled 9\nthrottled_usec 7\n",
     0,
     CPU,
     {5000, 7000}},
    {"without", cgroup_parse_cpu, "usage_usec 5\nuser_usec 3\n", 0, 1u << CGROUP_CPU_USAGE, {5000}},
    {"nothing known", cgroup_parse_cpu, "usage 5\n", 0, 0, {0}},
    {"the most",
     cgroup_parse_cpu,
     "usage_usec 18446744073709551\n",
     0,
     1u << CGROUP_CPU_USAGE,
     {18446744073709551000u}},
    {"ns beyond 64 bits", cgroup_parse_cpu, "usage_usec 18446744073709552\n", -ERANGE, 0, {0}},
    {"no number", cgroup_parse_cpu, "usage_usec x\n", -EINVAL, 0, {0}},
    {"memory", cgroup_parse_memory, "90112\n", 0, MEM, {[CGROUP_MEMORY_CURRENT] = 90112}},
    {"memory, more", cgroup_parse_memory, "90112\n1", -EINVAL, 0, {0}},
    {"memory, cut", cgroup_parse_memory, "90112", -EINVAL, 0, {0}},
    {"memory, junk", cgroup_parse_memory, "90112x", -EINVAL, 0, {0}},
    {"memory, none", cgroup_parse_memory, "", -EINVAL, 0, {0}},
    {"memory, max", cgroup_parse_memory, "max\n", -EINVAL, 0, {0}},
    {"two devices",
     cgroup_parse_io,
     "8:16 rbytes=1 wbytes=2 rios=9 wios=9 dbytes=9 dios=9\n8:0 rbytes=10 wbytes=20 rios=9\n",
     0,
     IO,
     {[CGROUP_IO_READ_BYTES] = 11, [CGROUP_IO_WRITE_BYTES] = 22}},
    {"devices without numbers, on the line of another and alone",
     cgroup_parse_io,
     "7:7 7:6 7:5 rbytes=28672 wbytes=0 rios=22\n252:0 ",
     0,
     IO,
     {[CGROUP_IO_READ_BYTES] = 28672}},
    {"hidden devices",
     cgroup_parse_io,
     "(unknown) rbytes=0 wbytes=0 rios=6\n8:0 rbytes=5\n",
     0,
     IO,
     {[CGROUP_IO_READ_BYTES] = 5}},
    {"nothing yet: none is 0 bytes", cgroup_parse_io, "", 0, IO, {0}},
    {"keys that look alike", cgroup_parse_io, "8:0 xrbytes=4 rbytes_=5 rbyte=6\n", 0, IO, {0}},
    {"junk", cgroup_parse_io, "8:0 rbytes=1x\n", -EINVAL, 0, {0}},
    {"no number", cgroup_parse_io, "8:0 wbytes=\n", -EINVAL, 0, {0}},
    {"negative", cgroup_parse_io, "8:0 wbytes=-1\n", -EINVAL, 0, {0}},
    {"beyond 64 bits", cgroup_parse_io, "8:0 rbytes=18446744073709551616\n", -ERANGE, 0, {0}},
    {"a sum beyond",
     cgroup_parse_io,
     "8:0 rbytes=18446744073709551615\n8:1 rbytes=1\n",
     -ERANGE,
     0,
     {0}},
};

TEST(texts)
{
	for (size_t i = 0; i < NR(texts); i++) {
		size_t len = strlen(texts[i].text);
		char *text = many_exact(texts[i].text, len);
		uint64_t values[CGROUP_NR_FIELDS] = {0};
		uint32_t has = 0;

		print_message("%s\n", texts[i].what);
		assert_int_equal(texts[i].parse(text, len, values, &has), texts[i].rc);
		free(text);
		assert_int_equal(has, texts[i].has);
		if (texts[i].rc == 0)
			assert_memory_equal(values, texts[i].values, sizeof(values));
	}
}

#define V1 "30 25 0:25 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"

TEST(mounts)
{
	static const struct {
		const char *what, *text, *mount;
	} rows[] = {
	    {"plain", V1 "29 24 0:25 / /sys/fs/cgroup rw,relatime - cgroup2 none rw\n",
	     "/sys/fs/cgroup"},
	    {"optional fields", "29 24 0:25 / /a rw shared:4 master:7 - cgroup2 none rw\n", "/a"},
	    {"whole before a part",
	     "1 2 0:25 /../x /b rw - cgroup2 none rw\n3 2 0:25 / /c rw - cgroup2 none rw\n", "/c"},
	    {"a part, if that is all",
	     "1 2 0:25 /x /b rw - cgroup2 none rw\n3 2 0:25 /y /c rw - cgroup2 none rw\n", "/b"},
	    {"escapes", "1 2 0:25 / /a\\040b\\134\\011c\\12 rw - cgroup2 none rw\n",
	     "/a b\\\tc\\12"},
	    {"no newline", "1 2 0:25 / /a rw - cgroup2 none rw", "/a"},
	    {"version 1 only", V1, NULL},
	    {"the type stands elsewhere", "1 2 0:25 / /a cgroup2 - tmpfs cgroup2 rw\n", NULL},
	    {"a dash stands elsewhere", "1 2 - cgroup2 /a rw - tmpfs x rw\n", NULL},
	    {"cut", "1 2 0:25 / /a rw -\n1 2 0:25 / /a\ncgroup2\n", NULL},
	    {"too long", "1 2 0:25 / /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa rw - cgroup2 none rw\n",
	     NULL},
	    {"empty", "", NULL},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		size_t len = strlen(rows[i].text);
		char *text = many_exact(rows[i].text, len), mount[24];
		int rc = cgroup_find_mount(text, len, mount, sizeof(mount));

		print_message("%s\n", rows[i].what);
		assert_int_equal(rc, rows[i].mount ? 0 : -ENOENT);
		if (rc == 0)
			assert_string_equal(mount, rows[i].mount);
		free(text);
	}
}

TEST(captured)
{
	static const struct {
		const char *tree, *words;
		uint32_t wanted;
		const char *expected, *note;
	} rows[] = {
	    {"arm64-vm", "", ALL, "0 / 0=4484000000 1=0 3=35655680 4=0\n",
	     "cgroup /: memory.current cannot be opened: it needs the controller memory"},
	    {"arm64-vm", "work", ALL, "0 /work 0=1361115000 1=0 2=1167360 3=0 4=0\n", NULL},
	    {"container", "", ALL,
	     "0 / 0=81234567000 1=1234567000 2=289886208 3=2899968 4=6291456\n", NULL},
	    {"server-256", "/system.slice/ /user.slice", CPU | IO,
	     "0 /system.slice 0=81234567890000 1=99887766000 3=4096 4=8192\n1 /user.slice "
	     "0=1234000\n",
	     "cgroup /user.slice: io.stat cannot be opened: it needs the controller io"},
	    {"server-256", "/", CPU | IO,
	     "0 / 0=918273645546000 1=0 3=1007158431744 4=270411608576\n", NULL},
	    {"server-256", "a/b user.slice", MEM, "", "cgroup /a/b: it does not exist"},
	    {"x86-vm", "", 1u << CGROUP_CPU_THROTTLED, "0 /\n",
	     "cgroup /: cpu.stat does not have all requested fields: throttling needs"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct root r = tree_captured(rows[i].tree);
		struct many m;

		many_open(&m, &cgroup_source, &r, rows[i].words, rows[i].wanted);
		for (int k = 0; k < 2; k++) {
			many_read(&m);
			many_expect(&m, rows[i].expected);
		}
		many_expect_note(&m, rows[i].note);
		many_close(&m);
	}
}

static void put_group(const struct root *r, const char *usage)
{
	tree_text(r, "/cg/x/cpu.stat", usage);
}

/* A group that is there without what was asked for: how to get it. */
TEST(lacks)
{
	struct root r = tree_make();
	struct many m;

	tree_text(&r, "/proc/self/mountinfo", "1 2 0:25 / /cg rw - cgroup2 none rw\n");
	tree_text(&r, "/cg/x/cpu.stat", "usage_usec 1\n");
	kernel_start(NULL, 0);
	many_open(&m, &cgroup_source, &r, "/ x", MEM);
	many_read(&m);
	many_expect_note(&m, "cgroup /: it has none of the requested files: the root");
	many_expect_note(&m, "cgroup /x: it has none of the requested files: it needs the "
			     "controller memory in the parent's cgroup.subtree_control");
	many_expect_note(&m, NULL);
	many_close(&m);
	kernel_stop();
	tree_remove(&r);
}

TEST(come_and_go)
{
	struct root r = tree_make();
	struct many m;

	tree_text(&r, "/proc/self/mountinfo", "1 2 0:25 / /cg rw - cgroup2 none rw\n");
	kernel_start(NULL, 0);
	many_open(&m, &cgroup_source, &r, "x x", CPU);
	many_read(&m);
	many_read(&m);
	many_expect(&m, "");
	many_expect_note(&m, "cgroup /x: it does not exist");
	many_expect_note(&m, "cgroup /x: it does not exist"); /* each of the two words */
	many_expect_note(&m, NULL);
	put_group(&r, "usage_usec 9\nthrottled_usec 1\n");
	many_read(&m);
	many_expect(&m, "0 /x 0=9000 1=1000\n");
	put_group(&r, "usage_usec 12\nthrottled_usec 1\n");
	kernel.nr_opens = 0;
	many_read(&m);
	many_expect(&m, "0 /x 0=12000 1=1000\n");
	assert_int_equal(kernel.nr_opens, 0);
	tree_drop(&r, "/cg/x");
	put_group(&r, "usage_usec 3\nthrottled_usec 0\n");
	many_read(&m);
	many_expect(&m, "1 /x 0=3000 1=0\n");
	tree_drop(&r, "/cg/x");
	many_read(&m);
	many_expect(&m, "");
	many_close(&m);
	kernel_stop();
	tree_remove(&r);
}

TEST(refused)
{
	static const struct {
		const char *tree, *words;
		int rc;
		const char *msg, *hint;
	} rows[] = {
	    {"linux-4.14", "", -ENOENT, "no hierarchy of version 2", "mount"},
	    {"sparse-offline", "", -ENOENT, "/proc/self/mountinfo cannot be read", ""},
	    {"container", "a ../b", -EINVAL, "\"../b\" cannot be the path of a cgroup",
	     "write it as in /proc/PID/cgroup, from the root: \"/user.slice"},
	    {"container", "..", -EINVAL, "\"..\" cannot", ""},
	    {"container", "a/..", -EINVAL, "\"a/..\" cannot", ""},
	    {"container", "/a/../b", -EINVAL, "\"/a/../b\" cannot", ""},
	    {"container", "a  b", -EINVAL, "\"\" cannot", ""},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct root r = tree_captured(rows[i].tree);
		struct many m;

		assert_int_equal(many_try_open(&m, &cgroup_source, &r, rows[i].words, ALL),
				 rows[i].rc);
		assert_non_null(strstr(m.e.msg, rows[i].msg));
		assert_non_null(strstr(m.e.hint, rows[i].hint));
	}
}

/* Names with dots are names. */
TEST(dots)
{
	struct root r = tree_captured("container");
	struct many m;

	many_open(&m, &cgroup_source, &r, "..a a..b ...", ALL);
	many_close(&m);
}

/* A long io.stat: more than is read at a time. */
TEST(long)
{
	struct root r = tree_make();
	struct buf text;
	struct many m;

	buf_init(&text, 1 << 20);
	for (unsigned i = 0; i < 500; i++)
		buf_printf(&text, "8:%u rbytes=3 wbytes=4 rios=1 wios=1\n", i);
	tree_text(&r, "/proc/self/mountinfo", "1 2 0:25 / /cg rw - cgroup2 none rw\n");
	tree_text(&r, "/cg/io.stat", buf_str(&text));
	many_open(&m, &cgroup_source, &r, "", IO);
	many_read(&m);
	many_expect(&m, "0 / 3=1500 4=2000\n");
	many_close(&m);
	buf_fini(&text);
	tree_remove(&r);
}

static int open_and_read(void *arg)
{
	struct many m;
	int rc = many_try_open(&m, &cgroup_source, arg, "/system.slice user.slice b", CPU | IO);

	if (rc)
		return rc;
	for (int i = 0; i < 2 && rc == 0; i++) {
		struct things_one t;

		rc = m.source->read(m.state);
		if (rc == 0 && many_find(&m, "/system.slice", &t) && t.has & 1)
			assert_int_equal(t.values[CGROUP_CPU_USAGE], 81234567890000);
		while (m.source->note(m.state))
			;
	}
	many_close(&m);
	return rc;
}

TEST(failures)
{
	struct root r = tree_captured("server-256");

	inject_every(open_and_read, &r, 8, 12);
}
