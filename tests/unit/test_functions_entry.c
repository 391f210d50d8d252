/*
 * Where breakpoints are set in made functions: behind landing pads, never where a jump leads, and
 * not on what the kernel refuses.
 */
#include "kit.h"
#include "test_elf.h"

#include "elf/file.h"
#include "functions/entry.h"

#include <elf.h>

enum { CODE_AT = 0x1000, MOVED = 0x400000, CODE_BYTES = 0x100, COLD_AT = 0x80 };

#define ENDBR "\xf3\x0f\x1e\xfa"
#define PUSH  "\x55"
#define NOP5  "\x0f\x1f\x44\0\0"
#define RET   "\xc3"
#define BTI   "\x5f\x24\x03\xd5"
#define B(n)  n "\0\0\x14"

/* A file with one segment of code: the function, and its part elsewhere. */
static struct elf_file *make_file(struct buf *b, uint16_t machine, const char *code, size_t len,
				  const char *cold, size_t cold_len)
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
	buf_fill(b, 0, COLD_AT - len);
	buf_add(b, cold, cold_len);
	buf_fill(b, 0, CODE_BYTES - COLD_AT - cold_len);
	assert_int_equal(buf_error(b), 0);
	b->data[18] = (char)machine;
	b->data[19] = (char)(machine >> 8);
	assert_int_equal(elf_file_open_mem(b->data, b->len, false, "made", &f, NULL), 0);
	return f;
}

struct row {
	const char *what, *code;
	size_t len;
	const char *cold;
	size_t cold_len;
	bool is_go, is_arm64;
	/* expected */
	uint64_t at; /* in the function */
	enum functions_entry entry;
	bool calls_nothing;
	const char *refused; /* a part of the reason */
};

/* clang-format off */
#define ROW(what_, code_) .what = what_, .code = code_, .len = sizeof(code_) - 1
#define COLD(code_) .cold = code_, .cold_len = sizeof(code_) - 1
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
    {ROW("a part elsewhere jumps there", ENDBR PUSH RET), COLD("\xe9\x7f\xff\xff\xff"),
     .entry = FUNCTIONS_STEPPED},
    {ROW("a part elsewhere jumps to the return", ENDBR PUSH RET), COLD("\xe9\x80\xff\xff\xff"),
     .at = 4, .entry = FUNCTIONS_CHEAP},
    {ROW("a table of jumps", ENDBR PUSH "\xff\xe0"), .entry = FUNCTIONS_STEPPED},
    {ROW("not decoded to the end", ENDBR PUSH "\x06"), .entry = FUNCTIONS_STEPPED},
    {ROW("a loop at the begin", "\x83\xc0\x01\x75\xfb" RET), .calls_nothing = true,
     .refused = "a loop begins"},
    {ROW("it jumps to itself, as to another", PUSH "\x5d\xeb\xfc"), .entry = FUNCTIONS_CHEAP,
     .calls_nothing = true},
    {ROW("the same with endbr64", ENDBR "\x31\xc0\xeb\xf8"), .entry = FUNCTIONS_STEPPED,
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
	const struct functions_body body = {
	    .main = {CODE_AT + MOVED, r->len},
	    .cold = {CODE_AT + MOVED + COLD_AT, r->cold_len},
	    .is_go = r->is_go,
	};
	struct functions_entry_facts found;
	struct elf_file *f;
	struct buf b;

	f = make_file(&b, r->is_arm64 ? EM_AARCH64 : EM_X86_64, r->code, r->len, r->cold ?: "",
		      r->cold_len);
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

/* Its code is not in the file. */
TEST(outside)
{
	const struct functions_body body = {.main = {MOVED, 16}};
	struct functions_entry_facts found;
	struct elf_file *f;
	struct buf b;

	f = make_file(&b, EM_X86_64, RET, 1, "", 0);
	functions_entry_choose(f, &body, &found);
	assert_string_equal(found.refused, "the file does not have its code");
	elf_file_close(f);
	buf_fini(&b);
}
