/*
 * The unwind tables of one object: .eh_frame of any machine, and .debug_frame where that has no
 * entry. Every byte is hostile. Opens no file.
 */
#ifndef UNWIND_OBJECT_H
#define UNWIND_OBJECT_H

#include "cfi/rules.h"

struct elf_file;
struct unwind_object;

/* The file is borrowed. One without tables opens too. NULL: no memory. */
struct unwind_object *unwind_object_open(const struct elf_file *code);
/* Adds a separate file that may have .debug_frame, if the code has none; borrowed, NULL is fine. */
void unwind_object_add_debug(struct unwind_object *o, const struct elf_file *debug);
void unwind_object_close(struct unwind_object *o); /* NULL is fine */

/* The rules for an address of the object (as the file has it). False: there are none. */
bool unwind_object_rules(struct unwind_object *o, const struct cfi_machine *m, uint64_t address,
			 struct cfi_rules *out);

#endif
