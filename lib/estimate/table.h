/*
 * One iteration as a table: events and metrics are columns, traces (CPUs) are rows. The output
 * formats print it. The recorder fills it from live readings, the reader from traces, both through
 * the functions here, so that both print the same.
 */
#ifndef ESTIMATE_TABLE_H
#define ESTIMATE_TABLE_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/region_times.h"
#include "estimate/cell.h"
#include "estimate/latencies.h"
#include "estimate/metric.h"
#include "estimate/sampled.h"
#include "estimate/spread.h"

struct buf;

struct table_column {
	const char *group, *name;
	const char *label; /* the column's heading: the spec's label, else the name */
	const char *unit;  /* of the value: "", "B", "ns", "%" */
	enum event_kind kind;
	enum event_scope scope;
	enum event_total total;
	double scale;        /* what is shown = count × scale; 0 stands for 1 */
	const char *reason;  /* why it is not measured; NULL if it is */
	const char *missing; /* a metric: the label of its first operand that is not measured; NULL
			      */
	struct sampled_event sampling;
	const struct metric *metric; /* NULL: an event */
	bool is_total_only;          /* a metric of what is each CPU's and the machine's: no rows */
};

/* The trace's account of its CPU's ring and of the kernel's limit; all zero: none. */
struct table_sampling {
	uint64_t ring_bytes;
	uint64_t max_rate_start, max_rate_end; /* samples per second; 0: unknown */
	uint64_t idle_ns;                      /* UINT64_MAX: unknown */
	uint64_t lost;                         /* records that the ring reports as lost */
	uint64_t ticks, ticks_missed;          /* of the session: taken; missed */
	uint64_t held_from_ns, held_to_ns;     /* a flight recorder's samples; to 0: all samples */
	char trigger[64];                      /* of the snapshot; "": none */
	uint32_t divisor; /* of the rates, at least 1; 0: the session never divides them */
	uint64_t paused;  /* its samples that were not taken while it copied earlier ones */
};

/* One of many things (a disk, a process …) of a column whose scope they are. */
struct table_thing {
	size_t column;
	uint32_t number;
	const char *name;
	struct cell cell;
};

enum { TABLE_ALL_CPUS = UINT32_MAX };

/* Owned by whoever made it with table_new; strings are borrowed. */
struct table {
	size_t nr_columns, nr_rows; /* nr_rows may be lowered, up to what table_new got */
	size_t nr_events;           /* columns; the metrics are behind them */
	struct table_column *columns;
	uint32_t *row_trace; /* the trace number of each row: its own, unless traces are missing */
	uint32_t *row_cpu;   /* the CPU of each row; TABLE_ALL_CPUS: the trace is of all */
	struct cell *cells;  /* nr_rows × nr_columns, row by row */
	struct cell *totals; /* nr_columns */
	struct cell *sums;   /* nr_events; of the rows that a metric's total is of */
	/* NULL in a session that only counts: of each cell, total and row. */
	struct sampled *sampled, *sampled_totals;
	struct table_sampling *row_sampling;
	struct table_thing *things; /* owned; column by column */
	size_t nr_things, things_room;
	struct arena thing_names;
	struct latencies latencies; /* all of an event and part; added by who fills the table */
	struct region_times_list regions; /* of a session that runs */
	uint64_t nr_cpus;                 /* of the machine; 0: unknown */
	uint32_t iteration;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; end 0: unknown, the session was killed */
	uint64_t realtime_ns;      /* of the end; since 1970; 0: unknown */
	uint64_t gap_ns;           /* how long nothing was measured before it */
	bool is_cut;               /* the session was ended in this iteration, before its time */
	uint32_t cause;            /* why it ended: enum cause */
};

/* All zero but row_trace, and all columns are events; NULL without memory. */
struct table *table_new(size_t nr_columns, size_t nr_rows);
/* Makes the last columns those of the metrics, when the others are set. The set is borrowed. */
void table_set_metrics(struct table *t, const struct metric_set *metrics);
/* Appends the reason, of a metric with the operand: "cycles: this machine has no PMU". Nothing if
 * it is measured. */
void table_reason(const struct table_column *c, struct buf *out);
/* False if events of these scopes (bits: 1 << enum event_scope) are not in the same rows: what is
 * made of them has a total only. */
bool table_scopes_meet(unsigned scopes);
/* Makes room for samples in all rows that table_new got, if the columns that are set have a sampled
 * one. 0 or -ENOMEM. */
int table_add_sampling(struct table *t);
void table_free(struct table *t);
struct cell *table_cell(const struct table *t, size_t row, size_t column);
/* True if a column's cells belong to each row's CPU or package; else they are the machine's, in row
 * 0. */
bool table_is_of_cpu(const struct table_column *c);
/* What a thing of the column, or all of them together (is_sum), can use at most: a time, as a
 * multiple of the span in which it is used; in the shown unit (estimate/unit.h). nr_cpus: of the
 * machine; 0: unknown. NAN: there is no limit, or it is unknown. */
double table_limit(const struct table_column *c, uint64_t nr_cpus, bool is_sum);
double table_limit_shown(const struct table_column *c, uint64_t nr_cpus, bool is_sum);
/* "count", "value", "share" or "metric". */
const char *table_kind_name(const struct table_column *c);
/* True if the column's total is a number of its own: the machine's cell in row 0 is its total. */
bool table_has_total(const struct table *t, size_t column);
/* True if a row counts a target on any CPU and the column has a total, which has the same number:
 * formats in which both would be rows of all CPUs print the total only. */
bool table_is_in_total(const struct table *t, size_t row, size_t column);
/* The readings of one part of an event on one CPU: most events have one part, one of the memory has
 * one per box. Either may be NULL. */
enum { TABLE_MAX_PARTS = 256 };
struct table_part {
	const struct reading *start, *end;
	enum reading_times times;
};
/*
 * Makes one cell from the parts of its event. Parts without an end (NULL, or READING_NONE) are
 * skipped. If all are, the cell is blank, unless state (the event's enum reading_state at the start
 * of the session) gives the reason why it is not measured: then every row shows the reason, or only
 * row 0 if the event is not per CPU.
 */
void table_set(struct table *t, size_t row, size_t column, uint32_t state,
	       const struct table_part *parts, size_t nr);
/*
 * Adds a thing to the iteration, and its number to the event's in row 0, also for values.
 * - Without a start it began in the iteration and counts from 0 (at start_ns), unless READING_OLD
 *   is set in its end: then it is not counted.
 * - Without an end it has ended: it is not added; as table_thing_gone, unless READING_ENDED is set
 *   in its start.
 * - Without a number it is listed, and missing from the event's number (cell.nr_without).
 * - With READING_ENDED in its end it is a thing that has ended: of values it has its last one, and
 * the event's number is without it.
 * - READING_REST in its end: it has what ended things counted, and their sum is not short.
 * - More than the machine can do in its time, as CPU time of more CPUs than it has: cell.is_over.
 * Call table_set_time first, and table_set for row 0 without parts. The name is copied. 0 or
 * -ENOMEM.
 */
int table_add_thing(struct table *t, size_t column, uint32_t number, const char *name,
		    const struct reading *start, const struct reading *end);
/* A thing ended after its start was read: what it counted since then is missing from the sum
 * (cell.is_short). A sum of values is that of the things that still exist. */
void table_thing_gone(struct table *t, size_t column);
/* Removes the things of the last iteration. */
void table_drop_things(struct table *t);

/* Starts a row's samples, and clears the old ones. No effect in a table without sampling. */
void table_set_sampling(struct table *t, size_t row, const struct table_sampling *sampling);
/* Adds the samples of one part of an event, after its cell is made. Ignores columns that are not
 * sampled: n comes from outside. */
/* How a column was sampled in the row's trace: by the rate of the event and its divisor. */
struct sampled_event table_sampling(const struct table *t, size_t row, size_t column);
void table_add_sampled(struct table *t, size_t row, size_t column, const struct sampled_counts *n);
/* NULL in a table without sampling. */
const struct sampled *table_sampled(const struct table *t, size_t row, size_t column);
/* Records that the rings lost, over all rows; UINT64_MAX if beyond that. */
uint64_t table_lost(const struct table *t);
/* Sets the times of the iteration; clocks are the triple that its traces store, the last of
 * them. */
void table_set_time(struct table *t, uint64_t start_ns, uint64_t end_ns,
		    const struct clock_triple *clocks);
/*
 * Fills totals, and all cells of metrics, from the cells of events. A metric's total is computed
 * from the totals of its operands over the rows in which each has a number. If some rows have none
 * it is partial; if all, CELL_NA.
 */
void table_total(struct table *t);

/* The same of some rows (nr of them, by place) into cells, one for each column. */
void table_total_of(struct table *t, const uint32_t *rows, size_t nr, struct cell *cells);

/*
 * Copies the counts of an iteration: rows, times, events' cells, things and latencies, without
 * totals and metrics. Both have the same events; to has room for the rows of from, and may have
 * other metrics. Names of things are copied. 0 or -ENOMEM: then things or latencies are missing.
 */
int table_copy_events(struct table *to, const struct table *from);

/* Where and when a metric exceeded a limit. */
enum { TABLE_MAX_SPANS = 8 };
struct table_span {
	uint32_t first, last;
};
struct table_beyond {
	struct cpuset cpus;                      /* empty: only the total over all CPUs was */
	uint64_t nr_iterations;                  /* with a value beyond it */
	struct table_span span[TABLE_MAX_SPANS]; /* the first of them */
	size_t nr_spans;
	uint64_t nr_in_spans;
};

/* The summary of a column over the iterations of a session. */
struct column_summary {
	struct spread spread;  /* of the column's total per iteration (percent for shares) */
	double real_sum;       /* of those totals that are real numbers */
	unsigned __int128 sum; /* of those totals, exact; shares: 0 */
	unsigned __int128
	    cut;              /* the part of sum from iterations that are not in spread, min, max */
	struct cell min, max; /* the smallest and largest total */
	uint64_t nr_cells[CELL_NR_STATES]; /* how many cells were in which state */
	uint64_t nr_multiplexed;           /* cells with a running share below 1 */
	double min_running;                /* smallest running share seen; 1 if none was below */
	uint64_t nr_partial;               /* iterations whose total is partial */
	struct cell least;                 /* the total with the most missing parts */
	struct sampled sampled;            /* of all iterations and CPUs; zero if not sampled */
	struct table_beyond low, high;     /* of a metric */
};

struct table_summary {
	size_t nr_columns;
	uint64_t nr_iterations; /* with those that were cut */
	uint32_t cause;         /* of the first one */
	uint64_t nr_cut;        /* 0 or 1: only the last can be */
	uint64_t nr_other;      /* not cut, but of another cause than the first */
	uint64_t cut_ns;        /* how long the last of these was */
	uint32_t last_cause;
	uint64_t lost;        /* table_lost, over the iterations */
	uint64_t measured_ns; /* from their starts to their ends */
	uint64_t gap_ns;      /* before them, not measured */
	bool is_in_progress;  /* set by its user: the last iteration goes on, if it is cut */
	const char *removed;  /* set by its user: earlier iterations, in words; NULL or "": none */
	struct column_summary *column;
	struct latencies latencies;
};
struct table_summary *table_summary_new(size_t nr_columns);
void table_summary_free(struct table_summary *s);
/* True if the iteration can be averaged with those of that cause: a cut one is shorter. */
static inline bool table_is_alike(const struct table *t, uint32_t cause)
{
	return !t->is_cut && t->cause == cause;
}
/* Adds an iteration whose totals are filled. One that is not like the first enters the sum only,
 * unless the column has no other number. The exact mean is (sum - cut) / spread.nr. */
void table_summary_add(struct table_summary *s, const struct table *t);

#endif
