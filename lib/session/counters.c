/*
 * From a plan to open events, over all CPUs.
 */
#include "session/counters.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "bpf/selected.h"
#include "interpreters/interpreters.h"
#include "trace/trace.h"

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

/* Several events have different ids: each sample needs its own. One that the recorder unwinds has
 * two. */
static bool shares_ring(const struct plan *plan)
{
	size_t nr = 0;

	for (size_t i = 0; i < plan->nr_events; i++)
		nr += spec_event_is_sampled(plan->events[i].asked)
			  ? 1 + plan->events[i].asked->is_unwound
			  : 0;
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
	c->probe = (struct kernel_probe){.plan = plan,
					 .in_step = clock_monotonic_ns() | 1,
					 .selected.fd = -1,
					 .pmu = pmu,
					 .attrs = c->attrs,
					 .shares_ring = shares_ring(plan),
					 .aggregates = c->aggregates};
	if (source_uses_init(&c->uses, plan))
		return -ENOMEM;
	c->probe.uses = c->uses.of_event;
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

void counters_release(struct counters *c)
{
	for (uint32_t t = 0; t < c->nr_cpus; t++)
		session_cpu_close(&c->cpus[t]);
	close_aggregates(c);
	selected_close(c->selected);
	c->selected = NULL;
	source_uses_release(&c->uses);
}

void counters_fini(struct counters *c)
{
	counters_release(c);
	for (uint32_t t = 0; t < c->nr_cpus; t++)
		session_cpu_fini(&c->cpus[t]);
	free_attrs(c);
	source_uses_fini(&c->uses); /* waits are in a list of interpreters until then */
	interpreters_close(c->interpreters);
	mem_free(c->aggregates);
	mem_free(c->attrs);
	mem_free(c->events);
	mem_free(c->cpus);
	mem_free(c->is_off);
	*c = (struct counters){0};
}

/* All that the tasks run is asked for, and records of switches show all of it. Of what runs already
 * nobody knows how often it is switched, nor for how long the records will grow: it is mostly of
 * tasks that go on, whose samples lack little. The sample that a reader makes has no branches. */
static bool may_be_completed(const struct plan *plan, const struct plan_event *p)
{
	const unsigned all = SPEC_OS | SPEC_USER, some = SPEC_GUEST | SPEC_HOST;

	return plan->target.is_command && plan->has_all_cpus && !plan->has_control &&
	       (p->asked->flags & (all | some | SPEC_LAST_BRANCH)) == all;
}

/* A clock of tasks whose switches are recorded: these records tell what the tasks ran without a
 * sample. */
static bool is_to_be_completed(const struct counters *c, const struct plan_event *p)
{
	const struct plan *plan = c->plan;

	return p->set == PLAN_SAMPLING && event_is_clock(&p->event) && plan_is_of_tasks(plan, p) &&
	       !p->asked->is_aggregated && !plan->spec->flight.span_ns &&
	       (plan->records_switches ||
		(may_be_completed(plan, p) &&
		 (c->probe.selected.fd < 0 || !plan_is_selected(plan, p))));
}

static int load_selected(struct counters *c, struct err *e)
{
	const struct follow_config follow = plan_follow(c->plan);
	int rc;

	c->probe.selected = source_uses_selected(&c->uses);
	if (c->probe.selected.fd >= 0)
		return 0;
	rc = selected_open(&follow, &c->selected, e);
	if (rc == 0)
		c->probe.selected = selected_program(c->selected);
	return rc;
}

/* What is selected is interpreted, too. */
static int go_on(const struct counters *c)
{
	return c->interpreters && c->probe.selected.fd >= 0 && !c->probe.selected.asks
		   ? selected_go_on(&c->probe.selected, interpreters_program(c->interpreters))
		   : 0;
}

/* Once, however often the events are opened. Without the program, the tasks' own clocks sample. */
static void open_selected(struct counters *c)
{
	struct err e = {0};
	bool is_needed = false;

	if (c->has_tried_selected)
		return;
	c->has_tried_selected = true;
	for (size_t i = 0; i < c->plan->nr_events; i++)
		is_needed |= plan_is_selected(c->plan, &c->plan->events[i]);
	if (is_needed && load_selected(c, &e) && c->plan->spec->target.has_short_tasks)
		log_warning("short tasks have too few samples: %s", e.msg);
	if (go_on(c))
		log_verbose(1, "functions of interpreters in short tasks have no names");
}

/* Samples of these say where the program is, and are written to the ring by the kernel, or by its
 * programs of waits. */
static bool may_interpret(const struct counters *c, size_t i)
{
	const struct plan_event *p = &c->plan->events[i];

	return (p->set == PLAN_SAMPLING || p->set == PLAN_TIMEBASE) &&
	       spec_event_is_sampled(p->asked) && !p->asked->is_aggregated &&
	       p->asked->flags & (SPEC_PC | SPEC_CALLCHAIN | SPEC_USER_STACK) &&
	       (c->uses.of_event[i] ? event_wait(&p->event) >= 0 : event_is_perf(&p->event));
}

/* Languages whose waits are read while they last: of processes that were there before. Those of a
 * command last seldom beyond its end. */
static uint32_t find_lasting(const struct counters *c)
{
	const struct plan_target *t = &c->plan->target;
	uint32_t found = t->nr_ids == 0 || t->is_cgroup ? 1u << TRACE_LANGUAGE_PYTHON : 0;

	for (size_t i = 0; i < t->nr_ids && !t->is_cgroup && !t->is_command; i++)
		found |= interpreters_has(c->interpreters, (uint32_t)t->ids[i]);
	return found;
}

void counters_open_interpreters(struct counters *c)
{
	struct err e = {0};
	bool is_needed = false;
	uint32_t lasting;

	for (size_t i = 0; i < c->plan->nr_events; i++)
		is_needed |= may_interpret(c, i);
	if (!is_needed || !c->plan->host->may_perfmon || c->probe.pmu != &pmu_kernel_ops)
		return;
	if (interpreters_open(&c->interpreters, &e))
		log_verbose(1, "functions of interpreters have no names: %s", e.msg);
	c->probe.interpreters = c->interpreters;
	c->probe.shares_ring |= c->interpreters != NULL;
	if (!c->interpreters)
		return;
	c->uses.core.interpreted = interpreters_programs(c->interpreters);
	lasting = find_lasting(c);
	c->uses.core.interprets_asleep = lasting != 0;
	if (lasting | c->plan->target.languages)
		interpreters_expect(c->interpreters, lasting | c->plan->target.languages);
}

static int reopen_selected(struct counters *c)
{
	struct err e = {0};

	if (c->probe.selected.fd < 0)
		return 0;
	selected_close(c->selected); /* it follows what is left of the last target */
	c->selected = NULL;
	return load_selected(c, &e) ?: go_on(c);
}

/* Of an event's stacks, if those without a size of their own have at most so many. */
static uint64_t stack_bytes(const struct plan_event *p, uint64_t max_unsized)
{
	const uint64_t max = spec_event_max_stack(p->asked);

	return p->asked->stack_bytes || max < max_unsized ? max : max_unsized;
}

/* Bytes per second of a sampled event's records on a busy CPU; UINT64_MAX: unknown. */
static uint64_t bytes_per_second(const struct plan_event *p, uint64_t max_unsized)
{
	enum { NS_PER_S = 1000000000 };

	/* a record without what is below, callers, registers, branches; raw bytes are rarely more
	 */
	enum { RECORD = 64, CALLERS = 64 * 8, REGISTERS = 32 * 8, BRANCHES = 32 * 24, RAW = 128 };
	const struct spec_event *asked = p->asked;
	uint64_t bytes = RECORD, rate = asked->frequency ?: asked->max_frequency;

	if (!rate && asked->rate && event_is_clock(&p->event))
		rate = NS_PER_S / asked->rate + 1;
	bytes += asked->flags & (SPEC_CALLCHAIN | SPEC_USER_STACK) ? CALLERS : 0;
	bytes += asked->flags & SPEC_USER_STACK ? REGISTERS + stack_bytes(p, max_unsized) : 0;
	bytes += asked->flags & SPEC_LAST_BRANCH ? BRANCHES : 0;
	bytes += p->event.group->id == EVENT_GROUP_TRACEPOINT ? RAW : 0;
	return rate ? rate * bytes : UINT64_MAX;
}

static double sum_per_second(const struct plan *plan, uint64_t max_unsized)
{
	double sum = 0;

	for (size_t i = 0; i < plan->nr_events; i++)
		if (spec_event_is_sampled(plan->events[i].asked))
			sum += (double)bytes_per_second(&plan->events[i], max_unsized);
	return sum;
}

double counters_bytes_per_second(const struct plan *plan)
{
	return sum_per_second(plan, UINT64_MAX);
}

/* The kernel reserves as many bytes of the ring as were asked for, however few it copies. So more
 * than what most stacks need is asked for only where the ring lasts for long enough to be emptied
 * in time beside other work, or for the span of a flight recorder; and less than that, where
 * samples would be lost. */
static uint64_t max_unsized_bytes(const struct plan *plan, uint64_t ring_bytes)
{
	const struct spec_flight *flight = &plan->spec->flight;
	const double span = (double)(flight->span_ns + flight->after_ns) / 1e9;
	const struct {
		uint64_t more_than, step;
		double seconds; /* that the ring lasts */
	} sizes[] = {{16 << 10, 8 << 10, flight->span_ns ? span : 1.0 / 30},
		     {1 << 10, 1 << 10, 1.0 / 200}};
	const bool is_known = sum_per_second(plan, 0) < (double)UINT64_MAX;
	uint64_t max = is_known ? SPEC_MAX_UNSIZED_STACK : sizes[0].more_than;

	for (size_t i = 0; is_known && i < ARRAY_NR(sizes); i++)
		while (max > sizes[i].more_than &&
		       sum_per_second(plan, max) * sizes[i].seconds > (double)ring_bytes)
			max -= sizes[i].step;
	return max;
}

static bool samples_clocks_alone(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nr_events; i++)
		if (spec_event_is_sampled(plan->events[i].asked) &&
		    !event_is_clock(&plan->events[i].event))
			return false;
	return true;
}

/* Where half of the ring lasts for long, the thread that empties it is woken less often. Samples of
 * clocks come evenly: others at a frequency may come in bursts, as switches may. */
static uint32_t wakeup_bytes(const struct plan *plan, uint64_t ring_bytes, bool records_switches)
{
	const double seconds = 0.1;
	const bool is_slow = !records_switches && samples_clocks_alone(plan) &&
			     counters_bytes_per_second(plan) * seconds <= (double)ring_bytes / 2;

	return (uint32_t)(ring_bytes / (is_slow ? 2 : 4));
}

static bool completes_a_clock(const struct counters *c)
{
	return ARRAY_ANY(p, c->plan->events, c->plan->nr_events, is_to_be_completed(c, p));
}

/* A sample that a reader makes of a clock is recognised by its identifier. */
static int make_attrs(struct counters *c, uint64_t ring_bytes)
{
	const struct plan *plan = c->plan;
	bool has_lost = ring_bytes && pmu_has_format_lost(c->probe.pmu);
	uint64_t max_stack = host_max_stack(plan->host);
	uint64_t max_unsized = max_unsized_bytes(plan, ring_bytes);
	bool has_switches = false; /* one event records them */
	const bool completes = completes_a_clock(c);

	c->probe.shares_ring |= completes;
	free_attrs(c);
	for (size_t k = 0; k < plan->nr_parts; k++) {
		const struct plan_event *p = &plan->events[plan->parts[k].event];
		const bool is_selected = c->probe.selected.fd >= 0 && plan_is_selected(plan, p);
		const bool is_completed = is_to_be_completed(c, p);
		const struct event_use use = {
		    .flags = plan_flags(plan, p),
		    .period = plan_rate(plan, p),
		    .frequency = plan_frequency(plan, p),
		    .stack_bytes = (uint32_t)stack_bytes(p, max_unsized),
		    .branch_filter = p->asked->branch_filter,
		    .max_stack = plan_adds_up_in_kernel(p) ? plan_aggregate_stack(plan) : max_stack,
		    .shares_ring = c->probe.shares_ring,
		    .reads_group = p == plan->timebase && has_siblings(plan),
		    .shares_clock = p->set == PLAN_TIMEBASE,
		    .is_inherited = plan_is_of_tasks(plan, p),
		    .stays_in_process = plan->target.is_process_only,
		    .tells_clock =
			plan_is_of_tasks(plan, p) && !is_selected && !p->asked->is_aggregated,
		    .is_selected = is_selected,
		    .is_completed = is_completed,
		    .has_lost = has_lost,
		    .is_overwritten = plan->spec->flight.span_ns,
		    .is_by_switches = plan_is_by_switches(plan, p),
		    .is_of_ended = spec_event_is_of_ended(p->asked),
		    .has_switches = !has_switches && (plan_is_by_switches(plan, p) ||
						      (is_completed && !plan->records_switches)),
		    .wakeup_bytes = wakeup_bytes(plan, ring_bytes, completes),
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

/* The tasks that exist already are recognised by their process. */
static int add_processes(struct counters *c)
{
	const struct plan_target *t = &c->plan->target;
	int rc = 0;

	for (size_t i = 0; i < t->nr_ids && !t->is_cgroup && c->selected && rc == 0; i++)
		rc = selected_add_process(c->selected, t->ids[i]);
	return rc == 0 && c->selected ? selected_find_threads(c->selected) : rc;
}

static int open_cpus(struct counters *c)
{
	struct spare spare;
	int rc = add_processes(c);

	spare_hold(&spare);
	for (uint32_t t = 0; t < c->nr_cpus && rc == 0; t++) {
		rc = session_cpu_open(&c->cpus[t], &c->probe);
		if (rc == -ENODEV) /* it went offline: each iteration tries again */
			rc = 0;
	}
	spare_release(&spare);
	return rc;
}

static bool is_aggregated(const struct plan *plan, size_t part)
{
	const struct plan_event *p = &plan->events[plan->parts[part].event];

	return plan_adds_up_in_kernel(p) && p->set != PLAN_NO_SET;
}

static struct source_use *use_of(const struct counters *c, size_t part)
{
	return c->uses.of_event[c->plan->parts[part].event];
}

static int open_aggregate(struct counters *c, size_t part, const struct aggregate_config *config,
			  struct err *e)
{
	struct source_use *u = use_of(c, part);

	if (!u)
		return aggregate_open(config, &c->aggregates[part], e);
	return u->is_open ? u->source->open_aggregate(u, c->plan->parts[part].event, config,
						      &c->aggregates[part], e)
			  : 0;
}

/* Clocks of tasks are their own. */
static void set_rows(const struct counters *c, size_t part, struct aggregate_config *config)
{
	const struct plan_event *p = &c->plan->events[c->plan->parts[part].event];

	config->has_own_clocks = plan_is_of_tasks(c->plan, p);
	config->in_step = session_cpu_row(&c->probe, p);
}

/* What adds up the samples of all aggregated events, with a table for each CPU; once. */
static int open_aggregates(struct counters *c)
{
	const struct plan *plan = c->plan;
	MEM_AUTO uint32_t *cpus = plan_list_cpus(plan);
	struct aggregate_config config = {.cpus = cpus, .nr_cpus = plan->nr_cpus};
	struct err e = {0};
	int rc = cpus ? 0 : -ENOMEM;

	for (size_t k = 0; k < plan->nr_parts && rc == 0; k++)
		if (is_aggregated(plan, k) && !c->aggregates[k] && !c->aggregate_support.state) {
			set_rows(c, k, &config);
			rc = open_aggregate(c, k, &config, &e);
		}
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	c->probe.aggregate_error = -rc;
	source_explain(rc, &e, &c->aggregate_support);
	close_aggregates(c);
	return 0;
}

/* Their tables are the programs' of a source that is closed. */
static void close_aggregates_of_sources(struct counters *c)
{
	for (size_t k = 0; k < c->plan->nr_parts; k++)
		if (c->aggregates[k] && use_of(c, k)) {
			aggregate_close(c->aggregates[k]);
			c->aggregates[k] = NULL;
		}
}

void counters_switch_programs(struct counters *c, bool is_paused)
{
	for (size_t i = 0; i < c->plan->nr_events; i++)
		source_uses_enable(&c->uses, i, !is_paused && !c->is_off[i]);
}

int counters_open(struct counters *c, uint64_t ring_bytes)
{
	if (ring_bytes)
		open_selected(c);
	return make_attrs(c, ring_bytes)
		   ?: open_aggregates(c) ?: open_cpus(c) ?: source_uses_begin(&c->uses);
}

/* In place: samplers borrow the attrs. */
void counters_divide_rates(struct counters *c)
{
	for (size_t k = 0; k < c->plan->nr_parts; k++) {
		const struct plan_event *p = &c->plan->events[c->plan->parts[k].event];
		struct perf_event_attr *a = c->attrs[k];

		if (!a || !spec_event_is_sampled(p->asked) || p->source->is_in_target)
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
	close_aggregates_of_sources(c);
	source_uses_close(&c->uses); /* their programs recognise what is left of the last target */
	return source_uses_open(&c->uses, NULL)
		   ?: reopen_selected(c)
		   ?: open_aggregates(c) ?: open_cpus(c) ?: source_uses_begin(&c->uses);
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
	if (error)
		source_uses_explain(&c->uses, i, &ev->support);
	if (error && plan_adds_up_in_kernel(p) && c->aggregate_support.state)
		ev->support = c->aggregate_support;
	if (ev->support.state == READING_NO_PERMISSION && plan_is_of_tasks(c->plan, p))
		refuse_task(c->plan, error, &ev->support);
	if (ev->nr_cpus)
		ev->support.state = READING_OK;
}

/* It works on all CPUs or on none. */
static void check_value(struct counters *c, size_t i)
{
	const struct source_use *u = source_uses_of_values(&c->uses, i);
	struct session_event *ev = &c->events[i];

	*ev = (struct session_event){.support = c->plan->events[i].support,
				     .nr_wanted = c->nr_cpus,
				     .perf_group = UINT32_MAX};
	if (u && (!u->source->values->check || !u->source->values->check(u, i, &ev->support)))
		ev->nr_cpus = c->nr_cpus;
}

void counters_sum_up(struct counters *c)
{
	for (size_t i = 0; i < c->plan->nr_events; i++)
		if (c->plan->events[i].set == PLAN_NO_SET)
			check_value(c, i);
		else
			sum_up(c, i);
}

/* Each trace has the events of its CPU, the first one also those of the whole machine. */
static bool is_of_cpu(const struct plan_event *p)
{
	return p->event.row->scope == EVENT_SCOPE_CPU;
}

bool counters_get_values(const struct counters *c, uint32_t trace, uint32_t cpu,
			 struct reading *out)
{
	bool is_online = true;

	for (size_t i = 0; i < c->plan->nr_events; i++) {
		const struct plan_event *p = &c->plan->events[i];
		const struct source_use *u = source_uses_of_values(&c->uses, i);
		struct reading *r = &out[p->first_part];

		if (!u || (trace > 0 && !is_of_cpu(p)))
			continue;
		if (c->events[i].nr_cpus == 0)
			r->state = c->events[i].support.state;
		else
			u->source->values->get(u, i, cpu, r);
		is_online &= r->state != READING_NONE || source_uses_set(&c->uses, i) != UINT32_MAX;
	}
	return is_online;
}

void counters_drop_values(const struct counters *c, struct reading *out)
{
	for (size_t i = 0; i < c->plan->nr_events; i++) {
		struct reading *r = &out[c->plan->events[i].first_part];

		if (source_uses_of_values(&c->uses, i) && is_of_cpu(&c->plan->events[i]) &&
		    r->state == READING_OK)
			r->state = READING_NONE;
	}
}
