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

/* Reads the code of the stream at that address. code: the pointer to its object; end: where its
 * instructions must end. False: there is no code, or it is not optimised. */
bool v8_code_read(struct remote *pages, const struct bpf_javascript *at, uint64_t stream,
		  uint64_t code, uint64_t end, struct v8_code *out);
/* Whether it is still that one. */
bool v8_code_is_still(struct remote *pages, const struct bpf_javascript *at,
		      const struct v8_code *code);

#endif
