/*
 * cpuperf_print: reads sessions back and prints them. Here options become reports. Only this file
 * prints messages and exits.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "job.h"
#include "live.h"
#include "options.h"
#include "out_file.h"
#include "reports.h"
#include "reports/columns.h"
#include "summary/output.h"

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
};

static void log_start(const struct job *j)
{
	for (size_t i = 0; i < j->nr_sessions + j->nr_diff; i++) {
		const struct opened *o = &j->sessions[i];

		log_info("config: %s", *o->config_name ? o->config_name : "unnamed");
		if (o->import)
			continue;
		log_info("%" PRIu64 " iteration(s), %" PRIu64 " trace(s)", o->facts->nr_iterations,
			 o->facts->nr_traces);
		log_info("output path prefix: %s", o->manifest.output_path_prefix);
	}
}

static void log_end(const struct job *j, uint64_t start_ns)
{
	uint64_t ms = (clock_monotonic_ns() - start_ns) / 1000000;

	log_info("%" PRIu64 " records processed in %" PRIu64 ".%03" PRIu64 " seconds",
		 j->nr_records, ms / 1000, ms % 1000);
}

/* Whatever is asked to be written over: not one of these. */
static int open_file(const struct options *o, struct err *e)
{
	const char *inputs[3 * OPT_MAX_STRINGS + 1];
	size_t nr = 0;

	for (size_t i = 0; i < o->sessions.nr; i++)
		inputs[nr++] = o->sessions.item[i];
	for (size_t i = 0; i < o->perf_data.nr; i++)
		inputs[nr++] = o->perf_data.item[i];
	for (size_t i = 0; i < o->diff.nr; i++)
		inputs[nr++] = o->diff.item[i];
	if (o->kallsyms)
		inputs[nr++] = o->kallsyms;
	return out_file_open(o->output_file, inputs, nr, e);
}

static int open_out(struct job *j, struct err *e)
{
	const struct options *o = j->options;

	j->out_fd = STDOUT_FILENO;
	j->out_name = "standard output";
	if (!o->output_file) {
		if (j->is_terminal && !o->no_pager && pager_start(&j->pager))
			j->out_fd = j->pager.fd;
		return 0;
	}
	j->out_name = o->output_file;
	j->out_fd = open_file(o, e);
	return j->out_fd < 0 ? j->out_fd : 0;
}

static int close_out(struct job *j, bool is_whole, struct err *e)
{
	if (j->options->output_file)
		return out_file_close(j->out_fd, j->out_name, is_whole, e);
	pager_end(&j->pager);
	return 0;
}

static bool is_sampling(const struct job *j)
{
	for (size_t i = 0; i < j->nr_sessions; i++)
		if (!j->sessions[i].facts->is_sampling)
			return false;
	return true;
}

/* Nothing asked for: the summary, and for people what the samples say; or what was compared. */
static int plan_default(struct job *j, struct plan *p, struct err *e)
{
	if (j->nr_diff) {
		p->report[p->nr++] = report_find("diff", e);
		return 0;
	}
	p->report[p->nr++] = report_find("summary", e);
	j->is_brief = is_sampling(j) && strcmp(j->options->output_format, "text") == 0;
	if (j->is_brief)
		p->report[p->nr++] = report_find("flat", e);
	return 0;
}

/* Side by side stands what was measured alike; else sessions are printed one after the other. */
static bool is_at_once(const struct job *j, const struct report *r)
{
	struct err e = {0};

	if (!r->adds_up || !j->options->by_session || j->is_export)
		return r->adds_up;
	return r->is_side_by_side && job_check_same_events(j, &e) == 0;
}

static int prepare(struct job *j, const struct report *r, struct err *e)
{
	int rc = r->needs_names ? job_check_samples(j, r->name, e) : 0;

	if (rc == 0 && is_at_once(j, r))
		rc = job_check_same_events(j, e);
	return rc == 0 && r->needs_names ? job_know_names(j, e) : rc;
}

static int print_report(struct job *j, const struct report *r, struct err *e)
{
	int rc = prepare(j, r, e);

	j->has_header = false;
	j->session_shown = NULL;
	if (rc == 0 && is_at_once(j, r))
		return r->print(j, 0, j->nr_sessions, e);
	for (size_t i = 0; i < j->nr_sessions && rc == 0; i++) {
		if (j->nr_sessions > 1 && strcmp(j->options->output_format, "text") == 0)
			buf_printf(&j->out, "%s%s:\n", i ? "\n" : "", j->sessions[i].path);
		j->session_shown = j->nr_sessions > 1 ? j->sessions[i].path : NULL;
		rc = r->print(j, i, 1, e);
	}
	return rc;
}

static int print_all(struct job *j, struct plan *p, struct err *e)
{
	int rc = p->nr ? 0 : plan_default(j, p, e);

	for (size_t i = 0; i < p->nr && rc == 0; i++)
		rc = print_report(j, p->report[i], e);
	return rc ? rc : job_write(j, e);
}

/* With nothing asked for, the samples of people's summary do. */
static bool wants_names(const struct plan *p)
{
	bool is_wanted = !p->nr;

	for (size_t i = 0; i < p->nr; i++)
		is_wanted |= p->report[i]->needs_names;
	return is_wanted;
}

static int run_steps(struct job *j, struct plan *p, struct err *e)
{
	uint64_t start_ns = clock_monotonic_ns();
	int rc, closed;

	j->wants_names = wants_names(p);
	rc = job_open(j, e);
	if (rc)
		return rc;
	log_start(j);
	if (j->options->live)
		return live_show(j, e);
	rc = open_out(j, e);
	if (rc)
		return rc;
	rc = print_all(j, p, e);
	if (rc == -EPIPE && !j->options->output_file) { /* its reader has read enough */
		rc = 0;
		err_clear(e);
	}
	closed = close_out(j, rc == 0, e);
	log_end(j, start_ns);
	return rc ? rc : closed;
}

static int run(struct job *j, struct plan *p)
{
	struct err e = {0};
	int rc = run_steps(j, p, &e);

	if (rc && e.code)
		log_err(LOG_ERROR, &e);
	if (rc || j->lost)
		return EXIT_FAILED;
	return j->is_over ? EXIT_OVER : EXIT_DONE;
}

static const struct {
	const char *name;
	enum grid_form form;
} forms[] = {
    {"text", GRID_PEOPLE}, {"csv", GRID_CSV}, {"ndjson", GRID_NDJSON}, {"raw", GRID_PEOPLE}};

static int choose_form(struct job *j, struct err *e)
{
	const char *format = j->options->output_format;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strcmp(forms[i].name, format) != 0)
			continue;
		j->form = forms[i].form;
		return 0;
	}
	if (report_find_export(format)) {
		j->form = GRID_NDJSON; /* for programs */
		j->is_export = true;
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
static int choose_export(const struct job *j, struct plan *p, struct err *e)
{
	const struct options *o = j->options;
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

/* Any value but none: no-color.org. */
static bool wants_color(void)
{
	const char *no = getenv("NO_COLOR");

	return !no || !*no;
}

/* What must be there, and make sense. */
static int check_options(struct job *j, const struct options *o, struct plan *p, struct err *e)
{
	int rc = job_init(j, o, e);
	unsigned columns;

	if (rc == 0 && o->sort)
		rc = report_sort_columns(o->sort, &columns, e);
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
	j->width = o->output_file ? 0 : opt_std_terminal_width();
	j->is_terminal = j->width != 0;
	j->has_color = j->is_terminal && wants_color();
	rc = choose_form(j, e);
	if (rc == 0)
		rc = live_check(o, e);
	if (rc == 0)
		rc = choose_reports(o, p, e);
	if (rc == 0)
		rc = choose_export(j, p, e);
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
	static struct job j;
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
	if (check_options(&j, &o, &p, &e)) {
		log_err(LOG_ERROR, &e);
		code = EXIT_USAGE;
	} else {
		code = run(&j, &p);
	}
	job_fini(&j);
	return code;
}
