/*
 * Sums of functions. Most functions have few of the 624 buckets of a histogram, and there may be
 * 100,000 of them: each has those that it uses.
 */
#include "counts/functions.h"

#include "base/array.h"
#include "base/mem.h"
#include "estimate/histogram.h"
#include "profile/session.h"

#include <errno.h>
#include <string.h>

enum { MAX_ROWS = 1 << 18, MAX_TEXTS = 2 * MAX_ROWS, MAX_TEXT_BYTES = 256 << 20 };

void counts_functions_fini(struct counts_functions *l)
{
	for (uint32_t i = 0; i < l->rows.nr; i++)
		mem_free(counts_functions_at(l, i)->bucket);
	dict_fini(&l->rows);
	dict_fini(&l->texts);
	memset(l, 0, sizeof(*l));
}

/* Both in order; the sum replaces the row's. 0 or -ENOMEM. */
static int add_buckets(struct counts_function *to, const struct trace_function *f)
{
	struct trace_bucket *sum = mem_calloc(to->nr + f->nr, sizeof(*sum));
	size_t nr = 0;

	if (!sum)
		return -ENOMEM;
	for (size_t i = 0, k = 0; i < to->nr || k < f->nr;) {
		const bool is_own =
		    k == f->nr || (i < to->nr && to->bucket[i].number <= f->bucket[k].number);
		const bool is_other =
		    i == to->nr || (k < f->nr && f->bucket[k].number <= to->bucket[i].number);
		struct trace_bucket *b = &sum[nr++];

		b->number = is_own ? to->bucket[i].number : f->bucket[k].number;
		if (is_own)
			b->count += to->bucket[i++].count;
		if (is_other)
			b->count += f->bucket[k++].count;
	}
	mem_free(to->bucket);
	to->bucket = sum;
	to->nr = nr;
	return 0;
}

static int add_times(struct counts_function *to, const struct trace_function *f)
{
	uint64_t max_ns;
	int rc;

	if (!f->nr)
		return 0;
	rc = add_buckets(to, f);
	if (rc)
		return rc;
	for (size_t i = 0; i < f->nr; i++)
		to->timed += f->bucket[i].count;
	max_ns = histogram_longest(f->max_ns, f->bucket[f->nr - 1].number);
	to->max_ns = max_ns > to->max_ns ? max_ns : to->max_ns;
	return 0;
}

static struct counts_function *find(struct counts_functions *l, const struct trace_function *f)
{
	struct counts_function key = {.event = f->event, .way = f->way, .address = f->address};
	struct counts_function *row;
	size_t nr;

	if (!l->rows.item_bytes) {
		dict_init(&l->rows, sizeof(key), DICT_KEY(struct counts_function, address),
			  MAX_ROWS);
		dict_init_texts(&l->texts, sizeof(const char *), MAX_TEXTS, MAX_TEXT_BYTES);
	}
	key.name = dict_add(&l->texts, f->name);
	key.object = dict_add(&l->texts, f->object);
	if (key.name == DICT_NONE || key.object == DICT_NONE)
		return NULL;
	nr = l->rows.nr;
	row = dict_get(&l->rows, &key);
	if (row && l->rows.nr > nr)
		row->has_times = row->has_cpu = true;
	return row;
}

int counts_functions_add(struct counts_functions *l, const struct trace_function *f)
{
	struct counts_function *row = find(l, f);

	if (!row && l->rows.nr == MAX_ROWS) {
		l->nr_skipped++;
		return 0;
	}
	if (!row)
		return -ENOMEM;
	row->calls += f->calls;
	row->wall_ns += f->wall_ns;
	row->self_ns += f->self_ns;
	row->cpu_ns += f->cpu_ns;
	row->cost_ns += f->cost_ns;
	row->has_times &= (f->flags & TRACE_FUNCTION_HAS_TIMES) != 0;
	row->has_cpu &= (f->flags & TRACE_FUNCTION_HAS_CPU) != 0;
	row->is_part |= (f->flags & TRACE_FUNCTION_IS_PART) != 0;
	row->is_timed_in_part |= (f->flags & TRACE_FUNCTION_IS_TIMED_IN_PART) != 0;
	return add_times(row, f);
}

const char *counts_function_way(const struct counts_function *f)
{
	static const char *const names[] = {
	    [TRACE_FUNCTION_KERNEL] = "kernel",
	    [TRACE_FUNCTION_PATCHED] = "patched",
	    [TRACE_FUNCTION_COMPILED] = "compiled",
	};

	return (f->way < ARRAY_NR(names) ? names[f->way] : NULL) ?: "other";
}

void counts_function_histogram(const struct counts_function *f, struct histogram *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < f->nr; i++)
		histogram_add(out, f->bucket[i].number, f->bucket[i].count);
	out->sum_ns = f->wall_ns;
	out->max_ns = f->max_ns;
}
