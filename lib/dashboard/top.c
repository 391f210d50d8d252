/*
 * What keys do to the screen of live functions. The table of keys also feeds the help.
 */
#include "dashboard/top.h"

#include "base/array.h"
#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHEEL_LINES = 3, ALL = 1 << 30 };

struct top *dashboard_top_new(void)
{
	struct top *t = mem_zalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->question = (struct top_question){.focus = TOP_NO_FUNCTION, .nr = 1, .nr_filters = 1};
	return t;
}

void dashboard_top_free(struct top *t)
{
	if (!t)
		return;
	mem_free((void *)t->order);
	mem_free(t);
}

const char *dashboard_top_view_name(enum top_view view)
{
	static const char *const names[TOP_NR_VIEWS] = {"functions", "commands", "processes",
							"threads"};

	return names[view];
}

/* --- rows --------------------------------------------------------------------------------------
 */

static double sort_key(const struct top *t, const struct top_row *r)
{
	const struct top_share *s = t->by_total ? &r->total[t->span] : &r->self[t->span];

	return s->is_known ? s->part : -1;
}

/* The callers, the largest first, the function, and what it calls. */
static int compare(const void *x, const void *y, void *arg)
{
	const struct top_row *a = *(const struct top_row *const *)x,
			     *b = *(const struct top_row *const *)y;
	const struct top *t = arg;
	double of_a = sort_key(t, a), of_b = sort_key(t, b);

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return strcmp(a->name, b->name) ?: (a->number > b->number) - (a->number < b->number);
}

static bool is_found(const struct top *t, const struct top_row *r)
{
	const char *search = t->prompt == TOP_SEARCH ? t->typed : t->search;

	return strcasestr(r->name, search) || strcasestr(r->object, search);
}

/* What is selected stays so while rows change their order, once the user has chosen it. */
static void follow(struct top *t)
{
	for (size_t i = 0; i < t->nr_order && t->is_moved; i++)
		if (t->order[i]->number == t->selected_number &&
		    t->order[i]->kind == t->selected_kind)
			t->selected = i;
	if (t->selected >= t->nr_order)
		t->selected = t->nr_order ? t->nr_order - 1 : 0;
}

static void arrange(struct top *t)
{
	t->nr_order = 0;
	for (size_t i = 0; i < t->nr_rows; i++)
		if (is_found(t, &t->rows[i]))
			t->order[t->nr_order++] = &t->rows[i];
	if (t->nr_order)
		qsort_r((void *)t->order, t->nr_order, sizeof(*t->order), compare, t);
	follow(t);
}

int dashboard_top_show(struct top *t, const struct top_row *rows, size_t nr)
{
	if (nr > t->room) {
		const struct top_row **order = mem_calloc(nr, sizeof(*order));

		if (!order)
			return -ENOMEM;
		mem_free((void *)t->order);
		t->order = order;
		t->room = nr;
	}
	t->rows = rows;
	t->nr_rows = nr;
	t->is_set = true;
	arrange(t);
	return 0;
}

const struct top_row *dashboard_top_selected(const struct top *t)
{
	return t->is_set && t->selected < t->nr_order ? t->order[t->selected] : NULL;
}

void dashboard_top_show_page(struct top *t, const char *name, const char *text, size_t len)
{
	t->wants_page = false;
	t->has_page = true;
	t->text = text;
	t->text_bytes = len;
	t->text_first = t->nr_text_lines = 0;
	for (size_t i = 0; i < len; i++)
		t->nr_text_lines += text[i] == '\n';
	t->nr_text_lines += len && text[len - 1] != '\n';
	snprintf(t->page_name, sizeof(t->page_name), "%s", name);
}

/* --- keys --------------------------------------------------------------------------------------
 */

/* Rows of an earlier question are shown no more. */
static void ask(struct top *t)
{
	t->question.nr++;
	t->is_set = t->is_moved = false;
	t->nr_order = t->nr_rows = 0;
	t->selected = t->first = 0;
}

static size_t limit(size_t at, long by, size_t nr)
{
	long to = (long)at + by;

	if (to < 0 || !nr)
		return 0;
	return (size_t)to < nr ? (size_t)to : nr - 1;
}

static void select_row(struct top *t, size_t at)
{
	t->selected = at;
	t->is_moved = at > 0; /* at the top: whatever comes to be the first */
	if (at < t->nr_order) {
		t->selected_number = t->order[at]->number;
		t->selected_kind = t->order[at]->kind;
	}
}

static void move_lines(struct top *t, long by)
{
	if (t->has_page)
		t->text_first = limit(t->text_first, by, t->nr_text_lines);
	else
		select_row(t, limit(t->selected, by, t->nr_order));
}

/* Those of a command, process or thread. */
static void open_functions(struct top *t, const struct top_row *r)
{
	struct top_question *q = &t->question;

	if (q->view == TOP_COMMANDS)
		snprintf(q->filter, sizeof(q->filter), "%s", r->name);
	else
		snprintf(q->filter, sizeof(q->filter), "%s %" PRIu32,
			 q->view == TOP_PROCESSES ? "pid" : "tid", r->number);
	q->view = TOP_FUNCTIONS;
	q->nr_filters++;
	t->search[0] = '\0';
	ask(t);
}

static void open_calls(struct top *t)
{
	const struct top_row *r = dashboard_top_selected(t);

	if (t->has_page || !r)
		return;
	if (t->question.focus == TOP_NO_FUNCTION && t->question.view != TOP_FUNCTIONS) {
		open_functions(t, r);
		return;
	}
	if (r->kind == TOP_SUBJECT && t->question.focus != TOP_NO_FUNCTION)
		return;
	t->question.focus = r->number;
	t->search[0] = '\0';
	ask(t);
}

/* Closes what was opened last. */
static enum model_action go_back(struct top *t)
{
	if (t->has_page || t->wants_page) {
		t->has_page = t->wants_page = false;
	} else if (t->question.focus != TOP_NO_FUNCTION) {
		t->question.focus = TOP_NO_FUNCTION;
		ask(t);
	} else if (*t->search) {
		t->search[0] = '\0';
		arrange(t);
	} else if (*t->question.filter) {
		t->question.filter[0] = '\0';
		t->question.nr_filters++;
		ask(t);
	} else if (t->is_inner) {
		return MODEL_QUIT;
	}
	return MODEL_NOTHING;
}

static void open_page(struct top *t)
{
	const struct top_row *r = dashboard_top_selected(t);
	bool is_function =
	    t->question.view == TOP_FUNCTIONS || t->question.focus != TOP_NO_FUNCTION;

	if (t->has_page || t->wants_page || !r)
		return;
	if (is_function)
		t->wants_page = true;
	else
		snprintf(t->message, sizeof(t->message),
			 "code is that of a function: v shows functions");
}

static void open_prompt(struct top *t, enum top_prompt prompt)
{
	if (t->has_page)
		return;
	t->prompt = prompt;
	snprintf(t->typed, sizeof(t->typed), "%s",
		 prompt == TOP_SEARCH ? t->search : t->question.filter);
}

/* Enter takes what was typed, Escape what was there. */
static void close_prompt(struct top *t, bool is_taken)
{
	const enum top_prompt prompt = t->prompt;

	t->prompt = TOP_NO_PROMPT;
	if (is_taken && prompt == TOP_SEARCH)
		memcpy(t->search, t->typed, sizeof(t->search));
	if (prompt == TOP_SEARCH) {
		arrange(t);
	} else if (is_taken && strcmp(t->question.filter, t->typed) != 0) {
		memcpy(t->question.filter, t->typed, sizeof(t->question.filter));
		t->question.nr_filters++;
		ask(t);
	}
}

static void type(struct top *t, int code)
{
	size_t len = strlen(t->typed);

	if (code == '\r' || code == '\n' || code == KEY_CODE_ESCAPE) {
		close_prompt(t, code != KEY_CODE_ESCAPE);
		return;
	}
	if ((code == KEY_CODE_BACKSPACE || code == '\b') && len)
		t->typed[len - 1] = '\0';
	else if (code == 'U' - '@')
		t->typed[0] = '\0';
	else if (code >= ' ' && code < KEY_CODE_BACKSPACE && len + 1 < sizeof(t->typed)) {
		t->typed[len] = (char)code;
		t->typed[len + 1] = '\0';
	}
	if (t->prompt == TOP_SEARCH)
		arrange(t);
}

static void next_event(struct top *t)
{
	if (t->status.nr_events < 2) {
		snprintf(t->message, sizeof(t->message), "one event is sampled");
		return;
	}
	t->question.event = (t->question.event + 1) % (uint32_t)t->status.nr_events;
	ask(t);
}

enum command {
	LINE,
	PAGE,
	CALLS,
	BACK,
	CODE,
	SEARCH,
	FILTER,
	VIEW,
	SORT,
	SPAN,
	EVENT,
	PAUSE,
	SAVE,
	REDRAW,
	HELP,
	QUIT,
};

static const struct top_key_row rows[] = {
    {{'k', KEY_CODE_UP}, "arrows jk", "select a line", LINE, -1},
    {{'j', KEY_CODE_DOWN}, NULL, NULL, LINE, 1},
    {{KEY_CODE_PAGE_UP}, "PgUp PgDn", "a page up, down", PAGE, -1},
    {{KEY_CODE_PAGE_DOWN}, NULL, NULL, PAGE, 1},
    {{KEY_CODE_HOME, 'g'}, "Home End", "the first, last line", LINE, -ALL},
    {{KEY_CODE_END, 'G'}, NULL, NULL, LINE, ALL},
    {{'\r', '\n', KEY_CODE_RIGHT, 'l'}, "Enter", "callers and callees", CALLS},
    {{KEY_CODE_ESCAPE, KEY_CODE_BACKSPACE, KEY_CODE_LEFT, 'h'}, "Esc", "back", BACK},
    {{'a'}, "a", "source and instructions", CODE},
    {{'/'}, "/", "search names and objects", SEARCH},
    {{'f'}, "f", "filter: process, thread, CPU", FILTER},
    {{'v'}, "v", "functions, commands ...", VIEW},
    {{'s'}, "s", "sort by self, or total", SORT},
    {{'t'}, "t", "last seconds, or all", SPAN},
    {{'e'}, "e", "the next event", EVENT},
    {{'p', ' '}, "p space", "pause; measuring goes on", PAUSE},
    {{'S'}, "S", "save the screen as text", SAVE},
    {{'L' - '@'}, "^L", "redraw the screen", REDRAW},
    {{'?'}, "? F1", "this help", HELP},
    {{'q'}, "q", "end the session and quit", QUIT},
};

const struct top_key_row *dashboard_top_key_row(size_t i)
{
	return i < ARRAY_NR(rows) ? &rows[i] : NULL;
}

const char *dashboard_top_key_help(const struct top *t, const struct top_key_row *row)
{
	return row->command == QUIT && t->is_inner ? "back to the screen before" : row->help;
}

static enum model_action run(struct top *t, enum command command, long by)
{
	switch (command) {
	case LINE:
		move_lines(t, by);
		break;
	case PAGE:
		move_lines(t, t->nr_lines ? by * (long)t->nr_lines : by);
		break;
	case CALLS:
		open_calls(t);
		break;
	case BACK:
		return go_back(t);
	case CODE:
		open_page(t);
		break;
	case SEARCH:
		open_prompt(t, TOP_SEARCH);
		break;
	case FILTER:
		open_prompt(t, TOP_FILTER);
		break;
	case VIEW:
		t->question.view = (t->question.view + 1) % TOP_NR_VIEWS;
		t->question.focus = TOP_NO_FUNCTION;
		t->has_page = false;
		ask(t);
		break;
	case SORT:
		t->by_total = !t->by_total;
		arrange(t);
		break;
	case SPAN:
		t->span = t->span == TOP_RECENT ? TOP_ALL : TOP_RECENT;
		arrange(t);
		break;
	case EVENT:
		next_event(t);
		break;
	case PAUSE:
		t->is_paused = !t->is_paused;
		break;
	case HELP:
		t->has_help = true;
		t->help = (struct model_scroll){.first = 0};
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

static void click(struct top *t, unsigned y)
{
	size_t at = t->first + (y - t->rows_y);

	if (!t->has_page && y >= t->rows_y && y < t->rows_y + t->nr_lines && at < t->nr_order)
		select_row(t, at);
}

enum model_action dashboard_top_key(struct top *t, const struct key *key)
{
	if (key->code == KEY_CODE_NONE)
		return MODEL_NOTHING;
	t->message[0] = '\0';
	if (t->has_help) {
		t->has_help = model_scroll_key(&t->help, key);
		return MODEL_NOTHING;
	}
	if (t->prompt) {
		type(t, key->code);
		return MODEL_NOTHING;
	}
	for (size_t i = 0; i < ARRAY_NR(rows); i++)
		for (size_t k = 0; k < ARRAY_NR(rows[i].code) && rows[i].code[k]; k++)
			if (rows[i].code[k] == key->code)
				return run(t, (enum command)rows[i].command, rows[i].by);
	if (key->code == KEY_CODE_CLICK)
		click(t, key->y);
	else if (key->code == KEY_CODE_WHEEL_UP)
		move_lines(t, -WHEEL_LINES);
	else if (key->code == KEY_CODE_WHEEL_DOWN)
		move_lines(t, WHEEL_LINES);
	return MODEL_NOTHING;
}
