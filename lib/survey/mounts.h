/*
 * Which file systems are local: on disks or in memory. A network or FUSE file system may never
 * answer, and any user can mount one. Read from /proc/PID/mountinfo, which touches none of them.
 * Source: show_mountinfo in fs/proc_namespace.c. Every byte is hostile.
 */
#ifndef SURVEY_MOUNTS_H
#define SURVEY_MOUNTS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct root;

enum {
	SURVEY_MAX_MOUNTS = 65536,
	SURVEY_MAX_MOUNT_TABLES = 256, /* of processes that have mounts of their own */
	SURVEY_FS_BYTES = 24,          /* of the name of a type; what is longer is cut */
};

struct survey_mount {
	uint32_t major, minor; /* of the device, as mappings have it */
	bool is_local, is_own; /* own: of the namespace that we are in */
	char type[SURVEY_FS_BYTES];
	const char *root, *point; /* what of it is mounted, and where; in the arena */
};

struct survey_mounts {
	const struct root *root; /* borrowed */
	struct arena arena;
	struct survey_mount *item; /* owned */
	size_t nr, room;
	unsigned nr_tables;
	uint64_t loaded_ns; /* when ours was; 0: never */
};

void survey_mounts_init(struct survey_mounts *m, const struct root *root);
void survey_mounts_fini(struct survey_mounts *m);

/* One that has the device, which the process has something mapped of; NULL: none is known. */
const struct survey_mount *survey_mounts_find(struct survey_mounts *m, uint32_t pid, uint32_t major,
					      uint32_t minor);
/* The one of our own namespace that a path leads to; NULL: none. */
const struct survey_mount *survey_mounts_cover(struct survey_mounts *m, const char *path);

#endif
