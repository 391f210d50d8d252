/*
 * Where in a function a breakpoint is set that counts its calls: at its symbol, or on one of the
 * instructions behind it, if that costs less, nothing but the symbol leads there, and the return
 * address and the arguments are still where they were. Jumps are read for that, and for whether the
 * function calls anything.
 */
#ifndef FUNCTIONS_ENTRY_H
#define FUNCTIONS_ENTRY_H

#include "functions/functions.h"

struct elf_file;

/* A function's bytes. */
struct functions_range {
	uint64_t address, size;
};

struct functions_inward;

/* A function's code: that of Go begins with a check of the stack, from which it jumps back to the
 * begin when the stack has grown. */
struct functions_body {
	struct functions_range main;
	const struct functions_inward *inward; /* jumps of other code; NULL: not known */
	bool has_cold;                         /* a part of it is elsewhere, to which it jumps */
	bool is_go;
};

struct functions_entry_facts {
	const char *refused; /* why none is set; NULL: one is */
	uint64_t address;    /* of the instruction */
	enum functions_entry entry;
	bool calls_nothing; /* surely: neither by a call nor by a jump out of it */
};

/* code: the file that is executed. */
void functions_entry_choose(const struct elf_file *code, const struct functions_body *body,
			    struct functions_entry_facts *out);

#endif
