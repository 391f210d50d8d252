/*
 * Code without tables, by hand: what the call before a return address says, and steps out of a
 * function without a frame.
 */
#include "kit.h"
#include "test_unwind.h"

#include "cfi/machine.h"
#include "elf/file.h"
#include "unwind/call.h"

#include <elf.h>

enum { BASE = 0x400000, LEAF = 0x200, FRAMED = 0x280, SP = 0x7008, FP = 0x7048 };
enum { STUB = 0x380, SECTIONS = 0x400, NAMES = 0x500, SIZE = 0x600, MUCH = 9 << 20 };
enum { X86_FP = 6, X86_SP = 7, X86_PC = 8, ARM_FP = 29, ARM_LR = 30, ARM_SP = 31, ARM_PC = 32 };

static uint8_t image[MUCH];
static size_t size = SIZE;
static struct elf_file *file;
static struct test_sample sample;
static struct test_unwind unwind;
static bool is_refuted;

static void put(size_t at, const void *code, size_t len)
{
	memcpy(image + at, code, len);
}

static void put_word(size_t at, uint32_t word)
{
	put(at, &word, sizeof(word));
}

/* A file whose addresses begin at 0, with one segment; in a section for stubs, of x86, is one. */
static void begin(uint16_t machine)
{
	const Elf64_Phdr segment = {
	    .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = size, .p_memsz = size};
	Elf64_Ehdr header = {.e_type = ET_DYN,
			     .e_machine = machine,
			     .e_phoff = sizeof(header),
			     .e_phentsize = sizeof(segment),
			     .e_phnum = 1,
			     .e_shoff = SECTIONS,
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = 3,
			     .e_shstrndx = 1};
	const Elf64_Shdr sections[] = {
	    {.sh_type = SHT_NULL},
	    {.sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = 8},
	    {.sh_name = 1,
	     .sh_type = SHT_PROGBITS,
	     .sh_addr = STUB,
	     .sh_offset = STUB,
	     .sh_size = 16},
	};

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	memset(image, 0, SIZE);
	put(SECTIONS, sections, sizeof(sections));
	put(NAMES, "\0.plt", 6);
	put(0, &header, sizeof(header));
	put(sizeof(header), &segment, sizeof(segment));
}

static void open_file(void)
{
	assert_int_equal(elf_file_open_mem(image, size, false, "made", &file, NULL), 0);
}

/* Calls end at 0x105 (to LEAF), 0x115 (behind it), 0x125 (to a stub), 0x132 and 0x137 (by a
 * pointer), 0x147 (in either of two ways), 0x155 (to FRAMED), 0x165 (to 0xf0). */
static void make_x86(void)
{
	begin(EM_X86_64);
	put(0x100, "\xe8\xfb\0\0\0", 5);
	put(0x110, "\xe8\xeb\1\0\0", 5);
	put(0x120, "\xe8\x5b\2\0\0", 5);
	put(0x130, "\xff\xd0", 2);
	put(0x130 + 2, "\xff\x54\x24\x08\x90", 5);
	put(0x142, "\xe8\0\0\xff\xd0", 5);
	put(0x150, "\xe8\x2b\1\0\0", 5);
	put(0x160, "\xe8\x8b\xff\xff\xff", 5);
	put(FRAMED, "\x55\x48\x89\xe5", 4);
	put(STUB, "\xf3\x0f\x1e\xfa\xff\x25\0\0\0\0", 10);
	open_file();
}

/* The same; all calls have four bytes. */
static void make_arm(void)
{
	begin(EM_AARCH64);
	put_word(0x100, 0x94000000 | (LEAF - 0x100) / 4);
	put_word(0x110, 0x94000000 | (LEAF - 0x110 + 0x100) / 4);
	put_word(0x120, 0x94000000 | (0x380 - 0x120) / 4);
	put_word(0x130, 0xd63f0000 | 3 << 5); /* blr x3 */
	put_word(0x140, 0xd73f0803 | 1 << 5); /* blraa x1, x3 */
	put_word(0x300, 0x94000000 | ((uint32_t)(LEAF - 0x300) / 4 & 0x3ffffff));
	put_word(0x380, 0x90000010);
	put_word(0x384, 0xf9400211);
	put_word(0x388, 0x91000210);
	put_word(0x38c, 0xd61f0220);
	open_file();
}

static void check_call(const struct cfi_machine *m, uint64_t address, enum unwind_call call,
		       uint64_t to)
{
	uint64_t found = 0;

	if (unwind_call_before(file, m, address, &found) != call || found != to)
		fail_msg("%lx: %lx", (unsigned long)address, (unsigned long)found);
}

TEST(x86)
{
	const struct cfi_machine *m = &cfi_machine_x86_64;

	make_x86();
	check_call(m, 0x105, UNWIND_CALL_DIRECT, LEAF);
	check_call(m, 0x106, UNWIND_CALL_NONE, 0);
	check_call(m, 0x115, UNWIND_CALL_DIRECT, 0x300);
	check_call(m, 0x132, UNWIND_CALL_INDIRECT, 0);
	check_call(m, 0x136, UNWIND_CALL_INDIRECT, 0);
	check_call(m, 0x147, UNWIND_CALL_INDIRECT, 0);
	check_call(m, 3, UNWIND_CALL_UNKNOWN, 0);
	check_call(m, SIZE + 1, UNWIND_CALL_UNKNOWN, 0);

	assert_true(unwind_call_jumps_on(file, m, 0x380));
	assert_false(unwind_call_jumps_on(file, m, LEAF));
	assert_true(unwind_call_has_pushed(file, m, FRAMED + 1));
	assert_false(unwind_call_has_pushed(file, m, FRAMED));
	assert_false(unwind_call_has_pushed(file, &cfi_machine_i386, FRAMED + 1));
	put(FRAMED, "\x55\x8b\xec", 3);
	assert_true(unwind_call_has_pushed(file, &cfi_machine_i386, FRAMED + 1));
	elf_file_close(file);
}

TEST(arm64)
{
	const struct cfi_machine *m = &cfi_machine_aarch64;

	make_arm();
	check_call(m, 0x104, UNWIND_CALL_DIRECT, LEAF);
	check_call(m, 0x108, UNWIND_CALL_NONE, 0);
	check_call(m, 0x134, UNWIND_CALL_INDIRECT, 0);
	check_call(m, 0x144, UNWIND_CALL_INDIRECT, 0);
	check_call(m, 0x304, UNWIND_CALL_DIRECT, LEAF);
	assert_true(unwind_call_jumps_on(file, m, 0x380));
	assert_false(unwind_call_jumps_on(file, m, LEAF));
	assert_false(unwind_call_has_pushed(file, m, FRAMED + 1));
	elf_file_close(file);
}

static void run(const char *machine, uint64_t user_regs)
{
	unwind = (struct test_unwind){.vdso = file};
	test_map(&unwind.lookup, BASE, BASE + 0x1000, 0, PROT_READ | PROT_EXEC, "[vdso]");
	assert_int_equal(test_unwind_open(&unwind, machine), 0);
	test_sample_init(&sample, user_regs);
	test_unwind_run(&unwind, &sample);
	is_refuted = unwinder_refutes_chain(unwind.u);
	test_unwind_close(&unwind);
}

/* The words of the stack from sp on; those of the frame that the frame pointer leads to are behind
 * them, at FP. */
struct step {
	const char *what;
	uint64_t pc, sp, fp, words[2], frame[3];
	uint64_t caller; /* 0: none */
	enum unwind_end end;
};

static void check_steps(const struct step *s, size_t nr)
{
	for (; nr--; s++) {
		memset(&sample, 0, sizeof(sample));
		sample.reg[X86_PC] = BASE + s->pc;
		sample.reg[X86_SP] = s->sp;
		sample.reg[X86_FP] = s->fp;
		memcpy(sample.stack, s->words, sizeof(s->words));
		memcpy(sample.stack + (FP - s->sp), s->frame, sizeof(s->frame));
		sample.stack_len = 256;
		run("x86_64", 0xff0fff);
		if (unwind.nr != 1 + !!s->caller || unwind.end != s->end ||
		    is_refuted != (s->fp && !s->caller) ||
		    (s->caller && unwind.chain[1] != BASE + s->caller))
			fail_msg("%s: %zu, %lx, %s", s->what, unwind.nr,
				 (unsigned long)unwind.chain[1], unwind_end_name(unwind.end));
	}
}

TEST(steps)
{
	static const struct step steps[] = {
	    {"called there", LEAF, SP, 0, {BASE + 0x105}, {0}, 0x105, UNWIND_WHOLE},
	    {"later in it", LEAF + 9, SP, 0, {BASE + 0x105}, {0}, 0x105, UNWIND_WHOLE},
	    {"another is called", LEAF, SP, 0, {BASE + 0x115}, {0}, 0, UNWIND_WHOLE},
	    {"no call", LEAF, SP, 0, {BASE + 0x106}, {0}, 0, UNWIND_WHOLE},
	    {"a pointer, by nobody known", LEAF, SP, 0, {BASE + 0x132}, {0}, 0, UNWIND_WHOLE},
	    {"a stub, by nobody known", LEAF, SP, 0, {BASE + 0x125}, {0}, 0, UNWIND_WHOLE},
	    {"not aligned", LEAF, SP + 8, 0, {BASE + 0x105}, {0}, 0, UNWIND_NO_TABLE},
	    {"the pointer is pushed",
	     FRAMED + 1,
	     SP - 8,
	     FP,
	     {FP, BASE + 0x155},
	     {0},
	     0x155,
	     UNWIND_WHOLE},
	    {"by the pointer", LEAF, SP + 8, FP, {0}, {0, BASE + 0x105}, 0x105, UNWIND_WHOLE},
	    {"by the pointer, and the word there is no return address of a caller",
	     LEAF,
	     SP + 8,
	     FP,
	     {0},
	     {0, BASE + 0x105, BASE + 0x165},
	     0x105,
	     UNWIND_NO_TABLE},
	    {"by code that may jump on",
	     LEAF,
	     SP + 8,
	     FP,
	     {0},
	     {0, BASE + 0x115},
	     0x115,
	     UNWIND_WHOLE},
	    {"to what is no call", LEAF, SP + 8, FP, {0}, {0, BASE + 0x106}, 0, UNWIND_NO_TABLE},
	    {"perhaps", LEAF, SP + 8, FP, {0}, {0, BASE + 0x132}, 0x132, UNWIND_WHOLE},
	    {"perhaps, by a stub", LEAF, SP + 8, FP, {0}, {0, BASE + 0x125}, 0x125, UNWIND_WHOLE},
	};

	make_x86();
	check_steps(steps, NR(steps));
	elf_file_close(file);
}

/* Of a program that has frame pointers in place of tables, nothing is asked. */
TEST(much_code)
{
	static const struct step steps[] = {
	    {"no call", LEAF, SP, FP, {BASE + 0x105}, {0, BASE + 0x106}, 0x106, UNWIND_WHOLE},
	    {"the end", LEAF, SP, 0, {BASE + 0x105}, {0}, 0, UNWIND_WHOLE},
	};

	size = MUCH;
	make_x86();
	check_steps(steps, NR(steps));
	elf_file_close(file);
	size = SIZE;
}

TEST(arm64_steps)
{
	static const struct {
		uint64_t lr, fp, frame[2], caller;
	} steps[] = {
	    {0x104, 0, {0}, 0x104},
	    {0x304, 0, {0}, 0}, /* perhaps what it called itself */
	    {0x114, 0, {0}, 0},
	    {0x104, FP, {0, BASE + 0x114}, 0x104},
	    {0x114, FP, {0, BASE + 0x104}, 0x104},
	    {0x108, FP, {0, BASE + 0x114}, 0x114},
	    {0x108, FP, {0, BASE + 0x108}, 0},
	};

	make_arm();
	for (size_t i = 0; i < NR(steps); i++) {
		memset(&sample, 0, sizeof(sample));
		sample.reg[ARM_PC] = BASE + LEAF + 4;
		sample.reg[ARM_SP] = SP + 8;
		sample.reg[ARM_FP] = steps[i].fp;
		sample.reg[ARM_LR] = (BASE + steps[i].lr) | 0x5bull << 56;
		memcpy(sample.stack + (FP - SP - 8), steps[i].frame, sizeof(steps[i].frame));
		sample.stack_len = 256;
		run("aarch64", (1ull << 33) - 1);
		if (unwind.nr != 1 + !!steps[i].caller ||
		    (steps[i].caller && unwind.chain[1] != BASE + steps[i].caller))
			fail_msg("%zu: %zu, %lx", i, unwind.nr, (unsigned long)unwind.chain[1]);
	}
	elf_file_close(file);
}
