/*
 * What keys do to the model, and the order of its rows. The table of keys also feeds the help.
 */
#include "dashboard/model_keys.h"

#include "base/array.h"
#include "dashboard/block.h"

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
	OPEN,
	PROFILE,
	BACK,
	FILTER,
	TREE,
	DETAILS,
	QUIT,
};

enum { ALL = 1 << 30 }; /* by so many: to the first or last */

/* Where a key is one; 0: everywhere. */
enum {
	TABLE = MODEL_SCREEN_TABLE,
	THINGS = MODEL_SCREEN_THINGS | MODEL_SCREEN_PROCESSES,
	PROCESSES = MODEL_SCREEN_PROCESSES,
	OTHERS = MODEL_SCREEN_THINGS,
	MACHINE = MODEL_SCREEN_MACHINE,
	OVER_TIME = MODEL_SCREEN_PAGE,
	BLOCKS = TABLE | THINGS | MACHINE,
};
#define LIVE   MODEL_KEY_LIVE
#define REPLAY MODEL_KEY_REPLAY
#define ALWAYS MODEL_KEY_ALWAYS

static const struct model_key_row rows[] = {
    {{'k', KEY_CODE_UP},
     "arrows hjkl",
     "select a line, a column",
     LINE,
     -1,
     ALWAYS,
     TABLE | THINGS},
    {{'j', KEY_CODE_DOWN}, NULL, NULL, LINE, 1, ALWAYS, TABLE | THINGS},
    {{'h', KEY_CODE_LEFT}, NULL, NULL, COLUMN, -1, ALWAYS, TABLE | THINGS},
    {{'l', KEY_CODE_RIGHT}, NULL, NULL, COLUMN, 1, ALWAYS, TABLE | THINGS},
    {{'k', KEY_CODE_UP}, "arrows hjkl", "select a value", LINE, -1, ALWAYS, MACHINE},
    {{'j', KEY_CODE_DOWN}, NULL, NULL, LINE, 1, ALWAYS, MACHINE},
    {{'h', KEY_CODE_LEFT}, NULL, NULL, COLUMN, -1, ALWAYS, MACHINE},
    {{'l', KEY_CODE_RIGHT}, NULL, NULL, COLUMN, 1, ALWAYS, MACHINE},
    {{'k', KEY_CODE_UP}, "arrows jk", "scroll the charts", LINE, -1, ALWAYS, OVER_TIME},
    {{'j', KEY_CODE_DOWN}, NULL, NULL, LINE, 1, ALWAYS, OVER_TIME},
    {{KEY_CODE_PAGE_UP}, "PgUp PgDn", "a page up, down", PAGE, -1},
    {{KEY_CODE_PAGE_DOWN}, NULL, NULL, PAGE, 1},
    {{'0', KEY_CODE_HOME}, "Home End", "first, last column", COLUMN, -ALL, ALWAYS, TABLE | THINGS},
    {{'$', KEY_CODE_END}, NULL, NULL, COLUMN, ALL, ALWAYS, TABLE | THINGS},
    {{'g'}, "g G", "first, last line", LINE, -ALL, LIVE, THINGS},
    {{'G'}, NULL, NULL, LINE, ALL, LIVE, THINGS},
    {{'\t'}, "Tab", "CPUs, disks, processes ...", FOCUS, 1, ALWAYS, BLOCKS},
    {{'\r', '\n'}, "Enter", "the CPU over time", OPEN, 0, ALWAYS, TABLE},
    {{'\r', '\n'}, "Enter", "it over time", OPEN, 0, ALWAYS, OTHERS},
    {{'\r', '\n'}, "Enter", "the values over time", OPEN, 0, ALWAYS, MACHINE},
    {{'\r', '\n'}, "Enter", "profile it for 5 s", PROFILE, 0, ALWAYS, PROCESSES},
    {{'o'}, "o", "it over time", OPEN, 0, ALWAYS, PROCESSES},
    {{KEY_CODE_ESCAPE, KEY_CODE_BACKSPACE}, "Esc", "back", BACK, 0, ALWAYS, OVER_TIME},
    {{KEY_CODE_ESCAPE}, "Esc", "the filter off; back", BACK, 0, ALWAYS, THINGS | MACHINE},
    {{KEY_CODE_ESCAPE}, NULL, NULL, BACK, 0, ALWAYS, TABLE},
    {{'s'}, "s", "sort: down, up, off", SORT, 0, ALWAYS, TABLE | THINGS},
    {{'/', 'f'}, "/ f", "filter by a text", FILTER, 0, ALWAYS, THINGS},
    {{'/'}, "/", "filter processes", FILTER, 0, ALWAYS, TABLE | MACHINE},
    {{'t'}, "t", "the tree, or a list", TREE, 0, ALWAYS, PROCESSES},
    {{'u'}, "u", "user, command line", DETAILS, 0, ALWAYS, PROCESSES},
    {{'r'}, "r", "rates, or counts", COUNTS},
    {{'v'}, "v", "rows: CPUs, packages ...", VIEW, 0, ALWAYS, TABLE},
    {{'t'}, "t", "the total alone", TOTAL, 0, ALWAYS, TABLE},
    {{'f'}, "f", "fold CPUs, or each", FOLD, 0, ALWAYS, TABLE},
    {{'b'}, "b", "mark a baseline", BASELINE, 0, ALWAYS, BLOCKS},
    {{'d'}, "d", "differences, or numbers", DIFFERENCE, 0, ALWAYS, BLOCKS},
    {{'c'}, "c", "the chart, or more lines", CHART, 0, ALWAYS, BLOCKS},
    {{'p', ' '}, "p space", "pause; measuring goes on", PAUSE, 0, LIVE},
    {{'p', ' '}, "p space", "play, pause", PLAY, 0, REPLAY},
    {{',', '['}, ", .", "an iteration back, on", STEP, -1, REPLAY},
    {{'.', ']'}, NULL, NULL, STEP, 1, REPLAY},
    {{'<', '{'}, "< >", "ten iterations back, on", STEP, -10, REPLAY},
    {{'>', '}'}, NULL, NULL, STEP, 10, REPLAY},
    {{'g'}, "g G", "first, last iteration", STEP, -ALL, REPLAY},
    {{'G'}, NULL, NULL, STEP, ALL, REPLAY},
    {{'w'}, "w", "warnings", NOTES},
    {{'S'}, "S", "save the screen as text", SAVE},
    {{'L' - '@'}, "^L", "redraw the screen", REDRAW},
    {{'?'}, "? F1", "this help", HELP},
    {{'q'}, "q", "end the session and quit", QUIT, 0, LIVE},
    {{'q'}, "q", "quit", QUIT, 0, REPLAY},
};

/* Shows the overlay, or closes it if it is shown. */
static void toggle(struct model *m, enum model_overlay overlay)
{
	m->overlay = m->overlay == overlay ? MODEL_NO_OVERLAY : overlay;
	m->help = (struct model_scroll){.first = 0};
}

bool model_scroll_key(struct model_scroll *s, const struct key *key)
{
	const long by = key_lines(key, s->nr_shown), most = (long)s->nr - (long)s->nr_shown;

	if (most <= 0 || !by)
		return false;
	s->first = (unsigned)limit((long)s->first + by, most);
	return true;
}

/* --- a filter that is typed --------------------------------------------------------------------
 */

/* Of the things in focus; else of processes, or the first things that there are. */
static void open_prompt(struct model *m)
{
	struct screen_kind k;
	size_t n = m->focus;

	if (!block_find_kind(m, n, &k))
		for (n = 1; block_find_kind(m, n, &k) && !block_is_of_processes(&k);)
			n++;
	if (!block_find_kind(m, n, &k))
		n = 1;
	if (!block_find_kind(m, n, &k)) {
		snprintf(m->message, sizeof(m->message), "there is nothing to filter");
		return;
	}
	m->focus = n;
	m->prompt = (struct model_prompt){.is_open = true, .block = n};
	memcpy(m->prompt.text, m->blocks[n - 1].filter, sizeof(m->prompt.text));
}

/* Enter takes what was typed, Escape what was there. */
static void type(struct model *m, int code)
{
	struct model_prompt *p = &m->prompt;
	size_t len = strlen(p->text);

	if (code == '\r' || code == '\n' || code == KEY_CODE_ESCAPE) {
		p->is_open = false;
		if (code != KEY_CODE_ESCAPE)
			block_set_filter(m, p->block, p->text);
	} else if ((code == KEY_CODE_BACKSPACE || code == '\b') && len) {
		p->text[len - 1] = '\0';
	} else if (code == 'U' - '@') {
		p->text[0] = '\0';
	} else if (code >= ' ' && code < KEY_CODE_BACKSPACE && len + 1 < sizeof(p->text)) {
		p->text[len] = (char)code;
		p->text[len + 1] = '\0';
	}
}

/* --- pages -------------------------------------------------------------------------------------
 */

static void open_row_page(struct model *m)
{
	char name[MODEL_NAME_BYTES];

	if (!m->shown->is_set || !m->has_row_history) {
		snprintf(m->message, sizeof(m->message), "there is no history of single rows");
		return;
	}
	m->page = (struct model_page){.of = MODEL_PAGE_ROW, .row = m->selected_row};
	snprintf(m->page.name, sizeof(m->page.name), "%s%s",
		 m->view == MODEL_CPUS && m->selected_row ? "CPU " : "",
		 model_row_name(m, m->selected_row, name));
}

static void open_page(struct model *m)
{
	if (m->focus == MODEL_FOCUS_TABLE) {
		open_row_page(m);
	} else if (m->focus == MODEL_FOCUS_MACHINE) {
		m->page = (struct model_page){.of = MODEL_PAGE_MACHINE, .name = "the machine"};
		for (size_t i = 0; i < m->facts.nr_events && i < m->item; i++)
			m->page.first += model_is_item(m, i);
	} else {
		(void)block_open_page(m, m->focus);
	}
}

static void profile(struct model *m)
{
	uint32_t pid = block_selected_pid(m, m->focus);

	if (m->is_profiling)
		snprintf(m->message, sizeof(m->message), "a profile is being recorded");
	else if (!m->facts.can_profile)
		snprintf(m->message, sizeof(m->message),
			 "%s cannot profile a process: o shows it over time",
			 m->facts.is_replay ? "a replay" : "this session");
	else if (!pid)
		snprintf(m->message, sizeof(m->message), "this is no single process");
	else
		m->wanted_pid = pid;
}

/* Closes what was opened last. */
static void go_back(struct model *m)
{
	if (m->is_profiling)
		m->wants_no_profile = true;
	else if (m->page.of)
		m->page.of = MODEL_NO_PAGE;
	else if (m->focus == MODEL_FOCUS_TABLE)
		return;
	else if (m->focus != MODEL_FOCUS_MACHINE && *m->blocks[m->focus - 1].filter)
		block_set_filter(m, m->focus, "");
	else
		m->focus = MODEL_FOCUS_TABLE;
}

/* --- what keys do ------------------------------------------------------------------------------
 */

enum { THINGS_PAGE = 10 };

/* What these keys do while a kind of things has the focus; false: the same as always. */
static bool run_in_block(struct model *m, enum command command, long by)
{
	const size_t n = m->focus;
	struct screen_kind k;

	if (!block_find_kind(m, n, &k))
		return false;
	if (command == LINE)
		block_move(m, n, by);
	else if (command == PAGE)
		block_move(m, n, by * (m->blocks[n - 1].nr_lines ?: THINGS_PAGE));
	else if (command == COLUMN)
		block_move_column(m, n, by);
	else if (command == SORT)
		block_sort(m, n);
	else
		return false;
	return true;
}

/* The by-th value from the selected one. */
static void move_item(struct model *m, long by)
{
	long at = (long)(m->item < m->facts.nr_events ? m->item : 0);

	for (long to = at; by;) {
		to += by > 0 ? 1 : -1;
		if (to < 0 || to >= (long)m->facts.nr_events)
			break;
		if (!model_is_item(m, (size_t)to))
			continue;
		at = to;
		by += by > 0 ? -1 : 1;
	}
	m->item = (size_t)at;
}

static bool run_in_machine(struct model *m, enum command command, long by)
{
	if (m->focus != MODEL_FOCUS_MACHINE)
		return false;
	if (command == LINE || command == PAGE)
		move_item(m, by * (long)(m->layout.items_per_line ?: 1));
	else if (command == COLUMN)
		move_item(m, by);
	else
		return false;
	return true;
}

static bool run_in_page(struct model *m, enum command command, long by)
{
	struct model_page *p = &m->page;
	long last = (long)(p->nr > p->nr_shown ? p->nr - p->nr_shown : 0);

	if (!p->of || (command != LINE && command != PAGE))
		return false;
	by *= command == PAGE && p->nr_shown ? (long)p->nr_shown : 1;
	p->first = (size_t)limit((long)p->first + by, last);
	return true;
}

static enum model_action run(struct model *m, enum command command, long by)
{
	enum model_view view = m->view;

	if (run_in_page(m, command, by) || run_in_block(m, command, by) ||
	    run_in_machine(m, command, by))
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
		block_move_focus(m, (int)by);
		break;
	case OPEN:
		open_page(m);
		break;
	case PROFILE:
		profile(m);
		break;
	case BACK:
		go_back(m);
		break;
	case FILTER:
		open_prompt(m);
		break;
	case TREE:
		block_toggle_tree(m, m->focus);
		break;
	case DETAILS:
		block_toggle_details(m, m->focus);
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

enum model_screen model_screen(const struct model *m)
{
	struct screen_kind k;

	if (m->page.of)
		return MODEL_SCREEN_PAGE;
	if (m->focus == MODEL_FOCUS_MACHINE)
		return MODEL_SCREEN_MACHINE;
	if (!block_find_kind(m, m->focus, &k))
		return MODEL_SCREEN_TABLE;
	return block_is_of_processes(&k) ? MODEL_SCREEN_PROCESSES : MODEL_SCREEN_THINGS;
}

const struct model_key_row *model_key_row(const struct model *m, size_t *i)
{
	enum model_key_when other = m->facts.is_replay ? MODEL_KEY_LIVE : MODEL_KEY_REPLAY;

	while (*i < ARRAY_NR(rows)) {
		const struct model_key_row *row = &rows[(*i)++];

		if (row->when != other && (!row->where || row->where & model_screen(m)))
			return row;
	}
	return NULL;
}

/* --- the mouse ---------------------------------------------------------------------------------
 */

/* On a line of things: selects it. */
static bool click_on_things(struct model *m, unsigned x, unsigned y)
{
	for (size_t n = 1; n <= MODEL_MAX_BLOCKS; n++) {
		const struct model_block *b = &m->blocks[n - 1];

		if (!b->nr_lines || x < b->x || x >= b->x + b->width || y < b->y ||
		    y > b->y + b->nr_lines)
			continue;
		m->focus = n;
		if (y > b->y)
			block_select(m, n, b->first + (y - b->y) - 1);
		return true;
	}
	return false;
}

/* A click on a title sorts by it; on a cell, selects it. */
static void click_on_table(struct model *m, unsigned x, unsigned y)
{
	const struct model_layout *l = &m->layout;
	size_t column = SIZE_MAX, line = m->first_line + (y - l->rows_y) - 1;

	if (!l->nr_shown || y < l->title_y || y > l->rows_y + l->nr_lines)
		return;
	m->focus = MODEL_FOCUS_TABLE;
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

static void on_mouse(struct model *m, const struct key *key)
{
	if (key->code == KEY_CODE_CLICK && !m->page.of) {
		if (!click_on_things(m, key->x, key->y))
			click_on_table(m, key->x, key->y);
	} else if (key->code == KEY_CODE_WHEEL_UP || key->code == KEY_CODE_WHEEL_DOWN) {
		long by = key->code == KEY_CODE_WHEEL_UP ? -1 : 1;

		if (!run_in_page(m, LINE, by) && !run_in_block(m, LINE, by * WHEEL_LINES))
			move_lines(m, by * WHEEL_LINES);
	}
}

enum model_action model_key(struct model *m, const struct key *key)
{
	const struct model_key_row *row;

	if (key->code == KEY_CODE_NONE)
		return MODEL_NOTHING;
	m->message[0] = '\0';
	if (m->prompt.is_open) {
		type(m, key->code);
		return MODEL_NOTHING;
	}
	if (m->overlay && key->code != '?' && key->code != 'w') {
		if (m->overlay != MODEL_HELP || !model_scroll_key(&m->help, key))
			m->overlay = MODEL_NO_OVERLAY;
		return MODEL_NOTHING;
	}
	if (m->focus == MODEL_FOCUS_TABLE && !m->nr_shown_columns && key->code != '\t')
		block_move_focus(m, 0); /* there is no table */
	for (size_t i = 0; (row = model_key_row(m, &i));)
		for (size_t k = 0; k < MODEL_KEY_CODES && row->code[k]; k++)
			if (row->code[k] == key->code)
				return run(m, (enum command)row->command, row->by);
	on_mouse(m, key);
	return MODEL_NOTHING;
}
