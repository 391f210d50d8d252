/*
 * The shared memory between marks in programs (cpuperf/mark.h) and the recorder. Each object with
 * marks connects to a socket, and receives memory of its own; a thread here empties it.
 *
 * A program may write anything into its memory: all that is read from it is checked, and at worst
 * its own marks are wrong. Its memory cannot shrink, and its size is limited; pages that are never
 * written do not exist.
 *
 * Threads: one thread uses a wire; the callbacks run in the wire's own thread, and in that of
 * wire_stop.
 *
 * A memory for each object of a process image, with a ring for each thread; the thread here
 * empties them every 8 ms into the common file. The socket is abstract, so that nothing is left
 * behind when the recorder is killed. A program first states the version of the header that it was
 * built with: what another one writes is refused, and counted.
 *
 * Cycles become CLOCK_MONOTONIC by two readings of both clocks, where an object says that it reads
 * the counter by which the kernel keeps time (one of 32 bits, or emulated, may read another, or
 * none). Each mark has its depth, so that a lost one spoils only its own region. Threads have
 * their names in their slots, for sessions without the kernel's records of tasks.
 */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire;
struct wire_functions;
struct wire_functions_config;
struct wire_heap;
struct wire_heap_config;

/* A kind, by the recorder: the thread has ended within a region, some ms ago; or its process,
 * within a ms or so. */
enum { WIRE_THREAD_END = 12 };

struct wire_mark {
	uint64_t time_ns;       /* CLOCK_MONOTONIC */
	int64_t value;          /* 0 for kinds without one */
	uint32_t name;          /* as passed to wire_config.name; 0: none */
	uint16_t kind;          /* enum cpuperf_mark_kind, or WIRE_THREAD_END */
	uint16_t depth;         /* as in cpuperf/mark.h: below 0, too */
	const uint64_t *counts; /* wire_config.nr_counts of them, borrowed; NULL: none */
};

/* Marks of a thread and object, in the order in which they were written. */
struct wire_marks {
	uint32_t pid, tid;
	uint32_t object; /* a number of the object in its process, unique in the session */
	uint64_t lost;   /* since the batch before: no room, or a mark interrupted another */
	const struct wire_mark *mark;
	size_t nr; /* may be 0, if some were lost */
};

struct wire_config {
	void *arg;
	/* A new name, before marks that refer to it. The text has no control characters. */
	void (*name)(void *arg, uint32_t number, const char *text);
	/* NULL: no marks are received. */
	void (*marks)(void *arg, const struct wire_marks *m);
	/* Of each thread, all marks with times until then have been passed on, whichever object
	 * wrote them. NULL is fine. */
	void (*passed)(void *arg, uint64_t until_ns);
	/* Whether a process of another user may connect, as one that the session measures; NULL:
	 * none may. */
	bool (*may_connect)(void *arg, uint32_t pid);
	/* An object of the process gave up before it was answered, and is off; NULL: as it is. */
	void (*gave_up)(void *arg, uint32_t pid);
	/* How many counts a region has, at most CPUPERF_MARK_MAX_COUNTS; 0: none. */
	uint32_t nr_counts;
	const char *const *count_names; /* borrowed; get the numbers from 1 on, as names of marks */
	/* Threads have their names as a mark of theirs, CPUPERF_MARK_THREAD_NAME: nobody else
	 * records them. */
	bool names_threads;
	uint32_t chance; /* of a region to be counted, of 2^32; 0: each one is */
	/* Opens the counters of a thread. fds: nr_counts of a group, the leader first, whose
	 * read(2) returns their number and values; borrowed. What counters_close closes; NULL: it
	 * has none. */
	void *(*counters_open)(void *arg, uint32_t pid, uint32_t tid, int *fds);
	void (*counters_close)(void *arg, void *counters);
	/* Of the heap of processes; NULL: none is measured. heap_added receives each, with a
	 * descriptor of the process (below 0: none): it owns both. False: it has no room. */
	const struct wire_heap_config *heap; /* borrowed */
	bool (*heap_added)(void *arg, uint32_t pid, int pidfd, struct wire_heap *heap);
	/* The agent of the process is of another version: it gets no memory. NULL: as it is. */
	void (*heap_old)(void *arg, uint32_t pid);
	/* A process asks for a reading of its heap. False: there is none. With heap. */
	bool (*heap_dump)(void *arg, uint32_t pid);
	/* The process asks for a search for pointers to its blocks, which is over when the callback
	 * returns. */
	bool (*heap_reach)(void *arg, uint32_t pid);
	/* The process ends, and asks for a look at the pages of its blocks, which is over when the
	 * callback returns. */
	bool (*heap_pages)(void *arg, uint32_t pid);
	/* Of the calls of processes by function; NULL: they are not added up. functions_added
	 * receives each, as heap_added does. */
	const struct wire_functions_config *functions; /* borrowed */
	bool (*functions_added)(void *arg, uint32_t pid, int pidfd, struct wire_functions *f);
	/* The process got no memory: -ETIMEDOUT: it waited no longer, and counts nothing; else why
	 * there is none. pid 0: connections cannot be taken, until some descriptors are free; not
	 * known of how many processes. NULL: as it is. */
	void (*functions_lost)(void *arg, uint32_t pid, int error);
	/* The memory of experiments (wire/causal_memory.h), borrowed: each process that asks for it
	 * maps the same. */
	bool has_experiment;
	int experiment;
};

enum { WIRE_MAX_THREADS = 256 }; /* of an object, at a time */

struct wire_totals {
	uint64_t marks;      /* passed on */
	uint64_t lost;       /* no room: the recorder was too slow, or a mark interrupted another */
	uint64_t missed;     /* marks of threads that had no slot */
	uint64_t names_lost; /* names that found no room: their marks have none */
	uint64_t invalid;    /* units that are no marks */
	uint32_t connections; /* objects of processes */
	uint32_t refused;     /* connections of other users, beyond the limit, or without memory */
	int refused_why;      /* -errno of the last of these; 0: none, or of another user */
	uint32_t old;         /* connections of another version of cpuperf/mark.h */
	uint32_t unmapped;    /* connections whose programs had no addresses for the memory */
	uint32_t narrow;      /* of these with addresses: they had them for fewer threads */
	uint32_t heaps;       /* processes whose heap is measured */
	uint32_t heaps_refused;                /* beyond the limit, or without memory */
	uint32_t heaps_old;                    /* their agents are of another version */
	uint32_t functions, functions_refused; /* the same of calls by function */
	uint64_t uncounted; /* threads that could not read their counters any more */
	uint64_t strangers; /* marks of threads of other PID namespaces that were not found */
};

/* Creates a socket in the abstract namespace, where nothing is left behind. It serves processes of
 * the effective user, and others as may_connect says. 0 or -errno with *e. */
int wire_open(const struct wire_config *config, struct wire **out, struct err *e);
/* The name of the socket, for the environment variable CPUPERF_MARKS. */
const char *wire_name(const struct wire *w);
/* The wire's number, which is written into the state of objects that run already. Not 0. */
uint32_t wire_number(const struct wire *w);
/* Whether a recorder with that number listens in this network namespace. */
bool wire_is_there(uint32_t number);
/* Starts the thread. 0 or -errno. */
int wire_start(struct wire *w);
/* Reads what was written so far, and ends the thread. Later connections are refused. */
void wire_stop(struct wire *w);
void wire_totals(const struct wire *w, struct wire_totals *out); /* after wire_stop */
/* Stops. NULL is fine. */
void wire_free(struct wire *w);

#endif
