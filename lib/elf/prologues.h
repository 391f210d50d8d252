/*
 * Whether an object was built with frame pointers: by how its functions begin. Compilers note it
 * nowhere that is left in a stripped file, so a part of the functions that the unwind table names
 * is looked at: with frame pointers nearly each begins by saving the caller's pointer and setting
 * its own.
 */
#ifndef ELF_PROLOGUES_H
#define ELF_PROLOGUES_H

#include <stdint.h>

struct elf_file;

enum elf_pointers {
	ELF_POINTERS_UNKNOWN, /* another machine, or hardly a function is found */
	ELF_POINTERS_NONE,
	ELF_POINTERS_SOME, /* in a part of its functions */
	ELF_POINTERS_ALL,
};

struct elf_prologues {
	uint32_t nr_looked_at, nr_with_pointer;
};

/* Looks at functions of 64 bytes or more, evenly, at most 1,024 of them. Returns what they mean. */
enum elf_pointers elf_prologues_count(const struct elf_file *f, struct elf_prologues *out);

#endif
