/*
 * JSON text, compact or indented, and a model's fields by the rows of the key table.
 * Failures stick in the buffer.
 */
#ifndef SPEC_WRITE_H
#define SPEC_WRITE_H

#include "spec/keys.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;

struct writer {
	struct buf *out;
	bool is_pretty;
	bool needs_comma;
	unsigned depth;
};

void writer_init(struct writer *w, struct buf *out, bool is_pretty);
/* key is NULL in an array and at the root. bracket is '{' or '['. */
void write_open(struct writer *w, const char *key, char bracket);
void write_close(struct writer *w, char bracket);
void write_string(struct writer *w, const char *key, const char *value);
void write_u64(struct writer *w, const char *key, uint64_t value);
/* JSON as it stands. */
void write_raw(struct writer *w, const char *key, const char *json);

/* A struct spec, spec_event, spec_metric or cpsession. What has no value and no default is left
 * out. */
void write_object(struct writer *w, const char *key, enum key_level level, const void *model);

#endif
