/*
 * The report diff: --session is the new side, --diff the old one. Rows are those of the flat
 * report.
 */
#include "reports/diff_comparison.h"

#include "base/array.h"
#include "base/cause.h"
#include "base/err.h"
#include "base/mem.h"
#include "registry.h"
#include "report/functions.h"
#include "reports/columns.h"
#include "reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEY_BYTES = 1 << 20 };
/* Columns that depend on names of functions. */
enum { FUNCTION_COLUMNS = 1 << REPORT_FUNCTION | 1 << REPORT_OBJECT | 1 << REPORT_LINE };

/* The column that distinguishes replicates. */
static enum report_column replicate_column(const struct diff_comparison *c)
{
	return c->by_iteration ? REPORT_ITERATION : REPORT_SESSION;
}

static size_t nr_sessions(const struct diff_comparison *c, int side)
{
	return side == IS ? c->j->inputs->nr : c->j->inputs->nr_diff;
}

static size_t count_replicates(const struct diff_comparison *c, int side)
{
	return c->by_iteration ? c->j->inputs->item[c->first[side]].facts->nr_iterations
			       : nr_sessions(c, side);
}

static int read_side(struct diff_comparison *c, int side, struct err *e)
{
	size_t nr = nr_sessions(c, side);
	unsigned columns = c->columns | 1u << replicate_column(c) | 1u << REPORT_SESSION;
	struct report_sink sink;
	int rc;

	if (c->columns & FUNCTION_COLUMNS)
		columns |= 1u << REPORT_FUNCTION;

	c->nr_replicates[side] = count_replicates(c, side);
	c->flat[side] = report_flat_new(c->j->inputs->functions, columns, false);
	if (!c->flat[side])
		return err_set(e, -ENOMEM, "out of memory");
	if (c->j->sum)
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
static bool compares_regions(const struct diff_comparison *c)
{
	return c->columns == 1u << REPORT_REGION;
}

const char *diff_replicate_name(const struct diff_comparison *c)
{
	return c->are_runs ? "run" : c->by_iteration ? "iteration" : "session";
}

/* Amounts are compared only between replicates that did the same work, iterations only if they
 * ended for the same cause. */
static int load_replicates(struct diff_comparison *c)
{
	int rc = 0;

	for (int side = WAS; side <= IS && rc == 0; side++) {
		size_t nr = nr_sessions(c, side);
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

bool diff_ignores_cut(const struct diff_comparison *c)
{
	return c->are_runs || (c->j->selection->by_count && !c->are_rates);
}

/* The same rule as for the totals of a command, which include this one. */
static void choose_rates(struct diff_comparison *c)
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
static uint64_t amount_of(const struct diff_comparison *c, const struct diff_replicate *of,
			  uint64_t weight)
{
	if (!c->are_rates || !of->duration_ns)
		return weight;
	return (uint64_t)llround((double)weight * (double)c->longest_ns / (double)of->duration_ns);
}

static int load_comparable(struct diff_comparison *c)
{
	int rc = 0;

	c->comparable = report_comparable_new(c->j->inputs->functions);
	if (!c->comparable)
		return -ENOMEM;
	for (int side = WAS; side <= IS; side++)
		for (size_t i = 0; i < nr_sessions(c, side) && rc == 0; i++)
			rc = diff_names_add(c->comparable, c->j, c->first[side] + i, c->rows[side],
					    c->nr_rows[side]);
	if (rc == 0 && (c->columns & (1u << REPORT_FUNCTION | 1u << REPORT_LINE)))
		diff_names_report(c->comparable, c->j);
	return rc;
}

/* Replaces a function whose name cannot be compared by its whole object. */
static int make_comparable(struct diff_comparison *c, struct report_flat_row *row)
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
static void add_names(struct diff_comparison *c, const struct report_flat_row *row)
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
static int make_key(struct diff_comparison *c, const struct report_flat_row *row)
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
static bool is_of_event(const struct diff_comparison *c, const struct report_flat_row *row)
{
	return row->column[REPORT_EVENT] == c->event && row->self.samples;
}

static bool is_of_state(const struct diff_comparison *c, const struct report_flat_row *row)
{
	return c->state == DIFF_ANY_STATE || row->column[REPORT_STATE] == c->state;
}

static int add_rows(struct diff_comparison *c, int side)
{
	const struct diff_replicate *of = c->replicates[side];
	const size_t first = c->by_iteration ? 0 : c->first[side];
	int rc = 0;

	for (size_t i = 0; of && i < c->nr_replicates[side] && rc == 0; i++)
		if (!(of[i].is_cut && diff_ignores_cut(c)) && c->j->selection->by_count)
			rc = diff_total(c->diff, (unsigned)side, i, 0, of[i].duration_ns);
	for (size_t i = 0; i < c->nr_rows[side] && rc == 0; i++) {
		struct report_flat_row row = c->rows[side][i];
		size_t replicate = row.column[replicate_column(c)] - first;
		uint64_t weight = row.self.weight;
		double scale;

		if (!is_of_event(c, &row))
			continue;
		if (of && replicate < c->nr_replicates[side]) {
			if (of[replicate].is_cut && diff_ignores_cut(c))
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

void diff_read_key(const struct diff_comparison *c, const char *key, struct report_flat_row *out)
{
	*out = (struct report_flat_row){.column[REPORT_EVENT] = c->event};
	key = strrchr(key, '\n') + 1;
	for (unsigned i = 0; i < REPORT_NR_COLUMNS; i++)
		if (c->columns >> i & 1)
			out->column[i] = (uint32_t)strtoul(key, (char **)&key, 10);
	out->file = (uint32_t)strtoul(key, NULL, 10);
}

static int compare_event(struct diff_comparison *c, struct err *e)
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
		rc = diff_put(c, &result, e);
	if (rc == 0) {
		c->nr_compared++;
		c->nr_tested += result.nr_tested;
		c->is_testable |= result.is_testable;
	}
	if (rc == 0 && c->j->selection->fail_over >= 0 && !c->are_rates)
		c->j->output->is_over |= diff_is_over(&result, diff_limit(c));
	diff_free(c->diff);
	c->diff = NULL;
	return rc;
}

static bool has_state(const struct diff_comparison *c, uint32_t state)
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
static int compare_states(struct diff_comparison *c, struct err *e)
{
	int rc = 0;

	c->nr_states = 0;
	for (c->state = 0; c->state < REPORT_NR_STATES && rc == 0; c->state++) {
		if (!has_state(c, c->state))
			continue;
		rc = compare_event(c, e);
		c->nr_states++;
	}
	c->state = DIFF_ANY_STATE;
	return rc;
}

/* No test is not the same as no change: an error with --fail-over, else a warning. */
static int report_untested(struct diff_comparison *c, struct err *e)
{
	const char *what = diff_replicate_name(c);
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

/* For programs: rows without a function. */
static int put_total_rows(struct diff_comparison *c, struct err *e)
{
	size_t nr;
	const struct amount *list = diff_totals_list(c->totals, &nr);

	c->g = diff_make_grid(c);
	if (!c->g)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++)
		diff_put_amount(c, diff_totals_name(c->totals, i), &list[i]);
	return 0;
}

double diff_limit(const struct diff_comparison *c)
{
	return c->j->selection->fail_over / 100;
}

/* Adds an amount to what is judged. has_limit: --fail-over applies to it. */
static void judge(struct diff_comparison *c, const struct amount *a, bool has_limit,
		  const char *kind, const char *name)
{
	const struct diff_case result = {
	    .relative = a->relative,
	    .limit = diff_limit(c),
	    .p = a->adjusted,
	    .is_over =
		c->j->selection->fail_over >= 0 && has_limit && amount_is_over(a, diff_limit(c)),
	};

	c->nr_tested += a->is_tested;
	c->is_testable |= a->is_tested;
	c->j->output->is_over |= result.is_over;
	if (c->cases && a->is_tested)
		diff_cases_add(c->cases, kind, name, &result);
}

/* The totals of a command precede the rows. Rates are not the same work: they are not failed
 * over. */
static int put_totals(struct diff_comparison *c, struct err *e)
{
	int rc = diff_totals_new(c->j, c->by_iteration, c->are_runs, &c->totals, e);
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
	if (c->cases || (c->j->selection->has_no_totals && c->has_samples))
		return 0;
	return c->j->output->form == GRID_PEOPLE ? diff_totals_print(c->totals, e)
						 : put_total_rows(c, e);
}

/* Sessions of a command that ran to its end, and iterations, did the same work. */
static bool are_regions_rates(const struct diff_comparison *c)
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

static int put_region_rows(struct diff_comparison *c, struct err *e)
{
	size_t nr;
	const struct amount *list = diff_regions_list(c->regions, &nr);

	c->g = c->g ? c->g : diff_make_grid(c);
	if (!c->g)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++) {
		diff_put_amount(c, diff_regions_name(c->regions, i), &list[i]);
		grid_text(c->g, diff_regions_path(c->regions, i));
	}
	return 0;
}

/* The calls and times of regions precede the shares of their samples. */
static int compare_regions(struct diff_comparison *c, struct err *e)
{
	const struct diff_regions_options options = {.by_iteration = c->by_iteration,
						     .are_runs = c->are_runs,
						     .are_rates = are_regions_rates(c)};
	const struct amount *list;
	struct diff_side sides[2];
	size_t nr;
	int rc;

	for (int side = WAS; side <= IS; side++)
		sides[side] = (struct diff_side){
		    .first = c->first[side],
		    .nr = nr_sessions(c, side),
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
	if (c->cases || (c->j->selection->has_no_totals && c->has_samples))
		return 0;
	return c->j->output->form == GRID_PEOPLE ? diff_regions_print(c->regions, e)
						 : put_region_rows(c, e);
}

/* The replicates of shares are sessions, of which nothing else has to be known. */
static int load_for_values(struct diff_comparison *c, struct err *e)
{
	int rc = 0;

	for (int side = WAS; side <= IS && rc == 0 && !c->replicates[side]; side++)
		rc = diff_replicates_load(c->j, c->first[side], nr_sessions(c, side),
					  c->by_iteration, &c->of_values[side]);
	return rc ? err_set(e, rc, "iterations cannot be read: %s", strerror(-rc)) : 0;
}

static int put_values(struct diff_comparison *c, struct err *e)
{
	size_t nr;
	const struct amount *list = diff_values_list(c->values, &nr);

	c->nr_compared += c->has_samples ? 0 : nr;
	if (!c->g && !c->cases && c->j->output->form != GRID_PEOPLE) {
		c->g = diff_make_grid(c);
		if (!c->g)
			return err_set(e, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < nr; i++) {
		buf_reset(&c->key);
		diff_values_name(c->values, i, &c->key);
		judge(c, &list[i], diff_values_has_limit(c->values, i), "value", buf_str(&c->key));
		if (c->g)
			diff_put_amount(c, buf_str(&c->key), &list[i]);
	}
	return c->cases || c->g ? 0 : diff_values_print(c->values, e);
}

/* Arguments and results follow the totals. */
static int compare_values(struct diff_comparison *c, struct err *e)
{
	struct diff_regions_options options = {.by_iteration = c->by_iteration,
					       .are_runs = c->are_runs};
	struct diff_side sides[2];
	int rc;

	if (!c->totals || (c->j->selection->has_no_totals && c->has_samples) ||
	    !reports_has_functions(c->j->inputs->item[0].facts))
		return 0;
	options.are_rates = diff_totals_are_rates(c->totals);
	rc = load_for_values(c, e);
	for (int side = WAS; side <= IS; side++)
		sides[side] = (struct diff_side){
		    .first = c->first[side],
		    .nr = nr_sessions(c, side),
		    .nr_replicates = count_replicates(c, side),
		    .replicates = c->replicates[side] ? c->replicates[side] : c->of_values[side]};
	rc = rc ?: diff_values_new(c->j, &options, sides, &c->values, e);
	return rc || !c->values ? rc : put_values(c, e);
}

static int compare_samples(struct diff_comparison *c, struct err *e)
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

static int compare_all(struct diff_comparison *c, struct err *e)
{
	int rc;

	diff_remark_gaps(c);
	rc = put_totals(c, e) ?: compare_values(c, e);
	if (rc == 0 && c->has_samples) {
		choose_rates(c);
		rc = compare_samples(c, e);
	} else if (rc == 0 && compares_regions(c) && c->j->inputs->functions) {
		rc = compare_regions(c, e);
	}
	if (rc == 0 && c->has_samples && !c->nr_compared && c->j->output->form == GRID_PEOPLE) {
		buf_adds(&c->j->output->text, "\nNo samples on either side\n");
	} else if (rc == 0 && !c->nr_compared && !c->g &&
		   !c->cases) { /* csv and ndjson still have a header */
		c->g = diff_make_grid(c);
		rc = c->g ? 0 : err_set(e, -ENOMEM, "out of memory");
	}
	if (rc == 0 && c->g) {
		rc = reports_end(c->j, c->g, 0, e);
		c->g = NULL;
	}
	diff_put_largest(c);
	if (rc == 0 && c->cases)
		cases_write(c->cases, "cpuperf diff", &c->j->output->text);
	return rc ?: report_untested(c, e);
}

/* Runs have no duration of their own. Spares other sessions a pass over all traces. */
static bool may_have_runs(const struct diff_comparison *c)
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

static int print(struct job *j, struct cases *cases, struct err *e)
{
	struct diff_comparison c = {.j = j,
				    .cases = cases,
				    .has_samples = inputs_are_sampled(j->inputs),
				    .by_iteration = j->inputs->nr == 1 && j->inputs->nr_diff == 1,
				    .first = {[WAS] = j->inputs->nr},
				    .state = DIFF_ANY_STATE};
	int rc;

	if (has_waits(j))
		warn_ways(j);
	c.columns = columns_of(j) & ~(1u << REPORT_EVENT | 1u << replicate_column(&c));
	rc = may_have_runs(&c) || j->selection->by_count || compares_regions(&c) || !c.has_samples
		 ? load_replicates(&c)
		 : 0;
	if (rc)
		err_set(e, rc, "iterations cannot be read: %s", strerror(-rc));
	else if (c.by_iteration && !c.are_runs && j->selection->fail_over >= 0 &&
		 !j->selection->within)
		rc = refuse_within(e);
	buf_init(&c.key, MAX_KEY_BYTES);
	buf_init(&c.largest, MAX_KEY_BYTES);
	rc = rc ? rc : compare_all(&c, e);
	for (int side = WAS; side <= IS; side++) {
		report_flat_free(c.flat[side]);
		report_stats_fini(&c.stats[side]);
		mem_free(c.replicates[side]);
		mem_free(c.of_values[side]);
	}
	grid_free(c.g);
	report_comparable_free(c.comparable);
	diff_totals_free(c.totals);
	diff_regions_free(c.regions);
	diff_values_free(c.values);
	buf_fini(&c.key);
	buf_fini(&c.largest);
	return rc;
}

int reports_diff(struct job *j, struct err *e)
{
	return print(j, NULL, e);
}

int reports_diff_cases(struct job *j, struct err *e)
{
	struct cases cases;
	int rc;

	cases_init(&cases, j->output->format->cases);
	rc = print(j, &cases, e);
	cases_fini(&cases);
	return rc;
}
