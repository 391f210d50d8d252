/*
 * The rules of a file's PLT stubs, and of its sections .init and .fini (cfi/stub.h). The file is
 * hostile.
 */
#ifndef UNWIND_STUBS_H
#define UNWIND_STUBS_H

#include "cfi/rules.h"

struct elf_file;

/* The rules at an address of the file. False: not in such a section, or not known code. */
bool unwind_stub_rules(const struct elf_file *file, const struct cfi_machine *m, uint64_t address,
		       struct cfi_rules *out);

#endif
