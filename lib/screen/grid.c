/*
 * Tables of typed columns. A cell becomes text when it is appended: in CSV and NDJSON that is all;
 * as text the layout places it.
 */
#include "screen/grid.h"

#include "base/buf.h"
#include "base/json_writer.h"
#include "base/mem.h"
#include "base/str.h"
#include "screen/layout.h"
#include "screen/number.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	GAP = 2, /* blanks between columns */
	INDENT = 2,
	MAX_NAME_BYTES = 128, /* of a field */
	MAX_DEPTH = 40,
	MIN_CUT_WIDTH = 16,
	MIN_FIT_WIDTH = 8, /* where no more columns can leave */
};

struct grid {
	const struct grid_column *columns;
	size_t nr_columns;
	struct grid_options options;
	size_t at;               /* the column of the next cell */
	bool is_open;            /* a row has begun */
	bool is_begun;           /* CSV: the row has a field */
	struct json_writer json; /* of the row */
	bool has_header;         /* CSV: it is written */
	bool has_changes;        /* text: a column of changes */
	int error;               /* other than the layout's */
	size_t shown;            /* text: the layout's column of the next cell */
	struct layout layout;    /* CSV and NDJSON use only its text */
	struct layout_column width[GRID_MAX_COLUMNS];
};

union value {
	const char *text;
	uint64_t count;
	int64_t integer;
	struct {
		double x, half;
		bool is_certain;
	} real;
	const struct interval *share;
	bool flag;
};

/* A value to write. */
struct field {
	struct buf *b;
	enum grid_form form;
	const char *unit; /* "": none */
	const union value *v;
	size_t part; /* for programs: which of its kind's fields */
};

/* Invisible characters become "?". */
static void add_clean(struct buf *b, const char *s)
{
	while (*s) {
		size_t n = 0;
		bool is_clean = true;

		while (s[n] >= ' ' && s[n] < 0x7f)
			n++;
		if (!n) {
			n = str_character(s, strnlen(s, 4));
			is_clean = n && str_visible(s, n);
		}
		buf_add(b, is_clean ? s : "?", is_clean ? n : 1);
		s += n ? n : 1;
	}
}

static void show_text(const struct field *f)
{
	add_clean(f->b, f->v->text);
}

static void write_text(const struct field *f)
{
	if (f->form == GRID_CSV)
		buf_csv_field(f->b, f->v->text);
	else
		buf_json_string(f->b, f->v->text);
}

static void show_count(const struct field *f)
{
	buf_u64_commas(f->b, f->v->count);
}

static void write_count(const struct field *f)
{
	buf_u64(f->b, f->v->count);
}

static void show_integer(const struct field *f)
{
	buf_adds(f->b, f->v->integer < 0 ? "-" : "");
	buf_u64_commas(f->b,
		       f->v->integer < 0 ? -(uint64_t)f->v->integer : (uint64_t)f->v->integer);
}

static void write_integer(const struct field *f)
{
	screen_signed(f->b, f->v->integer, false);
}

static void add_cpu(const struct field *f)
{
	if (f->v->count != UINT32_MAX)
		buf_u64(f->b, f->v->count);
	else
		buf_adds(f->b, f->form == GRID_NDJSON ? "\"all\"" : "all");
}

static void show_amount(const struct field *f)
{
	screen_human(f->b, (double)f->v->count, f->unit);
}

static void show_real(const struct field *f)
{
	screen_metric_human(f->b, f->v->real.x, f->unit);
}

static void write_real(const struct field *f)
{
	screen_metric(f->b, f->v->real.x);
}

/* Percent; the half has four characters, so that the column is aligned. Of all of a few samples, or
 * of none, only one end says something. */
static void show_share(const struct field *f)
{
	enum { FEW_PERCENT = 5 };
	double half = 100 * interval_half(f->v->share);
	unsigned decimals = half < 9.995 ? 2 : 1;
	const bool is_all = f->v->share->share >= 1, is_none = f->v->share->share <= 0;

	if ((is_all || is_none) && half >= FEW_PERCENT) {
		buf_adds(f->b, is_all ? "≥ " : "≤ ");
		screen_decimal(f->b, 100 * (is_all ? f->v->share->low : f->v->share->high),
			       decimals);
		buf_adds(f->b, " %");
		return;
	}
	screen_decimal(f->b, 100 * f->v->share->share, decimals);
	buf_adds(f->b, " %");
	if (!(half > 0))
		return;
	buf_adds(f->b, " ± ");
	screen_decimal(f->b, half, decimals);
}

/* The half is a part of the amount; where it is no smaller, both ends say more. */
static void show_estimate(const struct field *f)
{
	const struct interval *i = f->v->share;
	double half = i->share > 0 ? 100 * interval_half(i) / i->share : 0;

	if (half >= 100) {
		screen_human(f->b, fmax(i->low, 0), f->unit);
		buf_adds(f->b, " to ");
		screen_human(f->b, i->high, f->unit);
		return;
	}
	screen_human(f->b, i->share, f->unit);
	if (!(half > 0))
		return;
	buf_adds(f->b, " ± ");
	screen_decimal(f->b, half, half < 9.95 ? 1 : 0);
	buf_adds(f->b, " %");
}

static void write_estimate(const struct field *f)
{
	const struct interval *i = f->v->share;
	double x = f->part == 0 ? i->share : f->part == 1 ? i->low : i->high;

	screen_decimal(f->b, x, 0);
}

static void add_percent(const struct field *f, const char *positive)
{
	buf_adds(f->b, f->v->real.x < 0 ? "-" : positive);
	screen_decimal(f->b, 100 * fabs(f->v->real.x), 2);
	buf_adds(f->b, *f->unit ? " " : "");
	buf_adds(f->b, f->unit);
}

static void show_percent(const struct field *f)
{
	add_percent(f, "");
}

static void show_change(const struct field *f)
{
	add_percent(f, "+");
}

static void show_shift(const struct field *f)
{
	show_change(f);
	if (!(f->v->real.half > 0))
		return;
	buf_adds(f->b, " ± ");
	screen_decimal(f->b, 100 * f->v->real.half, 2);
}

/* Part of 1 as percent. */
static void write_part(const struct field *f, double part_of_1)
{
	buf_adds(f->b, part_of_1 < 0 ? "-" : "");
	screen_decimal(f->b, 100 * fabs(part_of_1), 6);
}

static void write_share(const struct field *f)
{
	const struct interval *i = f->v->share;

	write_part(f, f->part == 0 ? i->share : f->part == 1 ? i->low : i->high);
}

static void write_percent(const struct field *f)
{
	write_part(f, f->v->real.x);
}

static void write_shift(const struct field *f)
{
	if (f->part == 0 || f->v->real.half > 0)
		write_part(f, f->part == 0 ? f->v->real.x : f->v->real.half);
	else if (f->form == GRID_NDJSON)
		buf_adds(f->b, "null");
}

static void add_address(const struct field *f)
{
	const char *quote = f->form == GRID_NDJSON ? "\"" : "";

	buf_printf(f->b, "%s0x%llx%s", quote, (unsigned long long)f->v->count, quote);
}

static void show_flag(const struct field *f)
{
	buf_adds(f->b, f->v->flag ? "yes" : "");
}

static void write_flag(const struct field *f)
{
	buf_adds(f->b, f->v->flag ? "true" : "false");
}

enum { MAX_PARTS = 3 };

static const struct kind {
	const char *name;
	void (*show)(const struct field *f);  /* for people */
	void (*write)(const struct field *f); /* for programs */
	const char *suffix[MAX_PARTS];        /* of the fields for programs, up to the first NULL */
	bool is_left;
} kinds[GRID_NR_KINDS] = {
    [GRID_TEXT] = {"text", show_text, write_text, {""}, true},
    [GRID_COUNT] = {"count", show_count, write_count, {""}},
    [GRID_INTEGER] = {"integer", show_integer, write_integer, {""}},
    [GRID_NUMBER] = {"number", write_count, write_count, {""}},
    [GRID_CPU] = {"cpu", add_cpu, add_cpu, {""}},
    [GRID_AMOUNT] = {"amount", show_amount, write_count, {""}},
    [GRID_REAL] = {"real", show_real, write_real, {""}},
    [GRID_PERCENT] = {"percent", show_percent, write_percent, {""}},
    [GRID_SHARE] = {"share", show_share, write_share, {"", "_low", "_high"}},
    [GRID_ESTIMATE] = {"estimate", show_estimate, write_estimate, {"", "_low", "_high"}},
    [GRID_CHANGE] = {"change", show_change, write_percent, {""}},
    [GRID_SHIFT] = {"shift", show_shift, write_shift, {"", "_half"}},
    [GRID_ADDRESS] = {"address", add_address, add_address, {""}},
    [GRID_FLAG] = {"flag", show_flag, write_flag, {""}, true},
};

static bool is_for(const struct grid_column *c, enum grid_form form)
{
	return c->audience != (form == GRID_PEOPLE ? GRID_ONLY_MACHINES : GRID_ONLY_PEOPLE);
}

void grid_describe(const struct grid_column *columns, size_t nr, enum grid_form form,
		   struct buf *out)
{
	struct json_writer json;

	jsonw_init(&json, out, false);
	JSONW_ARRAY(&json, NULL) {
		for (size_t i = 0; i < nr; i++) {
			const struct grid_column *c = &columns[i];

			if (!is_for(c, form))
				continue;
			JSONW_ARRAY(&json, NULL) {
				jsonw_text(&json, NULL, c->name);
				jsonw_text(&json, NULL, kinds[c->kind].name);
				if (c->unit && *c->unit)
					jsonw_text(&json, NULL, c->unit);
			}
		}
	}
}

/* Parts are written as percent, whatever unit people see. */
static const char *field_unit(const struct grid_column *c)
{
	const unsigned parts =
	    1u << GRID_PERCENT | 1u << GRID_SHARE | 1u << GRID_CHANGE | 1u << GRID_SHIFT;

	return parts >> c->kind & 1 ? "%" : c->unit && *c->unit ? c->unit : NULL;
}

static void describe_field(struct json_writer *json, const struct grid_column *c)
{
	const struct kind *kind = &kinds[c->kind];
	char name[MAX_NAME_BYTES];

	JSONW_OBJECT(json, NULL) {
		jsonw_text(json, "name", c->name);
		jsonw_text(json, "kind", kind->name);
		jsonw_text(json, "unit", field_unit(c));
		for (size_t i = 1; i < MAX_PARTS && kind->suffix[i]; i++) {
			snprintf(name, sizeof(name), "%s%s", c->name, kind->suffix[i]);
			jsonw_text(json, kind->suffix[i] + 1, name);
		}
	}
}

void grid_describe_fields(const struct grid_column *columns, size_t nr, enum grid_form form,
			  struct buf *out)
{
	struct json_writer json;

	jsonw_init(&json, out, false);
	JSONW_ARRAY(&json, NULL) {
		for (size_t i = 0; i < nr; i++)
			if (is_for(&columns[i], form))
				describe_field(&json, &columns[i]);
	}
}

/* Makes the layout's columns and its header. */
static void begin_people(struct grid *g)
{
	struct layout *l = &g->layout;

	layout_row(l);
	layout_look(l, LAYOUT_BOLD);
	for (size_t i = 0; i < g->nr_columns; i++) {
		const struct grid_column *c = &g->columns[i];

		if (!is_for(c, GRID_PEOPLE))
			continue;
		g->width[l->nr_columns] =
		    (struct layout_column){.gap = GAP, .is_left = kinds[c->kind].is_left};
		g->has_changes |= c->kind == GRID_CHANGE || c->kind == GRID_SHIFT;
		layout_text(l, l->nr_columns++, c->header ? c->header : c->name);
	}
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
	layout_init(&g->layout, g->width, 0);
	g->layout.has_color = options->has_color;
	if (options->form == GRID_PEOPLE)
		begin_people(g);
	return g;
}

void grid_free(struct grid *g)
{
	if (!g)
		return;
	layout_fini(&g->layout);
	mem_free(g);
}

int grid_error(const struct grid *g)
{
	return g->error ? g->error : layout_error(&g->layout);
}

/* --- CSV and NDJSON -------------------------------------------------------------------------- */

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
		buf_addc(&g->layout.text, ',');
	g->is_begun = true;
}

/* v is NULL for an empty cell. */
static void add_fields(struct grid *g, const struct grid_column *c, const union value *v)
{
	const struct kind *kind = &kinds[c->kind];
	struct field f = {.b = &g->layout.text, .form = g->options.form, .v = v};

	for (; f.part < MAX_PARTS && kind->suffix[f.part]; f.part++) {
		begin_field(g, c->name, kind->suffix[f.part]);
		if (v)
			kind->write(&f);
		else if (g->options.form == GRID_NDJSON)
			buf_adds(&g->layout.text, "null");
	}
}

static void begin_line(struct grid *g)
{
	const union value session = {.text = g->options.session}, host = {.text = g->options.host};

	g->is_begun = false;
	if (g->options.form == GRID_NDJSON) {
		jsonw_init(&g->json, &g->layout.text, false);
		jsonw_object(&g->json, NULL);
		jsonw_text(&g->json, "report", g->options.report);
	}
	if (g->options.host) {
		begin_field(g, "host", "");
		write_text(
		    &(struct field){.b = &g->layout.text, .form = g->options.form, .v = &host});
		begin_field(g, "rank", "");
		if (g->options.rank != UINT32_MAX)
			buf_printf(&g->layout.text, "%" PRIu32, g->options.rank);
		else if (g->options.form == GRID_NDJSON)
			buf_adds(&g->layout.text, "null");
	}
	if (!g->options.session)
		return;
	begin_field(g, "session", "");
	write_text(&(struct field){.b = &g->layout.text, .form = g->options.form, .v = &session});
}

static void csv_header(const struct grid *g, struct buf *out)
{
	const char *separator = g->options.session || g->options.host ? "," : "";

	buf_adds(out, g->options.host ? "host,rank" : "");
	buf_adds(out, g->options.host && g->options.session ? "," : "");
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

/* --- text ------------------------------------------------------------------------------------ */

static void show(struct grid *g, unsigned depth, const union value *v)
{
	const struct grid_column *c = &g->columns[g->at];
	struct buf *b = &g->layout.text;
	bool is_change = c->kind == GRID_CHANGE || c->kind == GRID_SHIFT;

	buf_fill(b, ' ', (size_t)INDENT * (depth < MAX_DEPTH ? depth : MAX_DEPTH));
	kinds[c->kind].show(
	    &(struct field){.b = b, .form = GRID_PEOPLE, .unit = c->unit ? c->unit : "", .v = v});
	layout_cell(&g->layout, g->shown);
	if (is_change && v->real.is_certain && v->real.x != 0)
		layout_look(&g->layout, v->real.x > 0 ? LAYOUT_RED : LAYOUT_GREEN);
	else if (c->kind == GRID_SHARE && !g->has_changes)
		layout_heat_share(&g->layout, v->share->share);
}

/* The widest column of text, of several the last; NULL if none is wider than the least. */
static struct layout_column *widest(struct layout *l, unsigned least)
{
	struct layout_column *widest = NULL;

	for (size_t i = 0; i < l->nr_columns; i++)
		if (l->columns[i].is_cut && !l->columns[i].is_gone && l->columns[i].width > least &&
		    (!widest || l->columns[i].width >= widest->width))
			widest = &l->columns[i];
	return widest;
}

/* Of the layout: the column that leaves next; 0: none. */
static size_t next_to_leave(const struct grid *g)
{
	size_t next = 0;
	unsigned least = UINT_MAX;

	for (size_t i = 0, at = 0; i < g->nr_columns; i++) {
		const struct grid_column *c = &g->columns[i];

		if (!is_for(c, GRID_PEOPLE))
			continue;
		if (at && c->leaves && c->leaves < least && !g->width[at].is_gone) {
			least = c->leaves;
			next = at;
		}
		at++;
	}
	return next;
}

/* The last column of text for people that never leaves: a name. */
static size_t find_name(const struct grid *g)
{
	size_t name = g->nr_columns;

	for (size_t i = 0; i < g->nr_columns; i++)
		if (is_for(&g->columns[i], GRID_PEOPLE) && g->columns[i].kind == GRID_TEXT &&
		    !g->columns[i].leaves)
			name = i;
	return name;
}

/* They do not come back if the table is written in pieces. Text is cut rather than that others
 * leave, but for a name, which has a quarter of the terminal first.
 */
static void leave(struct grid *g)
{
	const size_t name = find_name(g);
	unsigned sum = 0, least;
	size_t at = 0;

	for (size_t i = 0; i < g->nr_columns; i++) {
		unsigned width = g->width[at].width;

		if (!is_for(&g->columns[i], GRID_PEOPLE))
			continue;
		least = i == name && g->options.fit / 4 > MIN_CUT_WIDTH ? g->options.fit / 4
									: MIN_CUT_WIDTH;
		if (g->columns[i].kind == GRID_TEXT && width > least)
			width = least;
		sum += g->width[at++].is_gone ? 0 : (sum ? GAP : 0) + width;
	}
	while (g->options.fit && sum > g->options.fit && (at = next_to_leave(g))) {
		g->width[at].is_gone = true;
		sum -= GAP + g->width[at].width;
	}
}

/* Columns of text are narrowed until the table fits the terminal, for this write only. */
static void write_people(struct grid *g, struct buf *out)
{
	struct layout_column cut[GRID_MAX_COLUMNS], *c;
	struct layout l = g->layout;
	unsigned sum = 0;

	if (g->options.is_markdown) {
		layout_write_markdown(&l, out);
		return;
	}
	leave(g);
	l.columns = cut;
	for (size_t i = 0, at = 0; i < g->nr_columns; i++) {
		if (!is_for(&g->columns[i], GRID_PEOPLE))
			continue;
		cut[at] = g->width[at];
		cut[at].is_cut = g->options.width && g->columns[i].kind == GRID_TEXT;
		sum += cut[at].is_gone ? 0 : (sum ? GAP : 0) + cut[at].width;
		at++;
	}
	for (; g->options.width && sum > g->options.width && (c = widest(&l, MIN_CUT_WIDTH)); sum--)
		c->width--;
	for (; g->options.fit && sum > g->options.fit && (c = widest(&l, MIN_FIT_WIDTH)); sum--)
		c->width--;
	layout_write(&l, 1, l.nr_columns, out);
}

/* --- rows ------------------------------------------------------------------------------------ */

static void end_row(struct grid *g)
{
	if (!g->is_open)
		return;
	while (g->at < g->nr_columns)
		grid_none(g);
	if (g->options.form == GRID_NDJSON)
		jsonw_end(&g->json);
	if (g->options.form != GRID_PEOPLE)
		buf_addc(&g->layout.text, '\n');
	g->is_open = false;
}

void grid_row(struct grid *g)
{
	end_row(g);
	g->at = g->shown = 0;
	g->is_open = true;
	if (g->options.form == GRID_PEOPLE)
		layout_row(&g->layout);
	else
		begin_line(g);
}

/* The next cell; its column must have one of the kinds (bits). v is NULL for an empty cell. */
static void cell(struct grid *g, unsigned of_kinds, unsigned depth, const union value *v)
{
	const struct grid_column *c = &g->columns[g->at];

	if (!g->is_open || g->at >= g->nr_columns || !(of_kinds & 1u << c->kind)) {
		g->error = g->error ? g->error : -EINVAL;
		g->at += g->at < g->nr_columns;
		return;
	}
	if (is_for(c, g->options.form)) {
		if (g->options.form != GRID_PEOPLE)
			add_fields(g, c, v);
		else if (v)
			show(g, depth, v);
		g->shown++;
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
	enum {
		KINDS = 1 << GRID_COUNT | 1 << GRID_NUMBER | 1 << GRID_CPU | 1 << GRID_AMOUNT |
			1 << GRID_ADDRESS
	};

	cell(g, KINDS, 0, &(union value){.count = n});
}

void grid_integer(struct grid *g, int64_t n)
{
	cell(g, 1u << GRID_INTEGER, 0, &(union value){.integer = n});
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

void grid_share(struct grid *g, const struct interval *share)
{
	cell(g, 1u << GRID_SHARE, 0, &(union value){.share = share});
}

void grid_estimate(struct grid *g, double total, const struct interval *share)
{
	const struct interval amount = {
	    .share = total * share->share, .low = total * share->low, .high = total * share->high};

	cell(g, 1u << GRID_ESTIMATE, 0, &(union value){.share = &amount});
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

void grid_word(struct grid *g, const char *text)
{
	size_t shown = g->shown;

	cell(g, ANY_KIND, 0, NULL);
	if (g->options.form != GRID_PEOPLE || shown == g->shown)
		return;
	layout_text(&g->layout, shown, text);
}

void grid_na(struct grid *g)
{
	grid_word(g, "n/a");
}

void grid_unknown(struct grid *g)
{
	grid_word(g, "-");
}

void grid_line(struct grid *g, const char *text)
{
	BUF_AUTO(clean, GRID_MAX_BYTES);
	BUF_AUTO(lines, GRID_MAX_BYTES);
	const char *line, *next;

	end_row(g);
	if (g->options.form != GRID_PEOPLE)
		return;
	add_clean(&clean, text);
	screen_wrap(&lines, buf_str(&clean), clean.len,
		    g->options.is_markdown ? UINT_MAX : screen_columns(g->options.width));
	g->error = g->error ?: buf_error(&clean) ?: buf_error(&lines);
	for (line = buf_str(&lines); (next = strchr(line, '\n')); line = next + 1) {
		buf_add(&g->layout.text, line, (size_t)(next - line));
		layout_line(&g->layout);
	}
	buf_adds(&g->layout.text, line);
	layout_line(&g->layout);
}

int grid_write(struct grid *g, struct buf *out)
{
	end_row(g);
	if (grid_error(g))
		return grid_error(g);
	if (g->options.form == GRID_PEOPLE) {
		write_people(g, out);
	} else {
		if (!g->has_header && !g->options.is_continued && g->options.form == GRID_CSV)
			csv_header(g, out);
		g->has_header = true;
		buf_add(out, buf_str(&g->layout.text), g->layout.text.len);
	}
	layout_reset(&g->layout);
	return buf_error(out);
}
