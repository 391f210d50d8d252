/*
 * Whether the end of a call may be seen by replacing its return address (uretprobe). Whoever walks
 * the stack meanwhile finds the replaced address, and where a stack is left for another one the
 * kernel takes the wrong address off its list. Tried on Linux 6.18, with the function's times:
 *
 *	C++, an exception thrown through it	std::terminate
 *	C++, caught within it			right
 *	Rust, a panic unwound through it	aborts: failed to initiate panic
 *	Go, the stack grows within it		runtime: unexpected return pc
 *	swapcontext within it, two coroutines	returns into the other one: wrong results
 *	swapcontext within it, one		right
 *	longjmp, pthread_exit through it	right
 *	vfork within it				right
 *	setjmp itself				SIGILL at longjmp
 *	a signal on another stack within it	right
 *	backtrace() within it			ends there
 *
 * None of it happens in a function that calls nothing. So of a target whose files can throw, or
 * switch stacks, only such functions have times; of Go none.
 */
#ifndef FUNCTIONS_ENDS_H
#define FUNCTIONS_ENDS_H

#include "functions/functions.h"

struct elf_file;

/* Which file of a target does it; names are borrowed; NULL: none. Zero-initialise. */
struct functions_ends {
	const char *throws, *switches, *moves;
};

/* Notes what a file of the target can do. path is borrowed. */
void functions_ends_add(struct functions_ends *e, const struct elf_file *f, const char *path);

enum { FUNCTIONS_ENDS_REASON_BYTES = 256 };
/* Why functions that call anything (or, of Go, all) have no times; "": they have. */
void functions_ends_reason(const struct functions_ends *e, char out[FUNCTIONS_ENDS_REASON_BYTES]);
/* Sets ret and reason: the text of functions_ends_reason, borrowed. */
void functions_ends_decide(const struct functions_ends *e, const char *reason,
			   struct functions_place *p);

#endif
