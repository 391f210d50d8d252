/*
 * The report diff: --session is the new side, --diff the old one. Rows are those of the flat
 * report.
 */
#include "report/diff.h"

#include "base/array.h"
#include "base/cause.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "numbers.h"
#include "report/functions.h"
#include "report/states.h"
#include "reports/columns.h"
#include "reports/diff.h"
#include "reports/reports.h"
#include "samples.h"
#include "screen/number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 40, MAX_KEY_BYTES = 1 << 20, MISSING_BYTES = 1024 };
enum { WAS, IS };
enum { ANY_STATE = REPORT_NR_STATES };
/* Columns that depend on names of functions. */
enum { FUNCTION_COLUMNS = 1 << REPORT_FUNCTION | 1 << REPORT_OBJECT | 1 << REPORT_LINE };

struct comparison {
	struct job *j;
	unsigned columns; /* that distinguish rows */
	bool by_iteration;
	bool are_runs; /* the iterations are runs of a command: they show what varies from run to
			  run */
	struct report_flat *flat[2];
	struct report_stats stats[2];
	const struct report_flat_row *rows[2];
	size_t nr_rows[2];
	size_t nr_replicates[2], nr_cut[2];
	struct diff_replicate *replicates[2]; /* owned; NULL: shares of sessions are compared */
	bool has_samples;
	bool are_rates;      /* amounts per second: a side has only replicates that were cut */
	uint64_t longest_ns; /* replicate, of both sides */
	size_t first[2];     /* of the inputs */
	uint32_t event;
	uint32_t state; /* ANY_STATE: rows of all are compared at once */
	struct diff *diff;
	struct report_comparable *comparable;
	struct diff_totals *totals;    /* NULL: no target was measured */
	struct diff_regions *regions;  /* NULL: they are not compared */
	struct buf key;                /* of the current row */
	size_t nr_compared, nr_tested; /* events or states; rows of them */
	size_t nr_states;              /* of the event, so far */
	bool is_testable;
	struct grid *g;
	struct diff_junit *junit; /* printed in place of grids; NULL: not */
};

/* The column that distinguishes replicates. */
static enum report_column replicate_column(const struct comparison *c)
{
	return c->by_iteration ? REPORT_ITERATION : REPORT_SESSION;
}

static int read_side(struct comparison *c, int side, struct err *e)
{
	size_t nr = side == IS ? c->j->inputs->nr : c->j->inputs->nr_diff;
	unsigned columns = c->columns | 1u << replicate_column(c) | 1u << REPORT_SESSION;
	struct report_sink sink;
	int rc;

	if (c->columns & FUNCTION_COLUMNS)
		columns |= 1u << REPORT_FUNCTION;

	c->nr_replicates[side] =
	    c->by_iteration ? c->j->inputs->item[c->first[side]].facts->nr_iterations : nr;
	c->flat[side] = report_flat_new(c->j->inputs->functions, columns, false);
	if (!c->flat[side])
		return err_set(e, -ENOMEM, "out of memory");
	if (c->j->adds_states)
		report_flat_put_in_program(c->flat[side], true);
	sink = *report_flat_sink(c->flat[side]);
	sink.takes_maxima = false; /* shares are compared */
	rc = samples_read(c->j, c->first[side], nr, &sink, &c->stats[side], e);
	if (rc)
		return rc;
	c->rows[side] = report_flat_rows(c->flat[side], &c->nr_rows[side]);
	return c->rows[side] ? 0 : err_set(e, -ENOMEM, "out of memory");
}

/* --sort=region alone: rows of other columns are not those of marks. */
static bool compares_regions(const struct comparison *c)
{
	return c->columns == 1u << REPORT_REGION;
}

static const char *replicate_name(const struct comparison *c)
{
	return c->are_runs ? "run" : c->by_iteration ? "iteration" : "session";
}

/* Amounts are compared only between replicates that did the same work, iterations only if they
 * ended for the same cause. */
static int load_replicates(struct comparison *c)
{
	int rc = 0;

	for (int side = WAS; side <= IS && rc == 0; side++) {
		size_t nr = side == IS ? c->j->inputs->nr : c->j->inputs->nr_diff;
		const struct profile_facts *facts = c->j->inputs->item[c->first[side]].facts;

		rc = diff_replicates_load(c->j, c->first[side], nr, c->by_iteration,
					  &c->replicates[side]);
		c->nr_replicates[side] = c->by_iteration ? facts->nr_iterations : nr;
		for (size_t i = c->by_iteration ? facts->nr_removed : 0;
		     i < c->nr_replicates[side] && rc == 0; i++)
			c->nr_cut[side] += c->replicates[side][i].is_cut;
	}
	c->are_runs = rc == 0 && c->by_iteration && c->replicates[WAS][0].cause == CAUSE_RUN &&
		      c->replicates[IS][0].cause == CAUSE_RUN;
	return rc;
}

/* Cut replicates did less work; but their shares and rates can be compared, unless they are runs.
 */
static bool ignores_cut(const struct comparison *c)
{
	return c->are_runs || (c->j->selection->by_count && !c->are_rates);
}

/* The same rule as for the totals of a command, which include this one. */
static void choose_rates(struct comparison *c)
{
	if (!c->j->selection->by_count)
		return;
	for (int side = WAS; side <= IS; side++) {
		c->are_rates |= c->nr_cut[side] == c->nr_replicates[side];
		for (size_t i = 0; i < c->nr_replicates[side]; i++)
			if (c->replicates[side][i].duration_ns > c->longest_ns)
				c->longest_ns = c->replicates[side][i].duration_ns;
	}
	if (c->totals)
		c->are_rates = diff_totals_are_rates(c->totals);
}

/* Rates are amounts of the longest replicate's time: they are integers. */
static uint64_t amount_of(const struct comparison *c, const struct diff_replicate *of,
			  uint64_t weight)
{
	if (!c->are_rates || !of->duration_ns)
		return weight;
	return (uint64_t)llround((double)weight * (double)c->longest_ns / (double)of->duration_ns);
}

static int load_comparable(struct comparison *c)
{
	int rc = 0;

	c->comparable = report_comparable_new(c->j->inputs->functions);
	if (!c->comparable)
		return -ENOMEM;
	for (int side = WAS; side <= IS; side++)
		for (size_t i = 0;
		     i < (side == IS ? c->j->inputs->nr : c->j->inputs->nr_diff) && rc == 0; i++)
			rc = diff_names_add(c->comparable, c->j, c->first[side] + i, c->rows[side],
					    c->nr_rows[side]);
	if (rc == 0 && (c->columns & (1u << REPORT_FUNCTION | 1u << REPORT_LINE)))
		diff_names_report(c->comparable, c->j);
	return rc;
}

/* Replaces a function whose name cannot be compared by its whole object. */
static int make_comparable(struct comparison *c, struct report_flat_row *row)
{
	const struct report_function *was, *is;

	if (!(c->columns & FUNCTION_COLUMNS))
		return 0;
	was = report_functions_at(c->j->inputs->functions, row->column[REPORT_FUNCTION]);
	is = report_comparable_function(c->comparable, was);
	if (!is)
		return -ENOMEM;
	if (is == was)
		return 0;
	row->column[REPORT_FUNCTION] = is->number;
	row->column[REPORT_OBJECT] = is->object_number;
	row->column[REPORT_LINE] = 0;
	row->file = UINT32_MAX;
	return 0;
}

/* Names come first in a key, so that rows of equal change are sorted by name. */
static void add_names(struct comparison *c, const struct report_flat_row *row)
{
	const struct report_functions *f = c->j->inputs->functions;

	if (c->columns >> REPORT_FUNCTION & 1) {
		const struct report_function *function =
		    report_functions_at(f, row->column[REPORT_FUNCTION]);

		buf_printf(&c->key, "%s\n%s\n", function->name, function->object);
	}
	if (c->columns >> REPORT_OBJECT & 1)
		buf_printf(&c->key, "%s\n", report_functions_text(f, row->column[REPORT_OBJECT]));
	if (c->columns >> REPORT_COMM & 1)
		buf_printf(&c->key, "%s\n", report_functions_text(f, row->column[REPORT_COMM]));
	if (c->columns >> REPORT_CMDLINE & 1)
		buf_printf(&c->key, "%s\n", report_functions_text(f, row->column[REPORT_CMDLINE]));
	for (unsigned i = REPORT_WAKER; i <= REPORT_WAKER_FUNCTION; i++)
		if (c->columns >> i & 1)
			buf_printf(&c->key, "%s\n", report_functions_text(f, row->column[i]));
	if (c->columns >> REPORT_REASON & 1)
		buf_printf(&c->key, "%s\n", report_functions_text(f, row->column[REPORT_REASON]));
	if (c->columns >> REPORT_REGION & 1)
		buf_printf(&c->key, "%s\n", report_functions_text(f, row->column[REPORT_REGION]));
	if ((c->columns >> REPORT_LINE & 1) && row->file != UINT32_MAX)
		buf_printf(&c->key, "%s\n", report_functions_text(f, row->file));
}

/* The key of a row is the same in all replicates. Its last line holds the columns as numbers. */
static int make_key(struct comparison *c, const struct report_flat_row *row)
{
	buf_reset(&c->key);
	add_names(c, row);
	buf_addc(&c->key, '\n');
	for (unsigned i = 0; i < REPORT_NR_COLUMNS; i++)
		if (c->columns >> i & 1)
			buf_printf(&c->key, "%" PRIu32 " ", row->column[i]);
	buf_printf(&c->key, "%" PRIu32, row->file);
	return buf_error(&c->key);
}

/* Rows that only call others are not compared. */
static bool is_of_event(const struct comparison *c, const struct report_flat_row *row)
{
	return row->column[REPORT_EVENT] == c->event && row->self.samples;
}

static bool is_of_state(const struct comparison *c, const struct report_flat_row *row)
{
	return c->state == ANY_STATE || row->column[REPORT_STATE] == c->state;
}

static int add_rows(struct comparison *c, int side)
{
	const struct diff_replicate *of = c->replicates[side];
	const size_t first = c->by_iteration ? 0 : c->first[side];
	int rc = 0;

	for (size_t i = 0; of && i < c->nr_replicates[side] && rc == 0; i++)
		if (!(of[i].is_cut && ignores_cut(c)) && c->j->selection->by_count)
			rc = diff_total(c->diff, (unsigned)side, i, 0, of[i].duration_ns);
	for (size_t i = 0; i < c->nr_rows[side] && rc == 0; i++) {
		struct report_flat_row row = c->rows[side][i];
		size_t replicate = row.column[replicate_column(c)] - first;
		uint64_t weight = row.self.weight;
		double scale;

		if (!is_of_event(c, &row))
			continue;
		if (of && replicate < c->nr_replicates[side]) {
			if (of[replicate].is_cut && ignores_cut(c))
				continue;
			weight = amount_of(c, &of[replicate], weight);
		}
		if (!is_of_state(c, &row)) { /* perhaps none of its time was in this one */
			rc = diff_measured(c->diff, (unsigned)side, replicate);
			continue;
		}
		scale = row.self.weight ? (double)weight / (double)row.self.weight : 0;
		rc = make_comparable(c, &row) ?:
		     make_key(c, &row) ?:
		     diff_add(c->diff, (unsigned)side, replicate, buf_str(&c->key), weight,
			      row.self.samples, scale * scale * row.self.squares) ?:
		     diff_total(c->diff, (unsigned)side, replicate, weight, 0);
	}
	return rc;
}

/* Restores the columns of a row from its key. */
static void read_key(const struct comparison *c, const char *key, struct report_flat_row *out)
{
	*out = (struct report_flat_row){.column[REPORT_EVENT] = c->event};
	key = strrchr(key, '\n') + 1;
	for (unsigned i = 0; i < REPORT_NR_COLUMNS; i++)
		if (c->columns >> i & 1)
			out->column[i] = (uint32_t)strtoul(key, (char **)&key, 10);
	out->file = (uint32_t)strtoul(key, NULL, 10);
}

/* In text the state stands above its table. */
static unsigned shown_columns(const struct comparison *c)
{
	return c->state == ANY_STATE || c->j->output->form != GRID_PEOPLE
		   ? c->columns
		   : c->columns & ~(1u << REPORT_STATE);
}

static struct grid *make_grid(const struct comparison *c)
{
	struct grid_column columns[12 + REPORT_NR_COLUMNS] = {
	    {"event", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"change", NULL, c->j->selection->by_count ? "%" : "pp", GRID_SHIFT, GRID_ALL},
	    {"relative", NULL, "%", GRID_CHANGE, GRID_ALL},
	    {"certain", NULL, NULL, GRID_FLAG, GRID_ALL},
	    {"scope", "certain", NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"p", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
	    {"was", NULL, "%", GRID_PERCENT, GRID_ALL},
	    {"is", NULL, "%", GRID_PERCENT, GRID_ALL},
	    {"was_samples", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
	    {"is_samples", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
	    /* mean per replicate */
	    {"was_count", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
	    {"is_count", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
	};
	size_t nr = 12;

	if (c->j->selection->by_count && c->j->output->form == GRID_PEOPLE) {
		for (size_t i = 0; i < 2; i++) { /* amounts, not shares */
			columns[6 + i].audience = GRID_ONLY_MACHINES;
			columns[10 + i].audience = GRID_ALL;
			columns[10 + i].header =
			    c->are_rates ? (i ? "is per s" : "was per s") : (i ? "is" : "was");
			columns[10 + i].unit = job_event(c->j, c->event)->unit;
		}
	}
	if (c->by_iteration && !c->are_runs && c->j->output->form == GRID_PEOPLE) {
		columns[3].audience = GRID_ONLY_MACHINES;
		columns[4].audience = GRID_ALL;
	}
	nr += reports_add_columns(shown_columns(c), columns + nr);
	return reports_grid(c->j, columns, nr);
}

static void put_row(struct comparison *c, const struct diff_row *row)
{
	const struct trace_event *ev = job_event(c->j, c->event);
	double scale = c->j->output->form == GRID_PEOPLE && ev->scale > 0 ? ev->scale : 1;
	struct report_flat_row of;

	if (c->are_rates && c->longest_ns)
		scale *= 1e9 / (double)c->longest_ns;
	read_key(c, row->key, &of);
	grid_row(c->g);
	grid_text(c->g, ev->label);
	grid_shift(c->g, row->difference, row->half, row->is_significant);
	isfinite(row->relative) ? grid_change(c->g, row->relative, row->is_significant)
				: grid_none(c->g);
	grid_flag(c->g, row->is_significant);
	grid_text(c->g, row->is_significant && c->by_iteration && !c->are_runs
			    ? "within these two runs"
			    : "");
	row->is_tested ? grid_real(c->g, row->adjusted) : grid_na(c->g);
	grid_percent(c->g, row->side[WAS].share);
	grid_percent(c->g, row->side[IS].share);
	grid_count(c->g, row->side[WAS].nr_samples);
	grid_count(c->g, row->side[IS].nr_samples);
	grid_real(c->g, row->side[WAS].weight * scale);
	grid_real(c->g, row->side[IS].weight * scale);
	reports_put_columns(c->j, shown_columns(c), &of, c->g);
}

/* A remark of --counts: in text below the heading, else a warning. */
static void remark(struct comparison *c, const struct err *what)
{
	if (c->j->output->form == GRID_PEOPLE)
		buf_printf(&c->j->output->text, "%c%s; %s\n", toupper((unsigned char)what->msg[0]),
			   what->msg + 1, what->hint);
	else
		problems_add(&c->j->output->problems, false, what);
}

static void remark_other_work(struct comparison *c, const struct diff_result *r)
{
	const char *what = replicate_name(c);
	struct err cut = {0}, longer = {0};

	if (c->are_rates) {
		err_set(&cut, -ENODATA, "%ss were cut short: %zu now, %zu before", what,
			c->nr_cut[IS], c->nr_cut[WAS]);
		err_hint(&cut, "amounts per second are compared");
		remark(c, &cut);
	} else if (ignores_cut(c) && (c->nr_cut[IS] || c->nr_cut[WAS])) {
		err_set(&cut, -ENODATA, "%ss that were cut short are ignored: %zu now, %zu before",
			what, c->nr_cut[IS], c->nr_cut[WAS]);
		err_hint(&cut, "they did less work");
		remark(c, &cut);
	}
	if (c->j->selection->by_count && !c->are_runs && !c->are_rates && r->has_other_duration) {
		err_set(&longer, -ENODATA, "%ss lasted %.3f s now, %.3f s before", what,
			r->side[IS].duration_ns / 1e9, r->side[WAS].duration_ns / 1e9);
		err_hint(&longer, "--counts is meaningful only for the same work");
		remark(c, &longer);
	}
}

/* Of the time of all threads, on that side. */
static double share_of_state(const struct comparison *c, int side)
{
	double of_state = 0, all = 0;

	for (size_t i = 0; i < c->nr_rows[side]; i++) {
		const struct report_flat_row *row = &c->rows[side][i];

		if (row->column[REPORT_EVENT] != c->event)
			continue;
		all += (double)row->self.weight;
		of_state += row->column[REPORT_STATE] == c->state ? (double)row->self.weight : 0;
	}
	return all > 0 ? of_state / all : 0;
}

/* Samples that are missing are those of all states. */
static bool is_first(const struct comparison *c)
{
	return c->state == ANY_STATE || !c->nr_states;
}

/* In text: what was compared, and how many rows changed significantly. */
static void put_heading(struct comparison *c, const struct diff_result *r)
{
	const char *what = replicate_name(c);
	struct buf *b = &c->j->output->text, missing;

	if (c->j->output->form != GRID_PEOPLE)
		return;
	buf_printf(b, "\n%s", job_event(c->j, c->event)->label);
	if (c->state != ANY_STATE)
		buf_printf(b, ", %s",
			   *report_state_names[c->state] ? report_state_names[c->state] : "other");
	buf_printf(b, ": %zu %s%s now, %zu before; %zu of %zu rows tested, ",
		   r->side[IS].nr_replicates, what, str_plural(r->side[IS].nr_replicates, "", "s"),
		   r->side[WAS].nr_replicates, r->nr_tested, r->nr_rows);
	if (!r->is_testable)
		buf_printf(b, "which needs two %ss per side: nothing is significant\n", what);
	else
		buf_printf(b, "%zu changed significantly%s (5 %% level, corrected by Holm)\n",
			   r->nr_significant,
			   c->by_iteration && !c->are_runs ? " within these two runs" : "");
	if (c->state != ANY_STATE)
		buf_printf(b, "of the time of all threads: %s %% now, %s %% before\n",
			   DECIMAL(100 * share_of_state(c, IS), 1),
			   DECIMAL(100 * share_of_state(c, WAS), 1));
	buf_init(&missing, MISSING_BYTES);
	for (int side = IS; side >= WAS && is_first(c); side--) {
		buf_reset(&missing);
		if (samples_add_missing(c->j, &missing, "; ", &c->stats[side], c->event))
			buf_printf(b, "%s%s\n", side == IS ? "now" : "before", buf_str(&missing));
	}
	buf_fini(&missing);
	if (c->by_iteration && !c->are_runs && r->is_testable)
		buf_adds(b, "Iterations do not show what varies from run to run: name several "
			    "sessions per side to cover that.\n");
}

static double limit_of(const struct comparison *c)
{
	return c->j->selection->fail_over / 100;
}

/* The columns as one name. */
static void add_case(struct comparison *c, const struct diff_row *row)
{
	const struct diff_junit_result result = {.relative = row->relative,
						 .limit = limit_of(c),
						 .p = row->adjusted,
						 .is_over = !c->are_rates &&
							    diff_row_is_over(row, limit_of(c))};
	struct report_flat_row of;

	read_key(c, row->key, &of);
	buf_reset(&c->key);
	reports_add_name(c->j, c->columns, &of, &c->key);
	diff_junit_add(c->junit, job_event(c->j, c->event)->label, buf_str(&c->key), &result);
}

static int put_cases(struct comparison *c, const struct diff_result *r, struct err *e)
{
	remark_other_work(c, r);
	for (size_t i = 0; i < r->nr_rows; i++)
		if (r->rows[i].is_tested)
			add_case(c, &r->rows[i]);
	return buf_error(&c->junit->cases) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

static int put_rows(struct comparison *c, const struct diff_result *r, struct err *e)
{
	uint64_t top = reports_top(c->j, TOP);
	double min = reports_min_share(c->j, 0);
	struct reports_rest rest = {0};

	put_heading(c, r);
	remark_other_work(c, r);
	c->g = c->g ? c->g : make_grid(c);
	if (!c->g)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < r->nr_rows; i++) {
		const struct diff_row *row = &r->rows[i];
		bool is_small = row->side[WAS].share < min && row->side[IS].share < min;

		if (!row->is_significant && (i >= top || is_small))
			reports_rest_add(&rest, &(struct report_weight){0}, i >= top, is_small);
		else
			put_row(c, row);
	}
	reports_rest_put(c->j, &rest, NULL, c->g);
	if (c->j->output->form == GRID_PEOPLE) {
		struct grid *g = c->g;

		c->g = NULL;
		return reports_end(c->j, g, 0, e);
	}
	return 0;
}

static int compare_event(struct comparison *c, struct err *e)
{
	const struct diff_options options = {
	    .basis = c->j->selection->by_count ? DIFF_WEIGHTS : DIFF_SHARES,
	    .nr_replicates = {c->nr_replicates[WAS], c->nr_replicates[IS]},
	    .are_iterations = c->by_iteration && !c->are_runs};
	struct diff_result result;
	int rc = diff_new(&options, &c->diff);

	for (int side = WAS; side <= IS && rc == 0; side++)
		rc = add_rows(c, side);
	if (rc == 0)
		rc = diff_finish(c->diff, &result);
	if (rc)
		err_set(e, rc, "cannot be compared: %s", strerror(-rc));
	if (rc == 0)
		rc = c->junit ? put_cases(c, &result, e) : put_rows(c, &result, e);
	if (rc == 0) {
		c->nr_compared++;
		c->nr_tested += result.nr_tested;
		c->is_testable |= result.is_testable;
	}
	if (rc == 0 && c->j->selection->fail_over >= 0 && !c->are_rates)
		c->j->output->is_over |= diff_is_over(&result, limit_of(c));
	diff_free(c->diff);
	c->diff = NULL;
	return rc;
}

static bool has_state(const struct comparison *c, uint32_t state)
{
	for (int side = WAS; side <= IS; side++)
		if (ARRAY_ANY(x, c->rows[side], c->nr_rows[side],
			      x->column[REPORT_EVENT] == c->event && x->self.samples &&
				  x->column[REPORT_STATE] == state))
			return true;
	return false;
}

/* Each state is compared by itself: how long threads waited shifts no share of the time on CPU, and
 * functions that wait do not raise the bar for those that run. */
static int compare_states(struct comparison *c, struct err *e)
{
	int rc = 0;

	c->nr_states = 0;
	for (c->state = 0; c->state < REPORT_NR_STATES && rc == 0; c->state++) {
		if (!has_state(c, c->state))
			continue;
		rc = compare_event(c, e);
		c->nr_states++;
	}
	c->state = ANY_STATE;
	return rc;
}

/* No test is not the same as no change: an error with --fail-over, else a warning. */
static int report_untested(struct comparison *c, struct err *e)
{
	const char *what = replicate_name(c);
	struct err why = {0};
	int rc = 0;

	if (c->nr_tested)
		return 0;
	if (!c->nr_compared)
		err_set(&why, -ENODATA, "nothing was compared: there are no %s",
			c->has_samples ? "samples" : "counts");
	else if (!c->is_testable)
		err_set(&why, -ENODATA, "nothing was tested: a test needs two %ss%s on each side",
			what, c->has_samples ? " with samples" : "");
	else
		err_set(&why, -ENODATA, "nothing was tested: there are too few samples");
	err_hint(
	    &why, "%s",
	    c->nr_compared && !c->is_testable
		? "record with --runs=10 or --num-iterations=10, or name several sessions per side"
		: "record for longer, or at a higher rate");
	if (c->j->selection->fail_over >= 0) {
		rc = output_write(c->j->output, e);
		if (rc == 0) {
			*e = why;
			rc = why.code;
		}
	} else if (c->j->output->form != GRID_PEOPLE) {
		problems_add(&c->j->output->problems, false, &why);
	}
	return rc;
}

/* For programs. What stands in the columns of a row may follow. */
static void put_amount(struct comparison *c, const char *name, const struct amount *a)
{
	grid_row(c->g);
	grid_text(c->g, name);
	grid_shift(c->g, a->relative, a->half, a->is_significant);
	isfinite(a->relative) ? grid_change(c->g, a->relative, a->is_significant) : grid_none(c->g);
	grid_flag(c->g, a->is_significant);
	grid_text(c->g, a->is_significant && c->by_iteration && !c->are_runs
			    ? "within these two runs"
			    : "");
	a->is_tested ? grid_real(c->g, a->adjusted) : grid_na(c->g);
	for (int k = 0; k < 4; k++) /* shares and samples */
		grid_none(c->g);
	grid_real(c->g, a->mean[WAS]);
	grid_real(c->g, a->mean[IS]);
}

/* For programs: rows without a function. */
static int put_total_rows(struct comparison *c, struct err *e)
{
	size_t nr;
	const struct amount *list = diff_totals_list(c->totals, &nr);

	c->g = make_grid(c);
	if (!c->g)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++)
		put_amount(c, diff_totals_name(c->totals, i), &list[i]);
	return 0;
}

/* Adds an amount to what is judged. has_limit: --fail-over applies to it. */
static void judge(struct comparison *c, const struct amount *a, bool has_limit, const char *kind,
		  const char *name)
{
	const struct diff_junit_result result = {
	    .relative = a->relative,
	    .limit = limit_of(c),
	    .p = a->adjusted,
	    .is_over =
		c->j->selection->fail_over >= 0 && has_limit && amount_is_over(a, limit_of(c)),
	};

	c->nr_tested += a->is_tested;
	c->is_testable |= a->is_tested;
	c->j->output->is_over |= result.is_over;
	if (c->junit && a->is_tested)
		diff_junit_add(c->junit, kind, name, &result);
}

/* The totals of a command precede the rows. Rates are not the same work: they are not failed
 * over. */
static int put_totals(struct comparison *c, struct err *e)
{
	int rc = diff_totals_new(c->j, c->by_iteration, &c->totals, e);
	const struct amount *list;
	size_t nr;

	if (rc || !c->totals)
		return rc;
	list = diff_totals_list(c->totals, &nr);
	c->nr_compared += c->has_samples ? 0 : nr;
	for (size_t i = 0; i < nr; i++)
		judge(c, &list[i],
		      !diff_totals_are_rates(c->totals) || diff_totals_is_latency(c->totals, i),
		      "total", diff_totals_name(c->totals, i));
	if (c->junit)
		return 0;
	return c->j->output->form == GRID_PEOPLE ? diff_totals_print(c->totals, e)
						 : put_total_rows(c, e);
}

/* Sessions of a command that ran to its end, and iterations, did the same work. */
static bool are_regions_rates(const struct comparison *c)
{
	double ns[2] = {0, 0};

	if (c->totals)
		return diff_totals_are_rates(c->totals);
	for (int side = WAS; side <= IS; side++) {
		if (c->nr_cut[side] == c->nr_replicates[side])
			return true;
		for (size_t i = 0; i < c->nr_replicates[side]; i++)
			ns[side] += (double)c->replicates[side][i].duration_ns /
				    (double)c->nr_replicates[side];
	}
	return fabs(ns[IS] - ns[WAS]) > ns[WAS] / 100;
}

static int put_region_rows(struct comparison *c, struct err *e)
{
	size_t nr;
	const struct amount *list = diff_regions_list(c->regions, &nr);

	c->g = c->g ? c->g : make_grid(c);
	if (!c->g)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++) {
		put_amount(c, diff_regions_name(c->regions, i), &list[i]);
		grid_text(c->g, diff_regions_path(c->regions, i));
	}
	return 0;
}

/* The calls and times of regions precede the shares of their samples. */
static int compare_regions(struct comparison *c, struct err *e)
{
	const struct diff_regions_options options = {.by_iteration = c->by_iteration,
						     .are_rates = are_regions_rates(c)};
	const struct amount *list;
	struct diff_side sides[2];
	size_t nr;
	int rc;

	for (int side = WAS; side <= IS; side++)
		sides[side] = (struct diff_side){
		    .first = c->first[side],
		    .nr = side == IS ? c->j->inputs->nr : c->j->inputs->nr_diff,
		    .nr_replicates = c->nr_replicates[side],
		    .replicates = c->replicates[side],
		    .rows = c->rows[side],
		    .nr_rows = c->nr_rows[side],
		};
	rc = diff_regions_new(c->j, &options, sides, &c->regions, e);
	if (rc || !c->regions)
		return rc;
	list = diff_regions_list(c->regions, &nr);
	c->nr_compared += nr;
	for (size_t i = 0; i < nr; i++) {
		buf_reset(&c->key);
		buf_printf(&c->key, "%s %s", diff_regions_path(c->regions, i),
			   diff_regions_name(c->regions, i));
		judge(c, &list[i], diff_regions_has_limit(c->regions, i), "region",
		      buf_str(&c->key));
	}
	if (c->junit)
		return 0;
	return c->j->output->form == GRID_PEOPLE ? diff_regions_print(c->regions, e)
						 : put_region_rows(c, e);
}

static int compare_samples(struct comparison *c, struct err *e)
{
	size_t nr = c->j->inputs->item[0].facts->nr_events;
	int rc = read_side(c, WAS, e) ?: read_side(c, IS, e);

	if (rc == 0 && (c->columns & FUNCTION_COLUMNS)) {
		rc = load_comparable(c);
		if (rc)
			err_set(e, rc, "names cannot be compared: %s", strerror(-rc));
	}
	if (rc == 0 && compares_regions(c))
		rc = compare_regions(c, e);
	for (c->event = 0; c->event < nr && rc == 0; c->event++)
		if (c->stats[WAS].event[c->event].counted.samples ||
		    c->stats[IS].event[c->event].counted.samples)
			rc = c->columns >> REPORT_STATE & 1 ? compare_states(c, e)
							    : compare_event(c, e);
	return rc;
}

static int compare_all(struct comparison *c, struct err *e)
{
	int rc = put_totals(c, e);

	if (rc == 0 && c->has_samples) {
		choose_rates(c);
		rc = compare_samples(c, e);
	} else if (rc == 0 && compares_regions(c) && c->j->inputs->functions) {
		rc = compare_regions(c, e);
	}
	if (rc == 0 && c->has_samples && !c->nr_compared && c->j->output->form == GRID_PEOPLE) {
		buf_adds(&c->j->output->text, "\nNo samples on either side\n");
	} else if (rc == 0 && !c->nr_compared && !c->g &&
		   !c->junit) { /* csv and ndjson still have a header */
		c->g = make_grid(c);
		rc = c->g ? 0 : err_set(e, -ENOMEM, "out of memory");
	}
	if (rc == 0 && c->g) {
		rc = reports_end(c->j, c->g, 0, e);
		c->g = NULL;
	}
	if (rc == 0 && c->junit)
		diff_junit_write(c->junit, &c->j->output->text);
	return rc ?: report_untested(c, e);
}

/* Runs have no duration of their own. Spares other sessions a pass over all traces. */
static bool may_have_runs(const struct comparison *c)
{
	const struct trace_info *info = c->j->inputs->item[0].facts->info;

	return c->by_iteration && info && !info->duration_ns && info->num_iterations > 1;
}

static int refuse_within(struct err *e)
{
	err_set(e, -EINVAL, "--fail-over requires several sessions per side, or --within");
	err_hint(
	    e, "one session shows what varies from run to run only if it has runs: cpuperf --runs");
	return -EINVAL;
}

/* --group-by=region compares regions, too. */
static unsigned columns_of(const struct job *j)
{
	return j->selection->root == REPORT_ROOT_REGION
		   ? j->selection->columns | 1u << REPORT_REGION
		   : reports_columns(j);
}

/* A wait has other frames and words in records of switches than by programs in the kernel. */
static void warn_ways(struct job *j)
{
	const struct input *first = &j->inputs->item[0];
	const bool is_recorded = profile_session_waits(first->session) != NULL;
	struct err problem = {0};

	for (size_t i = 1; i < j->inputs->nr + j->inputs->nr_diff; i++) {
		const struct input *o = &j->inputs->item[i];

		if (!o->session || (profile_session_waits(o->session) != NULL) == is_recorded)
			continue;
		err_set(&problem, -ENOTSUP,
			"waits were found in two ways, in %s by records of switches, in %s by "
			"programs in the kernel: functions and reasons may differ by that alone",
			is_recorded ? first->path : o->path, is_recorded ? o->path : first->path);
		err_hint(&problem, "record both sides as the same user");
		problems_add(&j->output->problems, false, &problem);
		return;
	}
}

static bool has_waits(const struct job *j)
{
	const struct profile_facts *f = job_input(j)->facts;

	return ARRAY_ANY(x, f->events, f->nr_events, strcmp(x->group, "sched") == 0 && x->rate);
}

static int print(struct job *j, struct diff_junit *junit, struct err *e)
{
	struct comparison c = {.j = j,
			       .junit = junit,
			       .has_samples = inputs_are_sampled(j->inputs),
			       .by_iteration = j->inputs->nr == 1 && j->inputs->nr_diff == 1,
			       .first = {[WAS] = j->inputs->nr},
			       .state = ANY_STATE};
	int rc;

	if (has_waits(j))
		warn_ways(j);
	c.columns = columns_of(j) & ~(1u << REPORT_EVENT | 1u << replicate_column(&c));
	rc = may_have_runs(&c) || j->selection->by_count || compares_regions(&c)
		 ? load_replicates(&c)
		 : 0;
	if (rc)
		err_set(e, rc, "iterations cannot be read: %s", strerror(-rc));
	else if (c.by_iteration && !c.are_runs && j->selection->fail_over >= 0 &&
		 !j->selection->within)
		rc = refuse_within(e);
	buf_init(&c.key, MAX_KEY_BYTES);
	rc = rc ? rc : compare_all(&c, e);
	for (int side = WAS; side <= IS; side++) {
		report_flat_free(c.flat[side]);
		report_stats_fini(&c.stats[side]);
		mem_free(c.replicates[side]);
	}
	grid_free(c.g);
	report_comparable_free(c.comparable);
	diff_totals_free(c.totals);
	diff_regions_free(c.regions);
	buf_fini(&c.key);
	return rc;
}

int reports_diff(struct job *j, struct err *e)
{
	return print(j, NULL, e);
}

int reports_diff_junit(struct job *j, struct err *e)
{
	struct diff_junit junit;
	int rc;

	diff_junit_init(&junit);
	rc = print(j, &junit, e);
	diff_junit_fini(&junit);
	return rc;
}
