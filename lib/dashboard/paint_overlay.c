/*
 * What is shown over the dashboard when asked for: the keys, the warnings.
 */
#include "base/buf.h"
#include "dashboard/model_keys.h"
#include "dashboard/paint_parts.h"

enum { NAME_WIDTH = 10, BOX_WIDTH = 66, MARKS_LINES = 5 };

struct box {
	struct canvas *c;
	unsigned x, y, width, end; /* y: the next line */
};

static struct box open_box(struct canvas *c, unsigned width, unsigned lines, const char *title)
{
	struct box b = {.c = c, .width = width + 2 < c->width ? width + 2 : c->width};
	unsigned room = c->height > 3 ? c->height - 3 : 0;

	lines = lines + 2 < room ? lines + 2 : room;
	b.x = (c->width - b.width) / 2;
	b.y = 2;
	b.end = b.y + lines;
	for (unsigned y = b.y; y < b.end; y++)
		canvas_fill(c, b.x, y, b.width, CANVAS_PLAIN, " ");
	canvas_left(c, b.x, b.y++, b.width, CANVAS_BAR, title);
	return b;
}

static void put_line(struct box *b, const char *name, const char *text)
{
	unsigned width = *name ? NAME_WIDTH : 0;

	if (b->y >= b->end || b->width < NAME_WIDTH + 2)
		return;
	canvas_left(b->c, b->x + 1, b->y, width, CANVAS_BOLD, name);
	canvas_left(b->c, b->x + 1 + width, b->y++, b->width - width - 2, CANVAS_PLAIN, text);
}

static unsigned nr_keys(const struct model *m)
{
	unsigned nr = 0;

	for (size_t i = 0; model_key_row(m, &i);)
		nr++;
	return nr;
}

static const struct {
	const char *name, *text;
} marks[] = {
    {"~", "counted for a part of the time only: an estimate"},
    {"*", "not all that it should hold: a CPU went away, a number is missing"},
    {"!", "beyond a limit of the spec; of a difference: beyond the spread"},
    {"click", "on a title: sort; on a cell: select; wheel: lines"},
};

/* In two columns where they do not all fit below each other and the screen is wide. */
static void paint_help(const struct model *m, struct canvas *c)
{
	struct box b = open_box(c, BOX_WIDTH, nr_keys(m) + MARKS_LINES, " Keys: any closes");
	const struct model_key_row *row;

	for (size_t i = 0; (row = model_key_row(m, &i));)
		put_line(&b, row->name, row->help);
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		put_line(&b, marks[i].name, marks[i].text);
}

/* The newest last; of more than fit the newest. */
static void paint_notes(const struct model *m, struct canvas *c)
{
	uint64_t nr = m->nr_notes < MODEL_MAX_NOTES ? m->nr_notes : MODEL_MAX_NOTES, room;
	struct box b = open_box(c, c->width, nr ? (unsigned)nr : 1, " Warnings: any key closes");

	if (!nr)
		put_line(&b, "", "none");
	room = b.end > b.y ? b.end - b.y : 0;
	for (uint64_t i = nr > room ? m->nr_notes - room : m->nr_notes - nr; i < m->nr_notes; i++)
		put_line(&b, "", m->notes[i % MODEL_MAX_NOTES]);
}

void paint_overlay(const struct model *m, struct canvas *c)
{
	if (m->overlay == MODEL_HELP)
		paint_help(m, c);
	else
		paint_notes(m, c);
}
