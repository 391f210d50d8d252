/*
 * Latencies: the histograms of traces added up.
 */
#ifndef COUNTS_LATENCY_H
#define COUNTS_LATENCY_H

#include "estimate/latencies.h"

#include <stdbool.h>

struct trace_histogram;

/* Adds a histogram to what it is of. 0 or -ENOMEM. */
int counts_latency_add_one(struct latencies *l, const struct trace_histogram *h);
/* Adds it to all of its event and part, and by_what to what it is of. 0 or -ENOMEM. */
int counts_latency_add(struct latencies *l, const struct trace_histogram *h, bool by_what);

#endif
