#!/usr/bin/env python3
"""Does everything add up? What the rows of each report, export and grouping weigh is what the line above them says, in
text, csv, ndjson, json, the exports, the database and the store; a tree's callees and its own are its total. Of kept
sessions, and of a command, of its runs, of an ordinary user's, of a heap, of many events, and of sessions together.
"""
import collections
import contextlib
import csv
import gzip
import io
import json
import os
import re
import shutil
import sqlite3
import sys

from kit import CPUPERF, ordinary_user, PRINT, run, run_checks, stride
import pages
import store

SOURCE = os.environ["SOURCE_DIR"]
KEPT = f"{SOURCE}/tests/data/sessions"
MOST = 6  # of the lines below, of each session
ALL = ("--top=0", "--min-percent=0")
LARGEST = ("path_peak",)  # rows that have a largest value each, not a part of a sum
PPROF = {"alloc_space": "allocated", "inuse_space": "live"}
NUMBER = r"[\d,]*\.?\d+"
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9,
         "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


class Session:
    """What is printed of sessions, and what flat has of each event: {event: (samples, weight)}."""

    def __init__(self, *names):
        self.names = names
        self.flat = self.rows("flat")
        self.whole = sums(self.flat, "event", "self_samples", "self_count")
        assert self.whole, names
        self.has_states = any("_clock" in name or "_time" in name for name in self.whole)
        # by records of switches: the states of threads have these, too, the time on a CPU its samples alone
        self.has_records = any(r["function"] == "[not sampled]" for r in self.flat)

    def print(self, *args, **how):
        """Of a recorder that was killed something is missing, which the status says."""
        done = run(PRINT, "--quiet", *self.names, *args, code=None, **how)
        assert done.returncode in (0, 1) and done.stdout, (self.names, args, done)
        return done.stdout

    def rows(self, report, *args):
        text = self.print(f"--report={report}", "--output-format=csv", *ALL, *args)
        return [r for r in csv.DictReader(io.StringIO(text, newline="")) if r.get("event") not in LARGEST]


def sums(rows, key, *columns):
    found = {}
    for r in rows:
        was = found.get(r[key], (0,) * len(columns))
        found[r[key]] = tuple(a + int(r[c] or 0) for a, c in zip(was, columns))
    return found


def assert_whole(s, found, what):
    """Each event has what flat has of it. Events that are states of threads are one, where states are asked for."""
    found = dict(found)
    states = found.pop("thread_time", None)
    if states:
        parts = [v for name, v in s.whole.items() if name not in found]
        samples, weight = map(sum, zip(*parts))
        assert states[1] == weight and (states[0] == samples or s.has_records and states[0] > samples), \
            (s.names, what, states, parts)
    assert {k: v for k, v in s.whole.items() if k in found or not states} == found, (s.names, what, found, s.whole)


def assert_shares(s, rows, column, what):
    """Of an event, or of what has a part of it, shares are 100 %, but for the digits after the sixth."""
    found = collections.Counter()
    for r in rows:
        found[r["event"]] += float(r[column] or 0)
    for name, percent in found.items():
        assert abs(percent - (100 if s.whole.get(name, (1, 1))[1] else 0)) < 1e-6 * (len(rows) + 1), \
            (s.names, what, name, percent)


def sum_rows(s, report, *args):
    rows = s.rows(report, *args)
    share, samples, weight = (("share", "samples", "count") if report == "stacks" else
                              ("self", "self_samples", "self_count"))
    assert_whole(s, sums(rows, "event", samples, weight), (report, args))
    if not args or args[0] not in ("--sort=session", "--sort=host", "--sort=rank"):  # of which each has shares of its own
        assert_shares(s, rows, share, (report, args))


def sum_tree(s, report, *args):
    """Callers have their callees, and what is their own."""
    rows = s.rows(report, *args)
    of = {(r["event"], r["node"]): r for r in rows}
    below = {key: [0, 0, 0.0] for key in of}
    roots = collections.defaultdict(lambda: (0, 0))
    for r in rows:
        mine = int(r["total_samples"]), int(r["total_count"]), float(r["total"])
        if r["parent"]:
            key = r["event"], r["parent"]
            below[key] = [a + b for a, b in zip(below[key], mine)]
        else:
            roots[r["event"]] = tuple(a + b for a, b in zip(roots[r["event"]], mine))
    for key, (samples, weight, percent) in below.items():
        r = of[key]
        assert int(r["total_count"]) == int(r["self_count"]) + weight, (s.names, report, args, r, weight)
        assert int(r["total_samples"]) >= samples, (s.names, report, args, r, samples)
        assert abs(float(r["total"]) - float(r["self"]) - percent) < 1e-6 * (len(rows) + 1), (r, percent)
    assert_whole(s, roots, (report, args))


def sum_calls(s):
    """No call weighs more than what is called."""
    total = {(r["event"], r["function"], r["object"]): int(r["total_count"] or 0) for r in s.flat}
    for r in s.rows("calls"):
        for side in ("caller", "callee"):
            assert int(r["count"]) <= total[r["event"], r[side], r[f"{side}_object"]], (s.names, r)


def sum_same_rows(s, form, *args):
    """The rows of csv, however they are written."""
    text = s.print("--report=flat", f"--output-format={form}", *ALL, *args)
    rows = ([json.loads(line) for line in text.splitlines()] if form == "ndjson" else
            [r for report in json.loads(text)["reports"] for r in report["rows"]])
    rows = [r for r in rows if r["event"] not in LARGEST]
    assert_whole(s, sums(rows, "event", "self_samples", "self_count"), form)
    assert [str(r["function"]) for r in rows] == [r["function"] for r in s.flat], (s.names, form)


def amount(text):
    """(value, half of its last digit) of what people read."""
    number, unit = re.fullmatch(rf"({NUMBER})(?: (\w+))?", text).groups()
    digits = number.replace(",", "").partition(".")[2]
    scale = UNITS.get(unit, 1)
    return float(number.replace(",", "")) * scale, 0.5001 * scale * 10.0**-len(digits)


def read_text(text):
    """{event: (what its heading says, the column heads, its lines)}"""
    found = {}
    for part in re.split(r"\n\n+", "\n" + text.strip("\n")):
        lines = part.strip("\n").split("\n")
        head = re.match(rf"([\w.:/-]+): (?:({NUMBER}) samples?, )?({NUMBER}(?: \w+)?)", lines[0])
        at = next((i for i, line in enumerate(lines) if re.search(r"\bcount\b", line)), 0)
        if head and at:
            found[head[1]] = (head[2], head[3]), lines[at], lines[at + 1:]
    return found


def cells(heads, line):
    """{head: text} of columns that end with their heads, and of the last, which begins with it."""
    found, begin = {}, 0
    for m in re.finditer(r"\S+", heads):
        right = m[0] in ("self", "total", "share", "samples", "count")
        found[m[0]] = line[begin:m.end()].strip() if right else line[m.start():]
        begin = m.end() if right else begin
    return found


def percent_of(text):
    """(value, half of its last digit) of a share; one without ± is a limit: from nothing to there."""
    number = re.search(r"(\d+)(?:\.(\d+))? %", text)
    if not number:
        return 0.0, 0.0
    value, error = float(number[0][:-2]), 0.5001 * 10.0**-len(number[2] or "")
    if text.startswith("≤"):
        return 0.0, 0.0
    return (100.0, 100 - value) if text.startswith("≥") else (value, error)


def sum_text(s, report, *args):
    """What the heading says is what flat has in csv, and what the rows have, and what is left of them."""
    tables = read_text(s.print(f"--report={report}", *args))
    column = "share" if report == "stacks" else "self"
    if report == "flat":
        assert set(tables) >= {k for k, (samples, _) in s.whole.items() if samples}, (s.names, set(tables), s.whole)
    for name, ((samples, weight), heads, lines) in tables.items():
        if name not in s.whole or name in LARGEST:
            continue
        whole = int((samples or str(s.whole[name][0])).replace(",", "")), *amount(weight)
        assert whole[0] == s.whole[name][0] and abs(whole[1] - s.whole[name][1]) <= whole[2], (s.names, name, whole)
        percent = error = seen = 0
        rest = False
        for line in lines:
            more = re.match(r"… [\d,]+ more(?:: ([\d.]+) %)?", line)
            if not more and not re.match(r" *(≥ |≤ )?[\d.]+ %( ± |  )", line):
                break
            cell = {column: f"{more[1] or 0} %"} if more else cells(heads, line)
            value, off = percent_of(cell[column])
            percent, error, rest = percent + value, error + off, rest or bool(more)
            seen += 0 if more else int(cell.get("samples", "").replace(",", "") or 0)
        assert not whole[1] or abs(percent - 100) <= error + 0.001, (s.names, report, args, name, percent, error)
        assert seen == whole[0] or (rest or "samples" not in heads) and seen <= whole[0], (s.names, report, args, name, seen, whole)


def event_of_folded(s, line):
    first = line.partition(";")[0]
    return first if len(s.whole) > 1 else next(iter(s.whole))


def sum_folded(s):
    found = collections.Counter()
    for line in s.print("--output-format=folded").splitlines():
        found[event_of_folded(s, line)] += int(line.rpartition(" ")[2])
    assert_weights(s, found, "folded")


def assert_weights(s, found, what):
    whole = {k: weight for k, (_, weight) in s.whole.items() if weight}
    assert {k: v for k, v in found.items() if v and k not in LARGEST} == whole, (s.names, what, found, whole)


def fields(data):
    """(number, value) of a message of Protocol Buffers: a number, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if not data[at - 1] & 128:
                return value

    while at < len(data):
        key = varint()
        assert key & 7 in (0, 2), key
        value = varint()
        if key & 7 == 2:
            at, value = at + value, data[at:at + value]
        yield key >> 3, value


def numbers(data):
    """A packed list."""
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift = shift + 7 if byte & 128 else 0
        if not shift:
            yield value
            value = 0


def sum_pprof(s):
    """Profile: 1 is sample_type (1 of it the type's text), 2 sample (2 of it the values), 6 string_table."""
    profile = list(fields(gzip.decompress(s.print("--output-format=pprof", text=False))))
    texts = [value.decode() for number, value in profile if number == 6]
    names = [texts[dict(fields(value))[1]] for number, value in profile if number == 1]
    found = collections.Counter()
    for number, value in profile:
        for name, weight in zip(names, numbers(dict(fields(value))[2]) if number == 2 else ()):
            found[name] += weight
    found = {PPROF.get(k, k): v for k, v in found.items()}
    assert_weights(s, {k: v for k, v in found.items() if k in s.whole}, "pprof")


def sum_database(s):
    """In views by function and by thread, and in the roots of the tree."""
    if len(s.names) > 1 and s.names[1] == "two":
        return  # it has one session, or one job
    run(PRINT, "--quiet", *s.names, "--output-format=sqlite", "--output-file=x.db", code=None)
    queries = {"flat": "SELECT event, sum(self_samples), sum(self_weight) FROM flat GROUP BY event",
               "tree": "SELECT event, sum(total_samples), sum(total_weight) FROM tree WHERE depth = 1 GROUP BY event",
               "threads": "SELECT event, sum(samples), sum(weight) FROM threads GROUP BY event"}
    with contextlib.closing(sqlite3.connect("x.db")) as db:
        for name, query in queries.items():
            found = {k: (n, w) for k, n, w in db.execute(query) if k not in LARGEST}
            if name == "threads":  # its rows are of samples, each of which may be several of a heap
                assert_weights(s, {k: w for k, (_, w) in found.items()}, "sqlite")
            else:
                assert_whole(s, found, ("sqlite", name))
        below, = db.execute("SELECT count(*) FROM tree t WHERE total_weight <> self_weight + (SELECT ifnull("
                            "sum(total_weight), 0) FROM tree c WHERE c.parent = t.stack AND c.event = t.event)").fetchone()
        assert not below, (s.names, below)
    os.unlink("x.db")


def sum_page(s):
    """The parts of its timeline."""
    data = pages.data_of(s.print("--output-format=html"))
    found = collections.defaultdict(lambda: (0, 0))
    for group, _, samples, weight in pages.cells(data):
        name = data["events"][group["event"]]["label"]
        found[name] = found[name][0] + samples, found[name][1] + weight
    for name in ("cpu_clock", "task_clock") if s.has_records else ():  # a part of the line for each of them
        if name in found and name in s.whole:
            assert found[name][0] > s.whole[name][0], (s.names, found, s.whole)
            found[name] = s.whole[name][0], found[name][1]
    assert_whole(s, {k: v for k, v in found.items() if k in s.whole or k == "thread_time"}, "html")


def sum_store(s):
    reason = store.missing()
    if reason or s.names[0].startswith("--perf-data"):
        print(f"skip: parquet: {reason or 'of sessions alone'}", flush=True)
        return
    run(PRINT, "--quiet", *s.names, "--output-format=parquet", "--output-file=store", code=None)
    found = {name: (int(n), int(w)) for name, n, w in store.rows(  # it runs in another folder
        os.path.abspath("store"), "SELECT event, sum(self_samples), sum(self_weight) FROM flat GROUP BY event") if name not in LARGEST}
    assert_whole(s, found, "parquet")
    shutil.rmtree("store")


def sum_summary(s):
    """Rows of CPUs are those of all of them, in each iteration."""
    if s.names[0].startswith("--perf-data"):
        return  # it has no counts
    text = s.print("--report=summary", "--output-format=csv", "--each-iteration")
    of_cpus, of_all = (collections.defaultdict(collections.Counter) for _ in range(2))
    for r in csv.DictReader(io.StringIO(text, newline="")):
        if r["state"] != "ok" or r["kind"] != "count" or r.get("thing") or r.get("host"):
            continue
        to = (of_all if not r["trace"] else of_cpus)[r["iteration"], r["label"]]
        for column in ("value", "raw", "samples", "weight", "lost"):
            to[column] += int(r[column] or 0)
    for key, whole in of_all.items():
        if key in of_cpus:
            assert whole == of_cpus[key], (s.names, key, whole, of_cpus[key])


def sum_states(s):
    """What the answer says of the threads' time: parts of it. Text has one digit after the point of each."""
    for line in s.print("--report=summary").splitlines():
        if "% on CPU" in line and "of threads" in line:
            parts = [float(n) for n in re.findall(r"(\d+\.\d) %", line)]
            assert abs(sum(parts) - 100) <= 0.051 * len(parts), (s.names, line)


def sum_annotate(s):
    """The lines and the instructions of a function weigh what it weighs."""
    found = collections.Counter()
    for r in s.rows("annotate"):
        found[r["event"], r["function"], r["object"], r["kind"]] += int(r["self_count"] or 0)
    weight = {(r["event"], r["function"], r["object"]): int(r["self_count"]) for r in s.flat}
    for (*function, kind), count in found.items():
        assert count == weight[tuple(function)], (s.names, function, kind, count, weight[tuple(function)])


COLUMNS = ("object", "comm", "cmdline", "pid", "tid", "thread", "cpu", "line", "iteration", "state", "reason", "waker",
           "waker_function", "region", "event", "session", "host", "rank", "function,comm", "pid,state,function")
GROUPS = ("process", "thread", "comm", "state")
LINES = [*((sum_rows, "flat", f"--sort={c}") for c in COLUMNS), *((sum_rows, r) for r in ("threads", "waits", "stacks")),
         *((sum_rows, "stacks", f"--group-by={g}") for g in GROUPS),
         *((sum_tree, r) for r in ("tree", "callers")), *((sum_tree, "tree", f"--group-by={g}") for g in GROUPS),
         (sum_tree, "callers", "--group-by=comm"), (sum_calls,), (sum_same_rows, "ndjson"), (sum_same_rows, "json"),
         *((sum_text, r, *a) for r in ("flat", "threads", "stacks") for a in ((), ALL)),
         (sum_text, "flat", "--top=3"), (sum_text, "flat", "--min-percent=5"), (sum_folded,), (sum_pprof,),
         (sum_database,), (sum_page,), (sum_store,), (sum_summary,), (sum_states,), (sum_annotate,)]
WALL = "software:cpu_clock@997Hz,sched:run_queue_time@1000000,sched:off_cpu_time@1000000,task_clock"
turns = []


def add_up(*names):
    s = Session(*names)
    for function, *args in stride(LINES, MOST, len(turns)):
        if s.has_states or not any(re.search(r"\bstate|\breason|waits|waker", arg) for arg in args):
            function(s, *args)
    turns.append(names)


def check_kept(_):
    for name in ("samples", "stacks", "killed"):
        add_up(f"--session={KEPT}/{name}.cpsession", f"--sysroot={KEPT}/root")
    sum_text(Session(f"--session={KEPT}/stacks.cpsession", f"--sysroot={KEPT}/root"), "stacks", "--top=3")
    add_up(f"--perf-data={KEPT}/samples.perf.data", f"--sysroot={KEPT}/root")


PROGRAM = 'import subprocess, zlib\nfor i in range(12): subprocess.run(["true"], check=True)\n' \
          'for i in range(120): zlib.compress(bytes(range(256)) * 400)'


def record(*options, command=(sys.executable, "-c", PROGRAM), **how):
    run(CPUPERF, "--quiet", *options, "--", *command, **{"code": None, **how})


def check_command(_):
    record("--output=one")
    record("--output=two", command=(os.environ["MIX"], "cpu_ms", "60", "2"))
    add_up("one")
    add_up("two")
    add_up("one", "two")


def check_runs(_):
    record("-r", "2", "--output=runs")
    add_up("runs")


def check_events(_):
    """Many that are sampled by themselves, two of them clocks."""
    record("--output=many", "-g", "-e", "cpu_clock@2000Hz,task_clock@500Hz,page_faults@7,software:minor_faults@3")
    add_up("many")


def check_heap(_):
    record("--output=heap", "-e", "heap:allocated@1000,heap:peak@1000,heap:live@1000")
    add_up("heap")


def check_user(folder):
    """Waits are found by records of switches."""
    user = ordinary_user(folder, os.environ["MIX"])
    if user:
        (program, mix), how = user
        run(program, "--quiet", "-g", f"--event={WALL}", "--output=mine", "--", "sh", "-c", f"for i in 1 2 3 4; do {mix} cpu_ms 10 2; true; done",
            **how)
        add_up("mine")


if __name__ == "__main__":
    run_checks(globals(), everybody=True)
