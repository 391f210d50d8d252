/*
 * Stubs stand in sections of their own, which have names. So does what the C library runs before
 * and after main, whose parts are written in assembly without tables.
 */
#include "unwind/stubs.h"

#include "cfi/stub.h"

typedef bool make_rules_fn(const struct cfi_code *c, const struct cfi_machine *m, uint64_t at,
			   struct cfi_rules *out);

static const struct {
	const char *name;
	make_rules_fn *make;
} sections[UNWIND_NR_STUBS] = {
    {".plt", cfi_stub_rules},  {".plt.sec", cfi_stub_rules},   {".plt.got", cfi_stub_rules},
    {".iplt", cfi_stub_rules}, {".init", cfi_stub_init_rules}, {".fini", cfi_stub_init_rules},
};

static void load(struct unwind_stubs *stubs, const struct elf_file *file)
{
	for (size_t i = 0; i < UNWIND_NR_STUBS; i++)
		if (!elf_file_load_section(file, sections[i].name, &stubs->section[i]))
			stubs->section[i].data = NULL;
	stubs->is_loaded = true;
}

static bool covers(const struct elf_section *s, uint64_t address)
{
	return s->data && address >= s->address && address - s->address < s->size;
}

bool unwind_stub_rules(struct unwind_stubs *stubs, const struct elf_file *file,
		       const struct cfi_machine *m, uint64_t address, struct cfi_rules *out)
{
	if (!stubs->is_loaded)
		load(stubs, file);
	for (size_t i = 0; i < UNWIND_NR_STUBS; i++) {
		const struct elf_section *s = &stubs->section[i];

		if (covers(s, address) && sections[i].make(&(struct cfi_code){s->data, s->size}, m,
							   address - s->address, out))
			return true;
	}
	return false;
}
