/*
 * Loads one trace of a session: from its frames to pairs of readings. Skips records (see
 * records.h). Independent of other files.
 */
#ifndef PROFILE_LOAD_H
#define PROFILE_LOAD_H

#include "base/arena.h"
#include "profile/faults.h"
#include "profile/things.h"
#include "trace/reader.h"

struct profile_times;

struct profile_load {
	const struct trace_events *session_events; /* a trace's events must agree with them */
	struct profile_faults faults;
	const struct profile_times *times; /* borrowed; of the next trace; NULL: not known */

	/* The trace loaded last; reused for the next. */
	struct trace_events events;
	struct trace_ids ids;
	struct trace_sampling sampling;
	struct trace_target target;
	struct trace_window window;
	struct profile_pair *pairs;   /* owned; of each event */
	struct profile_pair *further; /* owned; NULL until a trace has some; as in profile_trace */
	struct profile_things things;
	struct trace_histogram *histograms; /* owned, like their buckets; nr_histograms of them */
	size_t nr_histograms, histogram_room;
	struct trace_histogram *sizes; /* the same, of the heap */
	size_t nr_sizes, size_room;
	struct trace_function_owned *functions; /* owned, like what is in them */
	size_t nr_functions, function_room;
	struct trace_value_owned *values; /* the same */
	size_t nr_values, value_room;
	struct trace_memory_owned memory[PROFILE_MAX_MEMORY]; /* nr_memory of them */
	struct mapping_map maps[PROFILE_MAX_MEMORY];          /* theirs */
	size_t nr_memory;
	struct arena notes;
	struct profile_trace trace;
	bool has_totals, notes_dropped, histograms_dropped, functions_dropped, values_dropped;
	size_t nr_foreign_readings;
};

/* Adds a reading, and its offset in the file: the first start and the last end reading are used.
 * Without an end the last tick replaces it. */
void profile_pair_add(struct profile_pair *p, enum trace_boundary boundary, const struct reading *r,
		      uint64_t offset);

/* session_events must outlive the load. 0 or -ENOMEM. */
int profile_load_init(struct profile_load *l, const struct trace_events *session_events,
		      const struct profile_faults *faults);
void profile_load_fini(struct profile_load *l);
/* Reads all frames of r into l->trace. 1; 0: nothing can be used (reported); -ENOMEM. name must
 * live as long as the trace. */
int profile_load_trace(struct profile_load *l, struct trace_reader *r, const char *name);
/* The same for callers that read frames themselves: call profile_load_frame for each frame other
 * than records, then profile_load_end. profile_load_frame: 0, -EINVAL (invalid), -EPROTO (another
 * session's), -ENOMEM. */
void profile_load_begin(struct profile_load *l, const struct trace_head *head, const char *name);
int profile_load_frame(struct profile_load *l, const struct trace_frame *f);
int profile_load_end(struct profile_load *l); /* 0 or -ENOMEM */

#endif
