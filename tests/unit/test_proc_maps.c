/*
 * The parsers of /proc/PID/maps and /proc/PID/stat: lines of several kernels and machines, and
 * text that no kernel wrote. Each is parsed at the very end of an allocation: ASan sees a byte too
 * far.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/str.h"
#include "proc/maps.h"
#include "proc/stat.h"

/* text: what the fields are, "start end prot shared offset major:minor inode name". */
static const struct {
	const char *what, *line, *text;
} maps[] = {
    {"a file",
     "562685c01000-562685c06000 r-xp 00002000 fe:00 247134                     /usr/bin/cat",
     "562685c01000 562685c06000 5 0 2000 fe:0 247134 /usr/bin/cat"},
    {"32 bits", "08048000-0804c000 rwxs 00001000 103:02 1       /bin/x",
     "8048000 804c000 7 1 1000 103:2 1 /bin/x"},
    {"anonymous", "7f00-7f10 rwxp 00000000 00:00 0 ", "7f00 7f10 7 0 0 0:0 0 "},
    {"without a space", "7f00-7f10 ---p 00000000 00:00 0", "7f00 7f10 0 0 0 0:0 0 "},
    {"vsyscall",
     "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
     "ffffffffff600000 ffffffffff601000 4 0 0 0:0 0 [vsyscall]"},
    {"the most",
     "0-ffffffffffffffff r--p ffffffffffffffff ffffffff:ffffffff 18446744073709551615 x",
     "0 ffffffffffffffff 1 0 ffffffffffffffff ffffffff:ffffffff 18446744073709551615 x"},
    {"spaces in a name", "1-2 -w-p 0 0:0 7 /a b  c (deleted)", "1 2 2 0 0 0:0 7 /a b  c (deleted)"},
    {"bytes in a name", "1-2 --xp 0 0:0 7 /\\012\t\x01\xff\\",
     "1 2 4 0 0 0:0 7 /\\012\t\x01\xff\\"},
    {"a named anonymous one", "1-2 --xp 0 00:00 0 [anon:a b]", "1 2 4 0 0 0:0 0 [anon:a b]"},
    {"empty", "", NULL},
    {"no start", "-2 r-xp 0 0:0 7 /a", NULL},
    {"no end", "1- r-xp 0 0:0 7 /a", NULL},
    {"no dash", "1 2 r-xp 0 0:0 7 /a", NULL},
    {"an end before the start", "2-1 r-xp 0 0:0 7 /a", NULL},
    {"nothing mapped", "1-1 r-xp 0 0:0 7 /a", NULL},
    {"a start beyond 64 bits", "10000000000000000-2 r-xp 0 0:0 7 /a", NULL},
    {"capitals", "A-F r-xp 0 0:0 7 /a", NULL},
    {"a letter behind f", "1-g r-xp 0 0:0 7 /a", NULL},
    {"a prefix", "0x1-0x2 r-xp 0 0:0 7 /a", NULL},
    {"a sign", "+1-2 r-xp 0 0:0 7 /a", NULL},
    {"a space before", " 1-2 r-xp 0 0:0 7 /a", NULL},
    {"two spaces", "1-2  r-xp 0 0:0 7 /a", NULL},
    {"a tab", "1-2\tr-xp 0 0:0 7 /a", NULL},
    {"unknown permissions", "1-2 r-Xp 0 0:0 7 /a", NULL},
    {"in another order", "1-2 xwrp 0 0:0 7 /a", NULL},
    {"neither shared nor private", "1-2 r-x- 0 0:0 7 /a", NULL},
    {"permissions too short", "1-2 r-x 0 0:0 7 /a", NULL},
    {"permissions too long", "1-2 r-xps 0 0:0 7 /a", NULL},
    {"no offset", "1-2 r-xp  0:0 7 /a", NULL},
    {"no device", "1-2 r-xp 0 7 /a", NULL},
    {"no minor number", "1-2 r-xp 0 0: 7 /a", NULL},
    {"a major beyond 32 bits", "1-2 r-xp 0 100000000:0 7 /a", NULL},
    {"a minor beyond 32 bits", "1-2 r-xp 0 0:100000000 7 /a", NULL},
    {"no inode", "1-2 r-xp 0 0:0", NULL},
    {"an inode that is none", "1-2 r-xp 0 0:0 x /a", NULL},
    {"an inode beyond 64 bits", "1-2 r-xp 0 0:0 18446744073709551616 /a", NULL},
    {"an inode that goes on", "1-2 r-xp 0 0:0 7/a", NULL},
};

/* A copy that ends where its memory ends. */
static char *copy_exact(const char *text, size_t len)
{
	char *p = malloc(len ? len : 1);

	return memcpy(p, text, len);
}

TEST(maps)
{
	for (size_t i = 0; i < NR(maps); i++) {
		struct proc_mapping m = {.inode = 99};
		size_t len = strlen(maps[i].line);
		char *line = copy_exact(maps[i].line, len);
		struct buf got;

		print_message("%s\n", maps[i].what);
		assert_int_equal(proc_maps_parse(line, len, &m), maps[i].text ? 0 : -EINVAL);
		buf_init(&got, 1000);
		buf_printf(&got, "%llx %llx %x %x %llx %x:%x %llu ", (unsigned long long)m.start,
			   (unsigned long long)m.end, m.prot, m.is_shared,
			   (unsigned long long)m.offset, m.major, m.minor,
			   (unsigned long long)m.inode);
		buf_add(&got, m.name, m.name_len);
		assert_string_equal(buf_str(&got),
				    maps[i].text ? maps[i].text : "0 0 0 0 0 0:0 99 ");
		buf_fini(&got);
		free(line);
	}
}

/* Cut at every byte: only what has an inode is a line. */
TEST(maps_cut)
{
	static const char line[] =
	    "562685c01000-562685c06000 r-xp 00002000 fe:00 247134  /usr/bin/cat";
	size_t inode = (size_t)(strstr(line, "247134") - line);

	for (size_t len = 0; len < sizeof(line); len++) {
		char *cut = copy_exact(line, len);
		struct proc_mapping m;

		assert_int_equal(proc_maps_parse(cut, len, &m), len > inode ? 0 : -EINVAL);
		free(cut);
	}
}

/* A NUL does not end a line. */
TEST(maps_nul)
{
	static const char line[] = "1-2 r-xp 0 0:0 7 /a\0b";
	struct proc_mapping m;

	assert_int_equal(proc_maps_parse(line, sizeof(line) - 1, &m), 0);
	assert_int_equal(m.name_len, 4);
	assert_int_equal(proc_maps_parse("1-2\0r-xp 0 0:0 7 /a", 19, &m), -EINVAL);
}

/* Captured: every line is understood, and what is executable is what grep finds. */
TEST(captured)
{
	struct root r = tree_captured("tasks");
	unsigned nr = 0, nr_exec = 0;
	struct proc_mapping m;
	const char *p;
	struct buf b;

	buf_init(&b, 1 << 20);
	assert_int_equal(root_load(&r, "/proc/812/maps", &b), 0);
	for (p = b.data; proc_maps_next(&p, b.data + b.len, &m); nr++)
		nr_exec += (m.prot & PROC_MAPS_EXEC) != 0;
	assert_int_equal(nr, 33);
	assert_int_equal(nr_exec, 10);
	buf_fini(&b);
}

/* Lines that are none are skipped, also the last, which is truncated. */
TEST(maps_next)
{
	static const char text[] = "junk\n1-2 r-xp 0 0:0 7 /a\n\n3-4 r-xp 0 0:0 7 /b\n5-6 r-";
	const char *p = text, *end = text + strlen(text);
	struct proc_mapping m;

	assert_true(proc_maps_next(&p, end, &m));
	assert_int_equal(m.start, 1);
	assert_memory_equal(m.name, "/a", m.name_len);
	assert_true(proc_maps_next(&p, end, &m));
	assert_int_equal(m.start, 3);
	assert_false(proc_maps_next(&p, end, &m));
	assert_false(proc_maps_next(&p, end, &m));
}

#define REST " 0 0 0 -1 4194304 98 0 0 0 0 0 0 0 20 0 "

static const struct {
	const char *what, *text;
	int rc;
	const char *name;
	uint64_t parent, nr_threads, memory_bytes;
} tasks[] = {
    {"today's", "9817 (cat) R 9803" REST "1 0 1158526 3133440 382 18446744073709551615 0\n", 0,
     "cat", 9803, 1, 3133440},
    {"of the kernel", "4 (kworker/R-rcu_gp) I 2" REST "1 0 24 0 0\n", 0, "kworker/R-rcu_gp", 2, 1,
     0},
    {"brackets", "5 (a) R 1 (b) S 7" REST "3 0 0 9 0", 0, "a) R 1 (b", 7, 3, 9},
    {"no name", "5 () S 7" REST "3 0 0 9", 0, "", 7, 3, 9},
    {"a newline", "5 (a\n) S 7" REST "3 0 0 9 0\n", 0, "a\n", 7, 3, 9},
    {"the most", "5 (a) S 18446744073709551615" REST "1 0 0 18446744073709551615 ", 0, "a",
     UINT64_MAX, 1, UINT64_MAX},
    {"empty", "", -EINVAL},
    {"no brackets", "5 a S 7" REST "3 0 0 9 0", -EINVAL},
    {"brackets the wrong way", "5 )a( S 7" REST "3 0 0 9 0", -EINVAL},
    {"brackets far apart", "5 ) S 7" REST "3 0 0 9 0 (", -EINVAL},
    {"no space", "5 (a)S 7" REST "3 0 0 9 0", -EINVAL},
    {"too few", "5 (a) S 7" REST "3 0 0", -EINVAL},
    {"no parent", "5 (a) S x" REST "3 0 0 9 0", -EINVAL},
    {"a parent below 0", "5 (a) S -7" REST "3 0 0 9 0", -EINVAL},
    {"a parent that goes on", "5 (a) S 7x" REST "3 0 0 9 0", -EINVAL},
    {"a parent beyond 64 bits", "5 (a) S 18446744073709551616" REST "3 0 0 9 0", -ERANGE},
    {"no threads", "5 (a) S 7" REST " 0 0 9 0", -EINVAL},
};

TEST(tasks)
{
	for (size_t i = 0; i < NR(tasks); i++) {
		uint64_t parent = 0, nr_threads = 0, memory_bytes = 0;
		const struct proc_number numbers[] = {{PROC_STAT_PARENT, &parent},
						      {PROC_STAT_NR_THREADS, &nr_threads},
						      {PROC_STAT_MEMORY_BYTES, &memory_bytes}};
		struct proc_stat t = {.state = 'a'};
		size_t len = strlen(tasks[i].text);
		char *text = copy_exact(tasks[i].text, len);
		int rc = proc_stat_parse(text, len, &t, numbers, NR(numbers));

		print_message("%s\n", tasks[i].what);
		assert_int_equal(rc < 0, tasks[i].rc < 0);
		assert_int_equal(t.state == 'a', rc != 0);
		if (rc == 0) {
			assert_int_equal(t.name_len, strlen(tasks[i].name));
			assert_memory_equal(t.name, tasks[i].name, t.name_len);
			assert_int_equal(t.state, text[t.name - text + t.name_len + 2]);
			assert_int_equal(parent, tasks[i].parent);
			assert_int_equal(nr_threads, tasks[i].nr_threads);
			assert_int_equal(memory_bytes, tasks[i].memory_bytes);
		}
		free(text);
	}
}
