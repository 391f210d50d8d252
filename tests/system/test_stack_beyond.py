#!/usr/bin/env python3
"""Stacks that reach beyond the bytes that are copied: the kernel's chain by frame pointers completes them, with every
caller, where the program has some, in reports as while a session records. Where it has none, the remedy that is
printed works, and is another one where there are no more bytes.
"""
import csv
import functools
import io
import os
import re
import subprocess
import tempfile

from kit import CPUPERF, run, run_checks, show
import sampled
from sampled import event

HERE = os.path.dirname(os.path.abspath(__file__))
MS = 150    # of a CPU's time, each program
LEAST = 60  # samples of each, else nothing was shown
DEPTH = 20  # frames of 2 KiB: more than 16 KiB and less than 64
BUILDS = {"pointers": ["-O1", "-fno-omit-frame-pointer"], "none": ["-O2", "-fomit-frame-pointer"]}


@functools.lru_cache
def programs():
    """A folder with one of each kind."""
    folder = tempfile.TemporaryDirectory()
    for name, flags in BUILDS.items():
        subprocess.run([*os.environ.get("CC", "cc").split(), "-DROOM=2048", *flags, f"{HERE}/deep.c",
                        "-o", f"{folder.name}/{name}"], check=True)
    return folder


def record(folder, depth, stack_bytes, unwind, names=tuple(BUILDS)):
    spec = sampled.write_spec(folder, [event("software:cpu_clock", rate=1000000, flags=["callchain", "user_stack"],
                                             stack_bytes=stack_bytes, unwind=unwind)], buffer_size_in_mb=32)
    run(CPUPERF, spec, "--", "sh", "-c", "; ".join(f"{programs().name}/{name} {depth} {MS}" for name in names),
        code=None)
    lost = [t.sampling["lost"] for t in sampled.traces(folder)]
    assert lost == [0] * len(lost) != [], lost


def beyond(text, program):
    """The share of stacks that reach beyond the bytes."""
    found = re.search(rf"Incomplete stacks of {program}: .*?([\d.]+) % reaching beyond the recorded stack bytes", text)
    return float(found[1]) if found else 0


def compare_completed(folder, unwind):
    record(folder, DEPTH, 16384, unwind)
    text = show(folder, "--report=flat")
    assert beyond(text, "none") >= 90 and beyond(text, "pointers") <= 10, text
    assert '"stack_bytes": 65528' in text, text
    rows = csv.DictReader(io.StringIO(show(folder, "--report=stacks", "--comm=pointers", "--top=0",
                                           "--output-format=csv")))
    found = [(int(row["samples"]), row["stack"]) for row in rows if "; spin()" in row["stack"]]
    nr = sum(n for n, _ in found)
    whole = sum(n for n, stack in found if f"main();{' rec();' * DEPTH} spin()" in stack)
    assert nr >= LEAST and whole >= 0.9 * nr, found


def check_in_reports(folder):
    compare_completed(folder, False)


def check_while_recording(folder):
    compare_completed(folder, True)


def check_remedy(folder):
    record(folder, DEPTH, 65528, True, ["none"])
    text = show(folder, "--report=flat")
    assert beyond(text, "none") <= 10, text


def check_most_bytes(folder):
    record(folder, 3 * DEPTH, 65528, True, ["none"])
    text = show(folder, "--report=flat")
    assert beyond(text, "none") >= 90, text
    remedies = [line for line in text.splitlines() if line.startswith("Remedy for stacks reaching beyond")]
    assert len(remedies) == 1 and "-fno-omit-frame-pointer" in remedies[0] and "65528" not in text, text


run_checks(globals())
