/*
 * The flat report: rows that agree in the columns asked for, each with what fell on it (self) and
 * on what it called (total). Knows nothing of output.
 */
#ifndef REPORT_FLAT_H
#define REPORT_FLAT_H

#include "report/entry.h"

struct report_flat;
struct report_functions;

/* What rows can agree in. The event always is. */
enum report_column {
	REPORT_FUNCTION,
	REPORT_OBJECT,
	REPORT_COMM,
	REPORT_PID,
	REPORT_TID,
	REPORT_CPU,
	REPORT_LINE,
	REPORT_ITERATION,
	REPORT_EVENT,
	REPORT_SESSION,
	REPORT_NR_COLUMNS
};
extern const char *const report_column_names[REPORT_NR_COLUMNS];

struct report_flat_row {
	/* The key. Numbers of each column; 0 for those that were not asked for. A function's number
	 * stands for its object too. */
	uint32_t column[REPORT_NR_COLUMNS];
	uint32_t file; /* with REPORT_LINE: report_functions_text, UINT32_MAX: not known; the column
			  is the line */
	struct report_weight self, total;
};

/* columns: bits, 1 << enum report_column. with_callers: totals are wanted. NULL without memory. */
struct report_flat *report_flat_new(struct report_functions *functions, unsigned columns,
				    bool with_callers);
void report_flat_free(struct report_flat *f); /* NULL is fine */
/* Valid as long as f. */
const struct report_sink *report_flat_sink(struct report_flat *f);

/* When all is read: the rows, by event, then by self, the largest first, then by total; equal ones
 * by name. Owned by f. */
const struct report_flat_row *report_flat_rows(struct report_flat *f, size_t *nr);

#endif
