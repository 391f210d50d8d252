/*
 * Events of the group function: the calls of functions of programs and libraries. A name is
 * "[OBJECT:]GLOB" (functions/pattern.h). Without OBJECT the program's own functions are meant; if
 * none of them matches, those of all files that the target maps. OBJECT may also be the path of a
 * file that the target maps later.
 */
#ifndef EVENT_FUNCTION_H
#define EVENT_FUNCTION_H

#include "functions/functions.h"

struct catalogue;
struct err;

enum { EVENT_MAX_FUNCTIONS = 1 << 16 };

/* Functions that a text means: an array to be freed with mem_free; strings live in the catalogue's
 * arena. Those that are refused are among them, with their reasons. 0; -EINVAL, -ENOENT or -E2BIG
 * with *e; -ENOMEM. */
struct event_functions {
	struct functions_place *place;
	size_t nr, room, nr_refused;
	bool is_of_program; /* of the files that were meant first; else those of its libraries */
};
int event_functions_find(const struct catalogue *c, const char *text, struct event_functions *out,
			 struct err *e);

/* "NOP of 5 bytes", "stepped". */
const char *event_function_entry(enum functions_entry entry);

#endif
