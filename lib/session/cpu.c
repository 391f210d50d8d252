/*
 * One measured CPU.
 */
#include "session/cpu.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "session/source_uses.h"

#include <errno.h>

static const uint32_t NO_GROUP = UINT32_MAX;

static const struct plan_event *event_of(const struct session_cpu *c, size_t part)
{
	return &c->plan->events[c->plan->parts[part].event];
}

int session_cpu_init(struct session_cpu *c, const struct plan *plan, uint32_t cpu, uint32_t trace)
{
	*c = (struct session_cpu){.plan = plan, .cpu = cpu, .trace = trace};
	c->errors = mem_calloc(plan->nr_events, sizeof(*c->errors));
	c->refused = mem_calloc(plan->nr_events, sizeof(*c->refused));
	c->group_of = mem_calloc(plan->nr_events, sizeof(*c->group_of));
	c->start = mem_calloc(plan->nr_parts, sizeof(*c->start));
	c->end = mem_calloc(plan->nr_parts, sizeof(*c->end));
	c->lost = mem_calloc(plan->nr_parts, sizeof(*c->lost));
	if (!c->errors || !c->refused || !c->group_of || !c->start || !c->end || !c->lost) {
		session_cpu_fini(c);
		return -ENOMEM;
	}
	return 0;
}

void session_cpu_fini(struct session_cpu *c)
{
	session_cpu_close(c);
	mem_free(c->errors);
	mem_free(c->refused);
	mem_free(c->group_of);
	mem_free(c->start);
	mem_free(c->end);
	mem_free(c->lost);
	*c = (struct session_cpu){0};
}

/* The plan's index of the event that leads the group. */
static uint32_t leader_of(const struct session_cpu *c, const struct pmu_group *g)
{
	return c->plan->parts[g->members[0].event].event;
}

static bool is_off(const struct session_cpu *c, size_t event)
{
	return c->is_off && c->is_off[event];
}

/* True if neither its opening nor exec may enable the event. */
static bool stays_disabled(const struct session_cpu *c, size_t event)
{
	return plan_is_resumed(c->plan) || is_off(c, event);
}

/* A thread that is created while its creator's events are enabled inherits disabled ones, and the
 * kernel exchanges the events of the two whenever it likes (perf_event_context_sched_out()): then
 * neither is counted. Events of tasks that run already count from their opening. */
static bool is_open_enabled(const struct session_cpu *c, size_t event)
{
	return stays_disabled(c, event) ||
	       (plan_is_attached(c->plan) && !plan_adds_up_in_kernel(&c->plan->events[event]));
}

/* event: the leader; id: of the target, or -1. */
static int add_group(struct session_cpu *c, const struct kernel_probe *p, size_t event, pid_t id)
{
	struct pmu_group *g = MEM_ADD(c->groups, c->nr_groups, c->group_room);
	int cpu = c->cpu == PLAN_ANY_CPU ? -1 : (int)c->cpu;

	if (!g)
		return -ENOMEM;
	if (id >= 0 && c->plan->target.is_cgroup && cpu >= 0)
		pmu_group_init_cgroup(g, p->pmu, id, cpu);
	else /* 0, this process: an event of a cgroup that is on no CPU only carries its numbers */
		pmu_group_init_task(g, p->pmu, id >= 0 && c->plan->target.is_cgroup ? 0 : id, cpu);
	g->is_open_enabled = id >= 0 && is_open_enabled(c, event);
	return 0;
}

/* Removes a new group whose leader could not be opened. */
static void drop_empty_group(struct session_cpu *c)
{
	if (c->nr_groups && c->groups[c->nr_groups - 1].nr_members == 0)
		c->nr_groups--;
}

/* If one part cannot be opened, the event is unusable here: a sum without a part would be wrong. */
static void set_result(struct session_cpu *c, const struct kernel_probe *p, size_t part,
		       size_t group, int error)
{
	uint32_t i = p->plan->parts[part].event;
	struct event_support why = {.state = READING_NONE};

	if (c->errors[i] || (error == ESRCH && plan_is_of_target(c->plan, &p->plan->events[i])))
		return; /* ESRCH: the task has just ended */
	if (error)
		event_support_explain_use(p->plan->host, &p->plan->events[i].event,
					  p->plan->events[i].asked->flags, error, &why);
	c->errors[i] = error;
	c->refused[i] = why.state;
	if (error)
		c->group_of[i] = NO_GROUP;
	else if (c->group_of[i] == NO_GROUP)
		c->group_of[i] = (uint32_t)group;
}

/* What measures the part; NULL: the kernel counts it by itself. */
static struct source_use *use_of(const struct session_cpu *c, size_t part)
{
	return c->uses ? c->uses[c->plan->parts[part].event] : NULL;
}

static int connect_source(const struct source_use *u, size_t event, uint32_t cpu, int fd)
{
	if (!u || u->error)
		return u ? u->error : 0;
	return u->source->connect ? u->source->connect(u, event, cpu, fd) : 0;
}

/* Sends what programs in the kernel sample to its event, the leader of the last group. */
static int connect_programs(struct session_cpu *c, size_t part)
{
	struct pmu_group *g = &c->groups[c->nr_groups - 1];
	int rc;

	if (plan_is_by_switches(c->plan, event_of(c, part)))
		return 0;
	rc = connect_source(use_of(c, part), c->plan->parts[part].event, c->cpu, g->members[0].fd);
	if (rc)
		pmu_group_fini(g);
	return rc;
}

/* Has the samples of the part, the leader of the last group, added up. Programs of sources do it by
 * themselves. */
static int connect_aggregate(struct session_cpu *c, const struct kernel_probe *p, size_t part)
{
	struct pmu_group *g = &c->groups[c->nr_groups - 1];
	const struct aggregate *a;
	int rc = -p->aggregate_error;

	if (!plan_adds_up_in_kernel(event_of(c, part)))
		return 0;
	a = p->aggregates[part];
	if (a && !use_of(c, part))
		rc = p->pmu->ioctl(g->members[0].fd, PERF_EVENT_IOC_SET_BPF,
				   (unsigned long)aggregate_program(a));
	if (rc)
		pmu_group_fini(g);
	return rc;
}

uint64_t session_cpu_row(const struct kernel_probe *p, const struct plan_event *ev)
{
	return event_is_clock(&ev->event) && !plan_is_of_tasks(p->plan, ev) ? p->in_step : 0;
}

bool session_cpu_samples_for_tasks(const struct session_cpu *c, const struct pmu_group *g)
{
	return g->pid < 0 && plan_is_of_tasks(c->plan, event_of(c, g->members[0].event));
}

/* The clock of the CPU samples all tasks, of which the program selects. */
static int connect_selected(struct session_cpu *c, const struct kernel_probe *p)
{
	struct pmu_group *g = &c->groups[c->nr_groups - 1];
	int rc = 0;

	if (session_cpu_samples_for_tasks(c, g))
		rc = p->pmu->ioctl(g->members[0].fd, PERF_EVENT_IOC_SET_BPF,
				   (unsigned long)p->selected.fd);
	if (rc)
		pmu_group_fini(g);
	return rc;
}

/* Of a clock whose samples are selected: what counts, or (id -1) what samples. */
static int add_member(struct pmu_group *g, const struct kernel_probe *p, size_t part)
{
	const struct perf_event_attr *attr = p->attrs[part];
	struct perf_event_attr of_both;

	if (event_attr_is_selected(attr)) {
		of_both = g->pid < 0 ? event_attr_sampling(attr) : event_attr_counting(attr);
		attr = &of_both;
	}
	return pmu_group_add(g, attr, (uint32_t)part);
}

/* Opens the part alone in a new group. */
static int add_alone(struct session_cpu *c, const struct kernel_probe *p, size_t part, pid_t id)
{
	int rc = add_group(c, p, p->plan->parts[part].event, id);

	if (rc)
		return rc;
	rc = add_member(&c->groups[c->nr_groups - 1], p, part);
	if (rc == 0)
		rc = connect_programs(c, part)
			 ?: connect_aggregate(c, p, part) ?: connect_selected(c, p);
	set_result(c, p, part, c->nr_groups - 1, -rc);
	drop_empty_group(c); /* it cannot be opened even alone */
	return 0;
}

/* Opens the part in the first group, from first on, that has room for it, else in a new one. */
static int add_part(struct session_cpu *c, const struct kernel_probe *p, size_t part, pid_t id,
		    size_t first)
{
	for (size_t g = first; g < c->nr_groups; g++) {
		int rc = pmu_group_add(&c->groups[g], p->attrs[part], (uint32_t)part);

		/* EINVAL from a sibling: validate_group() of the PMU found no room in this group */
		if (rc == -EINVAL || rc == -ENOSPC)
			continue;
		set_result(c, p, part, g, -rc);
		return 0;
	}
	return add_alone(c, p, part, id);
}

/* Opens the part in the timebase's group, which is the last one. */
static int add_sibling(struct session_cpu *c, const struct kernel_probe *p, size_t part,
		       size_t first)
{
	int rc = first < c->nr_groups
		     ? pmu_group_add(&c->groups[first], p->attrs[part], (uint32_t)part)
		     : -ECANCELED; /* the timebase itself could not be opened */

	set_result(c, p, part, first, -rc);
	return 0;
}

/* A thread that a running task creates between two members inherits a part of the group. Events
 * that need no counter of the PMU are better off alone. */
static bool stays_alone(const struct session_cpu *c, const struct kernel_probe *p, size_t part)
{
	return c->plan->has_control ||
	       (plan_is_attached(c->plan) && p->attrs[part]->type == PERF_TYPE_SOFTWARE);
}

static int open_part(struct session_cpu *c, const struct kernel_probe *p, size_t part, pid_t id,
		     enum plan_set set, size_t first)
{
	const struct plan_event *event = &p->plan->events[p->plan->parts[part].event];

	switch (set) {
	case PLAN_ALONE:
	case PLAN_SAMPLING:
		return add_alone(c, p, part, id);
	case PLAN_TIMEBASE:
		return event == p->plan->timebase ? add_alone(c, p, part, id)
						  : add_sibling(c, p, part, first);
	default:
		return stays_alone(c, p, part) ? add_alone(c, p, part, id)
					       : add_part(c, p, part, id, first);
	}
}

static bool is_of_set(const struct session_cpu *c, size_t part, enum plan_set set, pid_t id)
{
	return event_of(c, part)->set == set &&
	       plan_is_of_target(c->plan, event_of(c, part)) == (id >= 0) &&
	       !plan_is_refused(c->plan, event_of(c, part)) &&
	       plan_part_is_on(c->plan, &c->plan->parts[part], c->cpu);
}

/* The timebase leads its group: its parts come first. */
static int open_set(struct session_cpu *c, const struct kernel_probe *p, enum plan_set set,
		    pid_t id)
{
	const struct plan_event *leader = set == PLAN_TIMEBASE ? p->plan->timebase : NULL;
	size_t first = c->nr_groups, at = leader ? leader->first_part : 0;
	int rc = 0;

	for (size_t k = at; leader && k < at + leader->nr_parts && rc == 0; k++)
		if (is_of_set(c, k, set, id))
			rc = open_part(c, p, k, id, set, first);
	for (size_t k = 0; k < p->plan->nr_parts && rc == 0; k++)
		if (&p->plan->events[p->plan->parts[k].event] != leader && is_of_set(c, k, set, id))
			rc = open_part(c, p, k, id, set, first);
	return rc;
}

/* On an offline CPU, an event that a PMU accepts fails with ENODEV (find_get_context() in the
 * kernel); one that no PMU accepts fails as usual. */
static bool is_offline(const struct session_cpu *c)
{
	for (size_t i = 0; i < c->plan->nr_events && c->nr_groups == 0; i++)
		if (c->errors[i] == ENODEV)
			return true;
	return false;
}

static void forget_results(struct session_cpu *c)
{
	for (size_t i = 0; i < c->plan->nr_events; i++) {
		c->errors[i] = 0;
		c->refused[i] = READING_NONE;
		c->group_of[i] = NO_GROUP;
	}
}

/* While a thread lives that inherited a part of the group, the kernel refuses to add it up
 * (ECHILD). Where events were exchanged, it refuses a member (EINVAL), or knows fewer (ENODEV). */
static bool is_torn(int rc)
{
	return rc == -ECHILD || rc == -EINVAL || rc == -ENODEV;
}

static bool complete_group(const struct kernel_probe *p, struct pmu_group *g)
{
	enum { MAX_TRIES = 100 };
	const struct pmu_group like = *g;
	struct pmu_count counts[PMU_GROUP_MAX_MEMBERS];
	int rc = pmu_group_read(g, counts);

	for (int i = 0; i < MAX_TRIES && is_torn(rc); i++)
		rc = pmu_group_reopen(g, &like, p->attrs) ?: pmu_group_read(g, counts);
	return g->nr_members == like.nr_members && !is_torn(rc);
}

/* Completes the groups of a running task, from first on. Members of those that cannot be are
 * opened alone, except beside a timebase, whose samples have them. */
static int complete_groups(struct session_cpu *c, const struct kernel_probe *p, size_t first,
			   pid_t id)
{
	int rc = 0;

	for (size_t g = first; g < c->nr_groups && rc == 0; g++) {
		const struct pmu_group was = c->groups[g];

		if (was.nr_members == 1 || complete_group(p, &c->groups[g]) ||
		    event_of(c, was.members[0].event)->set == PLAN_TIMEBASE)
			continue;
		pmu_group_fini(&c->groups[g]);
		c->groups[g--] = c->groups[--c->nr_groups];
		for (uint32_t i = 0; i < was.nr_members && rc == 0; i++)
			rc = add_alone(c, p, was.members[i].event, id);
	}
	return rc;
}

/* Opens the events of the machine (id -1), or those of a part of the target. */
static int open_sets(struct session_cpu *c, const struct kernel_probe *p, pid_t id)
{
	size_t first = c->nr_groups;
	int rc = 0;

	for (int set = 0; set < PLAN_NR_SETS && rc == 0; set++)
		rc = open_set(c, p, (enum plan_set)set, id);
	if (id >= 0 && rc == 0 && plan_is_attached(c->plan))
		rc = complete_groups(c, p, first, id);
	return rc;
}

/* Behind all others, which have the counts: these have what was lost. */
static int open_selected(struct session_cpu *c, const struct kernel_probe *p)
{
	int rc = 0;

	for (size_t k = 0; k < p->plan->nr_parts && rc == 0; k++)
		if (p->attrs[k] && event_attr_is_selected(p->attrs[k]) &&
		    plan_part_is_on(c->plan, &c->plan->parts[k], c->cpu))
			rc = add_alone(c, p, k, -1);
	return rc;
}

int session_cpu_open(struct session_cpu *c, const struct kernel_probe *p)
{
	int rc;

	forget_results(c);
	c->uses = p->uses;
	rc = open_sets(c, p, -1);
	for (size_t i = 0; i < c->plan->target.nr_ids && rc == 0; i++)
		rc = open_sets(c, p, c->plan->target.ids[i]);
	rc = rc ?: open_selected(c, p);
	if (rc == 0 && is_offline(c))
		rc = -ENODEV;
	c->is_open = rc == 0;
	for (size_t g = 0; g < c->nr_groups; g++)
		if (stays_disabled(c, leader_of(c, &c->groups[g])))
			(void)pmu_group_disable(&c->groups[g]);
	if (rc) {
		session_cpu_close(c);
		forget_results(c); /* an offline CPU shows nothing about its events */
	}
	return rc;
}

void session_cpu_close(struct session_cpu *c)
{
	for (size_t g = 0; g < c->nr_groups; g++)
		pmu_group_fini(&c->groups[g]);
	mem_free(c->groups);
	c->groups = NULL;
	c->nr_groups = c->group_room = 0;
	c->is_open = false;
}

void session_cpu_enable(struct session_cpu *c, bool waits_for_exec)
{
	/* a group that cannot be enabled reads as enabled for 0 ns: not counted, which is true */
	for (size_t g = 0; g < c->nr_groups; g++)
		if ((!waits_for_exec || c->groups[g].pid < 0) &&
		    !is_off(c, leader_of(c, &c->groups[g])))
			(void)pmu_group_enable(&c->groups[g]);
}

void session_cpu_switch(struct session_cpu *c, size_t event, bool is_enabled)
{
	for (size_t g = 0; g < c->nr_groups; g++)
		if (leader_of(c, &c->groups[g]) == event)
			(void)(is_enabled ? pmu_group_enable : pmu_group_disable)(&c->groups[g]);
}

void session_cpu_pause(struct session_cpu *c)
{
	for (size_t g = 0; g < c->nr_groups; g++)
		(void)pmu_group_disable(&c->groups[g]);
}

/* True if several groups count the same events, each of another task: their counts are added up. */
static bool is_added_up(const struct session_cpu *c, const struct pmu_group *g)
{
	return g->pid >= 0 && c->plan->target.nr_ids > 1;
}

static uint64_t add_lost(uint64_t a, uint64_t b)
{
	return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b;
}

/* Of a share: what the part is a share of. The part that counts the whole has no reading of its
 * own.
 */
static void set_whole(const struct session_cpu *c, size_t part, struct reading *out)
{
	const struct plan_event *p = event_of(c, part);
	struct reading *r = &out[part];

	if (p->event.row->kind != EVENT_SHARE)
		return;
	if (p->nr_parts == 1) {
		r->base = r->running_ns;
	} else if (part != p->first_part) {
		out[p->first_part].base = r->raw;
		r->state = READING_NONE;
	}
}

static void set_reading(const struct session_cpu *c, const struct pmu_group *g, uint32_t member,
			enum reading_state state, uint64_t time_ns, const struct pmu_count *count,
			struct reading *out)
{
	uint32_t part = g->members[member].event;
	struct reading *r = &out[part];

	bool is_first = !is_added_up(c, g) || r->state == READING_NONE;

	if (c->refused[c->plan->parts[part].event])
		return; /* another part of the event is missing */
	r->state = is_first || r->state == READING_OK ? state : r->state;
	r->time_ns = time_ns;
	if (!count)
		return;
	if (is_first) {
		c->lost[part] = r->raw = r->enabled_ns = r->running_ns = 0;
	}
	/* what an agent counts is not of one task: each group has all of it */
	if (is_first || !event_of(c, part)->source->is_in_target) {
		c->lost[part] = add_lost(c->lost[part], count->lost);
		r->raw += count->raw;
	}
	r->enabled_ns += count->enabled_ns;
	r->running_ns += count->running_ns;
	set_whole(c, part, out);
}

/* What programs in the kernel or agents count is not counted by its perf event, which is alone in
 * its group. */
static int set_programs(const struct session_cpu *c, const struct pmu_group *g,
			struct pmu_count *count)
{
	size_t part = g->members[0].event;
	const struct source_use *u = use_of(c, part);

	return u && u->is_open ? u->source->count(u, c->plan->parts[part].event, c->cpu, count) : 0;
}

/* The CPU is offline: the members return its last counts. */
static void read_detached(const struct session_cpu *c, const struct pmu_group *g, uint64_t time_ns,
			  struct reading *out)
{
	struct pmu_count counts[PMU_GROUP_MAX_MEMBERS];
	uint32_t got = pmu_group_read_detached(g, counts);

	(void)set_programs(c, g, counts);
	for (uint32_t i = 0; i < g->nr_members; i++)
		set_reading(c, g, i, got >> i & 1 ? READING_OFFLINE : READING_FAILED, time_ns,
			    got >> i & 1 ? &counts[i] : NULL, out);
}

/* When its CPU is offline, an event alone in its group can still be read, but its time stands
 * still: it lags behind the clock, and a second reading shows no progress. */
static bool is_frozen(struct pmu_group *g, const struct reading *before, uint64_t now_ns,
		      const struct pmu_count *count)
{
	enum { LAG_NS = 1000000 }; /* more than a reading takes */
	struct pmu_count again;
	const struct reading *r;

	if (!before || g->nr_members != 1 || g->pid >= 0 || g->is_disabled) /* a task may sleep */
		return false;
	r = &before[g->members[0].event];
	if (r->state != READING_OK ||
	    count->enabled_ns - r->enabled_ns + LAG_NS > now_ns - r->time_ns)
		return false;
	return pmu_group_read(g, &again) == 0 && again.enabled_ns == count->enabled_ns;
}

/* before: the readings of the previous boundary, or NULL. False if the group's CPU is offline. */
static bool read_group(const struct session_cpu *c, struct pmu_group *g,
		       const struct reading *before, struct reading *out)
{
	struct pmu_count counts[PMU_GROUP_MAX_MEMBERS];
	uint64_t now_ns = clock_monotonic_ns();
	int rc = pmu_group_read(g, counts);

	if (session_cpu_samples_for_tasks(c, g)) {
		c->lost[g->members[0].event] = rc ? UINT64_MAX : counts[0].lost;
		return rc != -ENODEV;
	}
	if (rc == 0 && is_frozen(g, before, now_ns, counts))
		rc = -ENODEV;
	if (rc == 0)
		rc = set_programs(c, g, counts);
	if (rc == -ENODEV) {
		read_detached(c, g, now_ns, out);
		return false;
	}
	if (plan_is_by_switches(c->plan, event_of(c, g->members[0].event)))
		return true; /* the reader counts it */
	for (uint32_t i = 0; i < g->nr_members; i++)
		set_reading(c, g, i, rc ? READING_FAILED : READING_OK, now_ns,
			    rc ? NULL : &counts[i], out);
	return true;
}

void session_cpu_leave(struct session_cpu *c, struct reading *out)
{
	for (size_t k = 0; k < c->plan->nr_parts; k++)
		if (c->group_of[c->plan->parts[k].event] != NO_GROUP && out[k].state == READING_OK)
			out[k].state = READING_OFFLINE;
	session_cpu_close(c);
	forget_results(c);
}

/* Sets READING_NONE, or the reason why there will be no reading. */
static void clear_reading(const struct session_cpu *c, size_t part, uint32_t instance,
			  struct reading *out)
{
	uint32_t event = c->plan->parts[part].event;
	bool is_first = part == c->plan->events[event].first_part;

	out[part] = (struct reading){.event = event,
				     .instance = instance,
				     .state = is_first ? c->refused[event] : READING_NONE};
}

/* The parts of an event that are on this CPU are numbered from 0. */
uint32_t session_cpu_instance(const struct session_cpu *c, size_t part)
{
	uint32_t instance = 0;

	for (size_t k = c->plan->events[c->plan->parts[part].event].first_part; k < part; k++)
		instance += plan_part_is_on(c->plan, &c->plan->parts[k], c->cpu);
	return instance;
}

static void clear_readings(const struct session_cpu *c, struct reading *out)
{
	for (size_t k = 0; k < c->plan->nr_parts; k++)
		clear_reading(c, k, session_cpu_instance(c, k), out);
}

static void mark_group(const struct pmu_group *g, const struct reading *before, struct reading *out)
{
	for (uint32_t i = 0; i < g->nr_members; i++) {
		uint32_t part = g->members[i].event;

		if (out[part].enabled_ns == before[part].enabled_ns)
			out[part].flags |= READING_DISABLED;
	}
}

void session_cpu_mark_disabled(const struct session_cpu *c, const struct reading *before,
			       struct reading *out)
{
	for (size_t g = 0; g < c->nr_groups; g++)
		if (is_off(c, leader_of(c, &c->groups[g])))
			mark_group(&c->groups[g], before, out);
}

bool session_cpu_read(struct session_cpu *c, struct reading *out)
{
	const struct reading *before = out == c->end ? c->start : NULL;
	bool here = true;

	clear_readings(c, out);
	for (size_t g = 0; g < c->nr_groups; g++)
		here &= read_group(c, &c->groups[g], before, out);
	if (before)
		session_cpu_mark_disabled(c, before, out);
	if (!here)
		session_cpu_leave(c, out);
	return here;
}

static enum plan_set set_of(const struct session_cpu *c, const struct pmu_group *g)
{
	return event_of(c, g->members[0].event)->set;
}

void session_cpu_peek(const struct session_cpu *c, struct reading *out)
{
	clear_readings(c, out);
	for (size_t g = 0; g < c->nr_groups; g++)
		(void)read_group(c, &c->groups[g], NULL, out);
}

void session_cpu_read_alone(const struct session_cpu *c, const bool *is_wanted, struct reading *out)
{
	clear_readings(c, out);
	for (size_t g = 0; g < c->nr_groups; g++)
		if (set_of(c, &c->groups[g]) == PLAN_ALONE &&
		    is_wanted[leader_of(c, &c->groups[g])])
			(void)read_group(c, &c->groups[g], NULL, out);
}

size_t session_cpu_restart(struct session_cpu *c)
{
	size_t nr = 0;

	for (size_t g = 0; g < c->nr_groups; g++) {
		struct pmu_group *group = &c->groups[g];

		if (!group->is_off)
			continue;
		nr += group->nr_members;
		(void)pmu_group_enable(group);
		if (!is_added_up(c, group))
			(void)read_group(c, group, NULL, c->start);
	}
	return nr;
}

/* The timebase's group was requested as one: it cannot be split. Nor are groups that are added up:
 * a new start reading would be of one task. */
static bool may_split(const struct session_cpu *c, const struct pmu_group *g)
{
	return g->nr_members > 1 && set_of(c, g) != PLAN_TIMEBASE && !is_added_up(c, g);
}

bool session_cpu_waits(const struct session_cpu *c)
{
	for (size_t g = 0; g < c->nr_groups; g++)
		if (c->groups[g].waits && may_split(c, &c->groups[g]))
			return true;
	return false;
}

void session_cpu_look(struct session_cpu *c)
{
	struct pmu_count counts[PMU_GROUP_MAX_MEMBERS];

	for (size_t g = 0; g < c->nr_groups; g++)
		if (c->groups[g].waits && may_split(c, &c->groups[g]))
			(void)pmu_group_read(&c->groups[g], counts);
}

/* A multiplexed group runs again once all others have run. */
static bool is_stuck(const struct session_cpu *c, const struct pmu_group *g)
{
	enum { ROTATION_NS = 12500000 }; /* more than a jiffy at 100 Hz */
	uint64_t others_ns = c->nr_groups * (uint64_t)ROTATION_NS;

	return may_split(c, g) && g->waited_ns >= SESSION_CPU_STUCK_NS && g->waited_ns >= others_ns;
}

static void open_alone(struct session_cpu *c, const struct kernel_probe *p, size_t part, pid_t id)
{
	uint32_t event = p->plan->parts[part].event;
	int rc;

	c->group_of[event] = NO_GROUP;
	rc = add_alone(c, p, part, id);
	if (rc)
		set_result(c, p, part, 0, -rc);
	clear_reading(c, part, c->start[part].instance, c->start);
}

static size_t split_group(struct session_cpu *c, const struct kernel_probe *p, size_t which)
{
	struct pmu_group old = c->groups[which];
	size_t first = c->nr_groups, nr = old.nr_members;
	uint32_t parts[PMU_GROUP_MAX_MEMBERS];

	for (size_t i = 0; i < nr; i++)
		parts[i] = old.members[i].event;
	pmu_group_fini(&c->groups[which]);
	for (size_t i = 0; i < nr; i++)
		open_alone(c, p, parts[i], old.pid);
	for (size_t g = first; g < c->nr_groups; g++) {
		(void)pmu_group_enable(&c->groups[g]);
		(void)read_group(c, &c->groups[g], NULL, c->start);
	}
	return nr;
}

size_t session_cpu_split(struct session_cpu *c, const struct kernel_probe *p)
{
	size_t nr = 0, nr_groups = c->nr_groups;

	for (size_t g = 0; g < nr_groups; g++)
		if (is_stuck(c, &c->groups[g]))
			nr += split_group(c, p, g);
	return nr;
}
