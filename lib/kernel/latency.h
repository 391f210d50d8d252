/*
 * The events of the group latency: their programs, and what was added to their histograms between
 * two readings.
 *
 * The programs only add: each boundary reads all histograms, subtracts those of the boundary
 * before, adds up the CPUs and writes a frame of each into trace 0, so that frames add up over
 * iterations and sessions. Counts of the CPUs are read before the histograms and again after them;
 * those in between that add up to the histograms are the boundary's (kernel_latency_agree).
 */
#ifndef KERNEL_LATENCY_H
#define KERNEL_LATENCY_H

#include "plan/source.h"

#include <stddef.h>

extern const struct source kernel_latency_source;

/* Whether the latencies of these numbers (event_latency), at most one of each kind, work here:
 * loads their programs together, and unloads them. */
void kernel_latency_check(const int *numbers, size_t nr, struct event_support *out);
/* Raises the counts of nr CPUs from those before the histograms were read, towards those after it,
 * until they add up to sum. */
void kernel_latency_agree(uint64_t *count, const uint64_t *last, size_t nr, uint64_t sum);

#endif
