/*
 * Source lines as candidates (--causal=lines): the code that the line tables of DWARF say is of a
 * line, in functions that are meant. A line of code that the compiler has put into several places
 * is one.
 */
#ifndef CPUPERF_CAUSAL_LINES_H
#define CPUPERF_CAUSAL_LINES_H

#include "base/arena.h"
#include "functions/functions.h"

#include <stdbool.h>
#include <stddef.h>

struct causal_candidates;
struct err;

/* Adds the lines of these functions, of which those of one file follow each other; sorts them.
 * Strings are of the arena. 0 or -errno with *e. */
int causal_lines_add(struct functions_place *place, size_t nr, struct arena *strings,
		     struct causal_candidates *out, struct err *e);

#endif
