/*
 * The build-ids of mapped files, each file asked for once: of the kernel, or, where it knows none,
 * read through /proc/PID/map_files, which leads to the very file that is mapped, whatever its name
 * means in whose mount namespace.
 */
#ifndef SESSION_SURVEY_IDS_H
#define SESSION_SURVEY_IDS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_build_id;
struct proc_mapping;
struct root;

enum { SURVEY_MAX_FILES = 65536, SURVEY_FILE_BUCKETS = 4096 };

struct survey_ids {
	const struct root *root; /* borrowed */
	struct arena arena;
	struct survey_file *bucket[SURVEY_FILE_BUCKETS];
	uint32_t nr_files; /* known, with a build-id or without */
	uint32_t nr_ids;
	bool is_denied;  /* the kernel lets us read none: not asked again */
	bool has_failed; /* some could not be read, for another reason */
	bool is_full; /* some files were not read because SURVEY_MAX_FILES, or memory, was short */
};

void survey_ids_init(struct survey_ids *ids, const struct root *root);
void survey_ids_fini(struct survey_ids *ids);

/* The build-id of the mapping's file; NULL: it has none, or it cannot be read. Lives as long as
 * ids. maps_fd is that of /proc/PID/maps. */
const struct elf_build_id *survey_ids_find(struct survey_ids *ids, uint32_t pid, int maps_fd,
					   const struct proc_mapping *m);

#endif
