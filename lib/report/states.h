/*
 * The state of a task in the time that a sample stands for. Events that sample the time in one
 * state each (cpu_clock, run_queue_time, off_cpu_time) are one quantity: the sum of their weights
 * is wall time × threads.
 *
 * counter.h counts their samples under the first of these events, with the state in the key or as
 * the outermost frame, so that every report, export and interval works unchanged; job_event names
 * the quantity. The reason of a wait is looked up in a table of the kernel's functions when an
 * entry of the fold is passed on.
 */
#ifndef REPORT_STATES_H
#define REPORT_STATES_H

#include "report/entry.h"

struct profile_facts;
struct profile_filter;

enum report_state {
	REPORT_NO_STATE, /* the event does not sample time */
	REPORT_ON_CPU,
	REPORT_IN_QUEUE,
	REPORT_BLOCKED,
	REPORT_WAITING, /* blocked, and then for a CPU: in what shares is not known */
	REPORT_UNKNOWN, /* a record of a switch was lost */
	REPORT_IDLE,    /* the idle task: no thread has this time */
	REPORT_NR_STATES
};
/* The only frame of a sample that stands for time in which a thread ran and was not sampled
 * (profile_sample.is_rest). */
#define REPORT_NOT_SAMPLED "[not sampled]"

/* "on CPU", …; "" for REPORT_NO_STATE. */
extern const char *const report_state_names[REPORT_NR_STATES];

/* The state that the event samples, if the filter selects it. Of two events of one state the second
 * has none. */
enum report_state report_states_of(const struct profile_facts *f,
				   const struct profile_filter *filter, uint32_t event);
/* Whether an event has a state after that one in their order: after REPORT_ON_CPU, a wait. */
bool report_states_have(const struct profile_facts *f, const struct profile_filter *filter,
			enum report_state least);
/* Which events with a state are counted as one. */
enum report_sum {
	REPORT_SUM_NONE,
	REPORT_SUM_STATES,
	REPORT_SUM_WAITS, /* all but the one on CPU */
};

/* The event under which a sample of event is counted: the first one with a state, or of a wait, or
 * itself. */
uint32_t report_states_event(const struct profile_facts *f, const struct profile_filter *filter,
			     uint32_t event, enum report_sum sum);

/* Why the task is in that state, in a word or two, by the functions of the kernel in its stack (the
 * sampled one first): "futex", "pipe", "disk"; else the system call. "": not known. buf is used for
 * names that are made. */
enum { REPORT_REASON_BYTES = 64 };
const char *report_reason(enum report_state state, const struct report_frame *frames, size_t nr,
			  char buf[REPORT_REASON_BYTES]);
/* The same word for what the recorder saw: enum trace_reason. */
const char *report_seen_reason(uint32_t reason);
/* Row i of the table of functions, which is in the order of strcmp; NULL: there is none. */
const char *report_reason_at(size_t i, const char **function);

#endif
