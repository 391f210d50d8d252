/*
 * JSON text into a buffer, piece by piece: commas, keys, nesting. The buffer may be emptied at any
 * time. Knows nothing of what is written.
 */
#ifndef EXPORT_JSON_H
#define EXPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

enum { EXPORT_JSON_DEPTH = 16 };

struct export_json {
	struct buf *out;                 /* borrowed; its error is the error */
	unsigned depth;                  /* of what is open */
	char closing[EXPORT_JSON_DEPTH]; /* of each */
	bool has_items;                  /* what is open holds something */
};

void export_json_init(struct export_json *j, struct buf *out);

/* What separates a value from the one before it, and its key: NULL in an array. The caller appends
 * the value; the others below do that too. */
void export_json_next(struct export_json *j, const char *key);
/* Nested at most EXPORT_JSON_DEPTH deep. */
void export_json_object(struct export_json *j, const char *key);
void export_json_array(struct export_json *j, const char *key);
/* Closes what was opened last. */
void export_json_end(struct export_json *j);

/* NULL: nothing at all. */
void export_json_text(struct export_json *j, const char *key, const char *text);
void export_json_u64(struct export_json *j, const char *key, uint64_t v);
/* Nanoseconds as microseconds with three decimals: exact. The value alone. */
void export_json_us(struct buf *out, int64_t ns);

#endif
