/*
 * The sampling of a session, over all its CPUs: rings, growing files, the common file, the threads
 * that read misc events and survey. run.c calls it where a tally does nothing.
 *
 * A ring's bytes go into frames unchanged (writev). The recorder reads only the headers of records
 * and the few words that counting needs (pmu/scan.h): to decode is the reader's work, which has
 * time. Samples with a copy of the stack that is not to be kept are the exception: a thread
 * unwinds them first (whole/whole.h).
 *
 * Three other threads, so that none waits for another's disk or /proc:
 * - the session's own empties the rings and writes the files (sampling.c; at boundaries
 *   sampling_record.c; for each CPU sampler_open.c and sampler.c);
 * - paced.h reads misc events between two boundaries;
 * - surveyor.h adds to the common file what the kernel's records do not contain. Further ones,
 *   where they are needed: syncer.h (files to the disk), the wire's (marks and heaps), and with a
 *   target one that waits for its end and one that reads its memory.
 *
 * Rings are emptied when a quarter full (half, if only clocks are sampled, slowly), or every
 * flush_interval (250 ms), at nice -10 if permitted. Their size is the requested one, halved until
 * the kernel grants it, and equal on all CPUs.
 */
#ifndef SESSION_SAMPLING_H
#define SESSION_SAMPLING_H

#include "session/session.h"

#include <stdatomic.h>

struct counters;
struct notes;
struct paced;
struct recorder;
struct sampling;
struct waits_lasting;

/* Borrowed; must outlive the sampling. */
struct sampling_config {
	struct counters *counters; /* with CPUs initialised */
	struct notes *notes;
	struct recorder *recorder;
	struct paced *paced;
	void (*on_progress)(const struct session_progress *p, void *arg); /* may be NULL */
	void *arg;
	int stop_fd; /* readable, and *stop is true, once the session must end */
	const atomic_bool *stop;
};

/* 0 or -errno. */
int sampling_new(const struct sampling_config *config, struct sampling **out);
void sampling_free(struct sampling *g); /* NULL is fine */

/* Maps rings of this size for the CPUs that are open. 0; -EPERM or -ENOMEM: too large, nothing is
 * mapped; -errno. */
int sampling_open_rings(struct sampling *g, uint64_t ring_bytes);
void sampling_close_rings(struct sampling *g);
/* Whether the kernel refuses its records of tasks and mappings, where all samples are of agents. */
bool sampling_is_unrecorded(const struct sampling *g);
/* Then: stores what /proc shows of the process. Any thread. */
void sampling_add_process(struct sampling *g, uint32_t pid);
/* The same for a CPU whose events were opened again; under the lock. What is added up is held until
 * the CPU begins. */
int sampling_reopen(struct sampling *g, uint32_t trace);
/* Call when these events count and have a start reading. Drops earlier records, which no iteration
 * counts. An error sticks (sampling_failed). */
void sampling_begin_cpu(struct sampling *g, uint32_t trace);

/* Call before anything is measured. Allocates what files need, and the common file's; nothing if
 * the session saves no traces. 0 or -errno with *e. */
int sampling_prepare_files(struct sampling *g, struct err *e);
/* Call after the last iteration. Waits for the survey, and ends the common file. 0 or -errno with
 * *e. */
int sampling_finish(struct sampling *g, struct err *e);
/* Ends running threads and closes open files as they are. */
void sampling_close_files(struct sampling *g);

/* Before the events of the CPU are enabled. */
void sampling_enable(const struct sampling *g, uint32_t trace);
/* Call when all events count and have a start reading (in the CPUs' end readings). Drops earlier
 * records, creates the common file, starts the threads. 0 or -errno with *e. */
int sampling_start(struct sampling *g, struct err *e);
/* The same for a further run, with new rings: drops all of before. 0 or -errno with *e. */
int sampling_restart(struct sampling *g, struct err *e);
/* Begins an iteration: creates its traces, with the CPUs' start readings and these of things. */
int sampling_begin(struct sampling *g, uint32_t iteration, const struct session_things *things,
		   struct err *e);

/* Sleeps until the deadline, the session's stop, or until a ring is due; empties due rings. Errors
 * of files stick: see sampling_failed. */
void sampling_wait(struct sampling *g, uint64_t deadline_ns);
/* The error that ends the session, or NULL. */
const struct err *sampling_failed(const struct sampling *g);

/* A sample of a wait that lasts; g: a struct sampling. */
void sampling_add_lasting(const struct waits_lasting *wait, void *g);

/* Before the readings of a boundary: what is added up ends there. */
void sampling_hold(struct sampling *g);
/* Call while a boundary is read, under the lock of paced readings. */
void sampling_boundary(struct sampling *g, uint64_t boundary_ns);

/* Call after the end readings. Earlier samples end the iteration's traces. Fills the sampling
 * totals of the traces, also if a file fails. 0 or -errno with *e. */
int sampling_record(struct sampling *g, const struct session_iteration *it, struct err *e);
/* Whether the common file has what existed before the start: until then samples may lack names. */
bool sampling_is_surveyed(const struct sampling *g);
/* The totals of the CPU's samples in the last recorded iteration. */
const struct trace_sampling *sampling_result(const struct sampling *g, uint32_t trace);

#endif
