/*
 * PLT stubs, through which code calls other files. They have no symbols: each jumps through a slot,
 * whose relocation names the function. The instructions differ per machine.
 */
#include "base/array.h"
#include "base/mem.h"
#include "elf/file.h"
#include "symbol/elf_symbols.h"
#include "symbol/word.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

enum { MAX_SLOTS = 1 << 20 };

struct stub {
	uint64_t start, slot;
};

struct machine {
	uint16_t machine;
	uint32_t glob_dat, jump_slot, irelative;
	unsigned step;      /* alignment of stubs */
	unsigned max_bytes; /* a stub ends where the next begins */
	/* Decodes the stub at p. out->start: its address. False: no stub. */
	bool (*decode)(const uint8_t *p, size_t left, struct stub *out);
};

/* [endbr64] [bnd | mov number, %r11d] jmp *slot(%rip) */
static bool decode_x86_64(const uint8_t *p, size_t left, struct stub *out)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;

	if (left >= 4 && memcmp(p, endbr64, 4) == 0)
		at = 4;
	if (at < left && p[at] == 0xf2)
		at++;
	if (at + 2 < left && p[at] == 0x41 && p[at + 1] == 0xbb)
		at += 6;
	if (left < at + 6 || p[at] != 0xff || p[at + 1] != 0x25)
		return false;
	out->slot = out->start + at + 6 + (uint64_t)(int64_t)(int32_t)word_32(p + at + 2);
	return true;
}

/* [bti c] adrp x16, page; ldr x17, [x16, offset] */
static bool decode_aarch64(const uint8_t *p, size_t left, struct stub *out)
{
	const uint32_t bti_c = 0xd503245f;
	size_t at = left >= 4 && word_32(p) == bti_c ? 4 : 0;
	uint32_t adrp, ldr;
	int64_t pages;

	if (left < at + 8)
		return false;
	adrp = word_32(p + at);
	ldr = word_32(p + at + 4);
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	pages = (int64_t)((uint64_t)(adrp >> 5 & 0x7ffff) << 45) >> 43 | (adrp >> 29 & 3);
	out->slot = ((out->start + at) & ~(uint64_t)0xfff) + (uint64_t)pages * 4096 +
		    (uint64_t)(ldr >> 10 & 0xfff) * 8;
	return true;
}

static const struct machine *find_machine(const struct elf_file *f)
{
	static const struct machine rows[] = {
	    {EM_X86_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_IRELATIVE, 8, 16,
	     decode_x86_64},
	    {EM_AARCH64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT, R_AARCH64_IRELATIVE, 4, 24,
	     decode_aarch64},
	};

	return ARRAY_FIND(row, rows, ARRAY_NR(rows),
			  row->machine == elf_file_machine(f) && elf_file_is_64(f));
}

static int add_slot(struct symbol_slots *s, const struct machine *m, const uint8_t *rela,
		    const struct elf_section *symbols)
{
	uint64_t info = word_64(rela + 8), number = info >> 32;
	uint32_t type = (uint32_t)info;
	struct symbol_slot slot = {.address = word_64(rela), .is_abs = type == m->irelative}, *p;

	if (slot.is_abs)
		slot.name = (uint32_t)word_64(rela + 16);
	else if ((type == m->glob_dat || type == m->jump_slot) && symbols->data &&
		 number < symbols->size / sizeof(Elf64_Sym))
		slot.name = word_32(symbols->data + number * sizeof(Elf64_Sym));
	if ((!slot.is_abs && !slot.name) || s->nr == MAX_SLOTS)
		return 0;
	p = MEM_ADD(s->slot, s->nr, s->room);
	if (!p)
		return -ENOMEM;
	*p = slot;
	return 0;
}

static int add_slots(struct symbol_slots *s, const struct elf_file *f, const struct machine *m,
		     const char *section)
{
	struct elf_section relocations, symbols;

	if (!elf_file_find_section(f, section, &relocations) || relocations.type != SHT_RELA ||
	    !elf_file_load(f, &relocations))
		return 0;
	if (!elf_file_section(f, relocations.link, &symbols) || !elf_file_load(f, &symbols))
		symbols.data = NULL;
	return ARRAY_RUN(i, relocations.size / sizeof(Elf64_Rela),
			 add_slot(s, m, relocations.data + i * sizeof(Elf64_Rela), &symbols));
}

static int compare(const void *a, const void *b)
{
	const struct symbol_slot *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

const struct symbol_slot *symbol_slots_find(const struct symbol_slots *s, uint64_t address)
{
	const struct symbol_slot key = {.address = address};

	return s->nr ? bsearch(&key, s->slot, s->nr, sizeof(key), compare) : NULL;
}

void symbol_slots_fini(struct symbol_slots *s)
{
	mem_free(s->slot);
	*s = (struct symbol_slots){.nr = 0};
}

static int add_stub(struct symbol_table *t, const struct symbol_slots *slots,
		    const struct machine *m, const struct stub *stub, uint8_t source)
{
	const struct symbol_slot *slot = symbol_slots_find(slots, stub->slot);
	struct symbol_entry e = {.start = stub->start,
				 .size = m->max_bytes,
				 .is_open = true,
				 .group = SYMBOL_ELF_STUB,
				 .source = source};

	if (!slot)
		return 0;
	e.name = slot->name;
	if (slot->is_abs)
		e.group = SYMBOL_ELF_STUB_ABS;
	return symbol_table_add(t, &e);
}

static int add_section(struct symbol_table *t, const struct symbol_slots *slots,
		       const struct elf_file *f, const struct machine *m, const char *name,
		       uint8_t source)
{
	/* the shortest sequence of instructions that is decoded */
	enum { SHORTEST_BYTES = 8 };
	struct elf_section s;
	int rc = 0;

	if (!elf_file_load_section(f, name, &s) || s.size > UINT64_MAX - s.address ||
	    !elf_file_pay(f, s.size / SHORTEST_BYTES * SYMBOL_ENTRY_COST))
		return 0;
	for (uint64_t at = 0; at < s.size && rc == 0;) {
		struct stub stub = {.start = s.address + at};
		bool is_stub = m->decode(s.data + at, (size_t)(s.size - at), &stub);

		if (is_stub)
			rc = add_stub(t, slots, m, &stub, source);
		at += is_stub ? SHORTEST_BYTES : m->step;
	}
	return rc;
}

/* They are kept, sorted. */
static int load_slots(struct symbol_slots *slots, const struct elf_file *code,
		      const struct machine *m)
{
	static const char *const relocations[] = {".rela.plt", ".rela.dyn", ".rela.iplt"};
	int rc = ARRAY_RUN(i, ARRAY_NR(relocations), add_slots(slots, code, m, relocations[i]));

	if (rc || !elf_file_pay(code, slots->nr * sizeof(*slots->slot)))
		symbol_slots_fini(slots);
	if (slots->nr)
		qsort(slots->slot, slots->nr, sizeof(*slots->slot), compare);
	return rc;
}

int symbol_plt_add(const struct elf_file *code, struct symbol_table *t, struct symbol_slots *slots,
		   uint8_t source)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
	const struct machine *m = find_machine(code);
	int rc = m ? load_slots(slots, code, m) : 0;

	for (size_t i = 0; slots->nr && i < ARRAY_NR(sections) && rc == 0; i++)
		rc = add_section(t, slots, code, m, sections[i], source);
	return rc;
}
