/*
 * Who called whom: functions with self and total, and the calls between them, each counted once in
 * a stack however often it recurs there. What the table of gprof is made of. Knows nothing of
 * output.
 */
#ifndef REPORT_CALLS_H
#define REPORT_CALLS_H

#include "report/flat.h"

struct report_calls;

/* Functions by number; samples in which the caller was right above the callee. */
struct report_call {
	uint32_t event, caller, callee;
	struct report_weight weight;
};

/* NULL without memory. */
struct report_calls *report_calls_new(struct report_functions *functions);
void report_calls_free(struct report_calls *c); /* NULL is fine */
const struct report_sink *report_calls_sink(struct report_calls *c);

/* When all is read; -ENOMEM. */
int report_calls_finish(struct report_calls *c);
/* The functions, by event and total, the largest first; owned by c. */
const struct report_flat_row *report_calls_rows(const struct report_calls *c, size_t *nr);
/* Those of a function, the largest first: whom it called, and who called it. */
const struct report_call *report_calls_from(const struct report_calls *c, uint32_t event,
					    uint32_t caller, size_t *nr);
const struct report_call *report_calls_to(const struct report_calls *c, uint32_t event,
					  uint32_t callee, size_t *nr);

#endif
