/*
 * Latencies: the histograms of traces added up, and as text.
 */
#ifndef SCREEN_LATENCY_H
#define SCREEN_LATENCY_H

#include "estimate/latencies.h"

#include <stdbool.h>

struct buf;
struct table;
struct trace_histogram;

/* The quantiles that are shown. */
enum { SCREEN_LATENCY_NR = 4 };
extern const struct screen_latency {
	double quantile;
	const char *name; /* "p50" */
} screen_latency_quantiles[SCREEN_LATENCY_NR];

/* Adds a histogram to all of its event and part and, by_what, to what it is of. 0 or -ENOMEM. */
int screen_latency_add(struct latencies *l, const struct trace_histogram *h, bool by_what);
/* A table with a row for all of each event and part; nothing if there are none. */
void screen_latency_put(const struct latencies *l, const struct table *t, struct buf *out);

#endif
