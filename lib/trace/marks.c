#include "trace/fields.h"

#include "base/buf.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "trace/format.h"
#include "trace/trace.h"

#include <errno.h>

enum { HAS_DEPTH = 0x20, HAS_VALUE = 0x40, HAS_NAME = 0x80, KINDS = 0x1f };
enum { LEAST_BYTES = 2 /* of a mark */, MAX_MARKS = 1 << 20 /* of a frame */ };

_Static_assert(TRACE_NR_MARK_KINDS <= KINDS + 1, "a kind has five bits");

static void add_number(struct buf *b, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		buf_addc(b, (char)(n | 0x80));
	buf_addc(b, (char)n);
}

/* More than 64 bits are an underflow, too. */
static uint64_t next_number(struct cursor *c)
{
	uint64_t n = 0;
	uint8_t byte = 0x80;

	for (unsigned shift = 0; byte & 0x80; shift += 7) {
		byte = cursor_u8(c);
		if (shift > 63 || (shift == 63 && byte > 1))
			c->underflow = true;
		if (!cursor_ok(c))
			return 0;
		n |= (uint64_t)(byte & 0x7f) << shift;
	}
	return n;
}

static uint32_t next_u32(struct cursor *c)
{
	uint64_t n = next_number(c);

	c->underflow |= n > UINT32_MAX;
	return (uint32_t)n;
}

void trace_marks_encode(struct buf *b, const struct trace_mark *mark, size_t nr)
{
	uint64_t last_ns = 0;

	buf_le32(b, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++) {
		const struct trace_mark *m = &mark[i];

		buf_addc(b, (char)(m->kind | (m->depth ? HAS_DEPTH : 0u) |
				   (m->value ? HAS_VALUE : 0u) | (m->name ? HAS_NAME : 0u)));
		add_number(b, m->time_ns - last_ns);
		last_ns = m->time_ns;
		if (m->depth)
			add_number(b, m->depth);
		if (m->value)
			add_number(b, m->value << 1 ^ (m->value >> 63 ? UINT64_MAX : 0));
		if (m->name)
			add_number(b, m->name);
	}
}

static void next_mark(struct cursor *c, uint64_t last_ns, struct trace_mark *out)
{
	uint8_t head = cursor_u8(c);
	uint64_t value;

	*out = (struct trace_mark){.time_ns = last_ns + next_number(c), .kind = head & KINDS};
	if (head & HAS_DEPTH)
		out->depth = next_u32(c);
	value = head & HAS_VALUE ? next_number(c) : 0;
	out->value = value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
	if (head & HAS_NAME)
		out->name = next_u32(c);
}

int trace_marks_decode(struct cursor *c, struct trace_mark **out, size_t *nr)
{
	uint32_t count = cursor_le32(c);
	struct trace_mark *mark;

	if (!cursor_ok(c) || count > MAX_MARKS || count > c->left / LEAST_BYTES)
		return -EINVAL;
	mark = mem_calloc((size_t)count + 1, sizeof(*mark));
	if (!mark)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		next_mark(c, i ? mark[i - 1].time_ns : 0, &mark[i]);
	if (!cursor_ok(c)) {
		mem_free(mark);
		return -EINVAL;
	}
	*out = mark;
	*nr = count;
	return 0;
}
