/*
 * The few of the kernel's types (BTF) that a program for it names, from which libbpf relocates the
 * program: reading all of them takes it 40 ms. And the numbers of types. Private to bpf/.
 */
#ifndef BPF_REDUCED_TYPES_H
#define BPF_REDUCED_TYPES_H

#include <stddef.h>
#include <stdint.h>

struct buf;

struct reduced_types_number {
	const char *name; /* borrowed */
	uint8_t kind;     /* BTF_KIND_… */
	uint32_t number;  /* found: of the first type of this name and kind; 0: there is none */
	/* Of a type definition of a pointer to a function: how many; else 0. */
	uint32_t nr_parameters;
};

/* Appends to out, if it is not NULL, as BTF of this machine: each type of the kernel whose name is
 * a type's of the program (up to "___"), with those of its members that have no name or one that
 * stands in the program's types, and what these consist of. What pointers lead to is void. Their
 * numbers are others than the kernel's: those of the kernel's are found for number. Time is
 * proportional to the kernel's bytes. program NULL: of no program. 0; -EINVAL: one of them is no
 * BTF of this machine; -ENOMEM. */
int reduced_types_make(const void *kernel, size_t kernel_len, const void *program,
		       size_t program_len, struct reduced_types_number *number, size_t nr_numbers,
		       struct buf *out);

#endif
