/*
 * --live: a tally in the dashboard of the recorder, iteration by iteration in both directions.
 */
#ifndef CPUPERF_PRINT_REPLAY_H
#define CPUPERF_PRINT_REPLAY_H

#include "inputs.h"

/* -EINVAL with *e if --live is given with an option that excludes it. */
int replay_check(const struct options *o, struct err *e);
/* Shows the first input until the user quits. 0 or -errno with *e. */
int replay_run(struct inputs *in, struct err *e);

#endif
