/*
 * The tables and views of an exported database; schemas/sqlite.md documents them.
 */
#ifndef CPUPERF_PRINT_EXPORTS_SQLITE_SCHEMA_H
#define CPUPERF_PRINT_EXPORTS_SQLITE_SCHEMA_H

#include <stdbool.h>

enum sqlite_table {
	SQLITE_HOSTS,
	SQLITE_SESSION,
	SQLITE_EVENTS,
	SQLITE_HOST_EVENTS,
	SQLITE_ITERATIONS,
	SQLITE_TRACES,
	SQLITE_NOTES,
	SQLITE_THINGS,
	SQLITE_COUNTS,
	SQLITE_SAMPLED,
	SQLITE_SERIES,
	SQLITE_COMMS,
	SQLITE_TASKS,
	SQLITE_OBJECTS,
	SQLITE_FUNCTIONS,
	SQLITE_STACKS,
	SQLITE_WEIGHTS,
	SQLITE_SAMPLES,
	SQLITE_LOSSES,
	SQLITE_WINDOWS,
	SQLITE_HELD,
	SQLITE_LATENCIES,
	SQLITE_BUCKETS,
	SQLITE_FUNCTION_CALLS,
	SQLITE_FUNCTION_CALL_BUCKETS,
	SQLITE_FUNCTION_VALUES,
	SQLITE_HEAP_SIZES,
	SQLITE_REGIONS,
	SQLITE_REGION_CALLS,
	SQLITE_REGION_COUNTS,
	SQLITE_MARKS,
	SQLITE_NR_TABLES
};

struct sqlite_schema {
	const char *name;
	bool has_host; /* its last column is the host's number */
};
extern const struct sqlite_schema sqlite_schemas[SQLITE_NR_TABLES];

/* SQL: */
extern const char sqlite_schema_tables[]; /* run before the rows are written */
extern const char sqlite_schema_views[];  /* run after the rows are written */

#endif
