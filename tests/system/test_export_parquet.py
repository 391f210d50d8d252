"""The store of --output-format=parquet: do two readers of Parquet (DuckDB's, Arrow's) accept each file, is there what
schemas/store.md describes, is each number the session's own, do the queries of schemas/store-queries.sql answer what
the reports say, and what becomes of sessions that are there already, of hostile names, and of a disk that is full?
"""
import collections
import csv
import datetime
import io
import json
import math
import os
import re
import resource
import shutil
import signal
import statistics
import time

import kit
import sampled
import store
from kit import CPUPERF, PRINT, may_sample, run, run_checks
from sampled import event

SOURCE = os.environ["SOURCE_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = f"{SOURCE}/tests/data/sessions"
TYPES = {"text": "VARCHAR", "u64": "UBIGINT", "i64": "BIGINT", "real": "DOUBLE", "bool": "BOOLEAN", "time": "TIMESTAMP_NS"}
COUNTED = [event("software:context_switches", label='a "b",c'), event("software:task_clock"),
           event("fixed:instructions_retired"), event("misc:cpu_utilization"), event("misc:process_rss")]
NR_BUILDS, CHANGED = 14, 7  # the first build that has the change
OLD, NEW = 25, 65  # percent of work_a


def add(session, to, *args, **how):
    """What cpuperf_print said."""
    return run(PRINT, "--quiet", f"--session={session}", "--output-format=parquet", f"--output-file={to}", *args,
               **how).stderr


def table(session, *args):
    text = run(PRINT, "--quiet", f"--session={session}", "--output-format=csv", *args).stdout
    return list(csv.DictReader(io.StringIO(text, newline="")))


def described():
    """Table: [(column, type, whether it may be NULL)] of schemas/store.md."""
    with open(f"{SOURCE}/schemas/store.md", encoding="utf-8") as f:
        lines = re.findall(r"^\| `(\w+)` \|.*?\| (.*) \|$", f.read(), re.M)
    return {name: [(column, TYPES[kind], bool(null))
                   for column, kind, null in re.findall(r"`(\w+)` (\w+)(\??)", re.sub(r"\([^)]*\)", "", columns))]
            for name, columns in lines}


def check_files(folder):
    """Of old sessions, which have all that older recorders wrote: both readers accept each file."""
    for name in ("samples", "stacks", "tally", "things", "killed"):
        add(f"{KEPT}/{name}.cpsession", f"{folder}/s", code=None)
    paths = store.files(f"{folder}/s")
    assert len(store.files(f"{folder}/s", "sessions")) == 5 and len(paths) > 25, paths
    assert not [n for _, _, names in os.walk(f"{folder}/s") for n in names if not n.endswith(".parquet")]
    assert all(os.stat(p).st_mode & 0o777 == 0o600 for p in paths)
    counts = store.query(f"{folder}/s", *[f"SELECT count(*) FROM read_parquet('{p}')" for p in paths])
    assert [int(c.rows[0][0]) for c in counts] == store.arrow_rows(paths)
    assert all(int(c.rows[0][0]) > 0 or "/losses/" in p for c, p in zip(counts, paths))
    schema = described()
    assert len(schema) == 18
    for name in sorted({p.split("/")[-4] for p in paths}):
        got, = store.query(f"{folder}/s", f"SELECT * FROM read_parquet('{folder}/s/{name}/*/*/*.parquet',"
                           " hive_partitioning = false)")
        assert list(zip(got.columns, got.types)) == [c[:2] for c in schema[name]], (name, got.columns, got.types)
        may_be_null = store.rows(f"{folder}/s", "SELECT DISTINCT name, repetition_type = 'OPTIONAL' FROM parquet_schema("
                                 f"'{folder}/s/{name}/*/*/*.parquet') WHERE repetition_type IS NOT NULL AND num_children IS NULL")
        assert dict(map(tuple, may_be_null)) == {c[0]: c[2] for c in schema[name]}, (name, may_be_null)


def check_metadata(folder):
    add(f"{KEPT}/stacks.cpsession", f"{folder}/s", code=None)
    path, = store.files(f"{folder}/s", "samples")
    facts, columns, codecs = store.query(
        f"{folder}/s", f"SELECT decode(key), decode(value) FROM parquet_kv_metadata('{path}')",
        f"SELECT path_in_schema, stats_min_value, stats_max_value, stats_null_count FROM parquet_metadata('{path}')",
        f"SELECT DISTINCT compression FROM parquet_metadata('{path}')")
    facts, session = dict(map(tuple, facts.rows)), os.path.basename(path)[:32]
    assert facts == {"cpuperf.store": "1", "cpuperf.table": "samples", "cpuperf.session": session, "cpuperf.spec": "stacks",
                     "cpuperf.version": facts["cpuperf.version"]} and re.match(r"\d+\.\d", facts["cpuperf.version"]), facts
    assert codecs.rows == [["ZSTD"]]
    nr, = store.rows(f"{folder}/s", "SELECT count(*) FROM samples")
    for name, least, greatest, nulls in columns.rows:
        want, = store.rows(f"{folder}/s", f"SELECT min({name})::VARCHAR, max({name})::VARCHAR, count(*) - count({name}) FROM samples")
        if name == "time":
            want[:2] = least, greatest
        assert [least, greatest, nulls] == want, (name, least, greatest, nulls, want, nr)


def record_tally(folder):
    os.mkdir(folder)
    sampled.finish(sampled.start(folder, COUNTED, "--duration=50ms", num_iterations=3,
                                 metrics=[{"name": "per_ns", "expr": '{a "b",c} / {task_clock}'}]))
    return f"{folder}/s.cpsession"


def number(text):
    return None if text in ("", None) else float(text)


def check_counts(folder):
    """Each number of the summary is a row of the store."""
    session = record_tally(f"{folder}/t") if may_sample("check_counts: of a session made here") \
        else f"{KEPT}/things.cpsession"
    add(session, f"{folder}/s")
    want = collections.Counter()
    for r in table(session, "--report=summary"):
        thing = r.get("thing", "") or None
        want[int(r["iteration"]), r["label"], thing, None if thing or r["cpu"] == "all" else r["cpu"], r["state"], r["raw"],
             r["base"], r["enabled_ns"], r["running_ns"], number(r["value"]), r["unit"]] += 1
    got = collections.Counter()
    for row in store.rows(f"{folder}/s", "SELECT iteration, event, thing, cpu, state, raw, base, enabled_ns, running_ns,"
                          " value, unit FROM counts"):
        iteration, label, thing, cpu, state, *counts, value, unit = row
        got[int(iteration), label, thing, cpu, state, *(c or "" for c in counts), value, unit] += 1
    if got != want:  # a real number is printed with some digits
        short = [collections.Counter({(*k[:9], k[9] and f"{k[9]:.4g}", k[10]): n for k, n in c.items()}) for c in (got, want)]
        assert short[0] == short[1], (list((got - want).items())[:4], list((want - got).items())[:4])
    rows = {int(r[0]): r[1:] for r in store.rows(f"{folder}/s", "SELECT iteration, epoch_ns(time), epoch_ns(end_time) FROM iterations")}
    offset, = store.rows(f"{folder}/s", "SELECT realtime_offset_ns FROM sessions")[0]
    for r in table(session, "--report=summary"):
        assert rows[int(r["iteration"])] == [str(int(r["start_ns"]) + int(offset)), str(int(r["end_ns"]) + int(offset))]


def program(folder, part, build):
    path = f"{folder}/{build}/program"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    run(*os.environ.get("CC", "cc").split(), "-O1", "-fno-omit-frame-pointer", "-Wl,--build-id", f"-DWORK_A={part}",
        f"-DBUILD={build}", "-o", path, f"{HERE}/builds.c")
    return path


def record_program(folder, part, build):
    """A session of a build; the path of its folder."""
    name = f"made{build}"
    run(CPUPERF, "--quiet", f"--output={folder}/{name}", "--event=cpu_clock@997Hz,context_switches", "--callgraph=fp",
        "--", program(folder, part, build), "300", cwd=folder)
    return f"{folder}/{name}"


def flat_of(session):
    return {(r["event"], r["function"], r["object"]): [int(r[n]) for n in ("self_samples", "self_count", "total_count")]
            for r in table(session, "--report=flat", "--top=0")}


def check_samples(folder):
    session = record_program(folder, OLD, 0)
    said = add(session, f"{folder}/s")
    assert "error" not in said, said
    want = flat_of(session)
    assert any(k[1] == "work_a" for k in want), want
    got = {tuple(r[:3]): [int(v) for v in r[3:]] for r in store.rows(
        f"{folder}/s", "SELECT event, function, object, self_samples, self_weight, total_weight FROM flat")}
    assert got == want
    got = {tuple(r[:3]): [int(v) for v in r[3:]] for r in store.rows(
        f"{folder}/s", "SELECT event, function, object, sum(samples), sum(weight) FROM samples WHERE stack IS NOT NULL GROUP BY ALL")}
    assert got == {k: v[:2] for k, v in want.items() if v[1]}
    # of each sample: its stack, by number and text
    stacks = store.rows(f"{folder}/s", "SELECT k.text, k.depth, k.function, sum(s.weight) FROM samples s JOIN stacks k"
                        " USING (session_id, stack) GROUP BY ALL ORDER BY 1")
    folded = collections.Counter()
    for line in run(PRINT, "--quiet", session, "--output-format=folded").stdout.splitlines():
        text, _, weight = line.rpartition(" ")
        folded[re.sub(r"_\[k\](?=;|$)", "", text.partition(";")[2])] += int(weight)
    mine = collections.Counter()
    for text, depth, function, weight in stacks:
        assert len(text.split(";")) == int(depth) and text.split(";")[-1] == function.replace(";", ":")
        mine[text] += int(weight)
    assert mine == folded and any("main;work_a" in t for t in mine), (mine - folded, folded - mine)
    records = sorted((int(r["monotonic_ns"]), r["cpu"], r["pid"], r["tid"], r["comm"], r["period"])
                     for r in table(session, "--report=records") if r["kind"] == "sample" and r["address"])
    offset, = store.rows(f"{folder}/s", "SELECT realtime_offset_ns FROM sessions")[0]
    rows = store.rows(f"{folder}/s", "SELECT epoch_ns(time), cpu, pid, tid, comm, weight FROM samples WHERE samples > 0")
    assert sorted((int(r[0]) - int(offset), *r[1:]) for r in rows) == records and len(records) > 10
    assert {r[0] for r in store.rows(f"{folder}/s", "SELECT DISTINCT state FROM samples")} == {"on CPU"}
    host, = store.rows(f"{folder}/s", "SELECT host, machine, kernel, job, rank FROM hosts")
    assert host[:2] == [os.uname().nodename, os.uname().machine] and os.uname().release in host[2] and host[3:] == [None, None]
    ids = store.rows(f"{folder}/s", "SELECT build_id FROM objects WHERE object = 'program'")
    assert len(ids) == 1 and re.fullmatch("[0-9a-f]{40}", ids[0][0]), ids


def check_twice(folder):
    """A session is added once; what an addition that was killed has left is replaced."""
    session = f"{KEPT}/stacks.cpsession"
    add(session, f"{folder}/s", code=None)
    before = {p: os.stat(p).st_mtime_ns for p in store.files(f"{folder}/s")}
    said = add(session, f"{folder}/s")
    assert "warning: skipped: it is in the store already" in said and f"from {folder}/s" in said, said
    assert before == {p: os.stat(p).st_mtime_ns for p in store.files(f"{folder}/s")}
    row, = store.files(f"{folder}/s", "sessions")
    os.unlink(row)
    assert "skipped" not in add(session, f"{folder}/s", code=None)
    assert set(before) == set(store.files(f"{folder}/s"))
    # what has no name of ours is not replaced
    os.unlink(row)
    other, = store.files(f"{folder}/s", "samples")
    with open(other, "w", encoding="ascii") as f:
        f.write("mine")
    said = add(session, f"{folder}/s", code=1)
    assert said.count("error:") == 1 and open(other, encoding="ascii").read() == "mine", said
    assert other in store.files(f"{folder}/s") and not store.files(f"{folder}/s", "sessions")
    # several at once
    many = run(PRINT, "--quiet", *(f"--session={KEPT}/{n}.cpsession" for n in ("tally", "stacks", "things")),
               "--output-format=parquet", f"--output-file={folder}/many", code=None)
    assert "skipped: it is in the store" not in many.stderr, many.stderr
    assert len(store.files(f"{folder}/many", "sessions")) == 3


def check_hosts(folder):
    """Names of hosts that are no names of folders, and a part of a job."""
    for i, host in enumerate(("0042", "../a/b", "x y=%", ".", "")):
        store.move(f"{KEPT}/stacks", f"{folder}/{i}", host, i)
        add(f"{folder}/{i}/stacks.cpsession", f"{folder}/s", code=None)
    assert sorted(os.listdir(folder)) == ["0", "1", "2", "3", "4", "s"]
    paths = {p.split("/")[-2] for p in store.files(f"{folder}/s", "sessions")}
    assert paths == {"host=0042", "host=..%2Fa%2Fb", "host=x%20y%3D%25", "host=.", "host=__HIVE_DEFAULT_PARTITION__"}, paths
    inside, views = (sorted(r[0] or "" for r in store.rows(f"{folder}/s", sql)) for sql in (
        f"SELECT host FROM read_parquet('{folder}/s/hosts/*/*/*.parquet', hive_partitioning = false)", "SELECT host FROM hosts"))
    assert inside == views == ["", ".", "../a/b", "0042", "x y=%"], (inside, views)
    shutil.copy(f"{SOURCE}/tests/data/jobs/example/n1.0/host.json", f"{folder}/0/host.json")
    with open(f"{folder}/0/host.json", encoding="utf-8") as f:
        part = json.load(f)
    add(f"{folder}/0/stacks.cpsession", f"{folder}/job", code=None)
    assert store.rows(f"{folder}/job", "SELECT job, step, rank FROM hosts") == [
        [part.get("job"), part.get("step"), str(part["rank"])]], part


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))


def check_refusals(folder):
    session = f"{KEPT}/stacks.cpsession"
    for how in ([], ["--output-file=/dev/stdout"]):
        done = run(PRINT, "--quiet", f"--session={session}", "--output-format=parquet", *how, code=2)
        assert "--output-format=parquet requires --output-file=FOLDER" in done.stderr, done.stderr
    said = add(session, f"{folder}/none/s", code=1)
    assert said.count("error:") == 1 and "No such file" in said, said
    open(f"{folder}/file", "w", encoding="ascii").close()
    said = add(session, f"{folder}/file", code=1)
    assert "is not a folder" in said, said
    os.mkdir(f"{folder}/session")
    shutil.copy(session, f"{folder}/session/cpuperf.cpsession")
    said = add(session, f"{folder}/session", code=1)
    assert "is the folder of a session" in said and len(os.listdir(f"{folder}/session")) == 1, said
    # a disk that is full: one error, and no file
    said = add(session, f"{folder}/full", code=1, preexec_fn=limit_files)
    assert said.count("error:") == 1 and "cannot be written" in said, said
    assert not [n for _, _, names in os.walk(f"{folder}/full") for n in names]
    add(session, f"{folder}/full", code=None)
    assert store.files(f"{folder}/full", "sessions")
    p = kit.start(folder, "--quiet", f"--output={folder}/now", "--event=misc:memory_used", "--duration=100ms", "--num-iterations=0")
    try:
        kit.wait_for(p, f"{folder}/now/cpuperf.s0.0.cpuperf")
        said = add(f"{folder}/now", f"{folder}/t", code=1)
        assert "is in progress" in said and not store.files(f"{folder}/t"), said
    finally:
        p.send_signal(signal.SIGINT)
        p.communicate()
    add(f"{folder}/now", f"{folder}/t")


def this_month(sql):
    """The example with the month in which sessions were made here: the day before and after."""
    today = datetime.date.fromtimestamp(time.time())
    return sql.replace("'2026-11-01'", f"'{today - datetime.timedelta(days=2)}'").replace(
        "'2026-12-01'", f"'{today + datetime.timedelta(days=2)}'")


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def check_examples(folder):
    """Builds of a program on three hosts, and what the reports say of their sessions."""
    sessions, hosts = [], ["a", "b", "c"]
    for i in range(NR_BUILDS):
        made = record_program(folder, OLD if i < CHANGED else NEW, i)
        sessions.append(store.move(f"{made}/cpuperf", f"{folder}/moved{i}", hosts[i % 3], i, shift_s=i - 3600))
    for i, session in enumerate(sessions):
        add(session, f"{folder}/s")
    flats = [flat_of(s) for s in sessions]
    names = store.examples()
    assert len(names) >= 10
    answers = dict(zip(names, store.query(f"{folder}/s", *map(this_month, names.values()))))

    whole = collections.Counter()
    for flat in flats:
        for (name, function, of), numbers in flat.items():
            if name == "cpu_clock":
                whole[function, of] += numbers[1]
    top = [((r[0], r[1]), int(r[2])) for r in answers["top_functions"].rows]
    assert top == sorted(whole.items(), key=lambda x: (-x[1], x[0]))[:20], (top, whole)
    assert near(answers["top_functions"].rows[0][3], 100 * top[0][1] / sum(whole.values()))
    for host, place, function, of, ns in answers["top_functions_by_host"].rows:
        mine = collections.Counter()
        for i in range(hosts.index(host), NR_BUILDS, 3):
            mine.update({k[1:]: v[1] for k, v in flats[i].items() if k[0] == "cpu_clock"})
        assert sorted(mine.items(), key=lambda x: (-x[1], x[0]))[int(place) - 1] == ((function, of), int(ns))
    assert len(answers["top_functions_by_host"].rows) == 9

    shares = [{k[1:]: 100 * v[1] / sum(x[1] for y, x in flat.items() if y[0] == "cpu_clock")
               for k, v in flat.items() if k[0] == "cpu_clock"} for flat in flats]
    for function, of, was, now in answers["regression"].rows:
        assert near(was, shares[-2].get((function, of), 0)) and near(now, shares[-1].get((function, of), 0)), function
    change = {r[0]: r for r in answers["change_points"].rows}
    assert set(change) >= {"work_a", "work_b"}, answers["change_points"].rows
    for function in ("work_a", "work_b"):
        _, of, _, build, was, now, p = change[function]
        assert int(build) == CHANGED + 1 and of == "program" and p < 0.05, change
        each = [s[function, of] for s in shares]
        assert near(was, sum(each[:CHANGED]) / CHANGED), (function, was, each)
        assert near(now, sum(each[CHANGED:]) / (NR_BUILDS - CHANGED)), (function, now, each)

    found = [r for r in table(f"{sessions[0]}/cpuperf.cpsession", *(f"--session={s}/cpuperf.cpsession" for s in sessions[1:]),
                              "--report=changes") if r["function"].startswith("work_")]
    assert {r["function"] for r in found} == {"work_a", "work_b"} and len(found) == 2, found
    for r in found:
        middle = [statistics.median(s[r["function"], "program"] for s in part) for part in (shares[:CHANGED], shares[CHANGED:])]
        assert r["number"] == str(CHANGED + 1) and r["since"] == f"{sessions[CHANGED]}/cpuperf.cpsession", r
        assert math.isclose(float(r["was"]), middle[0], rel_tol=1e-6) and math.isclose(float(r["is"]), middle[1], rel_tol=1e-6)
        assert [r["kind"], r["event"], r["unit"]] == ["function", "cpu_clock", "%"] and 0 < float(r["p"]) < 0.05, r
    few = run(PRINT, "--report=changes", *(f"--session={s}/cpuperf.cpsession" for s in sessions[:7]))
    assert "finds nothing in fewer than 8 sessions" in few.stderr and "0 significant of" in few.stdout, few
    (_, nr, nr_hosts, iterations, seconds), = answers["by_spec"].rows
    assert [nr, nr_hosts, iterations] == [str(NR_BUILDS), "3", str(NR_BUILDS)] and seconds > 0.15 * NR_BUILDS
    (kernel, nr_hosts, percent), = answers["by_kernel"].rows
    assert os.uname().release in kernel and nr_hosts == "3"
    assert near(percent, 100 * sum(v for k, v in whole.items() if k[1] == "[kernel]") / sum(whole.values()))
    switches = collections.Counter()
    for i, session in enumerate(sessions):
        row, = (r for r in table(session, "--report=summary") if r["label"] == "context_switches" and r["cpu"] == "all")
        switches[hosts[i % 3], "value"] += int(row["value"])
        switches[hosts[i % 3], "ns"] += int(row["span_ns"])
    hourly = {(r[1],): r[2] for r in answers["hourly"].rows}
    assert len(hourly) == 3 or len(answers["hourly"].rows) > 3  # at a full hour
    if len(answers["hourly"].rows) == 3:
        assert all(near(hourly[h,], 1e9 * switches[h, "value"] / switches[h, "ns"]) for h in hosts), (hourly, switches)
    states = collections.Counter()
    for host, state, _, seconds in answers["states"].rows:
        assert state == "on CPU"
        states[host] += seconds
    assert near(sum(states.values()) * 1e9, sum(whole.values()))
    callers = answers["callers"].rows
    assert all(r[0].endswith("work_a") for r in callers)
    assert sum(int(r[1]) for r in callers) == whole["work_a", "program"] and callers[0][0].endswith("main;work_a"), callers


def check_outliers(folder):
    """Of 12 hosts, the one that switches more."""
    session = f"{KEPT}/samples"
    for i in range(12):
        store.move(session, f"{folder}/{i}", f"h{i}", i)
        add(f"{folder}/{i}/samples.cpsession", f"{folder}/s", code=None)
    labels = [r[0] for r in store.rows(f"{folder}/s", "SELECT DISTINCT event FROM counts WHERE is_total AND value > 0 AND span_ns > 0"
                                       " ORDER BY 1")]
    sql = store.examples()["outlier_hosts"].replace("'context_switches'", f"'{labels[0]}'")
    assert store.rows(f"{folder}/s", sql) == []
    changed = sql.replace("FROM counts c", "FROM (SELECT host, event, is_total, span_ns,"
                          " value * (1 + hash(host) % 7 / 100.0 + (host = 'h7')::INT) AS value FROM counts) c")
    assert [r[0] for r in store.rows(f"{folder}/s", changed)] == ["h7"]


def main():
    reason = store.missing()
    if reason:
        kit.skip(reason)
    checks = dict(globals())
    if not sampled.may_sample():
        print("skip: check_samples, check_examples: sampling is refused", flush=True)
        del checks["check_samples"], checks["check_examples"]
    run_checks(checks)


main()
