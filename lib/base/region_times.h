/*
 * What programs mark as regions, by name, between two readings: for what shows it meanwhile.
 */
#ifndef BASE_REGION_TIMES_H
#define BASE_REGION_TIMES_H

#include <stdint.h>

enum { REGION_TIMES_MAX = 32, REGION_TIMES_NAME_BYTES = 64 };

struct region_times {
	char name[REGION_TIMES_NAME_BYTES]; /* cut; without control characters */
	uint64_t calls;                     /* that ended */
	uint64_t ended_ns;                  /* of these, since they began */
	uint64_t wall_ns; /* in the region, in all threads together; a region within one of its
			     name counts once */
};

/* The most time first. */
struct region_times_list {
	struct region_times row[REGION_TIMES_MAX];
	uint32_t nr;
	uint32_t nr_more; /* that found no room here */
};

#endif
