/*
 * Answers that were made, to give them again. Thread-safe.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_ANSWERS_H
#define CPUPERF_PRINT_NAVIGATOR_ANSWERS_H

#include "base/buf.h"
#include "serve/http.h"

#include <stdbool.h>

struct answers;

struct answers *answers_new(size_t max_bytes); /* of all; NULL: no memory */
void answers_free(struct answers *a);          /* NULL is fine */

/* Whether one is kept for such a request: the same path, and the same arguments in their order. */
bool answers_has(struct answers *a, const struct http_request *r);
/* Appends its text, and what must be known of it. False: none is kept, or no memory: text and
 * faults are then empty. */
bool answers_find(struct answers *a, const struct http_request *r, struct buf *text,
		  struct buf *faults);
/* Keeps a copy. The answers that were found or added longest ago make room; one of more than a
 * quarter of the bytes is not kept, nor one without memory. */
void answers_add(struct answers *a, const struct http_request *r, const struct buf *text,
		 const struct buf *faults);

#endif
