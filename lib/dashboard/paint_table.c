/*
 * The table: the total, then a row for each CPU or group of CPUs; a column for each event and
 * metric. The first column stays in place, the others scroll.
 */
#include "base/buf.h"
#include "dashboard/paint_parts.h"
#include "screen/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	TITLE_LINES = 2,
	MIN_WIDTH = 9,
	NARROW_WIDTH = 13,
	MIN_FIRST_WIDTH = 6,
	MAX_UNIT_WIDTH = 2,
};

unsigned paint_table_need(const struct model *m)
{
	size_t nr = m->view == MODEL_TOTAL  ? 0
		    : m->view == MODEL_CPUS ? m->facts.nr_cpus
					    : m->dimensions[m->view].nr;

	if (!m->nr_shown_columns)
		return 0;
	return TITLE_LINES + 1 + (unsigned)(nr < CANVAS_MAX_HEIGHT ? nr : CANVAS_MAX_HEIGHT);
}

/* --- widths ------------------------------------------------------------------------------------
 */

static unsigned state_width(const struct model *m, uint32_t row, size_t column)
{
	const struct cell *cell = model_cell(m, row, column);

	return cell && !cell_has_value(cell) ? canvas_width(cell_state_name(cell->state)) : 0;
}

/* Wide enough for the reason of a cell without a value. Never shrinks, so that the table does not
 * jump. */
static void grow_widths(const struct model *m)
{
	for (size_t i = 0; i < m->nr_shown_columns; i++) {
		unsigned width = state_width(m, 0, m->columns[i]);

		for (size_t k = 0; k < m->nr_order; k++) {
			unsigned need = state_width(m, m->order[k], m->columns[i]);

			width = need > width ? need : width;
		}
		m->widths[i] = width > m->widths[i] ? width : m->widths[i];
	}
}

static unsigned width_of(const struct model *m, size_t i, unsigned max_label)
{
	unsigned width = canvas_width(model_column(m, m->columns[i])->label);

	width = width > max_label ? max_label : width;
	width = width < MIN_WIDTH ? MIN_WIDTH : width;
	return width < m->widths[i] ? m->widths[i] : width;
}

/* Full labels if they all fit, else short ones. */
static unsigned max_label(const struct model *m, unsigned room)
{
	unsigned used = 0;

	for (size_t i = 0; i < m->nr_shown_columns && used <= room; i++)
		used += 1 + width_of(m, i, CANVAS_MAX_WIDTH);
	return used <= room ? CANVAS_MAX_WIDTH : NARROW_WIDTH;
}

static unsigned first_width(const struct model *m)
{
	unsigned width = MIN_FIRST_WIDTH;
	char text[MODEL_NAME_BYTES];

	for (size_t i = 0; i < m->nr_order; i++) {
		unsigned need = canvas_width(model_row_name(m, m->order[i], text));

		width = need > width ? need : width;
	}
	return width + 1;
}

unsigned paint_table_width(struct model *m, unsigned lines)
{
	unsigned used;

	model_arrange(m, lines > TITLE_LINES ? lines - TITLE_LINES - 1 : 0);
	grow_widths(m);
	used = first_width(m);
	for (size_t i = 0; i < m->nr_shown_columns && used < CANVAS_MAX_WIDTH; i++)
		used += 1 + width_of(m, i, CANVAS_MAX_WIDTH);
	return used;
}

/* Number of columns that fit from first_column on; at least one. */
static void place_columns(struct model *m, unsigned room, unsigned label)
{
	struct model_layout *l = &m->layout;
	unsigned x = l->first_width, end = l->first_width + room;

	l->nr_shown = 0;
	for (size_t i = m->first_column; i < m->nr_shown_columns; i++) {
		unsigned width = width_of(m, i, label);

		if (l->nr_shown == MODEL_MAX_SHOWN || (x + 1 + width > end && l->nr_shown))
			return;
		l->shown[l->nr_shown] = m->columns[i];
		l->x[l->nr_shown] = x + 1;
		l->width[l->nr_shown++] = width;
		x += 1 + width;
	}
}

/* Scrolls until the selected column is visible. */
static void lay_out(struct model *m, unsigned width)
{
	struct model_layout *l = &m->layout;
	unsigned room, label;

	grow_widths(m);
	l->first_width = first_width(m);
	room = width > l->first_width ? width - l->first_width : 0;
	label = max_label(m, room);
	if (label == CANVAS_MAX_WIDTH || m->selected_column < m->first_column)
		m->first_column = label == CANVAS_MAX_WIDTH ? 0 : m->selected_column;
	place_columns(m, room, label);
	while (m->selected_column >= m->first_column + l->nr_shown &&
	       m->first_column < m->selected_column) {
		m->first_column++;
		place_columns(m, room, label);
	}
}

/* --- titles ------------------------------------------------------------------------------------
 */

static void paint_titles(const struct model *m, struct canvas *c)
{
	static const char *const rows[MODEL_NR_VIEWS] = {"CPU", "", "package", "node", "type"};
	const struct model_layout *l = &m->layout;

	canvas_left(c, 0, l->title_y, l->first_width, CANVAS_TITLE, rows[m->view]);
	for (size_t k = 0; k < l->nr_shown; k++) {
		size_t i = m->first_column + k;

		canvas_right(c, l->x[k], l->title_y, l->width[k],
			     CANVAS_TITLE | (i == m->selected_column ? CANVAS_SELECTED : 0),
			     model_column(m, l->shown[k])->label);
		if (i == m->sort_column) /* distance from the previous column */
			canvas_put(c, l->x[k] - 1, l->title_y, CANVAS_TITLE,
				   m->sorts_up ? "▲" : "▼", 1);
	}
	if (m->first_column)
		canvas_put(c, l->first_width - 1, l->title_y, CANVAS_DIM, "◀", 1);
	if (m->first_column + l->nr_shown < m->nr_shown_columns)
		canvas_put(c, c->width - 1, l->title_y + 1, CANVAS_DIM, "▶", 1);
	for (size_t k = 0; k < l->nr_shown; k++)
		paint_spark(m, c, l->x[k], l->title_y + 1, l->width[k],
			    model_series(m, 0, l->shown[k]));
}

/* --- cells -------------------------------------------------------------------------------------
 */

/* The maximum over visible rows, without the total. */
static double largest(const struct model *m, size_t column)
{
	double max = 0;

	for (size_t i = 0; i < m->nr_order; i++) {
		double x = model_number(model_column(m, column), model_cell(m, m->order[i], column),
					m->is_counts);

		if (x > max)
			max = x;
	}
	return max;
}

static uint8_t style_of(const struct cell *cell, double x, double max, bool is_total)
{
	if (cell->limit)
		return CANVAS_BAD;
	if (!cell_has_value(cell))
		return CANVAS_DIM;
	if (is_total)
		return CANVAS_BOLD;
	return (uint8_t)(CANVAS_HEAT + paint_step(x, max, CANVAS_NR_HEAT));
}

/* With marks. "~": multiplexed; "*": partial; "!": beyond a limit of the spec. */
static void put_cell(struct buf *out, const struct table_column *column, const struct cell *cell,
		     bool as_count)
{
	double x = model_number(column, cell, as_count);

	if (!cell_has_value(cell) || isnan(x)) {
		buf_adds(out, cell_state_name(cell->state));
		return;
	}
	if (cell_running_share(cell) < 1)
		buf_addc(out, '~');
	if (column->metric && canvas_width(column->unit) > MAX_UNIT_WIDTH)
		screen_metric_human(out, x, ""); /* the details of the selected cell show it */
	else
		paint_number(out, column, x, as_count);
	if (cell_is_partial(cell))
		buf_addc(out, '*');
	if (cell->limit)
		buf_addc(out, '!');
}

/* "+12.3%" or "+0.4pp", with "!" if it exceeds the spread of iterations. */
static uint8_t put_difference(struct buf *out, const struct model_difference *d)
{
	double amount = fabs(d->amount);
	bool is_visible = amount >= 0.05, is_beyond = d->spread == MODEL_BEYOND && is_visible;

	if (isnan(d->amount)) {
		buf_addc(out, '-');
		return CANVAS_DIM;
	}
	if (is_visible)
		buf_addc(out, d->amount < 0 ? '-' : '+');
	screen_decimal(out, amount, amount < 1000 ? 1 : 0);
	buf_adds(out, d->is_points ? "pp" : "%");
	if (!is_beyond)
		return CANVAS_DIM;
	buf_addc(out, '!');
	return d->amount > 0 ? CANVAS_WARN : CANVAS_GOOD;
}

static void paint_cell(const struct model *m, struct canvas *c, unsigned y, uint32_t row, size_t k,
		       double max)
{
	const struct model_layout *l = &m->layout;
	const struct cell *cell = model_cell(m, row, l->shown[k]);
	const struct table_column *column = model_column(m, l->shown[k]);
	bool is_selected = m->first_column + k == m->selected_column && row == m->selected_row;
	uint8_t style;
	BUF_AUTO(b, PAINT_TEXT_BYTES);

	if (!cell)
		return;
	style = style_of(cell, model_number(column, cell, m->is_counts), max, row == 0);
	if (m->shows_difference && cell_has_value(cell)) {
		struct model_difference d = model_difference(m, row, l->shown[k]);

		style = put_difference(&b, &d);
	} else {
		put_cell(&b, column, cell, m->is_counts);
	}
	canvas_right(c, l->x[k], y, l->width[k],
		     (uint8_t)(style | (is_selected ? CANVAS_SELECTED : 0)), buf_str(&b));
}

static void paint_row_name(const struct model *m, struct canvas *c, unsigned y, uint32_t row)
{
	char text[MODEL_NAME_BYTES];
	bool is_selected = row == m->selected_row;

	canvas_left(c, 0, y, m->layout.first_width - 1,
		    (uint8_t)(is_selected ? CANVAS_BOLD | CANVAS_SELECTED : CANVAS_BOLD),
		    model_row_name(m, row, text));
}

void paint_table(struct model *m, struct canvas *c, struct paint_area area)
{
	struct model_layout *l = &m->layout;
	size_t nr_lines;

	l->title_y = area.y;
	l->rows_y = area.y + (area.height > TITLE_LINES ? TITLE_LINES : 1);
	l->nr_lines = area.height > TITLE_LINES + 1 ? area.height - TITLE_LINES - 1 : 0;
	model_arrange(m, l->nr_lines);
	lay_out(m, c->width);
	paint_titles(m, c);
	nr_lines = m->nr_order - m->first_line;
	if (m->first_line)
		canvas_put(c, l->first_width - 1, l->rows_y, CANVAS_DIM, "▲", 1);
	if (nr_lines > l->nr_lines)
		canvas_put(c, l->first_width - 1, l->rows_y + l->nr_lines, CANVAS_DIM, "▼", 1);
	nr_lines = nr_lines < l->nr_lines ? nr_lines : l->nr_lines;
	paint_row_name(m, c, l->rows_y, 0);
	for (unsigned i = 0; i < nr_lines; i++)
		paint_row_name(m, c, l->rows_y + 1 + i, m->order[m->first_line + i]);
	for (size_t k = 0; k < l->nr_shown; k++) {
		double max = largest(m, l->shown[k]);

		paint_cell(m, c, l->rows_y, 0, k, max);
		for (unsigned i = 0; i < nr_lines; i++)
			paint_cell(m, c, l->rows_y + 1 + i, m->order[m->first_line + i], k, max);
	}
}
