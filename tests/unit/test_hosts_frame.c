/*
 * Frames between the starter of a job and its parts: written, read, and refused.
 */
#include "kit.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "hosts/frame.h"

#include <limits.h>
#include <string.h>

TEST(written_and_read)
{
	const uint64_t numbers[] = {1, UINT64_MAX};
	struct hosts_frame f;
	ptrdiff_t n;
	BUF_AUTO(out, 4096);

	hosts_frame_add_numbers(&out, HOSTS_PONG, 2, numbers);
	hosts_frame_add(&out, HOSTS_ALIVE, NULL, 0);
	for (size_t len = 0; len < HOSTS_HEADER_BYTES + 16; len++)
		assert_int_equal(hosts_frame_next(out.data, len, 16, &f), 0);
	n = hosts_frame_next(out.data, out.len, 16, &f);
	assert_int_equal(n, HOSTS_HEADER_BYTES + 16);
	assert_int_equal(f.kind, HOSTS_PONG);
	assert_int_equal(cursor_le64(&f.data), 1);
	assert_true(cursor_le64(&f.data) == UINT64_MAX);
	assert_int_equal(hosts_frame_next(out.data + n, out.len - (size_t)n, 16, &f),
			 HOSTS_HEADER_BYTES);
	assert_int_equal(f.kind, HOSTS_ALIVE);
	assert_int_equal(hosts_frame_next(out.data, out.len, 15, &f), -EBADMSG);
	out.data[4] = HOSTS_NR_KINDS;
	assert_int_equal(hosts_frame_next(out.data, out.len, 16, &f), -EBADMSG);
}

static int decode(const struct buf *out, struct hosts_run *run)
{
	struct hosts_frame f;

	assert_true(hosts_frame_next(out->data, out->len, HOSTS_MAX_REQUEST_BYTES, &f) > 0);
	assert_int_equal(f.kind, HOSTS_RUN);
	return hosts_frame_read_run(&f, run);
}

TEST(requests)
{
	char *argv[] = {(char[]){"cpuperf"}, (char[]){""}, (char[]){"a b\n'\"$\xff"}, NULL};
	const struct hosts_run wrote = {.argv = argv, .nr_args = 3};
	const struct hosts_run with_spec = {
	    .argv = argv, .nr_args = 2, .spec_text = "x\0y", .spec_len = 3};
	struct hosts_run read = {.argv = NULL};
	BUF_AUTO(out, 4096);

	hosts_frame_add_run(&out, &wrote);
	assert_int_equal(decode(&out, &read), 0);
	assert_int_equal(read.nr_args, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(read.argv[i], argv[i]);
	assert_null(read.argv[3]);
	assert_null(read.spec_text);
	mem_free(read.argv);
	buf_reset(&out);
	hosts_frame_add_run(&out, &with_spec);
	assert_int_equal(decode(&out, &read), 0);
	assert_int_equal(read.nr_args, 2);
	assert_int_equal(read.spec_len, 3);
	assert_memory_equal(read.spec_text, "x\0y", 3);
	mem_free(read.argv);
}

/* Each request that lacks its end, or has another number of arguments. */
TEST(invalid_requests)
{
	char *argv[] = {(char[]){"a"}, (char[]){"b"}, NULL};
	const struct hosts_run wrote = {.argv = argv, .nr_args = 2};
	struct hosts_run read;
	BUF_AUTO(out, 4096);
	BUF_AUTO(cut, 4096);
	size_t len;

	hosts_frame_add_run(&out, &wrote);
	len = out.len - HOSTS_HEADER_BYTES;
	for (size_t i = 0; i < len; i++) {
		buf_reset(&cut);
		hosts_frame_add(&cut, HOSTS_RUN, out.data + HOSTS_HEADER_BYTES, i);
		assert_int_equal(decode(&cut, &read), -EBADMSG);
	}
	for (int nr = 0; nr < 256; nr++) {
		out.data[HOSTS_HEADER_BYTES] = (char)nr;
		if (nr != 2)
			assert_int_equal(decode(&out, &read), -EBADMSG);
	}
	out.data[HOSTS_HEADER_BYTES + 3] = 0x7f;
	assert_int_equal(decode(&out, &read), -EBADMSG);
}

TEST(names_of_files)
{
	static const char *const valid[] = {"cpuperf.cpsession", "cpuperf.0.0.cpuperf",
					    "cpuperf.common.cpuperf"};
	static const char *const invalid[] = {"",
					      "cpuperf",
					      "cpuperf.",
					      "cpuperf.cpuperf/",
					      "../cpuperf.x.cpuperf",
					      "cpuperf./../../x.cpuperf",
					      "/cpuperf.0.cpuperf",
					      "host.json",
					      "cpuperf.0.0.cpuperf.lock",
					      ".cpuperf.0.cpuperf",
					      "cpuperf.a b.cpuperf",
					      "cpuperf.\n.cpuperf",
					      "xcpuperf.0.cpuperf",
					      "cpuperf.\xc3\xa4.cpuperf"};
	char longest[NAME_MAX + 2];

	for (size_t i = 0; i < ARRAY_NR(valid); i++)
		assert_true(hosts_frame_is_file(valid[i], strlen(valid[i])));
	for (size_t i = 0; i < ARRAY_NR(invalid); i++)
		assert_false(hosts_frame_is_file(invalid[i], strlen(invalid[i])));
	assert_false(hosts_frame_is_file("cpuperf.0.cpuperf\0x.cpuperf", 27));
	snprintf(longest, sizeof(longest), "cpuperf.%0*d.cpuperf", NAME_MAX - 16, 0);
	assert_true(hosts_frame_is_file(longest, NAME_MAX));
	snprintf(longest, sizeof(longest), "cpuperf.%0*d.cpuperf", NAME_MAX - 15, 0);
	assert_false(hosts_frame_is_file(longest, NAME_MAX + 1));
}

static int add(void *arg)
{
	char *argv[] = {(char[]){"a"}, (char[]){"b"}, NULL};
	const struct hosts_run wrote = {.argv = argv, .nr_args = 2};
	struct hosts_run read = {.argv = NULL};
	BUF_AUTO(out, 4096);
	int rc;

	(void)arg;
	hosts_frame_add_run(&out, &wrote);
	rc = buf_error(&out);
	rc = rc ? rc : decode(&out, &read);
	mem_free(read.argv);
	return rc;
}

TEST(failures)
{
	inject_every(add, NULL, 2, 0);
}
