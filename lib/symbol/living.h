/*
 * Where files are that processes of a session still have mapped: a path leads to nothing, or to
 * another file, for a program that was deleted or replaced, or that is in another mount namespace
 * (a container); and what the session stored of such files, when the processes have ended. The
 * finder asks, and compares what it finds with what was recorded.
 */
#ifndef SYMBOL_LIVING_H
#define SYMBOL_LIVING_H

#include <stdbool.h>

struct elf_finder;
struct profile_processes;
struct symbol_living;

/* Makes the finder ask about these processes; they may live if they are of this boot. Both are
 * borrowed. NULL: no memory. */
struct symbol_living *symbol_living_new(struct elf_finder *finder,
					const struct profile_processes *processes,
					bool is_same_boot);
void symbol_living_free(struct symbol_living *l); /* NULL is fine */

#endif
