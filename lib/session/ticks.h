/*
 * A queue of readings made between two boundaries, per trace and in order of time, and of the names
 * of things that appeared. One thread adds and another removes; neither waits for the other's
 * reading or writing.
 */
#ifndef SESSION_TICKS_H
#define SESSION_TICKS_H

#include "session/things.h"

#include <pthread.h>
#include <stdbool.h>

struct source_uses;
struct ticks_trace;
struct trace_writer;

enum { TICKS_MAX = 1 << 20 }; /* queued readings per trace: 56 MiB */
/* The same of a tally, whose trace is written at once and has at most 64 MiB. */
enum { TICKS_MAX_OF_TALLY = 1 << 19 };

/* Readings that could not be queued, since the start. */
struct ticks_dropped {
	uint64_t full; /* max were queued: the files are slow, or the iteration is long */
	uint64_t no_memory;
};

struct ticks {
	pthread_mutex_t lock;       /* held briefly: no file is read or written under it */
	struct ticks_trace *traces; /* owned */
	uint32_t nr_traces;
	size_t max; /* queued readings per trace */
	struct ticks_dropped dropped;
	struct session_things found;
	uint32_t *from; /* owned; by set: the first number whose name is not queued */
};

/* max: readings per trace, at most TICKS_MAX. 0 or -errno; then it needs no fini. */
int ticks_init(struct ticks *t, uint32_t nr_traces, uint32_t nr_sets, size_t max);
void ticks_fini(struct ticks *t); /* zeroes are fine */

/* Appends to the trace's queue; what does not fit is counted as dropped. */
void ticks_add(struct ticks *t, uint32_t trace, const struct reading *readings, size_t nr);
/* Queues the names of new things. */
void ticks_add_names(struct ticks *t, const struct session_things *things);
/* Marks these things as named. */
void ticks_skip_names(struct ticks *t, const struct session_things *things);

/* The next readings of the trace up to that time, *out borrowed until the next call. Returns their
 * number, at most TICKS_MAX; 0: no more. */
size_t ticks_next(struct ticks *t, uint32_t trace, uint64_t until_ns, const struct reading **out);
/* Adds the names of the things that were found up to that time to what the writer has gathered, and
 * forgets them. False if there are none. */
bool ticks_write_names(struct ticks *t, const struct source_uses *uses, struct trace_writer *w,
		       uint64_t until_ns);

struct ticks_dropped ticks_dropped(struct ticks *t);
/* Counts one more dropped for lack of memory. */
void ticks_drop(struct ticks *t);

#endif
