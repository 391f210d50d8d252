/*
 * How far up stacks are needed. Above the frame of a thread's outermost function lie the arguments
 * and the environment of its program, or its thread-local data: often more than the stack itself.
 * Where a stack of the thread has ended, the next ones end, too, as long as the bytes there are the
 * same: those of an exec, or of another stack, are others. A stack that lies within another one, as
 * a coroutine's in an array of main's, ends below it: the higher base stays. If the lower one was
 * seen first, main's next stack lacks frames, and from then on none of the thread is shortened.
 *
 * A table of fixed size, in which a thread may take another one's place.
 */
#ifndef WHOLE_BASES_H
#define WHOLE_BASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WHOLE_BASES = 1024, WHOLE_BASE_BYTES = 64 };

struct whole_base {
	uint32_t tid;
	bool is_refused;  /* its stacks end at several places: they are not shortened */
	uint64_t address; /* 0: none */
	uint8_t bytes[WHOLE_BASE_BYTES];
};

struct whole_bases {
	struct whole_base of[WHOLE_BASES];
};

/* The len bytes of a stack, copied from sp on, of a thread. */
struct whole_copy {
	const uint8_t *stack;
	size_t len;
	uint64_t sp;
	uint32_t tid;
};

/* The stack ended at that address: nothing above it was read. */
void whole_bases_add(struct whole_bases *b, const struct whole_copy *c, uint64_t address);
/* A shortened stack of the thread went on where its bytes ended: none is shortened any more, until
 * another thread has taken its place. */
void whole_bases_refuse(struct whole_bases *b, uint32_t tid);
/* How many of the bytes are needed; all, if it is not known. */
size_t whole_bases_needed(const struct whole_bases *b, const struct whole_copy *c);

#endif
