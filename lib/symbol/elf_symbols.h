/*
 * The functions that an ELF file names: in .symtab or .dynsym, in .gnu_debugdata, in its separate
 * debug file, and the stubs of its PLT. Addresses are as the file has them. Made once, then asked
 * by any number of threads.
 */
#ifndef SYMBOL_ELF_SYMBOLS_H
#define SYMBOL_ELF_SYMBOLS_H

#include "symbol/table.h"

struct elf_file;

enum { ELF_SYMBOLS_MAX_TEXTS = 8, ELF_SYMBOLS_MAX_NAME_BYTES = 4096 };

/* How an entry of the table is named, in its group. */
enum elf_symbols_group {
	ELF_SYMBOLS_PLAIN,
	ELF_SYMBOLS_STUB,    /* of a PLT: the name of what it calls */
	ELF_SYMBOLS_STUB_ABS /* of a PLT, for a function that is chosen at the start: name is the
				address of what chooses */
};

/* How many of the functions have names. */
enum elf_symbols_part {
	ELF_SYMBOLS_NO_NAMES,
	ELF_SYMBOLS_EXPORTED, /* those of .dynsym only, or stubs */
	ELF_SYMBOLS_ALL,
};

struct symbols_elf {
	struct symbol_table table;
	struct symbol_table choosers; /* of functions that are chosen at the start (IFUNC): the
					 names of those, at the addresses of what chooses */
	struct elf_symbols_text {
		const char *text; /* borrowed of a file */
		size_t len;
	} text[ELF_SYMBOLS_MAX_TEXTS]; /* by the source of an entry */
	size_t nr_texts;
	enum elf_symbols_part part;
	struct elf_file *unpacked; /* owned; of .gnu_debugdata; NULL: none */
};

/* code or debug may be NULL, or the same; both must outlive *out. 0 or -ENOMEM; what makes no sense
 * is passed over. */
int symbols_elf_load(const struct elf_file *code, const struct elf_file *debug,
		     struct symbols_elf *out);
void symbols_elf_fini(struct symbols_elf *s);
/* As in the file, cut where it is too long; "" for one that has none. Of a stub for what is chosen
 * at the start: that of the function. */
void symbols_elf_name(const struct symbols_elf *s, const struct symbol_entry *e,
		      char out[ELF_SYMBOLS_MAX_NAME_BYTES]);

/* For elf_symbols.c: adds the stubs of code's PLT, named by the text of its .dynsym, which is
 * source. */
int symbols_plt_add(const struct elf_file *code, struct symbol_table *t, uint8_t source);

#endif
