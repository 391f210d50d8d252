/*
 * The time and memory that a target used, of wait4, /proc and events.
 */
#include "base/buf.h"
#include "base/str.h"
#include "estimate/unit.h"
#include "numbers.h"
#include "summary/target.h"

/* "12.34 ms", of several "12.34 ms ± 0.120 ms". */
static void put_mean(struct buf *out, const struct spread *s, const char *unit)
{
	screen_human(out, s->mean, unit);
	if (s->nr > 1)
		buf_printf(out, " ± %s", HUMAN(spread_mean_half(s), unit));
}

/* Of one process, wait4 returned it. */
static void put_tree_peak(struct summary *s)
{
	const struct trace_target *t = &s->runs.tree_peak;

	if (job_is_tight(s->j) || !t->tree_peak_bytes ||
	    (!summary_target_is_of_proc(s) && t->tree_peak_processes == 1))
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

double summary_target_tick_ns(const struct summary *s)
{
	const struct trace_info *info = s->facts->info;

	return info && info->user_hz ? 1e9 / info->user_hz : 0;
}

void summary_target_put_proc_time(const struct summary *s, double ns, struct buf *out)
{
	bool is_below = ns < summary_target_tick_ns(s);

	buf_adds(out, is_below ? "< " : "");
	screen_human(out, is_below ? summary_target_tick_ns(s) : ns, "ns");
	buf_adds(out, is_below && s->target.tree_peak_processes > 1 ? " each" : "");
}

/* A command that went on: the CPU time by its event, else as /proc had it. */
static void put_measured(struct summary *s)
{
	const struct trace_target *t = &s->target;
	double ns = (double)s->totals->measured_ns,
	       used = (double)t->user_ns + (double)t->system_ns;
	struct unit u = unit_shown(EVENT_COUNT, "ns");
	bool is_counted = summary_target_find_count(s, "software", "task_clock", &used);

	buf_printf(s->out, "  %s measured", HUMAN(ns, "ns"));
	if (is_counted) /* while it was enabled */
		ns -= (double)t->disabled_ns;
	if (ns > 0 && used > 0 && !(t->flags & TRACE_TARGET_IS_DIVIDED) &&
	    (is_counted || !summary_target_is_partial(s))) {
		buf_adds(s->out, ", ");
		screen_rate(s->out, used / ns * 1e9 / u.divisor, &u);
		buf_adds(s->out, " CPU");
	}
	if (!summary_target_is_partial(s) && t->user_ns + t->system_ns) {
		buf_adds(s->out, ": at least ");
		summary_target_put_proc_time(s, (double)t->user_ns, s->out);
		buf_adds(s->out, " user, ");
		summary_target_put_proc_time(s, (double)t->system_ns, s->out);
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

void summary_target_put_usage(struct summary *s)
{
	const struct summary_target_modes modes = summary_target_modes(s);
	const char *mode = modes.is_open ? "user mode only" : "no event of it was counted";
	const struct trace_target *t = &s->target;
	const struct summary_runs *r = &s->runs;
	struct unit u = unit_shown(EVENT_COUNT, "ns");

	if (t->flags & TRACE_TARGET_IS_ATTACHED && t->end_ns > t->start_ns)
		buf_printf(s->out, "  %s measured\n",
			   HUMAN((double)(t->end_ns - t->start_ns), "ns"));
	else if (summary_target_is_of_proc(s))
		put_measured(s);
	if (summary_target_is_of_proc(s)) {
		put_tree_peak(s);
		if (!modes.has_kernel && (modes.is_open || modes.is_refused))
			put_user_only(s, mode);
	}
	if (!(r->wall.mean > 0))
		return;
	/* wait4 does not know what was measured */
	buf_printf(s->out, "  %s", summary_target_is_partial(s) ? "whole command: " : "");
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
		buf_printf(s->out, "  %s; %s page faults, %s context switches (wait4%s%s)\n", mode,
			   COMMAS(t->minor_faults + t->major_faults),
			   COMMAS(t->voluntary_switches + t->involuntary_switches), of_last_run(s),
			   summary_target_is_partial(s) ? ", whole command" : "");
}
