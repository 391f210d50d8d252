/*
 * Who called whom, as in gprof's table: functions with self and total, and the calls between them,
 * each counted once per stack. Independent of output.
 */
#ifndef REPORT_CALLS_H
#define REPORT_CALLS_H

#include "report/flat.h"

struct report_calls;

/* Functions by number; the samples in which the caller directly precedes the callee. */
struct report_call {
	uint32_t event, caller, callee;
	struct report_weight weight;
};

/* NULL without memory. */
struct report_calls *report_calls_new(struct report_functions *functions);
void report_calls_free(struct report_calls *c); /* NULL is fine */
const struct report_sink *report_calls_sink(struct report_calls *c);

/* Call after the last entry. 0 or -ENOMEM. */
int report_calls_finish(struct report_calls *c);
/* The functions, by event and total, the largest first; owned by c. */
const struct report_flat_row *report_calls_rows(const struct report_calls *c, size_t *nr);
/* The calls from a function, and those to it, the largest first. */
const struct report_call *report_calls_from(const struct report_calls *c, uint32_t event,
					    uint32_t caller, size_t *nr);
const struct report_call *report_calls_to(const struct report_calls *c, uint32_t event,
					  uint32_t callee, size_t *nr);

#endif
