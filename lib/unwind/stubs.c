/*
 * A stub has no frame: it jumps on with the caller's return address on top of the stack, or in the
 * link register. What it pushes for the dynamic linker is counted, instruction by instruction.
 * Sources: the psABIs, and stubs made by GNU ld, lld and mold.
 */
#include "unwind/stubs.h"

#include "base/array.h"
#include "elf/file.h"

#include <string.h>

enum {
	BLOCK_BYTES = 16,      /* of x86: stubs and the code they share begin at multiples */
	ARM_HEADER_BYTES = 32, /* the code that stubs share, at the start of .plt */
};

struct instruction {
	uint8_t code[4], nr_code; /* how it begins */
	uint8_t len;
	bool is_push;
};

static const struct instruction instructions[] = {
    {{0xf3, 0x0f, 0x1e, 0xfa}, 4, 4, false}, /* endbr64 */
    {{0xf3, 0x0f, 0x1e, 0xfb}, 4, 4, false}, /* endbr32 */
    {{0xff, 0x25}, 2, 6, false},             /* jmp *slot: of rip, or absolute */
    {{0xff, 0xa3}, 2, 6, false},             /* jmp *slot(%ebx) */
    {{0xf2, 0xff, 0x25}, 3, 7, false},       /* bnd jmp *slot */
    {{0xe9}, 1, 5, false},                   /* jmp to the shared code */
    {{0xf2, 0xe9}, 2, 6, false},             /* the same with bnd */
    {{0x68}, 1, 5, true},                    /* push number */
    {{0xff, 0x35}, 2, 6, true},              /* push word: of rip, or absolute */
    {{0xff, 0xb3}, 2, 6, true},              /* push word(%ebx) */
    {{0xff, 0x31}, 2, 2, true},              /* push (%ecx) */
    {{0x41, 0x53}, 2, 2, true},              /* push %r11 */
    {{0x51}, 1, 1, true},                    /* push %ecx */
    {{0x41, 0xbb}, 2, 6, false},             /* mov number, %r11d */
    {{0xb9}, 1, 5, false},                   /* mov number, %ecx */
    {{0x8d, 0x8b}, 2, 6, false},             /* lea offset(%ebx), %ecx */
    {{0x66, 0x90}, 2, 2, false},             /* nops between stubs of 8 bytes */
    {{0x90}, 1, 1, false},
};

static const struct instruction *find_instruction(const uint8_t *p, uint64_t left)
{
	return ARRAY_FIND(i, instructions, ARRAY_NR(instructions),
			  i->len <= left && memcmp(p, i->code, i->nr_code) == 0);
}

/* The code that stubs share begins with a push of a word, after the stub's push of its number. */
static bool is_shared(const uint8_t *p)
{
	return p[0] == 0xff && (p[1] == 0x35 || p[1] == 0xb3);
}

/* How many words were pushed before the instruction at at. False: unknown code before it. */
static bool count_pushed(const struct elf_section *s, uint64_t at, unsigned *out)
{
	uint64_t from = at - at % BLOCK_BYTES;
	unsigned nr = s->size - from >= 2 && is_shared(s->data + from);

	while (from < at) {
		const struct instruction *i = find_instruction(s->data + from, s->size - from);

		if (!i)
			return false;
		nr += i->is_push;
		from += i->len;
	}
	*out = nr;
	return from == at;
}

static bool rules_x86(const struct elf_section *s, const struct cfi_machine *m, uint64_t at,
		      struct cfi_rules *out)
{
	unsigned nr_pushed;

	if (!count_pushed(s, at, &nr_pushed))
		return false;
	out->cfa.plus = (int64_t)(nr_pushed + 1) * m->word_bytes;
	out->reg[m->ra] = (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = -(int64_t)m->word_bytes};
	return true;
}

/* The shared code stores the return address first: stp x16, x30, [sp, #-16]! */
static bool rules_aarch64(const struct elf_section *s, const struct cfi_machine *m, uint64_t at,
			  struct cfi_rules *out)
{
	static const uint8_t stp[] = {0xf0, 0x7b, 0xbf, 0xa9};
	bool is_stored = false;

	for (uint64_t i = 0; at < ARM_HEADER_BYTES && i < at && !is_stored; i += sizeof(stp))
		is_stored =
		    s->size - i >= sizeof(stp) && memcmp(s->data + i, stp, sizeof(stp)) == 0;
	if (is_stored) {
		out->cfa.plus = 2 * m->word_bytes;
		out->reg[m->ra] =
		    (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = -(int64_t)m->word_bytes};
	}
	return true;
}

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
	struct cfi_rules r = {.cfa = {.kind = CFI_RULE_REG, .off = m->sp}, .ra = m->ra};
	struct elf_section s;
	bool is_known;

	if (!find_section(file, address, &s))
		return false;
	is_known = m->lr == CFI_NO_REG ? rules_x86(&s, m, address - s.address, &r)
				       : rules_aarch64(&s, m, address - s.address, &r);
	if (is_known)
		*out = r;
	return is_known;
}
