#include "screen/layout.h"

#include "base/array.h"
#include "base/mem.h"
#include "screen/number.h"

#include <ctype.h>
#include <errno.h>

enum piece_kind { PIECE_ROW, PIECE_CELL, PIECE_TAIL, PIECE_LINE };

struct layout_piece {
	uint32_t offset, len; /* in the layout's text */
	uint32_t width;       /* columns of the terminal */
	uint16_t column;
	uint8_t kind, look;
};

static const char *const colors[] = {[LAYOUT_PLAIN] = "",
				     [LAYOUT_RED] = "\033[31m",
				     [LAYOUT_GREEN] = "\033[32m",
				     [LAYOUT_BOLD] = "\033[1m",
				     [LAYOUT_HEAT] = "",
				     [LAYOUT_HEAT + 1] = "\033[36m",
				     [LAYOUT_HEAT + 2] = "\033[32m",
				     [LAYOUT_HEAT + 3] = "\033[33m",
				     [LAYOUT_HEAT + 4] = "\033[1;33m"};
static const double least_share[LAYOUT_NR_HEAT] = {0, 0.005, 0.02, 0.05, 0.2};
static const char NORMAL[] = "\033[0m", ELLIPSIS[] = "…";

void layout_init(struct layout *l, struct layout_column *columns, size_t nr)
{
	*l = (struct layout){.columns = columns, .nr_columns = nr};
	buf_init(&l->text, LAYOUT_MAX_BYTES);
}

void layout_fini(struct layout *l)
{
	buf_fini(&l->text);
	mem_free(l->pieces);
}

void layout_reset(struct layout *l)
{
	buf_reset(&l->text);
	l->nr_pieces = 0;
	l->start = 0;
}

int layout_error(const struct layout *l)
{
	return l->error ? l->error : buf_error(&l->text);
}

static void add(struct layout *l, size_t column, enum piece_kind kind)
{
	size_t start = l->start;
	struct layout_piece *p;
	struct layout_column *c = &l->columns[column];

	l->start = l->text.len;
	if (layout_error(l) || (kind == PIECE_CELL && start == l->text.len))
		return;
	if (l->nr_pieces >= LAYOUT_MAX_BYTES / sizeof(*p)) {
		l->error = -EFBIG;
		return;
	}
	p = mem_grow(l->pieces, l->nr_pieces, &l->room, sizeof(*p));
	if (!p) {
		l->error = -ENOMEM;
		return;
	}
	l->pieces = p;
	p += l->nr_pieces++;
	*p = (struct layout_piece){.offset = (uint32_t)start,
				   .len = (uint32_t)(l->text.len - start),
				   .width = screen_width(buf_str(&l->text) + start),
				   .column = (uint16_t)column,
				   .kind = (uint8_t)kind};
	if (kind != PIECE_CELL || c->is_fixed || c->width >= p->width)
		return;
	c->width = p->width < LAYOUT_MAX_WIDTH ? p->width : LAYOUT_MAX_WIDTH;
}

void layout_row(struct layout *l)
{
	add(l, 0, PIECE_ROW);
}

void layout_cell(struct layout *l, size_t column)
{
	add(l, column, PIECE_CELL);
}

void layout_text(struct layout *l, size_t column, const char *text)
{
	buf_adds(&l->text, text);
	layout_cell(l, column);
}

void layout_look(struct layout *l, enum layout_look look)
{
	if (!layout_error(l))
		l->pieces[l->nr_pieces - 1].look = (uint8_t)look;
}

/* An empty cell is none: the last one is another. */
static bool has_cell(const struct layout *l)
{
	return l->nr_pieces && l->pieces[l->nr_pieces - 1].kind == PIECE_CELL;
}

static void heat(struct layout *l, unsigned step)
{
	if (step && has_cell(l))
		layout_look(l, (enum layout_look)(LAYOUT_HEAT + step));
}

void layout_heat(struct layout *l, double x, double max)
{
	heat(l, screen_step(x, max, LAYOUT_NR_HEAT));
}

void layout_heat_share(struct layout *l, double share)
{
	unsigned step = 0;

	while (step + 1 < LAYOUT_NR_HEAT && share >= least_share[step + 1])
		step++;
	heat(l, step);
}

void layout_tail(struct layout *l)
{
	add(l, 0, PIECE_TAIL);
}

void layout_line(struct layout *l)
{
	add(l, 0, PIECE_LINE);
}

size_t layout_fit(const struct layout *l, size_t from, unsigned width, size_t at_least)
{
	size_t to = from, nr = 0, used = l->columns[0].width;

	for (; to < l->nr_columns; to++) {
		if (l->columns[to].is_gone)
			continue;
		used += l->columns[to].gap + l->columns[to].width;
		if (width && used > width && nr >= at_least)
			break;
		nr++;
	}
	return to;
}

/* The line that is written. */
struct line {
	struct buf *out;
	unsigned x;     /* columns written */
	unsigned least; /* where the next cell may begin */
	unsigned at;    /* where the current column begins */
};

static void move_to(struct line *w, unsigned x)
{
	buf_fill(w->out, ' ', x > w->x ? x - w->x : 0);
	w->x = x;
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

/* Without pieces there is no array. */
static const struct layout_piece *end_of(const struct layout *l)
{
	return l->nr_pieces ? l->pieces + l->nr_pieces : l->pieces;
}

static void write_cell(struct line *w, const struct layout_column *c, const char *text,
		       const struct layout_piece *p)
{
	bool is_wider = p->width > c->width, is_cut = is_wider && c->is_cut;
	unsigned at = w->at + (c->is_left || is_wider ? 0 : c->width - p->width);

	move_to(w, at < w->least ? w->least : at);
	if (is_cut)
		add_cut(w->out, text, c->width);
	else
		buf_add(w->out, text, p->len);
	w->x += is_cut ? c->width : p->width;
	w->least = w->x + 1;
	if (is_wider && c->is_broken) {
		buf_addc(w->out, '\n');
		w->x = w->least = 0;
	}
}

/* Writes the row that begins at p. Returns the piece behind it. */
static const struct layout_piece *write_row(const struct layout *l, const struct layout_piece *p,
					    size_t from, size_t to, struct buf *out)
{
	const struct layout_piece *row = p++, *end = end_of(l);
	struct line w = {.out = out};

	buf_adds(out, l->has_color ? colors[row->look] : "");
	for (size_t i = 0; i < to; i = i ? i + 1 : from) {
		const struct layout_column *c = &l->columns[i];

		if (c->is_gone)
			continue;
		w.at += i ? c->gap : 0;
		if (i && c->separator) {
			move_to(&w, w.at - 1);
			buf_addc(out, c->separator);
			w.x = w.least = w.at;
		}
		while (p < end && p->kind == PIECE_CELL && p->column < i)
			p++;
		if (p < end && p->kind == PIECE_CELL && p->column == i) {
			const char *color = l->has_color ? colors[p->look] : "";

			buf_adds(out, color);
			write_cell(&w, c, l->text.data + p->offset, p);
			buf_adds(out, *color ? NORMAL : "");
		}
		w.at += c->width;
	}
	while (p < end && p->kind == PIECE_CELL)
		p++;
	if (p < end && p->kind == PIECE_TAIL) {
		move_to(&w, 2 + (w.x > l->columns[0].width ? w.x : l->columns[0].width));
		buf_add(out, l->text.data + p->offset, p->len);
		p++;
	}
	buf_adds(out, l->has_color && row->look ? NORMAL : "");
	buf_addc(out, '\n');
	return p;
}

void layout_write(const struct layout *l, size_t from, size_t to, struct buf *out)
{
	const struct layout_piece *p = l->pieces, *end = end_of(l);

	if (layout_error(l) && !out->error)
		out->error = layout_error(l);
	while (p < end) {
		if (p->kind == PIECE_ROW) {
			p = write_row(l, p, from, to, out);
			continue;
		}
		buf_add(out, l->text.data + p->offset, p->len);
		buf_addc(out, '\n');
		p++;
	}
}

/* --- Markdown -------------------------------------------------------------------------------- */

static bool is_plain(const char *s, size_t len)
{
	return !ARRAY_ANY(x, s, len,
			  (uint8_t)*x < 0x80 && !isalnum((uint8_t)*x) && !strchr(" .,+-%/", *x));
}

/* What ends code or a cell, or may escape its end, needs a tag, in which entities are read. */
static void add_code(struct buf *out, const char *s, size_t len)
{
	bool is_tagged = false;

	for (size_t i = 0; i < len; i++)
		is_tagged |= s[i] && strchr("`|\\", s[i]);
	buf_adds(out, is_tagged ? "<code>" : "`");
	for (size_t i = 0; i < len; i++) {
		bool is_word = (uint8_t)s[i] >= 0x80 || isalnum((uint8_t)s[i]) || s[i] == ' ';

		if (is_tagged && !is_word)
			buf_printf(out, "&#%d;", s[i]);
		else
			buf_addc(out, s[i]);
	}
	buf_adds(out, is_tagged ? "</code>" : "`");
}

static void add_rule(const struct layout *l, struct buf *out)
{
	buf_addc(out, '|');
	for (size_t i = 0; i < l->nr_columns; i++)
		buf_adds(out, l->columns[i].is_left ? " --- |" : " ---: |");
	buf_addc(out, '\n');
}

/* Returns the piece behind the row. */
static const struct layout_piece *add_row(const struct layout *l, const struct layout_piece *p,
					  const struct layout_piece *end, bool is_header,
					  struct buf *out)
{
	size_t column = 0;

	buf_addc(out, '|');
	for (p++; p < end && p->kind == PIECE_CELL; p++) {
		const char *s = l->text.data + p->offset;

		for (; column < p->column; column++)
			buf_adds(out, " |");
		column++;
		buf_addc(out, ' ');
		if (is_plain(s, p->len) && (is_header || !l->columns[p->column].is_left))
			buf_add(out, s, p->len);
		else
			add_code(out, s, p->len);
		buf_adds(out, " |");
	}
	for (; column < l->nr_columns; column++)
		buf_adds(out, " |");
	buf_addc(out, '\n');
	return p;
}

void layout_markdown_block(struct buf *out, const char *text, size_t len)
{
	size_t nr = 0, most = 2;

	while (len && text[len - 1] == '\n')
		len--;
	while (len && *text == '\n')
		text++, len--;
	if (!len)
		return;
	for (size_t i = 0; i < len; i++) {
		nr = text[i] == '`' ? nr + 1 : 0;
		most = nr > most ? nr : most;
	}
	buf_addc(out, '\n');
	buf_fill(out, '`', most + 1);
	buf_adds(out, "text\n");
	buf_add(out, text, len);
	buf_addc(out, '\n');
	buf_fill(out, '`', most + 1);
	buf_addc(out, '\n');
}

void layout_write_markdown(const struct layout *l, struct buf *out)
{
	const struct layout_piece *p = l->pieces, *end = end_of(l);
	bool is_header = true;
	struct buf lines;

	if (layout_error(l) && !out->error)
		out->error = layout_error(l);
	buf_init(&lines, LAYOUT_MAX_BYTES);
	buf_addc(out, '\n');
	while (p < end) {
		if (p->kind == PIECE_ROW) {
			p = add_row(l, p, end, is_header, out);
			if (is_header)
				add_rule(l, out);
			is_header = false;
			continue;
		}
		buf_add(&lines, l->text.data + p->offset, p->len);
		buf_addc(&lines, '\n');
		p++;
	}
	layout_markdown_block(out, buf_str(&lines), lines.len);
	if (buf_error(&lines) && !out->error)
		out->error = buf_error(&lines);
	buf_fini(&lines);
}

void layout_write_blocks(const struct layout *l, unsigned width, struct buf *out)
{
	for (size_t from = 1, to; from < l->nr_columns; from = to) {
		to = layout_fit(l, from, width, 1);
		layout_write(l, from, to, out);
	}
}
