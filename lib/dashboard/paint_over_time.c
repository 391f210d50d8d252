/*
 * The page of a thing over time: a chart for each of its events, in two columns on a wide screen.
 */
#include "base/buf.h"
#include "dashboard/block.h"
#include "dashboard/paint_parts.h"
#include "estimate/unit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MIN_HEIGHT = 5, WIDE = 160, MAX_CHARTS = 1024 };

/* The i-th chart of the page; false: there is none. */
static bool find_chart(const struct model *m, size_t i, struct paint_series *out)
{
	const struct model_page *p = &m->page;
	struct screen_kind k;

	if (p->of == MODEL_PAGE_ROW) {
		if (i >= m->nr_shown_columns)
			return false;
		*out = (struct paint_series){.column = m->columns[i],
					     .series = model_series(m, p->row, m->columns[i])};
		return true;
	}
	if (p->of == MODEL_PAGE_MACHINE) {
		for (size_t n = 0; n < m->facts.nr_events; n++) {
			if (!model_is_item(m, n) || i--)
				continue;
			*out = (struct paint_series){.column = n, .series = model_series(m, 0, n)};
			return true;
		}
		return false;
	}
	if (!block_find_kind(m, p->block, &k) || i >= k.nr_columns)
		return false;
	*out = (struct paint_series){.column = k.column[i],
				     .is_of_thing = true,
				     .of = thing_series_find(&m->series, k.column[i], p->number)};
	return true;
}

static double limited_value(const struct model *m, const struct paint_series *s, size_t i)
{
	const double x = paint_series_value(m, s, i);

	return isnan(x) ? x : fmin(x, paint_series_limit(m, s));
}

/* Over the entries that the history still has, without those cut short. */
static struct history_total find_total(const struct model *m, const struct paint_series *s)
{
	struct history_total t = {.min = INFINITY, .max = -INFINITY};
	size_t nr = paint_nr_entries(m);

	for (size_t i = 0; i < nr; i++) {
		double x = limited_value(m, s, i);

		if (isnan(x) || history_entry(&m->history, i)->is_cut)
			continue;
		t.min = fmin(t.min, x);
		t.max = fmax(t.max, x);
		spread_add(&t.spread, x);
	}
	return t;
}

static void paint_one(const struct model *m, struct canvas *c, struct paint_area area,
		      const struct paint_series *s)
{
	const struct table_column *of = model_column(m, s->column);
	const struct history_total t = find_total(m, s);
	size_t nr = paint_nr_entries(m);
	double now = nr ? limited_value(m, s, nr - 1) : NAN;
	BUF_AUTO(b, PAINT_LINE_BYTES);
	unsigned used;

	buf_printf(&b, " %s  ", of->label);
	used = canvas_put(c, 0, area.y, CANVAS_TITLE, buf_str(&b), c->width);
	buf_reset(&b);
	if (isnan(now)) {
		buf_addc(&b, '-');
	} else {
		paint_number(&b, of, now, false);
		if (of->kind == EVENT_COUNT && !of->metric)
			buf_adds(&b, unit_shown(of->kind, of->unit).per);
	}
	used += canvas_put(c, used, area.y, CANVAS_BOLD, buf_str(&b), c->width - used);
	buf_reset(&b);
	buf_addc(&b, ' ');
	paint_statistics(m, &b, s->column, &t);
	canvas_left(c, used, area.y, c->width - used, CANVAS_DIM, buf_str(&b));
	paint_chart(m, c, (struct paint_area){area.y + 1, area.height - 1}, s);
}

/* The time that the charts span. */
static void put_span(const struct model *m, struct buf *out)
{
	size_t nr = paint_nr_entries(m),
	       depth = m->page.of == MODEL_PAGE_THING ? THING_SERIES_DEPTH : HISTORY_MAX_DEPTH;
	double s = 0;

	for (size_t i = nr > depth ? nr - depth : 0; i < nr; i++)
		s += history_entry(&m->history, i)->span_s;
	if (s > 0)
		buf_printf(out, "  at most the last %.0f s, the newest on the right", s);
}

static bool is_gone(const struct model *m)
{
	const struct table *t = m->shown->table;

	if (m->page.of != MODEL_PAGE_THING)
		return false;
	for (size_t i = 0; i < t->nr_things; i++)
		if (t->things[i].number == m->page.number &&
		    strncmp(t->columns[t->things[i].column].name, m->page.name,
			    strcspn(m->page.name, " ")) == 0)
			return false;
	return true;
}

static void paint_head(const struct model *m, struct canvas *c, unsigned y)
{
	const struct model_page *p = &m->page;
	BUF_AUTO(b, PAINT_LINE_BYTES);

	buf_printf(&b, " %s", p->name);
	if (is_gone(m))
		buf_adds(&b, " (not in this iteration)");
	put_span(m, &b);
	if (p->nr > p->nr_shown)
		buf_printf(&b, "  %zu-%zu of %zu events", p->first + 1, p->first + p->nr_shown,
			   p->nr);
	canvas_left(c, 0, y, c->width, CANVAS_TITLE | CANVAS_SELECTED, buf_str(&b));
}

void paint_over_time(struct model *m, struct canvas *c, struct paint_area area)
{
	struct model_page *p = &m->page;
	struct paint_series s;
	unsigned columns, rows, height;

	p->nr = 0;
	while (p->nr < MAX_CHARTS && find_chart(m, p->nr, &s))
		p->nr++;
	columns = c->width >= WIDE && p->nr > 1 ? 2 : 1;
	area.y++;
	area.height = area.height ? area.height - 1 : 0;
	rows = (unsigned)(p->nr + columns - 1) / columns;
	if (rows > area.height / MIN_HEIGHT)
		rows = area.height / MIN_HEIGHT;
	rows = rows ? rows : 1;
	height = area.height / rows;
	p->nr_shown = (size_t)rows * columns;
	p->nr_shown = p->nr_shown < p->nr ? p->nr_shown : p->nr;
	if (p->first + p->nr_shown > p->nr)
		p->first = p->nr - p->nr_shown;
	paint_head(m, c, area.y - 1);
	for (unsigned i = 0; i < p->nr_shown && height; i++) {
		unsigned width = c->width / columns;
		struct canvas part =
		    canvas_part(c, i % columns * width, 0, width - (columns > 1), c->height);
		struct paint_area lines = {area.y + i / columns * height, height};

		if (find_chart(m, p->first + i, &s))
			paint_one(m, &part, lines, &s);
	}
}
