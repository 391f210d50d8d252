/* The version in an agent's file: in ours, in files without one, and in files that end within it.
 */
#include "kit.h"
#include "tree.h"

#include "wire/heap_memory.h"
#include "wire/stamp.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static int read_of(const void *bytes, size_t len, uint32_t *version)
{
	FILE *f;
	int rc;

	snprintf(path, sizeof(path), "/tmp/test_stamp.%d", getpid());
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	fclose(f);
	rc = wire_stamp_read(path, version);
	unlink(path);
	return rc;
}

TEST(a_stamp_is_found_at_any_place)
{
	const struct heap_stamp stamp = {HEAP_STAMP, 77};
	char bytes[sizeof(stamp) + 40];

	for (size_t at = 0; at <= 40; at += 13) {
		uint32_t version = 0;

		memset(bytes, 'x', sizeof(bytes));
		memcpy(bytes + at, &stamp, sizeof(stamp));
		assert_int_equal(read_of(bytes, sizeof(bytes), &version), 0);
		assert_int_equal(version, 77);
	}
}

TEST(a_file_without_a_stamp_has_no_version)
{
	const struct heap_stamp stamp = {HEAP_STAMP, 77};
	uint32_t version = 5;

	assert_int_equal(read_of("", 0, &version), -ENODATA);
	assert_int_equal(read_of("another file", 12, &version), -ENODATA);
	for (size_t len = 1; len < sizeof(stamp); len++)
		assert_int_equal(read_of(&stamp, len, &version), -ENODATA);
	assert_int_equal(wire_stamp_read("/nowhere/at/all", &version), -ENOENT);
	assert_int_equal(version, 5);
}

/* Opening a FIFO would wait for who writes into it. */
TEST(what_is_no_regular_file_is_refused)
{
	uint32_t version = 5;
	int rc;

	snprintf(path, sizeof(path), "/tmp/test_stamp.%d", getpid());
	assert_int_equal(mkfifo(path, 0600), 0);
	rc = wire_stamp_read(path, &version);
	unlink(path); /* else the next test would wait */
	assert_int_equal(rc, -EINVAL);
	assert_int_equal(wire_stamp_read("/dev/zero", &version), -EINVAL);
	assert_int_equal(wire_stamp_read("/", &version), -EISDIR);
	assert_int_equal(version, 5);
}

/* Of either width: the stamp is there, the end is not. */
TEST(a_truncated_elf_file_has_no_version)
{
	enum { AT = 64, END = 256 };
	const struct heap_stamp stamp = {HEAP_STAMP, 77};
	const Elf64_Ehdr wide = {
	    .e_ident = ELFMAG "\2", .e_shoff = END - 2 * 64, .e_shnum = 2, .e_shentsize = 64};
	const Elf32_Ehdr narrow = {
	    .e_ident = ELFMAG "\1", .e_shoff = END - 2 * 40, .e_shnum = 2, .e_shentsize = 40};

	for (int is_wide = 0; is_wide < 2; is_wide++) {
		char bytes[END] = "";
		uint32_t version = 5;

		if (is_wide)
			memcpy(bytes, &wide, sizeof(wide));
		else
			memcpy(bytes, &narrow, sizeof(narrow));
		memcpy(bytes + AT, &stamp, sizeof(stamp));
		for (size_t len = 1; len < END; len++)
			assert_int_equal(read_of(bytes, len, &version), -ENODATA);
		assert_int_equal(version, 5);
		assert_int_equal(read_of(bytes, END, &version), 0);
	}
}
