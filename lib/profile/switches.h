/*
 * Waits of a session whose recorder could not load programs into the kernel: made from the records
 * of the switches of the target's tasks. From each switch out to the next switch in the task
 * waited: for a CPU, if it was preempted; else it was blocked, and then waited for a CPU, in shares
 * that the records do not show. Each wait counts, as samples of the events off_cpu_time and
 * run_queue_time, which the trace of the target (TRACE_ANY_CPU) then has, with their sums as
 * readings.
 *
 * A sample has the stack of the task's last sample before the wait. It stands for one long wait, or
 * for successive ones with the same stack.
 *
 * If programs cannot be loaded into the kernel, sampled waits of a target are events of its tasks
 * (plan.records_switches; kernel/ways.h has what cannot be measured so, and why), inherited, of
 * which one has attr.context_switch; a bit of attr.config1 marks them for readers. All records are
 * read when the session is opened (phases.h, wait_samples.h), and what is made of them is added to
 * the trace as frames in memory: everything after that reads them like recorded ones.
 */
#ifndef PROFILE_SWITCHES_H
#define PROFILE_SWITCHES_H

#include "profile/session.h"

struct profile_switches;
struct trace_reader;

/* Reads all traces of the session. Memory is the last sample of each thread; what is made is in an
 * unnamed file. *out is NULL if the session records no switches. 0, or -errno with *e. */
int profile_switches_make(struct profile_session *s, struct profile_switches **out, struct err *e);
void profile_switches_free(struct profile_switches *w); /* NULL is fine */
/* As profile_session_waits. NULL: only clocks were completed. */
const struct profile_waits *profile_switches_waits(const struct profile_switches *w);
/* Adds what was made to the trace that r reads, if it is the target's. w is borrowed by *out.
 * Takes ownership of r, also on failure. 0 or -ENOMEM. For any thread. */
int profile_switches_add(const struct profile_switches *w, struct trace_reader *r,
			 struct trace_reader **out);

#endif
