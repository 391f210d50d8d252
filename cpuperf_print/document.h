/*
 * --output-format=json: one document of what is printed. Reports write the rows of ndjson; what
 * stands around them, and between them, is here (schemas/report.schema.json).
 *
 * So a report does nothing for it. Units are those of its grid's columns (grid_describe_fields).
 * Fields of rows are in schemas/report.schema.json, which the test `json` writes.
 */
#ifndef CPUPERF_PRINT_DOCUMENT_H
#define CPUPERF_PRINT_DOCUMENT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct err;
struct inputs;

struct document {
	struct buf columns;  /* of the report that is printed: as of grid_describe_fields */
	struct buf problems; /* JSON objects, one a line */
	bool has_reports, has_rows;
	struct answer *answer; /* owned; NULL: it is one of reports */
};

/* NULL without memory. */
struct document *document_new(void);
void document_free(struct document *d); /* NULL is fine */

/* Each appends to text what comes next: the sessions and events; a report, its rows (lines of
 * ndjson, in pieces) and its end; the problems, and what ended it early (e; NULL: nothing). */
void document_begin(struct document *d, const struct inputs *in, struct buf *text);
void document_begin_report(struct document *d, const char *name, struct buf *text);
void document_put_rows(struct document *d, const char *lines, size_t len, struct buf *text);
void document_end_report(struct document *d, struct buf *text);
void document_end(struct document *d, const struct err *e, struct buf *text);

/* For struct problems: document is a struct document. */
void document_add_problem(void *document, const struct err *problem);

#endif
