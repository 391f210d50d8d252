/*
 * A hook is a symbol that the file does not define. The linker makes calls of it go through a word
 * that the loader fills (GOT), or through a stub that jumps to what the word has (PLT). The words
 * are in the relocations, the stubs are the jumps to these in sections .plt*. A function that calls
 * one of them is prepared: calls are looked for at each byte, as the four bytes of a distance match
 * by chance once in 2^32.
 *
 * Other machines than x86-64 have no hooks here but -finstrument-functions, and no stubs that are
 * read: there each function of a file that has the hook is taken for prepared.
 */
#include "functions/compiled.h"

#include "base/mem.h"
#include "elf/file.h"
#include "functions/symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_SYMBOLS = 1 << 20,
	MAX_RELOCATIONS = 1 << 22,
	MAX_STUB_BYTES = 16 << 20,
	MAX_CODE_BYTES = 1 << 16, /* of a function: what its beginning calls is in these */
	CALL_BYTES = 5,
};

static const struct {
	const char *name;
	enum functions_prepared prepared;
} hooks[] = {
    {"__cyg_profile_func_enter", FUNCTIONS_PREPARED_BOTH},
    {"mcount", FUNCTIONS_PREPARED_ENTRY},
    {"_mcount", FUNCTIONS_PREPARED_ENTRY},
    {"__fentry__", FUNCTIONS_PREPARED_ENTRY},
};

static enum functions_prepared find_hook(const struct elf_section *text, uint32_t at)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++) {
		size_t bytes = strlen(hooks[i].name) + 1;

		if (at < text->size && bytes <= text->size - at &&
		    memcmp(text->data + at, hooks[i].name, bytes) == 0)
			return hooks[i].prepared;
	}
	return FUNCTIONS_PREPARED_NOT;
}

static int add(struct functions_compiled *c, uint64_t address, bool is_word,
	       enum functions_prepared prepared)
{
	struct functions_hook *h = MEM_ADD(c->hook, c->nr, c->room);

	if (!h)
		return -ENOMEM;
	*h = (struct functions_hook){address, is_word, prepared};
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct functions_hook *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static enum functions_prepared find(const struct functions_compiled *c, uint64_t address,
				    bool is_word)
{
	const struct functions_hook key = {.address = address},
				    *found =
					c->nr ? bsearch(&key, c->hook, c->nr, sizeof(key), compare)
					      : NULL;

	return found && found->is_word == is_word ? found->prepared : FUNCTIONS_PREPARED_NOT;
}

/* --- words */

/* By number of its symbol; FUNCTIONS_PREPARED_NOT: it is none. */
static enum functions_prepared symbol_hook(const struct elf_section *table,
					   const struct elf_section *text, uint64_t number)
{
	Elf64_Sym s;

	if (number >= table->size / sizeof(s))
		return FUNCTIONS_PREPARED_NOT;
	memcpy(&s, table->data + number * sizeof(s), sizeof(s));
	return s.st_shndx == SHN_UNDEF ? find_hook(text, s.st_name) : FUNCTIONS_PREPARED_NOT;
}

static bool has_hook(const struct elf_section *table, const struct elf_section *text)
{
	const size_t nr = table->size / sizeof(Elf64_Sym);

	for (size_t i = 1; i < nr && i < MAX_SYMBOLS; i++)
		if (symbol_hook(table, text, i))
			return true;
	return false;
}

/* Of a section of relocations. */
static int add_words(struct functions_compiled *c, const struct elf_section *relocations,
		     const struct elf_section *table, const struct elf_section *text)
{
	const size_t nr = relocations->size / sizeof(Elf64_Rela);
	int rc = 0;

	for (size_t i = 0; i < nr && i < MAX_RELOCATIONS && rc == 0; i++) {
		enum functions_prepared prepared;
		Elf64_Rela r;

		memcpy(&r, relocations->data + i * sizeof(r), sizeof(r));
		prepared = symbol_hook(table, text, ELF64_R_SYM(r.r_info));
		if (prepared)
			rc = add(c, r.r_offset, true, prepared);
	}
	return rc;
}

static int find_words(struct functions_compiled *c, const struct elf_file *f,
		      const struct elf_section *table, const struct elf_section *text)
{
	struct elf_section s;
	int rc = 0;

	for (size_t i = 0; i < elf_file_nr_sections(f) && rc == 0; i++)
		if (elf_file_section(f, i, &s) && s.type == SHT_RELA && s.flags & SHF_ALLOC &&
		    s.link == table->number && elf_file_load(f, &s))
			rc = add_words(c, &s, table, text);
	return rc;
}

/* --- stubs */

/* Where a jump or call of 6 bytes, with a distance behind two bytes, finds its word. */
static uint64_t word_of(const uint8_t *at, uint64_t address)
{
	int32_t distance;

	memcpy(&distance, at + 2, sizeof(distance));
	return address + 6 + (uint64_t)(int64_t)distance;
}

/* jmp *WORD(%rip), which may stand behind endbr64, and have a prefix. No stub begins within
 * another one, so that a call of what only may be its beginning is one of it. */
static int add_stubs(struct functions_compiled *c, const struct elf_section *s)
{
	static const unsigned before[] = {0, 1, 4, 5};
	const struct functions_compiled words = *c; /* sorted */

	for (size_t i = 0; i + 6 <= s->size; i++) {
		enum functions_prepared prepared;

		if (s->data[i] != 0xff || s->data[i + 1] != 0x25)
			continue;
		prepared = find(&words, word_of(s->data + i, s->address + i), true);
		for (size_t k = 0; k < sizeof(before) / sizeof(*before) && prepared; k++) {
			struct functions_hook *h = NULL;

			if (before[k] <= i)
				h = MEM_ADD(c->hook, c->nr, c->room);
			if (before[k] <= i && !h)
				return -ENOMEM;
			if (h)
				*h = (struct functions_hook){s->address + i - before[k], false,
							     prepared};
		}
	}
	return 0;
}

static int find_stubs(struct functions_compiled *c, const struct elf_file *f)
{
	struct elf_section s;
	int rc = 0;

	for (size_t i = 0; i < elf_file_nr_sections(f) && rc == 0; i++)
		if (elf_file_section(f, i, &s) && s.flags & SHF_EXECINSTR &&
		    strncmp(s.name, ".plt", 4) == 0 && s.size <= MAX_STUB_BYTES &&
		    elf_file_load(f, &s))
			rc = add_stubs(c, &s);
	return rc;
}

/* --- the whole */

static void sort(struct functions_compiled *c)
{
	if (c->nr)
		qsort(c->hook, c->nr, sizeof(*c->hook), compare);
}

static bool is_x86(const struct elf_file *f)
{
	return elf_file_machine(f) == EM_X86_64;
}

int functions_compiled_load(const struct elf_file *f, struct functions_compiled *out)
{
	struct functions_compiled c = {.nr = 0};
	struct elf_section table, text, entries;
	int rc = 0;

	*out = c;
	if (!elf_file_is_64(f))
		return 0;
	if (is_x86(f)) {
		c.has_nops = elf_file_find_section(f, "__patchable_function_entries", &entries);
		c.has_sleds = elf_file_find_section(f, "xray_instr_map", &entries);
	}
	if (functions_find_table(f, SHT_DYNSYM, &table, &text) && has_hook(&table, &text)) {
		rc = find_words(&c, f, &table, &text);
		sort(&c);
		rc = rc ?: find_stubs(&c, f);
		sort(&c);
	}
	if (rc)
		functions_compiled_fini(&c);
	else
		*out = c;
	return rc;
}

void functions_compiled_fini(struct functions_compiled *c)
{
	mem_free(c->hook);
	*c = (struct functions_compiled){.nr = 0};
}

/* --- a function */

static enum functions_prepared find_call(const struct functions_compiled *c, const uint8_t *code,
					 size_t len, uint64_t address)
{
	enum functions_prepared found = FUNCTIONS_PREPARED_NOT;

	for (size_t i = 0; i + CALL_BYTES <= len && !found; i++) {
		int32_t distance;

		memcpy(&distance, code + i + 1, sizeof(distance));
		if (code[i] == 0xe8)
			found =
			    find(c, address + i + CALL_BYTES + (uint64_t)(int64_t)distance, false);
		else if (code[i] == 0xff && code[i + 1] == 0x15 && i + 6 <= len)
			found = find(c, word_of(code + i, address + i), true);
	}
	return found;
}

/* As the agent has it: room for a call (agent/functions/patch.c). */
static bool begins_with_nops(const uint8_t *code, size_t len)
{
	static const struct {
		uint8_t len, code[4];
	} nops[] = {
	    {1, {0x90}},
	    {2, {0x66, 0x90}},
	    {3, {0x0f, 0x1f, 0x00}},
	    {4, {0x0f, 0x1f, 0x40, 0x00}},
	    {5, {0x0f, 0x1f, 0x44, 0x00}},
	    {6, {0x66, 0x0f, 0x1f, 0x44}},
	    {7, {0x0f, 0x1f, 0x80, 0x00}},
	    {8, {0x0f, 0x1f, 0x84, 0x00}},
	};
	size_t sum = 0, i = 0;

	while (sum < CALL_BYTES && i < sizeof(nops) / sizeof(*nops)) {
		size_t known = nops[i].len < 4 ? nops[i].len : 4;

		if (nops[i].len <= len - sum && memcmp(code + sum, nops[i].code, known) == 0)
			sum += nops[i].len, i = 0;
		else
			i++;
	}
	return sum >= CALL_BYTES;
}

/* A jump over a NOP of 9 bytes. */
static bool begins_with_sled(const uint8_t *code, size_t len)
{
	static const uint8_t sled[] = {0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84};

	return len >= sizeof(sled) && memcmp(code, sled, sizeof(sled)) == 0;
}

/* Behind a landing pad. */
static enum functions_prepared look_at_begin(const struct functions_compiled *c,
					     const uint8_t *code, size_t len)
{
	static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};

	if (len >= sizeof(landing) && memcmp(code, landing, sizeof(landing)) == 0)
		code += sizeof(landing), len -= sizeof(landing);
	if (c->has_sleds && begins_with_sled(code, len))
		return FUNCTIONS_PREPARED_BOTH;
	return c->has_nops && begins_with_nops(code, len) ? FUNCTIONS_PREPARED_ENTRY
							  : FUNCTIONS_PREPARED_NOT;
}

enum functions_prepared functions_compiled_of(const struct functions_compiled *c,
					      const struct elf_file *f, uint64_t address,
					      uint64_t size)
{
	size_t wanted = size < MAX_CODE_BYTES ? (size_t)size : MAX_CODE_BYTES, len = 0;
	const uint8_t *code;

	if (!c->nr && !c->has_nops && !c->has_sleds)
		return FUNCTIONS_PREPARED_NOT;
	if (!is_x86(f))
		return c->hook[0].prepared == FUNCTIONS_PREPARED_BOTH ? FUNCTIONS_PREPARED_BOTH
								      : FUNCTIONS_PREPARED_NOT;
	code = elf_file_bytes(f, address, wanted, &len);
	return code ? find_call(c, code, len, address) ?: look_at_begin(c, code, len)
		    : FUNCTIONS_PREPARED_NOT;
}
