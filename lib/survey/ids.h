/*
 * The build-ids of mapped files; each file is read once. The kernel reports them, or they are read
 * through /proc/PID/map_files, which works in any mount namespace; of a process that has ended
 * meanwhile, by their names.
 */
#ifndef SURVEY_IDS_H
#define SURVEY_IDS_H

#include "base/dict.h"
#include "survey/mounts.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_build_id;
struct proc_mapping;
struct root;

enum { SURVEY_MAX_FILES = 65536 };

/* Identifies a file. */
struct survey_key {
	uint64_t inode;
	uint32_t major, minor, name_crc;
};
struct survey_key survey_key(const struct proc_mapping *m);

/* After SURVEY_SILENT_FILES files of one device did not answer, its other files are not read: each
 * would take the time limit again. */
enum { SURVEY_SILENT_FILES = 2 };
bool survey_device_is_silent(const struct survey_key *files, size_t nr, uint32_t major,
			     uint32_t minor);

struct survey_ids {
	const struct root *root; /* borrowed */
	uint64_t since_ns;       /* CLOCK_MONOTONIC, before any mapping was read */
	struct survey_mounts mounts;
	/* NULL, or called before a file is read, which may block forever. */
	void (*before)(const struct proc_mapping *m, void *arg);
	/* NULL, or called after a file was read for the first time; id: its build-id, or empty. */
	void (*after)(uint32_t pid, const struct proc_mapping *m, const struct elf_build_id *id,
		      void *arg);
	void *arg;
	const struct survey_key *silent; /* borrowed; files that did not answer */
	size_t nr_silent;
	struct dict files; /* private; each with its build-id, if it has one */
	uint32_t nr_ids;
	uint32_t nr_foreign;                /* not read: on network or FUSE file systems */
	uint32_t nr_unasked;                /* not read: on a silent device */
	char foreign_type[SURVEY_FS_BYTES]; /* of the file system of the last such file; "": not in
					       a table of mounts */
	bool is_denied;                     /* no privilege: do not try again */
	bool has_failed;                    /* some could not be read for another reason */
	bool is_full; /* some were not read: SURVEY_MAX_FILES or the memory was reached */
};

void survey_ids_init(struct survey_ids *ids, const struct root *root);
void survey_ids_fini(struct survey_ids *ids);

/* Files that did not answer before and are not read; borrowed. */
void survey_ids_skip(struct survey_ids *ids, const struct survey_key *files, size_t nr);

/* The build-id of the mapping's file, valid until the next call; NULL: none, or not readable.
 * maps_fd: /proc/PID/maps, open. */
const struct elf_build_id *survey_ids_find(struct survey_ids *ids, uint32_t pid, int maps_fd,
					   const struct proc_mapping *m);

#endif
