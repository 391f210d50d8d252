/*
 * Tables of counts: each iteration, each trace and the totals. What is printed of them, and of the
 * records, is up to the format.
 */
#include "summary/summary.h"

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "counts/tally.h"
#include "profile/iterator.h"
#include "profile/records.h"
#include "registry.h"
#include "reports/reports.h"
#include "tables.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

enum { MAX_NOTES_BYTES = 64 << 10, NR_THINGS = 40, NR_MOST_ACTIVE = 10 };

/* --- csv and ndjson, as the recorder prints them ------------------------------------------------
 */

static const struct screen_format *screen_of(const struct summary *s)
{
	const struct registry_row *format = s->j->output->format;

	return screen_format_find(format->is_document ? "ndjson" : format->name);
}

static int begin_rows(struct summary *s)
{
	screen_of(s)->begin(s->screen, s->table, s->out);
	return 0;
}

static void put_rows(struct summary *s)
{
	screen_of(s)->iteration(s->screen, s->table, s->out);
}

/* Warnings are not rows: they are logged. */
static void end_rows(struct summary *s)
{
	screen_of(s)->summary(s->screen, s->table, s->totals, s->out);
	screen_warn_metrics(s->table, s->totals, problems_log, NULL);
}

const struct summary_format summary_rows = {
    .begin = begin_rows,
    .iteration = put_rows,
    .end = end_rows,
};

/* --- all formats --------------------------------------------------------------------------------
 */

static int cannot_read_on(int rc, struct err *e)
{
	return rc < 0 ? err_set(e, rc, "cannot read further: %s", strerror(-rc)) : 0;
}

static int init(struct summary *s, struct job *j, struct err *e)
{
	const uint64_t top =
	    reports_top(j, j->selection->each_iteration ? NR_THINGS : NR_MOST_ACTIVE);
	const struct screen_options screen = {.width = j->output->width,
					      .has_color = j->output->has_color,
					      .each_cpu = true,
					      .nr_things = top < UINT_MAX ? (unsigned)top : 0,
					      .session = j->session,
					      .host = j->host,
					      .rank = j->rank,
					      .has_header = j->output->has_header};
	int rc;

	*s = (struct summary){
	    .j = j, .input = job_input(j), .facts = job_input(j)->facts, .out = &j->output->text};
	j->output->has_header = true;
	buf_init(&s->notes, MAX_NOTES_BYTES);
	s->spans_ns = mem_calloc(s->facts->nr_events + 1, sizeof(*s->spans_ns));
	if (sums_init(&s->things, s->facts->nr_events) || !s->spans_ns)
		return err_set(e, -ENOMEM, "out of memory");
	rc = counts_tally_new(s->facts, &s->input->spec.metric_set, &s->table, e);
	if (rc)
		return rc;
	s->totals = table_summary_new(s->table->nr_columns);
	if (s->totals) {
		s->totals->is_in_progress = s->facts->is_in_progress;
		s->totals->removed = s->facts->removed;
	}
	s->screen = screen_state_new(s->table->nr_columns, &screen);
	return s->totals && s->screen ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static void fini(struct summary *s)
{
	table_free(s->table);
	table_summary_free(s->totals);
	screen_state_free(s->screen);
	sums_fini(&s->things);
	mem_free(s->spans_ns);
	summary_raw_free(s->raw);
	buf_fini(&s->notes);
}

/* Reads records to their end, so that damage is reported whatever is printed of them, and closes
 * them. trace NULL: they are of the common file. */
static int read_records(struct summary *s, const struct summary_format *f,
			const struct profile_trace *trace, struct profile_records *records,
			struct err *e)
{
	struct profile_item item;
	int rc = 0, got = 0;

	while (rc == 0 && (got = profile_records_next(records, &item)) == 1) {
		if (!f->item)
			continue;
		s->j->output->nr_records++;
		f->item(s, trace, &item);
		rc = output_flush(s->j->output, e);
	}
	log_verbose(1, "%s: times went back by up to %" PRIu64 " ns",
		    trace ? trace->name : "the common file",
		    profile_records_stats(records)->max_disorder_ns);
	profile_records_close(records);
	return rc ?: cannot_read_on(got, e);
}

static int read_trace(struct summary *s, const struct summary_format *f,
		      struct profile_iterator *it, const struct profile_trace *trace, struct err *e)
{
	struct profile_records *records;
	int rc = 0;

	if (f->head)
		f->head(s, trace);
	if (f->item && s->facts->is_sampling)
		rc = profile_iterator_records(it, &records);
	rc = rc == 1 ? read_records(s, f, trace, records, e) : cannot_read_on(rc, e);
	if (rc == 0 && f->trace)
		f->trace(s, trace);
	return rc ?: output_flush(s->j->output, e);
}

static void end_iteration(struct summary *s, const struct summary_format *f)
{
	if (!s->table->nr_rows)
		return;
	table_total(s->table);
	table_summary_add(s->totals, s->table);
	if (f->sums_things)
		summary_add_things(s);
	if (f->iteration)
		f->iteration(s);
	s->table->nr_rows = 0;
}

static int read_traces(struct summary *s, const struct summary_format *f, struct err *e)
{
	const struct profile_filter *filter = &s->j->selection->filter;
	struct profile_iterator *it = profile_iterator_new(s->input->session);
	struct profile_trace trace;
	int rc, failed = 0;

	while (!failed && (rc = profile_iterator_next(it, &trace)) == 1) {
		if (!profile_ranges_has(&filter->iterations, trace.head.iteration))
			continue;
		if (counts_tally_is_next(s->table, &trace))
			end_iteration(s, f);
		tables_add_row(s->j, s->table, &trace);
		if (profile_ranges_has(&filter->cpus, trace.head.cpu))
			failed = read_trace(s, f, it, &trace, e);
	}
	profile_iterator_free(it);
	if (failed)
		return failed;
	end_iteration(s, f);
	return cannot_read_on(rc, e);
}

static int read_common(struct summary *s, const struct summary_format *f, struct err *e)
{
	struct profile_records *records;
	int rc = input_has_common(s->input)
		     ? profile_session_common(s->input->session, f->item != NULL, &records)
		     : 0;

	if (rc != 1)
		return cannot_read_on(rc, e);
	if (f->common)
		f->common(s);
	return read_records(s, f, NULL, records, e);
}

static void put_sum_heading(const struct summary *s)
{
	const struct input *o = job_input(s->j);
	size_t nr = 0;

	for (size_t i = 0; i < s->j->nr; i++)
		nr += input_is_damaged(&o[i]);
	buf_printf(s->out, "\nSum of %zu parts", s->j->nr);
	if (nr)
		buf_printf(s->out, ", %zu of which %s partial", nr, str_plural(nr, "is", "are"));
	buf_adds(s->out, ", by iteration of a part:\n");
}

/* In text, unless a report of them follows. */
static int put_functions(const struct job *j, const struct summary_format *f, struct err *e)
{
	struct job own = *j;

	if (j->is_brief || f != &summary_text || !reports_has_functions(job_input(j)->facts))
		return 0;
	own.is_brief = true;
	return reports_functions(&own, e);
}

/* Of the parts of a job: the totals over all, in text. */
static int print_sum(struct job *j, struct err *e)
{
	static const struct summary_format quiet = {.begin = NULL};
	struct summary s;
	int rc = init(&s, j, e);

	for (size_t i = j->first; i < j->first + j->nr && rc == 0; i++) {
		const struct input *o = &j->inputs->item[i];

		table_free(s.table);
		s.table = NULL;
		s.input = o;
		s.facts = o->facts;
		rc = counts_tally_new(s.facts, &o->spec.metric_set, &s.table, e)
			 ?: read_traces(&s, &quiet, e);
	}
	if (rc == 0) {
		put_sum_heading(&s);
		if (s.totals->nr_iterations)
			screen_format_find("text")->summary(s.screen, s.table, s.totals, s.out);
	}
	fini(&s);
	return rc ?: put_functions(j, j->output->format->summary, e) ?: output_flush(j->output, e);
}

int summary_print(struct job *j, struct err *e)
{
	const struct summary_format *f =
	    output_is_answer(j->output) ? &summary_answer : j->output->format->summary;
	struct summary s;
	int rc;

	if (job_input(j)->import && f != &summary_raw)
		return reports_perf_data(j, e);
	if (j->nr > 1)
		return print_sum(j, e);
	rc = init(&s, j, e);
	if (rc == 0 && f->begin && f->begin(&s))
		rc = err_set(e, -ENOMEM, "out of memory");
	rc = rc ?: read_traces(&s, f, e) ?: read_common(&s, f, e);
	if (rc == 0 && f->end)
		f->end(&s);
	fini(&s);
	return rc ?: put_functions(j, f, e) ?: output_flush(j->output, e);
}
