/*
 * Tables of things (disks, processes …): one for each kind, in the order that the user chose. The
 * one in focus gets the lines that it needs, as far as the others keep a few.
 */
#include "base/buf.h"
#include "dashboard/block.h"
#include "dashboard/paint_parts.h"
#include "screen/number.h"

#include <stdio.h>
#include <string.h>

enum {
	MIN_NAME_WIDTH = 16,
	MAX_NAME_WIDTH = 40,
	USER_WIDTH = 9,
	MIN_COMMAND_WIDTH = 20,
	TREE_NAME_WIDTH = 28, /* on a screen of ROOMY columns */
	ROOMY = 100,
	LEAST_LINES = 3, /* of a kind beside one in focus */
	FEWEST_LINES = 2
};

static unsigned lower(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Lines of a kind including its title. */
static unsigned lines_of(const struct screen_kind *k)
{
	size_t nr = 0;

	for (size_t n = 0; n < k->t->nr_things; n++)
		nr += k->t->things[n].column == k->column[0];
	return 1 + (unsigned)(nr < CANVAS_MAX_HEIGHT ? nr : CANVAS_MAX_HEIGHT);
}

unsigned paint_things_need(const struct model *m, unsigned kinds)
{
	struct screen_kind k;
	unsigned lines = 0;

	for (size_t n = 1; block_find_kind(m, n, &k); n++)
		if (kinds & 1u << n)
			lines += lines_of(&k);
	return lines;
}

unsigned paint_things_largest(const struct model *m)
{
	unsigned most = 0, kind = 0, nr_kinds = 0;
	struct screen_kind k;

	for (size_t n = 1; block_find_kind(m, n, &k); n++, nr_kinds++)
		if (lines_of(&k) > most) {
			most = lines_of(&k);
			kind = 1u << n;
		}
	return nr_kinds > 1 ? kind : 0;
}

/* --- columns -----------------------------------------------------------------------------------
 */

/* Where the columns of a kind are. */
struct shape {
	unsigned name, user, command; /* widths; user and command 0: not shown */
	size_t nr_columns;
};

/* Number of columns that fit beside the name. */
static size_t columns_that_fit(const struct screen_kind *k, unsigned width, unsigned name)
{
	unsigned used = 1 + name;
	size_t i = 0;

	while (i < k->nr_columns && used + 1 + screen_kind_width(k, i) <= width)
		used += 1 + screen_kind_width(k, i++);
	return i;
}

static unsigned width_of_columns(const struct screen_kind *k, size_t nr)
{
	unsigned used = 0;

	for (size_t i = 0; i < nr; i++)
		used += 1 + screen_kind_width(k, i);
	return used;
}

/* The name gets the width that the columns leave, down to a minimum; a command line what both
 * leave, at the cost of columns. */
static struct shape find_shape(const struct screen_kind *k, unsigned width, bool has_details)
{
	const unsigned details = 2 + USER_WIDTH + MIN_COMMAND_WIDTH;
	unsigned used = 1 + width_of_columns(k, k->nr_columns);
	struct shape s = {.name = MIN_NAME_WIDTH};

	if (has_details && width > 1 + MIN_NAME_WIDTH + details) {
		if (width >= ROOMY)
			s.name = TREE_NAME_WIDTH;
		s.nr_columns = columns_that_fit(k, width - details, s.name);
		used = 1 + s.name + width_of_columns(k, s.nr_columns);
		s.user = USER_WIDTH;
		s.command = width - used - USER_WIDTH - 2;
		return s;
	}
	if (used + MIN_NAME_WIDTH <= width)
		s.name = lower(width - used, MAX_NAME_WIDTH);
	s.nr_columns = columns_that_fit(k, width, s.name);
	return s;
}

/* --- lines -------------------------------------------------------------------------------------
 */

/* nr_more: things that are not shown. has_focus: its keys apply. */
static void paint_title(const struct block_lines *l, struct canvas *c, unsigned y,
			const struct shape *s, size_t nr_more, const struct model_block *block,
			const char *filter, bool has_focus)
{
	const struct screen_kind *k = &l->kind;
	char kind[MODEL_NAME_BYTES] = "";
	unsigned x = 1 + s->name;
	BUF_AUTO(b, PAINT_TEXT_BYTES);

	memcpy(kind, k->name, k->name_len < sizeof(kind) ? k->name_len : sizeof(kind) - 1);
	buf_adds(&b, kind);
	if (*filter)
		buf_printf(&b, " /%s", filter);
	if (nr_more)
		buf_printf(&b, " +%zu more", nr_more);
	if (nr_more && canvas_width(buf_str(&b)) > s->name)
		buf_cut(&b, b.len - strlen(" more"));
	canvas_left(c, 1, y, s->name, CANVAS_TITLE | (has_focus ? CANVAS_SELECTED : 0),
		    buf_str(&b));
	for (size_t i = 0; i < s->nr_columns; i++) {
		unsigned width = screen_kind_width(k, i);

		canvas_right(c, x + 1, y, width,
			     CANVAS_TITLE | (has_focus && i == block->column ? CANVAS_SELECTED : 0),
			     screen_kind_heading(k, i));
		if (i == block->sort) /* distance from the previous column */
			canvas_put(c, x, y, CANVAS_TITLE, block->sorts_up ? "▲" : "▼", 1);
		x += 1 + width;
	}
	if (!s->user)
		return;
	canvas_left(c, x + 1, y, s->user, CANVAS_TITLE, "user");
	canvas_left(c, x + 2 + s->user, y, s->command, CANVAS_TITLE, "command line");
}

static void paint_details(struct model *m, const struct block_line *line, struct canvas *c,
			  unsigned x, unsigned y, const struct shape *s, uint8_t style)
{
	const struct processes_one *p = processes_find(&m->processes, block_line_name(line));
	const char *name = strchr(block_line_name(line), ' ');
	BUF_AUTO(b, PROCESSES_COMMAND_BYTES);

	if (!p)
		return;
	if (*p->command)
		buf_adds(&b, p->command);
	else
		buf_printf(&b, "[%s]", name ? name + 1 : ""); /* of the kernel */
	canvas_left(c, x + 1, y, s->user, style, p->user);
	canvas_left(c, x + 2 + s->user, y, s->command, style, buf_str(&b));
}

static void paint_line(struct model *m, const struct screen_kind *k, const struct block_line *line,
		       struct canvas *c, unsigned y, const struct shape *s, bool is_selected)
{
	const uint8_t style = is_selected ? CANVAS_BOLD | CANVAS_SELECTED : CANVAS_PLAIN;
	unsigned x = 1 + s->name, indent = lower(2 * line->depth, s->name / 2);
	BUF_AUTO(b, PAINT_TEXT_BYTES);

	canvas_fill(c, 1, y, indent, style, " ");
	if (indent)
		canvas_put(c, indent - 1, y, CANVAS_DIM, "└", 1);
	canvas_left(c, 1 + indent, y, s->name - indent, style, block_line_name(line));
	for (size_t i = 0; i < s->nr_columns; i++) {
		const struct table_column *column = &k->t->columns[k->column[i]];
		const struct cell *cell = screen_thing_find(k, line->thing, i);
		unsigned width = screen_kind_width(k, i);

		buf_reset(&b);
		if (cell) {
			const struct cell limited = model_thing_cell(m, k->column[i], cell);

			screen_cell_human(&b, column->kind, column->unit, &limited);
		}
		canvas_right(c, x + 1, y, width, is_selected ? CANVAS_BOLD : CANVAS_PLAIN,
			     buf_str(&b));
		x += 1 + width;
	}
	if (s->user)
		paint_details(m, line, c, x, y, s, CANVAS_DIM);
}

/* The selected line stays in sight while the block has the focus. */
static void scroll(struct model_block *b, const struct block_lines *l, bool has_focus)
{
	size_t most = l->nr > b->nr_lines ? l->nr - b->nr_lines : 0;

	b->selected = block_selected(b, l);
	if (has_focus && b->selected < b->first)
		b->first = b->selected;
	if (has_focus && b->selected >= b->first + b->nr_lines)
		b->first = b->selected - b->nr_lines + 1;
	b->first = b->first < most ? b->first : most;
}

/* Returns the lines used. */
static unsigned paint_kind(struct model *m, size_t n, struct canvas *c, struct paint_area area)
{
	struct model_block *b = &m->blocks[n - 1];
	const bool has_focus = m->focus == n;
	struct block_lines l;
	const char *filter;
	struct shape s;

	b->nr_lines = 0;
	if (area.height < 2 || !block_lines_find(m, n, &l))
		return 0;
	filter = m->prompt.is_open && m->prompt.block == n ? m->prompt.text : b->filter;
	s = find_shape(&l.kind, c->width, b->has_details && block_is_of_processes(&l.kind));
	b->nr_lines = l.nr < area.height - 1 ? (unsigned)l.nr : area.height - 1;
	b->x = c->x;
	b->y = c->y + area.y;
	b->width = c->width;
	scroll(b, &l, has_focus);
	paint_title(&l, c, area.y, &s, l.nr - b->nr_lines, b, filter, has_focus);
	for (unsigned i = 0; i < b->nr_lines; i++)
		paint_line(m, &l.kind, &l.line[b->first + i], c, area.y + 1 + i, &s,
			   has_focus && b->first + i == b->selected);
	block_lines_drop(&l);
	return 1 + b->nr_lines;
}

/* --- all kinds ---------------------------------------------------------------------------------
 */

/* The kind in focus; of none, the one with most lines, beside which others keep the thing with
 * most. */
static size_t find_larger(const struct model *m, unsigned kinds, unsigned *least)
{
	unsigned most = 0;
	size_t larger = m->focus;
	struct screen_kind k;

	*least = LEAST_LINES;
	for (size_t n = 1; m->focus == MODEL_FOCUS_TABLE && block_find_kind(m, n, &k); n++)
		if (kinds & 1u << n && lines_of(&k) > most) {
			most = lines_of(&k);
			larger = n;
			*least = FEWEST_LINES;
		}
	return larger;
}

/* Lines for the larger kind; 0: it gets the same as the others. */
static unsigned lines_of_larger(const struct model *m, unsigned kinds, unsigned height,
				unsigned nr_kinds, size_t larger, unsigned least)
{
	unsigned others = 0, need = 0;
	struct screen_kind k;

	for (size_t n = 1; block_find_kind(m, n, &k); n++) {
		if (!(kinds & 1u << n))
			continue;
		if (n == larger)
			need = lines_of(&k);
		else
			others += lower(lines_of(&k), least);
	}
	if (!need)
		return 0;
	/* Its keys apply to what must be seen: others may then have no line. */
	others = lower(others, height - lower(height, LEAST_LINES));
	need = lower(need, height - others);
	return need > height / nr_kinds ? need : 0;
}

/* Divides the remaining lines among the kinds. */
void paint_things(struct model *m, struct canvas *c, struct paint_area area, unsigned kinds)
{
	unsigned left = 0, of_larger, least;
	size_t larger;
	struct screen_kind k;

	for (size_t n = 1; block_find_kind(m, n, &k); n++)
		left += (kinds >> n) & 1;
	if (!left)
		return;
	larger = find_larger(m, kinds, &least);
	of_larger = lines_of_larger(m, kinds, area.height, left, larger, least);
	area.height -= of_larger;
	left -= of_larger > 0;
	for (size_t n = 1; block_find_kind(m, n, &k); n++) {
		const bool is_larger = of_larger && n == larger;
		struct paint_area part = {area.y, is_larger ? of_larger : 0};
		unsigned used;

		if (!(kinds & 1u << n))
			continue;
		if (!is_larger && left)
			part.height = area.height / left;
		used = paint_kind(m, n, c, part);
		area.y += used;
		if (is_larger)
			continue;
		area.height -= used;
		left--;
	}
}
