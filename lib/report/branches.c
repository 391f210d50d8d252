/*
 * A list of rows, found by an index.
 */
#include "report/branches.h"

#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"
#include "report/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct report_branches {
	struct report_sink sink;
	struct dict rows; /* struct report_branch_row; the key is all up to the event */
};

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_branches *b = arg;
	struct report_branch_row key = {.event = e->key.event}, *row;

	if (e->nr_frames != 2)
		return -ENOMEM;
	key.from = e->frames[0].function;
	key.to = e->frames[1].function;
	row = dict_get(&b->rows, &key);
	if (!row)
		return -ENOMEM;
	row->nr += e->weight.samples;
	row->cycles += e->weight.weight;
	row->mispredicted += e->key.branch == REPORT_MISPREDICTED ? e->weight.samples : 0;
	row->predicted += e->key.branch == REPORT_PREDICTED ? e->weight.samples : 0;
	return 0;
}

struct report_branches *report_branches_new(void)
{
	struct report_branches *b = mem_zalloc(sizeof(*b));

	if (!b)
		return NULL;
	b->sink = (struct report_sink){.parts = REPORT_BY_BRANCH, .entry = add_entry, .arg = b};
	dict_init(&b->rows, sizeof(struct report_branch_row),
		  DICT_KEY(struct report_branch_row, event), DICT_MAX);
	return b;
}

void report_branches_free(struct report_branches *b)
{
	if (!b)
		return;
	dict_fini(&b->rows);
	mem_free(b);
}

const struct report_sink *report_branches_sink(struct report_branches *b)
{
	return &b->sink;
}

static int compare(const void *x, const void *y)
{
	const struct report_branch_row *a = x, *b = y;

	return order_u64(a->event, b->event) ?: order_u64(b->nr, a->nr)
		   ?: report_function_compare(a->from, b->from)
		   ?: report_function_compare(a->to, b->to);
}

const struct report_branch_row *report_branches_rows(struct report_branches *b, size_t *nr)
{
	if (b->rows.nr)
		qsort(b->rows.items, b->rows.nr, b->rows.item_bytes, compare);
	*nr = b->rows.nr;
	return b->rows.items;
}
