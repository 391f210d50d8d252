/*
 * Where in a trace which times are: its frames of samples in runs, each with its times and what its
 * samples add up to. It is learned while the trace is read; who reads it again for a part of its
 * time passes over the runs of other times. Not thread-safe.
 *
 * So a later pass for a range of time reads no other frames, and one for counts alone reads none.
 */
#ifndef PROFILE_TIMES_H
#define PROFILE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_sample;
struct trace_reader;

struct profile_times_sum {
	uint64_t samples, weight;
};

/* Frames without any other between them. */
struct profile_times_run {
	uint64_t from, to; /* offsets in the file */
	uint64_t nr_frames;
	uint64_t first_ns, last_ns; /* of all its samples; of waits, also when they began */
	bool is_needed;             /* always: not all that is in it is a sum */
};

struct profile_times {
	struct profile_times_run *run; /* owned; in file order */
	struct profile_times_sum *sum; /* owned; nr_events for each run */
	size_t nr, nr_events;
	/* private */
	size_t room;
	bool is_open; /* the last run has no end yet */
};

struct profile_times *profile_times_new(size_t nr_events); /* NULL: no memory */
void profile_times_free(struct profile_times *t);          /* NULL is fine */

/* A frame begins at that offset; its samples follow. False: no memory, or too many runs. */
bool profile_times_frame(struct profile_times *t, uint64_t at);
/* A sample of the frame. */
void profile_times_add(struct profile_times *t, const struct profile_sample *s);
/* The run must always be read. */
void profile_times_need(struct profile_times *t);
/* What begins at that offset is no frame of samples, or the end. */
void profile_times_end(struct profile_times *t, uint64_t at);

/* The run that begins there if nothing in it is between the times; else NULL. */
const struct profile_times_run *profile_times_other(const struct profile_times *t, uint64_t at,
						    uint64_t first_ns, uint64_t last_ns);
/* Moves the reader behind such a run, if its next frame is there: returns the run, else NULL. t
 * NULL: nothing is known. */
const struct profile_times_run *profile_times_pass(const struct profile_times *t,
						   struct trace_reader *r, uint64_t first_ns,
						   uint64_t last_ns);
/* The sums of a run, by event. */
const struct profile_times_sum *profile_times_sums(const struct profile_times *t,
						   const struct profile_times_run *run);

#endif
