/*
 * The memory of a tree of processes at a time: who belongs to it, what is counted of each, and the
 * largest sum; of a control group, too. Numbers of processes that cannot exist are of a made /proc.
 */
#include "kit.h"
#include "tree.h"

#include "base/buf.h"
#include "base/str.h"
#include "target/memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>

enum { PAGE = 4096, TOP = 5000000, FORKED = 0x40 };

struct made {
	int pid, parent, nr_threads, start, size, rss;
	unsigned flags;
	int minor, major, user, system; /* faults, ticks */
};

static void put(const struct root *r, struct made p)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%d/stat", p.pid);
	snprintf(text, sizeof(text),
		 "%d (a) b) S %d 1 1 0 -1 %u %d 9 %d 9 %d %d 9 9 20 0 %d 0 %d %d 77 1844 1\n",
		 p.pid, p.parent, p.flags, p.minor, p.major, p.user, p.system,
		 p.nr_threads ? p.nr_threads : 1, p.start, p.size);
	tree_text(r, path, text);
	snprintf(path, sizeof(path), "/proc/%d/statm", p.pid);
	snprintf(text, sizeof(text), "%d %d 3 1 0 9 0\n", p.size, p.rss);
	tree_text(r, path, text);
}

static void put_children(const struct root *r, int pid, int tid, const char *children)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, tid);
	tree_text(r, path, children);
}

static struct target_memory *start(const struct root *r, bool has_children, int cgroup)
{
	const struct target_memory_config config = {.root = r,
						    .pids = (const pid_t[]){TOP},
						    .nr_pids = cgroup < 0,
						    .has_children = has_children,
						    .cgroup = cgroup,
						    .page_bytes = PAGE};
	struct target_memory *m;

	assert_int_equal(target_memory_new(&config, &m), 0);
	return m;
}

/* Of one reading. */
static uint64_t peak(struct target_memory *m)
{
	struct target_peak p;

	target_memory_read(m);
	target_memory_take(m, &p);
	assert_false(p.is_of_cgroup || p.is_exact);
	assert_int_equal(p.bytes % PAGE, 0);
	return p.bytes / PAGE;
}

/* TOP with two threads, a child of each, and a grandchild. */
static struct root make_tree(void)
{
	struct root r = tree_make();

	put(&r, (struct made){TOP, 1, 2, 7, 900, 100, 0});
	put_children(&r, TOP, TOP, "5000001 \n");
	put_children(&r, TOP, TOP + 9, "5000002 5000099");
	put(&r, (struct made){TOP + 1, TOP, 1, 8, 800, 20, 0});
	put_children(&r, TOP + 1, TOP + 1, "5000003 ");
	put(&r, (struct made){TOP + 2, TOP, 1, 8, 700, 30, 0});
	put(&r, (struct made){TOP + 3, TOP + 1, 1, 8, 600, 5, 0});
	put(&r, (struct made){TOP + 10, 1, 1, 8, 600, 1000, 0}); /* another's */
	return r;
}

/* One that has ended is not in the list. */
static void check_list(struct target_memory *m)
{
	BUF_AUTO(names, 256);
	BUF_AUTO(first, 256);

	assert_int_equal(target_memory_list(m, TOP, 8, &names), 2);
	assert_string_equal(buf_str(&names), "5000002 (), 5000003 (left)");
	assert_int_equal(target_memory_list(m, 0, 1, &first), 3);
	assert_string_equal(buf_str(&first), "5000000 ()");
}

TEST(tree)
{
	struct root r = make_tree();
	struct target_memory *m = start(&r, true, -1), *alone = start(&r, false, -1);
	struct target_peak p;

	assert_int_equal(peak(m), 155);
	assert_int_equal(peak(alone), 100);
	target_memory_take(m, &p);
	assert_int_equal(p.bytes, 0); /* of no reading */
	target_memory_read(m);
	target_memory_take(m, &p);
	assert_int_equal(p.nr_processes, 4);
	/* the largest, not the last */
	target_memory_read(m);
	put(&r, (struct made){TOP, 1, 2, 7, 900, 90, 0});
	assert_int_equal(peak(m), 155);
	assert_int_equal(peak(m), 145);
	/* an orphan is followed */
	tree_drop(&r, "/proc/5000001");
	put(&r, (struct made){TOP + 3, 1, 1, 8, 600, 70, 0});
	tree_text(&r, "/proc/5000003/comm", "left\n");
	assert_int_equal(peak(m), 190);
	check_list(m);
	target_memory_take(m, &p); /* a list reads too */
	/* a number that is in use again, in the list of another's children or not */
	put(&r, (struct made){TOP + 3, 1, 1, 9, 600, 70, 0});
	assert_int_equal(peak(m), 120);
	put(&r, (struct made){TOP + 2, 1, 1, 9, 700, 30, 0});
	assert_int_equal(peak(m), 90);
	target_memory_free(m);
	target_memory_free(alone);
	target_memory_free(NULL);
	tree_remove(&r);
}

static void note_processes(void *arg, const pid_t *pids, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		buf_printf(arg, "%s%d", i ? " " : "", pids[i] - TOP);
	buf_adds(arg, ".");
}

static void read_and_pass(struct target_memory *m)
{
	target_memory_read(m);
	target_memory_pass(m);
}

/* Those with memory of their own; not a command before its exec, nor what shares its memory. */
TEST(processes_are_passed_on)
{
	struct root r = make_tree();
	BUF_AUTO(text, 256);
	struct target_memory_config config = {.root = &r,
					      .pids = (const pid_t[]){TOP},
					      .nr_pids = 1,
					      .has_children = true,
					      .cgroup = -1,
					      .page_bytes = PAGE,
					      .on_processes = note_processes,
					      .arg = &text};
	struct target_memory *m, *command;

	assert_int_equal(target_memory_new(&config, &m), 0);
	config.counts_all = true;
	assert_int_equal(target_memory_new(&config, &command), 0);
	read_and_pass(m);
	read_and_pass(command);
	assert_string_equal(buf_str(&text), "0 1 2 3.0 1 2 3.");
	buf_reset(&text);
	put(&r, (struct made){TOP, getpid(), 2, 7, 900, 90, FORKED});
	read_and_pass(m);
	read_and_pass(command);
	assert_string_equal(buf_str(&text), "0 1 2 3.1 2 3.");
	buf_reset(&text);
	put(&r, (struct made){TOP, getpid(), 2, 7, 900, 90, 0});
	put(&r, (struct made){TOP + 1, TOP, 1, 7, 900, 90, FORKED}); /* vfork */
	read_and_pass(command);
	assert_string_equal(buf_str(&text), "0 2 3.");
	buf_reset(&text);
	tree_drop(&r, "/proc/5000000");
	tree_drop(&r, "/proc/5000001");
	read_and_pass(command);
	assert_string_equal(buf_str(&text), "2 3."); /* orphans */
	buf_reset(&text);
	tree_drop(&r, "/proc/5000002");
	tree_drop(&r, "/proc/5000003");
	read_and_pass(command);
	assert_string_equal(buf_str(&text), "");
	target_memory_free(m);
	target_memory_free(command);
	tree_remove(&r);
}

static void put_switches(const struct root *r, int pid, int tid, int voluntary, int involuntary)
{
	char path[64], text[160];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	snprintf(text, sizeof(text),
		 "Name:\tx\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n",
		 voluntary, involuntary);
	tree_text(r, path, text);
}

static void check_switches(struct target_memory *m, uint64_t nr, bool are_all)
{
	struct target_used used;

	target_memory_used(m, &used);
	assert_int_equal(used.switches, nr);
	assert_int_equal(used.are_switches_all, are_all);
}

static struct target_memory *start_switches(const struct root *r, bool counts_all)
{
	const struct target_memory_config config = {.root = r,
						    .pids = (const pid_t[]){TOP},
						    .nr_pids = 1,
						    .has_children = true,
						    .cgroup = -1,
						    .page_bytes = PAGE,
						    .counts_all = counts_all,
						    .has_switches = true};
	struct target_memory *m;

	assert_int_equal(target_memory_new(&config, &m), 0);
	target_memory_read(m);
	return m;
}

/* Differences of each thread; all of one that began later, and what was seen of one that ended. */
TEST(switches)
{
	struct root r = make_tree();
	struct target_memory *m, *all;

	tree_text(&r, "/proc/stat", "cpu 1 2\nctxt 9\nprocesses 500\nprocs_running 1\n");
	put_switches(&r, TOP, TOP, 100, 10);
	put_switches(&r, TOP, TOP + 9, 7, 0);
	put_switches(&r, TOP + 3, TOP + 3, 5, 5);
	put_switches(&r, TOP + 10, TOP + 10, 1000, 1000); /* another's */
	m = start_switches(&r, false);
	all = start_switches(&r, true);
	check_switches(m, 0, true);
	check_switches(all, 127, true);
	put_switches(&r, TOP, TOP, 120, 11);
	put_switches(&r, TOP + 3, TOP + 3, 6, 5);
	check_switches(m, 22, true);
	put_switches(&r, TOP + 3, TOP + 77, 4, 0);
	check_switches(m, 26, true);
	/* one may have come and gone */
	tree_text(&r, "/proc/stat", "cpu 1 2\nctxt 9\nprocesses 502\nprocs_running 1\n");
	check_switches(m, 26, false);
	tree_text(&r, "/proc/stat", "cpu 1 2\nctxt 9\nprocesses 500\nprocs_running 1\n");
	check_switches(m, 26, true);
	/* one has gone, and its number is another's */
	put_switches(&r, TOP, TOP + 9, 3, 0);
	check_switches(m, 29, false);
	tree_drop(&r, "/proc/5000000/task/5000009");
	check_switches(m, 29, false);
	tree_drop(&r, "/proc/stat");
	check_switches(all, 153, false);
	target_memory_free(m);
	target_memory_free(all);
	tree_remove(&r);
}

/* From the first reading on: of a process that began later all, of one that ended what was seen. */
TEST(used)
{
	const uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	struct root r = make_tree();
	struct target_memory *m = start(&r, true, -1);
	struct target_used used;

	put(&r, (struct made){TOP, 1, 2, 7, 900, 100, 0, 1000, 10, 50, 60});
	put(&r, (struct made){TOP + 1, TOP, 1, 8, 800, 20, 0, 500, 5, 5, 5});
	target_memory_read(m);
	put(&r, (struct made){TOP, 1, 2, 7, 900, 100, 0, 1001, 12, 53, 64});
	put(&r, (struct made){TOP + 1, TOP, 1, 8, 800, 20, 0, 600, 5, 5, 5});
	target_memory_used(m, &used);
	assert_int_equal(used.minor_faults, 101);
	assert_int_equal(used.major_faults, 2);
	assert_int_equal(used.user_ns, 3 * tick_ns);
	assert_int_equal(used.system_ns, 4 * tick_ns);
	put(&r, (struct made){TOP + 1, TOP, 1, 9, 800, 20, 0, 40, 0, 0, 7}); /* used again */
	target_memory_used(m, &used);
	assert_int_equal(used.minor_faults, 141);
	assert_int_equal(used.system_ns, 11 * tick_ns);
	tree_drop(&r, "/proc/5000001");
	target_memory_used(m, &used);
	assert_int_equal(used.minor_faults, 141);
	target_memory_free(m);
	tree_remove(&r);
}

/* Root reads AT_SECURE (23) of programs of 64 and of 32 bits. A process that was forked and has not
 * called exec has its parent's; what had it at the first reading is measured. */
TEST(secure)
{
	static const uint64_t wide[] = {33, 4096, 23, 1, 0, 0}, plain[] = {33, 4096, 23, 0, 0, 0};
	static const uint32_t narrow[] = {32, 4096, 23, 1, 0, 0};
	struct root r = make_tree();
	struct target_memory *m = start(&r, true, -1);
	BUF_AUTO(names, 256);
	struct utsname name;

	assert_int_equal(uname(&name), 0);
	if (geteuid() != 0 || strtoul(name.release, NULL, 10) < 6) { /* 5.7 has it */
		target_memory_free(m);
		tree_remove(&r);
		SKIP("what a program is told at its start is only read by root, from Linux 5.7");
	}
	tree_put(&r, "/proc/5000000/auxv", wide, sizeof(wide));
	tree_put(&r, "/proc/5000001/auxv", plain, sizeof(plain));
	target_memory_read(m);
	assert_int_equal(target_memory_hidden(m, &names), 0);
	tree_put(&r, "/proc/5000001/auxv", wide, sizeof(wide));
	tree_put(&r, "/proc/5000002/auxv", narrow, sizeof(narrow));
	tree_put(&r, "/proc/5000003/auxv", wide, sizeof(wide)); /* a child of 5000001 */
	put(&r, (struct made){TOP + 2, TOP, 1, 8, 700, 30, FORKED});
	target_memory_read(m);
	assert_int_equal(target_memory_hidden(m, &names), 1);
	put(&r, (struct made){TOP + 2, TOP, 1, 8, 700, 30, 0});
	target_memory_read(m);
	buf_reset(&names);
	assert_int_equal(target_memory_hidden(m, &names), 2);
	assert_string_equal(buf_str(&names), "5000001 (), 5000002 ()");
	target_memory_free(m);
	tree_remove(&r);
}

/* What the kernel cannot compare is compared by its size. */
TEST(forked)
{
	struct root r = make_tree();
	struct target_memory *m = start(&r, true, -1);

	put(&r, (struct made){TOP + 2, TOP, 1, 8, 900, 30, FORKED});
	assert_int_equal(peak(m), 125);
	put(&r, (struct made){TOP + 2, TOP, 1, 8, 900, 30, 0});
	assert_int_equal(peak(m), 155);
	put(&r, (struct made){TOP + 2, TOP, 1, 8, 901, 30, FORKED});
	assert_int_equal(peak(m), 155);
	target_memory_free(m);
	tree_remove(&r);
}

/* Nothing is invented for damaged text, or without memory. */
TEST(damaged)
{
	static const char *const texts[] = {"", "\n", "5000000", "5000000 (x) S 1 1", ")"};
	struct root r = make_tree();

	for (size_t i = 0; i < NR(texts); i++) {
		struct target_memory *m = start(&r, true, -1);

		tree_text(&r, "/proc/5000000/stat", texts[i]);
		assert_int_equal(peak(m), 0);
		target_memory_free(m);
	}
	put(&r, (struct made){TOP, 1, 2, 7, 900, 100, 0});
	for (unsigned n = 1;; n++) {
		const struct target_memory_config config = {.root = &r,
							    .pids = (const pid_t[]){TOP},
							    .nr_pids = 1,
							    .has_children = true,
							    .cgroup = -1,
							    .page_bytes = PAGE};
		struct target_memory *m = NULL;
		int rc;

		inject_mem(n);
		rc = target_memory_new(&config, &m);
		if (rc == 0)
			target_memory_read(m);
		inject_stop();
		if (!inject.fired) {
			assert_int_equal(peak(m), 155);
			target_memory_free(m);
			break;
		}
		if (rc == 0)
			assert_true(peak(m) <= 155);
		target_memory_free(m);
	}
	tree_remove(&r);
}

static int open_folder(const struct root *r, const char *name)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s%s", r->dir, name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* By its processes; or, if it has them, by its own numbers. */
TEST(cgroup)
{
	struct root r = make_tree();
	struct target_memory *m;
	struct target_peak p;
	int fd;

	tree_text(&r, "/cg/cgroup.procs", "5000002\n0\n");
	tree_text(&r, "/cg/a/b.c/cgroup.procs", "5000003\n5000010\n");
	fd = open_folder(&r, "/cg");
	m = start(&r, false, fd);
	assert_int_equal(peak(m), 1035);
	tree_drop(&r, "/cg/a");
	assert_int_equal(peak(m), 1035); /* one that has left is still followed */
	target_memory_free(m);

	tree_text(&r, "/cg/memory.current", "7000\n");
	m = start(&r, false, fd);
	target_memory_read(m);
	tree_text(&r, "/cg/memory.current", "6000\n");
	target_memory_read(m);
	target_memory_take(m, &p);
	assert_int_equal(p.bytes, 7000);
	assert_true(p.is_of_cgroup && !p.is_exact);
	target_memory_free(m);

	tree_text(&r, "/cg/memory.peak", "99000\n"); /* since the group was made */
	m = start(&r, false, fd);
	target_memory_read(m);
	tree_text(&r, "/cg/memory.peak", "8000\n"); /* since it was reset */
	target_memory_take(m, &p);
	assert_int_equal(p.bytes, 8000);
	assert_true(p.is_of_cgroup && p.is_exact);
	target_memory_free(m);
	close(fd);
	tree_remove(&r);
}

static void touch(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		_exit(1);
}

static uint64_t rss_of(int pid)
{
	char path[64], line[256];
	const char *p;
	uint64_t rss;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	assert_int_equal(root_load_line(&root_live, path, line, sizeof(line)), 0);
	p = strchr(line, ' ');
	assert_non_null(p);
	p++;
	assert_int_equal(str_scan_u64(&p, p + strlen(p), &rss), 0);
	return rss;
}

/* A child with a child of its own, which are both counted: the second by fork with its memory, or
 * by vfork with its parent's, which is counted once. */
static void check_live(bool is_vfork)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct target_memory_config config = {.root = &root_live,
					      .nr_pids = 1,
					      .has_children = true,
					      .cgroup = -1,
					      .page_bytes = page};
	struct target_memory *m;
	struct target_peak p;
	int ready[2], second;
	uint64_t expected;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails */
		touch(32 << 20);
		pid = is_vfork ? vfork() : fork(); /* NOLINT: what is tested */
		if (!pid) {
			int self = getpid();

			prctl(PR_SET_PDEATHSIG, SIGKILL);

			if (write(ready[1], &self, sizeof(self)) != sizeof(self))
				_exit(1);
			pause();
			_exit(0);
		}
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &second, sizeof(second)), sizeof(second));
	config.pids = &pid;
	for (int with_thread = 0; with_thread <= 1; with_thread++) {
		assert_int_equal(target_memory_new(&config, &m), 0);
		assert_int_equal(with_thread ? target_memory_start(m) : 0, 0);
		for (int i = 0; i < 1000; i++) { /* until both sleep, and the thread has read */
			expected = rss_of(pid) + (is_vfork ? 0 : rss_of(second));
			if (!with_thread)
				target_memory_read(m);
			target_memory_take(m, &p);
			if (p.bytes == expected * page)
				break;
			usleep(20000);
		}
		assert_int_equal(p.bytes, expected * page);
		assert_int_equal(p.nr_processes, is_vfork ? 1 : 2);
		assert_true(p.bytes > 32 << 20);
		target_memory_free(m);
	}
	kill(second, SIGKILL);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ready[0]);
	close(ready[1]);
}

TEST(live)
{
	check_live(false);
	check_live(true);
}
