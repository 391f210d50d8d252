/*
 * Private to records_rows.c, records_columns.c and records_fields.c: the columns of records in CSV
 * and NDJSON.
 */
#ifndef REPORT_RECORDS_COLUMNS_H
#define REPORT_RECORDS_COLUMNS_H

#include "report/records_state.h"

enum records_column {
	TIME,
	MONOTONIC,
	ITERATION,
	CPU,
	PID,
	TID,
	COMM,
	KIND,
	EVENT,
	PERIOD,
	ADDRESS, /* in NDJSON the function and its object too */
	FUNCTION,
	OBJECT,
	STACK,
	BRANCHES,
	FIELDS,
	DATA_ADDRESS,
	PHYSICAL_ADDRESS,
	DATA_SOURCE,
	WEIGHT,
	STACK_BYTES,
	START,
	END,
	OFFSET,
	RIGHTS,
	BUILD_ID,
	NAME,
	PARENT_PID,
	PARENT_TID,
	LOST,
	BPF_ID,
	INSTANCE,
	RAW,
	BASE,
	ENABLED,
	RUNNING,
	BYTES,
	COUNTS,
	WEIGHT_2,
	WEIGHT_3,
	TRANSACTION,
	DATA_PAGE_BYTES,
	CODE_PAGE_BYTES,
	CGROUP_ID,
	AUX_BYTES,
	OTHER_PID,
	OTHER_TID,
	NAMESPACES,
	FLAGS,
	COOKIE,
	THREAD,
	NR_COLUMNS
};

#define RECORDS_BIT(column) (UINT64_C(1) << (column))
#define LITERAL(text)       text, sizeof(text) - 1

/* The current record, and where its row is written. */
struct records_row {
	const struct records_item *s;
	const struct trace_record *r;
	struct buf *out;
	bool is_json;
};

/* Text in out is sanitised; numbers are as recorded. */
extern const struct records_column_def {
	const char *name;
	/* One of these; none: written by records_rows.c. */
	const char *number; /* of records_put_line */
	const char *quoted; /* the same; a string in JSON */
	void (*put)(const struct records_row *w);
} records_columns[NR_COLUMNS];
/* Writes a column that is not written by records_rows.c. */
void records_put_column(const struct records_row *w, enum records_column column);

/* Forms of a function's text, as records_form.function: as CSV and NDJSON. */
size_t records_csv_function(struct buf *b, const void *function);
size_t records_json_function(struct buf *b, const void *function);

#endif
