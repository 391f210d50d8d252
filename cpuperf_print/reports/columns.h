/*
 * The columns by which rows are told apart (--sort).
 */
#ifndef CPUPERF_PRINT_REPORTS_COLUMNS_H
#define CPUPERF_PRINT_REPORTS_COLUMNS_H

#include "job.h"
#include "report/flat.h"

/* Those of --sort, else function: bits, 1 << enum report_column. */
unsigned reports_columns(const struct job *j);
/* Their columns of a grid, at most REPORT_NR_COLUMNS: how many they are. */
size_t reports_add_columns(unsigned columns, struct grid_column *out);
/* Their cells of a row. */
void reports_put_columns(const struct job *j, unsigned columns, const struct report_flat_row *row,
			 struct grid *g);

#endif
