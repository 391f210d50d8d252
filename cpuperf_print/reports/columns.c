/*
 * The columns that distinguish rows, and their cells.
 */
#include "reports/columns.h"
#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "report/functions.h"
#include "report/states.h"
#include "trace/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 4096, CMDLINE_BYTES = 100 };

static bool is_shown(unsigned columns, enum report_column c)
{
	return (columns >> c & 1) || (c == REPORT_OBJECT && (columns >> REPORT_FUNCTION & 1));
}

/* A row that is being printed. */
struct place {
	const struct job *j;
	unsigned columns;
	const struct report_flat_row *row;
	char text[NAME_BYTES]; /* of a name that is made */
};

static const char *function_name(struct place *p, enum report_column c)
{
	return report_functions_at(p->j->inputs->functions, p->row->column[c])->name;
}

static const char *text_of(struct place *p, enum report_column c)
{
	return report_functions_text(p->j->inputs->functions, p->row->column[c]);
}

/* With a function, the object is that of the function. */
static const char *object_name(struct place *p, enum report_column c)
{
	uint32_t function = p->row->column[REPORT_FUNCTION];

	if (p->columns >> REPORT_FUNCTION & 1)
		return report_functions_at(p->j->inputs->functions, function)->object;
	return text_of(p, c);
}

static const char *line_name(struct place *p, enum report_column c)
{
	if (p->row->file == UINT32_MAX)
		return "[no line]";
	snprintf(p->text, sizeof(p->text), "%s:%" PRIu32,
		 report_functions_text(p->j->inputs->functions, p->row->file), p->row->column[c]);
	return p->text;
}

/* People get the beginning of a long one. */
static const char *cmdline_text(struct place *p, enum report_column c)
{
	const char *text = text_of(p, c);
	const size_t len = str_whole(text, CMDLINE_BYTES);

	if (p->j->output->form != GRID_PEOPLE || !text[len])
		return text;
	snprintf(p->text, sizeof(p->text), "%.*s…", (int)len, text);
	return p->text;
}

static const char *session_path(struct place *p, enum report_column c)
{
	return p->j->inputs->item[p->row->column[c]].path;
}

static const char *state_name(struct place *p, enum report_column c)
{
	return report_state_names[p->row->column[c]];
}

/* Who waits for a CPU after a wake-up does not wait for what it had been blocked on any more. */
static const char *reason_text(struct place *p, enum report_column c)
{
	static const char *const own[] = {"", "preempted", "yield", "new thread", "kernel thread"};
	const char *text = text_of(p, c);

	if (p->j->output->form != GRID_PEOPLE || !is_shown(p->columns, REPORT_STATE) ||
	    p->row->column[REPORT_STATE] != REPORT_IN_QUEUE ||
	    ARRAY_ANY(x, own, ARRAY_NR(own), strcmp(text, *x) == 0))
		return text;
	snprintf(p->text, sizeof(p->text), "after %s", text);
	return p->text;
}

/* In the order of printing. */
static const struct {
	enum report_column column;
	bool may_be_unknown;                                        /* a CPU, pid, tid or thread */
	const char *(*text)(struct place *p, enum report_column c); /* NULL: a number */
	unsigned leaves;                                            /* beside a tid: see grid.h */
} shown[] = {
    {REPORT_SESSION, false, session_path},
    {REPORT_HOST, false, text_of},
    {REPORT_RANK, true, NULL},
    {REPORT_ITERATION, false, NULL},
    {REPORT_CPU, true, NULL},
    {REPORT_PID, true, NULL, 5},
    {REPORT_TID, true, NULL},
    {REPORT_THREAD, true, NULL, 4},
    {REPORT_COMM, false, text_of},
    {REPORT_CMDLINE, false, cmdline_text},
    {REPORT_STATE, false, state_name},
    {REPORT_REASON, false, reason_text},
    {REPORT_WAKER, false, text_of},
    {REPORT_WAKER_FUNCTION, false, text_of},
    {REPORT_REGION, false, text_of},
    {REPORT_OBJECT, false, object_name},
    {REPORT_LINE, false, line_name},
    {REPORT_FUNCTION, false, function_name},
};
enum { NR_SHOWN = sizeof(shown) / sizeof(shown[0]) };

size_t reports_add_columns(unsigned columns, struct grid_column *out)
{
	/* beside the thread's own number */
	const bool has_tid = columns >> REPORT_TID & 1;
	size_t nr = 0;

	for (size_t i = 0; i < NR_SHOWN; i++)
		if (is_shown(columns, shown[i].column))
			out[nr++] =
			    (struct grid_column){.name = report_column_names[shown[i].column],
						 .kind = shown[i].text ? GRID_TEXT : GRID_NUMBER,
						 .leaves = has_tid ? shown[i].leaves : 0};
	return nr;
}

void reports_put_columns(const struct job *j, unsigned columns, const struct report_flat_row *row,
			 struct grid *g)
{
	struct place p;

	p.j = j;
	p.columns = columns;
	p.row = row;
	for (size_t i = 0; i < NR_SHOWN; i++) {
		uint32_t number = row->column[shown[i].column];

		if (!is_shown(columns, shown[i].column))
			continue;
		if (shown[i].text)
			grid_text(g, shown[i].text(&p, shown[i].column));
		else if (shown[i].may_be_unknown && number == TRACE_UNKNOWN)
			grid_unknown(g);
		else
			grid_count(g, number);
	}
}

void reports_add_name(const struct job *j, unsigned columns, const struct report_flat_row *row,
		      struct buf *out)
{
	struct place p;
	const char *separator = "";

	p.j = j;
	p.columns = columns;
	p.row = row;
	for (size_t i = 0; i < NR_SHOWN; i++) {
		uint32_t number = row->column[shown[i].column];

		if (!is_shown(columns, shown[i].column))
			continue;
		buf_adds(out, separator);
		if (shown[i].text)
			buf_adds(out, shown[i].text(&p, shown[i].column));
		else if (shown[i].may_be_unknown && number == TRACE_UNKNOWN)
			buf_printf(out, "%s -", report_column_names[shown[i].column]);
		else
			buf_printf(out, "%s %" PRIu32, report_column_names[shown[i].column],
				   number);
		separator = " ";
	}
}

unsigned reports_columns(const struct job *j)
{
	return j->selection->columns ? j->selection->columns : 1u << REPORT_FUNCTION;
}
