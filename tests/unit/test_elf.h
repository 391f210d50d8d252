/*
 * Small ELF files for tests: a header, program headers, and what the segments hold, one behind the
 * other. Only for tests; knows nothing of what reads them.
 */
#ifndef TEST_ELF_H
#define TEST_ELF_H

#include "kit.h"

#include "base/buf.h"

#include <sys/mman.h>

struct test_segment {
	uint32_t type, align;
	const char *bytes;
	size_t len;
};

enum { TEST_NOTE = 4 };

/* The head of a note of the owner "GNU", before len bytes (1 … 255). */
#define TEST_GNU(len, type) "\4\0\0\0" len "\0\0\0" type "\0\0\0GNU\0"
#define TEST_ID20           "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24"
#define TEST_BUILD_ID       TEST_GNU("\24", "\3") TEST_ID20
/* clang-format off */
#define TEST_SEGMENT(align, bytes) {TEST_NOTE, align, bytes, sizeof(bytes) - 1}
/* clang-format on */

static inline void test_elf_word(struct buf *out, unsigned bits, uint64_t v)
{
	if (bits == 64)
		buf_le64(out, v);
	else
		buf_le32(out, (uint32_t)v);
}

static inline unsigned test_ehdr_bytes(unsigned bits)
{
	return bits == 64 ? 64 : 52;
}

static inline unsigned test_phdr_bytes(unsigned bits)
{
	return bits == 64 ? 56 : 32;
}

static inline void test_elf_header(struct buf *out, unsigned bits, size_t nr)
{
	buf_add(out,
		bits == 64 ? "\x7f"
			     "ELF\2\1\1"
			   : "\x7f"
			     "ELF\1\1\1",
		7);
	buf_fill(out, 0, 9);
	buf_le32(out, 3 | 62 << 16); /* a shared object */
	buf_le32(out, 1);
	test_elf_word(out, bits, 0);
	test_elf_word(out, bits, test_ehdr_bytes(bits));
	test_elf_word(out, bits, 0);
	buf_le32(out, 0);
	buf_le16(out, (uint16_t)test_ehdr_bytes(bits));
	buf_le16(out, (uint16_t)test_phdr_bytes(bits));
	buf_le16(out, (uint16_t)nr);
	buf_fill(out, 0, 6);
	assert_int_equal(out->len, test_ehdr_bytes(bits));
}

static inline void test_elf_phdr(struct buf *out, unsigned bits, const struct test_segment *s,
				 uint64_t offset)
{
	const uint64_t words[] = {offset, 1, 2, s->len, 0};

	buf_le32(out, s->type);
	if (bits == 64)
		buf_le32(out, 4);
	for (size_t i = 0; i < NR(words); i++)
		test_elf_word(out, bits, words[i]);
	if (bits == 32)
		buf_le32(out, 4);
	test_elf_word(out, bits, s->align);
}

/* Appends the file to *out, which is empty. */
static inline void test_elf(struct buf *out, unsigned bits, const struct test_segment *s, size_t nr)
{
	uint64_t offset = test_ehdr_bytes(bits) + nr * test_phdr_bytes(bits);

	test_elf_header(out, bits, nr);
	for (size_t i = 0; i < nr; offset += s[i++].len)
		test_elf_phdr(out, bits, &s[i], offset);
	for (size_t i = 0; i < nr; i++)
		buf_add(out, s[i].bytes, s[i].len);
	assert_int_equal(buf_error(out), 0);
}

/* The build-id that readelf prints of this very program, in hexadecimal; "" if it has none. False
 * if there is no readelf. */
static inline bool test_own_build_id(char *hex, size_t size)
{
	static const char mark[] = "Build ID: ";
	char command[80], line[256];
	FILE *p;

	snprintf(command, sizeof(command), "readelf -n /proc/%d/exe 2>/dev/null", getpid());
	p = popen(command, "r");
	assert_non_null(p);
	*hex = '\0';
	while (fgets(line, sizeof(line), p)) {
		const char *at = strstr(line, mark);

		if (at)
			snprintf(hex, size, "%.*s", (int)strcspn(at + sizeof(mark) - 1, "\n"),
				 at + sizeof(mark) - 1);
	}
	return pclose(p) == 0;
}

#endif
