/*
 * The samples of one trace in the order of the file: not sorted, not copied, each decoded once from
 * its frame. For reports that add up; records.h sorts. Several traces may be read at once, by a
 * thread each.
 */
#ifndef PROFILE_SAMPLES_H
#define PROFILE_SAMPLES_H

#include "profile/session.h"
#include "trace/record.h"

struct profile_samples;

/* Borrowed until the next. */
struct profile_sample {
	const struct trace_id *id;         /* its event */
	const struct trace_layout *layout; /* of its records */
	struct trace_record record;
	uint32_t cpu;     /* of the sample, else of the trace; UINT32_MAX: unknown */
	uint64_t time_ns; /* of a sample without a time: of the one before */
	uint64_t weight;  /* its period, or 1 if that is unknown */
};

/* All traces of a session, by iteration and trace, without their content: the work of several
 * threads. */
struct profile_trace_file {
	uint32_t iteration, trace;
};
size_t profile_session_nr_files(const struct profile_session *s);
struct profile_trace_file profile_session_file(const struct profile_session *s, size_t i);

/* Of all these files together. */
uint64_t profile_session_bytes(const struct profile_session *s);

/* Opens file i (below profile_session_nr_files). 1; 0: it cannot be read (reported to problem,
 * which several threads may call at once: it locks); -ENOMEM. */
int profile_samples_open(const struct profile_session *s, size_t i, profile_problem_fn *problem,
			 void *arg, struct profile_samples **out);
void profile_samples_close(struct profile_samples *s); /* NULL is fine */
/* The next sample: 1; 0 after the last; -ENOMEM. Damage and invalid records are reported as in
 * records.h. */
int profile_samples_next(struct profile_samples *s, struct profile_sample *out);
/* Of the trace: its CPU, iteration … */
const struct trace_head *profile_samples_head(const struct profile_samples *s);
/* After the last sample: the trace's readings, times, and totals of its samples; without the names
 * of things, without notes. Borrowed; NULL before, and for a trace that is not the session's. */
const struct profile_trace *profile_samples_trace(const struct profile_samples *s);
uint64_t profile_samples_bytes(const struct profile_samples *s); /* of the file, read so far */

#endif
