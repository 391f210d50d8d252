/*
 * Readings of a trace that samples come one by one. A stream collects them into ticks: a tick is a
 * trace whose pairs are its readings and the previous ones, so that its numbers are computed like
 * those of an iteration. A tick ends when an event is read again.
 */
#ifndef COUNTS_STREAM_H
#define COUNTS_STREAM_H

#include "base/dict.h"
#include "profile/session.h"

struct counts_stream;

/* Receives a tick, which is valid during the call. 0, or the error of the caller. */
typedef int counts_tick_fn(void *arg, const struct counts_stream *st,
			   const struct profile_trace *tick);

struct counts_stream {
	counts_tick_fn *tick;
	void *arg;
	const struct profile_facts *facts;
	const struct profile_trace *trace; /* the current one */
	struct profile_pair *pairs;        /* owned; of each event */
	struct profile_pair *further;      /* owned; NULL: none; as in profile_trace */
	struct dict things;                /* struct profile_thing, by event and number */
	bool *has_things;  /* owned; by event: it, or its things, were read in the tick */
	uint64_t *read_ns; /* owned; by event: when that was; of things the last time */
	uint64_t start_ns, end_ns;
	bool is_open; /* the tick has readings, or is wanted without */
};

/* 0 or -ENOMEM; call fini also then. facts are borrowed. */
int counts_stream_init(struct counts_stream *st, const struct profile_facts *facts,
		       counts_tick_fn *tick, void *arg);
void counts_stream_fini(struct counts_stream *st); /* zeroes are fine */

/* The start readings of a trace become those of the first tick. The trace is borrowed until the
 * next one. 0 or -ENOMEM. */
int counts_stream_begin(struct counts_stream *st, const struct profile_trace *trace,
			bool has_things);
/* Adds a reading of an event that facts have; ends the tick before, if it has one already. Other
 * parts than a trace may have are ignored. 0, -ENOMEM (also: too many things), or what tick
 * returned. */
int counts_stream_add(struct counts_stream *st, const struct reading *r);
/* Drops the reading that the current tick has of the event, and thing, if it is at most that long
 * before r, which is added next. */
void counts_stream_renew(struct counts_stream *st, const struct reading *r, uint64_t within_ns);
/* Ends the current tick, if it is open. */
int counts_stream_end(struct counts_stream *st);

#endif
