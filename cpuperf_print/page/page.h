/*
 * Shared by the parts of --output-format=html: the page under construction.
 *
 * The page is built from files that can be read and linted (web/), which cmake/page.cmake embeds,
 * with a policy that forbids the browser to load anything else. Its size is bounded: samples are
 * counted by stack, thread and time slice (report/slices.h); slices widen and small frames merge
 * (report/outline.h) until it fits, which the page states.
 *
 * web/model.js has the numbers, order.js the order of time: both know nothing of the page. A
 * graph is what has a root, children(frame) and places, so that graph.js draws each; processes as
 * first frames are another tree of the same cells (data.js). The code of functions (code.c) is
 * what report annotate reads (reports/annotated.h), in its keys; code.js draws it. Where the page
 * is served (navigator/) its data are an answer like others.
 */
#ifndef CPUPERF_PRINT_PAGE_HTML_H
#define CPUPERF_PRINT_PAGE_HTML_H

#include "base/buf.h"
#include "base/dict.h"
#include "base/json_writer.h"
#include "estimate/latencies.h"
#include "profile/about.h"
#include "report/outline.h"
#include "report/slices.h"
#include "samples.h"
#include "trace/trace.h"

struct report_comparable;
struct counts_lines;
struct page_regions;
struct report_stacks;

enum { PAGE_NOW, PAGE_BEFORE, PAGE_NR_SIDES };
enum { PAGE_MAX_NOTES = 24, PAGE_NOTES_BYTES = 128 << 10, PAGE_MAX_ITERATIONS = 200 };

/* A thread; with pid PAGE_SEVERAL all threads of that name, if there are too many. Not
 * TRACE_UNKNOWN, which is the pid of samples without a task. */
enum { PAGE_SEVERAL = UINT32_MAX - 1 };
struct page_thread {
	uint32_t comm, pid, tid; /* comm: report_functions_text */
	uint32_t thread;         /* its number in the process; 0: not known */
	uint32_t host;           /* page_host */
};

/* Samples of one side, event, thread and region. */
struct page_group {
	uint32_t side, event, thread, region;
};

/* A function whose self share changed significantly. */
struct page_certain {
	uint32_t event, function; /* its number in the report */
	double change, half;      /* of the share, 0 to 1; ± so much */
};

/* A session that measured something else: its counts, on the page's axis of time. */
struct page_beside {
	struct counts_lines *lines; /* owned */
	int64_t shift_ns;           /* from times since the page's session's start to its own */
	const char *path;
	bool has_samples;
};

struct page {
	struct job *j;
	const struct job *all; /* borrowed; sessions that measured different things; NULL: not so */
	size_t base;           /* of the sessions in all: the one that the page shows */
	struct page_beside *beside; /* owned; the others */
	size_t nr_beside;
	unsigned nr_sides;
	const struct profile_facts *facts; /* of the first session */
	struct counts_lines *lines;        /* of the first session; NULL: none */
	bool has_samples, has_regions;
	bool is_data;                 /* no page around it */
	struct page_regions *regions; /* NULL: there are none */
	struct latencies latencies[PAGE_NR_SIDES];

	struct report_stacks *stacks;
	struct report_slices *slices;
	uint64_t slice_ns; /* before slices are doubled, as the numbers of slices here */
	uint32_t min_slice, max_slice;
	struct report_stats stats[PAGE_NR_SIDES];
	struct dict hosts;   /* names: of a job its parts, on both sides; else none */
	uint32_t *host_of;   /* by input; NULL: no job */
	struct dict threads; /* struct page_thread */
	struct dict groups;  /* struct page_group */
	uint32_t last_group;
	uint32_t others; /* the name of threads beyond the limit */
	bool has_several;

	/* With --diff: samples by innermost function and replicate. */
	bool by_iteration, compares_runs;
	struct report_slices
	    *leaves; /* stack: the function; group: event and side; slice: replicate */

	struct report_comparable *comparable;
	struct page_certain *certain; /* significant changes */
	size_t nr_certain, certain_room;

	struct profile_about about;                 /* of the first session */
	char command[TRACE_TARGET_BYTES];           /* what it measured; "": the machine */
	bool are_runs;                              /* its iterations are runs of the command */
	uint64_t iteration_ns[PAGE_MAX_ITERATIONS]; /* when they began, since the session's start */
	size_t nr_iterations;
	struct report_outline outline;
	struct buf notes[2]; /* lines: warnings about the numbers, notes about the page */
	size_t nr_notes[2], nr_more[2]; /* lines; further lines, omitted */
	struct buf data;                /* JSON not written yet */
	struct json_writer json;
};

/* Writes and resets data. 0 or -errno with *e. */
int page_flush(struct page *h, struct err *e);
/* null unless finite. */
void page_real(struct page *h, const char *key, double v, unsigned digits);

/* Adds a note, once, and at most PAGE_MAX_NOTES of a kind. */
enum { PAGE_WARNING, PAGE_NOTE };
void page_note(struct page *h, int kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Call page_hosts_init first. 0 or -ENOMEM. */
int page_hosts_init(struct page *h);
/* The number of the host of an input; 0 without hosts. */
uint32_t page_host(const struct page *h, uint32_t session);
/* Adds the first thread of each process that has samples. 0 or -ENOMEM. */
int page_hosts_name_processes(struct page *h);
void page_hosts_put(struct page *h);

/* Collects facts from a trace of the first session; arg is the page. */
void page_head_add(void *arg, const struct profile_trace *trace);
/* The session's facts, warnings and notes. 0 or -errno with *e. */
int page_head_read(struct page *h, struct err *e);
void page_head_put(struct page *h);
/* Counts and misc over time. */
int page_series_read(struct page *h, struct err *e);
int page_series_put(struct page *h, struct err *e);
/* The same of the other sessions. Call it after page_series_read. */
int page_series_read_beside(struct page *h, struct err *e);
/* Histograms of how long things took. */
int page_latency_read(struct page *h, struct err *e);
int page_latency_put(struct page *h, struct err *e);
/* Regions: of all sessions what they are called, of the first one the slices. -EFBIG and others
 * with *e. Call after page_series_read. */
int page_regions_read(struct page *h, struct err *e);
int page_regions_put(struct page *h, struct err *e);
void page_regions_free(struct page_regions *r); /* NULL is fine */
/* The number in the page of the region whose path has that text (report_functions_text); 0: none.
 */
uint32_t page_regions_find(const struct page_regions *r, uint32_t text);
/* The interval selected by options, else that of all numbers; since the session's start. */
void page_time_shown(const struct page *h, uint64_t *start_ns, uint64_t *end_ns);
/* Limits a slice to the range of the page: samples far outside, as in damaged files, are counted in
 * the first or the last. */
uint32_t page_slice_within(const struct page *h, uint64_t slice, unsigned doubled);

/* Reports that are tables. 0 or -errno with *e. */
int page_reports_put(struct page *h, struct err *e);
/* Experiments, if the session has some. The same. */
int page_experiments_put(struct page *h, struct err *e);
/* The code of the functions with the most samples. 0 or -errno with *e. */
int page_code_put(struct page *h, struct err *e);

/* Counts samples by stack, thread and time. 0 or -errno with *e. */
int page_samples_read(struct page *h, struct err *e);
int page_samples_put(struct page *h, struct err *e);
/* With --diff: adds a sample of either side. 0 or -errno. */
int page_change_take(struct page *h, const struct report_sample *s, unsigned side);
/* Call after the last sample. Finds significant changes, then replaces the functions of the outline
 * by those that both sides share. 0 or -errno. */
int page_change_compare(struct page *h);
int page_change_name(struct page *h);
/* numbers: as page_numbers.function, nr of them. */
void page_change_put(struct page *h, const uint32_t *numbers, size_t nr);

#endif
