/*
 * Latencies as text.
 */
#ifndef SCREEN_LATENCY_H
#define SCREEN_LATENCY_H

#include "estimate/latencies.h"

struct buf;
struct table;

/* The quantiles that are shown. */
enum { SCREEN_LATENCY_NR = 4 };
extern const struct screen_latency {
	double quantile;
	const char *name; /* "p50" */
} screen_latency_quantiles[SCREEN_LATENCY_NR];

/* A table with a row for all of each event and part; nothing if there are none. */
void screen_latency_put(const struct latencies *l, const struct table *t, struct buf *out);

#endif
