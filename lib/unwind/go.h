/*
 * The rules of code of Go, of x86-64, by the table of functions for its runtime: that of a program
 * without symbols, which has no other. The file is hostile.
 */
#ifndef UNWIND_GO_H
#define UNWIND_GO_H

#include "cfi/rules.h"

struct elf_pclntab;

/* The rules at an address of the file. False: none. */
bool unwind_go_rules(const struct elf_pclntab *t, const struct cfi_machine *m, uint64_t address,
		     struct cfi_rules *out);

#endif
