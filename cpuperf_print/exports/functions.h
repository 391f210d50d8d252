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
/* Passes their arguments and results in a trace, added up and sorted. 0 or -ENOMEM. */
int export_each_value(const struct profile_trace *trace,
		      void (*put)(void *arg, uint32_t iteration, const struct counts_values *l,
				  const struct counts_value *v),
		      void *arg);

#endif
