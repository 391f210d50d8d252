/*
 * What the counters of a session share: which events are counted and how, within which times.
 */
#ifndef REPORT_COUNTERS_H
#define REPORT_COUNTERS_H

#include "profile/choice.h"
#include "profile/spans.h"
#include "report/engine.h"
#include "report/states.h"

#include <pthread.h>
#include <stdatomic.h>

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

#endif
