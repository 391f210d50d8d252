/*
 * The path root: files of a tree that stands for /, lines, numbers, folders in byte order.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/io.h"

TEST(init)
{
	char dir[257];
	struct root r;

	memset(dir, 'd', sizeof(dir));
	dir[256] = '\0';
	assert_int_equal(root_init(&r, dir), -ENAMETOOLONG);
	dir[255] = '\0';
	assert_int_equal(root_init(&r, dir), 0);
	assert_string_equal(r.dir, dir);
	assert_string_equal(root_live.dir, "");
}

/* size: of the caller's line. */
static const struct {
	int (*load)(const struct root *r, const char *path, char *line, size_t size);
	const char *text;
	size_t size;
	int rc;
	const char *line;
} lines[] = {
    {root_load_line, "abc\n", 4, 0, "abc"},       {root_load_line, "abc", 4, 0, "abc"},
    {root_load_line, "abc\ndef\n", 4, 0, "abc"},  {root_load_line, "", 4, 0, ""},
    {root_load_line, "\nabc", 4, 0, ""},          {root_load_line, "abcd\n", 4, -EFBIG, NULL},
    {root_load_line, "abcd", 4, -EFBIG, NULL},    {root_load_text, "a\nb\n", 4, 0, "a\nb"},
    {root_load_text, "a\nb", 4, 0, "a\nb"},       {root_load_text, "\n", 4, 0, ""},
    {root_load_text, "a\n\n", 4, 0, "a\n"},       {root_load_text, "", 4, 0, ""},
    {root_load_text, "a\nbc\n", 4, -EFBIG, NULL}, {root_load_text, "a\nbc\n", 5, 0, "a\nbc"},
};

TEST(lines)
{
	struct root r = tree_make();
	char line[8];

	for (size_t i = 0; i < NR(lines); i++) {
		strcpy(line, "was");
		tree_put(&r, "/proc/x", lines[i].text, strlen(lines[i].text));
		assert_int_equal(lines[i].load(&r, "/proc/x", line, lines[i].size), lines[i].rc);
		assert_string_equal(line, lines[i].rc ? "was" : lines[i].line);
	}
	tree_put(&r, "/proc/x", "ab\0cd\n", 6);
	assert_int_equal(root_load_line(&r, "/proc/x", line, sizeof(line)), 0);
	assert_string_equal(line, "ab");
	assert_int_equal(root_load_text(&r, "/proc/x", line, sizeof(line)), 0);
	assert_string_equal(line, "ab");
	assert_int_equal(root_load_line(&r, "/proc", line, sizeof(line)), -EISDIR);
	assert_int_equal(root_load_line(&r, "/sys", line, sizeof(line)), -ENOENT);
	assert_string_equal(line, "ab");
	tree_remove(&r);
}

/* A first line longer than what is read at once, in a line that could hold it and one that not. */
TEST(endless_line)
{
	static char text[100000], line[sizeof(text)];
	struct root r = tree_make();

	memset(text, 'x', sizeof(text));
	tree_put(&r, "/x", text, sizeof(text));
	assert_int_equal(root_load_line(&r, "/x", line, 4096), -EFBIG);
	assert_int_equal(root_load_line(&r, "/x", line, sizeof(line)), -EFBIG);
	assert_int_equal(root_load_text(&r, "/x", line, sizeof(line)), -EFBIG);
	tree_remove(&r);
}

TEST(numbers)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t v;
	} rows[] = {
	    {"4\n", 0, 4},
	    {"18446744073709551615\n", 0, UINT64_MAX},
	    {"18446744073709551616\n", -ERANGE, 0},
	    {"", -EINVAL, 0},
	    {"\n", -EINVAL, 0},
	    {"4 5\n", -EINVAL, 0},
	    {"-1\n", -EINVAL, 0},
	    {"00000000000000000000000000000000001\n", -EFBIG, 0},
	    {"\xff\xfe\n", -EINVAL, 0},
	};
	struct root r = tree_make();

	for (size_t i = 0; i < NR(rows); i++) {
		uint64_t v = 77;

		tree_put(&r, "/n", rows[i].text, strlen(rows[i].text));
		assert_int_equal(root_load_u64(&r, "/n", &v), rows[i].rc);
		assert_int_equal(v, rows[i].rc ? 77 : rows[i].v);
	}
	tree_remove(&r);
}

/* Joins the names; stops at "stop". */
static int join(const char *name, void *arg)
{
	buf_printf(arg, "%s ", name);
	return strcmp(name, "stop") == 0 ? 42 : 0;
}

TEST(each)
{
	struct root r = tree_make();
	struct buf names;

	buf_init(&names, 1000);
	tree_put(&r, "/d/b", "", 0);
	tree_put(&r, "/d/B", NULL, 0);
	tree_put(&r, "/d/.hidden", "", 0);
	tree_put(&r, "/d/a_10", "", 0);
	tree_put(&r, "/d/a_9", "", 0);
	assert_int_equal(root_each(&r, "/d", join, &names), 0);
	assert_string_equal(buf_str(&names), ".hidden B a_10 a_9 b ");
	tree_put(&r, "/d/stop", "", 0);
	tree_put(&r, "/d/z", "", 0);
	buf_reset(&names);
	assert_int_equal(root_each(&r, "/d", join, &names), 42);
	assert_string_equal(buf_str(&names), ".hidden B a_10 a_9 b stop ");
	buf_reset(&names);
	assert_int_equal(root_each(&r, "/no", join, &names), -ENOENT);
	assert_int_equal(root_each(&r, "/d/b", join, &names), -ENOTDIR);
	assert_int_equal(root_each(&r, "/d/B", join, &names), 0);
	assert_string_equal(buf_str(&names), "");
	buf_fini(&names);
	tree_remove(&r);
}

TEST(path_too_long)
{
	static char path[5000];
	struct buf b;
	char line[8];

	memset(path, '/', sizeof(path) - 1);
	buf_init(&b, 100);
	assert_int_equal(root_open(&root_live, path), -ENAMETOOLONG);
	assert_int_equal(root_load(&root_live, path, &b), -ENAMETOOLONG);
	assert_int_equal(root_load_line(&root_live, path, line, sizeof(line)), -ENAMETOOLONG);
	assert_int_equal(root_each(&root_live, path, join, &b), -ENAMETOOLONG);
	buf_fini(&b);
}

TEST(live)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	assert_int_equal(root_load(&root_live, "/proc/self/stat", &b), 0);
	assert_int_equal(strtol(buf_str(&b), NULL, 10), getpid());
	buf_fini(&b);
}

static int load_all(void *arg)
{
	const struct root *r = arg;
	struct buf b;
	uint64_t v;
	int rc;

	buf_init(&b, 100000);
	rc = root_load(r, "/f", &b);
	buf_fini(&b);
	return rc ? rc : root_load_u64(r, "/n", &v);
}

TEST(failures)
{
	static char data[20000];
	struct root r = tree_make();

	tree_put(&r, "/f", data, sizeof(data));
	tree_put(&r, "/n", "5\n", 2);
	inject_every(load_all, &r, 3, 8);
	tree_remove(&r);
}
