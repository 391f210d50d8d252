/*
 * The perf system calls, behind a table of functions: the seam of the tests.
 */
#ifndef PMU_OPS_H
#define PMU_OPS_H

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
	/* Shared, for reading and writing, from the start of fd; NULL and *error = -errno. */
	void *(*mmap)(int fd, size_t len, int *error);
	int (*munmap)(void *base, size_t len);
};

extern const struct pmu_ops pmu_kernel_ops;

#endif
