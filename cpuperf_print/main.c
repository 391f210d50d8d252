/*
 * cpuperf_print: reads sessions back and prints them. Here options become reports. Only this file
 * prints messages and exits.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "job.h"
#include "options.h"
#include "replay.h"
#include "reports.h"
#include "samples.h"
#include "summary/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_OVER = 3 };
enum { MAX_REPORTS = OPT_MAX_STRINGS };

/* What is to be printed, in order. */
struct plan {
	const struct report *report[MAX_REPORTS];
	size_t nr;
	bool is_brief; /* of the summary: a report follows that says more */
};

/* A run of the program. */
struct run {
	const struct options *options;
	struct inputs inputs;
	struct selection selection;
	struct output output;
};

static void log_start(const struct inputs *in)
{
	for (size_t i = 0; i < in->nr + in->nr_diff; i++) {
		const struct input *o = &in->item[i];

		log_info("config: %s", *o->config_name ? o->config_name : "unnamed");
		if (o->import)
			continue;
		log_info("%" PRIu64 " iteration(s), %" PRIu64 " trace(s)", o->facts->nr_iterations,
			 o->facts->nr_traces);
		log_info("output path prefix: %s", o->manifest.output_path_prefix);
	}
}

static void log_end(const struct output *o, uint64_t start_ns)
{
	uint64_t ms = (clock_monotonic_ns() - start_ns) / 1000000;

	log_info("%" PRIu64 " records processed in %" PRIu64 ".%03" PRIu64 " seconds",
		 o->nr_records, ms / 1000, ms % 1000);
}

static bool are_sampled(const struct inputs *in)
{
	for (size_t i = 0; i < in->nr; i++)
		if (!in->item[i].facts->is_sampling)
			return false;
	return true;
}

/* The difference, if there is one; else the summary, and in text also where samples are. */
static int plan_default(const struct run *r, struct plan *p, struct err *e)
{
	if (r->inputs.nr_diff) {
		p->report[p->nr++] = report_find("diff", e);
		return 0;
	}
	p->report[p->nr++] = report_find("summary", e);
	p->is_brief = are_sampled(&r->inputs) && strcmp(r->output.format, "text") == 0;
	if (p->is_brief)
		p->report[p->nr++] = report_find("flat", e);
	return 0;
}

/* All inputs by one call: added up, or side by side if they have the same events. */
static bool is_at_once(const struct job *j, const struct report *r)
{
	struct err e = {0};

	if (!r->adds_up || !j->selection->by_session || j->is_export)
		return r->adds_up;
	return r->is_side_by_side && inputs_check_same_events(j->inputs, &e) == 0;
}

static int prepare(struct job *j, const struct report *r, bool is_at_once, struct err *e)
{
	int rc = r->needs_names ? samples_check(j, e) : 0;

	if (rc == 0 && is_at_once)
		rc = inputs_check_same_events(j->inputs, e);
	return rc == 0 && r->needs_names ? samples_load_names(j, e) : rc;
}

static int print_report(struct run *r, const struct plan *p, const struct report *report,
			struct err *e)
{
	struct inputs *in = &r->inputs;
	struct job j = {.name = report->name,
			.is_export = report_find_export(report->name) != NULL,
			.inputs = in,
			.selection = &r->selection,
			.output = &r->output,
			.nr = in->nr,
			.is_brief = p->is_brief};
	const bool at_once = is_at_once(&j, report);
	const bool has_title = in->nr > 1 && strcmp(r->output.format, "text") == 0;
	int rc = prepare(&j, report, at_once, e);

	r->output.has_header = false;
	if (rc == 0 && at_once)
		return report->print(&j, e);
	for (size_t i = 0; i < in->nr && rc == 0; i++) {
		if (has_title)
			buf_printf(&r->output.text, "%s%s:\n", i ? "\n" : "", in->item[i].path);
		j.first = i;
		j.nr = 1;
		j.session = in->nr > 1 ? in->item[i].path : NULL;
		rc = report->print(&j, e);
	}
	return rc;
}

static int print_all(struct run *r, struct plan *p, struct err *e)
{
	int rc = p->nr ? 0 : plan_default(r, p, e);

	for (size_t i = 0; i < p->nr && rc == 0; i++)
		rc = print_report(r, p, p->report[i], e);
	return rc ? rc : output_write(&r->output, e);
}

/* The default may print samples. */
static bool wants_names(const struct plan *p)
{
	bool is_wanted = !p->nr;

	for (size_t i = 0; i < p->nr; i++)
		is_wanted |= p->report[i]->needs_names;
	return is_wanted;
}

static int run_steps(struct run *r, struct plan *p, struct err *e)
{
	uint64_t start_ns = clock_monotonic_ns();
	int rc, closed;

	rc = inputs_open(&r->inputs, r->options, wants_names(p), &r->output.problems, e);
	if (rc)
		return rc;
	log_start(&r->inputs);
	if (r->options->live)
		return replay_run(&r->inputs, e);
	rc = output_open(&r->output, e);
	if (rc)
		return rc;
	rc = print_all(r, p, e);
	if (rc == -EPIPE && !r->options->output_file) { /* its reader has read enough */
		rc = 0;
		err_clear(e);
	}
	closed = output_close(&r->output, rc == 0, e);
	log_end(&r->output, start_ns);
	return rc ? rc : closed;
}

static int run(struct run *r, struct plan *p)
{
	struct err e = {0};
	int rc = run_steps(r, p, &e);

	if (rc && e.code)
		log_err(LOG_ERROR, &e);
	if (rc || r->output.problems.has_loss)
		return EXIT_FAILED;
	return r->output.is_over ? EXIT_OVER : EXIT_DONE;
}

static const struct {
	const char *name;
	enum grid_form form;
} forms[] = {
    {"text", GRID_PEOPLE}, {"csv", GRID_CSV}, {"ndjson", GRID_NDJSON}, {"raw", GRID_PEOPLE}};

static int choose_form(struct run *r, struct err *e)
{
	const char *format = r->output.format;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strcmp(forms[i].name, format) != 0)
			continue;
		r->output.form = forms[i].form;
		return 0;
	}
	if (report_find_export(format)) {
		r->output.form = GRID_NDJSON; /* for programs */
		return 0;
	}
	err_set(e, -EINVAL, "--output-format=%s: no such format", format);
	err_hint(e, "--help lists all");
	return -EINVAL;
}

static int choose_reports(const struct options *o, struct plan *p, struct err *e)
{
	for (size_t i = 0; i < o->reports.nr; i++) {
		p->report[p->nr] = report_find(o->reports.item[i], e);
		if (!p->report[p->nr++])
			return -EINVAL;
	}
	return 0;
}

/* A format that others read is what is printed: there is no report beside it. */
static int choose_export(const struct options *o, struct plan *p, struct err *e)
{
	const struct report *r = report_find_export(o->output_format);

	if (!r)
		return 0;
	if (o->reports.nr) {
		err_set(e, -EINVAL, "--output-format=%s is no form of --report=%s",
			o->output_format, o->reports.item[0]);
		err_hint(e, "leave out --report; reports are text, csv or ndjson");
	} else if (o->diff.nr && !r->takes_diff) {
		err_set(e, -EINVAL, "--output-format=%s compares nothing", o->output_format);
		err_hint(e, "leave out --diff, or take html, text, csv or ndjson");
	} else if (o->counts) {
		err_set(e, -EINVAL, "--output-format=%s compares shares, not counts",
			o->output_format);
		err_hint(e, "leave out --counts; --report=diff has it");
	} else if (o->sessions.nr + o->perf_data.nr > 1 &&
		   (!r->adds_up || (o->by_session && !r->is_side_by_side))) {
		err_set(e, -EINVAL, "--output-format=%s is of one session%s", o->output_format,
			r->adds_up ? ", or of what several add up to" : "");
		err_hint(e, "give one --session at a time");
	} else if (r->is_binary && !o->output_file && isatty(STDOUT_FILENO)) {
		err_set(e, -EINVAL, "--output-format=%s is nothing for a terminal",
			o->output_format);
		err_hint(e, "--output-file=PATH takes it, or a pipe");
	} else {
		p->report[p->nr++] = r;
		return 0;
	}
	return -EINVAL;
}

/* Nothing chosen: it is the default. */
static bool has_diff(const struct options *o, const struct plan *p)
{
	bool has = o->diff.nr && !p->nr;

	for (size_t i = 0; i < p->nr; i++)
		has |= p->report[i]->print == report_diff_print;
	return has;
}

static int check_diff(const struct options *o, const struct plan *p, struct err *e)
{
	if (o->diff.nr && o->by_session) {
		err_set(e, -EINVAL, "--by-session prints each session, --diff compares them all");
		err_hint(e, "give one of them");
		return -EINVAL;
	}
	if (!o->diff.nr && has_diff(o, p)) {
		err_set(e, -EINVAL, "--report=diff compares with nothing");
		err_hint(e, "--diff=FILE names the session to compare with");
		return -EINVAL;
	}
	if (o->fail_over && !has_diff(o, p)) {
		err_set(e, -EINVAL, "nothing judges a change for --fail-over");
		err_hint(e, "--report=diff does, as text, csv or ndjson");
		return -EINVAL;
	}
	return 0;
}

/* The records of the files, in the original's layout: of no other report, and of one session. */
static int check_raw(const struct options *o, const struct plan *p, struct err *e)
{
	bool is_other = o->diff.nr;

	for (size_t i = 0; i < p->nr; i++)
		is_other |= p->report[i]->print != report_summary_print;
	if (strcmp(o->output_format, "raw") != 0)
		return 0;
	if (!is_other && o->sessions.nr + o->perf_data.nr > 1) {
		err_set(e, -EINVAL, "--output-format=raw is of one session");
		err_hint(e, "give one --session at a time; csv and ndjson tell sessions apart");
		return -EINVAL;
	}
	if (!is_other)
		return 0;
	err_set(e, -EINVAL, "--output-format=raw is of --report=summary alone");
	err_hint(e, "other reports are text, csv or ndjson");
	return -EINVAL;
}

/* What must be there, and make sense. */
static int check_options(struct run *r, struct plan *p, struct err *e)
{
	const struct options *o = r->options;
	int rc = selection_init(&r->selection, o, e);

	output_init(&r->output, o);
	if (rc)
		return rc;
	if (!o->sessions.nr && !o->perf_data.nr) {
		err_set(e, -EINVAL, "no session given");
		err_hint(e, "--session=FILE, or --perf-data=FILE; --help lists all options");
		return -EINVAL;
	}
	if (!o->diff.nr && (o->fail_over || o->counts)) {
		err_set(e, -EINVAL, "--fail-over and --counts are of a comparison");
		err_hint(e, "--diff=FILE names the session to compare with");
		return -EINVAL;
	}
	rc = choose_form(r, e);
	if (rc == 0)
		rc = replay_check(o, e);
	if (rc == 0)
		rc = choose_reports(o, p, e);
	if (rc == 0)
		rc = choose_export(o, p, e);
	if (rc == 0)
		rc = check_diff(o, p, e);
	if (rc == 0)
		rc = check_raw(o, p, e);
	return rc;
}

int main(int argc, char **argv)
{
	const struct opt_table *table = &cpuperf_print_options;
	static struct options o = {.output_format = "text"};
	static struct run r = {.options = &o};
	struct plan p = {.nr = 0};
	struct err e = {0};
	int answered, code;

	opt_std_prepare(table->program);
	if (opt_parse(table, argc, argv, &o, &e)) {
		log_err(LOG_ERROR, &e);
		return EXIT_USAGE;
	}
	if (opt_std_open_log(&o.std, table->program, &e)) {
		log_err(LOG_ERROR, &e);
		return EXIT_FAILED;
	}
	answered = opt_std_answer(&o.std, table, CPUPERF_VERSION ", " CPUPERF_WITH);
	if (answered)
		return answered < 0 ? EXIT_FAILED : EXIT_DONE;
	if (check_options(&r, &p, &e)) {
		log_err(LOG_ERROR, &e);
		code = EXIT_USAGE;
	} else {
		code = run(&r, &p);
	}
	inputs_fini(&r.inputs);
	selection_fini(&r.selection);
	output_fini(&r.output);
	return code;
}
