/*
 * The real perf system calls.
 */
#include "pmu/ops.h"

#include "base/perf_abi.h"
#include "base/privilege.h"
#include "pmu/stand_in.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int kernel_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		       unsigned long flags)
{
	long fd;
	int rc;

	privilege_raise();
	fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags | PERF_FLAG_FD_CLOEXEC);
	rc = fd < 0 ? -errno : (int)fd;
	privilege_lower();
	return pmu_stand_in_is_possible(attr, rc) ? pmu_stand_in_open(attr) : rc;
}

static ssize_t kernel_read(int fd, void *buf, size_t len)
{
	if (pmu_stand_in_is(fd))
		return pmu_stand_in_read(fd, buf, len);

	ssize_t n = read(fd, buf, len);

	return n < 0 ? -errno : n;
}

static int kernel_ioctl(int fd, unsigned long request, unsigned long arg)
{
	if (pmu_stand_in_is(fd))
		return pmu_stand_in_ioctl(fd, request, arg);
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static int kernel_close(int fd)
{
	if (pmu_stand_in_is(fd))
		return pmu_stand_in_close(fd);
	return close(fd) < 0 ? -errno : 0;
}

static void *kernel_mmap(int fd, size_t len, bool is_read_only, int *error)
{
	int access = is_read_only ? PROT_READ : PROT_READ | PROT_WRITE;
	void *base;

	privilege_raise(); /* CAP_IPC_LOCK: rings are locked memory */
	base = mmap(NULL, len, access, MAP_SHARED, fd, 0);
	privilege_lower();
	if (base != MAP_FAILED)
		return base;
	*error = -errno;
	return NULL;
}

static int kernel_munmap(void *base, size_t len)
{
	return munmap(base, len) < 0 ? -errno : 0;
}

const struct pmu_ops pmu_kernel_ops = {
    .open = kernel_open,
    .read = kernel_read,
    .ioctl = kernel_ioctl,
    .close = kernel_close,
    .mmap = kernel_mmap,
    .munmap = kernel_munmap,
};
