/*
 * The functions, or the variables, of an ELF file: from .symtab or .dynsym, .gnu_debugdata, its
 * separate debug file, the table of Go's runtime, and its PLT stubs. Addresses are those of the
 * file. Thread-safe once loaded.
 */
#ifndef SYMBOL_ELF_SYMBOLS_H
#define SYMBOL_ELF_SYMBOLS_H

#include "symbol/table.h"

struct elf_file;

enum { SYMBOL_ELF_MAX_TEXTS = 8, SYMBOL_ELF_MAX_NAME_BYTES = 4096 };

/* .group of an entry: what its name is. */
enum symbol_elf_group {
	SYMBOL_ELF_PLAIN,
	SYMBOL_ELF_STUB,    /* PLT stub: the called function */
	SYMBOL_ELF_STUB_ABS /* PLT stub of an IFUNC: name is the address of the selector */
};

/* How many functions have names. */
enum symbol_elf_part {
	SYMBOL_ELF_NO_NAMES,
	SYMBOL_ELF_EXPORTED, /* only those of .dynsym, or stubs */
	SYMBOL_ELF_ALL,
};

/* A word that the dynamic linker sets to the address of a function, or of data, of that name. */
struct symbol_slot {
	uint64_t address;
	uint32_t name; /* in the text of .dynsym; is_abs: address of the selector of an IFUNC */
	bool is_abs;
};

struct symbol_slots {
	struct symbol_slot *slot; /* owned; sorted */
	size_t nr, room;
};
/* NULL: none is there. */
const struct symbol_slot *symbol_slots_find(const struct symbol_slots *s, uint64_t address);
void symbol_slots_fini(struct symbol_slots *s);

struct symbol_elf {
	struct symbol_table table;
	struct symbol_slots slots;
	uint8_t slots_source;         /* of their names, as .source of an entry */
	struct symbol_table choosers; /* names of IFUNCs, by the address of the selector */
	struct symbol_elf_text {
		const char *text; /* borrowed from a file */
		size_t len;
	} text[SYMBOL_ELF_MAX_TEXTS]; /* by .source of an entry */
	size_t nr_texts;
	enum symbol_elf_part part;
	struct elf_file *unpacked; /* owned; of .gnu_debugdata; NULL: none */
	bool is_data;              /* variables instead of functions: table and text alone */
};

/* code and debug may be NULL, or the same file; both must outlive *out. Skips invalid symbols. 0 or
 * -ENOMEM. */
int symbol_elf_load(const struct elf_file *code, const struct elf_file *debug,
		    struct symbol_elf *out);
/* The same for variables in place of functions. */
int symbol_elf_load_data(const struct elf_file *code, const struct elf_file *debug,
			 struct symbol_elf *out);
void symbol_elf_fini(struct symbol_elf *s);
/* The name as in the file, possibly truncated; "" if it has none. For a stub of an IFUNC: the
 * IFUNC's name. */
void symbol_elf_name(const struct symbol_elf *s, const struct symbol_entry *e,
		     char out[SYMBOL_ELF_MAX_NAME_BYTES]);

/* What the slot at an address points to once the file is loaded. False: no slot is there. */
bool symbol_elf_slot_name(const struct symbol_elf *s, uint64_t address,
			  char out[SYMBOL_ELF_MAX_NAME_BYTES]);

/* The variable at an address: its name, "" without one, and where it begins, or without one its
 * section of the code. False: no section with data of the program is there, or code's budget is
 * exceeded. */
bool symbol_elf_data(const struct symbol_elf *variables, const struct elf_file *code,
		     uint64_t address, char name[SYMBOL_ELF_MAX_NAME_BYTES], uint64_t *start);

/* For elf_symbols.c: adds the slots and the PLT stubs, whose names are in the text of .dynsym
 * (number source). */
int symbol_plt_add(const struct elf_file *code, struct symbol_table *t, struct symbol_slots *slots,
		   uint8_t source);

#endif
