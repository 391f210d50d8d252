/*
 * The same for arm64: what capstone sees in a whole library, each form that is moved, each refusal;
 * and on such a machine, functions that are patched, called and counted.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/io.h"
#include "elf/file.h"
#include "patch/arm64.h"

#include <capstone/capstone.h>
#include <sys/mman.h>

#define AT 0x400000ull

enum { BYTES = 4, MOVED = 14 * BYTES };

static csh capstone;
static cs_insn *theirs;

HOOK(before_all)
{
	assert_int_equal(cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &capstone), CS_ERR_OK);
	cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
	theirs = cs_malloc(capstone);
}

HOOK(after_all)
{
	cs_free(theirs, 1);
	cs_close(&capstone);
}

static bool disassemble(const uint8_t *code, uint64_t address)
{
	size_t len = BYTES;

	return cs_disasm_iter(capstone, &code, &len, &address, theirs);
}

/* --- decoding */

static bool is_of(unsigned group)
{
	return cs_insn_group(capstone, theirs, group);
}

/* The last operand of what is relative is an address, which is a number. */
static bool target_of_theirs(uint64_t *target)
{
	const cs_arm64 *a = &theirs->detail->arm64;
	const cs_arm64_op *last = &a->operands[a->op_count ? a->op_count - 1 : 0];
	const bool loads = theirs->id == ARM64_INS_LDR || theirs->id == ARM64_INS_LDRSW ||
			   theirs->id == ARM64_INS_PRFM;
	const bool is_place = theirs->id == ARM64_INS_ADR || theirs->id == ARM64_INS_ADRP ||
			      (loads && a->op_count == 2) || is_of(CS_GRP_JUMP) ||
			      theirs->id == ARM64_INS_BL;

	*target = a->op_count ? (uint64_t)last->imm : 0;
	return is_place && a->op_count && last->type == ARM64_OP_IMM;
}

static void compare(uint32_t code, uint64_t address)
{
	struct patch_arm64_instruction i;
	uint64_t target, ours;
	bool has;

	if (!patch_arm64_decode(code, &i))
		return;
	has = target_of_theirs(&target);
	ours = address + (uint64_t)i.relative;
	if (theirs->id == ARM64_INS_ADRP)
		ours = (address & ~0xfffull) + ((uint64_t)i.relative << 12);
	if (has != i.has_target || (has && ours != target))
		fail_msg("%08x at %lx: another target: %s %s", code, (unsigned long)address,
			 theirs->mnemonic, theirs->op_str);
	if ((theirs->id == ARM64_INS_BL || theirs->id == ARM64_INS_BLR) !=
		(i.flow == PATCH_CALLS || i.flow == PATCH_CALLS_INDIRECT) ||
	    (theirs->id == ARM64_INS_RET) != (i.flow == PATCH_RETURNS) ||
	    (theirs->id == ARM64_INS_BR) != (i.flow == PATCH_JUMPS_INDIRECT))
		fail_msg("%08x: another flow: %s %s", code, theirs->mnemonic, theirs->op_str);
}

TEST(text)
{
	enum { MOST = 30000 };
	static const char path[] = "/usr/aarch64-linux-gnu/lib/libc.so.6";
	BUF_AUTO(bytes, SIZE_MAX);
	struct elf_section s;
	struct elf_file *f;
	size_t nr_unknown = 0;

	if (io_load(AT_FDCWD, path, &bytes) < 0)
		SKIP("%s: not here", path);
	assert_int_equal(elf_file_open_mem(bytes.data, bytes.len, false, path, &f, NULL), 0);
	assert_true(elf_file_load_section(f, ".text", &s));
	STRIDE_EACH(i, s.size / BYTES, MOST) {
		struct patch_arm64_instruction ours;
		uint32_t code;

		memcpy(&code, s.data + i * BYTES, BYTES);
		nr_unknown += !patch_arm64_decode(code, &ours);
		if (disassemble(s.data + i * BYTES, s.address + i * BYTES))
			compare(code, s.address + i * BYTES);
	}
	print_message("%zu instructions are not understood\n", nr_unknown);
	assert_true(nr_unknown * 100 < s.size / BYTES);
	elf_file_close(f);
}

/* --- planning */

#define RET 0xd65f03c0u
#define BR  0xd61f0000u

static const struct {
	const char *what;
	uint32_t code[4];
	size_t len;
	enum patch_refusal refusal;
	uint8_t at, moved;
} functions[] = {
    {"add; ret", {0x8b010000, RET}, 8, 0, 0, 4},
    {"ret", {RET}, 4, 0, 0, 4},
    {"bti c; paciasp; add; ret", {0xd503245f, 0xd503233f, 0x8b010000, RET}, 16, 0, 8, 4},
    {"bl; ret", {0x94000010, RET}, 8, 0, 0, 0},
    {"only bti c", {0xd503245f}, 4, PATCH_TOO_SHORT},
    {"nothing", {0}, 0, PATCH_TOO_SHORT},
    {"no code", {0, RET}, 8, PATCH_NOT_UNDERSTOOD},
    {"no code later", {0x8b010000, 0x00000001, RET}, 12, PATCH_NOT_UNDERSTOOD},
    {"an odd end", {0x8b010000, RET, RET}, 10, PATCH_NOT_UNDERSTOOD},
    {"a loop to the begin", {0xd1000400, 0xb5ffffe0, RET}, 12, PATCH_LOOPS},
    {"a loop to bti", {0xd503245f, 0xd1000400, 0xb5ffffc0, RET}, 16, PATCH_LOOPS},
    {"a loop behind", {0x8b010000, 0xd1000400, 0xb5ffffe0, RET}, 16, 0, 0, 4},
    {"recursion", {0x8b010000, 0x97ffffff, RET}, 12, 0, 0, 4},
    {"blr at once", {0xd63f0000, RET}, 8, PATCH_HAS_CALL},
    {"svc", {0xd4000001, RET}, 8, PATCH_NOT_MOVABLE},
    {"ldr of a literal to a vector", {0x5c000040, RET}, 8, PATCH_NOT_MOVABLE},
    {"br", {0x8b010000, BR}, 8, PATCH_MAY_BE_ENTERED},
};

TEST(functions_and_refusals)
{
	for (size_t i = 0; i < NR(functions); i++) {
		const struct patch_function f = {
		    .code = {(const uint8_t *)functions[i].code, functions[i].len, AT}};
		struct patch_plan p = {0};
		enum patch_refusal refusal = patch_arm64_plan(&f, &p);

		if (refusal != functions[i].refusal)
			fail_msg("%s: %s", functions[i].what, patch_refusal_text(refusal));
		if (p.len &&
		    (p.moved_len != functions[i].moved || p.address != AT + functions[i].at))
			fail_msg("%s: %u moved", functions[i].what, p.moved_len);
	}
}

/* --- moving */

static const struct {
	const char *what;
	uint32_t code;
	uint64_t address; /* of the trampoline */
	const char *moved[3];
	uint64_t literal; /* 0: none */
} forms[] = {
    {"add", 0x8b010000, 0x500000, {"add x0, x0, x1", "b #0x400004"}, 0},
    {"ret", RET, 0x500000, {"ret "}, 0},
    {"b", 0x14000010, 0x500000, {"b #0x400040"}, 0},
    {"b back", 0x17fffff0, 0x500000, {"b #0x3fffc0"}, 0},
    {"bl", 0x94000010, 0x500000, {"b #0x400040"}, 0},
    {"cbz x0", 0xb4000060, 0x500000, {"cbz x0, #0x500040", "b #0x400004", "b #0x40000c"}, 0},
    {"b.eq", 0x54000060, 0x500000, {"b.eq #0x500040", "b #0x400004", "b #0x40000c"}, 0},
    {"tbnz", 0xb7400060, 0x500000, {"tbnz x0, #0x28, #0x500040", "b #0x400004", "b #0x40000c"}, 0},
    {"adr", 0x10ffffe2, 0x500000, {"ldr x2, #0x500068", "b #0x400004"}, 0x3ffffc},
    {"adrp", 0xb0000002, 0x500000, {"ldr x2, #0x500068", "b #0x400004"}, 0x401000},
    {"ldr x", 0x58000040, 0x500000, {"ldr x0, #0x500068", "ldr x0, [x0]", "b #0x400004"}, 0x400008},
    {"ldr w", 0x18000041, 0x500000, {"ldr x1, #0x500068", "ldr w1, [x1]", "b #0x400004"}, 0x400008},
    {"ldrsw",
     0x98000041,
     0x500000,
     {"ldr x1, #0x500068", "ldrsw x1, [x1]", "b #0x400004"},
     0x400008},
};

static void require_text(const struct patch_trampoline *t, size_t at, const char *wanted)
{
	char text[256] = "";

	if (disassemble(t->code + at, t->address + at))
		snprintf(text, sizeof(text), "%s %s", theirs->mnemonic, theirs->op_str);
	assert_string_equal(text, wanted);
}

TEST(moved)
{
	const struct patch_counter counter = {.number = 3, .block = 16, .shared = 0x600000};

	for (size_t i = 0; i < NR(forms); i++) {
		const struct patch_function f = {
		    .code = {(const uint8_t *)&forms[i].code, BYTES, AT}};
		const uint64_t literals[] = {16, 3 * 8, 0x600000 + 3 * 8, forms[i].literal};
		struct patch_trampoline t;
		struct patch_plan p;

		assert_int_equal(patch_arm64_plan(&f, &p), PATCH_ACCEPTED);
		assert_int_equal(patch_arm64_move(&p, &counter, forms[i].address, &t), 0);
		for (size_t k = 0; k < NR(forms[i].moved) && forms[i].moved[k]; k++)
			require_text(&t, MOVED + k * BYTES, forms[i].moved[k]);
		assert_memory_equal(t.code + t.len - sizeof(literals), literals, sizeof(literals));
		require_text(&t, 3 * BYTES, "ldr x17, #0x500050");
		require_text(&t, 6 * BYTES, "ldr x17, #0x500058");
		memcpy(t.code, t.replacement, BYTES);
		t.address = AT;
		require_text(&t, 0, p.moved_len ? "b #0x500000" : "bl #0x500000");
	}
}

TEST(out_of_reach)
{
	static const uint32_t code[] = {0x8b010000, RET};
	static const struct {
		uint64_t address;
		int rc;
	} rows[] = {{AT + 0x7ffff00, 0},
		    {AT + 0x8000000, -ERANGE},
		    {AT + 0x7ffffb8, 0}, /* the jump back is the last that reaches it */
		    {AT + 0x1004, -EINVAL}};
	const struct patch_function f = {.code = {(const uint8_t *)code, sizeof(code), AT}};
	const struct patch_counter counter = {.number = 0};
	struct patch_trampoline t;
	struct patch_plan p;

	assert_int_equal(patch_arm64_plan(&f, &p), PATCH_ACCEPTED);
	for (size_t i = 0; i < NR(rows); i++)
		if (patch_arm64_move(&p, &counter, rows[i].address, &t) != rows[i].rc)
			fail_msg("row %zu", i);
}

/* --- on such a machine */

#ifdef __aarch64__
static __thread __attribute__((tls_model("initial-exec"))) uint64_t *block;
static uint64_t shared[64], own[64];

/* Each form, as a function of its own; data behind it is not part of the function. */
#define FUNCTION(name, code, data)                                                                 \
	__asm__(".text\n.p2align 4\n" #name ": " code "\n" #name "_end: " data "\n");              \
	long name(long, long);                                                                     \
	extern char name##_end[];
FUNCTION(f_add, "add x0, x0, x1; ret", "")
FUNCTION(f_bti, "hint #34; hint #25; add x0, x0, x1; hint #29; ret", "")
FUNCTION(f_adr, "adr x2, 1f; ldr x0, [x2]; ret", ".p2align 3; 1: .quad 77")
FUNCTION(f_adrp, "adrp x2, f_page; add x2, x2, :lo12:f_page; ldr x0, [x2]; ret",
	 ".p2align 3; f_page: .quad 99")
FUNCTION(f_ldr, "ldr x0, 1f; ret", ".p2align 3; 1: .quad 88")
FUNCTION(f_ldrw, "ldr w0, 1f; ret", ".p2align 3; 1: .word -5, 0")
FUNCTION(f_ldrsw, "ldrsw x0, 1f; ret", ".p2align 3; 1: .word -5, 0")
FUNCTION(f_cbz, "cbz x0, 1f; add x0, x0, #1; ret; 1: mov x0, #55; ret", "")
FUNCTION(f_tbz, "tbz x0, #1, 1f; add x0, x0, #1; ret; 1: mov x0, #66; ret", "")
FUNCTION(f_tbnz, "tbnz x0, #40, 1f; add x0, x0, #1; ret; 1: mov x0, #67; ret", "")
FUNCTION(f_b, "b f_add", "")
FUNCTION(f_ret, "ret", "")
FUNCTION(f_stp, "stp x29, x30, [sp, #-16]!; bl f_add; ldp x29, x30, [sp], #16; ret", "")
FUNCTION(f_flags, "csel x0, x0, x1, lt; ret", "")
FUNCTION(f_registers, "add x0, x15, x16; add x0, x0, x17; ret", "")
__asm__(
    ".text\n"
    "by_flags: stp x29, x30, [sp, #-16]!; cmp x0, x1; bl f_flags; ldp x29, x30, [sp], #16; ret\n"
    "by_registers: stp x29, x30, [sp, #-16]!; mov x15, x0; mov x16, x1; mov x17, #1000\n"
    "bl f_registers; ldp x29, x30, [sp], #16; ret\n");
long by_flags(long, long), by_registers(long, long);

static const struct {
	const char *name;
	long (*function)(long, long);
	const char *end;
	long (*call)(long, long);
} runs[] = {
#define SELF(f)                                                                                    \
	{                                                                                          \
#f, f, f##_end, f                                                                  \
	}
    SELF(f_add),
    SELF(f_bti),
    SELF(f_adr),
    SELF(f_adrp),
    SELF(f_ldr),
    SELF(f_ldrw),
    SELF(f_ldrsw),
    SELF(f_cbz),
    SELF(f_tbz),
    SELF(f_tbnz),
    SELF(f_b),
    SELF(f_ret),
    SELF(f_stp),
    {"f_flags", f_flags, f_flags_end, by_flags},
    {"f_registers", f_registers, f_registers_end, by_registers},
};

enum { NR_CALLS = 100, ROOM = 65536 };

static void call_all(size_t i, long out[NR_CALLS])
{
	for (long k = 0; k < NR_CALLS; k++)
		out[k] = runs[i].call(k % 7 + (k & 8 ? 1l << 40 : 0), k % 5);
}

static void put(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	__builtin___clear_cache(to, (char *)to + len);
}

static void run_one(size_t i, char *at)
{
	const uint64_t address = (uint64_t)(uintptr_t)runs[i].function;
	const struct patch_function f = {
	    .code = {(const uint8_t *)(uintptr_t)address,
		     (size_t)(runs[i].end - (const char *)(uintptr_t)address), address}};
	const struct patch_counter counter = {
	    .number = (uint32_t)i,
	    .block = (int32_t)((char *)&block - (char *)__builtin_thread_pointer()),
	    .shared = (uint64_t)(uintptr_t)shared};
	long before[NR_CALLS], after[NR_CALLS];
	struct patch_trampoline t;
	struct patch_plan p;
	void *site, *page;

	assert_int_equal(patch_arm64_plan(&f, &p), PATCH_ACCEPTED);
	assert_int_equal(patch_arm64_move(&p, &counter, (uint64_t)(uintptr_t)at, &t), 0);
	call_all(i, before);
	site = (void *)(uintptr_t)p.address;
	page = (void *)(uintptr_t)(p.address & ~0xffffull);
	put(at, t.code, t.len);
	assert_int_equal(mprotect(page, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	put(site, t.replacement, BYTES);
	for (int k = 0; k < 2; k++) {
		block = k ? own : NULL;
		call_all(i, after);
		assert_memory_equal(before, after, sizeof(after));
	}
	block = NULL;
	put(site, p.old, BYTES);
	if (shared[i] != NR_CALLS || own[i] != NR_CALLS)
		fail_msg("%s: %lu and %lu calls", runs[i].name, (unsigned long)shared[i],
			 (unsigned long)own[i]);
}

TEST(run)
{
	char *room = mmap((void *)(((uintptr_t)f_add & ~0xfffffull) + 0x4000000), ROOM,
			  PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(room, MAP_FAILED);
	for (size_t i = 0; i < NR(runs); i++)
		run_one(i, room + i * PATCH_TRAMPOLINE_BYTES);
	munmap(room, ROOM);
}
#endif
