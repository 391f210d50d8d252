/*
 * What keys do to the model, and the order of its rows. The table of keys also feeds the help.
 */
#include "dashboard/model_keys.h"

#include "screen/things.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- rows --------------------------------------------------------------------------------------
 */

/* The CPUs, or groups of them if only those fit. */
static void choose_cpus(struct model *m, size_t max_lines, uint32_t *first, size_t *nr)
{
	*first = 1;
	*nr = m->facts.nr_cpus;
	for (size_t i = MODEL_NR_VIEWS; i < MODEL_NR_DIMENSIONS && !m->is_unfolded; i++) {
		const struct model_dimension *dim = &m->dimensions[i];

		if (*nr <= max_lines)
			return;
		if (!dim->nr)
			continue;
		*first = dim->first_row;
		*nr = dim->nr;
	}
}

static double number_at(const struct model *m, uint32_t row)
{
	size_t column = m->columns[m->sort_column];

	return model_number(model_column(m, column), model_cell(m, row, column), m->is_counts);
}

/* Rows without a value sort last in both directions; equal rows stay in place. */
static int compare(const void *a, const void *b, void *arg)
{
	uint32_t row = *(const uint32_t *)a, other = *(const uint32_t *)b;
	const struct model *m = arg;
	double x = number_at(m, row), y = number_at(m, other);

	if (isnan(x) != isnan(y))
		return isnan(x) ? 1 : -1;
	if (!isnan(x) && x != y)
		return (x < y) == m->sorts_up ? -1 : 1;
	return row < other ? -1 : row > other;
}

/* The line of the selected row, else the nearest. */
static void follow_selection(struct model *m)
{
	if (m->selected_line == SIZE_MAX)
		return;
	for (size_t i = 0; i < m->nr_order; i++) {
		if (m->order[i] != m->selected_row)
			continue;
		m->selected_line = i;
		return;
	}
	if (m->selected_line >= m->nr_order)
		m->selected_line = m->nr_order - 1; /* no such line: the total */
	m->selected_row = m->selected_line == SIZE_MAX ? 0 : m->order[m->selected_line];
}

static void keep_in_sight(struct model *m, size_t max_lines)
{
	if (m->first_line + max_lines > m->nr_order)
		m->first_line = m->nr_order > max_lines ? m->nr_order - max_lines : 0;
	if (m->selected_line == SIZE_MAX)
		return;
	if (m->selected_line < m->first_line)
		m->first_line = m->selected_line;
	if (max_lines && m->selected_line >= m->first_line + max_lines)
		m->first_line = m->selected_line - max_lines + 1;
}

void model_arrange(struct model *m, size_t max_lines)
{
	uint32_t first = m->dimensions[m->view].first_row;
	size_t nr = m->view == MODEL_TOTAL ? 0 : m->dimensions[m->view].nr;

	if (m->view == MODEL_CPUS)
		choose_cpus(m, max_lines, &first, &nr);
	m->nr_order = nr;
	for (size_t i = 0; i < nr; i++)
		m->order[i] = first + (uint32_t)i;
	if (m->sort_column < m->nr_shown_columns && m->shown->is_set)
		qsort_r(m->order, m->nr_order, sizeof(*m->order), compare, m);
	follow_selection(m);
	keep_in_sight(m, max_lines);
}

/* --- keys --------------------------------------------------------------------------------------
 */

static void select_line(struct model *m, size_t line)
{
	m->selected_line = line;
	m->selected_row = line == SIZE_MAX ? 0 : m->order[line];
}

/* From the top: with the total selected. */
static void set_view(struct model *m, enum model_view view)
{
	m->view = view;
	m->first_line = 0;
	select_line(m, SIZE_MAX);
}

/* i, from 0 to last; 0 if last is negative. */
static long limit(long i, long last)
{
	i = i > last ? last : i;
	return i < 0 ? 0 : i;
}

/* The total is above the first line. */
static void move_lines(struct model *m, long by)
{
	long line = m->selected_line == SIZE_MAX ? 0 : (long)m->selected_line + 1;

	line = limit(line + by, (long)m->nr_order);
	select_line(m, line ? (size_t)line - 1 : SIZE_MAX);
	if (!line)
		m->first_line = 0;
}

/* Descending, ascending, unsorted. */
static void sort(struct model *m)
{
	if (!m->nr_shown_columns)
		return;
	if (m->sort_column != m->selected_column) {
		m->sort_column = m->selected_column;
		m->sorts_up = false;
	} else if (!m->sorts_up) {
		m->sorts_up = true;
	} else {
		m->sort_column = SIZE_MAX;
	}
	m->first_line = 0;
}

/* All iterations from the previous mark to the displayed one. */
static void mark_baseline(struct model *m)
{
	struct model_baseline *b = &m->baseline;
	uint32_t shown = m->shown->table->iteration;
	uint32_t first = b->is_set && b->last < shown ? b->last + 1 : 0;
	size_t from, to;

	if (!m->shown->is_set)
		return;
	history_range(&m->history, first, shown, &from, &to);
	if (from == to)
		return;
	for (size_t i = 0; i < m->history.nr_series; i++)
		b->spread[i] = history_spread(&m->history, i, from, to);
	b->first = history_entry(&m->history, from)->iteration;
	b->last = history_entry(&m->history, to - 1)->iteration;
	b->is_set = m->shows_difference = true;
	snprintf(m->message, sizeof(m->message),
		 "the baseline is the mean of iterations %u to %u; d: differences or numbers",
		 b->first, b->last);
}

/* --- tables of things --------------------------------------------------------------------------
 */

/* The n-th kind of things, from 1; false: there is none. */
static bool find_kind(const struct model *m, size_t n, struct screen_kind *out)
{
	size_t at = 0;

	while (n && m->shown->is_set && screen_kind_next(m->shown->table, &at, out))
		if (!--n)
			return true;
	return false;
}

/* The next kind, or after the last the table. */
static void move_focus(struct model *m)
{
	struct screen_kind k;

	m->focus++;
	if (m->focus > MODEL_MAX_BLOCKS || !find_kind(m, m->focus, &k))
		m->focus = 0;
}

static long count_things(const struct screen_kind *k)
{
	long nr = 0;

	for (size_t i = 0; i < k->t->nr_things; i++)
		nr += k->t->things[i].column == k->column[0];
	return nr;
}

/* Descending, ascending, the most active first. */
static void sort_things(struct model_block *b)
{
	if (b->sort != b->column) {
		b->sort = b->column;
		b->sorts_up = false;
	} else if (!b->sorts_up) {
		b->sorts_up = true;
	} else {
		b->sort = SIZE_MAX;
	}
	b->first = 0;
}

enum { THINGS_PAGE = 10 };

enum command {
	LINE,
	PAGE,
	COLUMN,
	SORT,
	COUNTS,
	VIEW,
	TOTAL,
	FOLD,
	BASELINE,
	DIFFERENCE,
	CHART,
	PAUSE,
	PLAY,
	STEP,
	NOTES,
	SAVE,
	REDRAW,
	HELP,
	FOCUS,
	QUIT,
};

enum { ALL = 1 << 30 }; /* by so many: to the first or last */

static const struct model_key_row rows[] = {
    {{'k', KEY_CODE_UP}, "arrows hjkl", "select a line, a column", LINE, -1},
    {{'j', KEY_CODE_DOWN}, NULL, NULL, LINE, 1},
    {{'h', KEY_CODE_LEFT}, NULL, NULL, COLUMN, -1},
    {{'l', KEY_CODE_RIGHT}, NULL, NULL, COLUMN, 1},
    {{KEY_CODE_PAGE_UP}, "PgUp PgDn", "a page up, down", PAGE, -1},
    {{KEY_CODE_PAGE_DOWN}, NULL, NULL, PAGE, 1},
    {{'0', KEY_CODE_HOME}, "Home End", "first, last column", COLUMN, -ALL},
    {{'$', KEY_CODE_END}, NULL, NULL, COLUMN, ALL},
    {{'s'}, "s", "sort: down, up, off", SORT},
    {{'\t'}, "Tab", "CPUs, disks, processes ...", FOCUS},
    {{'r'}, "r", "rates, or counts", COUNTS},
    {{'v'}, "v", "rows: CPUs, packages ...", VIEW},
    {{'t'}, "t", "the total alone", TOTAL},
    {{'f'}, "f", "fold CPUs, or each", FOLD},
    {{'b'}, "b", "mark a baseline", BASELINE},
    {{'d'}, "d", "differences, or numbers", DIFFERENCE},
    {{'c'}, "c", "the chart, or more lines", CHART},
    {{'p', ' '}, "p space", "pause; measuring goes on", PAUSE, .when = MODEL_KEY_LIVE},
    {{'p', ' '}, "p space", "play, pause", PLAY, .when = MODEL_KEY_REPLAY},
    {{',', '['}, ", .", "an iteration back, on", STEP, -1, MODEL_KEY_REPLAY},
    {{'.', ']'}, NULL, NULL, STEP, 1, MODEL_KEY_REPLAY},
    {{'<', '{'}, "< >", "ten iterations back, on", STEP, -10, MODEL_KEY_REPLAY},
    {{'>', '}'}, NULL, NULL, STEP, 10, MODEL_KEY_REPLAY},
    {{'g'}, "g G", "first, last iteration", STEP, -ALL, MODEL_KEY_REPLAY},
    {{'G'}, NULL, NULL, STEP, ALL, MODEL_KEY_REPLAY},
    {{'w'}, "w", "warnings", NOTES},
    {{'S'}, "S", "save the screen as text", SAVE},
    {{'L' - '@'}, "^L", "redraw the screen", REDRAW},
    {{'?'}, "? F1", "this help", HELP},
    {{'q'}, "q", "end the session and quit", QUIT, .when = MODEL_KEY_LIVE},
    {{'q'}, "q", "quit", QUIT, .when = MODEL_KEY_REPLAY},
};

/* Shows the overlay, or closes it if it is shown. */
static void toggle(struct model *m, enum model_overlay overlay)
{
	m->overlay = m->overlay == overlay ? MODEL_NO_OVERLAY : overlay;
}

/* What these keys do while a kind of things has the focus; false: the same as always. */
static bool run_in_block(struct model *m, enum command command, long by)
{
	struct model_block *b = &m->blocks[m->focus ? m->focus - 1 : 0];
	struct screen_kind k;

	if (!find_kind(m, m->focus, &k))
		return false;
	if (command == LINE || command == PAGE)
		b->first = (size_t)limit((long)b->first + by * (command == PAGE ? THINGS_PAGE : 1),
					 count_things(&k) - 1);
	else if (command == COLUMN)
		b->column = (size_t)limit((long)b->column + by, (long)k.nr_columns - 1);
	else if (command == SORT)
		sort_things(b);
	else
		return false;
	return true;
}

static enum model_action run(struct model *m, enum command command, long by)
{
	enum model_view view = m->view;

	if (run_in_block(m, command, by))
		return MODEL_NOTHING;
	switch (command) {
	case LINE:
		move_lines(m, by);
		break;
	case PAGE:
		move_lines(m, m->layout.nr_lines ? by * (long)m->layout.nr_lines : by);
		break;
	case COLUMN:
		m->selected_column =
		    (size_t)limit((long)m->selected_column + by, (long)m->nr_shown_columns - 1);
		break;
	case SORT:
		sort(m);
		break;
	case COUNTS:
		m->is_counts = !m->is_counts;
		break;
	case VIEW:
		do /* the next kind of rows that is known on this machine */
			view = (view + 1) % MODEL_NR_VIEWS;
		while (view > MODEL_TOTAL && !m->dimensions[view].nr);
		set_view(m, view);
		break;
	case TOTAL:
		set_view(m, m->view == MODEL_TOTAL ? MODEL_CPUS : MODEL_TOTAL);
		break;
	case FOLD:
		m->is_unfolded = !m->is_unfolded;
		set_view(m, m->view);
		break;
	case BASELINE:
		mark_baseline(m);
		break;
	case DIFFERENCE:
		if (m->baseline.is_set)
			m->shows_difference = !m->shows_difference;
		else
			snprintf(m->message, sizeof(m->message),
				 "no baseline yet: press b to mark one");
		break;
	case CHART:
		m->has_chart = !m->has_chart;
		break;
	case PAUSE:
		m->is_paused = !m->is_paused;
		break;
	case PLAY:
		m->is_playing = !m->is_playing;
		break;
	case STEP:
		m->wanted = (uint32_t)limit((long)m->wanted + by, (long)m->facts.nr_iterations - 1);
		m->is_playing = false;
		break;
	case NOTES:
		toggle(m, MODEL_NOTES);
		break;
	case HELP:
		toggle(m, MODEL_HELP);
		break;
	case FOCUS:
		move_focus(m);
		break;
	case SAVE:
		return MODEL_SAVE;
	case REDRAW:
		return MODEL_REDRAW;
	case QUIT:
		return MODEL_QUIT;
	}
	return MODEL_NOTHING;
}

const struct model_key_row *model_key_row(const struct model *m, size_t *i)
{
	enum model_key_when other = m->facts.is_replay ? MODEL_KEY_LIVE : MODEL_KEY_REPLAY;

	while (*i < sizeof(rows) / sizeof(rows[0])) {
		const struct model_key_row *row = &rows[(*i)++];

		if (row->when != other)
			return row;
	}
	return NULL;
}

/* --- the mouse ---------------------------------------------------------------------------------
 */

/* A click on a title sorts by it; on a cell, selects it. */
static void click(struct model *m, unsigned x, unsigned y)
{
	const struct model_layout *l = &m->layout;
	size_t column = SIZE_MAX, line = m->first_line + (y - l->rows_y) - 1;

	if (y < l->title_y || y > l->rows_y + l->nr_lines)
		return;
	for (size_t i = 0; i < l->nr_shown; i++)
		if (x >= l->x[i] && x < l->x[i] + l->width[i])
			column = m->first_column + i;
	if (column < m->nr_shown_columns)
		m->selected_column = column;
	if (y < l->rows_y) {
		if (column < m->nr_shown_columns)
			sort(m);
		return;
	}
	if (y == l->rows_y)
		select_line(m, SIZE_MAX);
	else if (line < m->nr_order)
		select_line(m, line);
}

enum { WHEEL_LINES = 3 };

enum model_action model_key(struct model *m, const struct key *key)
{
	const struct model_key_row *row;

	if (key->code == KEY_CODE_NONE)
		return MODEL_NOTHING;
	m->message[0] = '\0';
	if (m->overlay && key->code != '?' && key->code != 'w') {
		m->overlay = MODEL_NO_OVERLAY;
		return MODEL_NOTHING;
	}
	for (size_t i = 0; (row = model_key_row(m, &i));)
		for (size_t k = 0; k < MODEL_KEY_CODES && row->code[k]; k++)
			if (row->code[k] == key->code)
				return run(m, (enum command)row->command, row->by);
	if (key->code == KEY_CODE_CLICK)
		click(m, key->x, key->y);
	else if (key->code == KEY_CODE_WHEEL_UP)
		move_lines(m, -WHEEL_LINES);
	else if (key->code == KEY_CODE_WHEEL_DOWN)
		move_lines(m, WHEEL_LINES);
	return MODEL_NOTHING;
}
