/*
 * How the report diff is shown: rows in a grid with a heading, or test cases.
 */
#include "reports/diff_comparison.h"

#include "base/err.h"
#include "base/str.h"
#include "numbers.h"
#include "report/states.h"
#include "reports/columns.h"
#include "reports/reports.h"
#include "screen/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TOP = 40, MISSING_BYTES = 1024 };

/* In text the state stands above its table. */
static unsigned shown_columns(const struct diff_comparison *c)
{
	return c->state == DIFF_ANY_STATE || c->j->output->form != GRID_PEOPLE
		   ? c->columns
		   : c->columns & ~(1u << REPORT_STATE);
}

/* Text has one change of a row: of amounts that of the row itself, as each share of it is. */
static bool has_one_change(const struct diff_comparison *c)
{
	return c->j->selection->by_count && c->j->output->form == GRID_PEOPLE;
}

struct grid *diff_make_grid(const struct diff_comparison *c)
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

	if (has_one_change(c)) {
		columns[2].audience = GRID_ONLY_MACHINES;
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

/* What a change in parts of the whole is in parts of the row. */
static double part_of_row(const struct diff_row *row)
{
	if (row->difference)
		return row->relative / row->difference;
	return row->side[WAS].share > 0 ? 1 / row->side[WAS].share : 1;
}

static void put_change(struct diff_comparison *c, const struct diff_row *row)
{
	if (!has_one_change(c))
		grid_shift(c->g, row->difference, row->half, row->is_significant);
	else if (isfinite(row->relative))
		grid_shift(c->g, row->relative, row->half * part_of_row(row), row->is_significant);
	else
		grid_word(c->g, "new");
}

/* Of what was not there before, no part is known. */
static void put_relative(struct diff_comparison *c, double relative, bool is_significant)
{
	if (isfinite(relative))
		grid_change(c->g, relative, is_significant);
	else
		grid_word(c->g, "new");
}

/* Of amounts: as text in the unit of the event. */
static double scale_of(const struct diff_comparison *c)
{
	const struct trace_event *ev = job_event(c->j, c->event);
	const double scale = c->j->output->form == GRID_PEOPLE && ev->scale > 0 ? ev->scale : 1;

	return c->are_rates && c->longest_ns ? scale * 1e9 / (double)c->longest_ns : scale;
}

static void put_row(struct diff_comparison *c, const struct diff_row *row)
{
	const struct trace_event *ev = job_event(c->j, c->event);
	const double scale = scale_of(c);
	struct report_flat_row of;

	diff_read_key(c, row->key, &of);
	grid_row(c->g);
	grid_text(c->g, ev->label);
	put_change(c, row);
	put_relative(c, row->relative, row->is_significant);
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
static void remark(struct diff_comparison *c, const struct err *what)
{
	if (c->j->output->form == GRID_PEOPLE)
		buf_printf(&c->j->output->text, "%c%s; %s\n", toupper((unsigned char)what->msg[0]),
			   what->msg + 1, what->hint);
	else
		problems_add(&c->j->output->problems, false, what);
}

/* What was not measured. s: by side, seconds. */
static void remark_gap(struct diff_comparison *c, const char *what, const double s[2])
{
	double longest = fmax(s[WAS], s[IS]);
	struct err e = {0};

	if (fabs(s[IS] - s[WAS]) <= longest / 20)
		return;
	err_set(&e, -ENODATA, "%s of %.3f s was not measured now, of %.3f s before", what, s[IS],
		s[WAS]);
	err_hint(&e, "amounts are of different parts of the work");
	remark(c, &e);
}

void diff_remark_gaps(struct diff_comparison *c)
{
	double delay[2] = {0}, disabled[2] = {0};

	for (int side = WAS; side <= IS; side++)
		for (size_t i = 0; i < c->nr_replicates[side]; i++) {
			const struct diff_replicate *of = &c->replicates[side][i];
			double nr = (double)c->nr_replicates[side];

			delay[side] += (double)of->delay_ns / 1e9 / nr;
			disabled[side] += (double)of->disabled_ns / 1e9 / nr;
		}
	remark_gap(c, "a delay", delay);
	remark_gap(c, "a time disabled by --control", disabled);
}

static void remark_other_work(struct diff_comparison *c, const struct diff_result *r)
{
	const char *what = diff_replicate_name(c);
	struct err cut = {0}, longer = {0};

	if (c->are_rates) {
		err_set(&cut, -ENODATA, "%ss were cut short: %zu now, %zu before", what,
			c->nr_cut[IS], c->nr_cut[WAS]);
		err_hint(&cut, "amounts per second are compared");
		remark(c, &cut);
	} else if (diff_ignores_cut(c) && (c->nr_cut[IS] || c->nr_cut[WAS])) {
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
static double share_of_state(const struct diff_comparison *c, int side)
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
static bool is_first(const struct diff_comparison *c)
{
	return c->state == DIFF_ANY_STATE || !c->nr_states;
}

/* Rows of an event that is no time of threads have no state. */
static bool has_states(const struct diff_comparison *c)
{
	for (int side = WAS; side <= IS && c->state != DIFF_ANY_STATE; side++)
		for (size_t i = 0; i < c->nr_rows[side]; i++)
			if (c->rows[side][i].column[REPORT_EVENT] == c->event &&
			    c->rows[side][i].column[REPORT_STATE] != REPORT_NO_STATE)
				return true;
	return false;
}

/* In text: what was compared, and how many rows changed significantly. */
static void put_heading(struct diff_comparison *c, const struct diff_result *r)
{
	const char *what = diff_replicate_name(c);
	struct buf *b = &c->j->output->text, missing;
	const size_t start = b->len;

	if (c->j->output->form != GRID_PEOPLE)
		return;
	buf_printf(b, "\n%s", job_event(c->j, c->event)->label);
	if (has_states(c))
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
	if (has_states(c))
		buf_printf(b, "of the time of all threads: %s %% now, %s %% before\n",
			   DECIMAL(100 * share_of_state(c, IS), 1),
			   DECIMAL(100 * share_of_state(c, WAS), 1));
	reports_wrap(c->j, start);
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

/* The columns as one name. */
static void add_case(struct diff_comparison *c, const struct diff_row *row)
{
	const struct diff_case result = {.relative = row->relative,
					 .limit = diff_limit(c),
					 .p = row->adjusted,
					 .is_over =
					     !c->are_rates && diff_row_is_over(row, diff_limit(c))};
	struct report_flat_row of;

	diff_read_key(c, row->key, &of);
	buf_reset(&c->key);
	reports_add_name(c->j, c->columns, &of, &c->key);
	diff_cases_add(c->cases, job_event(c->j, c->event)->label, buf_str(&c->key), &result);
}

static int put_cases(struct diff_comparison *c, const struct diff_result *r, struct err *e)
{
	remark_other_work(c, r);
	for (size_t i = 0; i < r->nr_rows; i++)
		if (r->rows[i].is_tested)
			add_case(c, &r->rows[i]);
	return buf_error(&c->cases->text) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

/* In text, unless all are asked for, or there are no others. */
static bool omits_untested(const struct diff_comparison *c, const struct diff_result *r)
{
	return c->j->output->form == GRID_PEOPLE && r->nr_tested &&
	       reports_top(c->j, TOP) != UINT64_MAX;
}

static void put_untested(struct diff_comparison *c, size_t nr)
{
	char line[80];

	snprintf(line, sizeof(line), "… %zu not tested: too few samples (--top=0 shows all)", nr);
	if (nr)
		grid_line(c->g, line);
}

/* "parse_line -41.00 ms": amounts of the same work, in more than these two runs. */
static bool says_largest(const struct diff_comparison *c)
{
	return c->j->output->form == GRID_PEOPLE && c->j->selection->by_count && !c->are_rates &&
	       (!c->by_iteration || c->are_runs);
}

static void add_largest(struct diff_comparison *c, const struct diff_row *row)
{
	const struct trace_event *ev = job_event(c->j, c->event);
	const double more = (row->side[IS].weight - row->side[WAS].weight) * scale_of(c);
	const unsigned function = 1u << REPORT_FUNCTION;
	const char *unit = ev->unit ? ev->unit : "";
	struct buf *b = &c->largest;
	struct report_flat_row of;

	diff_read_key(c, row->key, &of);
	buf_adds(b, b->len ? ", " : "");
	reports_add_name(c->j, c->columns & function ? function : c->columns, &of, b);
	buf_adds(b, more < 0 ? " -" : " +");
	screen_human(b, fabs(more), unit);
	if (strcmp(unit, "ns") != 0)
		buf_printf(b, " %s", ev->label);
	else if (c->state != DIFF_ANY_STATE && c->state != REPORT_ON_CPU)
		buf_printf(b, " %s", report_state_names[c->state]);
}

static double difference_of(const struct diff_row *row)
{
	return fabs(row->side[IS].weight - row->side[WAS].weight);
}

/* Significant ones are first, by their size. What is a fiftieth of the first explains nothing. */
static void add_all_largest(struct diff_comparison *c, const struct diff_result *r)
{
	enum { MOST = 3, LEAST_PART = 50 };

	for (size_t i = 0; i < r->nr_rows && i < MOST && r->rows[i].is_significant &&
			   LEAST_PART * difference_of(&r->rows[i]) > difference_of(r->rows);
	     i++)
		add_largest(c, &r->rows[i]);
}

void diff_put_largest(struct diff_comparison *c)
{
	struct buf *b = &c->j->output->text;
	const size_t from = b->len;

	if (!c->largest.len)
		return;
	buf_printf(b, "\nThe difference is in %s\n", buf_str(&c->largest));
	screen_wrap_lines(b, from, output_columns(c->j->output));
}

static int put_rows(struct diff_comparison *c, const struct diff_result *r, struct err *e)
{
	uint64_t top = reports_top(c->j, TOP);
	double min = reports_min_share(c->j, 0);
	const bool omits = omits_untested(c, r);
	struct reports_rest rest = {0};
	size_t nr_shown = 0, nr_untested = 0;

	put_heading(c, r);
	remark_other_work(c, r);
	if (says_largest(c))
		add_all_largest(c, r);
	c->g = c->g ? c->g : diff_make_grid(c);
	if (!c->g)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < r->nr_rows; i++) {
		const struct diff_row *row = &r->rows[i];
		bool is_small = row->side[WAS].share < min && row->side[IS].share < min;

		if (omits && !row->is_tested) {
			nr_untested++;
		} else if (!row->is_significant && (nr_shown >= top || is_small)) {
			reports_rest_add(&rest, &(struct report_weight){0}, nr_shown >= top,
					 is_small);
		} else {
			put_row(c, row);
			nr_shown++;
		}
	}
	reports_rest_put(c->j, &rest, NULL, c->g);
	put_untested(c, nr_untested);
	if (c->j->output->form == GRID_PEOPLE) {
		struct grid *g = c->g;

		c->g = NULL;
		return reports_end(c->j, g, 0, e);
	}
	return 0;
}

void diff_put_amount(struct diff_comparison *c, const char *name, const struct amount *a)
{
	grid_row(c->g);
	grid_text(c->g, name);
	grid_shift(c->g, a->relative, a->half, a->is_significant);
	put_relative(c, a->relative, a->is_significant);
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

int diff_put(struct diff_comparison *c, const struct diff_result *r, struct err *e)
{
	return c->cases ? put_cases(c, r, e) : put_rows(c, r, e);
}
