/*
 * What events counted in the calls of regions, added up: of each path, or of each thread and path.
 * Where only some calls were counted, chosen by chance, the sum of all is estimated from their
 * mean.
 */
#ifndef REPORT_REGION_COUNT_SUMS_H
#define REPORT_REGION_COUNT_SUMS_H

#include "base/dict.h"
#include "estimate/interval.h"
#include "profile/region_calls.h"

struct report_region_count {
	uint32_t sum, name;   /* key; name: its number in names */
	uint64_t calls;       /* that were counted */
	uint64_t total;       /* of these */
	uint64_t self_calls;  /* of these, where all regions inside were counted, too */
	uint64_t self;        /* of self_calls, without the regions inside */
	uint64_t least, most; /* of a call */
	uint64_t nr_below;    /* regions that were counted inside calls, with those in them */
	uint64_t nr_inner;    /* of self_calls: regions next inside */
	double mean, squares; /* squares: of the differences from the mean, added up */
	double self_mean, self_squares;
};

struct report_region_count_sums {
	struct dict names;  /* const char * */
	struct dict counts; /* struct report_region_count */
	bool is_sparse;     /* some call with an end of its own was not counted */
};

void report_region_count_sums_init(struct report_region_count_sums *s);
void report_region_count_sums_fini(struct report_region_count_sums *s);
/* Adds the end of a call; sum: the number of the path's sum. 0 or -ENOMEM. */
int report_region_count_sums_add(struct report_region_count_sums *s, uint32_t sum,
				 const struct profile_region_event *e);
/* Subtracts what the marks themselves counted of that name: own in each region, around in those
 * around it. Only where every call was counted. Nothing becomes negative. */
void report_region_count_sums_subtract(struct report_region_count_sums *s, uint32_t name,
				       uint64_t own, uint64_t around);
/* NULL: nothing was counted. */
const struct report_region_count *
report_region_count_sums_find(const struct report_region_count_sums *s, uint32_t sum,
			      uint32_t name);
/* The sum over so many calls, with its 95 % interval: from the mean of those counted, as calls
 * chosen by chance. Without chance if all were. NaN: too few were counted for an interval. */
struct interval report_region_count_estimate(const struct report_region_count *c, uint64_t calls);
struct interval report_region_count_self(const struct report_region_count *c, uint64_t calls);

#endif
