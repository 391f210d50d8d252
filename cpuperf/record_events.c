/*
 * Events that cannot be measured, or not by this user: warnings.
 */
#include "base/log.h"
#include "estimate/table.h"
#include "host/host.h"
#include "recorder.h"
#include "session/session.h"

#include <errno.h>
#include <string.h>

enum { MAX_NAMES_BYTES = 65536 };

static bool same_trouble(const struct session_event *a, const struct session_event *b)
{
	return a->nr_cpus == b->nr_cpus && strcmp(a->support.reason, b->support.reason) == 0;
}

/* Appends group:name, and the label of the column if it differs. */
static void add_name(const struct plan_event *p, struct buf *out)
{
	buf_printf(out, "%s%s:%s", out->len ? ", " : "", p->event.group->name, p->event.row->name);
	if (strcmp(p->label, p->event.row->name) != 0)
		buf_printf(out, " (column %s)", p->label);
}

/* One warning for all events with the same problem as event i, logged at the first of them. The
 * names come last, because the message may be truncated. */
static void warn_event(const struct recorder *r, size_t i)
{
	const struct session_event *ev = session_event(r->session, i);
	struct err e = {0};
	struct buf names;

	for (size_t j = 0; j < i; j++)
		if (same_trouble(session_event(r->session, j), ev))
			return;
	buf_init(&names, MAX_NAMES_BYTES);
	for (size_t j = i; j < r->plan->nr_events; j++)
		if (same_trouble(session_event(r->session, j), ev))
			add_name(&r->plan->events[j], &names);
	if (ev->nr_cpus)
		err_set(&e, -ENOENT, "on %u of %u CPUs only (on the others %s): %s", ev->nr_cpus,
			ev->nr_wanted, ev->support.reason, buf_str(&names));
	else
		err_set(&e, -ENOENT, "%s: %s: %s", reading_state_name(ev->support.state),
			ev->support.reason, buf_str(&names));
	if (ev->support.hint[0])
		err_hint(&e, "%s", ev->support.hint);
	log_err(LOG_WARNING, &e);
	buf_fini(&names);
}

/* Of a command, wait4 has a part of the answer; of a process that ran before, /proc has its page
 * faults and context switches. */
bool recorder_is_measurable(const struct recorder *r)
{
	bool is_refused = false;

	for (size_t i = 0; i < r->plan->nr_events; i++)
		is_refused |=
		    session_event(r->session, i)->support.state == READING_NO_PERMISSION &&
		    (r->command || plan_is_refused(r->plan, &r->plan->events[i]));
	return session_nr_working(r->session) || (is_refused && (r->command || r->is_answered));
}

/* Of an event that may be absent, the session's own list says so. */
static bool is_absent(const struct recorder *r, size_t i)
{
	const struct plan_event *p = &r->plan->events[i];

	return p->asked->flags & SPEC_OPTIONAL && p->event.row->missing;
}

size_t recorder_warn_events(const struct recorder *r, bool is_strict)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->plan->nr_events; i++) {
		const struct session_event *ev = session_event(r->session, i);

		if (ev->nr_cpus && ev->nr_cpus == ev->nr_wanted)
			continue;
		if ((!r->is_answered && !is_absent(r, i)) || is_strict ||
		    !recorder_is_measurable(r))
			warn_event(r, i);
		nr++;
	}
	return nr;
}

void recorder_log_groups(const struct recorder *r)
{
	uint64_t groups = 0; /* a bit per group; there are at most 32 perf events */
	unsigned nr_events = 0;

	for (size_t i = 0; i < r->plan->nr_events; i++) {
		uint32_t group = session_event(r->session, i)->perf_group;

		if (r->plan->events[i].set != PLAN_HARDWARE || group >= 64)
			continue;
		groups |= 1ull << group;
		nr_events++;
	}
	if (groups & (groups - 1))
		log_info("%u hardware events do not fit at once: they are multiplexed, in %d "
			 "groups",
			 nr_events, __builtin_popcountll(groups));
}

/* What may have held the counters. */
static const char *why_never_counted(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nr_events; i++)
		if (plan->events[i].asked->flags & SPEC_PINNED)
			return "pinned events hold their counters all the time: pin fewer events, "
			       "or measure longer iterations";
	return plan->host->nmi_watchdog
		   ? "iterations shorter than the kernel's rotation, or another user of the PMU; "
		     "the NMI watchdog holds a counter of each CPU: sysctl kernel.nmi_watchdog=0"
		   : "iterations shorter than the kernel's rotation, or another user of the PMU";
}

void recorder_warn_never_counted(const struct recorder *r)
{
	struct err e = {0};
	struct buf names;

	buf_init(&names, MAX_NAMES_BYTES);
	for (size_t i = 0; i < r->plan->nr_events; i++) {
		const uint64_t *nr_cells = r->summary->column[i].nr_cells;

		if (nr_cells[CELL_NOT_COUNTED] && !nr_cells[CELL_OK] && !nr_cells[CELL_OFFLINE] &&
		    r->plan->events[i].set != PLAN_NO_SET)
			add_name(&r->plan->events[i], &names);
	}
	if (names.len) {
		err_set(&e, -ENODATA, "not counted: open, but never ran: %s", buf_str(&names));
		err_hint(&e, "%s", why_never_counted(r->plan));
		log_err(LOG_WARNING, &e);
	}
	buf_fini(&names);
}
