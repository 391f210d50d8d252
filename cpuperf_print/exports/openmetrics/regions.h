#ifndef CPUPERF_PRINT_EXPORTS_OPENMETRICS_REGIONS_H
#define CPUPERF_PRINT_EXPORTS_OPENMETRICS_REGIONS_H

#include "export/openmetrics.h"
#include "job.h"

/* Writes the calls and times of all regions, whatever the filter; nothing if its tasks
 * were not loaded. time_ns: of the lines. 0 or
 * -errno with *e. */
int openmetrics_put_regions(struct openmetrics *m, struct job *j, const struct input *o,
			    uint64_t time_ns, struct err *e);

#endif
