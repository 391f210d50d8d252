/*
 * Finds the build-id of a file that was mapped earlier. The file is opened from what the kernel's
 * record says of the mapping, and verified by device, inode and generation. This opens other users'
 * files and may block forever: call it in a process that can be abandoned.
 */
#ifndef SURVEY_IDENTIFY_H
#define SURVEY_IDENTIFY_H

#include "elf/build_id.h"

#include <stdint.h>

struct survey_mounts;

enum { SURVEY_IDENTIFY_PATH_BYTES = 4096 };

/* From the kernel's record of the mapping. start and end: of a mapping of the process that may be
 * gone. */
struct survey_identify_question {
	uint64_t inode, generation, start, end;
	uint32_t major, minor, pid;
	char path[SURVEY_IDENTIFY_PATH_BYTES];
};

enum survey_identify_state {
	SURVEY_IDENTIFY_NONE,    /* not found, another file, changed meanwhile, or no build-id */
	SURVEY_IDENTIFY_FOUND,   /* the file had this build-id from from_ns to to_ns */
	SURVEY_IDENTIFY_FOREIGN, /* not read: on a file system that may never answer */
	SURVEY_IDENTIFY_SILENT,  /* it did not answer in time: not to be asked for again */
};

/* Times are CLOCK_MONOTONIC. */
struct survey_identify_answer {
	uint32_t state;   /* enum survey_identify_state */
	uint32_t is_same; /* found at its path, as it was the last time (known.h) */
	struct elf_build_id id;
	uint64_t from_ns, to_ns;
};

/* With SURVEY_IDENTIFY_FOUND, the id is that of each mapping of the file made between the two
 * times. mounts->root leads to /proc. */
void survey_identify(struct survey_mounts *mounts, const struct survey_identify_question *q,
		     struct survey_identify_answer *out);

/* Opens the file for reading. The descriptor; -EREMOTE: not tried, as its file system may never
 * answer; -ENODEV: nor of an unknown one; -errno. */
int survey_identify_open(struct survey_mounts *mounts, const struct survey_identify_question *q);

#endif
