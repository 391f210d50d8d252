#ifndef CPUPERF_PRINT_EXPORTS_CHROME_REGIONS_H
#define CPUPERF_PRINT_EXPORTS_CHROME_REGIONS_H

#include "exports/lanes.h"

struct export_sorted;
struct json_writer;

/* Writes events into the open array, and the names of threads and processes that have no samples. 0
 * or -errno with *e. */
int chrome_put_regions(struct export_lane *lane, const struct export_sorted *sorted,
		       struct json_writer *json, struct err *e);
/* Writes a time of the lane's machine. */
void chrome_put_time(struct json_writer *json, const struct export_lane *lane, uint64_t time_ns);

#endif
