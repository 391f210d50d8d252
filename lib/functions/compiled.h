/*
 * Which functions of a file the compiler has prepared for being measured: those that call a hook
 * of the program's environment (-finstrument-functions, -pg, -mfentry), those that begin with
 * NOPs (-fpatchable-function-entry), and those with sleds (-fxray-instrument). Files are hostile.
 */
#ifndef FUNCTIONS_COMPILED_H
#define FUNCTIONS_COMPILED_H

#include "functions/functions.h"

struct elf_file;

/* By what a file calls its hooks. All zero: it has none. */
struct functions_compiled {
	struct functions_hook {
		uint64_t
		    address; /* of a stub (PLT), or of a word that has the hook's address (GOT) */
		bool is_word;
		enum functions_prepared prepared;
	} * hook; /* owned; by address */
	size_t nr, room;
	/* Functions may begin with NOPs, or sleds, that are for a call. */
	bool has_nops, has_sleds;
};

/* 0 or -ENOMEM. */
int functions_compiled_load(const struct elf_file *f, struct functions_compiled *out);
void functions_compiled_fini(struct functions_compiled *c);
/* Of the function with so many bytes at the address. f: as it was loaded from. */
enum functions_prepared functions_compiled_of(const struct functions_compiled *c,
					      const struct elf_file *f, uint64_t address,
					      uint64_t size);

#endif
