/*
 * A stub has no frame: it jumps on with the caller's return address on top of the stack, or in the
 * link register. What it pushes for the dynamic linker is counted, instruction by instruction.
 * Where no section says that code is a stub, its instructions must lead to a stub's jump: no other
 * function that has no table begins like that, as far as is known.
 * Sources: the psABIs, and stubs made by GNU ld, lld and mold.
 */
#include "cfi/stub.h"

#include "base/array.h"

#include <string.h>

enum {
	BLOCK_BYTES = 16,    /* of x86: stubs and the code they share begin at multiples */
	ARM_BYTES = 4,       /* of an instruction */
	ARM_STUB_BYTES = 24, /* the longest of stubs and of what the shared code does first */
};

struct instruction {
	uint8_t code[4], nr_code; /* how it begins */
	uint8_t len;
	enum { GOES_ON, PUSHES, JUMPS } does;
};

static const struct instruction instructions[] = {
    {{0xf3, 0x0f, 0x1e, 0xfa}, 4, 4, GOES_ON}, /* endbr64 */
    {{0xf3, 0x0f, 0x1e, 0xfb}, 4, 4, GOES_ON}, /* endbr32 */
    {{0xff, 0x25}, 2, 6, JUMPS},               /* jmp *slot: of rip, or absolute */
    {{0xff, 0xa3}, 2, 6, JUMPS},               /* jmp *slot(%ebx) */
    {{0xff, 0x61}, 2, 3, JUMPS},               /* jmp *4(%ecx) */
    {{0xf2, 0xff, 0x25}, 3, 7, JUMPS},         /* bnd jmp *slot */
    {{0xe9}, 1, 5, JUMPS},                     /* jmp to the shared code */
    {{0xf2, 0xe9}, 2, 6, JUMPS},               /* the same with bnd */
    {{0x68}, 1, 5, PUSHES},                    /* push number */
    {{0xff, 0x35}, 2, 6, PUSHES},              /* push word: of rip, or absolute */
    {{0xff, 0xb3}, 2, 6, PUSHES},              /* push word(%ebx) */
    {{0xff, 0x31}, 2, 2, PUSHES},              /* push (%ecx) */
    {{0x41, 0x53}, 2, 2, PUSHES},              /* push %r11 */
    {{0x51}, 1, 1, PUSHES},                    /* push %ecx */
    {{0x41, 0xbb}, 2, 6, GOES_ON},             /* mov number, %r11d */
    {{0xb9}, 1, 5, GOES_ON},                   /* mov number, %ecx */
    {{0x8d, 0x8b}, 2, 6, GOES_ON},             /* lea offset(%ebx), %ecx */
    {{0x66, 0x90}, 2, 2, GOES_ON},             /* nops between stubs of 8 bytes */
    {{0x90}, 1, 1, GOES_ON},
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
static bool count_pushed(const struct cfi_code *c, uint64_t at, unsigned *out)
{
	uint64_t from = at - at % BLOCK_BYTES;
	unsigned nr = c->len - from >= 2 && is_shared(c->bytes + from);

	while (from < at) {
		const struct instruction *i = find_instruction(c->bytes + from, c->len - from);

		if (!i)
			return false;
		nr += i->does == PUSHES;
		from += i->len;
	}
	*out = nr;
	return from == at;
}

/* Whether the instructions from there on lead to a jump of the same block. */
static bool jumps(const struct cfi_code *c, uint64_t at)
{
	const uint64_t end = at - at % BLOCK_BYTES + BLOCK_BYTES;

	while (at < end && at < c->len) {
		const struct instruction *i = find_instruction(c->bytes + at, c->len - at);

		if (!i || i->does == JUMPS)
			return i;
		at += i->len;
	}
	return false;
}

static bool rules_x86(const struct cfi_code *c, const struct cfi_machine *m, uint64_t at,
		      struct cfi_rules *out)
{
	unsigned nr_pushed;

	if (!count_pushed(c, at, &nr_pushed))
		return false;
	out->cfa.plus = (int64_t)(nr_pushed + 1) * m->word_bytes;
	out->reg[m->ra] = (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = -(int64_t)m->word_bytes};
	return true;
}

/* --- arm64 */

enum arm { ARM_UNKNOWN, ARM_GOES_ON, ARM_STORES, ARM_JUMPS };

static const struct {
	uint32_t mask, code;
	enum arm does;
} arm_instructions[] = {
    {UINT32_MAX, 0xa9bf7bf0, ARM_STORES},  /* stp x16, x30, [sp, #-16]! */
    {UINT32_MAX, 0xd61f0220, ARM_JUMPS},   /* br x17 */
    {0x9f00001f, 0x90000010, ARM_GOES_ON}, /* adrp x16, page */
    {0xffc003ff, 0xf9400211, ARM_GOES_ON}, /* ldr x17, [x16, #slot] */
    {0xff8003ff, 0x91000210, ARM_GOES_ON}, /* add x16, x16, #slot */
    {UINT32_MAX, 0xd503245f, ARM_GOES_ON}, /* bti c */
    {UINT32_MAX, 0xd503219f, ARM_GOES_ON}, /* autia1716 */
    {UINT32_MAX, 0xd503201f, ARM_GOES_ON}, /* nop */
};

static enum arm look_at(const struct cfi_code *c, uint64_t at)
{
	const uint8_t *p = c->bytes + at;
	uint32_t code;

	if (at >= c->len || c->len - at < ARM_BYTES)
		return ARM_UNKNOWN;
	code = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	for (size_t i = 0; i < ARRAY_NR(arm_instructions); i++)
		if ((code & arm_instructions[i].mask) == arm_instructions[i].code)
			return arm_instructions[i].does;
	return ARM_UNKNOWN;
}

/* Whether the shared code has stored the return address by then. */
static bool has_stored(const struct cfi_code *c, uint64_t at)
{
	for (uint64_t i = at; i >= ARM_BYTES && at - i < ARM_STUB_BYTES; i -= ARM_BYTES) {
		enum arm before = look_at(c, i - ARM_BYTES);

		if (before != ARM_GOES_ON)
			return before == ARM_STORES;
	}
	return false;
}

static bool jumps_arm(const struct cfi_code *c, uint64_t at)
{
	for (uint64_t i = at; i - at < ARM_STUB_BYTES; i += ARM_BYTES) {
		enum arm does = look_at(c, i);

		if (does == ARM_UNKNOWN || does == ARM_JUMPS)
			return does == ARM_JUMPS;
	}
	return false;
}

static void rules_arm(const struct cfi_code *c, const struct cfi_machine *m, uint64_t at,
		      struct cfi_rules *out)
{
	if (!has_stored(c, at))
		return;
	out->cfa.plus = 2 * m->word_bytes;
	out->reg[m->ra] = (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = -(int64_t)m->word_bytes};
}

/* --- both */

bool cfi_stub_rules(const struct cfi_code *c, const struct cfi_machine *m, uint64_t at,
		    struct cfi_rules *out)
{
	struct cfi_rules r = {.cfa = {.kind = CFI_RULE_REG, .off = m->sp}, .ra = m->ra};

	if (at >= c->len)
		return false;
	if (m->lr != CFI_NO_REG)
		rules_arm(c, m, at, &r);
	else if (!rules_x86(c, m, at, &r))
		return false;
	*out = r;
	return true;
}

bool cfi_stub_find(const struct cfi_code *c, const struct cfi_machine *m, uint64_t at,
		   struct cfi_rules *out)
{
	return (m->lr != CFI_NO_REG ? jumps_arm(c, at) : jumps(c, at)) &&
	       cfi_stub_rules(c, m, at, out);
}

bool cfi_stub_init_rules(const struct cfi_code *c, const struct cfi_machine *m, uint64_t at,
			 struct cfi_rules *out)
{
	static const uint8_t first[] = {0x48, 0x83, 0xec, 8}; /* sub $8, %rsp */
	static const uint8_t last[] = {0x48, 0x83, 0xc4, 8, 0xc3};
	const uint64_t has_endbr = c->len > 4 && find_instruction(c->bytes, c->len) ? 4 : 0;
	const uint64_t from = has_endbr + sizeof(first), to = c->len - 1;
	const struct cfi_rule saved = {.kind = CFI_RULE_SAVED, .off = -8};

	if (m != &cfi_machine_x86_64 || c->len < from + sizeof(last) || at >= c->len ||
	    memcmp(c->bytes + has_endbr, first, sizeof(first)) != 0 ||
	    memcmp(c->bytes + c->len - sizeof(last), last, sizeof(last)) != 0)
		return false;
	*out = (struct cfi_rules){.cfa = {.kind = CFI_RULE_REG, .off = m->sp}, .ra = m->ra};
	out->cfa.plus = at >= from && at < to ? 16 : 8;
	out->reg[m->ra] = saved;
	return true;
}
