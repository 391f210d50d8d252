/*
 * Mapped files that will not be found when the session is read, so that it stores what names their
 * functions: their path leads to nothing or to another file, in the namespace of this process.
 * Which of them were stored, within limits, since any user can run what has large tables of
 * symbols.
 */
#ifndef SURVEY_FILES_H
#define SURVEY_FILES_H

#include "elf/build_id.h"
#include "elf/parts.h"
#include "survey/identify.h"

struct survey_mounts;

enum {
	SURVEY_FILES_MAX = 1024, /* the last one is left out, and so are all after it */
	/* Of one; of all. One may have at most a quarter of what is left. */
	SURVEY_FILES_ONE_BYTES = 16 << 20,
	SURVEY_FILES_ALL_BYTES = 128 << 20,
};

/* The same file may be on many file systems: of one with a build-id, the rest is 0. */
struct survey_files_key {
	uint64_t inode;
	uint32_t major, minor;
	struct elf_build_id id;
};

struct survey_files {
	struct survey_files_key key[SURVEY_FILES_MAX];
	uint32_t nr;
	uint32_t nr_left_out; /* for lack of room; with SURVEY_FILES_MAX at least so many */
	uint64_t bytes;       /* of all */
};

/* Opens a file that is to be stored, and finds its parts; id: its build-id. The descriptor;
 * -EEXIST: its path leads to it; -EALREADY: it was added; -EFBIG: there is no room; -errno: it
 * cannot be opened, or is nothing to store. */
int survey_files_open(const struct survey_files *files, struct survey_mounts *mounts,
		      const struct survey_identify_question *q, const struct elf_build_id *id,
		      struct elf_parts *out);

/* It was stored, with so many bytes; 0: there was no room for it. */
void survey_files_add(struct survey_files *files, const struct survey_identify_question *q,
		      const struct elf_build_id *id, uint64_t bytes);

#endif
