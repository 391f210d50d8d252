/*
 * Which samples enter a report. Knows nothing of stacks.
 */
#ifndef REPORT_FILTER_H
#define REPORT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct trace_event;

enum { REPORT_MAX_RANGES = 256, REPORT_MAX_GLOBS = 64 };

/* "0-3,8": numbers from first to last. None given: all. */
struct report_ranges {
	struct {
		uint64_t first, last;
	} item[REPORT_MAX_RANGES];
	size_t nr;
};
/* option is how errors call it. -EINVAL with *e. */
int report_ranges_parse(struct report_ranges *r, const char *option, const char *text,
			struct err *e);
bool report_ranges_has(const struct report_ranges *r, uint64_t number);

/* Shell globs, as of str_glob but over the whole name and with case. None given: all. Borrowed. */
struct report_globs {
	const char *item[REPORT_MAX_GLOBS];
	size_t nr;
};
/* -E2BIG with *e. */
int report_globs_add(struct report_globs *g, const char *option, const char *glob, struct err *e);
bool report_globs_match(const struct report_globs *g, const char *name);

/* Zero: everything. */
struct report_filter {
	struct report_globs events; /* "cpu_clock", "software:cpu_clock" */
	struct report_globs comms;
	struct report_ranges pids, cpus, iterations;
	uint64_t from_ns, to_ns; /* since the session's start; to_ns 0: to its end */
};

/* start_ns: when the session began. What came before that is there unless a start is asked for. */
bool report_filter_has_time(const struct report_filter *f, uint64_t start_ns, uint64_t time_ns);
bool report_filter_has_event(const struct report_filter *f, const struct trace_event *ev);

#endif
