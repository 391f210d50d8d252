/*
 * What the parts of --output-format=html share: the run, and how JSON is written into the page.
 */
#ifndef CPUPERF_PRINT_PAGE_HTML_H
#define CPUPERF_PRINT_PAGE_HTML_H

#include "base/buf.h"
#include "base/index.h"
#include "base/json_writer.h"
#include "report/outline.h"
#include "report/slices.h"
#include "samples.h"

struct report_comparable;
struct counts_lines;
struct report_stacks;

enum { HTML_NOW, HTML_BEFORE, HTML_NR_SIDES };
enum { HTML_MAX_NOTES = 24, HTML_NOTES_BYTES = 128 << 10, HTML_MAX_ITERATIONS = 200 };

/* A thread; pid HTML_SEVERAL: all of that name, where there are too many. */
enum { HTML_SEVERAL = UINT32_MAX };
struct html_thread {
	uint32_t comm, pid, tid; /* comm: report_functions_text */
};

/* Samples of one side, event and thread. */
struct html_group {
	uint32_t side, event, thread;
};

/* A function that certainly has another share than before, by itself. */
struct html_certain {
	uint32_t event, function; /* its number in the report */
	double change, half;      /* of the share, 0 to 1; ± so much */
};

struct html {
	struct job *j;
	unsigned nr_sides;
	const struct profile_facts *facts; /* of the first session */
	struct counts_lines *lines;        /* of it too; NULL: none */
	bool has_samples;

	struct report_stacks *stacks;
	struct report_slices *slices;
	uint64_t slice_ns; /* at first, like these */
	uint32_t min_slice, max_slice;
	struct report_stats stats[HTML_NR_SIDES];
	struct html_thread *threads;
	size_t nr_threads, threads_room;
	struct index thread_index;
	struct html_group *groups;
	size_t nr_groups, groups_room;
	struct index group_index;
	uint32_t last_group;
	uint32_t others; /* name of the tasks for which there was no room */
	bool has_several;

	/* With --diff: what is in the sampled functions, by replicate. */
	bool by_iteration;
	struct report_slices
	    *leaves; /* stack: the function; group: event and side; slice: replicate */

	struct report_comparable *comparable;
	struct html_certain *certain; /* what certainly changed */
	size_t nr_certain, certain_room;

	uint64_t began_ns, began_realtime_ns;       /* the first session */
	uint64_t iteration_ns[HTML_MAX_ITERATIONS]; /* after that: when they began */
	size_t nr_iterations;
	struct report_outline outline;
	struct buf notes[2]; /* a line each: of what must be known, and of how the page was made */
	size_t nr_notes[2], nr_more[2]; /* lines; those for which there was no room */
	struct buf data;                /* JSON that waits to be written */
	struct json_writer json;
};

/* Writes what is in data. 0 or -errno with *e. */
int html_flush(struct html *h, struct err *e);
/* null if it is no number. */
void html_real(struct html *h, const char *key, double v, unsigned digits);

/* Notes; the same once, and so many of a kind. */
enum { HTML_WARNING, HTML_NOTE };
void html_note(struct html *h, int kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The session's facts, warnings and notes. 0 or -errno with *e. */
int html_head_read(struct html *h, struct err *e);
void html_head_put(struct html *h);
/* Counts and misc over time. */
int html_series_read(struct html *h, struct err *e);
int html_series_put(struct html *h, struct err *e);
/* The time that was asked for, else that of all that was read; since the session's start. */
void html_time_shown(const struct html *h, uint64_t *start_ns, uint64_t *end_ns);
/* A slice that may be there: samples far outside, as damaged files have them, are in the first or
 * the last. */
uint32_t html_slice_within(const struct html *h, uint64_t slice, unsigned doubled);

/* Samples: by stack, thread and time. */
int html_samples_read(struct html *h, struct err *e);
int html_samples_put(struct html *h, struct err *e);
/* With --diff: a sample of either side. 0 or -errno. */
int html_change_take(struct html *h, const struct report_sample *s, unsigned side);
/* When all is read: finds what certainly changed. Then gives the functions of the outline names
 * that mean the same on both sides. 0 or -errno. */
int html_change_compare(struct html *h);
int html_change_name(struct html *h);
/* numbers: of functions in the page, by the report's, nr of them; UINT32_MAX: not there. */
void html_change_put(struct html *h, const uint32_t *numbers, size_t nr);

#endif
