/*
 * A session as tables: the traces of an iteration become the rows of one table. The columns of the
 * live table come from here too, so that both are the same. Independent of output formats.
 */
#ifndef COUNTS_TALLY_H
#define COUNTS_TALLY_H

#include "estimate/table.h"
#include "profile/session.h"

struct err;

/* Makes a table of facts->events and the metrics (operands are indices of events), with room for
 * facts->max_rows rows, of which none is used yet. Borrows strings and metrics. 0; -EFBIG (more
 * cells than a session can have) or -ENOMEM with *e. */
int counts_tally_new(const struct profile_facts *facts, const struct metric_set *metrics,
		     struct table **out, struct err *e);

/* Adds a trace as the next row. The first sets the iteration and its times; any sets is_cut (the
 * first can be damaged). Returns how many of its cells have a number. */
size_t counts_tally_add(struct table *t, const struct profile_trace *trace);

/* For a CPU that is not selected: clears the row's cells and samples of the CPU, but not those of
 * the machine. */
void counts_tally_clear_cpu(struct table *t, size_t row);

/* Fills in the sampling of a row, after its cells. s NULL: unknown. Also for live tables. */
void counts_tally_samples(struct table *t, size_t row, const struct trace_sampling *s);

/* Replaces the latencies of the iteration; without memory some are missing. Also for live tables.
 */
void counts_tally_latencies(struct table *t, const struct trace_histogram *h, size_t nr);

/* True if the trace belongs to another iteration than the rows. The caller then computes the
 * totals, uses the table, and sets nr_rows to 0. */
bool counts_tally_is_next(const struct table *t, const struct profile_trace *trace);

#endif
