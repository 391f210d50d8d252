/*
 * Functions are a flat report; calls are a table beside it, sorted at the end by caller and by
 * callee.
 */
#include "report/calls.h"

#include "base/dict.h"
#include "base/mem.h"
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
	struct report_flat_row *rows; /* owned, like the next two; after report_calls_finish */
	size_t nr_rows;
	struct report_call *by_caller, *by_callee;
};

static int add_call(struct report_calls *c, const struct report_entry *e, size_t i)
{
	const uint32_t key[] = {e->key.event, e->frames[i + 1].function->number,
				e->frames[i].function->number};
	struct call *call = dict_get(&c->calls, key);

	if (!call)
		return -ENOMEM;
	if (call->counted != c->nr_entries)
		report_weight_add(&call->shown.weight, &e->weight);
	call->counted = c->nr_entries;
	return 0;
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_calls *c = arg;
	const struct report_sink *flat = report_flat_sink(c->flat);
	int rc = flat->entry(flat->arg, e);

	c->nr_entries++;
	for (size_t i = 0; i + 1 < e->nr_frames && rc == 0; i++)
		rc = add_call(c, e, i);
	return rc;
}

struct report_calls *report_calls_new(struct report_functions *functions)
{
	struct report_calls *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->functions = functions;
	dict_init(&c->calls, sizeof(struct call), DICT_KEY(struct report_call, callee), DICT_MAX);
	c->sink = (struct report_sink){.parts = REPORT_BY_STACK, .entry = add_entry, .arg = c};
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
	mem_free(c->rows);
	mem_free(c->by_caller);
	mem_free(c->by_callee);
	mem_free(c);
}

const struct report_sink *report_calls_sink(struct report_calls *c)
{
	return &c->sink;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_names(const struct report_functions *f, uint32_t a, uint32_t b)
{
	return report_function_compare(report_functions_at(f, a), report_functions_at(f, b));
}

static int compare_rows(const void *x, const void *y, void *functions)
{
	const struct report_flat_row *a = x, *b = y;
	int by = order(a->column[REPORT_EVENT], b->column[REPORT_EVENT]);

	if (!by)
		by = order(b->total.weight, a->total.weight);
	if (!by)
		by = order(b->self.weight, a->self.weight);
	return by ? by
		  : compare_names(functions, a->column[REPORT_FUNCTION],
				  b->column[REPORT_FUNCTION]);
}

static int compare_by_caller(const void *x, const void *y, void *functions)
{
	const struct report_call *a = x, *b = y;
	int by = order(a->event, b->event);

	if (!by)
		by = order(a->caller, b->caller);
	if (!by)
		by = order(b->weight.weight, a->weight.weight);
	return by ? by : compare_names(functions, a->callee, b->callee);
}

static int compare_by_callee(const void *x, const void *y, void *functions)
{
	const struct report_call *a = x, *b = y;
	int by = order(a->event, b->event);

	if (!by)
		by = order(a->callee, b->callee);
	if (!by)
		by = order(b->weight.weight, a->weight.weight);
	return by ? by : compare_names(functions, a->caller, b->caller);
}

static struct report_call *sorted(const struct report_calls *c,
				  int (*compare)(const void *, const void *, void *))
{
	struct report_call *list = mem_calloc(c->calls.nr + 1, sizeof(*list));
	const struct call *calls = c->calls.items;

	if (!list)
		return NULL;
	for (size_t i = 0; i < c->calls.nr; i++)
		list[i] = calls[i].shown;
	qsort_r(list, c->calls.nr, sizeof(*list), compare, c->functions);
	return list;
}

int report_calls_finish(struct report_calls *c)
{
	const struct report_flat_row *rows = report_flat_rows(c->flat, &c->nr_rows);

	c->rows = rows ? mem_calloc(c->nr_rows + 1, sizeof(*c->rows)) : NULL;
	c->by_caller = sorted(c, compare_by_caller);
	c->by_callee = sorted(c, compare_by_callee);
	if (!rows || !c->rows || !c->by_caller || !c->by_callee)
		return -ENOMEM;
	memcpy(c->rows, rows, c->nr_rows * sizeof(*rows));
	qsort_r(c->rows, c->nr_rows, sizeof(*c->rows), compare_rows, c->functions);
	return 0;
}

const struct report_flat_row *report_calls_rows(const struct report_calls *c, size_t *nr)
{
	*nr = c->nr_rows;
	return c->rows;
}

/* The run of calls with this event and function; of selects caller or callee. */
static const struct report_call *find_run(const struct report_call *list, size_t nr, uint32_t event,
					  uint32_t function,
					  uint32_t (*of)(const struct report_call *), size_t *out)
{
	size_t low = 0, high = nr, end;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct report_call *m = &list[middle];

		if (m->event < event || (m->event == event && of(m) < function))
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < nr && list[end].event == event && of(&list[end]) == function; end++)
		;
	*out = end - low;
	return list + low;
}

static uint32_t caller_of(const struct report_call *c)
{
	return c->caller;
}

static uint32_t callee_of(const struct report_call *c)
{
	return c->callee;
}

const struct report_call *report_calls_from(const struct report_calls *c, uint32_t event,
					    uint32_t caller, size_t *nr)
{
	return find_run(c->by_caller, c->calls.nr, event, caller, caller_of, nr);
}

const struct report_call *report_calls_to(const struct report_calls *c, uint32_t event,
					  uint32_t callee, size_t *nr)
{
	return find_run(c->by_callee, c->calls.nr, event, callee, callee_of, nr);
}
