/*
 * Packed streams: what zlib unpacks of them is what went in, in pieces of any size; and failures.
 */
#include "kit.h"

#include "base/buf.h"
#include "export/gzip.h"

#include <errno.h>
#include <zlib.h>

/* Text that can be packed, and bytes that cannot. */
static void make_content(struct buf *to, size_t len)
{
	uint64_t x = 88172645463325252ull;

	while (to->len < len) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (to->len % 3)
			buf_printf(to, "stack %u;", (unsigned)(x % 100));
		else
			buf_le64(to, x);
	}
}

/* A whole stream, and nothing behind it. */
static void unpack(const struct buf *from, struct buf *to)
{
	z_stream z = {.next_in = (z_const Bytef *)from->data, .avail_in = (uInt)from->len};
	int rc;

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	do {
		z.next_out = buf_reserve(to, 1 << 16);
		assert_non_null(z.next_out);
		z.avail_out = 1 << 16;
		rc = inflate(&z, Z_NO_FLUSH);
		buf_use(to, (1 << 16) - z.avail_out);
	} while (rc == Z_OK);
	assert_int_equal(rc, Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	inflateEnd(&z);
}

static void pack(const struct buf *from, size_t piece, int level, struct buf *to)
{
	struct gzip *g = gzip_new(level);

	assert_non_null(g);
	for (size_t at = 0; at < from->len; at += piece)
		assert_int_equal(gzip_add(g, from->data + at,
					  from->len - at < piece ? from->len - at : piece, to),
				 0);
	assert_int_equal(gzip_end(g, to), 0);
	gzip_free(g);
}

TEST(round_trips)
{
	static const size_t lens[] = {0, 1, 100, 65536, 700000};
	static const size_t pieces[] = {1 << 10, 65536, 1 << 30};

	for (size_t i = 0; i < NR(lens) * NR(pieces); i++) {
		struct buf in, packed, out;
		int level = i % 2 ? GZIP_FASTEST : GZIP_SMALLEST;

		buf_init(&in, 8 << 20);
		buf_init(&packed, 8 << 20);
		buf_init(&out, 8 << 20);
		make_content(&in, lens[i % NR(lens)]);
		pack(&in, pieces[i / NR(lens)], level, &packed);
		unpack(&packed, &out);
		assert_int_equal(out.len, in.len);
		if (in.len)
			assert_memory_equal(out.data, in.data, in.len);
		if (in.len > 1000)
			assert_true(packed.len < in.len);
		buf_fini(&in);
		buf_fini(&packed);
		buf_fini(&out);
	}
}

/* Neither a time nor a name: the same bytes always give the same stream. */
TEST(has_no_time)
{
	struct buf in, packed;

	buf_init(&in, 1000);
	buf_init(&packed, 1 << 20);
	buf_adds(&in, "abc");
	pack(&in, 3, GZIP_FASTEST, &packed);
	assert_memory_equal(packed.data, "\x1f\x8b\x08\x00\x00\x00\x00\x00", 8);
	buf_fini(&in);
	buf_fini(&packed);
}

static int pack_some(void *arg)
{
	const struct buf *in = arg;
	struct gzip *g = gzip_new(GZIP_FASTEST);
	struct buf out;
	int rc = g ? 0 : -ENOMEM;

	buf_init(&out, 4 << 20);
	if (rc == 0)
		rc = gzip_add(g, in->data, in->len, &out);
	if (rc == 0)
		rc = gzip_end(g, &out);
	gzip_free(g);
	buf_fini(&out);
	return rc;
}

TEST(without_memory)
{
	struct buf in;

	buf_init(&in, 1 << 20);
	make_content(&in, 300000);
	inject_every(pack_some, &in, 5, 0);
	buf_fini(&in);
}

/* Beyond the ceiling the error is said, by the call that meets it or a later one. */
TEST(ceilings)
{
	static const size_t max[] = {0, 1000, 65535, 65536, 100000};
	struct buf in;

	buf_init(&in, 1 << 20);
	make_content(&in, 900000);
	for (size_t i = 0; i < NR(max); i++) {
		struct gzip *g = gzip_new(GZIP_FASTEST);
		struct buf out;
		int rc;

		buf_init(&out, max[i]);
		rc = gzip_add(g, in.data, in.len, &out);
		assert_int_equal(rc ? rc : gzip_end(g, &out), -EFBIG);
		gzip_free(g);
		buf_fini(&out);
	}
	buf_fini(&in);
	gzip_free(NULL);
}

/* Of a stream that is whole, and of nothing else; not beyond the limit. */
TEST(unpacks_whole_streams_alone)
{
	BUF_AUTO(plain, 1 << 20);
	BUF_AUTO(packed, 1 << 20);
	BUF_AUTO(back, 1 << 20);
	BUF_AUTO(small, 1 << 10);

	make_content(&plain, 200000);
	pack(&plain, 1000, GZIP_FASTEST, &packed);
	assert_int_equal(gzip_unpack(packed.data, packed.len, &back), 0);
	assert_int_equal(back.len, plain.len);
	assert_memory_equal(back.data, plain.data, plain.len);
	assert_int_not_equal(gzip_unpack(packed.data, packed.len, &small), 0);
	buf_reset(&back);
	assert_int_equal(gzip_unpack(packed.data, packed.len - 1, &back), -EINVAL);
	buf_reset(&back);
	assert_int_equal(gzip_unpack(plain.data, plain.len, &back), -EINVAL);
	buf_addc(&packed, 0);
	buf_reset(&back);
	assert_int_equal(gzip_unpack(packed.data, packed.len, &back), -EINVAL);
}
