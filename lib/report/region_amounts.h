/*
 * What regions amount to in replicates (sessions, or the iterations of one), for comparisons: the
 * calls and times of each path, what events sampled in it, and what they counted. Paths are
 * identified by their text, since sessions number them differently.
 */
#ifndef REPORT_REGION_AMOUNTS_H
#define REPORT_REGION_AMOUNTS_H

#include "base/dict.h"
#include "profile/region_calls.h"

struct report_functions;

/* Events follow. */
enum { REPORT_REGION_CALLS, REPORT_REGION_WALL, REPORT_REGION_SELF, REPORT_REGION_NR_OWN };
/* Of all numbers. */
#define REPORT_REGION_AMOUNTS_MAX_BYTES ((size_t)1 << 30)

struct report_region_amounts {
	struct report_functions *functions; /* borrowed; has the texts */
	struct dict paths;                  /* private; the one around a path precedes it */
	size_t nr_replicates, nr_numbers;
	struct dict names; /* const char *: events that counted, at most max of them */
};

/* Iterations in the order of time; one that was removed has no times. */
struct report_region_times {
	uint64_t start_ns, end_ns;
};

/* functions: borrowed. nr_counts: events that count in regions, at most. report_region_amounts_fini
 * in any case. */
void report_region_amounts_init(struct report_region_amounts *a, struct report_functions *functions,
				size_t nr_replicates, size_t nr_events, size_t nr_counts);
void report_region_amounts_fini(struct report_region_amounts *a);

/* Adds the calls that the filter selects. times: of so many replicates from first on; a call is of
 * that in which it ends, or after which; parts of a call are one call of each replicate that has
 * some. NULL: all are of first. 0, -ENOMEM or -EFBIG. */
int report_region_amounts_read(struct report_region_amounts *a, const struct profile_processes *p,
			       const struct profile_filter *filter, uint64_t start_ns, size_t first,
			       const struct report_region_times *times, size_t nr);
/* Adds what an event sampled in the path with that text, and so in those around it; nothing if it
 * has no calls. */
void report_region_amounts_add(struct report_region_amounts *a, uint32_t text, size_t replicate,
			       size_t event, double weight);

/* Of a path, numbered from 0 to paths.nr: its text, as of report_functions_text, and a number of a
 * replicate. */
uint32_t report_region_amounts_text(const struct report_region_amounts *a, uint32_t path);
double report_region_amounts_at(const struct report_region_amounts *a, uint32_t path,
				size_t replicate, size_t number);
/* What an event counted per call that was counted; name: its number in names. NAN: none was. */
double report_region_amounts_count(const struct report_region_amounts *a, uint32_t path,
				   size_t replicate, uint32_t name);
/* The wall time per call that was not cut. NAN: there is none. */
double report_region_amounts_mean_ns(const struct report_region_amounts *a, uint32_t path,
				     size_t replicate);

#endif
