/*
 * The report values: which values the arguments and results of functions have had, and how long
 * calls with each took; of events with a signature (function:handle(path:str, size:u64)>int). An
 * argument with few different numbers has a row for each, others one for each power of two.
 */
#include "counts/values.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "elf/demangle.h"
#include "numbers.h"
#include "profile/session.h"
#include "report/flat.h"
#include "reports/reports.h"
#include "trace/reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_FOR_PEOPLE = 10, ROWS_WHEN_BRIEF = 5, SHOWN_BYTES = 40, TEXT_BYTES = 4096 };

struct report {
	struct job *j;
	const struct input *input; /* the session being read */
	uint32_t iteration;        /* the same */
	bool by_session, by_iteration;
	struct counts_values values; /* of all, or of the session or iteration being read */
	uint64_t nr_skipped;
	bool has_rows;
	struct grid *g;
	struct reports_rest rest;
};

enum { EVENT, CALLS = 4 };

static const struct grid_column session = {"session", NULL, NULL, GRID_TEXT, GRID_ALL},
				iteration = {"iteration", NULL, NULL, GRID_NUMBER, GRID_ALL};
static const struct grid_column columns[] = {
    [EVENT] = {"event", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"function", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"argument", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"value", NULL, NULL, GRID_TEXT, GRID_ALL},
    [CALLS] = {"calls", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"share", "%", NULL, GRID_PERCENT, GRID_ALL},
    {"wall_ns", "time", "ns", GRID_AMOUNT, GRID_ALL},
    {"mean_ns", "mean", "ns", GRID_AMOUNT, GRID_ALL},
    {"max_ns", "max", "ns", GRID_AMOUNT, GRID_ALL},
    {"kind", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"type", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"sum", NULL, NULL, GRID_INTEGER, GRID_ONLY_MACHINES},
    {"timed", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
    {"symbol", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"object", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"address", NULL, NULL, GRID_ADDRESS, GRID_ONLY_MACHINES},
};

/* --- a value as text */

/* For people, in a column that leaves room for the others. */
static void add_text(struct buf *b, const char *text, bool is_begin)
{
	const size_t len = str_whole(text, SHOWN_BYTES);

	buf_printf(b, "\"%.*s\"%s", (int)len, text, is_begin || text[len] ? "…" : "");
}

static void add_value(struct buf *b, const struct report *r, const struct counts_value *v)
{
	if (r->j->output->form != GRID_PEOPLE || counts_value_is_number(v)) {
		counts_value_put(&r->values, v, b);
		return;
	}
	switch (v->kind) {
	case TRACE_VALUE_TEXT:
	case TRACE_VALUE_LONG_TEXT:
		add_text(b, counts_value_text(&r->values, v->text),
			 v->kind == TRACE_VALUE_LONG_TEXT);
		break;
	case TRACE_VALUE_NULL:
		buf_adds(b, "NULL");
		break;
	default:
		buf_adds(b, v->kind == TRACE_VALUE_OTHERS ? "[others]" : "[not readable]");
	}
}

/* --- rows */

static void put_row(const struct report *r, const struct counts_value *v, uint64_t calls)
{
	const char *symbol = counts_value_text(&r->values, v->name);
	char name[ELF_MAX_NAME_BYTES];
	struct grid *g = r->g;
	BUF_AUTO(text, TEXT_BYTES);

	add_value(&text, r, v);
	grid_row(g);
	if (r->by_session)
		grid_text(g, r->input->path);
	if (r->by_iteration)
		grid_count(g, r->iteration);
	grid_text(g, job_event(r->j, v->event)->label);
	grid_text(g, elf_demangle(symbol, name) ? name : symbol);
	grid_text(g, counts_value_text(&r->values, v->field_name));
	grid_text(g, buf_str(&text));
	grid_count(g, v->calls);
	grid_percent(g, calls ? (double)v->calls / (double)calls : NAN);
	v->timed ? grid_count(g, v->wall_ns) : grid_none(g);
	reports_put_ns(g, v->timed ? (double)v->wall_ns / (double)v->timed : NAN);
	v->timed ? grid_count(g, v->max_ns) : grid_none(g);
	grid_text(g, counts_value_kind(v));
	grid_text(g, counts_value_type(v));
	counts_value_is_number(v) ? grid_integer(g, (int64_t)v->sum) : grid_none(g);
	grid_count(g, v->timed);
	grid_text(g, symbol);
	grid_text(g, counts_value_text(&r->values, v->object));
	grid_count(g, v->address);
}

/* 0: all. */
static uint64_t top_of(const struct report *r)
{
	return reports_top(r->j, r->j->is_brief ? ROWS_WHEN_BRIEF : ROWS_FOR_PEOPLE);
}

static double mean_of(const struct counts_value *v)
{
	return v->timed ? (double)v->wall_ns / (double)v->timed : 0;
}

/* The one with the longest mean: what makes a function slow may be rare. */
static size_t find_slowest(const struct counts_value *row, size_t nr)
{
	size_t found = 0;

	for (size_t i = 1; i < nr; i++)
		if (mean_of(&row[i]) > mean_of(&row[found]))
			found = i;
	return found;
}

/* Of each argument the first ones, and the slowest; of ranges all, as they are few and in their
 * order. */
static void put_argument(struct report *r, const struct counts_value *row, size_t nr)
{
	const uint64_t top = top_of(r) ?: UINT64_MAX;
	const size_t slowest = find_slowest(row, nr);
	uint64_t calls = 0;

	for (size_t i = 0; i < nr; i++)
		calls += row[i].calls;
	for (size_t i = 0; i < nr; i++) {
		if (i < top || i == slowest || row[i].kind == TRACE_VALUE_RANGE) {
			put_row(r, &row[i], calls);
			continue;
		}
		r->rest.nr++;
		r->rest.is_beyond_top = true;
	}
}

static bool is_wanted(const struct report *r, const struct counts_value *v)
{
	const char *symbol = counts_value_text(&r->values, v->name);
	char name[ELF_MAX_NAME_BYTES];

	return reports_is_wanted(
	    r->j, &(struct report_function){.name = elf_demangle(symbol, name) ? name : symbol});
}

static struct grid *make_grid(const struct report *r)
{
	struct grid_column all[2 + ARRAY_NR(columns)];
	size_t nr = 0;

	if (r->by_session)
		all[nr++] = session;
	if (r->by_iteration)
		all[nr++] = iteration;
	memcpy(&all[nr], columns, sizeof(columns));
	return reports_grid(r->j, all, nr + ARRAY_NR(columns));
}

/* Of what has been read since the last rows. */
static int put_rows(struct report *r)
{
	struct counts_value *row;
	size_t nr_rows;
	int rc = counts_values_rows(&r->values, &row, &nr_rows);

	if (rc)
		return rc;
	for (size_t i = 0, nr; i < nr_rows; i += nr) {
		nr = counts_values_of_field(row + i, nr_rows - i);
		if (is_wanted(r, &row[i]))
			put_argument(r, &row[i], nr);
	}
	r->has_rows |= nr_rows > 0;
	r->nr_skipped += r->values.nr_skipped;
	counts_values_fini(&r->values);
	mem_free(row);
	return 0;
}

static int add_trace(void *arg, const struct profile_trace *t)
{
	struct report *r = arg;
	const struct profile_filter *filter = &r->j->selection->filter;
	int rc = 0;

	if (r->by_iteration && t->head.iteration != r->iteration)
		rc = put_rows(r);
	r->iteration = t->head.iteration;
	for (size_t i = 0; i < t->nr_values && rc == 0; i++)
		if (profile_filter_has_event(filter, &t->events[t->values[i].value.event]))
			rc = counts_values_add(&r->values, &t->values[i].value);
	return rc;
}

static int read_session(struct report *r, const struct input *o)
{
	int rc;

	r->input = o;
	rc = reports_each_trace(r->j, o, add_trace, r);
	return rc ?: r->by_session || r->by_iteration ? put_rows(r) : 0;
}

static int print(struct report *r, struct err *e)
{
	struct buf *text = &r->j->output->text;
	int rc = 0;

	r->g = make_grid(r);
	if (!r->g)
		rc = -ENOMEM;
	for (size_t i = r->j->first; i < r->j->first + r->j->nr && rc == 0; i++)
		rc = read_session(r, &r->j->inputs->item[i]);
	rc = rc ?: put_rows(r);
	if (rc) {
		err_set(e, rc, "the values cannot be printed: %s", strerror(-rc));
	} else if (r->j->output->form == GRID_PEOPLE) {
		buf_adds(text, r->has_rows ? "\nValues of arguments and results\n"
					   : "\nNo values: events of the group function with a "
					     "signature record them: "
					     "function:handle(path:str, size:u64)>int\n");
		if (r->nr_skipped)
			buf_adds(text, "Some values are missing: there are more than can be added "
				       "up\n");
		if (!r->has_rows) { /* no header alone */
			grid_free(r->g);
			return output_flush(r->j->output, e);
		}
	}
	if (rc == 0)
		reports_rest_put(r->j, &r->rest, NULL, r->g);
	return reports_end(r->j, r->g, rc, e);
}

int reports_values(struct job *j, struct err *e)
{
	const unsigned by = j->selection->columns;
	struct report r = {.j = j, .by_iteration = by >> REPORT_ITERATION & 1};
	int rc;

	/* iterations are those of a session: of several, each row names its own */
	r.by_session = by >> REPORT_SESSION & 1 || (r.by_iteration && j->nr > 1);
	rc = print(&r, e);
	counts_values_fini(&r.values);
	return rc;
}
