/*
 * Whether an instruction begins at a symbol, as far as the file's own table of unwinding says where
 * code begins (.eh_frame_hdr). A symbol may lie: a breakpoint within an instruction makes another
 * one of it, and the program does something else.
 */
#ifndef FUNCTIONS_STARTS_H
#define FUNCTIONS_STARTS_H

#include "elf/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct functions_starts {
	struct elf_section table; /* borrowed from the file; len 0: there is none */
	uint64_t base;            /* to which its addresses are relative */
	const uint8_t *row;       /* pairs of a begin and a description, by begin */
	size_t nr;
};

/* Zero-initialise. Without a table, or with one of another form, nothing is known. */
void functions_starts_load(const struct elf_file *f, struct functions_starts *out);
enum functions_start {
	FUNCTIONS_START_OWN,    /* code begins there, or nothing is known */
	FUNCTIONS_START_WITHIN, /* an instruction of other code begins there */
	FUNCTIONS_START_NONE,   /* it lies in code of which no instruction begins there */
};
enum functions_start functions_starts_find(const struct functions_starts *s,
					   const struct elf_file *f, uint64_t address);

#endif
