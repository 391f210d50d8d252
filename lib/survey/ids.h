/*
 * The build-ids of mapped files, each file read once: from the kernel, or, if it has none, through
 * /proc/PID/map_files, which opens the mapped file itself in any mount namespace.
 */
#ifndef SURVEY_IDS_H
#define SURVEY_IDS_H

#include "base/arena.h"
#include "survey/mounts.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_build_id;
struct proc_mapping;
struct root;

enum { SURVEY_MAX_FILES = 65536, SURVEY_FILE_BUCKETS = 4096 };

/* What a file is known by. */
struct survey_key {
	uint64_t inode;
	uint32_t major, minor, name_crc;
};
struct survey_key survey_key(const struct proc_mapping *m);

/* Files that did not answer. After SURVEY_SILENT_FILES on one device its other files are not read
 * either: each would cost the time limit again. */
enum { SURVEY_SILENT_FILES = 2 };
bool survey_device_is_silent(const struct survey_key *files, size_t nr, uint32_t major,
			     uint32_t minor);

struct survey_ids {
	const struct root *root; /* borrowed */
	struct survey_mounts mounts;
	/* Called before a file is read, which may block forever; NULL. */
	void (*before)(const struct proc_mapping *m, void *arg);
	void *arg;
	const struct survey_key *silent; /* borrowed; files that did not answer */
	size_t nr_silent;
	struct arena arena;
	struct survey_file *bucket[SURVEY_FILE_BUCKETS];
	uint32_t nr_files; /* known, with a build-id or without */
	uint32_t nr_ids;
	uint32_t nr_foreign; /* files that were not read: on network or FUSE file systems */
	uint32_t nr_unasked; /* files that were not read: on a silent device */
	char foreign_type[SURVEY_FS_BYTES]; /* the type of the last one's file system; "": no
					       table of mounts has it */
	bool is_denied;                     /* we may read none: do not try again */
	bool has_failed;                    /* some could not be read, for another reason */
	bool is_full; /* some files were not read because SURVEY_MAX_FILES, or memory, was short */
};

void survey_ids_init(struct survey_ids *ids, const struct root *root);
void survey_ids_fini(struct survey_ids *ids);

/* These files, which did not answer, are not read; borrowed. */
void survey_ids_skip(struct survey_ids *ids, const struct survey_key *files, size_t nr);

/* The build-id of the mapping's file; NULL: it has none, or it cannot be read. Lives as long as
 * ids. maps_fd is that of /proc/PID/maps. */
const struct elf_build_id *survey_ids_find(struct survey_ids *ids, uint32_t pid, int maps_fd,
					   const struct proc_mapping *m);

#endif
