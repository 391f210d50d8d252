/*
 * BPF programs: those that are loaded and go away, whose they are, and what refuses. The kernel is
 * a stand-in.
 */
#include "kit.h"
#include "test_things_many.h"
#include "tree.h"

#include "base/err.h"
#include "base/sys.h"
#include "bpf/program_runs.h"
#include "collect/bpf_program.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { MAX_LOADED = 5000, ALL = (1 << BPF_PROGRAM_NR_FIELDS) - 1 };

static struct {
	struct program_runs list[MAX_LOADED];
	size_t nr;
	int refused, failed; /* -errno */
	int fd;              /* that enables the counting; -1: it is off */
} loaded = {.fd = -1};

int program_runs_open(int *fd, struct err *e)
{
	if (loaded.refused)
		return err_set(e, loaded.refused, "for root only");
	loaded.fd = *fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

int program_runs_each(program_runs_fn *fn, void *arg)
{
	int rc = loaded.failed;

	assert_true(fcntl(loaded.fd, F_GETFD) >= 0);
	for (size_t i = 0; i < loaded.nr && rc == 0; i++)
		rc = fn(arg, &loaded.list[i]);
	return rc;
}

static void load(uint32_t id, const char *name, uint64_t run_ns, uint64_t nr_runs)
{
	struct program_runs *p = &loaded.list[loaded.nr++];

	*p = (struct program_runs){.id = id, .run_ns = run_ns, .nr_runs = nr_runs};
	snprintf(p->name, sizeof(p->name), "%s", name);
}

/* A descriptor of a process: what it is, and what the kernel says of it. */
static void hold(const struct root *r, unsigned pid, const char *comm, unsigned fd,
		 const char *what, const char *info)
{
	char path[64], full[512];

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	tree_text(r, path, comm);
	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%u", pid, fd);
	tree_text(r, path, info);
	snprintf(path, sizeof(path), "/proc/%u/fd/none", pid); /* for its folder */
	tree_text(r, path, "");
	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	snprintf(full, sizeof(full), "%s%s/%u", r->dir, path, fd);
	assert_int_equal(symlink(what, full), 0);
}

TEST(come_and_go)
{
	struct root r = tree_make();
	struct many m;

	hold(&r, 300, "child\n", 5, "anon_inode:bpf-prog", "pos:\t0\nprog_id:\t7\n");
	hold(&r, 20, "loader (x)\n", 5, "anon_inode:bpf-prog", "pos:\t0\nprog_id:\t7\n");
	hold(&r, 20, "loader (x)\n", 6, "anon_inode:bpf_link",
	     "pos:\t0\nlink_id:\t1\nprog_id:\t71\n");
	hold(&r, 20, "loader (x)\n", 7, "anon_inode:bpf-map", "pos:\t0\nmap_id:\t9\n");
	hold(&r, 20, "loader (x)\n", 8, "/tmp/x", "pos:\t0\nprog_id:\t9\n");
	load(7, "on_switch", 1000, 10);
	load(9, "", 2000, 20);
	load(71, "a\x1b", 3000, 30);
	many_open(&m, &collect_bpf_program_source, &r, "", ALL);
	loaded.list[0].run_ns = 1500;
	loaded.list[0].nr_runs = 15;
	many_read(&m);
	many_expect(&m, "0 7 on_switch (loader (x) 20) 0=1500 1=15\n"
			"1 9 0=2000 1=20\n"
			"2 71 a? (loader (x) 20) 0=3000 1=30\n");
	loaded.list[1] = loaded.list[2];
	loaded.nr = 2;
	hold(&r, 400, "late\n", 3, "anon_inode:bpf-prog", "pos:\t0\nprog_id:\t700\n");
	load(700, "new", 5, 1);
	many_read(&m);
	many_expect(&m, "0 7 on_switch (loader (x) 20) 0=1500 1=15\n"
			"2 71 a? (loader (x) 20) 0=3000 1=30\n"
			"3 700 new (late 400) 0=5 1=1\n");
	loaded.nr = 0;
	many_read(&m);
	many_expect(&m, "");
	many_close(&m);
	assert_int_equal(fcntl(loaded.fd, F_GETFD), -1); /* the kernel counts no more */
	tree_remove(&r);
}

/* Only what is wanted has values. */
TEST(one_field)
{
	struct root r = tree_make();
	struct many m;

	load(1, "x", 1000, 10);
	many_open(&m, &collect_bpf_program_source, &r, "", 1 << BPF_RUN_COUNT);
	many_read(&m);
	many_expect_fields(&m, "1 x", 1 << BPF_RUN_COUNT, 0, 0, 0);
	many_close(&m);
	loaded.nr = 0;
	tree_remove(&r);
}

TEST(more_than_there_is_room_for)
{
	struct root r = tree_make();
	struct many m;

	for (uint32_t i = 0; i < MAX_LOADED; i++)
		load(i + 1, "x", i, 1);
	many_open(&m, &collect_bpf_program_source, &r, "", ALL);
	many_read(&m);
	assert_int_equal(m.source->nr(m.state), 4096);
	many_expect_note(&m, "4096");
	many_close(&m);
	loaded.nr = 0;
	tree_remove(&r);
}

TEST(refusals)
{
	struct root r = tree_make();
	struct many m;

	loaded.refused = -EPERM;
	assert_int_equal(many_try_open(&m, &collect_bpf_program_source, &r, "", ALL), -EPERM);
	assert_string_equal(m.e.msg, "for root only");
	loaded.refused = 0;
	loaded.failed = -EPERM;
	assert_int_equal(many_try_open(&m, &collect_bpf_program_source, &r, "", ALL), -EPERM);
	assert_int_equal(fcntl(loaded.fd, F_GETFD), -1);
	loaded.failed = 0;
	many_open(&m, &collect_bpf_program_source, &r, "", ALL);
	loaded.failed = -EIO;
	assert_int_equal(m.source->read(m.state), -EIO);
	many_close(&m);
	loaded.failed = 0;
	tree_remove(&r);
}
