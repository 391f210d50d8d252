/*
 * What was counted of a target, and what could not be.
 */
#include "base/array.h"
#include "base/buf.h"
#include "estimate/unit.h"
#include "inputs.h"
#include "numbers.h"
#include "profile/processes.h"
#include "screen/layout.h"
#include "spec/spec.h"
#include "summary/target.h"

#include <string.h>

enum { MAX_NAMES_BYTES = 4096 };

/* plan_is_of_target and plan_is_of_processes of the recorder. */
static bool is_of_target(const struct summary *s, size_t event)
{
	const struct trace_event *ev = &s->facts->events[event];

	return ev->flags & TRACE_EVENT_OF_PROCESSES ||
	       (ev->attr_bytes && !spec_group_is_misc(s->table->columns[event].group));
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
		buf_printf(&l->text, "± %s", HUMAN(spread_mean_half(&sum->spread), c->unit));
	layout_cell(l, HALF);
	if (!spec_group_is_misc(c->group)) /* --control switches the others */
		seconds -= (double)s->target.disabled_ns / 1e9;
	if (is_count && seconds > 0 && !(s->target.flags & TRACE_TARGET_IS_DIVIDED))
		screen_rate(&l->text, total / seconds / u.divisor, &u);
	layout_cell(l, RATE);
	if (sum->nr_multiplexed) {
		screen_running(&l->text, sum->min_running);
		buf_adds(&l->text, " running");
	}
	layout_cell(l, RUNNING);
	put_scope(s, column, &l->text);
	if (sum->nr_partial && c->scope == EVENT_SCOPE_THINGS)
		buf_adds(&l->text, " (at least: what ended after its last reading is missing)");
	layout_cell(l, SCOPE);
}

/* The clock that samples the target, as a column; -1: none does. */
static long find_clock(const struct summary *s)
{
	const struct table_column *columns = s->table->columns;

	for (size_t i = 0; i < s->table->nr_events; i++)
		if (is_of_target(s, i) && sampled_event_is_sampled(&columns[i].sampling) &&
		    strcmp(columns[i].group, "software") == 0 && strcmp(columns[i].unit, "ns") == 0)
			return (long)i;
	return -1;
}

/* The samples of a clock, in ns; negative: none samples. */
static double sampled_ns(const struct summary *s)
{
	const long clock = find_clock(s);

	return clock < 0 ? -1 : (double)s->totals->column[clock].sampled.n.weight;
}

/* The most that samples may lack because tasks end before their first one, or after their last:
 * a period of each. 0: not known. */
static double most_between_samples_ns(const struct summary *s)
{
	struct input *input = &s->j->inputs->item[s->j->first];
	const struct trace_target *t = &s->target;
	const struct sampled_event *clock;
	struct profile_lifetime life;
	const long at = find_clock(s);

	if (at < 0 || inputs_load_processes(input) ||
	    profile_lifetime(input->processes, t->pid, t->start_ns, t->end_ns, &life))
		return 0;
	clock = &s->table->columns[at].sampling;
	return (double)life.nr_threads * (double)s->runs.user.nr *
	       (clock->period ? (double)clock->period : 1e9 / (double)clock->frequency);
}

/* In user mode alone, the CPU time of wait4 has two parts: one is sampled, and one is not. */
static void put_mode(const struct summary *s, struct layout *l, const char *name,
		     const struct spread *time, double seconds, double sampled)
{
	bool is_below = summary_target_is_of_proc(s) && time->mean < summary_target_tick_ns(s);
	struct unit u = unit_shown(EVENT_COUNT, "ns");

	layout_row(l);
	buf_printf(&l->text, "  %s", name);
	layout_cell(l, NAME);
	if (is_below)
		summary_target_put_proc_time(s, time->mean, &l->text);
	else
		screen_human(&l->text, time->mean, "ns");
	layout_cell(l, NUMBER);
	if (time->nr > 1)
		buf_printf(&l->text, "± %s", HUMAN(spread_mean_half(time), "ns"));
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
	const bool is_least = summary_target_is_of_proc(s);
	const struct summary_target_modes modes = summary_target_modes(s);
	struct spread user = s->runs.user, system = s->runs.system;
	const bool is_of_whole = summary_target_is_partial(s); /* wait4 */
	bool is_whole = s->runs.nr == user.nr && !summary_target_is_partial(s) && !is_least;

	if (is_least && !user.nr && !summary_target_is_partial(s) && t->user_ns + t->system_ns) {
		spread_add(&user, (double)t->user_ns);
		spread_add(&system, (double)t->system_ns);
	}
	if (!user.nr || !(seconds > 0) || modes.has_kernel || !modes.is_open ||
	    !s->facts->is_sampling)
		return;
	if (job_is_tight(s->j) && is_whole)
		return; /* the line of the CPU time has them */
	if (is_of_whole)
		seconds = s->runs.wall.mean / 1e9;
	put_mode(s, l,
		 is_least      ? "in user mode, at least"
		 : is_of_whole ? "in user mode, whole command"
			       : "in user mode",
		 &user, seconds, is_whole ? sampled_ns(s) : 0);
	put_mode(s, l,
		 is_least      ? "in the kernel, at least, not sampled"
		 : is_of_whole ? "in the kernel, whole command, not sampled"
			       : "in the kernel, not sampled",
		 &system, seconds, 0);
}

/* Of a user who may not measure the kernel nothing else says how much the samples lack: the counts
 * of their clock are in the kernel, too. */
static void put_missed(const struct summary *s)
{
	enum { NOTABLE_NS = 20000000 };
	const struct summary_target_modes modes = summary_target_modes(s);
	const struct spread *user = &s->runs.user;
	const double used = user->mean * (double)user->nr, sampled = sampled_ns(s);

	if (!s->facts->is_sampling || modes.has_kernel || !modes.is_open || job_is_tight(s->j) ||
	    profile_session_has_switches(s->input->session) || s->runs.nr != user->nr ||
	    summary_target_is_partial(s) || summary_target_is_of_proc(s))
		return;
	if (sampled < 0 || sampled > used * 3 / 4 || used - sampled < NOTABLE_NS ||
	    used - sampled > most_between_samples_ns(s))
		return; /* or something else is the cause: --cpu, --no-children */
	buf_printf(s->out,
		   "  samples have %s %% of the time in user mode: tasks that end before their "
		   "first sample are missed (--spec-file=program has their time, by records of "
		   "switches)\n",
		   DECIMAL(100 * sampled / used, 1));
}

void summary_target_put_counts(struct summary *s, bool are_runs, double seconds)
{
	struct layout_column columns[] = {
	    [NAME] = {.is_left = true}, [NUMBER] = {.gap = 2, .width = 9},
	    [HALF] = {.is_left = true}, [RATE] = {.gap = 2, .width = 9},
	    [RUNNING] = {.gap = 2},     [SCOPE] = {.is_left = true},
	};
	struct layout l;

	columns[HALF].gap = are_runs ? 1 : 0;
	layout_init(&l, columns, NR_PARTS);
	for (size_t i = 0; i < s->table->nr_columns; i++)
		if (s->totals->column[i].spread.nr &&
		    !sampled_event_is_sampled(&s->table->columns[i].sampling))
			put_count(s, &l, i, are_runs, seconds);
	put_modes(s, &l, seconds);
	layout_write(&l, 1, NR_PARTS, s->out);
	layout_fini(&l);
	put_missed(s);
}

/* In user mode, a line of the answer has these: put_usage. */
static bool is_printed_of_target(const struct summary *s, const struct table_column *c)
{
	const struct summary_target_modes modes = summary_target_modes(s);

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
	buf_printf(s->out, "%s%s (%.*s)", is_next ? ", " : "  not measured: ", buf_str(&names),
		   (int)len, why);
	if (!job_is_tight(s->j))
		buf_addc(s->out, '\n');
}

void summary_target_put_missing(struct summary *s)
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

/* What the kernel does between the CPU time of two threads and the counting of events takes 1 to 10
 * us if the CPU was idle, more where others use the caches. */
static bool switches_explain(uint64_t nr, double missing_ns, double used_ns)
{
	enum { LONGEST_NS = 20000 };

	return missing_ns <= (double)nr * LONGEST_NS && missing_ns < used_ns * 3 / 4;
}

static void put_excluded(struct summary *s, double counted, double used)
{
	enum { MANY = 1000 };
	const struct trace_target *t = &s->target;
	const uint64_t nr = t->voluntary_switches + t->involuntary_switches;
	const bool is_process_only = summary_target_is_process_only(s);
	const bool has_many = nr >= MANY && !is_process_only;

	buf_printf(s->out, "  counted for %s %% of the CPU time", DECIMAL(100 * counted / used, 1));
	if (job_is_tight(s->j) && has_many && switches_explain(nr, used - counted, used)) {
		buf_printf(s->out, ", without work at %s switches\n", COMMAS(nr));
		return;
	}
	buf_adds(s->out, "\n  excluded: ");
	if (has_many && switches_explain(nr, used - counted, used))
		buf_printf(s->out,
			   "the kernel's work at context switches, %s at each of %s if nothing "
			   "else is\n",
			   HUMAN((used - counted) / (double)nr, "ns"), COMMAS(nr));
	else
		buf_printf(s->out,
			   "%s%sset-user-ID programs, the start and end of each task, CPUs not in "
			   "--cpu, time disabled by --control\n",
			   has_many ? "the kernel's work at context switches, " : "",
			   is_process_only ? "child processes (--no-children), " : "");
}

void summary_target_put_uncounted(struct summary *s, bool are_runs)
{
	double used = s->runs.user.mean + s->runs.system.mean, counted = used;
	const struct column_summary *sum;

	if (summary_target_is_partial(s) || (!are_runs && s->totals->nr_iterations > 1))
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
		put_excluded(s, counted, used);
}
