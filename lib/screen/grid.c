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
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	GAP = 2, /* blanks between columns */
	INDENT = 2,
	MAX_NAME_BYTES = 128, /* of a field */
	MAX_DEPTH = 40,
	MIN_CUT_WIDTH = 16,
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
	int error;               /* other than the layout's */
	size_t shown;            /* text: the layout's column of the next cell */
	struct layout layout;    /* CSV and NDJSON use only its text */
	struct layout_column width[GRID_MAX_COLUMNS];
};

union value {
	const char *text;
	uint64_t count;
	struct {
		double x, half;
		bool is_certain;
	} real;
	const struct interval *share;
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

/* What is not visible becomes "?". */
static void add_clean(struct buf *b, const char *s)
{
	while (*s) {
		size_t n = 0;
		bool is_clean = true;

		while (is_printable(s[n]))
			n++;
		if (!n) {
			n = str_character(s, strnlen(s, 4));
			is_clean = n && str_visible(s, n);
		}
		buf_add(b, is_clean ? s : "?", is_clean ? n : 1);
		s += n ? n : 1;
	}
}

/* Percent; the half has four characters, so that the column is aligned. */
static void show_share(struct buf *b, const struct grid_column *c, const union value *v)
{
	double half = 100 * interval_half(v->share);
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

static void show_cpu(struct buf *b, const struct grid_column *c, const union value *v)
{
	(void)c;
	if (v->count == UINT32_MAX)
		buf_adds(b, "all");
	else
		buf_u64(b, v->count);
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

/* part: which of the kind's fields. */
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

static void give_cpu(struct buf *b, enum grid_form form, const union value *v, size_t part)
{
	if (v->count == UINT32_MAX)
		give_text(b, form, &(union value){.text = "all"}, part);
	else
		give_count(b, form, v, part);
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
	const char *suffix[MAX_PARTS]; /* of the fields for programs, up to the first NULL */
	bool is_left;
} kinds[GRID_NR_KINDS] = {
    [GRID_TEXT] = {show_text, give_text, {""}, true},
    [GRID_COUNT] = {show_count, give_count, {""}},
    [GRID_CPU] = {show_cpu, give_cpu, {""}},
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

/* Makes the layout's columns and its header. */
static void begin_people(struct grid *g)
{
	struct layout *l = &g->layout;

	layout_row(l);
	layout_look(l, LAYOUT_BOLD);
	for (size_t i = 0; i < g->nr_columns; i++) {
		if (!is_for(&g->columns[i], GRID_PEOPLE))
			continue;
		g->width[l->nr_columns] = (struct layout_column){
		    .gap = GAP, .is_left = kinds[g->columns[i].kind].is_left};
		layout_text(l, l->nr_columns++, header_of(&g->columns[i]));
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

static void fail(struct grid *g, int error)
{
	if (!g->error)
		g->error = error;
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
static void give(struct grid *g, const struct grid_column *c, const union value *v)
{
	const struct kind *kind = &kinds[c->kind];

	for (size_t i = 0; i < MAX_PARTS && kind->suffix[i]; i++) {
		begin_field(g, c->name, kind->suffix[i]);
		if (v)
			kind->give(&g->layout.text, g->options.form, v, i);
		else if (g->options.form == GRID_NDJSON)
			buf_adds(&g->layout.text, "null");
	}
}

static void begin_line(struct grid *g)
{
	bool is_json = g->options.form == GRID_NDJSON;

	g->is_begun = false;
	if (is_json) {
		jsonw_init(&g->json, &g->layout.text, false);
		jsonw_object(&g->json, NULL);
		jsonw_text(&g->json, "report", g->options.report);
	}
	if (!g->options.session)
		return;
	begin_field(g, "session", "");
	give_text(&g->layout.text, g->options.form, &(union value){.text = g->options.session}, 0);
}

static void end_line(struct grid *g)
{
	if (g->options.form == GRID_NDJSON)
		jsonw_end(&g->json);
	buf_addc(&g->layout.text, '\n');
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

/* --- text ------------------------------------------------------------------------------------ */

static enum layout_look look_of(enum grid_kind kind, const union value *v)
{
	if ((kind != GRID_CHANGE && kind != GRID_SHIFT) || !v->real.is_certain)
		return LAYOUT_PLAIN;
	return v->real.x > 0 ? LAYOUT_RED : v->real.x < 0 ? LAYOUT_GREEN : LAYOUT_PLAIN;
}

static void show(struct grid *g, unsigned depth, const union value *v)
{
	const struct grid_column *c = &g->columns[g->at];

	buf_fill(&g->layout.text, ' ', (size_t)INDENT * (depth < MAX_DEPTH ? depth : MAX_DEPTH));
	kinds[c->kind].show(&g->layout.text, c, v);
	layout_cell(&g->layout, g->shown);
	layout_look(&g->layout, look_of(c->kind, v));
}

/* The widest column of text, of several the last; NULL if none can be cut. */
static struct layout_column *widest(struct layout *l)
{
	struct layout_column *widest = NULL;

	for (size_t i = 0; i < l->nr_columns; i++)
		if (l->columns[i].is_cut && l->columns[i].width > MIN_CUT_WIDTH &&
		    (!widest || l->columns[i].width >= widest->width))
			widest = &l->columns[i];
	return widest;
}

/* Columns of text are narrowed until the table fits the terminal, for this write only. */
static void write_people(struct grid *g, struct buf *out)
{
	struct layout_column cut[GRID_MAX_COLUMNS], *c;
	struct layout l = g->layout;
	unsigned sum = 0;

	l.columns = cut;
	for (size_t i = 0, at = 0; i < g->nr_columns; i++) {
		if (!is_for(&g->columns[i], GRID_PEOPLE))
			continue;
		cut[at] = g->width[at];
		cut[at].is_cut = g->options.width && g->columns[i].kind == GRID_TEXT;
		sum += (sum ? GAP : 0) + cut[at++].width;
	}
	for (; g->options.width && sum > g->options.width && (c = widest(&l)); sum--)
		c->width--;
	layout_write(&l, 1, l.nr_columns, out);
}

static void write_machines(struct grid *g, struct buf *out)
{
	if (!g->has_header && !g->options.is_continued && g->options.form == GRID_CSV)
		csv_header(g, out);
	g->has_header = true;
	buf_add(out, buf_str(&g->layout.text), g->layout.text.len);
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
		fail(g, -EINVAL);
		g->at += g->at < g->nr_columns;
		return;
	}
	if (is_for(c, g->options.form)) {
		if (g->options.form != GRID_PEOPLE)
			give(g, c, v);
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
	cell(g, 1u << GRID_COUNT | 1u << GRID_CPU | 1u << GRID_AMOUNT | 1u << GRID_ADDRESS, 0,
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

void grid_share(struct grid *g, const struct interval *share)
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

static void none_with(struct grid *g, const char *text)
{
	size_t shown = g->shown;

	cell(g, ANY_KIND, 0, NULL);
	if (g->options.form != GRID_PEOPLE || shown == g->shown)
		return;
	layout_text(&g->layout, shown, text);
}

void grid_na(struct grid *g)
{
	none_with(g, "n/a");
}

void grid_unknown(struct grid *g)
{
	none_with(g, "-");
}

void grid_line(struct grid *g, const char *text)
{
	end_row(g);
	if (g->options.form != GRID_PEOPLE)
		return;
	add_clean(&g->layout.text, text);
	layout_line(&g->layout);
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
	layout_reset(&g->layout);
	return buf_error(out);
}
