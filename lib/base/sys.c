/*
 * The real system calls, with -errno for -1.
 */
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static ssize_t result(ssize_t rc)
{
	return rc < 0 ? -errno : rc;
}

static int kernel_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	return (int)result(openat(dirfd, path, flags | O_CLOEXEC, mode));
}

/* struct open_how, and the flags of openat2(2): headers before Linux 5.6 do not have them */
enum { OPENAT2 = 437, RESOLVE_NO_MAGICLINKS = 0x02, RESOLVE_IN_ROOT = 0x10 };

static int kernel_openat_within(int dirfd, const char *path, int flags)
{
	const struct {
		uint64_t flags, mode, resolve;
	} how = {.flags = (unsigned)flags | O_CLOEXEC,
		 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

	return (int)result(syscall(OPENAT2, dirfd, path, &how, sizeof(how)));
}

static ssize_t kernel_read(int fd, void *buf, size_t len)
{
	return result(read(fd, buf, len));
}

static ssize_t kernel_pread(int fd, void *buf, size_t len, off_t at)
{
	return result(pread(fd, buf, len, at));
}

static ssize_t kernel_write(int fd, const void *buf, size_t len)
{
	return result(write(fd, buf, len));
}

static ssize_t kernel_pwrite(int fd, const void *buf, size_t len, off_t at)
{
	return result(pwrite(fd, buf, len, at));
}

static ssize_t kernel_writev(int fd, const struct iovec *piece, int nr)
{
	return result(writev(fd, piece, nr));
}

static int kernel_ftruncate(int fd, off_t len)
{
	return (int)result(ftruncate(fd, len));
}

static off_t kernel_lseek(int fd, off_t at, int whence)
{
	return (off_t)result(lseek(fd, at, whence));
}

static int kernel_fallocate(int fd, int mode, off_t at, off_t len)
{
	return (int)result(fallocate(fd, mode, at, len));
}

static int kernel_fsync(int fd)
{
	return (int)result(fsync(fd));
}

static int kernel_close(int fd)
{
	return (int)result(close(fd));
}

static int kernel_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	return (int)result(fstatat(dirfd, path, st, flags));
}

static int kernel_linkat(int olddir, const char *old, int newdir, const char *new, int flags)
{
	return (int)result(linkat(olddir, old, newdir, new, flags));
}

static int kernel_renameat2(int olddir, const char *old, int newdir, const char *new,
			    unsigned flags)
{
	return (int)result(renameat2(olddir, old, newdir, new, flags));
}

static int kernel_mkdirat(int dirfd, const char *path, mode_t mode)
{
	return (int)result(mkdirat(dirfd, path, mode));
}

static int kernel_fchmod(int fd, mode_t mode)
{
	return (int)result(fchmod(fd, mode));
}

static int kernel_unlinkat(int dirfd, const char *path, int flags)
{
	return (int)result(unlinkat(dirfd, path, flags));
}

static int kernel_flock(int fd, int op)
{
	return (int)result(flock(fd, op));
}

static int kernel_pidfd_open(pid_t pid)
{
#ifdef SYS_pidfd_open
	return (int)result(syscall(SYS_pidfd_open, pid, 0));
#else
	(void)pid;
	return -ENOSYS;
#endif
}

static int kernel_getrandom(void *buf, size_t len)
{
	return (int)result(getrandom(buf, len, 0));
}

const struct sys_ops sys_kernel_ops = {
    .openat = kernel_openat,
    .openat_within = kernel_openat_within,
    .read = kernel_read,
    .pread = kernel_pread,
    .write = kernel_write,
    .pwrite = kernel_pwrite,
    .writev = kernel_writev,
    .ftruncate = kernel_ftruncate,
    .lseek = kernel_lseek,
    .fallocate = kernel_fallocate,
    .fsync = kernel_fsync,
    .close = kernel_close,
    .fstatat = kernel_fstatat,
    .linkat = kernel_linkat,
    .renameat2 = kernel_renameat2,
    .mkdirat = kernel_mkdirat,
    .unlinkat = kernel_unlinkat,
    .fchmod = kernel_fchmod,
    .flock = kernel_flock,
    .pidfd_open = kernel_pidfd_open,
    .getrandom = kernel_getrandom,
};

static const struct sys_ops *ops = &sys_kernel_ops;

const struct sys_ops *sys(void)
{
	return ops;
}

void sys_set_ops(const struct sys_ops *o)
{
	ops = o ? o : &sys_kernel_ops;
}
