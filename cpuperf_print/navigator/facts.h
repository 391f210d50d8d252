/*
 * What the page needs to know of the sessions before it asks.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_FACTS_H
#define CPUPERF_PRINT_NAVIGATOR_FACTS_H

#include "inputs.h"

/* Whether an event samples the time of threads. */
bool facts_has_states(const struct inputs *in);
/* Whether the sessions have what a report or view of that name shows. */
bool facts_has_report(const struct inputs *in, const char *name);
/* Appends one line of ndjson. notes: lines. */
void facts_put(const struct inputs *in, const struct buf *notes, struct buf *out);

#endif
