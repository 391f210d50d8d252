/*
 * Where breakpoints are set in made functions: behind landing pads, never where a jump leads, and
 * not on what the kernel refuses.
 */
#include "kit.h"
#include "test_elf.h"

#include "elf/file.h"
#include "functions/entry.h"
#include "functions/inward.h"
#include "functions/x86.h"

#include <elf.h>

enum { CODE_AT = 0x1000, MOVED = 0x400000, CODE_BYTES = 0x100 };

#define ENDBR "\xf3\x0f\x1e\xfa"
#define PUSH  "\x55"
#define NOP5  "\x0f\x1f\x44\0\0"
#define RET   "\xc3"
#define BTI   "\x5f\x24\x03\xd5"
#define B(n)  n "\0\0\x14"

/* A file with one segment of code, the function. */
static struct elf_file *make_file(struct buf *b, uint16_t machine, const char *code, size_t len)
{
	const uint64_t words[] = {CODE_AT, CODE_AT + MOVED, 0, CODE_BYTES, CODE_BYTES, 0x1000};
	struct elf_file *f;

	buf_init(b, 1 << 20);
	test_elf_header(b, 64, 1);
	buf_le32(b, PT_LOAD);
	buf_le32(b, PF_R | PF_X);
	for (size_t i = 0; i < NR(words); i++)
		buf_le64(b, words[i]);
	buf_fill(b, 0, CODE_AT - b->len);
	buf_add(b, code, len);
	buf_fill(b, 0, CODE_BYTES - len);
	assert_int_equal(buf_error(b), 0);
	b->data[18] = (char)machine;
	b->data[19] = (char)(machine >> 8);
	assert_int_equal(elf_file_open_mem(b->data, b->len, false, "made", &f, NULL), 0);
	return f;
}

struct row {
	const char *what, *code;
	size_t len;
	uint64_t jumped_at; /* by other code; 0: nowhere */
	bool has_cold, is_unknown, is_go, is_arm64;
	/* expected */
	uint64_t at; /* in the function */
	enum functions_entry entry;
	bool calls_nothing;
	const char *refused; /* a part of the reason */
};

/* clang-format off */
#define ROW(what_, code_) .what = what_, .code = code_, .len = sizeof(code_) - 1
/* clang-format on */

static const struct row rows[] = {
    {ROW("a push", PUSH RET), .entry = FUNCTIONS_CHEAP, .calls_nothing = true},
    {ROW("a return", RET), .entry = FUNCTIONS_STEPPED, .calls_nothing = true},
    {ROW("behind endbr64", ENDBR PUSH RET), .at = 4, .entry = FUNCTIONS_CHEAP,
     .calls_nothing = true},
    {ROW("no cheaper behind endbr64", ENDBR RET), .entry = FUNCTIONS_STEPPED,
     .calls_nothing = true},
    {ROW("a NOP of 5 bytes", NOP5 RET), .entry = FUNCTIONS_NOP5, .calls_nothing = true},
    {ROW("one behind endbr64", ENDBR NOP5 RET), .at = 4, .entry = FUNCTIONS_NOP5,
     .calls_nothing = true},
    /* jne to the push */
    {ROW("a loop behind endbr64", ENDBR PUSH "\x75\xfd" RET), .entry = FUNCTIONS_STEPPED,
     .calls_nothing = true},
    {ROW("a call of what is behind endbr64", ENDBR PUSH "\xe8\xfa\xff\xff\xff" RET),
     .entry = FUNCTIONS_STEPPED},
    {ROW("other code jumps there", ENDBR PUSH RET), .jumped_at = 4, .entry = FUNCTIONS_STEPPED,
     .calls_nothing = true},
    {ROW("other code jumps behind it", ENDBR PUSH RET), .jumped_at = 5, .at = 4,
     .entry = FUNCTIONS_CHEAP, .calls_nothing = true},
    {ROW("other code is not known", ENDBR PUSH RET), .is_unknown = true, .entry = FUNCTIONS_STEPPED,
     .calls_nothing = true},
    {ROW("a part is elsewhere", PUSH RET), .has_cold = true, .entry = FUNCTIONS_CHEAP},
    /* test %rdi,%rdi; je */
    {ROW("behind a test", "\x48\x85\xff\x74\x01" RET RET), .at = 3, .entry = FUNCTIONS_CHEAP,
     .calls_nothing = true},
    /* mov %edi,%eax; xor %r10d,%r10d; push */
    {ROW("behind what changes no argument", "\x89\xf8\x45\x31\xd2" PUSH RET), .at = 5,
     .entry = FUNCTIONS_CHEAP, .calls_nothing = true},
    {ROW("other code jumps between", "\x89\xf8\x45\x31\xd2" PUSH RET), .jumped_at = 2,
     .entry = FUNCTIONS_STEPPED, .calls_nothing = true},
    /* sub $8,%rsp; xor %edi,%edi */
    {ROW("not behind a frame", "\x48\x83\xec\x08" PUSH RET), .entry = FUNCTIONS_STEPPED,
     .calls_nothing = true},
    {ROW("not behind a changed argument", "\x31\xff" PUSH RET), .entry = FUNCTIONS_STEPPED,
     .calls_nothing = true},
    {ROW("no NOP of 5 bytes there", "\x89\xf8" NOP5 RET), .entry = FUNCTIONS_STEPPED,
     .calls_nothing = true},
    {ROW("the first is refused", "\x2e\x89\xf8" PUSH RET), .at = 3, .entry = FUNCTIONS_CHEAP,
     .calls_nothing = true},
    {ROW("a table of jumps", ENDBR PUSH "\xff\xe0"), .entry = FUNCTIONS_STEPPED},
    {ROW("not decoded to the end", ENDBR PUSH "\x06"), .entry = FUNCTIONS_STEPPED},
    {ROW("a loop at the begin", "\x83\xc0\x01\x75\xfb" RET), .calls_nothing = true,
     .refused = "a loop begins"},
    {ROW("it jumps to itself, as to another", PUSH "\x5d\xeb\xfc"), .entry = FUNCTIONS_CHEAP,
     .calls_nothing = true},
    {ROW("the same with endbr64", ENDBR "\x31\xc0\xeb\xf8"), .at = 6, .entry = FUNCTIONS_CHEAP,
     .calls_nothing = true},
    {ROW("a call", PUSH "\xe8\0\0\0\0" RET), .entry = FUNCTIONS_CHEAP},
    {ROW("a call by a register", PUSH "\xff\xd0" RET), .entry = FUNCTIONS_CHEAP},
    {ROW("another function at the end", PUSH "\x5d\xe9\x20\0\0\0"), .entry = FUNCTIONS_CHEAP},
    {ROW("what the kernel refuses", "\xf0\x01\x07" RET), .calls_nothing = true,
     .refused = "no breakpoint"},
    {ROW("no instruction", "\x06" RET), .entry = FUNCTIONS_STEPPED, .refused = "shorter"},
    {ROW("shorter than an instruction", "\x48\x83"), .entry = FUNCTIONS_STEPPED,
     .refused = "shorter"},
    {ROW("nothing", ""), .entry = FUNCTIONS_STEPPED, .refused = "shorter"},
    /* cmp, jbe to the call of morestack, push, pop, ret; call, jmp to the begin */
    {ROW("Go", "\x49\x3b\x66\x10\x76\x03" PUSH "\x5d" RET "\xe8\0\0\0\0\xeb\xf0"), .is_go = true,
     .at = 6, .entry = FUNCTIONS_CHEAP},
    {ROW("the same of C", "\x49\x3b\x66\x10\x76\x03" PUSH "\x5d" RET "\xe8\0\0\0\0\xeb\xf0"),
     .refused = "a loop begins"},
    {ROW("Go without the check", PUSH RET), .is_go = true, .entry = FUNCTIONS_CHEAP,
     .calls_nothing = true},
    /* arm64: stp x29, x30, [sp, #-16]!; ret */
    {ROW("arm64", "\xfd\x7b\xbf\xa9\xc0\x03\x5f\xd6"), .is_arm64 = true, .entry = FUNCTIONS_STEPPED,
     .calls_nothing = true},
    {ROW("arm64, behind bti", BTI B("\2") "\xc0\x03\x5f\xd6\xc0\x03\x5f\xd6"), .is_arm64 = true,
     .at = 4, .entry = FUNCTIONS_CHEAP, .calls_nothing = true},
    {ROW("arm64, a loop behind bti", BTI B("\1") "\xff\xff\xff\x17\xc0\x03\x5f\xd6"),
     .is_arm64 = true, .entry = FUNCTIONS_STEPPED, .calls_nothing = true},
    {ROW("arm64, a call", B("\1") "\x02\0\0\x94\xc0\x03\x5f\xd6"), .is_arm64 = true,
     .entry = FUNCTIONS_CHEAP},
    /* ldxr w0, [x1] */
    {ROW("arm64, an exclusive load", "\x20\x7c\x5f\x88\xc0\x03\x5f\xd6"), .is_arm64 = true,
     .calls_nothing = true, .refused = "no breakpoint"},
    {ROW("arm64, a half", "\x20\x7c"), .is_arm64 = true, .entry = FUNCTIONS_STEPPED,
     .refused = "shorter"},
};

static void check(const struct row *r)
{
	/* what code elsewhere jumps to, as functions_inward_load finds it */
	uint64_t target = CODE_AT + MOVED + r->jumped_at;
	const struct functions_inward inward = {
	    .target = &target, .nr = r->jumped_at ? 1 : 0, .is_whole = !r->is_unknown};
	const struct functions_body body = {
	    .main = {CODE_AT + MOVED, r->len},
	    .inward = &inward,
	    .has_cold = r->has_cold,
	    .is_go = r->is_go,
	};
	struct functions_entry_facts found;
	struct elf_file *f;
	struct buf b;

	f = make_file(&b, r->is_arm64 ? EM_AARCH64 : EM_X86_64, r->code, r->len);
	functions_entry_choose(f, &body, &found);
	if (!found.refused != !r->refused || (found.refused && !strstr(found.refused, r->refused)))
		fail_msg("%s: %s", r->what, found.refused ?: "not refused");
	if (!found.refused &&
	    (found.address != body.main.address + r->at || found.entry != r->entry))
		fail_msg("%s: at +%d, entry %d", r->what, (int)(found.address - body.main.address),
			 found.entry);
	if (found.calls_nothing != r->calls_nothing)
		fail_msg("%s: calls nothing: %d", r->what, found.calls_nothing);
	elf_file_close(f);
	buf_fini(&b);
}

TEST(entries)
{
	for (size_t i = 0; i < NR(rows); i++)
		check(&rows[i]);
}

/* What a register is, and what changes it. */
TEST(harmless)
{
	static const struct {
		const char *code;
		size_t len;
		bool is_it;
	} cases[] = {
#define CASE(bytes, is_it) {bytes, sizeof(bytes) - 1, is_it}
	    CASE("\x89\xf8", true),          /* mov %edi,%eax */
	    CASE("\x89\xc7", false),         /* mov %eax,%edi */
	    CASE("\x49\x89\xfa", true),      /* mov %rdi,%r10 */
	    CASE("\x49\x89\xf8", false),     /* mov %rdi,%r8 */
	    CASE("\x89\x44\x24\xf8", true),  /* mov %eax,-8(%rsp) */
	    CASE("\x8b\x07", true),          /* mov (%rdi),%eax */
	    CASE("\x8b\x3f", false),         /* mov (%rdi),%edi */
	    CASE("\x4c\x8b\x17", true),      /* mov (%rdi),%r10 */
	    CASE("\x4c\x8b\x0f", false),     /* mov (%rdi),%r9 */
	    CASE("\x8d\x04\x3f", true),      /* lea (%rdi,%rdi),%eax */
	    CASE("\x8d\x34\x3f", false),     /* lea (%rdi,%rdi),%esi */
	    CASE("\x31\xc0", true),          /* xor %eax,%eax */
	    CASE("\x31\xd2", false),         /* xor %edx,%edx */
	    CASE("\x45\x31\xc0", false),     /* xor %r8d,%r8d */
	    CASE("\x39\xf7", true),          /* cmp %esi,%edi */
	    CASE("\x83\xff\x01", true),      /* cmp $1,%edi */
	    CASE("\x83\xc7\x01", false),     /* add $1,%edi */
	    CASE("\x83\xc0\x01", true),      /* add $1,%eax */
	    CASE("\x48\x83\xec\x08", false), /* sub $8,%rsp */
	    CASE("\x48\x85\xff", true),      /* test %rdi,%rdi */
	    CASE("\xb8\1\0\0\0", true),      /* mov $1,%eax */
	    CASE("\xbf\1\0\0\0", false),     /* mov $1,%edi */
	    CASE("\x41\xb9\1\0\0\0", false), /* mov $1,%r9d */
	    CASE("\x0f\xb6\xc1", true),      /* movzbl %cl,%eax */
	    CASE("\x0f\xb6\xc9", false),     /* movzbl %cl,%ecx */
	    CASE("\x88\xc5", false),         /* mov %al,%ch */
	    CASE("\x40\x88\xc5", true),      /* mov %al,%bpl */
	    CASE("\xc6\x07\0", true),        /* movb $0,(%rdi) */
	    CASE("\xf7\xc7\1\0\0\0", true),  /* test $1,%edi */
	    CASE("\xf7\xdf", false),         /* neg %edi */
	    CASE("\x8f\x07", false),         /* pop (%rdi) */
	    CASE("\xc9", false),             /* leave */
	    CASE("\x0f\x05", false),         /* syscall */
	    CASE("\xc3", false),             /* ret */
	};
	struct functions_x86 found;

	for (size_t i = 0; i < NR(cases); i++) {
		assert_true(
		    functions_x86_decode((const uint8_t *)cases[i].code, cases[i].len, &found));
		if (found.is_harmless != cases[i].is_it)
			fail_msg("row %zu", i);
	}
}

/* Its code is not in the file. */
TEST(outside)
{
	const struct functions_body body = {.main = {MOVED, 16}};
	struct functions_entry_facts found;
	struct elf_file *f;
	struct buf b;

	f = make_file(&b, EM_X86_64, RET, 1);
	functions_entry_choose(f, &body, &found);
	assert_string_equal(found.refused, "the file does not have its code");
	elf_file_close(f);
	buf_fini(&b);
}
