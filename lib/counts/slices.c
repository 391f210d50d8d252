/*
 * A few minutes of some CPUs are some thousand slices: the limit is for what lasts days.
 */
#include "counts/slices.h"

#include "base/dict.h"
#include "base/mem.h"

enum { MAX_TRACES = 1 << 16, MAX_SLICES = 1 << 20 };

struct counts_slices {
	struct dict traces;
	uint32_t current; /* DICT_NONE: none */
	size_t nr;        /* of all traces */
};

struct counts_slices *counts_slices_new(void)
{
	struct counts_slices *k = mem_zalloc(sizeof(*k));

	if (!k)
		return NULL;
	dict_init(&k->traces, sizeof(struct counts_slices_trace),
		  DICT_KEY(struct counts_slices_trace, trace), MAX_TRACES);
	k->current = DICT_NONE;
	return k;
}

/* Removes all of the trace. */
static void empty(struct counts_slices *k, struct counts_slices_trace *t)
{
	k->nr -= t->nr;
	mem_free(t->item);
	t->item = NULL;
	t->nr = t->room = 0;
	t->is_whole = false;
}

void counts_slices_free(struct counts_slices *k)
{
	if (!k)
		return;
	for (uint32_t i = 0; i < k->traces.nr; i++)
		empty(k, dict_at(&k->traces, i));
	dict_fini(&k->traces);
	mem_free(k);
}

const struct counts_slices_trace *counts_slices_find(const struct counts_slices *k,
						     uint32_t iteration, uint32_t trace)
{
	const uint32_t key[] = {iteration, trace};
	const struct counts_slices_trace *t =
	    k ? dict_at(&k->traces, dict_find(&k->traces, key)) : NULL;

	return t && t->is_whole ? t : NULL;
}

void counts_slices_begin(struct counts_slices *k, uint32_t iteration, uint32_t trace)
{
	const uint32_t key[] = {iteration, trace};

	k->current = dict_add(&k->traces, key);
	if (k->current != DICT_NONE)
		empty(k, dict_at(&k->traces, k->current));
}

void counts_slices_add(struct counts_slices *k, const struct counts_slice *slice)
{
	struct counts_slices_trace *t = dict_at(&k->traces, k->current);
	struct counts_slice *added =
	    t && k->nr < MAX_SLICES ? MEM_ADD(t->item, t->nr, t->room) : NULL;

	if (added) {
		*added = *slice;
		k->nr++;
	} else if (t) {
		empty(k, t);
		k->current = DICT_NONE;
	}
}

void counts_slices_end(struct counts_slices *k, bool is_whole)
{
	struct counts_slices_trace *t = dict_at(&k->traces, k->current);

	if (t && is_whole)
		t->is_whole = true;
	else if (t)
		empty(k, t);
	k->current = DICT_NONE;
}
