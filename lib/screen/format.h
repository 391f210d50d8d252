/*
 * Output formats of a session: one row each (text, csv, ndjson), the same in both programs.
 * Everything is appended to a buf; nothing here prints. Knows nothing of where a table comes from.
 */
#ifndef SCREEN_FORMAT_H
#define SCREEN_FORMAT_H

#include "metric/table.h"

#include <stdbool.h>

struct buf;
struct err;
struct screen_state; /* what a format keeps between iterations: column widths */

struct screen_options {
	unsigned width;     /* columns of the terminal; 0: do not wrap, leave nothing out */
	bool each_cpu;      /* of samples: a line for each CPU too */
	unsigned nr_things; /* of each kind of things: so many at most; 0: all */
	/* csv, ndjson: "session" of each row, which then have the fields of any session, so that
	 * several are one table; NULL: none. Borrowed. */
	const char *session;
	bool has_header; /* csv: it was written before */
};

/* Iterations that were measured and not printed. */
struct screen_gap {
	uint32_t first, last;
	uint64_t start_ns;            /* of the first */
	uint64_t end_ns, realtime_ns; /* of the last */
};

struct screen_format {
	const char *name, *description;
	bool is_for_people; /* has warnings among its results */
	/* Once before the first iteration (CSV header …). */
	void (*begin)(struct screen_state *s, const struct table *t, struct buf *out);
	/* One iteration; its totals are filled. */
	void (*iteration)(struct screen_state *s, const struct table *t, struct buf *out);
	/* In the place of iterations that are left out; t: any one of the tables. */
	void (*gap)(struct screen_state *s, const struct table *t, const struct screen_gap *gap,
		    struct buf *out);
	/* Once after the last: totals, mean and deviation, warnings. t: any one of the tables. */
	void (*summary)(struct screen_state *s, const struct table *t,
			const struct table_summary *sum, struct buf *out);
};

/*
 * text: the original's layout; a summary for people. What is sampled: screen_samples. With metrics
 * there is a line of totals too.
 * csv (RFC 4180, but with LF): one line per cell that is not CELL_NONE; no summary, so that a
 * file is one table.
 * ndjson: the same names as keys; then an object with "summary": true per column.
 * In both, what does not hold is empty (null); integers are exact, shares have four decimals. A
 * session that samples has more fields, in all of its cells. A gap is a row of the event
 * cpuperf:iterations_not_printed: its iteration is the first of them, its value how many.
 */
extern const struct screen_format screen_formats[];
extern const size_t screen_nr_formats;
/* NULL if there is none of that name. */
const struct screen_format *screen_format_find(const char *name);

/*
 * What became of the samples of an iteration, for people: a line per event, then the CPUs that
 * were idle, then warnings. 80 columns wide, or the terminal's. Totals are filled. Nothing for a
 * table without samples.
 */
void screen_samples(struct screen_state *s, const struct table *t, struct buf *out);
/* Many things of an iteration, for people: a table for each kind, those that did most first.
 * Nothing for a table without. */
void screen_things(const struct screen_state *s, const struct table *t, struct buf *out);
typedef void screen_warn_fn(void *arg, const struct err *warning);
/* Tells each of those warnings: samples that did not come, with the likely cause; what the rings
 * lost; a limit that the kernel changed. */
void screen_warn_samples(const struct table *t, screen_warn_fn *tell, void *arg);

/* Tells each metric that was beyond a limit of its spec, and where: once in a session. */
void screen_warn_metrics(const struct table *t, const struct table_summary *sum,
			 screen_warn_fn *tell, void *arg);

/* NULL without memory. options are copied. For tables of nr_columns columns. */
struct screen_state *screen_state_new(size_t nr_columns, const struct screen_options *options);
void screen_state_free(struct screen_state *s);

#endif
