/*
 * What this process costs.
 */
#ifndef CPUPERF_OWN_COST_H
#define CPUPERF_OWN_COST_H

#include <stdint.h>

/* Resident memory in bytes; 0: not known. */
uint64_t own_cost_memory(void);

#endif
