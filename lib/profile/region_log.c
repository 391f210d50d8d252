#include "profile/region_log.h"

#include "base/mem.h"

#include <errno.h>

enum {
	MAX_NUMBER_BYTES = 10,
	MAX_STEP_BYTES = 4 * MAX_NUMBER_BYTES,
	KIND_BITS = 4,
	HAS_VALUE = 1 << KIND_BITS,
	HAS_DEPTH = HAS_VALUE << 1,
	WHAT_SHIFT = KIND_BITS + 2,
	FIRST_ROOM = 64,
};

void region_log_fini(struct region_log *l)
{
	mem_free(l->bytes);
	*l = (struct region_log){.bytes = NULL};
}

/* Seven bits a byte, the lowest first; the highest bit: more follow. */
static void put_number(struct region_log *l, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		l->bytes[l->nr_bytes++] = (uint8_t)(n | 0x80);
	l->bytes[l->nr_bytes++] = (uint8_t)n;
}

static uint64_t next_number(struct region_cursor *c)
{
	uint64_t n = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = c->log->bytes[c->at++];
		n |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return n;
}

static int make_room(struct region_log *l)
{
	size_t room = l->room ? l->room * 2 : FIRST_ROOM;
	uint8_t *grown;

	if (l->room - l->nr_bytes >= MAX_STEP_BYTES)
		return 0;
	grown = mem_resize(l->bytes, room);
	if (!grown)
		return -ENOMEM;
	l->bytes = grown;
	l->room = room;
	return 0;
}

int region_log_add(struct region_log *l, const struct region_step *s)
{
	uint64_t time_ns = s->time_ns > l->last_ns ? s->time_ns : l->last_ns;
	uint64_t value = (uint64_t)s->value;

	if (make_room(l))
		return -ENOMEM;
	put_number(l, time_ns - l->last_ns);
	put_number(l, (uint64_t)s->what << WHAT_SHIFT | (s->depth ? HAS_DEPTH : 0) |
			  (s->value ? HAS_VALUE : 0) | s->kind);
	if (s->depth)
		put_number(l, s->depth);
	if (s->value) /* the sign is the lowest bit, so that small negative ones are short, too */
		put_number(l, value << 1 ^ (s->value < 0 ? UINT64_MAX : 0));
	l->last_ns = time_ns;
	return 0;
}

void region_log_trim(struct region_log *l)
{
	uint8_t *less = l->nr_bytes ? mem_resize(l->bytes, l->nr_bytes) : NULL;

	if (!less)
		return;
	l->bytes = less;
	l->room = l->nr_bytes;
}

bool region_log_next(struct region_cursor *c, struct region_step *out)
{
	uint64_t word, value;

	if (c->at == c->log->nr_bytes)
		return false;
	c->time_ns += next_number(c);
	word = next_number(c);
	*out = (struct region_step){.time_ns = c->time_ns,
				    .what = (uint32_t)(word >> WHAT_SHIFT),
				    .kind = word & ((1 << KIND_BITS) - 1)};
	if (word & HAS_DEPTH)
		out->depth = (uint32_t)next_number(c);
	if (word & HAS_VALUE) {
		value = next_number(c);
		out->value = (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
	}
	return true;
}
