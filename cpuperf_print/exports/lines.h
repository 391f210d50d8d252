/*
 * Facts, notes and losses of a session as lines of text, for formats with comments; and facts of
 * its events.
 */
#ifndef CPUPERF_PRINT_EXPORTS_LINES_H
#define CPUPERF_PRINT_EXPORTS_LINES_H

#include "job.h"
#include "profile/about.h"

struct report_stats;

/* profile_about_read with *e. */
int export_about_read(const struct input *input, profile_about_fn *each, void *arg,
		      struct profile_about *out, struct err *e);

/* The same of the job's ith input; of its iteration alone, if that is pushed. */
int export_about_job(const struct job *j, size_t i, struct profile_about *out, struct err *e);

/* Calls line for each line: session and host, events not measured or multiplexed, notes; for the
 * samples of all sessions: how many there are, how many are missing. */
typedef void export_line_fn(void *arg, const char *line);
void export_session_lines(const struct job *j, size_t session, const struct profile_about *about,
			  export_line_fn *line, void *arg);
void export_samples_lines(const struct job *j, const struct report_stats *stats,
			  export_line_fn *line, void *arg);

/* Calls line for each part of the files that could not be read so far; and also for what the
 * regions of programs lack. */
void export_loss_lines(const struct job *j, export_line_fn *line, void *arg);
void export_unread_lines(const struct job *j, export_line_fn *line, void *arg);

/* The scale of counts if it is an integer; else 1, for raw counts. */
uint64_t export_scale(const struct trace_event *event);
/* Occurrences per sample; the mean, if the kernel adapts it or the session divided its rates. */
uint64_t export_period(const struct trace_event *event, const struct report_stats *stats,
		       uint32_t i);
bool export_is_sampled(const struct trace_event *event);
/* The session has counts over time besides samples. Warns of options that do not apply to counts.
 */
bool export_has_counters(struct job *j, const struct input *o);
/* The timebase, or the first sampled event; UINT32_MAX: none. */
uint32_t export_timebase(const struct job *j);

/* A weight times that scale, at most INT64_MAX. */
uint64_t export_amount(uint64_t weight, uint64_t scale);
/* Appends a weight of the event for people, with its unit; and above a picture of its samples,
 * "cpu_clock: 1,234 samples, 1.234 s". */
enum { EXPORT_TITLE_BYTES = 4096 };
void export_add_amount(const struct job *j, uint32_t event, uint64_t weight, struct buf *out);
void export_title(const struct job *j, const struct report_stats *stats, uint32_t event,
		  struct buf *out);
/* The unit of such amounts, as profiles name it. */
const char *export_unit(const struct trace_event *event);
/* The name of an event and a suffix. Labels of events may be equal; these names are not. */
enum { EXPORT_TYPE_BYTES = 1024 };
void export_type_name(const struct job *j, uint32_t event, const char *suffix,
		      char name[EXPORT_TYPE_BYTES]);

#endif
