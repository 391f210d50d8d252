/*
 * A queue of what was read between two boundaries: readings of each trace, in order of time, and
 * the names of things that appeared. One thread adds and another removes; neither waits for the
 * other's reading or writing.
 */
#ifndef SESSION_TICKS_H
#define SESSION_TICKS_H

#include "session/things.h"

#include <pthread.h>
#include <stdbool.h>

struct misc;
struct ticks_trace;
struct trace_writer;

enum { TICKS_MAX = 1 << 20 }; /* readings of one trace that wait: 56 MiB */

/* Readings that could not wait, since the start. */
struct ticks_dropped {
	uint64_t full; /* TICKS_MAX were waiting: the files are slow */
	uint64_t no_memory;
};

struct ticks {
	pthread_mutex_t lock;       /* held for moments: no file is read or written under it */
	struct ticks_trace *traces; /* owned */
	uint32_t nr_traces;
	struct ticks_dropped dropped;
	struct session_things found;
	uint32_t *from; /* owned; of each set: the first number whose name is not told */
};

/* 0 or -errno; then it needs no fini. */
int ticks_init(struct ticks *t, uint32_t nr_traces, uint32_t nr_sets);
void ticks_fini(struct ticks *t); /* zeroes are fine */

/* At the end of what waits for the trace; what there is no room for is counted as dropped. */
void ticks_add(struct ticks *t, uint32_t trace, const struct reading *readings, size_t nr);
/* The names of things that were not named before wait too. */
void ticks_add_names(struct ticks *t, const struct session_things *things);
/* These are named already. */
void ticks_skip_names(struct ticks *t, const struct session_things *things);

/* The next readings of the trace that were taken up to that time, *out borrowed until the next
 * call; 0: there are no more. At most TICKS_MAX. */
size_t ticks_next(struct ticks *t, uint32_t trace, uint64_t until_ns, const struct reading **out);
/* Adds the names of the things that were found up to that time to what the writer has gathered, and
 * forgets them. False if there are none. */
bool ticks_write_names(struct ticks *t, const struct misc *m, struct trace_writer *w,
		       uint64_t until_ns);

struct ticks_dropped ticks_dropped(struct ticks *t);
/* One more for want of memory. */
void ticks_drop(struct ticks *t);

#endif
