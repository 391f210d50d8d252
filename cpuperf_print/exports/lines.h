/*
 * What the traces of a session say beside their records: when it was, and what must be known of its
 * numbers, in words for the places that formats have for such. Knows no format.
 */
#ifndef CPUPERF_PRINT_EXPORTS_LINES_H
#define CPUPERF_PRINT_EXPORTS_LINES_H

#include "job.h"
#include "profile/about.h"

struct report_stats;

/* profile_about_read with *e. */
int export_about_read(const struct input *input, profile_about_fn *each, void *arg,
		      struct profile_about *out, struct err *e);

/* Lines for people, in order: what was measured where, what is multiplexed, notes; and of all
 * sessions that were read at once: what became of their samples, what is missing. */
typedef void export_line_fn(void *arg, const char *line);
void export_session_lines(const struct job *j, size_t session, const struct profile_about *about,
			  export_line_fn *line, void *arg);
void export_samples_lines(const struct job *j, const struct report_stats *stats,
			  export_line_fn *line, void *arg);

/* What of the files could not be read until now. */
void export_unread_lines(const struct job *j, export_line_fn *line, void *arg);

/* What is shown = count × this, where that is a whole number; else 1, and what is shown is raw. */
uint64_t export_scale(const struct trace_event *event);
bool export_is_sampled(const struct trace_event *event);
/* Of the session there are counts over time besides samples. They know no tasks: a warning if
 * options are given that they cannot follow. */
bool export_has_counters(struct job *j, const struct input *o);
/* The event whose pace is that of the session, or the first that is sampled; UINT32_MAX: none. */
uint32_t export_timebase(const struct profile_facts *facts);

#endif
