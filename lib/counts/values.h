/*
 * Values that arguments and results of functions have had: what traces have of them, added up. An
 * argument is what has the same event, function, file, address, place in the signature, and name.
 */
#ifndef COUNTS_VALUES_H
#define COUNTS_VALUES_H

#include "base/dict.h"

#include <stdbool.h>

struct buf;
struct trace_value;

struct counts_value {
	/* The key; texts by number. */
	uint32_t event, field, type, kind; /* as in struct trace_value */
	uint32_t name, object, field_name, text;
	uint64_t address, number;
	uint64_t calls, timed, wall_ns, sum;
	uint64_t max_ns; /* no call of these was longer */
};

/* Zero-initialise. counts_values_fini makes it empty. */
struct counts_values {
	struct dict rows;
	struct dict texts;
	uint64_t nr_skipped; /* frames beyond the limit */
};
void counts_values_fini(struct counts_values *l);

/* Adds it. 0, also beyond the limit, or -ENOMEM. */
int counts_values_add(struct counts_values *l, const struct trace_value *v);

/* The row's key of what was added, with no sums. 0 or -ENOMEM. */
int counts_values_key(struct counts_values *l, const struct trace_value *v,
		      struct counts_value *out);

static inline const char *counts_value_text(const struct counts_values *l, uint32_t text)
{
	return dict_text(&l->texts, text);
}

/* Orders by argument alone: 0: both are of the same one. */
int counts_value_compare_field(const struct counts_value *a, const struct counts_value *b);
/* By argument, then ranges in their order; else by calls, the most first. */
int counts_value_compare(const struct counts_value *a, const struct counts_value *b);

/* Sorted rows of which an argument that has a range has nothing but ranges: a number is part of
 * the one that it lies in. rows: an array to be freed with mem_free. 0 or -ENOMEM. */
int counts_values_rows(const struct counts_values *l, struct counts_value **rows, size_t *nr);

/* How many rows from the first one on are of its argument. nr: at least 1. */
size_t counts_values_of_field(const struct counts_value *row, size_t nr);

/* Whether a key of the same argument has that value, or lies in that range. */
bool counts_value_has(const struct counts_value *row, const struct counts_value *key);
/* The ends of a range, of signed numbers if *low is below 0. */
void counts_value_range(const struct counts_value *v, int64_t *low, uint64_t *high);
/* A number or a range: counts_value_ends has its ends. */
bool counts_value_is_number(const struct counts_value *v);
void counts_value_ends(const struct counts_value *v, uint64_t *low, uint64_t *high);

/* "range", "signed": constant. */
const char *counts_value_kind(const struct counts_value *v);
const char *counts_value_type(const struct counts_value *v);
/* Appends the value: "-7", "0x1234", "512 to 1023", or the text as it is; else nothing. */
void counts_value_put(const struct counts_values *l, const struct counts_value *v, struct buf *b);

#endif
