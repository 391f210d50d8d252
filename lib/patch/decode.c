/*
 * Sources: Intel SDM, volume 2, appendix A (opcode maps) and chapter 2 (prefixes); AMD APM, volume
 * 3, appendix A.
 */
#include "patch/decode.h"

#include "base/array.h"
#include "base/cursor.h"

/* What follows an opcode. */
enum form {
	NONE = '.',       /* not understood */
	ALONE = 'n',      /* nothing */
	MODRM = 'm',      /* an operand: a register or memory */
	MODRM_BYTE = 'i', /* and a byte */
	MODRM_WORD = 'I', /* and a number of the operand's size, at most 4 bytes */
	BYTE = 'b',       /* a byte */
	WORD = 'z',       /* a number of the operand's size, at most 4 bytes */
	FULL_WORD = 'v',  /* a number of the operand's size */
	TWO_BYTES = 'w',  /* 2 bytes */
	ADDRESS = 'o',    /* an address of 8 bytes */
	NEAR = 'j',       /* a target, in a byte */
	FAR = 'J',        /* a target, in 4 bytes */
	GROUP = 'g',      /* an operand; what it is depends on a part of that */
	PREFIX = 'p',
	REX = 'r',
	ESCAPE = 'e', /* another map */
	VECTOR = 'x', /* VEX or EVEX */
};

enum map { MAP_1 = 0, MAP_0F, MAP_0F38, MAP_0F3A };

/* Each line has 16 opcodes. */
static const char map_1[] = "mmmmbz..mmmmbz.e"  /* 00 */
			    "mmmmbz..mmmmbz.."  /* 10 */
			    "mmmmbzp.mmmmbzp."  /* 20 */
			    "mmmmbzp.mmmmbzp."  /* 30 */
			    "rrrrrrrrrrrrrrrr"  /* 40 */
			    "nnnnnnnnnnnnnnnn"  /* 50: push, pop */
			    "..xmppppzIbi...."  /* 60 */
			    "jjjjjjjjjjjjjjjj"  /* 70 */
			    "iI.immmmmmmmmm.g"  /* 80 */
			    "nnnnnnnnnn.nnnnn"  /* 90 */
			    "oooonnnnbznnnnnn"  /* a0 */
			    "bbbbbbbbvvvvvvvv"  /* b0 */
			    "iiwnxxgg.n..n..."  /* c0 */
			    "mmmm...nmmmmmmmm"  /* d0 */
			    "jjjj....JJ.j...."  /* e0 */
			    "p.ppnnggnn..nngg"; /* f0 */

static const char map_0f[] = ".g...n.....n.m.."  /* 00 */
			     "mmmmmmmmmmmmmmmm"  /* 10 */
			     "........mmmmmmmm"  /* 20 */
			     ".n.n....e.e....."  /* 30 */
			     "mmmmmmmmmmmmmmmm"  /* 40 */
			     "mmmmmmmmmmmmmmmm"  /* 50 */
			     "mmmmmmmmmmmmmmmm"  /* 60 */
			     "igggmmmn....mmmm"  /* 70 */
			     "JJJJJJJJJJJJJJJJ"  /* 80 */
			     "mmmmmmmmmmmmmmmm"  /* 90 */
			     "..nmim.....mimmm"  /* a0 */
			     "mm.m..mmgmgmmmmm"  /* b0 */
			     "mmimiiignnnnnnnn"  /* c0 */
			     "mmmmmmmmmmmmmmmm"  /* d0 */
			     "mmmmmmmmmmmmmmmm"  /* e0 */
			     "mmmmmmmmmmmmmmm."; /* f0 */

static const char map_0f38[] = "mmmmmmmmmmmm...." /* 00 */
			       "m...mm.m....mmm." /* 10 */
			       "mmmmmm..mmmm...." /* 20 */
			       "mmmmmm.mmmmmmmmm" /* 30 */
			       "mm.............." /* 40 */
			       "................"
			       "................"
			       "................"
			       "................"
			       "................"
			       "................"
			       "................"
			       "........mmmmmm.m" /* c0 */
			       "...........mmmmm" /* d0 */
			       "................"
			       "mm....m..m......"; /* f0 */

static const char map_0f3a[] = "........iiiiiiii" /* 00 */
			       "....iiii........" /* 10 */
			       "iii............." /* 20 */
			       "................"
			       "iii.i..........." /* 40 */
			       "................"
			       "iiii............" /* 60 */
			       "................"
			       "................"
			       "................"
			       "................"
			       "................"
			       "............i.ii" /* c0 */
			       "...............i" /* d0 */
			       "................"
			       "................";

enum { MAP_BYTES = 256 + 1 };
_Static_assert(sizeof(map_1) == MAP_BYTES && sizeof(map_0f) == MAP_BYTES &&
		   sizeof(map_0f38) == MAP_BYTES && sizeof(map_0f3a) == MAP_BYTES,
	       "a map has 256 opcodes");

static const char *const maps[] = {map_1, map_0f, map_0f38, map_0f3a};

/* Opcodes whose second byte says more: its middle three bits, as a set, and what mod may be. */
enum { ANY, MEMORY, REGISTER };
static const struct {
	uint8_t map, opcode, numbers, mod;
	char form;
} groups[] = {
    {MAP_1, 0x8f, 0x01, ANY, MODRM}, /* pop; else XOP */
    {MAP_1, 0xc6, 0x01, ANY, MODRM_BYTE},
    {MAP_1, 0xc7, 0x01, ANY, MODRM_WORD}, /* mov; else xbegin */
    {MAP_1, 0xf6, 0x03, ANY, MODRM_BYTE},
    {MAP_1, 0xf6, 0xfc, ANY, MODRM},
    {MAP_1, 0xf7, 0x03, ANY, MODRM_WORD},
    {MAP_1, 0xf7, 0xfc, ANY, MODRM},
    {MAP_1, 0xfe, 0x03, ANY, MODRM},
    {MAP_1, 0xff, 0x57, ANY, MODRM},       /* inc, dec, call, jmp, push; no far ones */
    {MAP_0F, 0x01, 0x04, REGISTER, MODRM}, /* xgetbv, xtest, … */
    {MAP_0F, 0x01, 0xa0, REGISTER, MODRM}, /* rdpkru, wrpkru, rdtscp, … */
    {MAP_0F, 0x71, 0x54, REGISTER, MODRM_BYTE},
    {MAP_0F, 0x72, 0x54, REGISTER, MODRM_BYTE},
    {MAP_0F, 0x73, 0xcc, REGISTER, MODRM_BYTE},
    {MAP_0F, 0xb8, 0xff, ANY, MODRM}, /* popcnt */
    {MAP_0F, 0xba, 0xf0, ANY, MODRM_BYTE},
    {MAP_0F, 0xc7, 0x3a, MEMORY, MODRM},
    {MAP_0F, 0xc7, 0xc0, REGISTER, MODRM},
};

/* Of VEX and EVEX the map says whether a byte follows; opcodes that are not in here are refused. */
enum { VEX = 1, EVEX = 2, BOTH = 3 };
static const struct {
	uint8_t of, map, first, last;
	char form;
} vectors[] = {
    {BOTH, MAP_0F, 0x10, 0x17, MODRM},        {BOTH, MAP_0F, 0x28, 0x2f, MODRM},
    {VEX, MAP_0F, 0x41, 0x4b, MODRM},         {BOTH, MAP_0F, 0x50, 0x6f, MODRM},
    {BOTH, MAP_0F, 0x70, 0x73, MODRM_BYTE},   {BOTH, MAP_0F, 0x74, 0x76, MODRM},
    {VEX, MAP_0F, 0x77, 0x77, ALONE},         {EVEX, MAP_0F, 0x78, 0x7b, MODRM},
    {BOTH, MAP_0F, 0x7c, 0x7f, MODRM},        {VEX, MAP_0F, 0x90, 0x93, MODRM},
    {VEX, MAP_0F, 0x98, 0x99, MODRM},         {VEX, MAP_0F, 0xae, 0xae, MODRM},
    {BOTH, MAP_0F, 0xc2, 0xc2, MODRM_BYTE},   {BOTH, MAP_0F, 0xc4, 0xc6, MODRM_BYTE},
    {BOTH, MAP_0F, 0xd0, 0xfe, MODRM},        {BOTH, MAP_0F38, 0x00, 0x47, MODRM},
    {BOTH, MAP_0F38, 0x4c, 0x5b, MODRM},      {EVEX, MAP_0F38, 0x62, 0x68, MODRM},
    {EVEX, MAP_0F38, 0x70, 0x77, MODRM},      {BOTH, MAP_0F38, 0x78, 0x79, MODRM},
    {EVEX, MAP_0F38, 0x7a, 0x8d, MODRM},      {VEX, MAP_0F38, 0x8c, 0x8e, MODRM},
    {EVEX, MAP_0F38, 0x8f, 0x8f, MODRM},      {BOTH, MAP_0F38, 0x90, 0xbf, MODRM},
    {EVEX, MAP_0F38, 0xc4, 0xcd, MODRM},      {BOTH, MAP_0F38, 0xcf, 0xcf, MODRM},
    {BOTH, MAP_0F38, 0xdb, 0xdf, MODRM},      {VEX, MAP_0F38, 0xf2, 0xf7, MODRM},
    {BOTH, MAP_0F3A, 0x00, 0x27, MODRM_BYTE}, {BOTH, MAP_0F3A, 0x30, 0x3f, MODRM_BYTE},
    {BOTH, MAP_0F3A, 0x40, 0x46, MODRM_BYTE}, {VEX, MAP_0F3A, 0x4a, 0x4c, MODRM_BYTE},
    {EVEX, MAP_0F3A, 0x50, 0x57, MODRM_BYTE}, {VEX, MAP_0F3A, 0x60, 0x63, MODRM_BYTE},
    {EVEX, MAP_0F3A, 0x66, 0x73, MODRM_BYTE}, {BOTH, MAP_0F3A, 0xce, 0xcf, MODRM_BYTE},
    {VEX, MAP_0F3A, 0xdf, 0xdf, MODRM_BYTE},  {VEX, MAP_0F3A, 0xf0, 0xf0, MODRM_BYTE},
};

/* What does not go on to the next instruction, or depends on its place. */
enum { EACH = 8 };
static const struct {
	uint8_t map, first, last, number;
	uint8_t flow;
	bool is_fixed;
} flows[] = {
    {MAP_1, 0x70, 0x7f, EACH, PATCH_BRANCHES, false},
    {MAP_1, 0xc2, 0xc3, EACH, PATCH_RETURNS, false},
    {MAP_1, 0xcc, 0xcc, EACH, PATCH_GOES_ON, true},  /* int3: who catches it sees its place */
    {MAP_1, 0xe0, 0xe3, EACH, PATCH_BRANCHES, true}, /* loop, jrcxz: only near */
    {MAP_1, 0xe8, 0xe8, EACH, PATCH_CALLS, true},    /* the return address is its place */
    {MAP_1, 0xe9, 0xe9, EACH, PATCH_JUMPS, false},
    {MAP_1, 0xeb, 0xeb, EACH, PATCH_JUMPS, false},
    {MAP_1, 0xf4, 0xf4, EACH, PATCH_STOPS, true}, /* hlt */
    {MAP_1, 0xff, 0xff, 2, PATCH_CALLS_INDIRECT, true},
    {MAP_1, 0xff, 0xff, 4, PATCH_JUMPS_INDIRECT, false},
    {MAP_0F, 0x05, 0x05, EACH, PATCH_GOES_ON, true}, /* syscall: filters may see its place */
    {MAP_0F, 0x0b, 0x0b, EACH, PATCH_STOPS, true},   /* ud2: as int3 */
    {MAP_0F, 0x80, 0x8f, EACH, PATCH_BRANCHES, false},
    {MAP_0F, 0xb9, 0xb9, EACH, PATCH_STOPS, true}, /* ud1 */
};

struct decoder {
	struct cursor c;
	const uint8_t *begin;
	struct patch_instruction i;
	uint8_t opcode, modrm;
	enum map map;
	enum form form;
	bool operand_size, address_size, rep, repne, lock, notrack, wide, has_rex, is_vector,
	    is_evex, has_memory;
	uint8_t rex;
};

static uint8_t place(const struct decoder *d)
{
	return (uint8_t)(d->c.at - d->begin);
}

/* --- prefixes and opcode */

static void take_prefix(struct decoder *d, uint8_t byte)
{
	d->operand_size |= byte == 0x66;
	d->address_size |= byte == 0x67;
	d->lock |= byte == 0xf0;
	d->repne |= byte == 0xf2;
	d->rep |= byte == 0xf3;
	d->notrack |= byte == 0x3e;
	d->i.has_override |= byte < 0x40 || byte == 0xf0;
}

/* VEX and EVEX replace prefixes and the escapes to other maps. */
static bool read_vector(struct decoder *d)
{
	static const uint8_t payload[] = {[VEX] = 2, [EVEX] = 3};
	const bool is_short = d->opcode == 0xc5;
	const unsigned of = d->opcode == 0x62 ? EVEX : VEX;
	const uint8_t *p = cursor_bytes(&d->c, is_short ? 1 : payload[of]);
	unsigned map = MAP_0F;

	if (!p || d->operand_size || d->address_size || d->rep || d->repne || d->lock || d->has_rex)
		return false;
	if (!is_short)
		map = p[0] & (of == EVEX ? 0x0f : 0x1f);
	if (of == EVEX && !(p[1] & 0x04))
		return false;
	d->is_vector = true;
	d->is_evex = of == EVEX;
	d->i.opcode_at = place(d);
	d->opcode = cursor_u8(&d->c);
	for (size_t k = 0; k < ARRAY_NR(vectors); k++)
		if (vectors[k].of & of && vectors[k].map == map && d->opcode >= vectors[k].first &&
		    d->opcode <= vectors[k].last) {
			d->map = (enum map)map;
			d->form = (enum form)vectors[k].form;
			return true;
		}
	return false;
}

static void read_opcode(struct decoder *d, enum map map)
{
	d->map = map;
	d->i.opcode_at = place(d);
	d->opcode = cursor_u8(&d->c);
	d->form = (enum form)maps[map][d->opcode];
}

/* False: not understood. */
static bool read_begin(struct decoder *d)
{
	read_opcode(d, MAP_1);
	while (d->form == PREFIX && cursor_ok(&d->c)) {
		take_prefix(d, d->opcode);
		read_opcode(d, MAP_1);
	}
	if (d->form == REX) {
		d->has_rex = true;
		d->rex = d->opcode;
		d->wide = d->rex & 8;
		read_opcode(d, MAP_1);
		if (d->form == REX || d->form == PREFIX) /* it would have no effect */
			return false;
	}
	if (d->form == VECTOR)
		return read_vector(d);
	if (d->form == ESCAPE) {
		read_opcode(d, MAP_0F);
		if (d->form == ESCAPE)
			read_opcode(d, d->opcode == 0x38 ? MAP_0F38 : MAP_0F3A);
	}
	return d->form != NONE && d->form != ESCAPE;
}

/* --- operands */

static bool find_group(struct decoder *d)
{
	const unsigned number = d->modrm >> 3 & 7;
	const unsigned mod = d->modrm >> 6 == 3 ? REGISTER : MEMORY;

	/* Without the prefix it is another machine's jump. */
	if (d->map == MAP_0F && d->opcode == 0xb8 && !d->rep)
		return false;
	for (size_t k = 0; k < ARRAY_NR(groups); k++)
		if (groups[k].map == d->map && groups[k].opcode == d->opcode &&
		    groups[k].numbers >> number & 1 &&
		    (groups[k].mod == ANY || groups[k].mod == mod)) {
			d->form = (enum form)groups[k].form;
			return true;
		}
	return false;
}

static void take_relative(struct decoder *d, uint8_t len)
{
	d->i.relative_at = place(d);
	d->i.relative_len = len;
	d->i.relative = len == 1 ? (int8_t)cursor_u8(&d->c) : (int32_t)cursor_le32(&d->c);
}

static bool read_operand(struct decoder *d)
{
	unsigned mod, rm, base;

	d->modrm = cursor_u8(&d->c);
	mod = d->modrm >> 6;
	rm = base = d->modrm & 7;
	if (d->form == GROUP && !find_group(d))
		return false;
	d->has_memory = mod != 3;
	if (mod == 3)
		return true;
	if (rm == 4)
		base = cursor_u8(&d->c) & 7;
	if (mod == 0 && rm == 5) {
		take_relative(d, 4);
		d->i.is_fixed |= d->address_size; /* relative to the lower half */
	} else if (mod == 2 || (mod == 0 && base == 5)) {
		cursor_skip(&d->c, 4);
	} else if (mod == 1) {
		cursor_skip(&d->c, 1);
	}
	return true;
}

static size_t word_len(const struct decoder *d)
{
	return d->operand_size && !d->wide ? 2 : 4;
}

/* Behind 0x66 and a repetition decoders differ in its length. */
static bool skip_word(struct decoder *d)
{
	cursor_skip(&d->c, word_len(d));
	return word_len(d) == 4 || !(d->rep || d->repne);
}

static bool read_rest(struct decoder *d)
{
	bool has_operand =
	    d->form == MODRM || d->form == MODRM_BYTE || d->form == MODRM_WORD || d->form == GROUP;

	if (has_operand && !read_operand(d))
		return false;
	switch (d->form) {
	case MODRM_BYTE:
	case BYTE:
		cursor_skip(&d->c, 1);
		return true;
	case MODRM_WORD:
	case WORD:
		return skip_word(d);
	case FULL_WORD:
		if (!d->wide)
			return skip_word(d);
		cursor_skip(&d->c, 8);
		return true;
	case TWO_BYTES:
		cursor_skip(&d->c, 2);
		return true;
	case ADDRESS:
		cursor_skip(&d->c, 8);
		return !d->address_size;
	case NEAR:
		take_relative(d, 1);
		return true;
	case FAR:
		take_relative(d, 4);
		return true;
	default:
		return d->form == ALONE || d->form == MODRM;
	}
}

/* --- what it does */

static bool is_call(const struct decoder *d)
{
	return d->i.flow == PATCH_CALLS || d->i.flow == PATCH_CALLS_INDIRECT;
}

static bool find_flow(struct decoder *d)
{
	const unsigned number = d->modrm >> 3 & 7;

	for (size_t k = 0; k < ARRAY_NR(flows); k++)
		if (!d->is_vector && flows[k].map == d->map && d->opcode >= flows[k].first &&
		    d->opcode <= flows[k].last &&
		    (flows[k].number == EACH || flows[k].number == number)) {
			d->i.flow = (enum patch_flow)flows[k].flow;
			d->i.is_fixed |= flows[k].is_fixed;
		}
	if (d->lock && (!d->has_memory || d->i.flow != PATCH_GOES_ON))
		return false; /* no processor accepts it */
	if (d->i.flow == PATCH_GOES_ON)
		return true;
	/* Makers of CPUs differ in what the one prefix does to branches, decoders in what both do;
	 * but linkers write it before calls of thread-local variables. */
	if (d->operand_size && (!d->wide || !is_call(d)))
		return false;
	return !d->address_size || !d->has_rex;
}

static void find_kind(struct decoder *d)
{
	const bool is_exchange = d->map == MAP_1 && d->opcode == 0x90 && !d->rep && !(d->rex & 1);
	const bool is_long_nop = d->map == MAP_0F && d->opcode == 0x1f;

	if (d->is_vector)
		return;
	d->i.is_nop = is_exchange || is_long_nop || (d->map == MAP_1 && d->opcode == 0xcc);
	d->i.is_endbr = d->map == MAP_0F && d->opcode == 0x1e && d->rep && d->modrm == 0xfa &&
			!d->has_rex && !d->operand_size;
	d->i.is_notrack = d->i.flow == PATCH_JUMPS_INDIRECT && d->notrack;
}

size_t patch_decode(const uint8_t *bytes, size_t len, struct patch_instruction *out)
{
	struct decoder d = {.begin = bytes};

	cursor_init(&d.c, bytes, len < PATCH_MAX_INSTRUCTION ? len : PATCH_MAX_INSTRUCTION);
	if (!read_begin(&d) || !read_rest(&d) || !find_flow(&d) || !cursor_ok(&d.c))
		return 0;
	find_kind(&d);
	d.i.len = place(&d);
	d.i.map = (uint8_t)d.map;
	d.i.opcode = d.opcode;
	d.i.modrm = d.modrm;
	d.i.rex = d.rex;
	d.i.is_vector = d.is_vector;
	d.i.is_evex = d.is_evex;
	*out = d.i;
	return d.i.len;
}
