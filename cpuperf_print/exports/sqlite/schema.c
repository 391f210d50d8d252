/*
 * SQL. A change of a table requires a new user_version and a change of schemas/sqlite.md.
 * application_id: "cprf".
 */
#include "exports/sqlite/schema.h"

const char *const sqlite_schema_names[SQLITE_NR_TABLES] = {
    [SQLITE_SESSION] = "session",
    [SQLITE_EVENTS] = "events",
    [SQLITE_ITERATIONS] = "iterations",
    [SQLITE_TRACES] = "traces",
    [SQLITE_NOTES] = "notes",
    [SQLITE_THINGS] = "things",
    [SQLITE_COUNTS] = "counts",
    [SQLITE_SAMPLED] = "sampled",
    [SQLITE_SERIES] = "series",
    [SQLITE_COMMS] = "comms",
    [SQLITE_TASKS] = "tasks",
    [SQLITE_OBJECTS] = "objects",
    [SQLITE_FUNCTIONS] = "functions",
    [SQLITE_STACKS] = "stacks",
    [SQLITE_WEIGHTS] = "weights",
    [SQLITE_SAMPLES] = "samples",
    [SQLITE_LOSSES] = "losses",
    [SQLITE_WINDOWS] = "windows",
    [SQLITE_HELD] = "held",
    [SQLITE_LATENCIES] = "latencies",
    [SQLITE_BUCKETS] = "latency_buckets",
    [SQLITE_HEAP_SIZES] = "heap_sizes",
    [SQLITE_REGIONS] = "regions",
    [SQLITE_REGION_CALLS] = "region_calls",
    [SQLITE_REGION_COUNTS] = "region_counts",
    [SQLITE_MARKS] = "marks",
};

const char sqlite_schema_tables[] =
    "PRAGMA application_id=1668313702; PRAGMA user_version=4;"
    "CREATE TABLE session(session_id TEXT, boot_id TEXT, host TEXT, machine TEXT, kernel TEXT,"
    " cpu_model TEXT, tool TEXT, config_name TEXT, spec TEXT, is_sampling INTEGER,"
    " start_ns INTEGER, realtime_offset_ns INTEGER);"
    "CREATE TABLE events(event INTEGER PRIMARY KEY, event_group TEXT, name TEXT, label TEXT,"
    " unit TEXT, kind TEXT, scope TEXT, scale REAL, rate INTEGER, frequency INTEGER,"
    " flags INTEGER, source TEXT, description TEXT, state TEXT, reason TEXT,"
    " series_unit TEXT);"
    "CREATE TABLE iterations(iteration INTEGER PRIMARY KEY, start_ns INTEGER, end_ns INTEGER,"
    " end_realtime_ns INTEGER, is_cut INTEGER, cause TEXT, gap_ns INTEGER);"
    "CREATE TABLE traces(iteration INTEGER REFERENCES iterations, trace INTEGER, cpu INTEGER,"
    " ring_bytes INTEGER, idle_ns INTEGER, lost INTEGER, ticks INTEGER, ticks_missed INTEGER,"
    " PRIMARY KEY(iteration, trace)) WITHOUT ROWID;"
    "CREATE TABLE notes(iteration INTEGER, trace INTEGER, text TEXT,"
    " FOREIGN KEY(iteration, trace) REFERENCES traces);"
    "CREATE TABLE things(thing INTEGER PRIMARY KEY, event INTEGER REFERENCES events,"
    " number INTEGER, name TEXT);"
    "CREATE TABLE counts(iteration INTEGER REFERENCES iterations, trace INTEGER, cpu INTEGER,"
    " event INTEGER REFERENCES events, thing INTEGER REFERENCES things, state TEXT, value,"
    " raw INTEGER, base INTEGER, enabled_ns INTEGER, running_ns INTEGER, span_ns INTEGER,"
    " FOREIGN KEY(iteration, trace) REFERENCES traces);"
    "CREATE TABLE sampled(iteration INTEGER REFERENCES iterations, trace INTEGER, cpu INTEGER,"
    " event INTEGER REFERENCES events, samples INTEGER, idle INTEGER, weight INTEGER,"
    " lost INTEGER, throttled INTEGER, expected INTEGER, residual INTEGER,"
    " FOREIGN KEY(iteration, trace) REFERENCES traces);"
    "CREATE TABLE series(event INTEGER REFERENCES events, iteration INTEGER, cpu INTEGER,"
    " thing INTEGER REFERENCES things, kind TEXT, time_ns INTEGER, span_ns INTEGER, state TEXT,"
    " value REAL, raw INTEGER, base INTEGER, enabled_ns INTEGER, running_ns INTEGER,"
    " weight INTEGER);"
    "CREATE TABLE comms(comm INTEGER PRIMARY KEY, name TEXT);"
    "CREATE TABLE tasks(task INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER,"
    " comm INTEGER REFERENCES comms, cmdline TEXT, thread INTEGER);"
    "CREATE TABLE objects(object INTEGER PRIMARY KEY, name TEXT, path TEXT, kind TEXT,"
    " build_id TEXT);"
    "CREATE TABLE functions(function INTEGER PRIMARY KEY, name TEXT, object_name TEXT,"
    " is_kernel INTEGER, is_known INTEGER, object INTEGER REFERENCES objects);"
    "CREATE TABLE stacks(stack INTEGER PRIMARY KEY, parent INTEGER REFERENCES stacks,"
    " depth INTEGER, function INTEGER REFERENCES functions, file TEXT, line INTEGER,"
    " is_recursive INTEGER);"
    "CREATE TABLE weights(event INTEGER REFERENCES events, stack INTEGER REFERENCES stacks,"
    " self_samples INTEGER, self_weight INTEGER, total_samples INTEGER, total_weight INTEGER,"
    " PRIMARY KEY(event, stack)) WITHOUT ROWID;"
    "CREATE TABLE samples(time_ns INTEGER, event INTEGER REFERENCES events,"
    " iteration INTEGER REFERENCES iterations, cpu INTEGER, task INTEGER REFERENCES tasks,"
    " weight INTEGER, stack INTEGER REFERENCES stacks, region INTEGER REFERENCES regions);"
    "CREATE TABLE losses(what TEXT, event INTEGER REFERENCES events, number INTEGER);"
    "CREATE TABLE windows(iteration INTEGER PRIMARY KEY REFERENCES iterations, window INTEGER,"
    " cycle INTEGER, clock TEXT, gap_ns INTEGER, start_late_ns INTEGER, end_late_ns INTEGER,"
    " clock_ns INTEGER);"
    "CREATE TABLE held(iteration INTEGER REFERENCES iterations, trace INTEGER, cpu INTEGER,"
    " wanted_ns INTEGER, from_ns INTEGER, to_ns INTEGER, paused INTEGER, is_full INTEGER,"
    " trigger TEXT, PRIMARY KEY(iteration, trace)) WITHOUT ROWID;"
    "CREATE TABLE latencies(latency INTEGER PRIMARY KEY, iteration INTEGER REFERENCES iterations,"
    " event INTEGER REFERENCES events, part TEXT, what TEXT, count INTEGER, sum_ns INTEGER,"
    " max_ns INTEGER, p50_ns REAL, p90_ns REAL, p99_ns REAL, p99_9_ns REAL);"
    "CREATE TABLE latency_buckets(latency INTEGER REFERENCES latencies, low_ns INTEGER,"
    " high_ns INTEGER, count INTEGER);"
    "CREATE TABLE heap_sizes(iteration INTEGER REFERENCES iterations, from_bytes INTEGER,"
    " to_bytes INTEGER, calls INTEGER, bytes INTEGER, live_calls INTEGER, live_bytes INTEGER,"
    " PRIMARY KEY(iteration, from_bytes)) WITHOUT ROWID;"
    "CREATE TABLE regions(region INTEGER PRIMARY KEY, parent INTEGER REFERENCES regions,"
    " depth INTEGER, name TEXT, path TEXT);"
    "CREATE TABLE region_calls(region INTEGER REFERENCES regions, pid INTEGER, tid INTEGER,"
    " begin_ns INTEGER, end_ns INTEGER, self_ns INTEGER, number INTEGER, is_closed INTEGER,"
    " is_cut INTEGER);"
    "CREATE TABLE region_counts(region INTEGER REFERENCES regions, event TEXT, calls INTEGER,"
    " total, total_low, total_high, self, self_low, self_high,"
    " PRIMARY KEY(region, event)) WITHOUT ROWID;"
    "CREATE TABLE marks(time_ns INTEGER, pid INTEGER, tid INTEGER,"
    " region INTEGER REFERENCES regions, name TEXT, value INTEGER);";

const char sqlite_schema_views[] =
    "CREATE INDEX objects_by_name ON objects(name);"
    "UPDATE functions SET object = (SELECT CASE WHEN count(*) = 1 THEN min(o.object) END"
    " FROM objects o WHERE o.name = object_name);"
    "CREATE INDEX counts_by_event ON counts(event);"
    "CREATE INDEX series_by_event ON series(event, time_ns);"
    "CREATE INDEX latency_buckets_by_latency ON latency_buckets(latency);"
    "CREATE INDEX region_calls_by_region ON region_calls(region);"
    "CREATE INDEX stacks_by_parent ON stacks(parent);"
    "CREATE VIEW totals AS SELECT e.label AS event, e.unit AS unit, t.name AS thing,"
    " c.cpu AS cpu, sum(c.value) AS value, sum(c.raw) AS raw, sum(c.enabled_ns) AS enabled_ns,"
    " sum(c.running_ns) AS running_ns, count(c.value) AS iterations,"
    " count(*) - count(c.value) AS iterations_without"
    " FROM counts c JOIN events e USING(event) LEFT JOIN things t ON t.thing = c.thing"
    " WHERE e.kind = 'count' GROUP BY c.event, c.thing, c.cpu;"
    "CREATE VIEW samples_shown AS SELECT s.time_ns - n.start_ns AS time_ns, e.label AS event,"
    " s.iteration AS iteration, s.cpu AS cpu, t.pid AS pid, t.tid AS tid, m.name AS comm,"
    " s.weight AS weight, f.name AS function, f.object_name AS object, s.stack AS stack"
    " FROM samples s JOIN session n JOIN events e USING(event) JOIN tasks t USING(task)"
    " JOIN comms m USING(comm) LEFT JOIN stacks k ON k.stack = s.stack"
    " LEFT JOIN functions f ON f.function = k.function;"
    "CREATE VIEW threads AS SELECT e.label AS event, t.pid AS pid, t.tid AS tid,"
    " m.name AS comm, count(*) AS samples, sum(s.weight) AS weight, t.thread AS thread"
    " FROM samples s JOIN events e USING(event) JOIN tasks t USING(task) JOIN comms m USING(comm)"
    " GROUP BY s.event, t.pid, t.tid, t.thread, t.comm;"
    /* a function that called itself is counted once, where it is the outermost */
    "CREATE VIEW flat AS SELECT e.label AS event, f.name AS function, f.object_name AS object,"
    " sum(w.self_samples) AS self_samples, sum(w.self_weight) AS self_weight,"
    " sum(CASE WHEN k.is_recursive THEN 0 ELSE w.total_samples END) AS total_samples,"
    " sum(CASE WHEN k.is_recursive THEN 0 ELSE w.total_weight END) AS total_weight"
    " FROM weights w JOIN stacks k USING(stack) JOIN functions f USING(function)"
    " JOIN events e ON e.event = w.event GROUP BY w.event, k.function;"
    "CREATE VIEW tree AS SELECT e.label AS event, w.stack AS stack, k.parent AS parent,"
    " k.depth AS depth, f.name AS function, f.object_name AS object, w.self_samples, w.self_weight,"
    " w.total_samples, w.total_weight FROM weights w JOIN stacks k USING(stack)"
    " JOIN functions f USING(function) JOIN events e ON e.event = w.event;"
    "CREATE VIEW stack_text AS WITH RECURSIVE down(stack, text) AS ("
    " SELECT k.stack, f.name FROM stacks k JOIN functions f USING(function)"
    " WHERE k.parent IS NULL"
    " UNION ALL SELECT k.stack, down.text || ';' || f.name FROM down"
    " JOIN stacks k ON k.parent = down.stack JOIN functions f USING(function))"
    " SELECT stack, text FROM down;";
