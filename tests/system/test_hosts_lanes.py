#!/usr/bin/env python3
"""The folder of a job in formats of other programs: each host is a lane, all on one axis of time, and what it has is what
its own session has in that format. Recorded here, one after the other, with a host.json each. CPUPERF and CPUPERF_PRINT
name the programs, SOURCE_DIR the tree.
"""
import collections
import csv
import glob
import io
import json
import os
import re
import sqlite3
import struct
import subprocess

import browser
import pages
import protos
import store
from kit import CPUPERF, PRINT, output, run, run_checks
from sampled import machine, may_measure_kernel, Trace, may_sample

LOOP = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.05"]
OFFSET, ERROR = 5_000_000_000_000, 250_000  # of the second host's clock
STRIDE = 10_000_000
COUNTERS = 4 << 20
SOURCE = os.environ["SOURCE_DIR"]
COUNTED = "page_faults" if may_measure_kernel() else "task_clock"  # of a command, by perf


def describe(job, folder, host, **keys):
    os.makedirs(f"{job}/{folder}", exist_ok=True)
    with open(f"{job}/{folder}/host.json", "w", encoding="utf-8") as out:
        json.dump({"version": 1, "host": host, "status": "ok", **keys}, out)


def compile_marks(folder):
    program = f"{folder}/regions"
    run("cc", "-O1", "-g", f"-I{SOURCE}/include", "-pthread", "-o", program,
        f"{os.path.dirname(os.path.abspath(__file__))}/regions_shown.c")
    return program


def make_job(folder):
    """Two hosts, the second of which has two ranks; two parts ran a program with marks: the part's folder: its name."""
    program = compile_marks(folder)
    parts = {"n1": ("n1", {"clock_offset_ns": 0, "clock_error_ns": ERROR}),
             "n2.0": ("n2", {"rank": 0, "clock_offset_ns": OFFSET, "clock_error_ns": ERROR}),
             "n2.1": ("n2", {"rank": 1})}
    os.makedirs("j")
    for part, (host, keys) in parts.items():
        command = LOOP if part == "n2.0" else [program]
        run(CPUPERF, "--quiet", "--regions", "-e", "cpu_clock@1000000,page_faults,misc:memory_used,misc:net_rx_bytes,task_clock", "-g=dwarf",
            "-o", f"j/{part}", "--", *command)
        describe("j", part, host, **keys)
    return {part: host + (f" rank {keys['rank']}" if "rank" in keys else "") for part, (host, keys) in parts.items()}


def to_starter(part):
    """From the host's CLOCK_MONOTONIC to the starter's CLOCK_REALTIME."""
    path = sorted(glob.glob(f"j/{part}/*.0.0.cpuperf"))[0]
    monotonic, _, realtime = struct.unpack_from("<QQQ", Trace(path).of(3)[-1])
    with open(f"j/{part}/host.json", encoding="utf-8") as f:
        return realtime - monotonic - json.load(f).get("clock_offset_ns", 0)


def export(what, how, *args, text=True):
    return output(PRINT, "--quiet=2", what, f"--output-format={how}", *args, text=text)


# ---- perfetto

class Packets:
    """Samples, values, slices and names of a trace, as a reader has them: by task, or by the names of tracks."""

    def __init__(self, messages, data):
        protos.check_known("perfetto", "Trace", data)
        self.seqs, self.tracks, self.clocks = {}, {}, []
        self.samples, self.events = collections.Counter(), collections.Counter()
        self.processes, self.threads, self.notes, self.times = {}, {}, [], []
        for p in messages.Trace.FromString(data).packet:
            self.take(p)

    def take(self, p):
        if p.sequence_flags & 1:
            assert p.sequence not in self.seqs, "two writers of one sequence"
            self.seqs[p.sequence] = {"clock": p.defaults.clock, "event": p.defaults.perf_samples.timebase.name,
                                     "function_name": {}, "frame": {}, "callstack": {}}
            return
        s = self.seqs[p.sequence]
        for what in "function_name", "frame", "callstack":
            for item in getattr(p.interned, what):
                assert item.iid not in s[what]
                s[what][item.iid] = item
        if p.HasField("clock_snapshot"):
            self.clocks.append({c.id: c.timestamp for c in p.clock_snapshot.clock})
        if p.HasField("track"):
            self.take_track(p.track)
        if p.HasField("perf_sample"):
            self.take_sample(p, s)
        if p.HasField("track_event"):
            self.take_event(p)

    def take_track(self, t):
        assert t.uuid not in self.tracks, "a track twice"
        assert not t.parent or t.parent in self.tracks
        self.tracks[t.uuid] = t
        if t.HasField("process"):
            assert t.process.pid not in self.processes
            self.processes[t.process.pid] = t.process.name
        if t.HasField("thread"):
            assert self.tracks[t.parent].process.pid == t.thread.pid
            self.threads[t.thread.pid, t.thread.tid] = t.thread.name

    def take_sample(self, p, s):
        m = p.perf_sample
        frames = tuple(s["function_name"][s["frame"][i].function_name].text.decode()
                       for i in s["callstack"][m.callstack].frame)
        self.samples[s["event"], p.timestamp, m.cpu, m.pid, m.tid, m.timebase_count, frames] += 1
        self.times.append(p.timestamp)

    def way(self, uuid):
        """The names of the tracks around it; of a thread its numbers."""
        t = self.tracks[uuid]
        if t.HasField("thread"):
            return ("thread", t.thread.pid, t.thread.tid)
        return (self.way(t.parent) if t.parent else ()) + (t.name,)

    def take_event(self, p):
        e, way = p.track_event, self.way(p.track_event.track)
        if way[-1] == "cpuperf":
            self.notes.append((way, e.name))
            return
        self.events[way, p.timestamp, e.type, e.name, e.value, e.integer] += 1
        self.times.append(p.timestamp)


def moved(counter, change):
    out = collections.Counter()
    for key, nr in counter.items():
        out[change(*key)] += nr
    return out


def task(number, pid):
    return number * STRIDE + min(pid % 2**32, STRIDE - 1)


def expected_of(own, number, name, shift):
    """What the lane must have of its session's own trace."""
    def way(of):
        if of[0] == "thread":
            return ("thread", task(number, of[1]), task(number, of[2])) + of[3:]
        return (name,) + of

    samples = moved(own.samples, lambda event, time, cpu, pid, tid, *rest: (
        event, time + shift, cpu, task(number, pid), task(number, tid), *rest))
    events = moved(own.events, lambda of, time, *rest: (way(of), time + shift, *rest))
    return samples, events


def check_perfetto(folder):
    protos.need()
    messages = protos.load("perfetto")
    parts = make_job(folder)
    job = Packets(messages, export("j", "perfetto", text=False))
    samples, events, processes, threads = collections.Counter(), collections.Counter(), {}, {}
    for number, (part, name) in enumerate(parts.items(), 1):
        own = Packets(messages, export(f"j/{part}", "perfetto", text=False))
        assert own.samples and own.events
        s, e = expected_of(own, number, name, to_starter(part))
        samples += s
        events += e
        # the idle task, which viewers name themselves, is not named alone
        processes.update({task(number, pid): f"{name}: {of}" for pid, of in own.processes.items()})
        threads.update({(task(number, pid), task(number, tid)): of for (pid, tid), of in own.threads.items()})
        ours = [note for way, note in job.notes if way == (name, "cpuperf")]
        theirs = [note for _, note in own.notes]
        assert set(theirs) <= set(ours), set(theirs) - set(ours)
        clock = next(note for note in ours if note.startswith("its clock"))
        if number == 3:
            assert clock == "its clock was not compared: times are those of its own", clock
        else:
            assert ("+5" if number == 2 else "+0") in clock and "to within 250" in clock, clock
    assert job.samples == samples, (job.samples - samples, samples - job.samples)
    assert job.events == events, (job.events - events, events - job.events)
    assert {k: v for k, v in job.processes.items() if k % STRIDE} == processes
    assert {k: v for k, v in job.threads.items() if k[0] % STRIDE} == threads
    # slices of the marks, counters
    assert any(key[0][0] == "thread" and key[3] == "parse" for key in events)
    assert any(key[0][0] == "n2 rank 0" for key in events)
    # one clock, which begins with the first of them
    assert {s["clock"] for s in job.seqs.values()} == {1}
    (clock,) = job.clocks
    assert set(clock) == {1} and abs(clock[1] - min(job.times)) < 1_000_000_000, (clock, min(job.times))
    assert len(job.seqs) == 3 * (3 + 1), sorted(job.seqs)
    # the rank with the clock that is ahead ran after the first host, and seems earlier by far without correction
    first = {n: min(t for _, t, _, pid, *_ in job.samples if pid // STRIDE == n) for n in (1, 2, 3)}
    assert first[2] < first[1] < first[3], first
    # one host alone is as its own session
    assert export("j", "perfetto", "--host=n1", "--threads=1", text=False) == export(
        "j/n1", "perfetto", "--threads=1", text=False)


# ---- chrome

def stack_of(out, number):
    way = []
    while number is not None:
        frame = out["stackFrames"][str(number)]
        way.append(frame["name"])
        number = frame.get("parent")
    return tuple(way)


def items_of(out, number, name):
    """Samples and events; times in ns."""
    def task_of(x):
        return task(number, x) if number else x

    def names(args):
        return args if e["name"] != "process_name" or not name else {"name": args["name"]}

    samples = collections.Counter((round(s["ts"] * 1000), task_of(s["pid"]), task_of(s["tid"]), s["name"], s.get("cpu"),
                                   s["weight"], stack_of(out, s["sf"])) for s in out["samples"])
    events = collections.Counter()
    for e in out["traceEvents"]:
        shown = json.dumps(names(e.get("args", {})), sort_keys=True)
        if e["name"] == "process_name" and number:
            own = e["args"]["name"]
            of = f"counters of {name}" if e["pid"] == COUNTERS else f"{name}: {own}"
            shown = json.dumps({"name": of}, sort_keys=True)
        time = round(e["ts"] * 1000) if "ts" in e else None
        events[time, task_of(e["pid"]), task_of(e["tid"]) if "tid" in e else None, e["ph"], e["name"], shown] += 1
    return samples, events


def later(items, by):
    return moved(items, lambda time, *rest: (time + by if time is not None else None, *rest))


def check_chrome(folder):
    parts = make_job(folder)
    job = json.loads(export("j", "chrome"))
    assert list(job) == ["displayTimeUnit", "traceEvents", "samples", "stackFrames", "otherData"]
    found = items_of(job, 0, None)
    owns, starts = [], {}
    for number, (part, name) in enumerate(parts.items(), 1):
        own = json.loads(export(f"j/{part}", "chrome"))
        owns.append((part, items_of(own, number, name)))
        starts[part] = own["otherData"]["start_monotonic_ns"] + to_starter(part)
    origin = min(starts.values())
    for k in (0, 1):
        wanted = collections.Counter()
        for part, items in owns:
            wanted += later(items[k], starts[part] - origin)
        assert found[k] == wanted, (list((found[k] - wanted).items())[:5], list((wanted - found[k]).items())[:5])
    assert min(t for t, *_ in found[0]) >= 0
    hosts = job["otherData"]["hosts"]
    assert [h["name"] for h in hosts] == list(parts.values())
    assert [h["first_pid"] for h in hosts] == [STRIDE, 2 * STRIDE, 3 * STRIDE]
    assert all("its clock was" in h["clock"] and h["session_id"] for h in hosts)
    used = {s["sf"] for s in job["samples"]}
    assert len(job["stackFrames"]) == len({int(k) for k in job["stackFrames"]}) and used <= set(map(int, job["stackFrames"]))
    assert export("j", "chrome", "--host=n1") == export("j/n1", "chrome")
    lines = json.loads(export("j", "chrome", "--lines", "--host=n*"))
    assert any(re.search(r"\(.*regions_shown\.c:\d+\)", f["name"]) for f in lines["stackFrames"].values())


# ---- sqlite

# what the rows of a host are, in words that do not depend on numbers of the database
ROWS = {
    "session": "session_id, host, machine, kernel, config_name, spec, is_sampling, start_ns, realtime_offset_ns FROM session t",
    "iterations": "iteration, start_ns, end_ns, end_realtime_ns, is_cut, cause, gap_ns, rate_divisor FROM iterations t",
    "traces": "iteration, trace, cpu, ring_bytes, idle_ns, lost, ticks, ticks_missed FROM traces t",
    "notes": "iteration, trace, text FROM notes t",
    "host_events": "e.label, t.state, t.reason FROM host_events t JOIN events e USING(event)",
    "counts": "t.iteration, t.trace, t.cpu, e.label, x.name, x.number, t.state, t.value, t.raw, t.base, t.enabled_ns,"
              " t.running_ns, t.span_ns FROM counts t JOIN events e USING(event) LEFT JOIN things x ON x.thing = t.thing",
    "sampled": "t.iteration, t.trace, t.cpu, e.label, t.samples, t.idle, t.weight, t.lost, t.throttled, t.expected,"
               " t.residual FROM sampled t JOIN events e USING(event)",
    "series": "e.label, t.iteration, t.cpu, x.name, t.kind, t.time_ns, t.span_ns, t.state, t.value, t.raw, t.weight"
              " FROM series t JOIN events e USING(event) LEFT JOIN things x ON x.thing = t.thing",
    "samples": "t.time_ns, e.label, t.iteration, t.cpu, k.pid, k.tid, m.name, k.cmdline, k.thread, t.weight, s.text, r.path"
               " FROM samples t JOIN events e USING(event) JOIN tasks k ON k.task = t.task JOIN comms m ON m.comm = k.comm"
               " LEFT JOIN stack_text s ON s.stack = t.stack LEFT JOIN regions r ON r.region = t.region",
    "weights": "e.label, s.text, t.self_samples, t.self_weight, t.total_samples, t.total_weight FROM weights t"
               " JOIN events e ON e.event = t.event JOIN stack_text s ON s.stack = t.stack",
    "objects": "name, path, kind, build_id FROM objects t",
    "tasks": "pid, tid, m.name, cmdline, thread FROM tasks t JOIN comms m USING(comm)",
    "things": "e.label, number, t.name FROM things t JOIN events e USING(event)",
    "regions": "t.depth, t.name, t.path, p.path FROM regions t LEFT JOIN regions p ON p.region = t.parent",
    "region_calls": "r.path, pid, tid, begin_ns, end_ns, self_ns, number, is_closed, is_cut FROM region_calls t"
                    " JOIN regions r ON r.region = t.region",
    "marks": "time_ns, pid, tid, r.path, t.name, value FROM marks t LEFT JOIN regions r ON r.region = t.region",
    "losses": "what, e.label, number FROM losses t LEFT JOIN events e ON e.event = t.event",
}


def database(what, path, *args):
    export(what, "sqlite", f"--output-file={path}", *args)
    db = sqlite3.connect(path)
    assert [r[0] for r in db.execute("PRAGMA integrity_check")] == ["ok"]
    assert not list(db.execute("PRAGMA foreign_key_check")), list(db.execute("PRAGMA foreign_key_check"))[:5]
    return db


def rows_of(db, table, host):
    return collections.Counter(db.execute(f"SELECT {ROWS[table]} WHERE t.host_id = {host}"))


def check_sqlite(folder):
    parts = make_job(folder)
    describe("j", "n3", "n3", status="failed", reason="ssh: connection refused")
    job = database("j", "job.db")
    has_rows = set()
    for number, part in enumerate(parts, 1):
        own = database(f"j/{part}", f"{part}.db")
        for table in ROWS:
            found, wanted = rows_of(job, table, number), rows_of(own, table, 1)
            assert found == wanted, (part, table, list((found - wanted).items())[:3], list((wanted - found).items())[:3])
            has_rows |= {table} if wanted else set()
        columns = "event, function, object, self_samples, self_weight, total_samples, total_weight"
        assert set(job.execute(f"SELECT {columns} FROM flat_by_host WHERE host_id = {number}")) == set(
            own.execute(f"SELECT {columns} FROM flat"))
        # by one clock: how long after the first one began
        zero, = job.execute(f"SELECT zero_ns FROM hosts WHERE host_id = {number}").fetchone()
        start, = own.execute("SELECT start_ns FROM session").fetchone()
        assert list(own.execute("SELECT zero_ns FROM hosts")) == [(start,)]
        shifted = {t + to_starter(part) for t in (zero,)}
        assert shifted == {min(s + to_starter(p) for p, s in starts(job, parts).items())}, part
        times = job.execute(f"SELECT min(time_ns) FROM samples_shown WHERE host_id = {number}").fetchone()
        raw, = own.execute("SELECT min(time_ns) FROM samples").fetchone()
        assert times == (raw - zero,)
    tables = set(ROWS) - {"notes", "losses"}
    assert tables <= has_rows, tables - has_rows
    assert list(job.execute("SELECT host_id, host, rank, status, reason, clock_offset_ns, clock_error_ns FROM hosts"
                            " ORDER BY host_id")) == [
        (1, "n1", None, "ok", None, 0, ERROR), (2, "n2", 0, "ok", None, OFFSET, ERROR), (3, "n2", 1, "ok", None, None, None),
        (4, "n3", None, "failed", "ssh: connection refused", None, None)]
    # of all hosts, as the report of the job
    flat = {(r["event"], r["function"], r["object"]): (int(r["self_samples"]), int(r["self_count"]), int(r["total_count"]))
            for r in csv.DictReader(io.StringIO(export("j", "csv", "--report=flat", "--top=0")))}
    assert flat == {tuple(r[:3]): r[3:] for r in job.execute(
        "SELECT event, function, object, self_samples, self_weight, total_weight FROM flat")}
    known = dict(job.execute("SELECT f.name, o.name FROM functions f JOIN objects o ON o.object = f.object"))
    assert "burn_ms" in known and known["burn_ms"] == "regions", known
    compare_queries(job)


def starts(job, parts):
    return {part: s for part, (s,) in zip(parts, job.execute("SELECT start_ns FROM session ORDER BY host_id"))}


def compare_queries(job):
    """The examples work, and say what is so."""
    with open(f"{SOURCE}/schemas/sqlite.md", encoding="utf-8") as f:
        text = f.read().split("## Hosts of a job")[1]
    queries = [q.replace("\n    ", "\n") for q in re.findall(r"^    ((?:SELECT|WITH).*?;)$", text, re.M | re.S)]
    assert len(queries) == 4
    # others' programs may be built while this runs; of one that both hosts have, the second has another build
    (name,) = job.execute("SELECT name FROM objects WHERE host_id = 2 AND kind = 'file' AND build_id IS NOT NULL"
                          " INTERSECT SELECT name FROM objects WHERE host_id = 1 LIMIT 1").fetchone()
    job.execute("UPDATE objects SET build_id = '00' WHERE host_id = 2 AND name = ?", (name,))
    differ, counted, when, builds = (job.execute(q).fetchall() for q in queries)
    assert all(abs(most - least - by) < 1e-6 for *_, least, most, by in differ), differ
    assert [r[4] for r in differ] == sorted((r[4] for r in differ), reverse=True), differ
    assert any(r[2] == 0 < r[3] for r in differ), differ  # one ran another program
    of_event = [r for r in counted if r[0] == COUNTED]
    assert {(h, rank) for _, h, rank, *_ in of_event} == {("n1", None), ("n2", 0), ("n2", 1)}
    assert abs(sum(r[4] for r in of_event) - 3) < 1e-6, of_event
    assert {h for h, *_ in when} == {"n1", "n2"} and sum(r[2] for r in when) == job.execute(
        "SELECT sum(samples) FROM samples JOIN events USING(event) WHERE label = 'cpu_clock'").fetchone()[0]
    assert (name, "n2", "00") in builds and "regions" not in {r[0] for r in builds}, builds


# ---- OpenMetrics

LINE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)(?: (\S+))?$')


def lines_of(text):
    """(name, labels, number, time in ns); the text of each family is in one place."""
    found, order = collections.Counter(), []
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            order.append(line.split()[2])
        if line.startswith("#"):
            continue
        name, labels, number, time = LINE.match(line).groups()
        assert name.startswith(order[-1]), (name, order[-1])
        of = frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
        if time:
            seconds, _, part = time.partition(".")
            time = int(seconds) * 10**9 + int(part)
        found[name, of, number, time] += 1
    assert len(order) == len(set(order)), "a family twice"
    return found


def check_openmetrics(folder):
    parts = make_job(folder)
    for how in "openmetrics", "prometheus":
        found, wanted = lines_of(export("j", how)), collections.Counter()
        unread = [key for key in found if key[0] == "cpuperf_session_unread_parts"]
        assert len(unread) == 1 and unread[0][1:3] == (frozenset(), "0"), unread
        del found[unread[0]]
        for part, name in parts.items():
            host, _, rank = name.partition(" rank ")
            with open(f"j/{part}/host.json", encoding="utf-8") as f:
                offset = json.load(f).get("clock_offset_ns", 0)
            more = {("host", host)} | ({("rank", rank)} if rank else set())
            for (line, labels, number, time), nr in lines_of(export(f"j/{part}", how)).items():
                if line == "cpuperf_session_unread_parts":
                    continue
                if line == "cpuperf_session_start_time_seconds" and offset:
                    assert number.endswith(".0") or "." in number
                    whole, _, part_of = number.partition(".")
                    number = str(int(whole) - offset // 10**9) + f".{part_of}"
                own = frozenset({x for x in labels if x[0] != "host"} | more)
                wanted[line, own, number, time - offset if time else None] += nr
        assert found == wanted, (how, list((found - wanted).items())[:3], list((wanted - found).items())[:3])
        assert any(key[0].startswith("cpuperf_region_calls") for key in found)
        assert (how == "openmetrics") == export("j", how).endswith("# EOF\n")


# ---- html

def page_sums(what):
    """Weights by the lane's name, event, and the thread with its process; a session has no lane."""
    data = pages.data_of(export(what, "html"))
    threads, sums = pages.threads(data), collections.Counter()
    for group, _, _, weight in pages.cells(data):
        t = threads[group["thread"]]
        host = data["hosts"][t["host"]] if data["hosts"] else ""
        sums[host, data["events"][group["event"]]["label"], t["comm"], t["pid"], t["tid"]] += weight
    return data, sums


def spin_while(p):
    while p.poll() is None:
        for _ in range(10000):
            pass
    assert p.returncode == 0


def check_page(folder):
    """The samples of each host are those of its own page, and have a lane. This process is a thread of two hosts."""
    os.makedirs("j")
    for part, (host, keys) in {"a": ("a", {"rank": 0}), "b": ("b<script>", {"rank": 1})}.items():
        with subprocess.Popen([CPUPERF, "--quiet", "-e", "cpu_clock@1000000,page_faults", "-d0.3", "-n1", "-o", f"j/{part}", *machine()],
                              stdout=subprocess.DEVNULL) as p:
            spin_while(p)
        describe("j", part, host, **keys)
    data, found = page_sums("j")
    assert data["hosts"] == ["a rank 0", "b<script> rank 1"] and \
        data["title"] == ("j" if may_sample() else f"process {os.getpid()}"), (data["hosts"], data["title"])
    assert data["subtitle"].startswith("2 ranks · "), data["subtitle"]
    wanted, own = collections.Counter(), collections.Counter()
    for part, name in zip("ab", data["hosts"]):
        alone, sums = page_sums(f"j/{part}")
        assert alone["hosts"] == [] and "rank" not in alone["subtitle"]
        wanted.update({(name, *key[1:]): n for key, n in sums.items()})
        own[name] = sum(n for key, n in sums.items() if key[1] == "cpu_clock" and key[3] == os.getpid())
    assert found == wanted and all(own[name] for name in data["hosts"]), (found - wanted, wanted - found, own)
    if not browser.find():
        print("skip: the page in a browser: no Chromium")
        return
    with open("j.html", "w", encoding="utf-8") as f:
        f.write(export("j", "html"))
    with browser.Browser(485, 900) as page:
        page.open("j.html")
        lanes = page.run("[...document.querySelectorAll('#rows li b')].slice(0, 3).map((e) => e.textContent)")
        assert lanes == ["all samples", *data["hosts"]], lanes
        assert page.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        slices = page.run("cpuperf.page.model.laneSlices.map((s) => s.reduce((a, b) => a + b))")
        clock = [sum(n for key, n in wanted.items() if key[:2] == (name, "cpu_clock")) for name in data["hosts"]]
        assert slices == clock, (slices, clock)
        page.search('host:"b<script> rank 1"')
        assert page.run("cpuperf.page.model.all()") == clock[1]
        mine = [t for t in page.run("cpuperf.values().pid.map(([, name]) => name)")
                if f"({os.getpid()}) on " in t]
        assert sorted(t.rpartition(" on ")[2] for t in mine) == data["hosts"], mine
        page.search("")
        page.run("""(() => {
            const frames = document.getElementById('grouping');
            frames.value = 'process';
            frames.dispatchEvent(new Event('change'));
        })()""")
        named = [f["name"] for f in page.run("cpuperf.frames()") if f"({os.getpid()})" in f["name"]]
        assert sorted(n.rpartition(" on ")[2] for n in named) == data["hosts"], named
        page.run("""(() => {
            document.getElementById('grouping').value = 'none';
            document.getElementById('grouping').dispatchEvent(new Event('change'));
        })()""")
        page.search('host:"b<script> rank 1"')
        graph = page.run("""(() => {
            const { graph, time } = cpuperf.page;
            graph.zoom(graph.graph.children(graph.graph.root)[0]);
            return [time.part.all, ...time.part.lanes].map((s) => s.reduce((a, b) => a + b));
        })()""")
        assert graph[0] == graph[2] > 0 and graph[1] == 0, graph


# ---- many hosts

MANY = 214  # one more than numbers of processes have room for


def check_many(folder):
    """More parts than there are numbers for are refused where there are such numbers, and whole elsewhere."""
    run(CPUPERF, "--quiet", "-e", f"{COUNTED},misc:memory_used", "-o", "one", "--", "true")
    for i in range(MANY):
        store.move("one/cpuperf", f"{folder}/h{i}", f"h{i}", i)
        describe("j", f"h{i}", f"h{i}")
        for path in glob.glob(f"{folder}/h{i}/*"):
            os.rename(path, f"j/h{i}/{os.path.basename(path)}")
    for how in "perfetto", "chrome":
        done = run(PRINT, "--quiet", "j", f"--output-format={how}", "--output-file=x", code=1)
        assert f"--output-format={how} has room for {MANY - 1} hosts or ranks, and there are {MANY}" in done.stderr and \
            "select some by --host and --rank" in done.stderr and not os.path.exists("x"), done.stderr
    out = json.loads(export("j", "chrome", *(f"--host=h{i}" for i in range(3))))
    assert [h["name"] for h in out["otherData"]["hosts"]] == ["h0", "h1", "h2"]
    counts = {s.split("_total", 1)[1] for s in export("j", "prometheus").splitlines()
              if s.startswith(f"cpuperf_software_{COUNTED}_") and "_total{" in s}
    assert len(counts) == MANY and len({s.split()[-1] for s in counts}) == 1, counts
    db = database("j", "j.db")
    assert list(db.execute("SELECT count(*), count(DISTINCT host), count(DISTINCT value) FROM totals"
                           " WHERE event = ? AND cpu IS NULL", [COUNTED])) == [(MANY, MANY, 1)]


def check_several_sessions(folder):
    """What is no job has lanes where times are drawn, and in no other format."""
    for name in "a", "b":
        run(CPUPERF, "--quiet", "-e", COUNTED, "-o", name, "--", "true")
    lanes = json.loads(output(PRINT, "--quiet", "a", "b", "--output-format=chrome"))["traceEvents"]
    assert len({e["pid"] for e in lanes if e["ph"] == "C"}) == 2, lanes
    run(PRINT, "--quiet", "a", "b", "--output-format=perfetto", "--output-file=lanes")
    for how in "sqlite", "openmetrics", "prometheus":
        done = run(PRINT, "--quiet", "a", "b", f"--output-format={how}", "--output-file=x", code=2)
        assert f"--output-format={how} prints one session or one job" in done.stderr, done.stderr


def check_damaged(folder):
    """A host whose files are damaged is named, once, and the others are whole."""
    program = compile_marks(folder)
    os.makedirs("j")
    for host in "a", "b":
        run(CPUPERF, "--quiet", "--regions", "-e", "cpu_clock@1000000", "-g=fp", "-o", f"j/{host}", "--", program)
        describe("j", host, host)
    path = glob.glob("j/a/*.common.cpuperf")[0]
    with open(path, "r+b") as f:
        f.truncate(os.path.getsize(path) // 2)
    done = run(PRINT, "j", "--output-format=chrome", "--output-file=x.json", code=1)
    with open("x.json", encoding="utf-8") as f:
        hosts = json.load(f)["otherData"]["hosts"]
    # the last one says what could not be read of all
    named = [sum("j/a/" in text for text in host["losses"]) for host in hosts]
    assert "j/a/" in done.stderr and named == [0, 1], (done.stderr, hosts)
    run(PRINT, "--quiet=2", "j", "--output-format=sqlite", "--output-file=x.db", code=1)
    lost = sqlite3.connect("x.db").execute("SELECT what FROM losses WHERE host_id IS NULL").fetchall()
    assert len(lost) == 1 and "j/a/" in lost[0][0], lost
    unread = [line for line in run(PRINT, "--quiet=2", "j", "--output-format=openmetrics", code=1).stdout.splitlines()
              if line.startswith("cpuperf_session_unread_parts")]
    assert len(unread) == 1 and unread[0].split()[1] == "1", unread


run_checks(globals())
