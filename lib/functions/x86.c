/*
 * Two maps of opcodes say what follows each; all other maps are of vector instructions, which have
 * a ModRM byte and, in the third, an immediate one.
 */
#include "functions/x86.h"

#include <string.h>

enum { MAX_BYTES = 15 };

/*
 * What follows the opcode: '.' nothing; 'm' ModRM; 'b', 'w', 'z' an immediate of 1, 2, and 4 (with
 * the prefix 66: 2) bytes; 'B', 'Z' both; 'e' 3 bytes; 'v' as z, with REX.W 8 bytes; 'a' an
 * address; 'J', 'j' a distance of 1 and 4 bytes; 'g' ModRM, and for test an immediate. 'x' is not
 * known, or no instruction; prefixes and escapes are decoded before.
 */
static const char one_byte[] = "mmmmbzxxmmmmbzxx"  /* 00 */
			       "mmmmbzxxmmmmbzxx"  /* 10 */
			       "mmmmbzxxmmmmbzxx"  /* 20 */
			       "mmmmbzxxmmmmbzxx"  /* 30 */
			       "xxxxxxxxxxxxxxxx"  /* 40 */
			       "................"  /* 50 */
			       "xxxmxxxxzZbB...."  /* 60 */
			       "JJJJJJJJJJJJJJJJ"  /* 70 */
			       "BZxBmmmmmmmmmmmm"  /* 80 */
			       "..........x....."  /* 90 */
			       "aaaa....bz......"  /* a0 */
			       "bbbbbbbbvvvvvvvv"  /* b0 */
			       "BBw.xxBZe.w..bx."  /* c0 */
			       "mmmmxxx.mmmmmmmm"  /* d0 */
			       "JJJJbbbbjjxJ...."  /* e0 */
			       "x.xx..gg......mm"; /* f0 */

static const char two_bytes[] = "mmmmx.....x.xm.x"  /* 00 */
				"mmmmmmmmmmmmmmmm"  /* 10 */
				"mmmmxxxxmmmmmmmm"  /* 20 */
				"......x.xxxxxxxx"  /* 30 */
				"mmmmmmmmmmmmmmmm"  /* 40 */
				"mmmmmmmmmmmmmmmm"  /* 50 */
				"mmmmmmmmmmmmmmmm"  /* 60 */
				"BBBBmmm.mmxxmmmm"  /* 70 */
				"jjjjjjjjjjjjjjjj"  /* 80 */
				"mmmmmmmmmmmmmmmm"  /* 90 */
				"...mBmxx...mBmmm"  /* a0 */
				"mmmmmmmmmmBmmmmm"  /* b0 */
				"mmBmBBBm........"  /* c0 */
				"mmmmmmmmmmmmmmmm"  /* d0 */
				"mmmmmmmmmmmmmmmm"  /* e0 */
				"mmmmmmmmmmmmmmmm"; /* f0 */

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

struct decoder {
	const uint8_t *code;
	size_t len, at;
	uint8_t rex, opcode, modrm;
	unsigned map; /* 1: that of 0f … */
	bool is_short, has_short_addresses, is_repeated, is_vector, is_evex, is_segmented;
};

/* Linux takes the opcode of a vector instruction for that of one without its prefix: it emulates a
 * NOP or a jump in its place (vpbroadcastb is jp to it: with a breakpoint on the first instruction
 * of
 * __strchrnul_evex, printf printed its format), refuses it, or does not know it; then it refuses
 * the whole file. Left are moves and arithmetic of floating point, tried on Linux 6.18. */
static bool is_mistaken(const struct decoder *d)
{
	return d->is_vector && (d->is_evex || d->map != 1 ||
				!((d->opcode > 0x50 && d->opcode < 0x60) ||
				  (d->opcode & 0xfe) == 0x10 || (d->opcode & 0xfe) == 0x28));
}

static bool next(struct decoder *d, uint8_t *out)
{
	if (d->at >= d->len)
		return false;
	*out = d->code[d->at++];
	return true;
}

/* Prefixes in any order; REX counts if it is the last. */
static bool read_prefixes(struct decoder *d, uint8_t *opcode)
{
	while (next(d, opcode)) {
		switch (*opcode) {
		case 0x66:
			d->is_short = true;
			break;
		case 0x67:
			d->has_short_addresses = true;
			break;
		case 0xf2:
		case 0xf3:
			d->is_repeated = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0xf0:
			d->is_segmented = true;
			break;
		case 0x64:
		case 0x65:
			break;
		default:
			if ((*opcode & 0xf0) != 0x40)
				return true;
			d->rex = *opcode;
			continue;
		}
		d->rex = 0;
	}
	return false;
}

/* VEX and EVEX: their maps have numbers. */
static bool read_vector(struct decoder *d, uint8_t first)
{
	uint8_t byte[3] = {0};
	size_t nr = first == 0xc5 ? 1 : first == 0xc4 ? 2 : 3;

	d->is_vector = true;
	d->is_evex = first == 0x62;
	for (size_t i = 0; i < nr; i++)
		if (!next(d, &byte[i]))
			return false;
	d->map = first == 0xc5 ? 1 : byte[0] & (first == 0xc4 ? 0x1f : 0x07);
	if (first == 0x62 && (byte[0] & 0x08 || !(byte[1] & 0x04))) /* APX */
		return false;
	return d->map >= 1 && (d->map <= 3 || (first == 0x62 && d->map <= 6 && d->map != 4)) &&
	       next(d, &d->opcode);
}

static bool read_opcode(struct decoder *d)
{
	uint8_t byte;

	if (!read_prefixes(d, &byte))
		return false;
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
		return !d->rex && !d->is_short && !d->is_repeated && read_vector(d, byte);
	d->opcode = byte;
	if (byte != 0x0f)
		return true;
	d->map = 1;
	if (!next(d, &d->opcode))
		return false;
	if (d->opcode != 0x38 && d->opcode != 0x3a)
		return true;
	d->map = d->opcode == 0x38 ? 2 : 3;
	return next(d, &d->opcode);
}

static char what_follows(const struct decoder *d)
{
	switch (d->map) {
	case 0:
		return one_byte[d->opcode];
	case 1:
		if (d->is_vector && (d->opcode & 0xf0) == 0x80)
			return 'x';
		/* vzeroupper, and SSE4a with two immediates */
		if (d->opcode == 0x78 || d->opcode == 0x79)
			return d->is_vector ? 'm' : 'x';
		return two_bytes[d->opcode];
	case 3:
		return 'B';
	default:
		return 'm';
	}
}

static bool skip(struct decoder *d, size_t nr)
{
	if (nr > d->len - d->at)
		return false;
	d->at += nr;
	return true;
}

/* ModRM, SIB and the displacement. */
static bool read_modrm(struct decoder *d)
{
	unsigned mod, rm;
	uint8_t sib = 0;

	if (!next(d, &d->modrm))
		return false;
	mod = d->modrm >> 6;
	rm = d->modrm & 7;
	if (mod == 3)
		return true;
	if (rm == 4 && !next(d, &sib))
		return false;
	if (mod == 1)
		return skip(d, 1);
	if (mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5))
		return skip(d, 4);
	return true;
}

static bool has_wide(const struct decoder *d)
{
	return d->rex & 8;
}

static size_t word_bytes(const struct decoder *d)
{
	return d->is_short && !has_wide(d) ? 2 : 4;
}

/* The distance of a jump, or an immediate value. */
static bool read_rest(struct decoder *d, char what, int64_t *distance)
{
	uint8_t near;
	int32_t far;

	*distance = 0;
	if (strchr("mBZg", what) && !read_modrm(d))
		return false;
	switch (what) {
	case 'b':
	case 'B':
		return skip(d, 1);
	case 'w':
		return skip(d, 2);
	case 'e':
		return skip(d, 3);
	case 'z':
	case 'Z':
		return skip(d, word_bytes(d));
	case 'v':
		return skip(d, has_wide(d) ? 8 : word_bytes(d));
	case 'a':
		return skip(d, d->has_short_addresses ? 4 : 8);
	case 'g':
		if (d->modrm & 0x30)
			return true;
		return skip(d, d->opcode == 0xf6 ? 1 : word_bytes(d));
	case 'J':
		if (!skip(d, 1))
			return false;
		near = d->code[d->at - 1];
		*distance = near < 0x80 ? near : near - 0x100;
		return true;
	case 'j': /* with 66 CPUs differ in its length */
		if (d->is_short || !skip(d, 4))
			return false;
		memcpy(&far, d->code + d->at - 4, 4);
		*distance = far;
		return true;
	default:
		return what != 'x';
	}
}

/* XOP in place of pop, and XBEGIN, whose target is a place to continue at. */
static bool is_odd(const struct decoder *d)
{
	return d->map == 0 && ((d->opcode == 0x8f && d->modrm & 0x38) ||
			       ((d->opcode == 0xc6 || d->opcode == 0xc7) && d->modrm & 0x38));
}

static enum functions_x86_kind kind_of_group5(const struct decoder *d)
{
	switch (d->modrm >> 3 & 7) {
	case 2:
	case 3:
		return FUNCTIONS_X86_CALL_ANY;
	case 4:
	case 5:
		return FUNCTIONS_X86_JUMP_ANY;
	default:
		return FUNCTIONS_X86_OTHER;
	}
}

static enum functions_x86_kind kind_of(const struct decoder *d)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0, 0}, endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};

	if (d->is_vector)
		return FUNCTIONS_X86_OTHER;
	if (d->map == 1) {
		if ((d->opcode & 0xf0) == 0x80)
			return FUNCTIONS_X86_BRANCH;
		if (d->at == sizeof(nop5) && memcmp(d->code, nop5, sizeof(nop5)) == 0)
			return FUNCTIONS_X86_NOP5;
		return d->at == sizeof(endbr) && memcmp(d->code, endbr, sizeof(endbr)) == 0
			   ? FUNCTIONS_X86_ENDBR
			   : FUNCTIONS_X86_OTHER;
	}
	if (d->map)
		return FUNCTIONS_X86_OTHER;
	if ((d->opcode & 0xf0) == 0x70)
		return FUNCTIONS_X86_BRANCH;
	if ((d->opcode & 0xf8) == 0x50)
		return d->at == 1 || (d->at == 2 && d->rex == 0x41) ? FUNCTIONS_X86_PUSH
								    : FUNCTIONS_X86_OTHER;
	if ((d->opcode & 0xfc) == 0xe0)
		return FUNCTIONS_X86_LOOP;
	switch (d->opcode) {
	case 0x90:
		return d->rex ? FUNCTIONS_X86_OTHER : FUNCTIONS_X86_NOP;
	case 0xe8:
		return FUNCTIONS_X86_CALL;
	case 0xe9:
	case 0xeb:
		return FUNCTIONS_X86_JUMP;
	case 0xff:
		return kind_of_group5(d);
	default:
		return FUNCTIONS_X86_OTHER;
	}
}

/* --- what it changes */

enum { RSP = 4 };

/* rcx, rdx, rsp, rsi, rdi, r8, r9; of a byte also ah to bh, which have numbers of others. */
static bool is_free(const struct decoder *d, unsigned number, bool is_byte)
{
	static const bool taken[16] = {
	    [1] = true, [2] = true, [RSP] = true, [6] = true, [7] = true, [8] = true, [9] = true};

	return !taken[number] && !(is_byte && !d->rex && number >= RSP && number < 8);
}

static bool writes_free_reg(const struct decoder *d, bool is_byte)
{
	return is_free(d, (d->modrm >> 3 & 7) | (d->rex & 4) << 1, is_byte);
}

/* Memory, or a register. */
static bool writes_free_rm(const struct decoder *d, bool is_byte)
{
	return d->modrm >> 6 != 3 || is_free(d, (d->modrm & 7) | (d->rex & 1) << 3, is_byte);
}

/* add, or, and, sub, xor, cmp with two operands, of one byte and of more, in both directions. */
static bool is_harmless_arithmetic(const struct decoder *d)
{
	bool is_byte = !(d->opcode & 1);

	if ((d->opcode & 0x38) == 0x38) /* cmp */
		return true;
	if ((d->opcode & 7) >= 4)
		return true; /* of rax */
	return d->opcode & 2 ? writes_free_reg(d, is_byte) : writes_free_rm(d, is_byte);
}

static bool is_harmless(const struct decoder *d)
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
	struct decoder d = {.code = code, .len = len < MAX_BYTES ? len : MAX_BYTES};
	int64_t distance;

	if (!read_opcode(&d) || !read_rest(&d, what_follows(&d), &distance) || is_odd(&d))
		return false;
	*out = (struct functions_x86){
	    .len = (unsigned)d.at,
	    .kind = kind_of(&d),
	    .target = (int64_t)d.at + distance,
	    .is_frame = d.map == 0 && (d.opcode == 0x81 || d.opcode == 0x83) && d.modrm == 0xec &&
			has_wide(&d),
	    .is_harmless = is_harmless(&d),
	    .is_unprobed =
		d.is_segmented || is_mistaken(&d) || (d.map == 0 && refused[d.opcode] == '#'),
	};
	return true;
}
