/*
 * The arguments of a request as options of cpuperf_print: those that select samples, names and
 * rows. What the command line chose stands where a request names nothing.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_QUERY_H
#define CPUPERF_PRINT_NAVIGATOR_QUERY_H

#include "options.h"
#include "selection.h"
#include "serve/http.h"

struct query {
	struct options options;
	struct selection selection;
};

/* A flag is set by 1 and not set by 0; an empty value removes what the command line chose. Values
 * are borrowed from the request. 0 or -EINVAL with *e; query_free in any case. */
int query_new(const struct options *base, const struct http_request *r, struct query **out,
	      struct err *e);
void query_free(struct query *q); /* NULL is fine */

#endif
