/*
 * --live of a session with samples: its functions, while it is recorded or afterwards.
 */
#ifndef CPUPERF_PRINT_LIVE_LIVE_H
#define CPUPERF_PRINT_LIVE_LIVE_H

#include "inputs.h"

struct selection;

/* True: the first input samples, or has no trace yet. */
bool live_is_meant(const struct inputs *in);
/* Shows the first input until the user quits. 0 or -errno with *e. */
int live_run(struct inputs *in, const struct selection *s, struct err *e);

#endif
