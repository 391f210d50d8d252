/*
 * What this user may measure, and what would permit more.
 */
#ifndef CPUPERF_RIGHTS_H
#define CPUPERF_RIGHTS_H

struct host;

/* Prints on standard error the lines to type, one per way, that permit what a
 * kernel.perf_event_paranoid of this level does. what: "whole CPUs". */
void rights_print_ways(const struct host *h, const char *what, int paranoid);

#endif
