/*
 * Stubs stand in sections of their own, which have names. So does what the C library runs before
 * and after main, whose parts are written in assembly without tables.
 */
#include "unwind/stubs.h"

#include "base/array.h"
#include "cfi/stub.h"
#include "elf/file.h"

typedef bool make_rules_fn(const struct cfi_code *c, const struct cfi_machine *m, uint64_t at,
			   struct cfi_rules *out);

static const struct {
	const char *name;
	make_rules_fn *make;
} sections[] = {
    {".plt", cfi_stub_rules},  {".plt.sec", cfi_stub_rules},   {".plt.got", cfi_stub_rules},
    {".iplt", cfi_stub_rules}, {".init", cfi_stub_init_rules}, {".fini", cfi_stub_init_rules},
};

static bool covers(const struct elf_section *s, uint64_t address)
{
	return address >= s->address && address - s->address < s->size;
}

bool unwind_stub_rules(const struct elf_file *file, const struct cfi_machine *m, uint64_t address,
		       struct cfi_rules *out)
{
	struct elf_section s;

	return ARRAY_ANY(
	    x, sections, ARRAY_NR(sections),
	    elf_file_load_section(file, x->name, &s) && covers(&s, address) &&
		x->make(&(struct cfi_code){s.data, s.size}, m, address - s.address, out));
}
