#!/usr/bin/env python3
"""The database of sessions recorded here: is it whole by SQLite's own checks, are its tables and views
those that schemas/sqlite.md describes, is every number that of the reports, does a pipe take it, and is
nothing left of it when it fails? CPUPERF, CPUPERF_PRINT and MIX name the programs.
"""
import collections
import csv
import fcntl
import io
import os
import pty
import re
import resource
import signal
import sqlite3
import struct
import subprocess
import tempfile
import termios

import kit
from kit import PRINT
import sampled
from sampled import CPUS, event, finish

SOURCE = os.environ["SOURCE_DIR"]
SAMPLED = [event("software:cpu_clock", rate=1000000, flags=["callchain"]),
           event("software:task_clock", rate=3000000, flags=["callchain"]),
           sampled.counted(), event("misc:memory_used"),
           event("misc:cpu_utilization")]
COUNTED = [sampled.counted(label='a "b",c'), event("software:task_clock"),
           event("fixed:instructions_retired"), event("misc:cpu_utilization"),
           event("misc:net_rx_bytes"), event("misc:process_rss"),
           event("misc:process_cpu_time")]
KEPT = [(0, 0, 16, 0, 22, 66), (0, 1, 16, 0, 22, 66), (1, 0, 16, 0, 23, 79), (1, 1, 16, 0, 23, 79)]
METRICS = [{"name": "per_ns", "expr": '{a "b",c} / {task_clock}'}]


def run(*args, **how):
    return kit.run(PRINT, "--quiet", *args, code=None, text=False, **how)


def output(*args, **keys):
    done = run(*args, **keys)
    assert done.returncode == 0, (args, [l for l in done.stderr.splitlines() if b"error" in l])
    return done.stdout


def table(file, *args):
    text = output(f"--session={file}", "--output-format=csv", *args).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def database(folder, file, *args, name="s.db"):
    path = f"{folder}/{name}"
    with open(path, "wb") as f:  # a pipe would do too: check_pipe
        f.write(output(f"--session={file}", "--output-format=sqlite", *args))
    db = sqlite3.connect(path)
    assert [r[0] for r in db.execute("PRAGMA integrity_check")] == ["ok"]
    assert not list(db.execute("PRAGMA foreign_key_check"))
    assert list(db.execute("PRAGMA application_id")) == [(0x63707266,)]
    assert list(db.execute("PRAGMA user_version")) == [(5,)]
    return db


def text_of(v):
    return "" if v is None else str(v)


def near(text, value):
    if text == "" or value is None:
        return text == text_of(value)
    return text == str(value) or abs(float(text) - value) <= max(1e-4, abs(value) * 1e-9)


def check_schema(db):
    """What is there is what is described, in that order."""
    with open(f"{SOURCE}/schemas/sqlite.md", encoding="utf-8") as f:
        lines = re.findall(r"^\| `(\w+)` \|.*?\| (.*) \|$", f.read(), re.M)
    described = {name: re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", columns))
                 for name, columns in lines}
    there = {name for name, in db.execute(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")}
    assert there == set(described), there ^ set(described)
    for name, columns in described.items():
        assert [r[1] for r in db.execute(f"PRAGMA table_info({name})")] == columns, name
        db.execute(f"SELECT * FROM {name} LIMIT 1").fetchall()


def cpu_of(v):
    return "all" if v is None else str(v)


def check_counts(db, file, *args):
    """Each line of the summary, in its order: those of iterations, then things."""
    want = table(file, "--report=summary", *args)
    got = db.execute(
        "SELECT c.iteration, c.trace, c.cpu, e.event_group, e.name, e.label, e.kind, e.unit,"
        " t.name, c.state, c.value, c.raw, c.base, c.enabled_ns, c.running_ns, c.span_ns"
        " FROM counts c JOIN events e USING(event) LEFT JOIN things t ON t.thing = c.thing"
        " ORDER BY c.rowid").fetchall()
    assert len(got) == len(want) > 5, (len(got), len(want))
    for r, g in zip(want, got):
        assert [r["iteration"], r["group"], r["event"], r["label"], r["kind"], r["unit"],
                r.get("thing", ""), r["state"]] == [str(g[0]), *g[3:8], g[8] or "", g[9]], (r, g)
        assert near(r["value"], g[10]), (r, g)
        for name, value in zip(("raw", "base", "enabled_ns", "running_ns"), g[11:15]):
            assert r[name] == text_of(value), (name, r, g)
        assert r["span_ns"] in ("", text_of(g[15])), (r, g)
        assert (r["trace"], r["cpu"]) == (text_of(g[1]), cpu_of(g[2])) or r.get("thing") \
            or g[1:3] == (0, None), (r, g)
    for r in want:
        if r.get("samples"):
            row, = db.execute("SELECT samples, idle, weight, lost, throttled, expected, residual"
                              " FROM sampled JOIN events e USING(event) WHERE iteration = ? AND"
                              " trace IS ? AND e.label = ?", (r["iteration"], int(r["trace"]) if r["trace"] else None,
                                                    r["label"]))
            names = ("samples", "idle", "weight", "lost", "throttled", "expected", "residual")
            assert [text_of(v) for v in row] == [r[n] for n in names], (r, row)
    return want


def check_totals(db, want):
    sums = collections.Counter()
    for r in want:
        if r["kind"] == "count" and r["value"]:
            cpu = r["cpu"].replace("all", "")
            sums[r["label"], r.get("thing", ""), cpu] += int(r["value"])
    got = {(e, t or "", text_of(c)): v for e, t, c, v in db.execute(
        "SELECT event, thing, cpu, value FROM totals WHERE value IS NOT NULL")}
    assert {k for k, v in got.items() if v} == {k for k, v in sums.items() if v}, got
    for key, value in got.items():
        # things of one name are rows of their own
        assert value <= sums[key] and (key[1] or value == sums[key]), (key, value)


def check_series(db, file, *args):
    want = table(file, "--report=series", *args)
    start, = db.execute("SELECT start_ns FROM session").fetchone()
    got = db.execute(
        "SELECT s.time_ns, s.span_ns, s.iteration, s.cpu, e.label, t.name, s.kind, s.state, s.value,"
        " s.raw, s.base, s.enabled_ns, s.running_ns, s.weight, CASE s.kind WHEN 'samples'"
        " THEN 'samples/s' ELSE e.series_unit END FROM series s JOIN events e"
        " USING(event) LEFT JOIN things t ON t.thing = s.thing ORDER BY s.rowid").fetchall()
    assert len(want) == len(got) > 3
    for r, g in zip(want, got):
        assert [r["monotonic_ns"], r["span_ns"], r["iteration"]] == [text_of(v) for v in g[:3]]
        assert [r["cpu"], r["label"], r["thing_name"], r["kind"], r["state"]] == \
            [cpu_of(g[3]), *(text_of(v) for v in g[4:8])], (r, g)
        assert near(r["value"], g[8]), (r, g)
        assert [r[n] for n in ("raw", "base", "enabled_ns", "running_ns", "weight", "unit")] == [
            text_of(v) for v in g[9:]], (r, g)
        assert r["time_ns"] in ("", str(g[0] - start)), (r, start)


def check_samples(db, file, *args):
    flat = {(r["event"], r["function"], r["object"]):
            tuple(int(r[n]) for n in ("self_samples", "self_count", "total_count"))
            for r in table(file, "--report=flat", *args)}
    assert flat and flat == {tuple(g[:3]): tuple(g[3:]) for g in db.execute(
        "SELECT event, function, object, self_samples, self_weight, total_weight FROM flat")}
    check_threads(db, file, *args)
    tree = sorted((r["event"], int(r["depth"]), r["function"], r["object"], int(r["self_count"]),
                   int(r["total_count"]), int(r["total_samples"]))
                  for r in table(file, "--report=tree", *args))
    assert tree == sorted(db.execute("SELECT event, depth - 1, function, object, self_weight,"
                                     " total_weight, total_samples FROM tree"))
    # a sample is the record of the same time and CPU
    records = [r for r in table(file, "--report=records", *args) if r["kind"] == "sample"]
    want = sorted((int(r["time_ns"]), r["event"], int(r["iteration"]), int(r["cpu"]), int(r["pid"] or -1),
                   int(r["tid"] or -1), r["comm"], int(r["period"]), r["function"] or None)
                  for r in records)
    got = sorted(db.execute("SELECT time_ns, event, iteration, cpu, ifnull(pid, -1), ifnull(tid, -1),"
                            " comm, weight, function FROM samples_shown"))
    assert [w[:8] for w in want] == [g[:8] for g in got] and len(got) > 10
    # inlined jumps and the like apart the sampled function is the same
    same = sum(w[8] == g[8] for w, g in zip(want, got))
    assert same > 0.98 * len(got), (same, len(got))


def check_stacks(db):
    stacks = {s: (p, d) for s, p, d in db.execute("SELECT stack, parent, depth FROM stacks")}
    for stack, (parent, depth) in stacks.items():
        assert (parent is None and depth == 1) or (parent < stack and depth == stacks[parent][1] + 1)
    texts = dict(db.execute("SELECT stack, text FROM stack_text"))
    assert set(texts) == set(stacks)
    of_mix = [t for t in texts.values() if "work_a" in t]
    assert any(re.search("(^|;)run;(.*;)?work_a", t) for t in of_mix), of_mix[:5]
    assert db.execute("SELECT count(*) FROM objects WHERE build_id IS NOT NULL AND kind = 'file'"
                      " AND name = 'mix'").fetchone()[0]
    known, = db.execute("SELECT o.path FROM functions f JOIN objects o ON o.object = f.object"
                        " WHERE f.name = 'work_a' AND f.object_name = 'mix'").fetchone() or (None,)
    assert known is None or known.endswith("/mix"), known


def check_facts(db, file):
    session = db.execute("SELECT host, machine, is_sampling, start_ns, realtime_offset_ns, spec"
                         " FROM session").fetchall()
    assert len(session) == 1 and session[0][0] == os.uname().nodename, session
    row, = session
    assert row[1] == os.uname().machine and '"events"' in row[5]
    summary = table(file, "--report=summary")
    iterations = {r["iteration"]: (r["start_ns"], r["end_ns"], r["realtime_ns"]) for r in summary}
    got = {str(g[0]): tuple(map(str, g[1:])) for g in db.execute(
        "SELECT iteration, start_ns, end_ns, end_realtime_ns FROM iterations")}
    assert got == iterations and row[3] == min(int(v[0]) for v in iterations.values())
    for start, end, realtime in iterations.values():
        assert abs(int(end) + row[4] - int(realtime)) < 10**9 and start < end
    traces = {tuple(map(str, r)) for r in db.execute("SELECT iteration, trace FROM traces")}
    names = [re.fullmatch(r"t\.(\d+)\.(\d+)\.cpuperf", n) for n in os.listdir(os.path.dirname(file))]
    assert traces == {n.groups() for n in names if n} >= {(r["iteration"], r["trace"]) for r in summary if r["trace"]}


def record_tally(folder):
    os.mkdir(folder)
    finish(sampled.start(folder, COUNTED, "--duration=50ms", num_iterations=3, metrics=METRICS))
    return f"{folder}/s.cpsession"


def record_samples(folder):
    os.mkdir(folder)
    busy, *others = [sampled.mix("ms", 60000, 2, CPUS[0])] if sampled.may_sample() else \
        [sampled.mix("ms", 60000, 2, cpu) for cpu in (CPUS[0], CPUS[-1])]
    try:
        sampled.wait_for_cpu_time([busy, *others], 0.02)
        p = sampled.start(folder, SAMPLED, "--duration=150ms", num_iterations=10000)
        sampled.finish_when(p, folder, [busy], 0.1)
    finally:
        for p in (busy, *others):
            p.kill()
            p.wait()
            p.stdout.close()
    return f"{folder}/s.cpsession", f"--pid={busy.pid}"


def check_kept(folder):
    """A session whose numbers are known: what each trace's ring and readings lost."""
    db = database(folder, f"{SOURCE}/tests/data/sessions/samples.cpsession", name="kept.db")
    rows = db.execute("SELECT iteration, trace, ring_bytes >> 20, lost, ticks, ticks_missed"
                      " FROM traces ORDER BY iteration, trace").fetchall()
    assert rows == KEPT, rows


def check_threads(db, file, *args):
    threads = collections.Counter()
    for r in table(file, "--report=threads", *args):
        for name in ("self_count", "self_samples"):
            threads[r["event"], r["pid"], r["tid"], r["comm"], name] += int(r[name])
    got = collections.Counter()
    for event_, pid, tid, comm, weight, samples in db.execute("SELECT event, pid, tid, comm, weight, samples FROM threads"):
        key = (event_, text_of(pid), text_of(tid), comm)
        got[*key, "self_count"] += weight
        got[*key, "self_samples"] += samples
    assert threads == got, (threads - got, got - threads)


def check_many(folder):
    """A row of the heap is of many calls, and one that is made by records of switches is of no sample."""
    os.mkdir(folder)
    os.chmod(os.path.dirname(folder), 0o755)
    kit.run(kit.CPUPERF, "--quiet=2", f"--output={folder}/heap", "-e", "heap:allocated@1", "--", "bash", "-c",
            "for i in {1..2000}; do a[i]=$i; done")
    db = database(folder, f"{folder}/heap")
    check_threads(db, f"{folder}/heap")
    rows, calls = db.execute("SELECT count(*), sum(samples) FROM samples").fetchone()
    assert 0 < rows < calls, (rows, calls)
    user = kit.ordinary_user(folder)
    if user:
        (cpuperf,), how = user
        kit.run(cpuperf, "--quiet=2", "--output=made", "-e", "cpu_clock@997Hz,sched:off_cpu_time@1000000", "--", "sh", "-c",
                "for i in 1 2 3 4 5 6 7 8; do /bin/true; done", **how)
        db = database(folder, f"{folder}/made", name="made.db")
        check_threads(db, f"{folder}/made")
        assert 0 in {samples for samples, in db.execute("SELECT samples FROM samples")}
        stacks, rows = (dict(db.execute(f"SELECT event, sum({column}) FROM {name} GROUP BY event"))
                        for column, name in (("self_weight", "weights"), ("weight", "samples")))
        assert stacks == rows, (stacks, rows)


def check_not_counted(db):
    states = dict(db.execute("SELECT label, state FROM events WHERE state IS NOT NULL"))
    assert states["task_clock"] == "ok"
    if states["instructions_retired"] != "ok":
        got = db.execute("SELECT DISTINCT c.state, c.value, c.raw FROM counts c JOIN events e"
                         " USING(event) WHERE e.label = 'instructions_retired'").fetchall()
        assert got == [(states["instructions_retired"], None, None)], got
        reason, = db.execute("SELECT reason FROM events WHERE label = 'instructions_retired'"
                             ).fetchone()
        assert reason


def check_filters(folder, file, pid):
    whole = database(folder, file, name="all.db")
    nr, = whole.execute("SELECT count(*) FROM samples").fetchone()
    # who ran most then: on a busy machine that may be others
    one, = whole.execute("SELECT pid FROM samples_shown WHERE event = 'cpu_clock' AND iteration = 1"
                         " AND pid IS NOT NULL GROUP BY pid ORDER BY count(*) DESC").fetchone()
    some = database(folder, file, f"--pid={one}", "--event=cpu_clock", "--iteration=1",
                    name="some.db")
    assert list(some.execute("SELECT DISTINCT pid FROM tasks")) == [(one,)]
    left = dict(some.execute("SELECT e.label, number FROM losses JOIN events e USING(event)"
                             " WHERE what = 'samples omitted'"))
    taken, = some.execute("SELECT count(*) FROM samples").fetchone()
    others, = whole.execute("SELECT count(*) FROM samples_shown WHERE event = 'cpu_clock' AND iteration = 1"
                            " AND pid IS NOT ?", (one,)).fetchone()  # of a command's session perhaps none
    assert 0 < taken < nr and left.get("cpu_clock", 0) == others, (taken, others, left)
    hidden = database(folder, file, pid, "--merge=s/^work_.$/all/", name="merged.db")
    assert not hidden.execute("SELECT 1 FROM flat WHERE function GLOB 'work_?'").fetchall()
    assert hidden.execute("SELECT 1 FROM flat WHERE function = 'all'").fetchall()


def check_pipe(folder, file):
    """Whatever takes the output, it is whole, and nothing is left in TMPDIR."""
    private = f"{folder}/tmp"
    os.mkdir(private)
    env = {**os.environ, "TMPDIR": private}
    args = [f"--session={file}", "--output-format=sqlite"]
    with open(f"{folder}/piped.db", "wb") as f:
        f.write(output(*args, env=env))
    output(*args, f"--output-file={folder}/o.db", env=env)
    piped, own = (list(sqlite3.connect(f"{folder}/{name}.db").execute(
        "SELECT time_ns, cpu, weight FROM samples ORDER BY 1, 2")) for name in ("piped", "o"))
    assert piped == own and len(own) > 50
    reader = subprocess.run(f"{PRINT} --quiet '{args[0]}' {args[1]} | head -c 100 | wc -c",
                            shell=True, stdout=subprocess.PIPE, check=False, env=env)
    assert reader.stdout.strip() == b"100"
    assert not os.listdir(private)


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


def check_failures(folder, file):
    args = [f"--session={file}", "--output-format=sqlite"]
    private = f"{folder}/tmp"
    for how in ({"preexec_fn": limit_files, "env": {**os.environ, "TMPDIR": private}},
                {"env": {**os.environ, "TMPDIR": f"{folder}/none"}}):
        done = run(*args, **how)
        assert done.returncode == 1 and not done.stdout, (done.returncode, done.stderr)
        assert done.stderr.count(b"error:") == 1 and b"cannot be" in done.stderr, done.stderr
        assert not os.listdir(private)
    full = run(*args, "--output-file=/dev/full")
    assert full.returncode == 1 and full.stderr.count(b"error:") == 1, full
    assert b"/dev/full: error: cannot be written" in full.stderr, full
    both = run(*args, "--report=flat")
    assert both.returncode == 2 and b"--report=flat are mutually exclusive" in both.stderr, both
    primary, secondary = pty.openpty()
    for columns in (80, 0):  # of some terminals the size is not known
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        done = subprocess.run([PRINT, *args], stdout=secondary, stderr=subprocess.PIPE, check=False,
                              timeout=600)
        assert done.returncode == 2 and b"is not printed to a terminal" in done.stderr, done
    os.close(primary)
    os.close(secondary)


def main():
    version = output("--version").decode()
    with tempfile.TemporaryDirectory() as top:
        tally = record_tally(f"{top}/tally")
        assert version.endswith(", with sqlite\n"), version
        db = database(top, tally)
        check_schema(db)
        check_totals(db, check_counts(db, tally))
        check_series(db, tally)
        check_facts(db, tally)
        check_not_counted(db)
        file, pid = record_samples(f"{top}/samples")
        db = database(top, file)
        check_schema(db)
        check_counts(db, file)
        check_series(db, file)
        # the files of other programs, which have the names of functions, may be gone meanwhile
        check_samples(database(top, file, pid, name="own.db"), file, pid)
        check_stacks(db)
        check_facts(db, file)
        check_filters(top, file, pid)
        check_pipe(top, file)
        check_failures(top, file)
        check_kept(top)
        check_many(f"{top}/many")


main()
