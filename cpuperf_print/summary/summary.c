/*
 * The tables of counts: each iteration, each trace and the totals, as text, CSV or NDJSON; and the
 * raw format, which has the records too.
 */
#include "base/err.h"
#include "base/log.h"
#include "counts/tally.h"
#include "profile/iterator.h"
#include "profile/records.h"
#include "reports.h"
#include "summary/format.h"
#include "tables.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_NOTES_BYTES = 64 << 10, NR_THINGS = 40 };

/* One session in print. */
struct summary {
	struct job *j;
	const struct summary_format *format;
	const struct input *input;
	struct profile_iterator *iterator; /* while traces are printed */
	struct print print;
};

static int print_init(struct summary *r, struct err *e)
{
	const struct screen_options screen = {.width = r->j->output->width,
					      .each_cpu = true,
					      .nr_things = NR_THINGS,
					      .session = r->j->session,
					      .has_header = r->j->output->has_header};
	struct print *p = &r->print;
	int rc;

	r->j->output->has_header = true;
	p->facts = r->input->facts;
	p->config_name = r->input->config_name;
	p->out = &r->j->output->text;
	p->is_brief = r->j->is_brief;
	buf_init(&p->notes, MAX_NOTES_BYTES);
	rc = counts_tally_new(p->facts, &r->input->spec.metric_set, &p->table, e);
	if (rc)
		return rc;
	p->summary = table_summary_new(p->table->nr_columns);
	p->screen = screen_state_new(p->table->nr_columns, &screen);
	p->raw = out_raw_new(p->facts);
	if (!p->summary || !p->screen || !p->raw)
		return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

static void print_fini(struct print *p)
{
	table_free(p->table);
	table_summary_free(p->summary);
	screen_state_free(p->screen);
	out_raw_free(p->raw);
	buf_fini(&p->notes);
}

static void end_iteration(struct summary *r)
{
	struct print *p = &r->print;

	if (!p->table->nr_rows)
		return;
	table_total(p->table);
	table_summary_add(p->summary, p->table);
	if (r->format->iteration)
		r->format->iteration(p);
	p->table->nr_rows = 0;
	buf_reset(&p->notes);
}

static int cannot_read_on(int rc, struct err *e)
{
	return rc < 0 ? err_set(e, rc, "cannot read on: %s", strerror(-rc)) : 0;
}

/* All of records, which are closed. trace NULL: of the common file. */
static int print_records(struct summary *r, const struct profile_trace *trace,
			 struct profile_records *records, struct err *e)
{
	struct profile_item item;
	int rc = 0, got = 0;

	while (rc == 0 && (got = profile_records_next(records, &item)) == 1) {
		r->j->output->nr_records++;
		r->format->item(&r->print, trace, &item);
		rc = output_flush(r->j->output, e);
	}
	log_verbose(1, "%s: times went back by up to %" PRIu64 " ns",
		    trace ? trace->name : "the common file",
		    profile_records_stats(records)->max_disorder_ns);
	profile_records_close(records);
	return rc ? rc : cannot_read_on(got, e);
}

static int print_trace(struct summary *r, const struct profile_trace *trace, struct err *e)
{
	const struct summary_format *f = r->format;
	struct profile_records *records;
	int rc = 0;

	if (f->head)
		f->head(&r->print, trace);
	if (f->item && r->print.facts->is_sampling)
		rc = profile_iterator_records(r->iterator, &records);
	rc = rc == 1 ? print_records(r, trace, records, e) : cannot_read_on(rc, e);
	if (rc == 0 && f->trace)
		f->trace(&r->print, trace);
	return rc ? rc : output_flush(r->j->output, e);
}

static int print_common(struct summary *r, struct err *e)
{
	struct profile_records *records;
	int rc = 0;

	if (r->format->common && r->print.facts->is_sampling)
		rc = profile_session_common(r->input->session, &records);
	if (rc != 1)
		return cannot_read_on(rc, e);
	r->format->common(&r->print);
	return print_records(r, NULL, records, e);
}

static int take_trace(struct summary *r, const struct profile_trace *trace, struct err *e)
{
	const struct profile_filter *f = &r->j->selection->filter;
	bool is_wanted = profile_ranges_has(&f->cpus, trace->head.cpu);

	if (!profile_ranges_has(&f->iterations, trace->head.iteration))
		return 0;
	if (counts_tally_is_next(r->print.table, trace))
		end_iteration(r);
	tables_add_row(r->j, r->print.table, trace);
	return is_wanted ? print_trace(r, trace, e) : 0;
}

static int print_traces(struct summary *r, struct err *e)
{
	struct profile_trace trace;
	int rc, failed = 0;

	r->iterator = profile_iterator_new(r->input->session);
	while (!failed && (rc = profile_iterator_next(r->iterator, &trace)) == 1)
		failed = take_trace(r, &trace, e);
	profile_iterator_free(r->iterator);
	if (failed)
		return failed;
	end_iteration(r);
	return cannot_read_on(rc, e);
}

static void log_warning_of(void *arg, const struct err *warning)
{
	(void)arg;
	log_err(LOG_WARNING, warning);
}

static int print_all(struct summary *r, struct err *e)
{
	int rc;

	if (r->format->begin)
		r->format->begin(&r->print);
	rc = print_traces(r, e);
	if (rc == 0)
		rc = print_common(r, e);
	if (rc == 0 && r->format->end)
		r->format->end(&r->print);
	if (rc == 0 && r->format->is_for_programs)
		screen_warn_metrics(r->print.table, r->print.summary, log_warning_of, NULL);
	return rc ? rc : output_flush(r->j->output, e);
}

int report_summary_print(struct job *j, struct err *e)
{
	struct summary r = {
	    .j = j, .format = summary_format_find(j->output->format), .input = job_input(j)};
	int rc;

	if (r.input->import && strcmp(j->output->format, "raw") != 0)
		return report_perf_data_print(j, e);
	rc = print_init(&r, e);
	report_warn_unfiltered(j, REPORT_BY_TASK | REPORT_BY_EVENT | REPORT_BY_TIME);
	if (rc == 0)
		rc = print_all(&r, e);
	print_fini(&r.print);
	return rc;
}
