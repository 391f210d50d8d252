/*
 * Control groups of version 2, by their files cpu.stat, memory.current and io.stat. Source:
 * Documentation/admin-guide/cgroup-v2.rst, kernel/cgroup/rstat.c, block/blk-cgroup.c.
 *
 * words: paths below the mount point of the hierarchy ("/system.slice/x.service"; the first slash
 * may be missing), which is looked up in /proc/self/mountinfo; hybrid hierarchies have one too.
 * Without words: "/", the root of what is mounted, which in a container is the container's own
 * group. A group none of whose files is there is none, until it is made; one that went and came
 * back is another one. -ENOENT where no cgroup2 is mounted.
 */
#ifndef COLLECT_CGROUP_H
#define COLLECT_CGROUP_H

#include "collect/many.h"

/* Cumulative but the memory. */
enum cgroup_field {
	CGROUP_CPU_USAGE,      /* ns */
	CGROUP_CPU_THROTTLED,  /* ns; with the controller cpu */
	CGROUP_MEMORY_CURRENT, /* bytes, now; with the controller memory, not of the root */
	/* With the controller io; the sum of the devices that the kernel lists: those that go take
	 * their bytes with them. */
	CGROUP_IO_READ_BYTES,
	CGROUP_IO_WRITE_BYTES,
	CGROUP_NR_FIELDS
};

extern const struct collect_many_source collect_cgroup_source;

#endif
