/*
 * Histograms by event.
 */
#include "estimate/latencies.h"

#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <string.h>

enum { MAX_ROWS = 1 << 20 };

void latencies_fini(struct latencies *l)
{
	for (uint32_t i = 0; i < l->rows.nr; i++)
		mem_free(((struct latencies_row *)dict_at(&l->rows, i))->histogram);
	dict_fini(&l->rows);
	memset(l, 0, sizeof(*l));
}

static void set_key(struct latencies_row *key, uint32_t event, const char *part, const char *what)
{
	memset(key, 0, sizeof(*key));
	key->event = event;
	memcpy(key->part, part, strnlen(part, sizeof(key->part) - 1));
	memcpy(key->what, what, strnlen(what, sizeof(key->what) - 1));
}

const struct histogram *latencies_find(const struct latencies *l, uint32_t event, const char *part,
				       const char *what)
{
	const struct latencies_row *row;
	struct latencies_row key;

	if (!l->rows.nr)
		return NULL;
	set_key(&key, event, part, what);
	row = dict_at(&l->rows, dict_find(&l->rows, &key));
	return row ? row->histogram : NULL;
}

struct histogram *latencies_get(struct latencies *l, uint32_t event, const char *part,
				const char *what)
{
	struct latencies_row key, *row;

	if (!l->rows.item_bytes)
		dict_init(&l->rows, sizeof(key), DICT_KEY(struct latencies_row, what), MAX_ROWS);
	set_key(&key, event, part, what);
	row = dict_get(&l->rows, &key);
	if (row && !row->histogram)
		row->histogram = mem_zalloc(sizeof(*row->histogram));
	return row ? row->histogram : NULL;
}

int latencies_merge(struct latencies *l, const struct latencies *other)
{
	for (uint32_t i = 0; i < other->rows.nr; i++) {
		const struct latencies_row *row = dict_at(&other->rows, i);
		struct histogram *to = latencies_get(l, row->event, row->part, row->what);

		if (!to)
			return -ENOMEM;
		histogram_merge(to, row->histogram);
	}
	return 0;
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
