#!/usr/bin/env python3
"""Waits where no programs can be loaded into the kernel: from records of the switches of the target's
tasks, as an ordinary user. waits.c says itself how long its threads lived, slept and computed. CPUPERF and
CPUPERF_PRINT name the programs.
"""
import contextlib
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

from kit import again, CPUPERF, despite_hidden_turns, on_terminal, ordinary_user, output, PRINT, programs_missing, run, run_checks, show, skip
from sampled import event, write_spec

HERE = os.path.dirname(os.path.abspath(__file__))
WALL = ("software:cpu_clock@1000000", "sched:run_queue_time@1000000", "sched:off_cpu_time@1000000",
        "software:task_clock")
QUIET_ASAN = {"ASAN_OPTIONS": "detect_leaks=0"}
QUEUE = "waiting for a CPU"


class User:
    """An ordinary user, in a folder of his own."""
    def __init__(self, folder):
        (self.cpuperf,), how = ordinary_user(folder)
        self.how = how
        self.folder = folder
        self.program = os.path.join(folder, "waits")
        run("cc", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", self.program, f"{HERE}/waits.c")

    def measure(self, *args, events=WALL, options=()):
        """What the program printed, {name: number}; and what cpuperf printed."""
        done = run(self.cpuperf, f"--event={','.join(events)}", *options, "--", self.program, *args,
                   env=QUIET_ASAN, **self.how)
        words = done.stdout.split()
        return {k: int(v) for k, v in zip(words[::2], words[1::2])}, done.stderr

    def rows(self, *args):
        text = output(PRINT, "--quiet", "--output-format=csv", *args, f"{self.folder}/cpuperf.session")
        return list(csv.DictReader(io.StringIO(text, newline="")))

    def total(self, label):
        values = [int(r["value"]) for r in self.rows("--report=summary")
                  if r["state"] == "ok" and not r["trace"] and r["label"] == label]
        assert len(values) == 1, (label, values)
        return values[0]

    def by_state(self):
        """ns of each state in --report=waits."""
        found = {}
        for row in self.rows("--report=waits"):
            found[row["state"]] = found.get(row["state"], 0) + int(row["self_count"])
        return found

    def wall_ns(self):
        text = output(PRINT, "--quiet", "--output-format=ndjson", "--report=summary", f"{self.folder}/cpuperf.session")
        first = json.loads(text.splitlines()[0])
        return int(first["end_ns"]) - int(first["start_ns"])


def check_live_rows(folder):
    """What is found in the records of switches when the session has ended has its row before, too, without a number."""
    user = User(folder)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, **user.how) as sleeper:
        live = run(user.cpuperf, f"--event={','.join(WALL)}", "-d0.05", "-n1", f"--pid={sleeper.pid}", "--output-format=csv",
                   "--quiet", **user.how).stdout
        sleeper.stdin.close()
    live = [(r["label"], r["trace"], r["state"]) for r in csv.DictReader(io.StringIO(live, newline=""))]
    stored = [(r["label"], r["trace"], r["state"]) for r in user.rows("--report=summary")]
    waits = ("run_queue_time", "off_cpu_time")
    assert live == [(label, trace, "n/a" if label in waits else state) for label, trace, state in stored], (live, stored)
    assert {label for label, _, _ in live} >= set(waits), live


def check_on_terminals(folder):
    """Notes and headings are broken between words."""
    user = User(folder)
    user.measure()
    session = f"{folder}/cpuperf.session"
    for report in ([], ["--report=waits"], ["--report=flat"]):
        whole = output(PRINT, "--quiet", *report, session)
        notes = [line.split() for line in whole.splitlines() if re.match(r"Waits are exact|The kernel's|How much", line)]
        assert len(notes) == 3, whole
        for columns in 80, 200:
            text, code = on_terminal(columns, PRINT, "--quiet", "--no-pager", *report, session, NO_COLOR="1")
            lines = [line for line in text.splitlines() if "warning: belongs to another user" not in line]
            assert code == 0 and max(map(len, lines)) <= columns, (columns, text)
            assert all(" ".join(n) in " ".join(text.split()) for n in notes), text


def check_adds_up(folder):
    """Running and waiting are all that a thread does, of waits of 10 ms and of many short ones."""
    user = User(folder)
    for args in ((), ("short",)):
        said, answer = user.measure(*args)
        states, ran = user.by_state(), user.total("task_clock")
        ran_by_samples = states.pop("on CPU", None)
        rows = user.rows("--report=waits")
        # each wait counts: only what is sampled beside it is left to chance
        assert ran_by_samples or all(r["self_low"] == r["self"] == r["self_high"] for r in rows), rows
        for row in user.rows("--report=flat", "--event=sched:off_cpu_time", "--group-by=comm"):
            assert row["self_low"] == row["self"] == row["self_high"], row
        waited = sum(states.values())
        assert waited == user.total("off_cpu_time") + user.total("run_queue_time"), states
        assert 0.98 * said["life_ns"] <= waited + ran <= 1.02 * said["threads"] * user.wall_ns(), \
            (states, ran, said, user.wall_ns())
        assert 0.8 * said["asked_ns"] <= sum(ns for s, ns in states.items() if s != QUEUE), (states, said)
        assert re.search(r" of 5 threads: .* % on CPU, .*% blocked( or waiting for a CPU)?(, .* % as they began and ended)?\n"
                         r"  waits are found by records of switches", answer), answer


CLOCK = ("software:cpu_clock@997Hz", *WALL[1:])
TRUE = "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done"


def ran(user, *command, events=CLOCK):
    """ns on CPU by the name of what ran, which add up to what the kernel counted, but for less than a period of each; and
    what cpuperf printed."""
    done = run(user.cpuperf, f"--event={','.join(events)}", "--", *command, env=QUIET_ASAN, **user.how)
    found = {r["comm"]: int(r["self_count"])
             for r in user.rows("--report=flat", "--event=software:cpu_clock", "--sort=comm")}
    counted = user.total("cpu_clock")
    assert -0.02 * counted < counted - sum(found.values()) < 0.02 * counted + len(found) * 1e9 / 997, (command, found, counted)
    assert "of the expected samples" not in done.stderr, done.stderr
    return found, done


def check_short_tasks(folder):
    """Tasks without a sample have their time, too, and as their command: of processes, of threads that end, and of what
    one executes. brief.c knows what it and its children used, but for their end."""
    user = User(folder)
    program = f"{folder}/brief"
    run("cc", "-O1", "-pthread", "-o", program, f"{HERE}/brief.c")
    _, done = ran(user, program, "300")
    parent, children = map(int, done.stdout.split())
    pids = {int(r["pid"]): int(r["self_count"])
            for r in user.rows("--report=flat", "--event=software:cpu_clock", "--sort=pid")}
    assert abs(max(pids.values()) / sum(pids.values()) - parent / (parent + children)) < 0.1, (pids, done.stdout)
    alone = ["--event=software:cpu_clock@1000000", "--output=alone"]
    loop = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    with open("/sys/devices/system/cpu/online", encoding="ascii") as f:
        listed = f"--cpu={f.read().strip()}"  # without records of switches: they must be those of all CPUs
    for command, is_said in (([listed, "--", "sh", "-c", TRUE], True), (["--", "sh", "-c", TRUE], False),
                             ([listed, "--", "sh", "-c", loop], False),
                             ([listed, "--no-children", "--", "sh", "-c", f"(sh -c '{loop}'); true"], False)):
        answer = run(user.cpuperf, *alone, *command, env=QUIET_ASAN, **user.how).stderr
        found = re.search(r"\n  samples have ([\d.]+) % of the time in user mode: tasks that end before their first sample are "
                          r"missed \(--spec-file=program has ", answer)
        assert bool(found) == is_said and (not found or 0 <= float(found[1]) < 75), answer
    ran(user, program, "300", "/dev/null")
    found, _ = ran(user, "sh", "-c", TRUE)
    assert set(found) == {"sh", "true"} and min(found.values()) > 0.1 * max(found.values()), found  # that is as the CPU is
    flat = {r["function"]: int(r["self_count"]) for r in user.rows("--report=flat", "--event=software:cpu_clock")}
    assert flat["[not sampled]"] > 0.2 * sum(flat.values()), flat
    samples = {r["function"]: int(r["self_samples"]) for r in user.rows("--report=flat", "--event=software:cpu_clock")}
    places = [(r["address"], r["function"]) for r in user.rows("--report=records") if r["kind"] == "sample" and r["event"] == "cpu_clock"]
    records = [address for address, function in places if function != "[not sampled]"]
    assert all(records) and ("", "[not sampled]") in places, places
    text = output(PRINT, "--quiet", "--report=records", f"{folder}/cpuperf.session")
    rows = map(json.loads, output(PRINT, "--quiet", "--report=records", "--output-format=ndjson", f"{folder}/cpuperf.session").splitlines())
    assert [(r.get("address", ""), r.get("function", "")) for r in rows if r["kind"] == "sample" and r["event"] == "cpu_clock"] == places
    assert len(re.findall(r"  cpu_clock period \d+  \[not sampled\]$", text, re.M)) == len(places) - len(records), text
    assert samples["[not sampled]"] == 0 and sum(samples.values()) == len(records), (samples, len(records))
    tree = user.rows("--report=tree", "--event=software:cpu_clock")
    assert sum(int(r["total_samples"]) for r in tree if r["depth"] == "0") == len(records), tree
    text = output(PRINT, "--quiet", "--report=flat", f"{folder}/cpuperf.session")
    heading = re.search(r"cpu_clock: (?:([\d,]+) samples?, )?.* m?s( by records of switches)?; \S+ m?s on CPU without a sample\n", text)
    assert heading and int((heading[1] or "0").replace(",", "")) == len(records), (text, len(records))
    text = output(PRINT, "--quiet", "--report=tree", "--group-by=state", f"{folder}/cpuperf.session")
    heading = re.search(r"^thread_time: (?:([\d,]+) samples? and records of switches, )?[\d.]+ m?s", text, re.M)
    assert heading and int((heading[1] or "0").replace(",", "")) == len(records), (text, len(records))
    text = output(PRINT, "--quiet", "--report=flat", f"{folder}/cpuperf.session")
    assert "\n[not sampled] is time on CPU without a sample, by records of switches: " in text, text


def check_clock_alone(folder):
    """A clock that is asked for by itself has that time, too: as much as brief.c and its children say that they used."""
    user = User(folder)
    program = f"{folder}/brief"
    run("cc", "-O1", "-pthread", "-o", program, f"{HERE}/brief.c")
    _, done = ran(user, program, "300", events=CLOCK[:1])
    used = sum(map(int, done.stdout.split()))
    flat = {r["function"]: int(r["self_count"]) for r in user.rows("--report=flat")}
    assert 0.8 * used < sum(flat.values()) < 1.5 * used and flat["[not sampled]"] > 0.25 * used, (used, flat)
    assert not re.search("% of the (expected|count)", done.stderr) and "Waits are exact" not in done.stderr, done.stderr
    text = output(PRINT, "--quiet", "--report=summary", f"{folder}/cpuperf.session")
    assert "by records of switches" not in text, text
    found, _ = ran(user, "sh", "-c", TRUE, events=CLOCK[:1])
    assert set(found) == {"sh", "true"}, found


def check_spread(folder):
    """What a thread ran without a sample is near the time when it ran. Two on one CPU are switched all the time."""
    user = User(folder)
    copy = "dd if=/dev/zero of=/dev/null bs=1M count=3000"
    ran(user, "taskset", "-c", str(min(os.sched_getaffinity(0))), "sh", "-c", f"{copy} & {copy}; wait")
    run(PRINT, "--quiet", "--output-format=sqlite", f"--output-file={folder}/db", "--event=software:cpu_clock", "--comm=dd",
        f"{folder}/cpuperf.session")
    with contextlib.closing(sqlite3.connect(f"{folder}/db")) as db:
        nr, ns = db.execute("SELECT count(*), sum(weight) FROM samples WHERE samples = 0").fetchone()
    assert nr > ns / 40e6 > 1, (nr, ns)  # one for each 20 ms, not for all at the end


def check_one_kind(folder):
    """With only one kind of waits measured, the line of states does not guess at the other."""
    user = User(folder)
    for name in ("off_cpu_time", "run_queue_time"):
        _, answer = user.measure(events=[e for e in WALL if "_time" not in e or name in e])
        line, = [part for part in answer.splitlines() if " of 5 threads: " in part]
        assert "% blocked or waiting for a CPU" in line and "began and ended" not in line, (name, answer)


def check_two_ways(folder):
    """Waits of root's session and of an ordinary user's are not of one kind: --diff says so."""
    if programs_missing():
        print(f"skip: root's waits: {programs_missing()}", flush=True)
        return
    user = User(folder)
    user.measure()
    for name in ("one", "two"):
        run(CPUPERF, f"--event={','.join(WALL)}", "-o", f"{folder}/{name}", "--", user.program, env=QUIET_ASAN)
    for before, said in ((f"{folder}/cpuperf.session", True), (f"{folder}/two", False)):
        done = run(PRINT, "--quiet", f"--session={folder}/one", f"--diff={before}")
        assert ("waits were found in two ways" in done.stderr) == said, (before, done.stderr)


@despite_hidden_turns
def check_sleeps(folder):
    """20 sleeps of 10 ms, which are not waiting for a CPU, however busy the machine is: of the thread that ends
    last, /proc shows how long it waited for one."""
    user = User(folder)
    run(user.cpuperf, f"--event={','.join(WALL)}", "--", "python3", "-c",
        "import time\nfor i in range(20): time.sleep(0.01)", env=QUIET_ASAN, **user.how)
    states = user.by_state()
    assert sum(ns for s, ns in states.items() if "blocked" in s) >= 196e6 and "blocked" in states, states


QUEUED = """
import os, signal, sys, time
def delay():
    with open("/proc/self/schedstat", encoding="ascii") as f:
        return int(f.read().split()[1])
before = delay()
os.nice(19)
for i in range(60):
    time.sleep(0.005)
os.kill(int(sys.argv[1]), signal.SIGKILL)
time.sleep(0.005)
print(delay() - before, flush=True)
os._exit(0)
"""


def check_divided(folder):
    """Who is woken beside a busy loop waits for its CPU, too: the records do not show how long, the kernel's own
    sum does. What was not read again at the end is both. Beside others' work the program waits more than it
    says, for a CPU before and after its sleeps, and for memory and disks."""
    user = User(folder)
    pin = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    for left in reversed(range(3)):
        with subprocess.Popen([*pin, "sh", "-c", "while :; do :; done"], **user.how) as busy:
            done = run(user.cpuperf, f"--event={','.join(WALL)}", "--", *pin, "python3", "-c", QUEUED,
                       str(busy.pid), env=QUIET_ASAN, **user.how)
        queued, found = int(done.stdout), user.by_state()
        both = found.get("blocked or waiting for a CPU", 0)
        print(f"{queued} ns in the run queue:", found)
        if queued > 30e6 or not left:
            break
        again("check_divided", f"{queued} ns in the run queue: the loop did not run beside it")
    assert queued > 30e6 and both < 0.9 * (both + found["blocked"]), (queued, found)
    assert 0.97 * queued <= found[QUEUE] + both, (queued, found)
    assert 61 * 5e6 <= found["blocked"] + both, found


@despite_hidden_turns
def check_seen(folder):
    """Long waits are looked at while they last: each has its own reason and stack, though the thread had no sample
    before, and was blocked all that time; also of a process that waited before the session."""
    user = User(folder)
    with open(f"{folder}/wall.cpspec", "w", encoding="utf-8") as f:
        json.dump({"config_name": "wall", "sampling": {"flags": ["callchain", "user_stack"]},
                   "events": [{"group_name": e.split(":")[0], "event_name": e.split(":")[1].split("@")[0],
                               "rate": 1000000, "stack_bytes": 8192} for e in WALL[:3]]}, f)
    run(user.cpuperf, f"--spec-file={folder}/wall.cpspec", "--", user.program, "long", env=QUIET_ASAN, **user.how)
    for reason, function, ns in (("sleep", "nap", 6e8), ("futex", "take", 3e8), ("pipe", "receive", 3e8)):
        of = [r for r in user.rows("--report=waits") if r["reason"] == reason]
        blocked = sum(int(r["self_count"]) for r in of if r["state"] == "blocked")
        assert sum(int(r["self_count"]) for r in of) >= 0.8 * ns and blocked >= 0.4 * ns, user.rows("--report=waits")
        shares = {r["function"]: float(r["total"]) for r in user.rows("--report=flat", "--event=sched:off_cpu_time")}
        assert shares.get(function, 0) >= 100 * 0.5 * ns / 1.4e9, (function, shares)
    with subprocess.Popen(["sleep", "300"], **user.how) as victim:
        while state_of(victim.pid) != ("sleep", "S"):
            time.sleep(0.01)
        answer = run(user.cpuperf, f"--spec-file={folder}/wall.cpspec", f"--pid={victim.pid}", "--duration=300ms",
                     env=QUIET_ASAN, **user.how).stderr
        victim.kill()
    rows = user.rows("--report=waits")
    assert [(r["state"], r["reason"], r["pid"]) for r in rows] == [("blocked", "sleep", str(victim.pid))], rows
    assert re.search(r"Stack and reason of 100\.0 % of the blocked time", answer), answer


PAUSES = """
import os, select, signal, time
def later(number):
    # sent when this process, which does nothing else, has paused or stopped that long: a pause that begins later never ends
    me = os.getpid()
    p = os.fork()
    if p == 0:
        while open(f"/proc/{me}/stat").read().rsplit(")", 1)[1].split()[0] not in "ST":
            time.sleep(0.001)
        time.sleep(0.4)
        os.kill(me, number)
        os._exit(0)
    return p
signal.signal(signal.SIGUSR1, lambda *unused: None)
p = later(signal.SIGUSR1)
signal.pause()
os.waitpid(p, 0)
p = later(signal.SIGCONT)
os.kill(os.getpid(), signal.SIGSTOP)
os.waitpid(p, 0)
select.select([], [], [], 0.4)
select.poll().poll(400)
"""


@despite_hidden_turns
def check_reasons(folder):
    """One word for one reason, whoever measures; in rows that are further divided, too."""
    user = User(folder)
    os.makedirs(f"{folder}/root", exist_ok=True)
    with open(f"{folder}/wall.cpspec", "w", encoding="utf-8") as f:
        json.dump({"config_name": "wall", "sampling": {"flags": ["callchain", "user_stack"]},
                   "events": [{"group_name": e.split(":")[0], "event_name": e.split(":")[1].split("@")[0],
                               "rate": 1000000, "stack_bytes": 8192} for e in WALL[:3]]}, f)
    for cpuperf, how in ((user.cpuperf, user.how), (CPUPERF, {"cwd": f"{folder}/root"})):
        if cpuperf == CPUPERF and programs_missing():
            print(f"skip: the same in the kernel: {programs_missing()}")
            return
        run(cpuperf, f"--spec-file={folder}/wall.cpspec", "--", sys.executable, "-c", PAUSES, env=QUIET_ASAN, **how)
        text = output(PRINT, "--quiet", "--output-format=csv", "--report=waits", "--sort=iteration,function",
                      f"{how['cwd']}/cpuperf.session")
        rows = list(csv.DictReader(io.StringIO(text)))
        assert all(r["iteration"] == "0" and r["function"] for r in rows), rows
        long = {}
        for r in rows:
            if r["state"] == "blocked":
                long[r["reason"]] = long.get(r["reason"], 0) + int(r["self_count"])
        assert {r for r, ns in long.items() if ns > 2.5e8} == {"signal", "stopped", "sleep", "select", "poll"}, rows


REGIONS = """#include <cpuperf/mark.h>
#include <stdio.h>
#include <time.h>
static long nap(long ns)
{
	struct timespec t = {0, ns}, a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	nanosleep(&t, NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
}
int main(void)
{
	long a = 0, b = 0;
	for (int i = 0; i < 60; i++) {
		CPUPERF_BEGIN("a"); a += nap(200000); CPUPERF_END;
		CPUPERF_BEGIN("b"); b += nap(800000); CPUPERF_END;
	}
	printf("a %ld b %ld\\n", a, b);
	return 0;
}
"""


def check_regions(folder):
    """Short waits, one after the other: each in the region in which the thread waited."""
    user = User(folder)
    with open(f"{folder}/regions.c", "w", encoding="ascii") as f:
        f.write(REGIONS)
    run("cc", "-O1", f"-I{os.environ['SOURCE_DIR']}/include", "-o", user.program, f"{folder}/regions.c")
    said, _ = user.measure(options=["--regions"])
    found = {r["path"]: sum(int(r[f"{event}_count"]) for event in ("run_queue_time", "off_cpu_time"))
             for r in user.rows("--report=regions")}
    assert all(0.7 * said[name] <= found[name] <= 1.05 * said[name] for name in "ab"), (said, found)


def check_exports(folder):
    """What is found of waits stands before the records of the file: sorted with them, without a warning."""
    user = User(folder)
    shutil.copy(f"{HERE}/../../specs/wall.cpspec", folder)
    run(user.cpuperf, f"--spec-file={folder}/wall.cpspec", "--", sys.executable, "-c", PAUSES, env=QUIET_ASAN, **user.how)
    for how in ("perfetto", "chrome", "perf-data"):
        done = run(PRINT, f"--output-format={how}", f"--output-file={folder}/x", f"{folder}/cpuperf.session")
        assert "order" not in done.stderr and os.path.getsize(f"{folder}/x"), done.stderr
    text = output(PRINT, "--quiet", "--report=records", f"{folder}/cpuperf.session")
    times = [float(line.split()[0]) for line in text.splitlines() if re.match(r" *[\d.]+  CPU", line)]
    assert times and times == sorted(times)


def check_kernel(folder):
    """Time in the kernel, which this user may not sample, is no wait that had not ended. The text says how much it is."""
    user = User(folder)
    run(user.cpuperf, f"--event={','.join(WALL)}", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=6000",
        env=QUIET_ASAN, **user.how)
    text = output(PRINT, "--quiet", "--report=waits", f"{user.folder}/cpuperf.session")
    assert "had not ended" not in text, text
    said = re.search(r"; ([0-9.]+) (ms|s) on CPU without a sample\n", text)
    assert said and "shares may be wrong" not in text, text
    assert "about 1 us, is in the wait and in the time on CPU" in text, text
    ns = float(said[1]) * {"ms": 1e6, "s": 1e9}[said[2]]
    ran = user.total("task_clock")
    assert 0.5 * ran <= ns <= 1.02 * ran and 0.98 * ran <= user.by_state()["on CPU"] <= 1.02 * ran, (text, ran)


def check_kernel_not_asked(folder):
    """The same of root, whose waits programs in the kernel measure: its clock has no row of what it does not sample."""
    if programs_missing():
        print("skip: the kernel not asked for: no programs in the kernel", flush=True)
        return
    spec = write_spec(folder, [event("software:cpu_clock", rate=1000000, flags=["user"]),
                               *(event(f"sched:{name}_time", rate=1000000) for name in ("run_queue", "off_cpu"))])
    run(CPUPERF, spec, "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=6000", env=QUIET_ASAN)
    text = show(folder, "--report=waits")
    assert re.search(r"[0-9.]+ m?s on CPU in the kernel were not sampled: shares may be wrong", text), text
    assert "[not sampled]" not in text, text


def check_preempted(folder):
    """Two threads that compute on one CPU: what they do not run they wait for it, in the function that they
    computed in."""
    user = User(folder)
    said, _ = user.measure("busy", options=["-g"])
    states = user.by_state()
    assert states.get(QUEUE, 0) >= 0.9 * said["waited_ns"], (states, said)
    assert states["on CPU"] >= 0.5 * said["ran_ns"], (states, said)
    ran = user.total("task_clock")
    assert 0.98 * said["life_ns"] <= sum(states.values()) - states["on CPU"] + ran \
        <= 1.02 * said["threads"] * user.wall_ns(), (states, said, ran)
    where = {}
    for row in user.rows("--report=flat", "--event=sched:run_queue_time"):
        where[row["function"]] = where.get(row["function"], 0) + float(row["self"])
    assert where.get("compute", 0) > 50, where


def check_iterations(folder):
    """Of a running process: a wait counts in each iteration in which it lasts, and waits that end in the
    first iteration count from its begin."""
    user = User(folder)
    script = "while :; do sleep 0.05; done"
    with subprocess.Popen(["sh", "-c", script], start_new_session=True, **user.how) as victim:
        try:
            run(user.cpuperf, f"--event={','.join(WALL)}", f"--pid={victim.pid}", "--duration=300ms",
                "--num-iterations=3", env=QUIET_ASAN, **user.how)
        finally:
            os.killpg(victim.pid, 9)
    cells = [r for r in user.rows("--report=summary") if r["state"] == "ok" and not r["trace"] and
             r["event"] in ("off_cpu_time", "run_queue_time", "task_clock")]
    assert len(cells) == 9, cells
    for i in range(3):
        of = [c for c in cells if c["iteration"] == str(i)]
        total, span = sum(int(c["value"]) for c in of), int(of[0]["span_ns"])
        assert 0.7 * span < total, of  # the shell waits all the time, and its sleep as well


def state_of(pid):
    """Name and state."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
    return name, rest.split()[0]


def check_asleep(folder):
    """A process that sleeps all the time is blocked, in each iteration."""
    user = User(folder)
    with subprocess.Popen(["sleep", "300"], **user.how) as victim:
        while state_of(victim.pid) != ("sleep", "S"):
            time.sleep(0.01)
        run(user.cpuperf, f"--event={','.join(WALL)}", f"--pid={victim.pid}", "--duration=200ms",
            "--num-iterations=2", env=QUIET_ASAN, **user.how)
        victim.kill()
    cells = [r for r in user.rows("--report=summary") if r["state"] == "ok" and not r["trace"] and
             r["event"] == "off_cpu_time"]
    assert len(cells) == 2 and all(0.98 * int(c["span_ns"]) < int(c["value"]) <= 1.02 * int(c["span_ns"])
                                   for c in cells), cells
    assert set(user.by_state()) == {"blocked"}, user.by_state()


def check_seen_after_gap(folder):
    """A command's wait that lasts since before a window, or the delay, has its reason."""
    user = User(folder)
    with open(f"{folder}/wall.cpspec", "w", encoding="utf-8") as f:
        json.dump({"config_name": "wall", "sampling": {"flags": ["callchain", "user_stack"]},
                   "events": [{"group_name": e.split(":")[0], "event_name": e.split(":")[1].split("@")[0],
                               "rate": 1000000, "stack_bytes": 8192} for e in WALL[:3]]}, f)
    for options in (["--windows=realtime:0.4:0.3:2"], ["--delay=400ms", "--duration=300ms"]):
        run(user.cpuperf, f"--spec-file={folder}/wall.cpspec", *options, "--", "sh", "-c", "sleep 4; true",
            env=QUIET_ASAN, **user.how)
        found = {}
        for r in user.rows("--report=waits"):
            found[r["comm"], r["reason"]] = found.get((r["comm"], r["reason"]), 0) + int(r["self_count"])
        for name in (("sleep", "sleep"), ("sh", "child")):
            assert found.get(name, 0) > 0.4 * 3e8 * (2 if "windows" in options[0] else 1), (options, found)


def check_gaps(folder):
    """After a delay and in windows waits count from the begin of each: five threads wait all the time, for a second longer
    than these are."""
    user = User(folder)
    user.measure("many", options=["--delay=40ms", "--duration=60ms"])
    cells = [r for r in user.rows("--report=summary") if r["state"] == "ok" and not r["trace"]]
    assert cells and len({r["iteration"] for r in cells}) == 1, cells
    assert_within(cells, 1.02)
    user.measure("many", options=["--windows=realtime:0.03:0.04:2"])
    cells = [r for r in user.rows("--report=summary") if r["state"] == "ok" and not r["trace"]]
    assert {r["iteration"] for r in cells} == {"0", "1"}, cells
    assert_within(cells, 1.02)


def check_spans(folder):
    """What wait4 returns is of the whole command, the rest of what was measured: the answer says which is which."""
    user = User(folder)
    _, answer = user.measure("busy", options=["--delay=60ms"])
    found = re.search(r"\n  measured for (.*), in 1 iteration\n  not measured for (.*) before it\n"
                      r"  whole command: (\S+) (ms|s) wall, \S+ % CPU: (\S+) (ns|us|ms|s) user, ", answer)
    assert found and re.search(r"\(wait4, whole command\)\n", answer), answer
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
    share = 100 * float(found[5]) * unit[found[6]] / (float(found[3]) * unit[found[4]])
    mode = re.search(r"\n  in user mode, whole command +\S+ \S+ +(\S+) %", answer)
    assert mode and abs(float(mode[1]) - share) <= 0.1 + share / 100, (share, answer)
    _, answer = user.measure()
    assert "whole command" not in answer and "in user mode  " in answer, answer


def assert_within(cells, most):
    """All threads together: no more than each the whole iteration, and at least the first one."""
    for i in {r["iteration"] for r in cells}:
        of = [r for r in cells if r["iteration"] == i and r["event"] in ("off_cpu_time", "run_queue_time")]
        waited, span = sum(int(r["value"]) for r in of), int(of[0]["span_ns"])
        assert 0.9 * span <= waited <= 5 * most * span, (waited / span, cells)


def check_runs(folder):
    """Each run by itself: -r."""
    user = User(folder)
    said, _ = user.measure(options=["-r", "2"])
    cells = [r for r in user.rows("--report=summary") if r["state"] == "ok" and not r["trace"]]
    assert {r["iteration"] for r in cells} == {"0", "1"}, cells
    for i in "01":
        total = sum(int(r["value"]) for r in cells if r["iteration"] == i and
                    r["event"] in ("off_cpu_time", "run_queue_time", "task_clock"))
        span = next(int(r["span_ns"]) for r in cells if r["iteration"] == i)
        assert 0.8 * said["naps_ns"] < total <= 5.1 * span, (total, span, said, cells)


REFUSED = (("sched:off_cpu_time", (), "waits are sampled, not counted", "set a rate"),
           ("sched:wakeups", (), "do not show wakeups", ""),
           ("sched:off_cpu_time@1000000", ("--cpu=0",), "must be those of all CPUs", "without --cpu"),
           ("sched:off_cpu_time@1000000", ("--control=fifo:ctl",), "when --control disabled them", "--windows"),
           ("sched:off_cpu_time@1000000", ("--flight-recorder=1s",), "overwrites records of switches",
            "without --flight-recorder"))


def check_refused(folder):
    """What records of switches do not show is refused with the reason, and with what to do."""
    user = User(folder)
    os.mkfifo(f"{folder}/ctl")
    os.chown(f"{folder}/ctl", user.how["user"], user.how["group"])
    for event, options, why, to_do in REFUSED:
        done = run(user.cpuperf, f"--event={event},task_clock", *options, "--", "true", env=QUIET_ASAN, **user.how)
        assert why in done.stderr and to_do in done.stderr, (options, done.stderr)
        text = output(user.cpuperf, "--check-spec", f"--event={event}", *options, "--", "true", env=QUIET_ASAN,
                      **user.how)
        assert why in text, (options, text)
    assert "To measure it in the kernel too" in done.stderr and "cap_bpf" in done.stderr, done.stderr


def check_described(folder):
    """Lists, descriptions and plans say in which way each is measured, as this user would, and what else there is."""
    user = User(folder)

    def say(*args):
        return output(user.cpuperf, *args, env=QUIET_ASAN, **user.how)

    waits = {e["name"]: e for e in map(json.loads, say("--list-events=sched:*",
                                                       "--output-format=ndjson").splitlines())}
    for name, works in (("off_cpu_time", True), ("run_queue_time", True), ("wakeups", False)):
        assert waits[name]["works"] == works and "(BPF) are not permitted" in waits[name]["reason"], waits[name]
    about = json.loads(say("--describe-event=sched:off_cpu_time", "--output-format=ndjson"))
    assert about["way"] == "records of switches" and "cpuperf-rights(7)" in about["hint"], about
    about = say("--describe-event=latency:irq")
    assert "programs in the kernel (BPF) are not permitted" in about and "records of switches" not in about, about
    plan = say("--check-spec", f"--event={','.join(WALL)}", "--", "true")
    assert plan.count("opened as  records of the switches") == 2 and "4 of 4 event(s) work here" in plan, plan
    plan = say("--check-spec", f"--event={','.join(WALL)}")
    assert "records of switches are those of a target's tasks" in plan, plan


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("an ordinary user is made by root")
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if int(f.read()) > 2:
            skip("perf_event_paranoid may refuse an ordinary user")
    run_checks(globals(), everybody=True)
