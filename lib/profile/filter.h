/*
 * Selects the samples of a report. Independent of stacks.
 */
#ifndef PROFILE_FILTER_H
#define PROFILE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct trace_event;

enum { PROFILE_MAX_RANGES = 256, PROFILE_MAX_GLOBS = 64 };

/* "0-3,8": numbers from first to last. Empty: all. */
struct profile_ranges {
	struct {
		uint64_t first, last;
	} item[PROFILE_MAX_RANGES];
	size_t nr;
};
/* option: the name used in errors. -EINVAL with *e. */
int profile_ranges_parse(struct profile_ranges *r, const char *option, const char *text,
			 struct err *e);
bool profile_ranges_has(const struct profile_ranges *r, uint64_t number);

/* Shell globs (str_glob), but matched against the whole name, case-sensitive. Empty: all. Borrowed.
 */
struct profile_globs {
	const char *item[PROFILE_MAX_GLOBS];
	size_t nr;
};
/* -E2BIG with *e. */
int profile_globs_add(struct profile_globs *g, const char *option, const char *glob, struct err *e);
bool profile_globs_match(const struct profile_globs *g, const char *name);

/* Zeroed: selects everything. */
struct profile_filter {
	struct profile_globs events; /* "cpu_clock", "software:cpu_clock" */
	struct profile_globs comms;
	struct profile_globs regions;  /* names or paths of regions around the sample: regions.h */
	struct profile_globs cmdlines; /* a process whose command line is unknown matches none */
	struct profile_ranges pids, tids, cpus, iterations;
	struct profile_ranges trees; /* the pids of processes that are meant with descendants */
	bool has_trials;             /* regions of the header, too: profile_region_is_trial */
	uint64_t from_ns, to_ns;     /* since the session's start; to_ns 0: to its end */
};

/* start_ns: the start of the session. Samples before it pass unless from_ns is set. */
bool profile_filter_has_time(const struct profile_filter *f, uint64_t start_ns, uint64_t time_ns);
bool profile_filter_has_event(const struct profile_filter *f, const struct trace_event *ev);

#endif
