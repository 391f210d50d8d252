/*
 * --live: a tally in the dashboard of the recorder, iteration by iteration in both directions.
 */
#ifndef CPUPERF_PRINT_LIVE_H
#define CPUPERF_PRINT_LIVE_H

#include "job.h"

/* What makes no sense beside it is -EINVAL with *e. */
int live_check(const struct options *o, struct err *e);
/* Shows the first session, which is open. 0 or -errno with *e. */
int live_show(struct job *j, struct err *e);

#endif
