#!/usr/bin/env python3
"""A flight recorder: the samples of the last seconds stay in memory, and are written at a snapshot. Software
events only.
"""
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import kit
from kit import (CPUPERF, finish, may_count_faults, may_sample, ordinary_user, output, PRINT, run, run_checks,
                 SESSION, sql, wait_for, wait_until_measuring)
import sampled

CLOCK = "cpu_clock@499Hz"
NS = 1_000_000_000
# Spins until its standard input ends; then prints its CPU time in ns.
SPIN = """
import select, sys, time
while not select.select([0], [], [], 0)[0]:
    sum(range(20000))
print(time.process_time_ns())
"""
# Says so once it had a CPU for 0.1 s since its begin, and goes on.
SPIN_AND_SAY = """
import sys, time
while time.process_time() < 0.1:
    sum(range(20000))
print("begun", flush=True)
""" + SPIN
# 20,000 page faults for each line of its standard input.
BURSTS = """
import mmap, sys
for line in sys.stdin:
    m = mmap.mmap(-1, 4096 * 20000)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        m.madvise(mmap.MADV_NOHUGEPAGE)
    for i in range(20000):
        m[i * 4096] = 1
    m.close()
"""


def start(folder, *options, command=()):
    p = kit.start(folder, *options, command=command)
    wait_until_measuring(p, folder)
    return p


def snapshot(p, folder, nr_before, number=signal.SIGUSR2):
    """Returns when the iteration is written: the next one has begun then."""
    p.send_signal(number)
    wait_for(p, f"{folder}/{SESSION}/cpuperf.{nr_before + 1}.0.cpuperf")


def functions(folder, *options):
    """The samples of each function."""
    text = output(PRINT, "--quiet", "--report=flat", "--output-format=csv", *options, SESSION, cwd=folder)
    return {row["function"]: int(row["self_samples"]) for row in csv.DictReader(io.StringIO(text))}


def check_crash(folder):
    """What is held when a program crashes is of the span before, with all names. A plain session has all."""
    phases = [os.environ["PHASES"], "0.3", "0.1", "2.2"]
    run(CPUPERF, "-e", CLOCK, "--flight-recorder=2s", "--", *phases, code=128 + signal.SIGSEGV, cwd=folder)
    found = functions(folder)
    assert "third" in found and not {"first", "second", "fourth"} & set(found), found
    assert not [name for name in found if name.startswith("0x")], found
    sampled.check_sound(f"{folder}/{SESSION}")
    text = output(PRINT, "--quiet", "--report=flat", SESSION, cwd=folder)
    assert " s before a snapshot" in text and "expected" not in text, text
    text = output(PRINT, "--quiet", "--report=summary", "--each-iteration", SESSION, cwd=folder)
    assert "no coverage: a flight recorder" in text, text

    run(CPUPERF, "-e", CLOCK, "--", phases[0], "cpu", "0.1", "0.1", "0.1", code=128 + signal.SIGSEGV, cwd=folder)
    found = functions(folder)
    assert {"first", "second", "third"} <= set(found), found


def check_ordinary_user(folder):
    """The same of a user's own program."""
    user = ordinary_user(folder, os.environ["PHASES"])
    if user:
        (program, phases), who = user
        run(program, "-e", CLOCK, "--flight-recorder=2s", "--", phases, "0.3", "0.1", "2.2", code=128 + signal.SIGSEGV,
            **who)
        found = functions(folder)
        assert "third" in found and not {"first", "second", "fourth"} & set(found), found


def check_snapshots(folder):
    """Each snapshot holds samples of its span, later than those of the one before; nothing is twice, and no
    count falls between."""
    p = start(folder, "-e", f"{CLOCK},task_clock", "--flight-recorder=1s", command=[sys.executable, "-c", SPIN])
    for i in range(3):
        time.sleep(0.5)
        snapshot(p, folder, i)
    used = int(finish(p)[0].split()[0])
    iterations = sql(folder, "SELECT start_ns, end_ns, is_cut, cause FROM iterations ORDER BY iteration")
    assert [i[3] for i in iterations] == ["request"] * 3 + ["end"] and not any(i[2] for i in iterations), iterations
    assert all(a[1] == b[0] for a, b in zip(iterations, iterations[1:])), iterations
    counted = sum(v or 0 for v, in sql(folder, "SELECT value FROM counts JOIN events USING (event) WHERE cpu IS NULL "
                                          "AND name = 'task_clock'"))
    assert 0.8 * used <= counted, (used, counted)  # the kernel's work at context switches is dear on some machines
    samples = sql(folder, "SELECT iteration, cpu, time_ns FROM samples")
    assert len({s[1:] for s in samples}) == len(samples) and len({s[0] for s in samples}) >= 2, samples
    held = {(i, cpu): rest for i, cpu, *rest in sql(folder, "SELECT iteration, cpu, from_ns, to_ns, wanted_ns FROM held")}
    assert all(held[i, cpu][0] < ns <= held[i, cpu][1] for i, cpu, ns in samples), (held, samples)
    assert {wanted for _, _, wanted in held.values()} == {NS}, held
    for i, _, ns in samples:
        begin, end, _, _ = iterations[i]
        # its CPU is read some time after the iteration's end, and time is that of the reading
        assert begin <= ns and (i == 3 or ns <= iterations[i + 1][1]), (i, ns, iterations)
    for i in range(3):
        of_cpu = {}
        for k, cpu, ns in samples:
            of_cpu.setdefault(cpu, []).append(ns) if k == i else None
        assert all(max(t) - min(t) <= NS for t in of_cpu.values()), (i, of_cpu)
    sampled.check_sound(f"{folder}/{SESSION}")


def check_without_snapshot(folder):
    """SIGUSR1 ends an iteration without samples: they are in the next snapshot, if they still are in its
    span."""
    p = start(folder, "-e", CLOCK, "--flight-recorder=1h", command=[sys.executable, "-c", SPIN_AND_SAY])
    assert p.stdout.readline() == "begun\n"
    snapshot(p, folder, 0, signal.SIGUSR1)
    snapshot(p, folder, 1)
    finish(p)
    (_, end, _), *_ = sql(folder, "SELECT start_ns, end_ns, cause FROM iterations ORDER BY iteration")
    samples = sql(folder, "SELECT iteration, time_ns FROM samples")
    assert not [s for s in samples if s[0] == 0] and [s for s in samples if s[0] == 1 and s[1] < end], samples


def check_small(folder):
    """A ring that is too small for the span: the iteration says what it holds."""
    phases = [os.environ["PHASES"], "cpu", "0.3"]
    p = run(CPUPERF, "-e", "cpu_clock@100000", "-g", "--save-spec=x.cpspec", "--check-spec", cwd=folder)
    spec = json.loads("\n".join(l for l in open(f"{folder}/x.cpspec", encoding="utf-8") if not l.startswith("//")))
    spec["flight_recorder"] = {"seconds": 1000, "mib": 1}
    for key in "duration", "num_iterations":
        spec.pop(key, None)
    with open(f"{folder}/x.cpspec", "w", encoding="utf-8") as f:
        json.dump(spec, f)
    run(CPUPERF, "--spec-file=./x.cpspec", "-o", SESSION, "--", *phases, code=128 + signal.SIGSEGV, cwd=folder)
    notes = sql(folder, "SELECT text FROM notes")
    assert [n for n, in notes if "iteration 0 holds the last" in n and "is full" in n], notes


def check_trigger(folder):
    """A metric that comes to be beyond its limit causes a snapshot, which names it; the oldest
    is removed."""
    if not may_count_faults("triggers"):
        return
    with open(f"{folder}/x.cpspec", "w", encoding="utf-8") as f:
        json.dump({"flight_recorder": {"seconds": 100, "mib": 1, "after": 0.1}, "retain": {"iterations": 2},
                   "events": [{"group_name": "software", "event_name": "cpu_clock", "frequency": 499},
                              {"group_name": "software", "event_name": "page_faults"}],
                   "metrics": [{"name": "faults", "expr": "{page_faults}", "warn_above": 5000}]}, f)
    p = start(folder, "--spec-file=./x.cpspec", "-o", SESSION, command=[sys.executable, "-c", BURSTS])
    for i in range(1, 3):
        while not os.path.exists(f"{folder}/{SESSION}/cpuperf.{i}.0.cpuperf"):
            assert p.poll() is None, p.communicate()
            p.stdin.write("\n")
            p.stdin.flush()
            time.sleep(2.5)  # two looks without faults: the next are a new trigger
    finish(p)
    found = sql(folder, "SELECT iteration, cause FROM iterations ORDER BY iteration")
    assert len(found) == 2 and found[0] == (found[1][0] - 1, "trigger") and found[1][1] == "end", found
    left = {int(n.split(".")[1]) for n in os.listdir(f"{folder}/{SESSION}") if n.count(".") == 3}
    assert left == {i for i, _ in found}, (left, found)
    text = output(PRINT, "--quiet", "--report=summary", "--each-iteration", SESSION, cwd=folder)
    assert "\nTrigger: faults above 5000\n" in text, text
    assert "Note: trigger: faults above 5000" in text, text


def check_pressure(folder):
    """Pressure stall information beyond a limit, by a metric of an event of misc, is a trigger, once."""
    if not os.path.exists("/proc/pressure/cpu"):
        print("skip: pressure: this kernel has none", flush=True)
        return
    with open(f"{folder}/x.cpspec", "w", encoding="utf-8") as f:
        json.dump({"flight_recorder": {"seconds": 100, "mib": 1},
                   "events": [{"group_name": "software", "event_name": "cpu_clock", "frequency": 499},
                              {"group_name": "misc", "event_name": "pressure_cpu_some"}],
                   "metrics": [{"name": "stalled", "expr": "{pressure_cpu_some} / 10000000", "warn_above": -1}]}, f)
    p = start(folder, "--spec-file=./x.cpspec", command=[sys.executable, "-c", SPIN])
    wait_for(p, f"{folder}/{SESSION}/cpuperf.1.0.cpuperf")
    finish(p)
    assert sql(folder, "SELECT cause FROM iterations ORDER BY iteration") == [("trigger",), ("end",)]
    text = output(PRINT, "--quiet", "--report=summary", "--each-iteration", SESSION, cwd=folder)
    assert "\nTrigger: stalled above -1\n" in text, text


def may_see_failures(folder, what):
    """Whether the kernel reports ends of processes here; if not, prints that the checks named are skipped."""
    said = run(CPUPERF, "-e", CLOCK, "--flight-recorder=1s", "-o", "probe", "--", "true", cwd=folder).stderr
    if "is no trigger" in said:
        print(f"skip: {what}: {said.splitlines()[0]}", flush=True)
    return "is no trigger" not in said


def check_failure(folder):
    """A process of the target that a signal ends is a trigger: its snapshot holds what it did before, with names.
    One that exits is none, unless the key exits says so, nor is one of another program."""
    if not may_see_failures(folder, "processes that fail"):
        return
    crash = [os.environ["PHASES"], "cpu", "0.1"]
    script = 'sh -c "exit 7"; "$0" "$@"; read end; exit 0'
    p = start(folder, "-e", CLOCK, "--flight-recorder=100s", command=["sh", "-c", script, *crash])
    run(*crash, code=-signal.SIGSEGV)
    wait_for(p, f"{folder}/{SESSION}/cpuperf.1.0.cpuperf")
    finish(p)
    assert sql(folder, "SELECT cause FROM iterations ORDER BY iteration") == [("trigger",), ("end",)]
    text = output(PRINT, "--quiet", "--report=summary", "--each-iteration", SESSION, cwd=folder)
    assert "Trigger: process " in text and " killed by SIGSEGV" in text, text
    found = functions(folder, "--iteration=0")
    assert found.get("first") and not [name for name in found if name.startswith("0x")], found

    folder = f"{folder}/exits"
    os.mkdir(folder)
    with open(f"{folder}/x.cpspec", "w", encoding="utf-8") as f:
        json.dump({"flight_recorder": {"seconds": 100, "exits": True},
                   "events": [{"group_name": "software", "event_name": "cpu_clock", "frequency": 499}]}, f)
    p = start(folder, "--spec-file=./x.cpspec", command=["sh", "-c", script, "true"])
    wait_for(p, f"{folder}/{SESSION}/cpuperf.1.0.cpuperf")
    finish(p)
    text = output(PRINT, "--quiet", "--report=summary", "--each-iteration", SESSION, cwd=folder)
    assert re.search(r"Trigger: process \d+: exit status 7$", text, re.M), text


def check_failures_together(folder):
    """A failure while another one waits for its snapshot has no snapshot of its own, but a note."""
    if not may_see_failures(folder, "processes that fail together"):
        return
    with open(f"{folder}/x.cpspec", "w", encoding="utf-8") as f:
        json.dump({"flight_recorder": {"seconds": 100, "exits": True, "after": 1.5},
                   "events": [{"group_name": "software", "event_name": "cpu_clock", "frequency": 499}]}, f)
    script = """sh -c 'exit 7'; sh -c 'kill -ABRT $$'; read end"""
    p = start(folder, "--spec-file=./x.cpspec", command=["sh", "-c", script])
    wait_for(p, f"{folder}/{SESSION}/cpuperf.1.0.cpuperf")
    finish(p, code=None)
    text = output(PRINT, "--quiet", SESSION, cwd=folder)
    for why in r"exit status 7", r"killed by SIGABRT":
        assert re.search(rf"trigger: process \d+:? {why}", text), text


def check_attached_failure(folder):
    """The same of a process that was running before, and of one that it creates."""
    if not may_see_failures(folder, "attached processes that fail"):
        return
    with subprocess.Popen(["sh", "-c", 'read a; "$0" "$@"; read b', os.environ["PHASES"], "cpu", "0.1"],
                          stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as target:
        p = start(folder, "-e", CLOCK, "--flight-recorder=100s", f"--pid={target.pid}")
        target.stdin.write(b"\n")
        target.stdin.flush()
        wait_for(p, f"{folder}/{SESSION}/cpuperf.1.0.cpuperf")
        target.stdin.close()
        finish(p)
    assert sql(folder, "SELECT cause FROM iterations ORDER BY iteration") == [("trigger",), ("end",)]
    assert functions(folder, "--iteration=0").get("first")


def check_machine(folder):
    """The whole machine, until it is stopped: the end is a snapshot too."""
    if not may_sample("a flight recorder of the machine"):
        return
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:  # an idle machine has no samples
        p = start(folder, "-e", f"{CLOCK},context_switches", "--flight-recorder=60s")
        sampled.wait_for_cpu_time([busy], sampled.user_seconds(busy.pid) + 0.1)
        snapshot(p, folder, 0)
        p.send_signal(signal.SIGINT)
        finish(p)
        busy.kill()
    assert [c for c, in sql(folder, "SELECT cause FROM iterations ORDER BY iteration")] == ["request", "end"]
    assert sql(folder, "SELECT count(*) FROM samples WHERE iteration = 0")[0][0] > 0
    sampled.check_sound(f"{folder}/{SESSION}")


def check_limit(folder):
    """The last 100 snapshots remain, so that something that fails again and again does not fill the disk."""
    p = start(folder, "-e", CLOCK, "--flight-recorder=1s", command=("sleep", "600"))
    for nr in range(102):
        snapshot(p, folder, nr)
    p.send_signal(signal.SIGTERM)
    finish(p, None)
    with open(f"{folder}/{SESSION}/cpuperf.cpsession", encoding="utf-8") as f:
        found = json.load(f)
    assert found["removed"]["iterations"] == found["num_iterations"] - 100, found
    done = run(CPUPERF, "-e", "task_clock", "--retain=seconds:2", "--", "true", cwd=folder)
    assert "retain removes whole iterations, and this session is one" in done.stderr, done.stderr


def check_refused(folder):
    """What a flight recorder has no meaning with: one error. An option of these replaces what the spec has."""
    windows = "--windows=realtime:0:1:1"
    for options, why in [(["-e", "page_faults"], "no event is sampled"),
                         (["-e", CLOCK, "-d1"], "--duration"),
                         (["-e", CLOCK, "-n2"], "--num-iterations"),
                         (["-e", CLOCK, windows], "--windows"),
                         (["-e", CLOCK, "--delay=1"], "--delay"),
                         (["-e", CLOCK, "--delay=-1"], "--delay"),
                         (["-e", CLOCK, "-r2"], "--runs")]:
        p = run(CPUPERF, *options, "--flight-recorder=1s", "--", "true", code=None, cwd=folder)
        assert p.returncode in (1, 2, 125) and why in p.stderr and p.stderr.count("error:") == 1, (options, p)
        assert not os.path.exists(f"{folder}/{SESSION}")
    for option, others in [("--flight-recorder=1s", [windows, "--delay=1"]),
                           (windows, ["--flight-recorder=1s"]), ("--delay=1", ["--flight-recorder=1s"])]:
        spec = f"{folder}/x.cpspec"
        for other in others:
            output(CPUPERF, "-e", CLOCK, other, f"--save-spec={spec}", "--check-spec", cwd=folder)
            text = output(CPUPERF, f"--spec-file={spec}", option, "--check-spec", "--", "true", cwd=folder)
            assert ("a flight recorder of 1 s," in text) == (option == "--flight-recorder=1s"), (option, other, text)
            assert ("1 window(s)," in text) == (option == windows), (option, other, text)


run_checks(globals(), everybody=True)
