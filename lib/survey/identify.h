/*
 * The build-id of a file that was mapped a while ago. The file is found by the kernel's record of
 * the mapping and verified by device, inode and generation; without that it has no build-id. Opens
 * other users' files: only for a process that may hang.
 */
#ifndef SURVEY_IDENTIFY_H
#define SURVEY_IDENTIFY_H

#include "elf/build_id.h"

#include <stdint.h>

struct survey_mounts;

enum { SURVEY_IDENTIFY_PATH_BYTES = 4096 };

/* As the kernel's record has it; start and end are those of a mapping of the process, which may
 * have gone. */
struct survey_identify_question {
	uint64_t inode, generation, start, end;
	uint32_t major, minor, pid;
	char path[SURVEY_IDENTIFY_PATH_BYTES];
};

enum survey_identify_state {
	SURVEY_IDENTIFY_NONE,  /* not found, not the same file, changed meanwhile, or without an id
				*/
	SURVEY_IDENTIFY_FOUND, /* it has this id, and had it since from_ns, until to_ns */
	SURVEY_IDENTIFY_FOREIGN, /* on a file system that may never answer: not read */
};

/* Times are CLOCK_MONOTONIC. */
struct survey_identify_answer {
	uint32_t state; /* enum survey_identify_state */
	struct elf_build_id id;
	uint64_t from_ns, to_ns;
};

/* Of SURVEY_IDENTIFY_FOUND: who mapped the file between the two times mapped this. mounts lead to
 * /proc.
 */
void survey_identify(struct survey_mounts *mounts, const struct survey_identify_question *q,
		     struct survey_identify_answer *out);

#endif
