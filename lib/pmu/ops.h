/*
 * The perf system calls, behind a table of functions: the seam of the tests.
 *
 * perf_event_open is made with the capabilities of cpuperf's file, if it has some
 * (base/privilege.h).
 */
#ifndef PMU_OPS_H
#define PMU_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct perf_event_attr;

/* Each returns what the call returns, or -errno in place of -1. */
struct pmu_ops {
	int (*open)(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		    unsigned long flags);
	ssize_t (*read)(int fd, void *buf, size_t len);
	int (*ioctl)(int fd, unsigned long request, unsigned long arg);
	int (*close)(int fd);
	/* Shared, from the start of fd; NULL and *error = -errno. A ring that is mapped
	 * is_read_only is overwritten by the kernel. */
	void *(*mmap)(int fd, size_t len, bool is_read_only, int *error);
	int (*munmap)(void *base, size_t len);
};

extern const struct pmu_ops pmu_kernel_ops;

#endif
