#!/usr/bin/env python3
"""Sessions of earlier versions print unchanged. CPUPERF_PRINT names the program.

tests/data/sessions has sessions recorded by version 0.1.0 on an emulated ARM machine: a tally, a
tally of processes and disks, samples with counts and readings between them, packed samples with
stack bytes, one that was killed, and samples exported as perf.data. What each prints is kept in
expected/. Names come from the program in root/ alone, so every machine prints the same.

A change of what is printed is a decision: CPUPERF_RENEW=1 writes the kept output anew, and git
shows what became of it.
"""
import difflib
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
           "iterations.txt": ["--report=summary"]}
REPORTS = {f"{name}.txt": [f"--report={name}"]
           for name in ("flat", "tree", "callers", "calls", "stacks", "threads", "records",
                        "branches", "top-down")}
EXPORTS = {"series.csv": ["--report=series", "--output-format=csv"],
           "flat.csv": ["--report=flat", "--output-format=csv"],
           "flat.ndjson": ["--report=flat", "--output-format=ndjson"],
           "folded.txt": ["--output-format=folded"],
           "speedscope.json": ["--output-format=speedscope"]}

SESSIONS = {"tally": SUMMARY, "things": SUMMARY, "samples": SUMMARY | REPORTS | EXPORTS,
            "stacks": SUMMARY | REPORTS | EXPORTS,
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


def main():
    check_cut_common()
    same = []
    for name, views in SESSIONS.items():
        same += [check(f"{name}/{view}", show(f"--session={name}.cpsession", options))
                 for view, options in views.items()]
    same += [check(f"samples.perf.data/{view}", show("--perf-data=samples.perf.data", options))
             for view, options in PERF_DATA.items()]
    print(f"{sum(same)} of {len(same)} views of kept sessions are unchanged")
    sys.exit(0 if all(same) else 1)


main()
