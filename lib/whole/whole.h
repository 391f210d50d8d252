/*
 * Whole stacks of samples, unwound while a session records: a thread turns the samples of rings,
 * which have registers and up to 64 KiB of stack each, into records with a callchain alone
 * (whole/record.h). What cannot be unwound to its start keeps its bytes, as many as were copied
 * (whole/bases.h), so a reader unwinds it.
 *
 * The thread that empties the rings copies samples into a queue and takes finished ones out: it
 * waits for nobody. Reading tables of files may take long, or forever; the queue has a limit, and
 * what has no room goes into the file with its bytes. A process that ended before its samples were
 * unwound is unwound from what is known of its mappings.
 *
 * Order: records of tasks and mappings of all rings up to now are added before whole_go. So
 * whoever empties the rings empties those of samples first.
 */
#ifndef WHOLE_WHOLE_H
#define WHOLE_WHOLE_H

#include "unwind/mapping.h"

#include <stddef.h>

struct buf;
struct perf_event_attr;
struct whole;

struct whole_config {
	const char *machine; /* as in uname(2) */
	uint32_t nr_cpus;    /* of queues */
	uint64_t max_bytes;  /* of all queues */
	uint64_t keep_ns;    /* samples may be so old when they are put: a flight recorder's */
	int nice;            /* of the thread */
	bool (*is_ready)(void *arg); /* what ran before is known; called by the thread */
	void *arg;
};

/* 0; -ENOTSUP: stacks of that machine cannot be unwound; -errno. */
int whole_new(const struct whole_config *config, struct whole **out);
void whole_free(struct whole *w); /* ends the thread; NULL is fine */
/* 0 or -errno. Without the thread, nothing is unwound. */
int whole_start(struct whole *w);

/* Samples with that id are of an event with this attr, which whole_record_is_possible accepted.
 * drops_bytes: what cannot be unwound has its frame pointers alone, but for what is not unwound in
 * time. Any thread. 0 or -ENOMEM. */
int whole_add_id(struct whole *w, uint64_t id, const struct perf_event_attr *attr,
		 bool drops_bytes);

/* Adds records of tasks and mappings: of a ring, in one piece or two; and those that the survey
 * made. Each from one thread. */
void whole_add_side(struct whole *w, const void *const part[2], const size_t len[2]);
void whole_add_made(struct whole *w, const void *records, size_t len);
/* Adds records of a ring, in one piece or two. Returns the bytes of those for which there is room,
 * the first ones. */
size_t whole_put(struct whole *w, uint32_t cpu, const void *const part[2], const size_t len[2]);
/* What was put can be unwound now. */
void whole_go(struct whole *w);
/* Moves the records that are finished to *out, in the order in which they were put; *out has its
 * limit, and at least one record fits. False: there is none. Errors stick in *out. */
bool whole_take(struct whole *w, uint32_t cpu, struct buf *out);
/* Waits until all that was put is finished, at most until then (CLOCK_MONOTONIC). What is not
 * keeps its bytes. */
void whole_settle(struct whole *w, uint64_t until_ns);

struct whole_counts {
	uint64_t unwound, kept; /* samples: without bytes, with them */
	uint64_t unknown;       /* of these: of processes whose mappings are not known */
	uint64_t without_stack; /* of these: of the kernel's threads */
	uint64_t refused;       /* calls of whole_put that found no room */
	uint64_t late;          /* samples that whole_settle did not wait for */
	uint64_t unwind_ns;     /* CPU time of the thread */
	uint64_t renewed;       /* how often all tables were dropped, as they had no room left */
};
struct whole_counts whole_counts(struct whole *w);

#endif
