/*
 * Compresses a stream of bytes to, or unpacks it from, gzip format (RFC 1952). The header has no
 * name and no time, so the same bytes always yield the same stream.
 */
#ifndef EXPORT_GZIP_H
#define EXPORT_GZIP_H

#include <stddef.h>

struct buf;
struct gzip;

enum { GZIP_FASTEST = 1, GZIP_SMALLEST = 9 };

struct gzip *gzip_new(int level); /* NULL: no memory */
void gzip_free(struct gzip *g);   /* NULL is fine */
/* Appends to *out what zlib returns so far. 0 or buf_error(out). */
int gzip_add(struct gzip *g, const void *data, size_t len, struct buf *out);
/* Ends the stream. 0 or buf_error(out). */
int gzip_end(struct gzip *g, struct buf *out);

/* Appends what a whole stream unpacks to. 0; -EINVAL: damaged, or something follows it;
 * buf_error(out): longer than its limit, or no memory. */
int gzip_unpack(const void *data, size_t len, struct buf *out);

#endif
