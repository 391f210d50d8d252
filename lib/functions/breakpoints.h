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

struct err;
struct functions_place;

/* Before breakpoints are set, in a process alone, or, pid 0, in all that map the files: -ENOTSUP
 * with *e where one has the agent of functions, and other code than its file where a breakpoint
 * would be, as entries are patched there: the kernel would execute what the file has, and go on in
 * the midst of what replaced it. 0 also if a process may not be read; else -errno with
 * *e. */
int functions_check_patched(uint32_t pid, const struct functions_place *const *places, size_t nr,
			    struct err *e);
/* How many of the places have one in the process; *first: the number of the first of these. 0 also
 * if the process may not be read, or has ended. */
size_t functions_find_breakpoints(uint32_t pid, const struct functions_place *const *places,
				  size_t nr, size_t *first);

#endif
