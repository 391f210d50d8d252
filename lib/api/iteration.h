/*
 * Iterations as a program sees them, made from tables.
 */
#ifndef API_ITERATION_H
#define API_ITERATION_H

#include "cpuperf/cpuperf.h"
#include "estimate/table.h"

/* Where iterations go. The caller's storage; zeroes are fine for fini. */
struct api_feed {
	cpuperf_iteration_fn *fn; /* NULL: nowhere */
	void *arg;
	struct table *table;          /* borrowed */
	struct cpuperf_event *events; /* owned */
	struct cpuperf_cell *cells;   /* owned; the totals behind the rows */
	struct cpuperf_thing *things; /* owned, like their cells */
	struct cpuperf_cell *thing_cells;
	size_t things_room;
};

/* Memory for tables of that many rows. 0 or -ENOMEM; api_feed_fini in any case. */
int api_feed_init(struct api_feed *f, struct table *t, size_t max_rows);
void api_feed_fini(struct api_feed *f);
/* Passes the table on: what fn returns; -ENOMEM. */
int api_feed_pass(struct api_feed *f);

#endif
