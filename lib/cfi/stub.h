/*
 * The rules of PLT stubs, through which code calls other files. Not every linker writes unwind
 * tables for them (lld and mold none, GNU's none for arm64), but their code has few shapes. The
 * code is hostile.
 */
#ifndef CFI_STUB_H
#define CFI_STUB_H

#include "cfi/rules.h"

/* Of x86 it begins at a multiple of 16. */
struct cfi_code {
	const uint8_t *bytes;
	uint64_t len;
};

/* The rules at bytes[at] of a section of stubs. False: beyond its end, or not known code. */
bool cfi_stub_rules(const struct cfi_code *c, const struct cfi_machine *m, uint64_t at,
		    struct cfi_rules *out);
/* The same of code of which no section and no table says what it is: only where it goes on to a
 * stub's jump. */
bool cfi_stub_find(const struct cfi_code *c, const struct cfi_machine *m, uint64_t at,
		   struct cfi_rules *out);

/* The rules of the code of a whole section .init or .fini, whose parts are those of several files:
 * the first makes room on the stack, the last returns. Only of x86-64. False: not such code. */
bool cfi_stub_init_rules(const struct cfi_code *c, const struct cfi_machine *m, uint64_t at,
			 struct cfi_rules *out);

#endif
