#include "locks.h"

#include "base/array.h"
#include "inputs.h"
#include "profile/processes.h"
#include "report/functions.h"
#include "report/states.h"
#include "report/waker.h"
#include "trace/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_before(const struct profile_mapping *m, const struct report_lock *l)
{
	return profile_object_is_file(m->object) && profile_mapping_is_code(m) &&
	       m->start <= l->futex && m->from_ns <= l->time_ns;
}

/* A file's data are behind its code, of which there are always records: the nearest code before
 * the lock, of the process or of those that it was forked from. NULL: there is none. */
static const struct profile_mapping *find_before(const struct profile_processes *p,
						 const struct report_lock *l)
{
	const struct profile_process *process =
	    l->process < profile_nr_processes(p) ? profile_process(p, l->process) : NULL;
	const struct profile_mapping *best = NULL;

	for (; process && !best; process = profile_forked_from(p, process))
		for (size_t i = 0; i < profile_nr_mappings(p); i++) {
			const struct profile_mapping *m = profile_mapping(p, i);

			if (profile_process_of(p, m) == process && is_before(m, l) &&
			    (!best || m->start > best->start ||
			     (m->start == best->start && m->from_ns > best->from_ns)))
				best = m;
		}
	return best;
}

const char *locks_variable(const struct input *in, const struct report_lock *l,
			   char text[LOCKS_NAME_BYTES])
{
	const struct profile_mapping *m =
	    in->processes && in->symbols ? find_before(in->processes, l) : NULL;

	if (m && symbols_variable(in->symbols, m, l->futex, text))
		return m->object->name;
	*text = '\0';
	return "";
}

const char *locks_missing(const struct profile_facts *f, const struct profile_filter *filter)
{
	struct trace_layout l;
	bool has_waits = false, has_locks = false;

	for (size_t i = 0; i < f->nr_events; i++) {
		const struct trace_event *ev = &f->events[i];

		if (report_states_of(f, filter, (uint32_t)i) != REPORT_BLOCKED ||
		    !trace_layout_init(&l, ev->attr, ev->attr_bytes))
			continue;
		has_waits = true;
		has_locks |= !l.is_by_switches;
	}
	if (!has_waits)
		return "the session samples no waits: measure with "
		       "--event=sched:off_cpu_time@1 (each wait) or --spec-file=program";
	return has_locks ? NULL
			 : "the waits are from records of switches, which do not name the lock: "
			   "measure as root, or with the right to load programs (BPF)";
}

bool locks_has_owner(const struct report_lock *l)
{
	return l->holder.tid != TRACE_UNKNOWN;
}

const char *locks_holder(const struct report_functions *functions, const struct report_lock *l,
			 char text[LOCKS_NAME_BYTES])
{
	const char *name = report_functions_text(functions, l->holder.text);
	const size_t len =
	    locks_has_owner(l) ? strlen(name) : (size_t)(strrchr(name, '(') - name - 1);

	if (l->holder.has_namesake)
		snprintf(text, LOCKS_NAME_BYTES, "%s (tid %" PRIu32 ")", name, l->holder.tid);
	else
		snprintf(text, LOCKS_NAME_BYTES, "%.*s", (int)len, name);
	return text;
}

bool locks_have_wakers(const struct profile_facts *f)
{
	return ARRAY_ANY(x, f->events, f->nr_events, report_has_waker(x));
}
