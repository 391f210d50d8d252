/*
 * cpuperf_print: opens sessions and prints what the options name. Only this file exits.
 */
#include "answer.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "live/live.h"
#include "navigator/navigator.h"
#include "next.h"
#include "options.h"
#include "plan.h"
#include "push.h"
#include "registry.h"
#include "replay.h"
#include "reports/reports.h"
#include "row.h"
#include "serve/browser.h"
#include "spec/cpsession.h"
#include "spec/last.h"
#include "spec/spec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_OVER = 3 };

/* A run of the program. */
struct run {
	const struct options *options;
	struct plan plan;
	struct inputs inputs;
	struct selection selection;
	struct output output;
	bool is_whole; /* all was sent, of --push */
};

static void log_start(const struct inputs *in)
{
	for (size_t i = 0; i < in->nr_jobs; i++)
		log_info("%s: a job of %zu part(s)", in->jobs[i].path, in->jobs[i].list.nr);
	for (size_t i = 0; i < in->nr + in->nr_diff; i++) {
		const struct input *o = &in->item[i];

		if (o->part)
			continue;
		log_verbose(1, "Config: %s", *o->config_name ? o->config_name : "unnamed");
		if (o->import)
			continue;
		log_verbose(1, "%" PRIu64 " iteration(s), %" PRIu64 " trace(s)",
			    o->facts->nr_iterations, o->facts->nr_traces);
		log_verbose(1, "Output path prefix: %s", o->manifest.output_path_prefix);
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
	return !ARRAY_ANY(x, in->item, in->nr, !x->facts->is_sampling);
}

static bool have_regions(const struct inputs *in)
{
	return ARRAY_ANY(x, in->item, in->nr, x->facts->has_regions);
}

static bool reads_in_turn(const struct run *r)
{
	const struct inputs *in = &r->inputs;

	if (r->plan.nr && r->plan.print[0]->sessions == REGISTRY_LANES)
		return in->nr > 1;
	return in->nr_jobs && in->nr + in->nr_diff > 1 &&
	       !ARRAY_ANY(row, r->plan.print, r->plan.nr, !(*row)->reads_in_turn);
}

/* How long ago the file was written. */
static void add_age(struct buf *out, const char *path)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = {{"day", 86400}, {"hour", 3600}, {"minute", 60}, {"second", 1}};
	struct stat st;
	int64_t age;
	size_t i = 0;

	if (stat(path, &st))
		return;
	age = (int64_t)(clock_realtime_ns() / 1000000000) - st.st_mtime;
	age = age > 0 ? age : 0;
	while (age < units[i].seconds && units[i].seconds > 1)
		i++;
	age /= units[i].seconds;
	buf_printf(out, ", %" PRId64 " %s%s ago", age, units[i].name, age == 1 ? "" : "s");
}

/* Nobody named it: it may be of another program than expected. */
static void put_last_session(struct run *r)
{
	const char *last = r->options->last_session;
	BUF_AUTO(shown, 4 * PATH_MAX);

	if (!last || strcmp(r->options->output_format, "text") != 0)
		return;
	buf_shown(&shown, last, strlen(last));
	buf_printf(&r->output.text, "No session of yours in this folder. The last one, %s",
		   buf_str(&shown));
	add_age(&r->output.text, last);
	buf_adds(&r->output.text, ":\n");
}

/* Each report is collected by itself. */
static int print_answer(struct run *r, const struct row_run *run, struct err *e)
{
	struct output *o = &r->output;
	struct answer *a = o->document->answer;
	struct answer_list *l;
	int rc = 0;

	for (size_t i = 0; i < r->plan.nr && rc == 0; i++) {
		buf_reset(&o->document->columns);
		rc = row_print(run, r->plan.print[i], e) ?: buf_error(&o->text);
		if (!o->text.len)
			continue;
		l = answer_add(a, r->plan.print[i]->name, true);
		buf_add(&l->lines, buf_str(&o->text), o->text.len);
		buf_add(&l->columns, buf_str(&o->document->columns), o->document->columns.len);
		buf_reset(&o->text);
	}
	l = answer_add(a, "problems", false);
	buf_add(&l->lines, buf_str(&o->document->problems), o->document->problems.len);
	if (rc == 0)
		answer_put(a, &o->conclusion, r->options, are_sampled(&r->inputs), &o->text);
	return rc;
}

static int print_document(struct run *r, const struct row_run *run, struct err *e)
{
	struct output *o = &r->output;
	int rc = 0;

	document_begin(o->document, &r->inputs, &o->text);
	for (size_t i = 0; i < r->plan.nr && rc == 0; i++) {
		document_begin_report(o->document, r->plan.print[i]->name, &o->text);
		output_end_frame(o);
		rc = row_print(run, r->plan.print[i], e);
		output_end_text(o);
		document_end_report(o->document, &o->text);
	}
	document_end(o->document, rc ? e : NULL, &o->text);
	output_end_frame(o);
	return rc;
}

static int print_all(struct run *r, struct err *e)
{
	const struct profile_facts *first = r->inputs.nr ? r->inputs.item[0].facts : NULL;
	const struct plan_contents contents = {
	    .are_sampled = are_sampled(&r->inputs),
	    .have_regions = have_regions(&r->inputs),
	    .have_functions = first && reports_has_functions(first),
	    .have_heap = first && reports_has_heap(first),
	    .have_parts = inputs_have_parts(&r->inputs),
	    .are_one = r->inputs.nr == 1 && !r->inputs.item[0].import,
	    .are_job = parts_are_job(&r->inputs),
	    .have_others = !first || reports_has_others(first)};
	struct row_run run = {
	    .inputs = &r->inputs, .selection = &r->selection, .output = &r->output};
	int rc;

	if (r->plan.pushed)
		return push_run(&r->inputs, &r->selection, r->plan.pushed, &r->output, &r->is_whole,
				e);
	plan_default(&r->plan, r->options, &contents);
	parts_put_faults(&r->inputs, &r->selection, &r->output);
	r->inputs.is_in_turn = reads_in_turn(r);
	row_warn_of_iterations(&r->selection, &r->inputs);
	row_choose_states(&r->selection, &r->inputs, r->plan.nr == 1 ? r->plan.print[0] : NULL,
			  r->plan.format, r->plan.is_brief);
	run.is_default = r->plan.is_default;
	run.is_brief = r->plan.is_brief;
	put_last_session(r);
	if (!r->output.document)
		return ARRAY_RUN(i, r->plan.nr, row_print(&run, r->plan.print[i], e))
			   ?: output_write(&r->output, e);
	if (r->plan.is_answer && !(r->output.document->answer = answer_new()))
		return err_set(e, -ENOMEM, "out of memory");
	rc = r->plan.is_answer ? print_answer(r, &run, e) : print_document(r, &run, e);
	if (rc != -EPIPE)
		rc = output_write(&r->output, e) ?: rc;
	return rc;
}

static bool prints_jobs(const struct registry_row *row)
{
	return row->kind == REGISTRY_EXPORT && row->sessions != REGISTRY_ONE;
}

/* What options name may be jobs, which have many parts. */
static int check_parts(const struct run *r, struct err *e)
{
	const struct registry_row *row = r->plan.format;
	const bool is_one = r->options->live || row->sessions == REGISTRY_ONE;
	char names[REGISTRY_NAMES_BYTES];

	if (!is_one || r->inputs.nr == 1)
		return 0;
	if (r->options->live)
		err_set(e, -EINVAL, "--live replays one session");
	else
		err_set(e, -EINVAL, "--output-format=%s prints one session", row->name);
	err_hint(e,
		 "name a part of the job, such as %s, or select one by --host and --rank; formats "
		 "of a whole job: %s",
		 r->inputs.item[0].path, registry_names(names, prints_jobs));
	return -EINVAL;
}

static int run_steps(struct run *r, struct err *e)
{
	uint64_t start_ns = clock_monotonic_ns();
	int rc, closed;

	rc = inputs_open(&r->inputs, r->options, &r->selection, r->plan.uses_samples,
			 &r->output.problems, e)
		 ?: inputs_select(&r->inputs, &r->selection.filter, e)
		 ?: check_parts(r, e);
	if (rc)
		return rc;
	log_start(&r->inputs);
	if (r->options->live)
		return live_is_meant(&r->inputs) ? live_run(&r->inputs, &r->selection, e)
						 : replay_run(&r->inputs, e);
	if (r->options->serve)
		return navigator_run(&r->inputs, &r->selection, &r->output, e);
	rc = output_open(&r->output, e);
	if (rc)
		return rc;
	rc = print_all(r, e);
	if (rc == -EPIPE && !r->options->output_file) { /* the reader has read enough */
		rc = 0;
		err_clear(e);
	}
	closed = output_close(&r->output, rc == 0, e);
	log_end(&r->output, start_ns);
	if (rc == 0 && closed == 0 && r->options->open)
		return browser_open(r->options->output_file, "--open", e);
	return rc ?: closed;
}

static int run(struct run *r)
{
	struct err e = {0};
	int rc;

	output_init(&r->output, r->plan.format, r->options);
	if (r->plan.format->is_document && !r->output.document) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	rc = run_steps(r, &e);
	problems_end(&r->output.problems);
	if (rc == 0 && are_sampled(&r->inputs))
		next_write(&r->output.conclusion);
	if (rc && e.code)
		log_err(LOG_ERROR, &e);
	if (!rc && !r->output.problems.has_loss && (r->is_whole || !r->plan.pushed))
		rc = r->output.is_over ? EXIT_OVER : EXIT_DONE;
	else
		rc = EXIT_FAILED;
	inputs_fini(&r->inputs);
	output_fini(&r->output);
	return rc;
}

static bool has_report(const struct options *o, const char *name)
{
	return ARRAY_ANY(x, o->reports.item, o->reports.nr, strcmp(*x, name) == 0);
}

static int check_folder(const char *option, const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st))
		return err_set(e, -errno, "--%s=%s: %s", option, path, strerror(errno));
	return S_ISDIR(st.st_mode) ? 0
				   : err_set(e, -ENOTDIR, "--%s=%s: is not a folder", option, path);
}

static int check_source_dirs(const struct options *o, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < o->source_dirs.nr && rc == 0; i++)
		rc = check_folder("source-dir", o->source_dirs.item[i], e);
	return rc;
}

static int check_annotate(const struct options *o, struct err *e)
{
	const char *option = o->source ? "source" : o->assembly ? "asm" : "source-dir";
	const bool is_page = o->output_format && strcmp(o->output_format, "html") == 0;

	if (o->functions.nr && !has_report(o, "annotate") && !has_report(o, "calls") &&
	    !has_report(o, "flat") && !has_report(o, "functions") && !has_report(o, "values") &&
	    !o->serve)
		return err_set(
		    e, -EINVAL,
		    "--function requires --report=annotate, calls, flat, functions or values");
	if ((o->source || o->assembly || (o->source_dirs.nr && !is_page)) &&
	    !has_report(o, "annotate") && !o->serve)
		return err_set(e, -EINVAL, "--%s requires --report=annotate", option);
	return check_source_dirs(o, e);
}

/* A page in a file of its own, unless another format is named. */
static int check_open(const struct options *o, struct err *e)
{
	if (!o->open)
		return 0;
	if (strcmp(o->output_format, "html") != 0)
		return err_set(e, -EINVAL,
			       "--open excludes --output-format=%s: a browser shows html",
			       o->output_format);
	if (io_named_descriptor(o->output_file) >= 0)
		return err_set(e, -EINVAL, "--open: %s is no file that a browser can open",
			       o->output_file);
	return 0;
}

/* What must be there, and what excludes each other. */
static int check_options(struct run *r, struct err *e)
{
	const struct options *o = r->options;
	int rc = selection_init(&r->selection, o, e);

	if (rc)
		return rc;
	rc = push_check(o, e);
	if (rc)
		return rc;
	if (!o->sessions.nr && !o->perf_data.nr && !o->push_waiting) {
		err_set(e, -EINVAL, "no session named");
		err_hint(e, "cpuperf -- COMMAND makes ./" CPSESSION_FOLDER
			    "; or name a folder, --session=FILE or "
			    "--perf-data=FILE");
		return -EINVAL;
	}
	if (!o->diff.nr && (o->fail_over || o->counts || o->no_totals)) {
		err_set(e, -EINVAL, "--fail-over, --counts and --no-totals require --diff=FILE");
		err_hint(e, "FILE is the session to compare with");
		return -EINVAL;
	}
	if (o->functions.nr || o->source || o->assembly || o->source_dirs.nr) {
		rc = check_annotate(o, e);
		if (rc)
			return rc;
	}
	if (o->stdio && (!o->serve || strcmp(o->serve, NAVIGATOR_DEFAULT_ADDRESS) != 0))
		return err_set(e, -EINVAL,
			       o->serve ? "--serve=ADDRESS and --stdio are mutually exclusive"
					: "--stdio requires --serve");
	if (o->within && !o->fail_over)
		return err_set(e, -EINVAL, "--within requires --fail-over");
	return check_open(o, e) ?: replay_check(o, e) ?: plan_init(&r->plan, o, &r->selection, e);
}

/* Without a session: the last one of a command in this folder (another user may have left it), else
 * the caller's last one. */
static void use_last_session(struct options *o)
{
	static char last[PATH_MAX];
	const char *session = CPSESSION_FOLDER;
	struct stat st;

	if (o->sessions.nr || o->perf_data.nr || o->push_waiting)
		return;
	if (stat(session, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid()) {
		if (last_read(last))
			return;
		session = o->last_session = last;
		if (strcmp(o->output_format, "text") != 0 || o->serve || o->live)
			log_info("the last session: %s", last);
	}
	o->sessions.item[o->sessions.nr++] = session;
}

/* A mixed installation: options and what is printed may differ between versions. */
static int check_version(struct err *e)
{
	const char *asker = secure_getenv(ASKED_BY_VARIABLE);

	if (!asker || strcmp(asker, CPUPERF_VERSION) == 0)
		return 0;
	err_set(e, -EPROTO,
		"cpuperf_print %s was started by cpuperf %.32s: they must be of one version",
		CPUPERF_VERSION, asker);
	err_hint(e, "install the package cpuperf whole (cpuperf --doctor); the session is saved");
	return -EPROTO;
}

static void set_page(struct options *o)
{
	if (strcmp(o->output_format, "text") == 0)
		o->output_format = "html";
	if (!o->output_file)
		o->output_file = "cpuperf.html";
}

int main(int argc, char **argv)
{
	const struct opt_table *table = &cpuperf_print_options;
	static struct options o = {.output_format = "text"};
	static struct run r = {.options = &o};
	struct err e = {0};
	int answered, code;

	spec_use_own_heap();
	opt_std_prepare(table, argc, argv);
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
	if (check_version(&e)) {
		log_err(LOG_ERROR, &e);
		return EXIT_USAGE;
	}
	use_last_session(&o);
	if (o.open)
		set_page(&o);
	if (check_options(&r, &e)) {
		log_err(LOG_ERROR, &e);
		code = EXIT_USAGE;
	} else {
		code = run(&r);
	}
	selection_fini(&r.selection);
	return code;
}
