/*
 * What is known of V8's memory beyond what the kernel's program reads: where code that is optimised
 * says what was inlined into it (runtimes/v8.h). Sources: code.h, deoptimization-data.h,
 * source-position.h and source-position-table.cc of V8 11.3. What its symbols do not say was found
 * there; objects that lead to each other show that it is so.
 */
#ifndef INTERPRETERS_V8_H
#define INTERPRETERS_V8_H

#include "bpf/interpreted_shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interpreters_judge;
struct trace_code;

/* Offsets from where an object begins, and places in the array of what is known of code. */
enum {
	V8_STREAM_CODE = 8, /* a pointer; instructions follow it */
	V8_STREAM_HEAD = 16,
	V8_CODE_DATA = 16,
	V8_CODE_POSITIONS = 24,
	V8_CODE_STREAM = 32,
	V8_CODE_START = 40, /* of instructions */
	V8_CODE_LENGTH = 56,
	V8_CODE_BYTES = 64,
	V8_ARRAY_LENGTH = 8,
	V8_ARRAY_HEAD = 16,
	V8_DATA_NR_INLINED = 1,
	V8_DATA_LITERALS = 2,
	V8_DATA_FUNCTION = 6,
	V8_DATA_INLININGS = 7,
	V8_DATA_NR = 8, /* at least */
};

/* Where the V8 of a process has what. False: it has none that is called so, or one of a version
 * whose optimised code is not known. */
bool interpreters_v8_find(struct interpreters_judge *j, uint32_t pid, struct bpf_javascript *out);
/* Name and file of a function, UTF-8 as they are, become what people write. */
void interpreters_v8_name(struct trace_code *code);

/* Characters of so many bytes as UTF-8, cut where size ends: at from and of a width of 1, 2 or 4
 * bytes each. */
void interpreters_text(const struct bpf_interpreted_text *text, const uint8_t *from, char *to,
		       size_t size);

#endif
