/*
 * Columns that are measured nowhere: text has a line for each reason in place of columns of "not
 * supported".
 */
#ifndef SCREEN_ABSENT_H
#define SCREEN_ABSENT_H

#include "estimate/table.h"

#include <stdbool.h>

struct buf;

/* True if the table has a reason for column i, and no number; with a summary, none in any
 * iteration. sum NULL: of the iteration in t. */
bool absent_is(const struct table *t, const struct table_summary *sum, size_t i);
/* Appends "not measured: cycles, instructions (this machine has no hardware PMU)", a line for each
 * reason, broken between words where it is wider than width. Nothing if all columns are
 * measured. */
void absent_put(const struct table *t, const struct table_summary *sum, unsigned width,
		struct buf *out);

#endif
