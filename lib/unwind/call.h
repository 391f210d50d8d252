/*
 * The call that ends at an address, from its bytes in a file: where it leads, as far as they say.
 */
#ifndef UNWIND_CALL_H
#define UNWIND_CALL_H

#include "cfi/machine.h"

struct elf_file;

enum unwind_call {
	UNWIND_CALL_UNKNOWN,  /* the bytes cannot be read */
	UNWIND_CALL_NONE,     /* no call ends there */
	UNWIND_CALL_INDIRECT, /* by a register or memory; or the bytes can be read in two ways */
	UNWIND_CALL_DIRECT,   /* *to is where it leads */
};
/* Addresses are those of the file. */
enum unwind_call unwind_call_before(const struct elf_file *f, const struct cfi_machine *m,
				    uint64_t address, uint64_t *to);

/* Whether what begins there is a stub, which jumps to another function. */
bool unwind_call_jumps_on(const struct elf_file *f, const struct cfi_machine *m, uint64_t address);

/* Whether the instruction there moves the stack pointer to the frame pointer, behind the one that
 * pushes that. False of arm64. */
bool unwind_call_has_pushed(const struct elf_file *f, const struct cfi_machine *m,
			    uint64_t address);

#endif
