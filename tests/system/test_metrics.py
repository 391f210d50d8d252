#!/usr/bin/env python3
"""Metrics in real sessions. CPUPERF and CPUPERF_PRINT name the programs.

What is printed is made anew here, from the numbers of the events in the same output; both programs
must print the same; limits are marked, and warned of once. Software and misc events: no PMU needed.
"""
import contextlib
import csv
import io
import json
import re
import subprocess
import tempfile

from kit import CPUPERF, PRINT, run
import sampled
from sampled import COUNTED

EVENTS = [{"group_name": "software", "event_name": "cpu_clock"},
          sampled.counted(),
          {"group_name": "software", "event_name": "cpu_clock", "rate": 0, "flags": ["pinned"],
           "label": "pinned clock"},
          {"group_name": "misc", "event_name": "cpu_utilization", "label": "busy"},
          {"group_name": "misc", "event_name": "memory_used"},
          {"group_name": "fixed", "event_name": "instructions_retired"}]
METRICS = [
    {"name": "switch rate", "expr": f"{{software:{COUNTED}}} / duration", "unit": "/s"},
    {"name": "clock, \"both\"", "expr": "2 * {cpu_clock} / ({pinned clock} + {cpu_clock})"},
    {"name": "idle", "expr": "100 - {busy}", "unit": "%", "warn_below": 200, "warn_above": 300},
    {"name": "used per ns", "expr": "{memory_used} / 1024 / {cpu_clock}", "warn_above": -0.5},
    {"name": "used", "expr": "-{misc:memory_used} / 1e6", "unit": "MB", "warn_above": 0},
    {"name": "ipns", "expr": "{instructions_retired} / {cpu_clock}"},
    {"name": "impossible", "expr": "{cpu_clock} / ({cpu_clock} - {cpu_clock})"}]
# Where processes are measured, only what misc reads is of a CPU.
DURATION = "30ms" if sampled.may_sample() else "200ms"  # they may wait for a CPU
OF_CPUS = {m["name"] for m in METRICS} - {"used per ns", "used"} if sampled.may_sample() else {"idle", "ipns"}


def of(v, name, span):
    """The metric from values by label; span in ns."""
    return {"switch rate": lambda: v[COUNTED] * 1e9 / span,
            "clock, \"both\"": lambda: 2 * v["cpu_clock"] / (v["pinned clock"] + v["cpu_clock"]),
            "idle": lambda: 100 - v["busy"],
            "used per ns": lambda: v["memory_used"] / 1024 / v["cpu_clock"],
            "used": lambda: -v["memory_used"] / 1e6,
            "ipns": lambda: v["instructions_retired"] / v["cpu_clock"],
            "impossible": lambda: 1 / 0}[name]()


def write_spec(folder, events=EVENTS, metrics=METRICS, **more):
    spec = {"config_name": "made", "num_iterations": 3, "events": events, "metrics": metrics,
            "output_path_prefix": f"{folder}/t",
            "session_result_spec_path": f"{folder}/s.cpsession", **more}
    with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
        json.dump(spec, out)


def record(folder, how, *options, **more):
    while True:
        write_spec(folder, **more)
        done = run(CPUPERF, f"--spec-file={folder}/s.cpspec", f"--duration={DURATION}",
                   f"--output-format={how}", *sampled.machine(), *options)
        if sampled.may_sample() or has_run(folder):
            return done


def has_run(folder):
    """Whether the processes had a CPU in each iteration: beside others they may not."""
    rows = csv.DictReader(io.StringIO(show(folder, "csv").stdout))
    return all(int(row["value"]) for row in rows if row["label"] == "cpu_clock" and row["cpu"] == "all")


def show(folder, how):
    return run(PRINT, f"--session={folder}/s.cpsession", f"--output-format={how}", "--each-iteration")


def sums(rows):
    """The totals of the events of an iteration; a share's is of its parts. What processes have counted has one row."""
    totals, parts, spans = {}, {}, {}
    has_parts = {row["label"] for row in rows if row["trace"]}
    for row in rows:
        if row["group"] == "metric" or not row["value"] or not row["trace"] and row["label"] in has_parts:
            continue
        label = row["label"]
        totals[label] = totals.get(label, 0) + float(row["value"])
        spans[label] = max(spans.get(label, 0), int(row["span_ns"] or 0))
        if row["kind"] == "share":
            part, whole = parts.get(label, (0, 0))
            parts[label] = part + int(row["raw"]), whole + int(row["base"])
    totals.update({label: 100 * part / whole for label, (part, whole) in parts.items()})
    return totals, spans


def near(text, value):
    assert abs(float(text) - value) <= 1e-4 + 1e-8 * abs(value), (text, value)


def check_metric(row, values, spans):
    try:
        value = of(values, row["label"], spans.get(COUNTED))
    except (KeyError, ZeroDivisionError):  # an event has no number: a PMU is not there, for one
        assert row["state"] == "n/a" and row["value"] == "", row
        return
    near(row["value"], value)
    assert row["state"] == "ok" and row["raw"] == "" and row["base"] == "", row


def check_rows(rows, is_total):
    """Of one CPU in one iteration, or all of them."""
    values, spans = sums(rows)
    metrics = {row["label"]: row for row in rows
               if row["group"] == "metric" and (row["cpu"] == "all") == is_total}
    for name, row in metrics.items():
        assert row["kind"] == "metric" and row["event"] == name
        check_metric(row, values, spans)
    wanted = {m["name"] for m in METRICS} if is_total else OF_CPUS  # the machine's numbers are in trace 0
    assert set(metrics) == wanted, (set(metrics), wanted)


def check_totals(rows):
    """Each event has one row of all CPUs, which is the sum of its others or the machine's."""
    totals, _ = sums(rows)
    of_all = [row for row in rows if row["cpu"] == "all" and row["group"] != "metric"]
    assert len(of_all) == len({row["label"] for row in rows if row["group"] != "metric"}), of_all
    for row in of_all:
        assert (row["state"] == "ok") == (row["value"] != "") == (row["label"] in totals), row
        if row["value"]:
            near(row["value"], totals[row["label"]])


def check_csv(folder):
    recorded = record(folder, "csv")
    assert recorded.stdout == show(folder, "csv").stdout
    rows = list(csv.DictReader(io.StringIO(recorded.stdout)))
    for iteration in "012":
        of_it = [row for row in rows if row["iteration"] == iteration]
        check_rows(of_it, True)
        for trace in {row["trace"] for row in of_it} - {""}:
            check_rows([row for row in of_it if row["trace"] == trace], False)
        check_totals(of_it)
    return recorded


def check_ndjson(folder):
    recorded = record(folder, "ndjson").stdout
    assert recorded == show(folder, "ndjson").stdout
    objects = [json.loads(line) for line in recorded.splitlines()]
    for name in ("switch rate", "used", "used per ns"):
        totals = [o["value"] for o in objects
                  if o["label"] == name and "summary" not in o and o["cpu"] == "all"]
        summary = [o for o in objects if o["label"] == name and "summary" in o][0]
        assert len(totals) == 3 and summary["total"] is None
        near(summary["mean"], sum(totals) / 3)
        near(summary["min"], min(totals))
        near(summary["max"], max(totals))
        mean = sum(totals) / 3
        near(summary["deviation"], (sum((t - mean) ** 2 for t in totals) / 2) ** 0.5)


def check_text(folder):
    recorded = record(folder, "text").stdout
    shown = show(folder, "text").stdout
    end = "\n3 iterations, all traces\n"
    assert recorded.split(end)[1] == shown.split(end)[1]
    assert len(re.findall(r"^All: ", recorded, re.M)) == 3
    # used: whole from 1,000 MB on, less has decimals
    assert re.search(r"\| *-(\d{1,3}(,\d{3})+|\d{1,3}\.\d+)\|", recorded), recorded
    assert " (low)" in recorded, recorded
    # of what a short iteration has not counted everywhere: (partial, low)
    assert shown.count("  low\n") == recorded.count("low)"), (recorded, shown)
    assert shown.count("All traces") == 3
    for line in ("warning: idle: below 200 on CPU", "warning: used per ns: above -0.5 over all CPUs"):
        assert recorded.count(line) == 1 and shown.count(line) == 1, recorded
    assert "in iterations 0-2\n" in recorded and "warning: used:" not in recorded
    assert "n/a" in recorded


def check_warnings(done):
    """Once in the session, on standard error, where the results are for programs."""
    assert done.stderr.count("warning: idle: below 200 on CPU") == 1, done.stderr
    assert done.stderr.count("warning: used per ns: above -0.5 over all CPUs, in iterations 0-2") == 1, \
        done.stderr


def check_plan(folder):
    write_spec(folder)
    out = run(CPUPERF, "--check-spec", f"--spec-file={folder}/s.cpspec").stdout
    for text in ("\nmetric idle\n  is         100 - {busy}\n  warns      below 200, above 300\n"
                 "  unit       %\n  here       works\n",
                 "\nmetric used per ns\n  is         {memory_used} / 1024 / {cpu_clock}\n"
                 "  warns      above -0.5\n  where      over all CPUs"):
        assert text in out, out
    done = subprocess.run([CPUPERF, f"--spec-file={folder}/bad.cpspec"], stderr=subprocess.PIPE,
                          text=True, check=False)
    assert done.returncode == 1
    with open(f"{folder}/bad.cpspec", "w", encoding="utf-8") as out:
        out.write('{"events":[{"group_name":"software","event_name":"cpu_clock"}],\n'
                  ' "metrics":[{"name":"m","expr":"2 * {cpu_clok}"}]}')
    done = run(CPUPERF, f"--spec-file={folder}/bad.cpspec", code=1)
    assert "bad.cpspec:2:38: error: expr: there is no event {cpu_clok}" in done.stderr, done.stderr
    assert "did you mean {cpu_clock}?" in done.stderr


def check_without(folder):
    """Not a word of metrics where there are none."""
    for how in ("csv", "ndjson", "text"):
        recorded = record(folder, how, metrics=[]).stdout
        shown = show(folder, how).stdout
        assert how == "text" or recorded == shown
        for out in (recorded, shown):
            assert "metric" not in out and "All:" not in out and "n/a" not in out


def check_sampling(folder):
    events = [{"group_name": "software", "event_name": "cpu_clock", "rate": 1000000},
              sampled.counted() if sampled.may_sample() else sampled.counted(rate=1)]  # on CPUs, as the clock
    metrics = [{"name": "per ms", "expr": f"{{{COUNTED}}} / {{cpu_clock}} * 1e6"}]
    recorded = record(folder, "ndjson", events=events, metrics=metrics).stdout
    assert recorded == show(folder, "ndjson").stdout
    cells = [json.loads(line) for line in recorded.splitlines()]
    cells = [o for o in cells if o["label"] == "per ms" and "summary" not in o and (sampled.may_sample() or o["cpu"] == "all")]
    assert cells and all(o["samples"] is None and o["state"] == "ok" for o in cells), cells
    assert "per ms" in record(folder, "text", events=events, metrics=metrics).stdout


@contextlib.contextmanager
def measured():
    """Where processes are measured, one that runs; idle CPUs have a clock."""
    if sampled.may_sample():
        yield
        return
    with sampled.mix("ms", 600000) as mix:
        try:
            sampled.wait_for_cpu_time([mix], 0.02)
            yield
        finally:
            mix.kill()


def main():
    with tempfile.TemporaryDirectory() as folder, measured():
        check_warnings(check_csv(folder))
        check_warnings(show(folder, "csv"))
        check_ndjson(folder)
        check_text(folder)
        check_plan(folder)
        check_without(folder)
        check_sampling(folder)


if __name__ == "__main__":
    main()
