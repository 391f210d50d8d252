/*
 * Code that V8 has optimised, by where its instructions may begin (interpreters/v8.h says how
 * versions differ).
 */
#ifndef RUNTIMES_V8_CODE_H
#define RUNTIMES_V8_CODE_H

#include "interpreters/v8.h"
#include "runtimes/remote.h"

#include <stdbool.h>
#include <stdint.h>

/* Pointers of V8. */
struct v8_code {
	uint64_t start, end; /* of instructions */
	uint64_t code, data, positions;
};

/* The type of an object, or -1: it cannot be read. */
int v8_code_type(struct remote *pages, const struct bpf_javascript *at, uint64_t pointer);

/* Of the stream at an address; code: the pointer to what belongs to it. end: no instructions are
 * from there on. False: it is none, or none that is optimised. */
bool v8_code_read(struct remote *pages, const struct bpf_javascript *at, uint64_t stream,
		  uint64_t code, uint64_t end, struct v8_code *out);
/* Whether it is still that one. */
bool v8_code_is_still(struct remote *pages, const struct bpf_javascript *at,
		      const struct v8_code *code);

#endif
