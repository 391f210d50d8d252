#!/usr/bin/env python3
"""Are stacks that do not reach the start of their program counted? Three programs run in sessions that
record callers in several ways: one deeper than the kernel's limit of addresses, one without frame
pointers, one that all can be known of. Reports and exports print for each what its stacks lack, and the
remedy, which works.
"""
import gzip
import os
import re

from kit import CPUPERF, PRINT, run, run_checks, show
import sampled
from sampled import event

HERE = os.path.dirname(os.path.abspath(__file__))
with open("/proc/sys/kernel/perf_event_max_stack", encoding="ascii") as limit:
    LIMIT = int(limit.read())
MS = 200
LEAST = 80  # samples of each program, else nothing was shown
CAUSES = {"limit": "truncated at kernel.perf_event_max_stack",
          "pointers": "ending at code without frame pointers",
          "piece": "reaching beyond the recorded piece of stack",
          "bytes": "reaching beyond the recorded stack bytes"}
REMEDIES = {"limit": "sysctl kernel.perf_event_max_stack=1024", "pointers": "-g, or programs",
            "piece": '"stack_bytes": 16384', "bytes": '"stack_bytes": 65528'}
DEEP = f"deep{LIMIT + 73}"
# What each lacks, by how callers are recorded.
MODES = {"chain": ({"flags": ["callchain"]}, {DEEP: "limit", "nofp": "pointers", "fp": None}),
         "hybrid": ({"flags": ["callchain", "user_stack"], "stack_bytes": 1024},
                    {DEEP: "limit", "nofp": "piece", "fp": None}),
         "short": ({"flags": ["user_stack"], "stack_bytes": 8192},
                   {DEEP: "bytes", "nofp": None, "fp": None}),
         "long": ({"flags": ["callchain", "user_stack"], "stack_bytes": 49152},
                  {DEEP: None, "nofp": None, "fp": None})}


def record(folder, keys):
    for name, flags in (("fp", ["-O1", "-fno-omit-frame-pointer"]),
                        ("nofp", ["-O2", "-fomit-frame-pointer"])):
        run(*os.environ.get("CC", "cc").split(), *flags, f"{HERE}/deep.c", "-o", f"{folder}/{name}")
    os.symlink("fp", f"{folder}/{DEEP}")
    spec = sampled.write_spec(folder, [event("software:cpu_clock", rate=1000000, **keys)],
                              buffer_size_in_mb=32)
    programs = ((DEEP, LIMIT + 73), ("nofp", 20), ("fp", 20))
    # as a command: the stacks of other programs would fill the rings of a busy machine
    run(CPUPERF, spec, "--", "sh", "-c",
        "; ".join(f"{folder}/{name} {depth} {MS}" for name, depth in programs), code=None)
    lost = [t.sampling["lost"] for t in sampled.traces(folder)]
    assert lost == [0] * len(lost) != [], lost


def told(text, program):
    """cause: share, of how many; of a program."""
    found = re.search(rf"[Ii]ncomplete stacks of {program}: (.*?) \(of ([\d,]+)\)", text)
    if not found:
        return {}, 0
    parts = dict(reversed(part.split(" % ", 1)) for part in found[1].split(", "))
    return ({cause: float(parts[words]) for cause, words in CAUSES.items() if words in parts},
            int(found[2].replace(",", "")))


def compare_text(text, program, cause):
    shares, nr = told(text, program)
    if not cause:  # some samples fall upon the beginning of the program, before it has frames
        assert sum(shares.values()) <= 10, (program, shares)
        return
    assert shares.get(cause, 0) >= 90 and nr >= LEAST, (program, cause, shares, nr)
    assert f"emedy for stacks {CAUSES[cause]}: " in text and REMEDIES[cause] in text, text


def compare_mode(folder, mode, reports=("flat", "tree", "calls")):
    keys, expected = MODES[mode]
    record(folder, keys)
    for program, cause in expected.items():
        for report in reports:
            compare_text(show(folder, f"--report={report}", f"--comm={program}"), program, cause)
    return f"--session={folder}/s.cpsession", expected


def check_chain(folder):
    session, expected = compare_mode(folder, "chain")
    trace = sampled.Trace(f"{folder}/t.0.0.cpuperf")
    assert [a.max_stack for e in trace.events for a in e["attrs"]] == [min(LIMIT, 8000)]
    for program, cause in expected.items():
        only = [session, f"--comm={program}"]
        # of rows and exports in standard error, and in the file where there is room for it
        for form in (["--report=flat", "--output-format=csv"], ["--output-format=folded"],
                     ["--report=records"], ["--report=records", "--output-format=ndjson"],
                     ["--output-format=perf-data", f"--output-file={folder}/x.data"]):
            done = run(PRINT, *only, *form)
            assert "ncomplete stacks" not in done.stdout
            compare_text(done.stderr, program, cause)
        run(PRINT, *only, "--output-format=html", f"--output-file={folder}/x.html")
        with open(f"{folder}/x.html", encoding="utf-8") as f:
            compare_text(f.read().replace('\\"', '"'), program, cause)
        run(PRINT, *only, "--output-format=pprof", f"--output-file={folder}/x.pb.gz")
        with gzip.open(f"{folder}/x.pb.gz") as f:
            compare_text(f.read().decode("utf-8", "replace"), program, cause)
        os.unlink(f"{folder}/x.data")
        os.unlink(f"{folder}/x.html")
        os.unlink(f"{folder}/x.pb.gz")
    # nothing is asked of callers: nothing is said of them
    for report in ("--report=threads", "--report=records", "--report=records --top=9"):
        done = run(PRINT, session, *report.split())
        assert ("ncomplete stacks" in done.stderr) == (report == "--report=records"), done.stderr
        assert "ncomplete stacks" not in done.stdout


def check_hybrid(folder):
    compare_mode(folder, "hybrid")


def check_short(folder):
    compare_mode(folder, "short")


def check_long(folder):
    compare_mode(folder, "long", ("flat",))


run_checks(globals())
