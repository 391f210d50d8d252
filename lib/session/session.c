/*
 * The life of a session: from a plan to open events, and back.
 */
#include "base/io.h"
#include "base/mem.h"
#include "base/sys.h"
#include "session/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int make_attrs(struct session *s)
{
	for (size_t k = 0; k < s->plan->nr_parts; k++) {
		const struct plan_part *p = &s->plan->parts[k];

		if (s->plan->events[p->event].set == PLAN_NO_SET)
			continue;
		s->attrs[k] = event_attr_new(&p->part, s->plan->events[p->event].asked->flags);
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
	s->misc_index = mem_calloc(nr_events, sizeof(*s->misc_index));
	s->scratch = mem_calloc(s->plan->nr_parts, sizeof(*s->scratch));
	s->cpus = mem_calloc(nr_cpus, sizeof(*s->cpus));
	s->traces = mem_calloc(nr_cpus, sizeof(*s->traces));
	if (!s->attrs || !s->events || !s->misc || !s->misc_index || !s->scratch || !s->cpus ||
	    !s->traces)
		return -ENOMEM;
	s->probe.attrs = s->attrs;
	return make_attrs(s);
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
	s->misc[s->nr_misc++] = p->event;
}

static int open_collectors(struct session *s)
{
	int *states = mem_calloc(s->plan->nr_events, sizeof(*states));
	int rc;

	if (!states)
		return -ENOMEM;
	for (size_t i = 0; i < s->plan->nr_events; i++)
		add_misc(s, i);
	rc = collect_open(&s->plan->host->root, s->misc, s->nr_misc, &s->collect, states);
	for (size_t m = 0; m < s->nr_misc && rc == 0; m++) {
		struct session_event *ev = &s->events[s->misc_index[m]];

		ev->support = (struct event_support){.state = READING_OK};
		ev->nr_cpus = states[m] ? 0 : s->nr_cpus;
		if (states[m])
			event_support_explain(s->plan->host, &s->misc[m], -states[m], &ev->support);
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
		event_support_explain(s->plan->host, &s->plan->events[i].event, error,
				      &ev->support);
	if (ev->nr_cpus)
		ev->support.state = READING_OK;
}

static int open_events(struct session *s)
{
	int rc = open_collectors(s); /* first: they need few descriptors */

	if (rc == 0)
		rc = open_cpus(s);
	for (size_t i = 0; i < s->plan->nr_events && rc == 0; i++)
		if (s->plan->events[i].set != PLAN_NO_SET)
			sum_up_event(s, i);
	return rc;
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
	if (rc == 0)
		rc = open_events(s);
	if (rc)
		return err_set(e, rc, "the session cannot be opened: %s", strerror(-rc));
	rc = sys()->getrandom(s->id, sizeof(s->id));
	return rc < 0 ? err_set(e, rc, "no random numbers: %s", strerror(-rc)) : 0;
}

int session_open(const struct session_config *config, struct session **out, struct err *e)
{
	struct session *s;
	int rc;

	if (config->plan->is_sampling) {
		err_set(e, -ENOTSUP,
			"this version counts only: it cannot sample (an event has a rate)");
		err_hint(e, "leave out the rates and the timebase flag");
		return -ENOTSUP;
	}
	s = mem_zalloc(sizeof(*s));
	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->config = *config;
	s->plan = config->plan;
	s->stop_fd = -1;
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
	for (uint32_t t = 0; t < s->nr_cpus; t++)
		session_cpu_fini(&s->cpus[t]);
	for (size_t k = 0; s->attrs && k < s->plan->nr_parts; k++)
		mem_free(s->attrs[k]);
	collect_close(s->collect);
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	mem_free(s->attrs);
	mem_free(s->events);
	mem_free(s->misc);
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
