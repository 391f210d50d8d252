/*
 * cpuperf_print: reads a session back and prints it. Here the pieces meet: the manifest, the
 * traces, the arithmetic, one output format. Only this file prints and exits.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sys.h"
#include "options.h"
#include "out_file.h"
#include "output.h"
#include "profile/records.h"
#include "report/tally.h"
#include "spec/cpsession.h"
#include "spec/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
enum {
	MAX_OUT_BYTES = 1 << 30,
	MAX_NOTES_BYTES = 64 << 10,
	FLUSH_BYTES = 64 << 10,
};

/* One run of the program. */
struct run {
	const struct options *options;
	const struct output *output;
	struct cpsession manifest;
	struct spec spec; /* its metrics */
	struct profile_session *session;
	struct print print;
	char *config_name; /* owned; safe to show */
	const char *out_name;
	int out_fd;
	bool lost; /* something of the session could not be read */
};

static void take_problem(void *arg, bool is_loss, const struct err *problem)
{
	struct run *r = arg;

	r->lost |= is_loss;
	log_err(is_loss ? LOG_ERROR : LOG_WARNING, problem);
}

static int write_out(struct run *r, struct err *e)
{
	struct buf *out = &r->print.out;
	int rc = buf_error(out);

	if (rc == 0)
		rc = io_write_full(r->out_fd, out->data, out->len);
	buf_reset(out);
	return rc ? err_set_at(e, rc, r->out_name, 0, 0, "cannot be written: %s", strerror(-rc))
		  : 0;
}

/* Those of the spec that the traces hold; without them the events are printed all the same. */
static void load_metrics(struct run *r, const struct profile_facts *f)
{
	static struct err_list errs; /* too large for a stack */

	if (!f->info || !spec_parse_metrics(f->info->spec_json, f->nr_events, &r->spec, &errs))
		return;
	for (size_t i = 0; i < errs.nr; i++)
		take_problem(r, true, &errs.item[i]);
}

static int print_init(struct run *r, struct err *e)
{
	const struct screen_options screen = {
	    .width = r->options->output_file ? 0 : opt_std_terminal_width(),
	    .each_cpu = true,
	    .nr_things = 40};
	const struct profile_facts *f = profile_session_facts(r->session);
	struct print *p = &r->print;
	int rc;

	p->facts = f;
	p->config_name = r->config_name;
	buf_init(&p->out, MAX_OUT_BYTES);
	buf_init(&p->notes, MAX_NOTES_BYTES);
	load_metrics(r, f);
	rc = report_tally_new(f, &r->spec.metric_set, &p->table, e);
	if (rc)
		return rc;
	p->summary = table_summary_new(p->table->nr_columns);
	p->screen = screen_state_new(p->table->nr_columns, &screen);
	p->raw = out_raw_new(f);
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
	buf_fini(&p->out);
	buf_fini(&p->notes);
}

static void end_iteration(struct run *r)
{
	struct print *p = &r->print;

	if (!p->table->nr_rows)
		return;
	table_total(p->table);
	table_summary_add(p->summary, p->table);
	if (r->output->iteration)
		r->output->iteration(p);
	p->table->nr_rows = 0;
	buf_reset(&p->notes);
}

static int flush(struct run *r, struct err *e)
{
	return r->print.out.len >= FLUSH_BYTES ? write_out(r, e) : 0;
}

static int cannot_read_on(int rc, struct err *e)
{
	return rc < 0 ? err_set(e, rc, "cannot read on: %s", strerror(-rc)) : 0;
}

/* All of records, which are closed. trace NULL: of the common file. */
static int print_records(struct run *r, const struct profile_trace *trace,
			 struct profile_records *records, struct err *e)
{
	struct profile_item item;
	int rc = 0, got = 0;

	while (rc == 0 && (got = profile_records_next(records, &item)) == 1) {
		r->print.nr_records++;
		r->output->item(&r->print, trace, &item);
		rc = flush(r, e);
	}
	log_verbose(1, "%s: times went back by up to %" PRIu64 " ns",
		    trace ? trace->name : "the common file",
		    profile_records_stats(records)->max_disorder_ns);
	profile_records_close(records);
	return rc ? rc : cannot_read_on(got, e);
}

static int print_trace(struct run *r, const struct profile_trace *trace, struct err *e)
{
	const struct output *o = r->output;
	struct profile_records *records;
	int rc = 0;

	if (o->head)
		o->head(&r->print, trace);
	if (o->item && r->print.facts->is_sampling)
		rc = profile_session_records(r->session, &records);
	rc = rc == 1 ? print_records(r, trace, records, e) : cannot_read_on(rc, e);
	if (rc == 0 && o->trace)
		o->trace(&r->print, trace);
	return rc ? rc : flush(r, e);
}

static int print_common(struct run *r, struct err *e)
{
	struct profile_records *records;
	int rc = 0;

	if (r->output->common && r->print.facts->is_sampling)
		rc = profile_session_common(r->session, &records);
	if (rc != 1)
		return cannot_read_on(rc, e);
	r->output->common(&r->print);
	return print_records(r, NULL, records, e);
}

static int print_traces(struct run *r, struct err *e)
{
	struct print *p = &r->print;
	struct profile_trace trace;
	int rc, failed = 0;

	while (!failed && (rc = profile_session_next(r->session, &trace)) == 1) {
		if (report_tally_is_next(p->table, &trace))
			end_iteration(r);
		p->nr_records += report_tally_add(p->table, &trace) + 1; /* the time */
		failed = print_trace(r, &trace, e);
	}
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

static int print_all(struct run *r, struct err *e)
{
	int rc;

	if (r->output->begin)
		r->output->begin(&r->print);
	rc = print_traces(r, e);
	if (rc == 0)
		rc = print_common(r, e);
	if (rc == 0 && r->output->end)
		r->output->end(&r->print);
	if (rc == 0 && r->output->is_for_programs)
		screen_warn_metrics(r->print.table, r->print.summary, log_warning_of, NULL);
	return rc ? rc : write_out(r, e);
}

static int load_manifest(struct run *r)
{
	static struct err_list errs; /* too large for a stack */
	int rc = cpsession_load(r->options->session, &r->manifest, &errs);

	for (size_t i = 0; i < errs.nr; i++)
		log_err(LOG_ERROR, &errs.item[i]);
	if (rc)
		return rc;
	r->config_name = mem_strdup(r->manifest.config_name);
	if (!r->config_name) {
		log_error("out of memory");
		return -ENOMEM;
	}
	str_disarm(r->config_name);
	return 0;
}

/* Some file systems tell only now that the space was not there. */
static int close_out(struct run *r, struct err *e)
{
	int rc = 0;

	if (r->out_fd > STDERR_FILENO)
		rc = sys()->close(r->out_fd);
	return rc ? err_set_at(e, rc, r->out_name, 0, 0, "cannot be written: %s", strerror(-rc))
		  : 0;
}

static void log_start(const struct run *r)
{
	const struct profile_facts *f = profile_session_facts(r->session);

	log_info("Config: %s", *r->config_name ? r->config_name : "unnamed");
	log_info("%" PRIu64 " iteration(s), %" PRIu64 " trace(s)", f->nr_iterations, f->nr_traces);
	log_info("Output path prefix: %s", r->manifest.output_path_prefix);
}

static void log_end(const struct run *r, uint64_t start_ns)
{
	uint64_t ms = (clock_monotonic_ns() - start_ns) / 1000000;

	log_info("%" PRIu64 " records processed in %" PRIu64 ".%03" PRIu64 " seconds",
		 r->print.nr_records, ms / 1000, ms % 1000);
}

static int open_session(struct run *r, struct err *e)
{
	struct profile_manifest m = {
	    .path = r->options->session,
	    .output_path_prefix = r->manifest.output_path_prefix,
	    .num_iterations = r->manifest.num_iterations,
	    .num_traces = r->manifest.num_traces,
	};

	return profile_session_open(&m, take_problem, r, &r->session, e);
}

static int run_steps(struct run *r, struct err *e)
{
	uint64_t start_ns = clock_monotonic_ns();
	int rc = open_session(r, e), closed;

	if (rc)
		return rc;
	log_start(r);
	rc = print_init(r, e);
	if (rc)
		return rc;
	r->out_fd = STDOUT_FILENO;
	r->out_name = "standard output";
	if (r->options->output_file) {
		r->out_name = r->options->output_file;
		r->out_fd = out_file_open(r->out_name, r->options->session, e);
	}
	if (r->out_fd < 0)
		return r->out_fd;
	rc = print_all(r, e);
	closed = close_out(r, e);
	log_end(r, start_ns);
	return rc ? rc : closed;
}

static int run(const struct options *o, const struct output *output)
{
	struct run r = {.options = o, .output = output, .out_fd = -1};
	struct err e = {0};
	int rc;

	cpsession_init(&r.manifest);
	spec_init(&r.spec);
	rc = load_manifest(&r);
	if (rc == 0) {
		rc = run_steps(&r, &e);
		if (rc)
			log_err(LOG_ERROR, &e);
	}
	print_fini(&r.print);
	profile_session_close(r.session);
	cpsession_fini(&r.manifest);
	spec_fini(&r.spec);
	mem_free(r.config_name);
	return rc || r.lost ? EXIT_FAILED : EXIT_DONE;
}

/* What must be there, and be one of the names. */
static int check_options(const struct options *o, const struct output **output, struct err *e)
{
	if (!o->session) {
		err_set(e, -EINVAL, "no session given");
		err_hint(e, "--session=FILE; --help lists all options");
		return -EINVAL;
	}
	*output = output_find(o->output_format);
	if (*output)
		return 0;
	err_set(e, -EINVAL, "--output-format=%s: no such format", o->output_format);
	err_hint(e, "one of text, csv, ndjson, raw");
	return -EINVAL;
}

int main(int argc, char **argv)
{
	const struct opt_table *table = &cpuperf_print_options;
	struct options o = {.output_format = "text"};
	const struct output *output = NULL;
	struct err e = {0};
	int answered;

	opt_std_prepare(table->program);
	if (opt_parse(table, argc, argv, &o, &e)) {
		log_err(LOG_ERROR, &e);
		return EXIT_USAGE;
	}
	if (opt_std_open_log(&o.std, table->program, &e)) {
		log_err(LOG_ERROR, &e);
		return EXIT_FAILED;
	}
	answered = opt_std_answer(&o.std, table, CPUPERF_VERSION);
	if (answered)
		return answered < 0 ? EXIT_FAILED : EXIT_DONE;
	if (check_options(&o, &output, &e)) {
		log_err(LOG_ERROR, &e);
		return EXIT_USAGE;
	}
	return run(&o, output);
}
