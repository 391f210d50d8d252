/*
 * The life of a session: from a plan to open events, and back.
 */
#include "base/io.h"
#include "base/mem.h"
#include "marks/tracefs.h"
#include "session/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

enum { MIN_RING_BYTES = 64 << 10 };

/* The power of two for the span of a flight recorder, and a tenth more; at most its mib. */
static uint64_t flight_ring_bytes(const struct session *s)
{
	const struct spec_flight *flight = &s->plan->spec->flight;
	const double wanted = counters_bytes_per_second(s->plan) * 1.1 *
			      (double)(flight->span_ns + flight->after_ns) / NS_PER_S;
	uint64_t bytes = MIN_RING_BYTES;

	while ((double)bytes < wanted && bytes <= flight->mib << 19)
		bytes <<= 1;
	return bytes;
}

/* The power of two for buffer_size_in_mb. */
static uint64_t wanted_ring_bytes(const struct session *s)
{
	uint64_t mib = s->plan->spec->buffer_size_in_mb, bytes = 1 << 20;

	if (s->plan->spec->flight.span_ns)
		return flight_ring_bytes(s);

	while (bytes >> 20 < mib)
		bytes <<= 1;
	return bytes;
}

static void add_unrecorded(void *sampling, uint32_t pid)
{
	sampling_add_process(sampling, pid);
}

/* Opens everything with rings of this size. *is_too_large: they are too large; all is closed. */
static int open_sized(struct session *s, uint64_t ring_bytes, bool *is_too_large)
{
	int rc = counters_open(&s->counters, s->sampling ? ring_bytes : 0);

	*is_too_large = false;
	if (rc || !s->sampling)
		return rc;
	rc = sampling_open_rings(s->sampling, ring_bytes);
	*is_too_large = rc == -EPERM || rc == -ENOMEM;
	if (rc) {
		sampling_close_rings(s->sampling);
		counters_close(&s->counters);
	} else if (sampling_is_unrecorded(s->sampling)) {
		s->counters.uses.core.add_process = add_unrecorded;
	}
	return rc;
}

/* error: with which the last larger size was refused; 0: none was. */
static int report_ring_size(struct session *s, uint64_t got, uint64_t wanted, int error,
			    struct err *e)
{
	unsigned long long asked = s->plan->spec->buffer_size_in_mb, kib = got >> 10;
	const char *why = error == -EPERM ? "the limit of locked memory" : "the kernel's memory";
	const char *to_do = error == -EPERM
				? "raise kernel.perf_event_mlock_kb or RLIMIT_MEMLOCK, or use "
				  "CAP_IPC_LOCK"
				: "use a smaller buffer";

	if (!error && wanted >> 20 != asked && !s->plan->spec->flight.span_ns)
		notes_add(&s->notes, 0,
			  "buffers of %llu MiB per CPU: %llu rounded up to a power of two",
			  (unsigned long long)wanted >> 20, asked);
	if (!error || (s->plan->target.is_user_only && !s->config.is_strict))
		return 0; /* the user's limit: actual losses are reported */
	s->has_small_rings = error == -EPERM;
	if (s->config.is_strict) {
		err_set(e, error, "--strict: %s allows buffers of %llu KiB per CPU, not %llu", why,
			kib, (unsigned long long)wanted >> 10);
		err_hint(e, "%s", to_do);
		return error;
	}
	notes_add(&s->notes, 0, "buffers of %llu KiB per CPU, not %llu: %s; %s", kib,
		  (unsigned long long)wanted >> 10, why, to_do);
	return 0;
}

/* Opens everything with the largest rings that the kernel permits. */
static int open_measured(struct session *s, struct err *e)
{
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
		err_hint(e, "raise kernel.perf_event_mlock_kb or RLIMIT_MEMLOCK (ulimit -l)");
		return rc;
	}
	return rc || !s->sampling ? rc : report_ring_size(s, bytes, wanted, error, e);
}

static int open_events(struct session *s, struct err *e)
{
	int rc = open_measured(s, e);

	if (rc == 0)
		counters_sum_up(&s->counters);
	return rc;
}

static int refuse(const struct session *s, const struct plan_event *p, int code, const char *what,
		  const char *hint, struct err *e)
{
	const struct spec_pos *pos = &p->asked->name_pos;

	err_set_at(e, code, s->plan->spec->source, pos->line, pos->column, "%s:%s %s",
		   p->event.group->name, p->event.row->name, what);
	err_hint(e, "%s", hint);
	return code;
}

/* The number of open siblings of the timebase, which are those that fit. */
static size_t nr_fitting(const struct session *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->plan->nr_events; i++)
		nr += s->plan->events[i].set == PLAN_TIMEBASE && s->counters.events[i].nr_cpus &&
		      &s->plan->events[i] != s->plan->timebase;
	return nr;
}

/* A full group returns EINVAL (validate_group() of the PMU), or has too many members. */
static bool finds_no_room(const struct session *s, size_t i)
{
	for (uint32_t t = 0; t < s->counters.nr_cpus; t++) {
		int error = s->counters.cpus[t].errors[i];

		if (s->counters.cpus[t].is_open && (error == EINVAL || error == ENOSPC))
			return true;
	}
	return false;
}

/* True if all events that follow the timebase are read from /proc and sysfs: only the clock's pace
 * is needed. */
static bool is_only_pace(const struct plan *plan)
{
	if (!event_is_clock(&plan->timebase->event))
		return false;
	for (size_t i = 0; i < plan->nr_events; i++)
		if (&plan->events[i] != plan->timebase && event_is_perf(&plan->events[i].event))
			return false;
	return true;
}

/* A timer replaces a clock that this user may not open, if only misc events follow it. */
static int check_absent_timebase(struct session *s, struct err *e)
{
	const struct plan_event *timebase = s->plan->timebase;
	const struct event_support *why = &s->counters.events[timebase - s->plan->events].support;
	char what[320];

	if (why->state == READING_NO_PERMISSION && !s->config.is_strict && is_only_pace(s->plan)) {
		notes_add(&s->notes, 0,
			  "without samples: %s; the other events are still read at the pace of "
			  "%s:%s",
			  why->reason, timebase->event.group->name, timebase->event.row->name);
		return 0;
	}
	snprintf(what, sizeof(what), "cannot be the timebase here: %s", why->reason);
	return refuse(
	    s, timebase, why->state == READING_NO_PERMISSION ? -EACCES : -ENOTSUP, what,
	    why->hint[0] ? why->hint : "software:cpu_clock works as timebase on every machine", e);
}

/* Refuses a timebase whose samples would miss counts, or that cannot be sampled. */
static int check_timebase(struct session *s, struct err *e)
{
	const struct plan *plan = s->plan;
	char what[320];

	if (!plan->timebase)
		return 0;
	if (s->counters.events[plan->timebase - plan->events].nr_cpus == 0)
		return check_absent_timebase(s, e);
	for (size_t i = 0; i < plan->nr_events; i++) {
		if (plan->events[i].set != PLAN_TIMEBASE || !finds_no_room(s, i))
			continue;
		snprintf(what, sizeof(what),
			 "does not fit into the samples of the timebase %s:%s, which hold %zu of "
			 "the events without a rate",
			 plan->timebase->event.group->name, plan->timebase->event.row->name,
			 nr_fitting(s));
		return refuse(s, &plan->events[i], -ENOTSUP, what,
			      "measure fewer events, or set a rate on it", e);
	}
	return 0;
}

static int open_schedule(struct session *s, struct err *e)
{
	int rc = schedule_open(&s->schedule, s->plan, s->counters.probe.pmu);

	return rc ? err_set(e, rc, "windows: the CPU time of the target cannot be counted: %s",
			    strerror(-rc))
		  : 0;
}

static int open_wake(struct session *s, struct err *e)
{
	struct epoll_event readable = {.events = EPOLLIN};
	int rc = 0;

	s->stop_fd = s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->stop_fd >= 0 && s->config.on_control)
		s->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->wake_fd >= 0 && s->wake_fd != s->stop_fd)
		rc = epoll_ctl(s->wake_fd, EPOLL_CTL_ADD, s->stop_fd, &readable)
			 ?: epoll_ctl(s->wake_fd, EPOLL_CTL_ADD, s->config.control_fd, &readable);
	if (s->wake_fd < 0 || rc)
		return err_set(e, -errno, "nothing can wake the session: %s", strerror(errno));
	return 0;
}

/* See struct source_core. */
static bool end_iteration(void *arg)
{
	struct session *s = arg;

	session_request(s, CAUSE_REQUEST, false);
	return !s->plan->target.has_runs;
}

static int open_session(struct session *s, struct err *e)
{
	const struct pmu_ops *pmu = s->config.pmu ? s->config.pmu : &pmu_kernel_ops;
	struct sampling_config sampling = {.counters = &s->counters,
					   .notes = &s->notes,
					   .recorder = &s->recorder,
					   .paced = &s->paced,
					   .on_progress = s->config.on_progress,
					   .arg = s->config.arg,
					   .stop = &s->stop};
	int rc;

	rc = open_wake(s, e);
	if (rc)
		return rc;
	sampling.stop_fd = s->wake_fd;
	rc = counters_init(&s->counters, s->plan, pmu);
	s->counters.uses.core.end_iteration = end_iteration;
	s->counters.uses.core.session = s;
	s->counters.uses.core.wants_regions = s->config.wants_regions;
	s->traces = mem_calloc(plan_nr_traces(s->plan), sizeof(*s->traces));
	if (!s->traces)
		rc = -ENOMEM;
	if (rc == 0)
		rc = recorder_init(&s->recorder, &s->counters, &s->notes, s->config.tool)
			 ?: looks_init(&s->looks, &s->counters, s->config.look_ns);
	rc = rc ?: paced_init(&s->paced, &s->counters);
	if (!s->plan->is_sampling)
		s->recorder.paced = &s->paced;
	s->recorder.folder = s->config.folder;
	s->recorder.keeps_old_folder = s->config.keeps_old_folder;
	if (rc == 0 && s->plan->is_sampling)
		rc = sampling_new(&sampling, &s->sampling);
	if (rc == 0 && s->sampling)
		counters_open_interpreters(&s->counters);
	if (rc == 0)
		rc = source_uses_open(&s->counters.uses, e);
	s->config.plan->records_switches = source_uses_have_switches(&s->counters.uses);
	if (rc == 0)
		rc = open_events(s, e);
	if (rc == 0)
		rc = check_timebase(s, e);
	if (rc == 0)
		rc = open_schedule(s, e);
	if (rc)
		err_set(e, rc, "the session cannot be opened: %s", strerror(-rc));
	if (rc == -EMFILE)
		err_hint(e,
			 "an event needs a descriptor for each CPU or measured thread, one that "
			 "samples threads for each of both: raise the limit (ulimit -n), measure "
			 "fewer events, or a control group");
	return rc;
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
	config->plan->divisor = 1;
	s->pace.max = config->own_cpu_ns ? s->plan->spec->max_own_cpu : 0;
	s->notes.on_note = config->on_note;
	s->notes.on_late = config->on_late_note;
	s->notes.arg = config->arg;
	s->stop_fd = s->wake_fd = -1;
	s->trigger_due_ns = UINT64_MAX;
	session_things_init(&s->things_start);
	session_things_init(&s->things_end);
	rc = open_session(s, e);
	if (rc) {
		session_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void session_leave(struct session *s)
{
	source_uses_leave(&s->counters.uses);
}

void session_release(struct session *s)
{
	paced_stop(&s->paced);
	sampling_free(s->sampling);
	s->sampling = NULL;
	counters_release(&s->counters);
}

void session_close(struct session *s)
{
	if (!s)
		return;
	schedule_close(&s->schedule);
	paced_stop(&s->paced);
	sampling_free(s->sampling);
	recorder_fini(&s->recorder);
	looks_fini(&s->looks);
	mem_free(s->histograms.item);
	mem_free(s->functions.item);
	paced_fini(&s->paced);
	counters_fini(&s->counters);
	notes_drop(&s->notes);
	session_things_fini(&s->things_start);
	session_things_fini(&s->things_end);
	if (s->wake_fd != s->stop_fd)
		io_close(&s->wake_fd);
	io_close(&s->stop_fd);
	mem_free(s->traces);
	mem_free(s);
}

const struct plan *session_plan(const struct session *s)
{
	return s->plan;
}

const struct session_event *session_event(const struct session *s, size_t i)
{
	return &s->counters.events[i];
}

void session_describe_event(const struct session *s, size_t i, struct trace_event *out)
{
	recorder_describe(&s->counters, i, out);
}

const char *session_socket(const struct session *s, const char *variable)
{
	return source_uses_socket(&s->counters.uses, variable);
}

const char *session_manifest(const struct session *s)
{
	return s->recorder.manifest;
}

const char *session_moved(const struct session *s, const char **why)
{
	*why = s->recorder.moved_why;
	return *s->recorder.moved_why ? s->recorder.moved_to : NULL;
}

size_t session_nr_working(const struct session *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->plan->nr_events; i++)
		nr += s->counters.events[i].nr_cpus > 0;
	return nr;
}

bool session_is_surveyed(const struct session *s)
{
	return !s->sampling || sampling_is_surveyed(s->sampling);
}

uint64_t session_nr_done(const struct session *s)
{
	return s->nr_done;
}

static void wake(const struct session *s)
{
	uint64_t one = 1;

	/* fails only if the counter is full, and then the loop is awake */
	if (write(s->stop_fd, &one, sizeof(one)) < 0)
		return;
}

bool session_has_small_rings(const struct session *s)
{
	return s->has_small_rings;
}

void session_finish(struct session *s)
{
	atomic_store(&s->is_complete, true);
	if (!s->plan->target.has_runs)
		atomic_store(&s->stop, true);
	wake(s);
}

void session_request(struct session *s, enum cause cause, bool is_snapshot)
{
	if (s->plan->target.has_runs)
		return;
	atomic_fetch_or(&s->requests, 1u << cause | (is_snapshot ? REQUEST_SNAPSHOT : 0));
	wake(s);
}

static bool is_switched(const struct plan *plan, const struct plan_event *p)
{
	return p->set != PLAN_NO_SET && (p->set != PLAN_TIMEBASE || p == plan->timebase);
}

/* Between two windows all are disabled; then the next one enables those that are not off. */
static void switch_event(struct session *s, size_t event, bool is_enabled)
{
	s->counters.is_off[event] = !is_enabled;
	counters_switch_programs(&s->counters, s->is_paused);
	for (uint32_t t = 0; t < s->counters.nr_cpus && !s->is_paused; t++)
		session_cpu_switch(&s->counters.cpus[t], event, is_enabled);
}

uint64_t session_disabled_ns(const struct session *s, uint64_t now_ns)
{
	return s->disabled_ns + (s->disabled_from_ns && now_ns > s->disabled_from_ns
				     ? now_ns - s->disabled_from_ns
				     : 0);
}

void session_pause_trace(struct session *s)
{
	if (s->plan->tracefs)
		tracefs_pause(s->plan->tracefs, s->is_paused || s->disabled_from_ns);
}

/* After a request: whether events count now. */
static void note_enabled(struct session *s)
{
	const uint64_t now_ns = clock_monotonic_ns();
	const bool was_on = !s->disabled_from_ns;
	size_t nr_on = 0, nr_off = 0;

	for (size_t i = 0; i < s->plan->nr_events; i++)
		if (is_switched(s->plan, &s->plan->events[i]))
			*(s->counters.is_off[i] ? &nr_off : &nr_on) += 1;
	s->is_divided |= nr_on && nr_off;
	s->disabled_ns = session_disabled_ns(s, now_ns);
	s->disabled_from_ns = nr_on ? 0 : now_ns;
	session_pause_trace(s);
	if (was_on != (nr_on > 0))
		source_uses_pass_switch(&s->counters.uses, now_ns, nr_on);
}

static int enable(struct session *s, size_t event, bool is_enabled)
{
	if (!is_switched(s->plan, &s->plan->events[event]))
		return -EINVAL;
	paced_lock(&s->paced);
	switch_event(s, event, is_enabled);
	paced_unlock(&s->paced);
	return 0;
}

int session_enable(struct session *s, size_t event, bool is_enabled)
{
	int rc = enable(s, event, is_enabled);

	note_enabled(s);
	return rc;
}

void session_enable_all(struct session *s, bool is_enabled)
{
	for (size_t i = 0; i < s->plan->nr_events; i++)
		(void)enable(s, i, is_enabled);
	note_enabled(s);
}

void session_trigger(struct session *s, const char *why)
{
	notes_add(&s->notes, 0, "trigger: %s", why);
	if (s->trigger_due_ns != UINT64_MAX)
		return;
	snprintf(s->trigger, sizeof(s->trigger), "%s", why);
	s->trigger_due_ns = clock_monotonic_ns() + s->plan->spec->flight.after_ns;
}

void session_stop(struct session *s)
{
	atomic_store(&s->stop, true);
	wake(s);
}
