/*
 * What tests share to make things fail: the nth allocation, the nth system call, and counts of
 * what must not leak; and trees of files, captured (tests/data/hosts) or made for one test.
 * Only for tests; knows no room but base.
 */
#ifndef TEST_INJECT_H
#define TEST_INJECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INJECT_NR(a) (sizeof(a) / sizeof((a)[0]))

/* The nth call from now on, of any thread, fails with error (countdown 0: none); the rest are real.
 */
static struct inject {
	atomic_uint countdown;
	int error;           /* -errno of a failing system call */
	atomic_bool fired;   /* the failure happened */
	atomic_long nr_live; /* allocations not yet released, since inject_mem */
} inject;

static inline bool inject_fails(void)
{
	unsigned left = atomic_load(&inject.countdown);

	while (left && !atomic_compare_exchange_weak(&inject.countdown, &left, left - 1))
		;
	if (left != 1)
		return false;
	inject.fired = true;
	return true;
}

/* What no machine has fails too: ASan's malloc would end the test. */
static inline bool inject_mem_fails(size_t size)
{
	return inject_fails() || size > SIZE_MAX >> 16;
}

static inline void *inject_alloc(size_t size)
{
	void *p = inject_mem_fails(size) ? NULL : malloc(size);

	inject.nr_live += p != NULL;
	return p;
}

static inline void *inject_resize(void *old, size_t size)
{
	void *p = inject_mem_fails(size) ? NULL : realloc(old, size);

	inject.nr_live += !old && p;
	return p;
}

static inline void inject_release(void *p)
{
	inject.nr_live--;
	free(p);
}

static inline int inject_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	return inject_fails() ? inject.error : sys_kernel_ops.openat(dirfd, path, flags, mode);
}

static inline ssize_t inject_read(int fd, void *buf, size_t len)
{
	return inject_fails() ? inject.error : sys_kernel_ops.read(fd, buf, len);
}

static inline ssize_t inject_pread(int fd, void *buf, size_t len, off_t at)
{
	return inject_fails() ? inject.error : sys_kernel_ops.pread(fd, buf, len, at);
}

static inline ssize_t inject_write(int fd, const void *buf, size_t len)
{
	return inject_fails() ? inject.error : sys_kernel_ops.write(fd, buf, len);
}

static inline ssize_t inject_pwrite(int fd, const void *buf, size_t len, off_t at)
{
	return inject_fails() ? inject.error : sys_kernel_ops.pwrite(fd, buf, len, at);
}

static inline ssize_t inject_writev(int fd, const struct iovec *piece, int nr)
{
	return inject_fails() ? inject.error : sys_kernel_ops.writev(fd, piece, nr);
}

static inline int inject_ftruncate(int fd, off_t len)
{
	return inject_fails() ? inject.error : sys_kernel_ops.ftruncate(fd, len);
}

static inline off_t inject_lseek(int fd, off_t at, int whence)
{
	return inject_fails() ? inject.error : sys_kernel_ops.lseek(fd, at, whence);
}

static inline int inject_fallocate(int fd, int mode, off_t at, off_t len)
{
	return inject_fails() ? inject.error : sys_kernel_ops.fallocate(fd, mode, at, len);
}

static inline int inject_fsync(int fd)
{
	return inject_fails() ? inject.error : sys_kernel_ops.fsync(fd);
}

static inline int inject_close(int fd)
{
	int rc = sys_kernel_ops.close(fd); /* it closes even when it fails, as the kernel does */

	return inject_fails() ? inject.error : rc;
}

static inline int inject_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	return inject_fails() ? inject.error : sys_kernel_ops.fstatat(dirfd, path, st, flags);
}

static inline int inject_linkat(int olddir, const char *old, int newdir, const char *new, int flags)
{
	return inject_fails() ? inject.error
			      : sys_kernel_ops.linkat(olddir, old, newdir, new, flags);
}

static inline int inject_renameat2(int olddir, const char *old, int newdir, const char *new,
				   unsigned flags)
{
	return inject_fails() ? inject.error
			      : sys_kernel_ops.renameat2(olddir, old, newdir, new, flags);
}

static inline int inject_mkdirat(int dirfd, const char *path, mode_t mode)
{
	return inject_fails() ? inject.error : sys_kernel_ops.mkdirat(dirfd, path, mode);
}

static inline int inject_unlinkat(int dirfd, const char *path, int flags)
{
	return inject_fails() ? inject.error : sys_kernel_ops.unlinkat(dirfd, path, flags);
}

static inline int inject_flock(int fd, int op)
{
	return inject_fails() ? inject.error : sys_kernel_ops.flock(fd, op);
}

static inline int inject_getrandom(void *buf, size_t len)
{
	return inject_fails() ? inject.error : sys_kernel_ops.getrandom(buf, len);
}

static inline void inject_start(unsigned n, int error)
{
	inject = (struct inject){.countdown = n, .error = error};
}

/* From here to inject_stop the nth allocation fails. */
static inline void inject_mem(unsigned n)
{
	static const struct mem_ops ops = {inject_alloc, inject_resize, inject_release};

	inject_start(n, 0);
	mem_set_ops(&ops);
}

/* From here to inject_stop the nth system call on files fails with error (-errno). */
static inline void inject_sys(unsigned n, int error)
{
	static const struct sys_ops ops = {
	    .openat = inject_openat,
	    .read = inject_read,
	    .pread = inject_pread,
	    .write = inject_write,
	    .pwrite = inject_pwrite,
	    .writev = inject_writev,
	    .ftruncate = inject_ftruncate,
	    .lseek = inject_lseek,
	    .fallocate = inject_fallocate,
	    .fsync = inject_fsync,
	    .close = inject_close,
	    .fstatat = inject_fstatat,
	    .linkat = inject_linkat,
	    .renameat2 = inject_renameat2,
	    .mkdirat = inject_mkdirat,
	    .unlinkat = inject_unlinkat,
	    .flock = inject_flock,
	    .getrandom = inject_getrandom,
	};

	inject_start(n, error);
	sys_set_ops(&ops);
}

static inline void inject_stop(void)
{
	inject.countdown = 0;
	mem_set_ops(NULL);
	sys_set_ops(NULL);
}

/* Entries of a folder but . and .. */
static inline size_t inject_entries(const char *path)
{
	DIR *d = opendir(path);
	size_t nr = 0;

	assert_non_null(d);
	while (readdir(d))
		nr++;
	closedir(d);
	return nr - 2;
}

static inline size_t inject_open_fds(void)
{
	return inject_entries("/proc/self/fd");
}

/*
 * Runs body until it meets no more failure: with every allocation failing in turn, then with every
 * system call. body returns 0 or -errno, and checks for itself what it promises. After each run
 * nothing may be left: no memory, no descriptor. body must not call inject_*.
 */
static inline void inject_every(int (*body)(void *arg), void *arg, unsigned at_least_allocs,
				unsigned at_least_calls)
{
	size_t nr_fds = inject_open_fds();
	unsigned n;
	int rc;

	for (n = 1, inject.fired = true; inject.fired; n++) {
		inject_mem(n);
		rc = body(arg);
		inject_stop();
		assert_true(rc == 0 || (inject.fired && rc == -ENOMEM));
		assert_int_equal(inject.nr_live, 0);
	}
	assert_true(n - 2 >= at_least_allocs);
	for (n = 1, inject.fired = true; inject.fired; n++) {
		inject_sys(n, n % 2 ? -EIO : -ENOSPC);
		rc = body(arg);
		inject_stop();
		assert_true(rc == 0 || (inject.fired && rc == inject.error));
		assert_int_equal(inject_open_fds(), nr_fds);
	}
	assert_true(n - 2 >= at_least_calls);
	assert_int_equal(body(arg), 0);
}

/* A captured tree of tests/data/hosts. */
static inline struct root tree_captured(const char *name)
{
	char dir[4096];
	struct root r;

	snprintf(dir, sizeof(dir), "%s/hosts/%s", TEST_DATA_DIR, name);
	assert_int_equal(root_init(&r, dir), 0);
	return r;
}

/* A tree of one test, empty; tree_remove it. */
static inline struct root tree_make(void)
{
	const char *base = getenv("TMPDIR");
	char dir[200];
	struct root r;

	snprintf(dir, sizeof(dir), "%s/cpuperf-test.XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(root_init(&r, dir), 0);
	return r;
}

/* Writes path ("/proc/stat") below the root, with the folders on the way. data NULL: a folder. */
static inline void tree_put(const struct root *r, const char *path, const void *data, size_t len)
{
	char full[4096];
	int fd;

	snprintf(full, sizeof(full), "%s%s", r->dir, path);
	for (char *p = full + strlen(r->dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
	}
	if (!data) {
		assert_int_equal(mkdir(full, 0700), 0);
		return;
	}
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static inline int tree_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void tree_remove(const struct root *r)
{
	assert_int_equal(nftw(r->dir, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
