#!/usr/bin/env python3
"""Events of misc at paces of their own ("every"): how many readings there are, when, and of what. Truth is a
program that logs when its memory grows, the totals of the iterations, and the notes on readings that were skipped.
"""
import contextlib
import csv
import io
import json
import re
import signal
import sqlite3
import subprocess
import sys
from collections import defaultdict

from kit import CPUPERF, SESSION, finish, may_sample, output, PRINT, run, run_checks, start, wait_until_measuring, wait_until_recorded

# Grows by 32 MiB at a time; prints when it had grown, in ns, and when it will grow next.
GROWS = """
import select, sys, time
sys.stdin.readline()
parts = []
for _ in range(4):
    select.select([sys.stdin], [], [], 0.25)
    begin = time.monotonic_ns()
    parts.append(bytearray(b'x') * (32 << 20))
    print(begin, time.monotonic_ns(), flush=True)
select.select([sys.stdin], [], [], 0.3)
"""


def series(folder, *options, session="s"):
    """Its points: dicts of texts."""
    text = output(PRINT, "--quiet", f"--session={session}", "--report=series", "--output-format=csv", *options,
                  cwd=folder)
    return list(csv.DictReader(io.StringIO(text)))


def readings(points):
    """{(event, iteration, CPU, thing): its points}, without totals."""
    found = defaultdict(list)
    for p in points:
        found[p["event"], int(p["iteration"]), p["cpu"], p["thing"]].append(p)
    return found


def skipped(folder, session="s"):
    """{(iteration, pace): readings that the notes say are missing}"""
    text = output(PRINT, "--quiet", f"--session={session}", "--report=summary", cwd=folder)
    return {(int(i), pace): int(nr) for nr, i, pace in
            re.findall(r"(\d+) of \d+ readings of iteration (\d+) at the pace of ([\d.]+ \w+) were skipped", text)}


def iterations(folder):
    """When each began and ended, in ns of the monotonic clock."""
    run(PRINT, "--quiet", "--session=s", "--output-format=sqlite", "--output-file=s.db", cwd=folder)
    with contextlib.closing(sqlite3.connect(f"{folder}/s.db")) as db:
        return db.execute("SELECT start_ns, end_ns FROM iterations ORDER BY iteration").fetchall()


def check_number_and_times(folder):
    """Of two paces; what is missing is said. The boundary's reading is one of each pace."""
    run(CPUPERF, "--quiet", "-e", "memory_used@20ms,misc:context_switches@0.05s,page_faults,cpu_user@50ms", "-d", "0.5",
        "-n", "3", "-o", "s", cwd=folder)
    points, missing = readings(series(folder)), skipped(folder)
    starts = [start for start, _ in iterations(folder)]
    for i in range(3):
        for event, cpu, every_ns, pace in (("memory_used", "all", 20e6, "20 ms"),
                                           ("context_switches", "all", 50e6, "50 ms"), ("cpu_user", "0", 50e6, "50 ms")):
            of = points[event, i, cpu, ""]
            times = [int(p["monotonic_ns"]) for p in of]
            assert times == sorted(times)
            wanted = (times[-1] - starts[i]) / every_ns
            assert abs(len(of) + missing.get((i, pace), 0) - wanted) <= 2, (event, i, len(of), missing, wanted)
            # deadlines are absolute: late readings, of which the first may be one, do not shift later ones
            late = [[(t - first) % every_ns for t in times[:-1]] for first in times[:-1]]
            near = max((sum(min(x, every_ns - x) < every_ns / 4 for x in of) for of in late), default=0)
            assert near >= (len(times) - 1) / 2, (event, late)
        assert len([p for p in points["page_faults", i, "0", ""]]) == 1  # without a pace: at the ends


def check_counts_add_up(folder):
    """What was counted between readings comes to what the iteration has, exactly."""
    run(CPUPERF, "--quiet", "-e", "misc:context_switches@10ms,cpu_user@20ms,cpu_system@30ms", "-d", "0.3", "-n", "4",
        "-o", "s", cwd=folder)
    of = defaultdict(list)
    for p in series(folder):
        if p["raw"]:
            of[p["event"], int(p["iteration"]), p["cpu"]].append((int(p["raw"]), int(p["base"] or 0)))
    assert max(len(of["context_switches", i, "all"]) for i in range(4)) > 5  # for one the recorder may have had no CPU
    rows = list(csv.DictReader(io.StringIO(output(PRINT, "--quiet", "--session=s", "--output-format=csv", cwd=folder))))
    for i in range(4):
        whole = [int(r["raw"]) for r in rows
                 if r["event"] == "context_switches" and r["iteration"] == str(i) and r["raw"]]
        assert sum(x for x, _ in of["context_switches", i, "all"]) == whole[0], (i, whole)
        for event in ("cpu_user", "cpu_system"):
            cpus = [of[e, k, cpu] for e, k, cpu in of if e == event and k == i and cpu != "all"]
            total = of[event, i, "all"]
            assert len(total) == 1 and total[0] == (sum(x for c in cpus for x, _ in c), sum(b for c in cpus for _, b in c))


def check_memory_that_grows(folder):
    """Each reading of a process is what it had at that time, or until the next one."""
    p = subprocess.Popen([sys.executable, "-c", GROWS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    spec = {"duration": 600, "events": [
        {"group_name": "misc", "event_name": "process_rss", "pids": [p.pid], "every": 0.01},
        {"group_name": "misc", "event_name": "memory_used", "every": 0.1}]}
    with open(f"{folder}/x.cpspec", "w", encoding="utf-8") as f:
        json.dump(spec, f)
    session = start(folder, "--quiet", "--spec-file=x.cpspec", "-o", SESSION)
    wait_until_measuring(session, folder)
    p.stdin.write("\n")
    p.stdin.flush()  # and stays open
    out = p.stdout.read()
    session.send_signal(signal.SIGINT)
    finish(session)
    p.communicate()
    steps = [tuple(map(int, line.split())) for line in out.splitlines()]
    seen = sorted((int(x["monotonic_ns"]), float(x["value"])) for x in series(folder, session=SESSION)
                  if x["event"] == "process_rss" and x["thing"])
    base, nr = None, 0
    for k, (_, done) in enumerate(steps):
        until = steps[k + 1][0] if k + 1 < len(steps) else done + 200_000_000
        # it is read after its time, before that of the next one: in between the recorder may have had no CPU
        for (ns, value), (later, _) in zip(seen, seen[1:]):
            if done < ns and later < until:
                base = value - (k + 1 << 25) if base is None else base
                assert abs(value - base - (k + 1 << 25)) < 4 << 20, (k, ns, value, base)
                nr += 1
    assert nr > 4, (steps, seen[:3])


def check_windows(folder):
    """Nothing of the gaps is stored."""
    run(CPUPERF, "--quiet", "-e", "memory_used@10ms", "--windows=realtime:0.2:0.1:3", "-o", "s", cwd=folder)
    captures = iterations(folder)
    points, nr = readings(series(folder)), 0
    for i, capture in enumerate(captures):
        times = [int(p["monotonic_ns"]) for p in points["memory_used", i, "all", ""]]
        # the boundaries are read before they are timed
        assert all(capture[0] < t < capture[1] for t in times[1:-1]), (capture, times)
        nr += len(times[1:-1])
    assert len(captures) == 3 and nr, (captures, nr)


def check_own_pace_beside_a_timebase(folder):
    """One event has the timebase's pace, one its own."""
    if not may_sample("an event with its own pace"):
        return
    spec = {"duration": 0.6, "events": [
        {"group_name": "software", "event_name": "cpu_clock", "frequency": 200, "flags": ["timebase", "pc"]},
        {"group_name": "misc", "event_name": "context_switches"},
        {"group_name": "misc", "event_name": "memory_used", "every": 0.1}]}
    with open(f"{folder}/x.cpspec", "w", encoding="utf-8") as f:
        json.dump(spec, f)
    run(CPUPERF, "--quiet", "--spec-file=x.cpspec", "-o", "s", cwd=folder)
    points, missing = readings(series(folder)), skipped(folder).get((0, "100 ms"), 0)
    memory, switches = (points[event, 0, "all", ""] for event in ("memory_used", "context_switches"))
    begin, end = int(switches[0]["monotonic_ns"]) - int(switches[0]["span_ns"]), int(switches[-1]["monotonic_ns"])
    assert abs(len(memory) + missing - (end - begin) / 1e8) <= 2, (len(memory), missing, begin, end)
    assert len(switches) > 2 * len(memory), (len(switches), len(memory))


def check_sessions_on_one_axis(folder):
    """Sessions of other events and paces, measured at the same time, in one file: each time is where it was."""
    if not may_sample("sessions on one axis"):
        return
    with subprocess.Popen([CPUPERF, "--quiet", "-e", "memory_used@0.05s", "-d", "600", "-o", "a"], cwd=folder,
                          stdout=subprocess.DEVNULL) as longer:
        try:
            wait_until_recorded(longer, f"{folder}/a/cpuperf.cpsession")
            run(CPUPERF, "--quiet", "-e", "cpu_clock@99Hz,page_faults", "-d", "0.3", "-o", "b", cwd=folder)
        finally:
            longer.send_signal(signal.SIGINT)
    run(PRINT, "--quiet", "--session=a", "--session=b", "--output-format=chrome", "--output-file=x.json", cwd=folder)
    with open(f"{folder}/x.json", encoding="utf-8") as f:
        items = json.load(f)["traceEvents"]
    shifts = []
    for lane, session, event, key in ((1, "a", "memory_used", "monotonic_ns"), (2, "b", "page_faults CPU 0", None)):
        shown = [i["ts"] * 1000 for i in items if i["ph"] == "C" and i["name"] == event and
                 i["pid"] // 10_000_000 == lane]
        was = [int(p["monotonic_ns"]) - (0 if key else int(p["span_ns"])) for p in series(folder, session=session)
               if p["event"] == event.split()[0] and p["cpu"] in ("all" if key else "0")]
        assert len(shown) == len(was) > 0, (session, len(shown), len(was))
        shifts += [a - b for a, b in zip(shown, was)]
    assert max(shifts) - min(shifts) < 10, shifts  # ns: one clock
    run(PRINT, "--quiet", "--session=a", "--session=b", "--output-format=html", "--output-file=x.html", cwd=folder)
    with open(f"{folder}/x.html", encoding="utf-8") as f:
        page = f.read()
    begin = min(int(p["monotonic_ns"]) - int(p["span_ns"]) for p in series(folder, session="b"))
    span_ns = int(re.search(r'"series_span_ns":(\d+)', page)[1])
    start_ns = begin + int(re.search(r'"series_start_ns":(\d+)', page)[1])
    values = json.loads(re.search(r'"label":"a/[^"]*: memory_used".*?"values":(\[[^]]*\])', page)[1])
    was = [(int(p["monotonic_ns"]), float(p["value"])) for p in series(folder, session="a")]
    nr = 0
    for (before, _), (ns, value) in zip(was, was[1:]):  # a value is of the time up to its reading
        k = ((before + ns) // 2 - start_ns) * len(values) // span_ns
        if 0 <= k < len(values) and ns - before > 40e6:  # the page has slices of some ms
            assert abs(values[k] - value) <= value * 1e-4, (k, values[k], value)
            nr += 1
    assert nr > 1, (nr, start_ns, span_ns, was)
    done = run(PRINT, "--quiet", "--session=a", "--session=b", "--output-format=speedscope", "--output-file=y", code=1,
               cwd=folder)
    assert "other events" in done.stderr or "counts only" in done.stderr, done.stderr


def check_refused(folder):
    for events, said in (("page_faults@0.1s", "only events of misc and gpu have a pace"),
                         ("memory_used@100Hz", "a misc event cannot be sampled"),
                         ("memory_used@0.5ms", "neither a rate nor a frequency nor a time")):
        done = run(CPUPERF, "-e", events, "--check-spec", code=2, cwd=folder)
        assert said in done.stderr, done.stderr


run_checks(globals())
