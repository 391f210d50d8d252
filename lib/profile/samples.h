/*
 * The samples of one trace in file order: not sorted, not copied, each decoded once from its frame.
 * For reports that add up; records.h sorts. Several traces may be read at once, each by one thread.
 *
 * Tables of tasks and mappings answer for any time, so samples need no order: each is processed
 * once, where it stands in the file, and memory does not grow with samples. Lookups are cached, as
 * samples come from few threads and few places at a time.
 *
 * Samples that the kernel added up by stack are returned as samples of up to 64 parts, spread over
 * their time, so that views over time show them. Of samples that cost more than may be read, a
 * part is chosen by chance, with the weight of all (profile_samples_thin), and frames of the
 * others are not even read (trace_reader_pass_over).
 */
#ifndef PROFILE_SAMPLES_H
#define PROFILE_SAMPLES_H

#include "profile/session.h"
#include "trace/futex.h"
#include "trace/interpreted.h"
#include "trace/waker.h"

struct profile_samples;

/* Borrowed until the next. */
struct profile_sample {
	const struct trace_id *id;         /* its event */
	const struct trace_layout *layout; /* its records' layout */
	struct trace_record record;
	uint32_t cpu;     /* of the sample, else of the trace; TRACE_UNKNOWN */
	uint64_t time_ns; /* a sample without a time has the previous one's */
	/* Of samples that the kernel added up: how many, taken up to end_ns, and the sum of their
	 * weights. A stack with many is returned in parts, as if they were spread evenly over their
	 * time. Else 1, and time_ns. */
	uint64_t samples, end_ns;
	/* What the thread interpreted at it; NULL: nothing, or it is not known. */
	const struct trace_interpreted *interpreted;
	uint64_t labels; /* of its goroutine: the number of the set (regions.h); 0: none */
	uint64_t weight; /* its period, or 1 if that is unknown */
	uint64_t unit;   /* how much of it an independent sample stands for: of a wait, which is
			  * sampled the more surely the longer it is, the mean; 0: of one that
			  * records of switches show, or with a mean of 1, nothing is left to
			  * chance; else weight */
	/* The PLACE_SUMS sums of places (base/place.h) of all samples of the stack, and how many
	 * these are: its first part has them. NULL: each was taken by itself. */
	const int16_t *places;
	uint64_t nr_places;
	bool is_in_row; /* the event's next one after the one before, and not one of several */
	bool is_rest;   /* of a clock: how long a thread ran without a sample, by records of
			 * switches; it has no stack, and nothing of it is left to chance */
};

/* A trace of a session, listed by iteration and trace without reading it, to divide the work
 * between threads. */
struct profile_trace_file {
	uint32_t iteration, trace;
};
size_t profile_session_nr_files(const struct profile_session *s);
struct profile_trace_file profile_session_file(const struct profile_session *s, size_t i);

/* The size of all these files. */
uint64_t profile_session_bytes(const struct profile_session *s);
/* The size of the files of an iteration. */
uint64_t profile_session_iteration_bytes(const struct profile_session *s, uint32_t iteration);

/* Opens file i (below profile_session_nr_files). 1; 0: it cannot be read (reported to problem,
 * which several threads may call at once: it locks); -ENOMEM. */
int profile_samples_open(const struct profile_session *s, size_t i, profile_problem_fn *problem,
			 void *arg, struct profile_samples **out);
void profile_samples_close(struct profile_samples *s); /* NULL is fine */
/* Call before the first sample. One of about `every` samples is returned, with the weight of those
 * for which it stands: of each row of samples one that is chosen by chance, and, where that is not
 * enough, of each row of frames. The choice of a trace is the same each time. Not for waits, heaps
 * and maxima, whose samples do not stand for others; what the kernel added up is returned whole.
 * Samples of one frame lie beside each other, and say less than as many independent ones. */
void profile_samples_thin(struct profile_samples *s, uint32_t every);
/* Receives what samples of an event add up to that were skipped. */
typedef void profile_omit_fn(void *arg, uint32_t event, uint64_t samples, uint64_t weight);
/* Call before the first sample. Needed are samples between two times, and waits of which a part is
 * between them. Of others some are returned as well; if the session keeps times, most are not even
 * read, but passed to omit as sums. */
void profile_samples_within(struct profile_samples *s, uint64_t first_ns, uint64_t last_ns,
			    profile_omit_fn *omit, void *arg);
/* The next sample: 1; 0 after the last; -ENOMEM. Damage and invalid records are reported as in
 * records.h. */
int profile_samples_next(struct profile_samples *s, struct profile_sample *out);

/* Of the sample with this id: is_rest. */
bool profile_samples_is_rest(const struct trace_layout *layout, uint64_t id);
/* The trace's head: its CPU, iteration … */
const struct trace_head *profile_samples_head(const struct profile_samples *s);
/* Call after the last sample. The trace's readings, times, and totals of its samples; without names
 * of things and notes. Borrowed; NULL before, and for a trace of another session. */
const struct profile_trace *profile_samples_trace(const struct profile_samples *s);
uint64_t profile_samples_bytes(const struct profile_samples *s); /* of the file, read so far */

#endif
