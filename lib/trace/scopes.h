/*
 * Which functions a runtime has inlined where in code that it compiled, as sessions have it
 * (struct trace_compiled): ranges of the code, of each the innermost scope; a scope is a function
 * at a line, and has the scope that calls it.
 *
 * Bytes, little-endian: u32 numbers of ranges, scopes and functions; of each range u32 end (how far
 * from the start of the code; it begins where the one before ends) and u32 scope (from 1; 0: not
 * known); of each scope u32 function (from 0), u32 line (0: not known), u32 caller (an earlier
 * scope, from 1; 0: none); of each function u32 name and u32 file (where they begin in the texts);
 * then texts, each of which ends with a NUL.
 */
#ifndef TRACE_SCOPES_H
#define TRACE_SCOPES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_SCOPES_BYTES = 1 << 18, TRACE_SCOPES_MAX_DEPTH = 32 };

/* A writer. Zeroes at first. Failures stick until trace_scopes_begin. */
struct trace_scopes {
	struct buf ranges, scopes, functions, texts, all; /* private, owned */
};
void trace_scopes_fini(struct trace_scopes *s);
/* Drops what was written. */
void trace_scopes_begin(struct trace_scopes *s);
/* The number of a function, from 0; of a scope, from 1. caller: 0, or such a number. */
uint32_t trace_scopes_function(struct trace_scopes *s, const char *name, const char *file);
uint32_t trace_scopes_add(struct trace_scopes *s, uint32_t function, uint32_t line,
			  uint32_t caller);
/* The next range, up to the end, which is behind that of the last one. One of the same scope is
 * extended. */
void trace_scopes_range(struct trace_scopes *s, uint32_t end, uint32_t scope);
/* All of it, valid until the next call. False: it is too long, or there is no memory. */
bool trace_scopes_end(struct trace_scopes *s, const uint8_t **out, uint32_t *out_bytes);

/* A function at a line. Texts are borrowed, and may be anything. */
struct trace_scope {
	const char *name, *file;
	uint32_t line;     /* 0: not known */
	uint32_t function; /* its number */
};
/* The functions at a distance from the start of the code, the innermost first, the one that was
 * compiled last. 0: not known, or the bytes, which may be anything, are invalid. */
size_t trace_scopes_at(const uint8_t *bytes, size_t len, uint64_t distance,
		       struct trace_scope out[TRACE_SCOPES_MAX_DEPTH]);
/* Function 0, at no line. False: there is none. */
bool trace_scopes_first(const uint8_t *bytes, size_t len, struct trace_scope *out);

#endif
