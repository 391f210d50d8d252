/*
 * Which functions V8 has inlined where in code that it optimised, by what the code keeps for stack
 * traces and deoptimisation: a table of positions in sources, each with an inlined function, whose
 * place is in a list. What is before the first position is the function's own.
 */
#ifndef RUNTIMES_V8_SCOPES_H
#define RUNTIMES_V8_SCOPES_H

#include "runtimes/v8_code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct v8_scopes;
/* NULL: no memory. */
struct v8_scopes *v8_scopes_new(void);
void v8_scopes_free(struct v8_scopes *s); /* NULL is fine */

/* Functions by their numbers: data has the first line of each, a u32; 0 is the one that was
 * compiled. Valid until the next call. */
struct v8_scopes_found {
	const char *name, *file; /* of function 0 */
	const uint8_t *scopes, *data;
	uint32_t scopes_bytes, data_bytes;
};
/* At a look at a process, in which a large source is read once. at: borrowed, where V8
 * has what, with a layout. */
void v8_scopes_begin(struct v8_scopes *s, uint32_t pid, const struct bpf_javascript *at);
/* Reads all but large sources twice, which must say the same. False: it has no positions, or they
 * cannot be read, or contradict themselves, or the thread has used until_ns of CPU time. */
bool v8_scopes_find(struct v8_scopes *s, const struct v8_code *code, uint64_t until_ns,
		    struct v8_scopes_found *out);

#endif
