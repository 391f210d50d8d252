/*
 * Processes of a target that are not in the numbers, or run on.
 */
#include "base/buf.h"
#include "profile/processes.h"
#include "samples.h"
#include "summary/target.h"

enum { NR_NAMED = 8, MAX_NAMES_BYTES = 4096 };

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

void summary_target_put_left(struct summary *s, bool are_runs)
{
	struct input *input = &s->j->inputs->item[s->j->first];
	bool is_recorded = s->facts->is_sampling && !s->totals->lost;
	BUF_AUTO(names, MAX_NAMES_BYTES);
	size_t nr;

	if (!(s->target.flags & TRACE_TARGET_IS_COMMAND) || s->facts->is_unfinished ||
	    (is_recorded && inputs_load_processes(input)))
		return;
	nr = is_recorded ? list_recorded(s, &names) : s->target.nr_left;
	if (nr && summary_target_is_process_only(s))
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

/* The kernel ends the events of such a process, but not those of the CPUs. */
static bool are_sampled(const struct summary *s)
{
	for (uint32_t i = 0; i < s->facts->nr_events; i++)
		if (samples_are_selected(s->j, i))
			return true;
	return false;
}

void summary_target_put_hidden(struct summary *s)
{
	struct input *input = &s->j->inputs->item[s->j->first];
	bool is_recorded =
	    s->facts->is_sampling && !s->totals->lost && !summary_target_may_miss_tasks(s);
	BUF_AUTO(names, MAX_NAMES_BYTES);
	size_t nr;

	if (is_recorded && inputs_load_processes(input))
		return;
	nr = is_recorded ? list_recorded_hidden(s, &names) : s->target.nr_hidden;
	if (nr)
		buf_printf(s->out, "  %s (set-user-ID, capabilities or unreadable): %s%s\n",
			   are_sampled(s) ? "sampled, but not counted" : "not measured",
			   is_recorded ? buf_str(&names) : s->target.hidden,
			   nr > NR_NAMED ? ", ..." : "");
}
