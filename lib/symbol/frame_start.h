/*
 * Where a stretch of code without a name begins, as the table of .eh_frame_hdr tells: what unwinds
 * its stacks knows its functions. Source: the LSB, "Exception Frames".
 */
#ifndef SYMBOL_FRAME_START_H
#define SYMBOL_FRAME_START_H

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

/* What is found once per file. */
struct frame_table {
	const struct elf_file *file; /* borrowed */
	const uint8_t *entry;        /* pairs of offsets from address; NULL: there is no table */
	uint32_t nr;
	uint64_t address; /* of the section */
};

void frame_table_init(struct frame_table *t, const struct elf_file *f);
bool frame_table_find(const struct frame_table *t, uint64_t address, uint64_t *start);

#endif
