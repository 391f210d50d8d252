/*
 * The rows of a row group are held by column: numbers as they are, texts as numbers of a
 * dictionary. At its end each column is written as a dictionary page, where that is shorter, and
 * one data page.
 */
#include "export/parquet.h"

#include "base/buf.h"
#include "base/dict.h"
#include "base/mem.h"
#include "base/str.h"
#include "export/parquet_run.h"
#include "export/thrift.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#define ZSTD_STATIC_LINKING_ONLY /* for contexts on our heap */
#include <zstd.h>

enum {
	LEVEL = 3,
	MAX_PAGE_BYTES = 1 << 30,
	MAX_FOOTER_BYTES = 256 << 20,
	MAX_LIMIT_BYTES = 256, /* longer texts are not the least or greatest of a column */
	MAX_ENTRIES = 16 << 10,
	/* Of the format: */
	MAGIC_BYTES = 4,
	PAGE_DATA = 0,
	PAGE_DICTIONARY = 2,
	ENCODING_PLAIN = 0,
	ENCODING_RLE = 3,
	ENCODING_DICTIONARY = 8,
	CODEC_ZSTD = 6,
};
static const char magic[] = "PAR1";

/* The physical type; the number of the converted type, for old readers. */
static const struct {
	int type, converted;
} types[] = {
    [PARQUET_I64] = {2, 18},  [PARQUET_U64] = {2, 14}, [PARQUET_REAL] = {5, -1},
    [PARQUET_BOOL] = {0, -1}, [PARQUET_TEXT] = {6, 0}, [PARQUET_TIME] = {2, -1},
};

struct column {
	const struct parquet_column *of;
	uint64_t *values; /* owned; of rows that have one; of texts their numbers */
	size_t nr, room;
	uint8_t *is_set; /* owned; by row */
	size_t room_set;
	struct dict texts;
	size_t text_bytes;   /* as they would be written one by one */
	size_t unique_bytes; /* each once */
};

struct parquet {
	struct column columns[PARQUET_MAX_COLUMNS];
	size_t nr_columns, nr_rows; /* of the row group */
	uint64_t nr_all_rows, offset;
	int nr_groups;
	size_t group_bytes;      /* of texts */
	struct buf page, groups; /* groups: their part of the footer */
	struct buf text;         /* made valid */
	uint32_t *numbers;       /* owned; scratch, by row */
	ZSTD_CCtx *zstd;
};

static void *heap_alloc(void *opaque, size_t size)
{
	(void)opaque;
	return mem_alloc(size);
}

static void heap_free(void *opaque, void *p)
{
	(void)opaque;
	mem_free(p);
}

static void init_texts(struct column *c)
{
	/* Beyond the row group's limit, the text that exceeds it. */
	dict_init_texts(&c->texts, sizeof(const char *), PARQUET_GROUP_ROWS,
			4 * PARQUET_GROUP_BYTES);
}

struct parquet *parquet_new(const struct parquet_column *columns, size_t nr)
{
	static const ZSTD_customMem heap = {heap_alloc, heap_free, NULL};
	struct parquet *p = nr <= PARQUET_MAX_COLUMNS ? mem_zalloc(sizeof(*p)) : NULL;

	if (!p)
		return NULL;
	p->nr_columns = nr;
	for (size_t i = 0; i < nr; i++) {
		p->columns[i].of = &columns[i];
		init_texts(&p->columns[i]);
	}
	buf_init(&p->page, MAX_PAGE_BYTES);
	buf_init(&p->groups, MAX_FOOTER_BYTES);
	buf_init(&p->text, 3 * PARQUET_TEXT_BYTES);
	p->zstd = ZSTD_createCCtx_advanced(heap);
	if (p->zstd &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, LEVEL)))
		return p;
	parquet_free(p);
	return NULL;
}

void parquet_free(struct parquet *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nr_columns; i++) {
		mem_free(p->columns[i].values);
		mem_free(p->columns[i].is_set);
		dict_fini(&p->columns[i].texts);
	}
	buf_fini(&p->page);
	buf_fini(&p->groups);
	buf_fini(&p->text);
	mem_free(p->numbers);
	ZSTD_freeCCtx(p->zstd);
	mem_free(p);
}

/* --- pages ----------------------------------------------------------------------------------- */

/* Where a column's pages are in the file. */
struct chunk {
	uint64_t dictionary, data, packed_bytes, bytes; /* offsets; 0: no dictionary */
	int encoding;
};

static uint64_t place(const struct parquet *p, const struct buf *out, size_t start)
{
	return p->offset + (out->len - start);
}

static void put_header(const struct parquet *p, struct thrift *t, bool is_dictionary, size_t packed,
		       size_t nr, int encoding)
{
	thrift_i32(t, 1, is_dictionary ? PAGE_DICTIONARY : PAGE_DATA);
	thrift_i32(t, 2, (int32_t)p->page.len);
	thrift_i32(t, 3, (int32_t)packed);
	THRIFT_STRUCT(t, is_dictionary ? 7 : 5)
	{
		thrift_i32(t, 1, (int32_t)nr);
		thrift_i32(t, 2, encoding);
		if (!is_dictionary) {
			thrift_i32(t, 3, ENCODING_RLE); /* of definition levels */
			thrift_i32(t, 4, ENCODING_RLE);
		}
	}
	thrift_end(t);
}

/* Appends p->page as a page, and empties it. */
static void put_page(struct parquet *p, bool is_dictionary, size_t nr, struct chunk *k,
		     struct buf *out)
{
	size_t room = ZSTD_compressBound(p->page.len), start = out->len, header;
	BUF_AUTO(packed, MAX_PAGE_BYTES + (MAX_PAGE_BYTES >> 4));
	char *to = buf_error(&p->page) ? NULL : buf_reserve(&packed, room);
	struct thrift t = {.out = out};

	if (!to) {
		out->error = out->error ?: buf_error(&p->page) ?: buf_error(&packed);
		return;
	}
	room = ZSTD_compress2(p->zstd, to, room, buf_str(&p->page), p->page.len);
	if (ZSTD_isError(room)) { /* the bound was kept: no memory */
		out->error = out->error ?: -ENOMEM;
		return;
	}
	put_header(p, &t, is_dictionary, room, nr, is_dictionary ? ENCODING_PLAIN : k->encoding);
	header = out->len - start;
	buf_add(out, to, room);
	k->packed_bytes += header + room;
	k->bytes += header + p->page.len;
	buf_reset(&p->page);
}

static void put_text(struct buf *b, const char *s)
{
	size_t len = strlen(s);

	buf_le32(b, (uint32_t)len);
	buf_add(b, s, len);
}

static void put_plain(struct buf *b, const struct column *c, const uint64_t *values, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (c->of->type == PARQUET_TEXT)
			put_text(b, dict_text(&c->texts, (uint32_t)values[i]));
		else
			buf_le64(b, values[i]);
}

static void put_bits(struct buf *b, const uint64_t *values, size_t nr)
{
	for (size_t i = 0; i < nr; i += 8) {
		unsigned bits = 0;

		for (size_t k = i; k < i + 8 && k < nr; k++)
			bits |= (unsigned)(values[k] != 0) << (k - i);
		buf_addc(b, (char)bits);
	}
}

/* Which rows have a value: a level of 1. */
static void put_levels(struct parquet *p, const struct column *c)
{
	size_t start = p->page.len;
	uint32_t len;

	if (c->of->is_required)
		return;
	for (size_t i = 0; i < p->nr_rows; i++)
		p->numbers[i] = c->is_set[i];
	buf_le32(&p->page, 0);
	parquet_run_add(&p->page, p->numbers, p->nr_rows, 1);
	if (buf_error(&p->page))
		return;
	len = (uint32_t)(p->page.len - start - sizeof(len));
	for (size_t i = 0; i < sizeof(len); i++)
		p->page.data[start + i] = (char)(len >> 8 * i);
}

static bool is_shorter(size_t nr_entries, size_t entry_bytes, size_t nr, size_t plain_bytes)
{
	unsigned width = parquet_run_width((uint32_t)(nr_entries ? nr_entries - 1 : 0));

	return entry_bytes + nr * width / 8 < plain_bytes;
}

/* Of numbers; texts have theirs already. False: it would not be shorter; entries are undefined. */
static bool number_entries(struct column *c, struct dict *entries, uint32_t *numbers)
{
	dict_init(entries, sizeof(uint64_t), sizeof(uint64_t), MAX_ENTRIES);
	for (size_t i = 0; i < c->nr; i++) {
		numbers[i] = dict_add(entries, &c->values[i]);
		if (numbers[i] == DICT_NONE || entries->nr * 2 > c->nr + 1)
			return false;
	}
	return is_shorter(entries->nr, entries->nr * sizeof(uint64_t), c->nr,
			  c->nr * sizeof(uint64_t));
}

static void put_numbers(struct parquet *p, size_t nr, size_t nr_entries)
{
	unsigned width = parquet_run_width((uint32_t)(nr_entries ? nr_entries - 1 : 0));

	buf_addc(&p->page, (char)width);
	parquet_run_add(&p->page, p->numbers, nr, width);
}

static void put_with_dictionary(struct parquet *p, struct column *c, const uint64_t *entries,
				size_t nr_entries, struct chunk *k, struct buf *out)
{
	k->dictionary = k->data;
	k->encoding = ENCODING_DICTIONARY;
	put_plain(&p->page, c, entries, nr_entries);
	put_page(p, true, nr_entries, k, out);
	k->data = k->dictionary + k->packed_bytes;
	put_levels(p, c);
	/* The levels used the scratch numbers. */
	if (c->of->type == PARQUET_TEXT)
		for (size_t i = 0; i < c->nr; i++)
			p->numbers[i] = (uint32_t)c->values[i];
}

static void put_texts(struct parquet *p, struct column *c, struct chunk *k, struct buf *out)
{
	size_t nr = c->texts.nr;
	uint64_t *entries;

	if (!is_shorter(nr, c->unique_bytes, c->nr, c->text_bytes)) {
		put_levels(p, c);
		put_plain(&p->page, c, c->values, c->nr);
		return;
	}
	entries = mem_alloc(nr * sizeof(*entries));
	if (!entries) {
		out->error = out->error ?: -ENOMEM;
		return;
	}
	for (size_t i = 0; i < nr; i++)
		entries[i] = i;
	put_with_dictionary(p, c, entries, nr, k, out);
	put_numbers(p, c->nr, nr);
	mem_free(entries);
}

static void put_values(struct parquet *p, struct column *c, struct chunk *k, struct buf *out)
{
	struct dict entries;

	if (number_entries(c, &entries, p->numbers)) {
		put_with_dictionary(p, c, entries.items, entries.nr, k, out);
		for (size_t i = 0; i < c->nr; i++)
			p->numbers[i] = dict_find(&entries, &c->values[i]);
		put_numbers(p, c->nr, entries.nr);
	} else {
		put_levels(p, c);
		put_plain(&p->page, c, c->values, c->nr);
	}
	dict_fini(&entries);
}

/* --- the footer ------------------------------------------------------------------------------ */

static double real_of(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static bool is_less(const struct column *c, uint64_t a, uint64_t b)
{
	switch (c->of->type) {
	case PARQUET_TEXT:
		return strcmp(dict_text(&c->texts, (uint32_t)a),
			      dict_text(&c->texts, (uint32_t)b)) < 0;
	case PARQUET_REAL:
		return real_of(a) < real_of(b);
	case PARQUET_U64:
	case PARQUET_BOOL:
		return a < b;
	default:
		return (int64_t)a < (int64_t)b;
	}
}

/* False: the column has none. */
static bool find_limits(const struct column *c, uint64_t *least, uint64_t *greatest)
{
	for (size_t i = 0; i < c->nr; i++) {
		uint64_t v = c->values[i];

		if (c->of->type == PARQUET_REAL && isnan(real_of(v)))
			return false;
		if (i == 0 || is_less(c, v, *least))
			*least = v;
		if (i == 0 || is_less(c, *greatest, v))
			*greatest = v;
	}
	return c->nr != 0;
}

static void put_limit(struct thrift *t, int field, const struct column *c, uint64_t v, bool is_max)
{
	BUF_AUTO(bytes, 64);

	/* Of zeros, which are equal, the format wants -0 as the least and +0 as the greatest. */
	if (c->of->type == PARQUET_REAL && real_of(v) == 0)
		v = is_max ? 0 : (uint64_t)1 << 63;
	if (c->of->type == PARQUET_TEXT) {
		thrift_text(t, field, dict_text(&c->texts, (uint32_t)v));
		return;
	}
	buf_le64(&bytes, v);
	if (buf_error(&bytes))
		t->out->error = t->out->error ?: buf_error(&bytes);
	else
		thrift_binary(t, field, bytes.data, c->of->type == PARQUET_BOOL ? 1 : bytes.len);
}

static bool is_short(const struct column *c, uint64_t v)
{
	return c->of->type != PARQUET_TEXT ||
	       strlen(dict_text(&c->texts, (uint32_t)v)) <= MAX_LIMIT_BYTES;
}

static void put_statistics(struct thrift *t, const struct column *c, size_t nr_rows)
{
	uint64_t least = 0, greatest = 0;
	bool has = find_limits(c, &least, &greatest) && is_short(c, least) && is_short(c, greatest);

	thrift_i64(t, 3, (int64_t)(nr_rows - c->nr));
	if (has) {
		put_limit(t, 5, c, greatest, true);
		put_limit(t, 6, c, least, false);
	}
}

static void put_chunk(struct thrift *t, const struct column *c, size_t nr_rows,
		      const struct chunk *k)
{
	bool has_dictionary = k->dictionary != 0;

	THRIFT_STRUCT(t, 0)
	{
		thrift_i64(t, 2, 0); /* deprecated: where a copy of the following is */
		THRIFT_STRUCT(t, 3)
		{
			thrift_i32(t, 1, types[c->of->type].type);
			thrift_list(t, 2, THRIFT_TYPE_I32, 2 + has_dictionary);
			thrift_item_i32(t, ENCODING_PLAIN);
			thrift_item_i32(t, ENCODING_RLE);
			if (has_dictionary)
				thrift_item_i32(t, ENCODING_DICTIONARY);
			thrift_list(t, 3, THRIFT_TYPE_BINARY, 1);
			thrift_item_text(t, c->of->name);
			thrift_i32(t, 4, CODEC_ZSTD);
			thrift_i64(t, 5, (int64_t)nr_rows);
			thrift_i64(t, 6, (int64_t)k->bytes);
			thrift_i64(t, 7, (int64_t)k->packed_bytes);
			thrift_i64(t, 9, (int64_t)k->data);
			if (has_dictionary)
				thrift_i64(t, 11, (int64_t)k->dictionary);
			THRIFT_STRUCT(t, 12) put_statistics(t, c, nr_rows);
		}
	}
}

static void put_logical_type(struct thrift *t, enum parquet_type type)
{
	switch (type) {
	case PARQUET_TEXT:
		THRIFT_STRUCT(t, 1)
		{
		}
		break;
	case PARQUET_TIME:
		THRIFT_STRUCT(t, 8)
		{
			thrift_bool(t, 1, false); /* readers must not convert it to a zone */
			THRIFT_STRUCT(t, 2)
			{
				THRIFT_STRUCT(t, 3)
				{
				} /* ns */
			}
		}
		break;
	default:
		THRIFT_STRUCT(t, 10)
		{
			thrift_i8(t, 1, 64);
			thrift_bool(t, 2, type != PARQUET_U64);
		}
	}
}

static void put_schema(struct thrift *t, const struct parquet *p)
{
	thrift_list(t, 2, THRIFT_TYPE_STRUCT, p->nr_columns + 1);
	THRIFT_STRUCT(t, 0)
	{
		thrift_text(t, 4, "schema");
		thrift_i32(t, 5, (int32_t)p->nr_columns);
	}
	for (size_t i = 0; i < p->nr_columns; i++) {
		const struct parquet_column *c = p->columns[i].of;

		THRIFT_STRUCT(t, 0)
		{
			thrift_i32(t, 1, types[c->type].type);
			thrift_i32(t, 3, !c->is_required); /* 0: required, 1: optional */
			thrift_text(t, 4, c->name);
			if (types[c->type].converted >= 0)
				thrift_i32(t, 6, types[c->type].converted);
			if (c->type != PARQUET_REAL && c->type != PARQUET_BOOL)
				THRIFT_STRUCT(t, 10) put_logical_type(t, c->type);
		}
	}
}

static void put_footer(const struct parquet *p, const struct parquet_fact *facts, size_t nr,
		       struct buf *out)
{
	struct thrift t = {.out = out};

	thrift_i32(&t, 1, 2);
	put_schema(&t, p);
	thrift_i64(&t, 3, (int64_t)p->nr_all_rows);
	thrift_list(&t, 4, THRIFT_TYPE_STRUCT, (size_t)p->nr_groups);
	buf_add(out, p->groups.data, p->groups.len);
	if (nr)
		thrift_list(&t, 5, THRIFT_TYPE_STRUCT, nr);
	for (size_t i = 0; i < nr; i++)
		THRIFT_STRUCT(&t, 0)
		{
			thrift_text(&t, 1, facts[i].key);
			thrift_text(&t, 2, facts[i].value);
		}
	thrift_text(&t, 6, "cpuperf");
	/* The least and the greatest value are by the order of the type. */
	thrift_list(&t, 7, THRIFT_TYPE_STRUCT, p->nr_columns);
	for (size_t i = 0; i < p->nr_columns; i++)
		THRIFT_STRUCT(&t, 0)
		{
			THRIFT_STRUCT(&t, 1)
			{
			}
		}
	thrift_end(&t);
}

/* --- rows ------------------------------------------------------------------------------------ */

static void put_column(struct parquet *p, struct column *c, struct thrift *t, size_t start,
		       uint64_t sizes[2], struct buf *out)
{
	struct chunk k = {.data = place(p, out, start), .encoding = ENCODING_PLAIN};

	if (c->of->type == PARQUET_TEXT) {
		put_texts(p, c, &k, out);
	} else if (c->of->type == PARQUET_BOOL) {
		put_levels(p, c);
		put_bits(&p->page, c->values, c->nr);
	} else {
		put_values(p, c, &k, out);
	}
	put_page(p, false, p->nr_rows, &k, out);
	put_chunk(t, c, p->nr_rows, &k);
	sizes[0] += k.bytes;
	sizes[1] += k.packed_bytes;
}

static void empty(struct parquet *p)
{
	for (size_t i = 0; i < p->nr_columns; i++) {
		struct column *c = &p->columns[i];

		c->nr = c->text_bytes = c->unique_bytes = 0;
		dict_fini(&c->texts);
		init_texts(c);
	}
	p->nr_all_rows += p->nr_rows;
	p->nr_rows = p->group_bytes = 0;
}

static int end_group(struct parquet *p, size_t start, struct buf *out)
{
	struct thrift t = {.out = &p->groups};
	uint64_t sizes[2] = {0}, first = place(p, out, start);

	if (!p->nr_rows)
		return 0;
	p->numbers = p->numbers ?: mem_calloc(PARQUET_GROUP_ROWS, sizeof(*p->numbers));
	if (!p->numbers)
		return -ENOMEM;
	thrift_list(&t, 1, THRIFT_TYPE_STRUCT, p->nr_columns);
	for (size_t i = 0; i < p->nr_columns && !buf_error(out); i++)
		put_column(p, &p->columns[i], &t, start, sizes, out);
	thrift_i64(&t, 2, (int64_t)sizes[0]);
	thrift_i64(&t, 3, (int64_t)p->nr_rows);
	thrift_i64(&t, 5, (int64_t)first);
	thrift_i64(&t, 6, (int64_t)sizes[1]);
	thrift_end(&t);
	p->nr_groups++;
	empty(p);
	return buf_error(out) ?: buf_error(&p->groups);
}

/* Valid, and not too long. */
static const char *text_of(struct parquet *p, const char *s, size_t *len)
{
	*len = strnlen(s, PARQUET_TEXT_BYTES);
	if (str_is_utf8(s, *len))
		return s;
	buf_reset(&p->text);
	for (const char *end = s + *len; s < end;) {
		size_t character = str_character(s, (size_t)(end - s));

		if (character)
			buf_add(&p->text, s, character);
		else
			buf_adds(&p->text, "\xef\xbf\xbd");
		s += character ? character : 1;
	}
	*len = p->text.len;
	return buf_str(&p->text);
}

static int number_text(struct parquet *p, struct column *c, const char *s, uint64_t *out)
{
	size_t before = c->texts.nr, len;
	const char *text = text_of(p, s, &len);
	uint32_t number = buf_error(&p->text) ? DICT_NONE : dict_add_text(&c->texts, text, len);

	if (number == DICT_NONE)
		return -ENOMEM;
	c->text_bytes += sizeof(uint32_t) + len;
	if (c->texts.nr > before) {
		c->unique_bytes += sizeof(uint32_t) + len;
		p->group_bytes += sizeof(uint32_t) + len;
	}
	*out = number;
	return 0;
}

static int add_cell(struct parquet *p, struct column *c, const struct parquet_cell *cell)
{
	bool has = cell->has || c->of->is_required;
	uint64_t *values = has ? mem_grow(c->values, c->nr, &c->room, sizeof(*values)) : c->values;
	uint8_t *is_set = mem_grow(c->is_set, p->nr_rows, &c->room_set, sizeof(*is_set));
	int rc = 0;

	c->values = values ?: c->values;
	c->is_set = is_set ?: c->is_set;
	if (!is_set || (has && !values))
		return -ENOMEM;
	is_set[p->nr_rows] = has;
	if (!has)
		return 0;
	if (c->of->type == PARQUET_TEXT)
		rc = number_text(p, c, cell->has ? cell->v.text : "", &values[c->nr]);
	else
		values[c->nr] = cell->has ? cell->v.u64 : 0;
	c->nr += rc == 0;
	return rc;
}

static void put_magic(struct parquet *p, struct buf *out)
{
	if (p->offset)
		return;
	buf_add(out, magic, MAGIC_BYTES);
	p->offset = MAGIC_BYTES;
}

int parquet_row(struct parquet *p, const struct parquet_cell *cells, struct buf *out)
{
	int rc = 0;
	size_t start;

	put_magic(p, out);
	for (size_t i = 0; i < p->nr_columns && rc == 0; i++)
		rc = add_cell(p, &p->columns[i], &cells[i]);
	if (rc)
		return rc;
	p->nr_rows++;
	start = out->len;
	if (p->nr_rows == PARQUET_GROUP_ROWS || p->group_bytes >= PARQUET_GROUP_BYTES)
		rc = end_group(p, start, out);
	p->offset += out->len - start;
	return rc ?: buf_error(out);
}

int parquet_end(struct parquet *p, const struct parquet_fact *facts, size_t nr, struct buf *out)
{
	size_t start;
	int rc;

	put_magic(p, out);
	start = out->len;
	rc = end_group(p, start, out);
	if (rc)
		return rc;
	start = out->len;
	put_footer(p, facts, nr, out);
	buf_le32(out, (uint32_t)(out->len - start));
	buf_add(out, magic, MAGIC_BYTES);
	return buf_error(out);
}
