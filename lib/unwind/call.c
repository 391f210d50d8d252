/*
 * Instructions of x86 have no fixed length: one that ends at an address is found by trying each
 * length that a call has.
 */
#include "unwind/call.h"

#include "base/array.h"
#include "cfi/stub.h"
#include "elf/file.h"

#include <endian.h>
#include <string.h>

static uint32_t word_at(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return le32toh(word);
}

/* All of them, or NULL. */
static const uint8_t *bytes_at(const struct elf_file *f, uint64_t address, size_t nr)
{
	size_t len;
	const uint8_t *p = elf_file_bytes(f, address, nr, &len);

	return p && len == nr ? p : NULL;
}

/* Of an instruction FF /2, a call by a register or memory; 0: it is none. */
static size_t indirect_call_bytes(const uint8_t *code)
{
	enum { CODE = 0xff, KIND = 0x38, CALL = 0x10, HAS_SIB = 4, BY_PC = 5, NO_BASE = 5 };
	const unsigned mode = code[1] >> 6, rm = code[1] & 7;
	const size_t sib = mode != 3 && rm == HAS_SIB;

	if (code[0] != CODE || (code[1] & KIND) != CALL)
		return 0;
	if (mode == 0)
		return 2 + sib + (rm == BY_PC || (sib && (code[2] & 7) == NO_BASE) ? 4 : 0);
	return 2 + sib + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

static enum unwind_call call_x86(const struct elf_file *f, uint64_t address, uint64_t *to)
{
	enum { DIRECT = 5, SHORTEST = 2, LONGEST = 7, DIRECT_CODE = 0xe8 };
	const uint8_t *code = bytes_at(f, address - LONGEST, LONGEST);

	if (!code)
		return UNWIND_CALL_UNKNOWN;
	for (size_t n = SHORTEST; n <= LONGEST; n++)
		if (indirect_call_bytes(code + LONGEST - n) == n)
			return UNWIND_CALL_INDIRECT;
	if (code[LONGEST - DIRECT] != DIRECT_CODE)
		return UNWIND_CALL_NONE;
	*to = address + (uint64_t)(int64_t)(int32_t)word_at(code + LONGEST - DIRECT + 1);
	return UNWIND_CALL_DIRECT;
}

static enum unwind_call call_arm64(const struct elf_file *f, uint64_t address, uint64_t *to)
{
	enum { BYTES = 4, AWAY_BITS = 26 };
	/* bl; blr, blraa, blrab and those with a zero modifier */
	static const uint32_t bl = 0x94000000, bl_mask = 0xfc000000, blr = 0xd63f0000,
			      blr_mask = 0xfefff000;
	const uint8_t *code = bytes_at(f, address - BYTES, BYTES);
	const uint32_t word = code ? word_at(code) : 0;

	if (!code)
		return UNWIND_CALL_UNKNOWN;
	if ((word & blr_mask) == blr)
		return UNWIND_CALL_INDIRECT;
	if ((word & bl_mask) != bl)
		return UNWIND_CALL_NONE;
	*to = address - BYTES +
	      (uint64_t)((int64_t)((uint64_t)word << (64 - AWAY_BITS)) >> (64 - AWAY_BITS)) * BYTES;
	return UNWIND_CALL_DIRECT;
}

enum unwind_call unwind_call_before(const struct elf_file *f, const struct cfi_machine *m,
				    uint64_t address, uint64_t *to)
{
	return m->lr != CFI_NO_REG ? call_arm64(f, address, to) : call_x86(f, address, to);
}

bool unwind_call_jumps_on(const struct elf_file *f, const struct cfi_machine *m, uint64_t address)
{
	enum { BLOCK = 16, MAX = 32 };
	struct cfi_code code = {0};
	struct cfi_rules rules;
	size_t len;

	code.bytes = elf_file_bytes(f, address - address % BLOCK, MAX, &len);
	code.len = len;
	return code.bytes && cfi_stub_find(&code, m, address % BLOCK, &rules);
}

bool unwind_call_has_pushed(const struct elf_file *f, const struct cfi_machine *m, uint64_t address)
{
	enum { MAX = 4 };
	/* push of the frame pointer, and both forms of the move */
	static const struct {
		uint8_t word_bytes, nr, code[MAX];
	} prologues[] = {
	    {8, 4, {0x55, 0x48, 0x89, 0xe5}},
	    {8, 4, {0x55, 0x48, 0x8b, 0xec}},
	    {4, 3, {0x55, 0x89, 0xe5}},
	    {4, 3, {0x55, 0x8b, 0xec}},
	};
	const uint8_t *code = bytes_at(f, address - 1, MAX);

	return m->lr == CFI_NO_REG && code &&
	       ARRAY_ANY(p, prologues, ARRAY_NR(prologues),
			 p->word_bytes == m->word_bytes && memcmp(code, p->code, p->nr) == 0);
}
