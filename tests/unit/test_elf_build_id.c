/*
 * The build-id: from files of both classes, from those that no linker made, and from this program,
 * where readelf must say the same.
 */
#include "kit.h"
#include "test_elf.h"

#include "elf/build_id.h"

static int file_of(const void *data, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	return fd;
}

static int read_bytes(const void *data, size_t len, struct elf_build_id *out)
{
	int fd = file_of(data, len), rc = elf_build_id_read(fd, out);

	close(fd);
	return rc;
}

/* What is read; outputs stay untouched on failure. */
static void expect(const void *data, size_t len, int rc, const char *id, size_t id_len)
{
	struct elf_build_id got = {.len = 99};

	assert_int_equal(read_bytes(data, len, &got), rc);
	assert_int_equal(got.len, rc ? 99 : id_len);
	if (rc == 0)
		assert_memory_equal(got.bytes, id, id_len);
}

#define PROPERTY "\4\0\0\0\20\0\0\0\5\0\0\0GNU\0\2\0\0\xc0\4\0\0\0\3\0\0\0\0\0\0\0"
#define ABI      TEST_GNU("\20", "\1") "\0\0\0\0\3\0\0\0\2\0\0\0\0\0\0\0"
/* clang-format off */
#define ID(s) s, sizeof(s) - 1
/* clang-format on */

static const struct {
	const char *what;
	struct test_segment segment[2];
	size_t nr;
	int rc;
	const char *id;
	size_t id_len;
} files[] = {
    {"one note", {TEST_SEGMENT(4, TEST_BUILD_ID)}, 1, 0, ID(TEST_ID20)},
    {"16 bytes: md5",
     {TEST_SEGMENT(4, TEST_GNU("\20", "\3") "0123456789abcdef")},
     1,
     0,
     ID("0123456789abcdef")},
    {"1 byte", {TEST_SEGMENT(4, TEST_GNU("\1", "\3") "x\0\0\0")}, 1, 0, ID("x")},
    {"without its padding", {TEST_SEGMENT(4, TEST_GNU("\1", "\3") "x")}, 1, 0, ID("x")},
    {"no byte", {TEST_SEGMENT(4, TEST_GNU("\0", "\3"))}, 1, -ENODATA},
    {"21 bytes", {TEST_SEGMENT(4, TEST_GNU("\25", "\3") TEST_ID20 "\25\0\0\0")}, 1, -ENODATA},
    {"behind another note", {TEST_SEGMENT(4, ABI TEST_BUILD_ID)}, 1, 0, ID(TEST_ID20)},
    {"behind one that is padded",
     {TEST_SEGMENT(4, "\5\0\0\0\1\0\0\0\1\0\0\0abcd\0\0\0\0z\0\0\0" TEST_BUILD_ID)},
     1,
     0,
     ID(TEST_ID20)},
    {"padded to 8", {TEST_SEGMENT(8, PROPERTY TEST_BUILD_ID)}, 1, 0, ID(TEST_ID20)},
    {"padded to 8, oddly",
     {TEST_SEGMENT(8, "\5\0\0\0\1\0\0\0\1\0\0\0abcd\0\0\0\0\0\0\0\0z\0\0\0\0\0\0\0" TEST_BUILD_ID)},
     1,
     0,
     ID(TEST_ID20)},
    {"in the second segment",
     {TEST_SEGMENT(8, PROPERTY), TEST_SEGMENT(4, TEST_BUILD_ID)},
     2,
     0,
     ID(TEST_ID20)},
    {"the first of two",
     {TEST_SEGMENT(4, TEST_GNU("\4", "\3") "abcd"), TEST_SEGMENT(4, TEST_BUILD_ID)},
     2,
     0,
     ID("abcd")},
    {"behind an endless note",
     {TEST_SEGMENT(4, "\4\0\0\0\xff\xff\xff\xff\1\0\0\0GNU\0"), TEST_SEGMENT(4, TEST_BUILD_ID)},
     2,
     0,
     ID(TEST_ID20)},
    {"an endless name",
     {TEST_SEGMENT(4, "\xff\xff\xff\xff\24\0\0\0\3\0\0\0GNU\0" TEST_ID20)},
     1,
     -ENODATA},
    {"lengths whose sum wraps",
     {TEST_SEGMENT(4, "\xf8\xff\xff\xff\xf8\xff\xff\xff\3\0\0\0GNU\0" TEST_BUILD_ID)},
     1,
     -ENODATA},
    {"cut", {TEST_SEGMENT(4, TEST_GNU("\24", "\3") "\1\2\3")}, 1, -ENODATA},
    {"another owner", {TEST_SEGMENT(4, "\4\0\0\0\24\0\0\0\3\0\0\0GNX\0" TEST_ID20)}, 1, -ENODATA},
    {"an owner that goes on",
     {TEST_SEGMENT(4, "\4\0\0\0\24\0\0\0\3\0\0\0GNUX" TEST_ID20)},
     1,
     -ENODATA},
    {"a shorter owner", {TEST_SEGMENT(4, "\3\0\0\0\24\0\0\0\3\0\0\0GNU\0" TEST_ID20)}, 1, -ENODATA},
    {"another type", {TEST_SEGMENT(4, TEST_GNU("\24", "\1") TEST_ID20)}, 1, -ENODATA},
    {"no notes", {{1, 4, ID(TEST_BUILD_ID)}}, 1, -ENODATA},
    {"notes of no length", {{TEST_NOTE, 4, "", 0}}, 1, -ENODATA},
    {"no segment", {{0}}, 0, -ENODATA},
};

TEST(files)
{
	for (size_t i = 0; i < NR(files); i++)
		for (unsigned bits = 32; bits <= 64; bits += 32) {
			struct buf b;

			print_message("%s, %u\n", files[i].what, bits);
			buf_init(&b, 1 << 20);
			test_elf(&b, bits, files[i].segment, files[i].nr);
			expect(b.data, b.len, files[i].rc, files[i].id, files[i].id_len);
			buf_fini(&b);
		}
}

/* A good file of 64 bits with some bytes changed. */
static const struct {
	const char *what;
	size_t at;
	const char *bytes;
	size_t len;
	int rc;
} changes[] = {
    {"not ELF", 0, ID("\x7e"), -EINVAL},
    {"no class", 4, ID("\0"), -EINVAL},
    {"a third class", 4, ID("\3"), -EINVAL},
    {"the other class", 4, ID("\1"), -EINVAL},
    {"big-endian", 5, ID("\2"), -EINVAL},
    {"no byte order", 5, ID("\0"), -EINVAL},
    {"headers behind the end", 32, ID("\0\0\0\0\1\0\0\0"), -ENODATA},
    {"headers below 0", 32, ID("\0\0\0\0\0\0\0\x80"), -EINVAL},
    {"headers that end below 0", 32, ID("\xf0\xff\xff\xff\xff\xff\xff\x7f"), -EINVAL},
    {"headers of another size", 54, ID("\x40\0"), -EINVAL},
    {"headers of no size", 54, ID("\0\0"), -EINVAL},
    {"257 headers", 56, ID("\1\1"), -EINVAL},
    {"65,535 headers", 56, ID("\xff\xff"), -EINVAL},
    {"256 headers, most of them not there", 56, ID("\0\1"), 0},
    {"notes behind the end", 72, ID("\0\0\0\0\1\0\0\0"), -ENODATA},
    {"notes below 0", 72, ID("\xff\xff\xff\xff\xff\xff\xff\xff"), -EINVAL},
    {"notes without end", 96, ID("\xff\xff\xff\xff\xff\xff\xff\xff"), 0},
    {"an odd alignment", 112, ID("\xff\xff\xff\xff\xff\xff\xff\xff"), 0},
    {"no alignment", 112, ID("\0"), 0},
};

TEST(changes)
{
	static const struct test_segment good = TEST_SEGMENT(4, TEST_BUILD_ID);

	for (size_t i = 0; i < NR(changes); i++) {
		struct buf b;

		print_message("%s\n", changes[i].what);
		buf_init(&b, 1 << 20);
		test_elf(&b, 64, &good, 1);
		memcpy(b.data + changes[i].at, changes[i].bytes, changes[i].len);
		expect(b.data, b.len, changes[i].rc, ID(TEST_ID20));
		buf_fini(&b);
	}
}

/* Cut at every byte: the build-id only if all of it is there. */
TEST(cut)
{
	static const struct test_segment good = TEST_SEGMENT(4, ABI TEST_BUILD_ID);

	for (unsigned bits = 32; bits <= 64; bits += 32) {
		struct buf b;

		buf_init(&b, 1 << 20);
		test_elf(&b, bits, &good, 1);
		for (size_t len = 0; len <= b.len; len++)
			expect(b.data, len,
			       len < test_ehdr_bytes(bits) ? -EINVAL
			       : len < b.len               ? -ENODATA
							   : 0,
			       ID(TEST_ID20));
		buf_fini(&b);
	}
}

/* Headers behind the notes: of those that are cut off nothing is left from the file before. */
TEST(headers_cut)
{
	static const struct test_segment s[] = {{1, 4, "", 0}, TEST_SEGMENT(4, TEST_BUILD_ID)};
	uint64_t at = test_ehdr_bytes(64) + s[1].len;
	struct buf b;

	buf_init(&b, 1 << 20);
	test_elf_header(&b, 64, 2);
	memcpy(b.data + 32, &at, sizeof(at));
	buf_add(&b, s[1].bytes, s[1].len);
	test_elf_phdr(&b, 64, &s[0], 0);
	test_elf_phdr(&b, 64, &s[1], test_ehdr_bytes(64));
	expect(b.data, b.len, 0, ID(TEST_ID20));
	expect(b.data, b.len - 1, -ENODATA, NULL, 0);
	buf_fini(&b);
}

/* Of notes that go on and on, 64 KiB are read, of eight segments. */
TEST(ceilings)
{
	static char filler[65536 + 64];
	struct test_segment s[9];
	struct buf b;

	for (size_t before = 65536 - 36; before <= 65536 - 32; before += 4) {
		uint32_t desc_len = (uint32_t)before - 16;

		memcpy(filler, ABI, 16); /* its head */
		memcpy(filler + 4, &desc_len, 4);
		memcpy(filler + before, ID(TEST_BUILD_ID));
		s[0] = (struct test_segment){TEST_NOTE, 4, filler, before + 36};
		buf_init(&b, 1 << 20);
		test_elf(&b, 64, s, 1);
		expect(b.data, b.len, before + 36 <= 65536 ? 0 : -ENODATA, ID(TEST_ID20));
		buf_fini(&b);
	}
	for (size_t nr = 8; nr <= 9; nr++) {
		for (size_t i = 0; i + 1 < nr; i++)
			s[i] = (struct test_segment)TEST_SEGMENT(4, ABI);
		s[nr - 1] = (struct test_segment)TEST_SEGMENT(4, TEST_BUILD_ID);
		buf_init(&b, 1 << 20);
		test_elf(&b, 64, s, nr);
		expect(b.data, b.len, nr == 8 ? 0 : -ENODATA, ID(TEST_ID20));
		buf_fini(&b);
	}
}

/* A build-id is not the one that it begins with, and an unknown one equals no other. */
TEST(equal)
{
	static const struct elf_build_id ids[] = {
	    {0}, {4, {1, 2, 3, 4}}, {5, {1, 2, 3, 4}}, {5, {1, 2, 3, 4, 5}}, {4, {1, 2, 3, 5}}};

	for (size_t i = 0; i < NR(ids); i++)
		for (size_t k = 0; k < NR(ids); k++)
			assert_int_equal(elf_build_id_equal(&ids[i], &ids[k]), i == k);
}

TEST(not_regular)
{
	static const char *const paths[] = {"/dev/zero", "/proc/self"};
	struct elf_build_id id;
	int pipes[2];

	for (size_t i = 0; i < NR(paths); i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		assert_int_equal(elf_build_id_read(fd, &id), -EINVAL);
		close(fd);
	}
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(elf_build_id_read(pipes[0], &id), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(elf_build_id_read(-1, &id), -EBADF);
}

TEST(own)
{
	struct elf_build_id id = {0};
	char expected[128], got[2 * ELF_MAX_BUILD_ID_BYTES + 1] = "";
	int fd;

	if (!test_own_build_id(expected, sizeof(expected)))
		SKIP("no readelf to ask");
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_build_id_read(fd, &id), *expected ? 0 : -ENODATA);
	close(fd);
	for (unsigned i = 0; i < id.len; i++)
		snprintf(got + (size_t)2 * i, 3, "%02x", id.bytes[i]);
	assert_string_equal(got, expected);
}

/* Interrupted reads go on. */
TEST(interrupted)
{
	static const struct test_segment good = TEST_SEGMENT(4, TEST_BUILD_ID);
	struct elf_build_id id;
	struct buf b;
	int fd;

	buf_init(&b, 1 << 20);
	test_elf(&b, 64, &good, 1);
	fd = file_of(b.data, b.len);
	for (unsigned n = 2; n <= 4; n++) { /* the first asks what the file is */
		inject_sys(n, -EINTR);
		assert_int_equal(elf_build_id_read(fd, &id), 0);
		inject_stop();
		assert_true(inject.fired);
	}
	close(fd);
	buf_fini(&b);
}

static int read_fd(void *arg)
{
	struct elf_build_id id = {.len = 99};
	int rc = elf_build_id_read(*(int *)arg, &id);

	assert_int_equal(id.len, rc ? 99 : 20);
	return rc;
}

TEST(failures)
{
	static const struct test_segment good = TEST_SEGMENT(4, TEST_BUILD_ID);
	struct buf b;
	int fd;

	buf_init(&b, 1 << 20);
	test_elf(&b, 64, &good, 1);
	fd = file_of(b.data, b.len);
	inject_every(read_fd, &fd, 1, 4);
	close(fd);
	buf_fini(&b);
}
