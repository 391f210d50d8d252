/*
 * Rows of a flat report that grow by iteration: of all iterations, or of the last ones, at the cost
 * of the rows rather than of the entries. One thread.
 */
#ifndef REPORT_SUMS_H
#define REPORT_SUMS_H

#include "report/flat.h"

struct report_sums;

enum { REPORT_SUMS_ITERATIONS = 8 };

/* As report_flat_new. */
struct report_sums *report_sums_new(struct report_functions *functions, unsigned columns,
				    bool with_callers);
void report_sums_free(struct report_sums *s); /* NULL is fine */
/* Receives entries, in any order of iterations; what further parts keys have is ignored. */
const struct report_sink *report_sums_sink(struct report_sums *s);
/* The rows of iterations from `from` on, as far as there are fewer than REPORT_SUMS_ITERATIONS;
 * with 0 of all; in no order. Owned by s, until the next call. 0 or -ENOMEM. */
int report_sums_rows(struct report_sums *s, uint32_t from, const struct report_flat_row **rows,
		     size_t *nr);

#endif
