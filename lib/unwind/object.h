/*
 * The unwind tables of one object: .eh_frame, then .debug_frame, then .sframe, then the table
 * of functions of Go; and the rules of its PLT stubs. The file is hostile. Opens no files.
 */
#ifndef UNWIND_OBJECT_H
#define UNWIND_OBJECT_H

#include "cfi/rules.h"

struct elf_file;
struct unwind_object;

/* Borrows the file, which need not have tables. NULL: no memory. */
struct unwind_object *unwind_object_open(const struct elf_file *code);
/* Adds a separate debug file, for .debug_frame, unless the code has that. Borrowed; may be NULL. */
void unwind_object_add_debug(struct unwind_object *o, const struct elf_file *debug);
void unwind_object_close(struct unwind_object *o); /* NULL is fine */

/* The rules at an address of the file. False: none. */
bool unwind_object_rules(struct unwind_object *o, const struct cfi_machine *m, uint64_t address,
			 struct cfi_rules *out);
/* Whether a function of the tables begins in first … last, of which first is not 0. */
bool unwind_object_begins(struct unwind_object *o, uint64_t first, uint64_t last);
/* Of the functions of .eh_frame and .debug_frame: where the last one begins that does so at or
 * before the address (0: there is none), and the next one (UINT64_MAX). */
void unwind_object_around(struct unwind_object *o, uint64_t address, uint64_t *start,
			  uint64_t *next);
/* Whether the address is in a function of Go of that name; *offset: how far from its start. */
bool unwind_object_is_in(struct unwind_object *o, uint64_t address, const char *name,
			 uint64_t *offset);

#endif
