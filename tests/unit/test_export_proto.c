/*
 * Messages of Protocol Buffers: bytes as the format's description has them, lengths at the borders
 * of their own length, text that is none, and failures.
 */
#include "kit.h"

#include "base/buf.h"
#include "export/proto.h"

#include <math.h>

static struct buf b;

HOOK(before_each)
{
	buf_init(&b, 16 << 20);
}

HOOK(after_each)
{
	buf_fini(&b);
}

static void expect(const char *bytes, size_t len)
{
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(b.len, len);
	assert_memory_equal(b.data, bytes, len);
	buf_reset(&b);
}
#define EXPECT(bytes) expect(bytes, sizeof(bytes) - 1)

TEST(numbers)
{
	proto_uint(&b, 1, 150);
	EXPECT("\x08\x96\x01");
	proto_uint(&b, 1, 0);
	EXPECT("\x08\x00");
	proto_uint(&b, 15, 127);
	EXPECT("\x78\x7f");
	proto_uint(&b, 16, 128);
	EXPECT("\x80\x01\x80\x01");
	proto_uint(&b, (1u << 29) - 1, UINT64_MAX);
	EXPECT("\xf8\xff\xff\xff\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	proto_int(&b, 2, -2);
	EXPECT("\x10\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	proto_int(&b, 2, INT64_MAX);
	EXPECT("\x10\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
	proto_bool(&b, 3, true);
	proto_bool(&b, 3, false);
	EXPECT("\x18\x01\x18\x00");
}

TEST(fixed)
{
	proto_fixed64(&b, 1, 0x0807060504030201);
	EXPECT("\x09\x01\x02\x03\x04\x05\x06\x07\x08");
	proto_double(&b, 44, 1.0);
	EXPECT("\xe1\x02\x00\x00\x00\x00\x00\x00\xf0\x3f");
	proto_double(&b, 1, -0.0);
	EXPECT("\x09\x00\x00\x00\x00\x00\x00\x00\x80");
}

TEST(texts)
{
	proto_text(&b, 2, "testing");
	EXPECT("\x12\x07testing");
	proto_text(&b, 2, "");
	EXPECT("\x12\x00");
	proto_text(&b, 2, "é€😀");
	EXPECT("\x12\x09é€😀");
	proto_text(&b, 2,
		   "a\xff"
		   "b\xc3");
	EXPECT("\x12\x08"
	       "a\xef\xbf\xbd"
	       "b\xef\xbf\xbd");
	proto_bytes(&b, 3, "\0\xff", 2);
	EXPECT("\x1a\x02\0\xff");
	proto_bytes(&b, 3, NULL, 0);
	EXPECT("\x1a\x00");
}

TEST(packed)
{
	static const uint64_t v[] = {3, 270, 86942};

	proto_packed(&b, 6, v, 3);
	EXPECT("\x32\x06\x03\x8e\x02\x9e\xa7\x05");
	proto_packed(&b, 6, NULL, 0);
	EXPECT("");
}

TEST(messages)
{
	size_t outer, inner;

	outer = proto_begin(&b, 3);
	proto_uint(&b, 1, 150);
	proto_end(&b, outer);
	EXPECT("\x1a\x03\x08\x96\x01");
	proto_end(&b, proto_begin(&b, 3));
	EXPECT("\x1a\x00");
	outer = proto_begin(&b, 1);
	proto_uint(&b, 1, 1);
	inner = proto_begin(&b, 2);
	proto_text(&b, 1, "x");
	proto_end(&b, inner);
	proto_uint(&b, 3, 2);
	proto_end(&b, outer);
	EXPECT("\x0a\x09\x08\x01\x12\x03\x0a\x01x\x18\x02");
}

/* The number at *at, which moves behind it. */
static uint64_t varint(size_t *at)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = (uint8_t)b.data[(*at)++];

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
}

/* A message whose length takes more than the byte that was left for it, within another, and with
 * something before and behind. */
TEST(long_messages)
{
	static const size_t lens[] = {0,     1,     126,   127,   128,           129,     16382,
				      16383, 16384, 16385, 70000, (1 << 21) - 1, 1 << 21, 3 << 20};

	for (size_t i = 0; i < NR(lens); i++) {
		size_t outer, inner, at = 0, len;

		proto_uint(&b, 9, 5);
		outer = proto_begin(&b, 1);
		inner = proto_begin(&b, 2);
		buf_fill(&b, (char)('a' + i), lens[i]);
		proto_end(&b, inner);
		proto_uint(&b, 3, 7);
		proto_end(&b, outer);
		proto_uint(&b, 9, 6);
		assert_int_equal(buf_error(&b), 0);

		assert_int_equal(varint(&at), 9 << 3);
		assert_int_equal(varint(&at), 5);
		assert_int_equal(varint(&at), 1 << 3 | 2);
		len = varint(&at);
		assert_int_equal(len, b.len - at - 2);
		assert_int_equal(varint(&at), 2 << 3 | 2);
		assert_int_equal(varint(&at), lens[i]);
		for (size_t k = 0; k < lens[i]; k++)
			assert_int_equal(b.data[at++], 'a' + i);
		assert_int_equal(varint(&at), 3 << 3);
		assert_int_equal(varint(&at), 7);
		assert_int_equal(varint(&at), 9 << 3);
		assert_int_equal(varint(&at), 6);
		assert_int_equal(at, b.len);
		assert_int_equal(b.data[b.len], '\0');
		buf_reset(&b);
	}
}

static void write_all(struct buf *to)
{
	static const uint64_t v[2000] = {UINT64_MAX};
	size_t outer = proto_begin(to, 1), inner;

	proto_double(to, 1, M_PI);
	inner = proto_begin(to, 2);
	proto_text(to, 1, "\xff text \xff");
	proto_packed(to, 2, v, NR(v));
	proto_end(to, inner);
	proto_bytes(to, 3, v, sizeof(v));
	proto_end(to, outer);
}

/* At each ceiling there is an error, and no more than the ceiling. */
TEST(ceilings)
{
	write_all(&b);
	for (size_t max = 0; max <= b.len; max++) {
		struct buf small;

		buf_init(&small, max);
		write_all(&small);
		assert_int_equal(buf_error(&small), max < b.len ? -EFBIG : 0);
		assert_true(small.len <= max);
		buf_fini(&small);
	}
}

static int write_some(void *arg)
{
	struct buf to;
	int rc;

	(void)arg;
	buf_init(&to, 1 << 20);
	write_all(&to);
	rc = buf_error(&to);
	buf_fini(&to);
	return rc;
}

TEST(without_memory)
{
	inject_every(write_some, NULL, 3, 0);
}
