/*
 * Tables of what records of switches cannot measure.
 */
#include "kernel/ways.h"

#include "base/array.h"
#include "bpf/waits.h"

#include <stdio.h>
#include <string.h>

static bool is_of_wakeups(const struct plan *plan, const struct plan_event *p)
{
	(void)plan;
	return event_wait(&p->event) == WAITS_WAKEUPS;
}

static bool is_counted(const struct plan *plan, const struct plan_event *p)
{
	(void)plan;
	return !spec_event_is_sampled(p->asked);
}

static bool has_no_target(const struct plan *plan, const struct plan_event *p)
{
	(void)p;
	return !plan->target.nr_ids;
}

static bool has_cgroup(const struct plan *plan, const struct plan_event *p)
{
	(void)p;
	return plan->target.is_cgroup;
}

static bool has_some_cpus(const struct plan *plan, const struct plan_event *p)
{
	(void)p;
	return !plan->has_all_cpus;
}

static bool has_control(const struct plan *plan, const struct plan_event *p)
{
	(void)p;
	return plan->has_control;
}

static bool is_overwritten(const struct plan *plan, const struct plan_event *p)
{
	(void)p;
	return plan->spec->flight.span_ns;
}

static bool is_added_up(const struct plan *plan, const struct plan_event *p)
{
	(void)p;
	return ARRAY_ANY(x, plan->events, plan->nr_events,
			 event_wait(&x->event) >= 0 && spec_event_is_sampled(x->asked) &&
			     x->asked->is_aggregated);
}

/* The first that holds; what an option of the event mends is last. */
static const struct {
	bool (*holds)(const struct plan *plan, const struct plan_event *p);
	struct ways_refusal refusal;
} refusals[] = {
    {is_of_wakeups, {"records of switches do not show wakeups", ""}},
    {has_no_target,
     {"records of switches are those of a target's tasks", "measure a command or --pid"}},
    {has_cgroup,
     {"records of switches are those of processes, not of a control group", "measure --pid"}},
    {has_some_cpus,
     {"records of switches must be those of all CPUs", "measure all CPUs, without --cpu"}},
    {has_control,
     {"records of switches do not show when --control disabled them", "use --windows or --delay"}},
    {is_added_up, {"nothing adds up records of switches", "sample without aggregate"}},
    {is_overwritten,
     {"a flight recorder overwrites records of switches", "measure without --flight-recorder"}},
    {is_counted,
     {"by records of switches waits are sampled, not counted",
      "set a rate, as in sched:off_cpu_time@1000000"}},
};

const struct ways_refusal *ways_refuse_switches(const struct plan *plan, const struct plan_event *p)
{
	for (size_t i = 0; i < ARRAY_NR(refusals); i++)
		if (refusals[i].holds(plan, p))
			return &refusals[i].refusal;
	return NULL;
}

bool ways_have_switches(const struct plan *plan)
{
	return ARRAY_ANY(p, plan->events, plan->nr_events,
			 p->set == PLAN_SAMPLING && event_wait(&p->event) >= 0 &&
			     !ways_refuse_switches(plan, p));
}

/* The text is cut to the room that there is. */
static void add(char text[], size_t room, const char *separator, const char *more)
{
	size_t len = strlen(text);

	snprintf(text + len, room - len, "%s%s", len ? separator : "", more);
}

static void add_refusal(const struct ways_refusal *refusal, struct event_support *out)
{
	struct event_support programs = *out;

	add(out->reason, sizeof(out->reason), "; ", refusal->why);
	if (!*refusal->to_do)
		return;
	add(out->reason, sizeof(out->reason), ": ", refusal->to_do); /* answers print no hint */
	snprintf(out->hint, sizeof(out->hint), "%s", refusal->to_do);
	if (*programs.hint)
		add(out->hint, sizeof(out->hint), "; or ", programs.hint);
}

void ways_explain(const struct plan *plan, const struct plan_event *p, struct event_support *out)
{
	const struct ways_refusal *refusal = ways_refuse_switches(plan, p);

	if (refusal)
		add_refusal(refusal, out);
}

const char *ways_check(const struct event *ev, const struct event_support *programs,
		       const struct event_support *opened, bool has_switches,
		       struct event_support *out)
{
	const int wait = event_wait(ev);

	*out = programs->state == READING_OK ? *opened : *programs;
	if (out->state == READING_OK)
		return "programs in the kernel";
	if (wait == WAITS_WAKEUPS)
		add_refusal(&refusals[0].refusal, out);
	if (wait < 0 || wait == WAITS_WAKEUPS || !has_switches)
		return "";
	snprintf(out->reason, sizeof(out->reason), "only samples of a command or process");
	add(out->reason, sizeof(out->reason), ": ", programs->reason);
	out->state = READING_OK;
	return "records of switches";
}
