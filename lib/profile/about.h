/*
 * What the traces of a session state besides their readings and records: its times, its clocks, how
 * long each event was counted, and notes. Does not read their records.
 */
#ifndef PROFILE_ABOUT_H
#define PROFILE_ABOUT_H

#include "base/buf.h"
#include "profile/session.h"

/* How long an event was enabled and counted, over all its readings. */
struct profile_ran {
	uint64_t enabled_ns, running_ns;
};

struct profile_about {
	uint64_t start_ns, end_ns; /* of all iterations, CLOCK_MONOTONIC; 0: unknown */
	uint64_t measured_ns;      /* the sum of the iterations' durations */
	bool has_clocks;
	struct clock_triple clocks; /* of the first trace that has them */
	struct profile_ran *ran;    /* owned; by event */
	size_t nr_events;
	struct buf notes; /* each text once, NUL-terminated; error set: some are missing */
	bool is_cut;      /* the session was ended, or killed, in cut_iteration */
	uint32_t cut_iteration;
	char command[TRACE_TARGET_BYTES]; /* the command line of the target; "": not a command */
	uint32_t last_iteration;          /* internal */
};

/* 0 or -ENOMEM; profile_about_fini in any case. */
int profile_about_init(struct profile_about *a, size_t nr_events);
void profile_about_fini(struct profile_about *a);
/* Traces in the order of the session. */
void profile_about_add(struct profile_about *a, const struct profile_trace *trace);
/* Initialises, and adds all traces of the session. each, if not NULL, is called with each trace; a
 * result other than 0 ends the reading. 0, -ENOMEM or the result of each; profile_about_fini in any
 * case. */
typedef int profile_about_fn(void *arg, const struct profile_trace *trace);
int profile_about_read(struct profile_about *a, const struct profile_session *s,
		       profile_about_fn *each, void *arg);
/* The same of one iteration. If there is none, measured_ns is 0. */
int profile_about_read_iteration(struct profile_about *a, const struct profile_session *s,
				 uint32_t iteration);
/* CLOCK_REALTIME of a time of the session; 0: unknown. */
uint64_t profile_about_realtime(const struct profile_about *a, uint64_t monotonic_ns);
/* The notes one by one: *at is 0 at first. NULL after the last. */
const char *profile_about_note(const struct profile_about *a, size_t *at);

#endif
