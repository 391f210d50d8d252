/*
 * host.json: written, read again, and refused.
 */
#include "kit.h"
#include "paths.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/io.h"
#include "hosts/list.h"

#include <sys/stat.h>

static struct hosts_part example(void)
{
	struct hosts_part p;

	hosts_part_init(&p);
	snprintf(p.host, sizeof(p.host), "alice@b:22");
	snprintf(p.node, sizeof(p.node), "b.example");
	snprintf(p.job, sizeof(p.job), "1234");
	snprintf(p.step, sizeof(p.step), "0");
	snprintf(p.reason, sizeof(p.reason), "\"no\" reason \\");
	snprintf(p.tool, sizeof(p.tool), "cpuperf 1.2");
	p.status = HOSTS_LATE;
	p.rank = 0;
	p.exit_status = 255;
	p.clock_offset_ns = -5;
	p.clock_error_ns = INT64_MAX;
	p.start_realtime_ns = 1790000000000000000;
	return p;
}

static int parse(const char *text, struct hosts_part *p, struct err *e)
{
	*e = (struct err){0};
	return hosts_part_parse(text, strlen(text), "f", p, e);
}

TEST(schema_is_up_to_date)
{
	struct buf made, kept;

	buf_init(&made, 1 << 20);
	buf_init(&kept, 1 << 20);
	hosts_part_schema(&made);
	assert_int_equal(io_load(AT_FDCWD, SOURCE_DIR "/schemas/host.schema.json", &kept), 0);
	assert_string_equal(buf_str(&made), buf_str(&kept));
	buf_fini(&made);
	buf_fini(&kept);
}

TEST(written_and_read)
{
	struct hosts_part wrote[2] = {example()}, read;
	struct err e;

	hosts_part_init(&wrote[1]);
	snprintf(wrote[1].host, sizeof(wrote[1].host), "a");
	for (size_t i = 0; i < 2; i++) {
		BUF_AUTO(text, 4096);

		hosts_part_to_json(&wrote[i], &text);
		hosts_part_init(&read);
		assert_int_equal(parse(buf_str(&text), &read, &e), 0);
		assert_memory_equal(&read, &wrote[i], sizeof(read));
		if (i == 1)
			assert_string_equal(buf_str(&text), "{\"version\":1,\"host\":\"a\","
							    "\"status\":\"ok\"}\n");
	}
}

TEST(read_leniently)
{
	struct hosts_part p;
	struct err e;

	hosts_part_init(&p);
	assert_int_equal(parse("{\"version\":1,\"host\":\"a\\nb\",\"status\":\"failed\","
			       "\"later\":[1],\"reason\":\"\\u001b[2J\"}",
			       &p, &e),
			 0);
	assert_string_equal(p.host, "a b");
	assert_string_equal(p.reason, "?[2J");
	assert_int_equal(p.status, HOSTS_FAILED);
	assert_true(p.rank == HOSTS_ABSENT);
}

TEST(refused)
{
	static const struct {
		const char *text, *msg;
	} cases[] = {
	    {"", NULL},
	    {"[]", "it has no version"},
	    {"{\"host\":\"a\",\"status\":\"ok\"}", "it has no version"},
	    {"{\"version\":2,\"host\":\"a\",\"status\":\"ok\"}",
	     "its version is 2, and this program reads version 1"},
	    {"{\"version\":1,\"status\":\"ok\"}", "the key \"host\" is missing"},
	    {"{\"version\":1,\"host\":\"a\"}", "the key \"status\" is missing"},
	    {"{\"version\":1,\"host\":\"\",\"status\":\"ok\"}", "the value of \"host\" is invalid"},
	    {"{\"version\":1,\"host\":1,\"status\":\"ok\"}", "the value of \"host\" is invalid"},
	    {"{\"version\":1,\"host\":\"a\",\"status\":\"fine\"}",
	     "the value of \"status\" is invalid"},
	    {"{\"version\":1,\"host\":\"a\",\"status\":\"ok\",\"rank\":-1}",
	     "the value of \"rank\" is invalid"},
	    {"{\"version\":1,\"host\":\"a\",\"status\":\"ok\",\"rank\":2147483648}",
	     "the value of \"rank\" is invalid"},
	    {"{\"version\":1,\"host\":\"a\",\"status\":\"ok\",\"exit_status\":1.5}",
	     "the value of \"exit_status\" is invalid"},
	    {"{\"version\":1,\"host\":\"a\",\"status\":\"ok\",\"job\":"
	     "\"0123456789012345678901234567890123456789012345678901234567890123\"}",
	     "the value of \"job\" is invalid"},
	};
	struct hosts_part p = example(), before = p;
	struct err e;

	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		assert_int_equal(parse(cases[i].text, &p, &e), -EINVAL);
		assert_string_equal(e.source, "f");
		if (cases[i].msg)
			assert_string_equal(e.msg, cases[i].msg);
		assert_memory_equal(&p, &before, sizeof(p));
	}
}

TEST(folders)
{
	static const struct {
		const char *host;
		int64_t rank;
		const char *folder;
	} cases[] = {
	    {"a.example-1_b", HOSTS_ABSENT, "a.example-1_b"},
	    {"alice@b:22", HOSTS_ABSENT, "alice_b_22"},
	    {"../etc", HOSTS_ABSENT, "_._etc"},
	    {"..", HOSTS_ABSENT, "_."},
	    {"-x", 3, "_x.3"},
	    {"n1", 0, "n1.0"},
	};
	char name[NAME_MAX + 1];
	struct hosts_part p;

	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		hosts_part_init(&p);
		snprintf(p.host, sizeof(p.host), "%s", cases[i].host);
		p.rank = cases[i].rank;
		hosts_part_folder(&p, name);
		assert_string_equal(name, cases[i].folder);
	}
	memset(p.host, 'x', sizeof(p.host) - 1);
	p.rank = HOSTS_MAX_RANK;
	hosts_part_folder(&p, name);
	assert_true(strlen(name) <= NAME_MAX);
	assert_string_equal(strrchr(name, '.'), ".2147483647");
}

static void put_part(const struct root *r, const char *folder, const char *host, int64_t rank)
{
	struct hosts_part p;
	char path[64];
	BUF_AUTO(text, 4096);

	hosts_part_init(&p);
	snprintf(p.host, sizeof(p.host), "%s", host);
	p.rank = rank;
	hosts_part_to_json(&p, &text);
	snprintf(path, sizeof(path), "/%s/host.json", folder);
	tree_text(r, path, buf_str(&text));
}

static int list(const struct root *r, struct hosts_list *l, struct err *e)
{
	IO_AUTO_FD int fd = open(r->dir, O_RDONLY | O_DIRECTORY);

	*e = (struct err){0};
	return hosts_list_read(fd, r->dir, l, e);
}

TEST(listed_in_order)
{
	static const char *const order[] = {"broken", "n2.1", "n2.10",  "n10.0",
					    "n11",    "none", "nothing"};
	struct root r = tree_make();
	char path[sizeof(r.dir) + 16];
	struct hosts_list l;
	struct err e;

	assert_int_equal(list(&r, &l, &e), 0);
	assert_int_equal(l.nr, 0);
	tree_text(&r, "/none/cpuperf.cpsession", "{}"); /* a session among parts, or not */
	assert_int_equal(list(&r, &l, &e), 0);
	assert_int_equal(l.nr, 0);
	put_part(&r, "n10.0", "n10", 0);
	put_part(&r, "n2.10", "n2", 10);
	put_part(&r, "n2.1", "n2", 1);
	put_part(&r, "n11", "n11", HOSTS_ABSENT);
	put_part(&r, ".hidden", "a", HOSTS_ABSENT);
	tree_text(&r, "/broken/host.json", "{");
	tree_text(&r, "/empty/x", "{}");
	tree_put(&r, "/nothing", NULL, 0);
	tree_text(&r, "/host.json", "{}");
	snprintf(path, sizeof(path), "%s/link", r.dir);
	assert_int_equal(symlink("n11", path), 0);
	assert_int_equal(list(&r, &l, &e), 0);
	assert_int_equal(l.nr, ARRAY_NR(order));
	for (size_t i = 0; i < l.nr; i++)
		assert_string_equal(l.entry[i].folder, order[i]);
	assert_int_equal(l.entry[0].part.status, HOSTS_FAILED);
	assert_true(strncmp(l.entry[0].part.reason, "host.json: ", 11) == 0);
	assert_int_equal(l.entry[2].part.rank, 10);
	assert_int_equal(l.entry[5].part.status, HOSTS_FAILED);
	assert_string_equal(l.entry[5].part.reason, "host.json: it is missing");
	assert_int_equal(l.entry[6].part.status, HOSTS_FAILED);
	assert_string_equal(l.entry[6].part.reason,
			    "host.json: it is missing: the folder is empty");
	hosts_list_fini(&l);
	tree_remove(&r);
}

TEST(example_is_read)
{
	struct root r = {0};
	struct hosts_list l;
	struct err e;

	snprintf(r.dir, sizeof(r.dir), "%s", TEST_DATA_DIR "/jobs/example");
	assert_int_equal(list(&r, &l, &e), 0);
	assert_int_equal(l.nr, 3);
	assert_string_equal(l.entry[0].part.node, "n1");
	assert_int_equal(l.entry[1].part.status, HOSTS_FAILED);
	assert_int_equal(l.entry[2].part.rank, 0);
	hosts_list_fini(&l);
}

static int write_and_list(void *arg)
{
	const struct root *r = arg;
	struct hosts_part p = example();
	struct hosts_list l = {.nr = 0};
	struct err e = {0};
	char path[sizeof(r->dir) + 8];
	int rc, fd;

	snprintf(path, sizeof(path), "%s/a", r->dir);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	rc = hosts_part_write(fd, path, &p, &e);
	close(fd);
	rc = rc ? rc : list(r, &l, &e);
	assert_true(rc == 0 || e.msg[0]);
	hosts_list_fini(&l);
	return rc;
}

TEST(failures)
{
	struct root r = tree_make();
	struct hosts_part p = example(), read;
	struct stat st;
	struct err e = {0};
	char path[sizeof(r.dir) + 16];
	int fd;

	tree_put(&r, "/a", NULL, 0);
	snprintf(path, sizeof(path), "%s/a", r.dir);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	assert_int_equal(hosts_part_read(fd, path, &read, &e), -ENOENT);
	e = (struct err){0};
	assert_int_equal(hosts_part_write(fd, path, &p, &e), 0);
	assert_int_equal(fstatat(fd, "host.json", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(hosts_part_read(fd, path, &read, &e), 0);
	assert_memory_equal(&read, &p, sizeof(p));
	close(fd);
	inject_every(write_and_list, &r, 2, 2);
	tree_remove(&r);
}
