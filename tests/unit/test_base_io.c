/*
 * Whole reads and writes, and files that appear whole or not at all: what may be replaced, what
 * is refused, and every system call failing in turn.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/io.h"

#include <sys/mman.h>

/* Calls that do little: one byte at a time, and interrupted every other time. */
static unsigned nr_calls;

static ssize_t lazy_read(int fd, void *buf, size_t len)
{
	return nr_calls++ % 2 ? -EINTR : sys_kernel_ops.read(fd, buf, len < 3 ? len : 3);
}

static ssize_t lazy_write(int fd, const void *buf, size_t len)
{
	return nr_calls++ % 2 ? -EINTR : sys_kernel_ops.write(fd, buf, len < 3 ? len : 3);
}

static ssize_t lazy_pwrite(int fd, const void *buf, size_t len, off_t at)
{
	return nr_calls++ % 2 ? -EINTR : sys_kernel_ops.pwrite(fd, buf, len < 3 ? len : 3, at);
}

static ssize_t lazy_writev(int fd, const struct iovec *piece, int nr)
{
	assert_true(nr > 0 && piece->iov_len > 0); /* nothing is written in vain */
	return lazy_write(fd, piece->iov_base, piece->iov_len);
}

/* 1,000 bytes in pieces, with empty ones among them. */
static void check_lazy_pieces(char *in)
{
	struct iovec piece[] = {{NULL, 0},     {in, 1},         {in + 1, 499}, {in + 500, 0},
				{in + 500, 0}, {in + 500, 500}, {in + 1000, 0}};
	int fd = memfd_create("lazy", MFD_CLOEXEC);
	char out[1001];

	assert_int_equal(io_writev_full(fd, piece, NR(piece)), 0);
	assert_int_equal(io_writev_full(fd, piece, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(io_read_full(fd, out, sizeof(out)), 1000);
	assert_memory_equal(in, out, 1000);
	io_close(&fd);
}

TEST(lazy_kernel)
{
	struct sys_ops ops = sys_kernel_ops;
	char in[1000], out[1000];
	int fd = memfd_create("lazy", MFD_CLOEXEC);

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (char)i;
	ops.read = lazy_read;
	ops.write = lazy_write;
	ops.pwrite = lazy_pwrite;
	ops.writev = lazy_writev;
	sys_set_ops(&ops);
	assert_int_equal(io_write_full(fd, in, sizeof(in)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(io_read_full(fd, out, 999), 999);
	assert_int_equal(io_read_full(fd, out + 999, 50), 1); /* to the end of the file */
	assert_int_equal(io_read_full(fd, out, 1), 0);
	check_lazy_pieces(in);
	assert_int_equal(io_pwrite_full(fd, in + 500, 500, 0), 0); /* where writing is stays */
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 1000);
	assert_int_equal(io_pread_full(fd, in, 500, 0), 500);
	assert_memory_equal(in, in + 500, 500);
	memcpy(in, out, sizeof(in));
	sys_set_ops(NULL);
	assert_memory_equal(in, out, sizeof(in));
	io_close(&fd);
	assert_int_equal(fd, -1);
	io_close(&fd);
}

TEST(errors_pass)
{
	char c = 0;

	assert_int_equal(io_read_full(-1, &c, 1), -EBADF);
	assert_int_equal(io_write_full(-1, &c, 1), -EBADF);
	assert_int_equal(io_write_full(-1, &c, 0), 0);
	assert_int_equal(io_writev_full(-1, &(struct iovec){&c, 1}, 1), -EBADF);
	inject_sys(1, -ENOSPC);
	assert_int_equal(io_write_full(1, &c, 1), -ENOSPC);
	inject_stop();
}

/* The ceiling is exact: a file as long as it is loaded, one byte more is not. */
TEST(load_ceiling)
{
	static const size_t sizes[] = {0, 1, 255, 4095, 4096, 4097, 8192, 10000};
	struct root r = tree_make();
	static char data[10000];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i % 251);
	for (size_t i = 0; i < NR(sizes); i++)
		for (size_t max = sizes[i] ? sizes[i] - 1 : 0; max <= sizes[i] + 1; max++) {
			char path[300];
			struct buf b;

			tree_put(&r, "/f", data, sizes[i]);
			snprintf(path, sizeof(path), "%s/f", r.dir);
			buf_init(&b, max);
			assert_int_equal(io_load(AT_FDCWD, path, &b), max < sizes[i] ? -EFBIG : 0);
			assert_int_equal(b.len, max < sizes[i] ? max : sizes[i]);
			assert_memory_equal(buf_str(&b), data, b.len);
			assert_int_equal(buf_str(&b)[b.len], 0);
			buf_fini(&b);
		}
	tree_remove(&r);
}

TEST(load_others)
{
	struct root r = tree_make();
	struct buf b;

	tree_put(&r, "/f", "abc", 3);
	buf_init(&b, 100);
	assert_int_equal(root_load(&r, "/f", &b), 0);
	assert_int_equal(root_load(&r, "/f", &b), 0);
	assert_string_equal(buf_str(&b), "abcabc");
	assert_int_equal(root_load(&r, "", &b), -EISDIR);
	assert_int_equal(root_load(&r, "/g", &b), -ENOENT);
	assert_int_equal(root_load(&r, "/f/g", &b), -ENOTDIR);
	assert_string_equal(buf_str(&b), "abcabc");
	buf_fini(&b);
	tree_remove(&r);
}

TEST(open_folder)
{
	static const struct {
		const char *path, *name;
		int rc;
	} rows[] = {
	    {"name", "name", 0},
	    {"/name", "name", 0},
	    {"/tmp/name", "name", 0},
	    {"/tmp//name", "name", 0},
	    {"./name", "name", 0},
	    {"", NULL, -EINVAL},
	    {"/", NULL, -EINVAL},
	    {"/tmp/", NULL, -EINVAL},
	    {"/no/such/folder/name", NULL, -ENOENT},
	    {"/dev/null/name", NULL, -ENOTDIR},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		IO_AUTO_FD int fd = -7;
		const char *name = NULL;
		struct err e = {0};

		assert_int_equal(io_open_folder(rows[i].path, &fd, &name, &e), rows[i].rc);
		assert_int_equal(e.code, rows[i].rc);
		assert_true(rows[i].rc ? fd == -7 && !name : fd >= 0);
		if (!rows[i].rc)
			assert_string_equal(name, rows[i].name);
		else
			assert_true(strncmp(e.msg, rows[i].path, strlen(rows[i].path)) == 0);
	}
}

TEST(open_folder_long)
{
	static const size_t lengths[] = {256, 4096, 10000};
	char path[10010];

	for (size_t i = 0; i < NR(lengths); i++)
		for (int in_folder = 0; in_folder < 2; in_folder++) {
			struct err e = {0};
			const char *name;
			int fd, rc;

			memset(path, 'a', lengths[i]);
			snprintf(path + lengths[i], 3, "%s", in_folder ? "/b" : "");
			rc = io_open_folder(path, &fd, &name, &e);
			assert_int_equal(rc, -ENAMETOOLONG);
			assert_int_equal(e.code, rc);
		}
}

/* What a person may name for reading; opening what is refused must not wait. */
static const struct {
	const char *name;
	int flags, rc;
} inputs[] = {
    {"file", 0, 0},
    {"link", 0, 0},
    {"link", O_NOFOLLOW, -ELOOP},
    {"dangling", 0, -ENOENT},
    {"dangling", O_NOFOLLOW, -ELOOP},
    {"none", 0, -ENOENT},
    {"folder", 0, -EISDIR},
    {"fifo", 0, -EINVAL},
    {"to-fifo", 0, -EINVAL},
    {"to-null", 0, -EINVAL},
};

static struct root put_inputs(void)
{
	struct root r = tree_make();
	IO_AUTO_FD int dirfd = open(r.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	tree_put(&r, "/file", "text", 4);
	tree_put(&r, "/folder", NULL, 0);
	assert_int_equal(symlinkat("file", dirfd, "link"), 0);
	assert_int_equal(symlinkat("nowhere", dirfd, "dangling"), 0);
	assert_int_equal(mkfifoat(dirfd, "fifo", 0600), 0);
	assert_int_equal(symlinkat("fifo", dirfd, "to-fifo"), 0);
	assert_int_equal(symlinkat("/dev/null", dirfd, "to-null"), 0);
	return r;
}

TEST(open_regular)
{
	struct root r = put_inputs();

	for (size_t i = 0; i < NR(inputs); i++) {
		char path[300];
		struct err e = {0};
		struct stat st;
		int fd;

		snprintf(path, sizeof(path), "%s/%s", r.dir, inputs[i].name);
		fd = io_open_regular(AT_FDCWD, path, inputs[i].flags, &st);
		assert_int_equal(fd < 0 ? fd : 0, inputs[i].rc);
		assert_true(fd < 0 || st.st_size == 4);
		io_close(&fd);
		fd = io_open_input(path, &e);
		assert_int_equal(fd < 0, e.code != 0);
		if (!inputs[i].flags)
			assert_int_equal(e.code, inputs[i].rc);
		assert_string_equal(e.source, fd < 0 ? path : "");
		io_close(&fd);
	}
	tree_remove(&r);
}

/* Root is led only to what who led it may read: a link of another user's to a file that is not that
 * user's, or a second name, is none. */
TEST(open_linked)
{
	static const struct {
		const char *name;
		int rc;
	} cases[] = {{"file", 0},
		     {"link", 0}, /* root's */
		     {"theirs/link", -ELOOP},
		     {"theirs/own-link", 0},
		     {"theirs/own", 0},
		     {"theirs/recorded", 0}, /* by root */
		     {"theirs/second", -EMLINK},
		     {"theirs/second-open", 0},
		     {"second", 0},
		     {"theirs/nothing", -ENOENT},
		     {"folder", -EISDIR}};
	enum { OTHER = 1234 };
	struct root r = put_inputs();
	IO_AUTO_FD int dirfd = open(r.dir, O_RDONLY | O_DIRECTORY);

	if (geteuid())
		SKIP("only root is led elsewhere");
	assert_int_equal(fchmodat(dirfd, "file", 0600, 0), 0);
	tree_put(&r, "/theirs/own", "text", 4);
	tree_put(&r, "/theirs/recorded", "text", 4);
	tree_put(&r, "/open", "text", 4);
	assert_int_equal(fchmodat(dirfd, "theirs/recorded", 0600, 0), 0);
	assert_int_equal(fchmodat(dirfd, "open", 0644, 0), 0);
	assert_int_equal(symlinkat("../file", dirfd, "theirs/link"), 0);
	assert_int_equal(symlinkat("own", dirfd, "theirs/own-link"), 0);
	assert_int_equal(linkat(dirfd, "file", dirfd, "theirs/second", 0), 0);
	assert_int_equal(linkat(dirfd, "file", dirfd, "second", 0), 0);
	assert_int_equal(linkat(dirfd, "open", dirfd, "theirs/second-open", 0), 0);
	for (const char *const *name = (const char *const[]){"theirs", "theirs/own", "theirs/link",
							     "theirs/own-link", NULL};
	     *name; name++)
		assert_int_equal(fchownat(dirfd, *name, OTHER, OTHER, AT_SYMLINK_NOFOLLOW), 0);
	for (size_t i = 0; i < NR(cases); i++) {
		struct err e = {0};
		struct stat st;
		char path[PATH_MAX];
		int fd = io_open_linked(dirfd, cases[i].name, 0, &st), input;

		snprintf(path, sizeof(path), "%s/%s", r.dir, cases[i].name);
		input = io_open_linked_input(path, &e);
		assert_int_equal(fd < 0 ? fd : 0, cases[i].rc);
		assert_int_equal(input < 0 ? input : 0, cases[i].rc);
		io_close(&fd);
		io_close(&input);
	}
	assert_int_equal(io_writer_of_both(0, 7), 7);
	assert_int_equal(io_writer_of_both(7, 0), 7);
	assert_int_equal(io_writer_of_both(7, 7), 7);
	assert_int_equal(io_writer_of_both(7, 8), 65534);
	tree_remove(&r);
}

/* Between the question and the opening it becomes a FIFO: not waited for, and refused. */
static int openat_of_fifo(int dirfd, const char *path, int flags, mode_t mode)
{
	assert_int_equal(unlinkat(dirfd, path, 0), 0);
	assert_int_equal(mkfifoat(dirfd, path, 0600), 0);
	return sys_kernel_ops.openat(dirfd, path, flags, mode);
}

TEST(open_exchanged)
{
	struct sys_ops ops = sys_kernel_ops;
	struct root r = put_inputs();
	size_t nr_fds = inject_open_fds();
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/file", r.dir);
	ops.openat = openat_of_fifo;
	sys_set_ops(&ops);
	assert_int_equal(io_open_regular(AT_FDCWD, path, 0, &st), -EINVAL);
	sys_set_ops(NULL);
	assert_int_equal(inject_open_fds(), nr_fds);
	tree_remove(&r);
}

TEST(named_descriptors)
{
	static const struct {
		const char *path;
		int fd;
	} rows[] = {
	    {"/dev/stdin", 0},           {"/dev/stdout", 1},
	    {"/dev/stderr", 2},          {"/dev/fd/7", 7},
	    {"/proc/self/fd/12", 12},    {"/dev/fd/", -1},
	    {"/dev/fd/x", -1},           {"/dev/fd/7/x", -1},
	    {"/dev/fd/99999999999", -1}, {"/dev/fd", -1},
	    {"/dev/null", -1},           {"7", -1},
	    {"/proc/1/fd/7", -1},        {"/dev/fd/-1", -1},
	    {"/tmp/dev/stdin", -1},      {"/dev/fd/18446744073709551615", -1},
	};
	char path[40], text[8];
	struct err e = {0};
	int pipe_fds[2], fd;

	for (size_t i = 0; i < NR(rows); i++)
		assert_int_equal(io_named_descriptor(rows[i].path), rows[i].fd);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(write(pipe_fds[1], "a spec", 6), 6);
	close(pipe_fds[1]);
	snprintf(path, sizeof(path), "/dev/fd/%d", pipe_fds[0]);
	fd = io_open_input(path, &e); /* a pipe that was given to us */
	assert_true(fd > STDERR_FILENO);
	close(pipe_fds[0]);
	assert_int_equal(io_read_full(fd, text, sizeof(text)), 6);
	io_close(&fd);
	assert_int_equal(io_open_input(path, &e), -EBADF);
	assert_int_equal(e.code, -EBADF);
}

static int fsync_rc;

static int fake_fsync(int fd)
{
	int rc = fsync_rc;

	(void)fd;
	fsync_rc = rc == -EINTR ? 0 : rc;
	return rc;
}

TEST(sync)
{
	static const int rows[][2] = {
	    {0, 0},       {-EINTR, 0},        {-EINVAL, 0},      {-EROFS, 0},
	    {-EIO, -EIO}, {-ENOSPC, -ENOSPC}, {-EDQUOT, -EDQUOT}};
	struct sys_ops ops = sys_kernel_ops;
	int pipe_fds[2];

	ops.fsync = fake_fsync;
	sys_set_ops(&ops);
	for (size_t i = 0; i < NR(rows); i++) {
		fsync_rc = rows[i][0];
		assert_int_equal(io_sync(0), rows[i][1]);
	}
	sys_set_ops(NULL);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(io_sync(pipe_fds[1]), 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	assert_int_equal(io_sync(pipe_fds[1]), -EBADF);
}

/* A folder to write in, with the name "f" in it. */
struct place {
	struct root root;
	int dirfd;
};

static void place_init(struct place *p)
{
	p->root = tree_make();
	p->dirfd = open(p->root.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->dirfd >= 0);
}

static void place_fini(struct place *p)
{
	close(p->dirfd);
	tree_remove(&p->root);
}

static void expect_content(const struct place *p, const char *want)
{
	struct buf b;

	buf_init(&b, 100);
	assert_int_equal(io_load(p->dirfd, "f", &b), 0);
	assert_string_equal(buf_str(&b), want);
	buf_fini(&b);
}

/* Only content that starts with "ours" is ours. */
static int is_ours(int fd)
{
	char text[4];
	ssize_t n = io_read_full(fd, text, 4);

	return n < 0 ? (int)n : n == 4 && memcmp(text, "ours", 4) == 0;
}

static int write_f(const struct place *p, io_may_replace_fn *may_replace, struct err *e)
{
	return io_write_atomic(p->dirfd, "f", "some/f", "ours new", 8, may_replace, e);
}

TEST(new_file)
{
	mode_t mask = umask(0);
	struct err e = {0};
	struct place p;
	struct stat st;

	place_init(&p);
	assert_int_equal(write_f(&p, is_ours, &e), 0);
	umask(mask);
	expect_content(&p, "ours new");
	assert_int_equal(fstatat(p.dirfd, "f", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(inject_entries(p.root.dir), 1);
	place_fini(&p);
}

static int is_broken(int fd)
{
	(void)fd;
	return -EIO;
}

static void put_old(const struct place *p)
{
	tree_put(&p->root, "/f", "ours old", 8);
}

static void put_strange(const struct place *p)
{
	tree_put(&p->root, "/f", "a letter", 8);
}

static void put_empty(const struct place *p)
{
	tree_put(&p->root, "/f", "", 0);
}

static void put_link(const struct place *p)
{
	tree_put(&p->root, "/target", "ours old", 8);
	assert_int_equal(symlinkat("target", p->dirfd, "f"), 0);
}

static void put_dangling(const struct place *p)
{
	assert_int_equal(symlinkat("target", p->dirfd, "f"), 0);
}

static void put_folder(const struct place *p)
{
	tree_put(&p->root, "/f", NULL, 0);
}

static void put_fifo(const struct place *p)
{
	assert_int_equal(mkfifoat(p->dirfd, "f", 0600), 0);
}

/* rc < 0: refused, and what was there is there as it was, and nothing else. */
static const struct {
	const char *what;
	void (*put)(const struct place *p);
	io_may_replace_fn *may_replace;
	int rc;
} existing[] = {
    {"ours", put_old, is_ours, 0},
    {"ours, known to be", put_old, NULL, 0},
    {"another's content, known to be ours", put_strange, NULL, 0},
    {"another's content", put_strange, is_ours, -EEXIST},
    {"empty", put_empty, is_ours, -EEXIST},
    {"unreadable", put_old, is_broken, -EIO},
    {"link to ours", put_link, is_ours, -EEXIST},
    {"dangling link", put_dangling, is_ours, -EEXIST},
    {"folder", put_folder, is_ours, -EEXIST},
    {"folder, known to be ours", put_folder, NULL, -EISDIR},
    {"FIFO", put_fifo, is_ours, -EEXIST},
};

static void try_existing(size_t i)
{
	struct err e = {0}, asked = {0};
	struct stat before, after;
	struct place p;
	size_t nr;

	place_init(&p);
	existing[i].put(&p);
	nr = inject_entries(p.root.dir);
	assert_int_equal(fstatat(p.dirfd, "f", &before, AT_SYMLINK_NOFOLLOW), 0);
	if (existing[i].may_replace)
		assert_int_equal(
		    io_check_replaceable(p.dirfd, "f", "f", existing[i].may_replace, &asked),
		    existing[i].rc);
	assert_int_equal(write_f(&p, existing[i].may_replace, &e), existing[i].rc);
	assert_int_equal(e.code, existing[i].rc);
	assert_int_equal(inject_entries(p.root.dir), nr);
	assert_int_equal(fstatat(p.dirfd, "f", &after, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(after.st_ino == before.st_ino, existing[i].rc < 0);
	if (existing[i].rc == 0)
		expect_content(&p, "ours new");
	else
		assert_true(strncmp(e.msg, "some/f: ", 8) == 0);
	if (existing[i].put == put_link)
		expect_content(&p, "ours old"); /* not written through it */
	place_fini(&p);
}

TEST(existing)
{
	for (size_t i = 0; i < NR(existing); i++) {
		print_message("%s\n", existing[i].what);
		try_existing(i);
	}
}

static int foreign_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	int rc = sys_kernel_ops.fstatat(dirfd, path, st, flags);

	st->st_uid++;
	return rc;
}

TEST(foreign)
{
	struct sys_ops ops = sys_kernel_ops;
	struct err e = {0};
	struct place p;

	place_init(&p);
	put_old(&p);
	ops.fstatat = foreign_fstatat;
	sys_set_ops(&ops);
	assert_int_equal(write_f(&p, is_ours, &e), -EPERM);
	sys_set_ops(NULL);
	assert_non_null(strstr(e.msg, "belongs to another user (uid "));
	expect_content(&p, "ours old");
	assert_int_equal(inject_entries(p.root.dir), 1);
	if (geteuid() == 0) { /* and without make-believe, where that is possible */
		assert_int_equal(fchownat(p.dirfd, "f", 65534, 65534, 0), 0);
		err_clear(&e);
		assert_int_equal(write_f(&p, is_ours, &e), -EPERM);
		assert_non_null(strstr(e.msg, "uid 65534"));
	}
	place_fini(&p);
}

/* File systems without RENAME_NOREPLACE (NFS: EINVAL; kernels without the call: ENOSYS). */
static int plain_error;

static int plain_renameat2(int olddir, const char *old, int newdir, const char *new, unsigned flags)
{
	return flags ? plain_error : sys_kernel_ops.renameat2(olddir, old, newdir, new, flags);
}

TEST(plain_rename)
{
	static const int errors[] = {-EINVAL, -ENOSYS};
	struct sys_ops ops = sys_kernel_ops;

	ops.renameat2 = plain_renameat2;
	sys_set_ops(&ops);
	for (size_t i = 0; i < NR(errors); i++) {
		struct err e = {0};
		struct place p;

		plain_error = errors[i];
		place_init(&p);
		assert_int_equal(write_f(&p, is_ours, &e), 0);
		assert_int_equal(write_f(&p, is_ours, &e), 0);
		expect_content(&p, "ours new");
		put_strange(&p);
		assert_int_equal(write_f(&p, is_ours, &e), -EEXIST);
		expect_content(&p, "a letter");
		assert_int_equal(inject_entries(p.root.dir), 1);
		place_fini(&p);
	}
	sys_set_ops(NULL);
}

/* One failure: nothing half-written, nothing left, the old file or the new one. */
static bool try_failure(unsigned n, int error, void (*put)(const struct place *p))
{
	size_t nr_fds = inject_open_fds();
	struct err e = {0};
	struct place p;
	int rc;

	place_init(&p);
	if (put)
		put(&p);
	inject_sys(n, error);
	rc = write_f(&p, is_ours, &e);
	inject_stop();
	assert_true(rc == 0 || (inject.fired && rc == error && e.code == error));
	assert_int_equal(inject_entries(p.root.dir), rc == 0 || put);
	if (rc == 0 || put)
		expect_content(&p, rc ? "ours old" : "ours new");
	place_fini(&p);
	assert_int_equal(inject_open_fds(), nr_fds);
	return inject.fired;
}

/* A network's file system may tell only at close that there was no room; interrupted is closed. */
TEST(close_tells)
{
	static const int errors[][2] = {{-ENOSPC, -ENOSPC}, {-EIO, -EIO}, {-EINTR, 0}};

	for (size_t i = 0; i < NR(errors); i++) {
		struct err e = {0};
		struct place p;
		int rc;

		place_init(&p);
		inject_sys(3, errors[i][0]); /* openat, write, close */
		rc = write_f(&p, is_ours, &e);
		inject_stop();
		assert_int_equal(rc, errors[i][1]);
		assert_int_equal(e.code, rc);
		assert_int_equal(inject_entries(p.root.dir), rc == 0);
		place_fini(&p);
	}
}

TEST(every_call_fails)
{
	static const int errors[] = {-ENOSPC, -EIO, -EINTR, -EACCES};

	for (size_t i = 0; i < NR(errors); i++) {
		unsigned n = 1, m = 1;

		while (try_failure(n, errors[i], NULL))
			n++;
		while (try_failure(m, errors[i], put_old))
			m++;
		assert_int_equal(n, 5); /* openat, write, close, rename */
		assert_true(m >= 10);   /* … fstatat, openat, read, close, rename */
	}
}

static int create_f(const struct place *p, io_may_replace_fn *may_replace, struct err *e)
{
	int fd = -7, rc = io_create(p->dirfd, "f", "some/f", may_replace, &fd, e);

	assert_true(rc ? fd == -7 : fd >= 0);
	if (rc == 0)
		assert_int_equal(io_write_full(fd, "ours new", 8), 0);
	io_close(&fd);
	return rc;
}

/* The rule is that of io_write_atomic; who has the old file open keeps it. */
static void try_create(size_t i)
{
	IO_AUTO_FD int old = -1;
	struct err e = {0};
	struct stat before, after;
	struct place p;
	char text[8];
	size_t nr;

	place_init(&p);
	existing[i].put(&p);
	nr = inject_entries(p.root.dir);
	old = openat(p.dirfd, "f", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(fstatat(p.dirfd, "f", &before, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(create_f(&p, existing[i].may_replace, &e), existing[i].rc);
	assert_int_equal(e.code, existing[i].rc);
	assert_int_equal(inject_entries(p.root.dir), nr);
	assert_int_equal(fstatat(p.dirfd, "f", &after, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(after.st_ino == before.st_ino, existing[i].rc < 0);
	if (existing[i].rc == 0) {
		expect_content(&p, "ours new");
		assert_int_equal(io_read_full(old, text, 8), 8);
		assert_memory_equal(text, "ours old", 8);
	} else {
		assert_true(strncmp(e.msg, "some/f: ", 8) == 0);
	}
	place_fini(&p);
}

TEST(create)
{
	mode_t mask = umask(0);
	struct place p;
	struct stat st;

	place_init(&p);
	assert_int_equal(create_f(&p, is_ours, NULL), 0);
	umask(mask);
	expect_content(&p, "ours new");
	assert_int_equal(fstatat(p.dirfd, "f", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	place_fini(&p);
	for (size_t i = 0; i < NR(existing); i++)
		if (existing[i].may_replace)
			try_create(i);
}

static int create_over_old(void *arg)
{
	struct err e = {0};
	struct place p;
	int fd, rc;

	(void)arg;
	place_init(&p);
	put_old(&p);
	rc = io_create(p.dirfd, "f", "f", is_ours, &fd, &e);
	if (rc == 0)
		close(fd);
	assert_int_equal(e.code, rc);
	assert_true(inject_entries(p.root.dir) <= 1);
	place_fini(&p);
	return rc;
}

TEST(create_fails)
{
	inject_every(create_over_old, NULL, 0,
		     6); /* openat, fstatat, openat, read, unlink, openat */
}

/* A file system that has no files without a name. */
static int openat_named(int dirfd, const char *path, int flags, mode_t mode)
{
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return -EOPNOTSUPP;
	return sys_kernel_ops.openat(dirfd, path, flags, mode);
}

static void check_temporary(const struct root *r)
{
	struct err e = {0};
	struct stat st;
	char back[4];
	int fd = -1;

	assert_int_equal(io_open_temporary(&fd, &e), 0);
	assert_int_equal(inject_entries(r->dir), 0); /* without a name */
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(io_write_full(fd, "abc", 4), 0);
	assert_int_equal(pread(fd, back, 4, 0), 4);
	assert_string_equal(back, "abc");
	io_close(&fd);
}

static int open_temporary(void *arg)
{
	struct err e = {0};
	int fd = -1, rc = io_open_temporary(&fd, &e);

	(void)arg;
	assert_int_equal(rc, e.code);
	assert_int_equal(rc == 0, fd >= 0);
	io_close(&fd);
	return rc;
}

TEST(temporary)
{
	struct root r = tree_make();
	struct sys_ops ops = sys_kernel_ops;
	struct err e = {0};
	int fd = -1;

	setenv("TMPDIR", r.dir, 1);
	check_temporary(&r);
	inject_every(open_temporary, NULL, 0, 1);
	ops.openat = openat_named;
	sys_set_ops(&ops);
	check_temporary(&r);
	sys_set_ops(NULL);
	setenv("TMPDIR", "/proc/self/cmdline", 1);
	assert_int_equal(io_open_temporary(&fd, &e), -ENOTDIR);
	assert_int_equal(fd, -1);
	assert_non_null(strstr(e.msg, "/proc/self/cmdline"));
	setenv("TMPDIR", "", 1); /* as if it were not set */
	assert_int_equal(open_temporary(NULL), 0);
	unsetenv("TMPDIR");
	assert_int_equal(open_temporary(NULL), 0);
	tree_remove(&r);
}

static int count_name(const char *name, void *arg)
{
	(void)name;
	++*(int *)arg;
	return 0;
}

/* Who has one open that another one has removed finds it empty. */
TEST(names_of_a_removed_folder)
{
	char path[] = "/tmp/cpuperf-test.XXXXXX";
	int fd, nr = 0;

	assert_non_null(mkdtemp(path));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(io_each_name(fd, count_name, &nr), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(io_each_name(fd, count_name, &nr), 0);
	assert_int_equal(nr, 2);
	close(fd);
}
