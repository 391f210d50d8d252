/*
 * The tables of a store; schemas/store.md documents them.
 */
#ifndef CPUPERF_PRINT_EXPORTS_PARQUET_SCHEMA_H
#define CPUPERF_PRINT_EXPORTS_PARQUET_SCHEMA_H

#include "export/parquet.h"

/* Raised when a column is removed or gets another meaning. */
#define STORE_VERSION "1"

/* In the order in which files get their names: a session is in the store when its row of sessions
 * is. */
enum store_table {
	STORE_HOSTS,
	STORE_EVENTS,
	STORE_ITERATIONS,
	STORE_COUNTS,
	STORE_FLAT,
	STORE_STACKS,
	STORE_SAMPLES,
	STORE_OBJECTS,
	STORE_LATENCIES,
	STORE_LATENCY_BUCKETS,
	STORE_FUNCTION_CALLS,
	STORE_FUNCTION_CALL_BUCKETS,
	STORE_FUNCTION_VALUES,
	STORE_REGION_CALLS,
	STORE_MARKS,
	STORE_NOTES,
	STORE_LOSSES,
	STORE_SESSIONS,
	STORE_NR_TABLES
};

/* Each row begins with the session and its host, which store_put adds. */
enum { STORE_COMMON_COLUMNS = 2, STORE_MAX_COLUMNS = 24 };

struct store_schema {
	const char *name;
	const struct parquet_column columns[STORE_MAX_COLUMNS]; /* up to one without a name */
};
extern const struct store_schema store_schemas[STORE_NR_TABLES];
size_t store_schema_nr_columns(const struct store_schema *s);

#endif
