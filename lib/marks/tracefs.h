/*
 * Writes readings and regions to a buffer of the kernel's tracer (tracefs), live, in the text that
 * Perfetto reads: counters (C|pid|name|value), slices (S|pid|name|cookie, F|pid|name|cookie) and
 * instants (I|pid|name). Slices are those of S and F, which name their thread by a number, as those
 * of B and E belong to the thread that writes them, which is here always cpuperf's.
 *
 * Any thread may write. At most TRACEFS_LIMIT lines a second are written (TRACEFS_GLOBAL_LIMIT into
 * the buffer that all share), and none while tracing is off; others are counted. The end of a slice
 * whose beginning was written always is.
 *
 * Readings come from the session's thread, marks from the wire's.
 */
#ifndef MARKS_TRACEFS_H
#define MARKS_TRACEFS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct root;
struct tracefs;

enum { TRACEFS_LIMIT = 10000, TRACEFS_GLOBAL_LIMIT = 1000 };

/* Makes the instance cpuperf-PID, with CLOCK_MONOTONIC, after it removed those of processes that
 * are gone; or opens the shared buffer. 0 or -errno with *e. */
int tracefs_open(const struct root *root, bool is_global, struct tracefs **out, struct err *e);
/* Ends slices that are open, and removes the instance. NULL is fine. */
void tracefs_close(struct tracefs *t);
/* How many lines were not written, because of the limit or an error; not of tracing that is off. */
uint64_t tracefs_nr_dropped(const struct tracefs *t);

/* Nothing is written meanwhile but the ends of slices, and nothing is counted as dropped. */
void tracefs_pause(struct tracefs *t, bool is_paused);

void tracefs_counter(struct tracefs *t, uint32_t pid, const char *name, double value);
void tracefs_instant(struct tracefs *t, uint32_t pid, const char *name);

/* A region; depth: the regions of the thread around it. */
struct tracefs_slice {
	uint32_t pid, tid, depth; /* key */
};
/* name is copied. One that is open with the same key ends. */
void tracefs_begin(struct tracefs *t, const struct tracefs_slice *s, const char *name);
void tracefs_end(struct tracefs *t, const struct tracefs_slice *s);

#endif
