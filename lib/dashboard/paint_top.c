/*
 * The screen of live functions: two lines of the session, rows or a page of code, a line of keys.
 */
#include "dashboard/paint_top.h"

#include "base/array.h"
#include "base/buf.h"
#include "dashboard/paint_parts.h"
#include "screen/number.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { HEAD_LINES = 2, TITLE_LINES = 1, FOOT_LINES = 1, MIN_NAME = 16, KIND_WIDTH = 7 };
enum { WITH_HALF = 15, WITHOUT_HALF = 8 };

/* --- columns -----------------------------------------------------------------------------------
 */

/* Of shares: by the span that rows are sorted by, or the other. */
struct column {
	bool is_other_span, is_total, has_half;
};

/* From the widest to the narrowest: the first that leaves room for names is used. */
static const struct layout {
	unsigned nr, object_width, name_width; /* name_width: the least */
	struct column column[4];
} layouts[] = {
    {4,
     24,
     40,
     {{false, false, true}, {false, true, true}, {true, false, true}, {true, true, true}}},
    {3, 18, 28, {{false, false, true}, {false, true, true}, {true, false, false}}},
    {2, 14, 24, {{false, false, true}, {false, true, true}}},
    {2, 0, MIN_NAME, {{false, false, true}, {false, true, false}}},
    {1, 0, MIN_NAME, {{false, false, false}}},
};

static unsigned width_of(const struct column *c)
{
	return c->has_half ? WITH_HALF : WITHOUT_HALF;
}

/* Of all but the name. */
static unsigned width_before_name(const struct layout *l, bool has_kind)
{
	unsigned width = 1 + (has_kind ? KIND_WIDTH + 1 : 0);

	for (unsigned i = 0; i < l->nr; i++)
		width += width_of(&l->column[i]) + 1;
	return width + (l->object_width ? l->object_width + 1 : 0);
}

static const struct layout *choose(unsigned width, bool has_kind)
{
	for (size_t i = 0; i + 1 < ARRAY_NR(layouts); i++)
		if (width_before_name(&layouts[i], has_kind) + layouts[i].name_width <= width)
			return &layouts[i];
	return &layouts[ARRAY_NR(layouts) - 1];
}

static enum top_span span_of(const struct top *t, const struct column *c)
{
	return c->is_other_span ? TOP_NR_SPANS - 1 - t->span : t->span;
}

/* As reports show it: the half has four characters, so that the column is aligned. */
static void add_share(struct buf *out, const struct top_share *s, bool has_half)
{
	double half = 100 * s->half;
	unsigned decimals = half < 9.995 || !has_half ? 2 : 1;

	if (!s->is_known) {
		buf_adds(out, "-");
		return;
	}
	screen_decimal(out, 100 * s->part, decimals);
	buf_adds(out, " %");
	if (!has_half || !(half > 0))
		return;
	buf_adds(out, " ± ");
	screen_decimal(out, half, decimals);
}

static void paint_titles(const struct top *t, const struct layout *l, bool has_kind,
			 struct canvas *c, unsigned y)
{
	unsigned x = 1;
	BUF_AUTO(text, PAINT_TEXT_BYTES);

	canvas_fill(c, 0, y, c->width, CANVAS_TITLE, " ");
	for (unsigned i = 0; i < l->nr; i++) {
		const struct column *column = &l->column[i];
		bool is_sorted = !column->is_other_span && column->is_total == t->by_total;

		buf_reset(&text);
		buf_adds(&text, is_sorted ? "▼ " : "");
		buf_adds(&text, column->is_total ? "total" : "self");
		if (span_of(t, column) == TOP_ALL)
			buf_adds(&text, column->has_half ? ", all" : "");
		else
			buf_printf(&text, column->has_half ? ", %.0f s" : " %.0fs",
				   t->status.recent_s);
		canvas_right(c, x, y, width_of(column), CANVAS_TITLE, buf_str(&text));
		x += width_of(column) + 1;
	}
	if (has_kind)
		x += KIND_WIDTH + 1;
	if (l->object_width)
		canvas_left(c, x, y, l->object_width, CANVAS_TITLE,
			    t->question.view == TOP_FUNCTIONS || has_kind ? "object" : "command");
	x += l->object_width ? l->object_width + 1 : 0;
	if (x < c->width)
		canvas_left(c, x, y, c->width - x, CANVAS_TITLE,
			    has_kind ? "function" : dashboard_top_view_name(t->question.view));
}

static uint8_t heat(const struct top_share *s)
{
	return s->is_known ? (uint8_t)(CANVAS_HEAT + paint_step(s->part, 0.25, CANVAS_NR_HEAT))
			   : CANVAS_DIM;
}

static void paint_row(const struct top *t, const struct layout *l, const struct top_row *r,
		      bool has_kind, bool is_selected, struct canvas *c, unsigned y)
{
	static const char *const kinds[] = {
	    [TOP_CALLER] = "caller", [TOP_SUBJECT] = "", [TOP_CALLEE] = "callee"};
	const uint8_t mark = is_selected ? CANVAS_SELECTED : 0;
	const bool is_subject = has_kind && r->kind == TOP_SUBJECT;
	unsigned x = 1;
	BUF_AUTO(text, PAINT_TEXT_BYTES);

	if (is_selected)
		canvas_fill(c, 0, y, c->width, CANVAS_PLAIN | CANVAS_SELECTED, " ");
	for (unsigned i = 0; i < l->nr; i++) {
		const struct column *column = &l->column[i];
		const struct top_share *s =
		    column->is_total ? &r->total[span_of(t, column)] : &r->self[span_of(t, column)];

		buf_reset(&text);
		add_share(&text, s, column->has_half);
		canvas_right(c, x, y, width_of(column), heat(s) | mark, buf_str(&text));
		x += width_of(column) + 1;
	}
	if (has_kind) {
		canvas_left(c, x, y, KIND_WIDTH, CANVAS_DIM | mark, kinds[r->kind]);
		x += KIND_WIDTH + 1;
	}
	if (l->object_width) {
		canvas_left(c, x, y, l->object_width, CANVAS_DIM | mark, r->object);
		x += l->object_width + 1;
	}
	if (x < c->width)
		canvas_left(c, x, y, c->width - x, (is_subject ? CANVAS_BOLD : CANVAS_PLAIN) | mark,
			    r->name);
}

static void keep_in_sight(struct top *t)
{
	if (t->first + t->nr_lines > t->nr_order)
		t->first = t->nr_order > t->nr_lines ? t->nr_order - t->nr_lines : 0;
	if (t->selected < t->first)
		t->first = t->selected;
	if (t->nr_lines && t->selected >= t->first + t->nr_lines)
		t->first = t->selected - t->nr_lines + 1;
}

/* Of an idle machine or process. */
static const char *no_samples(const struct top *t)
{
	static const char *const clocks[] = {"cpu_clock", "task_clock"};
	const char *event = t->status.event ? t->status.event : "";

	if (!ARRAY_ANY(x, clocks, ARRAY_NR(clocks), strcmp(event, *x) == 0))
		return "no samples";
	return t->status.nr_events > 1
		   ? "no samples: nothing used a CPU; e shows the next event"
		   : "no samples: nothing used a CPU; --spec-file=wall samples waits";
}

static const char *nothing(const struct top *t)
{
	if (!t->is_set)
		return t->status.all_s > 0 ? "reading …" : "the first samples are being taken …";
	if (t->nr_rows)
		return "nothing matches the search";
	return *t->question.filter ? "no sample passes the filter" : no_samples(t);
}

static void paint_rows(struct top *t, struct canvas *c, unsigned y, unsigned lines)
{
	const bool has_kind = t->question.focus != TOP_NO_FUNCTION;
	const struct layout *l = choose(c->width, has_kind);

	paint_titles(t, l, has_kind, c, y);
	t->rows_y = y + TITLE_LINES;
	t->nr_lines = lines - TITLE_LINES;
	keep_in_sight(t);
	if (!t->nr_order && t->nr_lines)
		canvas_put(c, 1, t->rows_y, CANVAS_DIM, nothing(t), c->width);
	for (unsigned i = 0; i < t->nr_lines && t->first + i < t->nr_order; i++)
		paint_row(t, l, t->order[t->first + i], has_kind, t->first + i == t->selected, c,
			  t->rows_y + i);
}

/* --- a page ------------------------------------------------------------------------------------
 */

/* Where line i begins; the end of the text after the last. */
static const char *line_at(const struct top *t, size_t i)
{
	const char *at = t->text, *end = t->text + t->text_bytes;

	while (i-- && at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		at = stop ? stop + 1 : end;
	}
	return at;
}

static void paint_page(struct top *t, struct canvas *c, unsigned y, unsigned lines)
{
	const char *end = t->text + t->text_bytes, *at;

	t->rows_y = y;
	t->nr_lines = lines;
	if (t->text_first + lines > t->nr_text_lines)
		t->text_first = t->nr_text_lines > lines ? t->nr_text_lines - lines : 0;
	at = line_at(t, t->text_first);
	for (unsigned i = 0; i < lines && at < end; i++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at)) ?: end;
		char text[PAINT_LINE_BYTES];
		size_t len = (size_t)(stop - at);

		len = len < sizeof(text) ? len : sizeof(text) - 1;
		memcpy(text, at, len);
		text[len] = '\0';
		canvas_put(c, 1, y + i, CANVAS_PLAIN, text, c->width - 1);
		at = stop + 1;
	}
}

/* --- the other lines ---------------------------------------------------------------------------
 */

static void add_clock(struct buf *out, double s)
{
	uint64_t whole = s > 0 ? (uint64_t)s : 0;

	if (whole >= 3600)
		buf_printf(out, "%" PRIu64 ":%02" PRIu64, whole / 3600, whole / 60 % 60);
	else
		buf_printf(out, "%" PRIu64, whole / 60);
	buf_printf(out, ":%02" PRIu64, whole % 60);
}

static const char *mode_of(const struct top *t, const struct paint_state *s)
{
	if (s->is_ended || t->status.is_over)
		return " ENDED ";
	return t->is_paused ? " PAUSED " : "";
}

static void paint_first_line(const struct top *t, const struct paint_state *s, struct canvas *c)
{
	const struct top_status *st = &t->status;
	const char *mode = mode_of(t, s);
	const unsigned mode_width = canvas_width(mode);
	BUF_AUTO(text, PAINT_LINE_BYTES);

	canvas_fill(c, 0, 0, c->width, CANVAS_BAR, " ");
	if (st->event)
		buf_printf(&text, " %s %s  ", st->event, st->rate ? st->rate : "");
	else
		buf_adds(&text, " cpuperf  ");
	buf_u64_commas(&text, (uint64_t)llround(st->samples_per_s));
	buf_adds(&text, " samples/s  lost ");
	buf_u64_commas(&text, st->nr_lost);
	buf_adds(&text, "  ");
	add_clock(&text, st->all_s);
	if (st->name && *st->name)
		buf_printf(&text, "  %s", st->name);
	if (st->host)
		buf_printf(&text, "  %s", st->host);
	canvas_left(c, 0, 0, c->width > mode_width ? c->width - mode_width : 0, CANVAS_BAR,
		    buf_str(&text));
	if (mode_width < c->width)
		canvas_put(c, c->width - mode_width, 0, CANVAS_BAR | CANVAS_SELECTED, mode,
			   mode_width);
}

/* What the reader could not afford is not in the rows, also not later. */
static void add_read(struct buf *out, const struct top_status *st)
{
	if (st->every > 1)
		buf_printf(out, " read 1 of %" PRIu32 " samples ·", st->every);
	if (!st->ended[TOP_ALL])
		return;
	buf_printf(out,
		   " read %" PRIu32 " of the last %" PRIu32 " and %" PRIu32 " of all %" PRIu32
		   " iterations ·",
		   st->read[TOP_RECENT], st->ended[TOP_RECENT], st->read[TOP_ALL],
		   st->ended[TOP_ALL]);
}

static void paint_second_line(const struct top *t, struct canvas *c)
{
	const struct top_status *st = &t->status;
	BUF_AUTO(text, PAINT_LINE_BYTES);

	if (t->has_page) {
		buf_printf(&text, " code of %s", t->page_name);
	} else {
		add_read(&text, st);
		buf_printf(&text, " own %.1f %% of a CPU (%.0f %% in the long run)",
			   100 * st->own_share, 100 * st->budget);
		if (st->behind_s >= 0.5)
			buf_printf(&text, " · behind by %.0f s", st->behind_s);
		if (t->question.focus != TOP_NO_FUNCTION)
			buf_adds(&text, " · calls of a function");
		if (*t->question.filter)
			buf_printf(&text, " · filter: %s", t->question.filter);
		if (*t->search)
			buf_printf(&text, " · search: %s", t->search);
		if (st->nr_dropped) {
			buf_adds(&text, " · callers unknown of ");
			buf_u64_commas(&text, st->nr_dropped);
		}
		if (t->wants_page)
			buf_adds(&text, " · reading the code …");
	}
	canvas_left(c, 0, 1, c->width,
		    st->behind_s >= 0.5 || st->ended[TOP_ALL] ? CANVAS_WARN : CANVAS_DIM,
		    buf_str(&text));
}

static void paint_foot(const struct top *t, const struct paint_state *s, struct canvas *c)
{
	const char *quit = t->is_inner ? "back" : "quit";
	unsigned y = c->height - 1;
	BUF_AUTO(text, PAINT_LINE_BYTES);

	if (t->prompt == TOP_SEARCH)
		buf_printf(&text, " search: %s_", t->typed);
	else if (t->prompt == TOP_FILTER)
		buf_printf(&text, " filter (pid 12, tid 12, cpu 0-3, a name): %s_", t->typed);
	else if (s->problem)
		buf_printf(&text, " %s", s->problem);
	else if (*t->message)
		buf_printf(&text, " %s", t->message);
	else if (t->has_page)
		buf_printf(&text, " Esc back  arrows scroll  S save  q %s", quit);
	else
		buf_printf(&text,
			   " q %s  ? help  Enter calls  a code  / search  f filter  v %s  s %s  "
			   "t %s  p pause",
			   quit, dashboard_top_view_name(t->question.view),
			   t->by_total ? "total" : "self", t->span == TOP_ALL ? "all" : "last");
	canvas_left(c, 0, y, c->width, CANVAS_BAR, buf_str(&text));
}

static void paint_help(struct top *t, struct canvas *c)
{
	enum { NAME_WIDTH = 12, WIDTH = 42 };
	const unsigned room = c->height > 3 ? c->height - 3 : 0;
	const unsigned columns = c->width >= 2 * WIDTH ? 2 : 1;
	const struct top_key_row *row;
	unsigned nr = 0, each, width = WIDTH;

	for (size_t i = 0; (row = dashboard_top_key_row(i)); i++)
		nr += row->help != NULL;
	each = nr > room && columns == 2 ? (nr + 1) / 2 : nr;
	width = each < nr && columns == 2 ? 2 * WIDTH : WIDTH;
	width = width < c->width ? width : c->width;
	if (!room || !each)
		return;
	t->help.nr = each;
	t->help.nr_shown = each < room ? each : room;
	t->help.first = paint_scrolled(&t->help);
	canvas_left(c, 0, 1, width, CANVAS_BAR,
		    each > room ? " Keys; arrows scroll, others close" : " Keys; any closes");
	for (unsigned i = 0; i < t->help.nr_shown; i++)
		canvas_fill(c, 0, 2 + i, width, CANVAS_PLAIN, " ");
	nr = 0;
	for (size_t i = 0; (row = dashboard_top_key_row(i)); i++) {
		const unsigned x = nr / each * WIDTH + 1, at = nr % each;
		const unsigned y = 2 + at - t->help.first;

		if (!row->help)
			continue;
		nr++;
		if (at < t->help.first || at >= t->help.first + t->help.nr_shown ||
		    x + NAME_WIDTH >= width)
			continue;
		canvas_left(c, x, y, NAME_WIDTH - 1, CANVAS_BOLD, row->name);
		canvas_put(c, x + NAME_WIDTH, y, CANVAS_PLAIN, dashboard_top_key_help(t, row),
			   width - x - NAME_WIDTH);
	}
}

void paint_top(struct top *t, const struct paint_state *s, struct canvas *c)
{
	unsigned lines =
	    c->height > HEAD_LINES + FOOT_LINES ? c->height - HEAD_LINES - FOOT_LINES : 0;

	canvas_clear(c);
	t->nr_lines = 0;
	paint_first_line(t, s, c);
	if (c->height > 2)
		paint_second_line(t, c);
	if (lines && t->has_page)
		paint_page(t, c, HEAD_LINES, lines);
	else if (lines)
		paint_rows(t, c, HEAD_LINES, lines);
	if (t->has_help)
		paint_help(t, c);
	if (c->height > 1)
		paint_foot(t, s, c);
}
