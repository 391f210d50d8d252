/*
 * The start of a function without a symbol, from the table in .eh_frame_hdr. Source: the LSB,
 * "Exception Frames".
 */
#ifndef SYMBOL_FRAME_START_H
#define SYMBOL_FRAME_START_H

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

/* Located once per file. */
struct symbol_frame_table {
	const struct elf_file *file; /* borrowed */
	const uint8_t *entry;        /* pairs of offsets relative to address; NULL: no table */
	uint32_t nr;
	uint64_t address; /* of the section */
};

void symbol_frame_table_init(struct symbol_frame_table *t, const struct elf_file *f);
bool symbol_frame_table_find(const struct symbol_frame_table *t, uint64_t address, uint64_t *start);
/* The same with its end. False also if the table does not say where it ends. */
bool symbol_frame_table_extent(const struct symbol_frame_table *t, uint64_t address,
			       uint64_t *start, uint64_t *end);

#endif
