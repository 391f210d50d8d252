/*
 * Where functions start, also those without a symbol, from the table in .eh_frame_hdr. Source: the
 * LSB, "Exception Frames".
 */
#ifndef ELF_FRAME_TABLE_H
#define ELF_FRAME_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

/* Located once per file. */
struct elf_frame_table {
	const struct elf_file *file; /* borrowed */
	const uint8_t *entry;        /* pairs of offsets relative to address; NULL: no table */
	uint32_t nr;
	uint64_t address; /* of the section */
};

void elf_frame_table_init(struct elf_frame_table *t, const struct elf_file *f);
/* Function i of nr. *code_len: from the FDE; UINT32_MAX: not known. */
void elf_frame_table_at(const struct elf_frame_table *t, uint32_t i, uint64_t *start,
			uint32_t *code_len);
bool elf_frame_table_find(const struct elf_frame_table *t, uint64_t address, uint64_t *start);
/* The same with its end. False also if the table does not say where it ends. */
bool elf_frame_table_extent(const struct elf_frame_table *t, uint64_t address, uint64_t *start,
			    uint64_t *end);

#endif
