/*
 * The rings of one measured CPU: which events write into them, and who was measured (the side
 * band).
 */
#include "session/sampler.h"

#include "base/mem.h"
#include "base/perf_abi.h"
#include "event/event.h"
#include "interpreters/interpreters.h"
#include "session/source_uses.h"
#include "whole/record.h"
#include "whole/sums.h"
#include "whole/whole.h"

#include <errno.h>

enum {
	SIDE_BAND_BYTES = 1 << 20,
	SUMS_BYTES = 8 << 20, /* of the stacks of an iteration and CPU */
};

static enum plan_set set_of(const struct session_cpu *c, size_t part)
{
	return c->plan->events[c->plan->parts[part].event].set;
}

static bool is_sampled(const struct session_cpu *c, size_t part)
{
	return spec_event_is_sampled(c->plan->events[c->plan->parts[part].event].asked);
}

static bool is_of_tasks(const struct sampler *s)
{
	return s->cpu->plan->target.nr_ids && !s->cpu->plan->target.is_cgroup;
}

/* Opens a side-band event with what the kernel supports. pid: a task, -1 for the machine, or 0 for
 * this thread: disabled, since its own records belong to nobody's target. */
static int open_side_band_event(const struct sampler *s, pid_t pid, uint32_t wakeup_bytes,
				bool is_overwritten)
{
	bool is_user_only = s->cpu->plan->target.is_user_only;
	int fd = -ENOMEM;

	for (unsigned level = 0;; level++) {
		struct perf_event_attr *attr =
		    event_attr_side_band(level, pid > 0, is_user_only, wakeup_bytes);

		if (!attr)
			return fd;
		attr->disabled = pid == 0;
		attr->write_backward = is_overwritten;
		fd = s->pmu->open(attr, pid, (int)s->cpu->cpu, -1, 0);
		mem_free(attr);
		if (fd != -EINVAL && fd != -E2BIG)
			return fd;
	}
}

/*
 * Opens the ring if it is not open, else sends the event's records to it. The ring of tasks is on
 * an event of this thread that stays disabled: poll returns POLLHUP for the ring of an event whose
 * task has ended, also while others write to it. The kernel refuses to mix events that write in
 * different directions.
 */
static int join_ring(struct sampler *s, struct pmu_ring *ring, int fd, uint64_t bytes)
{
	bool is_overwritten = ring == &s->ring && s->span_ns;
	int owner;

	if (ring->base)
		return pmu_ring_join(ring, fd);
	if (!is_of_tasks(s))
		return pmu_ring_open(ring, s->pmu, fd, bytes, is_overwritten);
	owner = open_side_band_event(s, 0, (uint32_t)(bytes / 4), is_overwritten);
	if (owner < 0)
		return owner;
	s->owner_fds[s->nr_owner_fds++] = owner;
	return pmu_ring_open(ring, s->pmu, owner, bytes, is_overwritten) ?: pmu_ring_join(ring, fd);
}

static bool has_ring(const struct session_cpu *c, size_t part)
{
	return !c->plan->events[c->plan->parts[part].event].source->is_in_target;
}

static bool is_maximum(const struct perf_event_attr *a)
{
	return perf_abi_heap_is_maximum(perf_abi_heap(a->type, a->config, a->config1));
}

/* What is selected has a program, and the samples of what only paces have no place. */
static bool is_interpreted(const struct kernel_probe *p, uint32_t part)
{
	const struct perf_event_attr *attr = p->attrs[part];

	return p->interpreters && !p->uses[p->plan->parts[part].event] &&
	       !event_attr_is_selected(attr) &&
	       attr->sample_type &
		   (PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER);
}

/* Each sampling event writes into the same ring, but for those without one. */
static int attach(struct sampler *s, const struct kernel_probe *p, const struct pmu_member *m,
		  uint64_t id, uint64_t ring_bytes)
{
	const bool is_in_ring = has_ring(s->cpu, m->event);
	struct source_use *use = is_in_ring ? NULL : p->uses[p->plan->parts[m->event].event];
	uint32_t i = 0;
	int rc = is_in_ring ? join_ring(s, &s->ring, m->fd, ring_bytes) : 0;

	if (rc)
		return rc;
	if (is_in_ring && is_interpreted(p, m->event))
		(void)s->pmu->ioctl(m->fd, PERF_EVENT_IOC_SET_BPF,
				    (unsigned long)interpreters_program(p->interpreters));
	while (i < s->scan.nr_events && s->events[i].part != m->event)
		i++;
	if (i == s->scan.nr_events) {
		s->events[i] = (struct sampler_event){.part = m->event,
						      .aggregate = p->aggregates[m->event],
						      .use = use,
						      .is_maximum = is_maximum(p->attrs[m->event]),
						      .attr = p->attrs[m->event],
						      .id = id};
		pmu_scan_event_init(&s->counts[i], p->attrs[m->event]);
		s->scan.nr_events++;
	}
	s->scan_ids[s->scan.nr_ids++] = (struct pmu_scan_id){id, i};
	return 0;
}

bool sampler_unwinds(const struct plan_event *p, const struct perf_event_attr *attr)
{
	return p->asked->is_unwound && whole_record_is_possible(attr);
}

/* Without memory each is written. */
static void add_up(struct sampler *s, const struct trace_id *id, const struct perf_event_attr *attr,
		   uint64_t row)
{
	const struct perf_event_attr unwound = whole_record_attr(attr);

	if (!s->sums)
		s->sums = whole_sums_new(SUMS_BYTES, s->names);
	if (!s->sums)
		return;
	(void)whole_sums_add_id(s->sums, id->id, attr, row); /* that have no stack */
	(void)whole_sums_add_id(s->sums, whole_record_id(id->id), &unwound, row);
}

/* The ids of samples that were unwound, and of their groups. */
static void add_unwound_ids(struct sampler *s, const struct kernel_probe *p)
{
	const size_t nr = s->nr_ids;

	for (size_t i = 0; i < nr && s->whole; i++) {
		const struct plan_event *ev = &p->plan->events[s->ids[i].event];
		const struct perf_event_attr *attr = p->attrs[ev->first_part + s->ids[i].attr];
		struct trace_id *id = &s->ids[s->nr_ids++];

		*id = s->ids[i];
		id->id = whole_record_id(id->id);
		id->group += (uint32_t)s->cpu->nr_groups;
		if (sampler_unwinds(ev, attr))
			id->attr += ev->nr_parts;
	}
}

static int add_member(struct sampler *s, const struct kernel_probe *p, size_t g, uint32_t member,
		      uint64_t ring_bytes)
{
	const struct pmu_group *group = &s->cpu->groups[g];
	const struct pmu_member *m = &group->members[member];
	uint32_t event = p->plan->parts[m->event].event;
	const struct plan_event *ev = &p->plan->events[event];
	struct trace_id *id = &s->ids[s->nr_ids];
	int rc = pmu_group_id(group, member, &id->id);

	if (rc)
		return rc;
	id->event = event;
	id->instance = session_cpu_instance(s->cpu, m->event);
	id->attr = m->event - p->plan->events[event].first_part;
	id->group = (uint32_t)g;
	s->nr_ids++;
	if (s->whole && sampler_unwinds(ev, p->attrs[m->event])) {
		rc = whole_add_id(s->whole, id->id, p->attrs[m->event], ev->asked->is_aggregated);
		if (rc == 0 && ev->asked->is_aggregated)
			add_up(s, id, p->attrs[m->event], session_cpu_row(p, ev));
	}
	return rc ?: is_sampled(s->cpu, m->event) ? attach(s, p, m, id->id, ring_bytes) : 0;
}

static int open_ring(struct sampler *s, const struct kernel_probe *p, uint64_t ring_bytes)
{
	int rc = 0;

	for (size_t g = 0; g < s->cpu->nr_groups; g++) {
		const struct pmu_group *group = &s->cpu->groups[g];
		enum plan_set set = set_of(s->cpu, group->members[0].event);

		if (set != PLAN_TIMEBASE && set != PLAN_SAMPLING &&
		    has_ring(s->cpu, group->members[0].event))
			continue;
		if (event_attr_is_selected(p->attrs[group->members[0].event]) &&
		    !session_cpu_samples_for_tasks(s->cpu, group))
			continue; /* it only counts */
		for (uint32_t m = 0; m < group->nr_members && rc == 0; m++)
			rc = add_member(s, p, g, m, ring_bytes);
	}
	pmu_scan_sort(&s->scan);
	add_unwound_ids(s, p);
	return rc;
}

/* Without it samples lack what was interpreted. */
static int open_interpreted(struct sampler *s, const struct kernel_probe *p, uint64_t ring_bytes)
{
	struct perf_event_attr *attr;
	struct trace_id *id = &s->ids[s->nr_ids];
	int fd, rc;

	if (!p->interpreters || !s->ring.base)
		return 0;
	attr = event_attr_interpreted(s->span_ns, (uint32_t)(ring_bytes / 4));
	if (!attr)
		return -ENOMEM;
	fd = s->pmu->open(attr, -1, (int)s->cpu->cpu, -1, 0);
	mem_free(attr);
	if (fd < 0)
		return 0;
	s->has_interpreted = true;
	s->interpreted_fd = fd;
	rc = pmu_ring_join(&s->ring, fd) ?: interpreters_connect(p->interpreters, s->cpu->cpu, fd);
	*id = (struct trace_id){.event = TRACE_INTERPRETED, .group = UINT32_MAX};
	if (rc == 0)
		rc = s->pmu->ioctl(fd, PERF_EVENT_IOC_ID, (unsigned long)&id->id);
	s->nr_ids += rc == 0;
	s->scan.interpreted_id = rc == 0 ? id->id : 0;
	return 0;
}

static int open_side_band(struct sampler *s, uint64_t ring_bytes)
{
	static const pid_t machine[] = {-1};
	uint64_t bytes = ring_bytes < SIDE_BAND_BYTES ? ring_bytes : SIDE_BAND_BYTES;
	const struct plan_target *target = &s->cpu->plan->target;
	const pid_t *ids = is_of_tasks(s) ? target->ids : machine;
	size_t nr = is_of_tasks(s) ? target->nr_ids : 1;
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		int fd = open_side_band_event(s, ids[i], (uint32_t)bytes / 4, false);

		if (fd == -ESRCH) /* the task has just ended */
			continue;
		/* samples without a ring do without: /proc has mappings, too */
		s->is_unrecorded =
		    !s->ring.base && (fd == -EPERM || fd == -EACCES || fd == -ENOSYS);
		if (fd < 0)
			return s->is_unrecorded ? 0 : fd;
		s->side_band_fds[s->nr_side_band_fds++] = fd;
		rc = join_ring(s, &s->side_band, fd, bytes);
	}
	return rc;
}

/* Samples without a ring need names, too. */
static bool has_other_samples(const struct kernel_probe *p)
{
	for (size_t i = 0; i < p->plan->nr_events; i++) {
		const struct source_use *u = p->uses[i];

		if (u && u->is_open && u->source->is_in_target &&
		    spec_event_is_sampled(p->plan->events[i].asked))
			return true;
	}
	return false;
}

int sampler_open(struct sampler *s, const struct kernel_probe *p, uint64_t ring_bytes)
{
	int rc;

	s->scan = (struct pmu_scan){.tids = s->tids,
				    .events = s->counts,
				    .ids = s->scan_ids,
				    .has_identifier = p->shares_ring};
	s->pmu = p->pmu;
	s->nr_ids = 0;
	s->is_hung_up = false;
	s->peeked = 0;
	rc = open_ring(s, p, ring_bytes) ?: open_interpreted(s, p, ring_bytes);
	if (rc == 0 && s->cpu->cpu != PLAN_ANY_CPU && (s->ring.base || has_other_samples(p)))
		rc = open_side_band(s, ring_bytes);
	if (rc)
		sampler_close(s);
	return rc;
}

void sampler_close(struct sampler *s)
{
	pmu_ring_close(&s->ring);
	pmu_ring_close(&s->side_band);
	while (s->nr_side_band_fds)
		s->pmu->close(s->side_band_fds[--s->nr_side_band_fds]);
	if (s->has_interpreted)
		s->pmu->close(s->interpreted_fd);
	s->has_interpreted = false;
	while (s->nr_owner_fds)
		s->pmu->close(s->owner_fds[--s->nr_owner_fds]);
}

void sampler_enable(const struct sampler *s)
{
	for (size_t i = 0; i < s->nr_side_band_fds; i++)
		(void)s->pmu->ioctl(s->side_band_fds[i], PERF_EVENT_IOC_ENABLE, 0);
}
