#include "screen/latency.h"

#include "base/mem.h"
#include "estimate/table.h"
#include "screen/layout.h"
#include "screen/number.h"

#include <math.h>

const struct screen_latency screen_latency_quantiles[SCREEN_LATENCY_NR] = {
    {0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}, {0.999, "p99.9"}};

enum { NAME, COUNT, MEAN, QUANTILES, MAX = QUANTILES + SCREEN_LATENCY_NR, NR_COLUMNS };

static void put_row(struct layout *l, const struct latencies_row *row, const char *label)
{
	const struct histogram *h = row->histogram;

	layout_row(l);
	buf_printf(&l->text, "%s%s%s", label, row->part[0] ? ", " : "", row->part);
	layout_cell(l, NAME);
	screen_wide(&l->text, h->count, true);
	layout_cell(l, COUNT);
	screen_human(&l->text, histogram_mean(h), "ns");
	layout_cell(l, MEAN);
	for (size_t i = 0; i < SCREEN_LATENCY_NR; i++) {
		screen_human(&l->text,
			     round(histogram_quantile(h, screen_latency_quantiles[i].quantile).ns),
			     "ns");
		layout_cell(l, QUANTILES + i);
	}
	screen_human(&l->text, (double)h->max_ns, "ns");
	layout_cell(l, MAX);
}

void screen_latency_put(const struct latencies *latencies, const struct table *t, struct buf *out)
{
	struct layout_column columns[NR_COLUMNS] = {{.is_left = true}};
	struct latencies_row *rows = latencies->rows.nr ? latencies_sorted(latencies) : NULL;
	struct layout l;

	if (!rows)
		return;
	layout_init(&l, columns, NR_COLUMNS);
	layout_row(&l);
	layout_text(&l, NAME, "latency");
	for (size_t i = COUNT; i < NR_COLUMNS; i++) {
		columns[i] = (struct layout_column){.gap = 2, .width = 8};
		layout_text(&l, i,
			    i == COUNT  ? "count"
			    : i == MEAN ? "mean"
			    : i == MAX  ? "max"
					: screen_latency_quantiles[i - QUANTILES].name);
	}
	for (uint32_t i = 0; i < latencies->rows.nr; i++)
		if (!rows[i].what[0] && rows[i].event < t->nr_events)
			put_row(&l, &rows[i], t->columns[rows[i].event].label);
	buf_addc(out, '\n');
	layout_write(&l, 1, NR_COLUMNS, out);
	layout_fini(&l);
	mem_free(rows);
}
