/*
 * Eight equal numbers or more are a run; the others are packed in groups of eight. Only the last
 * group may be padded, so a run begins at a multiple of eight from the last one's end.
 */
#include "export/parquet_run.h"

#include "base/buf.h"

enum { GROUP = 8, MAX_GROUPS = 1 << 20, VARINT_BYTES = 5 };

unsigned parquet_run_width(uint32_t highest)
{
	return highest ? 32 - (unsigned)__builtin_clz(highest) : 1;
}

static void put_varint(struct buf *b, uint32_t v)
{
	for (; v > 0x7f; v >>= 7)
		buf_addc(b, (char)(v | 0x80));
	buf_addc(b, (char)v);
}

static size_t count_equal(const uint32_t *v, size_t nr)
{
	size_t i = 1;

	while (i < nr && v[i] == v[0])
		i++;
	return i;
}

static void put_run(struct buf *b, uint32_t v, size_t nr, unsigned width)
{
	put_varint(b, (uint32_t)nr << 1);
	for (unsigned bit = 0; bit < width; bit += 8)
		buf_addc(b, (char)(v >> bit));
}

/* The lowest bit first. */
static void put_packed(struct buf *b, const uint32_t *v, size_t nr, unsigned width)
{
	size_t nr_groups = (nr + GROUP - 1) / GROUP;
	uint64_t bits = 0;
	unsigned nr_bits = 0;

	put_varint(b, (uint32_t)nr_groups << 1 | 1);
	for (size_t i = 0; i < nr_groups * GROUP; i++) {
		bits |= (uint64_t)(i < nr ? v[i] : 0) << nr_bits;
		for (nr_bits += width; nr_bits >= 8; nr_bits -= 8, bits >>= 8)
			buf_addc(b, (char)bits);
	}
}

void parquet_run_add(struct buf *b, const uint32_t *v, size_t nr, unsigned width)
{
	for (size_t i = 0; i < nr;) {
		size_t run = count_equal(v + i, nr - i), end = i;

		if (run >= GROUP) {
			put_run(b, v[i], run, width);
			i += run;
			continue;
		}
		while (end < nr && end - i < (size_t)GROUP * MAX_GROUPS &&
		       count_equal(v + end, nr - end < GROUP ? nr - end : GROUP) < GROUP)
			end += nr - end < GROUP ? nr - end : GROUP;
		put_packed(b, v + i, end - i, width);
		i = end;
	}
}
