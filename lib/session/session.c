/*
 * The life of a session: from a plan to open events, and back.
 */
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "session/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static bool has_siblings(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nr_events; i++)
		if (plan->events[i].set == PLAN_TIMEBASE && &plan->events[i] != plan->timebase)
			return true;
	return false;
}

static bool shares_ring(const struct plan *plan)
{
	size_t nr = 0;

	for (size_t i = 0; i < plan->nr_events; i++)
		nr += spec_event_is_sampled(plan->events[i].asked);
	return nr > 1;
}

static void describe_use(const struct session *s, const struct plan_event *p, uint64_t ring_bytes,
			 bool has_lost, struct event_use *out)
{
	const struct spec_event *asked = p->asked;

	*out = (struct event_use){
	    .flags = asked->flags,
	    .period = asked->rate,
	    .frequency = asked->frequency,
	    .stack_bytes = (uint32_t)asked->stack_bytes,
	    .branch_filter = asked->branch_filter,
	    .shares_ring = s->probe.shares_ring,
	    .reads_group = p == s->plan->timebase && has_siblings(s->plan),
	    .shares_clock = p->set == PLAN_TIMEBASE,
	    .has_lost = has_lost,
	    .wakeup_bytes = (uint32_t)(ring_bytes / 4),
	};
}

static void free_attrs(struct session *s)
{
	for (size_t k = 0; s->attrs && k < s->plan->nr_parts; k++) {
		mem_free(s->attrs[k]);
		s->attrs[k] = NULL;
	}
}

static int make_attrs(struct session *s, uint64_t ring_bytes)
{
	bool has_lost = s->sampling && pmu_has_format_lost(s->probe.pmu);

	free_attrs(s);
	s->probe.shares_ring = shares_ring(s->plan);
	for (size_t k = 0; k < s->plan->nr_parts; k++) {
		const struct plan_part *p = &s->plan->parts[k];
		struct event_use use;

		if (s->plan->events[p->event].set == PLAN_NO_SET)
			continue;
		describe_use(s, &s->plan->events[p->event], ring_bytes, has_lost, &use);
		s->attrs[k] = event_attr_new(&p->part, &use);
		if (!s->attrs[k])
			return -ENOMEM;
	}
	return 0;
}

static int make_cpus(struct session *s)
{
	uint32_t trace = 0;

	for (int cpu = cpuset_next(&s->plan->cpus, 0); cpu >= 0;
	     cpu = cpuset_next(&s->plan->cpus, (unsigned)cpu + 1)) {
		struct session_cpu *c = &s->cpus[trace];
		int rc = session_cpu_init(c, s->plan, (uint32_t)cpu, trace);

		if (rc)
			return rc;
		s->traces[trace++].cpu = (uint32_t)cpu;
		s->nr_cpus = trace; /* what session_close has to free */
	}
	return 0;
}

static int make_memory(struct session *s)
{
	size_t nr_events = s->plan->nr_events, nr_cpus = s->plan->nr_cpus;

	s->attrs = mem_calloc(s->plan->nr_parts, sizeof(*s->attrs));
	s->events = mem_calloc(nr_events, sizeof(*s->events));
	s->misc = mem_calloc(nr_events, sizeof(*s->misc));
	s->misc_choices = mem_calloc(nr_events, sizeof(*s->misc_choices));
	s->misc_index = mem_calloc(nr_events, sizeof(*s->misc_index));
	s->scratch = mem_calloc(s->plan->nr_parts, sizeof(*s->scratch));
	s->cpus = mem_calloc(nr_cpus, sizeof(*s->cpus));
	s->traces = mem_calloc(nr_cpus, sizeof(*s->traces));
	if (!s->attrs || !s->events || !s->misc || !s->misc_choices || !s->misc_index ||
	    !s->scratch || !s->cpus || !s->traces)
		return -ENOMEM;
	s->probe.attrs = s->attrs;
	return 0;
}

static void add_misc(struct session *s, size_t i)
{
	const struct plan_event *p = &s->plan->events[i];

	if (p->set != PLAN_NO_SET)
		return;
	s->events[i].support = p->support;
	s->events[i].perf_group = UINT32_MAX;
	s->events[i].nr_wanted = s->nr_cpus;
	if (p->event.row->missing)
		return;
	s->misc_index[s->nr_misc] = i;
	s->misc_choices[s->nr_misc] = (struct collect_choice){.words = p->asked->choice.words,
							      .nr = p->asked->choice.nr_words};
	s->misc[s->nr_misc++] = p->event;
}

/* What the collector has to say is more than an errno. */
static void explain_misc(const struct session *s, size_t m, int error, struct event_support *out)
{
	const struct err *why = collect_why(s->collect, m);

	event_support_explain(s->plan->host, &s->misc[m], error, out);
	if (!why)
		return;
	snprintf(out->reason, sizeof(out->reason), "%.*s", (int)sizeof(out->reason) - 1, why->msg);
	snprintf(out->hint, sizeof(out->hint), "%.*s", (int)sizeof(out->hint) - 1, why->hint);
}

/* Words that pick nothing that can be: the spec is wrong, not the machine. */
static int refuse_choice(const struct session *s, size_t m, struct err *e)
{
	const struct spec_event *asked = s->plan->events[s->misc_index[m]].asked;
	const struct err *why = collect_why(s->collect, m);
	struct spec_pos pos = asked->choice.pos;

	if (!why || why->code != -EINVAL || !pos.line)
		return 0;
	err_set_at(e, -EINVAL, s->plan->spec->source, pos.line, pos.column, "%s", why->msg);
	if (why->hint[0])
		err_hint(e, "%s", why->hint);
	return -EINVAL;
}

static int open_collectors(struct session *s, struct err *e)
{
	int *states = mem_calloc(s->plan->nr_events, sizeof(*states));
	int rc;

	if (!states)
		return -ENOMEM;
	for (size_t i = 0; i < s->plan->nr_events; i++)
		add_misc(s, i);
	rc = collect_open(&s->plan->host->root, s->misc, s->misc_choices, s->nr_misc, &s->collect,
			  states);
	for (size_t m = 0; m < s->nr_misc && rc == 0; m++) {
		struct session_event *ev = &s->events[s->misc_index[m]];

		ev->support = (struct event_support){.state = READING_OK};
		ev->nr_cpus = states[m] ? 0 : s->nr_cpus;
		if (states[m])
			explain_misc(s, m, -states[m], &ev->support);
		rc = refuse_choice(s, m, e);
	}
	mem_free(states);
	return rc;
}

void session_spare_hold(const struct session *s, struct session_spare *spare)
{
	for (spare->nr = 0; spare->nr < SESSION_NR_SPARE; spare->nr++) {
		spare->fd[spare->nr] = fcntl(s->stop_fd, F_DUPFD_CLOEXEC, 0);
		if (spare->fd[spare->nr] < 0)
			return; /* no limit is that low by good sense; the events will say so */
	}
}

void session_spare_drop(struct session_spare *spare)
{
	while (spare->nr)
		close(spare->fd[--spare->nr]);
}

static int open_cpus(struct session *s)
{
	struct session_spare spare;
	int rc = 0;

	session_spare_hold(s, &spare);
	for (uint32_t t = 0; t < s->nr_cpus && rc == 0; t++) {
		rc = session_cpu_open(&s->cpus[t], &s->probe);
		if (rc == -ENODEV) /* went offline: it is looked for again at every iteration */
			rc = 0;
	}
	session_spare_drop(&spare);
	return rc;
}

/* What the event did over all CPUs: it works if it works somewhere. */
static void sum_up_event(struct session *s, size_t i)
{
	struct session_event *ev = &s->events[i];
	struct cpuset wanted;
	int error = 0;

	ev->perf_group = UINT32_MAX;
	for (uint32_t t = s->nr_cpus; t-- > 0;) {
		const struct session_cpu *c = &s->cpus[t];

		if (!c->is_open || c->errors[i]) {
			error = c->is_open ? c->errors[i] : ENODEV;
		} else if (c->group_of[i] != UINT32_MAX) {
			ev->nr_cpus++;
			ev->perf_group = c->group_of[i];
		}
	}
	plan_event_cpus(s->plan, &s->plan->events[i], &wanted);
	ev->nr_wanted = (uint32_t)cpuset_count(&wanted);
	if (ev->nr_cpus == 0 && !error)
		error = ENODEV; /* its PMU names only CPUs that are not measured */
	ev->support = (struct event_support){.state = READING_OK};
	if (error)
		event_support_explain_use(s->plan->host, &s->plan->events[i].event,
					  s->plan->events[i].asked->flags, error, &ev->support);
	if (ev->nr_cpus)
		ev->support.state = READING_OK;
}

/* The power of two that buffer_size_in_mb asks for. */
static uint64_t wanted_ring_bytes(const struct session *s)
{
	uint64_t mib = s->plan->spec->buffer_size_in_mb, bytes = 1 << 20;

	while (bytes >> 20 < mib)
		bytes <<= 1;
	return bytes;
}

static void close_cpus(struct session *s)
{
	sampling_close_rings(s->sampling);
	for (uint32_t t = 0; t < s->nr_cpus; t++)
		session_cpu_close(&s->cpus[t]);
}

/* Opens everything with rings of this size. *is_too_large: that is what failed; all is closed. */
static int open_sized(struct session *s, uint64_t ring_bytes, bool *is_too_large)
{
	int rc = make_attrs(s, ring_bytes);

	*is_too_large = false;
	if (rc == 0)
		rc = open_cpus(s);
	if (rc || !s->sampling)
		return rc;
	rc = sampling_open_rings(s->sampling, ring_bytes);
	*is_too_large = rc == -EPERM || rc == -ENOMEM;
	if (rc)
		close_cpus(s);
	return rc;
}

/* error: what the last larger size was refused with; 0 if it was not. */
static int tell_ring_size(struct session *s, uint64_t got, uint64_t wanted, int error,
			  struct err *e)
{
	unsigned long long asked = s->plan->spec->buffer_size_in_mb, kib = got >> 10;
	const char *why = error == -EPERM ? "the limit of locked memory" : "the kernel's memory";
	const char *to_do =
	    error == -EPERM
		? "kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK or CAP_IPC_LOCK allow more"
		: "ask for less with buffer_size_in_mb";

	if (!error && wanted >> 20 != asked)
		session_note(s, 0, "buffers of %llu MiB per CPU: %llu rounded up to a power of two",
			     (unsigned long long)wanted >> 20, asked);
	if (!error)
		return 0;
	if (s->config.is_strict) {
		err_set(
		    e, error,
		    "%s allows buffers of %llu KiB per CPU, not %llu, and --strict asks for all",
		    why, kib, (unsigned long long)wanted >> 10);
		err_hint(e, "%s", to_do);
		return error;
	}
	session_note(s, 0, "buffers of %llu KiB per CPU, not %llu: %s; %s", kib,
		     (unsigned long long)wanted >> 10, why, to_do);
	return 0;
}

/* With the largest rings that may be had. */
static int open_measured(struct session *s, struct err *e)
{
	enum { MIN_RING_BYTES = 64 << 10 };
	uint64_t wanted = wanted_ring_bytes(s), bytes = wanted;
	bool is_too_large;
	int rc = open_sized(s, bytes, &is_too_large), error = 0;

	while (rc && is_too_large && bytes > MIN_RING_BYTES) {
		error = rc;
		bytes /= 2;
		rc = open_sized(s, bytes, &is_too_large);
	}
	if (rc && is_too_large) {
		err_set(e, rc, "no memory for buffers, not even of %llu KiB per CPU: %s",
			(unsigned long long)bytes >> 10, strerror(-rc));
		err_hint(e, "kernel.perf_event_mlock_kb or RLIMIT_MEMLOCK (ulimit -l) allow more");
		return rc;
	}
	return rc || !s->sampling ? rc : tell_ring_size(s, bytes, wanted, error, e);
}

static int open_events(struct session *s, struct err *e)
{
	int rc = open_collectors(s, e); /* first: they need few descriptors */

	if (rc == 0)
		rc = open_measured(s, e);
	for (size_t i = 0; i < s->plan->nr_events && rc == 0; i++)
		if (s->plan->events[i].set != PLAN_NO_SET)
			sum_up_event(s, i);
	return rc;
}

static int refuse(const struct session *s, const struct plan_event *p, const char *what,
		  const char *hint, struct err *e)
{
	const struct spec_pos *pos = &p->asked->name_pos;

	err_set_at(e, -ENOTSUP, s->plan->spec->source, pos->line, pos->column, "%s:%s %s",
		   p->event.group->name, p->event.row->name, what);
	err_hint(e, "%s", hint);
	return -ENOTSUP;
}

/* The siblings of the timebase that are open: those that fit. */
static size_t nr_fitting(const struct session *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->plan->nr_events; i++)
		nr += s->plan->events[i].set == PLAN_TIMEBASE && s->events[i].nr_cpus &&
		      &s->plan->events[i] != s->plan->timebase;
	return nr;
}

/* A group that has no room says EINVAL (validate_group() of the PMU), or is full. */
static bool finds_no_room(const struct session *s, size_t i)
{
	for (uint32_t t = 0; t < s->nr_cpus; t++) {
		int error = s->cpus[t].errors[i];

		if (s->cpus[t].is_open && (error == EINVAL || error == ENOSPC))
			return true;
	}
	return false;
}

/* All that follows it is read from /proc and sysfs: its pace is all that is needed of a clock. */
static bool is_only_pace(const struct plan *plan)
{
	if (!event_is_clock(&plan->timebase->event))
		return false;
	for (size_t i = 0; i < plan->nr_events; i++)
		if (&plan->events[i] != plan->timebase && event_is_perf(&plan->events[i].event))
			return false;
	return true;
}

/* Nothing but misc events at the pace of a clock that this user may not open: a timer has it. */
static int check_absent_timebase(struct session *s, struct err *e)
{
	const struct plan_event *timebase = s->plan->timebase;
	const struct event_support *why = &s->events[timebase - s->plan->events].support;
	char what[320];

	if (why->state == READING_NO_PERMISSION && !s->config.is_strict && is_only_pace(s->plan)) {
		session_note(s, 0,
			     "without samples: %s; the other events are read at the pace of "
			     "%s:%s all the same",
			     why->reason, timebase->event.group->name, timebase->event.row->name);
		return 0;
	}
	snprintf(what, sizeof(what), "cannot be the timebase here: %s", why->reason);
	return refuse(
	    s, timebase, what,
	    why->hint[0] ? why->hint : "software:cpu_clock is a timebase on every machine", e);
}

/* Samples without what they are to hold, or none at all, are no answer: refused before the start.
 */
static int check_timebase(struct session *s, struct err *e)
{
	const struct plan *plan = s->plan;
	char what[320];

	if (!plan->timebase)
		return 0;
	if (s->events[plan->timebase - plan->events].nr_cpus == 0)
		return check_absent_timebase(s, e);
	for (size_t i = 0; i < plan->nr_events; i++) {
		if (plan->events[i].set != PLAN_TIMEBASE || !finds_no_room(s, i))
			continue;
		snprintf(what, sizeof(what),
			 "does not fit into the samples of the timebase %s:%s: %zu of the events "
			 "without a rate do",
			 plan->timebase->event.group->name, plan->timebase->event.row->name,
			 nr_fitting(s));
		return refuse(s, &plan->events[i], what,
			      "measure fewer at once, or give it a rate of its own", e);
	}
	return 0;
}

static int open_session(struct session *s, struct err *e)
{
	int rc;

	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->stop_fd < 0)
		return err_set(e, -errno, "no eventfd: %s", strerror(errno));
	rc = make_memory(s);
	if (rc == 0)
		rc = make_cpus(s);
	if (rc == 0 && s->plan->is_sampling)
		rc = sampling_new(s, &s->sampling);
	if (rc == 0)
		rc = open_events(s, e);
	if (rc == 0)
		rc = check_timebase(s, e);
	if (rc)
		return err_set(e, rc, "the session cannot be opened: %s", strerror(-rc));
	rc = sys()->getrandom(s->id, sizeof(s->id));
	return rc < 0 ? err_set(e, rc, "no random numbers: %s", strerror(-rc)) : 0;
}

int session_open(const struct session_config *config, struct session **out, struct err *e)
{
	struct session *s;
	int rc;

	s = mem_zalloc(sizeof(*s));
	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->config = *config;
	s->plan = config->plan;
	s->stop_fd = -1;
	session_things_init(&s->things_start);
	session_things_init(&s->things_end);
	s->probe.plan = s->plan;
	s->probe.pmu = config->pmu ? config->pmu : &pmu_kernel_ops;
	rc = open_session(s, e);
	if (rc) {
		session_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void session_close(struct session *s)
{
	if (!s)
		return;
	session_record_close(s);
	sampling_free(s->sampling);
	for (uint32_t t = 0; t < s->nr_cpus; t++)
		session_cpu_fini(&s->cpus[t]);
	free_attrs(s);
	collect_close(s->collect);
	session_drop_notes(s);
	session_things_fini(&s->things_start);
	session_things_fini(&s->things_end);
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	mem_free(s->attrs);
	mem_free(s->events);
	mem_free(s->misc);
	mem_free(s->misc_choices);
	mem_free(s->misc_index);
	mem_free(s->scratch);
	mem_free(s->cpus);
	mem_free(s->traces);
	mem_free(s);
}

const struct plan *session_plan(const struct session *s)
{
	return s->plan;
}

const struct session_event *session_event(const struct session *s, size_t i)
{
	return &s->events[i];
}

size_t session_nr_working(const struct session *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->plan->nr_events; i++)
		nr += s->events[i].nr_cpus > 0;
	return nr;
}

uint64_t session_nr_done(const struct session *s)
{
	return s->nr_done;
}

void session_stop(struct session *s)
{
	uint64_t one = 1;

	atomic_store(&s->stop, true);
	/* cannot fail but when the counter is full, and then the loop is awake anyway */
	if (write(s->stop_fd, &one, sizeof(one)) < 0)
		return;
}
