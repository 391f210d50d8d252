/*
 * The line tables of a file: which code is of which source line. Files are hostile: what is read is
 * within the file's budget.
 */
#ifndef ELF_LINES_H
#define ELF_LINES_H

#include <stdint.h>

struct elf_file;

/* Code of a line, in the file. */
struct elf_line {
	uint64_t begin, end;
	const char *path; /* of the source, as the compiler had it; borrowed during the call */
	unsigned line;
};

/* Calls fn for each piece of code of a line, in no order of addresses; the code of a line is in
 * several pieces. Stops at the first non-zero result and returns it. Else 0, also without line
 * tables, or where the budget ends. */
int elf_lines_each(const struct elf_file *f, int (*fn)(void *arg, const struct elf_line *line),
		   void *arg);

#endif
