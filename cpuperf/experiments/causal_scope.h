/*
 * Which functions --causal=FUNCTIONS means: a list of [OBJECT:]GLOB, @SOURCE-GLOB and, with !
 * before it, what is excluded. A function is meant if one of the names matches (without any: if it
 * is the program's), one of the source files, if there are some, and nothing that is excluded. A
 * source glob is of the name of the file, or of its path if it has a slash, by the DWARF of the
 * program.
 */
#ifndef CPUPERF_CAUSAL_SCOPE_H
#define CPUPERF_CAUSAL_SCOPE_H

#include "functions/functions.h"

struct catalogue;
struct err;

/* Calls add for each; strings of the place live in the catalogue's arena. text NULL: the program's.
 * 0, or -errno with *e: also if none is meant. */
int causal_scope_find(const char *text, const struct catalogue *c,
		      int (*add)(void *arg, const struct functions_place *p), void *arg,
		      struct err *e);

#endif
