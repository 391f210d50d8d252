#!/usr/bin/env python3
"""--windows and --delay: what is measured lies in the captures, and the gaps are stated. Truth is what the
measured programs log of themselves; nothing depends on how late the machine schedules. Software events only.
"""
import ast
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import sampled
from kit import (CPUPERF, finish, may_sample, ordinary_user, output, PRINT, run, run_checks, SESSION, sql, start,
                 wait_for)

# Two threads spin by turns, 0.2 s each, until standard input ends; prints who spun when, in ns.
TURNS = """
import select, threading, time
turns, stop, log = [threading.Semaphore(1), threading.Semaphore(0)], [False], []
def spin(me):
    while not stop[0]:
        turns[me].acquire()
        begin = time.monotonic_ns()
        while not stop[0] and time.monotonic_ns() < begin + 200_000_000:
            sum(range(500))
        log.append((threading.get_native_id(), begin, time.monotonic_ns()))
        turns[1 - me].release()
threads = [threading.Thread(target=spin, args=(i,)) for i in (0, 1)]
[t.start() for t in threads]
select.select([0], [], [])
stop[0] = True
[t.join() for t in threads]
print(log)
"""
# Each of three processes uses this many seconds of CPU time.
TREE = """
import os, sys, time
children = [os.fork() for _ in range(2)]
while time.process_time() < %g:
    sum(range(2000))
if all(children):
    [os.wait() for _ in children]
"""


def iterations(folder):
    """[(start, end, cause, gap before it)]"""
    return sql(folder, "SELECT start_ns, end_ns, cause, gap_ns FROM iterations ORDER BY iteration")


def windows(folder):
    """{iteration: (cycle, ns on its clock, late at its start, late at its end)}"""
    raw = output(PRINT, "--quiet", "--output-format=raw", SESSION, cwd=folder)
    found = re.findall(r"Iteration (\d+) .*\n=+\nNot measured before it: \d+ ns\nWindow 0, cycle (\d+): (\d+) ns "
                       r"on its clock, begun (\d+) ns late, ended (\d+) ns late", raw)
    rows = sql(folder, "SELECT iteration, cycle, clock_ns, start_late_ns, end_late_ns FROM windows WHERE window = 0")
    found = {int(i): tuple(map(int, rest)) for i, *rest in found}
    assert found.items() <= {i: tuple(rest) for i, *rest in rows}.items(), (found, rows)
    assert sql(folder, "SELECT count(*) FROM windows JOIN iterations USING (iteration, gap_ns)") == \
        sql(folder, "SELECT count(*) FROM windows"), rows
    return found


def check_samples(folder):
    """Each sample lies in a capture, is of the thread that ran then, and no count is of a gap."""
    p = start(folder, "-e", "task_clock@1000Hz", "--windows=realtime:0.3:0.25:9",
              command=[sys.executable, "-c", TURNS])
    wait_for(p, f"{folder}/{SESSION}/cpuperf.4.0.cpuperf")  # it grows
    log = ast.literal_eval(finish(p)[0].splitlines()[0])
    found = iterations(folder)[:4]
    assert [i[2] for i in found] == ["window"] * 4, found
    samples = sql(folder, "SELECT time_ns, iteration, tid FROM samples JOIN tasks USING(task) WHERE iteration < 4")
    assert samples
    for begin, end, _, gap in found:
        assert gap > 0 and end > begin, found
    for (_, before, _, _), (begin, _, _, gap) in zip(found, found[1:]):
        assert begin - before == gap, found
    for t, i, _ in samples:
        assert found[i][0] <= t and (i == 3 or t < found[i + 1][0]), (t, i, found)
    # the end of an iteration is read a little after the time that is stored for it
    in_gaps = [(t, i) for t, i, _ in samples if t > found[i][1] + 100_000_000]
    assert len(in_gaps) <= len(samples) / 5, (in_gaps, found)
    running = [(tid, who) for t, _, tid in samples for who, a, b in log if a < t < b]
    assert sum(tid != who for tid, who in running) <= len(running) / 5, (samples, log)


def check_counts(folder):
    """A count and its enabled time are of the capture, for a command and for processes."""
    busy = [sys.executable, "-c", "import select\nwhile not select.select([0], [], [], 0)[0]: sum(range(9999))"]
    for is_attached in False, True:
        target = subprocess.Popen(busy, stdin=subprocess.PIPE) if is_attached else None
        p = start(folder, "-e", "task_clock", "--windows=realtime:0.5:0.1:3",
                  *([f"--pid={target.pid}"] if target else []), command=() if target else busy)
        while not os.path.exists(f"{folder}/{SESSION}/cpuperf.2.0.cpuperf") and p.poll() is None:
            time.sleep(0.01)
        finish(p)
        if target:
            target.communicate()
        counts = sql(folder, "SELECT value, enabled_ns, end_ns - start_ns FROM counts JOIN iterations "
                     "USING(iteration) WHERE cpu IS NULL")
        assert len(counts) == 3, counts
        for value, enabled, span in counts:
            assert max(value or 0, enabled or 0) < span + 200_000_000, counts
        os.rename(f"{folder}/{SESSION}", f"{folder}/{is_attached}")


def check_tree(folder):
    """The CPU time of a tree counts as a whole, and no boundary is early. No process reaches the second window."""
    p = start(folder, "-e", "task_clock", "--windows=process_cputime:0.5:0.1:3",
              command=[sys.executable, "-c", TREE % 1.0])
    finish(p)
    found, seen = iterations(folder), windows(folder)
    assert [i[2] for i in found[:3]] == ["window"] * 3, found
    assert [seen[i][0] for i in range(3)] == [0, 1, 2], seen
    for _, ns, begun_late, ended_late in (seen[i] for i in range(3)):
        assert begun_late >= 100_000_000 or ns + begun_late == 100_000_000 + ended_late, seen


def expect_functions(folder, before_ns, took_ns):
    """Of windows 0.3:0.3:2 of CPU time, over a program that uses another function after each 300 ms of its
    own: each has samples of one. Their clocks differ by what the program used before it began, and by what
    the host took."""
    apart_ns = before_ns + took_ns + 20_000_000  # that is counted in 10 ms
    seen = windows(folder)
    for i, function in enumerate(["second", "fourth"]):
        text = output(PRINT, "--quiet", "--report=flat", "--output-format=csv", f"--iteration={i}", SESSION, cwd=folder)
        found = {row["function"]: int(row["self_samples"]) for row in csv.DictReader(io.StringIO(text))
                 if row["function"] in ("first", "second", "third", "fourth")}
        right = found.pop(function, 0)
        _, _, begun_late, ended_late = seen[i]
        assert sum(found.values()) <= (apart_ns + begun_late + ended_late) / 1e6, (i, found, right, apart_ns, seen)
        assert right >= 30 or begun_late > 100_000_000, (i, found, right, seen)


def check_function(folder):
    """Other programs on the CPU do not disturb windows of CPU time; nor does it take root."""
    options = ["-e", "task_clock@1000000", "--windows=process_cputime:0.3:0.3:2", "--"]
    phases = os.environ["PHASES"]
    for user in ([CPUPERF, phases], {"cwd": folder}), ordinary_user(folder, phases):
        if user:
            (program, phases), who = user
            stolen_ns = sampled.stolen_ns()
            done = run(program, *options, phases, "cpu", "0.3", "0.3", "0.3", "0.3", code=128 + signal.SIGSEGV, **who)
            expect_functions(folder, int(done.stdout.split()[0]), sampled.stolen_ns() - stolen_ns)
            shutil.rmtree(f"{folder}/{SESSION}")


def check_sleeper(folder):
    """While the target sleeps, its windows do not move; its end is in an iteration of its own."""
    p = start(folder, "-e", "task_clock", "--windows=process_cputime:60:1:1", command=["sleep", "0.5"])
    finish(p)
    found = iterations(folder)
    assert [i[2] for i in found] == ["end"] and found[0][3] >= 500_000_000, found
    assert not sql(folder, "SELECT value FROM counts WHERE value > 0")


def check_delay(folder):
    p = start(folder, "-e", "task_clock", "--delay=300ms", command=["sh", "-c", "sleep 2; exit 3"])
    finish(p, 3)
    found = iterations(folder)
    assert [i[2] for i in found] == ["end"] and found[0][3] >= 300_000_000, found
    assert "not measured" in output(PRINT, "--quiet", "--report=summary", "--each-iteration", SESSION, cwd=folder)


def check_machine(folder):
    """Captures of the machine; a request in a gap is ignored, and a signal there ends the session."""
    if not may_sample("windows of the machine"):
        return
    run(CPUPERF, "-e", "page_faults,memory_free", "--windows=realtime:0.05:0.1:2,realtime:0:0.1:1", cwd=folder)
    found = iterations(folder)
    assert [i[2] for i in found] == ["window"] * 3 and all(i[3] > 0 for i in found), found
    shutil.rmtree(f"{folder}/{SESSION}")  # its files are awaited anew
    p = start(folder, "-e", "page_faults", "--windows=realtime:0.01:0.01:1,realtime:1000:1:1")
    wait_for(p, f"{folder}/{SESSION}/cpuperf.0.0.cpuperf")
    time.sleep(0.3)
    p.send_signal(signal.SIGUSR1)
    time.sleep(0.1)
    p.send_signal(signal.SIGINT)
    finish(p)
    assert [i[2] for i in iterations(folder)] == ["window"], iterations(folder)


def check_key(folder):
    """As a key of the spec, saved from an option, and what it excludes."""
    run(CPUPERF, "-e", "task_clock", "--windows=realtime:0:1ms:2", "--delay=1ms", "--save-spec=x.cpspec", "--",
        "true", cwd=folder)
    with open(f"{folder}/x.cpspec", encoding="utf-8") as f:
        saved = json.load(f)
    assert (saved["windows"], saved["delay"]) == ("realtime:0:1ms:2", 0.001), saved
    shutil.rmtree(f"{folder}/{SESSION}")  # its files are awaited anew
    p = start(folder, "--spec-file=./x.cpspec", command=["cat"])
    wait_for(p, f"{folder}/{SESSION}/cpuperf.1.0.cpuperf")
    finish(p)
    assert [i[2] for i in iterations(folder)] == ["window"] * 2, iterations(folder)
    run(CPUPERF, "--spec-file=./x.cpspec", "-r2", "--", "true", cwd=folder)
    assert [i[2] for i in iterations(folder)] == ["run"] * 2, iterations(folder)
    for key in "runs", "num_iterations", "duration":
        with open(f"{folder}/y.cpspec", "w", encoding="utf-8") as f:
            json.dump({**saved, key: 2}, f)
        said = run(CPUPERF, "--check-spec", "--spec-file=./y.cpspec", code=1, cwd=folder).stderr
        assert "mutually exclusive" in said, said


def check_refused(folder):
    for value, said in (("realtime:1:1", "has not four parts"), ("cpu:1:1:1", "is not a clock"),
                        ("realtime:x:1:1", "is not a delay"), ("realtime:1:0:1", "is not a capture"),
                        ("realtime:1:1:0", "is not a number of cycles"), (",", "has not four parts"),
                        ("process_cputime:1:1:1", "requires a command"),
                        (",".join(["realtime:1:1:1"] * 65), "more than 64")):
        done = run(CPUPERF, "-e", "page_faults", f"--windows={value}", code=2, cwd=folder)
        assert said in done.stderr and "--windows: " in done.stderr and done.stderr.count("error") == 1, done
    for other in "-n2", "-d1", "-r2":
        run(CPUPERF, "-e", "task_clock", "--windows=realtime:1:1:1", other, "--", "true", code=125, cwd=folder)
    run(CPUPERF, "-e", "task_clock", "--delay=1", "-r2", "--", "true", code=125, cwd=folder)


run_checks(globals(), everybody=True)
