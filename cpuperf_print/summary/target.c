/*
 * What became of a command, in a few lines: its end, its time and memory, what was counted of it.
 */
#include "summary/target.h"
#include "base/buf.h"
#include "base/cause.h"
#include "numbers.h"
#include "screen/latency.h"
#include "trace/record.h"

#include <math.h>
#include <string.h>

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

bool summary_target_is_partial(const struct summary *s)
{
	return s->totals->gap_ns || (s->facts->nr_removed && s->totals->cause != CAUSE_RUN);
}

bool summary_target_is_of_proc(const struct summary *s)
{
	return s->target.flags & TRACE_TARGET_IS_ATTACHED ||
	       !(s->target.flags & TRACE_TARGET_HAS_ENDED);
}

bool summary_target_find_count(const struct summary *s, const char *group, const char *name,
			       double *out)
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

struct summary_target_modes summary_target_modes(const struct summary *s)
{
	struct summary_target_modes m = {.has_kernel = !s->facts->nr_events};

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

bool summary_target_is_process_only(const struct summary *s)
{
	struct trace_layout layout;

	for (size_t i = 0; i < s->facts->nr_events; i++)
		if (trace_layout_init(&layout, s->facts->events[i].attr,
				      s->facts->events[i].attr_bytes) &&
		    layout.stays_in_process)
			return true;
	return false;
}

/* From the byte start on: lines that are too wide become shorter with few --rows; else they are
 * broken, but for the first one in a pipe: it is the command. Shorter ones that are still too wide
 * are broken, too. */
static void fit(struct summary *s, size_t start)
{
	const unsigned columns =
	    s->j->selection->rows ? job_columns(s->j) : output_columns(s->j->output);
	BUF_AUTO(text, s->out->max_bytes);
	const char *line, *next;

	if (buf_error(s->out) || start == s->out->len)
		return;
	if (!job_is_tight(s->j)) {
		next = s->j->output->width ? NULL : strchr(buf_str(s->out) + start, '\n');
		start = next ? (size_t)(next + 1 - s->out->data) : start;
		screen_wrap_lines(s->out, start, columns);
		return;
	}
	buf_adds(&text, s->out->data + start);
	buf_cut(s->out, start);
	for (line = buf_str(&text); *line; line = next + 1) {
		size_t at = s->out->len;

		next = strchr(line, '\n');
		if (!next)
			next = line + strlen(line) - 1;
		buf_add(s->out, line, (size_t)(next - line));
		screen_shorten(s->out, at, columns);
		screen_wrap_lines(s->out, at, columns);
		buf_addc(s->out, '\n');
	}
}

/* By --control. Of several runs the mean is not known. */
static void put_disabled(struct summary *s, double seconds)
{
	const struct trace_target *t = &s->target;

	if (t->flags & TRACE_TARGET_IS_DIVIDED)
		buf_adds(s->out,
			 "  --control disabled events for different times: counts have no rates\n");
	else if (t->disabled_ns)
		buf_printf(
		    s->out,
		    "  events were disabled for %s by --control; rates are over the other %s\n",
		    HUMAN((double)t->disabled_ns, "ns"),
		    HUMAN(fmax(seconds * 1e9 - (double)t->disabled_ns, 0), "ns"));
}

/* Below an empty line, if there are any. */
static void put_counts(struct summary *s, bool are_runs, double seconds)
{
	const size_t end = s->out->len;
	size_t begin;

	if (!job_is_tight(s->j))
		buf_addc(s->out, '\n');
	begin = s->out->len;
	summary_target_put_counts(s, are_runs, seconds);
	screen_latency_put(&s->totals->latencies, s->table, s->out);
	summary_target_put_missing(s);
	summary_target_put_uncounted(s, are_runs);
	if (s->out->len == begin)
		buf_cut(s->out, end);
}

void summary_target(struct summary *s)
{
	bool are_runs = s->totals->cause == CAUSE_RUN && summary_target_nr_runs(s) > 1;
	bool is_part = summary_target_is_partial(s) ||
		       (summary_target_is_of_proc(s) && s->target.flags & TRACE_TARGET_IS_COMMAND);
	uint64_t span_ns = is_part ? s->totals->measured_ns : s->target.end_ns - s->target.start_ns;
	double seconds = (are_runs ? s->runs.wall.mean : (double)span_ns) / 1e9;
	size_t start;

	s->j->output->has_target = true;
	conclusion_begin(s->j);
	start = s->out->len;
	summary_target_put_end(s, are_runs);
	if (*s->facts->removed)
		buf_printf(s->out, "  (%s; counts are of the %s after it)\n", s->facts->removed,
			   HUMAN((double)s->totals->measured_ns, "ns"));
	summary_target_put_usage(s);
	put_disabled(s, seconds);
	summary_target_put_states(s, are_runs);
	summary_target_put_left(s, are_runs);
	summary_target_put_hidden(s);
	put_counts(s, are_runs, seconds);
	fit(s, start);
}
