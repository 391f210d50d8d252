/*
 * The columns that distinguish rows (--sort).
 */
#ifndef CPUPERF_PRINT_REPORTS_COLUMNS_H
#define CPUPERF_PRINT_REPORTS_COLUMNS_H

#include "job.h"
#include "report/flat.h"

/* The columns of --sort, or function: bits, 1 << enum report_column. */
unsigned reports_columns(const struct job *j);
/* Fills out with their grid columns, at most REPORT_NR_COLUMNS. Returns how many. */
size_t reports_add_columns(unsigned columns, struct grid_column *out);
/* Appends their cells of a row. */
void reports_put_columns(const struct job *j, unsigned columns, const struct report_flat_row *row,
			 struct grid *g);
/* Appends them as one name: "mix work_a", "pid 17 mix". */
void reports_add_name(const struct job *j, unsigned columns, const struct report_flat_row *row,
		      struct buf *out);

#endif
