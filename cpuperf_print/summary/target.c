/*
 * What became of a command, in a few lines: its end, its time and memory, what was counted of it.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/cause.h"
#include "base/str.h"
#include "estimate/chance.h"
#include "estimate/unit.h"
#include "numbers.h"
#include "profile/processes.h"
#include "screen/latency.h"
#include "screen/layout.h"
#include "summary/summary.h"
#include "trace/record.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum { NR_NAMED = 8, MAX_NAMES_BYTES = 4096 };

void summary_add_target(struct summary *s, const struct profile_trace *trace)
{
	const struct trace_target *t = &s->target;
	struct summary_runs *r = &s->runs;

	s->target = *trace->target;
	if (t->tree_peak_bytes > r->tree_peak.tree_peak_bytes)
		r->tree_peak = *t;
	if (!(t->flags & TRACE_TARGET_IS_COMMAND) || !(t->flags & TRACE_TARGET_HAS_ENDED))
		return;
	r->nr++;
	if (t->status && !r->nr_failed++)
		r->failed = t->status;
	if (t->peak_bytes > r->peak_bytes) {
		r->peak_bytes = t->peak_bytes;
		r->is_peak_limit = t->flags & TRACE_TARGET_PROCESS_PEAK_IS_LIMIT;
	}
	if (trace->is_cut && r->wall.nr)
		return;
	spread_add(&r->wall, t->end_ns > t->start_ns ? (double)(t->end_ns - t->start_ns) : 0);
	spread_add(&r->user, (double)t->user_ns);
	spread_add(&r->system, (double)t->system_ns);
}

/* Whether the counts are of a part of the target's time; wait4 reports the whole. Each run has
 * both. */
static bool is_partial(const struct summary *s)
{
	return s->totals->gap_ns || (s->facts->nr_removed && s->totals->cause != CAUSE_RUN);
}

/* Half of the 95 % interval of the mean. */
static double half_of(const struct spread *s)
{
	double nr = (double)s->nr;

	return chance_student_inverse(0.05, nr - 1) * spread_deviation(s) / sqrt(nr);
}

/* "12.34 ms", of several "12.34 ms ± 0.120 ms". */
static void put_mean(struct buf *out, const struct spread *s, const char *unit)
{
	screen_human(out, s->mean, unit);
	if (s->nr > 1)
		buf_printf(out, " ± %s", HUMAN(half_of(s), unit));
}

/* The count of an event of the session; false: there is none. */
static bool find_count(const struct summary *s, const char *group, const char *name, double *out)
{
	for (size_t i = 0; i < s->table->nr_events; i++) {
		const struct table_column *c = &s->table->columns[i];

		if (!s->totals->column[i].spread.nr || strcmp(c->group, group) != 0 ||
		    strcmp(c->name, name) != 0)
			continue;
		*out = (double)s->totals->column[i].sum;
		return true;
	}
	return false;
}

/* What runs on after the measuring, or ran before it: wait4 has nothing of it. */
static bool is_of_proc(const struct summary *s)
{
	return s->target.flags & TRACE_TARGET_IS_ATTACHED ||
	       !(s->target.flags & TRACE_TARGET_HAS_ENDED);
}

/* Of one process, wait4 returned it. */
static void put_tree_peak(struct summary *s)
{
	const struct trace_target *t = &s->runs.tree_peak;

	if (job_is_tight(s->j) || !t->tree_peak_bytes ||
	    (!is_of_proc(s) && t->tree_peak_processes == 1))
		return;
	buf_adds(s->out, "  peak memory of ");
	if (t->flags & TRACE_TARGET_PEAK_OF_CGROUP)
		buf_adds(s->out, "the control group, with its page cache: ");
	else
		buf_printf(s->out, "%s process%s: ", COMMAS(t->tree_peak_processes),
			   str_plural(t->tree_peak_processes, "", "es together"));
	buf_printf(s->out, "%s%s KiB%s\n", t->flags & TRACE_TARGET_PEAK_IS_EXACT ? "" : "at least ",
		   COMMAS(t->tree_peak_bytes >> 10),
		   t->tree_peak_processes > 1 ? " (sum of RSS: shared pages count in each)" : "");
}

/* Whether events of the target were measured in user mode, and in the kernel; and whether this user
 * may not measure one of them. */
struct modes {
	bool is_open, has_kernel, is_refused;
};

static struct modes modes_of(const struct summary *s)
{
	struct modes m = {.has_kernel = !s->facts->nr_events};

	for (size_t i = 0; i < s->facts->nr_events; i++) {
		const struct trace_event *ev = &s->facts->events[i];

		m.is_refused |= ev->state == READING_NO_PERMISSION;
		if (!ev->attr_bytes || ev->state != READING_OK)
			continue;
		m.is_open = true;
		m.has_kernel |= ev->flags & TRACE_EVENT_OS;
	}
	return m;
}

static const char *of_last_run(const struct summary *s)
{
	return s->runs.nr > 1 ? ", of the last run" : "";
}

/* What wait4 returned of disks; blocks of 512 bytes. */
static void put_io(struct summary *s)
{
	const struct trace_target *t = &s->target;

	const uint64_t rows = s->j->selection->rows;

	if ((!rows || rows > SELECTION_USUAL_ROWS + 4) && (t->read_blocks || t->written_blocks))
		buf_printf(s->out, "  %s KiB read from disks, %s KiB written (wait4%s)\n",
			   COMMAS(t->read_blocks / 2), COMMAS(t->written_blocks / 2),
			   of_last_run(s));
}

/* Where no event counts them: page faults and context switches as /proc had them. */
static void put_user_only(struct summary *s, const char *modes)
{
	const struct trace_target *t = &s->target;
	uint64_t nr_faults = t->minor_faults + t->major_faults;
	bool are_all = t->flags & TRACE_TARGET_SWITCHES_ARE_ALL;

	buf_printf(s->out, "  %s", modes);
	if (nr_faults)
		buf_printf(s->out, "; at least %s page faults", COMMAS(nr_faults));
	if (t->voluntary_switches || are_all)
		buf_printf(s->out, "%s %s%s context switches", nr_faults ? "," : ";",
			   are_all ? "" : "at least ", COMMAS(t->voluntary_switches));
	if (nr_faults || t->voluntary_switches || are_all)
		buf_adds(s->out, " (/proc)");
	buf_addc(s->out, '\n');
}

/* The resolution of a time of /proc, which is stored in ticks per process. */
static double tick_ns(const struct summary *s)
{
	const struct trace_info *info = s->facts->info;

	return info && info->user_hz ? 1e9 / info->user_hz : 0;
}

/* "12.34 ms"; below a tick "< 10.00 ms", of several processes "< 10.00 ms each". */
static void put_proc_time(const struct summary *s, double ns, struct buf *out)
{
	bool is_below = ns < tick_ns(s);

	buf_adds(out, is_below ? "< " : "");
	screen_human(out, is_below ? tick_ns(s) : ns, "ns");
	buf_adds(out, is_below && s->target.tree_peak_processes > 1 ? " each" : "");
}

/* A command that went on: the CPU time by its event, else as /proc had it. */
static void put_measured(struct summary *s)
{
	const struct trace_target *t = &s->target;
	double ns = (double)s->totals->measured_ns,
	       used = (double)t->user_ns + (double)t->system_ns;
	struct unit u = unit_shown(EVENT_COUNT, "ns");
	bool is_counted = find_count(s, "software", "task_clock", &used);

	buf_printf(s->out, "  %s measured", HUMAN(ns, "ns"));
	if (ns > 0 && used > 0 && (is_counted || !is_partial(s))) {
		buf_adds(s->out, ", ");
		screen_rate(s->out, used / ns * 1e9 / u.divisor, &u);
		buf_adds(s->out, " CPU");
	}
	if (!is_partial(s) && t->user_ns + t->system_ns) {
		buf_adds(s->out, ": at least ");
		put_proc_time(s, (double)t->user_ns, s->out);
		buf_adds(s->out, " user, ");
		put_proc_time(s, (double)t->system_ns, s->out);
		buf_adds(s->out, " system (/proc)");
	}
	buf_addc(s->out, '\n');
}

/* Of the largest process. */
static void put_peak(struct summary *s)
{
	const struct summary_runs *r = &s->runs;
	const char *limit = r->is_peak_limit ? "at most " : "";
	uint64_t kib = r->peak_bytes >> 10;

	if (s->j->selection->rows)
		buf_printf(s->out, "peak %s%s MiB\n", limit,
			   COMMAS((kib + (r->is_peak_limit ? 1023 : 512)) >> 10));
	else
		buf_printf(s->out, "peak memory %s%s KiB in one process\n", limit, COMMAS(kib));
}

static void put_usage(struct summary *s)
{
	const struct modes modes = modes_of(s);
	const char *mode = modes.is_open ? "user mode only" : "no event of it was counted";
	const struct trace_target *t = &s->target;
	const struct summary_runs *r = &s->runs;
	struct unit u = unit_shown(EVENT_COUNT, "ns");

	if (t->flags & TRACE_TARGET_IS_ATTACHED && t->end_ns > t->start_ns)
		buf_printf(s->out, "  %s measured\n",
			   HUMAN((double)(t->end_ns - t->start_ns), "ns"));
	else if (is_of_proc(s))
		put_measured(s);
	if (is_of_proc(s)) {
		put_tree_peak(s);
		if (!modes.has_kernel && (modes.is_open || modes.is_refused))
			put_user_only(s, mode);
	}
	if (!(r->wall.mean > 0))
		return;
	buf_adds(s->out, "  ");
	put_mean(s->out, &r->wall, "ns");
	buf_adds(s->out, " wall, ");
	screen_rate(s->out, (r->user.mean + r->system.mean) / r->wall.mean * 1e9 / u.divisor, &u);
	buf_adds(s->out, " CPU: ");
	put_mean(s->out, &r->user, "ns");
	buf_adds(s->out, " user, ");
	put_mean(s->out, &r->system, "ns");
	buf_adds(s->out, " system; ");
	put_peak(s);
	put_tree_peak(s);
	put_io(s);
	/* no event was measured in the kernel: this user may not, or the spec excludes it */
	if (!modes.has_kernel)
		buf_printf(s->out, "  %s; %s page faults, %s context switches (wait4%s)\n", mode,
			   COMMAS(t->minor_faults + t->major_faults),
			   COMMAS(t->voluntary_switches + t->involuntary_switches), of_last_run(s));
}

/* plan_is_of_target and plan_is_of_processes of the recorder. */
static bool is_of_target(const struct summary *s, size_t event)
{
	const struct trace_event *ev = &s->facts->events[event];

	return ev->flags & TRACE_EVENT_OF_PROCESSES ||
	       (ev->attr_bytes && strcmp(s->table->columns[event].group, "misc") != 0);
}

/* What a number is of that is not the target's: " (whole machine)". */
static void put_scope(struct summary *s, size_t column, struct buf *out)
{
	static const struct {
		const char *prefix, *things;
	} sums[] = {{"process_", "processes"},
		    {"disk_", "disks"},
		    {"net_", "network interfaces"},
		    {"cgroup_", "control groups"}};
	const struct table_column *c = &s->table->columns[column];
	const struct expr_step *operand;
	size_t at = 0, nr = 0, nr_others = 0;

	while (c->metric && (operand = metric_operand(c->metric, &at))) {
		nr++;
		nr_others += !is_of_target(s, operand->operand);
	}
	if (c->metric && nr_others)
		buf_printf(out, " (%swhole machine)", nr_others < nr ? "partly " : "");
	if (c->metric || is_of_target(s, column))
		return;
	if (c->scope == EVENT_SCOPE_CPU || c->scope == EVENT_SCOPE_PACKAGE)
		buf_printf(out, " (whole %s)", c->scope == EVENT_SCOPE_CPU ? "CPUs" : "packages");
	for (size_t i = 0; c->scope == EVENT_SCOPE_THINGS && i < ARRAY_NR(sums); i++)
		if (strncmp(c->name, sums[i].prefix, strlen(sums[i].prefix)) == 0)
			buf_printf(out, " (sum of %s of the machine)", sums[i].things);
	if (c->scope == EVENT_SCOPE_SYSTEM)
		buf_adds(out, " (whole machine)");
}

enum { NAME, NUMBER, HALF, RATE, RUNNING, SCOPE, NR_PARTS };

/* Of one iteration the total of a count, else the mean. Only counts have a rate. */
static void put_count(struct summary *s, struct layout *l, size_t column, bool are_runs,
		      double seconds)
{
	const struct table_column *c = &s->table->columns[column];
	const struct column_summary *sum = &s->totals->column[column];
	bool is_count = !c->metric && c->kind == EVENT_COUNT;
	double total = !is_count || are_runs ? sum->spread.mean
		       : sum->max.is_real    ? sum->real_sum
					     : (double)sum->sum;
	struct unit u = unit_shown(c->kind, c->unit);

	layout_row(l);
	buf_printf(&l->text, "  %s", c->label);
	layout_cell(l, NAME);
	screen_human(&l->text, total, c->unit);
	layout_cell(l, NUMBER);
	if (are_runs && sum->spread.nr > 1)
		buf_printf(&l->text, "± %s", HUMAN(half_of(&sum->spread), c->unit));
	layout_cell(l, HALF);
	if (is_count && seconds > 0)
		screen_rate(&l->text, total / seconds / u.divisor, &u);
	layout_cell(l, RATE);
	if (sum->nr_multiplexed) {
		screen_running(&l->text, sum->min_running);
		buf_adds(&l->text, " running");
	}
	layout_cell(l, RUNNING);
	put_scope(s, column, &l->text);
	layout_cell(l, SCOPE);
}

/* In user mode, a line of the answer has these: put_usage. */
static bool is_printed_of_target(const struct summary *s, const struct table_column *c)
{
	const struct modes modes = modes_of(s);

	return modes.is_open && !modes.has_kernel && strcmp(c->group, "software") == 0 &&
	       (strcmp(c->name, "page_faults") == 0 || strcmp(c->name, "context_switches") == 0);
}

/* Why an event has no number; NULL if it has one. Metrics have the reasons of their events. */
static const char *missing_reason(const struct summary *s, size_t i)
{
	const struct column_summary *sum = &s->totals->column[i];
	const struct table_column *c = &s->table->columns[i];

	if (sum->spread.nr || c->metric || is_printed_of_target(s, c))
		return NULL;
	if (sum->nr_cells[CELL_DISABLED])
		return "it was disabled all the time";
	return c->reason && *c->reason ? c->reason : NULL;
}

/* Those with the reason of event first; with --rows their number, and the first words of the
 * reason. */
static void put_missing_for(struct summary *s, size_t first, const char *why, bool is_next)
{
	enum { MAX_NAMES = 2 };
	BUF_AUTO(names, MAX_NAMES_BYTES);
	size_t nr = 0, len = strlen(why);
	const char *other;

	for (size_t k = first; k < s->table->nr_columns; k++)
		if ((other = missing_reason(s, k)) && strcmp(other, why) == 0)
			buf_printf(&names, "%s%s", nr++ ? ", " : "", s->table->columns[k].label);
	if (s->j->selection->rows && screen_width(buf_str(&names)) + len > job_columns(s->j) / 2) {
		len = strcspn(why, "(,");
		len -= len && why[len - 1] == ' ';
		if (nr > MAX_NAMES) {
			buf_reset(&names);
			buf_printf(&names, "%zu events", nr);
		}
	}
	buf_printf(s->out, "%s%s (%.*s)", is_next ? ", " : "  not counted: ", buf_str(&names),
		   (int)len, why);
	if (!job_is_tight(s->j))
		buf_addc(s->out, '\n');
}

/* The events without a number, by their reason. */
static void put_missing(struct summary *s)
{
	const bool is_tight = job_is_tight(s->j);
	const size_t len = s->out->len;

	for (size_t i = 0; i < s->table->nr_columns; i++) {
		const char *why = missing_reason(s, i), *other;
		bool is_first = why;

		for (size_t k = 0; k < i && is_first; k++)
			is_first = !(other = missing_reason(s, k)) || strcmp(other, why) != 0;
		if (is_first)
			put_missing_for(s, i, why, is_tight && s->out->len > len);
	}
	if (is_tight && s->out->len > len)
		buf_addc(s->out, '\n');
}

/* --no-children: the events are of the processes of the target, and not of those that they create.
 */
static bool is_process_only(const struct summary *s)
{
	struct trace_layout layout;

	for (size_t i = 0; i < s->facts->nr_events; i++)
		if (trace_layout_init(&layout, s->facts->events[i].attr,
				      s->facts->events[i].attr_bytes) &&
		    layout.stays_in_process)
			return true;
	return false;
}

/* The kernel accounts all CPU time of a task, but counts its events only between its first switch
 * in and its last steps. A program with more rights than its caller ends them (Linux,
 * commit_creds). */
static void put_uncounted(struct summary *s, bool are_runs)
{
	double used = s->runs.user.mean + s->runs.system.mean, counted = used;
	const struct column_summary *sum;

	if (is_partial(s) || (!are_runs && s->totals->nr_iterations > 1))
		return;
	for (size_t i = 0; i < s->table->nr_events; i++) {
		sum = &s->totals->column[i];
		if (sum->spread.nr && strcmp(s->table->columns[i].group, "software") == 0 &&
		    strcmp(s->table->columns[i].name, "task_clock") == 0)
			counted = are_runs ? sum->spread.mean : (double)sum->sum;
	}
	if (used > 0 && counted - used > used / 10 && counted - used > 20e6)
		buf_printf(s->out,
			   "  user and system exclude %s of CPU time: of processes that nobody "
			   "waited for\n",
			   HUMAN(counted - used, "ns"));
	if (used - counted > used / 10 && (used - counted > 5e6 || counted < used / 20))
		buf_printf(
		    s->out,
		    "  counted for %.1f %% of the CPU time: events exclude %sthe start and end "
		    "of each task, set-user-ID programs, CPUs not in --cpu and the time for which "
		    "--control disabled them\n",
		    100 * counted / used,
		    is_process_only(s) ? "child processes (--no-children), " : "");
}

/* Some tasks may be missing from the common file: it was shortened. */
static bool may_miss_tasks(const struct summary *s)
{
	return s->facts->nr_removed ||
	       (s->table->sampled &&
		ARRAY_ANY(r, s->table->row_sampling, s->table->nr_rows, r->held_to_ns));
}

static void put_share(struct summary *s, uint64_t ns, double of_ns, const char *what)
{
	if (ns)
		buf_printf(s->out, "%s %% %s, ", DECIMAL(100 * (double)ns / of_ns, 1), what);
}

/* As found by records of switches. */
static void put_waits(struct summary *s, const struct profile_waits *w, double life_ns)
{
	const double both = 100 * (double)w->both_ns / life_ns;

	put_share(s, w->queue_ns, life_ns, "waiting for a CPU");
	put_share(s, w->unknown_ns, life_ns, "unknown (lost records)");
	if (both >= 0.05)
		put_share(s, w->blocked_ns, life_ns, "blocked");
	buf_printf(s->out, "%s %% blocked%s\n",
		   DECIMAL(both >= 0.05 ? both : 100 * (double)w->blocked_ns / life_ns, 1),
		   both >= 0.05 ? " or waiting for a CPU" : "");
	buf_printf(s->out, "  waits are found by records of switches%s\n",
		   s->j->selection->rows ? ", and have the stack of the thread's last sample before"
					 : ""); /* reports say the same, where there is room */
}

/* Where the time of all threads went. Events miss the first and last steps of a task, wait4 what
 * was not waited for: the CPU time is the larger one. */
static void put_states(struct summary *s, bool are_runs)
{
	enum { ENDED = TRACE_TARGET_IS_COMMAND | TRACE_TARGET_HAS_ENDED };
	const struct trace_target *t = &s->target;
	struct input *input = &s->j->inputs->item[s->j->first];
	double used = (double)t->user_ns + (double)t->system_ns, counted = 0, queue, blocked, rest;
	const struct profile_waits *waits = profile_session_waits(input->session);
	struct profile_lifetime life;

	if (!s->facts->is_sampling || may_miss_tasks(s) || s->totals->lost || s->totals->gap_ns ||
	    are_runs || (t->flags & ENDED) != ENDED || is_process_only(s) ||
	    inputs_load_processes(input) ||
	    profile_lifetime(input->processes, t->pid, t->start_ns, t->end_ns, &life) || !life.ns)
		return;
	if (find_count(s, "software", "task_clock", &counted) && counted > used)
		used = counted;
	used = fmin(used, (double)life.ns); /* wait4's time of a short command includes exec */
	buf_printf(s->out, "  %s of %s %s: %s %% on CPU, ", HUMAN((double)life.ns, "ns"),
		   COMMAS(life.nr_threads), str_plural(life.nr_threads, "thread", "threads"),
		   DECIMAL(100 * used / (double)life.ns, 1));
	if (waits) {
		put_waits(s, waits, (double)life.ns);
	} else if (!is_partial(s) && find_count(s, "sched", "run_queue_time", &queue) &&
		   find_count(s, "sched", "off_cpu_time", &blocked)) {
		buf_printf(s->out, "%s %% waiting for a CPU, %s %% blocked\n",
			   DECIMAL(100 * queue / (double)life.ns, 1),
			   DECIMAL(100 * blocked / (double)life.ns, 1));
	} else {
		rest = fmax(0, 1 - used / (double)life.ns);
		buf_printf(s->out, "%s %% blocked or waiting for a CPU%s\n", DECIMAL(100 * rest, 1),
			   rest > 0.1 ? " (--spec-file=wall samples where)" : "");
	}
}

static void put_status(struct buf *out, int status)
{
	const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;

	if (WIFSIGNALED(status))
		buf_printf(out, "killed by signal %d%s%s", WTERMSIG(status), name ? ", SIG" : "",
			   name ? name : "");
	else
		buf_printf(out, "exit status %d", WEXITSTATUS(status));
}

static uint64_t nr_wanted(const struct summary *s)
{
	return s->facts->info ? s->facts->info->num_iterations : s->runs.nr;
}

/* "3 of 5 runs, 1 failed, the first: exit status 7" */
static void put_runs(struct summary *s)
{
	const struct summary_runs *r = &s->runs;

	buf_printf(s->out, "%" PRIu64, r->nr);
	if (nr_wanted(s) > r->nr)
		buf_printf(s->out, " of %" PRIu64, nr_wanted(s));
	buf_adds(s->out, " runs, ");
	if (r->nr_failed)
		buf_printf(s->out, "%" PRIu64 " failed, the first: ", r->nr_failed);
	put_status(s->out, (int)r->failed);
	/* a run that is killed is the last one, and in no mean */
	if (WIFSIGNALED(s->target.status))
		buf_printf(s->out, "; %s of the %s before it",
			   r->wall.nr > 1 ? "means ± 95 %" : "numbers",
			   r->wall.nr > 1 ? "runs" : "run");
	else if (r->wall.nr > 1)
		buf_adds(s->out, "; means ± 95 %");
	buf_addc(s->out, '\n');
}

/* A long command line is cut if the answer must be short. */
static void put_text(struct summary *s)
{
	enum { OTHERS = sizeof(": exit status 127") };
	unsigned columns = job_columns(s->j);
	const char *text = s->target.text;
	size_t at = 0;

	if (!s->j->selection->rows || columns <= 2 * OTHERS ||
	    screen_width(text) + OTHERS <= columns) {
		buf_printf(s->out, "%s: ", text);
		return;
	}
	for (unsigned width = 0; text[at] && width + OTHERS < columns; width++)
		while (((unsigned char)text[++at] & 0xc0) == 0x80)
			;
	buf_printf(s->out, "%.*s…: ", (int)at, text);
}

static void put_end(struct summary *s, bool are_runs)
{
	put_text(s);
	if (are_runs) {
		put_runs(s);
		return;
	}
	if (!(s->target.flags & TRACE_TARGET_HAS_ENDED))
		buf_adds(s->out, "still running when the measuring ended");
	else if (s->target.flags & TRACE_TARGET_IS_ATTACHED)
		buf_adds(s->out, "ended");
	else
		put_status(s->out, (int)s->target.status);
	buf_addc(s->out, '\n');
	if (s->totals->gap_ns)
		buf_printf(s->out,
			   "  measured in %" PRIu64
			   " iteration(s), %s in all; %s before them not\n",
			   s->totals->nr_iterations, HUMAN((double)s->totals->measured_ns, "ns"),
			   HUMAN((double)s->totals->gap_ns, "ns"));
}

/* By the records of forks and ends. */
static size_t list_recorded(struct summary *s, struct buf *names)
{
	struct input *input = &s->j->inputs->item[s->j->first];
	struct profile_lookup *lookup = profile_lookup_new(input->processes);
	const struct profile_process *process;
	struct profile_task task;
	size_t at = 0, nr = 0;

	while (lookup &&
	       (process = profile_next_alive(input->processes, &at, s->target.start_ns))) {
		if (process->pid == s->target.pid || nr++ >= NR_NAMED)
			continue;
		profile_lookup_task(lookup, process->pid, process->pid,
				    s->target.end_ns ? s->target.end_ns : INT64_MAX, &task);
		buf_printf(names, "%s%u (%s)", nr > 1 ? ", " : "", process->pid, task.comm->name);
	}
	profile_lookup_free(lookup);
	return nr;
}

/* "still running at its end, and not measured from then on: 12 (sleep), 13 (sh)". Without samples,
 * or where records were lost, what the recorder found in /proc is named. With --no-children there
 * is no record of the end or the program of a child. Of an unfinished session, processes are of the
 * run that has not ended. */
static void put_left(struct summary *s, bool are_runs)
{
	struct input *input = &s->j->inputs->item[s->j->first];
	bool is_recorded = s->facts->is_sampling && !s->totals->lost;
	BUF_AUTO(names, MAX_NAMES_BYTES);
	size_t nr;

	if (!(s->target.flags & TRACE_TARGET_IS_COMMAND) || s->facts->is_unfinished ||
	    (is_recorded && inputs_load_processes(input)))
		return;
	nr = is_recorded ? list_recorded(s, &names) : s->target.nr_left;
	if (nr && is_process_only(s))
		buf_adds(s->out,
			 "  the processes that it started were not measured (--no-children)\n");
	else if (nr)
		buf_printf(s->out, "  still running at %s, and not measured from then on: %s%s%s\n",
			   are_runs                                   ? "the end of the last run"
			   : s->target.flags & TRACE_TARGET_HAS_ENDED ? "its end"
								      : "that time",
			   is_recorded ? buf_str(&names) : s->target.left,
			   nr > NR_NAMED ? ", ..." : "",
			   is_recorded ? "" : " (found in /proc; there may be more)");
}

static size_t list_recorded_hidden(struct summary *s, struct buf *names)
{
	struct input *input = &s->j->inputs->item[s->j->first];
	struct profile_lookup *lookup = profile_lookup_new(input->processes);
	const struct profile_process *process;
	struct profile_task task;
	size_t at = 0, nr = 0;

	while (lookup &&
	       (process = profile_next_hidden(input->processes, &at, s->target.start_ns))) {
		if (nr++ >= NR_NAMED)
			continue;
		profile_lookup_task(lookup, process->pid, process->pid, process->from_ns, &task);
		buf_printf(names, "%s%u (%s)", nr > 1 ? ", " : "", process->pid, task.comm->name);
	}
	profile_lookup_free(lookup);
	return nr;
}

/* Programs with more rights than their caller: the kernel ends their events at exec. By the records
 * of exec and end, without samples by what the recorder found in /proc. */
static void put_hidden(struct summary *s)
{
	struct input *input = &s->j->inputs->item[s->j->first];
	bool is_recorded = s->facts->is_sampling && !s->totals->lost && !may_miss_tasks(s);
	BUF_AUTO(names, MAX_NAMES_BYTES);
	size_t nr;

	if (is_recorded && inputs_load_processes(input))
		return;
	nr = is_recorded ? list_recorded_hidden(s, &names) : s->target.nr_hidden;
	if (nr)
		buf_printf(
		    s->out, "  not measured (set-user-ID, capabilities or unreadable): %s%s\n",
		    is_recorded ? buf_str(&names) : s->target.hidden, nr > NR_NAMED ? ", ..." : "");
}

/* The samples of a clock, in ns; 0: there are none. */
static double sampled_ns(const struct summary *s)
{
	const struct table_column *columns = s->table->columns;

	for (size_t i = 0; i < s->table->nr_events; i++)
		if (is_of_target(s, i) && sampled_event_is_sampled(&columns[i].sampling) &&
		    strcmp(columns[i].group, "software") == 0 && strcmp(columns[i].unit, "ns") == 0)
			return (double)s->totals->column[i].sampled.n.weight;
	return 0;
}

/* In user mode alone, the CPU time of wait4 has two parts: one is sampled, and one is not. */
static void put_mode(const struct summary *s, struct layout *l, const char *name,
		     const struct spread *time, double seconds, double sampled)
{
	bool is_below = is_of_proc(s) && time->mean < tick_ns(s);
	struct unit u = unit_shown(EVENT_COUNT, "ns");

	layout_row(l);
	buf_printf(&l->text, "  %s", name);
	layout_cell(l, NAME);
	if (is_below)
		put_proc_time(s, time->mean, &l->text);
	else
		screen_human(&l->text, time->mean, "ns");
	layout_cell(l, NUMBER);
	if (time->nr > 1)
		buf_printf(&l->text, "± %s", HUMAN(half_of(time), "ns"));
	layout_cell(l, HALF);
	if (!is_below)
		screen_rate(&l->text, time->mean / seconds / u.divisor, &u);
	layout_cell(l, RATE);
	layout_cell(l, RUNNING);
	if (sampled > 0 && time->mean > 0)
		buf_printf(&l->text, " (samples × period: %s %%)",
			   DECIMAL(100 * sampled / (time->mean * (double)time->nr), 1));
	layout_cell(l, SCOPE);
}

/* Of what runs on, /proc has them at least. */
static void put_modes(struct summary *s, struct layout *l, double seconds)
{
	const struct trace_target *t = &s->target;
	const bool is_least = is_of_proc(s);
	const struct modes modes = modes_of(s);
	struct spread user = s->runs.user, system = s->runs.system;
	bool is_whole = s->runs.nr == user.nr && !is_partial(s) && !is_least;

	if (is_least && !user.nr && !is_partial(s) && t->user_ns + t->system_ns) {
		spread_add(&user, (double)t->user_ns);
		spread_add(&system, (double)t->system_ns);
	}
	if (!user.nr || !(seconds > 0) || modes.has_kernel || !modes.is_open ||
	    !s->facts->is_sampling)
		return;
	put_mode(s, l, is_least ? "in user mode, at least" : "in user mode", &user, seconds,
		 is_whole ? sampled_ns(s) : 0);
	put_mode(s, l,
		 is_least ? "in the kernel, at least, not sampled" : "in the kernel, not sampled",
		 &system, seconds, 0);
}

/* With --rows, from the byte start on: lines that are too wide become shorter. */
static void shorten(struct summary *s, size_t start)
{
	unsigned columns = job_columns(s->j);
	BUF_AUTO(text, s->out->max_bytes);
	const char *line, *next;

	if (!s->j->selection->rows || buf_error(s->out) || start == s->out->len)
		return;
	buf_adds(&text, s->out->data + start);
	buf_cut(s->out, start);
	for (line = buf_str(&text); *line; line = next + 1) {
		size_t at = s->out->len;

		next = strchr(line, '\n');
		if (!next)
			next = line + strlen(line) - 1;
		buf_add(s->out, line, (size_t)(next - line));
		screen_shorten(s->out, at, columns);
		buf_addc(s->out, '\n');
	}
}

void summary_target(struct summary *s)
{
	struct layout_column columns[] = {
	    [NAME] = {.is_left = true}, [NUMBER] = {.gap = 2, .width = 9},
	    [HALF] = {.is_left = true}, [RATE] = {.gap = 2, .width = 9},
	    [RUNNING] = {.gap = 2},     [SCOPE] = {.is_left = true},
	};
	bool are_runs = s->totals->cause == CAUSE_RUN && nr_wanted(s) > 1;
	bool is_part =
	    is_partial(s) || (is_of_proc(s) && s->target.flags & TRACE_TARGET_IS_COMMAND);
	uint64_t span_ns = is_part ? s->totals->measured_ns : s->target.end_ns - s->target.start_ns;
	double seconds = (are_runs ? s->runs.wall.mean : (double)span_ns) / 1e9;
	const size_t start = s->out->len;
	struct layout l;

	put_end(s, are_runs);
	if (*s->facts->removed)
		buf_printf(s->out, "  (%s; counts are of the %s after it)\n", s->facts->removed,
			   HUMAN((double)s->totals->measured_ns, "ns"));
	put_usage(s);
	put_states(s, are_runs);
	put_left(s, are_runs);
	put_hidden(s);
	if (!job_is_tight(s->j))
		buf_addc(s->out, '\n');
	columns[HALF].gap = are_runs ? 1 : 0;
	layout_init(&l, columns, NR_PARTS);
	for (size_t i = 0; i < s->table->nr_columns; i++)
		if (s->totals->column[i].spread.nr &&
		    !sampled_event_is_sampled(&s->table->columns[i].sampling))
			put_count(s, &l, i, are_runs, seconds);
	put_modes(s, &l, seconds);
	layout_write(&l, 1, NR_PARTS, s->out);
	layout_fini(&l);
	screen_latency_put(&s->totals->latencies, s->table, s->out);
	put_missing(s);
	put_uncounted(s, are_runs);
	shorten(s, start);
}
