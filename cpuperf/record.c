/*
 * Measuring: opens a session, says what does not work, prints each iteration.
 */
#include "api/table.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "dashboard/terminal.h"
#include "metric/table.h"
#include "output.h"
#include "program.h"
#include "screen/format.h"
#include "session/session.h"
#include "status.h"
#include "watch.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NR_THINGS = 10 }; /* of each kind, in each iteration; cpuperf_print has more of them */
enum { MAX_TABLE_BYTES = 64 << 20, MAX_NAMES_BYTES = 65536 };

struct recorder {
	const struct plan *plan;
	struct session *session;
	const struct screen_format *format;
	struct screen_state *screen;
	struct table *table;
	struct table_summary *summary;
	struct buf out;
	struct output output;
	struct status status;
	struct watch watch;
	bool begun;
	bool was_live; /* there was a dashboard: results are printed at the end alone */
	bool has_gap, has_told_gap;
	struct screen_gap gap; /* between the last table that is printed and the next one */
	int print_error;       /* of stdout: 0 or -errno */
};

static struct session *running; /* for the signal handler */
static volatile sig_atomic_t is_interrupted;
static volatile sig_atomic_t is_out_of_time; /* the limit of CPU time */
static const int caught[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGXCPU};

/* Not by a person: the kernel and the shell send a SIGHUP each when a terminal goes away, and
 * SIGXCPU comes every second. Who started us may want them ignored (nohup). */
static bool is_automatic(int number)
{
	return number == SIGHUP || number == SIGXCPU;
}

/* The first signal ends the iteration, the second of its kind the program, if a person sent it. */
static void on_signal(int number)
{
	static volatile sig_atomic_t last;
	int saved = errno;

	if (number == last && !is_automatic(number)) {
		terminal_restore();
		signal(number, SIG_DFL);
		raise(number); /* when this handler returns */
	}
	last = number;
	is_interrupted = 1;
	is_out_of_time |= number == SIGXCPU;
	session_stop(running);
	errno = saved;
}

/* Where the hard limit of CPU time is the soft one, as ulimit -t sets them, the kernel kills
 * without a SIGXCPU before: a second is kept for the end. */
static void lower_cpu_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_cur == limit.rlim_max &&
	    limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur > 1) {
		limit.rlim_cur--;
		(void)setrlimit(RLIMIT_CPU, &limit);
	}
}

/* SIGINT and SIGQUIT are ignored in any script's background job, which may want them. */
static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal}, old;

	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		if (sigaction(caught[i], &action, &old) == 0 && is_automatic(caught[i]) &&
		    old.sa_handler == SIG_IGN)
			sigaction(caught[i], &old, NULL);
}

/* Before the session goes away: a late signal must not find it. */
static void release_signals(void)
{
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		signal(caught[i], SIG_DFL);
	running = NULL;
}

/* Groups of hardware events share the counters by turns. */
static void tell_groups(const struct recorder *r)
{
	uint64_t groups = 0; /* a bit each: there are at most 32 perf events */
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

/* group:name, and the column's heading where that is another. */
static void add_name(const struct plan_event *p, struct buf *out)
{
	buf_printf(out, "%s%s:%s", out->len ? ", " : "", p->event.group->name, p->event.row->name);
	if (strcmp(p->label, p->event.row->name) != 0)
		buf_printf(out, " (column %s)", p->label);
}

static void add_names(const struct recorder *r, size_t i, struct buf *out)
{
	const struct session_event *ev = session_event(r->session, i);

	for (size_t j = i; j < r->plan->nr_events; j++)
		if (same_trouble(session_event(r->session, j), ev))
			add_name(&r->plan->events[j], out);
}

/* One warning for all events with the same trouble as event i, unless an earlier one gave it. The
 * names come last: there can be more than a message holds. */
static void warn_event(const struct recorder *r, size_t i)
{
	const struct session_event *ev = session_event(r->session, i);
	struct err e = {0};
	struct buf names;

	for (size_t j = 0; j < i; j++)
		if (same_trouble(session_event(r->session, j), ev))
			return;
	buf_init(&names, MAX_NAMES_BYTES);
	add_names(r, i, &names);
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

/* Says what does not work; how many events do not work on every CPU. */
static size_t warn_events(const struct recorder *r)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->plan->nr_events; i++) {
		const struct session_event *ev = session_event(r->session, i);

		if (ev->nr_cpus && ev->nr_cpus == ev->nr_wanted)
			continue;
		warn_event(r, i);
		nr++;
	}
	return nr;
}

/* A terminal that was held (^S) while the dashboard was on it holds no session. */
static bool is_impatient(void *arg)
{
	const struct recorder *r = arg;

	return is_interrupted || r->was_live;
}

static const char *where_else(const struct recorder *r)
{
	return *r->plan->spec->output_path_prefix ? "; the traces have them" : "";
}

static void add_to_gap(struct recorder *r)
{
	const struct table *t = r->table;

	if (!r->has_gap)
		r->gap = (struct screen_gap){.first = t->iteration, .start_ns = t->start_ns};
	r->has_gap = true;
	r->gap.last = t->iteration;
	r->gap.end_ns = t->end_ns;
	r->gap.realtime_ns = t->realtime_ns;
	if (!r->has_told_gap) /* at the end: how many there were */
		log_warning("standard output is not read fast enough: from iteration %u on, some "
			    "are not printed%s",
			    r->gap.first, where_else(r));
	r->has_told_gap = true;
}

/* What comes before the next table, or before the summary. */
static void add_start(struct recorder *r)
{
	if (!r->begun)
		r->format->begin(r->screen, r->table, &r->out);
	if (r->has_gap)
		r->format->gap(r->screen, r->table, &r->gap, &r->out);
}

/* A table that finds no room becomes a gap. */
static int print_table(struct recorder *r)
{
	int rc = buf_error(&r->out);

	if (rc == 0 && output_table(&r->output, buf_str(&r->out), r->out.len)) {
		r->begun = true;
		r->has_gap = false;
	} else if (rc == 0) {
		add_to_gap(r);
	}
	buf_reset(&r->out);
	r->print_error = rc;
	return rc ? rc : output_is_broken(&r->output);
}

static void log_warning_of(void *arg, const struct err *warning)
{
	(void)arg;
	log_err(LOG_WARNING, warning);
}

/* With nobody to read the results the session ends; this iteration's files are whole. */
static int on_iteration(const struct session_iteration *it, void *arg)
{
	struct recorder *r = arg;

	status_erase(&r->status);
	api_table_fill(r->table, r->session, it);
	table_summary_add(r->summary, r->table);
	if (watch_is_on(&r->watch)) {
		r->begun = true;
		watch_iteration(&r->watch, r->table);
		return 0;
	}
	add_start(r);
	r->format->iteration(r->screen, r->table, &r->out);
	if (!r->format->is_for_people) /* they have them among the results */
		screen_warn_samples(r->table, log_warning_of, NULL);
	return print_table(r);
}

static void on_note(const char *text, bool is_essential, void *arg)
{
	struct recorder *r = arg;

	status_erase(&r->status);
	if (watch_is_on(&r->watch))
		watch_note(&r->watch, text);
	else
		log_line(is_essential ? LOG_ESSENTIAL : LOG_WARNING, __FILE__, __LINE__, "%s",
			 text);
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

/* Open, but never on the PMU in the whole session. */
static bool never_counted(const struct recorder *r, size_t i)
{
	const struct column_summary *c = &r->summary->column[i];

	return c->nr_cells[CELL_NOT_COUNTED] && !c->nr_cells[CELL_OK] &&
	       !c->nr_cells[CELL_OFFLINE] && r->plan->events[i].set != PLAN_NO_SET;
}

static void warn_never_counted(const struct recorder *r)
{
	struct err e = {0};
	struct buf names;

	buf_init(&names, MAX_NAMES_BYTES);
	for (size_t i = 0; i < r->plan->nr_events; i++)
		if (never_counted(r, i))
			add_name(&r->plan->events[i], &names);
	if (names.len) {
		err_set(&e, -ENODATA, "not counted: open, but never ran: %s", buf_str(&names));
		err_hint(&e, "iterations shorter than the kernel's rotation, or another user of "
			     "the PMU (the NMI watchdog: sysctl kernel.nmi_watchdog=0)");
		log_err(LOG_WARNING, &e);
	}
	buf_fini(&names);
}

/* When all tables are written, so that there is room. */
static int print_summary(struct recorder *r)
{
	int rc = output_flush(&r->output);

	if (rc)
		return rc;
	add_start(r);
	r->format->summary(r->screen, r->table, r->summary, &r->out);
	rc = buf_error(&r->out);
	return rc ? rc : output_summary(&r->output, buf_str(&r->out), r->out.len);
}

static void tell_not_printed(const struct recorder *r)
{
	uint64_t nr = r->summary->nr_iterations, missing = nr - output_nr_tables(&r->output);
	bool is_cut = r->print_error == -ETIMEDOUT;

	if (missing && !r->was_live)
		log_warning("%llu of %llu iterations were not printed%s",
			    (unsigned long long)missing, (unsigned long long)nr, where_else(r));
	if (is_cut)
		log_error("standard output is not being read: the rest of the output, with the "
			  "summary, is dropped");
	else if (r->print_error)
		log_error("standard output: %s; the session ended with iteration %llu",
			  strerror(-r->print_error),
			  (unsigned long long)session_nr_done(r->session) - 1);
}

static int finish(struct recorder *r, int rc, const struct err *e)
{
	bool is_any = r->begun || r->has_gap;

	status_erase(&r->status);
	if (is_any && !r->print_error)
		r->print_error = print_summary(r);
	warn_never_counted(r);
	if (is_any && !r->format->is_for_people)
		screen_warn_metrics(r->table, r->summary, log_warning_of, NULL);
	if (session_nr_done(r->session) < r->plan->spec->num_iterations && !rc)
		log_info("stopped after %llu of %llu iteration(s)",
			 (unsigned long long)session_nr_done(r->session),
			 (unsigned long long)r->plan->spec->num_iterations);
	if (rc)
		log_err(LOG_ERROR, e);
	tell_not_printed(r);
	if (is_out_of_time)
		log_error("the limit of CPU time (ulimit -t) has ended the session");
	if (rc || r->print_error || is_out_of_time) {
		log_info("session failed");
		return EXIT_FAILED;
	}
	log_info("session ended");
	return EXIT_DONE;
}

static int run_session(struct recorder *r, const struct options *o)
{
	size_t nr_partly = warn_events(r);
	struct err e = {0};
	int rc;

	if (session_nr_working(r->session) == 0) {
		log_error("none of the %zu event(s) can be measured here", r->plan->nr_events);
		return EXIT_FAILED;
	}
	if (o->strict && nr_partly) {
		log_error("--strict: %zu of %zu event(s) cannot be measured on every CPU",
			  nr_partly, r->plan->nr_events);
		return EXIT_FAILED;
	}
	log_start(r->plan->spec);
	tell_groups(r);
	if (watch_is_wanted(o, r->plan))
		output_settle(&r->output); /* else log lines could reach the dashboard's screen */
	if (watch_start(&r->watch, o, r->session, r->table, &e)) {
		log_err(LOG_ERROR, &e);
		return EXIT_FAILED;
	}
	r->was_live = watch_is_on(&r->watch);
	running = r->session;
	lower_cpu_limit();
	catch_signals();
	rc = session_run(r->session, &e);
	if (!watch_stop(&r->watch))
		r->print_error = -ETIMEDOUT;
	rc = finish(r, rc, &e);
	release_signals();
	return rc;
}

static int with_memory(struct recorder *r, const struct options *o)
{
	struct screen_options screen = {.width = opt_std_terminal_width(),
					.each_cpu = o->std.min_level < LOG_INFO,
					.nr_things = NR_THINGS};
	struct err e = {0};
	int status = EXIT_FAILED;

	if (api_table_new(r->session, &r->table, &e)) {
		log_err(LOG_ERROR, &e);
		return EXIT_FAILED;
	}
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

static int with_output(struct recorder *r, const struct options *o)
{
	struct session_config config = {.plan = r->plan,
					.tool = "cpuperf " CPUPERF_VERSION,
					.on_iteration = on_iteration,
					.on_note = on_note,
					.on_progress = on_progress,
					.is_strict = o->strict,
					.arg = r};
	struct err e = {0};
	int status;

	status_init(&r->status, &r->output, r->plan->is_sampling && o->std.min_level <= LOG_INFO);
	if (session_open(&config, &r->session, &e)) {
		log_err(LOG_ERROR, &e);
		return EXIT_FAILED;
	}
	status = with_memory(r, o);
	session_close(r->session);
	return status;
}

int record(const struct plan *plan, const struct options *o)
{
	struct recorder r = {.plan = plan, .format = screen_format_find(o->output_format)};
	struct err e = {0};
	int status;

	if (watch_check(o, plan, &e)) {
		log_err(LOG_ERROR, &e);
		return EXIT_USAGE;
	}
	if (output_open(&r.output, is_impatient, &r, &e)) {
		log_err(LOG_ERROR, &e);
		return EXIT_FAILED;
	}
	status = with_output(&r, o);
	output_close(&r.output);
	return status;
}
