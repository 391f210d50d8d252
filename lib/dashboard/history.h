/*
 * What was shown of each cell over the last iterations, and what all of them come to. Series are
 * numbered by who uses it. Knows nothing of tables.
 */
#ifndef DASHBOARD_HISTORY_H
#define DASHBOARD_HISTORY_H

#include "metric/cell.h"
#include "metric/spread.h"

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
	float *values;                /* owned; depth × nr_series; NaN: no number */
	struct history_entry *entry;  /* owned; depth */
	struct history_total *totals; /* owned; of each series, over all iterations but a cut one */
};

/* As deep as the ceilings allow; -EFBIG if that is less than HISTORY_MIN_DEPTH. */
int history_init(struct history *h, size_t nr_series);
void history_fini(struct history *h);
void history_clear(struct history *h);

/* The next entry, in place of the oldest if there is no room; history_set each series then. */
void history_begin(struct history *h, const struct history_entry *entry);
void history_set(struct history *h, size_t series, double value);

/* The i-th entry there is, from the oldest on. */
const struct history_entry *history_entry(const struct history *h, size_t i);
double history_value(const struct history *h, size_t i, size_t series);
/* Entries of the iterations first to last, both included: [*from, *to). */
void history_range(const struct history *h, uint32_t first, uint32_t last, size_t *from,
		   size_t *to);
/* The spread of a series over the entries [from, to), without a cut one. */
struct spread history_spread(const struct history *h, size_t series, size_t from, size_t to);

#endif
