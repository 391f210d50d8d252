/*
 * A zstd stream that comes in pieces, as perf packs its records: each piece ends where nothing is
 * left to come of it, and the stream has no end. Knows nothing of records.
 */
#ifndef TRACE_UNZIP_H
#define TRACE_UNZIP_H

#include <stddef.h>

struct trace_unzip;

struct trace_unzip *trace_unzip_new(void);    /* NULL without memory */
void trace_unzip_free(struct trace_unzip *u); /* NULL is fine */

/* Takes from *in (*in_len is what is left of it) and puts up to room bytes to out: how many. All
 * was taken, and nothing is to come, when *in_len is 0 and it gave less than room. -EINVAL: it is
 * damaged, and so is all that follows. Memory is bounded by what a stream of the highest level may
 * ask for, 128 MiB. */
long trace_unzip_some(struct trace_unzip *u, const void **in, size_t *in_len, void *out,
		      size_t room);

#endif
