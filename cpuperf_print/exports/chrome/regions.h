#ifndef CPUPERF_PRINT_EXPORTS_CHROME_REGIONS_H
#define CPUPERF_PRINT_EXPORTS_CHROME_REGIONS_H

#include "job.h"

struct export_sorted;
struct json_writer;

/* Writes events into the open array, and the names of threads and processes that have no samples. 0
 * or -errno with *e. */
int chrome_put_regions(struct job *j, const struct input *o, const struct export_sorted *sorted,
		       struct json_writer *json, struct err *e);

#endif
