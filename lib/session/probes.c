#include "session/probes.h"

#include "base/err.h"
#include "base/mem.h"
#include "event/usdt.h"

#include <errno.h>
#include <stdio.h>

void session_probes_close(struct session_probes *p)
{
	probes_close(p->programs);
	p->programs = NULL;
}

void session_probes_fini(struct session_probes *p)
{
	session_probes_close(p);
	*p = (struct session_probes){0};
}

static void explain(int rc, const struct err *e, struct event_support *out)
{
	bool is_denied = rc == -EPERM;

	*out = (struct event_support){.state = is_denied ? READING_NO_PERMISSION
							 : READING_NOT_SUPPORTED};
	snprintf(out->reason, sizeof(out->reason), "%.255s", e->msg);
	snprintf(out->hint, sizeof(out->hint), "%s",
		 is_denied ? "run as root, or permit it to the program's file: RIGHTS in cpuperf(1)"
			   : "");
}

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

void session_probes_check(const struct host *h, struct event_support *out)
{
	const uint64_t rate = 0;
	struct probes_config config = {.nr_events = 1, .rates = &rate};
	struct probes *programs = NULL;
	struct err e = {0};
	int rc = find_pmu(h, &config.pmu, &e) ?: probes_open(&config, &programs, &e);

	*out = (struct event_support){.state = READING_OK};
	if (rc)
		explain(rc, &e, out);
	probes_close(programs);
}

/* The program's number of the plan's event; PROBES_MAX_EVENTS: none. */
static size_t slot_of(const struct session_probes *p, size_t event)
{
	for (size_t i = 0; i < p->nr_events; i++)
		if (p->events[i] == event)
			return i;
	return PROBES_MAX_EVENTS;
}

/* The places of all events, an array to be freed. */
static int find_places(struct session_probes *p, uint64_t rates[PROBES_MAX_EVENTS],
		       struct probes_place **places, size_t *nr_places)
{
	size_t nr = 0, room = 0;

	p->nr_events = 0;
	for (size_t i = 0; i < p->plan->nr_events; i++) {
		const struct plan_event *ev = &p->plan->events[i];

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
		rates[p->nr_events] = plan_rate(p->plan, ev);
		p->events[p->nr_events++] = (uint32_t)i;
	}
	*nr_places = nr;
	return 0;
}

static int start(struct session_probes *p, struct probes_config *config, struct err *e)
{
	const struct plan_target *t = &p->plan->target;
	int rc = find_pmu(p->plan->host, &config->pmu, e) ?: probes_open(config, &p->programs, e);

	for (size_t i = 0; i < t->nr_ids && !t->is_cgroup && rc == 0; i++)
		(void)probes_add_process(p->programs, t->ids[i]); /* a thread, or it has ended */
	return rc ?: probes_start(p->programs, config, e);
}

int session_probes_open(struct session_probes *p, const struct plan *plan)
{
	uint64_t rates[PROBES_MAX_EVENTS] = {0};
	MEM_AUTO struct probes_place *places = NULL;
	struct probes_config config = {.rates = rates,
				       .follow = plan_follow(plan),
				       .cpu = (uint32_t)cpuset_next(&plan->cpus, 0),
				       .cpus = plan->has_all_cpus ? NULL : &plan->cpus};
	struct err e = {0};
	int rc;

	if (p->programs || p->support.state)
		return 0;
	p->plan = plan;
	rc = find_places(p, rates, &places, &config.nr_places);
	config.nr_events = p->nr_events;
	config.places = places;
	if (rc || !p->nr_events)
		return rc;
	rc = start(p, &config, &e);
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	p->error = -rc;
	explain(rc, &e, &p->support);
	session_probes_close(p);
	return 0;
}

int session_probes_connect(const struct session_probes *p, size_t event, uint32_t cpu, int fd)
{
	size_t slot = slot_of(p, event);

	if (slot == PROBES_MAX_EVENTS)
		return 0;
	if (!p->programs)
		return -p->error;
	return spec_event_is_sampled(p->plan->events[event].asked)
		   ? probes_add_output(p->programs, slot, cpu, fd)
		   : 0;
}

void session_probes_switch(struct session_probes *p, size_t event, bool is_enabled)
{
	size_t slot = p->programs ? slot_of(p, event) : PROBES_MAX_EVENTS;

	if (slot < PROBES_MAX_EVENTS)
		probes_switch(p->programs, slot, is_enabled);
}

uint64_t session_probes_count(const struct session_probes *p, size_t event, uint32_t cpu,
			      uint64_t *lost)
{
	size_t slot = slot_of(p, event);

	*lost = 0;
	return p->programs && slot < PROBES_MAX_EVENTS ? probes_count(p->programs, slot, cpu, lost)
						       : 0;
}
