/*
 * What happened in the regions of each thread, one after the other: from the steps of regions.h to
 * calls with their times. Filters select threads, processes, names, regions, iterations and times;
 * what the session did not measure is never selected (profile/spans.h). Of a call that is only
 * partly in the time, that part; if there are several, each begins and ends.
 */
#ifndef PROFILE_REGION_CALLS_H
#define PROFILE_REGION_CALLS_H

#include "profile/regions.h"

enum profile_region_event_kind {
	PROFILE_REGION_BEGIN,
	PROFILE_REGION_END,
	PROFILE_REGION_INSTANT,
	PROFILE_REGION_VALUE,
};

/* What an event counted in a call, from its beginning to its end. */
struct profile_region_count {
	const char *name; /* safe to show */
	uint64_t value;
	uint64_t inner; /* of the regions inside */
	bool has_inner; /* all of them were counted */
	/* Regions inside that were counted, with those in them; and those next inside alone. */
	uint64_t nr_below, nr_inner;
};

/* Borrowed until the next. */
struct profile_region_event {
	enum profile_region_event_kind kind;
	uint64_t time_ns;
	uint32_t pid, tid;
	uint32_t region;  /* of an instant or value: the innermost */
	const char *name; /* of the region, instant or value; safe to show */
	int64_t value;    /* of a value; of a region its number: "request 17" */
	bool has_value;
	const struct profile_task *task; /* the thread, when the region began */
	/* Of an end. */
	uint64_t begin_ns, inner_ns; /* inner: in the regions inside */
	uint64_t earlier_ns;         /* when the part of the call before this one ended; 0: none */
	bool is_closed;              /* without an end of its own */
	bool is_cut;                 /* a part of it is outside of the times selected */
	const struct profile_region_count *counts; /* of a call that was counted */
	size_t nr_counts;
};

/* 0, or anything else, which ends the walk. */
typedef int profile_region_event_fn(void *arg, const struct profile_region_event *e);

/* Passes all events that the filter selects, thread by thread in order of tid, those of a thread in
 * order of time. start_ns: the session's start. 0, -ENOMEM, or what each returned. */
int profile_region_calls(const struct profile_processes *p, const struct profile_filter *filter,
			 uint64_t start_ns, profile_region_event_fn *each, void *arg);
/* How much of the time from start_ns, the session's start, to its end is selected. 0 or -ENOMEM. */
int profile_region_time(const struct profile_processes *p, const struct profile_filter *filter,
			uint64_t start_ns, uint64_t end_ns, uint64_t *ns);

#endif
