/*
 * Writes JSON to a buffer, piece by piece: commas, keys, nesting; compact or indented. The buffer
 * may be emptied between calls. Errors stick in the buffer.
 */
#ifndef BASE_JSON_WRITER_H
#define BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

enum { JSONW_MAX_DEPTH = 16 };

struct json_writer {
	struct buf *out; /* borrowed */
	bool is_indented;
	bool has_items;                /* of the innermost object or array */
	unsigned depth;                /* of open objects and arrays */
	char closing[JSONW_MAX_DEPTH]; /* the bracket of each */
};

void jsonw_init(struct json_writer *j, struct buf *out, bool is_indented);

/* Writes the comma and the key; the caller then appends the value. key, also below: NULL in an
 * array and at the root. */
void jsonw_key(struct json_writer *j, const char *key);
/* At most JSONW_MAX_DEPTH deep. */
void jsonw_object(struct json_writer *j, const char *key);
void jsonw_array(struct json_writer *j, const char *key);
/* Closes the innermost object or array. */
void jsonw_end(struct json_writer *j);
/* JSONW_OBJECT(j, key) { … }: an object whose content the block writes. The block must not be left
 * by return or goto. JSONW_ARRAY likewise. */
#define JSONW_OBJECT(j, key)        JSONW_SCOPE(jsonw_object(j, key), j, __LINE__)
#define JSONW_ARRAY(j, key)         JSONW_SCOPE(jsonw_array(j, key), j, __LINE__)
#define JSONW_SCOPE(begin, j, line) JSONW_SCOPE_OF(begin, j, line)
#define JSONW_SCOPE_OF(begin, j, line)                                                             \
	for (bool jsonw_open_##line = ((begin), true); jsonw_open_##line;                          \
	     jsonw_end(j), jsonw_open_##line = false)

/* NULL writes nothing, not even the key. */
void jsonw_text(struct json_writer *j, const char *key, const char *text);
void jsonw_u64(struct json_writer *j, const char *key, uint64_t v);
void jsonw_bool(struct json_writer *j, const char *key, bool v);
/* Nanoseconds as microseconds with three decimals: exact. */
void jsonw_us(struct json_writer *j, const char *key, int64_t ns);
/* A value that is JSON already. */
void jsonw_raw(struct json_writer *j, const char *key, const char *json);

#endif
