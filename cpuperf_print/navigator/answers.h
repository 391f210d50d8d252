/*
 * Answers that were made, to give them again. Thread-safe.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_ANSWERS_H
#define CPUPERF_PRINT_NAVIGATOR_ANSWERS_H

#include "base/buf.h"
#include "serve/http.h"

#include <stdbool.h>

enum {
	ANSWERS_MAX_BYTES = 64 << 20,
	ANSWERS_MAX_ABOUT_BYTES = 8 << 10, /* a header: more would not fit a connection's memory */
	ANSWERS_MAX_FAULTS = 100,
};

struct answers;

struct answers *answers_new(size_t max_bytes); /* of all; NULL: no memory */
void answers_free(struct answers *a);          /* NULL is fine */

/* Whether one is kept for such a request: the same path, and the same arguments in their order. */
bool answers_has(struct answers *a, const struct http_request *r);
/* What an answer has. */
struct answers_parts {
	struct buf text;
	struct buf about;  /* the columns of its table, as of grid_describe; empty: it is none */
	struct buf faults; /* what must be known of it */
};

/* Appends what is kept. False: nothing is, or no memory: all parts are then empty. */
bool answers_find(struct answers *a, const struct http_request *r, struct answers_parts *out);
/* Keeps a copy. The answers that were found or added longest ago make room; one of more than a
 * quarter of the bytes is not kept, nor one without memory. */
void answers_add(struct answers *a, const struct http_request *r,
		 const struct answers_parts *parts);
void answers_parts_init(struct answers_parts *parts);
void answers_parts_fini(struct answers_parts *parts);

#endif
