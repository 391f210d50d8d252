/*
 * Functions that were measured call by call, and values of calls, in the exports that have tables
 * of them.
 */
#ifndef CPUPERF_PRINT_EXPORTS_FUNCTIONS_H
#define CPUPERF_PRINT_EXPORTS_FUNCTIONS_H

#include "counts/functions.h"
#include "counts/values.h"
#include "elf/demangle.h"

#include <math.h>

struct profile_trace;

/* 0.5, 0.9, 0.99 and 0.999. */
enum { EXPORT_NR_QUANTILES = 4 };

/* In ns; NaN: the function has no times. */
void export_function_quantiles(const struct counts_function *f, double ns[EXPORT_NR_QUANTILES]);
/* Adds those of a trace: frames of one function are added up. 0 or -ENOMEM. */
int export_add_functions(struct counts_functions *l, const struct profile_trace *trace);
/* The same of their arguments and results. rows: sorted, to be freed with mem_free. 0 or -ENOMEM;
 * counts_values_fini in any case. */
int export_add_values(struct counts_values *l, const struct profile_trace *trace,
		      struct counts_value **rows, size_t *nr);

#endif
