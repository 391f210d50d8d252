/*
 * Where in a file's functions code of others jumps, not to their begins: parts of functions that
 * the compiler has put elsewhere jump back, and functions in assembly share their ends. All code
 * of the file is read, also that without a symbol.
 */
#ifndef FUNCTIONS_INWARD_H
#define FUNCTIONS_INWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct functions_symbol;

struct functions_inward {
	uint64_t *target; /* owned; ascending */
	size_t nr, room;
	bool is_whole; /* all code was read */
};

/* The symbols of the file, by address. 0 or -ENOMEM. */
int functions_inward_load(const struct elf_file *f, const struct functions_symbol *symbols,
			  size_t nr, struct functions_inward *out);
void functions_inward_fini(struct functions_inward *in);
/* Whether any leads behind start, up to end (exclusive). */
bool functions_inward_has(const struct functions_inward *in, uint64_t start, uint64_t end);

#endif
