/*
 * The samples of one trace as they stand in the file: not put in order of time, not copied, each
 * handed out once from the frame it came in. For reports that add up; who needs order takes
 * records.h. Several traces may be read at once, by a thread each.
 */
#ifndef PROFILE_SAMPLES_H
#define PROFILE_SAMPLES_H

#include "profile/session.h"
#include "trace/record.h"

struct profile_samples;

/* Borrowed until the next. */
struct profile_sample {
	const struct trace_id *id;         /* whose it is */
	const struct trace_layout *layout; /* of its records */
	struct trace_record record;
	uint32_t cpu;     /* of the sample, else of the trace; UINT32_MAX: not known */
	uint64_t time_ns; /* of a sample without a time: of the one before */
	uint64_t weight;  /* what it stands for: its period, or 1 if that is not known */
};

/* All traces of a session, by iteration and trace, without what is in them: the work of several
 * threads. names are those of the files. */
struct profile_trace_file {
	uint32_t iteration, trace;
};
size_t profile_session_nr_files(const struct profile_session *s);
struct profile_trace_file profile_session_file(const struct profile_session *s, size_t i);

/* Of all these files together. */
uint64_t profile_session_bytes(const struct profile_session *s);

/* Opens file i (below profile_session_nr_files). 1; 0: it cannot be read (told to problem, which
 * may be called by several threads at once: it locks); -ENOMEM. */
int profile_samples_open(const struct profile_session *s, size_t i, profile_problem_fn *problem,
			 void *arg, struct profile_samples **out);
void profile_samples_close(struct profile_samples *s); /* NULL is fine */
/* The next sample: 1; 0 after the last; -ENOMEM. Damage and records that make no sense are told as
 * records.h does. */
int profile_samples_next(struct profile_samples *s, struct profile_sample *out);
/* Of the trace: its CPU, iteration … */
const struct trace_head *profile_samples_head(const struct profile_samples *s);
/* After the last sample: the trace's readings, times, and what became of its samples; no things of
 * a name, no notes. Borrowed; NULL before, and of a trace that is not the session's. */
const struct profile_trace *profile_samples_trace(const struct profile_samples *s);
uint64_t profile_samples_bytes(const struct profile_samples *s); /* of the file, read so far */

#endif
