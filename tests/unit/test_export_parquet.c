/*
 * Parquet files: their ends, that the same rows are the same bytes, that memory is bounded and that
 * what fails fails cleanly. What is in them other readers say
 * (tests/system/test_export_parquet.py).
 */
#include "kit.h"

#include "base/buf.h"
#include "export/parquet.h"
#include "inject.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const struct parquet_column columns[] = {
    {"id", PARQUET_I64, true},     {"nr", PARQUET_U64, false},   {"value", PARQUET_REAL, false},
    {"is", PARQUET_BOOL, false},   {"text", PARQUET_TEXT, true}, {"maybe", PARQUET_TEXT, false},
    {"time", PARQUET_TIME, false},
};
enum { NR_COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static const struct parquet_fact facts[] = {{"key", "value"}};

static int put(struct parquet *p, uint64_t i, struct buf *out)
{
	char text[32];

	snprintf(text, sizeof(text), "t%d", (int)(i % 10));
	return PARQUET_PUT(
	    p, out, parquet_i64((int64_t)i - 5), parquet_maybe(i % 3, UINT64_MAX - i),
	    i % 4 ? parquet_real((double)i / 3) : parquet_none(), parquet_bool(i & 1),
	    parquet_text(text), parquet_text(i % 7 ? text : NULL), parquet_u64(i * 1000));
}

static int make(size_t nr, struct buf *out)
{
	struct parquet *p = parquet_new(columns, NR_COLUMNS);
	int rc = p ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = put(p, i, out);
	rc = rc ?: parquet_end(p, facts, 1, out);
	parquet_free(p);
	return rc;
}

static uint32_t le32(const char *p)
{
	const uint8_t *b = (const uint8_t *)p;

	return b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
}

static void expect_whole(const struct buf *file)
{
	assert_true(file->len > 12);
	assert_memory_equal(file->data, "PAR1", 4);
	assert_memory_equal(file->data + file->len - 4, "PAR1", 4);
	assert_in_range(le32(file->data + file->len - 8), 20, file->len - 12);
}

TEST(files)
{
	static const size_t sizes[] = {0, 1, 8, 1000, PARQUET_GROUP_ROWS, PARQUET_GROUP_ROWS + 1};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		BUF_AUTO(a, 64 << 20);
		BUF_AUTO(b, 64 << 20);

		assert_int_equal(make(sizes[i], &a), 0);
		assert_int_equal(make(sizes[i], &b), 0);
		expect_whole(&a);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.data, b.data, a.len);
	}
}

/* A number as Thrift writes it. */
static size_t put_zigzag(uint64_t v, char *out)
{
	size_t nr = 0;

	for (v <<= 1; v > 0x7f; v >>= 7)
		out[nr++] = (char)(v | 0x80);
	out[nr++] = (char)v;
	return nr;
}

static const char *footer(const struct buf *file, size_t *len)
{
	*len = le32(file->data + file->len - 8);
	return file->data + file->len - 8 - *len;
}

/* The caller may empty the buffer after each row: offsets are the file's. */
TEST(pieces)
{
	char offset[10];
	size_t len, second = 0;
	const char *end;
	BUF_AUTO(whole, 64 << 20);
	BUF_AUTO(piece, 64 << 20);
	BUF_AUTO(all, 64 << 20);
	const size_t nr = 3 * PARQUET_GROUP_ROWS + 7;
	struct parquet *p = parquet_new(columns, NR_COLUMNS);

	assert_int_equal(make(nr, &whole), 0);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(put(p, i, &piece), 0);
		buf_add(&all, piece.data, piece.len);
		buf_reset(&piece);
		if (i + 1 == PARQUET_GROUP_ROWS)
			second = all.len;
	}
	assert_int_equal(parquet_end(p, facts, 1, &piece), 0);
	buf_add(&all, piece.data, piece.len);
	parquet_free(p);
	assert_int_equal(all.len, whole.len);
	assert_memory_equal(all.data, whole.data, all.len);
	/* where the second row group begins */
	assert_true(second > 100000);
	second = put_zigzag(second, offset);
	end = footer(&all, &len);
	assert_non_null(memmem(end, len, offset, second));
}

/* Large texts end a row group before it has all of its rows; one that is too long is cut. */
TEST(texts_are_bounded)
{
	static const struct parquet_column text = {"text", PARQUET_TEXT, true};
	const size_t len = 3 * PARQUET_TEXT_BYTES;
	struct parquet *p = parquet_new(&text, 1);
	char *s = malloc(len + 1);
	BUF_AUTO(out, 64 << 20);

	for (int i = 0; i < 40; i++) {
		bool was_empty = out.len <= 4;

		memset(s, 'a', len);
		s[0] = (char)('A' + i % 26);
		s[1] = (char)('0' + i / 26);
		s[len] = '\0';
		assert_int_equal(PARQUET_PUT(p, &out, parquet_text(s)), 0);
		if (was_empty && out.len > 4)
			assert_int_equal(i, 15);
	}
	assert_true(out.len > 4);
	assert_int_equal(parquet_end(p, NULL, 0, &out), 0);
	expect_whole(&out);
	parquet_free(p);
	free(s);
}

static void expect_found(const struct buf *b, const char *text)
{
	assert_non_null(memmem(b->data, b->len, text, strlen(text)));
}

/* The least and the greatest value stand in the footer, as they are. */
TEST(limits)
{
	static const struct parquet_column two[] = {{"text", PARQUET_TEXT, true},
						    {"value", PARQUET_REAL, true}};
	struct parquet *p = parquet_new(two, 2);
	const double nan = NAN;
	const char *end;
	size_t len;
	BUF_AUTO(out, 1 << 20);

	assert_int_equal(PARQUET_PUT(p, &out, parquet_text("middle"), parquet_real(NAN)), 0);
	assert_int_equal(PARQUET_PUT(p, &out, parquet_text("zz\xff"), parquet_real(1)), 0);
	assert_int_equal(PARQUET_PUT(p, &out, parquet_text("abc"), parquet_real(2)), 0);
	assert_int_equal(parquet_end(p, NULL, 0, &out), 0);
	end = footer(&out, &len);
	assert_null(memmem(end, len, &nan, sizeof(nan)));
	expect_found(&out, "\x05zz\xef\xbf\xbd\x18\x03"
			   "abc");
	parquet_free(p);
}

TEST(too_many_columns)
{
	static struct parquet_column many[PARQUET_MAX_COLUMNS + 1];

	assert_null(parquet_new(many, PARQUET_MAX_COLUMNS + 1));
}

TEST(a_full_buffer)
{
	BUF_AUTO(out, 100);

	assert_int_equal(make(1000, &out), -EFBIG);
}

static int make_small(void *arg)
{
	BUF_AUTO(out, 1 << 20);

	(void)arg;
	return make(50, &out);
}

TEST(no_memory)
{
	inject_every(make_small, NULL, 10, 0);
}
