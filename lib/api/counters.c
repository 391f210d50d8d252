/*
 * From a plan to groups of counters.
 */
#include "api/counters.h"

#include "base/clock.h"
#include "base/mem.h"
#include "session/source_uses.h"

#include <errno.h>
#include <stdio.h>

/* Events of a kind share groups, the rest is opened alone. */
enum kind { OF_KERNEL, OF_PMU, ALONE, NR_KINDS };

/* Its address is another one in each thread. */
static _Thread_local char reader;

static const struct plan_event *event_of(const struct api_counters *c, size_t part)
{
	return &c->plan->events[c->plan->parts[part].event];
}

static enum kind kind_of(const struct plan_event *p)
{
	if (p->set == PLAN_ALONE)
		return ALONE;
	return p->event.group->id == EVENT_GROUP_SOFTWARE ||
		       p->event.group->id == EVENT_GROUP_TRACEPOINT
		   ? OF_KERNEL
		   : OF_PMU;
}

static void refuse(struct event_support *out, const char *reason, const char *hint)
{
	*out = (struct event_support){.state = READING_NOT_SUPPORTED};
	snprintf(out->reason, sizeof(out->reason), "%s", reason);
	snprintf(out->hint, sizeof(out->hint), "%s", hint);
}

/* Why a task cannot be measured, for a user without rights. */
static void refuse_task(const struct api_counters *c, const char *reason, struct event_support *out)
{
	*out = (struct event_support){.state = READING_NO_PERMISSION};
	snprintf(out->reason, sizeof(out->reason), "%s (perf_event_paranoid is %d)", reason,
		 c->plan->host->perf_event_paranoid);
}

/* What the plan knows is of whole CPUs; whether tasks may be measured, opening shows. */
static bool is_known_refusal(const struct api_counters *c, const struct event_support *s)
{
	return s->state != READING_OK && (c->cpu >= 0 || s->state != READING_NO_PERMISSION);
}

/* Whether the event can be opened at all in this way; else sets the reason. */
static bool is_countable(const struct api_counters *c, const struct plan_event *p,
			 struct event_support *out)
{
	bool is_of_session = p->set == PLAN_NO_SET || p->source->bytes;

	*out = p->support;
	if (!is_of_session && is_known_refusal(c, out))
		return false;
	if (is_of_session)
		refuse(out, "the kernel has no counter for it", "measure it in a session");
	else if (c->cpu < 0 && event_group_is_misc(p->event.group))
		refuse(out, "it is counted for CPUs, not for threads",
		       "open it for a CPU, or measure it in a session");
	else if (plan_is_refused(c->plan, p)) {
		refuse_task(c, "it occurs in the kernel, which this user may not measure", out);
		event_support_hint_rights(c->plan->host, 1, out);
	} else {
		*out = (struct event_support){.state = READING_OK};
		if (plan_flags(c->plan, p) != p->asked->flags)
			snprintf(out->reason, sizeof(out->reason),
				 "in user mode only: this user may not measure the kernel");
		return true;
	}
	return false;
}

static int make_attrs(struct api_counters *c, const struct api_counters_use *use)
{
	for (size_t k = 0; k < c->plan->nr_parts; k++) {
		const struct plan_event *p = event_of(c, k);
		const struct event_use how = {.flags = plan_flags(c->plan, p),
					      .is_inherited = use->is_inherited,
					      .stays_in_process = use->stays_in_process};

		if (!is_countable(c, p, &c->support[c->plan->parts[k].event]))
			continue;
		c->parts[k].attr = event_attr_new(&c->plan->parts[k].part, &how);
		if (!c->parts[k].attr)
			return -ENOMEM;
	}
	return 0;
}

/* A new group for the part. 0 or -errno; then there is none. */
static int add_alone(struct api_counters *c, size_t part, pid_t task)
{
	struct pmu_group *g = MEM_ADD(c->groups, c->nr_groups, c->group_room);
	int rc;

	if (!g)
		return -ENOMEM;
	pmu_group_init_task(g, c->pmu, task, c->cpu);
	g->is_open_enabled = true; /* an exec of the task must not start it */
	g->is_read_by_user = c->is_own_thread;
	rc = pmu_group_add(g, c->parts[part].attr, (uint32_t)part);
	c->nr_groups -= rc != 0;
	return rc;
}

/* Opens the part in a group from first on that has room, else in a new one. */
static int add_part(struct api_counters *c, size_t part, pid_t task, size_t first)
{
	for (size_t g = first; g < c->nr_groups; g++) {
		int rc = pmu_group_add(&c->groups[g], c->parts[part].attr, (uint32_t)part);

		/* EINVAL: the PMU has no counter left in this group */
		if (rc != -EINVAL && rc != -ENOSPC)
			return rc;
	}
	return add_alone(c, part, task);
}

static void explain(struct api_counters *c, size_t part, int error)
{
	const struct plan_event *p = event_of(c, part);
	struct event_support *out = &c->support[c->plan->parts[part].event];
	bool is_own = c->plan->target.is_user_only || host_may_measure_kernel(c->plan->host);

	event_support_explain_use(c->plan->host, &p->event, p->asked->flags, error, out);
	if (out->state != READING_NO_PERMISSION || c->cpu >= 0 || c->plan->host->may_perfmon)
		return;
	refuse_task(c,
		    is_own ? "it runs for another user, or has more rights"
			   : "this user may measure no process",
		    out);
	if (is_own)
		snprintf(out->hint, sizeof(out->hint), "run as root");
	else
		event_support_hint_rights(c->plan->host, 2, out);
}

/* The events of a kind, for one task (or -1). A thread that has ended meanwhile has no counts. */
static int open_kind(struct api_counters *c, enum kind kind, pid_t task)
{
	size_t first = c->nr_groups;

	for (size_t k = 0; k < c->plan->nr_parts; k++) {
		const struct plan_part *part = &c->plan->parts[k];
		int rc;

		if (!c->parts[k].attr || kind_of(event_of(c, k)) != kind ||
		    c->support[part->event].state != READING_OK ||
		    (c->cpu >= 0 && part->part.cpus &&
		     !cpuset_has(part->part.cpus, (unsigned)c->cpu)))
			continue;
		rc = kind == ALONE ? add_alone(c, k, task) : add_part(c, k, task, first);
		if (rc == -ENOMEM)
			return rc;
		if (rc && !(rc == -ESRCH && c->plan->target.nr_ids > 1))
			explain(c, k, -rc);
	}
	return 0;
}

static int open_task(struct api_counters *c, pid_t task)
{
	int rc = 0;

	for (int kind = 0; kind < NR_KINDS && rc == 0; kind++)
		rc = open_kind(c, (enum kind)kind, task);
	return rc;
}

/* An event none of whose parts is on the CPU. */
static void refuse_elsewhere(struct api_counters *c)
{
	for (size_t i = 0; i < c->plan->nr_events && c->cpu >= 0; i++) {
		const struct plan_event *p = &c->plan->events[i];
		bool is_here = false;

		for (size_t k = p->first_part; k < p->first_part + p->nr_parts; k++)
			is_here |= !c->plan->parts[k].part.cpus ||
				   cpuset_has(c->plan->parts[k].part.cpus, (unsigned)c->cpu);
		if (!is_here && c->support[i].state == READING_OK)
			refuse(&c->support[i], "its PMU does not count on this CPU",
			       "open it for another CPU");
	}
}

/* Events that this user may not open, and whose counts everybody may read. */
static void use_usage(struct api_counters *c)
{
	for (size_t k = 0; k < c->plan->nr_parts; k++) {
		const struct plan_event *p = event_of(c, k);
		struct event_support *s = &c->support[c->plan->parts[k].event];
		unsigned modes = p->asked->flags & (SPEC_OS | SPEC_USER);
		bool is_of_both = !modes || modes == (SPEC_OS | SPEC_USER);

		if (s->state != READING_NO_PERMISSION || !is_of_both || !api_usage_has(&p->event))
			continue;
		c->parts[k].is_usage = true;
		*s = (struct event_support){.state = READING_OK};
		snprintf(s->reason, sizeof(s->reason),
			 "from getrusage(2) and the CPU clock: this user may not open the event "
			 "(perf_event_paranoid is %d)",
			 c->plan->host->perf_event_paranoid);
	}
}

/* Without memory, read(2) reads them. */
static void map_pages(struct api_counters *c)
{
	c->users = mem_calloc(c->nr_groups, sizeof(*c->users));
	for (size_t g = 0; c->users && g < c->nr_groups; g++)
		(void)pmu_user_map(&c->users[g], &c->groups[g]);
}

int api_counters_open(struct api_counters *c, const struct api_counters_use *use)
{
	const struct plan_target *target = &c->plan->target;
	int rc;

	c->reader = &reader;
	c->is_own_thread = use->is_own_thread;
	c->usage = use->usage;
	c->parts = mem_calloc(c->plan->nr_parts, sizeof(*c->parts));
	c->support = mem_calloc(c->plan->nr_events, sizeof(*c->support));
	if (!c->parts || !c->support)
		return -ENOMEM;
	rc = make_attrs(c, use);
	refuse_elsewhere(c);
	for (size_t i = 0; i < target->nr_ids && rc == 0; i++)
		rc = open_task(c, target->ids[i]);
	if (rc == 0 && !target->nr_ids)
		rc = open_task(c, -1);
	if (rc == 0 && c->usage)
		use_usage(c);
	rc = rc ?: api_counters_switch(c, false);
	if (rc == 0 && c->is_own_thread)
		map_pages(c);
	return rc;
}

void api_counters_close(struct api_counters *c)
{
	for (size_t g = 0; g < c->nr_groups; g++)
		pmu_group_fini(&c->groups[g]);
	for (size_t g = 0; c->users && g < c->nr_groups; g++)
		pmu_user_unmap(&c->users[g]);
	mem_free(c->users);
	for (size_t k = 0; c->parts && k < c->plan->nr_parts; k++)
		mem_free(c->parts[k].attr);
	mem_free(c->groups);
	mem_free(c->parts);
	mem_free(c->support);
	*c = (struct api_counters){0};
}

static struct api_counter_usage usage_now(const struct api_counters *c, size_t part)
{
	return (struct api_counter_usage){
	    .raw = api_usage_read(&event_of(c, part)->event, c->usage), .ns = clock_monotonic_ns()};
}

static void switch_usage(struct api_counters *c, size_t k, bool is_on)
{
	struct api_counter *part = &c->parts[k];
	struct api_counter_usage now = usage_now(c, k);

	if (part->is_on) {
		part->sum.raw += now.raw - part->since.raw;
		part->sum.ns += now.ns - part->since.ns;
	}
	part->since = now;
	part->is_on = is_on;
}

/* What the calling thread has, only that thread can read. */
static void read_usage(struct api_counters *c, size_t k)
{
	struct api_counter *part = &c->parts[k];
	struct api_counter_usage now = usage_now(c, k);

	part->has_failed = c->usage == API_USAGE_OF_THREAD && c->reader != &reader;
	if (part->has_failed)
		return;
	part->raw = part->sum.raw + (part->is_on ? now.raw - part->since.raw : 0);
	part->enabled_ns = part->sum.ns + (part->is_on ? now.ns - part->since.ns : 0);
	part->running_ns = part->enabled_ns;
}

static bool may_switch(const struct api_counters *c, size_t k)
{
	return c->parts[k].is_usage && (c->usage != API_USAGE_OF_THREAD || c->reader == &reader);
}

int api_counters_switch(struct api_counters *c, bool is_enabled)
{
	int rc = 0;

	for (size_t k = 0; c->usage && k < c->plan->nr_parts; k++)
		if (may_switch(c, k))
			switch_usage(c, k, is_enabled);

	for (size_t g = 0; g < c->nr_groups; g++) {
		int one =
		    is_enabled ? pmu_group_enable(&c->groups[g]) : pmu_group_disable(&c->groups[g]);

		rc = rc ?: one;
	}
	return rc;
}

static void add_up(struct api_counters *c, const struct pmu_group *g, int rc,
		   const struct pmu_count *counts)
{
	for (uint32_t i = 0; i < g->nr_members; i++) {
		struct api_counter *part = &c->parts[g->members[i].event];

		part->has_failed |= rc != 0;
		if (rc)
			continue;
		part->raw += counts[i].raw;
		part->enabled_ns += counts[i].enabled_ns;
		part->running_ns += counts[i].running_ns;
	}
}

void api_counters_read(struct api_counters *c)
{
	struct pmu_count counts[PMU_GROUP_MAX_MEMBERS];

	for (size_t k = 0; k < c->plan->nr_parts; k++) {
		struct api_counter *part = &c->parts[k];

		part->raw = part->enabled_ns = part->running_ns = 0;
		part->has_failed = false;
		if (part->is_usage)
			read_usage(c, k);
	}
	for (size_t g = 0; g < c->nr_groups; g++) {
		bool is_read = c->users && c->reader == &reader &&
			       pmu_user_read(&c->users[g], &c->groups[g], counts);
		int rc = is_read ? 0 : pmu_group_read(&c->groups[g], counts);

		add_up(c, &c->groups[g], rc, counts);
	}
}
