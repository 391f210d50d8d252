/*
 * A stream of bytes, packed as gzip does (RFC 1952), as it comes. The same bytes give the same
 * stream: it has no name and no time.
 */
#ifndef EXPORT_GZIP_H
#define EXPORT_GZIP_H

#include <stddef.h>

struct buf;
struct gzip;

enum { GZIP_FASTEST = 1, GZIP_SMALLEST = 9 };

struct gzip *gzip_new(int level); /* NULL: no memory */
void gzip_free(struct gzip *g);   /* NULL is fine */
/* Appends to *out what is packed so far; the rest comes with later calls. 0 or buf_error(out). */
int gzip_add(struct gzip *g, const void *data, size_t len, struct buf *out);
/* The end of the stream; nothing may be added then. 0 or buf_error(out). */
int gzip_end(struct gzip *g, struct buf *out);

#endif
