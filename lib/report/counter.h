/*
 * Counts samples one by one: what is selected, by which key, at which place of the fold, which is
 * emptied into the sink. One counter per thread; what they share is locked where it is written.
 */
#ifndef REPORT_COUNTER_H
#define REPORT_COUNTER_H

#include "profile/choice.h"
#include "profile/spans.h"
#include "report/engine.h"
#include "report/states.h"

#include <pthread.h>
#include <stdatomic.h>

struct profile_sample;
struct report_counter;
struct trace_head;

/* How the samples of an event are counted. */
struct report_counted {
	bool is_wanted;
	uint32_t event;          /* under which number */
	enum report_state state; /* REPORT_NO_STATE unless the run adds up states */
	bool is_of_last;         /* a value, as of memory: only that of the last iteration counts */
	bool is_clock;           /* its weights are times */
};

/* What the counters of a session share. */
struct report_counters {
	const struct report_run *run;
	const struct report_input *input;
	struct report_counted *of_event; /* owned; by event */
	uint32_t last_iteration;         /* of those that are selected */
	struct profile_choice choice;    /* of processes */
	struct profile_spans spans;      /* to which waits are cut; none if no wait is sampled */
	bool *within_region;             /* owned; by region; NULL: all are selected */
	uint64_t *kernel_changes; /* owned; times at which the kernel's code changed, in order */
	size_t nr_kernel_changes;
	pthread_mutex_t lock; /* held while the sink is called */
	atomic_int rc;        /* the first failure; a sink that failed is not called again */
};

/* 0 or -ENOMEM; fini also then. */
int report_counters_init(struct report_counters *all, const struct report_run *run,
			 const struct report_input *input);
void report_counters_fini(struct report_counters *all);

/* The run is to end. */
static inline bool report_counters_are_canceled(const struct report_counters *all)
{
	return all->run->cancel && *all->run->cancel;
}

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
