/*
 * Output formats of what was counted: one row each (text, csv, ndjson), the same in both programs.
 * Everything is appended to a buf; its error is the error.
 */
#ifndef SCREEN_FORMAT_H
#define SCREEN_FORMAT_H

#include "estimate/table.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;
struct screen_state; /* of a format between iterations: column widths */

struct screen_options {
	unsigned width;     /* columns of the terminal; 0: no limit */
	bool has_color;     /* text: numbers coloured by their size, of CPUs and of things */
	bool each_cpu;      /* samples: a line for each CPU too */
	unsigned nr_things; /* things of each kind to print; 0: all */
	/* csv, ndjson: field "session" of each row; rows then have all fields, so that several
	 * sessions form one table. NULL: none. Borrowed. */
	const char *session;
	/* The same before it: "host", and "rank" (UINT32_MAX: none), of the parts of a job. NULL:
	 * none. Borrowed. */
	const char *host;
	uint32_t rank;
	bool has_header; /* csv: the header was already written */
};

/* Iterations that were measured and not printed. */
struct screen_gap {
	uint32_t first, last;
	uint64_t start_ns;            /* of the first */
	uint64_t end_ns, realtime_ns; /* of the last */
};

struct screen_format {
	const char *name, *description;
	bool is_for_people; /* its output includes warnings */
	/* Once before the first iteration (CSV header …). */
	void (*begin)(struct screen_state *s, const struct table *t, struct buf *out);
	/* One iteration, with its totals. */
	void (*iteration)(struct screen_state *s, const struct table *t, struct buf *out);
	/* In place of iterations that were not printed; t: any table of the session. */
	void (*gap)(struct screen_state *s, const struct table *t, const struct screen_gap *gap,
		    struct buf *out);
	/* Once after the last: totals, mean and deviation, warnings; t: any table of the session.
	 */
	void (*summary)(struct screen_state *s, const struct table *t,
			const struct table_summary *sum, struct buf *out);
};

/*
 * text: the layout of the original cpuperf, with a line of totals if there are metrics; sampled
 * events as in screen_samples; a summary. csv (RFC 4180, but with LF): one line per cell and total
 * over CPUs except CELL_NONE; no summary, so that a file is one table. ndjson: an object per cell,
 * with the fields of csv; then one with "summary": true per column. In both, missing values are
 * empty (null); integers are exact, shares have four decimals. A session that samples has more
 * fields, in all cells. A gap is a row of the event cpuperf:iterations_not_printed, with the first
 * iteration and as value their number.
 */
extern const struct screen_format screen_formats[];
extern const size_t screen_nr_formats;
/* NULL if there is none with that name. */
const struct screen_format *screen_format_find(const char *name);

/*
 * The samples of an iteration, as text: a line per event, idle CPUs, warnings; as wide as the
 * terminal or 80 columns. Needs the totals. Nothing for a table without samples.
 */
void screen_samples(struct screen_state *s, const struct table *t, struct buf *out);
/* The things of an iteration, as text: a table for each kind, the most active first. Nothing for a
 * table without things. */
void screen_things(const struct screen_state *s, const struct table *t, struct buf *out);
/* Rows of ndjson for an answer: the columns that have a number, without empty fields; and a row for
 * each reason why others have none. */
void screen_ndjson_totals(const struct table *t, const struct table_summary *sum, struct buf *out);
void screen_ndjson_absent(const struct table *t, const struct table_summary *sum, struct buf *out);
typedef void screen_warn_fn(void *arg, const struct err *warning);
/* Reports each warning about samples: missing samples, with the likely cause; lost records; a limit
 * that the kernel changed. */
void screen_warn_samples(const struct table *t, screen_warn_fn *fn, void *arg);

/* Reports each metric that was beyond a limit of its spec, and where. Once in a session. */
void screen_warn_metrics(const struct table *t, const struct table_summary *sum, screen_warn_fn *fn,
			 void *arg);

/* For tables of nr_columns columns. options are copied. NULL without memory. */
struct screen_state *screen_state_new(size_t nr_columns, const struct screen_options *options);
void screen_state_free(struct screen_state *s);

#endif
