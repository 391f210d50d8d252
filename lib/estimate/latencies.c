/*
 * Histograms by event.
 */
#include "estimate/latencies.h"

#include "base/mem.h"
#include "base/order.h"

#include <string.h>

enum { MAX_ROWS = 1 << 20 };

void latencies_fini(struct latencies *l)
{
	for (uint32_t i = 0; i < l->rows.nr; i++)
		mem_free(((struct latencies_row *)dict_at(&l->rows, i))->histogram);
	dict_fini(&l->rows);
}

struct histogram *latencies_get(struct latencies *l, uint32_t event, const char *part,
				const char *what)
{
	struct latencies_row key, *row;

	if (!l->rows.item_bytes)
		dict_init(&l->rows, sizeof(key), DICT_KEY(struct latencies_row, what), MAX_ROWS);
	memset(&key, 0, sizeof(key));
	key.event = event;
	memcpy(key.part, part, strnlen(part, sizeof(key.part) - 1));
	memcpy(key.what, what, strnlen(what, sizeof(key.what) - 1));
	row = dict_get(&l->rows, &key);
	if (row && !row->histogram)
		row->histogram = mem_zalloc(sizeof(*row->histogram));
	return row ? row->histogram : NULL;
}

static int compare(const void *a, const void *b)
{
	const struct latencies_row *x = a, *y = b;
	int rc = order_u64(x->event, y->event) ?: strcmp(x->part, y->part);

	if (rc)
		return rc;
	if (!x->what[0] || !y->what[0])
		return order_u64(x->what[0] != 0, y->what[0] != 0);
	return order_u64(y->histogram->sum_ns, x->histogram->sum_ns) ?: strcmp(x->what, y->what);
}

struct latencies_row *latencies_sorted(const struct latencies *l)
{
	struct latencies_row *rows = mem_calloc(l->rows.nr + 1, sizeof(*rows));

	if (rows && l->rows.nr)
		memcpy(rows, l->rows.items, l->rows.nr * sizeof(*rows));
	if (rows)
		order_sort(rows, l->rows.nr, sizeof(*rows), compare);
	return rows;
}
