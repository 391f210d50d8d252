/*
 * Functions that were measured call by call: what traces have of them, added up. A function is what
 * has the same event, name, file, address and way of measuring; so two of the same name in one file
 * are two.
 */
#ifndef COUNTS_FUNCTIONS_H
#define COUNTS_FUNCTIONS_H

#include "base/dict.h"

#include <stdbool.h>

struct histogram;
struct trace_bucket;
struct trace_function;

struct counts_function {
	/* The key; texts by number. */
	uint32_t event, way;
	uint32_t name, object;
	uint64_t address;
	uint64_t calls;
	uint64_t timed; /* those whose time is known: they had ended */
	uint64_t wall_ns, self_ns, cpu_ns, cost_ns;
	uint64_t max_ns;             /* no call of these was longer */
	bool has_times, has_cpu;     /* in all that was added */
	bool is_part;                /* calls are missing: TRACE_FUNCTION_IS_PART */
	bool is_timed_in_part;       /* times are: TRACE_FUNCTION_IS_TIMED_IN_PART */
	struct trace_bucket *bucket; /* owned; nr: as of struct trace_function */
	size_t nr;
};

/* Zero-initialise. counts_functions_fini makes it empty. */
struct counts_functions {
	struct dict rows; /* struct counts_function, in the order of their first use */
	struct dict texts;
	uint64_t nr_skipped; /* frames of functions beyond the limit */
};
void counts_functions_fini(struct counts_functions *l);

/* Adds it. 0, also beyond the limit, or -ENOMEM: then a part may be missing. */
int counts_functions_add(struct counts_functions *l, const struct trace_function *f);

static inline struct counts_function *counts_functions_at(const struct counts_functions *l,
							  uint32_t i)
{
	return dict_at(&l->rows, i);
}

/* As in the table of symbols; the path of the file. */
static inline const char *counts_function_name(const struct counts_functions *l,
					       const struct counts_function *f)
{
	return dict_text(&l->texts, f->name);
}
static inline const char *counts_function_object(const struct counts_functions *l,
						 const struct counts_function *f)
{
	return dict_text(&l->texts, f->object);
}

/* How it was measured, for programs: "kernel", "patched", "compiled"; "other". */
const char *counts_function_way(const struct counts_function *f);

/* The times of its calls, of which mean and quantiles are asked. */
void counts_function_histogram(const struct counts_function *f, struct histogram *out);

#endif
