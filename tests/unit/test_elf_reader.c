/*
 * What the reader of others' files gives, and what it refuses: files that change, that are made of
 * holes, that do not answer, that end their reader, that take more than their part.
 */
#include "kit.h"
#include "test_symbols.h"

#include "base/root.h"
#include "elf/memory.h"
#include "elf/reader.h"

#include <lzma.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { SECOND_NS = 1000000000 };
static const uint64_t tebibyte = UINT64_C(1) << 40;

struct fixture {
	struct test_world *w;
	struct elf_reader *reader;
	char path[4096];
};

static void setup(struct fixture *t, const struct elf_reader_config *config)
{
	struct elf_reader_config c = config ? *config : (struct elf_reader_config){0};

	t->w = &world;
	c.problem = test_problem;
	c.arg = t->w;
	assert_int_equal(elf_reader_new(&c, &t->reader), 0);
}

static void teardown(struct fixture *t)
{
	sys_set_ops(NULL);
	elf_reader_free(t->reader);
	for (int i = 0; i < 1000 && waitpid(-1, NULL, WNOHANG) >= 0; i++)
		usleep(10000); /* those that were killed */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static struct elf_reader_file file_named(struct fixture *t, const char *name)
{
	snprintf(t->path, sizeof(t->path), "%s/%s", t->w->tree.dir, name);
	return (struct elf_reader_file){.path = t->path};
}

static void put(struct fixture *t, const char *name, const char *text, uint64_t size)
{
	struct elf_reader_file f = file_named(t, name);
	int fd = open(f.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(ftruncate(fd, (off_t)(size ? size : strlen(text))), 0);
	close(fd);
}

HOOK(before_each)
{
	test_world_setup();
}

HOOK(after_each)
{
	test_world_teardown();
}

TEST(read)
{
	static const char text[] = "what stands in the file";
	struct elf_reader_file f;
	char got[sizeof(text)] = "";
	struct fixture t;
	uint32_t crc;

	setup(&t, NULL);
	put(&t, "a", text, 0);
	f = file_named(&t, "a");
	assert_int_equal(elf_reader_look(t.reader, &f), 0);
	assert_int_equal(f.st.st_size, sizeof(text) - 1);
	assert_int_equal(elf_reader_read(t.reader, &f, 5, 6, got), 0);
	assert_string_equal(got, "stands");
	assert_int_equal(elf_reader_read(t.reader, &f, 0, 0, NULL), 0);
	assert_int_equal(elf_reader_crc32(t.reader, &f, &crc), 0);
	assert_int_equal(crc, lzma_crc32((const uint8_t *)text, sizeof(text) - 1, 0));
	assert_int_equal(elf_reader_read(t.reader, &f, 5, sizeof(text) - 5, got), -ESTALE);
	assert_int_equal(elf_reader_read(t.reader, &f, UINT64_MAX, 2, got), -ESTALE);
	teardown(&t);
}

/* More than any buffer on the way. */
TEST(read_much)
{
	enum { LEN = 9 << 20 };
	struct elf_reader_file f;
	uint8_t *want = malloc(LEN), *got = malloc(LEN);
	uint64_t seed = 3;
	struct fixture t;
	uint32_t crc;
	FILE *out;

	setup(&t, NULL);
	assert_true(want && got);
	for (size_t i = 0; i < LEN; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		want[i] = (uint8_t)(seed >> 33);
	}
	f = file_named(&t, "much");
	out = fopen(f.path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(want, 1, LEN, out), LEN);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(elf_reader_read(t.reader, &f, 1, LEN - 1, got), 0);
	assert_memory_equal(got, want + 1, LEN - 1);
	assert_int_equal(elf_reader_crc32(t.reader, &f, &crc), 0);
	assert_int_equal(crc, lzma_crc32(want, LEN, 0));
	free(want);
	free(got);
	teardown(&t);
}

/* The credit for a file's size does not make the time endless. */
TEST(crc_takes_too_long)
{
	struct elf_reader_file f;
	struct fixture t;
	uint32_t crc;
	uint8_t *data = malloc(64 << 20);
	FILE *out;

	assert_non_null(data);
	setup(&t, &(struct elf_reader_config){.max_ns = 1000000});
	f = file_named(&t, "long");
	memset(data, 7, 64 << 20);
	out = fopen(f.path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(data, 64 << 20, 1, out), 1);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(elf_reader_crc32(t.reader, &f, &crc), -ETIMEDOUT);
	free(data);
	teardown(&t);
}

static uint64_t memory_of(const char *cgroup, const char *file, const char *limit)
{
	struct root r = tree_make();
	uint64_t bytes;

	tree_text(&r, "/proc/self/cgroup", cgroup);
	if (file)
		tree_text(&r, file, limit);
	bytes = elf_memory_bytes(&r);
	tree_remove(&r);
	return bytes;
}

/* The least of the groups and of RLIMIT_AS; what says nothing is no limit. */
TEST(memory)
{
	uint64_t all = memory_of("", NULL, NULL);
	struct root r = tree_make();

	assert_true(all > 64 << 20);
	assert_int_equal(memory_of("0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max", "1048576\n"),
			 1048576);
	assert_int_equal(memory_of("0::/a/b\n", "/sys/fs/cgroup/a/memory.max", "1048577\n"),
			 1048577);
	assert_int_equal(memory_of("0::/\n", "/sys/fs/cgroup/memory.max", "1048578\n"), 1048578);
	assert_int_equal(memory_of("0::/a\n", "/sys/fs/cgroup/a/memory.max", "max\n"), all);
	assert_int_equal(memory_of("3:cpu:/x\n4:pids,memory:/c\n",
				   "/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1048579\n"),
			 1048579);
	tree_text(&r, "/proc/self/cgroup", "0::/a/b\n");
	for (int i = 0; i < 2; i++) {
		tree_text(&r, "/sys/fs/cgroup/a/memory.max", i ? "1048576\n" : "2097152\n");
		tree_text(&r, "/sys/fs/cgroup/a/b/memory.max", i ? "2097152\n" : "1048576\n");
		assert_int_equal(elf_memory_bytes(&r), 1048576);
	}
	tree_remove(&r);
	assert_int_equal(memory_of("senseless\n:\n0::\n", NULL, NULL), all);
#ifndef __SANITIZE_ADDRESS__ /* which needs more address space than any limit leaves */
	struct rlimit space, few;

	assert_int_equal(getrlimit(RLIMIT_AS, &space), 0);
	few = (struct rlimit){.rlim_cur = 50 << 20, .rlim_max = space.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_AS, &few), 0);
	assert_true(elf_memory_bytes(&root_live) <= 50 << 20);
	setrlimit(RLIMIT_AS, &space);
#endif
}

TEST(refused)
{
	static const struct {
		const char *name;
		bool refuses_links;
		int rc;
	} cases[] = {
	    {"nothing", false, -ENOENT}, {"folder", false, -EINVAL}, {"pipe", false, -EINVAL},
	    {"link", false, 0},          {"link", true, -ELOOP},     {"device", false, -EINVAL},
	};
	struct fixture t;

	setup(&t, NULL);
	put(&t, "a", "text", 0);
	assert_true(test_shell(
	    t.w, "mkdir folder && mkfifo pipe && ln -s a link && ln -s /dev/zero device"));
	for (size_t i = 0; i < NR(cases); i++) {
		struct elf_reader_file f = file_named(&t, cases[i].name);

		f.refuses_links = cases[i].refuses_links;
		assert_int_equal(elf_reader_look(t.reader, &f), cases[i].rc);
	}
	teardown(&t);
}

TEST(changed)
{
	struct elf_reader_file f;
	struct fixture t;
	uint32_t crc;
	char got[8];

	setup(&t, NULL);
	put(&t, "a", "what was", 0);
	f = file_named(&t, "a");
	assert_int_equal(elf_reader_look(t.reader, &f), 0);
	put(&t, "a", "what is now", 0);
	assert_int_equal(elf_reader_look(t.reader, &f), -ESTALE);
	assert_int_equal(elf_reader_read(t.reader, &f, 0, 8, got), -ESTALE);
	assert_int_equal(elf_reader_crc32(t.reader, &f, &crc), -ESTALE);
	teardown(&t);
}

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* As many other bytes. They may also have the time of the first: then ctime differs. */
TEST(rewritten)
{
	for (int sets_time = 0; sets_time < 2; sets_time++) {
		struct elf_reader_file f;
		struct timespec times[2];
		struct stat st, *known = &f.st;
		struct fixture t;
		char got[8];

		setup(&t, NULL);
		put(&t, "a", "what was", 0);
		f = file_named(&t, "a");
		assert_int_equal(elf_reader_look(t.reader, &f), 0);
		times[0] = times[1] = known->st_mtim;
		do { /* a file's clock ticks slowly */
			put(&t, "a", "what is.", 0);
			if (sets_time)
				assert_int_equal(utimensat(AT_FDCWD, t.path, times, 0), 0);
			assert_int_equal(stat(t.path, &st), 0);
		} while (is_same_time(st.st_ctim, known->st_ctim));
		assert_int_equal(is_same_time(st.st_mtim, known->st_mtim), sets_time);
		assert_int_equal(elf_reader_read(t.reader, &f, 0, 8, got), -ESTALE);
		teardown(&t);
	}
}

/* A file that may grow: not one that took its place, and not one that was truncated. */
TEST(grows)
{
	struct elf_reader_file f;
	struct fixture t;
	char got[8];

	setup(&t, NULL);
	put(&t, "a", "what was", 0);
	f = file_named(&t, "a");
	f.may_grow = true;
	assert_int_equal(elf_reader_look(t.reader, &f), 0);
	put(&t, "a", "what was, and is", 0);
	assert_int_equal(elf_reader_read(t.reader, &f, 0, 8, got), 0);
	assert_memory_equal(got, "what was", 8);
	put(&t, "a", "what", 0);
	assert_int_equal(elf_reader_look(t.reader, &f), -ESTALE);
	put(&t, "b", "what was, and is", 0);
	assert_true(test_shell(t.w, "mv b a"));
	f.path = file_named(&t, "a").path;
	assert_int_equal(elf_reader_look(t.reader, &f), -ESTALE);
	teardown(&t);
}

/* A look that brings the first bytes along; none where reading them would fail. */
TEST(start)
{
	static const struct {
		const char *what, *text;
		uint64_t size, len, got;
	} cases[] = {
	    {"none are wanted", "text", 0, 0, 0},
	    {"fewer than there are", "what stands there", 0, 4, 4},
	    {"as many", "text", 0, 4, 4},
	    {"more", "text", 0, 100, 4},
	    {"of an empty file", "", 0, 100, 0},
	    {"mostly a hole", "text", 2 << 20, 2 << 20, 0},
	    {"over the budget", "what stands there", 0, 12, 0},
	};
	char *got = malloc(2 << 20);
	struct elf_reader_file f;
	struct fixture t;

	assert_non_null(got);
	setup(&t, &(struct elf_reader_config){.max_bytes = 44});
	for (size_t i = 0; i < NR(cases); i++) {
		uint64_t nr = UINT64_MAX;

		put(&t, "start", cases[i].text, cases[i].size);
		f = file_named(&t, "start");
		assert_int_equal(elf_reader_look_at(t.reader, &f, got, cases[i].len, &nr), 0);
		if (nr != cases[i].got || memcmp(got, cases[i].text, nr) != 0)
			fail_msg("%s: %llu bytes", cases[i].what, (unsigned long long)nr);
		assert_true(f.is_known);
		assert_int_equal(f.st.st_size,
				 cases[i].size ? cases[i].size : strlen(cases[i].text));
	}
	free(got);
	teardown(&t);
}

/* A tebibyte that costs its owner a block. */
TEST(holes)
{
	struct elf_reader_file f;
	struct fixture t;
	uint32_t crc;
	char *got = malloc(2 << 20);

	setup(&t, NULL);
	assert_non_null(got);
	put(&t, "holes", "text", tebibyte);
	f = file_named(&t, "holes");
	assert_int_equal(elf_reader_read(t.reader, &f, 0, 2 << 20, got), -EFBIG);
	assert_int_equal(elf_reader_crc32(t.reader, &f, &crc), -EFBIG);
	/* a small one is what compilers and copies may leave */
	assert_int_equal(elf_reader_read(t.reader, &f, 0, 1 << 20, got), 0);
	assert_string_equal(got, "text");
	/* nor does a larger one among as many bytes */
	memset(got, 'x', 2 << 20);
	got[(2 << 20) - 1] = '\0';
	put(&t, "half", got, 3 << 20);
	f = file_named(&t, "half");
	assert_int_equal(elf_reader_crc32(t.reader, &f, &crc), 0);
	free(got);
	teardown(&t);
}

/* What the child does at a file's name. */

static int odd_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	if (strstr(path, "never"))
		for (;;)
			pause();
	if (strstr(path, "deadly"))
		_exit(1);
	return sys_kernel_ops.openat(dirfd, path, flags, mode);
}

static ssize_t short_pread(int fd, void *buf, size_t len, off_t at)
{
	ssize_t n = sys_kernel_ops.pread(fd, buf, len, at);

	return n > 2 ? 2 : at ? 0 : n;
}

TEST(odd)
{
	static const char *const names[] = {"never", "never again"};
	struct sys_ops ops = sys_kernel_ops;
	struct elf_reader_file f;
	struct fixture t;

	ops.openat = odd_openat;
	sys_set_ops(&ops);
	/* long enough for the others, however busy the machine is */
	setup(&t, &(struct elf_reader_config){.max_ns = UINT64_C(4) * SECOND_NS});
	put(&t, "deadly", "text", 0);
	put(&t, "good", "text", 0);
	for (size_t i = 0; i < NR(names); i++) {
		put(&t, names[i], "text", 0);
		f = file_named(&t, names[i]);
		assert_int_equal(elf_reader_look(t.reader, &f), -ETIMEDOUT);
		/* its time is used up: nobody waits again */
		assert_int_equal(elf_reader_look(t.reader, &f), -ETIMEDOUT);
		f = file_named(&t, "deadly");
		assert_int_equal(elf_reader_look(t.reader, &f), -EPIPE);
		f = file_named(&t, "good");
		assert_int_equal(elf_reader_look(t.reader, &f), 0);
	}
	teardown(&t);
}

/* Cut off after it was measured: its bytes are not there any more. */
TEST(cut)
{
	struct sys_ops ops = sys_kernel_ops;
	struct elf_reader_file f;
	struct fixture t;
	char got[8];

	ops.pread = short_pread;
	sys_set_ops(&ops);
	setup(&t, NULL);
	put(&t, "a", "what was", 0);
	f = file_named(&t, "a");
	assert_int_equal(elf_reader_read(t.reader, &f, 0, 8, got), -ESTALE);
	/* what was not understood is not in the way of the next answer */
	assert_int_equal(elf_reader_look(t.reader, &f), 0);
	teardown(&t);
}

TEST(parts)
{
	struct elf_reader_file a, b;
	struct fixture t;
	char got[8];

	setup(&t,
	      &(struct elf_reader_config){.max_bytes = 1024, .max_ns = UINT64_C(64) * SECOND_NS});
	put(&t, "a", "what was", 0);
	a = b = file_named(&t, "a");
	assert_false(elf_reader_pay(t.reader, &a, 257));
	assert_true(elf_reader_pay(t.reader, &a, 200));
	assert_int_equal(elf_reader_bytes_left(t.reader, &a), 56);
	assert_true(elf_reader_pay(t.reader, &a, 56));
	assert_false(elf_reader_pay(t.reader, &a, 1));
	/* the next has a quarter of what is left */
	assert_int_equal(elf_reader_bytes_left(t.reader, &b), 192);
	assert_int_equal(elf_reader_read(t.reader, &a, 0, 8, got), -ENOMEM);
	assert_int_equal(elf_reader_read(t.reader, &b, 0, 8, got), 0);
	assert_true(elf_reader_spend(t.reader, &a, UINT64_C(15) * SECOND_NS));
	assert_false(elf_reader_spend(t.reader, &a, UINT64_C(2) * SECOND_NS));
	assert_int_equal(elf_reader_look(t.reader, &a), -ETIMEDOUT);
	assert_int_equal(elf_reader_look(t.reader, &b), 0);
	assert_true(elf_reader_spend(t.reader, &b, UINT64_C(11) * SECOND_NS));
	assert_false(elf_reader_spend(t.reader, &b, UINT64_C(2) * SECOND_NS));
	teardown(&t);
}

static bool has_ctime(const char *path, struct timespec time)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return is_same_time(st.st_ctim, time);
}

/* A program whose bytes go away while it is looked into: it was a SIGBUS. */
TEST(truncated)
{
	struct elf_section s;
	struct elf_file *f;
	struct fixture t;
	struct stat st;

	TEST_NEEDS(&world, "cc");
	setup(&t, NULL);
	assert_true(test_shell(t.w, "echo 'int x[1 << 18] = {1};' >a.c && "
				    "cc -g -shared -o a.so a.c && cp a.so b.so"));
	file_named(&t, "b.so");
	assert_int_equal(elf_file_open(t.reader, t.path, &f, &st, NULL), 0);
	assert_true(test_shell(t.w, ": >b.so"));
	assert_true(elf_file_find_section(f, ".data", &s));
	assert_false(elf_file_load(f, &s));
	assert_false(elf_file_load_section(f, ".data", &s));
	assert_int_equal(t.w->nr_problems, 1);
	assert_int_equal(t.w->last.code, -ESTALE);
	elf_file_close(f);
	teardown(&t);
}

/* Another link to a program, or another mode, moves its time of change: its bytes are the same.
 * Where they are not, nothing more is read of it. */
TEST(changed_around)
{
	static const struct {
		const char *command;
		bool is_same;
	} cases[] = {
	    {"rm -f c.so && ln b.so c.so", true},
	    {"ln b.so c.so && rm c.so", true},
	    {"chmod 700 b.so", true},
	    {"touch -r b.so t; printf x | dd of=b.so bs=1 seek=9 conv=notrunc; touch -r t b.so",
	     false},
	    {"cp -p b.so c.so && mv c.so b.so", false},
	    {"touch b.so", false},
	};

	TEST_NEEDS(&world, "cc");
	assert_true(
	    test_shell(&world, "echo 'int x[1 << 18] = {1};' >a.c && cc -g -shared -o a.so a.c"));
	for (size_t i = 0; i < NR(cases); i++) {
		struct elf_section s;
		struct elf_file *f;
		struct fixture t;
		struct stat st;
		uint32_t crc;

		setup(&t, NULL);
		t.w->nr_problems = 0;
		assert_true(test_shell(t.w, "rm -f b.so c.so && cp a.so b.so"));
		file_named(&t, "b.so");
		assert_int_equal(elf_file_open(t.reader, t.path, &f, &st, NULL), 0);
		assert_true(elf_file_find_section(f, ".data", &s));
		do /* a file's clock ticks slowly */
			assert_true(test_shell(t.w, "%s", cases[i].command));
		while (has_ctime(t.path, st.st_ctim));
		if (elf_file_load(f, &s) != cases[i].is_same)
			fail_msg("%s", cases[i].command);
		assert_int_equal(elf_file_crc32(f, &crc), cases[i].is_same);
		assert_int_equal(t.w->nr_problems, !cases[i].is_same);
		elf_file_close(f);
		teardown(&t);
	}
}

/* Sections that are a hole are not looked through. */
TEST(hollow_section)
{
	struct elf_section s;
	struct elf_file *f;
	struct fixture t;
	struct stat st;

	TEST_NEEDS(&world, "cc");
	setup(&t, NULL);
	assert_true(test_shell(t.w, "echo 'int x = 1;' >a.c && cc -g -shared -o a.so a.c"));
	file_named(&t, "a.so");
	assert_int_equal(truncate(t.path, (off_t)tebibyte), 0);
	assert_int_equal(elf_file_open(t.reader, t.path, &f, &st, NULL), -EINVAL); /* too large */
	assert_int_equal(truncate(t.path, (off_t)(tebibyte / 32)), 0);
	assert_int_equal(elf_file_open(t.reader, t.path, &f, &st, NULL), 0);
	assert_true(elf_file_find_section(f, ".symtab", &s));
	s.size = tebibyte / 1024;
	assert_false(elf_file_load(f, &s));
	assert_int_equal(t.w->nr_problems, 1);
	assert_int_equal(t.w->last.code, -EFBIG);
	elf_file_close(f);
	teardown(&t);
}

/* In a folder as if it were /: an absolute link, and ".." at its top, stay in it. */
TEST(within)
{
	static const struct {
		const char *name;
		int rc;
	} cases[] = {
	    {"in/a", 0},       {"in/../a", 0},       {"in/absolute", 0},  {"in/relative", 0},
	    {"in/b", -ENOENT}, {"in/../b", -ENOENT}, {"in/out", -ENOENT},
	};
	struct elf_reader_file f;
	struct fixture t;
	char got[2] = "";

	setup(&t, NULL);
	assert_true(test_shell(t.w,
			       "mkdir in && echo in >in/a && echo out >b && ln -s /a in/absolute "
			       "&& ln -s ../a in/relative && ln -s ../b in/out"));
	for (size_t i = 0; i < NR(cases); i++) {
		f = file_named(&t, cases[i].name);
		f.root_len = strlen(t.w->tree.dir) + strlen("/in");
		assert_int_equal(elf_reader_look(t.reader, &f), cases[i].rc);
		assert_true(cases[i].rc || elf_reader_read(t.reader, &f, 0, 1, got) == 0);
	}
	f = file_named(&t, "in/absolute");
	f.root_len = strlen(t.w->tree.dir) + strlen("/in");
	f.refuses_links = true;
	assert_int_equal(elf_reader_look(t.reader, &f), -ELOOP);
	teardown(&t);
}

/* As another user, who may not read what root may; then with one's own again. */
TEST(rights)
{
	const struct elf_rights other = {.are_limited = true, .uid = 1234};
	struct elf_reader_file f;
	struct fixture t;

	if (geteuid())
		SKIP("only root's rights are limited");
	setup(&t, NULL);
	assert_int_equal(chmod(t.w->tree.dir, 0755), 0);
	put(&t, "secret", "text", 0);
	put(&t, "open", "text", 0);
	put(&t, "theirs", "text", 0);
	assert_true(test_shell(
	    t.w,
	    "chmod 644 open && chown 1234 theirs && mkdir -m 700 hidden && "
	    "cp open hidden/open && cp open grouped && chmod 640 grouped && chown 0:0 grouped"));
	for (int i = 0; i < 2; i++) {
		static const struct {
			const char *name;
			int rc;
		} cases[] = {{"secret", -EACCES},
			     {"open", 0},
			     {"theirs", 0},
			     {"hidden/open", -EACCES},
			     {"grouped", -EACCES}};

		for (size_t k = 0; k < NR(cases); k++) {
			f = file_named(&t, cases[k].name);
			assert_int_equal(elf_reader_look(t.reader, &f), 0);
			f = file_named(&t, cases[k].name);
			f.rights = other;
			assert_int_equal(elf_reader_look(t.reader, &f), cases[k].rc);
		}
	}
	teardown(&t);
}

/* Whose a file is: its owner's, but nobody's where anybody can have written it. */
TEST(rights_of)
{
	static const struct {
		uint32_t uid, gid;
		mode_t mode;
		struct elf_rights rights;
	} cases[] = {
	    {0, 0, 0755, {.are_limited = false}},  {0, 0, 0775, {.are_limited = false}},
	    {0, 50, 0755, {.are_limited = false}}, {0, 50, 0775, {true, 65534}},
	    {0, 0, 0757, {true, 65534}},           {7, 7, 0775, {true, 7}},
	    {7, 7, 0757, {true, 65534}},
	};

	if (geteuid())
		SKIP("only root's rights are limited");
	for (size_t i = 0; i < NR(cases); i++) {
		const struct stat st = {
		    .st_uid = cases[i].uid, .st_gid = cases[i].gid, .st_mode = cases[i].mode};
		const struct elf_rights got = elf_rights_of(&st), all = {.are_limited = false},
					both = elf_rights_of_both(got, all);

		assert_int_equal(got.are_limited, cases[i].rights.are_limited);
		assert_int_equal(got.uid, cases[i].rights.uid);
		assert_int_equal(both.are_limited, got.are_limited);
		assert_int_equal(elf_rights_of_both(all, got).uid, got.uid);
	}
	assert_int_equal(elf_rights_of_both(elf_rights_of_user(7), elf_rights_of_user(7)).uid, 7);
	assert_int_equal(elf_rights_of_both(elf_rights_of_user(7), elf_rights_of_user(8)).uid,
			 65534);
}

TEST(failures)
{
	struct fixture t = {.w = &world};

	setup(&t, NULL);
	put(&t, "a", "text", 0);
	teardown(&t);
	for (unsigned n = 1; n <= 7; n++) {
		struct elf_reader_file f = file_named(&t, "a");
		char got[4];
		int rc;

		setup(&t, NULL);
		inject_sys(n, -EIO); /* the child's, from its beginning on */
		rc = elf_reader_read(t.reader, &f, 0, 4, got);
		inject_stop();
		assert_int_equal(rc, n <= 5 + !geteuid() ? -EIO : 0); /* closing does not matter */
		teardown(&t);
	}
}
