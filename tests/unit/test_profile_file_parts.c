/*
 * Parts of files that a session stored: found by build-id, or by path, device and inode; in a file
 * of a reader that knows no such frames all else is there; limits.
 */
#include "kit.h"
#include "test_processes.h"

#include "trace/format.h"

static void put(struct tape *t, const char *path, uint32_t inode, char id, size_t len)
{
	struct buf b;

	buf_init(&b, TRACE_FRAME_MAX_BYTES);
	buf_le32(&b, 8);
	buf_le32(&b, 1);
	buf_le64(&b, inode);
	buf_le64(&b, len);
	buf_le32(&b, id ? 20 : 0);
	buf_fill(&b, id, id ? 20 : 0);
	buf_le32(&b, (uint32_t)strlen(path));
	buf_adds(&b, path);
	buf_le32(&b, 16);
	buf_le32(&b, 1);
	buf_le64(&b, 0);
	buf_le64(&b, len);
	buf_fill(&b, 'x', len);
	assert_int_equal(buf_error(&b), 0);
	add_frame(&t->file, TRACE_FRAME_FILE_PARTS, 0, b.data, (uint32_t)b.len);
	buf_fini(&b);
}

static struct profile_processes *read_tape(struct tape *t)
{
	struct profile_processes *p;
	struct tape_told told = {.nr_losses = 0};

	tape_flush(t, false);
	tape_flush(t, true);
	assert_int_equal(tape_try(t, &told, NULL, NULL, &p), 0);
	return p;
}

static uint64_t find(const struct profile_processes *p, const char *path, uint32_t inode, char id)
{
	struct profile_object o = {.path = path, .major = 8, .minor = 1, .inode = inode};
	const struct profile_file_parts *parts;

	o.build_id_len = id ? 20 : 0;
	memset(o.build_id, id, o.build_id_len);
	parts = profile_find_file_parts(p, &o);
	if (!parts)
		return 0;
	assert_int_equal(parts->nr, 1);
	assert_int_equal(parts->part->len, parts->file_bytes);
	for (uint64_t i = 0; i < parts->file_bytes; i++)
		assert_int_equal(parts->bytes[i], 'x');
	return parts->file_bytes;
}

TEST(found)
{
	struct profile_processes *p;
	struct tape t;

	tape_init(&t);
	put(&t, "/a", 7, 'a', 100);
	put(&t, "/b (deleted)", 8, 0, 200);
	put(&t, "/a", 7, 'a', 300); /* twice: the first */
	p = read_tape(&t);
	assert_int_equal(find(p, "/a", 0, 'a'), 100);
	assert_int_equal(find(p, "/elsewhere", 0, 'a'), 100);
	assert_int_equal(find(p, "/a", 7, 'c'), 0);
	assert_int_equal(find(p, "/a", 7, 0), 100); /* the build-id of its mapping is not known */
	assert_int_equal(find(p, "/a", 8, 0), 0);
	assert_int_equal(find(p, "/b (deleted)", 8, 0), 200);
	assert_int_equal(find(p, "/b", 8, 0), 200); /* mapped before it was deleted */
	assert_int_equal(find(p, "/bb", 8, 0), 0);
	assert_int_equal(find(p, "/a (deleted)", 7, 0), 100);
	assert_int_equal(find(p, "", 0, 0), 0);
	profile_processes_free(p);
	tape_fini(&t);
}

/* What is beyond the limit is skipped. */
TEST(limit)
{
	enum { LEN = 32 << 20, MOST = PROFILE_STORED_MAX_BYTES / LEN };
	struct profile_stored s = {.nr = 0};
	struct trace_file_parts t = {.path = "", .nr = 1, .len = LEN, .file_bytes = LEN};

	t.part = &(struct range){0, LEN};
	t.bytes = mem_zalloc(LEN);
	t.id = t.bytes;
	for (int i = 0; i < MOST; i++)
		assert_int_equal(profile_stored_add(&s, &t), 0);
	assert_int_equal(profile_stored_add(&s, &t), -EFBIG);
	t.len = 1;
	assert_int_equal(profile_stored_add(&s, &t), -EFBIG);
	profile_stored_fini(&s);
	assert_int_equal(profile_stored_add(&s, &t), 0);
	profile_stored_fini(&s);
	mem_free((void *)t.bytes);
}
