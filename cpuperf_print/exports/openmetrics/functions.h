#ifndef CPUPERF_PRINT_EXPORTS_OPENMETRICS_FUNCTIONS_H
#define CPUPERF_PRINT_EXPORTS_OPENMETRICS_FUNCTIONS_H

#include "export/openmetrics.h"
#include "exports/functions.h"
#include "job.h"

/* Writes the calls and times of all functions of a session; nothing if there are none. time_ns: of
 * the lines. 0 or -errno with *e. */
int openmetrics_put_functions(struct openmetrics *m, struct job *j, const struct input *o,
			      const struct counts_functions *l, uint64_t time_ns, struct err *e);

#endif
