/*
 * Measuring: opens a session, warns of events that do not work, prints each iteration.
 */
#include "api/table.h"
#include "attached.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "dashboard/terminal.h"
#include "dashboard_feed.h"
#include "estimate/table.h"
#include "host/host.h"
#include "output.h"
#include "program.h"
#include "rights.h"
#include "screen/format.h"
#include "session/session.h"
#include "spec/last.h"
#include "status.h"
#include "target/command.h"
#include "target/memory.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NR_THINGS = 10 }; /* printed of each kind in each iteration; cpuperf_print prints all */
enum { MAX_TABLE_BYTES = 64 << 20, MAX_NAMES_BYTES = 65536 };

struct recorder {
	struct plan *plan;
	struct session *session;
	const struct screen_format *format;
	struct screen_state *screen;
	struct table *table;
	struct table_summary *summary;
	struct buf out;
	struct output output;
	struct status status;
	struct dashboard_feed feed;
	struct target_command *command; /* borrowed; NULL: none is measured */
	pid_t pid;                      /* of the command */
	struct attached *attached;      /* borrowed; NULL: what is measured did not run before */
	struct target_memory *memory;   /* owned; of the target while it runs; or NULL */
	bool is_answered;      /* the answer of cpuperf_print replaces tables and warnings */
	struct target_end end; /* of the last run */
	int wait_status;      /* of the first run that failed, as waitpid returns it; 0: none did */
	const char *saved_in; /* the folder of the session; NULL: the spec's paths are used */
	const char *folder;   /* of its session, if that is not the default one; else NULL */
	bool goes_on;         /* the measuring ended before it */
	int exec_error;       /* 0 or -errno of starting it */
	bool begun;
	bool was_live;    /* with a dashboard, results are printed only at the end */
	const char *hint; /* where to find iterations that were not printed; or "" */
	bool has_gap, has_logged_gap;
	struct screen_gap gap; /* iterations that were not printed, since the last one that was */
	int print_error;       /* 0, or -errno of writing to stdout */
};

static struct session *running;          /* used by the signal handler */
static struct target_command *commanded; /* the same; NULL: no command is measured */
static volatile sig_atomic_t is_interrupted;
static volatile sig_atomic_t stopping; /* the signal after which no further run starts; 0: none */
static bool lasts_until_stopped;       /* then a signal does not cut the iteration short */
static volatile sig_atomic_t is_out_of_time; /* SIGXCPU was received */
static const int caught[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGXCPU};

/* A closing terminal makes both the kernel and the shell send SIGHUP, and SIGXCPU comes every
 * second: a repeated one is no request to quit. The parent may want both ignored (nohup). */
static bool is_automatic(int number)
{
	return number == SIGHUP || number == SIGXCPU;
}

/* The terminal sends its signals to the command too. */
static bool is_forwarded(int number)
{
	return number == SIGTERM || number == SIGHUP;
}

/* The first signal ends the session; a second of the same kind kills, unless it is automatic. */
static void on_signal(int number)
{
	static volatile sig_atomic_t last;
	int saved = errno;

	if (commanded) {
		if (is_forwarded(number))
			target_command_signal(commanded, number);
		errno = saved;
		stopping = number;
		target_command_leave_children(commanded);
		if (number != SIGXCPU)
			return;
	}
	if (number == last && !is_automatic(number)) {
		terminal_restore();
		signal(number, SIG_DFL);
		raise(number); /* takes effect when this handler returns */
	}
	last = number;
	is_interrupted = 1;
	is_out_of_time |= number == SIGXCPU;
	if (lasts_until_stopped)
		session_finish(running);
	else
		session_stop(running);
	errno = saved;
}

/* Automatic signals that are ignored stay ignored. SIGINT and SIGQUIT do not: a script's background
 * job starts with both ignored. */
static void catch_signals(struct session *s)
{
	struct sigaction action = {.sa_handler = on_signal}, old;
	struct rlimit limit;

	running = s;
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		if (sigaction(caught[i], &action, &old) == 0 && is_automatic(caught[i]) &&
		    old.sa_handler == SIG_IGN)
			sigaction(caught[i], &old, NULL);

	/* At the hard limit, which ulimit -t sets too, the kernel kills without a SIGXCPU: reserve
	 * a second to end the session. */
	if (getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_cur == limit.rlim_max &&
	    limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur > 1) {
		limit.rlim_cur--;
		(void)setrlimit(RLIMIT_CPU, &limit);
	}
}

/* Before the session is closed: a late signal must not use it. */
static void release_signals(void)
{
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		signal(caught[i], SIG_DFL);
	running = NULL;
	commanded = NULL;
}

static void log_groups(const struct recorder *r)
{
	uint64_t groups = 0; /* a bit per group; there are at most 32 perf events */
	unsigned nr_events = 0;

	for (size_t i = 0; i < r->plan->nr_events; i++) {
		uint32_t group = session_event(r->session, i)->perf_group;

		if (r->plan->events[i].set != PLAN_HARDWARE || group >= 64)
			continue;
		groups |= 1ull << group;
		nr_events++;
	}
	if (groups & (groups - 1))
		log_info("%u hardware events do not fit at once: they are multiplexed, in %d "
			 "groups",
			 nr_events, __builtin_popcountll(groups));
}

static bool same_trouble(const struct session_event *a, const struct session_event *b)
{
	return a->nr_cpus == b->nr_cpus && strcmp(a->support.reason, b->support.reason) == 0;
}

/* Appends group:name, and the label of the column if it differs. */
static void add_name(const struct plan_event *p, struct buf *out)
{
	buf_printf(out, "%s%s:%s", out->len ? ", " : "", p->event.group->name, p->event.row->name);
	if (strcmp(p->label, p->event.row->name) != 0)
		buf_printf(out, " (column %s)", p->label);
}

/* One warning for all events with the same problem as event i, logged at the first of them. The
 * names come last, because the message may be truncated. */
static void warn_event(const struct recorder *r, size_t i)
{
	const struct session_event *ev = session_event(r->session, i);
	struct err e = {0};
	struct buf names;

	for (size_t j = 0; j < i; j++)
		if (same_trouble(session_event(r->session, j), ev))
			return;
	buf_init(&names, MAX_NAMES_BYTES);
	for (size_t j = i; j < r->plan->nr_events; j++)
		if (same_trouble(session_event(r->session, j), ev))
			add_name(&r->plan->events[j], &names);
	if (ev->nr_cpus)
		err_set(&e, -ENOENT, "on %u of %u CPUs only (on the others %s): %s", ev->nr_cpus,
			ev->nr_wanted, ev->support.reason, buf_str(&names));
	else
		err_set(&e, -ENOENT, "%s: %s: %s", reading_state_name(ev->support.state),
			ev->support.reason, buf_str(&names));
	if (ev->support.hint[0])
		err_hint(&e, "%s", ev->support.hint);
	log_err(LOG_WARNING, &e);
	buf_fini(&names);
}

/* If the user may not open the events of his command, wait4 still counts faults and switches. */
static bool is_measurable(const struct recorder *r)
{
	bool is_refused = false;

	for (size_t i = 0; i < r->plan->nr_events; i++)
		is_refused |= session_event(r->session, i)->support.state == READING_NO_PERMISSION;
	return session_nr_working(r->session) || (r->command && is_refused);
}

/* Warns of events that do not work on every CPU; returns their number. The answer lists them, if
 * there is one. */
static size_t warn_events(const struct recorder *r, bool is_strict)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->plan->nr_events; i++) {
		const struct session_event *ev = session_event(r->session, i);

		if (ev->nr_cpus && ev->nr_cpus == ev->nr_wanted)
			continue;
		if (!r->is_answered || is_strict || !is_measurable(r))
			warn_event(r, i);
		nr++;
	}
	return nr;
}

/* After a dashboard, standard output may be a terminal that is held (^S): do not wait for it. */
static bool is_impatient(void *arg)
{
	const struct recorder *r = arg;

	return is_interrupted || r->was_live;
}

/* What precedes the next table or the summary. */
static void add_start(struct recorder *r)
{
	if (!r->begun)
		r->format->begin(r->screen, r->table, &r->out);
	if (r->has_gap)
		r->format->gap(r->screen, r->table, &r->gap, &r->out);
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
		log_warning("standard output is not read fast enough: from iteration %u on, some "
			    "are not printed%s",
			    r->gap.first, r->hint);
	r->has_logged_gap = true;
}

static void log_warning_of(void *arg, const struct err *warning)
{
	(void)arg;
	log_err(LOG_WARNING, warning);
}

/* Ends the session when nobody can read the results; the files of this iteration are complete. */
static int on_iteration(const struct session_iteration *it, void *arg)
{
	struct recorder *r = arg;
	int rc;

	status_erase(&r->status);
	api_table_fill(r->table, r->session, it);
	table_summary_add(r->summary, r->table);
	if (r->is_answered)
		return r->plan->target.has_runs && (stopping || WIFSIGNALED(r->end.status));
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

static void on_note(const char *text, bool is_essential, void *arg)
{
	struct recorder *r = arg;

	if (r->is_answered) /* the trace has it, and the answer */
		return;
	status_erase(&r->status);
	if (dashboard_feed_is_on(&r->feed))
		dashboard_feed_note(&r->feed, text);
	else
		log_line(is_essential ? LOG_ESSENTIAL : LOG_WARNING, __FILE__, __LINE__, "%s",
			 text);
}

static void on_end(void *arg)
{
	session_finish(arg);
}

/* Without it, the peak of all processes is unknown. */
static void start_memory(struct recorder *r)
{
	struct target_memory_config config = {.root = &root_live,
					      .pids = &r->pid,
					      .nr_pids = 1,
					      .has_children = r->plan->spec->target.has_children,
					      .cgroup = -1,
					      .period_ns = plan_pace_ns(r->plan),
					      .page_bytes = r->plan->host->page_bytes};
	int rc;

	if (r->attached)
		attached_set_memory(r->attached, &config);
	rc = target_memory_new(&config, &r->memory) ?: target_memory_start(r->memory);
	if (rc)
		log_verbose(1, "memory of all processes is not read: %s", strerror(-rc));
}

static void take_memory(struct recorder *r, struct trace_target *out)
{
	struct target_peak peak;

	if (!r->memory)
		return;
	target_memory_take(r->memory, &peak);
	out->tree_peak_bytes = peak.bytes;
	out->tree_peak_processes = peak.nr_processes;
	out->flags |= (peak.is_of_cgroup ? TRACE_TARGET_PEAK_OF_CGROUP : 0) |
		      (peak.is_exact ? TRACE_TARGET_PEAK_IS_EXACT : 0);
	if (!r->command || !target_command_has_ended(r->command))
		return;
	target_memory_free(r->memory);
	r->memory = NULL;
}

static int on_start(void *arg, struct err *e)
{
	struct recorder *r = arg;

	if (r->attached) {
		start_memory(r);
		return attached_start(r->attached, on_end, r->session, e);
	}
	r->exec_error = target_command_start(r->command, on_end, r->session, e);
	if (!r->exec_error)
		start_memory(r);
	if (is_forwarded(stopping)) /* it came before the command was there */
		target_command_signal(r->command, stopping);
	return r->exec_error;
}

/* The process of a run. 1: there is no further one. */
static int make_run(void *arg, struct err *e)
{
	struct recorder *r = arg;
	int rc = stopping ? 1 : target_command_next(r->command, e);

	if (rc == 0)
		r->pid = target_command_pid(r->command);
	return rc;
}

static uint64_t to_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

static void on_target(void *arg, struct trace_target *out)
{
	struct recorder *r = arg;
	const struct rusage *u = &r->end.usage;

	if (r->attached) {
		attached_describe(r->attached, out);
		take_memory(r, out);
		return;
	}
	r->goes_on = !target_command_has_ended(r->command);
	*out = (struct trace_target){.flags = TRACE_TARGET_IS_COMMAND,
				     .pid = (uint32_t)target_command_pid(r->command)};
	target_command_text(r->command, out->text, sizeof(out->text));
	take_memory(r, out);
	if (!target_command_has_ended(r->command))
		return;
	target_command_wait(r->command, &r->end);
	r->wait_status = r->wait_status ? r->wait_status : r->end.status;
	out->flags |= TRACE_TARGET_HAS_ENDED;
	out->status = (uint32_t)r->end.status;
	out->start_ns = r->end.start_ns;
	out->end_ns = r->end.end_ns;
	out->user_ns = to_ns(&u->ru_utime);
	out->system_ns = to_ns(&u->ru_stime);
	out->peak_bytes = (uint64_t)u->ru_maxrss << 10;
	out->minor_faults = (uint64_t)u->ru_minflt;
	out->major_faults = (uint64_t)u->ru_majflt;
	out->read_blocks = (uint64_t)u->ru_inblock;
	out->written_blocks = (uint64_t)u->ru_oublock;
	out->voluntary_switches = (uint64_t)u->ru_nvcsw;
	out->involuntary_switches = (uint64_t)u->ru_nivcsw;
}

static void on_progress(const struct session_progress *p, void *arg)
{
	struct recorder *r = arg;

	status_show(&r->status, p);
}

static void log_start(const struct spec *spec)
{
	char path[PATH_MAX], duration[32];

	str_format_duration(spec->duration_ns, duration, sizeof(duration));
	log_info("session starting");
	log_info("spec: %s", realpath(spec->source, path) ? path : spec->source);
	log_info("%llu iteration(s) of %s", (unsigned long long)spec->num_iterations, duration);
}

/* What may have held the counters. */
static const char *why_never_counted(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nr_events; i++)
		if (plan->events[i].asked->flags & SPEC_PINNED)
			return "pinned events hold their counters all the time: pin fewer events, "
			       "or measure longer iterations";
	return plan->host->nmi_watchdog
		   ? "iterations shorter than the kernel's rotation, or another user of the PMU; "
		     "the NMI watchdog holds a counter of each CPU: sysctl kernel.nmi_watchdog=0"
		   : "iterations shorter than the kernel's rotation, or another user of the PMU";
}

/* Warns of events that were open, but never on the PMU in the whole session. */
static void warn_never_counted(const struct recorder *r)
{
	struct err e = {0};
	struct buf names;

	buf_init(&names, MAX_NAMES_BYTES);
	for (size_t i = 0; i < r->plan->nr_events; i++) {
		const uint64_t *nr_cells = r->summary->column[i].nr_cells;

		if (nr_cells[CELL_NOT_COUNTED] && !nr_cells[CELL_OK] && !nr_cells[CELL_OFFLINE] &&
		    r->plan->events[i].set != PLAN_NO_SET)
			add_name(&r->plan->events[i], &names);
	}
	if (names.len) {
		err_set(&e, -ENODATA, "not counted: open, but never ran: %s", buf_str(&names));
		err_hint(&e, "%s", why_never_counted(r->plan));
		log_err(LOG_WARNING, &e);
	}
	buf_fini(&names);
}

static int print_summary(struct recorder *r)
{
	int rc = output_flush(&r->output); /* makes room in the queue */

	if (rc)
		return rc;
	add_start(r);
	r->format->summary(r->screen, r->table, r->summary, &r->out);
	rc = buf_error(&r->out);
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
		log_error("standard output is not being read: the rest of the output, with the "
			  "summary, is dropped");
	else if (r->print_error)
		log_error("standard output: %s; the session ended after %llu iteration(s)",
			  strerror(-r->print_error), (unsigned long long)nr_done);
}

static int finish(struct recorder *r, int rc, const struct err *e)
{
	bool is_any = r->begun || r->has_gap;

	status_erase(&r->status);
	if (r->is_answered && rc == 0 && *r->plan->spec->session_result_spec_path)
		print_answer(r->plan->spec->session_result_spec_path, r->folder,
			     r->plan->is_sampling);
	if (is_any && !r->print_error)
		r->print_error = print_summary(r);
	warn_never_counted(r);
	if (is_any && !r->format->is_for_people)
		screen_warn_metrics(r->table, r->summary, log_warning_of, NULL);
	if (session_nr_done(r->session) < r->plan->spec->num_iterations && !rc && !r->attached)
		log_info("stopped after %llu of %llu iteration(s)",
			 (unsigned long long)session_nr_done(r->session),
			 (unsigned long long)r->plan->spec->num_iterations);
	if (rc)
		log_err(LOG_ERROR, e);
	log_not_printed(r);
	if (is_out_of_time)
		log_error("the limit of CPU time (ulimit -t) has ended the session");
	if (rc || r->print_error || is_out_of_time) {
		log_info("session failed");
		return EXIT_FAILED;
	}
	log_info("session ended%s%s", r->saved_in ? "; saved in " : "",
		 r->saved_in ? r->saved_in : "");
	return EXIT_DONE;
}

/* The exit status if the command cannot be executed. */
static int exec_status(int rc)
{
	return EXIT_COMMAND + (rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* How a command ended that was measured only in part. */
static void print_later_end(const struct target_end *end)
{
	uint64_t ms = (end->end_ns - end->start_ns) / 1000000;
	bool is_killed = WIFSIGNALED(end->status);

	dprintf(STDERR_FILENO, "The command went on unmeasured: %s %d after %llu.%03llu s\n",
		is_killed ? "killed by signal" : "exit status",
		is_killed ? WTERMSIG(end->status) : WEXITSTATUS(end->status),
		(unsigned long long)ms / 1000, (unsigned long long)ms % 1000);
}

/* Waits for the command; its exit status. */
static int finish_command(struct recorder *r, int rc, struct err *e)
{
	int status;

	if (!target_command_is_started(r->command)) {
		log_err(LOG_ERROR, e);
		return r->exec_error ? exec_status(r->exec_error) : EXIT_FAILED;
	}
	target_command_wait(r->command, &r->end);
	if (rc == 0 && *r->plan->spec->session_result_spec_path)
		print_answer(r->plan->spec->session_result_spec_path, r->folder,
			     r->plan->is_sampling);
	if (rc == 0 && r->goes_on)
		print_later_end(&r->end);
	warn_never_counted(r);
	if (rc) {
		log_err(LOG_ERROR, e);
		return EXIT_FAILED;
	}
	status = r->wait_status ? r->wait_status : r->end.status;
	return EXIT_COMMAND +
	       (WIFSIGNALED(status) ? EXIT_SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status));
}

static int run_session(struct recorder *r, const struct options *o)
{
	size_t nr_partly = warn_events(r, o->strict);
	struct err e = {0};
	int rc;

	if (!is_measurable(r) || (o->strict && session_nr_working(r->session) == 0)) {
		log_error("none of the %zu event(s) can be measured here", r->plan->nr_events);
		return EXIT_FAILED;
	}
	if (o->strict && nr_partly) {
		log_error("--strict: %zu of %zu event(s) cannot be measured on every CPU",
			  nr_partly, r->plan->nr_events);
		return EXIT_FAILED;
	}
	if (r->command && (rc = target_command_check(r->command, &e)))
		return fail(exec_status(rc), &e);
	if (!r->is_answered) {
		log_start(r->plan->spec);
		log_groups(r);
	}
	if (dashboard_feed_is_wanted(o, r->plan))
		output_settle(&r->output); /* else log lines could reach the dashboard's screen */
	if (dashboard_feed_start(&r->feed, o, r->session, r->table, &e))
		return fail(EXIT_FAILED, &e);
	r->was_live = dashboard_feed_is_on(&r->feed);
	commanded = r->command;
	lasts_until_stopped = r->attached && r->plan->target.until_end;
	catch_signals(r->session);
	rc = session_run(r->session, &e);
	if (!dashboard_feed_stop(&r->feed))
		r->print_error = -ETIMEDOUT;
	rc = r->command ? finish_command(r, rc, &e) : finish(r, rc, &e);
	release_signals();
	return rc;
}

/* Allocates what printing needs, and runs the session. */
static int run_printed(struct recorder *r, const struct options *o)
{
	struct screen_options screen = {.width = opt_std_terminal_width(),
					.each_cpu = o->std.min_level < LOG_INFO,
					.nr_things = NR_THINGS};
	struct err e = {0};
	int status = EXIT_FAILED;

	if (api_table_new(r->session, &r->table, &e))
		return fail(EXIT_FAILED, &e);
	r->screen = screen_state_new(r->table->nr_columns, &screen);
	r->summary = table_summary_new(r->table->nr_columns);
	buf_init(&r->out, MAX_TABLE_BYTES);
	if (r->screen && r->summary)
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

	for (unsigned i = 1;; i++) {
		int rc = r->attached ? attached_list(r->attached, r->plan, e) : 0;
		struct err ignored = {0};
		size_t nr_new;

		rc = rc ? rc : session_open(config, &r->session, e);
		if (rc)
			return rc;
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

/* So that cpuperf_print finds it from any folder. */
static void remember(const char *manifest)
{
	char path[PATH_MAX];
	int rc = *manifest && realpath(manifest, path) ? last_write(path) : 0;

	if (rc)
		log_verbose(1, "cannot be stored as the last session: %s", strerror(-rc));
}

/* Lines to type, if this user may not measure what the plan asks for. error: of opening it, or 0.
 */
static void print_ways(const struct recorder *r, int error)
{
	const struct plan *plan = r->plan;
	bool is_denied = error == -EACCES, needs_kernel = plan->target.is_user_only;

	/* what runs for another user stays refused */
	if (r->attached && needs_kernel && !error && !session_nr_working(r->session))
		return;

	for (size_t i = 0; !error && i < plan->nr_events; i++) {
		const struct plan_event *p = &plan->events[i];
		bool is_refused =
		    event_is_perf(&p->event) &&
		    session_event(r->session, i)->support.state == READING_NO_PERMISSION;

		is_denied |= is_refused && !plan_is_of_tasks(plan, p);
		needs_kernel |= is_refused && plan_is_of_tasks(plan, p);
	}
	if (is_denied && !host_may_measure_cpus(plan->host))
		rights_print_ways(plan->host, "whole CPUs", 0);
	else if (needs_kernel && !host_may_measure_kernel(plan->host))
		rights_print_ways(plan->host,
				  plan->target.is_user_only ? "it in the kernel too" : "it", 1);
}

int record(struct plan *plan, const struct options *o, struct attached *attached)
{
	bool has_target = o->command || attached;
	struct recorder r = {
	    .plan = plan,
	    .command = o->command,
	    .attached = attached,
	    .is_answered = o->command || (attached && plan->spec->num_iterations == 1 &&
					  strcmp(o->output_format, "text") == 0 && !o->live),
	    .saved_in = o->output,
	    .folder = folder_of(o, plan->spec),
	    .format = screen_format_find(o->output_format),
	    .hint = *plan->spec->output_path_prefix ? "; the traces contain them" : ""};
	struct session_config config = {.plan = plan,
					.on_start = has_target ? on_start : NULL,
					.on_next = make_run,
					.on_target = has_target ? on_target : NULL,
					.tool = "cpuperf " CPUPERF_VERSION,
					.folder = o->output,
					.keeps_old_folder = !o->is_output_named,
					.on_iteration = on_iteration,
					.on_note = on_note,
					.on_progress = on_progress,
					.is_strict = o->strict,
					.arg = &r};
	struct err e = {0};
	int status;

	if (dashboard_feed_check(o, plan, &e))
		return fail(EXIT_USAGE, &e);
	if (plan->target.has_runs && make_run(&r, &e))
		return fail(EXIT_FAILED, &e);
	if (r.command) {
		r.pid = target_command_pid(r.command);
		plan->target.ids = &r.pid;
		plan->target.nr_ids = 1;
	}
	if (output_open(&r.output, is_impatient, &r, &e))
		return fail(EXIT_FAILED, &e);
	status_init(&r.status, &r.output,
		    plan->is_sampling && !r.command && o->std.min_level <= LOG_INFO);
	if (open_session(&r, &config, &e)) {
		status = fail(EXIT_FAILED, &e);
	} else {
		status = run_printed(&r, o);
		if (session_nr_done(r.session))
			remember(plan->spec->session_result_spec_path);
	}
	target_memory_free(r.memory);
	output_close(&r.output);
	if (o->std.min_level <= LOG_INFO)
		print_ways(&r, r.session ? 0 : e.code);
	session_close(r.session);
	return status;
}
