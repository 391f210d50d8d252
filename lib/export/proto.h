/*
 * Writes Protocol Buffers messages into a buffer, field by field, without a schema. Errors are the
 * buffer's.
 *
 * Libraries for this need a schema compiler and a whole message in memory, and most of them also
 * parse; this streams fields.
 */
#ifndef EXPORT_PROTO_H
#define EXPORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* field: 1 … 2^29 - 1. A value of 0 is written like any other. */
void proto_uint(struct buf *b, uint32_t field, uint64_t v); /* uint32, uint64, enum */
void proto_int(struct buf *b, uint32_t field, int64_t v);   /* int32, int64: two's complement */
void proto_bool(struct buf *b, uint32_t field, bool v);
void proto_fixed64(struct buf *b, uint32_t field, uint64_t v);
void proto_double(struct buf *b, uint32_t field, double v);
void proto_bytes(struct buf *b, uint32_t field, const void *data, size_t len);
/* Invalid UTF-8 becomes U+FFFD. */
void proto_text(struct buf *b, uint32_t field, const char *s);
/* A packed repeated number (as of proto_uint); nothing if there are none. */
void proto_packed(struct buf *b, uint32_t field, const uint64_t *v, size_t nr);

/* A nested message: its fields are written between begin and end. Pass what begin returned to end.
 */
size_t proto_begin(struct buf *b, uint32_t field);
void proto_end(struct buf *b, size_t start);
/* PROTO_MESSAGE(b, field) { … }: a nested message whose fields the block writes. The block must not
 * be left by return or goto. */
#define PROTO_MESSAGE(b, field)     PROTO_SCOPE(b, proto_begin(b, field), __LINE__)
#define PROTO_SCOPE(b, begin, line) PROTO_SCOPE_OF(b, begin, line)
#define PROTO_SCOPE_OF(b, begin, line)                                                             \
	for (size_t proto_start_##line = (begin); proto_start_##line != SIZE_MAX;                  \
	     proto_end(b, proto_start_##line), proto_start_##line = SIZE_MAX)

#endif
