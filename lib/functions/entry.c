/*
 * A breakpoint counts whenever its instruction is executed. So no jump may lead to it, else turns
 * of a loop would be counted as calls. What cannot be decoded may hold such a jump: then the symbol
 * itself is taken, which only a loop without any instruction before it enters.
 *
 * Prices are those of Linux's arch/x86/kernel/uprobes.c and arch/arm64/kernel/probes: what it
 * emulates is cheap, what it executes out of line is not, and what it refuses is refused here, as
 * of a file that is mapped later the kernel says nothing.
 *
 * A NOP of 5 bytes, which Linux 6.18 replaces by a call, is taken only where the function begins:
 * elsewhere that call's return address may overwrite variables below the stack pointer.
 */
#include "functions/entry.h"

#include "elf/file.h"
#include "functions/inward.h"
#include "functions/x86.h"

#include <elf.h>
#include <string.h>

enum { MAX_FUNCTION_BYTES = 1 << 20, MAX_FIRST_BYTES = 48 };

#define TOO_SHORT  "it is shorter than an instruction"
#define NOT_HELD   "the file does not have its code"
#define IS_LOOP    "a loop begins with its first instruction: each turn would count as a call"
#define NOT_PROBED "the kernel sets no breakpoint on its first instruction"
#define UNKNOWN    "its first instruction is not understood"

/* What the jumps of a function say. */
struct jumps {
	uint64_t start, end; /* of the function */
	uint64_t lowest;     /* to which one leads, behind the start */
	bool to_start, out, anywhere, has_call;
	bool is_whole; /* all of it was decoded */
};

static void note_within(struct jumps *j, uint64_t to)
{
	if (to > j->start && to < j->lowest)
		j->lowest = to;
}

static void note_target(struct jumps *j, uint64_t to)
{
	j->to_start |= to == j->start;
	j->out |= to < j->start || to >= j->end;
	note_within(j, to);
}

/* Up to size bytes of the function; NULL: not all of them are in the file. */
static const uint8_t *find_code(const struct elf_file *f, const struct functions_range *r,
				size_t *len)
{
	size_t wanted = r->size < MAX_FUNCTION_BYTES ? (size_t)r->size : MAX_FUNCTION_BYTES;
	const uint8_t *code = elf_file_bytes(f, r->address, wanted, len);

	return code && *len == wanted ? code : NULL;
}

/* --- x86-64 */

static void note_x86(struct jumps *j, const struct functions_x86 *i, uint64_t at)
{
	switch (i->kind) {
	case FUNCTIONS_X86_JUMP:
	case FUNCTIONS_X86_BRANCH:
	case FUNCTIONS_X86_LOOP:
		note_target(j, at + (uint64_t)i->target);
		break;
	case FUNCTIONS_X86_CALL:
		note_within(j, at + (uint64_t)i->target);
		j->has_call = true;
		break;
	case FUNCTIONS_X86_CALL_ANY:
		j->has_call = true;
		break;
	case FUNCTIONS_X86_JUMP_ANY:
		j->anywhere = true;
		break;
	default:
		break;
	}
}

static void read_x86(const struct elf_file *f, const struct functions_range *r, struct jumps *j)
{
	struct functions_x86 i;
	size_t len = 0, at = 0;
	const uint8_t *code = find_code(f, r, &len);

	while (code && at < len && functions_x86_decode(code + at, len - at, &i)) {
		note_x86(j, &i, r->address + at);
		at += i.len;
	}
	j->is_whole &= code && at == r->size;
}

static bool is_emulated(const struct functions_x86 *i)
{
	return i->kind == FUNCTIONS_X86_NOP || i->kind == FUNCTIONS_X86_PUSH ||
	       i->kind == FUNCTIONS_X86_JUMP || i->kind == FUNCTIONS_X86_BRANCH ||
	       i->kind == FUNCTIONS_X86_CALL;
}

static enum functions_entry price_x86(const struct functions_x86 *i)
{
	return i->kind == FUNCTIONS_X86_NOP5 ? FUNCTIONS_NOP5
	       : is_emulated(i)              ? FUNCTIONS_CHEAP
					     : FUNCTIONS_STEPPED;
}

/* A loop does not make the frame again. */
static bool begins_no_loop(const struct functions_x86 *first)
{
	return first->kind == FUNCTIONS_X86_PUSH || first->kind == FUNCTIONS_X86_ENDBR ||
	       first->is_frame;
}

/* Behind the check of the stack with which functions of Go begin; 0: there is none. */
static uint64_t find_checked(const uint8_t *code, size_t len, uint64_t address)
{
	enum { MAX_INSTRUCTIONS = 4 };
	struct functions_x86 i;

	for (size_t at = 0, nr = 0;
	     nr < MAX_INSTRUCTIONS && functions_x86_decode(code + at, len - at, &i); nr++) {
		at += i.len;
		if (i.kind == FUNCTIONS_X86_BRANCH)
			return address + at;
	}
	return 0;
}

static struct jumps read_all(const struct elf_file *f, const struct functions_body *b,
			     void (*read)(const struct elf_file *f, const struct functions_range *r,
					  struct jumps *j))
{
	struct jumps j = {.start = b->main.address,
			  .end = b->main.address + b->main.size,
			  .lowest = UINT64_MAX,
			  .is_whole = true};

	read(f, &b->main, &j);
	return j;
}

static bool calls_nothing(const struct jumps *j, const struct functions_body *b)
{
	return j->is_whole && !j->has_call && !j->out && !j->anywhere && !b->has_cold;
}

/* Whether only the start leads to an instruction behind it. */
static bool is_passed_once(const struct functions_body *b, const struct jumps *j, uint64_t address)
{
	return j->is_whole && !j->anywhere && address < j->lowest && b->inward &&
	       b->inward->is_whole && !functions_inward_has(b->inward, j->start, address + 1);
}

/* Takes that instruction, if it may be probed. */
static bool take(const struct functions_body *b, const struct jumps *j, uint64_t address,
		 const uint8_t *code, size_t len, struct functions_entry_facts *out)
{
	size_t at = (size_t)(address - b->main.address);
	struct functions_x86 i;

	if (!is_passed_once(b, j, address) || at >= len ||
	    !functions_x86_decode(code + at, len - at, &i) || i.is_unprobed)
		return false;
	out->address = address;
	out->entry = price_x86(&i);
	return true;
}

/* The first emulated instruction behind those that change nothing that a probe reads; 0: none is
 * near. A NOP of 5 bytes only behind endbr64: the others may have stored variables below the stack
 * pointer. */
static uint64_t find_cheaper(const uint8_t *code, size_t len, uint64_t address)
{
	struct functions_x86 i;
	bool is_first = true;

	for (size_t at = 0; functions_x86_decode(code + at, len - at, &i); at += i.len) {
		if (is_emulated(&i) || (i.kind == FUNCTIONS_X86_NOP5 && is_first))
			return at && !i.is_unprobed ? address + at : 0;
		is_first &= i.kind == FUNCTIONS_X86_ENDBR;
		if (!i.is_harmless && i.kind != FUNCTIONS_X86_ENDBR)
			return 0;
	}
	return 0;
}

static void choose_x86(const struct elf_file *f, const struct functions_body *b,
		       const uint8_t *code, size_t len, struct functions_entry_facts *out)
{
	struct functions_x86 first;
	uint64_t checked, cheaper;
	struct jumps j;

	if (!functions_x86_decode(code, len, &first)) {
		out->refused = len < b->main.size || len >= MAX_FIRST_BYTES ? UNKNOWN : TOO_SHORT;
		return;
	}
	checked = b->is_go ? find_checked(code, len, b->main.address) : 0;
	j = read_all(f, b, read_x86);
	out->calls_nothing = calls_nothing(&j, b);
	out->entry = price_x86(&first);
	if (j.to_start && checked) {
		if (!take(b, &j, checked, code, len, out) || out->entry == FUNCTIONS_NOP5)
			out->refused = IS_LOOP;
		return;
	}
	if (j.to_start && !begins_no_loop(&first)) {
		out->refused = IS_LOOP;
		return;
	}
	cheaper = out->entry == FUNCTIONS_STEPPED ? find_cheaper(code, len, b->main.address) : 0;
	if (!(cheaper && take(b, &j, cheaper, code, len, out)) && first.is_unprobed)
		out->refused = NOT_PROBED;
}

/* --- arm64 */

enum { ARM64_BYTES = 4 };

static bool arm64_is(uint32_t word, uint32_t mask, uint32_t value)
{
	return (word & mask) == value;
}

/* Instructions that read the place where they are, and NOP. */
static bool is_simulated(uint32_t w)
{
	return w == 0xd503201f ||                     /* nop */
	       arm64_is(w, 0x7c000000, 0x14000000) || /* b, bl */
	       arm64_is(w, 0xff000010, 0x54000000) || /* b.cond */
	       arm64_is(w, 0x7c000000, 0x34000000) || /* cbz, cbnz, tbz, tbnz */
	       arm64_is(w, 0x1f000000, 0x10000000) || /* adr, adrp */
	       arm64_is(w, 0xbf000000, 0x18000000) || /* ldr from a place */
	       arm64_is(w, 0xff000000, 0x98000000) || /* ldrsw from a place */
	       arm64_is(w, 0xff9ffc1f, 0xd61f0000);   /* br, blr, ret */
}

/* Exceptions, exclusive loads and stores. */
static bool is_unprobed_arm64(uint32_t w)
{
	return arm64_is(w, 0xff000000, 0xd4000000) || arm64_is(w, 0x3f800000, 0x08000000) || !w;
}

static bool is_landing_pad(uint32_t w)
{
	return (w & ~UINT32_C(0xc0)) == 0xd503241f && w != 0xd503241f; /* bti c, j, jc */
}

/* Distances are in instructions. */
static uint64_t moved(uint64_t at, uint32_t word, unsigned shift, unsigned bits)
{
	int64_t n = (int64_t)((uint64_t)(word >> shift) << (64 - bits)) >> (64 - bits);

	return at + (uint64_t)n * ARM64_BYTES;
}

static void note_arm64(struct jumps *j, uint32_t w, uint64_t at)
{
	if (arm64_is(w, 0xfc000000, 0x14000000))
		note_target(j, moved(at, w, 0, 26));
	else if (arm64_is(w, 0xff000010, 0x54000000) || arm64_is(w, 0x7e000000, 0x34000000))
		note_target(j, moved(at, w, 5, 19));
	else if (arm64_is(w, 0x7e000000, 0x36000000))
		note_target(j, moved(at, w, 5, 14));
	else if (arm64_is(w, 0xfc000000, 0x94000000) || arm64_is(w, 0xfffffc1f, 0xd63f0000))
		j->has_call = true;
	else if (arm64_is(w, 0xfffffc1f, 0xd61f0000))
		j->anywhere = true;
	else if (arm64_is(w, 0xfe000000, 0xd6000000) && !arm64_is(w, 0xfffffc1f, 0xd65f0000))
		j->has_call = j->anywhere = true; /* with authentication, or unknown */
}

static uint32_t word_at(const uint8_t *code)
{
	return (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
}

static void read_arm64(const struct elf_file *f, const struct functions_range *r, struct jumps *j)
{
	size_t len = 0;
	const uint8_t *code = find_code(f, r, &len);

	for (size_t at = 0; code && at + ARM64_BYTES <= len; at += ARM64_BYTES)
		note_arm64(j, word_at(code + at), r->address + at);
	j->is_whole &= code && len == r->size;
}

/* Its frame is made by the first instruction: sub sp, stp with write-back, pacia. */
static bool makes_frame_arm64(uint32_t w)
{
	return arm64_is(w, 0xff0003ff, 0xd10003ff) || arm64_is(w, 0x3fc003e0, 0x298003e0) ||
	       w == 0xd503233f || w == 0xd503237f;
}

static void choose_arm64(const struct elf_file *f, const struct functions_body *b,
			 const uint8_t *code, size_t len, struct functions_entry_facts *out)
{
	uint32_t first, second;
	struct jumps j;

	if (len < ARM64_BYTES || b->main.address % ARM64_BYTES) {
		out->refused = TOO_SHORT;
		return;
	}
	first = word_at(code);
	second = len >= 2 * ARM64_BYTES ? word_at(code + ARM64_BYTES) : 0;
	j = read_all(f, b, read_arm64);
	out->calls_nothing = calls_nothing(&j, b);
	out->entry = is_simulated(first) ? FUNCTIONS_CHEAP : FUNCTIONS_STEPPED;
	if (is_unprobed_arm64(first)) {
		out->refused = NOT_PROBED;
	} else if (j.to_start && !is_landing_pad(first) && !makes_frame_arm64(first)) {
		out->refused = IS_LOOP;
	} else if (is_landing_pad(first) && is_simulated(second) &&
		   j.lowest > b->main.address + ARM64_BYTES && j.is_whole && !j.anywhere &&
		   !b->has_cold) {
		out->address = b->main.address + ARM64_BYTES;
		out->entry = FUNCTIONS_CHEAP;
	}
}

void functions_entry_choose(const struct elf_file *code, const struct functions_body *body,
			    struct functions_entry_facts *out)
{
	size_t len = 0;
	const uint8_t *bytes;

	*out = (struct functions_entry_facts){.address = body->main.address,
					      .entry = FUNCTIONS_STEPPED};
	bytes = elf_file_bytes(
	    code, body->main.address,
	    body->main.size < MAX_FIRST_BYTES ? (size_t)body->main.size : MAX_FIRST_BYTES, &len);
	if (!body->main.size)
		out->refused = TOO_SHORT;
	else if (!bytes)
		out->refused = NOT_HELD;
	else if (elf_file_machine(code) == EM_X86_64 && elf_file_is_64(code))
		choose_x86(code, body, bytes, len, out);
	else if (elf_file_machine(code) == EM_AARCH64)
		choose_arm64(code, body, bytes, len, out);
}
