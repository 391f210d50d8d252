#!/usr/bin/env python3
"""Experiments (cpuperf --causal): causal.c has a function on which its end depends, and one on which it does not.

What a function would bring to the wall time can be seen on a quiet machine alone. What holds on any: that the agent counts
the time of the function, that the share of it is what the others are slowed down by, and that they sleep. CPUPERF
names the program, EXPERIMENTS the agent.
"""
import csv
import errno
import io
import json
import os
import re
import struct
import subprocess
import time

from kit import CPUPERF, output, PRINT, run, run_checks

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER, OBJECT, FUNCTION = "=6I4Q2I", "=2Q2I", "=3Q"  # lib/wire/causal_memory.h
NAMES = ("critical", "slack")


def build(folder):
    program = os.path.join(folder, "causal")
    run("cc", "-O2", "-g", "-pthread", "-o", program, f"{HERE}/causal.c")
    return program


class Run:
    """A run of the program with the agent, in memory that is made here."""

    def __init__(self, folder, program, chosen, percent, *args, before=()):
        symbols = {name: (int(at, 16), int(size, 16)) for at, size, name in
                   re.findall(r"^(\w+) (\w+) [tT] (\w+)$", subprocess.check_output(["nm", "-S", program], text=True), re.M)}
        functions = sorted((*symbols[name], name) for name in NAMES)
        order = [name for _, _, name in functions]
        st = os.stat(program)
        path = os.path.join(folder, "memory")
        with open(path, "wb") as f:
            f.write(struct.pack(HEADER, 0x4c534143, 1, len(functions), order.index(chosen), percent, 0, 0, 0, 0, 0, 0, 0))
            f.write(struct.pack(OBJECT, st.st_dev, st.st_ino, 0, len(functions)))
            for at, size, _ in functions:
                f.write(struct.pack(FUNCTION, at, size, 0))
        begin = time.monotonic_ns()
        self.status = subprocess.run([*before, program, *args], check=False, env={
            **os.environ, "CPUPERF_CAUSAL_MEMORY": path, "LD_PRELOAD": os.environ["EXPERIMENTS"]}).returncode
        self.wall = time.monotonic_ns() - begin
        with open(path, "rb") as f:
            (_, _, _, _, _, self.pid, self.all, self.behind, self.sampled, self.queued, self.threads,
             self.unsampled) = struct.unpack(HEADER, f.read(struct.calcsize(HEADER)))
            f.read(struct.calcsize(OBJECT))
            self.ns = {name: struct.unpack(FUNCTION, f.read(struct.calcsize(FUNCTION)))[2] for name in order}


def until(is_so, make):
    """A run of which this is so: on a busy machine a thread may end before another one has begun."""
    for _ in range(20):
        r = make()
        if is_so(r):
            return
    raise AssertionError(vars(r))


def check_others_are_slowed_down(folder):
    program = build(folder)

    def one(how, chosen):
        r = Run(folder, program, chosen, 50, how, "120", "60")
        assert r.status == 0 and r.pid and r.threads == 3 and not r.unsampled, vars(r)
        assert r.ns["slack"] > 0 < r.ns["critical"] <= r.sampled - r.ns["slack"], vars(r)
        assert abs(r.all - r.ns[chosen] / 2) < 1000, vars(r)
        return r

    for how in "join", "barrier":
        # the thread that makes them waits for their end, so it is spared what they have paid
        until(lambda r: r.all <= r.behind, lambda how=how: one(how, "critical"))
        # nobody is: who runs the other function has slept
        until(lambda r: r.wall >= r.ns["critical"] + r.all <= r.ns["critical"] + r.behind,
              lambda how=how: one(how, "slack"))


def check_without_perf_events(folder):
    """Timers do it, and miss threads that run between ticks. The program that executes this one has the agent, too."""
    program, deny = build(folder), os.path.join(folder, "deny")
    run("cc", "-o", deny, f"{HERE}/deny.c")

    def one():
        r = Run(folder, program, "critical", 50, "join", "120", "60", before=(deny, str(errno.EACCES)))
        assert r.status == 0 and r.threads == 4 and not r.unsampled, vars(r)
        assert abs(r.all - r.ns["critical"] / 2) < 1000, vars(r)
        return r

    until(lambda r: r.all > 0, one)


def check_nobody_to_be_slowed_down(folder):
    program = build(folder)
    for percent in 0, 40, 100:
        r = Run(folder, program, "critical", percent, "serial", "100", "30")
        assert r.status == 3 and r.threads == 1, vars(r)
        assert r.all == r.behind and abs(r.all - r.ns["critical"] * percent / 100) < 1000, vars(r)


def check_child_that_blocks_signals(folder):
    """It is sampled nevertheless, and its parent waits for it, or for what it writes into a pipe."""
    program = build(folder)

    def one(how, status):
        r = Run(folder, program, "critical", 50, how, "100", "30")
        assert r.status == status and r.threads == 2 and not r.unsampled, vars(r)
        assert r.all > 0 and abs(r.all - r.ns["critical"] / 2) < 1000, vars(r)
        return r

    until(lambda r: r.all <= r.behind, lambda: one("masked", 3))
    until(lambda r: 0 < r.all <= r.behind, lambda: one("pipe", 4))


def check_command(folder):
    program = build(folder)
    os.environ["TMPDIR"] = folder
    args = ("--causal=crit*,slack", "--speedup=50,100%", "-r", "2")
    document = json.loads(output(CPUPERF, "-o", f"{folder}/s", *args, "--output-format=json", "--", program, "join", "40", "20"))
    report, = document["reports"]
    rows = report["rows"]
    assert [(r["function"], r["speedup"]) for r in rows] == [(n, p) for n in NAMES for p in (50, 100)], rows
    assert all(r["object"] == program and r["saves_low"] <= r["saves"] <= r["saves_high"] and r["rounds"] == 2 for r in rows), rows
    assert rows[0]["on_cpu"] > rows[2]["on_cpu"] > 0, rows
    # the session has them, and a run that was recorded
    kept = json.loads(output(PRINT, f"{folder}/s", "--report=causal", "--output-format=json"))
    assert kept["reports"] == document["reports"] and kept["sessions"][0]["iterations"] == 1, kept
    assert "join 40 20: exit status 0" in output(PRINT, "--no-pager", f"{folder}/s"), folder
    text = output(PRINT, "--no-pager", f"{folder}/s", "--report=causal")
    assert text.count("\ncritical") == 3 and re.search(r"^ +50 % .*\*", text, re.M) and "* by experiments" in text, text
    assert all(len(line) <= 80 for line in text.splitlines() if re.match(" +[0-9]+ % ", line)), text
    table = list(csv.DictReader(io.StringIO(output(CPUPERF, "-o", "-", "--causal=crit*", "-r2", "--output-format=csv", "--",
                                                   program, "join", "40", "20"))))
    assert [r["function"] for r in table] == ["critical"] and float(table[0]["speedup"]) == 50, table
    text = run(CPUPERF, "--causal", "-r2", "--ignore-status", "--", program, "serial", "40", "20", cwd=folder).stdout
    assert re.search(r"\(2 rounds of 2 experiments in [^)]*\)", text) and "critical" in text and "faster by" in text, text
    assert os.path.exists(f"{folder}/cpuperf.session/cpuperf.cpsession"), os.listdir(folder)
    del os.environ["TMPDIR"]
    assert not [name for name in os.listdir(folder) if name.startswith("cpuperf-causal")], os.listdir(folder)


def tried(program, scope):
    table = output(CPUPERF, "-o", "-", f"--causal={scope}", "-r2", "--output-format=csv", "--", program, "join", "20", "20")
    return {row["function"] for row in csv.DictReader(io.StringIO(table))}


def check_scopes(folder):
    """By name, by source file, and without what is excluded of both."""
    program = build(folder)
    for scope, names in [("@causal.c,!causal:sl*", {"critical"}), ("@*/system/causal.c,slack,!@*.h", {"slack"})]:
        assert tried(program, scope) == names, scope
    run("strip", "-g", program)
    for scope, message in [("@causal.c,!@*/causal.c", "source files of the functions are not known"), ("!*", "none remains"),
                           ("!", "names no functions"), ("@", "names no functions"), ("a:", "is not [OBJECT:]GLOB"),
                           (",".join(65 * ["x"]), "more than 64 parts")]:
        done = run(CPUPERF, f"--causal={scope}", "--", program, "join", "30", "10", code=125)
        assert message in done.stderr and done.stderr.count("error:") == 1, (scope, done)


def check_errors(folder):
    program = build(folder)
    for args, status, message in [
            (("--causal",), 2, "--causal requires a command"),
            (("--speedup=50", "--", program), 125, "--speedup requires --causal"),
            (("--causal", "--by=wall", "--", program), 2, "--by requires"),
            (("--causal", "--event=cpu_clock", "--", program), 2, "--causal records what it needs"),
            (("--causal", "--output-format=github", "--", program), 2, "requires --versus or --sweep"),
            (("--causal", "-o", folder, "--", program), 125, "is not a session's file"),
            (("--causal", "--sweep=n=1,2", "--", program), 2, "mutually exclusive"),
            (("--causal", "--speedup=0", "--", program), 125, "must be 1 to 100"),
            (("--causal", "--speedup=50,", "--", program), 125, "must be 1 to 100"),
            (("--causal=,", "--", program), 125, "names no functions"),
            (("--causal=nowhere", "--", program), 125, 'no function matches "nowhere"'),
            (("--causal", "--", f"{folder}/none"), 127, "cannot be executed"),
            (("--causal", "--", program), 125, "exit status 2"),
            (("--causal=main", "--", program, "join", "30", "10"), 125, "nothing was in a function that is meant")]:
        done = subprocess.run([CPUPERF, *args], check=False, capture_output=True, text=True)
        assert done.returncode == status and message in done.stderr, (args, done)
        assert done.stderr.count("error:") == 1, done.stderr


run_checks(globals())
