#include "elf/parameters.h"

#include "elf/entries.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 8 };

/* --- types */

static enum elf_parameter_kind kind_of_base(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;

	if (!dwarf_attr(type, DW_AT_encoding, &attr) || dwarf_formudata(&attr, &encoding))
		return ELF_PARAMETER_OTHER;
	switch (encoding) {
	case DW_ATE_boolean:
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		return ELF_PARAMETER_UNSIGNED;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		return ELF_PARAMETER_SIGNED;
	case DW_ATE_float:
		return ELF_PARAMETER_FLOAT;
	default:
		return ELF_PARAMETER_OTHER;
	}
}

static bool find_type(Dwarf_Die *of, Dwarf_Die *out)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(of, DW_AT_type, &attr) && dwarf_formref_die(&attr, out) &&
	       dwarf_peel_type(out, out) == 0;
}

/* char *, not what others make of bytes. */
static bool is_text(Dwarf_Die *pointer)
{
	const char *name;
	Dwarf_Die type;

	if (dwarf_tag(pointer) != DW_TAG_pointer_type || !find_type(pointer, &type) ||
	    dwarf_tag(&type) != DW_TAG_base_type)
		return false;
	name = dwarf_diename(&type);
	return name && strcmp(name, "char") == 0;
}

static void describe(Dwarf_Die *of, struct elf_parameter *out)
{
	const char *name = dwarf_diename(of);
	Dwarf_Die type;
	int bytes;

	*out = (struct elf_parameter){.kind = ELF_PARAMETER_OTHER};
	if (name && strlen(name) < sizeof(out->name))
		snprintf(out->name, sizeof(out->name), "%s", name);
	if (!find_type(of, &type))
		return;
	bytes = dwarf_bytesize(&type);
	switch (dwarf_tag(&type)) {
	case DW_TAG_base_type:
		out->kind = kind_of_base(&type);
		break;
	case DW_TAG_enumeration_type:
		out->kind = ELF_PARAMETER_UNSIGNED;
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		out->kind = is_text(&type) ? ELF_PARAMETER_TEXT : ELF_PARAMETER_POINTER;
		bytes = WORD_BYTES;
		break;
	default:
		return;
	}
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != WORD_BYTES)
		out->kind = ELF_PARAMETER_OTHER;
	else
		out->bytes = (uint32_t)bytes;
}

/* --- functions */

/* Compilers say so where they have changed what a function of one file receives. */
static bool is_called_otherwise(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word how = DW_CC_normal;

	return dwarf_attr_integrate(die, DW_AT_calling_convention, &attr) &&
	       (dwarf_formudata(&attr, &how) || how != DW_CC_normal);
}

static void take(struct elf_entries *e, Dwarf_Die *die, struct elf_parameters *out)
{
	Dwarf_Attribute attr;
	Dwarf_Die child;

	if (out->is_known || is_called_otherwise(die))
		return;
	out->is_known = true;
	out->has_result = dwarf_attr_integrate(die, DW_AT_type, &attr);
	if (out->has_result)
		describe(die, &out->result);
	if (dwarf_child(die, &child))
		return;
	do {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter && out->nr < ELF_MAX_PARAMETERS)
			describe(&child, &out->item[out->nr++]);
	} while (elf_entries_may_go_on(e) && dwarf_siblingof(&child, &child) == 0);
}

static void take_found(struct elf_entries *e, Dwarf_Die *die, size_t i, void *out)
{
	take(e, die, (struct elf_parameters *)out + i);
}

void elf_parameters_find(const struct elf_file *f, const uint64_t *address, size_t nr,
			 struct elf_parameters *out)
{
	memset(out, 0, nr * sizeof(*out));
	elf_entries_of_functions(f, address, nr, take_found, out);
}
