/*
 * Batches of single samples, for sinks that receive these; fold.h counts samples for the others.
 * One per thread.
 */
#ifndef REPORT_SINGLES_H
#define REPORT_SINGLES_H

#include "report/entry.h"

struct report_fold;
struct report_functions;
struct report_singles;

/* Borrowed. NULL: no memory. */
struct report_singles *report_singles_new(struct report_functions *functions,
					  const struct report_sink *sink);
void report_singles_free(struct report_singles *s); /* NULL is fine */
/* Adds a sample whose stack ends at a node of the fold, and fills in its stack number. 1: added; 0:
 * its stack is not selected; -ENOMEM. Must not be full. */
int report_singles_add(struct report_singles *s, struct report_fold *fold, uint32_t node,
		       const struct report_sample *sample);
bool report_singles_is_full(const struct report_singles *s);
/* Call after the fold was emptied, which invalidates its nodes. */
void report_singles_clear(struct report_singles *s);
/* Passes all waiting samples to the sink. 0, or what it returned. */
int report_singles_flush(struct report_singles *s);

#endif
