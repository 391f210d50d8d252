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
#include "reports/reports.h"
#include "trace/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_FOR_PEOPLE = 10, ROWS_WHEN_BRIEF = 5, SHOWN_BYTES = 40, TEXT_BYTES = 4096 };

struct report {
	struct job *j;
	struct counts_values values;
	struct counts_value *row; /* owned */
	size_t nr;
	struct grid *g;
	struct reports_rest rest;
};

static const char *const kinds[TRACE_VALUE_NR_KINDS] = {
    [TRACE_VALUE_NUMBER] = "number", [TRACE_VALUE_RANGE] = "range",
    [TRACE_VALUE_TEXT] = "text",     [TRACE_VALUE_LONG_TEXT] = "long_text",
    [TRACE_VALUE_NULL] = "null",     [TRACE_VALUE_UNREADABLE] = "unreadable",
    [TRACE_VALUE_OTHERS] = "others",
};

static const char *const types[] = {
    [TRACE_VALUE_UNSIGNED] = "unsigned",
    [TRACE_VALUE_SIGNED] = "signed",
    [TRACE_VALUE_POINTER] = "pointer",
    [TRACE_VALUE_STRING] = "string",
};

enum { EVENT, CALLS = 4 };

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

static void add_number(struct buf *b, const struct counts_value *v, uint64_t n)
{
	if (v->type == TRACE_VALUE_POINTER)
		buf_printf(b, "0x%" PRIx64, n);
	else if (v->type == TRACE_VALUE_SIGNED)
		buf_printf(b, "%" PRId64, (int64_t)n);
	else
		buf_printf(b, "%" PRIu64, n);
}

static void add_range(struct buf *b, const struct counts_value *v)
{
	int64_t low;
	uint64_t high;

	counts_value_range(v, &low, &high);
	add_number(b, v, (uint64_t)low);
	if ((uint64_t)low == high)
		return;
	buf_adds(b, " to ");
	add_number(b, v, high);
}

/* For people, in a column that leaves room for the others. */
static void add_text(struct buf *b, const char *text, bool is_begin)
{
	size_t len = strlen(text);

	if (len > SHOWN_BYTES) {
		is_begin = true;
		for (len = SHOWN_BYTES; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--; /* the first byte of a character */
	}
	buf_printf(b, "\"%.*s\"%s", (int)len, text, is_begin ? "…" : "");
}

static void add_value(struct buf *b, const struct report *r, const struct counts_value *v)
{
	const bool for_people = r->j->output->form == GRID_PEOPLE;
	const char *text = counts_value_text(&r->values, v->text);

	switch (v->kind) {
	case TRACE_VALUE_NUMBER:
		add_number(b, v, v->number);
		break;
	case TRACE_VALUE_RANGE:
		add_range(b, v);
		break;
	case TRACE_VALUE_TEXT:
	case TRACE_VALUE_LONG_TEXT:
		if (!for_people) {
			buf_adds(b, text);
			break;
		}
		add_text(b, text, v->kind == TRACE_VALUE_LONG_TEXT);
		break;
	case TRACE_VALUE_NULL:
		buf_adds(b, for_people ? "NULL" : "");
		break;
	default:
		buf_printf(b, "%s",
			   for_people
			       ? v->kind == TRACE_VALUE_OTHERS ? "[others]" : "[not readable]"
			       : "");
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
	grid_text(g, job_event(r->j, v->event)->label);
	grid_text(g, elf_demangle(symbol, name) ? name : symbol);
	grid_text(g, counts_value_text(&r->values, v->field_name));
	grid_text(g, buf_str(&text));
	grid_count(g, v->calls);
	grid_percent(g, calls ? (double)v->calls / (double)calls : NAN);
	v->timed ? grid_count(g, v->wall_ns) : grid_none(g);
	reports_put_ns(g, v->timed ? (double)v->wall_ns / (double)v->timed : NAN);
	v->timed ? grid_count(g, v->max_ns) : grid_none(g);
	grid_text(g, kinds[v->kind]);
	grid_text(g, types[v->type]);
	v->kind <= TRACE_VALUE_RANGE ? grid_integer(g, (int64_t)v->sum) : grid_none(g);
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

/* Of each argument the first ones; of ranges all, as they are few and in their order. */
static void put_argument(struct report *r, const struct counts_value *row, size_t nr)
{
	const uint64_t top = top_of(r) ?: UINT64_MAX;
	uint64_t calls = 0;

	for (size_t i = 0; i < nr; i++)
		calls += row[i].calls;
	for (size_t i = 0; i < nr; i++) {
		if (i < top || row[i].kind == TRACE_VALUE_RANGE) {
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

static void put_rows(struct report *r)
{
	for (size_t i = 0, nr; i < r->nr; i += nr) {
		for (nr = 1; i + nr < r->nr &&
			     counts_value_compare_field(&r->row[i], &r->row[i + nr]) == 0;)
			nr++;
		if (is_wanted(r, &r->row[i]))
			put_argument(r, &r->row[i], nr);
	}
}

static int add_trace(void *arg, const struct profile_trace *t)
{
	struct report *r = arg;
	const struct profile_filter *filter = &r->j->selection->filter;
	int rc = 0;

	for (size_t i = 0; i < t->nr_values && rc == 0; i++)
		if (profile_filter_has_event(filter, &t->events[t->values[i].value.event]))
			rc = counts_values_add(&r->values, &t->values[i].value);
	return rc;
}

static int print(struct report *r, struct err *e)
{
	int rc = 0;

	for (size_t i = r->j->first; i < r->j->first + r->j->nr && rc == 0; i++)
		rc = reports_each_trace(r->j, &r->j->inputs->item[i], add_trace, r);
	rc = rc ?: counts_values_rows(&r->values, &r->row, &r->nr);
	r->g = rc ? NULL : reports_grid(r->j, columns, ARRAY_NR(columns));
	rc = rc ?: r->g ? 0 : -ENOMEM;
	if (rc)
		return err_set(e, rc, "the values cannot be printed: %s", strerror(-rc));
	put_rows(r);
	if (r->j->output->form == GRID_PEOPLE)
		buf_adds(&r->j->output->text,
			 r->nr ? "\nValues of arguments and results\n"
			       : "\nNo values: events of the group function with a signature "
				 "record them: function:handle(path:str, size:u64)>int\n");
	if (r->j->output->form == GRID_PEOPLE && r->values.nr_skipped)
		buf_adds(&r->j->output->text,
			 "Some values are missing: there are more than can be added up\n");
	reports_rest_put(r->j, &r->rest, NULL, r->g);
	if (!r->nr && r->j->output->form == GRID_PEOPLE) { /* no header alone */
		grid_free(r->g);
		return output_flush(r->j->output, e);
	}
	return reports_end(r->j, r->g, rc, e);
}

int reports_values(struct job *j, struct err *e)
{
	struct report r = {.j = j};
	int rc = print(&r, e);

	counts_values_fini(&r.values);
	mem_free(r.row);
	return rc;
}
