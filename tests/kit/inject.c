#include "kit.h"

#include <dirent.h>

struct inject inject;

bool inject_fails(void)
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
static bool inject_mem_fails(size_t size)
{
	return inject_fails() || size > SIZE_MAX >> 16;
}

static void *inject_alloc(size_t size)
{
	void *p = inject_mem_fails(size) ? NULL : malloc(size);

	inject.nr_live += p != NULL;
	return p;
}

static void *inject_resize(void *old, size_t size)
{
	void *p = inject_mem_fails(size) ? NULL : realloc(old, size);

	inject.nr_live += !old && p;
	return p;
}

static void inject_release(void *p)
{
	inject.nr_live--;
	free(p);
}

int inject_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	return inject_fails() ? inject.error : sys_kernel_ops.openat(dirfd, path, flags, mode);
}

static int inject_openat_within(int dirfd, const char *path, int flags)
{
	return inject_fails() ? inject.error : sys_kernel_ops.openat_within(dirfd, path, flags);
}

static ssize_t inject_read(int fd, void *buf, size_t len)
{
	return inject_fails() ? inject.error : sys_kernel_ops.read(fd, buf, len);
}

static ssize_t inject_pread(int fd, void *buf, size_t len, off_t at)
{
	return inject_fails() ? inject.error : sys_kernel_ops.pread(fd, buf, len, at);
}

static ssize_t inject_write(int fd, const void *buf, size_t len)
{
	return inject_fails() ? inject.error : sys_kernel_ops.write(fd, buf, len);
}

static ssize_t inject_pwrite(int fd, const void *buf, size_t len, off_t at)
{
	return inject_fails() ? inject.error : sys_kernel_ops.pwrite(fd, buf, len, at);
}

static ssize_t inject_writev(int fd, const struct iovec *piece, int nr)
{
	return inject_fails() ? inject.error : sys_kernel_ops.writev(fd, piece, nr);
}

static int inject_ftruncate(int fd, off_t len)
{
	return inject_fails() ? inject.error : sys_kernel_ops.ftruncate(fd, len);
}

static off_t inject_lseek(int fd, off_t at, int whence)
{
	return inject_fails() ? inject.error : sys_kernel_ops.lseek(fd, at, whence);
}

static int inject_fallocate(int fd, int mode, off_t at, off_t len)
{
	return inject_fails() ? inject.error : sys_kernel_ops.fallocate(fd, mode, at, len);
}

static int inject_fsync(int fd)
{
	return inject_fails() ? inject.error : sys_kernel_ops.fsync(fd);
}

static int inject_close(int fd)
{
	int rc = sys_kernel_ops.close(fd); /* it closes even when it fails, as the kernel does */

	return inject_fails() ? inject.error : rc;
}

static int inject_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	return inject_fails() ? inject.error : sys_kernel_ops.fstatat(dirfd, path, st, flags);
}

static int inject_linkat(int olddir, const char *old, int newdir, const char *new, int flags)
{
	return inject_fails() ? inject.error
			      : sys_kernel_ops.linkat(olddir, old, newdir, new, flags);
}

static int inject_renameat2(int olddir, const char *old, int newdir, const char *new,
			    unsigned flags)
{
	return inject_fails() ? inject.error
			      : sys_kernel_ops.renameat2(olddir, old, newdir, new, flags);
}

static int inject_mkdirat(int dirfd, const char *path, mode_t mode)
{
	return inject_fails() ? inject.error : sys_kernel_ops.mkdirat(dirfd, path, mode);
}

static int inject_unlinkat(int dirfd, const char *path, int flags)
{
	return inject_fails() ? inject.error : sys_kernel_ops.unlinkat(dirfd, path, flags);
}

static int inject_flock(int fd, int op)
{
	return inject_fails() ? inject.error : sys_kernel_ops.flock(fd, op);
}

static int inject_fchmod(int fd, mode_t mode)
{
	return inject_fails() ? inject.error : sys_kernel_ops.fchmod(fd, mode);
}

static int inject_pidfd_open(pid_t pid)
{
	return inject_fails() ? inject.error : sys_kernel_ops.pidfd_open(pid);
}

static int inject_getrandom(void *buf, size_t len)
{
	return inject_fails() ? inject.error : sys_kernel_ops.getrandom(buf, len);
}

static void inject_start(unsigned n, int error)
{
	inject = (struct inject){.countdown = n, .error = error};
}

void inject_mem(unsigned n)
{
	static const struct mem_ops ops = {inject_alloc, inject_resize, inject_release};

	inject_start(n, 0);
	mem_set_ops(&ops);
}

void inject_sys(unsigned n, int error)
{
	static const struct sys_ops ops = {
	    .openat = inject_openat,
	    .openat_within = inject_openat_within,
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
	    .fchmod = inject_fchmod,
	    .flock = inject_flock,
	    .pidfd_open = inject_pidfd_open,
	    .getrandom = inject_getrandom,
	};

	inject_start(n, error);
	sys_set_ops(&ops);
}

void inject_stop(void)
{
	inject.countdown = 0;
	mem_set_ops(NULL);
	sys_set_ops(NULL);
}

size_t inject_entries(const char *path)
{
	DIR *d = opendir(path);
	size_t nr = 0;

	assert_non_null(d);
	while (readdir(d))
		nr++;
	closedir(d);
	return nr - 2;
}

size_t inject_open_fds(void)
{
	return inject_entries("/proc/self/fd");
}

unsigned inject_counted(void)
{
	return INJECT_NONE - inject.countdown;
}

enum { MOST_FAILURES = 100 };

void inject_every(int (*body)(void *arg), void *arg, unsigned at_least_allocs,
		  unsigned at_least_calls)
{
	size_t nr_fds = inject_open_fds();
	unsigned nr_allocs, nr_calls;

	inject_mem(INJECT_NONE);
	assert_int_equal(body(arg), 0);
	nr_allocs = inject_counted();
	inject_stop();
	assert_true(nr_allocs >= at_least_allocs);
	STRIDE_EACH(i, nr_allocs, MOST_FAILURES) {
		int rc;

		inject_mem((unsigned)i + 1);
		rc = body(arg);
		inject_stop();
		assert_true(rc == 0 || (inject.fired && rc == -ENOMEM));
		assert_int_equal(inject.nr_live, 0);
	}
	inject_sys(INJECT_NONE, 0);
	assert_int_equal(body(arg), 0);
	nr_calls = inject_counted();
	inject_stop();
	assert_true(nr_calls >= at_least_calls);
	STRIDE_EACH(i, nr_calls, MOST_FAILURES) {
		int rc;

		inject_sys((unsigned)i + 1, i % 2 ? -ENOSPC : -EIO);
		rc = body(arg);
		inject_stop();
		assert_true(rc == 0 || (inject.fired && rc == inject.error));
		assert_int_equal(inject_open_fds(), nr_fds);
	}
	assert_int_equal(body(arg), 0);
}
