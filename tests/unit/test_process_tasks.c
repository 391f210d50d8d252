/*
 * Threads that come and go: their list, in order whatever the folder's, and their sums, which never
 * go back.
 */
#include "kit.h"

#include "proc/ids.h"
#include "process/task_table.h"

enum { MAX_STEPS = 6, MAX_TIDS = 4 };

/* Threads as they are found, and the CPU time of each; the sum afterwards. */
static const struct {
	const char *what;
	struct step {
		size_t nr;
		uint32_t tids[MAX_TIDS];
		uint64_t cpu_ns[MAX_TIDS];
		uint64_t sum;
		unsigned nr_dropped;
	} steps[MAX_STEPS];
	size_t nr_steps;
} lives[] = {
    {"none", {{0}}, 1},
    {"one that works", {{1, {5}, {10}, 10}, {1, {5}, {17}, 17}}, 2},
    {"a new one counts in full", {{1, {5}, {10}, 10}, {2, {5, 9}, {10, 100}, 110}}, 2},
    {"an ended one stays in the sum",
     {{2, {5, 9}, {10, 100}, 110}, {1, {9}, {120}, 130, 1}, {0, {0}, {0}, 130, 1}},
     3},
    {"between two others",
     {{3, {5, 7, 9}, {1, 2, 4}, 7}, {2, {5, 9}, {1, 4}, 7, 1}, {3, {5, 6, 9}, {1, 8, 4}, 15}},
     3},
    {"all others", {{2, {5, 7}, {1, 2}, 3}, {2, {6, 8}, {4, 8}, 15, 2}}, 2},
    {"before and behind", {{1, {5}, {1}, 1}, {3, {4, 5, 6}, {2, 1, 4}, 7}}, 2},
    {"its number is another's", {{1, {5}, {10}, 10}, {1, {5}, {3}, 13}, {1, {5}, {4}, 14}}, 3},
};

static void count(struct task *gone, void *arg)
{
	unsigned *nr = arg;

	assert_int_equal(gone->fd, (int)gone->tid + 1000);
	++*nr;
}

static void take_step(struct task_table *t, const struct step *s)
{
	unsigned nr_dropped = 0;
	struct task_times sum;

	assert_int_equal(task_table_sync(t, s->tids, s->nr, count, &nr_dropped), 0);
	assert_int_equal(nr_dropped, s->nr_dropped);
	assert_int_equal(t->nr, s->nr);
	for (size_t i = 0; i < s->nr; i++) {
		const struct task_times now = {s->cpu_ns[i], 2 * s->cpu_ns[i]};
		struct task *task = &t->list[i];

		assert_int_equal(task->tid, s->tids[i]);
		assert_true(task->fd == -1 || task->fd == (int)task->tid + 1000);
		task->fd = (int)task->tid + 1000;
		task_table_set(t, task, &now);
	}
	task_table_sum(t, &sum);
	assert_int_equal(sum.cpu_ns, s->sum);
	assert_int_equal(sum.delay_ns, 2 * s->sum);
}

TEST(lives)
{
	for (size_t i = 0; i < NR(lives); i++) {
		struct task_table t = {0};

		print_message("%s\n", lives[i].what);
		for (size_t k = 0; k < lives[i].nr_steps; k++)
			take_step(&t, &lives[i].steps[k]);
		task_table_fini(&t);
		assert_null(t.list);
	}
}

/* Without memory nothing changes. */
TEST(no_memory)
{
	const uint32_t tids[] = {5, 6};
	const struct task_times now = {10, 20};
	struct task_times sum;
	struct task_table t = {0};
	unsigned nr = 0;

	assert_int_equal(task_table_sync(&t, tids, 1, count, &nr), 0);
	task_table_set(&t, &t.list[0], &now);
	inject_mem(1);
	assert_int_equal(task_table_sync(&t, tids + 1, 1, count, &nr), -ENOMEM);
	inject_stop();
	assert_int_equal(nr, 0);
	assert_int_equal(t.nr, 1);
	assert_int_equal(t.list[0].tid, 5);
	task_table_sum(&t, &sum);
	assert_int_equal(sum.cpu_ns, 10);
	task_table_fini(&t);
}

static int open_folder(const struct root *r)
{
	int fd = root_open(r, "/proc");

	assert_true(fd >= 0);
	return fd;
}

static void put_all(const struct root *r, const char *const *names, size_t nr)
{
	char path[128];

	for (size_t i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "/proc/%s", names[i]);
		tree_put(r, path, "", 0);
	}
}

TEST(ids)
{
	static const char *const names[] = {
	    "977", "1",          "12",          "self",
	    "3x",  "007",        "-4",          "+4",
	    "0",   "30",         "99999999999", "2147483647",
	    "2",   "2147483648", "5 ",          "18446744073709551617",
	};
	static const uint32_t expected[] = {0, 1, 2, 12, 30, 977, INT32_MAX};
	struct root r = tree_make();
	struct proc_ids ids = {0};
	int fd;

	put_all(&r, names, NR(names));
	fd = open_folder(&r);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(proc_ids_load(&ids, fd), 0);
		assert_int_equal(ids.nr, NR(expected));
		assert_memory_equal(ids.list, expected, sizeof(expected));
	}
	tree_put(&r, "/proc/31", "", 0);
	assert_int_equal(proc_ids_load(&ids, fd), 0);
	assert_int_equal(ids.nr, NR(expected) + 1);
	close(fd);
	proc_ids_fini(&ids);
	tree_remove(&r);
}

/* More than one call of the kernel gives. */
TEST(many_ids)
{
	enum { NR = 1500 };
	struct root r = tree_make();
	struct proc_ids ids = {0};
	char path[64];
	int fd;

	for (unsigned i = 0; i < NR; i++) {
		snprintf(path, sizeof(path), "/proc/%u", 100000 + i * 7919 % NR);
		tree_put(&r, path, "", 0);
	}
	fd = open_folder(&r);
	assert_int_equal(proc_ids_load(&ids, fd), 0);
	assert_int_equal(ids.nr, NR);
	for (unsigned i = 0; i < NR; i++)
		assert_int_equal(ids.list[i], 100000 + i);
	close(fd);
	proc_ids_fini(&ids);
	tree_remove(&r);
}

TEST(ids_fail)
{
	struct root r = tree_make();
	struct proc_ids ids = {0};
	int fd;

	tree_put(&r, "/proc/1", "", 0);
	fd = open_folder(&r);
	for (unsigned n = 1; n <= 2; n++) {
		inject_mem(n);
		assert_int_equal(proc_ids_load(&ids, fd), -ENOMEM);
		inject_stop();
		assert_int_equal(ids.nr, 0);
		proc_ids_fini(&ids);
	}
	close(fd);
	fd = root_open(&r, "/proc/1");
	assert_int_equal(proc_ids_load(&ids, fd), -ENOTDIR);
	close(fd);
	assert_int_equal(proc_ids_load(&ids, fd), -EBADF);
	proc_ids_fini(&ids);
	tree_remove(&r);
}
