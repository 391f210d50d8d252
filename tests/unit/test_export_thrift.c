/*
 * Thrift's compact protocol: bytes as its description has them.
 */
#include "kit.h"

#include "base/buf.h"
#include "export/thrift.h"

static struct buf b;

HOOK(before_each)
{
	buf_init(&b, 1 << 20);
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
	struct thrift t = {.out = &b};

	thrift_i32(&t, 1, 150);
	thrift_i64(&t, 2, -1);
	thrift_i8(&t, 5, 64);
	thrift_bool(&t, 6, true);
	thrift_bool(&t, 7, false);
	EXPECT("\x15\xac\x02\x16\x01\x33\x40\x11\x12");
	thrift_i64(&t, 8, INT64_MIN);
	EXPECT("\x16\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	thrift_i64(&t, 9, INT64_MAX);
	EXPECT("\x16\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

/* A field whose number is far from the last one's has its own. */
TEST(steps)
{
	struct thrift t = {.out = &b};

	thrift_i32(&t, 15, 0);
	thrift_i32(&t, 31, 0);
	thrift_i32(&t, 32, 0);
	EXPECT("\xf5\x00\x05\x3e\x00\x15\x00");
}

TEST(texts_and_lists)
{
	struct thrift t = {.out = &b};

	thrift_text(&t, 1, "ab");
	thrift_list(&t, 2, THRIFT_TYPE_I32, 2);
	thrift_item_i32(&t, 0);
	thrift_item_i32(&t, 3);
	EXPECT("\x18\x02"
	       "ab\x19\x25\x00\x06");
	thrift_list(&t, 3, THRIFT_TYPE_BINARY, 14);
	EXPECT("\x19\xe8");
	thrift_list(&t, 4, THRIFT_TYPE_BINARY, 300);
	thrift_item_text(&t, "c");
	EXPECT("\x19\xf8\xac\x02\x01"
	       "c");
}

/* A struct counts its own fields. */
TEST(structs)
{
	struct thrift t = {.out = &b};

	THRIFT_STRUCT(&t, 2)
	{
		thrift_i32(&t, 1, 1);
		THRIFT_STRUCT(&t, 3)
		{
		}
	}
	thrift_i32(&t, 3, 2);
	thrift_list(&t, 4, THRIFT_TYPE_STRUCT, 1);
	THRIFT_STRUCT(&t, 0) thrift_i32(&t, 1, 0);
	thrift_end(&t);
	EXPECT("\x2c\x15\x02\x2c\x00\x00\x15\x04\x19\x1c\x15\x00\x00\x00");
}
