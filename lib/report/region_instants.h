/*
 * Instants and values of marks added up, by name and the innermost region that they are in.
 */
#ifndef REPORT_REGION_INSTANTS_H
#define REPORT_REGION_INSTANTS_H

#include "base/dict.h"
#include "profile/region_calls.h"
#include "report/buckets.h"

struct report_region_instant {
	/* key; thread: as of report_region_sum; name: of names; is_value: 0 or 1 */
	uint32_t thread, region, name, is_value;
	uint64_t nr;
	/* of values */
	int64_t min, max;
	double mean;
};

struct report_region_instants {
	struct dict names; /* const char *; safe to show */
	struct dict sums;  /* struct report_region_instant */
	struct report_buckets buckets;
	bool is_full; /* some were not added */
};

void report_region_instants_init(struct report_region_instants *s);
void report_region_instants_fini(struct report_region_instants *s);
/* An instant or a value. 0 or -ENOMEM. */
int report_region_instants_add(struct report_region_instants *s, uint32_t thread,
			       const struct profile_region_event *e);
/* Once, after the last one. */
void report_region_instants_sort(struct report_region_instants *s);
/* Of the values of the sum with that number, as report_buckets_quantile says. */
double report_region_instants_quantile(const struct report_region_instants *s, uint32_t number,
				       double q);

#endif
