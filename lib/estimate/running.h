/*
 * The running share of a count. A multiplexed event is on a counter for a part of the time that it
 * is enabled; its count is scaled from the time running to the time enabled.
 *
 * A count that ran as long as it was enabled is raw; else it is raw × enabled / running, rounded,
 * and shown with its running share. An event that was enabled and never ran is `not counted`, and
 * enters no sum.
 */
#ifndef ESTIMATE_RUNNING_H
#define ESTIMATE_RUNNING_H

#include <stdbool.h>
#include <stdint.h>

/* running / enabled, in 0 … 1; 1 if the event ran all the time it was enabled. */
double running_share(uint64_t enabled_ns, uint64_t running_ns);
/* *out = raw / running_share, rounded. False if it exceeds 64 bits, or if the event was enabled and
 * never ran. */
bool running_scale(uint64_t raw, uint64_t enabled_ns, uint64_t running_ns, uint64_t *out);

#endif
