/*
 * Which files of a long session are removed: the oldest, once a limit of the spec's retain is
 * exceeded. Decides only; opens and removes no file.
 *
 * A segment ends at a tenth of each limit, and is removed whole; of a sampling session each
 * iteration is. The syncer's thread removes files only after the manifest that names them as
 * removed is on the disk, and only traces with the session's id. A reader ignores what `removed`
 * names; what a session in progress removes while it is read is reported once.
 */
#ifndef SESSION_RETAIN_H
#define SESSION_RETAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_triple;
struct spec_retain;

/* What was removed; all zero: nothing. */
struct retain_removed {
	uint64_t numbers;          /* files of lower numbers */
	uint64_t iterations;       /* lower ones */
	uint64_t begin_ns, end_ns; /* of these iterations, CLOCK_REALTIME */
};

/* The files of one number: of an iteration, or of segments. */
struct retain_part {
	uint64_t number;
	uint64_t first, end;                 /* iterations first <= i < end */
	uint64_t begin_ns, end_ns;           /* CLOCK_MONOTONIC */
	uint64_t begin_real_ns, end_real_ns; /* CLOCK_REALTIME */
	uint64_t bytes;
};

struct retain {
	const struct spec_retain *limits; /* borrowed */
	struct retain_part *parts;        /* owned; those from first on remain, the oldest first */
	size_t first, nr, room;
	uint64_t bytes; /* of the remaining parts */
	struct retain_removed removed;
};

void retain_init(struct retain *r, const struct spec_retain *limits);
void retain_fini(struct retain *r);

/* Adds a complete iteration to the newest part, or to a new one if that has another number. clocks:
 * at its end. 0 or -ENOMEM. */
int retain_add(struct retain *r, uint64_t number, uint64_t iteration, uint64_t begin_ns,
	       uint64_t end_ns, const struct clock_triple *clocks);
/* The newest part; NULL: there is none. */
struct retain_part *retain_newest(const struct retain *r);
/* Sets the bytes of the newest part. */
void retain_set_bytes(struct retain *r, uint64_t bytes);
/* True if the newest part has a tenth of a limit: the next iteration should begin another. */
bool retain_is_full(const struct retain *r);
/* Removes parts until all limits are met, or only the newest is left. further_bytes: of files that
 * are no part. True if removed has changed. */
bool retain_trim(struct retain *r, uint64_t further_bytes);

#endif
