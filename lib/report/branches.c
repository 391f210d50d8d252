/*
 * A list of rows, found by an index.
 */
#include "report/branches.h"

#include "base/index.h"
#include "base/mem.h"
#include "report/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct report_branches {
	struct report_sink sink;
	struct index index;
	struct report_branch_row *rows;
	size_t nr, room;
};

/* What a row is found by. */
struct key {
	uint32_t event, from, to;
};

static bool is_row(const void *arg, const void *key, uint32_t number)
{
	const struct report_branches *b = arg;
	const struct key *k = key;
	const struct report_branch_row *row = &b->rows[number];

	return row->event == k->event && row->from->number == k->from && row->to->number == k->to;
}

static struct report_branch_row *get(struct report_branches *b, const struct report_entry *e)
{
	const struct report_function *from = e->frames[0].function, *to = e->frames[1].function;
	const struct key k = {e->key.event, from->number, to->number};
	uint32_t hash = index_hash(0, &k, sizeof(k));
	uint32_t number = index_find(&b->index, hash, is_row, b, &k);
	struct report_branch_row *rows;

	if (number != INDEX_NONE)
		return &b->rows[number];
	rows = mem_grow(b->rows, b->nr, &b->room, sizeof(*rows));
	if (!rows)
		return NULL;
	b->rows = rows;
	rows[b->nr] = (struct report_branch_row){.event = k.event, .from = from, .to = to};
	return index_add(&b->index, hash, (uint32_t)b->nr) ? NULL : &rows[b->nr++];
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_branch_row *row = e->nr_frames == 2 ? get(arg, e) : NULL;

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

	if (b)
		b->sink =
		    (struct report_sink){.parts = REPORT_BY_BRANCH, .entry = add_entry, .arg = b};
	return b;
}

void report_branches_free(struct report_branches *b)
{
	if (!b)
		return;
	index_fini(&b->index);
	mem_free(b->rows);
	mem_free(b);
}

const struct report_sink *report_branches_sink(struct report_branches *b)
{
	return &b->sink;
}

static int compare(const void *x, const void *y)
{
	const struct report_branch_row *a = x, *b = y;
	int order;

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->nr != b->nr)
		return a->nr > b->nr ? -1 : 1;
	order = report_function_compare(a->from, b->from);
	return order ? order : report_function_compare(a->to, b->to);
}

const struct report_branch_row *report_branches_rows(struct report_branches *b, size_t *nr)
{
	if (b->nr)
		qsort(b->rows, b->nr, sizeof(*b->rows), compare);
	*nr = b->nr;
	return b->rows;
}
