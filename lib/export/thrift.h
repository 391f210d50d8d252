/*
 * Writes structs of Apache Thrift's compact protocol into a buffer, field by field, without a
 * schema. Errors of memory are the buffer's.
 *
 *	thrift_i32(&t, 1, 150);
 *	THRIFT_STRUCT(&t, 2) thrift_text(&t, 1, "name");
 *	thrift_end(&t);
 */
#ifndef EXPORT_THRIFT_H
#define EXPORT_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { THRIFT_MAX_DEPTH = 8 };

enum thrift_type { THRIFT_TYPE_I32 = 5, THRIFT_TYPE_BINARY = 8, THRIFT_TYPE_STRUCT = 12 };

/* Zero-initialise but for out: the outermost struct is open then. */
struct thrift {
	struct buf *out; /* borrowed */
	int last[THRIFT_MAX_DEPTH];
	unsigned depth;
};

/* Fields of the open struct, in ascending order from 1. */
void thrift_bool(struct thrift *t, int field, bool v);
void thrift_i8(struct thrift *t, int field, int8_t v);
void thrift_i32(struct thrift *t, int field, int32_t v);
void thrift_i64(struct thrift *t, int field, int64_t v);
void thrift_binary(struct thrift *t, int field, const void *data, size_t len);
void thrift_text(struct thrift *t, int field, const char *s);
/* A list: nr elements of the type must follow. */
void thrift_list(struct thrift *t, int field, enum thrift_type type, size_t nr);
/* Elements of a list. */
void thrift_item_i32(struct thrift *t, int32_t v);
void thrift_item_text(struct thrift *t, const char *s);
/* A struct as a field, or with field 0 as an element of a list. At most THRIFT_MAX_DEPTH - 1 may be
 * open. */
void thrift_begin(struct thrift *t, int field);
/* Ends the open struct, also the outermost. */
void thrift_end(struct thrift *t);
/* THRIFT_STRUCT(t, field) { … }: a struct whose fields the block writes. The block must not be left
 * by return or goto. */
#define THRIFT_STRUCT(t, field)      THRIFT_SCOPE(t, field, __LINE__)
#define THRIFT_SCOPE(t, field, line) THRIFT_SCOPE_OF(t, field, line)
#define THRIFT_SCOPE_OF(t, field, line)                                                            \
	for (bool thrift_open_##line = (thrift_begin(t, field), true); thrift_open_##line;         \
	     thrift_end(t), thrift_open_##line = false)

#endif
