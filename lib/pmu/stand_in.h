/*
 * Descriptors in the place of events that count nothing themselves, where the kernel refuses all
 * events: what an agent in the program counts needs only their ids, and how long they were enabled.
 *
 * This is so with seccomp, or with perf_event_paranoid above 2. Such a session has no records of
 * the kernel either: it reads threads and mappings from /proc, when a process connects and at
 * boundaries (heap_use.unrecorded).
 */
#ifndef PMU_STAND_IN_H
#define PMU_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct perf_event_attr;

/* Whether one can stand for that event, which perf_event_open refused with -error. */
bool pmu_stand_in_is_possible(const struct perf_event_attr *attr, int error);
/* The descriptor, or -errno. Threads: any. */
int pmu_stand_in_open(const struct perf_event_attr *attr);
bool pmu_stand_in_is(int fd);
/* The calls of struct pmu_ops for an open stand-in. */
ssize_t pmu_stand_in_read(int fd, void *buf, size_t len);
int pmu_stand_in_ioctl(int fd, unsigned long request, unsigned long arg);
int pmu_stand_in_close(int fd);

#endif
