/*
 * Control groups of version 2, by their files cpu.stat, memory.current and io.stat. Source:
 * Documentation/admin-guide/cgroup-v2.rst, kernel/cgroup/rstat.c, block/blk-cgroup.c.
 *
 * words: paths below the mount point of the hierarchy ("/system.slice/x.service"; the first slash
 * may be missing), which is found in /proc/self/mountinfo, also for hybrid hierarchies. Without
 * words:
 * "/", the root of the mount, which in a container is the container's own group. A group without
 * any of the files is no thing until it is made; one that is removed and made again is a new thing.
 * -ENOENT if no cgroup2 is mounted.
 */
#ifndef THINGS_CGROUP_H
#define THINGS_CGROUP_H

#include "things/many.h"

/* Cumulative, but for memory. */
enum cgroup_field {
	CGROUP_CPU_USAGE,      /* ns */
	CGROUP_CPU_THROTTLED,  /* ns; with the controller cpu */
	CGROUP_MEMORY_CURRENT, /* bytes, now; with the controller memory, not of the root */
	/* With the controller io; the sum over the devices that the kernel lists, so it falls when
	 * one is removed. */
	CGROUP_IO_READ_BYTES,
	CGROUP_IO_WRITE_BYTES,
	CGROUP_NR_FIELDS
};

extern const struct things_source cgroup_source;

#endif
