/*
 * A zstd stream in pieces, as perf compresses records: each piece is complete, and the stream has
 * no end.
 */
#ifndef TRACE_UNZIP_H
#define TRACE_UNZIP_H

#include <stddef.h>

struct trace_unzip;

struct trace_unzip *trace_unzip_new(void);    /* NULL without memory */
void trace_unzip_free(struct trace_unzip *u); /* NULL is fine */

/* Unpacks from *in (*in_len: bytes left) at most room bytes to out; returns how many. The input is
 * used up when *in_len is 0 and less than room was returned. -EINVAL: it is damaged, and so is the
 * rest. Memory is bounded by the window of the highest level, 128 MiB. */
long trace_unzip_some(struct trace_unzip *u, const void **in, size_t *in_len, void *out,
		      size_t room);

#endif
