/*
 * Which file systems are local (on disks or in memory). Others may never answer, and any user can
 * mount one with FUSE. Read from /proc/PID/mountinfo, which does not access them. Source:
 * show_mountinfo in fs/proc_namespace.c. The text is hostile.
 */
#ifndef SURVEY_MOUNTS_H
#define SURVEY_MOUNTS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct root;

enum {
	SURVEY_MAX_MOUNTS = 65536,
	SURVEY_MAX_MOUNT_TABLES = 256, /* of processes with their own mounts */
	SURVEY_FS_BYTES = 24,          /* of the name of a type; longer names are truncated */
};

struct survey_mount {
	uint32_t major, minor; /* of the device, as mappings have it */
	bool is_local, is_own; /* is_own: in our namespace */
	char type[SURVEY_FS_BYTES];
	const char *root, *point; /* the mounted part, and the mount point; in the arena */
};

struct survey_mounts {
	const struct root *root; /* borrowed */
	struct arena arena;
	struct survey_mount *item; /* owned */
	size_t nr, room;
	unsigned nr_tables;
	uint64_t loaded_ns; /* when our own table was read; 0: never */
};

void survey_mounts_init(struct survey_mounts *m, const struct root *root);
void survey_mounts_fini(struct survey_mounts *m);

/* A mount of the device, of which the process has mapped a file; NULL: unknown. */
const struct survey_mount *survey_mounts_find(struct survey_mounts *m, uint32_t pid, uint32_t major,
					      uint32_t minor);
/* The mount in our namespace that contains path; NULL: none. */
const struct survey_mount *survey_mounts_cover(struct survey_mounts *m, const char *path);

#endif
