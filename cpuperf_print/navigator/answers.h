/*
 * Answers that were made, to give them again.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_ANSWERS_H
#define CPUPERF_PRINT_NAVIGATOR_ANSWERS_H

#include "base/buf.h"
#include "serve/http.h"

#include <stdbool.h>

struct answers;

struct answers *answers_new(size_t max_bytes); /* of all; NULL: no memory */
void answers_free(struct answers *a);          /* NULL is fine */

/* Appends the text of the answer to such a request, and what must be known of it. False: none is
 * kept, or no memory. Thread-safe, as the next. */
bool answers_find(struct answers *a, const struct http_request *r, struct buf *text,
		  struct buf *faults);
/* Keeps a copy, in place of those that were asked for least recently. None where there is no room
 * or memory. */
void answers_add(struct answers *a, const struct http_request *r, const struct buf *text,
		 const struct buf *faults);

#endif
