/*
 * The displayed values of each cell over the last iterations.
 */
#include "dashboard/history.h"

#include "base/mem.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

int history_init(struct history *h, size_t nr_series)
{
	size_t depth = nr_series ? HISTORY_MAX_BYTES / sizeof(float) / nr_series : 0;

	*h = (struct history){.nr_series = nr_series};
	h->depth = depth < HISTORY_MAX_DEPTH ? depth : HISTORY_MAX_DEPTH;
	if (h->depth < HISTORY_MIN_DEPTH)
		return -EFBIG;
	h->values = mem_calloc(h->depth * nr_series, sizeof(*h->values));
	h->entry = mem_calloc(h->depth, sizeof(*h->entry));
	h->totals = mem_calloc(nr_series, sizeof(*h->totals));
	if (h->values && h->entry && h->totals)
		return 0;
	history_fini(h);
	return -ENOMEM;
}

void history_fini(struct history *h)
{
	mem_free(h->values);
	mem_free(h->entry);
	mem_free(h->totals);
	*h = (struct history){.nr = 0};
}

void history_clear(struct history *h)
{
	h->nr = h->next = 0;
	memset(h->totals, 0, h->nr_series * sizeof(*h->totals));
}

static size_t place(const struct history *h, size_t i)
{
	return h->nr < h->depth ? i : (h->next + i) % h->depth;
}

void history_begin(struct history *h, const struct history_entry *entry)
{
	h->entry[h->next] = *entry;
	h->next = (h->next + 1) % h->depth;
	h->nr += h->nr < h->depth;
}

void history_set(struct history *h, size_t series, double value)
{
	const double max = (double)FLT_MAX;
	size_t last = (h->next + h->depth - 1) % h->depth;
	struct history_total *t = &h->totals[series];

	h->values[last * h->nr_series + series] = (float)(value > max    ? max
							  : value < -max ? -max
									 : value); /* NaN stays */
	if (isnan(value) || h->entry[last].is_cut)
		return;
	if (!t->spread.nr || value < t->min)
		t->min = value;
	if (!t->spread.nr || value > t->max)
		t->max = value;
	spread_add(&t->spread, value);
}

const struct history_entry *history_entry(const struct history *h, size_t i)
{
	return &h->entry[place(h, i)];
}

double history_value(const struct history *h, size_t i, size_t series)
{
	return (double)h->values[place(h, i) * h->nr_series + series];
}

void history_range(const struct history *h, uint32_t first, uint32_t last, size_t *from, size_t *to)
{
	*from = 0;
	while (*from < h->nr && history_entry(h, *from)->iteration < first)
		++*from;
	*to = *from;
	while (*to < h->nr && history_entry(h, *to)->iteration <= last)
		++*to;
}

struct spread history_spread(const struct history *h, size_t series, size_t from, size_t to)
{
	struct spread s = {.nr = 0};

	for (size_t i = from; i < to; i++) {
		double value = history_value(h, i, series);

		if (!isnan(value) && !history_entry(h, i)->is_cut)
			spread_add(&s, value);
	}
	return s;
}
