/*
 * The flat report: rows by the requested columns, each with its own samples (self) and those
 * including its callees (total). Independent of output.
 */
#ifndef REPORT_FLAT_H
#define REPORT_FLAT_H

#include "report/entry.h"

struct report_flat;
struct report_functions;

/* The columns that rows can be grouped by. They are always grouped by event. */
enum report_column {
	REPORT_FUNCTION,
	REPORT_OBJECT,
	REPORT_COMM,
	REPORT_CMDLINE,
	REPORT_PID,
	REPORT_TID,
	REPORT_THREAD,
	REPORT_CPU,
	REPORT_LINE,
	REPORT_ITERATION,
	REPORT_STATE,
	REPORT_REASON,
	REPORT_WAKER,
	REPORT_WAKER_FUNCTION,
	REPORT_REGION,
	REPORT_EVENT,
	REPORT_SESSION,
	REPORT_HOST,
	REPORT_RANK,
	REPORT_NR_COLUMNS
};
extern const char *const report_column_names[REPORT_NR_COLUMNS];

struct report_flat_row {
	/* The key: a number per column; 0 for columns not requested. A function's number identifies
	 * its object too. */
	uint32_t column[REPORT_NR_COLUMNS];
	uint32_t file; /* with REPORT_LINE: report_functions_text, UINT32_MAX: unknown; the column
			  is the line */
	struct report_weight self, total;
};

/* columns: bits, 1 << enum report_column. with_callers: computes totals. NULL without memory. */
struct report_flat *report_flat_new(struct report_functions *functions, unsigned columns,
				    bool with_callers);
/* Before the first entry: a sample, or only one of a wait, counts at the program's own function
 * (report/own.h), and in the callers of that. */
void report_flat_put_in_program(struct report_flat *f, bool only_waits);
void report_flat_free(struct report_flat *f); /* NULL is fine */
/* Valid as long as f is. */
const struct report_sink *report_flat_sink(struct report_flat *f);

/* The rows so far in no order: i below report_flat_nr. Valid until the next entry. */
size_t report_flat_nr(const struct report_flat *f);
const struct report_flat_row *report_flat_row(const struct report_flat *f, size_t i);
/* Call after the last entry. Returns the rows by event, then self, the largest first, then total;
 * equal ones by name. Owned by f. */
const struct report_flat_row *report_flat_rows(struct report_flat *f, size_t *nr);
/* The same, by event, total, then self; replaces the rows returned before. */
const struct report_flat_row *report_flat_rows_by_total(struct report_flat *f, size_t *nr);

#endif
