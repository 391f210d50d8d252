/*
 * What keys do to the model, and the order of its rows. The table of keys also feeds the help.
 */
#include "dashboard/model_keys.h"

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

static void say(struct model *m, const char *text)
{
	snprintf(m->message, sizeof(m->message), "%s", text);
}

static void select_line(struct model *m, size_t line)
{
	m->selected_line = line;
	m->selected_row = line == SIZE_MAX ? 0 : m->order[line];
}

/* The total stands above the first line. */
static void move_lines(struct model *m, long by)
{
	long line = m->selected_line == SIZE_MAX ? -1 : (long)m->selected_line;

	line += by;
	if (line >= (long)m->nr_order)
		line = (long)m->nr_order - 1;
	select_line(m, line < 0 ? SIZE_MAX : (size_t)line);
	if (line < 0)
		m->first_line = 0;
}

static void move_columns(struct model *m, long by)
{
	long column = (long)m->selected_column + by, last = (long)m->nr_shown_columns - 1;

	if (column > last)
		column = last;
	m->selected_column = column < 0 ? 0 : (size_t)column;
}

static enum model_action do_up(struct model *m)
{
	move_lines(m, -1);
	return MODEL_NOTHING;
}

static enum model_action do_down(struct model *m)
{
	move_lines(m, 1);
	return MODEL_NOTHING;
}

static enum model_action do_left(struct model *m)
{
	move_columns(m, -1);
	return MODEL_NOTHING;
}

static enum model_action do_right(struct model *m)
{
	move_columns(m, 1);
	return MODEL_NOTHING;
}

static long page(const struct model *m)
{
	return m->layout.nr_lines ? (long)m->layout.nr_lines : 1;
}

static enum model_action do_page_up(struct model *m)
{
	move_lines(m, -page(m));
	return MODEL_NOTHING;
}

static enum model_action do_page_down(struct model *m)
{
	move_lines(m, page(m));
	return MODEL_NOTHING;
}

static enum model_action do_first_column(struct model *m)
{
	m->selected_column = 0;
	return MODEL_NOTHING;
}

static enum model_action do_last_column(struct model *m)
{
	move_columns(m, (long)m->nr_shown_columns);
	return MODEL_NOTHING;
}

/* Descending, ascending, unsorted. */
static enum model_action do_sort(struct model *m)
{
	if (!m->nr_shown_columns)
		return MODEL_NOTHING;
	if (m->sort_column != m->selected_column) {
		m->sort_column = m->selected_column;
		m->sorts_up = false;
	} else if (!m->sorts_up) {
		m->sorts_up = true;
	} else {
		m->sort_column = SIZE_MAX;
	}
	m->first_line = 0;
	return MODEL_NOTHING;
}

static enum model_action do_pause(struct model *m)
{
	if (m->facts.is_replay)
		m->is_playing = !m->is_playing;
	else
		m->is_paused = !m->is_paused;
	return MODEL_NOTHING;
}

static enum model_action do_counts(struct model *m)
{
	m->is_counts = !m->is_counts;
	return MODEL_NOTHING;
}

static void set_view(struct model *m, enum model_view view)
{
	m->view = view;
	m->first_line = 0;
	select_line(m, SIZE_MAX);
}

/* Kinds of rows that are known on this machine. */
static enum model_action do_view(struct model *m)
{
	enum model_view view = m->view;

	do
		view = (view + 1) % MODEL_NR_VIEWS;
	while (view > MODEL_TOTAL && !m->dimensions[view].nr);
	set_view(m, view);
	return MODEL_NOTHING;
}

static enum model_action do_total(struct model *m)
{
	set_view(m, m->view == MODEL_TOTAL ? MODEL_CPUS : MODEL_TOTAL);
	return MODEL_NOTHING;
}

static enum model_action do_fold(struct model *m)
{
	m->is_unfolded = !m->is_unfolded;
	m->first_line = 0;
	select_line(m, SIZE_MAX);
	return MODEL_NOTHING;
}

static enum model_action do_chart(struct model *m)
{
	m->has_chart = !m->has_chart;
	return MODEL_NOTHING;
}

/* All iterations from the previous mark to the displayed one. */
static enum model_action do_baseline(struct model *m)
{
	struct model_baseline *b = &m->baseline;
	uint32_t shown = m->shown->table->iteration;
	uint32_t first = b->is_set && b->last < shown ? b->last + 1 : 0;
	size_t from, to;

	if (!m->shown->is_set)
		return MODEL_NOTHING;
	history_range(&m->history, first, shown, &from, &to);
	if (from == to)
		return MODEL_NOTHING;
	for (size_t i = 0; i < m->history.nr_series; i++)
		b->spread[i] = history_spread(&m->history, i, from, to);
	b->first = history_entry(&m->history, from)->iteration;
	b->last = history_entry(&m->history, to - 1)->iteration;
	b->is_set = m->shows_difference = true;
	snprintf(m->message, sizeof(m->message),
		 "the baseline is the mean of iterations %u to %u; d: differences or numbers",
		 b->first, b->last);
	return MODEL_NOTHING;
}

static enum model_action do_difference(struct model *m)
{
	if (m->baseline.is_set)
		m->shows_difference = !m->shows_difference;
	else
		say(m, "no baseline yet: press b to mark one");
	return MODEL_NOTHING;
}

static enum model_action do_notes(struct model *m)
{
	m->overlay = m->overlay == MODEL_NOTES ? MODEL_NO_OVERLAY : MODEL_NOTES;
	return MODEL_NOTHING;
}

static enum model_action do_help(struct model *m)
{
	m->overlay = m->overlay == MODEL_HELP ? MODEL_NO_OVERLAY : MODEL_HELP;
	return MODEL_NOTHING;
}

static enum model_action do_save(struct model *m)
{
	(void)m;
	return MODEL_SAVE;
}

static enum model_action do_redraw(struct model *m)
{
	(void)m;
	return MODEL_REDRAW;
}

static enum model_action do_quit(struct model *m)
{
	(void)m;
	return MODEL_QUIT;
}

/* --- replay ------------------------------------------------------------------------------------
 */

static void step(struct model *m, long by)
{
	long to = (long)m->wanted + by, last = (long)m->facts.nr_iterations - 1;

	if (to > last)
		to = last;
	m->wanted = to < 0 ? 0 : (uint32_t)to;
	m->is_playing = false;
}

static enum model_action do_back(struct model *m)
{
	step(m, -1);
	return MODEL_NOTHING;
}

static enum model_action do_forward(struct model *m)
{
	step(m, 1);
	return MODEL_NOTHING;
}

static enum model_action do_back_far(struct model *m)
{
	step(m, -10);
	return MODEL_NOTHING;
}

static enum model_action do_forward_far(struct model *m)
{
	step(m, 10);
	return MODEL_NOTHING;
}

static enum model_action do_first(struct model *m)
{
	step(m, -(long)UINT32_MAX);
	return MODEL_NOTHING;
}

static enum model_action do_last(struct model *m)
{
	step(m, (long)UINT32_MAX);
	return MODEL_NOTHING;
}

static const struct model_key_row rows[] = {
    {{'k', KEY_CODE_UP}, "arrows hjkl", "select a line, a column", do_up},
    {{'j', KEY_CODE_DOWN}, NULL, NULL, do_down},
    {{'h', KEY_CODE_LEFT}, NULL, NULL, do_left},
    {{'l', KEY_CODE_RIGHT}, NULL, NULL, do_right},
    {{KEY_CODE_PAGE_UP}, "PgUp PgDn", "a page up, down", do_page_up},
    {{KEY_CODE_PAGE_DOWN}, NULL, NULL, do_page_down},
    {{'0', KEY_CODE_HOME}, "Home End", "first, last column", do_first_column},
    {{'$', KEY_CODE_END}, NULL, NULL, do_last_column},
    {{'s'}, "s", "sort: down, up, off", do_sort},
    {{'r'}, "r", "rates, or counts", do_counts},
    {{'v'}, "v", "rows: CPUs, packages ...", do_view},
    {{'t'}, "t", "the total alone", do_total},
    {{'f'}, "f", "fold CPUs, or each", do_fold},
    {{'b'}, "b", "mark a baseline", do_baseline},
    {{'d'}, "d", "differences, or numbers", do_difference},
    {{'c'}, "c", "the chart, or more lines", do_chart},
    {{'p', ' '}, "p space", "pause; measuring goes on", do_pause, MODEL_KEY_LIVE},
    {{'p', ' '}, "p space", "play, pause", do_pause, MODEL_KEY_REPLAY},
    {{',', '['}, ", .", "an iteration back, on", do_back, MODEL_KEY_REPLAY},
    {{'.', ']'}, NULL, NULL, do_forward, MODEL_KEY_REPLAY},
    {{'<', '{'}, "< >", "ten iterations back, on", do_back_far, MODEL_KEY_REPLAY},
    {{'>', '}'}, NULL, NULL, do_forward_far, MODEL_KEY_REPLAY},
    {{'g'}, "g G", "first, last iteration", do_first, MODEL_KEY_REPLAY},
    {{'G'}, NULL, NULL, do_last, MODEL_KEY_REPLAY},
    {{'w'}, "w", "warnings", do_notes},
    {{'S'}, "S", "save the screen as text", do_save},
    {{'L' - '@'}, "^L", "redraw the screen", do_redraw},
    {{'?'}, "? F1", "this help", do_help},
    {{'q'}, "q", "end the session and quit", do_quit, MODEL_KEY_LIVE},
    {{'q'}, "q", "quit", do_quit, MODEL_KEY_REPLAY},
};

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

/* SIZE_MAX: none. */
static size_t column_at(const struct model *m, unsigned x)
{
	const struct model_layout *l = &m->layout;

	for (size_t i = 0; i < l->nr_shown; i++)
		if (x >= l->x[i] && x < l->x[i] + l->width[i])
			return m->first_column + i;
	return SIZE_MAX;
}

/* A click on a title sorts by it; on a cell, selects it. */
static void click(struct model *m, unsigned x, unsigned y)
{
	const struct model_layout *l = &m->layout;
	size_t column = column_at(m, x), line = m->first_line + (y - l->rows_y) - 1;

	if (y < l->title_y || y > l->rows_y + l->nr_lines)
		return;
	if (column < m->nr_shown_columns)
		m->selected_column = column;
	if (y < l->rows_y) {
		if (column < m->nr_shown_columns)
			(void)do_sort(m);
		return;
	}
	if (y == l->rows_y)
		select_line(m, SIZE_MAX);
	else if (line < m->nr_order)
		select_line(m, line);
}

enum { WHEEL_LINES = 3 };

static enum model_action use_mouse(struct model *m, const struct key *key)
{
	if (key->code == KEY_CODE_CLICK)
		click(m, key->x, key->y);
	else if (key->code == KEY_CODE_WHEEL_UP)
		move_lines(m, -WHEEL_LINES);
	else if (key->code == KEY_CODE_WHEEL_DOWN)
		move_lines(m, WHEEL_LINES);
	return MODEL_NOTHING;
}

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
				return row->use(m);
	return use_mouse(m, key);
}
