/*
 * Functions are a flat report; calls are a table beside it, sorted at the end by caller and by
 * callee.
 */
#include "report/calls.h"

#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"
#include "report/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct call {
	struct report_call shown; /* the key is its first three numbers */
	uint64_t counted;         /* the entry that counted it last */
};

struct report_calls {
	struct report_functions *functions;
	struct report_sink sink;
	struct report_flat *flat;
	struct dict calls; /* struct call */
	uint64_t nr_entries;
	/* Set by report_calls_finish: */
	const struct report_flat_row *rows; /* flat's */
	size_t nr_rows;
	struct report_call *by_caller, *by_callee; /* owned */
};

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_calls *c = arg;
	const struct report_sink *flat = report_flat_sink(c->flat);
	int rc = flat->entry(flat->arg, e);

	c->nr_entries++;
	for (size_t i = 0; i + 1 < e->nr_frames && rc == 0; i++) {
		const uint32_t key[] = {e->key.event, e->frames[i + 1].function->number,
					e->frames[i].function->number};
		struct call *call = dict_get(&c->calls, key);

		if (!call)
			return -ENOMEM;
		if (call->counted != c->nr_entries)
			report_weight_add(&call->shown.weight, &e->weight);
		call->counted = c->nr_entries;
	}
	return rc;
}

struct report_calls *report_calls_new(struct report_functions *functions)
{
	struct report_calls *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->functions = functions;
	dict_init(&c->calls, sizeof(struct call), DICT_KEY(struct report_call, callee), DICT_MAX);
	c->sink = (struct report_sink){
	    .parts = REPORT_BY_STACK, .takes_maxima = true, .entry = add_entry, .arg = c};
	c->flat = report_flat_new(functions, 1 << REPORT_FUNCTION, true);
	if (c->flat)
		return c;
	report_calls_free(c);
	return NULL;
}

void report_calls_free(struct report_calls *c)
{
	if (!c)
		return;
	report_flat_free(c->flat);
	dict_fini(&c->calls);
	mem_free(c->by_caller);
	mem_free(c->by_callee);
	mem_free(c);
}

const struct report_sink *report_calls_sink(struct report_calls *c)
{
	return &c->sink;
}

static uint32_t end_of(const struct report_call *c, bool is_callee)
{
	return is_callee ? c->callee : c->caller;
}

/* How a list of calls is sorted: by caller, or by callee. */
struct order {
	const struct report_functions *functions;
	bool is_callee;
};

static int compare(const void *x, const void *y, void *arg)
{
	const struct report_call *a = x, *b = y;
	const struct order *o = arg;

	return order_u64(a->event, b->event)
		   ?: order_u64(end_of(a, o->is_callee), end_of(b, o->is_callee))
		   ?: order_u64(b->weight.weight, a->weight.weight)
		   ?: report_function_compare(
			  report_functions_at(o->functions, end_of(a, !o->is_callee)),
			  report_functions_at(o->functions, end_of(b, !o->is_callee)));
}

static struct report_call *sort(const struct report_calls *c, bool is_callee)
{
	struct order order = {c->functions, is_callee};
	struct report_call *list = mem_calloc(c->calls.nr + 1, sizeof(*list));
	const struct call *calls = c->calls.items;

	if (!list)
		return NULL;
	for (size_t i = 0; i < c->calls.nr; i++)
		list[i] = calls[i].shown;
	qsort_r(list, c->calls.nr, sizeof(*list), compare, &order);
	return list;
}

int report_calls_finish(struct report_calls *c)
{
	c->rows = report_flat_rows_by_total(c->flat, &c->nr_rows);
	c->by_caller = sort(c, false);
	c->by_callee = sort(c, true);
	return c->rows && c->by_caller && c->by_callee ? 0 : -ENOMEM;
}

const struct report_flat_row *report_calls_rows(const struct report_calls *c, size_t *nr)
{
	*nr = c->nr_rows;
	return c->rows;
}

/* The calls with this event and caller or callee. */
static const struct report_call *find(const struct report_calls *c, uint32_t event,
				      uint32_t function, bool is_callee, size_t *out)
{
	const struct report_call *list = is_callee ? c->by_callee : c->by_caller;
	size_t low, end;

	low = ORDER_FIRST(i, c->calls.nr,
			  (order_u64(list[i].event, event)
			       ?: order_u64(end_of(&list[i], is_callee), function)) >= 0);
	for (end = low; end < c->calls.nr && list[end].event == event &&
			end_of(&list[end], is_callee) == function;
	     end++)
		;
	*out = end - low;
	return list + low;
}

const struct report_call *report_calls_from(const struct report_calls *c, uint32_t event,
					    uint32_t caller, size_t *nr)
{
	return find(c, event, caller, false, nr);
}

const struct report_call *report_calls_to(const struct report_calls *c, uint32_t event,
					  uint32_t callee, size_t *nr)
{
	return find(c, event, callee, true, nr);
}
