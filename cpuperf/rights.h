/*
 * What this user may measure, and what would permit more.
 */
#ifndef CPUPERF_RIGHTS_H
#define CPUPERF_RIGHTS_H

#include <stdbool.h>

struct buf;
struct host;

/* If the program's file grants capabilities, removes all variables from the environment but those
 * that cannot name a file to open. */
void rights_clean_environment(void);
/* The environment before that: of the programs that are started. */
char **rights_environment(void);

struct rights_ways {
	struct buf *text;
	bool is_short; /* what could be measured, and which option prints the lines to type */
};

/* Appends the lines to type, one per way, that permit what a kernel.perf_event_paranoid of this
 * level does. what: "whole CPUs". needs_programs: some events need programs in the kernel, which no
 * level permits. */
void rights_add_ways(const struct host *h, const char *what, int paranoid, bool needs_programs,
		     const struct rights_ways *out);
/* The same, of programs in the kernel alone. what: names of events. */
void rights_add_programs(const struct host *h, const char *what, const struct rights_ways *out);
/* The line that samples waits by records of switches, which needs no rights. target: options, or
 * "-- COMMAND". */
void rights_add_waits(const char *target, const struct rights_ways *out);
/* How to sample the time of such a command, where the kernel refuses all events. */
void rights_add_times(const char *target, const struct rights_ways *out);
/* What lets calls of functions be measured in the program. what: the
 * event's name. remedy: an order. */
void rights_add_calls(const char *what, const char *remedy, const struct rights_ways *out);
/* The same, of buffers beyond the limit of locked memory: for a program whose file has the
 * capability to measure. */
void rights_add_buffers(const struct host *h, const struct rights_ways *out);
/* Prints them on standard error. */
void rights_print(const struct buf *ways);

#endif
