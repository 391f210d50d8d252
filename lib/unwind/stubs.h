/*
 * The rules of a file's PLT stubs, and of its sections .init and .fini (cfi/stub.h). The file is
 * hostile.
 */
#ifndef UNWIND_STUBS_H
#define UNWIND_STUBS_H

#include "cfi/rules.h"
#include "elf/file.h"

enum { UNWIND_NR_STUBS = 6 };

/* The sections of a file that are there. They are found once: by name for each address it is slow.
 * Begins as zeros. */
struct unwind_stubs {
	bool is_loaded;
	struct elf_section section[UNWIND_NR_STUBS]; /* without data: it is not there */
};

/* The rules at an address of the file, always the same one. False: not in such a section, or not
 * known code. */
bool unwind_stub_rules(struct unwind_stubs *stubs, const struct elf_file *file,
		       const struct cfi_machine *m, uint64_t address, struct cfi_rules *out);

#endif
