#include "kernel/probes.h"

#include "base/err.h"
#include "base/mem.h"
#include "bpf/probes.h"
#include "event/usdt.h"
#include "host/host.h"
#include "plan/plan.h"
#include "pmu/group.h"

#include <errno.h>
#include <stdio.h>

struct kernel_probes {
	struct source_use use;
	struct probes *programs; /* owned */
	size_t nr_events;
	uint32_t events[PROBES_MAX_EVENTS]; /* of the plan, by the program's number */
};

/* The type of the PMU of uprobes. */
static int find_pmu(const struct host *h, uint32_t *type, struct err *e)
{
	const struct host_pmu *pmu = host_find_pmu(h, "uprobe");

	if (!pmu)
		return err_set(e, -ENOTSUP,
			       "this kernel has no PMU for probes in programs (uprobe: "
			       "CONFIG_UPROBE_EVENTS)");
	*type = pmu->type;
	return 0;
}

void kernel_probes_check(const struct host *h, struct event_support *out)
{
	const uint64_t rate = 0;
	struct probes_config config = {.nr_events = 1, .rates = &rate};
	struct probes *programs = NULL;
	struct err e = {0};
	int rc = find_pmu(h, &config.pmu, &e) ?: probes_open(&config, &programs, &e);

	*out = (struct event_support){.state = READING_OK};
	if (rc)
		source_explain(rc, &e, out);
	probes_close(programs);
}

/* The program's number of the plan's event; PROBES_MAX_EVENTS: none. */
static size_t slot_of(const struct kernel_probes *p, size_t event)
{
	for (size_t i = 0; i < p->nr_events; i++)
		if (p->events[i] == event)
			return i;
	return PROBES_MAX_EVENTS;
}

/* The places of all events, an array to be freed. */
static int find_places(struct kernel_probes *p, uint64_t rates[PROBES_MAX_EVENTS],
		       struct probes_place **places, size_t *nr_places)
{
	size_t nr = 0, room = 0;

	p->nr_events = 0;
	for (size_t i = 0; i < p->use.plan->nr_events; i++) {
		const struct plan_event *ev = &p->use.plan->events[i];

		if (ev->set == PLAN_NO_SET || !event_is_probe(&ev->event) ||
		    p->nr_events == PROBES_MAX_EVENTS)
			continue;
		for (uint32_t k = 0; k < ev->event.row->nr_probes; k++) {
			const struct event_probe *from = &ev->event.row->probes[k];
			struct probes_place *place = MEM_ADD(*places, nr, room);

			if (!place)
				return -ENOMEM;
			*place = (struct probes_place){.event = (uint32_t)p->nr_events,
						       .path = from->path,
						       .offset = from->offset,
						       .semaphore = from->semaphore};
		}
		rates[p->nr_events] = plan_rate(p->use.plan, ev);
		p->events[p->nr_events++] = (uint32_t)i;
	}
	*nr_places = nr;
	return 0;
}

static int start(struct kernel_probes *p, const struct probes_config *config, struct err *e)
{
	const struct plan_target *t = &p->use.plan->target;
	int rc = probes_open(config, &p->programs, e);

	for (size_t i = 0; i < t->nr_ids && !t->is_cgroup && rc == 0; i++)
		(void)probes_add_process(p->programs, t->ids[i]); /* a thread, or it has ended */
	return rc ?: probes_start(p->programs, config, e);
}

static void close_program(struct source_use *u)
{
	struct kernel_probes *p = (struct kernel_probes *)u;

	probes_close(p->programs);
	source_use_clear(u);
}

static int open_program(struct source_use *u, struct err *e)
{
	struct kernel_probes *p = (struct kernel_probes *)u;
	uint64_t rates[PROBES_MAX_EVENTS] = {0};
	MEM_AUTO struct probes_place *places = NULL;
	struct probes_config config = {.follow = plan_follow(u->plan),
				       .cpu = (uint32_t)cpuset_next(&u->plan->cpus, 0),
				       .cpus = u->plan->has_all_cpus ? NULL : &u->plan->cpus,
				       .rates = rates};
	int rc = find_places(p, rates, &places, &config.nr_places);

	config.nr_events = p->nr_events;
	config.places = places;
	rc = rc ?: find_pmu(u->plan->host, &config.pmu, e) ?: start(p, &config, e);
	if (rc)
		close_program(u);
	return rc;
}

static int connect_output(const struct source_use *u, size_t event, uint32_t cpu, int fd)
{
	const struct kernel_probes *p = (const struct kernel_probes *)u;
	size_t slot = slot_of(p, event);

	return slot < PROBES_MAX_EVENTS && spec_event_is_sampled(u->plan->events[event].asked)
		   ? probes_add_output(p->programs, slot, cpu, fd)
		   : 0;
}

static void enable(struct source_use *u, size_t event, bool is_enabled)
{
	struct kernel_probes *p = (struct kernel_probes *)u;
	size_t slot = slot_of(p, event);

	if (slot < PROBES_MAX_EVENTS)
		probes_switch(p->programs, slot, is_enabled);
}

/* What the ring had no room for, PERF_FORMAT_LOST counts too. */
static int count(const struct source_use *u, size_t event, uint32_t cpu, struct pmu_count *out)
{
	const struct kernel_probes *p = (const struct kernel_probes *)u;
	size_t slot = slot_of(p, event);

	out->raw = out->lost = 0;
	if (slot < PROBES_MAX_EVENTS)
		out->raw = probes_count(p->programs, slot, cpu, &out->lost);
	return 0;
}

/* A breakpoint that may change what the program computes needs a word in the spec; and probes are
 * sampled by their number. */
static int check(const struct plan *plan, const struct plan_event *p, struct spec_pos *pos,
		 struct err *e)
{
	const char *name = p->event.row->name;

	if (p->source != &kernel_probes_source) {
		*pos = p->asked->flags_pos;
		return p->asked->flags & SPEC_UNSAFE && p->event.group->id != EVENT_GROUP_FUNCTION
			   ? err_set(e, -EINVAL,
				     "the flag \"unsafe\" is for events of the groups usdt and "
				     "function")
			   : 0;
	}
	if (p->event.row->danger && !(p->asked->flags & SPEC_UNSAFE)) {
		err_set(e, -EINVAL, "usdt:%s is not probed: %s", name, p->event.row->danger);
		err_hint(e, "the flag \"unsafe\" of the event sets the breakpoint all the same");
		return -EINVAL;
	}
	if (p == plan->timebase)
		return source_refuse_timebase(p, e);
	return p->asked->frequency
		   ? err_set(e, -EINVAL,
			     "usdt:%s has no frequency: its rate is the hits per sample", name)
		   : 0;
}

const struct source kernel_probes_source = {
    .name = "probes",
    .groups = {EVENT_GROUP_USDT},
    .is_alone = true,
    .check = check,
    .bytes = sizeof(struct kernel_probes),
    .open = open_program,
    .close = close_program,
    .connect = connect_output,
    .enable = enable,
    .count = count,
};
