/*
 * Processes of captured and of made trees: every field, every word of the choice, processes and
 * threads that come, go and have another's number, and what is said of what may not be read.
 */
#include "test_process.h"
#include "kit.h"

#include "base/buf.h"

#include <sys/resource.h>

#define PAGE ((uint64_t)sysconf(_SC_PAGESIZE))

/* ---- captured trees */

static const struct {
	unsigned pid;
	const char *name;
	uint64_t values[PROCESS_NR_FIELDS]; /* memory in pages */
} captured[] = {
    {1,
     "1 systemd",
     {4216009311, 1281904412, 3211, 41972, 2286, 91828224, 40960, 1, 146948, 805, 4, 147753,
      45000}},
    {2, "2 kthreadd", {8445769, 16661237, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}},
    {9, "9 kworker/R-rcu_gp", {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}},
    {812,
     "812 worker pool",
     {6000001800, 90000600, 20117, 182734, 3004, 4096, 1310720, 3, 3411, 12, 3, 3423, 190000}},
    {977, "977 a) b (c)", {7000001, 800001, 424, 3060, 396, 0, 0, 1, 98, 0, 1, 98, 3100}},
    {1401, "1401 gone", {500500, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}},
};

static bool is_memory(int field)
{
	return field == PROCESS_RSS || field == PROCESS_VMS || field == PROCESS_SHARED ||
	       field == PROCESS_PEAK_RSS;
}

static void expect_captured(const struct things_one *t, size_t i, uint32_t wanted)
{
	assert_string_equal(t->name, captured[i].name);
	assert_int_equal(t->number, i);
	assert_int_equal(t->has, wanted);
	assert_true(t->time_ns > 0);
	for (int f = 0; f < PROCESS_NR_FIELDS; f++)
		if (wanted & BIT(f))
			assert_int_equal(t->values[f],
					 captured[i].values[f] * (is_memory(f) ? PAGE : 1));
}

/* All fields, each field alone, each but one. */
TEST(values)
{
	struct root r = tree_captured("processes");

	for (int f = -1; f < 2 * PROCESS_NR_FIELDS; f++) {
		uint32_t wanted = f < 0                   ? ALL_FIELDS
				  : f < PROCESS_NR_FIELDS ? BIT(f)
							  : ALL_FIELDS & ~BIT(f / 2);
		void *s = start(&r, NULL, wanted);

		for (int again = 0; again < 3; again++) {
			read_all(s);
			assert_int_equal(source->nr(s), NR(captured));
			for (size_t i = 0; i < NR(captured); i++) {
				struct things_one t;

				source->get(s, i, &t);
				expect_captured(&t, i, wanted);
			}
		}
		source->close(s);
	}
}

/* What machines do not tell, and what is said of it: once. */
static const struct {
	const char *tree;
	unsigned pid;
	uint32_t missing;
	const char *notes;
} machines[] = {
    {"processes", 812, 0,
     "CPU time: without threads that start and end between two readings: "
     "this /proc belongs to another PID namespace\n"},
    {"processes-4.14", 440,
     BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RUN_DELAY) | BIT(PROCESS_READ_BYTES) |
	 BIT(PROCESS_WRITE_BYTES),
     "CPU time, run delay, bytes read, bytes written: not reported by "
     "this kernel\n"},
    {"processes-container", 31, BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RUN_DELAY),
     "CPU time, run delay: not reported by this kernel\n"},
};

static void take_notes(void *s, struct buf *out)
{
	const char *note;

	buf_reset(out);
	while ((note = source->note(s)))
		buf_printf(out, "%s\n", note);
}

static void expect_notes(void *s, const char *expected)
{
	struct buf b;

	buf_init(&b, 65536);
	take_notes(s, &b);
	assert_string_equal(buf_str(&b), expected);
	buf_fini(&b);
}

TEST(machines)
{
	for (size_t i = 0; i < NR(machines); i++) {
		struct root r = tree_captured(machines[i].tree);
		void *s = start(&r, NULL, ALL_FIELDS);

		print_message("%s\n", machines[i].tree);
		expect_notes(s, "");
		read_all(s);
		assert_int_equal(get(s, machines[i].pid).has, ALL_FIELDS & ~machines[i].missing);
		expect_notes(s, machines[i].notes);
		read_all(s);
		expect_notes(s, "");
		source->close(s);
	}
}

/* ---- the choice */

static const struct {
	const char *words[MAX_WORDS];
	int rc;
	const char *pids; /* or the message */
} choices[] = {
    {{NULL}, 0, "1 2 9 812 977 1401 "},
    {{"all"}, 0, "1 2 9 812 977 1401 "},
    {{"812"}, 0, "812 "},
    {{"977", "1", "977"}, 0, "1 977 "},
    {{"0"}, 0, "977 "}, /* /proc/self of this tree */
    {{"0", "977", "0"}, 0, "977 "},
    {{"name:k*"}, 0, "2 9 "},
    {{"name:worker pool"}, 0, "812 "},
    {{"name:worker"}, 0, ""},
    {{"name:Systemd"}, 0, ""},
    {{"name:[sg]*", "812"}, 0, "1 812 1401 "},
    {{"name:*"}, 0, "1 2 9 812 977 1401 "},
    {{"812", "all"}, 0, "1 2 9 812 977 1401 "},
    {{"813"}, -ENOENT, "pids: there is no process 813"},
    {{"99999", "813"}, -ENOENT, "pids: there is no process 813, 99999"},
    {{"1", "99999"}, 0, "1 "},
    {{"99999", "name:systemd"}, 0, "1 "},
    {{"99999", "name:nobody"}, 0, ""},
    {{""}, -EINVAL, "pids: \"\" names no process"},
    {{"-1"}, -EINVAL, "pids: \"-1\" names no process"},
    {{"1", "812x"}, -EINVAL, "pids: \"812x\" names no process"},
    {{"2147483648"}, -EINVAL, "pids: \"2147483648\" names no process"},
    {{"18446744073709551617"}, -EINVAL, "pids: \"18446744073709551617\" names no process"},
    {{"name:x", "name:"}, -EINVAL, "pids: \"name:\" names no process"},
    {{"ALL"}, -EINVAL, "pids: \"ALL\" names no process"},
    {{"bash"}, -EINVAL, "pids: \"bash\" names no process"},
};

static void list_pids(const void *s, struct buf *out)
{
	struct things_one t;

	buf_reset(out);
	for (size_t i = 0; i < source->nr(s); i++) {
		source->get(s, i, &t);
		buf_printf(out, "%lu ", strtoul(t.name, NULL, 10));
	}
}

static void expect_pids(const void *s, const char *expected)
{
	struct buf b;

	buf_init(&b, 65536);
	list_pids(s, &b);
	assert_string_equal(buf_str(&b), expected);
	buf_fini(&b);
}

TEST(choices)
{
	struct root r = tree_captured("processes");

	for (size_t i = 0; i < NR(choices); i++) {
		struct err e = {0};
		void *s = NULL;
		int rc = try_open(&r, choices[i].words, BIT(PROCESS_RSS), &s, &e);

		print_message("%s\n", choices[i].words[0] ? choices[i].words[0] : "(none)");
		assert_int_equal(rc, choices[i].rc);
		if (rc) {
			assert_null(s);
			assert_int_equal(e.code, rc);
			assert_string_equal(e.msg, choices[i].pids);
			assert_true(rc != -EINVAL || e.hint[0]);
			continue;
		}
		for (int again = 0; again < 2; again++) {
			read_all(s);
			expect_pids(s, choices[i].pids);
		}
		source->close(s);
	}
}

TEST(no_proc)
{
	static const char *const self[] = {"0", NULL};
	struct root r = tree_make();
	struct err e = {0};
	void *s = NULL;

	assert_int_equal(try_open(&r, NULL, ALL_FIELDS, &s, &e), -ENOENT);
	assert_string_equal(e.msg, "/proc: cannot be read: No such file or directory");
	err_clear(&e);
	tree_put(&r, "/proc/1/comm", "x", 1);
	assert_int_equal(try_open(&r, self, ALL_FIELDS, &s, &e), -EINVAL); /* not known here */
	assert_null(s);
	tree_remove(&r);
}

/* What the words ask for and is not there is said, once. */
TEST(absent)
{
	static const char *const words[] = {"99999", "1", "name:x?", "name:sys*"};
	struct root r = tree_captured("processes");
	void *s = start(&r, words, BIT(PROCESS_RSS));

	expect_notes(s, ""); /* nobody has looked yet */
	for (int again = 0; again < 3; again++) {
		read_all(s);
		expect_pids(s, "1 ");
		expect_notes(
		    s, again ? ""
			     : "pids: there is no process 99999, \"name:x?\": it is read once it "
			       "starts\n");
	}
	source->close(s);
}

/* ---- made trees. Regular files lack what those of /proc do when their process ends, and access
 * by other users: these system calls have it. */

static struct {
	char path[4096][64]; /* by descriptor */
	unsigned opened_at[4096];
	unsigned now;        /* goes on with each death */
	const char *dead;    /* paths that begin so … */
	unsigned died_at;    /* … opened before */
	const char *denied;  /* paths that end so */
	bool is_denied_late; /* when they are read */
	unsigned nr_opens;
	struct buf log; /* paths that were opened */
} fake;

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), n = end ? strlen(end) : 0;

	return n && len >= n && strcmp(s + len - n, end) == 0;
}

static int fake_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	int fd;

	if (!fake.is_denied_late && ends_with(path, fake.denied))
		return -EACCES;
	fd = sys_kernel_ops.openat(dirfd, path, flags, mode);
	if (fd >= 0 && fd < 4096) {
		snprintf(fake.path[fd], sizeof(fake.path[fd]), "%s", path);
		fake.opened_at[fd] = fake.now;
		fake.nr_opens++;
		buf_printf(&fake.log, "%s\n", path);
	}
	return fd;
}

static ssize_t fake_pread(int fd, void *buf, size_t len, off_t at)
{
	if (fake.dead && fake.opened_at[fd] < fake.died_at &&
	    strncmp(fake.path[fd], fake.dead, strlen(fake.dead)) == 0)
		return -ESRCH;
	if (fake.is_denied_late && ends_with(fake.path[fd], fake.denied))
		return -EACCES;
	return sys_kernel_ops.pread(fd, buf, len, at);
}

static void fake_start(void)
{
	static struct sys_ops ops;

	ops = sys_kernel_ops;
	ops.openat = fake_openat;
	ops.pread = fake_pread;
	memset(&fake, 0, sizeof(fake));
	buf_init(&fake.log, 1 << 20);
	sys_set_ops(&ops);
}

static void fake_stop(void)
{
	sys_set_ops(NULL);
	buf_fini(&fake.log);
}

/* What is opened under it from now on is another's. */
static void fake_death(const char *prefix)
{
	fake.dead = prefix;
	fake.died_at = ++fake.now;
}

static void put(const struct root *r, unsigned pid, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	tree_put(r, path, text, strlen(text));
}

static void put_thread(const struct root *r, unsigned pid, unsigned tid, unsigned cpu_ns)
{
	char file[64], text[64];

	snprintf(text, sizeof(text), "%u %u 1\n", cpu_ns, 2 * cpu_ns);
	snprintf(file, sizeof(file), "task/%u/schedstat", tid);
	put(r, pid, file, text);
	if (tid == pid)
		put(r, pid, "schedstat", text);
}

static void put_process(const struct root *r, unsigned pid, const char *comm, unsigned start_ticks,
			unsigned pages)
{
	char text[256];

	snprintf(text, sizeof(text), "%s\n", comm);
	put(r, pid, "comm", text);
	snprintf(text, sizeof(text), "%u %u 1 1 0 1 0\n", pages + 9, pages);
	put(r, pid, "statm", text);
	snprintf(text, sizeof(text), "%u (%s) S 1 1 1 0 -1 0 5 0 2 0 0 0 0 0 20 0 1 0 %u 0 0\n",
		 pid, comm, start_ticks);
	put(r, pid, "stat", text);
	snprintf(text, sizeof(text), "Pid:\t%u\nVmHWM:\t %u kB\n", pid, 4 * pages);
	put(r, pid, "status", text);
	put(r, pid, "io", "read_bytes: 5\nwrite_bytes: 6\n");
	put_thread(r, pid, pid, 10);
}

static void remove_path(const struct root *r, const char *path)
{
	struct root part;

	snprintf(part.dir, sizeof(part.dir), "%.200s%s", r->dir, path);
	tree_remove(&part);
}

static struct root two_processes(void)
{
	struct root r = tree_make();

	put_process(&r, 20, "first", 100, 7);
	put_process(&r, 30, "second", 200, 8);
	return r;
}

/* Numbers are given once; the order is that of the pids. */
TEST(come_and_go)
{
	struct root r = two_processes();
	void *s = start(&r, NULL, BIT(PROCESS_RSS));

	read_all(s);
	expect_pids(s, "20 30 ");
	put_process(&r, 25, "third", 300, 9);
	read_all(s);
	expect_pids(s, "20 25 30 ");
	assert_int_equal(get(s, 25).number, 2);
	assert_int_equal(get(s, 30).number, 1);
	assert_int_equal(value(s, 25, PROCESS_RSS), 9 * PAGE);
	remove_path(&r, "/proc/20");
	read_all(s);
	expect_pids(s, "25 30 ");
	put_process(&r, 20, "fourth", 400, 10);
	read_all(s);
	assert_int_equal(get(s, 20).number, 3);
	assert_string_equal(get(s, 20).name, "20 fourth");
	assert_int_equal(get(s, 30).number, 1);
	remove_path(&r, "/proc/20");
	remove_path(&r, "/proc/25");
	remove_path(&r, "/proc/30");
	read_all(s);
	assert_int_equal(source->nr(s), 0);
	source->close(s);
	tree_remove(&r);
}

static void put_child(const struct root *r, unsigned pid, unsigned parent)
{
	char text[128];

	put_process(r, pid, "child", 300, 9);
	snprintf(text, sizeof(text),
		 "%u (chi) ld) S %u 1 1 0 -1 0 5 0 2 0 0 0 0 0 20 0 1 0 300 0 0\n", pid, parent);
	put(r, pid, "stat", text);
}

/* The target's processes, and those that they create, in any order of their numbers. */
TEST(tree)
{
	static const pid_t first[] = {20}, next[] = {30};
	const pid_t *ids = first;
	const size_t nr = 1;
	struct things_tree tree = {&ids, &nr, true};
	const struct things_choice choice = {.tree = &tree};
	struct root r = two_processes();
	struct err e = {0};
	void *s, *alone;

	put_child(&r, 10, 25);
	put_child(&r, 25, 20);
	put_child(&r, 40, 30);
	assert_int_equal(source->open(&r, &choice, BIT(PROCESS_RSS), &s, &e), 0);
	read_all(s);
	expect_pids(s, "10 20 25 ");
	assert_int_equal(get(s, 25).number, 2);
	/* of one that ended, its children remain; one that came is found below a process that is
	 * not listed yet */
	remove_path(&r, "/proc/25");
	put_child(&r, 10, 1);
	put_child(&r, 5, 50);
	put_child(&r, 50, 10);
	put_child(&r, 60, 40);
	read_all(s);
	expect_pids(s, "5 10 20 50 ");
	/* the next run of a command, which was there before it belonged to the target */
	ids = next;
	put_child(&r, 41, 30);
	read_all(s);
	expect_pids(s, "5 10 20 30 41 50 ");
	source->close(s);
	tree.has_children = false;
	assert_int_equal(source->open(&r, &choice, BIT(PROCESS_RSS), &alone, &e), 0);
	read_all(alone);
	expect_pids(alone, "30 ");
	source->close(alone);
	tree_remove(&r);
}

/* The groups come before the peak in status. */
TEST(many_groups)
{
	struct root r = two_processes();
	struct buf text;
	void *s;

	buf_init(&text, 1 << 16);
	buf_adds(&text, "Pid:\t20\nGroups:\t");
	for (unsigned i = 0; i < 5000; i++)
		buf_printf(&text, "%u ", 4294960000u + i);
	buf_adds(&text, "\nVmHWM:\t 12 kB\n");
	put(&r, 20, "status", buf_str(&text));
	buf_fini(&text);
	s = start(&r, NULL, BIT(PROCESS_PEAK_RSS));
	read_all(s);
	assert_int_equal(value(s, 20, PROCESS_PEAK_RSS), 12 << 10);
	assert_int_equal(value(s, 30, PROCESS_PEAK_RSS), 32 << 10);
	source->close(s);
	tree_remove(&r);
}

/* Only what was not there at the reading before began with its counters at 0. */
TEST(born)
{
	static const char *const words[] = {"name:cc*", NULL};
	struct root r = two_processes();
	void *all = start(&r, NULL, BIT(PROCESS_RSS)), *some = start(&r, words, BIT(PROCESS_RSS));

	read_all(all);
	read_all(some);
	assert_int_equal(get(all, 20).born_ns, 0);
	put_process(&r, 25, "cc1", 300, 9);
	put(&r, 20, "comm", "cc1\n"); /* it was there under another name */
	read_all(all);
	read_all(some);
	assert_true(get(all, 25).born_ns > 0);
	assert_int_equal(get(all, 30).born_ns, 0);
	assert_true(get(some, 25).born_ns > 0);
	assert_int_equal(get(some, 20).born_ns, 0);
	put_process(&r, 26, "cc1", 300, 9);
	inject_mem(1);
	assert_int_equal(source->read(all), -ENOMEM);
	inject_stop();
	read_all(all); /* it may have come before the last reading, which failed */
	assert_int_equal(get(all, 26).born_ns, 0);
	assert_true(get(all, 25).born_ns > 0);
	source->close(all);
	source->close(some);
	tree_remove(&r);
}

/* Its number is another's by the next reading. A kept file tells it; all fields alone do. */
TEST(reused_while_kept)
{
	static const uint32_t wanted[] = {BIT(PROCESS_RSS), BIT(PROCESS_MINOR_FAULTS),
					  BIT(PROCESS_RSS) | BIT(PROCESS_READ_BYTES),
					  BIT(PROCESS_RUN_DELAY)};

	for (size_t i = 0; i < NR(wanted); i++) {
		struct root r = two_processes();
		void *s;

		fake_start();
		s = start(&r, NULL, wanted[i]);
		read_all(s);
		put_process(&r, 20, "another", 101, 70);
		fake_death("20/");
		read_all(s);
		expect_pids(s, "20 30 ");
		assert_string_equal(get(s, 20).name, "20 another");
		assert_int_equal(get(s, 20).number, 2);
		assert_true(get(s, 20).born_ns > 0);
		assert_int_equal(get(s, 20).has, wanted[i]);
		assert_int_equal(get(s, 30).number, 1);
		read_all(s);
		assert_int_equal(get(s, 20).number, 2);
		source->close(s);
		fake_stop();
		tree_remove(&r);
	}
}

/* Opens under the lowest limit of descriptors under which it can; how many are then kept. */
static void *start_low(const struct root *r, const char *const *words, uint32_t wanted, size_t *nr)
{
	struct rlimit limit = {0}, low;
	int next = dup(0);
	void *s;

	assert_true(next >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	close(next);
	low = limit;
	low.rlim_cur = (unsigned)next + 4;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	s = start(r, words, wanted);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	*nr = low.rlim_cur / 2;
	return s;
}

/* Nothing is kept: the start time tells it. */
TEST(reused_while_reopened)
{
	static const char once[] =
	    "20/task\n20/schedstat\n20/statm\n20/status\n20/io\n20/stat\n20/stat\n20/stat\n30/";
	struct root r = two_processes();
	const uint32_t wanted = ALL_FIELDS & ~BIT(PROCESS_FDS);
	size_t nr;
	void *s = start_low(&r, NULL, wanted, &nr);
	size_t nr_fds = inject_open_fds();

	assert_true(nr < 6); /* what one process needs */
	fake_start();
	for (int again = 0; again < 4; again++) {
		buf_reset(&fake.log);
		read_all(s);
		assert_int_equal(get(s, 20).has, wanted);
		assert_int_equal(get(s, 20).number, 0);
		assert_int_equal(inject_open_fds(), nr_fds);
	}
	assert_memory_equal(buf_str(&fake.log), once, strlen(once)); /* and none in vain */
	fake_stop();
	put_process(&r, 20, "another", 101, 70);
	read_all(s);
	assert_string_equal(get(s, 20).name, "20 another");
	assert_int_equal(get(s, 20).number, 2);
	assert_int_equal(value(s, 20, PROCESS_RSS), 70 * PAGE);
	assert_int_equal(get(s, 30).number, 1);
	source->close(s);
	tree_remove(&r);
}

/* What is kept stays below the share; when one ends another gets its place. */
TEST(descriptors)
{
	struct root r = tree_make();
	char note[256];
	size_t nr, nr_fds;
	void *s;

	tree_put(&r, "/proc/1", NULL, 0);
	s = start_low(&r, NULL, BIT(PROCESS_RSS), &nr);
	for (unsigned i = 0; i < nr + 2; i++)
		put_process(&r, 100 + i, "one", 50, i);
	remove_path(&r, "/proc/1");
	nr_fds = inject_open_fds();
	for (int again = 0; again < 3; again++) {
		read_all(s);
		assert_int_equal(source->nr(s), nr + 2);
		for (unsigned i = 0; i < nr + 2; i++)
			assert_int_equal(value(s, 100 + i, PROCESS_RSS), i * PAGE);
		assert_int_equal(inject_open_fds(), nr_fds + nr);
		snprintf(note, sizeof(note),
			 "half of the open-file limit is in use: the files of 2 of %zu "
			 "processes are reopened for each reading, which is slower; raise "
			 "the limit (ulimit -n)\n",
			 nr + 2);
		expect_notes(s, again ? "" : note);
	}
	remove_path(&r, "/proc/101");
	fake_start();
	read_all(s);
	read_all(s);
	buf_reset(&fake.log);
	read_all(s);
	snprintf(note, sizeof(note), "%zu/statm\n%zu/stat\n", 100 + nr + 1, 100 + nr + 1);
	assert_string_equal(buf_str(&fake.log), note);
	assert_int_equal(inject_open_fds(), nr_fds + nr);
	fake_stop();
	source->close(s);
	tree_remove(&r);
}

/* Of files only what is wanted is opened, once. Names are looked at after 1, 2, 4 … readings, later
 * each 64th time. */
TEST(opens)
{
	static const char *const logs[] = {"20/comm\n20/statm\n30/comm\n30/statm\n",
					   "20/comm\n30/comm\n",
					   "20/comm\n30/comm\n",
					   "",
					   "20/comm\n30/comm\n",
					   "",
					   "",
					   ""};
	struct root r = two_processes();
	unsigned nr_looks = 0;
	void *s;

	fake_start();
	s = start(&r, NULL, BIT(PROCESS_VMS));
	for (size_t i = 0; i < NR(logs); i++) {
		buf_reset(&fake.log);
		read_all(s);
		assert_string_equal(buf_str(&fake.log), logs[i]);
	}
	for (size_t i = NR(logs); i < 64; i++)
		read_all(s);
	for (unsigned i = 0; i < 2 * 64; i++) {
		buf_reset(&fake.log);
		read_all(s);
		nr_looks += fake.log.len > 0;
		assert_true(fake.log.len <= strlen("20/comm\n")); /* not both at once */
	}
	assert_int_equal(nr_looks, 2 * 2);
	source->close(s);
	fake_stop();
	tree_remove(&r);
}

/* While the chosen are there, nobody else is looked for: even a folder that went is not missed
 * until its files say so. */
TEST(by_number)
{
	static const char *const words[] = {"20", "30", NULL};
	struct root r = two_processes();
	void *s;

	put_process(&r, 25, "other", 1, 1);
	fake_start();
	s = start(&r, words, BIT(PROCESS_RSS));
	read_all(s);
	expect_pids(s, "20 30 ");
	remove_path(&r, "/proc/20");
	read_all(s);
	expect_pids(s, "20 30 ");
	fake_death("20/");
	read_all(s);
	expect_pids(s, "30 ");
	read_all(s);
	expect_pids(s, "30 ");
	put_process(&r, 20, "later", 500, 5);
	read_all(s);
	expect_pids(s, "20 30 ");
	assert_int_equal(get(s, 20).number, 2);
	assert_string_equal(get(s, 20).name, "20 later");
	source->close(s);
	fake_stop();
	tree_remove(&r);
}

/* The same without descriptors: a missing file shows it. */
TEST(by_number_reopened)
{
	static const char *const words[] = {"20", "30", NULL};
	struct root r = two_processes();
	size_t nr;
	void *s = start_low(&r, words, ALL_FIELDS & ~BIT(PROCESS_FDS), &nr);

	read_all(s);
	expect_pids(s, "20 30 ");
	remove_path(&r, "/proc/20");
	read_all(s);
	expect_pids(s, "30 ");
	source->close(s);
	tree_remove(&r);
}

/* A process is found under its parent's name and starts another program then. */
TEST(exec)
{
	static const char *const words[] = {"name:cc*", NULL};
	struct root r = two_processes();
	void *all = start(&r, NULL, BIT(PROCESS_RSS)), *some = start(&r, words, BIT(PROCESS_RSS));

	read_all(all);
	read_all(some);
	expect_pids(some, "");
	put(&r, 20, "comm", "cc1\n");
	read_all(all);
	read_all(some);
	assert_string_equal(get(all, 20).name, "20 cc1");
	assert_int_equal(get(all, 20).number, 0);
	expect_pids(some, "20 ");
	put(&r, 20, "comm", "as\n");
	for (int i = 0; i < 4; i++)
		read_all(some);
	expect_pids(some, "");
	put(&r, 20, "comm", "cc1plus\n");
	for (int i = 0; i < 70; i++)
		read_all(some);
	assert_string_equal(get(some, 20).name, "20 cc1plus");
	assert_int_equal(get(some, 20).number, 1); /* a new thing: its counters began anew */
	source->close(all);
	source->close(some);
	tree_remove(&r);
}

/* Names are any bytes; neither what is shown nor a note that quotes one moves a cursor. */
TEST(odd_names)
{
	struct root r = tree_make();
	struct things_one t;
	struct buf b;
	void *s;

	put_process(&r, 20, "\x1b[2J\xff\n x", 1, 1);
	put_process(&r, 21, "", 1, 1);
	put_process(&r, 22,
		    "a name that is longer than any that a kernel gives to a thread of its own or "
		    "to another",
		    1, 1);
	fake_start();
	fake.denied = "/io";
	s = start(&r, NULL, BIT(PROCESS_READ_BYTES));
	read_all(s);
	assert_string_equal(get(s, 20).name, "20 ?[2J?  x");
	assert_string_equal(get(s, 21).name, "21 ");
	t = get(s, 22);
	assert_int_equal(strlen(t.name), strlen("22 ") + 63);
	buf_init(&b, 65536);
	take_notes(s, &b);
	assert_null(strchr(buf_str(&b), '\x1b'));
	assert_non_null(strstr(buf_str(&b), "of 3 processes (20 ?[2J"));
	buf_fini(&b);
	source->close(s);
	fake_stop();
	tree_remove(&r);
}

#define MAY_NOT ": cannot be read; needs their user, or CAP_SYS_PTRACE\n"
#define REFUSED ": cannot be read; refused despite CAP_SYS_PTRACE\n"

/* Whether opening says it or reading: the rest is there, and it is said once of each process. */
TEST(denied)
{
	const uint32_t wanted =
	    BIT(PROCESS_RSS) | BIT(PROCESS_READ_BYTES) | BIT(PROCESS_WRITE_BYTES);

	for (int late = 0; late < 2; late++) {
		struct root r = two_processes();
		void *s;

		fake_start();
		fake.denied = "/io";
		fake.is_denied_late = late;
		s = start(&r, NULL, wanted);
		read_all(s);
		assert_int_equal(get(s, 20).has, BIT(PROCESS_RSS));
		assert_int_equal(get(s, 20).denied, wanted & ~BIT(PROCESS_RSS));
		assert_int_equal(value(s, 30, PROCESS_RSS), 8 * PAGE);
		expect_notes(
		    s, "bytes read, bytes written of 2 processes (20 first, 30 second)" MAY_NOT);
		read_all(s);
		expect_notes(s, "");
		put_process(&r, 40, "third", 100, 1);
		read_all(s);
		expect_notes(s, "bytes read, bytes written of 1 more process (40 third)" MAY_NOT);
		fake.denied = NULL; /* it gave up its rights, or started another program */
		read_all(s);
		assert_int_equal(get(s, 20).has, wanted);
		assert_int_equal(get(s, 20).denied, 0);
		assert_int_equal(value(s, 40, PROCESS_WRITE_BYTES), 6);
		source->close(s);
		fake_stop();
		tree_remove(&r);
	}
}

/* Refusals despite the capability are not explained by its lack. */
TEST(refused)
{
	static const char *const status[] = {"CapEff:\t000001fffff7ffff\n",
					     "CapEff:\t0000000000080000\n"};

	for (size_t i = 0; i < NR(status); i++) {
		struct root r = two_processes();
		void *s;

		tree_put(&r, "/proc/self/status", status[i], strlen(status[i]));
		fake_start();
		fake.denied = "/io";
		s = start(&r, NULL, BIT(PROCESS_READ_BYTES));
		read_all(s);
		expect_notes(s, i ? "bytes read of 2 processes (20 first, 30 second)" REFUSED
				  : "bytes read of 2 processes (20 first, 30 second)" MAY_NOT);
		source->close(s);
		fake_stop();
		tree_remove(&r);
	}
}

TEST(many_denied)
{
	struct root r = tree_make();
	unsigned nr_notes = 0;
	struct buf b;
	void *s;

	for (unsigned i = 0; i < 200; i++)
		put_process(&r, 1000 + i, "fifteen letters", 1, 1);
	fake_start();
	fake.denied = "/io";
	s = start(&r, NULL, BIT(PROCESS_READ_BYTES));
	read_all(s);
	buf_init(&b, 65536);
	take_notes(s, &b);
	assert_non_null(
	    strstr(buf_str(&b), "bytes read of 200 processes (1000 fifteen letters, 1001"));
	assert_non_null(strstr(buf_str(&b), " 1003 fifteen letters, …)" MAY_NOT));
	assert_true(b.len < 200);            /* each has a row that says so */
	for (unsigned i = 0; i < 210; i++) { /* one more in each reading */
		put_process(&r, 2000 + i, "short", 1, 1);
		read_all(s);
		take_notes(s, &b);
		nr_notes += b.len != 0;
		if (i == 203)
			assert_non_null(
			    strstr(buf_str(&b), "of 202 more processes (2002 short, 2003 short"));
	}
	assert_int_equal(nr_notes, 3); /* the second and third, then twice as many */
	buf_fini(&b);
	source->close(s);
	fake_stop();
	tree_remove(&r);
}

/* Text that no kernel writes: the field is missing, and it is said. */
TEST(odd_text)
{
	static const struct {
		const char *file, *text, *note;
		uint32_t missing;
	} rows[] = {
	    {"statm", "x\n",
	     "resident memory of 1 process (20 first): could not be read: Invalid argument\n",
	     BIT(PROCESS_RSS)},
	    {"statm", "18446744073709551615 1 1\n",
	     "resident memory of 1 process (20 first): could not be read: Numerical result out of "
	     "range\n",
	     BIT(PROCESS_RSS)},
	    {"io", "", "bytes read of 1 process (20 first): could not be read: Invalid argument\n",
	     BIT(PROCESS_READ_BYTES)},
	    {"task/20/schedstat", "1 2", "", 0}, /* /proc/20/schedstat is read */
	    {"schedstat", "1 2",
	     "run delay of 1 process (20 first): could not be read: Invalid argument\n",
	     BIT(PROCESS_RUN_DELAY)},
	    {"task/21/schedstat", "1 2",
	     "run delay of 1 process (20 first): could not be read: Invalid argument\n",
	     BIT(PROCESS_RUN_DELAY)},
	    {"stat", "20 (first) S",
	     "bytes read, minor faults of 1 process (20 first): could not be read: "
	     "Invalid argument\n",
	     BIT(PROCESS_READ_BYTES) | BIT(PROCESS_MINOR_FAULTS)}, /* of its own, or of children */
	};
	const uint32_t wanted = BIT(PROCESS_RSS) | BIT(PROCESS_READ_BYTES) |
				BIT(PROCESS_RUN_DELAY) | BIT(PROCESS_MINOR_FAULTS);

	for (size_t i = 0; i < NR(rows); i++) {
		struct root r = two_processes();
		void *s;

		put(&r, 20, rows[i].file, rows[i].text);
		s = start(&r, NULL, wanted);
		read_all(s);
		assert_int_equal(get(s, 20).has, wanted & ~rows[i].missing);
		assert_int_equal(get(s, 20).failed, rows[i].missing);
		assert_int_equal(get(s, 30).has, wanted);
		expect_notes(s, rows[i].note);
		source->close(s);
		tree_remove(&r);
	}
}

/* More than any kernel writes, by some bytes more and less. */
TEST(long_text)
{
	struct root r = two_processes();
	const uint32_t wanted = BIT(PROCESS_RSS) | BIT(PROCESS_RUN_DELAY);
	char text[8193];

	for (size_t len = 4088; len <= 8192; len = len < 4104 ? len + 1 : 2 * len) {
		void *s;

		memset(text, ' ', len);
		text[len] = '\0';
		memcpy(text, "1 2 3", 5);
		put(&r, 20, "statm", text);
		s = start(&r, NULL, wanted);
		read_all(s);
		assert_int_equal(get(s, 20).has, len < 4096 ? wanted : BIT(PROCESS_RUN_DELAY));
		expect_notes(s, len < 4096
				    ? ""
				    : "resident memory of 1 process (20 first): could not be "
				      "read: File too large\n");
		source->close(s);
	}
	tree_remove(&r);
}

/* ---- threads */

TEST(threads)
{
	struct root r = two_processes();
	void *s =
	    start(&r, NULL, BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RUN_DELAY) | BIT(PROCESS_THREADS));

	put_thread(&r, 20, 21, 100);
	put_thread(&r, 20, 22, 1000);
	read_all(s);
	assert_int_equal(value(s, 20, PROCESS_CPU_TIME), 1110);
	assert_int_equal(value(s, 20, PROCESS_RUN_DELAY), 2220);
	assert_int_equal(value(s, 20, PROCESS_THREADS), 3);
	assert_int_equal(value(s, 30, PROCESS_CPU_TIME), 10);
	put_thread(&r, 20, 22, 1500);
	put_thread(&r, 20, 20, 15);
	read_all(s);
	assert_int_equal(value(s, 20, PROCESS_CPU_TIME), 1615);
	remove_path(&r, "/proc/20/task/22");
	put_thread(&r, 20, 23, 5);
	put_thread(&r, 20, 24, 6);
	read_all(s);
	assert_int_equal(value(s, 20, PROCESS_CPU_TIME), 1626);
	assert_int_equal(value(s, 20, PROCESS_THREADS), 4);
	put_thread(&r, 30, 31, 7);
	remove_path(&r, "/proc/20/task/21");
	remove_path(&r, "/proc/20/task/23");
	remove_path(&r, "/proc/20/task/24");
	read_all(s);
	assert_int_equal(value(s, 20, PROCESS_CPU_TIME), 1626);
	assert_int_equal(value(s, 20, PROCESS_THREADS), 1);
	assert_int_equal(value(s, 30, PROCESS_RUN_DELAY), 34);
	source->close(s);
	tree_remove(&r);
}

/* One ends and one begins: their number is the same, and only the kept file tells it. The last has
 * the number of the one that ended. */
TEST(threads_change_places)
{
	struct root r = two_processes();
	void *s;

	put_thread(&r, 20, 21, 100);
	fake_start();
	s = start(&r, NULL, BIT(PROCESS_CPU_TIME));
	read_all(s);
	assert_int_equal(value(s, 20, PROCESS_CPU_TIME), 110);
	remove_path(&r, "/proc/20/task/21");
	put_thread(&r, 20, 22, 1000);
	fake_death("20/task/21/");
	read_all(s);
	assert_int_equal(value(s, 20, PROCESS_CPU_TIME), 1110);
	put_thread(&r, 20, 22, 2000);
	fake_death("20/task/22/");
	read_all(s);
	assert_int_equal(value(s, 20, PROCESS_CPU_TIME), 3110);
	read_all(s);
	assert_int_equal(value(s, 20, PROCESS_CPU_TIME), 3110);
	source->close(s);
	fake_stop();
	tree_remove(&r);
}

/* Without a descriptor for each, threads are read by path. */
TEST(many_threads)
{
	static const char *const words[] = {"20", NULL};
	struct root r = two_processes();
	size_t nr;
	void *s = start_low(&r, words, BIT(PROCESS_RUN_DELAY), &nr);

	for (unsigned tid = 100; tid < 150; tid++)
		put_thread(&r, 20, tid, 1);
	for (int again = 0; again < 3; again++) {
		read_all(s);
		assert_int_equal(value(s, 20, PROCESS_RUN_DELAY), 20 + 50 * 2);
	}
	expect_notes(s, "half of the open-file limit is in use: the files of 1 of 1 "
			"processes are reopened for each reading, which is slower; raise "
			"the limit (ulimit -n)\n");
	assert_true(get(s, 20).missed & BIT(PROCESS_RUN_DELAY));
	assert_int_equal(get(s, 20).nr_missed, 0); /* they are all there yet */
	remove_path(&r, "/proc/20/task/149");
	put_thread(&r, 20, 200, 3);
	put_thread(&r, 20, 120, 5);
	read_all(s);
	assert_true(get(s, 20).nr_missed > 0);
	assert_int_equal(value(s, 20, PROCESS_RUN_DELAY), 20 + 50 * 2 + 3 * 2 + 4 * 2);
	source->close(s);
	tree_remove(&r);
}

/* Threads that end while they are looked for take no descriptor, and are no want of any. */
TEST(short_threads)
{
	static const char *const words[] = {"20", NULL};
	struct root r = two_processes();
	void *s = start(&r, words, BIT(PROCESS_RUN_DELAY));

	for (unsigned again = 0; again < 3; again++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/20/task/%u", 100 + again);
		tree_put(&r, path, NULL, 0);
		read_all(s);
		assert_int_equal(value(s, 20, PROCESS_RUN_DELAY), 20);
		expect_notes(s, "");
	}
	source->close(s);
	tree_remove(&r);
}

/* The last descriptors below the limit are left to others, whatever the share allows. */
TEST(reserve)
{
	enum { NR = 100 };
	struct root r = tree_make();
	struct rlimit limit = {0}, low;
	int next = dup(0), spare[NR];
	unsigned nr_spare = 0;
	void *s;

	for (unsigned i = 0; i < NR; i++)
		put_process(&r, 100 + i, "one", 50, i);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	close(next);
	low = limit;
	low.rlim_cur = (unsigned)next + 50;
	s = start(&r, NULL, BIT(PROCESS_RSS)); /* the share is that of the high limit */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	read_all(s);
	while (nr_spare < NR && (spare[nr_spare] = dup(0)) >= 0)
		nr_spare++;
	for (unsigned i = 0; i < nr_spare; i++)
		close(spare[i]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(nr_spare >= 12 && nr_spare <= 16);
	assert_int_equal(source->nr(s), NR);
	assert_int_equal(value(s, 100 + NR - 1, PROCESS_RSS), (NR - 1) * PAGE);
	source->close(s);
	tree_remove(&r);
}

/* ---- failures */

static int use(void *arg)
{
	const struct root *r = arg;
	struct err e = {0};
	void *s = NULL;
	int rc = try_open(r, (const char *const[]){"812", "name:*", NULL}, ALL_FIELDS, &s, &e);

	if (rc)
		return rc;
	for (int again = 0; again < 3; again++) {
		int result = source->read(s);

		assert_true(result == 0 || source->nr(s) == 0);
		rc = rc ? rc : result;
		while (source->note(s))
			;
	}
	source->close(s);
	return rc;
}

TEST(failures)
{
	struct root r = tree_captured("processes");

	inject_every(use, &r, 20, 100);
}
