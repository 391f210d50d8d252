/*
 * Any bytes as a jitdump, read at once and piece by piece: both have the same functions, each byte
 * of their code is in the file, and what is found at an address covers it at that time.
 */
#include "symbol/jitdump.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct file {
	const uint8_t *data;
	size_t size;
};

static void require(int holds)
{
	if (!holds)
		abort();
}

static int read_bytes(void *arg, uint64_t offset, size_t len, void *out)
{
	const struct file *f = arg;

	require(offset <= f->size && len <= f->size - offset);
	memcpy(out, f->data + offset, len);
	return 0;
}

static bool pay(void *arg, uint64_t bytes)
{
	(void)arg;
	return bytes < UINT64_C(1) << 30;
}

static void check_lines(const struct jitdump *d, const struct jitdump_code *c,
			const struct jitdump_source *source)
{
	struct jitdump_lines l;

	require(c->lines_len == 0 || c->lines_offset + c->lines_len <= c->offset);
	require(jitdump_lines_read(d, c, source, &l) == 0);
	for (size_t i = 0; i < l.nr; i++) {
		const struct jitdump_line *line = jitdump_lines_find(&l, l.item[i].address);

		require(line && line->address == l.item[i].address);
		require(!i || l.item[i - 1].address <= l.item[i].address);
		require(!l.item[i].file || strlen(l.item[i].file) > 0);
	}
	jitdump_lines_fini(&l);
}

static void check(const struct jitdump *d, const struct file *f,
		  const struct jitdump_source *source)
{
	for (size_t i = 0; i < d->nr_codes; i++) {
		const struct jitdump_code *c = &d->codes[i];

		require(c->size && c->offset <= f->size && c->size <= f->size - c->offset);
		require(jitdump_code_at(d, c->offset) == c);
		require(*jitdump_name(d, c) != '\0');
		check_lines(d, c, source);
		require(c->table_len <= JITDUMP_MAX_TABLE_BYTES && c->table_offset <= c->offset &&
			c->table_len <= c->offset - c->table_offset);
	}
	for (size_t i = 0; i < d->nr_places; i++) {
		const struct jitdump_place *p = &d->places[i];
		const struct jitdump_place *at = jitdump_find(d, p->start, p->time_ns);

		require(p->start < p->end && (p->code == JITDUMP_NO_CODE || p->code < d->nr_codes));
		require(at && at >= p && at->start <= p->start && p->start < at->end &&
			at->time_ns == p->time_ns);
		require(jitdump_nr_until(d, p->time_ns) > i);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file f = {data, size};
	const struct jitdump_source source = {read_bytes, pay, &f};
	struct jitdump whole = {.next = 0}, grown = {.next = 0};

	require(jitdump_read(&whole, &source, size) == 0);
	check(&whole, &f, &source);
	for (size_t part = 1; part <= 4; part++)
		require(jitdump_read(&grown, &source, size * part / 4) == 0);
	check(&grown, &f, &source);
	require(whole.nr_codes == grown.nr_codes && whole.nr_places == grown.nr_places &&
		whole.next == grown.next && !whole.fault == !grown.fault);
	jitdump_fini(&whole);
	jitdump_fini(&grown);
	return 0;
}
