/*
 * Stubs stand in sections of their own, which have names.
 */
#include "unwind/stubs.h"

#include "base/array.h"
#include "cfi/stub.h"
#include "elf/file.h"

/* The section of stubs that holds the address. */
static bool find_section(const struct elf_file *file, uint64_t address, struct elf_section *out)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};

	return ARRAY_ANY(name, names, ARRAY_NR(names),
			 elf_file_load_section(file, *name, out) && address >= out->address &&
			     address - out->address < out->size);
}

bool unwind_stub_rules(const struct elf_file *file, const struct cfi_machine *m, uint64_t address,
		       struct cfi_rules *out)
{
	struct elf_section s;

	return find_section(file, address, &s) &&
	       cfi_stub_rules(&(struct cfi_code){s.data, s.size}, m, address - s.address, out);
}
