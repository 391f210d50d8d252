/*
 * Samples that are given one by one, many at a time: the way of those that are not counted together
 * (fold.h). One per thread.
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
/* A sample whose stack ends at a node of the fold; its stack number is filled in. 1: it waits to be
 * given; 0: its stack is not wanted; -ENOMEM. Not when it is full. */
int report_singles_add(struct report_singles *s, struct report_fold *fold, uint32_t node,
		       const struct report_sample *sample);
bool report_singles_is_full(const struct report_singles *s);
/* Nodes of the fold are others now. */
void report_singles_forget(struct report_singles *s);
/* Gives all that wait to the sink. 0, or what it returned. */
int report_singles_give(struct report_singles *s);

#endif
