/*
 * The columns that distinguish rows, and their cells.
 */
#include "reports/columns.h"
#include "base/err.h"
#include "report/functions.h"
#include "trace/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 4096 };

/* A row that is being printed. */
struct place {
	const struct job *j;
	unsigned columns;
	const struct report_flat_row *row;
	struct grid *g;
};

static void put_number(const struct place *p, enum report_column c)
{
	grid_count(p->g, p->row->column[c]);
}

/* A CPU, pid or tid. */
static void put_known(const struct place *p, enum report_column c)
{
	if (p->row->column[c] == TRACE_UNKNOWN)
		grid_unknown(p->g);
	else
		put_number(p, c);
}

static void put_function(const struct place *p, enum report_column c)
{
	grid_text(p->g, report_functions_at(p->j->inputs->functions, p->row->column[c])->name);
}

static void put_text(const struct place *p, enum report_column c)
{
	grid_text(p->g, report_functions_text(p->j->inputs->functions, p->row->column[c]));
}

/* With a function, the object is that of the function. */
static void put_object(const struct place *p, enum report_column c)
{
	uint32_t function = p->row->column[REPORT_FUNCTION];

	if (p->columns >> REPORT_FUNCTION & 1)
		grid_text(p->g, report_functions_at(p->j->inputs->functions, function)->object);
	else
		put_text(p, c);
}

static void put_line(const struct place *p, enum report_column c)
{
	char text[NAME_BYTES];

	if (p->row->file == UINT32_MAX) {
		grid_text(p->g, "[no line]");
		return;
	}
	snprintf(text, sizeof(text), "%s:%" PRIu32,
		 report_functions_text(p->j->inputs->functions, p->row->file), p->row->column[c]);
	grid_text(p->g, text);
}

static void put_session(const struct place *p, enum report_column c)
{
	grid_text(p->g, p->j->inputs->item[p->row->column[c]].path);
}

/* In the order of printing. */
static const struct {
	enum report_column column;
	enum grid_kind kind;
	void (*put)(const struct place *p, enum report_column c);
} shown[] = {
    {REPORT_SESSION, GRID_TEXT, put_session},   {REPORT_ITERATION, GRID_COUNT, put_number},
    {REPORT_CPU, GRID_COUNT, put_known},        {REPORT_PID, GRID_COUNT, put_known},
    {REPORT_TID, GRID_COUNT, put_known},        {REPORT_COMM, GRID_TEXT, put_text},
    {REPORT_OBJECT, GRID_TEXT, put_object},     {REPORT_LINE, GRID_TEXT, put_line},
    {REPORT_FUNCTION, GRID_TEXT, put_function},
};
enum { NR_SHOWN = sizeof(shown) / sizeof(shown[0]) };

static bool is_shown(unsigned columns, enum report_column c)
{
	return (columns >> c & 1) || (c == REPORT_OBJECT && (columns >> REPORT_FUNCTION & 1));
}

size_t reports_add_columns(unsigned columns, struct grid_column *out)
{
	size_t nr = 0;

	for (size_t i = 0; i < NR_SHOWN; i++)
		if (is_shown(columns, shown[i].column))
			out[nr++] = (struct grid_column){
			    .name = report_column_names[shown[i].column], .kind = shown[i].kind};
	return nr;
}

void reports_put_columns(const struct job *j, unsigned columns, const struct report_flat_row *row,
			 struct grid *g)
{
	const struct place p = {j, columns, row, g};

	for (size_t i = 0; i < NR_SHOWN; i++)
		if (is_shown(columns, shown[i].column))
			shown[i].put(&p, shown[i].column);
}

unsigned reports_columns(const struct job *j)
{
	return j->selection->columns ? j->selection->columns : 1u << REPORT_FUNCTION;
}
