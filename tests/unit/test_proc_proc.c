/*
 * The files of processes by their paths, in a tree of the test's own: what is read, linked, listed,
 * and what names and texts that no kernel wrote do.
 */
#include "kit.h"
#include "tree.h"

#include "base/buf.h"
#include "proc/call.h"
#include "proc/keys.h"
#include "proc/list.h"
#include "proc/proc.h"
#include "proc/stat.h"
#include "proc/text.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct root tree;

HOOK(before_each)
{
	tree = tree_make();
}

HOOK(after_each)
{
	tree_remove(&tree);
}

TEST(paths)
{
	struct root r = {.dir = "/tree"};
	char path[64], longer[PATH_MAX];

	assert_int_equal(proc_name(PROC(NULL, 12), "stat", path, sizeof(path)), 7);
	assert_string_equal(path, "12/stat");
	(void)proc_name(PROC(NULL, 12, 13), "io", path, sizeof(path));
	assert_string_equal(path, "12/task/13/io");
	(void)proc_name(PROC(NULL, UINT32_MAX), "", path, sizeof(path));
	assert_string_equal(path, "4294967295");
	(void)proc_name(PROC_SELF(NULL), "stat", path, sizeof(path));
	assert_string_equal(path, "self/stat");
	(void)proc_name(PROC_SELF(NULL, .tid = 13), "comm", path, sizeof(path));
	assert_string_equal(path, "self/task/13/comm");
	(void)proc_path(PROC(&r, 12), "ns/net", path, sizeof(path));
	assert_string_equal(path, "/tree/proc/12/ns/net");
	proc_map_file(0x400000, UINT64_MAX, path);
	assert_string_equal(path, "map_files/400000-ffffffffffffffff");
	assert_int_equal(proc_path(PROC(&r, 12), "stat", path, 18), -ENAMETOOLONG);
	assert_int_equal(proc_path(PROC(&r, 12), "stat", path, 19), 18);
	assert_int_equal(proc_name(PROC(&r, 12), "stat", path, 7), -ENAMETOOLONG);
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(proc_open(PROC(&r, 12), longer), -ENAMETOOLONG);
}

TEST(files)
{
	const struct proc *p = PROC(&tree, 12), *none = PROC(&tree, 13);
	char line[8], *stat_text = (char[PROC_STAT_BYTES]){0};
	struct proc_schedstat schedstat;
	struct proc_statm statm;
	struct proc_stat s;
	uint64_t n = 0;
	const struct proc_number start = {PROC_STAT_START_TICKS, &n};
	BUF_AUTO(text, 64);
	struct stat st;
	int fd;

	tree_text(&tree, "/proc/12/comm", "a) b\n(c\n");
	tree_text(&tree, "/proc/12/statm", "5 3 1 0 0 0 0\n");
	tree_text(&tree, "/proc/12/task/13/schedstat", "9 8 7\n");
	tree_text(&tree, "/proc/12/status", "Name:\tx\nPPid:\t7\n");
	tree_text(&tree, "/proc/12/stat",
		  "12 (a) b\n(c) T 7 1 1 0 -1 0 98 1 7 2 0 0 3 4 20 0 1 0 77 5 6\n");
	assert_true(proc_is_there(p));
	assert_false(proc_is_there(none));
	assert_int_equal(proc_load(p, "comm", &text), 0);
	assert_string_equal(buf_str(&text), "a) b\n(c\n");
	assert_int_equal(proc_load(none, "comm", &text), -ENOENT);
	assert_int_equal(proc_load_line(p, "comm", line, sizeof(line)), 0);
	assert_string_equal(line, "a) b");
	assert_int_equal(proc_load_text(p, "comm", line, sizeof(line)), 0);
	assert_string_equal(line, "a) b\n(c");
	assert_int_equal(proc_load_text(p, "comm", line, 7), -EFBIG);
	fd = proc_open(p, "comm");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(proc_find(p, "comm", &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(proc_statm_load(p, &statm), 0);
	assert_int_equal(statm.resident, 3);
	assert_int_equal(proc_statm_load(none, &statm), -ENOENT);
	assert_int_equal(proc_schedstat_load(PROC(&tree, 12, 13), &schedstat), 0);
	assert_int_equal(schedstat.nr_runs, 7);
	assert_int_equal(proc_schedstat_load(p, &schedstat), -ENOENT);
	assert_true(proc_status_number(p, "PPid", &n));
	assert_int_equal(n, 7);
	assert_false(proc_status_number(p, "Tgid", &n));
	assert_false(proc_status_number(none, "PPid", &n));
	assert_int_equal(proc_stat_load(p, stat_text, &s, &start, 1), 0);
	assert_int_equal(s.state, 'T');
	assert_int_equal(s.name_len, strlen("a) b\n(c"));
	assert_memory_equal(s.name, "a) b\n(c", s.name_len);
	assert_int_equal(n, 77);
	assert_int_equal(proc_stat_load(none, stat_text, &s, &start, 1), -ENOENT);
}

TEST(names)
{
	BUF_AUTO(text, 256);

	tree_text(&tree, "/proc/12/comm", "sleep\n");
	tree_text(&tree, "/proc/12/task/13/comm", "a (b\n");
	proc_add_name(PROC(&tree, 12), &text);
	proc_add_name(PROC(&tree, 12, 13), &text);
	proc_add_name(PROC(&tree, 14), &text);
	assert_string_equal(buf_str(&text), "12 (sleep)13 (a (b)14 ()");
}

TEST(links)
{
	char path[PATH_MAX], to[16];

	tree_put(&tree, "/proc/12", NULL, 0);
	(void)proc_path(PROC(&tree, 12), "exe", path, sizeof(path));
	assert_int_equal(symlink("/bin/sleep", path), 0);
	assert_int_equal(proc_read_link(PROC(&tree, 12), "exe", to, sizeof(to)), 10);
	assert_string_equal(to, "/bin/sleep");
	assert_int_equal(proc_read_link(PROC(&tree, 12), "exe", to, 5), 4);
	assert_string_equal(to, "/bin");
	assert_int_equal(proc_read_link(PROC(&tree, 12), "cwd", to, sizeof(to)), -ENOENT);
	assert_true(proc_is_there(PROC(&tree, 12)));
}

struct seen {
	uint32_t id[8];
	size_t nr, max;
};

static int add(uint32_t id, void *arg)
{
	struct seen *s = arg;

	s->id[s->nr++] = id;
	return s->nr == s->max ? 5 : 0;
}

static void expect(const struct seen *s, const uint32_t *ids, size_t nr)
{
	assert_int_equal(s->nr, nr);
	assert_memory_equal(s->id, ids, nr * sizeof(*ids));
}

TEST(lists)
{
	static const char *const odd[] = {"self", "0", "012", "-4", "2147483648", "3x", "+5", "6 "};
	struct seen s = {.max = 9};
	char path[64];

	for (size_t i = 0; i < NR(odd); i++) {
		snprintf(path, sizeof(path), "/proc/%s", odd[i]);
		tree_put(&tree, path, NULL, 0);
	}
	tree_text(&tree, "/proc/12/task/13/children", "14 x 15 0 99999999999 16\n");
	tree_put(&tree, "/proc/12/task/12", NULL, 0);
	tree_put(&tree, "/proc/2147483647", NULL, 0);
	assert_int_equal(proc_each(&tree, add, &s), 0);
	expect(&s, (uint32_t[]){12, INT32_MAX}, 2);
	s.nr = 0;
	assert_int_equal(proc_each_thread(PROC(&tree, 12, 13), add, &s), 0);
	expect(&s, (uint32_t[]){12, 13}, 2);
	s.nr = 0;
	assert_int_equal(proc_each_thread(PROC(&tree, 77), add, &s), -ENOENT);
	assert_int_equal(proc_each_child(PROC(&tree, 12, 13), add, &s), 0);
	expect(&s, (uint32_t[]){14, 15, 16}, 3);
	assert_int_equal(proc_each_child(PROC(&tree, 12, 12), add, &s), -ENOENT);
	s = (struct seen){.max = 2};
	assert_int_equal(proc_each_child(PROC(&tree, 12, 13), add, &s), 5);
	expect(&s, (uint32_t[]){14, 15}, 2);
	s = (struct seen){.max = 1};
	assert_int_equal(proc_each(&tree, add, &s), 5);
}

static const struct {
	const char *what, *line;
	struct proc_call call;
	int rc;
} calls[] = {
    {"a call",
     "202 0x7f 0x80 0x3 0x4 0x5 0x6 0x7ffe 0x7f01",
     {.number = 202, .argument = {0x7f, 0x80, 3, 4, 5, 6}, .sp = 0x7ffe, .pc = 0x7f01}},
    {"none", "-1 0x7ffe 0x7f01", {.number = -1, .sp = 0x7ffe, .pc = 0x7f01}},
    {"it runs", "running", {.is_running = true}},
    {"the most",
     "2147483647 0x0 0x0 0x0 0x0 0x0 0x0 0xffffffffffffffff 0x0",
     {.number = INT32_MAX, .sp = UINT64_MAX}},
    {"empty", "", .rc = -EINVAL},
    {"a sign alone", "-", .rc = -EINVAL},
    {"a number alone", "202", .rc = -EINVAL},
    {"no program counter", "202 0x7f 0x80 0x3 0x4 0x5 0x6 0x7ffe", .rc = -EINVAL},
    {"too many", "202 0x7f 0x80 0x3 0x4 0x5 0x6 0x7ffe 0x1 0x2", .rc = -EINVAL},
    {"no prefix", "-1 7ffe 0x7f01", .rc = -EINVAL},
    {"nothing behind a prefix", "-1 0x 0x7f01", .rc = -EINVAL},
    {"beyond 64 bits", "-1 0x10000000000000000 0x7f01", .rc = -EINVAL},
    {"no such call", "2147483648 0x7f 0x80 0x3 0x4 0x5 0x6 0x7ffe 0x1", .rc = -EINVAL},
    {"it runs, and more", "running 1", .rc = -EINVAL},
};

TEST(calls)
{
	for (size_t i = 0; i < NR(calls); i++) {
		struct proc_call c = {.number = 99};

		print_message("%s\n", calls[i].what);
		tree_text(&tree, "/proc/12/task/13/syscall", calls[i].line);
		assert_int_equal(proc_call_load(PROC(&tree, 12, 13), &c), calls[i].rc);
		if (calls[i].rc) {
			assert_int_equal(c.number, 99);
			continue;
		}
		assert_int_equal(c.is_running, calls[i].call.is_running);
		assert_int_equal(c.number, calls[i].call.number);
		assert_memory_equal(c.argument, calls[i].call.argument, sizeof(c.argument));
		assert_int_equal(c.sp, calls[i].call.sp);
		assert_int_equal(c.pc, calls[i].call.pc);
	}
}

/* A name of any bytes that a user may give a program, and a stat that is truncated in it. */
TEST(hostile_stat)
{
	static const char *const texts[] = {"",       "12",      "12 (",    "12 (a",
					    "12 (a)", "12 (a) ", "12 (a) )"};
	char text[PROC_STAT_BYTES];
	uint64_t n;
	const struct proc_number parent = {PROC_STAT_PARENT, &n};
	struct proc_stat s;

	for (size_t i = 0; i < NR(texts); i++) {
		tree_text(&tree, "/proc/12/stat", texts[i]);
		assert_int_equal(proc_stat_load(PROC(&tree, 12), text, &s, &parent, 1), -EINVAL);
	}
	tree_text(&tree, "/proc/12/stat", "12 ()\n(\x01\xff) S 1) R 9 0");
	assert_int_equal(proc_stat_load(PROC(&tree, 12), text, &s, &parent, 1), 0);
	assert_int_equal(s.state, 'R');
	assert_int_equal(n, 9);
}
