/*
 * Sums of places in few bytes: those that are not 0, or all if they are many or large. Most stacks
 * have few samples, and each of these makes one sum 1 or -1.
 */
#include "base/buf.h"
#include "base/cursor.h"
#include "base/place.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include <string.h>

/* The first byte of an item: so many pairs of place and sum follow, or */
enum { MAX_PAIRS = PLACE_SUMS, ALL = 254, UNKNOWN = 255 };

static bool is_small(int sum)
{
	return sum >= INT8_MIN && sum <= INT8_MAX;
}

static void add_u8(struct buf *items, uint8_t v)
{
	buf_add(items, &v, 1);
}

static void add_pairs(struct buf *items, unsigned nr, const int16_t *sums)
{
	add_u8(items, (uint8_t)nr);
	for (unsigned i = 0; i < PLACE_SUMS; i++)
		if (sums[i]) {
			add_u8(items, (uint8_t)i);
			add_u8(items, (uint8_t)sums[i]);
		}
}

void trace_add_places(struct buf *items, const int16_t *sums)
{
	unsigned nr = 0;
	bool is_few = true;

	if (!sums) {
		add_u8(items, UNKNOWN);
		return;
	}
	for (unsigned i = 0; i < PLACE_SUMS; i++) {
		nr += sums[i] != 0;
		is_few &= is_small(sums[i]);
	}
	if (is_few) {
		add_pairs(items, nr, sums);
		return;
	}
	add_u8(items, ALL);
	for (unsigned i = 0; i < PLACE_SUMS; i++)
		buf_le16(items, (uint16_t)sums[i]);
}

static void read_pairs(struct cursor *c, unsigned nr, int16_t *sums)
{
	for (int last = -1; nr; nr--) {
		const int at = cursor_u8(c);
		const int byte = cursor_u8(c);

		if (at <= last || at >= PLACE_SUMS) {
			c->underflow = true;
			return;
		}
		sums[at] = (int16_t)(byte <= INT8_MAX ? byte : byte - (1 << 8));
		last = at;
	}
}

size_t trace_next_places(const uint8_t *p, size_t len, int16_t *sums, bool *is_known)
{
	int16_t read[PLACE_SUMS] = {0};
	struct cursor c;
	unsigned nr;

	cursor_init(&c, p, len);
	nr = cursor_u8(&c);
	if (nr <= MAX_PAIRS)
		read_pairs(&c, nr, read);
	else if (nr == ALL)
		for (unsigned i = 0; i < PLACE_SUMS; i++)
			read[i] = (int16_t)cursor_le16(&c);
	else if (nr != UNKNOWN)
		return 0;
	if (!cursor_ok(&c))
		return 0;
	*is_known = nr != UNKNOWN;
	if (*is_known)
		memcpy(sums, read, sizeof(read));
	return len - c.left;
}
