/*
 * Which functions of several sessions can be compared by their names. Where the names of an object
 * are there in one session and not in another, or there are none and its bytes differ, so that its
 * addresses mean something else, its functions are one: all of the object. Where only some have
 * names, and the bytes differ, those without are one. Knows nothing of numbers and of output.
 */
#ifndef REPORT_COMPARABLE_H
#define REPORT_COMPARABLE_H

#include "report/entry.h"

struct report_comparable;
struct report_functions;

/* functions: borrowed. NULL without memory. */
struct report_comparable *report_comparable_new(struct report_functions *functions);
void report_comparable_free(struct report_comparable *c); /* NULL is fine */

/* An object, as a session has it. All of the kernel is one, "[kernel]". */
struct report_object_facts {
	const char *name;
	const void *bytes_id; /* two of the same have the same bytes */
	size_t bytes_id_len;  /* 0: not known, which is as good as another */
	unsigned names;       /* 0: it has none; more mean other functions than fewer */
};
/* In any order, each as often as there is reason to. 0 or -ENOMEM. */
int report_comparable_add(struct report_comparable *c, const struct report_object_facts *facts);

/* As what the function is to be compared, once all was added: itself, or one for many. NULL without
 * memory. */
const struct report_function *report_comparable_function(struct report_comparable *c,
							 const struct report_function *function);

enum report_comparable_why {
	REPORT_COMPARABLE, /* by its functions */
	REPORT_NAMES_DIFFER,
	REPORT_BYTES_DIFFER,
};
/* The objects that were added, by numbers from 0. */
size_t report_comparable_nr(const struct report_comparable *c);
enum report_comparable_why report_comparable_why(const struct report_comparable *c, size_t i);
/* How many of them are compared as a whole. */
size_t report_comparable_nr_whole(const struct report_comparable *c);
const char *report_comparable_name(const struct report_comparable *c, size_t i);

#endif
