/*
 * The report calls, in gprof's layout: each function between its callers and callees. csv and
 * ndjson have one row per call.
 */
#include "report/calls.h"
#include "samples.h"

#include "base/err.h"
#include "base/mem.h"
#include "report/functions.h"
#include "reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { MIN_PERMILLE = 5, CALL_BYTES = 64 };

struct calls {
	struct job *j;
	struct report_calls *calls;
	struct report_stats stats;
	const struct report_flat_row *rows;
	size_t nr_rows;
	struct report_weight *totals; /* owned; indexed by event and function */
	uint32_t *ranks;              /* by function, within the current event; 0: not shown */
	struct grid *g;
};

static const struct report_function *function_at(const struct calls *t, uint32_t number)
{
	return report_functions_at(t->j->inputs->functions, number);
}

static const char *name_of(const struct calls *t, uint32_t function)
{
	return report_functions_at(t->j->inputs->functions, function)->name;
}

static struct grid *people_grid(const struct calls *t, uint32_t event)
{
	const char *unit = job_event(t->j, event)->unit;
	const struct grid_column columns[] = {
	    {"rank", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"self", NULL, unit, GRID_AMOUNT, GRID_ALL},
	    {"children", "self/children", unit, GRID_AMOUNT, GRID_ALL},
	    {"total", "% total", NULL, GRID_SHARE, GRID_ALL},
	    {"calls", "calls/total", NULL, GRID_TEXT, GRID_ALL},
	    {"function", NULL, NULL, GRID_TEXT, GRID_ALL},
	};

	return reports_grid(t->j, columns, sizeof(columns) / sizeof(columns[0]));
}

static void put_amount(struct calls *t, uint32_t event, uint64_t weight)
{
	grid_count(t->g, reports_amount(t->j, event, weight));
}

static void put_name(struct calls *t, unsigned depth, uint32_t function)
{
	char text[4096];

	if (t->ranks[function])
		snprintf(text, sizeof(text), "%s [%" PRIu32 "]", name_of(t, function),
			 t->ranks[function]);
	else
		snprintf(text, sizeof(text), "%s", name_of(t, function));
	grid_tree(t->g, depth, text);
}

/* A line for a caller or a callee, with its part of the total. */
static void put_call(struct calls *t, const struct report_call *c, uint32_t other, unsigned depth,
		     const struct report_weight *whole)
{
	struct interval share = reports_share(&t->stats, c->event, &c->weight);
	char calls[CALL_BYTES];

	snprintf(calls, sizeof(calls), "%" PRIu64 "/%" PRIu64,
		 reports_nr_samples(t->j, &t->stats, c->event, &c->weight),
		 reports_nr_samples(t->j, &t->stats, c->event, whole));
	grid_row(t->g);
	grid_none(t->g);
	grid_none(t->g);
	put_amount(t, c->event, c->weight.weight);
	grid_share(t->g, &share);
	grid_text(t->g, calls);
	put_name(t, depth, other);
}

static void put_function(struct calls *t, const struct report_flat_row *row)
{
	uint32_t event = row->column[REPORT_EVENT], function = row->column[REPORT_FUNCTION];
	struct interval share = reports_share(&t->stats, event, &row->total);
	char text[CALL_BYTES];

	grid_row(t->g);
	snprintf(text, sizeof(text), "[%" PRIu32 "]", t->ranks[function]);
	grid_text(t->g, text);
	put_amount(t, event, row->self.weight);
	put_amount(t, event, row->total.weight - row->self.weight);
	grid_share(t->g, &share);
	snprintf(text, sizeof(text), "%" PRIu64,
		 reports_nr_samples(t->j, &t->stats, event, &row->total));
	grid_text(t->g, text);
	put_name(t, 1, function);
}

static void put_block(struct calls *t, const struct report_flat_row *row)
{
	uint32_t event = row->column[REPORT_EVENT], function = row->column[REPORT_FUNCTION];
	const struct report_call *c;
	size_t nr;

	c = report_calls_to(t->calls, event, function, &nr);
	for (size_t i = nr; i; i--) /* the largest stands next to the function */
		put_call(t, &c[i - 1], c[i - 1].caller, 0, &row->total);
	put_function(t, row);
	c = report_calls_from(t->calls, event, function, &nr);
	for (size_t i = 0; i < nr; i++)
		put_call(t, &c[i], c[i].callee, 2, &t->totals[c[i].callee]);
	grid_line(t->g, "");
}

/* Ranks the rows of one event. Returns how many rows it has; *nr_shown: how many are shown. */
static size_t begin_event(struct calls *t, const struct report_flat_row *rows, size_t nr,
			  size_t *nr_shown)
{
	uint32_t event = rows[0].column[REPORT_EVENT];
	double min = reports_min_share(t->j, MIN_PERMILLE / 10.0);
	uint64_t top = reports_top(t->j, UINT64_MAX);
	size_t i;

	*nr_shown = 0;
	for (i = 0; i < nr && rows[i].column[REPORT_EVENT] == event; i++) {
		uint32_t function = rows[i].column[REPORT_FUNCTION];
		bool is_shown =
		    i < top && reports_share(&t->stats, event, &rows[i].total).share >= min;

		*nr_shown += is_shown;
		t->ranks[function] = is_shown ? (uint32_t)i + 1 : 0;
		t->totals[function] = rows[i].total;
	}
	return i;
}

static int print_people(struct calls *t, struct err *e)
{
	int rc = 0;

	if (!t->nr_rows)
		reports_nothing(t->j, &t->stats, "samples");

	for (size_t i = 0, nr, nr_shown; i < t->nr_rows && rc == 0; i += nr) {
		uint32_t event = t->rows[i].column[REPORT_EVENT];

		t->g = people_grid(t, event);
		if (!t->g)
			return err_set(e, -ENOMEM, "out of memory");
		reports_heading(t->j, &t->stats, event);
		nr = begin_event(t, t->rows + i, t->nr_rows - i, &nr_shown);
		for (size_t k = 0; k < nr_shown; k++)
			if (reports_is_wanted(
				t->j, function_at(t, t->rows[i + k].column[REPORT_FUNCTION])))
				put_block(t, &t->rows[i + k]);
		reports_stack_notes(t->j, &t->stats, t->g);
		rc = reports_end(t->j, t->g, 0, e);
		t->g = NULL;
	}
	return rc;
}

static bool is_wanted(const struct calls *t, const struct report_call *c)
{
	return reports_is_wanted(t->j, function_at(t, c->caller)) ||
	       reports_is_wanted(t->j, function_at(t, c->callee));
}

static void put_program_call(struct calls *t, const struct report_call *c)
{
	const struct report_function *a = function_at(t, c->caller);
	const struct report_function *b = function_at(t, c->callee);
	struct interval share = reports_share(&t->stats, c->event, &c->weight);

	grid_row(t->g);
	grid_text(t->g, job_event(t->j, c->event)->label);
	grid_text(t->g, a->name);
	grid_text(t->g, a->object);
	grid_text(t->g, b->name);
	grid_text(t->g, b->object);
	grid_share(t->g, &share);
	grid_count(t->g, c->weight.samples);
	grid_count(t->g, c->weight.weight);
}

/* One row per call, at most --top of each event. */
static void put_program_calls(struct calls *t)
{
	uint64_t top = reports_top(t->j, UINT64_MAX), nr_put = 0;
	double min = reports_min_share(t->j, 0);

	for (size_t i = 0, nr; i < t->nr_rows; i++) {
		uint32_t event = t->rows[i].column[REPORT_EVENT];
		const struct report_call *c =
		    report_calls_from(t->calls, event, t->rows[i].column[REPORT_FUNCTION], &nr);

		if (i && event != t->rows[i - 1].column[REPORT_EVENT])
			nr_put = 0;
		for (size_t k = 0; k < nr && nr_put < top; k++) {
			if (reports_share(&t->stats, event, &c[k].weight).share < min)
				break;
			if (!is_wanted(t, &c[k]))
				continue;
			put_program_call(t, &c[k]);
			nr_put++;
		}
	}
}

static int print_programs(struct calls *t, struct err *e)
{
	static const struct grid_column columns[] = {
	    {"event", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"caller", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"caller_object", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"callee", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"callee_object", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"share", NULL, NULL, GRID_SHARE, GRID_ALL},
	    {"samples", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"count", NULL, NULL, GRID_COUNT, GRID_ALL},
	};
	struct grid *g = reports_grid(t->j, columns, sizeof(columns) / sizeof(columns[0]));

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	t->g = g;
	put_program_calls(t);
	t->g = NULL;
	return reports_end(t->j, g, 0, e);
}

static int finish(struct calls *t, struct err *e)
{
	size_t nr = report_functions_nr(t->j->inputs->functions);
	int rc = report_calls_finish(t->calls);

	t->totals = mem_calloc(nr + 1, sizeof(*t->totals));
	t->ranks = mem_calloc(nr + 1, sizeof(*t->ranks));
	if (rc || !t->totals || !t->ranks)
		return err_set(e, -ENOMEM, "out of memory");
	t->rows = report_calls_rows(t->calls, &t->nr_rows);
	return 0;
}

int reports_calls(struct job *j, struct err *e)
{
	struct calls t = {.j = j, .calls = report_calls_new(j->inputs->functions)};
	int rc = (t.calls ? 0 : err_set(e, -ENOMEM, "out of memory")) ?:
		 samples_read(j, j->first, j->nr, report_calls_sink(t.calls), &t.stats, e) ?:
		 finish(&t, e);

	if (rc == 0 && !reports_check_functions(j, t.rows, t.nr_rows))
		rc = output_flush(j->output, e);
	else if (rc == 0)
		rc = j->output->form == GRID_PEOPLE ? print_people(&t, e) : print_programs(&t, e);

	report_calls_free(t.calls);
	mem_free(t.totals);
	mem_free(t.ranks);
	report_stats_fini(&t.stats);
	return rc;
}
