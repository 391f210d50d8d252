/*
 * Code that runtimes compiled while their processes ran, as the recorder read it (the room
 * runtimes): what was at an address at a time. The last change until then applies.
 */
#ifndef PROFILE_COMPILED_H
#define PROFILE_COMPILED_H

#include "base/arena.h"
#include "trace/scopes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_codes;
struct profile_processes;
struct trace_compiled;

struct profile_compiled {
	uint64_t time_ns, start, end;
	uint32_t pid, order; /* of the frames */
	const char *name;    /* safe to show; "": nothing that is known */
	/* as in trace_compiled */
	uint32_t kind, frame_bytes, frame_from, codes_bytes;
	uint64_t codes;
	uint64_t code; /* of what is interpreted: its number (profile/codes.h) */
	/* borrowed from the table: of the code, a u32 each; of a script, first lines */
	const uint8_t *points;
	uint32_t nr_points;
	const uint8_t *scopes; /* borrowed from the table: as in trace_compiled */
	uint32_t scopes_bytes;
};

/* What was at an address; NULL: the process has no change there until then. */
const struct profile_compiled *profile_compiled_find(const struct profile_processes *p,
						     uint32_t pid, uint64_t address,
						     uint64_t time_ns);
/* What is inlined at one of its addresses, as trace_scopes_at. */
static inline size_t profile_compiled_scopes(const struct profile_compiled *c, uint64_t address,
					     struct trace_scope out[TRACE_SCOPES_MAX_DEPTH])
{
	return trace_scopes_at(c->scopes, c->scopes_bytes, address - c->start, out);
}
/* While this is the same, so is what addresses of the process mean. */
uint32_t profile_compiled_epoch(const struct profile_processes *p, uint32_t pid, uint64_t time_ns);

/* Whether anything is known of the process. */
bool profile_compiled_has_any(const struct profile_processes *p, uint32_t pid);
/* Whether it is known how frames of what the process has compiled lead to their callers. */
bool profile_compiled_has_frames(const struct profile_processes *p, uint32_t pid);

/* The table of them. Zeroes are an empty one. */
struct profile_compiled_table {
	struct profile_compiled *item; /* owned; once made, by process, then by time */
	size_t nr, room;
	bool is_full;     /* changes are missing, */
	uint64_t full_ns; /* so that nothing is known from then on */
	struct arena names;
	struct profile_compiled_process *process; /* owned; by number */
	size_t nr_processes;
};
/* Copies it; what is interpreted becomes one of the codes, too. 0; -EFBIG: skipped; -ENOMEM. */
int profile_compiled_add(struct profile_compiled_table *t, struct profile_codes *codes,
			 const struct trace_compiled *c);
/* After some were added: they are found then. 0 or -ENOMEM. */
int profile_compiled_make(struct profile_compiled_table *t);
void profile_compiled_fini(struct profile_compiled_table *t);

#endif
