/*
 * What is known of V8's memory beyond what the kernel's program reads: where code that is optimised
 * says what was inlined into it (runtimes/v8.h). Sources: code.h, deoptimization-data.h,
 * source-position.h and source-position-table.cc of V8 9.4, 10.2, 11.3, 12.4 and 13.6, and the
 * memory of Node.js 16, 18, 20, 22 and 24. What its symbols do not say was found there; types of
 * objects, and objects that lead to each other, show that it is so.
 */
#ifndef INTERPRETERS_V8_H
#define INTERPRETERS_V8_H

#include "bpf/interpreted_shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interpreters_judge;
struct trace_code;

/* Offsets from where an object begins; the same in all versions. */
enum {
	V8_CODE_BYTES = 64,
	V8_ARRAY_LENGTH = 8,
	V8_ARRAY_HEAD = 16,
	V8_WRAPPED = 8,
	V8_DATA_NR = 9, /* items of what is known of code, at least */
	V8_KINDS = 15,  /* of flags */
	/* TurboFan's code. What Maglev compiles, between the two, has positions that are stale, as
	 * of a line before, for many of its instructions. */
	V8_OPTIMISED = 2, /* kinds behind the baseline */
};
/* The same, and places in the array of what is known of code, as versions differ in them. A stream
 * is the object whose instructions follow its head. */
struct v8_layout {
	uint16_t stream_code; /* a pointer to its code; 0: it is that itself */
	uint16_t stream_head;
	uint16_t code_data, code_positions;
	uint16_t code_beside; /* the stream; where that is the code itself, what belongs to it */
	uint16_t code_start;  /* of instructions; 0: they follow the code */
	uint16_t code_length;
	uint16_t code_flags;
	uint16_t baseline; /* a kind of code, in its flags */
	uint16_t data_nr_inlined, data_literals, data_function, data_inlinings;
};
/* NULL: none that is known. */
const struct v8_layout *interpreters_v8_layout(const struct bpf_javascript *j);

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
