/*
 * A list of what happened in a thread, in order of time, in few bytes each: what differs from the
 * one before, in as many bytes as it needs.
 */
#ifndef PROFILE_REGION_LOG_H
#define PROFILE_REGION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* kind < 16. A value and a depth of 0 need no bytes. */
struct region_step {
	uint64_t time_ns;
	int64_t value;
	uint32_t what, depth;
	uint32_t kind;
};

/* Zero-initialise. */
struct region_log {
	uint8_t *bytes; /* owned */
	size_t nr_bytes, room;
	uint64_t last_ns;
};
void region_log_fini(struct region_log *l);
/* A time before the last step's becomes that one's. 0 or -ENOMEM, with nothing added. */
int region_log_add(struct region_log *l, const struct region_step *s);
/* Frees the room for more. */
void region_log_trim(struct region_log *l);

/* Zero-initialise but for log; or start at a step, with the time of the one before. */
struct region_cursor {
	const struct region_log *log;
	size_t at;
	uint64_t time_ns;
};
/* False after the last. */
bool region_log_next(struct region_cursor *c, struct region_step *out);

#endif
