/*
 * Code of a file that its program has moved to memory at the same addresses, for huge pages.
 */
#ifndef SURVEY_COPIES_H
#define SURVEY_COPIES_H

#include "survey/maps.h"

#include <stdbool.h>

struct survey_ids;

/* False: m is no such memory, or it cannot be told (before Linux 6.11; without the right to read
 * the process's memory). Else *beside is the part of the file before it, whose name is in name, and
 * *offset where its code is in that file. Files are read as for build-ids. maps_fd: /proc/PID/maps.
 */
bool survey_copy_find(struct survey_ids *ids, uint32_t pid, int maps_fd,
		      const struct proc_mapping *m, char name[SURVEY_PATH_BYTES],
		      struct proc_mapping *beside, uint64_t *offset);

#endif
