#include "counts/values.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_ROWS = 1 << 18, MAX_TEXTS = 2 * MAX_ROWS, MAX_TEXT_BYTES = 128 << 20 };

void counts_values_fini(struct counts_values *l)
{
	dict_fini(&l->rows);
	dict_fini(&l->texts);
	memset(l, 0, sizeof(*l));
}

int counts_values_key(struct counts_values *l, const struct trace_value *v,
		      struct counts_value *key)
{
	*key = (struct counts_value){.event = v->event,
				     .field = v->field,
				     .type = v->type,
				     .kind = v->kind,
				     .address = v->address,
				     .number = v->number};
	key->name = dict_add(&l->texts, v->name);
	key->object = dict_add(&l->texts, v->object);
	key->field_name = dict_add(&l->texts, v->field_name);
	key->text = dict_add(&l->texts, v->text);
	return key->name == DICT_NONE || key->object == DICT_NONE || key->field_name == DICT_NONE ||
		       key->text == DICT_NONE
		   ? -ENOMEM
		   : 0;
}

int counts_values_add(struct counts_values *l, const struct trace_value *v)
{
	struct counts_value key, *row;

	if (!l->rows.item_bytes) {
		dict_init(&l->rows, sizeof(key), DICT_KEY(struct counts_value, number), MAX_ROWS);
		dict_init_texts(&l->texts, sizeof(const char *), MAX_TEXTS, MAX_TEXT_BYTES);
	}
	if (counts_values_key(l, v, &key))
		return -ENOMEM;
	row = dict_get(&l->rows, &key);
	if (!row && l->rows.nr == MAX_ROWS) {
		l->nr_skipped++;
		return 0;
	}
	if (!row)
		return -ENOMEM;
	row->calls += v->calls;
	row->timed += v->timed;
	row->wall_ns += v->wall_ns;
	row->sum += v->sum;
	row->max_ns = v->max_ns > row->max_ns ? v->max_ns : row->max_ns;
	return 0;
}

int counts_value_compare_field(const struct counts_value *a, const struct counts_value *b)
{
	return order_u64(a->event, b->event)
		   ?: order_u64(a->name, b->name)
		   ?: order_u64(a->object, b->object)
		   ?: order_u64(a->address, b->address)
		   ?: order_u64(a->field, b->field)
		   ?: order_u64(a->field_name, b->field_name)
		   ?: order_u64(a->type, b->type);
}

static int compare_signed(uint64_t a, uint64_t b)
{
	const int64_t x = (int64_t)a, y = (int64_t)b;

	return (x > y) - (x < y);
}

int counts_value_compare(const struct counts_value *a, const struct counts_value *b)
{
	int order = counts_value_compare_field(a, b);

	if (order)
		return order;
	if (a->kind == TRACE_VALUE_RANGE && b->kind == TRACE_VALUE_RANGE)
		return compare_signed(a->number, b->number);
	if ((a->kind == TRACE_VALUE_RANGE) != (b->kind == TRACE_VALUE_RANGE))
		return a->kind == TRACE_VALUE_RANGE ? -1 : 1;
	return order_u64(b->calls, a->calls)
		   ?: order_u64(a->kind, b->kind)
		   ?: order_u64(a->number, b->number)
		   ?: order_u64(a->text, b->text);
}

/* Of a number: as the programs in the kernel choose it. */
static uint64_t range_of(const struct counts_value *v)
{
	if (!v->number)
		return 0;
	if (v->type == TRACE_VALUE_SIGNED && (int64_t)v->number < 0)
		return -(uint64_t)(64 - __builtin_clzll(-v->number));
	return (uint64_t)(64 - __builtin_clzll(v->number));
}

bool counts_value_has(const struct counts_value *row, const struct counts_value *key)
{
	if (row->kind == TRACE_VALUE_RANGE && key->kind == TRACE_VALUE_NUMBER)
		return row->number == range_of(key);
	return row->kind == key->kind && row->number == key->number && row->text == key->text;
}

void counts_value_range(const struct counts_value *v, int64_t *low, uint64_t *high)
{
	const int64_t n = (int64_t)v->number;
	const unsigned bits = (unsigned)(n < 0 ? -n : n);

	*low = 0;
	*high = 0;
	if (!n || bits > 64)
		return;
	if (n > 0) {
		*low = (int64_t)(1ULL << (bits - 1));
		*high = bits == 64 ? UINT64_MAX : (1ULL << bits) - 1;
	} else {
		*low = (int64_t)(bits == 64 ? 1ULL << 63 : -((1ULL << bits) - 1));
		*high = -(1ULL << (bits - 1));
	}
}

bool counts_value_is_number(const struct counts_value *v)
{
	return v->kind == TRACE_VALUE_NUMBER || v->kind == TRACE_VALUE_RANGE;
}

void counts_value_ends(const struct counts_value *v, uint64_t *low, uint64_t *high)
{
	int64_t first;

	*low = *high = v->number;
	if (v->kind != TRACE_VALUE_RANGE)
		return;
	counts_value_range(v, &first, high);
	*low = (uint64_t)first;
}

const char *counts_value_kind(const struct counts_value *v)
{
	static const char *const kinds[TRACE_VALUE_NR_KINDS] = {
	    [TRACE_VALUE_NUMBER] = "number", [TRACE_VALUE_RANGE] = "range",
	    [TRACE_VALUE_TEXT] = "text",     [TRACE_VALUE_LONG_TEXT] = "long_text",
	    [TRACE_VALUE_NULL] = "null",     [TRACE_VALUE_UNREADABLE] = "unreadable",
	    [TRACE_VALUE_OTHERS] = "others",
	};

	return kinds[v->kind];
}

const char *counts_value_type(const struct counts_value *v)
{
	static const char *const types[] = {
	    [TRACE_VALUE_UNSIGNED] = "unsigned",
	    [TRACE_VALUE_SIGNED] = "signed",
	    [TRACE_VALUE_POINTER] = "pointer",
	    [TRACE_VALUE_STRING] = "string",
	};

	return types[v->type];
}

static void put_number(const struct counts_value *v, uint64_t n, struct buf *b)
{
	if (v->type == TRACE_VALUE_POINTER)
		buf_printf(b, "0x%" PRIx64, n);
	else if (v->type == TRACE_VALUE_SIGNED)
		buf_printf(b, "%" PRId64, (int64_t)n);
	else
		buf_printf(b, "%" PRIu64, n);
}

void counts_value_put(const struct counts_values *l, const struct counts_value *v, struct buf *b)
{
	uint64_t low, high;

	if (v->kind == TRACE_VALUE_TEXT || v->kind == TRACE_VALUE_LONG_TEXT)
		buf_adds(b, counts_value_text(l, v->text));
	if (!counts_value_is_number(v))
		return;
	counts_value_ends(v, &low, &high);
	put_number(v, low, b);
	if (low == high)
		return;
	buf_adds(b, " to ");
	put_number(v, high, b);
}

static int by_order(const void *a, const void *b)
{
	return counts_value_compare(a, b);
}

static void add(struct counts_value *to, const struct counts_value *v)
{
	to->calls += v->calls;
	to->timed += v->timed;
	to->wall_ns += v->wall_ns;
	to->sum += v->sum;
	to->max_ns = v->max_ns > to->max_ns ? v->max_ns : to->max_ns;
}

/* Makes the numbers of one argument ranges; the first of sorted rows is one. */
static void widen(struct counts_value *row, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (row[i].kind != TRACE_VALUE_NUMBER)
			continue;
		row[i].number = range_of(&row[i]);
		row[i].kind = TRACE_VALUE_RANGE;
	}
}

static size_t merge_equal(struct counts_value *row, size_t nr)
{
	size_t to = 0;

	for (size_t i = 0; i < nr; i++) {
		struct counts_value *last = to ? &row[to - 1] : NULL;

		if (last && row[i].kind == TRACE_VALUE_RANGE && last->kind == row[i].kind &&
		    counts_value_compare(last, &row[i]) == 0)
			add(last, &row[i]);
		else
			row[to++] = row[i];
	}
	return to;
}

size_t counts_values_of_field(const struct counts_value *row, size_t nr)
{
	size_t len = 1;

	while (len < nr && counts_value_compare_field(&row[0], &row[len]) == 0)
		len++;
	return len;
}

int counts_values_rows(const struct counts_values *l, struct counts_value **rows, size_t *nr)
{
	struct counts_value *row = mem_calloc(l->rows.nr + 1, sizeof(*row));

	if (!row)
		return -ENOMEM;
	if (l->rows.nr)
		memcpy(row, l->rows.items, l->rows.nr * sizeof(*row));
	order_sort(row, l->rows.nr, sizeof(*row), by_order);
	for (size_t i = 0, len; i < l->rows.nr; i += len) {
		len = counts_values_of_field(row + i, l->rows.nr - i);
		if (row[i].kind == TRACE_VALUE_RANGE)
			widen(row + i, len);
	}
	order_sort(row, l->rows.nr, sizeof(*row), by_order);
	*rows = row;
	*nr = merge_equal(row, l->rows.nr);
	return 0;
}
