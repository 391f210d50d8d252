/*
 * What the kernel counts of each task for everybody: getrusage(2) and the CPU clocks, for users who
 * may not open events.
 */
#ifndef API_USAGE_H
#define API_USAGE_H

#include <stdbool.h>
#include <stdint.h>

struct event;

enum api_usage_of { API_USAGE_NONE, API_USAGE_OF_THREAD, API_USAGE_OF_PROCESS };

/* True if it is counted there, in user and kernel mode together. */
bool api_usage_has(const struct event *ev);
/* The count until now, of the calling thread or its process; in the event's unit. */
uint64_t api_usage_read(const struct event *ev, enum api_usage_of of);

#endif
