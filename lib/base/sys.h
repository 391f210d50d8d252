/*
 * System calls on files and descriptors, behind a table of functions so that tests can make the nth
 * one fail. The perf calls have a table in pmu/.
 */
#ifndef BASE_SYS_H
#define BASE_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Each returns what the call returns, or -errno in place of -1. */
struct sys_ops {
	int (*openat)(int dirfd, const char *path, int flags, mode_t mode);
	/* In a folder that is not left, as if it were /. -ENOSYS: Linux before 5.6 */
	int (*openat_within)(int dirfd, const char *path, int flags);
	ssize_t (*read)(int fd, void *buf, size_t len);
	ssize_t (*pread)(int fd, void *buf, size_t len, off_t at);
	ssize_t (*write)(int fd, const void *buf, size_t len);
	ssize_t (*pwrite)(int fd, const void *buf, size_t len, off_t at);
	ssize_t (*writev)(int fd, const struct iovec *piece, int nr);
	int (*ftruncate)(int fd, off_t len);
	off_t (*lseek)(int fd, off_t at, int whence);
	int (*fallocate)(int fd, int mode, off_t at, off_t len);
	int (*fsync)(int fd);
	int (*close)(int fd);
	int (*fstatat)(int dirfd, const char *path, struct stat *st, int flags);
	int (*linkat)(int olddir, const char *old, int newdir, const char *new, int flags);
	int (*renameat2)(int olddir, const char *old, int newdir, const char *new, unsigned flags);
	int (*mkdirat)(int dirfd, const char *path, mode_t mode);
	int (*unlinkat)(int dirfd, const char *path, int flags);
	int (*fchmod)(int fd, mode_t mode);
	int (*flock)(int fd, int op);
	int (*pidfd_open)(pid_t pid); /* -ENOSYS: Linux before 5.3 */
	int (*getrandom)(void *buf, size_t len);
};

extern const struct sys_ops sys_kernel_ops; /* the real ones */

/* The table in force. */
const struct sys_ops *sys(void);
/* Replaces it (tests only, before threads start); NULL restores the real ones. */
void sys_set_ops(const struct sys_ops *ops);

#endif
