/*
 * One JSON document around rows of ndjson: --output-format=json of both programs
 * (schemas/report.schema.json).
 */
#ifndef SCREEN_DOCUMENT_H
#define SCREEN_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Grows if a field is renamed, removed or gets another meaning, and not if one is added. */
#define SCREEN_DOCUMENT_VERSION 1

/* Appends the beginning of an object, up to its first comma: which document it is, and of which
 * program. */
void screen_document_begin(struct buf *out, const char *document, const char *program);
/* Appends lines, each a row, as items of an array. *has_items: whether the array has some, which
 * is read and set. */
void screen_document_rows(struct buf *out, const char *lines, size_t len, bool *has_items);

#endif
