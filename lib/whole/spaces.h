/*
 * What processes have mapped while a session records: from the records of the side band and of the
 * survey, as they come. Answers for any time since then, so samples need no order. One thread uses
 * it.
 *
 * It is stricter than a reader, which has all records (profile/processes.h): a process of which
 * something may be missing is not known. Its samples keep their bytes.
 */
#ifndef WHOLE_SPACES_H
#define WHOLE_SPACES_H

#include "unwind/mapping.h"

#include <stddef.h>

enum {
	WHOLE_MAX_PIDS = 1 << 17,       /* that have not been forgotten */
	WHOLE_MAX_MAPPINGS = 1 << 16,   /* of a process */
	WHOLE_MAX_OBJECTS = 1 << 16,    /* of all */
	WHOLE_MAX_TEXT_BYTES = 8 << 20, /* of their paths */
};

struct whole_life;
struct whole_spaces;

struct whole_spaces *whole_spaces_new(void); /* NULL: no memory */
void whole_spaces_free(struct whole_spaces *s);

/* Records of one ring, in its order; of several rings, those of the first one first. is_made: the
 * survey made them. */
void whole_spaces_add(struct whole_spaces *s, const void *records, size_t len, bool is_made);
/* From here on what is added last is known: after the records of all rings up to now. */
void whole_spaces_apply(struct whole_spaces *s);

/* Records are missing: of the processes that there are nothing is known until their next exec. */
void whole_spaces_lose(struct whole_spaces *s);

/* What the process was at that time; NULL: not known. Valid until the next change. */
const struct whole_life *whole_spaces_find(const struct whole_spaces *s, uint32_t pid,
					   uint64_t time_ns);
/* Processes are struct whole_life. Borrows s. */
struct unwind_maps whole_spaces_maps(struct whole_spaces *s);
/* The process that had it mapped last, which may still have it. */
bool whole_spaces_holder(const struct whole_spaces *s, const char *path, uint64_t inode,
			 uint32_t *pid, uint64_t *start, uint64_t *end);
/* Frees what processes were that ended, or were replaced, before that time. */
void whole_spaces_forget(struct whole_spaces *s, uint64_t before_ns);

/* Half of the objects that there may be are there, with those of processes that were forgotten. */
bool whole_spaces_is_low(const struct whole_spaces *s);
/* Removes objects that nothing has mapped; the others get other numbers. Without memory, nothing
 * changes. */
void whole_spaces_renew(struct whole_spaces *s);

#endif
