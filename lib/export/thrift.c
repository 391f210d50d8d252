/*
 * A field begins with its type and how much its number is higher than that of the field before.
 */
#include "export/thrift.h"

#include "base/buf.h"

#include <string.h>

enum { TRUE = 1, FALSE = 2, I8 = 3, I64 = 6, LIST = 9 };
enum { VARINT_BYTES = 10, SHORT_STEP = 15, SHORT_LIST = 15 };

static void put_varint(struct buf *b, uint64_t v)
{
	char bytes[VARINT_BYTES];
	size_t nr = 0;

	for (; v > 0x7f; v >>= 7)
		bytes[nr++] = (char)(v | 0x80);
	bytes[nr++] = (char)v;
	buf_add(b, bytes, nr);
}

static void put_zigzag(struct buf *b, int64_t v)
{
	put_varint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_head(struct thrift *t, int field, unsigned type)
{
	int *last = &t->last[t->depth], step = field - *last;

	if (step > 0 && step <= SHORT_STEP) {
		buf_addc(t->out, (char)((unsigned)step << 4 | type));
	} else {
		buf_addc(t->out, (char)type);
		put_zigzag(t->out, field);
	}
	*last = field;
}

void thrift_bool(struct thrift *t, int field, bool v)
{
	put_head(t, field, v ? TRUE : FALSE);
}

void thrift_i8(struct thrift *t, int field, int8_t v)
{
	put_head(t, field, I8);
	buf_addc(t->out, (char)v);
}

void thrift_i32(struct thrift *t, int field, int32_t v)
{
	put_head(t, field, THRIFT_TYPE_I32);
	put_zigzag(t->out, v);
}

void thrift_i64(struct thrift *t, int field, int64_t v)
{
	put_head(t, field, I64);
	put_zigzag(t->out, v);
}

static void put_bytes(struct buf *b, const void *data, size_t len)
{
	put_varint(b, len);
	buf_add(b, data, len);
}

void thrift_binary(struct thrift *t, int field, const void *data, size_t len)
{
	put_head(t, field, THRIFT_TYPE_BINARY);
	put_bytes(t->out, data, len);
}

void thrift_text(struct thrift *t, int field, const char *s)
{
	thrift_binary(t, field, s, strlen(s));
}

void thrift_list(struct thrift *t, int field, enum thrift_type type, size_t nr)
{
	put_head(t, field, LIST);
	if (nr < SHORT_LIST) {
		buf_addc(t->out, (char)(nr << 4 | type));
	} else {
		buf_addc(t->out, (char)(SHORT_LIST << 4 | type));
		put_varint(t->out, nr);
	}
}

void thrift_item_i32(struct thrift *t, int32_t v)
{
	put_zigzag(t->out, v);
}

void thrift_item_text(struct thrift *t, const char *s)
{
	put_bytes(t->out, s, strlen(s));
}

void thrift_begin(struct thrift *t, int field)
{
	if (field)
		put_head(t, field, THRIFT_TYPE_STRUCT);
	t->last[++t->depth] = 0;
}

void thrift_end(struct thrift *t)
{
	buf_addc(t->out, '\0');
	if (t->depth)
		t->depth--;
}
