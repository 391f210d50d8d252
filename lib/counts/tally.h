/*
 * A session as tables: the traces of an iteration become the rows of one table. The columns of the
 * live table come from here too, so that both are the same. Independent of output formats.
 */
#ifndef COUNTS_TALLY_H
#define COUNTS_TALLY_H

#include "estimate/table.h"
#include "profile/session.h"

struct err;

/* A table of facts->nr_events events and the metrics made of them (places in facts->events), with
 * room for facts->max_rows rows; no rows yet. Of facts nothing else is used. Strings and metrics
 * are borrowed. -EFBIG if that is more than a session can have; -ENOMEM. */
int counts_tally_new(const struct profile_facts *facts, const struct metric_set *metrics,
		     struct table **out, struct err *e);

/* Adds a trace as the next row. The first sets the iteration and its times; any sets is_cut (the
 * first can be damaged). Returns how many of its cells have a number. */
size_t counts_tally_add(struct table *t, const struct profile_trace *trace);

/* For a CPU that is not selected: clears the row's cells and samples of the CPU, but not those of
 * the machine. */
void counts_tally_leave_cpu(struct table *t, size_t row);

/* Fills in the sampling of a row, after its cells. s NULL: unknown. Also for live tables. */
void counts_tally_samples(struct table *t, size_t row, const struct trace_sampling *s);

/* True if the trace belongs to another iteration than the rows: then fill the totals, use the
 * table, and set nr_rows to 0. */
bool counts_tally_is_next(const struct table *t, const struct profile_trace *trace);

#endif
