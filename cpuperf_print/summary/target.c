/*
 * What became of a command, in a few lines: its end, its time and memory, what was counted of it.
 */
#include "numbers.h"
#include "screen/layout.h"
#include "summary/summary.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static void put_usage(struct summary *s)
{
	const struct trace_target *t = &s->target;
	uint64_t wall_ns = t->end_ns - t->start_ns;
	bool has_kernel = !s->facts->nr_events;

	if (t->end_ns <= t->start_ns)
		return;
	if (t->flags & TRACE_TARGET_IS_ATTACHED) {
		buf_printf(s->out, "  %s measured\n", HUMAN((double)wall_ns, "ns"));
		return;
	}
	if (!(t->flags & TRACE_TARGET_HAS_ENDED))
		return;
	buf_printf(s->out,
		   "  %s wall, %s CPUs: %s user, %s system; peak memory %s KiB in one process\n",
		   HUMAN((double)wall_ns, "ns"),
		   DECIMAL((double)(t->user_ns + t->system_ns) / (double)wall_ns, 2),
		   HUMAN((double)t->user_ns, "ns"), HUMAN((double)t->system_ns, "ns"),
		   COMMAS(t->peak_bytes >> 10));
	/* no event was measured in the kernel: this user may not, or the spec excludes it */
	for (size_t i = 0; i < s->facts->nr_events; i++)
		has_kernel |=
		    s->facts->events[i].attr_bytes && s->facts->events[i].flags & TRACE_EVENT_OS;
	if (!has_kernel)
		buf_printf(s->out,
			   "  user mode only: %s in the kernel were not sampled; %s page faults, "
			   "%s context switches (wait4)\n",
			   HUMAN((double)t->system_ns, "ns"),
			   COMMAS(t->minor_faults + t->major_faults),
			   COMMAS(t->voluntary_switches + t->involuntary_switches));
}

enum { NAME, NUMBER, RATE, RUNNING, NR_PARTS };

static void put_count(struct layout *l, const struct table_column *c,
		      const struct column_summary *sum, double seconds)
{
	double total = c->metric          ? sum->spread.mean
		       : sum->max.is_real ? sum->real_sum
					  : (double)sum->sum;
	bool has_rate = !c->metric && seconds > 0;

	layout_row(l);
	buf_printf(&l->text, "  %s", c->label);
	layout_cell(l, NAME);
	screen_human(&l->text, total, c->unit);
	layout_cell(l, NUMBER);
	if (strcmp(c->unit, "ns") == 0 && has_rate)
		buf_printf(&l->text, "%s CPUs", DECIMAL(total / 1e9 / seconds, 2));
	else if (has_rate)
		buf_printf(&l->text, "%s/s", HUMAN(total / seconds, c->unit));
	layout_cell(l, RATE);
	if (sum->nr_multiplexed) {
		screen_running(&l->text, sum->min_running);
		buf_adds(&l->text, " running");
	}
	layout_cell(l, RUNNING);
}

/* Why an event has no number; NULL if it has one. Metrics have the reasons of their events. */
static const char *missing_reason(const struct summary *s, size_t i)
{
	const struct table_column *c = &s->table->columns[i];

	return s->totals->column[i].spread.nr || c->metric || !c->reason || !*c->reason ? NULL
											: c->reason;
}

/* The events without a number, by their reason. */
static void put_missing(struct summary *s)
{
	size_t nr = s->table->nr_columns;

	for (size_t i = 0; i < nr; i++) {
		const char *why = missing_reason(s, i), *other;
		bool is_first = why;

		for (size_t k = 0; k < i && is_first; k++)
			is_first = !(other = missing_reason(s, k)) || strcmp(other, why) != 0;
		if (!is_first)
			continue;
		buf_adds(s->out, "  not counted: ");
		for (size_t k = i; k < nr; k++)
			if ((other = missing_reason(s, k)) && strcmp(other, why) == 0)
				buf_printf(s->out, "%s%s", k > i ? ", " : "",
					   s->table->columns[k].label);
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
	const int status = (int)s->target.status;
	const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
	double seconds = (double)(s->target.end_ns - s->target.start_ns) / 1e9;
	struct layout l;

	if (!(s->target.flags & TRACE_TARGET_HAS_ENDED))
		buf_printf(s->out, "%s: still running when the measuring ended\n", s->target.text);
	else if (s->target.flags & TRACE_TARGET_IS_ATTACHED)
		buf_printf(s->out, "%s: ended\n", s->target.text);
	else if (WIFSIGNALED(status))
		buf_printf(s->out, "%s: killed by signal %d%s%s\n", s->target.text,
			   WTERMSIG(status), name ? ", SIG" : "", name ? name : "");
	else
		buf_printf(s->out, "%s: exit status %d\n", s->target.text, WEXITSTATUS(status));
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
