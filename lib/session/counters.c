/*
 * From a plan to open events, over all CPUs.
 */
#include "session/counters.h"
#include "session/ways.h"

#include "base/mem.h"
#include "base/perf_abi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

void spare_hold(struct spare *spare)
{
	for (spare->nr = 0; spare->nr < SPARE_NR; spare->nr++) {
		spare->fd[spare->nr] = eventfd(0, EFD_CLOEXEC);
		if (spare->fd[spare->nr] < 0)
			return; /* opening the events reports so low a limit */
	}
}

void spare_release(struct spare *spare)
{
	while (spare->nr)
		close(spare->fd[--spare->nr]);
}

static bool has_siblings(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nr_events; i++)
		if (plan->events[i].set == PLAN_TIMEBASE && &plan->events[i] != plan->timebase)
			return true;
	return false;
}

/* Several events have different ids: each sample needs its own. */
static bool shares_ring(const struct plan *plan)
{
	size_t nr = 0;

	for (size_t i = 0; i < plan->nr_events; i++)
		nr += spec_event_is_sampled(plan->events[i].asked);
	return nr > 1 || (nr && plan->target.nr_ids > 1);
}

static int init_cpus(struct counters *c)
{
	int rc = 0;

	for (int cpu = cpuset_next(&c->plan->cpus, 0); cpu >= 0 && rc == 0;
	     cpu = cpuset_next(&c->plan->cpus, (unsigned)cpu + 1)) {
		rc = session_cpu_init(&c->cpus[c->nr_cpus], c->plan, (uint32_t)cpu, c->nr_cpus);
		c->nr_cpus += rc == 0;
	}
	if (rc == 0 && c->plan->target.nr_ids) {
		rc = session_cpu_init(&c->cpus[c->nr_cpus], c->plan, PLAN_ANY_CPU, c->nr_cpus);
		c->nr_cpus += rc == 0;
	}
	return rc;
}

static int set_off(struct counters *c)
{
	for (uint32_t t = 0; t < c->nr_cpus; t++)
		c->cpus[t].is_off = c->is_off;
	return 0;
}

int counters_init(struct counters *c, const struct plan *plan, const struct pmu_ops *pmu)
{
	*c = (struct counters){.plan = plan};
	c->attrs = mem_calloc(plan->nr_parts, sizeof(*c->attrs));
	c->events = mem_calloc(plan->nr_events, sizeof(*c->events));
	c->cpus = mem_calloc(plan_nr_traces(plan), sizeof(*c->cpus));
	c->is_off = mem_calloc(plan->nr_events, sizeof(*c->is_off));
	c->aggregates = mem_calloc(plan->nr_parts, sizeof(*c->aggregates));
	if (!c->attrs || !c->events || !c->cpus || !c->is_off || !c->aggregates)
		return -ENOMEM;
	memset(c->is_off, plan->starts_disabled, plan->nr_events * sizeof(*c->is_off));
	c->probe = (struct session_probe){.plan = plan,
					  .pmu = pmu,
					  .attrs = c->attrs,
					  .shares_ring = shares_ring(plan),
					  .aggregates = c->aggregates,
					  .latency = &c->latency,
					  .probes = &c->probes,
					  .heap = &c->heap};
	return init_cpus(c) ?: set_off(c);
}

static void free_attrs(struct counters *c)
{
	for (size_t k = 0; c->attrs && k < c->plan->nr_parts; k++) {
		mem_free(c->attrs[k]);
		c->attrs[k] = NULL;
	}
}

static void close_aggregates(struct counters *c)
{
	for (size_t k = 0; c->aggregates && k < c->plan->nr_parts; k++) {
		aggregate_close(c->aggregates[k]);
		c->aggregates[k] = NULL;
	}
}

void counters_fini(struct counters *c)
{
	for (uint32_t t = 0; t < c->nr_cpus; t++)
		session_cpu_fini(&c->cpus[t]);
	free_attrs(c);
	close_aggregates(c);
	waits_close(c->waits);
	session_latency_fini(&c->latency);
	session_probes_fini(&c->probes);
	session_heap_fini(&c->heap);
	misc_close(&c->misc);
	mem_free(c->aggregates);
	mem_free(c->attrs);
	mem_free(c->events);
	mem_free(c->cpus);
	mem_free(c->is_off);
	*c = (struct counters){0};
}

/* max_stack: the kernel's; 0: not known. */
static uint64_t aggregate_stack(uint64_t max_stack)
{
	uint64_t with_marks = AGGREGATE_MAX_STACK + 2;

	return max_stack > 2 && max_stack < with_marks ? max_stack - 2 : AGGREGATE_MAX_STACK;
}

static int make_attrs(struct counters *c, uint64_t ring_bytes)
{
	const struct plan *plan = c->plan;
	bool has_lost = ring_bytes && pmu_has_format_lost(c->probe.pmu);
	uint64_t max_stack = host_max_stack(plan->host);
	bool has_switches = false; /* one event records them */

	free_attrs(c);
	for (size_t k = 0; k < plan->nr_parts; k++) {
		const struct plan_event *p = &plan->events[plan->parts[k].event];
		const bool is_time = event_is_time(&p->event);
		const struct event_use use = {
		    .flags = plan_flags(plan, p),
		    .period = is_time ? plan_interval_ns(p->asked) : plan_rate(plan, p),
		    .frequency = is_time ? 0 : plan_frequency(plan, p),
		    .stack_bytes = (uint32_t)p->asked->stack_bytes,
		    .branch_filter = p->asked->branch_filter,
		    .max_stack = p->asked->is_aggregated ? aggregate_stack(max_stack) : max_stack,
		    .shares_ring = c->probe.shares_ring,
		    .reads_group = p == plan->timebase && has_siblings(plan),
		    .shares_clock = p->set == PLAN_TIMEBASE,
		    .is_inherited = plan_is_of_tasks(plan, p),
		    .stays_in_process = plan->target.is_process_only,
		    .has_lost = has_lost,
		    .is_overwritten = plan->spec->flight.span_ns,
		    .is_by_switches = plan_is_by_switches(plan, p),
		    .has_switches = plan_is_by_switches(plan, p) && !has_switches,
		    .wakeup_bytes = (uint32_t)(ring_bytes / 4),
		};

		if (p->set == PLAN_NO_SET)
			continue;
		c->attrs[k] = event_attr_new(&plan->parts[k].part, &use);
		if (!c->attrs[k])
			return -ENOMEM;
		has_switches |= use.has_switches;
	}
	return 0;
}

/* Waits of tasks that exist already are recognised by their process. */
static int add_processes(struct counters *c)
{
	const struct plan_target *t = &c->plan->target;
	int rc = 0;

	for (size_t i = 0; i < t->nr_ids && c->waits && !t->is_cgroup && rc == 0; i++) {
		rc = waits_add_process(c->waits, t->ids[i]);
		if (rc == -ESRCH || rc == -EINVAL ||
		    rc == -ENOENT) /* it has ended, or is a thread */
			rc = 0;
	}
	return rc;
}

static int open_cpus(struct counters *c)
{
	struct spare spare;
	int rc = session_latency_open(&c->latency, c->plan)
		     ?: session_probes_open(&c->probes, c->plan)
		     ?: session_heap_open(&c->heap, c->plan) ?: add_processes(c);

	spare_hold(&spare);
	for (uint32_t t = 0; t < c->nr_cpus && rc == 0; t++) {
		rc = session_cpu_open(&c->cpus[t], &c->probe);
		if (rc == -ENODEV) /* it went offline: each iteration tries again */
			rc = 0;
	}
	spare_release(&spare);
	return rc;
}

static void explain_refusal(struct event_support *out, int rc, const struct err *e)
{
	bool is_denied = rc == -EPERM;

	*out = (struct event_support){.state = is_denied ? READING_NO_PERMISSION
							 : READING_NOT_SUPPORTED};
	snprintf(out->reason, sizeof(out->reason), "%.255s", e->msg);
	snprintf(out->hint, sizeof(out->hint), "%s",
		 is_denied ? "run as root, or permit it to the program's file: RIGHTS in cpuperf(1)"
			   : "");
}

static void refuse_waits(struct counters *c, int rc, const struct err *e)
{
	c->probe.waits_error = -rc;
	explain_refusal(&c->waits_support, rc, e);
	waits_close(c->waits);
	c->waits = NULL;
}

void counters_check_waits(struct event_support *out)
{
	const struct waits_config config = {.has_wakers = false};
	struct waits *w = NULL;
	struct err e = {0};
	int rc = waits_open(&config, &w, &e);

	*out = (struct event_support){.state = READING_OK};
	if (rc)
		explain_refusal(out, rc, &e);
	waits_close(w);
}

/* The CPUs that have tables, in *out: an array to be freed. */
static int list_tables(const struct counters *c, uint32_t **cpus, struct aggregate_config *out)
{
	*cpus = mem_calloc(c->nr_cpus + 1, sizeof(**cpus));
	if (!*cpus)
		return -ENOMEM;
	*out = (struct aggregate_config){.cpus = *cpus};
	while (out->nr_cpus < c->nr_cpus && c->cpus[out->nr_cpus].cpu != PLAN_ANY_CPU) {
		(*cpus)[out->nr_cpus] = c->cpus[out->nr_cpus].cpu;
		out->nr_cpus++;
	}
	return 0;
}

/* True: the event is one of waits. */
static bool configure_wait(struct waits_config *config, const struct plan *plan,
			   const struct plan_event *p)
{
	int wait = p->set == PLAN_NO_SET ? -1 : event_wait(&p->event);

	if (wait < 0)
		return false;
	config->counts_wakeups |= wait == WAITS_WAKEUPS;
	config->has_wakers |= (p->asked->flags & SPEC_WAKER) != 0;
	if (!p->asked->rate)
		return true;
	config->mean_ns[wait] = plan_rate(plan, p);
	config->max_hz[wait] = p->asked->max_frequency;
	config->is_added_up[wait] = p->asked->is_aggregated;
	config->has_callchain |= (p->asked->flags & SPEC_CALLCHAIN) != 0;
	if (p->asked->flags & SPEC_USER_STACK && p->asked->stack_bytes > config->stack_bytes)
		config->stack_bytes = (uint32_t)p->asked->stack_bytes;
	return true;
}

int counters_open_waits(struct counters *c)
{
	const struct plan *plan = c->plan;
	MEM_AUTO uint32_t *cpus = NULL;
	struct aggregate_config tables;
	struct waits_config config = {.tables = &tables,
				      .max_stack =
					  (uint32_t)aggregate_stack(host_max_stack(plan->host)),
				      .follow = plan_follow(plan),
				      .on_lasting = c->on_lasting,
				      .arg = c->arg};
	struct err e = {0};
	bool has_waits = false;
	int rc;

	for (size_t i = 0; i < plan->nr_events; i++)
		has_waits |= configure_wait(&config, plan, &plan->events[i]);
	if (!has_waits || c->waits || c->waits_support.state)
		return 0;
	rc = list_tables(c, &cpus, &tables) ?: waits_open(&config, &c->waits, &e);
	if (rc && rc != -ENOMEM)
		refuse_waits(c, rc, &e);
	c->probe.waits = c->waits;
	return rc == -ENOMEM ? rc : 0;
}

static bool is_aggregated(const struct plan *plan, size_t part)
{
	const struct plan_event *p = &plan->events[plan->parts[part].event];

	return p->asked->is_aggregated && p->set != PLAN_NO_SET;
}

static int wait_of_part(const struct plan *plan, size_t part)
{
	return event_wait(&plan->events[plan->parts[part].event].event);
}

static int open_aggregate(struct counters *c, size_t part, const struct aggregate_config *config,
			  struct err *e)
{
	int wait = wait_of_part(c->plan, part);

	if (wait < 0)
		return aggregate_open(config, &c->aggregates[part], e);
	if (!c->waits) /* refused */
		return 0;
	return waits_open_aggregate(c->waits, (enum waits_kind)wait, config, &c->aggregates[part],
				    e);
}

/* What adds up the samples of all aggregated events, with a table for each CPU; once. */
static int open_aggregates(struct counters *c)
{
	const struct plan *plan = c->plan;
	MEM_AUTO uint32_t *cpus = NULL;
	struct aggregate_config config;
	struct err e = {0};
	int rc = list_tables(c, &cpus, &config);

	for (size_t k = 0; k < plan->nr_parts && rc == 0; k++)
		if (is_aggregated(plan, k) && !c->aggregates[k] && !c->aggregate_support.state)
			rc = open_aggregate(c, k, &config, &e);
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	c->probe.aggregate_error = -rc;
	explain_refusal(&c->aggregate_support, rc, &e);
	close_aggregates(c);
	return 0;
}

/* Their tables are the programs' of c->waits. */
static void close_aggregates_of_waits(struct counters *c)
{
	for (size_t k = 0; k < c->plan->nr_parts; k++)
		if (c->aggregates[k] && wait_of_part(c->plan, k) >= 0) {
			aggregate_close(c->aggregates[k]);
			c->aggregates[k] = NULL;
		}
}

void counters_switch_programs(struct counters *c, bool is_paused)
{
	for (size_t i = 0; i < c->plan->nr_events; i++) {
		bool is_on = !is_paused && !c->is_off[i];
		int wait = event_wait(&c->plan->events[i].event);

		if (c->waits && wait >= 0)
			waits_switch(c->waits, (enum waits_kind)wait, is_on);
		session_latency_switch(&c->latency, i, is_on);
		session_probes_switch(&c->probes, i, is_on);
	}
}

static int start_waits(struct counters *c)
{
	struct err e = {0};

	if (c->waits && waits_start(c->waits, &e))
		return e.code;
	return 0;
}

int counters_open(struct counters *c, uint64_t ring_bytes)
{
	return counters_open_waits(c)
		   ?: make_attrs(c, ring_bytes)
		   ?: open_aggregates(c) ?: open_cpus(c) ?: start_waits(c);
}

/* In place: samplers borrow the attrs. */
void counters_divide_rates(struct counters *c)
{
	for (size_t k = 0; k < c->plan->nr_parts; k++) {
		const struct plan_event *p = &c->plan->events[c->plan->parts[k].event];
		struct perf_event_attr *a = c->attrs[k];

		if (!a || !spec_event_is_sampled(p->asked) || event_is_time(&p->event))
			continue;
		if (a->freq)
			a->sample_freq = plan_frequency(c->plan, p);
		else
			a->sample_period = plan_rate(c->plan, p);
	}
}

int counters_reopen(struct counters *c)
{
	counters_close(c);
	close_aggregates_of_waits(c);
	waits_close(c->waits); /* it recognises what is left of the last target */
	session_latency_close(&c->latency);
	session_probes_close(&c->probes);
	c->waits = NULL;
	return counters_open_waits(c) ?: open_aggregates(c) ?: open_cpus(c) ?: start_waits(c);
}

void counters_close(struct counters *c)
{
	for (uint32_t t = 0; t < c->nr_cpus; t++)
		session_cpu_close(&c->cpus[t]);
}

/* What happens in the kernel alone. Of faults and switches, wait4 and /proc have the numbers. */
static void refuse(const struct host *h, const struct plan_event *p, struct event_support *out)
{
	const char *name = p->event.row->name;
	bool is_elsewhere = strstr(name, "page_faults") || strcmp(name, "context_switches") == 0;

	*out = (struct event_support){.state = is_elsewhere ? READING_NO_PERMISSION
							    : READING_NOT_SUPPORTED};
	snprintf(out->reason, sizeof(out->reason),
		 "it happens in the kernel, which this user may not measure%s",
		 is_elsewhere ? "" : ", and /proc has no number of it");
	event_support_hint_rights(h, 1, out);
}

/* An event works if it works on some CPU. */

/* Debian's kernels refuse ordinary users all events where kernel.perf_event_paranoid is above 2. */
static void refuse_task(const struct plan *plan, int error, struct event_support *out)
{
	bool is_of_another = plan->target.is_user_only || host_may_measure_kernel(plan->host);

	if (plan->host->may_perfmon ||
	    (is_of_another && (plan->target.is_command || error != EACCES)))
		return;
	snprintf(out->reason, sizeof(out->reason), "%s (perf_event_paranoid is %d)",
		 is_of_another ? "it runs for another user, or has more rights"
			       : "this user may measure no process",
		 plan->host->perf_event_paranoid);
	if (is_of_another)
		snprintf(out->hint, sizeof(out->hint), "run as root");
	else
		event_support_hint_rights(plan->host, 2, out);
}

static void explain_waits(const struct counters *c, const struct plan_event *p,
			  struct event_support *out)
{
	*out = c->waits_support;
	ways_explain(c->plan, p, out);
}

static void sum_up(struct counters *c, size_t i)
{
	const struct plan_event *p = &c->plan->events[i];
	struct session_event *ev = &c->events[i];
	struct cpuset wanted;
	int error = 0;

	ev->perf_group = UINT32_MAX;
	for (uint32_t t = c->nr_cpus; t-- > 0;) {
		const struct session_cpu *cpu = &c->cpus[t];

		if (!cpu->is_open || cpu->errors[i]) {
			error = cpu->is_open ? cpu->errors[i] : ENODEV;
		} else if (cpu->group_of[i] != UINT32_MAX) {
			ev->nr_cpus++;
			ev->perf_group = cpu->group_of[i];
		}
	}
	plan_event_cpus(c->plan, p, &wanted);
	ev->nr_wanted = (uint32_t)cpuset_count(&wanted);
	if (!ev->nr_wanted && plan_is_of_target(c->plan, p))
		ev->nr_wanted = 1; /* PLAN_ANY_CPU */
	if (plan_is_refused(c->plan, p)) {
		refuse(c->plan->host, p, &ev->support);
		return;
	}
	if (ev->nr_cpus == 0 && !error)
		error = ENODEV; /* its PMU names only CPUs that are not measured */
	ev->support = (struct event_support){.state = READING_OK};
	if (error)
		event_support_explain_use(c->plan->host, &p->event, p->asked->flags, error,
					  &ev->support);
	if (error && event_wait(&p->event) >= 0 && c->waits_support.state)
		explain_waits(c, p, &ev->support);
	if (error && event_latency(&p->event) >= 0 && c->latency.support.state)
		ev->support = c->latency.support;
	if (error && event_is_probe(&p->event) && c->probes.support.state)
		ev->support = c->probes.support;
	if (error && event_heap(&p->event) >= 0 && c->heap.support.state)
		ev->support = c->heap.support;
	if (error && p->asked->is_aggregated && c->aggregate_support.state)
		ev->support = c->aggregate_support;
	if (ev->support.state == READING_NO_PERMISSION && plan_is_of_tasks(c->plan, p))
		refuse_task(c->plan, error, &ev->support);
	if (ev->nr_cpus)
		ev->support.state = READING_OK;
}

void counters_sum_up(struct counters *c)
{
	for (size_t i = 0; i < c->plan->nr_events; i++)
		if (c->plan->events[i].set != PLAN_NO_SET)
			sum_up(c, i);
}
