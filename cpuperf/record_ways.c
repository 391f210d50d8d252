/*
 * What would permit this user to measure what he asked for.
 */
#include "attached.h"
#include "base/log.h"
#include "base/privilege.h"
#include "bpf/waits.h"
#include "calls/calls.h"
#include "host/host.h"
#include "plan/plan.h"
#include "recorder.h"
#include "rights.h"
#include "session/session.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MAX_NAMES_BYTES = 65536, MAX_TARGET_BYTES = 4096 };

/* What is refused, and how it could be measured. */
struct refused {
	bool cpus;                      /* whole CPUs */
	bool kernel;                    /* what the target does in the kernel */
	struct buf *programs;           /* names of events that need programs in the kernel */
	bool waits;                     /* records of switches would sample some of those */
	bool clock;                     /* also the time of the target's own tasks */
	const struct plan_event *calls; /* the first event of functions among those */
};

static bool needs_programs(const struct plan_event *p)
{
	return event_wait(&p->event) >= 0 || event_latency(&p->event) >= 0 ||
	       event_is_function(&p->event) || p->asked->is_aggregated;
}

static bool is_of_waits(const struct event *ev)
{
	return (event_wait(ev) >= 0 && event_wait(ev) != WAITS_WAKEUPS) ||
	       event_latency(ev) == EVENT_LATENCY_RUN_QUEUE;
}

static void look_at_event(const struct recorder *r, size_t i, struct refused *out)
{
	const struct plan_event *p = &r->plan->events[i];
	bool is_refused = session_event(r->session, i)->support.state == READING_NO_PERMISSION;
	bool is_by_records = plan_is_by_switches(r->plan, p);

	if (!event_is_perf(&p->event) || (event_is_function(&p->event) && p->source->is_in_target))
		return;
	out->clock |= event_is_clock(&p->event) && plan_is_of_tasks(r->plan, p) &&
		      session_event(r->session, i)->support.state != READING_OK;
	if (!needs_programs(p)) {
		out->cpus |= is_refused && !plan_is_of_tasks(r->plan, p);
		out->kernel |=
		    plan_is_of_tasks(r->plan, p) && (is_refused || r->plan->target.is_user_only);
	} else if (is_refused || is_by_records) {
		buf_printf(out->programs, "%s%s:%s", out->programs->len ? ", " : "",
			   p->event.group->name, p->event.row->name);
		out->waits |= !is_by_records && is_of_waits(&p->event);
		if (event_is_function(&p->event) && !out->calls)
			out->calls = p;
	}
}

/* The target as it is typed. */
static void add_target(const struct recorder *r, struct buf *out)
{
	char command[MAX_TARGET_BYTES];

	if (r->command)
		target_command_text(r->command, command, sizeof(command));
	if (r->command)
		buf_printf(out, "-- %s", command);
	else if (r->attached && r->plan->target.nr_ids)
		buf_printf(out, "--pid=%d", (int)r->plan->target.ids[0]);
	else
		buf_adds(out, "-- COMMAND");
}

/* On a terminal with few rows the answer needs them more. */
static bool is_small(const struct recorder *r)
{
	enum { MIN_ROWS = 40 };
	struct winsize size;

	return r->is_answered && r->options->std.min_level == LOG_INFO && isatty(STDERR_FILENO) &&
	       ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row &&
	       size.ws_row < MIN_ROWS;
}

static void add_ways(const struct recorder *r, const struct refused *refused,
		     const struct rights_ways *out)
{
	const struct host *h = r->plan->host;
	bool has_programs = refused->programs->len;
	BUF_AUTO(target, 2 * MAX_TARGET_BYTES);

	if (refused->cpus && !host_may_measure_cpus(h))
		rights_add_ways(h, "whole CPUs", 0, has_programs, out);
	else if (refused->kernel && !host_may_measure_kernel(h))
		rights_add_ways(h, r->plan->target.is_user_only ? "it in the kernel too" : "it", 1,
				has_programs, out);
	else if (has_programs)
		rights_add_programs(h, buf_str(refused->programs), out);
	if (refused->calls)
		rights_add_calls(refused->calls->event.row->name,
				 calls_remedy(r->plan, refused->calls), out);
	if (r->plan->target.is_cgroup)
		return;
	add_target(r, &target);
	if (r->options->has_no_perf)
		return; /* they sampled it */
	if (refused->clock && r->plan->target.is_command)
		rights_add_times(buf_str(&target), out);
	else if (refused->waits)
		rights_add_waits(buf_str(&target), out);
}

void recorder_add_ways(const struct recorder *r, int error, struct buf *out)
{
	const struct rights_ways ways = {.text = out, .is_short = is_small(r)};
	BUF_AUTO(programs, MAX_NAMES_BYTES);
	struct refused refused = {.cpus = error == -EACCES,
				  .kernel = (error && r->plan->target.is_user_only) ||
					    r->options->has_no_perf,
				  .programs = &programs};
	size_t start;

	if (r->options->std.min_level > LOG_INFO)
		return;
	if (!error && r->options->has_no_perf && !r->plan->heap_refused)
		buf_adds(
		    out,
		    "\nThe kernel refuses all perf events here, so time was sampled by timers in "
		    "the program (timers.cpspec)\n");
	for (size_t i = 0; !error && i < r->plan->nr_events; i++)
		look_at_event(r, i, &refused);
	/* what runs for another user stays refused */
	if (r->attached && refused.kernel && r->plan->target.is_user_only && !error &&
	    !recorder_is_measurable(r))
		return;
	start = out->len;
	add_ways(r, &refused, &ways);
	if (out->len == start && !error && privilege_is_held() &&
	    session_has_small_rings(r->session))
		rights_add_buffers(r->plan->host, &ways);
}
