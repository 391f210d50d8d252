/*
 * When a session measured: its iterations, in order of time. Between some of them events were
 * disabled (a delay, windows); of a flight recorder they are what it held. Time in which --control
 * disabled all events, by the common file, is not measured either.
 */
#ifndef PROFILE_SPANS_H
#define PROFILE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_filter;
struct profile_session;
struct trace_switch;

/* CLOCK_MONOTONIC. The first begins at 0 unless something was not measured before it, and the last
 * ends at UINT64_MAX unless its window was over: what its end delays is part of it. */
struct profile_span {
	uint64_t from_ns, to_ns;
	uint32_t iteration;
	bool is_apart; /* something before it was not measured */
};

/* Zero-initialise. */
struct profile_spans {
	struct profile_span *item; /* owned */
	size_t nr, room;
	uint64_t end_ns; /* of the last one, also if it is open to what its end delays; 0: none */
};

/* When all events were disabled on request, and one was enabled again. Zero-initialise. */
struct profile_span_switches {
	struct trace_switch *item; /* owned; in order of time */
	size_t nr, room;
};

/* 0, -EINVAL (before the last one), -ENOMEM. */
int profile_span_switches_add(struct profile_span_switches *s, const struct trace_switch *change);
void profile_span_switches_fini(struct profile_span_switches *s);

/* Reads all traces. 0 or -ENOMEM; profile_spans_fini in any case. */
int profile_spans_read(struct profile_spans *s, const struct profile_session *session);
void profile_spans_fini(struct profile_spans *s);
/* Removes what lies between a switch off and the next one on. 0 or -ENOMEM. */
int profile_spans_switch(struct profile_spans *s, const struct profile_span_switches *off);
/* Those that the iterations and times of the filter select, joined where they follow each other.
 * No spans: those times alone. start_ns: of the session. 0 or -ENOMEM; profile_spans_fini in any
 * case. */
int profile_spans_select(const struct profile_spans *s, const struct profile_filter *f,
			 uint64_t start_ns, struct profile_spans *out);
/* How much of the time between the two they cover. */
uint64_t profile_spans_ns(const struct profile_spans *s, uint64_t from_ns, uint64_t to_ns);
/* The last moment in them up to time_ns; 0: none. */
uint64_t profile_spans_last(const struct profile_spans *s, uint64_t time_ns);

#endif
