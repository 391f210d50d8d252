/*
 * Tables of typed columns, for people and for machines. A cell is written as text when it is
 * appended: for machines that is all; for people its place and width are kept until those of all
 * are known. Knows nothing of what the columns mean.
 */
#include "screen/grid.h"

#include "base/buf.h"
#include "base/json_writer.h"
#include "base/mem.h"
#include "base/str.h"
#include "screen/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	GAP = 2, /* blanks between columns */
	INDENT = 2,
	MAX_NAME_BYTES = 128, /* of a field */
	MAX_DEPTH = 40,
	MIN_CUT_WIDTH = 16,
	MAX_COLUMN_WIDTH = 256, /* what is wider moves the rest of its own line only */
};

static const char ELLIPSIS[] = "…", BOLD[] = "\033[1m", RED[] = "\033[31m", GREEN[] = "\033[32m",
		  NORMAL[] = "\033[0m";

/* What of a row people see: its beginning, a cell, or that it is a line of its own. */
enum look { LOOK_ROW, LOOK_LINE, LOOK_CELL, LOOK_MORE, LOOK_LESS };

struct piece {
	uint32_t offset, len; /* in the grid's text */
	uint32_t width;       /* columns of the terminal */
	uint8_t column;
	uint8_t look;
};

struct grid {
	const struct grid_column *columns;
	size_t nr_columns;
	struct grid_options options;
	size_t at;               /* the column of the next cell */
	bool is_open;            /* a row has begun */
	bool is_begun;           /* CSV: the row has a field */
	struct json_writer json; /* of the row, in text */
	bool has_header;         /* it is written */
	int error;               /* other than the text's */
	struct buf text;         /* lines for machines, the text of pieces for people */
	struct piece *pieces;
	size_t nr_pieces, room;
	unsigned width[GRID_MAX_COLUMNS]; /* of the columns, so far */
};

union value {
	const char *text;
	uint64_t count;
	struct {
		double x, half;
		bool is_certain;
	} real;
	const struct share_interval *share;
	bool flag;
};

static const char *unit_of(const struct grid_column *c)
{
	return c->unit ? c->unit : "";
}

static bool is_printable(char c)
{
	return c >= ' ' && c < 0x7f;
}

/* "?" for what a terminal may obey and for bytes that are not UTF-8, which have no width. */
static void add_clean(struct buf *b, const char *s)
{
	while (*s) {
		size_t n = 0;
		bool is_clean = true;

		while (is_printable(s[n]))
			n++;
		if (!n) {
			n = str_character(s, strnlen(s, 4));
			is_clean = n > 1 && !(*s == '\xc2' && (unsigned char)s[1] < 0xa0);
		}
		buf_add(b, is_clean ? s : "?", is_clean ? n : 1);
		s += n ? n : 1;
	}
}

/* Percent; four characters for the half, so that a column is even. */
static void show_share(struct buf *b, const struct grid_column *c, const union value *v)
{
	double half = 100 * share_interval_half(v->share);
	unsigned decimals = half < 9.995 ? 2 : 1;

	(void)c;
	screen_decimal(b, 100 * v->share->share, decimals);
	buf_adds(b, " % ± ");
	screen_decimal(b, half, decimals);
}

static void show_text(struct buf *b, const struct grid_column *c, const union value *v)
{
	(void)c;
	add_clean(b, v->text);
}

static void show_count(struct buf *b, const struct grid_column *c, const union value *v)
{
	(void)c;
	buf_u64_commas(b, v->count);
}

static void show_amount(struct buf *b, const struct grid_column *c, const union value *v)
{
	screen_human(b, (double)v->count, unit_of(c));
}

static void show_real(struct buf *b, const struct grid_column *c, const union value *v)
{
	screen_metric_human(b, v->real.x, unit_of(c));
}

static void add_percent(struct buf *b, const struct grid_column *c, double part)
{
	screen_decimal(b, 100 * fabs(part), 2);
	buf_adds(b, *unit_of(c) ? " " : "");
	buf_adds(b, unit_of(c));
}

static void show_percent(struct buf *b, const struct grid_column *c, const union value *v)
{
	buf_adds(b, v->real.x < 0 ? "-" : "");
	add_percent(b, c, v->real.x);
}

static void show_change(struct buf *b, const struct grid_column *c, const union value *v)
{
	buf_adds(b, v->real.x < 0 ? "-" : "+");
	add_percent(b, c, v->real.x);
}

static void show_shift(struct buf *b, const struct grid_column *c, const union value *v)
{
	show_change(b, c, v);
	if (!(v->real.half > 0))
		return;
	buf_adds(b, " ± ");
	screen_decimal(b, 100 * v->real.half, 2);
}

static void show_address(struct buf *b, const struct grid_column *c, const union value *v)
{
	(void)c;
	buf_printf(b, "0x%llx", (unsigned long long)v->count);
}

static void show_flag(struct buf *b, const struct grid_column *c, const union value *v)
{
	(void)c;
	buf_adds(b, v->flag ? "yes" : "");
}

/* Of a kind's fields, the one of that number. */
static void give_text(struct buf *b, enum grid_form form, const union value *v, size_t part)
{
	(void)part;
	if (form == GRID_CSV)
		buf_csv_field(b, v->text);
	else
		buf_json_string(b, v->text);
}

static void give_count(struct buf *b, enum grid_form form, const union value *v, size_t part)
{
	(void)form, (void)part;
	buf_u64(b, v->count);
}

static void give_real(struct buf *b, enum grid_form form, const union value *v, size_t part)
{
	(void)form, (void)part;
	screen_metric(b, v->real.x);
}

static void add_part(struct buf *b, double part_of_1)
{
	buf_adds(b, part_of_1 < 0 ? "-" : "");
	screen_decimal(b, 100 * fabs(part_of_1), 6);
}

static void give_share(struct buf *b, enum grid_form form, const union value *v, size_t part)
{
	(void)form;
	add_part(b, part == 0 ? v->share->share : part == 1 ? v->share->low : v->share->high);
}

static void give_percent(struct buf *b, enum grid_form form, const union value *v, size_t part)
{
	(void)form, (void)part;
	add_part(b, v->real.x);
}

static void give_shift(struct buf *b, enum grid_form form, const union value *v, size_t part)
{
	if (part == 0)
		add_part(b, v->real.x);
	else if (v->real.half > 0)
		add_part(b, v->real.half);
	else if (form == GRID_NDJSON)
		buf_adds(b, "null");
}

static void give_address(struct buf *b, enum grid_form form, const union value *v, size_t part)
{
	(void)part;
	buf_adds(b, form == GRID_NDJSON ? "\"" : "");
	show_address(b, NULL, v);
	buf_adds(b, form == GRID_NDJSON ? "\"" : "");
}

static void give_flag(struct buf *b, enum grid_form form, const union value *v, size_t part)
{
	(void)form, (void)part;
	buf_adds(b, v->flag ? "true" : "false");
}

enum { MAX_PARTS = 3 };

static const struct kind {
	void (*show)(struct buf *b, const struct grid_column *c, const union value *v);
	void (*give)(struct buf *b, enum grid_form form, const union value *v, size_t part);
	const char *suffix[MAX_PARTS]; /* of the fields for machines, up to the first NULL */
	bool is_left;
} kinds[GRID_NR_KINDS] = {
    [GRID_TEXT] = {show_text, give_text, {""}, true},
    [GRID_COUNT] = {show_count, give_count, {""}},
    [GRID_AMOUNT] = {show_amount, give_count, {""}},
    [GRID_REAL] = {show_real, give_real, {""}},
    [GRID_PERCENT] = {show_percent, give_percent, {""}},
    [GRID_SHARE] = {show_share, give_share, {"", "_low", "_high"}},
    [GRID_CHANGE] = {show_change, give_percent, {""}},
    [GRID_SHIFT] = {show_shift, give_shift, {"", "_half"}},
    [GRID_ADDRESS] = {show_address, give_address, {""}},
    [GRID_FLAG] = {show_flag, give_flag, {""}, true},
};

static bool is_for(const struct grid_column *c, enum grid_form form)
{
	return c->audience != (form == GRID_PEOPLE ? GRID_ONLY_MACHINES : GRID_ONLY_PEOPLE);
}

static const char *header_of(const struct grid_column *c)
{
	return c->header ? c->header : c->name;
}

static void grow(unsigned *width, unsigned need)
{
	need = need < MAX_COLUMN_WIDTH ? need : MAX_COLUMN_WIDTH;
	*width = *width < need ? need : *width;
}

struct grid *grid_new(const struct grid_column *columns, size_t nr,
		      const struct grid_options *options)
{
	struct grid *g = nr <= GRID_MAX_COLUMNS ? mem_zalloc(sizeof(*g)) : NULL;

	if (!g)
		return NULL;
	g->columns = columns;
	g->nr_columns = nr;
	g->options = *options;
	buf_init(&g->text, GRID_MAX_BYTES);
	for (size_t i = 0; i < nr; i++)
		grow(&g->width[i], screen_width(header_of(&columns[i])));
	return g;
}

void grid_free(struct grid *g)
{
	if (!g)
		return;
	buf_fini(&g->text);
	mem_free(g->pieces);
	mem_free(g);
}

int grid_error(const struct grid *g)
{
	return g->error ? g->error : buf_error(&g->text);
}

static void fail(struct grid *g, int error)
{
	if (!g->error)
		g->error = error;
}

/* --- machines -------------------------------------------------------------------------------- */

/* Writes what precedes a field's value: its comma, and in JSON its name. */
static void begin_field(struct grid *g, const char *name, const char *suffix)
{
	char whole[MAX_NAME_BYTES];

	if (g->options.form == GRID_NDJSON) {
		if (*suffix)
			snprintf(whole, sizeof(whole), "%s%s", name, suffix);
		jsonw_key(&g->json, *suffix ? whole : name);
		return;
	}
	if (g->is_begun)
		buf_addc(&g->text, ',');
	g->is_begun = true;
}

/* v is NULL for an empty cell. */
static void give(struct grid *g, const struct grid_column *c, const union value *v)
{
	const struct kind *kind = &kinds[c->kind];

	for (size_t i = 0; i < MAX_PARTS && kind->suffix[i]; i++) {
		begin_field(g, c->name, kind->suffix[i]);
		if (v)
			kind->give(&g->text, g->options.form, v, i);
		else if (g->options.form == GRID_NDJSON)
			buf_adds(&g->text, "null");
	}
}

static void begin_line(struct grid *g)
{
	bool is_json = g->options.form == GRID_NDJSON;

	g->is_begun = false;
	if (is_json) {
		jsonw_init(&g->json, &g->text, false);
		jsonw_object(&g->json, NULL);
		jsonw_text(&g->json, "report", g->options.report);
	}
	if (!g->options.session)
		return;
	begin_field(g, "session", "");
	give_text(&g->text, g->options.form, &(union value){.text = g->options.session}, 0);
}

static void end_line(struct grid *g)
{
	if (g->options.form == GRID_NDJSON)
		jsonw_end(&g->json);
	buf_addc(&g->text, '\n');
}

static void csv_header(const struct grid *g, struct buf *out)
{
	const char *separator = g->options.session ? "," : "";

	buf_adds(out, g->options.session ? "session" : "");
	for (size_t i = 0; i < g->nr_columns; i++) {
		const struct kind *kind = &kinds[g->columns[i].kind];

		for (size_t k = 0; k < MAX_PARTS && kind->suffix[k]; k++) {
			if (!is_for(&g->columns[i], GRID_CSV))
				break;
			buf_adds(out, separator);
			buf_adds(out, g->columns[i].name);
			buf_adds(out, kind->suffix[k]);
			separator = ",";
		}
	}
	buf_addc(out, '\n');
}

/* --- people ---------------------------------------------------------------------------------- */

/* Keeps the text from offset on as a piece. */
static void keep(struct grid *g, size_t offset, size_t column, enum look look)
{
	struct piece *p;

	if (grid_error(g) || (look >= LOOK_CELL && offset == g->text.len))
		return;
	if (g->nr_pieces >= GRID_MAX_BYTES / sizeof(*p)) {
		fail(g, -EFBIG);
		return;
	}
	p = mem_grow(g->pieces, g->nr_pieces, &g->room, sizeof(*p));
	if (!p) {
		fail(g, -ENOMEM);
		return;
	}
	g->pieces = p;
	p += g->nr_pieces++;
	*p = (struct piece){.offset = (uint32_t)offset,
			    .len = (uint32_t)(g->text.len - offset),
			    .width = screen_width(buf_str(&g->text) + offset),
			    .column = (uint8_t)column,
			    .look = (uint8_t)look};
	if (look >= LOOK_CELL)
		grow(&g->width[column], p->width);
}

static enum look look_of(enum grid_kind kind, const union value *v)
{
	if ((kind != GRID_CHANGE && kind != GRID_SHIFT) || !v->real.is_certain)
		return LOOK_CELL;
	return v->real.x > 0 ? LOOK_MORE : v->real.x < 0 ? LOOK_LESS : LOOK_CELL;
}

static void show(struct grid *g, unsigned depth, const union value *v)
{
	const struct grid_column *c = &g->columns[g->at];
	size_t offset = g->text.len;

	buf_fill(&g->text, ' ', (size_t)INDENT * (depth < MAX_DEPTH ? depth : MAX_DEPTH));
	kinds[c->kind].show(&g->text, c, v);
	keep(g, offset, g->at, look_of(c->kind, v));
}

/* Where the columns stand on a line, and how wide they may be. */
struct layout {
	unsigned x[GRID_MAX_COLUMNS], width[GRID_MAX_COLUMNS];
};

static unsigned whole_width(const struct grid *g, const struct layout *l)
{
	unsigned sum = 0;

	for (size_t i = 0; i < g->nr_columns; i++)
		if (is_for(&g->columns[i], GRID_PEOPLE))
			sum += (sum ? GAP : 0) + l->width[i];
	return sum;
}

/* The widest column of text, of those of equal width the last; NULL if none can be cut. */
static unsigned *widest(const struct grid *g, struct layout *l)
{
	unsigned *w = NULL;

	for (size_t i = 0; i < g->nr_columns; i++)
		if (g->columns[i].kind == GRID_TEXT && is_for(&g->columns[i], GRID_PEOPLE) &&
		    l->width[i] > MIN_CUT_WIDTH && (!w || l->width[i] >= *w))
			w = &l->width[i];
	return w;
}

static void lay_out(const struct grid *g, struct layout *l)
{
	unsigned x = 0, sum, *w;

	memcpy(l->width, g->width, sizeof(l->width));
	sum = whole_width(g, l);
	while (g->options.width && sum > g->options.width && (w = widest(g, l))) {
		(*w)--;
		sum--;
	}
	for (size_t i = 0; i < g->nr_columns; i++) {
		l->x[i] = x;
		if (is_for(&g->columns[i], GRID_PEOPLE))
			x += l->width[i] + GAP;
	}
}

/* Whole characters, width - 1 of them, and an ellipsis. */
static void add_cut(struct buf *out, const char *s, unsigned width)
{
	size_t end = 0;

	for (unsigned n = 0; n + 1 < width; n++)
		do
			end++;
		while (((unsigned char)s[end] & 0xc0) == 0x80);
	buf_add(out, s, end);
	buf_adds(out, ELLIPSIS);
}

/* Puts a cell behind what reaches to column *x of the line. */
static void place(const struct grid *g, const struct layout *l, size_t column, const char *text,
		  size_t len, unsigned width, struct buf *out, unsigned *x)
{
	const struct kind *kind = &kinds[g->columns[column].kind];
	unsigned room = l->width[column], at = l->x[column];
	bool is_cut = g->options.width && kind->is_left && width > room;

	width = is_cut ? room : width;
	if (!kind->is_left && width < room)
		at += room - width;
	if (*x && at < *x + 1)
		at = *x + 1; /* the cell before it was too wide */
	buf_fill(out, ' ', at - *x);
	if (is_cut)
		add_cut(out, text, width);
	else
		buf_add(out, text, len);
	*x = at + width;
}

static void people_header(const struct grid *g, const struct layout *l, struct buf *out)
{
	unsigned x = 0;

	buf_adds(out, g->options.has_color ? BOLD : "");
	for (size_t i = 0; i < g->nr_columns; i++) {
		const char *header = header_of(&g->columns[i]);

		if (is_for(&g->columns[i], GRID_PEOPLE))
			place(g, l, i, header, strlen(header), screen_width(header), out, &x);
	}
	buf_adds(out, g->options.has_color ? NORMAL : "");
	buf_addc(out, '\n');
}

static void people_piece(const struct grid *g, const struct layout *l, const struct piece *p,
			 struct buf *out, unsigned *x)
{
	const char *color = p->look == LOOK_MORE ? RED : p->look == LOOK_LESS ? GREEN : "";

	color = g->options.has_color ? color : "";
	buf_adds(out, color);
	place(g, l, p->column, g->text.data + p->offset, p->len, p->width, out, x);
	buf_adds(out, *color ? NORMAL : "");
}

static void people_pieces(const struct grid *g, const struct layout *l, struct buf *out)
{
	unsigned x = 0;

	for (size_t i = 0; i < g->nr_pieces; i++) {
		const struct piece *p = &g->pieces[i];

		if (p->look >= LOOK_CELL) {
			people_piece(g, l, p, out, &x);
			continue;
		}
		if (i)
			buf_addc(out, '\n');
		buf_add(out, g->text.data ? g->text.data + p->offset : "", p->len);
		x = 0;
	}
	if (g->nr_pieces)
		buf_addc(out, '\n');
}

static void write_people(struct grid *g, struct buf *out)
{
	struct layout l;

	lay_out(g, &l);
	if (!g->has_header)
		people_header(g, &l, out);
	people_pieces(g, &l, out);
	g->nr_pieces = 0;
}

static void write_machines(struct grid *g, struct buf *out)
{
	if (!g->has_header && !g->options.is_continued && g->options.form == GRID_CSV)
		csv_header(g, out);
	buf_add(out, buf_str(&g->text), g->text.len);
}

/* --- rows ------------------------------------------------------------------------------------ */

static void end_row(struct grid *g)
{
	if (!g->is_open)
		return;
	while (g->at < g->nr_columns)
		grid_none(g);
	if (g->options.form != GRID_PEOPLE)
		end_line(g);
	g->is_open = false;
}

void grid_row(struct grid *g)
{
	end_row(g);
	g->at = 0;
	g->is_open = true;
	if (g->options.form == GRID_PEOPLE)
		keep(g, g->text.len, 0, LOOK_ROW);
	else
		begin_line(g);
}

/* The next cell, if its column is of one of the kinds (bits). v NULL: there is none. */
static void cell(struct grid *g, unsigned of_kinds, unsigned depth, const union value *v)
{
	const struct grid_column *c = &g->columns[g->at];

	if (!g->is_open || g->at >= g->nr_columns || !(of_kinds & 1u << c->kind)) {
		fail(g, -EINVAL);
		g->at += g->at < g->nr_columns;
		return;
	}
	if (is_for(c, g->options.form)) {
		if (g->options.form != GRID_PEOPLE)
			give(g, c, v);
		else if (v)
			show(g, depth, v);
	}
	g->at++;
}

enum { ANY_KIND = (1u << GRID_NR_KINDS) - 1 };

void grid_text(struct grid *g, const char *s)
{
	cell(g, 1u << GRID_TEXT, 0, &(union value){.text = s});
}

void grid_tree(struct grid *g, unsigned depth, const char *s)
{
	cell(g, 1u << GRID_TEXT, depth, &(union value){.text = s});
}

void grid_count(struct grid *g, uint64_t n)
{
	cell(g, 1u << GRID_COUNT | 1u << GRID_AMOUNT | 1u << GRID_ADDRESS, 0,
	     &(union value){.count = n});
}

static void real(struct grid *g, enum grid_kind kind, double x, double half, bool is_certain)
{
	if (isfinite(x) && isfinite(half))
		cell(g, 1u << kind, 0, &(union value){.real = {x, half, is_certain}});
	else
		grid_na(g);
}

void grid_real(struct grid *g, double x)
{
	real(g, GRID_REAL, x, 0, false);
}

void grid_percent(struct grid *g, double part)
{
	real(g, GRID_PERCENT, part, 0, false);
}

void grid_share(struct grid *g, const struct share_interval *share)
{
	cell(g, 1u << GRID_SHARE, 0, &(union value){.share = share});
}

void grid_change(struct grid *g, double x, bool is_certain)
{
	real(g, GRID_CHANGE, x, 0, is_certain);
}

void grid_shift(struct grid *g, double x, double half, bool is_certain)
{
	real(g, GRID_SHIFT, x, half, is_certain);
}

void grid_flag(struct grid *g, bool is_set)
{
	cell(g, 1u << GRID_FLAG, 0, &(union value){.flag = is_set});
}

void grid_none(struct grid *g)
{
	cell(g, ANY_KIND, 0, NULL);
}

void grid_na(struct grid *g)
{
	size_t at = g->at;

	cell(g, ANY_KIND, 0, NULL);
	if (g->options.form != GRID_PEOPLE || at == g->at || !is_for(&g->columns[at], GRID_PEOPLE))
		return;
	buf_adds(&g->text, "n/a");
	keep(g, g->text.len - strlen("n/a"), at, LOOK_CELL);
}

void grid_line(struct grid *g, const char *text)
{
	size_t offset;

	end_row(g);
	if (g->options.form != GRID_PEOPLE)
		return;
	offset = g->text.len;
	add_clean(&g->text, text);
	keep(g, offset, 0, LOOK_LINE);
}

int grid_write(struct grid *g, struct buf *out)
{
	end_row(g);
	if (grid_error(g))
		return grid_error(g);
	if (g->options.form == GRID_PEOPLE)
		write_people(g, out);
	else
		write_machines(g, out);
	g->has_header = true;
	buf_reset(&g->text);
	return buf_error(out);
}
