/*
 * What V8, as in Node.js, has inlined into code that it optimised: read from the memory of a
 * process that runs. The process does nothing for it, is not stopped, and needs no options. Names
 * of functions that have a frame are not from here (interpreters/interpreters.h): reports use what
 * is read here of a frame whose function is the same. Of samples without such a record address and
 * time decide, as for HotSpot.
 *
 * Code is in memory that is executable and of no file. Each begins at an address with a header,
 * which leads to an object that leads back, or is that object (before V8 11), and to what the code
 * keeps (runtimes/v8_scopes.h). So all of that memory that was ever touched is read, and other
 * bytes are no code.
 *
 * The process runs meanwhile, and its collector moves objects: what was inlined is read twice. All
 * of it is hostile.
 */
#ifndef RUNTIMES_V8_H
#define RUNTIMES_V8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_compiled;
struct v8;

/* From a time on other code is at some addresses: kind TRACE_COMPILED_SCRIPT, without a name where
 * none is known any more. */
typedef void v8_fn(void *arg, const struct trace_compiled *change);

/* What looks at all processes share, of one thread. Zeroes at first. */
struct v8_shared {
	/* private */
	struct interpreters_judge *judge; /* owned; NULL: not yet */
	struct v8_scopes *scopes;         /* the same */
	struct v8_found {
		struct v8_known *item; /* owned; by address */
		size_t nr, room;
	} now;          /* at this look */
	uint8_t *chunk; /* owned */
};
void v8_shared_fini(struct v8_shared *s);

/* 0; -ENXIO: the process has none that is called so, or one whose code is not known; -ENOMEM. What
 * is there at the first look has been there from since_ns on. */
int v8_open(struct v8_shared *shared, uint32_t pid, uint64_t since_ns, struct v8 **out);
void v8_close(struct v8 *v); /* NULL is fine */

/* Passes what has changed since the last look. is_last: it has more time. 0; -ESRCH: the process
 * has ended, or executes another program; -ENOMEM. */
int v8_look(struct v8 *v, bool is_last, v8_fn *fn, void *arg, bool *has_changed);
/* There will be no more looks. */
void v8_leave(struct v8 *v, v8_fn *fn, void *arg);

/* Whether a file of that path is called as one that has V8. */
bool v8_is_program(const char *path);

#endif
