/*
 * What a session does when it samples, over all its CPUs: rings, the files that grow, the common
 * file, the threads that read misc events and survey. run.c calls it at the places where a tally
 * does nothing.
 */
#ifndef SESSION_SAMPLING_H
#define SESSION_SAMPLING_H

#include "session/session.h"

#include <stdatomic.h>

struct counters;
struct notes;
struct recorder;
struct sampling;

/* Borrowed, and outlives the sampling. */
struct sampling_config {
	struct counters *counters; /* whose CPUs are there */
	struct notes *notes;
	struct recorder *recorder;
	void (*on_progress)(const struct session_progress *p, void *arg); /* may be NULL */
	void *arg;
	int stop_fd; /* readable, and *stop is true, once the session is to end */
	const atomic_bool *stop;
};

/* 0 or -errno. */
int sampling_new(const struct sampling_config *config, struct sampling **out);
void sampling_free(struct sampling *g); /* NULL is fine */

/* Maps rings of this size for the CPUs that are open. 0; -EPERM or -ENOMEM: too large, nothing is
 * mapped; -errno. */
int sampling_open_rings(struct sampling *g, uint64_t ring_bytes);
void sampling_close_rings(struct sampling *g);
/* The same for a CPU that is back; under the lock. */
int sampling_reopen(struct sampling *g, uint32_t trace);

/* The memory that files need, and the common file, before anything is measured; nothing if the
 * session saves no traces. */
int sampling_prepare_files(struct sampling *g, struct err *e);
/* After the last iteration: waits for the survey, and ends the common file. 0 or -errno. */
int sampling_finish(struct sampling *g, struct err *e);
/* Ends what still runs and closes what is still open, as it is. */
void sampling_close_files(struct sampling *g);

/* Before the events of the CPU are enabled. */
void sampling_enable(const struct sampling *g, uint32_t trace);
/* All events count and have a start reading (in the CPUs' end readings): drops what came before,
 * creates the common file, starts the threads. */
int sampling_start(struct sampling *g, struct err *e);
/* An iteration begins: creates its traces, with the CPUs' start readings and these of things. */
int sampling_begin(struct sampling *g, uint32_t iteration, const struct session_things *things,
		   struct err *e);

/* Sleeps until the deadline, the session's stop, or until a ring wants to be emptied; empties what
 * is due. An error of a file sticks: sampling_failed. */
void sampling_wait(struct sampling *g, uint64_t deadline_ns);
/* The error that ends the session, or NULL. */
const struct err *sampling_failed(const struct sampling *g);

/* Around readings of misc events: the thread at the timebase's pace reads them too. */
void sampling_lock(struct sampling *g);
void sampling_unlock(struct sampling *g);

/* A boundary is being read, under the lock: ticks from here on belong to the next iteration. */
void sampling_boundary(struct sampling *g, uint64_t boundary_ns);

/* The end readings are there: what was sampled before them ends the iteration's traces. Fills what
 * the iteration's traces say of their sampling, also if a file fails. */
int sampling_record(struct sampling *g, const struct session_iteration *it, struct err *e);
/* What became of the samples of the CPU, in the iteration recorded last. */
const struct trace_sampling *sampling_result(const struct sampling *g, uint32_t trace);

#endif
