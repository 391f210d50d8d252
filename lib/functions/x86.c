#include "functions/x86.h"

#include "patch/decode.h"

#include <string.h>

/* Opcodes on which Linux (arch/x86/kernel/uprobes.c: good_insns_64) sets no breakpoint. Tried with
 * each on Linux 6.18. */
static const char refused[] = "......##......#."  /* 00 */
			      "......##......##"  /* 10 */
			      "......##......##"  /* 20 */
			      "......##......##"  /* 30 */
			      "................"  /* 40 */
			      "................"  /* 50 */
			      "###.........####"  /* 60 */
			      "................"  /* 70 */
			      "..#............."  /* 80 */
			      "..........#....."  /* 90 */
			      "................"  /* a0 */
			      "................"  /* b0 */
			      "....##......####"  /* c0 */
			      "....###........."  /* d0 */
			      "....####..#.####"  /* e0 */
			      "##..#.....##...."; /* f0 */

/* Linux takes the opcode of a vector instruction for that of one without its prefix: it emulates a
 * NOP or a jump in its place (vpbroadcastb is jp to it: with a breakpoint on the first instruction
 * of __strchrnul_evex, printf printed its format), refuses it, or does not know it; then it
 * refuses the whole file. Left are moves and arithmetic of floating point, tried on Linux 6.18. */
static bool is_mistaken(const struct patch_instruction *d)
{
	return d->is_vector && (d->is_evex || d->map != 1 ||
				!((d->opcode > 0x50 && d->opcode < 0x60) ||
				  (d->opcode & 0xfe) == 0x10 || (d->opcode & 0xfe) == 0x28));
}

static bool is_bytes(const struct patch_instruction *d, const uint8_t *code, const char *bytes,
		     size_t len)
{
	return d->len == len && memcmp(code, bytes, len) == 0;
}

/* Of one that goes on. */
static enum functions_x86_kind kind_of_plain(const struct patch_instruction *d, const uint8_t *code)
{
	if (is_bytes(d, code, "\x0f\x1f\x44\0\0", 5))
		return FUNCTIONS_X86_NOP5;
	if (is_bytes(d, code, "\xf3\x0f\x1e\xfa", 4))
		return FUNCTIONS_X86_ENDBR;
	if (d->map || d->is_vector)
		return FUNCTIONS_X86_OTHER;
	if ((d->opcode & 0xf8) == 0x50 && (d->len == 1 || (d->len == 2 && d->rex == 0x41)))
		return FUNCTIONS_X86_PUSH;
	return d->opcode == 0x90 && !d->rex ? FUNCTIONS_X86_NOP : FUNCTIONS_X86_OTHER;
}

static enum functions_x86_kind kind_of(const struct patch_instruction *d, const uint8_t *code)
{
	switch (d->flow) {
	case PATCH_BRANCHES:
		return d->map == 0 && (d->opcode & 0xfc) == 0xe0 ? FUNCTIONS_X86_LOOP
								 : FUNCTIONS_X86_BRANCH;
	case PATCH_JUMPS:
		return FUNCTIONS_X86_JUMP;
	case PATCH_JUMPS_INDIRECT:
		return FUNCTIONS_X86_JUMP_ANY;
	case PATCH_CALLS:
		return FUNCTIONS_X86_CALL;
	case PATCH_CALLS_INDIRECT:
		return FUNCTIONS_X86_CALL_ANY;
	case PATCH_GOES_ON:
		return kind_of_plain(d, code);
	default:
		return FUNCTIONS_X86_OTHER;
	}
}

/* --- what it changes */

enum { RSP = 4 };

/* rcx, rdx, rsp, rsi, rdi, r8, r9; of a byte also ah to bh, which have numbers of others. */
static bool is_free(const struct patch_instruction *d, unsigned number, bool is_byte)
{
	static const bool taken[16] = {
	    [1] = true, [2] = true, [RSP] = true, [6] = true, [7] = true, [8] = true, [9] = true};

	return !taken[number] && !(is_byte && !d->rex && number >= RSP && number < 8);
}

static bool writes_free_reg(const struct patch_instruction *d, bool is_byte)
{
	return is_free(d, (d->modrm >> 3 & 7) | (d->rex & 4) << 1, is_byte);
}

/* Memory, or a register. */
static bool writes_free_rm(const struct patch_instruction *d, bool is_byte)
{
	return d->modrm >> 6 != 3 || is_free(d, (d->modrm & 7) | (d->rex & 1) << 3, is_byte);
}

/* add, or, and, sub, xor, cmp with two operands, of one byte and of more, in both directions. */
static bool is_harmless_arithmetic(const struct patch_instruction *d)
{
	bool is_byte = !(d->opcode & 1);

	if ((d->opcode & 0x38) == 0x38) /* cmp */
		return true;
	if ((d->opcode & 7) >= 4)
		return true; /* of rax */
	return d->opcode & 2 ? writes_free_reg(d, is_byte) : writes_free_rm(d, is_byte);
}

static bool is_harmless(const struct patch_instruction *d)
{
	if (d->map == 1 && !d->is_vector) /* movzx, movsx */
		return (d->opcode & 0xf6) == 0xb6 && writes_free_reg(d, false);
	if (d->map || d->is_vector)
		return false;
	if (d->opcode < 0x40 && (d->opcode & 7) < 6)
		return is_harmless_arithmetic(d);
	if ((d->opcode & 0xf8) == 0xb8)
		return is_free(d, (d->opcode & 7) | (d->rex & 1) << 3, false);
	switch (d->opcode) {
	case 0x63: /* movsxd */
	case 0x8b: /* mov, lea */
	case 0x8d:
		return writes_free_reg(d, false);
	case 0x80:
	case 0x81:
	case 0x83: /* arithmetic with a number; cmp */
		return (d->modrm & 0x38) == 0x38 || writes_free_rm(d, d->opcode == 0x80);
	case 0x84:
	case 0x85: /* test */
	case 0xa8:
	case 0xa9:
		return true;
	case 0x88:
	case 0x89:
	case 0xc6:
	case 0xc7:
		return writes_free_rm(d, !(d->opcode & 1));
	case 0xf6:
	case 0xf7:
		return !(d->modrm & 0x30); /* test */
	default:
		return false;
	}
}

bool functions_x86_decode(const uint8_t *code, size_t len, struct functions_x86 *out)
{
	struct patch_instruction d;

	if (!patch_decode(code, len, &d))
		return false;
	*out = (struct functions_x86){
	    .len = d.len,
	    .kind = kind_of(&d, code),
	    .target = d.len + (patch_has_target(&d) ? d.relative : 0),
	    .is_frame = d.map == 0 && (d.opcode == 0x81 || d.opcode == 0x83) && d.modrm == 0xec &&
			d.rex & 8,
	    .is_harmless = is_harmless(&d),
	    .is_unprobed =
		d.has_override || is_mistaken(&d) || (d.map == 0 && refused[d.opcode] == '#'),
	};
	return true;
}
