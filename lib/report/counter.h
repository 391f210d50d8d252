/*
 * Counts samples one by one: what is selected, by which key, at which place of the fold, which is
 * emptied into the sink. One counter per thread; what they share is locked where it is written.
 */
#ifndef REPORT_COUNTER_H
#define REPORT_COUNTER_H

#include "report/counters.h"

struct profile_sample;
struct report_counter;
struct report_stats;
struct trace_head;

/* 0, or -errno without a counter. */
int report_counter_new(struct report_counters *all, struct report_counter **out);
void report_counter_free(struct report_counter *c); /* NULL is fine */
/* 0, -ENOMEM, or what the sink returned; also below. */
int report_counter_add(struct report_counter *c, const struct trace_head *head,
		       const struct profile_sample *s);
/* Counts as omitted what samples of an event add up to. */
void report_counter_omit(struct report_counter *c, const struct trace_head *head, uint32_t event,
			 uint64_t samples, uint64_t weight);
/* Passes all that was counted to the sink. */
int report_counter_flush(struct report_counter *c);
/* Adds what was counted and omitted to *to; call with the lock held. 0 or -ENOMEM. */
int report_counter_stats(const struct report_counter *c, struct report_stats *to);

#endif
