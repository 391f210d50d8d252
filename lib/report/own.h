/*
 * Which function of a stack is the program's own: where it waits, or wakes another task.
 */
#ifndef REPORT_OWN_H
#define REPORT_OWN_H

#include "report/entry.h"

/* The place of the innermost function of the program itself: outside of the kernel, the C library,
 * that of C++, what starts a program, and what has no file (code made at run time is the
 * program's). Of a script that is interpreted it is the script's, outside of the interpreter and
 * its library. If there is none, that of the C library, unless the program is starting or ending;
 * else of the kernel, outside of what all wakeups call; else of any. The order of the nr frames is
 * one of the two. 0 if there are none. */
size_t report_own_frame(const struct report_frame *frames, size_t nr, bool outermost_first);
/* How much a function is the program's own, by which report_own_frame chooses: the highest rank. */
enum { REPORT_OWN_OF_PROGRAM = 3 }; /* or higher */
unsigned report_own_rank(const struct report_function *f);

#endif
