-- Queries over a store (store.md), in SQL of DuckDB and of ClickHouse. Each begins with a line "-- name: NAME"; the
-- tables are the views of store.md. What a user changes stands in the first lines of a query.

-- name: top_functions
-- Where the CPUs of all hosts spent their time in a month, in percent.
WITH month AS (
    SELECT * FROM flat WHERE event = 'cpu_clock' AND day >= '2026-11-01' AND day < '2026-12-01')
SELECT function, object, sum(self_weight) AS ns,
       100.0 * sum(self_weight) / (SELECT sum(self_weight) FROM month) AS percent,
       count(DISTINCT host) AS hosts
FROM month
GROUP BY function, object
ORDER BY ns DESC, function, object
LIMIT 20;

-- name: top_functions_by_host
-- The three functions with the most time on each host.
SELECT host, place, function, object, ns
FROM (SELECT host, function, object, sum(self_weight) AS ns,
             row_number() OVER (PARTITION BY host ORDER BY sum(self_weight) DESC, function, object) AS place
      FROM flat WHERE event = 'cpu_clock' GROUP BY host, function, object) AS ranked
WHERE place <= 3
ORDER BY host, place;

-- name: regression
-- What changed between the last two builds of a program: shares of its functions, in percent of all samples.
WITH builds AS (
    SELECT o.build_id AS build_id, min(s.time) AS first_time
    FROM objects o JOIN sessions s ON s.session_id = o.session_id
    WHERE o.object = 'program' AND o.build_id IS NOT NULL
    GROUP BY o.build_id ORDER BY first_time DESC LIMIT 2),
of_build AS (
    SELECT DISTINCT o.session_id AS session_id,
           CASE WHEN b.first_time = (SELECT max(first_time) FROM builds) THEN 1 ELSE 0 END AS is_new
    FROM objects o JOIN builds b ON b.build_id = o.build_id WHERE o.object = 'program'),
whole AS (
    SELECT b.is_new AS is_new, sum(f.self_weight) AS weight
    FROM flat f JOIN of_build b ON b.session_id = f.session_id
    WHERE f.event = 'cpu_clock' GROUP BY b.is_new)
SELECT f.function AS function, f.object AS object,
       100.0 * sum(CASE WHEN b.is_new = 0 THEN f.self_weight ELSE 0 END)
             / (SELECT sum(weight) FROM whole WHERE is_new = 0) AS was,
       100.0 * sum(CASE WHEN b.is_new = 1 THEN f.self_weight ELSE 0 END)
             / (SELECT sum(weight) FROM whole WHERE is_new = 1) AS now
FROM flat f JOIN of_build b ON b.session_id = f.session_id
WHERE f.event = 'cpu_clock'
GROUP BY f.function, f.object
ORDER BY abs(sum(CASE WHEN b.is_new = 1 THEN f.self_weight ELSE 0 END)
                 / (SELECT sum(weight) FROM whole WHERE is_new = 1)
           - sum(CASE WHEN b.is_new = 0 THEN f.self_weight ELSE 0 END)
                 / (SELECT sum(weight) FROM whole WHERE is_new = 0)) DESC, f.function
LIMIT 20;

-- name: change_points
-- At which build of a program the share of a function changed, found from the data alone, as --report=changes does: of
-- all divisions of the builds in two, the one with the most different ranks; p is how often builds in a random order
-- (999 of them, by md5) have one as different, times the number of functions. From 8 builds on.
WITH RECURSIVE counter AS (SELECT 1 AS i UNION ALL SELECT i + 1 AS i FROM counter WHERE i < 999),
build_of AS (
    SELECT DISTINCT o.session_id AS session_id, o.build_id AS build_id FROM objects o
    WHERE o.object = 'program' AND o.build_id IS NOT NULL),
builds AS (
    SELECT b.build_id AS build_id, row_number() OVER (ORDER BY min(s.time)) AS number
    FROM build_of b JOIN sessions s ON s.session_id = b.session_id GROUP BY b.build_id),
weights AS (
    SELECT b.build_id AS build_id, f.function AS function, f.object AS object, sum(f.self_weight) AS weight
    FROM flat f JOIN build_of b ON b.session_id = f.session_id
    WHERE f.event = 'cpu_clock' GROUP BY b.build_id, f.function, f.object),
wholes AS (SELECT build_id, sum(weight) AS weight FROM weights GROUP BY build_id),
functions AS (
    SELECT w.function AS function, w.object AS object
    FROM weights w JOIN wholes a ON a.build_id = w.build_id
    GROUP BY w.function, w.object
    HAVING sum(100.0 * w.weight / a.weight) / (SELECT count(*) FROM builds) >= 1),
shares AS (
    SELECT f.function AS function, f.object AS object, b.number AS number,
           coalesce(100.0 * w.weight / a.weight, 0) AS share
    FROM functions f CROSS JOIN builds b JOIN wholes a ON a.build_id = b.build_id
    LEFT JOIN weights w ON w.build_id = b.build_id AND w.function = f.function AND w.object = f.object),
ranked AS (
    SELECT function, object, number, share,
           rank() OVER (PARTITION BY function, object ORDER BY share)
               + (count(*) OVER (PARTITION BY function, object, share) - 1) / 2.0 AS place
    FROM shares),
summed AS (
    SELECT function, object, number, share,
           sum(place) OVER (PARTITION BY function, object ORDER BY number) AS places,
           count(*) OVER (PARTITION BY function, object) AS nr
    FROM ranked),
scored AS (
    SELECT function, object, number, nr,
           abs(places - number * (nr + 1) / 2.0) / sqrt(number * (nr - number) * (nr + 1) / 12.0) AS score
    FROM summed WHERE number >= 2 AND nr - number >= 2),
best AS (
    SELECT function, object, number, score, nr FROM (
        SELECT function, object, number, score, nr,
               row_number() OVER (PARTITION BY function, object ORDER BY score DESC, number) AS place
        FROM scored) AS s
    WHERE place = 1),
shuffled AS (
    SELECT c.i AS i, b.number AS number,
           row_number() OVER (PARTITION BY c.i
                              ORDER BY MD5(concat(CAST(c.i AS VARCHAR), ' ', CAST(b.number AS VARCHAR)))) AS place
    FROM counter c CROSS JOIN builds b),
shuffled_sums AS (
    SELECT i, number, sum(place) OVER (PARTITION BY i ORDER BY number) AS places,
           count(*) OVER (PARTITION BY i) AS nr
    FROM shuffled),
chance AS (
    SELECT i, max(abs(places - number * (nr + 1) / 2.0)
                  / sqrt(number * (nr - number) * (nr + 1) / 12.0)) AS score
    FROM shuffled_sums WHERE number >= 2 AND nr - number >= 2 GROUP BY i),
judged AS (
    SELECT b.function AS function, b.object AS object, b.number AS number,
           least(1.0, (1 + sum(CASE WHEN c.score >= b.score - 1e-9 THEN 1 ELSE 0 END)) / 1000.0
                          * (SELECT count(*) FROM functions)) AS p
    FROM best b CROSS JOIN chance c
    GROUP BY b.function, b.object, b.number)
SELECT j.function AS function, j.object AS object, n.build_id AS build_id, n.number AS build,
       avg(CASE WHEN s.number <= j.number THEN s.share END) AS was,
       avg(CASE WHEN s.number > j.number THEN s.share END) AS now, j.p AS p
FROM judged j
JOIN builds n ON n.number = j.number + 1
JOIN shares s ON s.function = j.function AND s.object = j.object
WHERE j.p < 0.05 AND (SELECT count(*) FROM builds) >= 8
GROUP BY j.function, j.object, n.build_id, n.number, j.p
ORDER BY p, function;

-- name: by_spec
-- What was measured, and how much of it.
SELECT config_name, count(*) AS sessions, count(DISTINCT host) AS hosts, sum(iterations) AS iterations,
       sum(measured_ns) / 1e9 AS seconds
FROM sessions GROUP BY config_name ORDER BY config_name;

-- name: by_kernel
-- How much time is spent in the kernel, by its version.
SELECT h.kernel AS kernel, count(DISTINCT h.host) AS hosts,
       100.0 * sum(CASE WHEN f.object = '[kernel]' THEN f.self_weight ELSE 0 END) / sum(f.self_weight) AS percent
FROM flat f JOIN hosts h ON h.session_id = f.session_id
WHERE f.event = 'cpu_clock' GROUP BY h.kernel ORDER BY percent DESC, kernel;

-- name: outlier_hosts
-- Hosts whose rate of an event differs from the other hosts' by more than 5 robust deviations.
WITH rates AS (
    SELECT c.host AS host, 1e9 * sum(c.value) / sum(c.span_ns) AS rate FROM counts c
    WHERE c.event = 'context_switches' AND c.is_total AND c.value IS NOT NULL AND c.span_ns > 0
    GROUP BY c.host),
middle AS (SELECT median(rate) AS rate FROM rates),
spread AS (SELECT 1.4826 * median(abs(r.rate - m.rate)) AS deviation FROM rates r CROSS JOIN middle m)
SELECT r.host AS host, r.rate AS per_second, m.rate AS usual, (r.rate - m.rate) / s.deviation AS z
FROM rates r CROSS JOIN middle m CROSS JOIN spread s
WHERE abs(r.rate - m.rate) > 5 * s.deviation
ORDER BY abs(r.rate - m.rate) DESC, host;

-- name: hourly
-- A count over time: its rate on each host by the hour.
SELECT date_trunc('hour', time) AS hour, host, 1e9 * sum(value) / sum(span_ns) AS per_second
FROM counts
WHERE event = 'context_switches' AND is_total AND value IS NOT NULL AND span_ns > 0
GROUP BY hour, host ORDER BY hour, host;

-- name: states
-- On which host threads run, wait for a CPU or are blocked, in seconds of threads.
SELECT host, state, comm, sum(weight) / 1e9 AS seconds
FROM samples WHERE state IS NOT NULL
GROUP BY host, state, comm ORDER BY seconds DESC, host, state, comm LIMIT 20;

-- name: callers
-- The stacks through which a function is reached, on all hosts.
SELECT k.text AS stack, sum(s.weight) AS ns, count(DISTINCT s.host) AS hosts
FROM samples s JOIN stacks k ON k.session_id = s.session_id AND k.stack = s.stack
WHERE s.event = 'cpu_clock' AND k.function = 'work_a'
GROUP BY k.text ORDER BY ns DESC, stack LIMIT 20;

-- name: missing
-- What the numbers of a host lack.
SELECT host, what, event, sum(number) AS number, count(*) AS sessions
FROM losses GROUP BY host, what, event ORDER BY number DESC, host, what;
