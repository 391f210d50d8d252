/*
 * A file that takes its name when it is whole: with and without file systems that know files
 * without a name, every system call failing in turn, and what its writer's death leaves.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/draft.h"

#include <signal.h>
#include <sys/wait.h>

struct place {
	struct root root;
	char path[300];
};

static void place_init(struct place *p, const char *old)
{
	p->root = tree_make();
	snprintf(p->path, sizeof(p->path), "%s/f", p->root.dir);
	if (old)
		tree_put(&p->root, "/f", old, strlen(old));
}

static void expect(const struct place *p, const char *content, size_t nr_entries)
{
	struct buf b;

	assert_int_equal(inject_entries(p->root.dir), nr_entries);
	buf_init(&b, 100);
	assert_int_equal(io_load(AT_FDCWD, p->path, &b), content ? 0 : -ENOENT);
	assert_string_equal(buf_str(&b), content ? content : "");
	buf_fini(&b);
}

static void place_fini(struct place *p)
{
	tree_remove(&p->root);
}

/* Only content that starts with "ours" may be replaced. */
static int is_ours(int fd)
{
	char text[4];
	ssize_t n = io_read_full(fd, text, 4);

	return n < 0 ? (int)n : n == 4 && memcmp(text, "ours", 4) == 0;
}

/* File systems without O_TMPFILE (NFS, FUSE), and machines without /proc. */
static int openat_named(int dirfd, const char *path, int flags, mode_t mode)
{
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return -EOPNOTSUPP;
	return sys_kernel_ops.openat(dirfd, path, flags, mode);
}

static int fstatat_without_proc(int dirfd, const char *path, struct stat *st, int flags)
{
	if (strncmp(path, "/proc/", 6) == 0)
		return -ENOENT;
	return sys_kernel_ops.fstatat(dirfd, path, st, flags);
}

static struct sys_ops named_ops, procless_ops;

static const struct sys_ops *const kinds[] = {NULL, &named_ops, &procless_ops};

/* Whether a file that is being written has a name: the file system of the tests may be one of those
 * too. */
static bool has_name(const struct sys_ops *kind)
{
	struct root r = tree_make();
	int fd = open(r.dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	tree_remove(&r);
	return kind || fd < 0;
}

HOOK(before_all)
{
	named_ops = procless_ops = sys_kernel_ops;
	named_ops.openat = openat_named;
	procless_ops.fstatat = fstatat_without_proc;
}

static int write_f(struct place *p, struct err *e)
{
	struct draft d = DRAFT_NONE;
	int rc = draft_open(&d, p->path, e);

	if (rc)
		return rc;
	rc = io_write_full(d.fd, "ours new", 8);
	if (rc == 0)
		return draft_publish(&d, is_ours, e);
	draft_drop(&d);
	return err_set(e, rc, "not written");
}

TEST(published)
{
	static const char *const before[] = {NULL, "ours old"};

	for (size_t i = 0; i < NR(kinds) * NR(before); i++) {
		mode_t mask = umask(0);
		struct err e = {0};
		struct place p;
		struct stat st;

		place_init(&p, before[i % 2]);
		sys_set_ops(kinds[i / 2]);
		assert_int_equal(write_f(&p, &e), 0);
		sys_set_ops(NULL);
		umask(mask);
		expect(&p, "ours new", 1);
		assert_int_equal(stat(p.path, &st), 0);
		assert_int_equal(st.st_mode, S_IFREG | 0600);
		assert_int_equal(st.st_nlink, 1);
		place_fini(&p);
	}
}

/* Until it is published the old file is what everybody sees. */
TEST(meanwhile)
{
	for (size_t i = 0; i < NR(kinds); i++) {
		struct draft d = DRAFT_NONE;
		struct err e = {0};
		struct place p;

		place_init(&p, "ours old");
		sys_set_ops(kinds[i]);
		assert_int_equal(draft_open(&d, p.path, &e), 0);
		assert_int_equal(io_write_full(d.fd, "ours new", 8), 0);
		expect(&p, "ours old", has_name(kinds[i]) ? 2 : 1);
		draft_drop(&d);
		sys_set_ops(NULL);
		assert_int_equal(d.fd, -1);
		draft_drop(&d);
		expect(&p, "ours old", 1);
		place_fini(&p);
	}
}

TEST(refused)
{
	for (size_t i = 0; i < NR(kinds); i++) {
		struct err e = {0};
		struct place p;

		place_init(&p, "a letter");
		sys_set_ops(kinds[i]);
		assert_int_equal(write_f(&p, &e), -EEXIST);
		sys_set_ops(NULL);
		assert_true(strncmp(e.msg, p.path, strlen(p.path)) == 0);
		expect(&p, "a letter", 1);
		assert_int_equal(unlink(p.path), 0);
		assert_int_equal(symlink("target", p.path), 0);
		sys_set_ops(kinds[i]);
		assert_int_equal(write_f(&p, NULL), -EEXIST);
		sys_set_ops(NULL);
		expect(&p, NULL, 1); /* the link, and nothing where it points to */
		place_fini(&p);
	}
}

TEST(no_folder)
{
	struct draft d = DRAFT_NONE;
	struct err e = {0};

	assert_int_equal(draft_open(&d, "/no/such/folder/f", &e), -ENOENT);
	assert_int_equal(d.fd, -1);
	assert_int_equal(draft_open(&d, "/tmp/", &e), -EINVAL);
	draft_drop(&d);
}

static int openat_named_failing(int dirfd, const char *path, int flags, mode_t mode)
{
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return inject_fails() ? inject.error : -EOPNOTSUPP;
	return inject_openat(dirfd, path, flags, mode);
}

/* One failure: the old file or the new one, whole, and nothing beside it. Once the new one has its
 * name, what fails is to bring that to the disk. */
static bool try_failure(unsigned n, int error, bool is_named)
{
	struct sys_ops ops;
	size_t nr_fds = inject_open_fds();
	struct err e = {0};
	struct place p;
	struct stat old, now;
	int rc;

	place_init(&p, "ours old");
	assert_int_equal(stat(p.path, &old), 0);
	inject_sys(n, error);
	ops = *sys();
	ops.openat = is_named ? openat_named_failing : ops.openat;
	sys_set_ops(&ops);
	rc = write_f(&p, &e);
	inject_stop();
	assert_true(rc == 0 || (inject.fired && rc == error && e.code == error));
	assert_int_equal(stat(p.path, &now), 0);
	expect(&p, now.st_ino == old.st_ino ? "ours old" : "ours new", 1);
	assert_true(rc || now.st_ino != old.st_ino);
	place_fini(&p);
	assert_int_equal(inject_open_fds(), nr_fds);
	return inject.fired;
}

TEST(every_call_fails)
{
	static const int errors[] = {-ENOSPC, -EIO, -EACCES};

	for (size_t i = 0; i < 2 * NR(errors); i++) {
		unsigned n = 1;

		while (try_failure(n, errors[i / 2], i % 2))
			n++;
		/* openat, getrandom, openat, fstatat or openat, write, fsync, (linkat,) renameat2,
		 * fstatat, openat, read, close, renameat2, fsync, close, close */
		assert_true(n > 15);
	}
}

static struct draft dying = DRAFT_NONE; /* for a signal's handler */

static void on_signal(int number)
{
	(void)number;
	draft_forget(&dying);
	_exit(0);
}

static void write_until_killed(const char *path, int told)
{
	sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_signal}, NULL);
	if (draft_open(&dying, path, NULL) == 0 && io_write_full(dying.fd, "ours new", 8) == 0 &&
	    write(told, "", 1) == 1)
		pause();
	_exit(1);
}

/* How the writer ends does not matter; but a kill leaves what has a name. */
TEST(killed)
{
	static const int signals[] = {SIGTERM, SIGKILL};

	for (size_t i = 0; i < NR(kinds) * NR(signals); i++) {
		bool leaves = has_name(kinds[i / 2]) && signals[i % 2] == SIGKILL;
		int told[2], status;
		struct place p;
		char byte;
		pid_t pid;

		place_init(&p, "ours old");
		assert_int_equal(pipe(told), 0);
		sys_set_ops(kinds[i / 2]);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			write_until_killed(p.path, told[1]);
		sys_set_ops(NULL);
		assert_int_equal(read(told[0], &byte, 1), 1);
		assert_int_equal(kill(pid, signals[i % 2]), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		expect(&p, "ours old", leaves ? 2 : 1);
		close(told[0]);
		close(told[1]);
		place_fini(&p);
	}
}
