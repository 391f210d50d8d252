/*
 * Prints a row of the registry: checks that the inputs have what it needs, loads names, and divides
 * the inputs among calls.
 */
#include "row.h"

#include "answer.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "profile/regions.h"
#include "region_notes.h"
#include "registry.h"
#include "report/flat.h"
#include "report/states.h"
#include "samples.h"
#include "summary/summary.h"

#include <errno.h>
#include <string.h>

/* The parts of a job: each report adds them up, also those that print other sessions one by one.
 * In csv and ndjson the summary has a row for each part. */
static bool is_sum(const struct job *j)
{
	return j->row->sums_jobs && j->output->form == GRID_PEOPLE && parts_are_job(j->inputs) &&
	       !j->output->format->is_summary_only && inputs_are_alike(j->inputs);
}

/* All inputs by one call: added up, or side by side if their events are the same. */
static bool is_at_once(const struct job *j)
{
	const enum registry_sessions sessions = j->row->sessions;

	if (is_sum(j))
		return !j->selection->by_session && !j->selection->by_host;
	if (sessions == REGISTRY_LANES)
		return true;
	if (j->row->compares_parts && parts_are_job(j->inputs))
		return true;
	if (sessions != REGISTRY_SUM && sessions != REGISTRY_SIDE_BY_SIDE)
		return false;
	if (j->row->kind == REGISTRY_EXPORT ||
	    (!j->selection->by_session && !j->selection->by_host))
		return true;
	return sessions == REGISTRY_SIDE_BY_SIDE && inputs_are_alike(j->inputs);
}

/* Several sessions of the options, which need not have measured the same. */
static bool may_differ(const struct job *j)
{
	return j->row->takes_any && !j->inputs->nr_diff && !parts_are_job(j->inputs);
}

static bool uses_samples(const struct job *j)
{
	if (j->row->samples != REGISTRY_SAMPLES_IF_ANY)
		return j->row->samples == REGISTRY_SAMPLES;
	return j->inputs->nr_diff || j->row->sessions == REGISTRY_LANES || may_differ(j)
		   ? inputs_are_sampled(j->inputs)
		   : job_input(j)->facts->is_sampling;
}

/* Regions need those of tasks. */
static bool uses_names(const struct job *j)
{
	const struct inputs *in = j->inputs;

	return uses_samples(j) ||
	       (j->row->samples == REGISTRY_SAMPLES_IF_ANY &&
		ARRAY_ANY(x, in->item, in->nr + in->nr_diff, input_has_common(x)));
}

void row_choose_states(struct selection *s, const struct inputs *in, const struct registry_row *row,
		       const struct registry_row *format, bool is_brief)
{
	if (s->columns || s->root ||
	    ARRAY_ANY(x, in->item, in->nr + in->nr_diff,
		      !report_states_have(x->facts, &s->filter, REPORT_ON_CPU)))
		return;
	if (is_brief || (row && row->diff == REGISTRY_DIFF))
		s->columns = 1 << REPORT_STATE | 1 << REPORT_REASON | 1 << REPORT_FUNCTION;
	if (format->roots_in_state)
		s->root = REPORT_ROOT_STATE;
	if (s->columns || s->root)
		s->sum = is_brief ? REPORT_SUM_WAITS : REPORT_SUM_STATES;
}

static bool has_iteration(const struct input *in, const struct profile_ranges *of)
{
	return ARRAY_ANY(r, of->item, of->nr, r->first < in->facts->nr_iterations);
}

void row_warn_of_iterations(const struct selection *s, const struct inputs *in)
{
	const struct profile_ranges *of = &s->filter.iterations;

	if (of->nr && !ARRAY_ANY(x, in->item, in->nr, has_iteration(x, of)))
		log_warning("--iteration: no session has one of these (the first is 0)");
}

static int prepare(struct job *j, bool at_once, struct err *e)
{
	/* of lanes each may have samples or not, where counts are printed too */
	const bool all_need_samples =
	    j->row->samples == REGISTRY_SAMPLES ||
	    (uses_samples(j) && j->row->sessions != REGISTRY_LANES && !may_differ(j));
	int rc = all_need_samples ? samples_check(j, e) : 0;

	if (rc == 0 && !(j->row->ignores & REGISTRY_IGNORES_EVENTS))
		rc = inputs_check_event_globs(j->inputs, &j->selection->filter, e);
	if (uses_samples(j) && !(j->row->ignores & REGISTRY_IGNORES_NAMES) && !j->row->keeps_events)
		j->sum = j->row->adds_states ? REPORT_SUM_STATES : j->selection->sum;
	if (rc == 0 && at_once && !may_differ(j))
		rc = inputs_check_same_events(j->inputs, e);
	for (size_t i = 0; i < j->nr && rc == 0 && j->row->ignores_common; i++)
		rc = inputs_check_common(&j->inputs->item[i], e);
	return rc == 0 && uses_names(j) ? samples_load_names(j, e) : rc;
}

/* In the heading of a report for people: the iterations that its sessions have lost. The summary
 * has them where it states how many iterations there are. */
static void put_removed(struct job *j)
{
	const struct inputs *in = j->inputs;
	const size_t nr = in->nr + (j->row->diff != REGISTRY_NO_DIFF ? in->nr_diff : 0);
	struct buf *out = &j->output->text;

	if (j->row->kind != REGISTRY_REPORT || j->output->form != GRID_PEOPLE ||
	    j->row->print == summary_print)
		return;
	for (size_t i = 0; i < nr; i++) {
		const char *removed = in->item[i].facts->removed;
		bool is_read = i >= in->nr || (i >= j->first && i < j->first + j->nr);

		if (is_read && *removed && nr > 1)
			buf_printf(out, "\n(%s: %s)\n", in->item[i].path, removed);
		else if (is_read && *removed)
			buf_printf(out, "\n(%s)\n", removed);
	}
}

static bool has_regions(const struct job *j)
{
	const struct profile_processes *p = job_input(j)->processes;
	const struct profile_regions_stats *s = profile_regions_stats(p);

	return s->nr_marks || s->nr_lost || profile_has_labels(p);
}

static int print_job(struct job *j, struct err *e)
{
	if (j->is_default && j->row->needs_regions && !has_regions(j))
		return 0;
	job_warn_ignored(j, j->row->ignores);
	job_warn_aggregated(j);
	job_warn_omitted(j);
	put_removed(j);
	if (!j->row->says_regions)
		region_notes_put(j);
	return j->row->print(j, e);
}

/* How many inputs from there on are printed together: those of a host, or one. */
static size_t nr_at(const struct job *j, size_t first)
{
	const enum registry_sessions sessions = j->row->sessions;

	if (!j->selection->by_host || sessions == REGISTRY_ONE ||
	    (sessions == REGISTRY_EACH && !is_sum(j)))
		return 1;
	return parts_of_host(j->inputs, first, j->inputs->nr);
}

/* In text, of one of several. */
static void put_name(struct job *j)
{
	const struct input *o = job_input(j);
	char text[PARTS_NAME_BYTES];

	if (j->inputs->nr == 1 || j->output->form != GRID_PEOPLE)
		return;
	buf_printf(&j->output->text, "%s%s:\n", j->first ? "\n" : "",
		   j->nr > 1 ? input_host(o) : input_shown(o, text));
}

/* The report printed no row for programs, or no line for people, and says nothing of that. */
static bool is_silent(const struct job *j, size_t start)
{
	const struct output *o = j->output;
	size_t header = o->form == GRID_CSV && o->has_header;
	const char *at, *end;

	if (j->row->kind != REGISTRY_REPORT || j->row->diff == REGISTRY_DIFF || j->is_default ||
	    o->is_held || o->text.len < start || buf_error(&o->text))
		return false;
	at = buf_str(&o->text) + start;
	end = buf_str(&o->text) + o->text.len;
	while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) && header--)
		at++;
	return !at || at >= end;
}

static void warn_silent(const struct job *j, size_t start, uint64_t nr_written)
{
	struct err e = {0};

	if (j->output->nr_written != nr_written || !is_silent(j, start))
		return;
	err_set(&e, -ENODATA,
		"--report=%s: no rows: the session has no such data, or options "
		"exclude all of it",
		j->row->name);
	problems_add(&j->output->problems, false, &e);
}

/* What an answer shows of each event, unless --top says more. */
static uint64_t fitted_top(const struct row_run *r)
{
	return output_is_answer(r->output) && r->selection->top == UINT64_MAX ? ANSWER_ROWS : 0;
}

int row_print(const struct row_run *r, const struct registry_row *row, struct err *e)
{
	struct inputs *in = r->inputs;
	struct job j = {.row = row,
			.inputs = in,
			.selection = r->selection,
			.output = r->output,
			.nr = in->nr,
			.is_default = r->is_default,
			.is_brief = r->is_brief,
			.fitted_top = fitted_top(r)};
	const bool at_once = is_at_once(&j);
	const size_t start = r->output->text.len;
	const uint64_t nr_written = r->output->nr_written;
	int rc = prepare(&j, at_once, e);

	r->output->has_header = false;
	if (rc == 0 && at_once)
		rc = print_job(&j, e);
	for (size_t i = 0; i < in->nr && rc == 0 && !at_once; i += j.nr) {
		j.first = i;
		j.nr = nr_at(&j, i);
		put_name(&j);
		j.session = in->nr > 1 ? in->item[i].path : NULL;
		j.host = in->nr > 1 && in->nr_jobs ? input_host(&in->item[i]) : NULL;
		j.rank = j.nr == 1 ? input_rank(&in->item[i]) : UINT32_MAX;
		rc = print_job(&j, e);
	}
	if (rc == 0)
		warn_silent(&j, start, nr_written);
	return rc;
}
