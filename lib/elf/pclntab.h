/*
 * The table of functions that Go's linker puts into each program for its runtime (.gopclntab), so
 * that a stripped one has it, too: names, source files, lines, and which calls were inlined.
 * Addresses are those of the file. Of x86-64 and arm64, from Go 1.2 on. Files are hostile: each
 * offset is checked, and the steps of each query are bounded. What is not surely right is not
 * returned.
 */
#ifndef ELF_PCLNTAB_H
#define ELF_PCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct elf_pclntab_layout;

enum { ELF_PCLNTAB_MAX_LINES = 32 }; /* functions inlined into each other, and the last */

struct elf_pclntab_part {
	const uint8_t *data; /* borrowed from the file */
	size_t len;
};

struct elf_pclntab {
	const struct elf_file *file; /* borrowed */
	const struct elf_pclntab_layout *layout;
	uint64_t address; /* of the section */
	uint64_t text;    /* to which addresses of functions are relative */
	size_t nr;        /* functions */
	unsigned quantum; /* bytes of which lengths of code are multiples */
	struct elf_pclntab_part all;
	/* Pairs of an address and the offset of a record; records; names; which files a unit of the
	 * compiler has; names of files; how values change along functions. */
	struct elf_pclntab_part functions, records, names, units, files, values;
	uint64_t calls;  /* to which addresses of inlined calls are relative; 0: not known */
	size_t nr_steps; /* to find ends of functions, so far */
};

/* Whether the file may have one, by the names of its sections: cheap. */
bool elf_pclntab_is_there(const struct elf_file *f);
/* Loads and checks the table: its functions are in order, and in one section of code. False: there
 * is none, it is invalid, or it cannot be read. The file must outlive *out. */
bool elf_pclntab_open(const struct elf_file *f, struct elf_pclntab *out);

struct elf_pclntab_function {
	uint64_t start, end;
	bool is_exact; /* else the end is where the next one begins */
	uint32_t name; /* offset in t->names */
};
/* Of i < t->nr, by address. False: it has no name. Not thread-safe. */
bool elf_pclntab_function(struct elf_pclntab *t, size_t i, struct elf_pclntab_function *out);

/* Finds what was inlined, in programs of Go 1.18 and later. */
void elf_pclntab_find_calls(struct elf_pclntab *t);

struct elf_pclntab_line {
	const char *function; /* inlined; NULL: the function itself */
	const char *file;     /* NULL: not known */
	uint32_t line;        /* 0: not known */
};
/* The functions inlined at an address, innermost first, with its line, then those of the calls, the
 * last in the function itself. Text is NUL-terminated and borrowed from the file. How many; 0: no
 * function is there. */
size_t elf_pclntab_lines(const struct elf_pclntab *t, uint64_t address, bool with_inlined,
			 struct elf_pclntab_line out[ELF_PCLNTAB_MAX_LINES]);

enum elf_pclntab_frame {
	ELF_PCLNTAB_NO_FRAME,  /* not known: no function, one that changes to another stack, a
				  handler of signals, or of Go 1.17 and earlier */
	ELF_PCLNTAB_OUTERMOST, /* the function has no caller */
	ELF_PCLNTAB_FRAME,
};
/* What the stack has at an address: *bytes are pushed behind the return address (arm64: behind the
 * stack pointer of the caller). */
enum elf_pclntab_frame elf_pclntab_frame(const struct elf_pclntab *t, uint64_t address,
					 uint32_t *bytes);
/* Whether the address is in a function of that name; *offset: how far from its start. */
bool elf_pclntab_is_in(const struct elf_pclntab *t, uint64_t address, const char *name,
		       uint64_t *offset);
/* Whether a function begins behind first, up to last. */
bool elf_pclntab_begins(const struct elf_pclntab *t, uint64_t first, uint64_t last);

#endif
