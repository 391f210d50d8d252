/*
 * A model's fields as JSON, by the rows of the key table.
 */
#ifndef SPEC_WRITE_H
#define SPEC_WRITE_H

#include "spec/keys.h"

struct json_writer;

/* A struct spec, spec_event, spec_metric or cpsession. A field without a value and without a
 * default is omitted. */
void write_object(struct json_writer *w, const char *key, enum key_level level, const void *model);

#endif
