/*
 * Functions of V8, read from a process as the kernel's program does at a sample
 * (bpf/programs/interpreted_javascript.bpf.h), so that both say the same of one. Objects may be
 * anything, and are moved meanwhile: who asks reads twice.
 */
#ifndef RUNTIMES_V8_FUNCTIONS_H
#define RUNTIMES_V8_FUNCTIONS_H

#include "base/arena.h"
#include "base/dict.h"
#include "bpf/interpreted_shared.h"
#include "runtimes/remote.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct v8_function {
	uint64_t address; /* the key: a pointer of V8 */
	uint64_t script;
	const char *name, *file; /* NULL: it cannot be read */
	uint32_t begin, end;     /* of its text in the source */
	uint32_t first_line;     /* 0: not known */
	uint32_t number;         /* the caller's */
};

struct v8_functions {
	struct remote pages; /* pid: of the process */
	const struct bpf_javascript *at;
	/* private */
	struct dict functions, sources, ends_of;
	struct arena texts, ends_texts;
	uint32_t *ends; /* owned */
	size_t room;
	uint8_t *chunk;  /* owned */
	size_t nr_bytes; /* of sources, that were read since it was forgotten */
};

void v8_functions_fini(struct v8_functions *f);
/* Another process, or much later: sources are read again, too. */
void v8_functions_forget(struct v8_functions *f);
/* All but large sources is read again. */
void v8_functions_begin(struct v8_functions *f);

/* Reads so much of an object, whose type it returns; -1: it cannot be read. */
int v8_read(struct v8_functions *f, uint64_t pointer, void *to, size_t bytes);
static inline bool v8_is_pointer(uint64_t word)
{
	return (word & 3) == 1;
}
/* A small integer that is not negative. */
static inline bool v8_is_number(uint64_t word)
{
	return !(uint32_t)word && (int64_t)word >= 0;
}

/* NULL: it cannot be read. Valid until v8_functions_begin; moves with the next call. */
struct v8_function *v8_function_get(struct v8_functions *f, uint64_t pointer);
/* The line of a position in its source; *line 0: not known. False: it is not within the source. */
bool v8_function_line(struct v8_functions *f, const struct v8_function *of, uint32_t position,
		      uint32_t *line);

#endif
