/*
 * The loop: wait for a deadline, read the boundary, pass it on. Boundaries are reads: the end of an
 * iteration is the start of the next, so no count falls between.
 */
#include "session/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>

enum {
	LOOK_AFTER_NS = SESSION_CPU_STUCK_NS + SESSION_CPU_STUCK_NS / 10,
	NS_PER_S = 1000000000,
};

/* Calls on_control if there is something to read. */
static void obey(struct session *s)
{
	struct pollfd control = {.fd = s->config.control_fd, .events = POLLIN};

	if (!s->config.on_control || poll(&control, 1, 0) <= 0 ||
	    !s->config.on_control(s->config.arg))
		return;
	(void)epoll_ctl(s->wake_fd, EPOLL_CTL_DEL, s->config.control_fd, NULL);
	s->config.on_control = NULL;
}

/* Sleeps until the deadline, or until woken. */
static void nap(struct session *s, uint64_t now_ns, uint64_t deadline_ns)
{
	struct pollfd wake = {.fd = s->wake_fd, .events = POLLIN};
	uint64_t left_ns = deadline_ns - now_ns;
	struct timespec left = {.tv_sec = (time_t)(left_ns / NS_PER_S),
				.tv_nsec = (long)(left_ns % NS_PER_S)};
	eventfd_t woken;

	if (s->sampling)
		sampling_wait(s->sampling, deadline_ns);
	else
		(void)ppoll(&wake, 1, &left, NULL); /* EINTR: the caller checks the clock */
	(void)eventfd_read(s->stop_fd, &woken);     /* the caller checks what it was written for */
	obey(s);
}

/* True if the session must end, or this run of its target. */
static bool is_over(const struct session *s)
{
	return atomic_load(&s->stop) || atomic_load(&s->is_complete) ||
	       (s->sampling && sampling_failed(s->sampling));
}

/* True if the iteration must end before its deadline. */
static bool is_ending(const struct session *s)
{
	return is_over(s) || atomic_load(&s->requests);
}

static void look(struct session *s)
{
	if (!s->looks.period_ns)
		return;
	paced_lock(&s->paced);
	looks_read(&s->looks);
	paced_unlock(&s->paced);
}

/* What programs marked since the last time; NULL: it is not added up. */
static const struct region_times_list *take_regions(struct session *s, uint64_t now_ns)
{
	return source_uses_regions(&s->counters.uses, now_ns, &s->regions) ? &s->regions : NULL;
}

/* Waits until the deadline or the end of the iteration. */
static void wait_until(struct session *s, uint64_t deadline_ns)
{
	while (!is_ending(s)) {
		uint64_t now_ns = clock_monotonic_ns(), due_ns = s->looks.due_ns;

		if (now_ns >= deadline_ns)
			return;
		if (now_ns >= s->trigger_due_ns) {
			session_request(s, CAUSE_TRIGGER, true);
			return;
		}
		due_ns = due_ns < s->trigger_due_ns ? due_ns : s->trigger_due_ns;
		if (now_ns < due_ns) {
			nap(s, now_ns, due_ns < deadline_ns ? due_ns : deadline_ns);
			continue;
		}
		if (now_ns < s->looks.due_ns)
			continue;
		look(s);
		s->looks.it.regions = take_regions(s, s->looks.it.end_ns);
		s->config.on_look(looks_last(&s->looks), s->config.arg);
	}
}

/* Reopens groups and enables pinned events that did not run by the last readings. */
static void mend_groups(struct session *s)
{
	size_t nr_split = 0, nr_pinned = 0;

	paced_lock(&s->paced);
	for (uint32_t t = 0; t < s->counters.nr_cpus; t++) {
		nr_pinned += session_cpu_restart(&s->counters.cpus[t]);
		nr_split += session_cpu_split(&s->counters.cpus[t], &s->counters.probe);
	}
	paced_unlock(&s->paced);
	if (nr_split)
		notes_add(
		    &s->notes, 0,
		    "a group of events did not run for 100 ms (pinned events, or another user "
		    "of the PMU?): its %zu events are counted one by one from now on",
		    nr_split);
	if (nr_pinned && !s->noted_pinned)
		notes_add(&s->notes, 0,
			  "%zu pinned event(s) found no free counter (too many pinned events, or "
			  "another user of the PMU?): they fail until they find one",
			  nr_pinned);
	s->noted_pinned |= nr_pinned > 0;
}

static bool some_group_waits(const struct session *s)
{
	for (uint32_t t = 0; t < s->counters.nr_cpus; t++)
		if (session_cpu_waits(&s->counters.cpus[t]))
			return true;
	return false;
}

/* Waits for a deadline on any clock, or the end of the iteration. */
static void wait_for(struct session *s, const struct deadline *d)
{
	uint64_t left_ns;

	if (d->clock == SPEC_REALTIME)
		wait_until(s, d->at_ns);
	else
		while (!is_ending(s) && (left_ns = schedule_left_ns(&s->schedule, d)))
			wait_until(s, clock_monotonic_ns() + left_ns);
}

/* A group that did not run all the time may be stuck; a long iteration checks that before its end.
 */
static void wait_iteration(struct session *s, const struct deadline *d)
{
	uint64_t look_ns = clock_monotonic_ns() + LOOK_AFTER_NS;
	bool is_long = d->clock != SPEC_REALTIME || look_ns < d->at_ns;

	if (is_long && some_group_waits(s)) {
		wait_until(s, look_ns);
		for (uint32_t t = 0; t < s->counters.nr_cpus && !is_ending(s); t++)
			session_cpu_look(&s->counters.cpus[t]);
		mend_groups(s);
	}
	wait_for(s, d);
}

static void read_cpu(struct session *s, struct session_cpu *c)
{
	bool was_here = c->is_open, here = session_cpu_read(c, c->end);

	if (c->cpu != PLAN_ANY_CPU && !counters_get_values(&s->counters, c->trace, c->cpu, c->end))
		here = false;
	if (!was_here || !here)
		counters_drop_values(&s->counters, c->end);
	if (!was_here || here)
		return;
	session_cpu_leave(c, c->end);
	notes_add(&s->notes, c->trace,
		  "CPU %u went offline in iteration %llu: its counts end there", c->cpu,
		  (unsigned long long)s->nr_done);
}

/* Reads everything, into the CPUs' end readings. */
static void read_boundary(struct session *s)
{
	const struct source_uses *uses = &s->counters.uses;

	paced_lock(&s->paced);
	source_uses_read_values(uses, NULL);
	/* without memory there are no things */
	(void)session_things_read(&s->things_end, uses, s->boundary_ns, NULL);
	if (s->sampling)
		sampling_hold(s->sampling);
	s->boundary_ns = clock_monotonic_ns();
	source_uses_read(uses, s->boundary_ns);
	for (uint32_t t = 0; t < s->counters.nr_cpus; t++)
		read_cpu(s, &s->counters.cpus[t]);
	for (const char *note; (note = source_uses_note(uses));)
		notes_add(&s->notes, 0, "%s", note);
	source_uses_done(uses);
	paced_boundary(&s->paced, s->boundary_ns);
	if (s->sampling)
		sampling_boundary(s->sampling, s->boundary_ns);
	paced_unlock(&s->paced);
}

static void end_becomes_start(struct session *s)
{
	struct session_things old_things = s->things_start;

	s->things_start = s->things_end;
	s->things_end = old_things;
	for (uint32_t t = 0; t < s->counters.nr_cpus; t++) {
		struct session_cpu *c = &s->counters.cpus[t];
		struct reading *old = c->start;

		c->start = c->end;
		c->end = old;
	}
}

static void enable_cpu(const struct session *s, struct session_cpu *c, bool waits_for_exec)
{
	if (s->sampling)
		sampling_enable(s->sampling, c->trace);
	if (!s->is_paused)
		session_cpu_enable(c, waits_for_exec);
}

/* Opens new groups on the CPU if it is online again; the old descriptors never count again. */
static void try_reopen(struct session *s, struct session_cpu *c)
{
	struct spare spare;
	int rc;

	spare_hold(&spare);
	rc = session_cpu_open(c, &s->counters.probe);
	if (rc == 0 && s->sampling) {
		rc = sampling_reopen(s->sampling, c->trace);
		if (rc) /* without its rings it remains offline, and is tried again */
			session_cpu_close(c);
	}
	spare_release(&spare);
	if (rc)
		return;
	enable_cpu(s, c, false);
	session_cpu_read(c, c->start);
	if (s->sampling)
		sampling_begin_cpu(s->sampling, c->trace);
	if (!counters_get_values(&s->counters, c->trace, c->cpu, c->start)) {
		/* /proc was read before it came back */
		session_cpu_leave(c, c->start);
		counters_drop_values(&s->counters, c->start);
		return;
	}
	notes_add(&s->notes, c->trace, "CPU %u is online: counted from iteration %llu on", c->cpu,
		  (unsigned long long)s->nr_done);
}

static void reopen_cpus(struct session *s)
{
	paced_lock(&s->paced);
	for (uint32_t t = 0; t < s->counters.nr_cpus; t++)
		if (!s->counters.cpus[t].is_open)
			try_reopen(s, &s->counters.cpus[t]);
	paced_unlock(&s->paced);
}

static uint64_t to_ms(uint64_t ns)
{
	return ns / 1000000;
}

/* A power cut loses files that are being synced: warns if that takes longer than a user expects. */
static void note_sync(struct session *s)
{
	uint64_t ns = session_output_sync_ns(s->recorder.output);

	if (ns < NS_PER_S || ns < 2 * s->noted_sync_ns)
		return;
	s->noted_sync_ns = ns;
	notes_add(&s->notes, 0,
		  "the disk is slow: a sync took %" PRIu64 " ms; a power cut during one loses "
		  "what was measured since the last",
		  to_ms(ns));
}

/* The common file grows with the tasks and mappings of what remains. */
static void note_retain(struct session *s)
{
	uint64_t bytes = session_output_large_common(s->recorder.output);

	if (!bytes || s->noted_common)
		return;
	s->noted_common = true;
	notes_add(&s->notes, 0,
		  "the common file has %" PRIu64 " of the %" PRIu64
		  " KiB that retain allows: fewer iterations remain",
		  bytes >> 10, s->plan->spec->retain.bytes >> 10);
}

/* Adds notes that a user needs to judge the iteration's numbers. duration_ns: that was asked for;
 * 0: none was. */
static void note_times(struct session *s, const struct session_iteration *it, uint64_t duration_ns)
{
	enum { LITTLE_NS = 25000000 };
	uint64_t span_ns = it->end_ns - it->start_ns;
	uint64_t late_ns = span_ns > duration_ns ? span_ns - duration_ns : 0;

	if (it->is_cut && duration_ns)
		notes_add(&s->notes, 0,
			  "iteration %u was ended after %" PRIu64 " of %" PRIu64 " ms",
			  it->iteration, to_ms(span_ns), to_ms(duration_ns));
	else if (duration_ns &&
		 (late_ns >= duration_ns || (late_ns >= duration_ns / 4 && late_ns >= LITTLE_NS)))
		notes_add(&s->notes, 0,
			  "iteration %u was held up: it took %" PRIu64 " ms instead of %" PRIu64,
			  it->iteration, to_ms(span_ns), to_ms(duration_ns));
}

static bool is_requested(const struct session_iteration *it)
{
	return it->cause == CAUSE_REQUEST || it->cause == CAUSE_TRIGGER;
}

/* Of how many the spec asks for. */
static bool is_asked_for(const struct session *s, const struct session_iteration *it)
{
	return s->plan->nr_windows || !is_requested(it);
}

/* What the target did between this boundary and its end, if it has ended by now, is in one more
 * iteration. */
static bool is_followed(const struct session *s, const struct session_iteration *it)
{
	return it->cause != CAUSE_END && it->cause != CAUSE_RUN && !s->has_end &&
	       s->nr_left > is_asked_for(s, it);
}

static void hide_end(struct trace_target *t)
{
	if (!(t->flags & TRACE_TARGET_IS_COMMAND))
		return;
	t->flags &= ~(unsigned)(TRACE_TARGET_HAS_ENDED | TRACE_TARGET_PROCESS_PEAK_IS_LIMIT);
	t->start_ns = t->end_ns = 0;
	t->status = 0;
}

/* Writes files first, since on_iteration may be slow. Passes the numbers on even if the files
 * failed. */
static int finish_iteration(struct session *s, struct session_iteration *it, struct err *e)
{
	struct trace_target target = {0};
	int rc;

	clock_triple_now(&it->clocks);
	if (s->config.on_target) {
		s->config.on_target(s->config.arg, &target);
		it->target = &target;
		if (s->config.on_memory)
			it->nr_memory = s->config.on_memory(s->config.arg, &it->memory);
		target.disabled_ns = session_disabled_ns(s, it->end_ns);
		target.flags |= s->is_divided ? TRACE_TARGET_IS_DIVIDED : 0;
		if (target.flags & TRACE_TARGET_IS_ATTACHED) { /* it has no other start */
			target.start_ns = s->start_ns;
			target.end_ns = it->end_ns;
		}
		if (is_followed(s, it))
			hide_end(&target);
		if (it->cause == CAUSE_RUN && WIFSIGNALED((int)target.status)) {
			it->is_cut = true; /* it did less work than the others */
			it->cause = CAUSE_END;
		}
	}
	for (uint32_t t = 0; t < s->counters.nr_cpus; t++) {
		s->traces[t].cpu = s->counters.cpus[t].cpu;
		s->traces[t].start = s->counters.cpus[t].start;
		s->traces[t].end = s->counters.cpus[t].end;
		s->traces[t].sampling = s->sampling ? sampling_result(s->sampling, t) : NULL;
	}
	it->things_start = &s->things_start;
	it->things_end = &s->things_end;
	it->traces = s->traces;
	it->nr_traces = s->counters.nr_cpus;
	source_uses_histograms(&s->counters.uses, false, &s->histograms);
	it->histograms = s->histograms.item;
	it->nr_histograms = s->histograms.nr;
	source_uses_functions(&s->counters.uses, &s->functions);
	it->functions = s->functions.item;
	it->nr_functions = s->functions.nr;
	it->nr_values = source_uses_call_values(&s->counters.uses, &it->values);
	it->regions = s->looks.period_ns ? NULL : take_regions(s, it->end_ns);
	rc =
	    s->sampling ? sampling_record(s->sampling, it, e) : recorder_write(&s->recorder, it, e);
	if (rc == 0)
		rc = session_output_recorded(s->recorder.output, it, e);
	if (s->config.on_iteration(it, s->config.arg))
		atomic_store(&s->stop, true);
	notes_drop(&s->notes);
	return rc;
}

/* requests: as struct session has them. */
/* was_over: before the boundary, to which the end belongs then. */
static enum cause cause_of(const struct session *s, unsigned requests, bool is_due, bool was_over)
{
	if (s->plan->target.has_runs && atomic_load(&s->is_complete))
		return CAUSE_RUN;
	if (is_due)
		return s->plan->nr_windows ? CAUSE_WINDOW : CAUSE_TIME;
	if (was_over || !requests)
		return CAUSE_END;
	return requests >> CAUSE_TRIGGER & 1 ? CAUSE_TRIGGER : CAUSE_REQUEST;
}

/* How long the iteration should be; 0: it is not known. */
static uint64_t wanted_ns(const struct session *s)
{
	return s->plan->nr_windows ? s->plan->windows[s->schedule.capture.window].capture_ns
				   : s->plan->spec->duration_ns;
}

static void set_paused(struct session *s, bool is_paused)
{
	s->is_paused = is_paused;
	paced_lock(&s->paced);
	paced_pause(&s->paced, is_paused);
	paced_unlock(&s->paced);
}

static void pause_all(struct session *s)
{
	set_paused(s, true);
	counters_switch_programs(&s->counters, true);
	for (uint32_t t = 0; t < s->counters.nr_cpus; t++)
		session_cpu_pause(&s->counters.cpus[t]);
	session_pause_trace(s);
}

/* One iteration, from the existing start readings to its files. Fills *it, except its start. */
static int run_iteration(struct session *s, const struct deadline *d, struct session_iteration *it,
			 struct err *e)
{
	struct err why = {0};
	uint64_t from_ns = s->boundary_ns;
	unsigned requests;
	bool is_due, was_over;
	int rc = session_output_manifest(s->recorder.output, s->nr_done + 1, &why);

	it->iteration = (uint32_t)s->nr_done;
	paced_lock(&s->paced);
	paced_expect(&s->paced, d->clock == SPEC_REALTIME ? d->at_ns : UINT64_MAX);
	paced_unlock(&s->paced);
	if (!s->sampling && (paced_is_running(&s->paced) || paced_has_samples(&s->paced)))
		ticks_skip_names(&s->paced.ticks, &s->things_start);
	rc = recorder_go_on_without(&s->recorder, rc, &why, e);
	if (rc == 0 && s->sampling)
		rc = sampling_begin(s->sampling, it->iteration, &s->things_start, e);
	if (rc)
		return rc;
	look(s);
	wait_iteration(s, d);
	requests = atomic_exchange(&s->requests, 0); /* later ones end the next iteration */
	is_due = !schedule_left_ns(&s->schedule, d);
	it->end_ns = clock_monotonic_ns();
	s->has_end = atomic_load(&s->is_complete);
	if (s->has_end)
		source_uses_settle(&s->counters.uses);
	was_over = is_over(s);
	read_boundary(s);
	paced_take_samples(&s->paced, s->boundary_ns, true);
	paced_settle(&s->paced, &s->things_end, from_ns);
	if (!s->recorder.writer) /* nobody else takes them */
		paced_drop_samples(&s->paced, s->boundary_ns);
	if (s->plan->nr_windows) {
		pause_all(s);
		schedule_end_capture(&s->schedule, d);
	}
	it->cause = cause_of(s, requests, is_due, was_over);
	it->is_cut = it->cause == CAUSE_END && !atomic_load(&s->is_complete);
	it->is_snapshot = requests & REQUEST_SNAPSHOT;
	it->trigger = "";
	/* the end comes before the snapshot that a trigger waits for: it has those samples */
	if (it->cause != CAUSE_REQUEST && s->trigger_due_ns != UINT64_MAX) {
		it->trigger = s->trigger;
		s->trigger_due_ns = UINT64_MAX;
	}
	note_times(s, it, d->clock == SPEC_REALTIME ? wanted_ns(s) : 0);
	source_uses_notes(&s->counters.uses, &s->notes);
	note_sync(s);
	note_retain(s);
	return finish_iteration(s, it, e);
}

/* The next deadline, on the grid of durations, which begins anew with the end of an iteration that
 * was requested. A session that was delayed by a whole duration (a stopped process, a suspended
 * machine) skips the missed deadlines and makes no empty iterations.
 */
static uint64_t next_deadline(const struct session *s, uint64_t deadline_ns,
			      const struct session_iteration *it)
{
	uint64_t duration_ns = s->plan->spec->duration_ns, now_ns = clock_monotonic_ns();

	if (s->plan->target.until_end)
		return UINT64_MAX;
	deadline_ns = duration_ns + (is_requested(it) ? it->end_ns : deadline_ns);
	if (!duration_ns || now_ns < deadline_ns)
		return deadline_ns;
	return deadline_ns + ((now_ns - deadline_ns) / duration_ns + 1) * duration_ns;
}

/* Enables the events and reads where they begin. */
static void enable_all(struct session *s, uint64_t *start_ns, bool waits_for_exec)
{
	counters_switch_programs(&s->counters, s->is_paused);
	for (uint32_t t = 0; t < s->counters.nr_cpus; t++)
		enable_cpu(s, &s->counters.cpus[t], waits_for_exec);
	*start_ns = clock_monotonic_ns();
	if (s->plan->starts_disabled && !s->disabled_ns && !s->disabled_from_ns)
		s->disabled_from_ns = *start_ns;
	session_pause_trace(s);
	read_boundary(s);
}

/* After the boundary of enable_all. */
static void begin_iteration(struct session *s)
{
	end_becomes_start(s);
	mend_groups(s);
}

/* *start_ns: the start of the first iteration. */
static int start_measuring(struct session *s, uint64_t *start_ns, struct err *e)
{
	int rc;

	if (source_uses_nr_sets(&s->counters.uses)) /* the first one opens files of each process */
		source_uses_read_values(&s->counters.uses, NULL);
	set_paused(s, plan_has_gap(s->plan));
	enable_all(s, start_ns, s->plan->target.is_command);
	rc = recorder_begin(&s->recorder, e);
	if (rc == 0 && s->sampling)
		rc = sampling_start(s->sampling, e);
	if (rc)
		return rc;
	paced_drop(&s->paced); /* samples of sources that have begun already */
	paced_settle(&s->paced, &s->things_end, 0);
	rc = s->recorder.writer ? paced_start(&s->paced, *start_ns) : 0;
	if (rc)
		return err_set(e, rc, "readings between boundaries cannot start: %s",
			       strerror(-rc));
	if (s->plan->starts_disabled)
		source_uses_pass_switch(&s->counters.uses, 0, false);
	begin_iteration(s);
	return s->config.on_start ? s->config.on_start(s->config.arg, e) : 0;
}

/* After a gap: drops what was read in it. */
static int restart(struct session *s, struct err *e)
{
	paced_drop(&s->paced);
	paced_settle(&s->paced, &s->things_end, 0);
	return s->sampling ? sampling_restart(s->sampling, e) : 0;
}

/* Opens the events on the process of the next run, or at other rates. */
static int reopen_all(struct session *s)
{
	int rc;

	paced_lock(&s->paced);
	rc = counters_reopen(&s->counters);
	for (uint32_t t = 0; s->sampling && t < s->counters.nr_cpus && rc == 0; t++)
		if (s->counters.cpus[t].is_open) /* else it is offline: see try_reopen */
			rc = sampling_reopen(s->sampling, t);
	paced_unlock(&s->paced);
	return rc;
}

/* 0, 1: there is no further run, or -errno with *e. What happens between runs is not measured. */
static int start_next_run(struct session *s, uint64_t *start_ns, struct err *e)
{
	int rc = s->config.on_next(s->config.arg, e);

	if (rc)
		return rc;
	rc = reopen_all(s);
	if (rc)
		return err_set(e, rc, "the events of run %" PRIu64 " cannot be opened: %s",
			       s->nr_done, strerror(-rc));
	atomic_store(&s->is_complete, false);
	enable_all(s, start_ns, true);
	rc = restart(s, e);
	if (rc)
		return rc;
	begin_iteration(s);
	return s->config.on_start(s->config.arg, e);
}

static void begin_pace(struct session *s)
{
	if (s->pace.max)
		pace_begin(&s->pace, s->config.own_cpu_ns(s->config.arg), clock_monotonic_ns());
}

/* After an iteration. Of what is measured while processes and symbols are surveyed, that is a
 * part. */
static uint32_t next_divisor(struct session *s, uint32_t iteration)
{
	if (!s->pace.max)
		return s->plan->divisor;
	if (!session_is_surveyed(s)) {
		begin_pace(s);
		return s->plan->divisor;
	}
	return pace_next(&s->pace, s->plan, iteration, s->config.own_cpu_ns(s->config.arg),
			 clock_monotonic_ns(), &s->notes);
}

/* Sets the rates of what is opened from now on. 0 or -errno with *e. */
static int divide_rates(struct session *s, uint32_t divisor, struct err *e)
{
	int rc;

	paced_lock(&s->paced);
	s->config.plan->divisor = divisor;
	counters_divide_rates(&s->counters);
	paced_set_pace(&s->paced);
	paced_unlock(&s->paced);
	rc = recorder_renew(&s->recorder);
	if (rc == 0 && !s->plan->target.has_runs) /* else the next run opens them */
		rc = reopen_all(s);
	begin_pace(s);
	return rc ? err_set(e, rc, "max_own_cpu: the events cannot be opened at lower rates: %s",
			    strerror(-rc))
		  : 0;
}

/* Begins an iteration after a gap in which rates were changed. */
static int resume(struct session *s, uint64_t end_ns, uint64_t *start_ns, struct err *e)
{
	int rc;

	enable_all(s, start_ns, false);
	rc = restart(s, e);
	if (rc)
		return rc;
	begin_iteration(s);
	s->schedule.capture =
	    (struct trace_window){.window = TRACE_NO_WINDOW, .gap_ns = *start_ns - end_ns};
	return 0;
}

/* Requests are ignored while nothing is measured. */
static void wait_gap(struct session *s, struct deadline d)
{
	do
		wait_for(s, &d);
	while (atomic_exchange(&s->requests, 0) && !is_over(s));
}

/*
 * Waits for the next window with disabled events, then begins to measure. end_ns: of the iteration
 * before, or of the delay. 0; 1: the session was ended; -errno. If the target ends here, an empty
 * iteration follows, which contains its end; and so if there was none before.
 */
static int begin_capture(struct session *s, uint64_t end_ns, uint64_t *start_ns, struct deadline *d,
			 struct err *e)
{
	int rc;

	if (s->plan->nr_windows)
		wait_gap(s, schedule_gap_end(&s->schedule));
	if (is_over(s) && s->nr_done && !atomic_load(&s->is_complete))
		return 1;
	set_paused(s, false);
	reopen_cpus(s);
	enable_all(s, start_ns, false);
	rc = restart(s, e);
	if (rc)
		return rc;
	begin_iteration(s);
	s->schedule.capture = (struct trace_window){.window = TRACE_NO_WINDOW};
	if (s->plan->nr_windows)
		*d = schedule_capture(&s->schedule);
	s->schedule.capture.gap_ns = *start_ns - end_ns;
	return 0;
}

/* The delay before the first iteration. */
static int begin_delayed(struct session *s, uint64_t *start_ns, struct deadline *d, struct err *e)
{
	uint64_t begin_ns = *start_ns;
	int rc;

	wait_gap(s, (struct deadline){SPEC_REALTIME, begin_ns + s->plan->spec->delay_ns});
	if (s->plan->nr_windows)
		schedule_begin(&s->schedule, begin_ns + s->plan->spec->delay_ns);
	rc = begin_capture(s, begin_ns, start_ns, d, e);
	if (!s->plan->nr_windows && s->schedule.capture.gap_ns > s->plan->spec->delay_ns)
		s->schedule.capture.start_late_ns =
		    s->schedule.capture.gap_ns - s->plan->spec->delay_ns;
	if (!s->plan->nr_windows && d->at_ns != UINT64_MAX)
		d->at_ns += *start_ns - begin_ns;
	return rc;
}

static int run_iterations(struct session *s, struct err *e)
{
	struct deadline d = {SPEC_REALTIME, UINT64_MAX};
	uint64_t start_ns;
	bool is_after_gap = false;
	int rc = start_measuring(s, &start_ns, e);

	if (!s->plan->target.until_end)
		d.at_ns = start_ns + s->plan->spec->duration_ns;
	if (rc == 0 && plan_has_gap(s->plan))
		rc = begin_delayed(s, &start_ns, &d, e);
	s->start_ns = start_ns;
	begin_pace(s);
	s->nr_left = spec_max_iterations(s->plan->spec);
	while (rc == 0) {
		bool has_rest, has_gap = is_after_gap || s->plan->nr_windows ||
					 (!s->nr_done && plan_has_gap(s->plan));
		uint32_t divisor;
		struct session_iteration it = {.start_ns = start_ns,
					       .window = has_gap ? &s->schedule.capture : NULL};

		rc = run_iteration(s, &d, &it, e);
		if (rc)
			return rc;
		has_rest = is_followed(s, &it) && atomic_load(&s->is_complete);
		s->nr_done++;
		s->nr_left -= is_asked_for(s, &it);
		if ((atomic_load(&s->stop) && !has_rest) || !s->nr_left)
			return 0;
		divisor = next_divisor(s, it.iteration);
		is_after_gap = divisor != s->plan->divisor && !s->plan->target.has_runs;
		if (divisor != s->plan->divisor)
			rc = divide_rates(s, divisor, e);
		if (rc)
			return rc;
		if (s->plan->target.has_runs) {
			rc = start_next_run(s, &start_ns, e);
		} else if (s->plan->nr_windows) {
			rc = begin_capture(s, it.end_ns, &start_ns, &d, e);
		} else if (is_after_gap) {
			rc = resume(s, it.end_ns, &start_ns, e);
			d.at_ns = next_deadline(s, d.at_ns, &it);
		} else {
			end_becomes_start(s);
			reopen_cpus(s);
			mend_groups(s);
			start_ns = it.end_ns;
			d.at_ns = next_deadline(s, d.at_ns, &it);
		}
	}
	return rc < 0 ? rc : 0;
}

int session_run(struct session *s, struct err *e)
{
	int rc = recorder_open(&s->recorder, e);

	if (rc == 0 && s->sampling)
		rc = sampling_prepare_files(s->sampling, e);
	if (rc == 0)
		rc = run_iterations(s, e);
	if (rc == 0 && s->sampling)
		rc = sampling_finish(s->sampling, e);
	paced_stop(&s->paced);
	if (rc == 0)
		rc = recorder_finish(&s->recorder, e);
	if (s->sampling)
		sampling_close_files(s->sampling);
	recorder_close(&s->recorder);
	return rc;
}
