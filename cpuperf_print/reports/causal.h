/*
 * The rows of the report causal, and their curves.
 */
#ifndef CPUPERF_PRINT_REPORTS_CAUSAL_H
#define CPUPERF_PRINT_REPORTS_CAUSAL_H

#include "estimate/interval.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grid;
struct report_function;

/* Parts of 1; NAN: not known. Strings are borrowed. */
struct causal_row {
	const struct report_function *is; /* NULL: by name */
	const char *function, *linkage_name, *object, *source, *region, *quantity, *point;
	uint64_t line; /* 0: a function, or a region where that is not "" */
	bool is_wall;  /* what is saved is wall time */
	double on_cpu, faster;
	double saves, low, high; /* by experiments */
	uint64_t rounds;
	struct interval replayed; /* by the recorded run */
	bool differs;
};

/* How many functions, lines or regions the rows are of: those of one follow each other. */
size_t causal_nr_candidates(const struct causal_row *row, size_t nr);
/* Appends lines: for each with several amounts a curve with its interval. */
void causal_plot(const struct causal_row *row, size_t nr, unsigned columns, struct grid *g);

#endif
