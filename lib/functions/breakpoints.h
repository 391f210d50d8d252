/*
 * Breakpoints that are in the code of a process, where functions are measured: of another tool, or
 * left by the kernel, which may fail to remove one (its log then has "leaking uprobe"). Who
 * removes them harms the other tool, so they are only found.
 */
#ifndef FUNCTIONS_BREAKPOINTS_H
#define FUNCTIONS_BREAKPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct functions_place;

/* Whether the process has the agent of functions, and other code than its file where a breakpoint
 * would be, as entries are patched there: the kernel would execute what the file has, and go on in
 * the midst of what replaced it. *first: the number of the place. False also if the process may not
 * be read. */
bool functions_are_patched(uint32_t pid, const struct functions_place *const *places, size_t nr,
			   size_t *first);
/* How many of the places have one in the process; *first: the number of the first of these. 0 also
 * if the process may not be read, or has ended. */
size_t functions_find_breakpoints(uint32_t pid, const struct functions_place *const *places,
				  size_t nr, size_t *first);

#endif
