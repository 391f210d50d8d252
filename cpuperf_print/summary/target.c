/*
 * What became of a command, in a few lines: its end, its time and memory, what was counted of it.
 */
#include "screen/layout.h"
#include "screen/number.h"
#include "summary/summary.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static void put_human(struct buf *out, double x, const char *unit, const char *behind)
{
	screen_human(out, x, unit);
	buf_adds(out, behind);
}

static void put_end(struct buf *out, const struct trace_target *t)
{
	int status = (int)t->status;
	const char *name;

	if (!(t->flags & TRACE_TARGET_HAS_ENDED)) {
		buf_adds(out, "was still running when the measuring ended");
	} else if (WIFSIGNALED(status)) {
		name = sigabbrev_np(WTERMSIG(status));
		buf_printf(out, "killed by signal %d%s%s", WTERMSIG(status), name ? ", SIG" : "",
			   name ? name : "");
	} else {
		buf_printf(out, "exit status %d", WEXITSTATUS(status));
	}
}

/* No event was measured in the kernel: this user may not, or the spec says so. */
static bool is_user_only(const struct summary *s)
{
	for (size_t i = 0; i < s->facts->nr_events; i++)
		if (s->facts->events[i].attr_bytes && s->facts->events[i].flags & TRACE_EVENT_OS)
			return false;
	return s->facts->nr_events;
}

/* What this user could not measure, as far as wait4 returned it. */
static void put_kernel_part(struct summary *s)
{
	const struct trace_target *t = &s->target;

	buf_adds(s->out, "  user mode only: ");
	put_human(s->out, (double)t->system_ns, "ns", " in the kernel were not sampled; ");
	buf_u64_commas(s->out, t->minor_faults + t->major_faults);
	buf_adds(s->out, " page faults, ");
	buf_u64_commas(s->out, t->voluntary_switches + t->involuntary_switches);
	buf_adds(s->out, " context switches (wait4)\n");
}

static void put_usage(struct summary *s)
{
	const struct trace_target *t = &s->target;
	uint64_t wall_ns = t->end_ns - t->start_ns;

	if (!(t->flags & TRACE_TARGET_HAS_ENDED) || t->end_ns <= t->start_ns)
		return;
	buf_adds(s->out, "  ");
	put_human(s->out, (double)wall_ns, "ns", " wall, ");
	screen_decimal(s->out, (double)(t->user_ns + t->system_ns) / (double)wall_ns, 2);
	buf_adds(s->out, " CPUs: ");
	put_human(s->out, (double)t->user_ns, "ns", " user, ");
	put_human(s->out, (double)t->system_ns, "ns", " system; peak memory ");
	buf_u64_commas(s->out, t->peak_bytes >> 10);
	buf_adds(s->out, " KiB in one process\n");
	if (is_user_only(s))
		put_kernel_part(s);
}

enum { NAME, NUMBER, RATE, RUNNING, NR_PARTS };

static void put_count(struct layout *l, const struct table_column *c,
		      const struct column_summary *sum, double seconds)
{
	double total = sum->max.is_real ? sum->real_sum : (double)sum->sum;

	layout_row(l);
	buf_printf(&l->text, "  %s", c->label);
	layout_cell(l, NAME);
	screen_human(&l->text, total, c->unit);
	layout_cell(l, NUMBER);
	if (seconds > 0 && strcmp(c->unit, "ns") == 0) {
		screen_decimal(&l->text, total / 1e9 / seconds, 2);
		buf_adds(&l->text, " CPUs");
	} else if (seconds > 0) {
		put_human(&l->text, total / seconds, c->unit, "/s");
	}
	layout_cell(l, RATE);
	if (sum->nr_multiplexed) {
		screen_running(&l->text, sum->min_running);
		buf_adds(&l->text, " running");
	}
	layout_cell(l, RUNNING);
}

/* The columns without a number, by their reason. */
static void put_missing(struct summary *s)
{
	const struct table *t = s->table;

	for (size_t i = 0; i < t->nr_columns; i++) {
		const char *why = t->columns[i].reason;
		bool is_first = true;

		if (s->totals->column[i].spread.nr || !why || !*why)
			continue;
		for (size_t k = 0; k < i && is_first; k++)
			is_first = s->totals->column[k].spread.nr || !t->columns[k].reason ||
				   strcmp(t->columns[k].reason, why) != 0;
		if (!is_first)
			continue;
		buf_adds(s->out, "  not counted: ");
		for (size_t k = i; k < t->nr_columns; k++)
			if (!s->totals->column[k].spread.nr && t->columns[k].reason &&
			    strcmp(t->columns[k].reason, why) == 0)
				buf_printf(s->out, "%s%s", k > i ? ", " : "", t->columns[k].label);
		buf_printf(s->out, " (%s)\n", why);
	}
}

void summary_target(struct summary *s)
{
	struct layout_column columns[] = {
	    [NAME] = {.is_left = true},
	    [NUMBER] = {.gap = 2, .width = 9},
	    [RATE] = {.gap = 2, .width = 9},
	    [RUNNING] = {.gap = 2},
	};
	double seconds = (double)(s->target.end_ns - s->target.start_ns) / 1e9;
	struct layout l;

	buf_printf(s->out, "%s: ", s->target.text);
	put_end(s->out, &s->target);
	buf_addc(s->out, '\n');
	put_usage(s);
	buf_addc(s->out, '\n');
	layout_init(&l, columns, NR_PARTS);
	for (size_t i = 0; i < s->table->nr_columns; i++)
		if (s->totals->column[i].spread.nr &&
		    !sampled_event_is_sampled(&s->table->columns[i].sampling))
			put_count(&l, &s->table->columns[i], &s->totals->column[i], seconds);
	layout_write(&l, 1, NR_PARTS, s->out);
	layout_fini(&l);
	put_missing(s);
}
