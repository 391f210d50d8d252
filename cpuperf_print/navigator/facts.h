/*
 * What the page needs to know of the sessions before it asks.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_FACTS_H
#define CPUPERF_PRINT_NAVIGATOR_FACTS_H

#include "inputs.h"
#include "serve/http.h"

enum { FACTS_MAX_ARGUMENTS = 2 };

/* A report that the sessions have data for. */
struct facts_report {
	const char *name;
	struct http_argument argument[FACTS_MAX_ARGUMENTS]; /* what the page asks with */
	size_t nr_arguments;
	bool is_ahead; /* it is made before it is asked for; while it reads, a request interrupts it
			*/
};

/* The report number i of those that the sessions have data for; NULL: there are fewer. */
const struct facts_report *facts_report(const struct inputs *in, size_t i);
/* Whether an event samples the time of threads. */
bool facts_has_states(const struct inputs *in);
/* Appends one line of ndjson. notes: lines. */
void facts_put(const struct inputs *in, const struct buf *notes, struct buf *out);

#endif
