/*
 * The summary of one session: its tables, iteration by iteration, and what a format adds to them.
 */
#ifndef CPUPERF_PRINT_SUMMARY_SUMMARY_H
#define CPUPERF_PRINT_SUMMARY_SUMMARY_H

#include "estimate/table.h"
#include "expose/sums.h"
#include "job.h"
#include "screen/format.h"

struct profile_item;
struct raw_state;

/* The runs of a command that have ended; or the one run. */
struct summary_runs {
	uint64_t nr, nr_failed;           /* failed: killed, or of an exit status above 0 */
	uint32_t failed;                  /* the status of the first that failed */
	struct spread wall, user, system; /* ns, of those that were not killed */
	uint64_t peak_bytes;              /* the largest */
	bool is_peak_limit;               /* it is an upper bound */
	struct trace_target tree_peak;    /* of the largest of all processes at a time */
};

struct summary {
	struct job *j;
	const struct input *input;
	const struct profile_facts *facts; /* of the input */
	struct table *table; /* the current iteration; its rows are the traces read so far */
	struct table_summary *totals;
	/* Over all iterations, if the format prints them: */
	struct sums things;
	uint64_t *spans_ns;    /* owned; of each event */
	bool are_things_short; /* they were too many */
	struct screen_state *screen;
	struct trace_target target; /* of the last iteration; flags 0: there is none */
	struct summary_runs runs;
	bool has_header;
	struct buf *out;       /* borrowed; formats append to it */
	struct buf notes;      /* of traces, a line each; the format empties it */
	struct raw_state *raw; /* owned; state of the raw format; else NULL */
};

/* Functions of a format; any may be NULL. */
struct summary_format {
	bool sums_things;                /* it prints struct summary.things */
	int (*begin)(struct summary *s); /* 0 or -ENOMEM */
	/* A trace, when its row is in the table: before its records, and after them. */
	void (*head)(struct summary *s, const struct profile_trace *trace);
	void (*trace)(struct summary *s, const struct profile_trace *trace);
	/* The session's common file, after all traces and before its records. */
	void (*common)(struct summary *s);
	/* A record of a trace, or of the common file (trace NULL), in order of time. */
	void (*item)(struct summary *s, const struct profile_trace *trace,
		     const struct profile_item *item);
	/* An iteration, when all its rows and totals are in the table. */
	void (*iteration)(struct summary *s);
	void (*end)(struct summary *s);
};

/* Adds the target of a trace that has one. */
void summary_add_target(struct summary *s, const struct profile_trace *trace);
/* Adds the things of the iteration; prints those that were most active in all. */
void summary_add_things(struct summary *s);
void summary_put_things(struct summary *s);
/* In text, in brief: the target, and what was counted of it. */
void summary_target(struct summary *s);

/* Adds the trace's target and notes, each note once per iteration. */
void summary_add_notes(struct summary *s, const struct profile_trace *trace);

extern const struct summary_format summary_text, summary_raw, summary_rows;
/* Of struct answer. */
extern const struct summary_format summary_answer;

/* Prints a job: 0 or -errno with *e. */
int summary_print(struct job *j, struct err *e);
void summary_raw_free(struct raw_state *raw); /* NULL is fine */

#endif
