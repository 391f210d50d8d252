/*
 * Measuring: opens a session and prints each iteration.
 */
#include "api/table.h"
#include "attached.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/root.h"
#include "base/str.h"
#include "collect/memory_map.h"
#include "estimate/table.h"
#include "event/usdt.h"
#include "functions/functions.h"
#include "job/as_part.h"
#include "job/rank.h"
#include "marks/tracefs.h"
#include "plan/plan.h"
#include "plan/source.h"
#include "program.h"
#include "recorder.h"
#include "reload.h"
#include "rights.h"
#include "screen/output_file.h"
#include "session/held.h"
#include "session/session.h"
#include "signals.h"
#include "spec/cpsession.h"
#include "spec/last.h"
#include "target/failures.h"
#include "target/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NR_THINGS = 10 }; /* printed of each kind in each iteration; cpuperf_print prints all */
enum { MAX_WAYS_BYTES = 256 << 10, MAX_TABLE_BYTES = 64 << 20, NS_PER_S = 1000000000 };
_Static_assert((int)SPEC_MAX_METRICS <= 64, "struct recorder has a bit for each");

/* After a dashboard, standard output may be a terminal that is held (^S): do not wait for it. */
static bool is_impatient(void *arg)
{
	const struct recorder *r = arg;

	return signals_have_interrupted() || r->was_live;
}

/* What precedes the next table or the summary. */
static void add_start(struct recorder *r)
{
	if (!r->begun)
		r->format->begin(r->screen, r->table, &r->out);
	if (r->has_gap)
		r->format->gap(r->screen, r->table, &r->gap, &r->out);
}

static const char *results_name(const struct recorder *r)
{
	return r->options->output_file ? r->options->output_file : "standard output";
}

/* A table that does not fit into the queue becomes part of a gap. */
static void add_to_gap(struct recorder *r)
{
	const struct table *t = r->table;

	if (!r->has_gap)
		r->gap = (struct screen_gap){.first = t->iteration, .start_ns = t->start_ns};
	r->has_gap = true;
	r->gap.last = t->iteration;
	r->gap.end_ns = t->end_ns;
	r->gap.realtime_ns = t->realtime_ns;
	if (!r->has_logged_gap &&
	    !output_is_broken(&r->output)) /* their number is logged at the end */
		log_warning("%s is not read fast enough: from iteration %u on, some are not "
			    "printed%s",
			    results_name(r), r->gap.first, r->hint);
	r->has_logged_gap = true;
}

static void log_warning_of(void *arg, const struct err *warning)
{
	(void)arg;
	log_err(LOG_WARNING, warning);
}

/* Ends the measuring, not the command, before a held session fills the memory. */
static void check_room(struct recorder *r)
{
	const struct plan_target *target = &r->plan->target;

	if (!r->options->held || r->is_full || !held_is_full(r->options->held))
		return;
	r->is_full = true;
	if (target->until_end && !target->has_runs)
		session_finish(r->session);
	else
		session_stop(r->session);
}

/* The total of each event and metric, as it is printed. */
static void write_counters(const struct recorder *r)
{
	for (size_t i = 0; r->plan->tracefs && i < r->table->nr_columns; i++)
		if (cell_has_value(&r->table->totals[i]))
			tracefs_counter(r->plan->tracefs, (uint32_t)getpid(),
					r->table->columns[i].label, r->table->totals[i].value);
}

static void push(struct recorder *r)
{
	char text[PUSHING_TEXT_BYTES];

	if (pushing_add(&r->pushing, (uint64_t)r->table->iteration + 1,
			session_is_surveyed(r->session), text) &&
	    recorder_must_log(r, text))
		log_warning("%s", text);
}

/* Non-zero when nobody can read the results; the files of this iteration are complete. */
static int show_iteration(struct recorder *r, const struct session_iteration *it)
{
	int rc;

	status_erase(&r->status);
	check_room(r);
	api_table_fill(r->table, r->session, it);
	write_counters(r);
	push(r);
	if (!r->serves_looks)
		metrics_add(&r->metrics, r->table);
	notify_send(&r->notify, "WATCHDOG=1");
	table_summary_add(r->summary, r->table);
	if (r->is_answered)
		return r->plan->target.has_runs &&
		       (signals_have_stopped_runs() || WIFSIGNALED(r->end.status));
	if (dashboard_feed_is_on(&r->feed)) {
		r->begun = true;
		dashboard_feed_iteration(&r->feed, r->table);
		return 0;
	}
	add_start(r);
	r->format->iteration(r->screen, r->table, &r->out);
	if (!r->format->is_for_people) /* else the results contain the warnings */
		screen_warn_samples(r->table, log_warning_of, NULL);
	rc = r->print_error = buf_error(&r->out);
	if (rc == 0 && output_table(&r->output, buf_str(&r->out), r->out.len)) {
		r->begun = true;
		r->has_gap = false;
	} else if (rc == 0) {
		add_to_gap(r);
	}
	buf_reset(&r->out);
	return rc ? rc : output_is_broken(&r->output);
}

/* Of measuring and of pushing. */
static uint64_t own_cpu_ns(void *arg)
{
	const struct recorder *r = arg;

	return clock_process_cpu_ns() + r->pushing.cpu_ns;
}

/* Non-zero ends the session. */
static int on_iteration(const struct session_iteration *it, void *arg)
{
	struct recorder *r = arg;
	struct reload *reload = r->options->reload;
	int rc = show_iteration(r, it);

	if (rc || !reload || !signals_take_hangup())
		return rc;
	reload->is_followed = reload->read(reload->arg);
	if (reload->is_followed)
		notify_reloading(&r->notify);
	return reload->is_followed;
}

static bool has_limits(const struct spec *spec)
{
	for (size_t i = 0; i < spec->nr_metrics; i++)
		if (spec->metrics[i].warn_below.text || spec->metrics[i].warn_above.text)
			return true;
	return false;
}

/* Each metric that comes to be beyond a limit is a trigger. */
static void check_limits(struct recorder *r)
{
	const struct spec *spec = r->plan->spec;
	uint64_t beyond = 0; /* a bit for each metric */

	for (size_t i = 0; i < spec->nr_metrics; i++) {
		const struct spec_metric *m = &spec->metrics[i];
		enum cell_limit limit = r->table->totals[r->table->nr_events + i].limit;
		bool is_low = limit == CELL_LOW;
		char why[128];

		if (limit == CELL_WITHIN)
			continue;
		beyond |= 1ull << i;
		snprintf(why, sizeof(why), "%s %s %s", m->name, is_low ? "below" : "above",
			 is_low ? m->warn_below.text : m->warn_above.text);
		if (!(r->beyond >> i & 1))
			session_trigger(r->session, why);
	}
	r->beyond = beyond;
}

static void on_look(const struct session_iteration *it, void *arg)
{
	struct recorder *r = arg;

	api_table_fill(r->table, r->session, it);
	write_counters(r);
	if (r->serves_looks)
		metrics_add(&r->metrics, r->table);
	notify_send(&r->notify, "WATCHDOG=1");
	if (r->plan->spec->flight.span_ns)
		check_limits(r);
	if (dashboard_feed_is_on(&r->feed))
		dashboard_feed_iteration(&r->feed, r->table);
}

static int on_start(void *arg, struct err *e)
{
	struct recorder *r = arg;
	int rc;

	if (r->options->rank)
		rank_begin(r->options->rank);
	rc = pushing_start(&r->pushing, session_manifest(r->session), e)
		 ?: dashboard_feed_begin(&r->feed, e);
	if (rc == 0 && (r->command || r->attached))
		rc = recorder_on_start(r, e);
	if (rc == 0)
		notify_send(&r->notify, "READY=1");
	if (rc == 0 && r->options->reload)
		r->options->reload->has_begun = true;
	return rc;
}

bool recorder_must_log(struct recorder *r, const char *text)
{
	status_erase(&r->status);
	if (dashboard_feed_is_on(&r->feed))
		dashboard_feed_note(&r->feed, text);
	return !dashboard_feed_is_on(&r->feed);
}

static void on_note(const char *text, bool is_essential, void *arg)
{
	struct recorder *r = arg;

	if (!r->is_answered && /* else the trace has it, and the answer */
	    recorder_must_log(r, text))
		log_line(is_essential ? LOG_ESSENTIAL : LOG_WARNING, __FILE_NAME__, __LINE__, "%s",
			 text);
}

static void on_late_note(const char *text, void *arg)
{
	if (recorder_must_log(arg, text))
		log_warning("%s", text);
}

static void on_control_message(const char *text, bool is_answer, void *arg)
{
	char line[2 * CONTROL_LINE_BYTES];

	if (!recorder_must_log(arg, text))
		return;
	if (!is_answer)
		log_warning("%s", text);
	else if (log_is_json())
		log_line(LOG_ESSENTIAL, __FILE_NAME__, __LINE__, "%s", text);
	else
		log_text(line, (size_t)snprintf(line, sizeof(line), "%.512s\n", text));
}

static void on_progress(const struct session_progress *p, void *arg)
{
	struct recorder *r = arg;

	check_room(r);
	status_show(&r->status, p);
}

static void log_start(const struct spec *spec, bool until_end)
{
	BUF_AUTO(length, PATH_MAX);
	char path[PATH_MAX], duration[32];

	log_info("session starting");
	log_info("spec: %s", realpath(spec->source, path) ? path : spec->source);
	if (spec->flight.span_ns) {
		str_format_duration(spec->flight.span_ns, duration, sizeof(duration));
		log_info("flight recorder of %s: kill -USR2 %d writes what it holds", duration,
			 (int)getpid());
		return;
	}
	add_length(&length, spec, until_end);
	log_info("%s", buf_str(&length));
}

static int print_summary(struct recorder *r)
{
	int rc = output_flush(&r->output); /* makes room in the queue */

	if (rc)
		return rc;
	add_start(r);
	r->format->summary(r->screen, r->table, r->summary, &r->out);
	rc = buf_error(&r->out);
	if (rc == 0 && recorder_shows_functions(r))
		recorder_print_functions(r, buf_str(&r->out));
	return rc ? rc : output_summary(&r->output, buf_str(&r->out), r->out.len);
}

/* An iteration whose files failed is measured, but not done. */
static void log_not_printed(const struct recorder *r)
{
	uint64_t nr = r->summary->nr_iterations, missing = nr - output_nr_tables(&r->output);
	uint64_t nr_done = session_nr_done(r->session);

	if (missing && !r->was_live && !r->is_answered)
		log_warning("%llu of %llu iterations were not printed%s",
			    (unsigned long long)missing, (unsigned long long)nr,
			    nr == nr_done ? r->hint : "");
	if (r->print_error == -ETIMEDOUT)
		log_error("%s is not being read: the rest of the output, with the summary, is "
			  "dropped",
			  results_name(r));
	else if (r->print_error)
		log_error("%s: %s; the session ended after %llu iteration(s)", results_name(r),
			  strerror(-r->print_error), (unsigned long long)nr_done);
}

/* Names the session for cpuperf_print where it would print another one. */
static void log_end(const struct recorder *r)
{
	const char *manifest = session_manifest(r->session);
	const char *place = r->saved_in                      ? r->saved_in
			    : r->options->held || !*manifest ? NULL
							     : manifest;
	bool is_named = !r->saved_in && !r->is_last;
	/* the answer has them; the table of counts has not */
	bool has_regions = r->plan->spec->regions.is_wanted && !r->is_answered;

	if (!place)
		log_info("session ended%s", r->options->top ? "; --output=NAME saves one" : "");
	else if (!is_named && !has_regions)
		log_info("session ended; saved in %s", place);
	else
		log_info("session ended; saved in %s: cpuperf_print%s%s%s", place,
			 is_named ? " " : "", is_named ? place : "",
			 has_regions ? " --report=regions" : "");
}

static int finish(struct recorder *r, int rc, const struct err *e)
{
	uint64_t nr_wanted = r->plan->spec->num_iterations;
	bool is_any = r->begun || r->has_gap;

	status_erase(&r->status);
	if (!r->options->reload || !r->options->reload->is_followed)
		notify_send(&r->notify, "STOPPING=1");
	if (r->is_answered && rc == 0)
		recorder_answer(r);
	if (is_any && !r->print_error)
		r->print_error = print_summary(r);
	recorder_warn_never_counted(r);
	if (is_any && !r->format->is_for_people)
		screen_warn_metrics(r->table, r->summary, log_warning_of, NULL);
	if (session_nr_done(r->session) < nr_wanted && !rc && !r->attached)
		log_info("stopped after %llu of %llu iteration(s)",
			 (unsigned long long)session_nr_done(r->session),
			 (unsigned long long)nr_wanted);
	if (rc)
		log_err(LOG_ERROR, e);
	log_not_printed(r);
	if (signals_are_out_of_time())
		log_error("the limit of CPU time (ulimit -t) has ended the session");
	if (rc || r->print_error || signals_are_out_of_time()) {
		log_info("session failed");
		return EXIT_FAILED;
	}
	log_end(r);
	return EXIT_DONE;
}

/* So that cpuperf_print finds it from any folder: there it prefers this user's cpuperf.session. */
static void remember(struct recorder *r)
{
	const char *manifest = session_manifest(r->session);
	const char *moved_to = session_moved(r->session, &r->why_moved);
	char path[PATH_MAX];
	struct stat st;
	int rc = -ENOENT;

	if (moved_to)
		r->folder = r->saved_in = moved_to;
	else
		r->why_moved = NULL;
	if (!session_nr_done(r->session) || r->options->held || r->options->is_silent || !*manifest)
		return;
	if (realpath(manifest, path))
		rc = last_write(path);
	if (rc)
		log_verbose(1, "cannot be stored as the last session: %s", strerror(-rc));
	r->is_last = rc == 0 && (stat(CPSESSION_FOLDER, &st) || st.st_uid != geteuid());
}

static int run_session(struct recorder *r, const struct options *o)
{
	size_t nr_partly = recorder_warn_events(r, o->strict);
	struct err e = {0};
	int rc;

	if (!recorder_is_measurable(r) || (o->strict && session_nr_working(r->session) == 0)) {
		log_error("none of the %zu event(s) can be measured here", r->plan->nr_events);
		return EXIT_FAILED;
	}
	if (o->strict && nr_partly) {
		log_error("--strict: %zu of %zu event(s) cannot be measured on every CPU",
			  nr_partly, r->plan->nr_events);
		return EXIT_FAILED;
	}
	if (r->command && (r->run_error = rc = target_command_check(r->command, &e)))
		return fail(recorder_exec_status(rc), &e);
	if (!r->is_answered) {
		log_start(r->plan->spec, r->plan->target.until_end);
		recorder_log_groups(r);
	}
	if (dashboard_feed_is_wanted(o, r->plan))
		output_settle(&r->output); /* else log lines could reach the dashboard's screen */
	if (dashboard_feed_start(&r->feed, o, r->session, r->table, r->look_ns, &e))
		return fail(EXIT_FAILED, &e);
	r->was_live = dashboard_feed_is_on(&r->feed);
	signals_catch(r->session, r->command,
		      (r->attached || r->plan->spec->flight.span_ns) && r->plan->target.until_end,
		      o->reload);
	rc = o->part ? as_part_wait(o->part, &e) : 0;
	r->run_error = rc = rc ?: session_run(r->session, &e);
	heap_detach(&r->heap);
	if (!r->command || !target_command_has_ended(r->command))
		session_leave(r->session);
	remember(r);
	if (!dashboard_feed_stop(&r->feed))
		r->print_error = -ETIMEDOUT;
	rc = r->command ? recorder_finish_command(r, rc, &e) : finish(r, rc, &e);
	pushing_finish(&r->pushing);
	signals_release();
	return rc;
}

/* Allocates what printing needs, and runs the session. */
static int run_printed(struct recorder *r, const struct options *o)
{
	struct screen_options screen = {.width = opt_std_terminal_width(),
					.has_color = opt_std_has_color() && !o->output_file,
					.each_cpu = o->std.min_level < LOG_INFO,
					.nr_things = NR_THINGS};
	struct err e = {0};
	int status = EXIT_FAILED;

	if (api_table_new(r->session, &r->table, &e))
		return fail(EXIT_FAILED, &e);
	r->screen = screen_state_new(r->table->nr_columns, &screen);
	r->summary = table_summary_new(r->table->nr_columns);
	buf_init(&r->out, MAX_TABLE_BYTES);
	if (metrics_begin(&r->metrics, r->session, r->table,
			  o->metrics_things ? o->metrics_things : OPTIONS_METRICS_THINGS, &e))
		log_err(LOG_ERROR, &e);
	else if (r->screen && r->summary)
		status = run_session(r, o);
	else
		log_error("out of memory");
	buf_fini(&r->out);
	table_summary_free(r->summary);
	table_free(r->table);
	screen_state_free(r->screen);
	return status;
}

/* What cpuperf_print is given to find the session; NULL: nothing. */
static const char *folder_of(const struct options *o, const struct spec *spec)
{
	if (o->output)
		return o->is_output_named ? o->output : NULL;
	return spec->session_result_spec_path;
}

/*
 * Opens the session. Threads that were created while the events of running processes were opened
 * may be missing: tries again, and warns if there are always some.
 */
static int open_session(struct recorder *r, const struct session_config *config, struct err *e)
{
	enum { NR_TRIES = 5 };

	recorder_log_costs(r->plan);
	for (unsigned i = 1;; i++) {
		int rc = r->attached ? attached_list(r->attached, r->plan, e) : 0;
		struct err ignored = {0};
		size_t nr_new;

		if (rc)
			return rc;
		rc = r->open_error = session_open(config, &r->session, e);
		if (rc)
			return rc;
		recorder_add_processes(r);
		nr_new = r->attached ? attached_nr_new(r->attached) : 0;
		rc = r->attached ? attached_check_own(r->attached, i < NR_TRIES ? &ignored : e) : 0;
		if (!nr_new && !rc)
			return 0;
		if (i == NR_TRIES && !rc) {
			log_warning("%zu threads were created while the events were opened: they "
				    "may be missing",
				    nr_new);
			return 0;
		}
		session_close(r->session);
		r->session = NULL;
		if (i == NR_TRIES)
			return rc;
	}
}

/* An error replaces status. */
static int close_results(const struct recorder *r, int status)
{
	bool is_whole = r->is_answered ? r->is_answer_whole : status == EXIT_DONE;
	const char *path = r->options->output_file;
	struct err e = {0};

	if (!path)
		return status;
	if (output_file_close(r->results_fd, path, is_whole, &e))
		return fail(EXIT_FAILED, &e);
	return r->is_answer_lost ? EXIT_FAILED : status;
}

static int on_ready(void *arg)
{
	struct recorder *r = arg;
	struct err why = {0};

	recorder_read_failures(r);
	if (r->dump_file.fd >= 0 && dump_file_read(&r->dump_file, &why))
		session_request(r->session, CAUSE_REQUEST, true);
	if (why.code)
		log_warning("%s: %s", why.source, why.msg);
	if (r->control.fd >= 0 && control_read(&r->control, r->session)) {
		(void)epoll_ctl(r->ready_fd, EPOLL_CTL_DEL, r->control.fd, NULL);
		io_close(&r->control.fd); /* others may have it open */
	}
	return 0;
}

static int watch(int epoll_fd, int fd)
{
	struct epoll_event readable = {.events = EPOLLIN};

	return fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &readable) ? -errno : 0;
}

/* What wakes the session while it measures. */
static int open_ready(struct recorder *r, struct err *e)
{
	int failures = r->failures ? target_failures_fd(r->failures) : -1;

	if (r->control.fd < 0 && failures < 0 && r->dump_file.fd < 0)
		return 0;
	r->ready_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->ready_fd < 0 || watch(r->ready_fd, r->control.fd) ||
	    watch(r->ready_fd, r->dump_file.fd) || watch(r->ready_fd, failures))
		return err_set(e, -errno, "nothing can wake the session: %s", strerror(errno));
	return 0;
}

static void close_tracefs(struct plan *plan)
{
	uint64_t nr = plan->tracefs ? tracefs_nr_dropped(plan->tracefs) : 0;

	if (nr)
		log_warning("%" PRIu64 " lines were not written to the trace: more than its limit "
			    "a second, or it was full",
			    nr);
	tracefs_close(plan->tracefs);
	plan->tracefs = NULL;
}

int record(struct plan *plan, const struct options *o, struct attached *attached)
{
	bool is_json = strcmp(o->output_format, OPTIONS_FORMAT_JSON) == 0;
	bool has_target = o->command || attached,
	     is_whole = is_json || strcmp(o->output_format, "text") == 0;
	bool is_answerable = !o->top && ((attached && plan->spec->num_iterations == 1) ||
					 (o->held && *o->held->path && plan->is_sampling));
	struct recorder r = {
	    .plan = plan,
	    .options = o,
	    .results_fd = STDOUT_FILENO,
	    .ready_fd = -1,
	    .command = o->command,
	    .attached = attached,
	    .is_answered = o->command || (is_answerable && is_whole),
	    .saved_in = o->held ? NULL : o->output,
	    .folder = folder_of(o, plan->spec),
	    .format = screen_format_find(is_json ? "ndjson" : o->output_format),
	    .hint = *plan->spec->output_path_prefix && !o->held ? "; the traces contain them" : ""};
	struct session_config config = {.plan = plan,
					.on_start = on_start,
					.on_next = recorder_on_next,
					.on_target = has_target ? recorder_on_target : NULL,
					.on_memory = recorder_on_memory,
					.tool = "cpuperf " CPUPERF_VERSION,
					.folder = o->output,
					.keeps_old_folder = !o->is_output_named ||
							    (o->reload && !o->reload->is_first),
					.on_iteration = on_iteration,
					.on_look = on_look,
					.on_note = on_note,
					.on_late_note = on_late_note,
					.on_progress = on_progress,
					.own_cpu_ns = own_cpu_ns,
					.is_strict = o->strict,
					.arg = &r};
	BUF_AUTO(ways, MAX_WAYS_BYTES);
	struct err e = {0};
	int status;

	if (is_json && !r.is_answered) {
		err_set(&e, -EINVAL,
			"--output-format=json prints an answer, which this session has not");
		err_hint(&e, "use it with a command, or with --pid or --comm for one iteration; or "
			     "--output-format=ndjson; cpuperf_print prints each session as json");
		return fail(EXIT_USAGE, &e);
	}
	if (dashboard_feed_check(o, plan, &e) || pushing_open(&r.pushing, o, plan, &e) ||
	    metrics_open(&r.metrics, o->metrics_listen, o->reload ? &o->reload->serve : NULL,
			 &r.pushing, &e))
		/* an incomplete or mixed installation is no wrong usage */
		return fail(e.code == -ENOENT || e.code == -EPROTO ? EXIT_FAILED : EXIT_USAGE, &e);
	if (plan->target.has_runs && recorder_on_next(&r, &e))
		return fail(EXIT_FAILED, &e);
	if (r.command) {
		r.pid = target_command_pid(r.command);
		plan->target.ids = &r.pid;
		plan->target.nr_ids = 1;
		plan->target.has_all_threads = true;
	}
	if (o->output_file)
		r.results_fd = output_file_open(o->output_file, &plan->spec->source, 1, &e);
	else if (o->is_silent)
		r.results_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (r.results_fd < 0)
		return fail(EXIT_FAILED, &e);
	if (control_open(o->control, &r.control, &e))
		return fail(EXIT_USAGE, &e);
	if (plan->target.has_runs && *plan->spec->dump_file) {
		err_set(&e, -EINVAL, "dump_file and runs are mutually exclusive");
		err_hint(&e, "each run is an iteration, which lasts until it has ended");
		return fail(EXIT_USAGE, &e);
	}
	if (dump_file_open(plan->spec->dump_file, &r.dump_file, &e))
		return fail(EXIT_USAGE, &e);
	r.control.on_message = on_control_message;
	r.control.arg = &r;
	r.control.is_until_end = plan->target.until_end && !plan->target.has_runs;
	recorder_follow_failures(&r);
	if (open_ready(&r, &e))
		return fail(EXIT_FAILED, &e);
	config.on_control = r.ready_fd >= 0 ? on_ready : NULL;
	config.control_fd = r.ready_fd;
	if (output_open(&r.output, r.results_fd, is_impatient, &r, &e))
		return fail(EXIT_FAILED, &e);
	config.wants_regions = !o->top && dashboard_feed_is_wanted(o, plan);
	config.look_ns = r.look_ns = dashboard_feed_look_ns(o, plan, r.is_answered);
	if (plan->spec->flight.span_ns && has_limits(plan->spec))
		config.look_ns = NS_PER_S;
	if (o->has_trace_marker && !config.look_ns)
		config.look_ns = NS_PER_S;
	r.serves_looks = o->metrics_listen && r.is_answered && !plan->target.has_runs &&
			 (plan->target.until_end || plan->spec->num_iterations == 1);
	if (r.serves_looks && !config.look_ns)
		config.look_ns = NS_PER_S;
	notify_open(&r.notify);
	if (r.notify.watchdog_ns && (!config.look_ns || config.look_ns > r.notify.watchdog_ns / 3))
		config.look_ns = r.notify.watchdog_ns / 3;
	status_init(&r.status, &r.output,
		    plan->is_sampling && !r.command && !o->live && !o->top &&
			o->std.min_level <= LOG_INFO);
	if ((o->has_trace_marker &&
	     tracefs_open(&root_live, o->is_trace_global, &plan->tracefs, &e)) ||
	    open_session(&r, &config, &e)) {
		status = fail(EXIT_FAILED, &e);
	} else {
		if (attached && !r.is_answered)
			attached_warn_refused(attached);
		status = run_printed(&r, o);
	}
	target_memory_free(r.memory);
	memory_map_free(r.map);
	if (r.is_full)
		log_warning("measuring ended early: half of the memory in which the session was "
			    "held is used; save it in a folder: --output=NAME");
	if (!r.run_error && (r.session || r.open_error))
		recorder_add_ways(&r, r.open_error, &ways);
	rights_print(&ways);
	output_close(&r.output);
	metrics_close(&r.metrics);
	notify_close(&r.notify);
	status = close_results(&r, status);
	session_close(r.session);
	close_tracefs(plan);
	io_close(&r.ready_fd);
	target_failures_free(r.failures);
	dump_file_close(&r.dump_file);
	control_close(&r.control);
	return status;
}
