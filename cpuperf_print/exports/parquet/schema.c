/*
 * A change of a column requires a new STORE_VERSION and a change of schemas/store.md; more columns
 * and tables do not.
 */
#include "exports/parquet/schema.h"

/* clang-format off */
#define COMMON {"session_id", PARQUET_TEXT, true}, {"host", PARQUET_TEXT, true}

const struct store_schema store_schemas[STORE_NR_TABLES] = {
    [STORE_SESSIONS] = {"sessions", {COMMON,
	{"time", PARQUET_TIME, false}, {"end_time", PARQUET_TIME, false},
	{"measured_ns", PARQUET_U64, true}, {"iterations", PARQUET_U64, true},
	{"config_name", PARQUET_TEXT, true}, {"spec", PARQUET_TEXT, false},
	{"tool", PARQUET_TEXT, false}, {"is_sampling", PARQUET_BOOL, true},
	{"is_cut", PARQUET_BOOL, true}, {"realtime_offset_ns", PARQUET_I64, false}}},
    [STORE_HOSTS] = {"hosts", {COMMON,
	{"time", PARQUET_TIME, false}, {"boot_id", PARQUET_TEXT, true},
	{"machine", PARQUET_TEXT, true}, {"kernel", PARQUET_TEXT, false},
	{"cpu_model", PARQUET_TEXT, false}, {"job", PARQUET_TEXT, false},
	{"step", PARQUET_TEXT, false}, {"rank", PARQUET_I64, false},
	{"clock_offset_ns", PARQUET_I64, false}}},
    [STORE_EVENTS] = {"events", {COMMON,
	{"event", PARQUET_TEXT, true}, {"event_group", PARQUET_TEXT, true},
	{"name", PARQUET_TEXT, true}, {"unit", PARQUET_TEXT, true},
	{"kind", PARQUET_TEXT, true}, {"scope", PARQUET_TEXT, false},
	{"scale", PARQUET_REAL, true}, {"rate", PARQUET_U64, false},
	{"frequency", PARQUET_U64, false}, {"source", PARQUET_TEXT, false},
	{"state", PARQUET_TEXT, false}, {"reason", PARQUET_TEXT, false}}},
    [STORE_ITERATIONS] = {"iterations", {COMMON,
	{"iteration", PARQUET_U64, true}, {"time", PARQUET_TIME, true},
	{"end_time", PARQUET_TIME, false}, {"is_cut", PARQUET_BOOL, true},
	{"cause", PARQUET_TEXT, true}, {"gap_ns", PARQUET_U64, true},
	{"rate_divisor", PARQUET_U64, false}}},
    [STORE_COUNTS] = {"counts", {COMMON,
	{"time", PARQUET_TIME, true}, {"iteration", PARQUET_U64, true},
	{"cpu", PARQUET_U64, false}, {"event", PARQUET_TEXT, true},
	{"thing", PARQUET_TEXT, false}, {"thing_number", PARQUET_U64, false},
	{"is_total", PARQUET_BOOL, true}, {"unit", PARQUET_TEXT, true},
	{"state", PARQUET_TEXT, true}, {"value", PARQUET_REAL, false},
	{"raw", PARQUET_U64, false}, {"base", PARQUET_U64, false},
	{"enabled_ns", PARQUET_U64, false}, {"running_ns", PARQUET_U64, false},
	{"span_ns", PARQUET_U64, false}}},
    [STORE_FLAT] = {"flat", {COMMON,
	{"time", PARQUET_TIME, false}, {"event", PARQUET_TEXT, true},
	{"function", PARQUET_TEXT, true}, {"object", PARQUET_TEXT, true},
	{"self_samples", PARQUET_U64, true}, {"self_weight", PARQUET_U64, true},
	{"total_samples", PARQUET_U64, true}, {"total_weight", PARQUET_U64, true}}},
    [STORE_STACKS] = {"stacks", {COMMON,
	{"stack", PARQUET_U64, true}, {"depth", PARQUET_U64, true},
	{"function", PARQUET_TEXT, true}, {"object", PARQUET_TEXT, true},
	{"file", PARQUET_TEXT, false}, {"line", PARQUET_U64, false},
	{"text", PARQUET_TEXT, true}}},
    [STORE_SAMPLES] = {"samples", {COMMON,
	{"time", PARQUET_TIME, true}, {"iteration", PARQUET_U64, true},
	{"event", PARQUET_TEXT, true}, {"state", PARQUET_TEXT, false},
	{"cpu", PARQUET_U64, false}, {"pid", PARQUET_U64, false},
	{"tid", PARQUET_U64, false}, {"comm", PARQUET_TEXT, true},
	{"samples", PARQUET_U64, true}, {"weight", PARQUET_U64, true},
	{"stack", PARQUET_U64, false}, {"function", PARQUET_TEXT, false},
	{"object", PARQUET_TEXT, false}, {"region", PARQUET_TEXT, false}}},
    [STORE_OBJECTS] = {"objects", {COMMON,
	{"object", PARQUET_TEXT, true}, {"path", PARQUET_TEXT, true},
	{"kind", PARQUET_TEXT, true}, {"build_id", PARQUET_TEXT, false}}},
    [STORE_LATENCIES] = {"latencies", {COMMON,
	{"latency", PARQUET_U64, true}, {"iteration", PARQUET_U64, true},
	{"event", PARQUET_TEXT, true}, {"part", PARQUET_TEXT, true},
	{"what", PARQUET_TEXT, true}, {"count", PARQUET_U64, true},
	{"sum_ns", PARQUET_U64, true}, {"max_ns", PARQUET_U64, true},
	{"p50_ns", PARQUET_REAL, true}, {"p90_ns", PARQUET_REAL, true},
	{"p99_ns", PARQUET_REAL, true}, {"p99_9_ns", PARQUET_REAL, true}}},
    [STORE_LATENCY_BUCKETS] = {"latency_buckets", {COMMON,
	{"latency", PARQUET_U64, true}, {"low_ns", PARQUET_U64, true},
	{"high_ns", PARQUET_U64, true}, {"count", PARQUET_U64, true}}},
    [STORE_REGION_CALLS] = {"region_calls", {COMMON,
	{"time", PARQUET_TIME, true}, {"region", PARQUET_TEXT, true},
	{"pid", PARQUET_U64, true}, {"tid", PARQUET_U64, true},
	{"wall_ns", PARQUET_U64, true}, {"self_ns", PARQUET_U64, true},
	{"number", PARQUET_I64, false}, {"is_closed", PARQUET_BOOL, true},
	{"is_cut", PARQUET_BOOL, true}}},
    [STORE_MARKS] = {"marks", {COMMON,
	{"time", PARQUET_TIME, true}, {"pid", PARQUET_U64, true},
	{"tid", PARQUET_U64, true}, {"region", PARQUET_TEXT, false},
	{"name", PARQUET_TEXT, true}, {"value", PARQUET_I64, false}}},
    [STORE_NOTES] = {"notes", {COMMON,
	{"iteration", PARQUET_U64, true}, {"trace", PARQUET_U64, true},
	{"text", PARQUET_TEXT, true}}},
    [STORE_LOSSES] = {"losses", {COMMON,
	{"what", PARQUET_TEXT, true}, {"event", PARQUET_TEXT, false},
	{"number", PARQUET_U64, true}}},
};
/* clang-format on */

size_t store_schema_nr_columns(const struct store_schema *s)
{
	size_t nr = 0;

	while (nr < STORE_MAX_COLUMNS && s->columns[nr].name)
		nr++;
	return nr;
}
