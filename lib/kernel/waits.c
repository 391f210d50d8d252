#include "kernel/waits.h"

#include "base/err.h"
#include "base/mem.h"
#include "bpf/aggregate.h"
#include "bpf/waits.h"
#include "kernel/ways.h"
#include "plan/notes.h"
#include "plan/plan.h"
#include "pmu/group.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct kernel_waits {
	struct source_use use;
	struct waits *programs; /* owned */
	bool has_failed;        /* to settle, since the last notes */
};

#define MAX_RATE_NS (UINT64_C(1) << 42) /* as bpf/waits.h */

/* Waits are sampled by their length, and their samples have no place for others' counts. */
static int check_sampled(const struct plan *plan, const struct plan_event *p, struct err *e)
{
	const char *group = p->event.group->name, *name = p->event.row->name;

	if (!event_can_be_sampled(&p->event))
		return source_refuse_sampling(p, "", e);
	if (p == plan->timebase)
		return source_refuse_timebase(p, e);
	if (p->asked->frequency)
		return err_set(e, -EINVAL,
			       "%s:%s has no frequency: its rate is the ns of waiting per sample",
			       group, name);
	if (source_check_once(plan, p, e))
		return -EINVAL;
	return p->asked->rate <= MAX_RATE_NS
		   ? 0
		   : err_set(e, -EINVAL, "%s:%s: the rate is at most %" PRIu64 " ns", group, name,
			     MAX_RATE_NS);
}

static int check(const struct plan *plan, const struct plan_event *p, struct spec_pos *pos,
		 struct err *e)
{
	if (p->asked->flags & SPEC_WAKER && event_wait(&p->event) != WAITS_OFF_CPU) {
		*pos = p->asked->flags_pos;
		err_set(e, -EINVAL, "%s:%s has no waker", p->event.group->name, p->event.row->name);
		err_hint(e, "the flag \"waker\" is for sched:off_cpu_time");
		return -EINVAL;
	}
	if (p->source != &kernel_waits_source ||
	    !(spec_event_is_sampled(p->asked) || p == plan->timebase))
		return 0;
	return check_sampled(plan, p, e);
}

void kernel_waits_check(struct event_support *out)
{
	const struct waits_config config = {.has_wakers = false};
	struct waits *w = NULL;
	struct err e = {0};
	int rc = waits_open(&config, &w, &e);

	*out = (struct event_support){.state = READING_OK};
	if (rc)
		source_explain(rc, &e, out);
	waits_close(w);
}

static enum waits_kind kind_of(const struct source_use *u, size_t event)
{
	return (enum waits_kind)event_wait(&u->plan->events[event].event);
}

static void configure(struct waits_config *config, const struct plan *plan, size_t event)
{
	const struct plan_event *p = &plan->events[event];
	const int wait = p->set == PLAN_NO_SET ? -1 : event_wait(&p->event);

	if (wait < 0)
		return;
	config->counts_wakeups |= wait == WAITS_WAKEUPS;
	config->has_wakers |= (p->asked->flags & SPEC_WAKER) != 0;
	if (!p->asked->rate)
		return;
	if (p->asked->flags & SPEC_WAKER && p->asked->is_unwound)
		config->waker_stack_bytes = (uint32_t)spec_event_max_stack(p->asked);
	config->mean_ns[wait] = plan_rate(plan, p);
	config->max_hz[wait] = p->asked->max_frequency;
	config->is_added_up[wait] = p->asked->is_aggregated;
	config->has_callchain |= (p->asked->flags & SPEC_CALLCHAIN) != 0;
	if (spec_event_max_stack(p->asked) > config->stack_bytes)
		config->stack_bytes = (uint32_t)spec_event_max_stack(p->asked);
}

/* Tasks that exist already are recognised by their process. */
static int add_processes(struct waits *w, const struct plan_target *t, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < t->nr_ids && !t->is_cgroup && rc == 0; i++)
		rc = waits_add_process(w, t->ids[i]);
	return rc ? err_set(e, rc, "the target cannot be followed: %s", strerror(-rc)) : 0;
}

static void close_programs(struct source_use *u)
{
	struct kernel_waits *w = (struct kernel_waits *)u;

	waits_close(w->programs);
	source_use_clear(u);
}

static int open_programs(struct source_use *u, struct err *e)
{
	const struct plan *plan = u->plan;
	struct kernel_waits *w = (struct kernel_waits *)u;
	MEM_AUTO uint32_t *cpus = plan_list_cpus(plan);
	const struct aggregate_config tables = {.cpus = cpus, .nr_cpus = plan->nr_cpus};
	struct waits_config config = {.tables = &tables,
				      .max_stack = (uint32_t)plan_aggregate_stack(plan),
				      .follow = plan_follow(plan),
				      .interpreted = u->core->interpreted,
				      .interprets_asleep = u->core->interprets_asleep,
				      .on_lasting = u->core->add_wait,
				      .arg = u->core->sampling};
	int rc;

	for (size_t i = 0; i < plan->nr_events; i++) {
		configure(&config, plan, i);
		config.selects |=
		    plan->target.is_command && plan_is_selected(plan, &plan->events[i]);
	}
	rc = cpus ? waits_open(&config, &w->programs, e) : -ENOMEM;
	if (rc == -ENOTSUP && config.selects) { /* waits may be measured without that program */
		err_clear(e);
		config.selects = false;
		rc = waits_open(&config, &w->programs, e);
	}
	rc = rc ?: add_processes(w->programs, &plan->target, e);
	if (rc)
		close_programs(u);
	return rc;
}

static int open_aggregate(struct source_use *u, size_t event, const struct aggregate_config *config,
			  struct aggregate **out, struct err *e)
{
	return waits_open_aggregate(((struct kernel_waits *)u)->programs, kind_of(u, event), config,
				    out, e);
}

static int connect_output(const struct source_use *u, size_t event, uint32_t cpu, int fd)
{
	return spec_event_is_sampled(u->plan->events[event].asked)
		   ? waits_add_output(((const struct kernel_waits *)u)->programs, kind_of(u, event),
				      cpu, fd)
		   : 0;
}

static struct selected_program get_selected(const struct source_use *u)
{
	return waits_selected(((const struct kernel_waits *)u)->programs);
}

static int begin(struct source_use *u)
{
	struct err e = {0};

	return waits_start(((struct kernel_waits *)u)->programs, &e);
}

static void enable(struct source_use *u, size_t event, bool is_enabled)
{
	waits_switch(((struct kernel_waits *)u)->programs, kind_of(u, event), is_enabled);
}

static void settle(struct source_use *u, uint64_t now_ns)
{
	struct kernel_waits *w = (struct kernel_waits *)u;

	(void)now_ns;
	w->has_failed |= waits_settle(w->programs) != 0;
}

static int count(const struct source_use *u, size_t event, uint32_t cpu, struct pmu_count *out)
{
	out->raw = waits_sum(((const struct kernel_waits *)u)->programs, kind_of(u, event), cpu);
	return 0;
}

static void add_notes(struct source_use *u, struct notes *notes)
{
	struct kernel_waits *w = (struct kernel_waits *)u;

	if (w->has_failed)
		notes_add(notes, 0, "waits that last could not be added up");
	w->has_failed = false;
}

const struct source kernel_waits_source = {
    .name = "waits",
    .groups = {EVENT_GROUP_SCHED},
    .is_alone = true,
    .max_rate = MAX_RATE_NS,
    .check = check,
    .has_switches = ways_have_switches,
    .explain = ways_explain,
    .bytes = sizeof(struct kernel_waits),
    .open = open_programs,
    .close = close_programs,
    .selected = get_selected,
    .open_aggregate = open_aggregate,
    .connect = connect_output,
    .begin = begin,
    .enable = enable,
    .read = settle,
    .count = count,
    .notes = add_notes,
};
