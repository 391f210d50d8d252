/*
 * Notes of probes, made by hand: whole, of both classes and machines, moved by prelink, and with
 * every kind of damage.
 */
#include "kit.h"
#include "test_elf.h"

#include "elf/probes.h"

#include <elf.h>

enum {
	CODE_AT = 0x1000, /* places in the file; addresses are higher by: */
	DATA_AT = 0x1100,
	MOVED = 0x400000,
	FILE_BYTES = 0x1200,
};

static const char code[] = "\x90"             /* 0 */
			   "\x0f\x1f\x44\0\0" /* 1 */
			   "\x66\x90"         /* 6 */
			   "\x0f\x1f\x40\0"   /* 8 */
			   "\x55"             /* 12 */
			   "\x1f\x20\x03\xd5" /* 13: of arm64 */
			   "\x0f\x1f\x44";    /* 17: another operand follows */

/* A file with a segment of code and one of data. */
static struct elf_file *make_file(struct buf *b, uint16_t machine, unsigned bits)
{
	static const struct {
		uint32_t flags;
		uint64_t at, len;
	} segments[] = {{PF_R | PF_X, CODE_AT, sizeof(code)}, {PF_R | PF_W, DATA_AT, 0x10}};
	struct elf_file *f;

	buf_init(b, 1 << 20);
	test_elf_header(b, bits, NR(segments));
	for (size_t i = 0; i < NR(segments); i++) {
		const uint64_t words[] = {segments[i].at, segments[i].at + MOVED, 0,
					  segments[i].len, segments[i].len};

		buf_le32(b, PT_LOAD);
		if (bits == 64)
			buf_le32(b, segments[i].flags);
		for (size_t k = 0; k < NR(words); k++)
			test_elf_word(b, bits, words[k]);
		if (bits == 32)
			buf_le32(b, segments[i].flags);
		test_elf_word(b, bits, 0x100);
	}
	buf_fill(b, 0, CODE_AT - b->len);
	buf_add(b, code, sizeof(code));
	buf_fill(b, 0, FILE_BYTES - b->len);
	assert_int_equal(buf_error(b), 0);
	b->data[18] = (char)machine;
	b->data[19] = (char)(machine >> 8);
	assert_int_equal(elf_file_open_mem(b->data, b->len, false, "made", &f, NULL), 0);
	return f;
}

struct note {
	uint64_t address, base, semaphore;
	const char *strings; /* provider, name, arguments */
	size_t strings_len;
	const char *owner;
	uint32_t type;
};
/* clang-format off */
#define STRINGS(s) .strings = s, .strings_len = sizeof(s)
/* clang-format on */

static void add_note(struct buf *b, unsigned bits, const struct note *n)
{
	const char *owner = n->owner ? n->owner : "stapsdt";
	size_t len = 3 * (bits / 8) + n->strings_len;

	buf_le32(b, (uint32_t)strlen(owner) + 1);
	buf_le32(b, (uint32_t)len);
	buf_le32(b, n->type ? n->type : 3);
	buf_add(b, owner, strlen(owner) + 1);
	buf_fill(b, 0, -b->len % 4);
	test_elf_word(b, bits, n->address);
	test_elf_word(b, bits, n->base);
	test_elf_word(b, bits, n->semaphore);
	buf_add(b, n->strings, n->strings_len);
	buf_fill(b, 0, -b->len % 4);
	assert_int_equal(buf_error(b), 0);
}

struct found {
	struct elf_probe last;
	size_t nr;
	int rc;
};

static int take(const struct elf_probe *p, void *arg)
{
	struct found *f = arg;

	f->last = *p;
	f->nr++;
	return f->rc;
}

static struct found read_notes(const struct elf_file *f, const void *notes, size_t len,
			       uint64_t base)
{
	struct found found = {.nr = 0};
	uint8_t *copy = malloc(len + !len); /* of this size: the sanitizer sees the end */

	memcpy(copy, notes, len);
	assert_int_equal(elf_probes_in_notes(f, copy, len, base, take, &found), 0);
	free(copy);
	return found;
}

static struct found read_note(uint16_t machine, unsigned bits, const struct note *n, uint64_t base)
{
	struct found found;
	struct buf file, notes;
	struct elf_file *f = make_file(&file, machine, bits);

	buf_init(&notes, 1 << 20);
	add_note(&notes, bits, n);
	found = read_notes(f, notes.data, notes.len, base);
	elf_file_close(f);
	buf_fini(&file);
	buf_fini(&notes);
	return found;
}

/* As sys/sdt.h writes it for arm64. */
TEST(arm64)
{
	const struct note n = {.address = MOVED + CODE_AT + 13,
			       .base = 0,
			       .semaphore = MOVED + DATA_AT,
			       STRINGS("demo\0tick\08@x0 -4@[sp, 12] 4@10")};
	struct found found = read_note(EM_AARCH64, 64, &n, 0);

	assert_int_equal(found.nr, 1);
	assert_string_equal(found.last.provider, "demo");
	assert_string_equal(found.last.arguments, "8@x0 -4@[sp, 12] 4@10");
	assert_int_equal(found.last.offset, CODE_AT + 13);
	assert_int_equal(found.last.semaphore, DATA_AT);
	assert_int_equal(found.last.code, ELF_PROBE_NOP);
}

TEST(instructions)
{
	static const struct {
		uint16_t machine;
		uint64_t at;
		enum elf_probe_code code;
	} cases[] = {
	    {EM_X86_64, 0, ELF_PROBE_NOP},       {EM_X86_64, 1, ELF_PROBE_NOP5},
	    {EM_X86_64, 6, ELF_PROBE_LONG_NOP},  {EM_X86_64, 8, ELF_PROBE_LONG_NOP},
	    {EM_X86_64, 12, ELF_PROBE_OTHER},    {EM_X86_64, 13, ELF_PROBE_OTHER},
	    {EM_X86_64, 17, ELF_PROBE_LONG_NOP}, {EM_X86_64, 18, ELF_PROBE_OTHER},
	    {EM_AARCH64, 13, ELF_PROBE_NOP},     {EM_AARCH64, 0, ELF_PROBE_OTHER},
	    {EM_RISCV, 0, ELF_PROBE_OTHER},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		const struct note n = {.address = CODE_AT + MOVED + cases[i].at, STRINGS("p\0n\0")};
		struct found found = read_note(cases[i].machine, 64, &n, 0);

		assert_int_equal(found.nr, 1);
		assert_int_equal(found.last.code, cases[i].code);
		assert_int_equal(found.last.offset, CODE_AT + cases[i].at);
	}
}

TEST(both_classes)
{
	for (unsigned bits = 32; bits <= 64; bits += 32) {
		const struct note n = {.address = CODE_AT + MOVED,
				       .base = 0x77,
				       .semaphore = DATA_AT + MOVED + 2,
				       STRINGS("libc\0setjmp\08@%rdi -4@$2")};
		struct found found = read_note(bits == 64 ? EM_X86_64 : EM_386, bits, &n, 0x77);

		assert_int_equal(found.nr, 1);
		assert_string_equal(found.last.provider, "libc");
		assert_string_equal(found.last.name, "setjmp");
		assert_string_equal(found.last.arguments, "8@%rdi -4@$2");
		assert_int_equal(found.last.address, CODE_AT + MOVED);
		assert_int_equal(found.last.offset, CODE_AT);
		assert_int_equal(found.last.semaphore, DATA_AT + 2);
		assert_int_equal(found.last.code, ELF_PROBE_NOP);
	}
}

TEST(five_bytes_matter_in_64_bits_only)
{
	const struct note n = {.address = CODE_AT + MOVED + 1, STRINGS("p\0n\0")};

	assert_int_equal(read_note(EM_386, 32, &n, 0).last.code, ELF_PROBE_LONG_NOP);
}

TEST(prelink)
{
	/* noted at 0x1000, before the file was moved by 0x400000 */
	const struct note n = {
	    .address = CODE_AT, .base = 0x2000, .semaphore = DATA_AT, STRINGS("p\0n\0")};
	struct found found = read_note(EM_X86_64, 64, &n, 0x2000 + MOVED);

	assert_int_equal(found.nr, 1);
	assert_int_equal(found.last.offset, CODE_AT);
	assert_int_equal(found.last.semaphore, DATA_AT);
	assert_int_equal(read_note(EM_X86_64, 64, &n, 0).nr, 0); /* no base: nothing is there */
	found = read_note(EM_386, 32, &n, 0x2000 + MOVED);
	assert_int_equal(found.nr, 1);
}

TEST(refused)
{
	static const struct note cases[] = {
	    {.address = CODE_AT, STRINGS("p\0n\0")},                        /* not mapped */
	    {.address = DATA_AT + MOVED, STRINGS("p\0n\0")},                /* no code */
	    {.address = CODE_AT + MOVED + sizeof(code), STRINGS("p\0n\0")}, /* behind it */
	    {.address = UINT64_MAX, STRINGS("p\0n\0")},
	    {.address = CODE_AT + MOVED, .semaphore = 1, STRINGS("p\0n\0")},
	    {.address = CODE_AT + MOVED, .semaphore = CODE_AT + MOVED, STRINGS("p\0n\0")},
	    {.address = CODE_AT + MOVED, STRINGS("\0n\0")},
	    {.address = CODE_AT + MOVED, STRINGS("p\0\0")},
	    {.address = CODE_AT + MOVED, STRINGS("p:q\0n\0")},
	    {.address = CODE_AT + MOVED, STRINGS("p\0n,m\0")},
	    {.address = CODE_AT + MOVED, STRINGS("p\0n@2\0")},
	    {.address = CODE_AT + MOVED, STRINGS("p\0/n\0")},
	    {.address = CODE_AT + MOVED, STRINGS("p\0n m\0")},
	    {.address = CODE_AT + MOVED, STRINGS("p\0n\33[2J\0")},
	    {.address = CODE_AT + MOVED, STRINGS("p\0n\303\244\0")},
	    {.address = CODE_AT + MOVED, .strings = "p\0n", .strings_len = 3}, /* no end */
	    {.address = CODE_AT + MOVED, .strings = "p", .strings_len = 1},
	    {.address = CODE_AT + MOVED, .strings = "", .strings_len = 0},
	    {.address = CODE_AT + MOVED, STRINGS("p\0n\0"), .owner = "stapsdu"},
	    {.address = CODE_AT + MOVED, STRINGS("p\0n\0"), .owner = "stap"},
	    {.address = CODE_AT + MOVED, STRINGS("p\0n\0"), .type = 4},
	};

	for (size_t i = 0; i < NR(cases); i++)
		if (read_note(EM_X86_64, 64, &cases[i], 0).nr)
			fail_msg("case %zu is a probe", i);
}

TEST(arguments_that_cannot_be_read)
{
	static const struct note cases[] = {
	    {.address = CODE_AT + MOVED, STRINGS("p\0n\08@\33")},
	    {.address = CODE_AT + MOVED, .strings = "p\0n\0x", .strings_len = 5},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct found found = read_note(EM_X86_64, 64, &cases[i], 0);

		assert_int_equal(found.nr, 1);
		assert_string_equal(found.last.arguments, "");
	}
}

TEST(long_names)
{
	char strings[2 * ELF_PROBE_ARGUMENTS_BYTES];
	struct found found;
	struct note n = {.address = CODE_AT + MOVED, .strings = strings};

	for (size_t len = ELF_PROBE_NAME_BYTES - 2; len < ELF_PROBE_NAME_BYTES + 2; len++) {
		memset(strings, 'p', len);
		memcpy(strings + len, "\0n\0a", 5);
		n.strings_len = len + 5;
		found = read_note(EM_X86_64, 64, &n, 0);
		assert_int_equal(found.nr, len < ELF_PROBE_NAME_BYTES);
		if (found.nr)
			assert_int_equal(strlen(found.last.provider), len);
	}
	memcpy(strings, "p\0n", 4);
	memset(strings + 4, 'a', ELF_PROBE_ARGUMENTS_BYTES);
	strings[4 + ELF_PROBE_ARGUMENTS_BYTES] = '\0';
	n.strings_len = ELF_PROBE_ARGUMENTS_BYTES + 5;
	found = read_note(EM_X86_64, 64, &n, 0);
	assert_int_equal(found.nr, 1);
	assert_string_equal(found.last.arguments, "");
}

/* Three notes of which the second is another's; cut after every byte, and with every length
 * changed. */
TEST(damage)
{
	static const struct note notes[] = {
	    {.address = CODE_AT + MOVED, STRINGS("p\0one\0")},
	    {.address = CODE_AT + MOVED, STRINGS("p\0x\0"), .owner = "other"},
	    {.address = CODE_AT + MOVED + 1, STRINGS("p\0two\08@%rax")},
	};
	size_t ends[NR(notes)];
	struct buf file, b;
	struct elf_file *f = make_file(&file, EM_X86_64, 64);
	struct found stop = {.rc = 7};

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < NR(notes); i++) {
		add_note(&b, 64, &notes[i]);
		ends[i] = b.len;
	}
	for (size_t len = 0; len <= b.len; len++) {
		size_t nr = read_notes(f, b.data, len, 0).nr;

		assert_true(nr <= 2);
		assert_true(len < ends[0] || nr >= 1);
		assert_true(len < b.len || nr == 2);
	}
	for (size_t at = 0; at + 4 <= b.len; at++) {
		char saved[4];

		memcpy(saved, b.data + at, 4);
		memset(b.data + at, 0xff, 4);
		assert_true(read_notes(f, b.data, b.len, 0).nr <= 2);
		memset(b.data + at, 0, 4);
		assert_true(read_notes(f, b.data, b.len, 0).nr <= 2);
		memcpy(b.data + at, saved, 4);
	}
	assert_int_equal(elf_probes_in_notes(f, (uint8_t *)b.data, b.len, 0, take, &stop), 7);
	assert_int_equal(stop.nr, 1);
	elf_file_close(f);
	buf_fini(&file);
	buf_fini(&b);
}
