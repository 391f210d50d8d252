/*
 * The calls of regions added up: of each path, or of each thread and path. Memory grows with these,
 * not with calls: quantiles are read from buckets; all else is exact.
 */
#ifndef REPORT_REGION_SUMS_H
#define REPORT_REGION_SUMS_H

#include "base/dict.h"
#include "profile/region_calls.h"
#include "report/buckets.h"
#include "report/region_count_sums.h"
#include "report/region_instants.h"

enum { REPORT_ALL_THREADS = 0, REPORT_REGION_COMM_BYTES = 64 };

/* A thread, by number - 1. */
struct report_region_thread {
	uint32_t pid, tid;                   /* key */
	uint32_t thread;                     /* its number in the process; TRACE_UNKNOWN */
	char comm[REPORT_REGION_COMM_BYTES]; /* the last one; safe to show */
};

struct report_region_sum {
	uint32_t thread, region;   /* key; thread: REPORT_ALL_THREADS, or its number from 1 */
	uint64_t calls;            /* times that it ended, or was closed */
	uint64_t closed;           /* of these, without an end of its own */
	uint64_t cut;              /* of these, partly outside of the times selected */
	uint64_t whole;            /* neither: those that can have counts */
	uint64_t wall_ns, self_ns; /* self: without the regions inside */
	/* Of calls that were not cut, which are report_region_timed. */
	uint64_t min_ns, max_ns;
	double mean_ns, squares; /* squares: of the differences from the mean, added up */
};

static inline uint64_t report_region_timed(const struct report_region_sum *r)
{
	return r->calls - r->cut;
}

struct report_region_sums {
	const struct profile_processes *processes; /* borrowed */
	struct dict threads;                       /* struct report_region_thread */
	struct dict sums;                          /* struct report_region_sum */
	struct report_buckets buckets;             /* private */
	struct report_region_instants instants;
	struct report_region_count_sums counts;
	uint64_t nr_threads; /* with calls, but those of marks on trial */
	bool by_thread, is_full;
	uint32_t last_pid, last_tid; /* private: of a call */
};

/* Reads all calls that the filter selects. Each path has a sum if one inside it has. 0 or -ENOMEM;
 * report_region_sums_fini in any case. */
int report_region_sums_read(struct report_region_sums *s, const struct profile_processes *p,
			    const struct profile_filter *filter, uint64_t start_ns, bool by_thread);
void report_region_sums_fini(struct report_region_sums *s);
/* The number of the sum, or DICT_NONE. */
uint32_t report_region_sums_find(const struct report_region_sums *s, uint32_t thread,
				 uint32_t region);
/* The sum of a region that has samples and no calls (labels); DICT_NONE: no room. */
uint32_t report_region_sums_add(struct report_region_sums *s, uint32_t thread, uint32_t region);
/* The thread of such a region: its number; 0: no room. */
uint32_t report_region_sums_add_thread(struct report_region_sums *s,
				       const struct report_region_thread *t);
/* Of one thread id and process; 0: it has no marks. */
uint32_t report_region_sums_thread(const struct report_region_sums *s, uint32_t pid, uint32_t tid);

/* Of the durations of calls that were not cut, as report_buckets_quantile says. */
double report_region_quantile(const struct report_region_sums *s, const struct report_region_sum *r,
			      double q);
double report_region_deviation(const struct report_region_sum *r); /* NaN: fewer than 2 calls */

#endif
