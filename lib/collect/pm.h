/*
 * The counters of NVIDIA's GPUs, sampled by the hardware at a rate of their own (CUPTI's PM
 * sampling, from CUDA 12.6 on). A process of its own runs the vendor's code (cupti/helper.h): what
 * that does, or fails to do, costs these events alone.
 *
 * Names of things: as in collect/nvidia.h, which CUDA's numbers become by the order of the bus.
 * GPUs that are suspended are not sampled unless the choice names them.
 *
 * Source: the headers and documentation of CUPTI. Tested with a stand-in for its libraries, not on
 * a GPU.
 */
#ifndef COLLECT_PM_H
#define COLLECT_PM_H

#include "collect/many.h"
#include "event/event.h"

enum { PM_DEFAULT_EVERY_NS = 10000000, PM_MAX_EVERY_NS = 1000000000 };

extern const struct collect_many_source collect_pm_source;
/* Makes the rows gpu:pm/METRIC: lists well-known metrics where the driver is loaded, and finds any
 * name that a metric may have. */
extern const struct event_maker collect_pm_maker;

/* How long the process may be silent: at the start, and later when it was asked (tests only). 0: as
 * usual. */
void pm_set_patience(unsigned start_ms, unsigned ms);
struct root;
/* Borrowed: whose files name the GPUs (tests only). NULL: this machine's. */
void pm_set_root(const struct root *root);

#endif
