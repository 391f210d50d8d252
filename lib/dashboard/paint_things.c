/*
 * Tables of things (disks, processes …): one for each kind, the most active first.
 */
#include "base/buf.h"
#include "dashboard/paint_parts.h"
#include "screen/number.h"
#include "screen/things.h"

#include <string.h>

enum { MIN_NAME_WIDTH = 16, MAX_NAME_WIDTH = 40 };

/* Number of kinds, and their lines including titles. */
static unsigned count(const struct table *t, unsigned *nr_kinds)
{
	struct screen_kind k;
	unsigned lines = 0;

	*nr_kinds = 0;
	for (size_t i = 0; screen_kind_next(t, &i, &k); ++*nr_kinds) {
		size_t nr = 0;

		for (size_t n = 0; n < t->nr_things; n++)
			nr += t->things[n].column == k.column[0];
		lines += 1 + (unsigned)(nr < CANVAS_MAX_HEIGHT ? nr : CANVAS_MAX_HEIGHT);
	}
	return lines;
}

unsigned paint_things_need(const struct model *m)
{
	unsigned nr_kinds;

	return count(m->shown->table, &nr_kinds);
}

/* The name gets the width that the columns leave, down to a minimum. */
static unsigned name_width(const struct screen_kind *k, unsigned width)
{
	unsigned used = 1;

	for (size_t i = 0; i < k->nr_columns; i++)
		used += 1 + screen_kind_width(k, i);
	if (used + MIN_NAME_WIDTH > width)
		return MIN_NAME_WIDTH;
	return width - used > MAX_NAME_WIDTH ? MAX_NAME_WIDTH : width - used;
}

/* nr_more: things that are not shown. block: how it is shown; has_focus: its keys apply. */
static void paint_kind_title(const struct screen_kind *k, struct canvas *c, unsigned y,
			     size_t nr_columns, unsigned name, size_t nr_more,
			     const struct model_block *block, bool has_focus)
{
	char kind[MODEL_NAME_BYTES] = "";
	unsigned x = 1 + name;
	BUF_AUTO(b, PAINT_TEXT_BYTES);

	memcpy(kind, k->t->columns[k->column[0]].name,
	       k->name_len < sizeof(kind) ? k->name_len : sizeof(kind) - 1);
	buf_adds(&b, kind);
	if (nr_more)
		buf_printf(&b, " +%zu more", nr_more);
	if (nr_more && canvas_width(buf_str(&b)) > name)
		buf_cut(&b, b.len - strlen(" more"));
	canvas_left(c, 1, y, name, CANVAS_TITLE | (has_focus ? CANVAS_SELECTED : 0), buf_str(&b));
	for (size_t i = 0; i < nr_columns; i++) {
		unsigned width = screen_kind_width(k, i);

		canvas_right(c, x + 1, y, width,
			     CANVAS_TITLE | (has_focus && i == block->column ? CANVAS_SELECTED : 0),
			     screen_kind_heading(k, i));
		if (i == block->sort) /* distance from the previous column */
			canvas_put(c, x, y, CANVAS_TITLE, block->sorts_up ? "▲" : "▼", 1);
		x += 1 + width;
	}
}

static void paint_thing(const struct screen_kind *k, const struct screen_thing *thing,
			struct canvas *c, unsigned y, size_t nr_columns, unsigned name)
{
	unsigned x = 1 + name;
	BUF_AUTO(b, PAINT_TEXT_BYTES);

	canvas_left(c, 1, y, name, CANVAS_PLAIN, (*thing->first)->name);
	for (size_t i = 0; i < nr_columns; i++) {
		unsigned width = screen_kind_width(k, i);

		buf_reset(&b);
		screen_thing_cell(k, thing, i, &b);
		canvas_right(c, x + 1, y, width, CANVAS_PLAIN, buf_str(&b));
		x += 1 + width;
	}
}

/* Number of columns that fit beside the name. */
static size_t columns_that_fit(const struct screen_kind *k, unsigned width, unsigned name)
{
	unsigned used = 1 + name;
	size_t i = 0;

	while (i < k->nr_columns && used + 1 + screen_kind_width(k, i) <= width)
		used += 1 + screen_kind_width(k, i++);
	return i;
}

/* Returns the lines used. */
static unsigned paint_kind(const struct screen_kind *k, struct canvas *c, struct paint_area area,
			   const struct model_block *block, bool has_focus)
{
	unsigned name = name_width(k, c->width), nr;
	size_t nr_columns = columns_that_fit(k, c->width, name);
	struct screen_things things;
	size_t first;

	if (area.height < 2 || screen_things_find(k, &things))
		return 0;
	nr = things.nr < area.height - 1 ? (unsigned)things.nr : area.height - 1;
	first = things.nr - nr < block->first ? things.nr - nr : block->first;
	if (block->sort < k->nr_columns)
		screen_things_sort(k, &things, block->sort, block->sorts_up);
	paint_kind_title(k, c, area.y, nr_columns, name, things.nr - nr, block, has_focus);
	for (unsigned i = 0; i < nr; i++)
		paint_thing(k, &things.item[first + i], c, area.y + 1 + i, nr_columns, name);
	screen_things_drop(&things);
	return 1 + nr;
}

/* Divides the remaining lines among the kinds. */
void paint_things(const struct model *m, struct canvas *c, struct paint_area area)
{
	const struct table *t = m->shown->table;
	static const struct model_block plain = {.sort = SIZE_MAX};
	struct screen_kind k;
	unsigned left;

	(void)count(t, &left);
	for (size_t i = 0, n = 0; left && screen_kind_next(t, &i, &k); left--, n++) {
		const struct model_block *b = n < MODEL_MAX_BLOCKS ? &m->blocks[n] : &plain;
		struct paint_area part = {area.y, area.height / left};
		unsigned used = paint_kind(&k, c, part, b, m->focus == n + 1);

		area.y += used;
		area.height -= used;
	}
}
