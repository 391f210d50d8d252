#!/usr/bin/env python3
"""Where latencies are shown: by iteration, over time, in a database, compared. latency.c makes a known
number of system calls; what each output says is compared with --report=latency. CPUPERF and
CPUPERF_PRINT name the programs; needs root and a kernel with BTF.
"""
import csv
import io
import json
import os
import re
import sqlite3

from kit import CPUPERF, output, PRINT, run, run_checks, skip

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = ["clock_nanosleep", "readv"]
EVENTS = ",".join(f"latency:syscall.{c}" for c in CALLS)
RUNS, NR = 4, 40
THINGS = ("p50", "p90", "p99", "max")


def rows(folder, *args):
    text = output(PRINT, "--quiet", "--output-format=csv", *args, cwd=folder)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def record(folder, name="s", us="2000", events=EVENTS, runs=RUNS):
    """Runs of the program: each is an iteration with NR calls of each kind."""
    program = os.path.join(folder, "latency")
    if not os.path.exists(program):
        run("cc", "-O1", "-pthread", "-o", program, f"{HERE}/latency.c")
    run(CPUPERF, f"--event={events}", f"--runs={runs}", f"--output={name}", "--", program, "2", str(NR // 2), us,
        cwd=folder)


def check_iterations(folder):
    """Each has its own; together they are all. Of several sessions each row names its own."""
    record(folder)
    found = rows(folder, "s", "--report=latency", "--sort=iteration")
    whole = [r for r in found if not r["what"]]
    assert [(int(r["iteration"]), r["event"]) for r in whole] == [
        (i, f"syscall.{c}") for i in range(RUNS) for c in sorted(CALLS)], whole
    assert all(int(r["count"]) == NR for r in whole), whole
    for row in whole:
        alone = rows(folder, "s", "--report=latency", f"--iteration={row['iteration']}",
                     f"--event=latency:{row['event']}")[0]
        assert alone == {k: v for k, v in row.items() if k != "iteration"}, (alone, row)
    assert [r["what"].endswith(" latency") for r in found if r["what"]] == [True] * RUNS * len(CALLS), found
    text = output(PRINT, "--quiet", "s", cwd=folder)
    for call in CALLS:
        assert re.search(rf"^syscall\.{call} +{RUNS * NR} +[\d.]+ m?s ", text, re.M), text
    record(folder, "t")
    both = rows(folder, "s", "t", "--report=latency", "--sort=iteration")
    assert [r for r in both if os.path.dirname(r["session"]) == "s"] == [
        {"session": r["session"], **found[i]} for i, r in enumerate(both[:len(found)])], both
    assert {os.path.dirname(r["session"]) for r in both[len(found):]} == {"t"}, both
    text = output(PRINT, "--quiet", "--report=latency", "--sort=session", "s", "t", cwd=folder)
    assert text.count("/cpuperf.cpsession ") == 2 * len(CALLS) * (1 + RUNS), text


def check_series(folder):
    """A point per iteration for each quantile, which other programs get too."""
    record(folder)
    whole = [r for r in rows(folder, "s", "--report=latency", "--sort=iteration") if not r["what"]]
    points = {(r["iteration"], r["event"], r["thing_name"]): r for r in rows(folder, "s", "--report=series")
              if r["thing_name"]}
    assert len(points) == len(whole) * len(THINGS), points
    for row in whole:
        for name in THINGS:
            p = points[row["iteration"], row["event"], name]
            assert (p["state"], p["unit"], p["kind"], p["cpu"]) == ("ok", "ns", "value", "all"), p
            assert float(p["value"]) == int(row[f"{name}_ns"]), (p, row)
    text = output(PRINT, "--quiet", "s", "--report=series", cwd=folder)
    for name in THINGS:
        assert text.count(f"\n  {name} ") == len(CALLS), text
    chrome = json.loads(output(PRINT, "--quiet", "s", "--output-format=chrome", cwd=folder))["traceEvents"]
    shown = [e["args"]["ns"] for e in chrome if e.get("name") == "syscall.readv p99"]
    assert shown == [int(r["p99_ns"]) for r in whole if r["event"] == "syscall.readv"], chrome


def check_sqlite(folder):
    """Histograms by what they are of, whose buckets have all of them."""
    if "without sqlite" in output(PRINT, "--version"):
        print("not tested: cpuperf is built without sqlite")
        return
    record(folder)
    output(PRINT, "--quiet", "s", "--output-format=sqlite", "--output-file=s.db", cwd=folder)
    db = sqlite3.connect(f"{folder}/s.db")
    own = {(int(r["iteration"]), r["event"]): r for r in rows(folder, "s", "--report=latency", "--sort=iteration")
           if r["what"]}
    found = list(db.execute("SELECT l.iteration, e.label, l.what, l.count, l.sum_ns, l.max_ns, l.p50_ns, l.p99_ns,"
                            " sum(b.count), min(b.low_ns), max(b.high_ns) FROM latencies l JOIN events e USING(event)"
                            " JOIN latency_buckets b USING(latency) GROUP BY l.latency"))
    assert len(found) == len(own) == RUNS * len(CALLS), (found, own)
    for iteration, event, what, count, sum_ns, max_ns, p50, p99, in_buckets, low, high in found:
        row = own[iteration, event]
        assert (what, count, sum_ns, max_ns) == (row["what"], NR, int(row["sum_ns"]), int(row["max_ns"])), row
        assert (round(p50), round(p99)) == (int(row["p50_ns"]), int(row["p99_ns"])), row
        assert in_buckets == NR and low <= p50 <= p99 <= max_ns < high, (row, low, high)
    db.close()


if __name__ == "__main__":
    if os.geteuid() != 0 or not os.path.exists("/sys/kernel/btf/vmlinux"):
        skip("latencies are measured by BPF programs: needs root and a kernel with BTF")
    run_checks(globals())
