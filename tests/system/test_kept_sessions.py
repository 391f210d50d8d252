#!/usr/bin/env python3
"""Sessions of earlier versions print unchanged. CPUPERF_PRINT names the program.

tests/data/sessions has sessions recorded by version 0.1.0 on an emulated ARM machine: a tally, a
tally of processes and disks, samples with counts and readings between them, packed samples with
stack bytes, one that was killed, and samples exported as perf.data; and the samples with functions
that functions_made.py has added. What each prints is kept in
expected/. Names come from the program in root/ alone, so every machine prints the same.

A change of what is printed is a decision: CPUPERF_RENEW=1 writes the kept output anew, and git
shows what became of it.
"""
import csv
import difflib
import io
import os
import shutil
import subprocess
import sys
import tempfile

PRINT = os.environ["CPUPERF_PRINT"]
FOLDER = os.path.join(os.environ["SOURCE_DIR"], "tests/data/sessions")
RENEW = os.environ.get("CPUPERF_RENEW") == "1"

SUMMARY = {"summary.txt": [], "summary.csv": ["--output-format=csv"],
           "summary.ndjson": ["--output-format=ndjson"], "raw.txt": ["--output-format=raw"],
           "openmetrics.txt": ["--output-format=openmetrics"], "series.txt": ["--report=series"],
           "iterations.txt": ["--report=summary", "--each-iteration"]}
REPORTS = {f"{name}.txt": [f"--report={name}"]
           for name in ("flat", "tree", "callers", "calls", "stacks", "threads", "records",
                        "branches", "top-down")}
EXPORTS = {"series.csv": ["--report=series", "--output-format=csv"],
           "flat.csv": ["--report=flat", "--output-format=csv"],
           "flat.ndjson": ["--report=flat", "--output-format=ndjson"],
           "folded.txt": ["--output-format=folded"],
           "speedscope.json": ["--output-format=speedscope"]}

FUNCTIONS = {f"functions.{form}": ["--report=functions", f"--output-format={form}"] for form in ("txt", "csv", "ndjson")}
FUNCTIONS["functions.txt"] = ["--report=functions"]
FUNCTIONS["functions.iterations.csv"] = ["--report=functions", "--sort=iteration", "--output-format=csv"]
SESSIONS = {"tally": SUMMARY, "things": SUMMARY, "samples": SUMMARY | REPORTS | EXPORTS,
            "stacks": SUMMARY | REPORTS | EXPORTS,
            "functions": FUNCTIONS | {name: SUMMARY[name] for name in ("summary.txt", "raw.txt")},
            "killed": {name: {**SUMMARY, **REPORTS}[name]
                       for name in ("summary.txt", "iterations.txt", "raw.txt", "flat.txt",
                                    "threads.txt")}}
PERF_DATA = {"flat.txt": ["--report=flat"], "records.txt": ["--report=records"],
             "folded.txt": ["--output-format=folded"]}


def show(source, options):
    """What goes to stdout; what a cut or absent file makes of the exit status is not asked here."""
    done = subprocess.run([PRINT, source, "--sysroot=root", *options], cwd=FOLDER, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "TZ": "UTC", "LC_ALL": "C", "COLUMNS": "80"})
    assert done.returncode in (0, 1), (source, options, done.returncode, done.stderr)
    return done.stdout.decode("utf-8")


def check(kept, printed):
    path = os.path.join(FOLDER, "expected", kept)
    if RENEW:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(printed)
    with open(path, encoding="utf-8") as kept_file:
        expected = kept_file.read()
    if printed == expected:
        return True
    sys.stdout.writelines(list(difflib.unified_diff(
        expected.splitlines(True), printed.splitlines(True), f"expected/{kept}", "printed"))[:40])
    return False


def check_cut_common():
    """Each report and format reports once a common file that was cut, in a frame or between two."""
    for size in (6896, 2800):
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir(FOLDER):
                if name.startswith("samples.") and not name.endswith(".data"):
                    shutil.copy(os.path.join(FOLDER, name), folder)
            os.truncate(os.path.join(folder, "samples.common.cpuperf"), size)
            for options in (*(["--report=summary", f"--output-format={form}"]
                              for form in ("text", "csv", "ndjson", "raw")),
                            *([f"--report={name}"] for name in ("series", "top-down", "records")),
                            ["--report=series", "--output-format=csv"],
                            ["--output-format=openmetrics"]):
                done = subprocess.run([PRINT, f"--session={folder}/samples.cpsession", *options],
                                      check=False, capture_output=True, timeout=600)
                assert done.returncode == 1 and done.stdout, (size, options, done)
                assert done.stderr.count(b"samples.common.cpuperf: error: ") == 1, (size, options, done)
                if options == ["--output-format=openmetrics"]:
                    assert b"\ncpuperf_session_unread_parts 1 " in done.stdout, done


def check_things_of_all():
    """What a thing counted over all iterations is what their rows add up to, by the time of all; csv has no other rows
    with --each-iteration."""
    form = ["--output-format=csv"]
    text = show("--session=things.cpsession", form)
    assert text == show("--session=things.cpsession", form + ["--each-iteration"])
    rows = [r for r in csv.DictReader(io.StringIO(text)) if r["event"] in ("process_cpu_time", "process_rss")]
    span = sum(int(r["span_ns"]) for r in rows if not r["thing"] and not r["trace"] and r["span_ns"])
    span = span or sum(int(r["span_ns"]) for r in rows if not r["thing"] and r["span_ns"])
    most = {}
    for r in rows:
        if r["thing"]:
            most.setdefault(r["thing"], {}).setdefault(r["event"], []).append(int(r["value"]))
    brief = show("--session=things.cpsession", [])
    assert "Iteration" not in brief and "Trace" not in brief, brief
    block = brief[brief.index("Most active"):].split("\ndisk")[0].splitlines()[2:]
    assert len(block) == 11 and block[-1] == f"and {len(most) - 10} more", block
    assert len(show("--session=things.cpsession", ["--top=2"]).splitlines()) == len(brief.splitlines()) - 8
    by_time = sorted(most, key=lambda name: -sum(most[name]["process_cpu_time"]))
    for line, name in zip(block[:3], by_time):
        share = 100 * sum(most[name]["process_cpu_time"]) / span
        assert line.startswith(name) and f" {share:.1f} %" in line, (line, name, share)
        rss = most[name]["process_rss"]
        assert f"{sum(rss) / len(rss) / 1e6:.3f} MB" in line or rss[0] < 1e6, (line, rss)


def check_no_iteration():
    """An iteration that the session does not have is said once, however many reports are printed."""
    done = subprocess.run([PRINT, "--session=samples.cpsession", "--sysroot=root", "--iteration=99", "--report=summary",
                           "--report=flat"], cwd=FOLDER, check=False, capture_output=True)
    assert done.stderr.count(b"--iteration: no session has one of these") == 1, done


def check_width():
    """Reasons and descriptions are broken where lines of a pipe end, and shapes end before."""
    for report, text in (("series", "llc_misses            n/a: not supported: the kernel refuses\n  PERF_COUNT"),
                         ("top-down", "llc_misses: the kernel refuses\n  PERF_COUNT")):
        done = subprocess.run([PRINT, "--quiet", "--session=tally.cpsession", f"--report={report}"], cwd=FOLDER, check=True,
                              capture_output=True, text=True, env={**os.environ, "CPUPERF_COLUMNS": "70"})
        assert text in done.stdout, done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 70 and "\n    █" not in done.stdout, done.stdout


def main():
    check_cut_common()
    check_width()
    check_no_iteration()
    check_things_of_all()
    same = []
    for name, views in SESSIONS.items():
        same += [check(f"{name}/{view}", show(f"--session={name}.cpsession", options))
                 for view, options in views.items()]
    same += [check(f"samples.perf.data/{view}", show("--perf-data=samples.perf.data", options))
             for view, options in PERF_DATA.items()]
    print(f"{sum(same)} of {len(same)} views of kept sessions are unchanged")
    sys.exit(0 if all(same) else 1)


main()
