/*
 * The events of the group latency: their programs, and what was added to their histograms between
 * two readings.
 */
#ifndef SESSION_LATENCY_H
#define SESSION_LATENCY_H

#include "base/dict.h"
#include "bpf/latency.h"
#include "session/plan.h"
#include "trace/trace.h"

/* What was added between two readings. All zero: there was none. */
struct session_latency_view {
	struct dict now, before;      /* at the last two readings */
	struct trace_histogram *item; /* owned; the difference */
	size_t nr, room;
	struct trace_bucket *buckets; /* owned; of all items */
	size_t nr_buckets, bucket_room;
};

struct session_latency {
	const struct plan *plan;      /* borrowed */
	struct latency *programs;     /* owned; NULL: not needed, or refused */
	struct event_support support; /* why, then */
	int error;                    /* errno, then */
	size_t nr_events;
	uint32_t events[LATENCY_MAX_EVENTS]; /* of the plan, by the programs' number */
	struct session_latency_view view;    /* of the iteration */
	bool has_failed;                     /* the last reading did */
	/* The counts that belong to the last reading. */
	bool has_counts;
	uint64_t *counts;                       /* owned; per event of the programs and CPU */
	uint64_t *last;                         /* owned; per CPU: space for another reading */
	uint32_t nr_cpus;                       /* the highest number of a CPU, and one */
	uint64_t forgotten[LATENCY_MAX_EVENTS]; /* in histograms that were removed */
};

/* Zeroes are fine. */
void session_latency_fini(struct session_latency *l);
/* Loads the programs that the plan's events need, once. 0, also if they are refused, or -ENOMEM. */
int session_latency_open(struct session_latency *l, const struct plan *plan);
/* Unloads them: the target has changed. */
void session_latency_close(struct session_latency *l);
/* Whether the latencies of these numbers (event_latency), at most one of each kind, work here:
 * loads their programs together, and unloads them. */
void session_latency_check(const int *numbers, size_t nr, struct event_support *out);
/* Enables or disables the event of the plan, if it is a latency. */
void session_latency_switch(struct session_latency *l, size_t event, bool is_enabled);
/* What ended on the CPU up to now, or, until session_latency_done, up to session_latency_read: then
 * the CPUs' counts add up to those of the histograms. event: of the plan. */
uint64_t session_latency_count(const struct session_latency *l, size_t event, uint32_t cpu);
/* Reads all histograms. Without memory, or if they cannot be read, there are no items. */
void session_latency_read(struct session_latency *l);
void session_latency_done(struct session_latency *l);
/* Reads all histograms into another view, beside the iterations. */
void session_latency_look(struct session_latency *l, struct session_latency_view *v);
void session_latency_view_init(struct session_latency_view *v);
void session_latency_view_fini(struct session_latency_view *v); /* zeroes are fine */
/* Raises the counts of nr CPUs from those before the histograms were read, towards those after it,
 * until they add up to sum. */
void session_latency_agree(uint64_t *count, const uint64_t *last, size_t nr, uint64_t sum);

#endif
