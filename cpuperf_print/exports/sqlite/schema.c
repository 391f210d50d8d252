/*
 * SQL. A change of a table requires a new user_version and a change of schemas/sqlite.md.
 * application_id: "cprf".
 */
#include "exports/sqlite/schema.h"

const struct sqlite_schema sqlite_schemas[SQLITE_NR_TABLES] = {
    [SQLITE_HOSTS] = {"hosts", false},
    [SQLITE_SESSION] = {"session", true},
    [SQLITE_EVENTS] = {"events", false},
    [SQLITE_HOST_EVENTS] = {"host_events", true},
    [SQLITE_ITERATIONS] = {"iterations", true},
    [SQLITE_TRACES] = {"traces", true},
    [SQLITE_NOTES] = {"notes", true},
    [SQLITE_THINGS] = {"things", true},
    [SQLITE_COUNTS] = {"counts", true},
    [SQLITE_SAMPLED] = {"sampled", true},
    [SQLITE_SERIES] = {"series", true},
    [SQLITE_COMMS] = {"comms", false},
    [SQLITE_TASKS] = {"tasks", true},
    [SQLITE_OBJECTS] = {"objects", true},
    [SQLITE_FUNCTIONS] = {"functions", false},
    [SQLITE_STACKS] = {"stacks", true},
    [SQLITE_WEIGHTS] = {"weights", true},
    [SQLITE_SAMPLES] = {"samples", true},
    [SQLITE_LOSSES] = {"losses", true},
    [SQLITE_WINDOWS] = {"windows", true},
    [SQLITE_HELD] = {"held", true},
    [SQLITE_LATENCIES] = {"latencies", true},
    [SQLITE_BUCKETS] = {"latency_buckets", false},
    [SQLITE_FUNCTION_CALLS] = {"function_calls", true},
    [SQLITE_FUNCTION_CALL_BUCKETS] = {"function_call_buckets", false},
    [SQLITE_FUNCTION_VALUES] = {"function_values", true},
    [SQLITE_HEAP_SIZES] = {"heap_sizes", true},
    [SQLITE_REGIONS] = {"regions", true},
    [SQLITE_REGION_CALLS] = {"region_calls", true},
    [SQLITE_REGION_COUNTS] = {"region_counts", true},
    [SQLITE_MARKS] = {"marks", true},
};

const char sqlite_schema_tables[] =
    "PRAGMA application_id=1668313702; PRAGMA user_version=5;"
    "CREATE TABLE hosts(host_id INTEGER PRIMARY KEY, host TEXT, rank INTEGER, node TEXT, job TEXT,"
    " step TEXT, status TEXT, reason TEXT, exit_status INTEGER, clock_offset_ns INTEGER,"
    " clock_error_ns INTEGER, zero_ns INTEGER);"
    "CREATE TABLE session(session_id TEXT, boot_id TEXT, host TEXT, machine TEXT, kernel TEXT,"
    " cpu_model TEXT, tool TEXT, config_name TEXT, spec TEXT, is_sampling INTEGER,"
    " start_ns INTEGER, realtime_offset_ns INTEGER, host_id INTEGER REFERENCES hosts);"
    "CREATE TABLE events(event INTEGER PRIMARY KEY, event_group TEXT, name TEXT, label TEXT,"
    " unit TEXT, kind TEXT, scope TEXT, scale REAL, rate INTEGER, frequency INTEGER,"
    " flags INTEGER, source TEXT, description TEXT, state TEXT, reason TEXT,"
    " series_unit TEXT);"
    "CREATE TABLE host_events(event INTEGER REFERENCES events, state TEXT, reason TEXT,"
    " host_id INTEGER REFERENCES hosts, PRIMARY KEY(host_id, event)) WITHOUT ROWID;"
    "CREATE TABLE iterations(iteration INTEGER, start_ns INTEGER, end_ns INTEGER,"
    " end_realtime_ns INTEGER, is_cut INTEGER, cause TEXT, gap_ns INTEGER, rate_divisor INTEGER,"
    " host_id INTEGER REFERENCES hosts, PRIMARY KEY(host_id, iteration)) WITHOUT ROWID;"
    "CREATE TABLE traces(iteration INTEGER, trace INTEGER, cpu INTEGER,"
    " ring_bytes INTEGER, idle_ns INTEGER, lost INTEGER, ticks INTEGER, ticks_missed INTEGER,"
    " host_id INTEGER REFERENCES hosts, PRIMARY KEY(host_id, iteration, trace),"
    " FOREIGN KEY(host_id, iteration) REFERENCES iterations) WITHOUT ROWID;"
    "CREATE TABLE notes(iteration INTEGER, trace INTEGER, text TEXT,"
    " host_id INTEGER REFERENCES hosts, FOREIGN KEY(host_id, iteration, trace) REFERENCES traces);"
    "CREATE TABLE things(thing INTEGER PRIMARY KEY, event INTEGER REFERENCES events,"
    " number INTEGER, name TEXT, host_id INTEGER REFERENCES hosts);"
    "CREATE TABLE counts(iteration INTEGER, trace INTEGER, cpu INTEGER,"
    " event INTEGER REFERENCES events, thing INTEGER REFERENCES things, state TEXT, value,"
    " raw INTEGER, base INTEGER, enabled_ns INTEGER, running_ns INTEGER, span_ns INTEGER,"
    " host_id INTEGER REFERENCES hosts, FOREIGN KEY(host_id, iteration) REFERENCES iterations,"
    " FOREIGN KEY(host_id, iteration, trace) REFERENCES traces);"
    "CREATE TABLE sampled(iteration INTEGER, trace INTEGER, cpu INTEGER,"
    " event INTEGER REFERENCES events, samples INTEGER, idle INTEGER, weight INTEGER,"
    " lost INTEGER, throttled INTEGER, expected INTEGER, residual INTEGER,"
    " host_id INTEGER REFERENCES hosts, FOREIGN KEY(host_id, iteration) REFERENCES iterations,"
    " FOREIGN KEY(host_id, iteration, trace) REFERENCES traces);"
    "CREATE TABLE series(event INTEGER REFERENCES events, iteration INTEGER, cpu INTEGER,"
    " thing INTEGER REFERENCES things, kind TEXT, time_ns INTEGER, span_ns INTEGER, state TEXT,"
    " value REAL, raw INTEGER, base INTEGER, enabled_ns INTEGER, running_ns INTEGER,"
    " weight INTEGER, host_id INTEGER REFERENCES hosts);"
    "CREATE TABLE comms(comm INTEGER PRIMARY KEY, name TEXT);"
    "CREATE TABLE tasks(task INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER,"
    " comm INTEGER REFERENCES comms, cmdline TEXT, thread INTEGER,"
    " host_id INTEGER REFERENCES hosts);"
    "CREATE TABLE objects(object INTEGER PRIMARY KEY, name TEXT, path TEXT, kind TEXT,"
    " build_id TEXT, host_id INTEGER REFERENCES hosts);"
    "CREATE TABLE functions(function INTEGER PRIMARY KEY, name TEXT, object_name TEXT,"
    " is_kernel INTEGER, is_known INTEGER, object INTEGER REFERENCES objects);"
    "CREATE TABLE stacks(stack INTEGER PRIMARY KEY, parent INTEGER REFERENCES stacks,"
    " depth INTEGER, function INTEGER REFERENCES functions, file TEXT, line INTEGER,"
    " is_recursive INTEGER, host_id INTEGER REFERENCES hosts);"
    "CREATE TABLE weights(event INTEGER REFERENCES events, stack INTEGER REFERENCES stacks,"
    " self_samples INTEGER, self_weight INTEGER, total_samples INTEGER, total_weight INTEGER,"
    " host_id INTEGER REFERENCES hosts, PRIMARY KEY(event, stack)) WITHOUT ROWID;"
    "CREATE TABLE samples(time_ns INTEGER, event INTEGER REFERENCES events,"
    " iteration INTEGER, cpu INTEGER, task INTEGER REFERENCES tasks,"
    " weight INTEGER, stack INTEGER REFERENCES stacks, region INTEGER REFERENCES regions,"
    " samples INTEGER, host_id INTEGER REFERENCES hosts, FOREIGN KEY(host_id, iteration) "
    "REFERENCES iterations);"
    "CREATE TABLE losses(what TEXT, event INTEGER REFERENCES events, number INTEGER,"
    " host_id INTEGER REFERENCES hosts);"
    "CREATE TABLE windows(iteration INTEGER, window INTEGER,"
    " cycle INTEGER, clock TEXT, gap_ns INTEGER, start_late_ns INTEGER, end_late_ns INTEGER,"
    " clock_ns INTEGER, host_id INTEGER REFERENCES hosts, PRIMARY KEY(host_id, iteration),"
    " FOREIGN KEY(host_id, iteration) REFERENCES iterations) WITHOUT ROWID;"
    "CREATE TABLE held(iteration INTEGER, trace INTEGER, cpu INTEGER,"
    " wanted_ns INTEGER, from_ns INTEGER, to_ns INTEGER, paused INTEGER, is_full INTEGER,"
    " trigger TEXT, host_id INTEGER REFERENCES hosts, PRIMARY KEY(host_id, iteration, trace),"
    " FOREIGN KEY(host_id, iteration) REFERENCES iterations) WITHOUT ROWID;"
    "CREATE TABLE latencies(latency INTEGER PRIMARY KEY, iteration INTEGER,"
    " event INTEGER REFERENCES events, part TEXT, what TEXT, count INTEGER, sum_ns INTEGER,"
    " max_ns INTEGER, p50_ns REAL, p90_ns REAL, p99_ns REAL, p99_9_ns REAL,"
    " host_id INTEGER REFERENCES hosts, FOREIGN KEY(host_id, iteration) REFERENCES iterations);"
    "CREATE TABLE latency_buckets(latency INTEGER REFERENCES latencies, low_ns INTEGER,"
    " high_ns INTEGER, count INTEGER);"
    "CREATE TABLE function_calls(function_call INTEGER PRIMARY KEY, iteration INTEGER,"
    " event INTEGER REFERENCES events, function TEXT, symbol TEXT, object TEXT, address,"
    " way TEXT, calls INTEGER, timed INTEGER, wall_ns INTEGER, self_ns INTEGER, cpu_ns INTEGER,"
    " max_ns INTEGER, cost_ns INTEGER, p50_ns REAL, p90_ns REAL, p99_ns REAL, p99_9_ns REAL,"
    " host_id INTEGER REFERENCES hosts, FOREIGN KEY(host_id, iteration) REFERENCES iterations);"
    "CREATE TABLE function_call_buckets(function_call INTEGER REFERENCES function_calls,"
    " low_ns INTEGER, high_ns INTEGER, count INTEGER);"
    "CREATE TABLE function_values(iteration INTEGER, event INTEGER REFERENCES events,"
    " function TEXT, symbol TEXT, object TEXT, address, argument TEXT, kind TEXT, type TEXT,"
    " value TEXT, low, high, calls INTEGER, timed INTEGER, wall_ns INTEGER, max_ns INTEGER, sum,"
    " host_id INTEGER REFERENCES hosts, FOREIGN KEY(host_id, iteration) REFERENCES iterations);"
    "CREATE TABLE heap_sizes(iteration INTEGER, from_bytes INTEGER,"
    " to_bytes INTEGER, calls INTEGER, bytes INTEGER, live_calls INTEGER, live_bytes INTEGER,"
    " host_id INTEGER REFERENCES hosts, PRIMARY KEY(host_id, iteration, from_bytes),"
    " FOREIGN KEY(host_id, iteration) REFERENCES iterations) WITHOUT ROWID;"
    "CREATE TABLE regions(region INTEGER PRIMARY KEY, parent INTEGER REFERENCES regions,"
    " depth INTEGER, name TEXT, path TEXT, host_id INTEGER REFERENCES hosts);"
    "CREATE TABLE region_calls(region INTEGER REFERENCES regions, pid INTEGER, tid INTEGER,"
    " begin_ns INTEGER, end_ns INTEGER, self_ns INTEGER, number INTEGER, is_closed INTEGER,"
    " is_cut INTEGER, host_id INTEGER REFERENCES hosts);"
    "CREATE TABLE region_counts(region INTEGER REFERENCES regions, event TEXT, calls INTEGER,"
    " total, total_low, total_high, self, self_low, self_high,"
    " host_id INTEGER REFERENCES hosts, PRIMARY KEY(region, event)) WITHOUT ROWID;"
    "CREATE TABLE marks(time_ns INTEGER, pid INTEGER, tid INTEGER,"
    " region INTEGER REFERENCES regions, name TEXT, value INTEGER,"
    " host_id INTEGER REFERENCES hosts);";

const char sqlite_schema_views[] =
    /* when the first one began, by each one's own clock */
    "UPDATE hosts SET zero_ns = (SELECT min(s.start_ns + ifnull(s.realtime_offset_ns, 0)"
    " - ifnull(h.clock_offset_ns, 0)) FROM session s JOIN hosts h USING(host_id))"
    " - (SELECT ifnull(s.realtime_offset_ns, 0) - ifnull(hosts.clock_offset_ns, 0)"
    " FROM session s WHERE s.host_id = hosts.host_id);"
    "CREATE INDEX objects_by_name ON objects(name);"
    /* on each host one, and of the same build */
    "UPDATE functions SET object = (SELECT CASE WHEN count(*) = count(DISTINCT o.host_id)"
    " AND count(DISTINCT ifnull(o.build_id, '')) = 1 THEN min(o.object) END"
    " FROM objects o WHERE o.name = object_name);"
    "CREATE INDEX counts_by_event ON counts(event);"
    "CREATE INDEX series_by_event ON series(event, time_ns);"
    "CREATE INDEX latency_buckets_by_latency ON latency_buckets(latency);"
    "CREATE INDEX function_call_buckets_by_call ON function_call_buckets(function_call);"
    "CREATE INDEX region_calls_by_region ON region_calls(region);"
    "CREATE INDEX stacks_by_parent ON stacks(parent);"
    "CREATE VIEW totals AS SELECT e.label AS event, e.unit AS unit, t.name AS thing,"
    " c.cpu AS cpu, sum(c.value) AS value, sum(c.raw) AS raw, sum(c.enabled_ns) AS enabled_ns,"
    " sum(c.running_ns) AS running_ns, count(c.value) AS iterations,"
    " count(*) - count(c.value) AS iterations_without, c.host_id AS host_id, h.host AS host,"
    " h.rank AS rank"
    " FROM counts c JOIN events e USING(event) JOIN hosts h ON h.host_id = c.host_id"
    " LEFT JOIN things t ON t.thing = c.thing"
    " WHERE e.kind = 'count' GROUP BY c.host_id, c.event, c.thing, c.cpu;"
    "CREATE VIEW samples_shown AS SELECT s.time_ns - h.zero_ns AS time_ns, e.label AS event,"
    " s.iteration AS iteration, s.cpu AS cpu, t.pid AS pid, t.tid AS tid, m.name AS comm,"
    " s.samples AS samples, s.weight AS weight, f.name AS function, f.object_name AS object,"
    " s.stack AS stack, s.host_id AS host_id, h.host AS host, h.rank AS rank"
    " FROM samples s JOIN hosts h ON h.host_id = s.host_id JOIN events e USING(event)"
    " JOIN tasks t ON t.task = s.task"
    " JOIN comms m USING(comm) LEFT JOIN stacks k ON k.stack = s.stack"
    " LEFT JOIN functions f ON f.function = k.function;"
    "CREATE VIEW threads AS SELECT e.label AS event, t.pid AS pid, t.tid AS tid,"
    " m.name AS comm, sum(s.samples) AS samples, sum(s.weight) AS weight, t.thread AS thread,"
    " s.host_id AS host_id, h.host AS host, h.rank AS rank"
    " FROM samples s JOIN hosts h ON h.host_id = s.host_id JOIN events e USING(event)"
    " JOIN tasks t ON t.task = s.task JOIN comms m USING(comm)"
    " GROUP BY s.host_id, s.event, t.pid, t.tid, t.thread, t.comm;"
    /* a function that called itself is counted once, where it is the outermost */
    "CREATE VIEW flat AS SELECT e.label AS event, f.name AS function, f.object_name AS object,"
    " sum(w.self_samples) AS self_samples, sum(w.self_weight) AS self_weight,"
    " sum(CASE WHEN k.is_recursive THEN 0 ELSE w.total_samples END) AS total_samples,"
    " sum(CASE WHEN k.is_recursive THEN 0 ELSE w.total_weight END) AS total_weight"
    " FROM weights w JOIN stacks k USING(stack) JOIN functions f USING(function)"
    " JOIN events e ON e.event = w.event GROUP BY w.event, k.function;"
    "CREATE VIEW flat_by_host AS SELECT w.host_id AS host_id, h.host AS host, h.rank AS rank,"
    " e.label AS event, f.name AS function, f.object_name AS object,"
    " sum(w.self_samples) AS self_samples, sum(w.self_weight) AS self_weight,"
    " sum(CASE WHEN k.is_recursive THEN 0 ELSE w.total_samples END) AS total_samples,"
    " sum(CASE WHEN k.is_recursive THEN 0 ELSE w.total_weight END) AS total_weight"
    " FROM weights w JOIN hosts h ON h.host_id = w.host_id JOIN stacks k ON k.stack = w.stack"
    " JOIN functions f USING(function) JOIN events e ON e.event = w.event"
    " GROUP BY w.host_id, w.event, k.function;"
    "CREATE VIEW tree AS SELECT e.label AS event, w.stack AS stack, k.parent AS parent,"
    " k.depth AS depth, f.name AS function, f.object_name AS object, w.self_samples, w.self_weight,"
    " w.total_samples, w.total_weight, w.host_id AS host_id FROM weights w"
    " JOIN stacks k ON k.stack = w.stack"
    " JOIN functions f USING(function) JOIN events e ON e.event = w.event;"
    "CREATE VIEW stack_text AS WITH RECURSIVE down(stack, text) AS ("
    " SELECT k.stack, f.name FROM stacks k JOIN functions f USING(function)"
    " WHERE k.parent IS NULL"
    " UNION ALL SELECT k.stack, down.text || ';' || f.name FROM down"
    " JOIN stacks k ON k.parent = down.stack JOIN functions f USING(function))"
    " SELECT stack, text FROM down;";
