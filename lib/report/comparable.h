/*
 * Which functions of several sessions can be compared by their names. An object is compared as a
 * whole if its names differ between sessions, or if it has no names and its bytes differ, so that
 * addresses do not match. Where only some functions have names and the bytes differ, the others are
 * compared as one.
 */
#ifndef REPORT_COMPARABLE_H
#define REPORT_COMPARABLE_H

#include "report/entry.h"

struct report_comparable;
struct report_functions;

/* functions: borrowed. NULL without memory. */
struct report_comparable *report_comparable_new(struct report_functions *functions);
void report_comparable_free(struct report_comparable *c); /* NULL is fine */

/* An object of a session. The kernel with its modules is one, "[kernel]". */
struct report_object_facts {
	const char *name;
	const void *bytes_id; /* equal ids: equal bytes */
	size_t bytes_id_len;  /* 0: unknown, not equal to any other */
	unsigned names;       /* the set of names; 0: none */
};
/* In any order; the same object may be added again. 0 or -ENOMEM. */
int report_comparable_add(struct report_comparable *c, const struct report_object_facts *facts);

/* After all objects are added: the function to compare in place of this one, itself or one that
 * stands for many. NULL: no memory. */
const struct report_function *report_comparable_function(struct report_comparable *c,
							 const struct report_function *function);

enum report_comparable_why {
	REPORT_COMPARABLE, /* by its functions */
	REPORT_NAMES_DIFFER,
	REPORT_BYTES_DIFFER,
};
/* The number of added objects; they are numbered from 0. */
size_t report_comparable_nr(const struct report_comparable *c);
enum report_comparable_why report_comparable_why(const struct report_comparable *c, size_t i);
/* How many of them are compared as a whole. */
size_t report_comparable_nr_whole(const struct report_comparable *c);
const char *report_comparable_name(const struct report_comparable *c, size_t i);

#endif
