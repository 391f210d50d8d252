/*
 * Records are read through a window of the file; code is passed over, and read when it is asked
 * for.
 */
#include "symbol/jitdump.h"

#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <string.h>

enum {
	MAGIC = 0x4a695444, /* "JiTD" */
	VERSION = 1,
	ARCH_TIME = 1, /* a flag */

	HEADER_BYTES = 40,
	HEADER_VERSION = 4,
	HEADER_SIZE = 8,
	HEADER_MACHINE = 12,
	HEADER_FLAGS = 32,

	PREFIX_BYTES = 16, /* of each record */
	PREFIX_SIZE = 4,
	PREFIX_TIME = 8,

	LOAD_ADDRESS = 32,
	LOAD_SIZE = 40,
	LOAD_NAME = 56,

	MOVE_FROM = 32,
	MOVE_TO = 40,
	MOVE_SIZE = 48,
	MOVE_BYTES = 64,

	LINES_ADDRESS = 16,
	LINES_NR = 24,
	LINES_FIRST = 32,

	TABLE_SIZE = 16,        /* of both sections */
	TABLE_HEADER_SIZE = 24, /* of .eh_frame_hdr, the second */
	TABLE_FIRST = 40,

	WINDOW_BYTES = 128 << 10,
	CODE_COST = 320, /* bytes of memory for a record, with all that is made of it */
};

enum record { LOAD, MOVE, LINES, CLOSE, UNWINDING };

struct window {
	const struct jitdump_source *source;
	uint64_t size; /* of the file */
	uint64_t at;
	size_t len;
	uint8_t *bytes; /* owned */
	int rc;         /* of the first error */
};

/* len bytes, at most WINDOW_BYTES, that the file has. NULL: they cannot be read. */
static const uint8_t *look(struct window *w, uint64_t offset, size_t len)
{
	if (offset < w->at || offset - w->at > w->len || len > w->len - (offset - w->at)) {
		const uint64_t left = w->size - offset;

		w->len = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
		w->at = offset;
		w->rc = w->source->read(w->source->arg, offset, w->len, w->bytes);
		if (w->rc) {
			w->len = 0;
			return NULL;
		}
	}
	return w->bytes + (offset - w->at);
}

/* --- records --- */

/* A record, of which the file has all. */
struct item {
	uint64_t offset, size, time_ns;
};

static int read_header(struct jitdump *d, struct window *w)
{
	const uint8_t *h = w->size < HEADER_BYTES ? NULL : look(w, 0, HEADER_BYTES);
	uint32_t size;

	if (!h)
		return w->rc; /* it may grow */
	d->is_swapped = false;
	d->is_swapped = jitdump_32(d, h) == bswap_32(MAGIC);
	size = jitdump_32(d, h + HEADER_SIZE);
	if (jitdump_32(d, h) != MAGIC)
		d->fault = "is not a jitdump";
	else if (jitdump_32(d, h + HEADER_VERSION) != VERSION)
		d->fault = "has a version of the format that is not known";
	else if (size < HEADER_BYTES)
		d->fault = "has an invalid header";
	d->machine = (uint16_t)jitdump_32(d, h + HEADER_MACHINE);
	d->is_arch_time = jitdump_64(d, h + HEADER_FLAGS) & ARCH_TIME;
	d->next = size;
	d->is_open = !d->fault;
	return 0;
}

static bool is_range(uint64_t start, uint64_t size)
{
	return size && size <= UINT64_MAX - start;
}

static int add_place(struct jitdump *d, const struct jitdump_place *place)
{
	struct jitdump_place *p = MEM_ADD(d->places, d->nr_places, d->places_room);

	if (!p)
		return -ENOMEM;
	*p = *place;
	p->order = (uint32_t)d->nr_places - 1;
	return 0;
}

/* Of a load: the length of the name, which is cut if it is long, and where the code is, which is
 * behind it. False: the record has no room for them. */
static bool find_name(struct window *w, const struct item *r, struct jitdump_code *c, size_t *len)
{
	const uint64_t rest = r->size - LOAD_NAME;
	const size_t most = rest < JITDUMP_MAX_NAME_BYTES ? (size_t)rest : JITDUMP_MAX_NAME_BYTES;
	const uint8_t *name = look(w, r->offset + LOAD_NAME, most);
	const uint8_t *end = name ? memchr(name, '\0', most) : NULL;

	if (!name || c->size >= rest || (!end && most >= rest - c->size))
		return false;
	*len = end ? (size_t)(end - name) : most - 1;
	c->offset = end ? r->offset + LOAD_NAME + *len + 1 : r->offset + r->size - c->size;
	return c->size <= rest - *len - 1;
}

static int add_code(struct jitdump *d, const struct jitdump_code *code, const char *name,
		    size_t len)
{
	struct jitdump_code *c = MEM_ADD(d->codes, d->nr_codes, d->codes_room);

	if (!c)
		return -ENOMEM;
	*c = *code;
	c->name = (uint32_t)d->names.len;
	if (d->lines_len && d->lines_address == code->start) {
		c->lines_offset = d->lines_offset;
		c->lines_len = d->lines_len;
		c->nr_lines = d->nr_lines;
	}
	d->lines_len = 0;
	c->table_offset = d->table_offset;
	c->table_len = d->table_len;
	buf_add(&d->names, name, len);
	buf_add(&d->names, "", 1);
	return buf_error(&d->names);
}

static int read_load(struct jitdump *d, struct window *w, const struct item *r)
{
	const uint8_t *p = r->size <= LOAD_NAME ? NULL : look(w, r->offset, LOAD_NAME);
	struct jitdump_code c = {.time_ns = r->time_ns};
	struct jitdump_place place = {.time_ns = r->time_ns, .code = JITDUMP_NO_CODE};
	size_t len = 0;
	int rc = 0;

	if (p) {
		place.start = c.start = jitdump_64(d, p + LOAD_ADDRESS);
		c.size = jitdump_64(d, p + LOAD_SIZE);
	}
	if (!p || !is_range(c.start, c.size)) {
		d->nr_bad++;
		return w->rc;
	}
	place.end = c.start + c.size;
	if (!find_name(w, r, &c, &len)) { /* what was there before is no more */
		d->nr_bad++;
		rc = w->rc;
	} else if (len) {
		place.code = (uint32_t)d->nr_codes;
		rc = add_code(d, &c, (const char *)look(w, r->offset + LOAD_NAME, len), len);
	}
	return rc ?: add_place(d, &place);
}

static int read_move(struct jitdump *d, struct window *w, const struct item *r)
{
	const uint8_t *p = r->size < MOVE_BYTES ? NULL : look(w, r->offset, MOVE_BYTES);
	struct jitdump_place away = {.time_ns = r->time_ns, .code = JITDUMP_NO_CODE}, to = away;
	uint64_t size = 0;

	to.is_move = true;
	if (p) {
		away.start = to.from = jitdump_64(d, p + MOVE_FROM);
		to.start = jitdump_64(d, p + MOVE_TO);
		size = jitdump_64(d, p + MOVE_SIZE);
	}
	if (!p || !is_range(away.start, size)) {
		d->nr_bad++;
		return w->rc;
	}
	away.end = away.start + size;
	if (!is_range(to.start, size)) {
		d->nr_bad++;
		return add_place(d, &away);
	}
	to.end = to.start + size;
	return add_place(d, &away) ?: add_place(d, &to);
}

static int read_lines(struct jitdump *d, struct window *w, const struct item *r)
{
	const uint8_t *p = r->size < LINES_FIRST + JITDUMP_LINE_FILE
			       ? NULL
			       : look(w, r->offset, LINES_FIRST + JITDUMP_LINE_FILE);
	uint64_t nr, first;

	if (!p) {
		d->nr_bad += r->size < LINES_FIRST;
		return w->rc;
	}
	nr = jitdump_64(d, p + LINES_NR);
	first = jitdump_64(d, p + LINES_FIRST);
	if (!nr || nr > (r->size - LINES_FIRST) / (JITDUMP_LINE_FILE + 1)) {
		d->nr_bad += nr != 0;
		return 0;
	}
	d->lines_address = jitdump_64(d, p + LINES_ADDRESS);
	d->lines_offset = r->offset + LINES_FIRST;
	d->lines_len = r->size - LINES_FIRST;
	d->nr_lines = nr < UINT32_MAX ? (uint32_t)nr : UINT32_MAX;
	d->has_plain_lines |= first - d->lines_address < JITDUMP_ELF_HEADER_BYTES;
	return 0;
}

/* What is too long, or not whole, is no table; writers that have none write an empty one. */
static int read_table(struct jitdump *d, struct window *w, const struct item *r)
{
	const uint8_t *p = r->size < TABLE_FIRST ? NULL : look(w, r->offset, TABLE_FIRST);
	uint64_t size, header;

	if (!p) {
		d->nr_bad += r->size < TABLE_FIRST;
		return w->rc;
	}
	size = jitdump_64(d, p + TABLE_SIZE);
	header = jitdump_64(d, p + TABLE_HEADER_SIZE);
	if (size > r->size - TABLE_FIRST || header > size) {
		d->nr_bad++;
		return 0;
	}
	if (size - header > JITDUMP_MAX_TABLE_BYTES ||
	    !w->source->pay(w->source->arg, size - header))
		return 0;
	d->table_offset = r->offset + TABLE_FIRST;
	d->table_len = (uint32_t)(size - header);
	return 0;
}

static int read_record(struct jitdump *d, struct window *w, const struct item *r, uint32_t kind)
{
	int rc;

	switch (kind) {
	case LOAD:
		rc = read_load(d, w, r);
		d->table_len = 0;
		return rc;
	case MOVE:
		return read_move(d, w, r);
	case LINES:
		return read_lines(d, w, r);
	case UNWINDING:
		return read_table(d, w, r);
	default: /* of the end, or newer than this */
		return 0;
	}
}

/* False: the file has no more whole ones. */
static bool find_record(struct jitdump *d, struct window *w, struct item *r, uint32_t *kind)
{
	const uint64_t left = d->next < w->size ? w->size - d->next : 0;
	const uint8_t *p = left < PREFIX_BYTES ? NULL : look(w, d->next, PREFIX_BYTES);

	if (!p)
		return false;
	*kind = jitdump_32(d, p);
	*r = (struct item){.offset = d->next,
			   .size = jitdump_32(d, p + PREFIX_SIZE),
			   .time_ns = jitdump_64(d, p + PREFIX_TIME)};
	if (r->size < PREFIX_BYTES)
		d->fault = "has a record of an invalid size";
	return !d->fault && r->size <= left;
}

static int read_records(struct jitdump *d, struct window *w)
{
	struct item r;
	uint32_t kind;
	int rc = 0;

	while (rc == 0 && !d->fault && find_record(d, w, &r, &kind)) {
		if (kind <= MOVE && (d->nr_places + 2 > JITDUMP_MAX_CODES ||
				     !w->source->pay(w->source->arg, CODE_COST)))
			return -EOVERFLOW;
		rc = read_record(d, w, &r, kind);
		if (rc == 0)
			d->next += r.size;
	}
	return rc ?: w->rc;
}

/* --- places --- */

static int by_time(const void *x, const void *y)
{
	const struct jitdump_place *a = x, *b = y;

	return order_u64(a->time_ns, b->time_ns) ?: order_u64(a->order, b->order);
}

static void range_of(const void *arg, size_t i, uint64_t *start, uint64_t *end)
{
	const struct jitdump_place *p = arg;

	*start = p[i].start;
	*end = p[i].end;
}

/* What a move moved is what was there just before it, which may have been moved itself. */
static void resolve_moves(struct jitdump *d)
{
	for (size_t i = 0; i < d->nr_places; i++) {
		struct jitdump_place *to = &d->places[i];
		uint64_t start, end;
		/* the place before is that which the move left */
		uint32_t from = to->is_move
				    ? cover_find(&d->cover, (uint32_t)i - 1, to->from, &start, &end)
				    : COVER_NONE;

		if (from == COVER_NONE)
			continue;
		to->code = d->places[from].code;
		to->offset = d->places[from].offset + (to->from - to->start);
	}
}

static int arrange(struct jitdump *d)
{
	int rc;

	cover_fini(&d->cover);
	if (d->nr_places)
		order_sort(d->places, d->nr_places, sizeof(*d->places), by_time);
	/* what is read later comes behind all of them */
	for (size_t i = 0; i < d->nr_places; i++)
		d->places[i].order = (uint32_t)i;
	rc = cover_make(&d->cover, d->nr_places, range_of, d->places);
	if (rc == 0)
		resolve_moves(d);
	else
		cover_fini(&d->cover);
	return rc;
}

int jitdump_read(struct jitdump *d, const struct jitdump_source *source, uint64_t size)
{
	struct window w = {.source = source, .size = size};
	const size_t before = d->nr_places;
	const uint64_t last_ns = before ? d->places[before - 1].time_ns : 0;
	int rc, last;

	if (d->fault || size <= d->next)
		return 0;
	if (!d->names.max_bytes)
		buf_init(&d->names, JITDUMP_MAX_NAMES_BYTES);
	w.bytes = mem_alloc(WINDOW_BYTES);
	if (!w.bytes)
		return -ENOMEM;
	rc = d->is_open ? 0 : read_header(d, &w);
	if (rc == 0 && d->is_open)
		rc = read_records(d, &w);
	mem_free(w.bytes);
	for (size_t i = before; i < d->nr_places; i++)
		d->nr_late += d->places[i].time_ns < last_ns;
	last = d->nr_places == before ? 0 : arrange(d);
	return last ?: rc;
}

void jitdump_fini(struct jitdump *d)
{
	for (size_t i = 0; i < d->nr_codes; i++) {
		if (d->codes[i].lines)
			jitdump_lines_fini(d->codes[i].lines);
		mem_free(d->codes[i].lines);
		mem_free(d->codes[i].table);
	}
	mem_free(d->codes);
	mem_free(d->places);
	buf_fini(&d->names);
	cover_fini(&d->cover);
	*d = (struct jitdump){.next = 0};
}

uint32_t jitdump_nr_until(const struct jitdump *d, uint64_t time_ns)
{
	return (uint32_t)ORDER_FIRST(i, d->nr_places, d->places[i].time_ns > time_ns);
}

const struct jitdump_place *jitdump_find(const struct jitdump *d, uint64_t address,
					 uint64_t time_ns)
{
	uint64_t start, end;
	uint32_t i = cover_find(&d->cover, jitdump_nr_until(d, time_ns), address, &start, &end);

	return i == COVER_NONE ? NULL : &d->places[i];
}

struct jitdump_code *jitdump_code_at(const struct jitdump *d, uint64_t offset)
{
	const size_t next = ORDER_FIRST(i, d->nr_codes, d->codes[i].offset > offset);
	struct jitdump_code *c = next ? &d->codes[next - 1] : NULL;

	return c && offset - c->offset < c->size ? c : NULL;
}

const char *jitdump_name(const struct jitdump *d, const struct jitdump_code *c)
{
	return (const char *)d->names.data + c->name;
}
