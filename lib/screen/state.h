/*
 * What the formats of this room share and nobody else sees: their functions, and what the text
 * format keeps between iterations.
 */
#ifndef SCREEN_STATE_H
#define SCREEN_STATE_H

#include "base/buf.h"
#include "screen/format.h"
#include "screen/layout.h"

struct screen_state {
	struct screen_options options;
	struct layout
	    layout; /* of the iterations' table: its columns only grow, so that it stands still */
	struct layout_column *columns; /* owned; of the layout */
	struct buf scratch;
};

void screen_text_iteration(struct screen_state *s, const struct table *t, struct buf *out);
void screen_text_gap(struct screen_state *s, const struct table *t, const struct screen_gap *gap,
		     struct buf *out);
void screen_text_summary(struct screen_state *s, const struct table *t,
			 const struct table_summary *sum, struct buf *out);

/* "partial: 5 of 111 in 3 iterations": the total that lacks most, and how many lack something;
 * nothing if none does. */
void screen_partial(struct buf *out, const struct column_summary *sum);

/* The samples of all iterations; nothing if none were taken. */
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
