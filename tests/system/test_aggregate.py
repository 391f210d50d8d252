#!/usr/bin/env python3
"""The key aggregate: samples that the kernel, or with unwind the recorder, adds up by stack. A page fault is counted by the same event that
samples it, so with a rate of 1 no fault may be missing, or there twice, in any iteration. CPUPERF and
CPUPERF_PRINT name the programs; needs root and a kernel with BTF.
"""
import collections
import csv
import glob
import io
import os
import sqlite3
import struct
import subprocess

from kit import CPUPERF, hidden_turns, need_programs, output, PRINT, run, run_checks
from sampled import Trace, write_spec

HERE = os.path.dirname(os.path.abspath(__file__))
FRAME_STACKS, R_SAMPLE = 20, 9
ON_ONE_CPU = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]  # one table
FAULTS = {"group_name": "software", "event_name": "page_faults", "rate": 1, "flags": ["user", "pc", "callchain"],
          "aggregate": True}


WHOLE = {"flags": ["user", "pc", "callchain", "user_stack"], "stack_bytes": 8192, "unwind": True}


def build(folder, frames="-fno-omit-frame-pointer"):
    program = os.path.join(folder, "faults")
    run("cc", "-O1", frames, "-fno-optimize-sibling-calls", "-o", program, f"{HERE}/faults.c")
    return program


def measure(folder, *command, event=None, **keys):
    spec = write_spec(folder, [{**FAULTS, **(event or {})}], **{"duration": 0.02, "num_iterations": 0, **keys})
    run(CPUPERF, spec, "-o", f"{folder}/session", "--", *command, cwd=folder)
    return f"{folder}/session"


def rows(session, *args):
    text = output(PRINT, "--quiet", "--output-format=csv", *args, session)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def stacks_of(session):
    """(samples, weight, first, last) of all that was added up, and how many samples were not."""
    added, single = [], 0
    for path in glob.glob(f"{session}/cpuperf.*.*.cpuperf"):
        trace = Trace(path)
        for payload in trace.of(FRAME_STACKS):
            at = 8
            while at < len(payload):
                samples, weight, end_ns = struct.unpack_from("<QQQ", payload, at)
                kind, _, size = struct.unpack_from("<IHH", payload, at + 24)
                assert kind == R_SAMPLE, kind
                added.append((samples, weight, end_ns))
                at += 24 + size
        single += sum(r.kind == R_SAMPLE for r in trace.records())
    return added, single


def check_each_once(folder):
    """Over many iterations, and so many boundaries: no fault is lost, and none is counted twice."""
    turns = hidden_turns()
    session = measure(folder, build(folder), "2000", "8", duration=0.002)
    turns = hidden_turns() - turns
    traces = [r for r in rows(session, "--report=summary") if r["trace"]]
    total, counted = (sum(int(r[key] or 0) for r in traces) for key in ("samples", "value"))
    is_whole = all(r[key] in ("", "0") for r in traces for key in ("lost", "throttled"))
    iterations = sum(r["trace"] == "0" for r in traces)
    # a fault just before a reading may be counted before it, and have its sample after
    assert total == counted or not is_whole, traces
    assert iterations > 1, iterations
    added, single = stacks_of(session)
    assert sum(s for s, *_ in added) + single == total, (total, single)
    assert all(s == w for s, w, _ in added), added
    assert len(added) < sum(s for s, *_ in added), "nothing was added up"
    found = {r["function"]: int(r["self_samples"]) for r in rows(session, "--report=flat", "--top=0")}
    if is_whole:
        # 16 between two pauses; after a hidden task the kernel may not start the program's events (seen)
        assert 2000 - 16 * turns <= found["touch_page"] <= 2000, (turns, found)


PHASES = r"""
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sink;
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
static __attribute__((noinline, noipa)) void in(double end)
{
	while (now() < end)
		for (int i = 0; i < 100000; i++)
			sink += i;
}
static __attribute__((noinline, noipa)) void beside(double end)
{
	while (now() < end)
		for (int i = 0; i < 100000; i++)
			sink += i + 7;
}
int main(void)
{
	for (int i = 0; i < 6; i++) {
		in(now() + 0.02);
		beside(now() + 0.03);
	}
	return 0;
}
"""


def check_error_of_shares(folder):
    """Where samples stood is added up with them: of phases of 20 samples and more, ± is of their ends, as it is of single
    samples; of samples that are independent it would be four times as wide."""
    with open(f"{folder}/phases.c", "w", encoding="ascii") as f:
        f.write(PHASES)
    run("cc", "-O1", "-fno-omit-frame-pointer", "-o", f"{folder}/phases", f"{folder}/phases.c")
    run(CPUPERF, "-e", "cpu_clock@997Hz", "-g=aggregate", "-o", f"{folder}/session", "--", f"{folder}/phases", cwd=folder)
    added, single = stacks_of(f"{folder}/session")
    assert sum(s for s, *_ in added) > 9 * single, (added, single)
    number = sum(s for s, *_ in added) + single
    for options, least, most in ((), 0, 0.5), (("--from=1us",), 0.8, 1.3):  # of some of a stack's samples the order is not known
        flat = rows(f"{folder}/session", "--report=flat", "--top=0", "--only=^(in|beside)$", *options)
        share, low, high = (float(r[key]) / 100 for r in flat if r["function"] == "in" for key in ("total", "total_low", "total_high"))
        independent = 1.96 * (share * (1 - share) / number) ** 0.5
        assert 0.2 < share < 0.6 and least < (high - low) / 2 / independent < most, (options, share, low, high, number)


def check_no_regions(folder):
    """Samples that are added up have no time, and so no region."""
    error = run(CPUPERF, "-e", "page_faults@1", "-g=aggregate", "--regions", "--", "true", cwd=folder, code=125).stderr
    assert "aggregate and regions are mutually exclusive" in error and "remove aggregate" in error, error


def check_reports_agree(folder):
    session = measure(folder, build(folder), "1000", "8", duration=3600)
    assert "samples were added up" not in output(PRINT, "--report=flat", session, stderr=subprocess.STDOUT)
    flat = rows(session, "--report=flat", "--top=0")
    total = sum(int(r["self_samples"]) for r in flat)
    assert total >= 1000
    assert sum(int(r["samples"]) for r in rows(session, "--report=stacks")) == total
    summary = [r for r in rows(session, "--report=summary") if r["samples"] and not r["trace"]]
    assert {int(r["samples"]) for r in summary} == {total}, (summary, total)
    folded = output(PRINT, "--quiet", "--output-format=folded", session).splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == total
    of_touch = {line.rsplit(" ", 1)[0] for line in folded if "touch_page" in line}
    assert len(of_touch) == 8, of_touch
    assert all(line.count("left") + line.count("right") == 20 for line in of_touch), of_touch
    tree = output(PRINT, "--quiet", "--report=tree", "--output-format=ndjson", session)
    assert "touch_page" in tree
    for name in ("pprof", "sqlite", "html", "speedscope", "chrome", "perfetto"):
        output(PRINT, "--quiet", f"--output-format={name}", f"--output-file={folder}/x.{name}", session)
    missing = output(PRINT, "--report=records", session, stderr=subprocess.STDOUT)
    assert "page_faults: its samples were added up by stack: --report=records shows none of these" in missing, missing[:300]
    db = sqlite3.connect(f"{folder}/x.sqlite")
    assert db.execute("select sum(weight) from samples").fetchone() == (total,)
    comms = rows(session, "--report=flat", "--top=0", "--comm=faults")
    assert 1000 <= sum(int(r["self_samples"]) for r in comms) <= total
    output(PRINT, "--quiet", f"--diff={session}", "--within", session, code=None)


def check_unwound(folder):
    """Stacks of a program without frame pointers, which the recorder unwinds and adds up: each fault once, in each
    iteration."""
    session = measure(folder, build(folder, "-fomit-frame-pointer"), "1000", "8", event=WHOLE, duration=0.02)
    traces = [r for r in rows(session, "--report=summary") if r["trace"]]
    assert sum(r["trace"] == "0" for r in traces) > 1, traces
    total, counted = (sum(int(r[key] or 0) for r in traces) for key in ("samples", "value"))
    assert total == counted or any(r[key] not in ("", "0") for r in traces for key in ("lost", "throttled")), traces
    added, single = stacks_of(session)
    assert sum(s for s, *_ in added) + single == total, (total, single)
    assert all(s == w for s, w, _ in added), added
    # one by one: those of the iteration in which it execs, and what is not unwound in time at a boundary
    assert len(added) < sum(s for s, *_ in added), "nothing was added up"
    folded = output(PRINT, "--quiet", "--output-format=folded", session).splitlines()
    of_touch = collections.Counter()
    for line in folded:
        stack, number = line.rsplit(" ", 1)
        if "touch_page" in stack:
            of_touch[stack] += int(number)
    assert len(of_touch) == 8 and all(s.count("left") + s.count("right") == 20 and "main" in s for s in of_touch), of_touch


def check_exec_and_ended(folder):
    """Processes that execute another program, and that end within the iteration, have their names."""
    program, turns = build(folder), hidden_turns()
    session = measure(folder, "sh", "-c", f"{program} 64 1; {program} 64 1; exec {program} 64 1", duration=3600)
    turns = hidden_turns() - turns
    touched = collections.Counter()
    for row in rows(session, "--report=stacks", "--top=0", "--group-by=process"):
        if "touch_page" in row["stack"]:
            touched[row["stack"].split(";")[0]] += int(row["samples"])
    # 16 between two pauses, as in check_each_once
    assert len(touched) <= 3 and 3 * 64 - 16 * turns <= sum(touched.values()) and max(touched.values()) <= 64, (turns, touched)
    assert all(process.startswith("faults (") for process in touched), touched


def check_full(folder):
    """More stacks than the kernel's table has room for: the rest goes to the ring, and is said."""
    number, turns = 6000, hidden_turns()
    session = measure(folder, *ON_ONE_CPU, build(folder), str(number), str(number), duration=3600)
    turns = hidden_turns() - turns
    text = output(PRINT, "--report=summary", "--each-iteration", session, stderr=subprocess.STDOUT)
    assert "found no room in the kernel's table of stacks" in text, text
    added, single = stacks_of(session)
    assert single and added
    row, = [r for r in rows(session, "--report=summary") if r["trace"] and int(r["samples"] or 0) > number / 2]
    assert sum(s for s, *_ in added) + single >= int(row["samples"])
    if row["throttled"] == "0" and row["lost"] == "0":
        assert row["samples"] == row["value"], row
        touched, = [r for r in rows(session, "--report=flat", "--top=0") if r["function"] == "touch_page"]
        assert number - 16 * turns <= int(touched["self_samples"]) <= number, (turns, touched)


def check_deep(folder):
    """Stacks at the limit of callchains, added up and in the ring: Linux cuts one where a program reads it, and then
    writes a record that is not as long as it says."""
    turns = hidden_turns()
    session = measure(folder, *ON_ONE_CPU, build(folder), "4000", "4000", "100", duration=3600)
    turns = hidden_turns() - turns
    flat = rows(session, "--report=flat", "--top=0")  # fails for an invalid record
    dived = sum(int(r["self_samples"]) for r in flat if r["function"] == "dive")
    missing = sum(int(r["lost"] or 0) for r in rows(session, "--report=summary") if r["trace"])
    assert dived >= 4000 - 16 * turns - missing, (turns, missing, flat)
    added, single = stacks_of(session)
    assert single and added


def check_refused(folder):
    """Rights are missing: one line says so, and what to do."""
    spec = write_spec(folder, [{**FAULTS, "event_name": "cpu_clock", "rate": 1000000}])
    done = subprocess.run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", CPUPERF, spec, "-o",
                           f"{folder}/session", "--", "true"], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    assert "cpu_clock (programs in the kernel (BPF) are not permitted)" in done.stdout, done.stdout
    assert "No samples" in done.stdout, done.stdout


need_programs()
run_checks(globals())
