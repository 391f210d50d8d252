/*
 * Overlays: the keys, the warnings.
 */
#include "base/buf.h"
#include "dashboard/model_keys.h"
#include "dashboard/paint_parts.h"

enum { NAME_WIDTH = 12, COLUMN_WIDTH = 39, NARROW_WIDTH = 39 };

struct box {
	struct canvas *c;
	unsigned x, y, width, lines; /* below the title */
	unsigned first,
	    per_column; /* of what is scrolled: the line at the top, lines of a column */
};

static struct box open_box(struct canvas *c, unsigned width, unsigned lines, const char *title)
{
	unsigned room = c->height > 3 ? c->height - 3 : 0;
	struct box b = {.c = c, .y = 2, .width = width < c->width ? width : c->width};

	b.lines = lines < room ? lines : room;
	b.per_column = lines;
	b.x = (c->width - b.width) / 2;
	canvas_left(c, b.x, 1, b.width, CANVAS_BAR, title);
	for (unsigned i = 0; i < b.lines; i++)
		canvas_fill(c, b.x, b.y + i, b.width, CANVAS_PLAIN, " ");
	return b;
}

/* The i-th line of the box, column by column. */
static void put_line(const struct box *b, unsigned i, const char *name, const char *text)
{
	const unsigned x = b->x + i / b->per_column * COLUMN_WIDTH + 1, end = b->x + b->width;
	const unsigned at = i % b->per_column, y = b->y + at - b->first;

	if (at < b->first || at >= b->first + b->lines || x + NAME_WIDTH >= end)
		return;
	canvas_left(b->c, x, y, NAME_WIDTH - 1, CANVAS_BOLD, name);
	canvas_put(b->c, x + NAME_WIDTH, y, CANVAS_PLAIN, text, end - x - NAME_WIDTH);
}

struct help_line {
	const char *name, *text;
};

static const struct help_line marks[] = {
    {"click", "select; on a title: sort"}, {"wheel", "lines up, down"},
    {"~1.23 M", "estimate (multiplexed)"}, {"1.23 M*", "partial"},
    {"1.23 M!", "beyond a limit"},         {"+1.2%!", "beyond the spread"},
};

enum { MAX_HELP_LINES = 64, NR_MARKS = sizeof(marks) / sizeof(marks[0]) };

/* Uses two columns if one is too short and they fit. */
static void paint_help(struct model *m, struct canvas *c)
{
	unsigned nr = 0, room = c->height > 3 ? c->height - 3 : 0;
	struct help_line lines[MAX_HELP_LINES];
	const struct model_key_row *row;
	struct box b;
	bool is_wide;

	for (size_t i = 0; (row = model_key_row(m, &i)) && nr < MAX_HELP_LINES - NR_MARKS;)
		if (row->help)
			lines[nr++] = (struct help_line){row->name, row->help};
	for (size_t i = 0; i < NR_MARKS; i++)
		lines[nr++] = marks[i];
	is_wide = nr > room && c->width >= 2 * COLUMN_WIDTH;
	m->help.nr = is_wide ? (nr + 1) / 2 : nr;
	b = open_box(c, is_wide ? 2 * COLUMN_WIDTH : NARROW_WIDTH, m->help.nr,
		     m->help.nr > room ? " Keys; arrows scroll, others close"
				       : " Keys; any closes");
	m->help.nr_shown = b.lines;
	b.first = m->help.first = paint_scrolled(&m->help);
	for (unsigned i = 0; i < nr; i++)
		put_line(&b, i, lines[i].name, lines[i].text);
}

/* The newest last; the oldest are dropped if they do not fit. */
static void paint_notes(const struct model *m, struct canvas *c)
{
	uint64_t nr = m->nr_notes < MODEL_MAX_NOTES ? m->nr_notes : MODEL_MAX_NOTES;
	struct box b = open_box(c, c->width, nr ? (unsigned)nr : 1, " Warnings; any key closes");
	uint64_t first = m->nr_notes - (nr < b.lines ? nr : b.lines);

	if (!nr)
		canvas_put(c, b.x + 1, b.y, CANVAS_PLAIN, "none", b.width);
	for (unsigned i = 0; first + i < m->nr_notes; i++)
		canvas_left(c, b.x + 1, b.y + i, b.width - 2, CANVAS_PLAIN,
			    m->notes[(first + i) % MODEL_MAX_NOTES]);
}

unsigned paint_scrolled(const struct model_scroll *s)
{
	const unsigned most = s->nr > s->nr_shown ? s->nr - s->nr_shown : 0;

	return s->first < most ? s->first : most;
}

void paint_overlay(struct model *m, struct canvas *c)
{
	if (c->width < NAME_WIDTH || c->height < 4)
		return;
	if (m->overlay == MODEL_HELP)
		paint_help(m, c);
	else
		paint_notes(m, c);
}
