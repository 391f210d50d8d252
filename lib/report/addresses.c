/*
 * A list of rows, found by an index; sorted once, into runs of one function each.
 */
#include "report/addresses.h"

#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/processes.h"
#include "report/functions.h"
#include "report/states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct report_addresses {
	struct report_sink sink;
	struct dict rows; /* struct report_address_row; the key is all up to the event */
	struct report_address_function *function; /* owned */
	size_t nr, room;
};

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_addresses *a = arg;
	struct report_address_row key = {.function = e->frames[0].function,
					 .object = e->frames[0].object,
					 .address = e->frames[0].address,
					 .event = e->key.event},
				  *row;

	if (!key.object && strcmp(key.function->name, REPORT_NOT_SAMPLED) == 0)
		return 0; /* it has no code */
	row = dict_get(&a->rows, &key);
	if (!row)
		return -ENOMEM;
	report_weight_add(&row->weight, &e->weight);
	return 0;
}

struct report_addresses *report_addresses_new(void)
{
	struct report_addresses *a = mem_zalloc(sizeof(*a));

	if (!a)
		return NULL;
	a->sink = (struct report_sink){
	    .parts = REPORT_BY_ADDRESS, .takes_maxima = true, .entry = add_entry, .arg = a};
	dict_init(&a->rows, sizeof(struct report_address_row),
		  DICT_KEY(struct report_address_row, event), DICT_MAX);
	return a;
}

void report_addresses_free(struct report_addresses *a)
{
	if (!a)
		return;
	dict_fini(&a->rows);
	mem_free(a->function);
	mem_free(a);
}

const struct report_sink *report_addresses_sink(struct report_addresses *a)
{
	return &a->sink;
}

/* Code without an object comes last. */
static uint64_t number_of(const struct profile_object *o)
{
	return o ? o->number : UINT64_MAX;
}

static int by_address(const void *x, const void *y)
{
	const struct report_address_row *a = x, *b = y;

	return order_u64(a->event, b->event)
		   ?: order_u64(a->function->number, b->function->number)
		   ?: order_u64(number_of(a->object), number_of(b->object))
		   ?: order_u64(a->address, b->address);
}

static int by_weight(const void *x, const void *y)
{
	const struct report_address_function *a = x, *b = y;

	return order_u64(a->event, b->event)
		   ?: order_u64(b->weight.weight, a->weight.weight)
		   ?: report_function_compare(a->function, b->function);
}

const struct report_address_function *report_addresses_functions(struct report_addresses *a,
								 size_t *nr)
{
	struct report_address_function *last = NULL;
	const struct report_address_row *row = a->rows.items;

	a->function = mem_grow(NULL, 0, &a->room, sizeof(*a->function));
	if (!a->function)
		return NULL;
	if (a->rows.nr)
		qsort(a->rows.items, a->rows.nr, a->rows.item_bytes, by_address);
	for (size_t i = 0; i < a->rows.nr; i++) {
		if (!last || last->function != row[i].function || last->event != row[i].event) {
			last = MEM_ADD(a->function, a->nr, a->room);
			if (!last)
				return NULL;
			*last = (struct report_address_function){
			    .function = row[i].function, .event = row[i].event, .first = i};
		}
		last->nr++;
		report_weight_add(&last->weight, &row[i].weight);
	}
	if (a->nr)
		qsort(a->function, a->nr, sizeof(*a->function), by_weight);
	*nr = a->nr;
	return a->function;
}

const struct report_address_row *report_addresses_rows(const struct report_addresses *a)
{
	return a->rows.items;
}
