/*
 * Shared by the files of elf/pclntab.h.
 */
#ifndef ELF_PCLNTAB_INTERNAL_H
#define ELF_PCLNTAB_INTERNAL_H

#include "elf/pclntab.h"

/* Where a version has what. A record has 4 bytes for each field behind the address of the function.
 */
struct elf_pclntab_layout {
	uint32_t magic;
	uint8_t word;       /* bytes of addresses and offsets in the table of functions */
	uint8_t first_part; /* the word of the header with the offset of the names; 0: no parts */
	bool has_text;      /* a word of the header is the address of the code */
	/* Of records: where the number of what is behind the tables is; 0: inlined calls are not
	 * read */
	uint8_t nr_data;
	uint8_t call_bytes, call_name, call_parent; /* records of inlined calls */
	uint16_t calls[2]; /* where the description of the program has their address */
};

/* Fields of a record, behind the address. */
enum elf_pclntab_field {
	ELF_PCLNTAB_NAME = 0,
	ELF_PCLNTAB_STACK = 12, /* tables of values: bytes of stack, file, line */
	ELF_PCLNTAB_FILE = 16,
	ELF_PCLNTAB_LINE = 20,
	ELF_PCLNTAB_NR_TABLES = 24, /* of further tables */
	ELF_PCLNTAB_UNIT = 28,
};

/* Flags of a function, in the second byte before nr_data. */
enum { ELF_PCLNTAB_IS_TOP = 1, ELF_PCLNTAB_SETS_STACK = 2 };

/* Values of a table, each for some code of a function. */
struct elf_pclntab_values {
	const uint8_t *at, *end;
	unsigned quantum;
	bool is_begun;
	int32_t value;
	uint64_t until; /* it is that of the code up to here, from the function's start on */
};

void elf_pclntab_values_begin(const struct elf_pclntab *t, uint32_t table,
			      struct elf_pclntab_values *out);
/* The next one. False: there is none. */
bool elf_pclntab_values_next(struct elf_pclntab_values *v);

/* The address of a function; of i == t->nr: where the last one ends. */
uint64_t elf_pclntab_start(const struct elf_pclntab *t, size_t i);
/* The record of a function, of at least ELF_PCLNTAB_UNIT + 4 bytes behind its address; *left: how
 * many are there from its start on. NULL: it has none. */
const uint8_t *elf_pclntab_record(const struct elf_pclntab *t, size_t i, size_t *left);

/* A word of the program once it is loaded. False: it is not in the file. */
bool elf_pclntab_word(const struct elf_file *f, uint64_t address, uint64_t *out);
/* The address of the description of the program for its runtime (moduledata); 0: not found. From
 * Go 1.26 on it is in a section of its own; only_named: it is not looked for elsewhere. */
uint64_t elf_pclntab_module(const struct elf_pclntab *t, bool only_named);
/* What is read of it: where the address is to which those of functions are relative; and all. */
enum { ELF_PCLNTAB_MODULE_TEXT = 176, ELF_PCLNTAB_MODULE_BYTES = 512 };

#endif
