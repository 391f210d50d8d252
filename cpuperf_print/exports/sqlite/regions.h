#ifndef CPUPERF_PRINT_EXPORTS_SQLITE_REGIONS_H
#define CPUPERF_PRINT_EXPORTS_SQLITE_REGIONS_H

#include "job.h"

struct sqlite_file;

/* Writes the rows of the tables regions, region_calls, region_counts and marks. before: added to
 * the numbers of regions. 0 or -errno, then maybe with *e.
 */
int sqlite_put_regions(struct sqlite_file *f, struct job *j, const struct input *o, uint64_t before,
		       struct err *e);

#endif
