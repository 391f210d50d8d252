/*
 * The unwind tables of one object: .eh_frame of any machine, and .debug_frame where that says
 * nothing. Every byte is hostile: neither libunwind nor libdw bears that (a division in an
 * expression ends the one, a register's number makes the other take gigabytes), so they are read
 * here. Opens no file. Source: DWARF 5, 6.4; the LSB, "Exception Frames".
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include "unwind/row.h"

struct elf_file;
struct unwind_cfi;

/* The file is borrowed. One without tables opens too. NULL: no memory. */
struct unwind_cfi *unwind_cfi_open(const struct elf_file *code);
/* A separate file that may have .debug_frame, if the code has none; borrowed, NULL is fine. */
void unwind_cfi_add_debug(struct unwind_cfi *c, const struct elf_file *debug);
void unwind_cfi_close(struct unwind_cfi *c); /* NULL is fine */

/* The row for an address of the object (as the file has it). */
void unwind_cfi_row(struct unwind_cfi *c, const struct unwind_machine *m, uint64_t address,
		    struct unwind_row *out);
/* The step of a hard row. Goes on, or why not; f is half changed then. */
int unwind_cfi_step(struct unwind_cfi *c, uint64_t address, struct unwind_frame *f);

#endif
