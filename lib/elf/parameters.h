/*
 * What functions receive and return, by the DWARF of their file. Files are hostile: what is read is
 * within the file's budget.
 */
#ifndef ELF_PARAMETERS_H
#define ELF_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

enum { ELF_MAX_PARAMETERS = 24, ELF_PARAMETER_NAME_BYTES = 40 };

enum elf_parameter_kind {
	ELF_PARAMETER_UNSIGNED, /* also of an enumeration, and bool */
	ELF_PARAMETER_SIGNED,
	ELF_PARAMETER_POINTER, /* or a reference */
	ELF_PARAMETER_TEXT,    /* char * */
	ELF_PARAMETER_FLOAT,
	ELF_PARAMETER_OTHER, /* as a structure: it may be in several places */
};

struct elf_parameter {
	char name[ELF_PARAMETER_NAME_BYTES]; /* "": it has none, or a longer one */
	enum elf_parameter_kind kind;
	uint32_t bytes;
};

struct elf_parameters {
	bool is_known;   /* the function is there, and is called as the others are */
	bool has_result; /* else it returns nothing */
	struct elf_parameter result;
	struct elf_parameter item[ELF_MAX_PARAMETERS]; /* further ones are omitted */
	size_t nr;
};

/* Sets those of the functions at nr ascending addresses. */
void elf_parameters_find(const struct elf_file *f, const uint64_t *address, size_t nr,
			 struct elf_parameters *out);

#endif
