/*
 * The displayed values of each cell over the last iterations, and their statistics over all
 * iterations. The caller numbers the series.
 */
#ifndef DASHBOARD_HISTORY_H
#define DASHBOARD_HISTORY_H

#include "estimate/cell.h"
#include "estimate/spread.h"

enum { HISTORY_MAX_DEPTH = 600, HISTORY_MIN_DEPTH = 60, HISTORY_MAX_BYTES = 16 << 20 };

struct history_entry {
	uint32_t iteration;
	bool is_cut;
	double span_s;
};

struct history_total {
	struct spread spread;
	double min, max;
};

struct history {
	size_t nr_series, depth, nr, next;
	float *values;               /* owned; depth × nr_series; NaN: no value */
	struct history_entry *entry; /* owned; depth */
	struct history_total
	    *totals; /* owned; of each series, over all iterations that were not cut short */
};

/* As deep as the ceilings allow. -EFBIG if that is less than HISTORY_MIN_DEPTH. */
int history_init(struct history *h, size_t nr_series);
void history_fini(struct history *h);
void history_clear(struct history *h);

/* Adds an entry, replacing the oldest if full; then call history_set for each series. */
void history_begin(struct history *h, const struct history_entry *entry);
void history_set(struct history *h, size_t series, double value);

/* The i-th stored entry, oldest first. */
const struct history_entry *history_entry(const struct history *h, size_t i);
double history_value(const struct history *h, size_t i, size_t series);
/* The entries of iterations first to last inclusive: [*from, *to). */
void history_range(const struct history *h, uint32_t first, uint32_t last, size_t *from,
		   size_t *to);
/* Statistics of a series over the entries [from, to), without those cut short. */
struct spread history_spread(const struct history *h, size_t series, size_t from, size_t to);

#endif
