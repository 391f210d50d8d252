/*
 * Shared by the formats of this room: their functions, and the state between iterations.
 */
#ifndef SCREEN_STATE_H
#define SCREEN_STATE_H

#include "base/buf.h"
#include "screen/format.h"
#include "screen/layout.h"

struct screen_state {
	struct screen_options options;
	struct layout
	    layout; /* of the iterations; columns only grow, so that the table does not jump */
	struct layout_column *columns; /* owned; of the layout */
	double *largest;               /* owned; numbers of each column, for colours */
	struct buf scratch;
};

void screen_text_iteration(struct screen_state *s, const struct table *t, struct buf *out);
void screen_text_gap(struct screen_state *s, const struct table *t, const struct screen_gap *gap,
		     struct buf *out);
void screen_text_summary(struct screen_state *s, const struct table *t,
			 const struct table_summary *sum, struct buf *out);

/* Appends "partial: 5 of 111 in 3 iterations": the total without most parts, and how many are
 * partial; nothing if none is. */
void screen_partial(struct buf *out, const struct column_summary *sum);

/* The reason why a column has no total: the state of most of its cells. */
const char *screen_no_total_text(const struct column_summary *sum);

/* Appends the samples of all iterations; nothing if the session only counts. */
void screen_samples_summary(struct screen_state *s, const struct table *t,
			    const struct table_summary *sum, struct buf *out);

void screen_csv_begin(struct screen_state *s, const struct table *t, struct buf *out);
void screen_csv_iteration(struct screen_state *s, const struct table *t, struct buf *out);
void screen_csv_gap(struct screen_state *s, const struct table *t, const struct screen_gap *gap,
		    struct buf *out);

void screen_ndjson_iteration(struct screen_state *s, const struct table *t, struct buf *out);
void screen_ndjson_gap(struct screen_state *s, const struct table *t, const struct screen_gap *gap,
		       struct buf *out);
void screen_ndjson_summary(struct screen_state *s, const struct table *t,
			   const struct table_summary *sum, struct buf *out);

#endif
