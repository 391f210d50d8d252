/*
 * What this process costs.
 */
#ifndef CPUPERF_OWN_COST_H
#define CPUPERF_OWN_COST_H

#include <stdint.h>

/* The CPU time of all threads so far. */
uint64_t own_cost_cpu_ns(void);
/* Resident memory in bytes; 0: not known. */
uint64_t own_cost_memory(void);

#endif
