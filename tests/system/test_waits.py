#!/usr/bin/env python3
"""The events of the group sched: how long tasks wait, by programs in the kernel. waits.c says itself how
long its threads lived and slept; CPU time, waiting for a CPU and blocked must add up to that, and the
samples must show where. CPUPERF and CPUPERF_PRINT name the programs; needs root and a kernel with BTF.
"""
import contextlib
import csv
import ctypes
import functools
import glob
import io
import json
import math
import os
import re
import shutil
import struct
import signal
import subprocess
import time

from kit import again, CPUPERF, despite_hidden_turns, hidden_turns, need_programs, on_terminal, output, PRINT, run, run_checks
from patience import PATIENCE_S
import sampled
import sys
from waited import measuring

HERE = os.path.dirname(os.path.abspath(__file__))
WAITS = ["off_cpu_time", "run_queue_time"]


def build(folder):
    program = os.path.join(folder, "waits")
    run("cc", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", program, f"{HERE}/waits.c")
    return program


def measure(folder, events, *command, options=()):
    """What the command printed, {name: number}."""
    done = run(CPUPERF, f"--event={events}", *options, "--", *command, cwd=folder)
    words = done.stdout.split()
    return {k: int(v) for k, v in zip(words[::2], words[1::2])}


def rows(folder, *args):
    text = output(PRINT, "--quiet", "--output-format=csv", *args, cwd=folder)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def totals(folder):
    """{label: row} of the last session, over its traces and iterations."""
    out = {}
    for row in rows(folder, "--report=summary"):
        if row["state"] == "ok" and not row["trace"]:
            assert row["label"] not in out, row
            out[row["label"]] = row
    return out


def wall_ns(folder):
    text = output(PRINT, "--quiet", "--output-format=ndjson", "--report=summary", cwd=folder)
    first = json.loads(text.splitlines()[0])
    return int(first["end_ns"]) - int(first["start_ns"])


def weights(folder, event):
    """{"outermost; …; innermost": weight} of the stacks."""
    out = {}
    for row in rows(folder, "--report=stacks", f"--event=sched:{event}"):
        stack = row["stack"].replace("()", "")
        out[stack] = out.get(stack, 0) + int(row["count"])
    return out


def write_event(folder, name, **keys):
    with open(f"{folder}/spec.cpspec", "w", encoding="utf-8") as out:
        json.dump({"events": [event_of(name, **keys)]}, out)


@despite_hidden_turns
def check_adds_up(folder):
    """Blocked, waiting for a CPU and running are all that a thread does."""
    program = build(folder)
    said = measure(folder, "sched:off_cpu_time,sched:run_queue_time,software:task_clock", program)
    parts = {k: int(v["value"]) for k, v in totals(folder).items()}
    assert set(parts) == {*WAITS, "task_clock"}, parts
    assert said["life_ns"] * 0.98 <= sum(parts.values()) <= said["threads"] * wall_ns(folder) * 1.02, \
        (parts, said, wall_ns(folder))
    assert said["asked_ns"] * 0.8 <= parts["off_cpu_time"], (parts, said)


@despite_hidden_turns
def check_conclusion(folder):
    """What one thread waits for most of the time stands above the answer."""
    lines = run(CPUPERF, "--", "sleep", "0.3", cwd=folder).stderr.splitlines()
    assert re.fullmatch(r"\d+ % of the wall time is waiting in sleep", lines[0]) or "  waiting for a CPU" in "\n".join(lines), lines
    # where it waits for a CPU as long there may be no such line
    assert [i for i, line in enumerate(lines) if line.startswith("sleep 0.3: ")] == [int("of the wall time" in lines[0])], lines
    shown = output(PRINT, "--quiet", cwd=folder)
    assert shown.splitlines()[:2] == lines[:2], shown
    assert "of the wall time" not in output(PRINT, "--quiet", "--report=summary", cwd=folder)


def check_conclusion_of_processes(folder):
    """Processes that run one after the other are said to, where a busy machine lets them run."""
    loop = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do"
    work = 'dd if=/dev/zero of=/dev/null bs=1M count=2000 2>/dev/null'
    lines = run(CPUPERF, "--", "sh", "-c", f"{loop} {work}; done", cwd=folder).stderr.splitlines()
    used = float(re.search(r"wall, ([\d.]+) % CPU", "\n".join(lines))[1])
    turns = re.fullmatch(r"\d+ % of the wall time is one CPU, used by 13 processes one after the other", lines[0])
    assert turns or used < 60, lines
    lines = run(CPUPERF, "--", "sh", "-c", f"{loop} {work} & done; wait", cwd=folder).stderr.splitlines()
    assert "one after the other" not in lines[0], lines


def check_attached(folder):
    """Of a running process, threads that sleep all the time count too, in each iteration."""
    with subprocess.Popen(["sh", "-c", "sleep 60 & sleep 60"], start_new_session=True) as victim:
        try:
            while len(subprocess.run(["pgrep", "-g", str(victim.pid)], check=False,
                                     stdout=subprocess.PIPE).stdout.split()) < 3:
                time.sleep(0.05)
            run(CPUPERF, "--event=sched:off_cpu_time", f"--pid={victim.pid}", "--duration=300ms",
                "--num-iterations=3", cwd=folder)
        finally:
            os.killpg(victim.pid, signal.SIGKILL)
    cells = [r for r in rows(folder, "--report=summary") if r["state"] == "ok" and not r["trace"]]
    assert len(cells) == 3, cells
    assert all(int(c["value"]) > 0 for c in cells), cells
    # on a busy machine a CPU is read some time after the waits were added up: once at each end
    spans, sums = (sum(int(c[key]) for c in cells) for key in ("span_ns", "value"))
    assert 0.7 * 3 * spans < sums < 1.3 * 3 * spans, cells


def check_delayed(folder):
    """What lies in the delay is not counted. A busy machine may be late at both ends."""
    with subprocess.Popen(["sleep", "60"]) as victim:
        run(CPUPERF, "--event=sched:off_cpu_time", f"--pid={victim.pid}", "--delay=4s", "--duration=1s",
            cwd=folder)
        victim.kill()
    cell = totals(folder)["off_cpu_time"]
    assert 0.3 * int(cell["span_ns"]) < int(cell["value"]) < 2.5 * int(cell["span_ns"]), cell


@despite_hidden_turns
def check_samples(folder):
    """Long waits are all sampled, at their stack, which begins where the program waits."""
    program = build(folder)
    said = measure(folder, ",".join(f"sched:{w}@1000000" for w in WAITS), program, options=["-g"])
    stacks = weights(folder, "off_cpu_time")
    napped = sum(n for s, n in stacks.items() if re.search(r"; nap;", s))
    assert said["asked_ns"] * 0.8 <= napped <= said["naps_ns"] * 1.02, (napped, said, stacks)
    assert any(re.search(r"hold;.*pthread_mutex_lock|hold;.*lll_lock_wait", s) for s in stacks), stacks
    assert any(re.search(r"main;.*(join|\[unknown\] \(libc)", s) for s in stacks), stacks
    for s in [*stacks, *weights(folder, "run_queue_time")]:
        assert not re.search(r"bpf|__schedule\b|; *schedule$", s), s


def check_cut_to_times(folder):
    """Of a wait that is only partly in the times of a report, that part counts; of a flight recorder, what it held. The
    kernel may hide the end of its one wait."""
    def slept(*times):
        return sum(int(r["count"]) for r in rows(folder, "--report=stacks", "--event=off_cpu_time", *times)
                   if "nanosleep" in r["stack"])
    for left in reversed(range(10)):
        turns = hidden_turns()
        measure(folder, "sched:off_cpu_time@1000000", "sleep", "1", options=["-g"])
        whole = slept()
        if whole or hidden_turns() == turns or not left:
            break
        again("check_cut_to_times", "the wait is missing, and there were hidden turns")
    assert whole >= 1e9, whole
    assert abs(slept("--to=0.5") + slept("--from=0.5") - whole) <= 2, whole
    assert abs(slept("--from=0.6", "--to=0.9") - 3e8) <= 2, whole  # it begins long before
    assert slept("--to=0.001") < 1e6 and slept(f"--from={whole / 1e9 + 10:.6f}") == 0, whole
    for left in reversed(range(5)):  # on a busy machine the end of the program may come much later than that of its wait
        run(CPUPERF, "-e", "sched:off_cpu_time@1000000", "-g", "--flight-recorder=400ms", "--", "sleep", "1", cwd=folder)
        assert slept() <= 0.4e9, slept()
        if slept() > 0.3e9 or not left:
            break
        again("check_cut_to_times", f"of the wait {slept()} ns are in the last 400 ms")
    assert slept() > 0.3e9, slept()


def check_unbiased(folder):
    """Waits far shorter than the rate: the samples' weights stand for all of them. The variance of
    their sum is at most rate × sum; what still waited at the end has no samples."""
    program = build(folder)
    measure(folder, ",".join(f"sched:{w}@1000000" for w in WAITS), program, "short")
    found = totals(folder)
    cell = found["off_cpu_time"]
    raw, weight, samples = int(cell["raw"]), int(cell["weight"]), int(cell["samples"])
    assert samples > 100, cell
    assert abs(raw - weight) < 5 * math.sqrt(raw * 1e6), cell
    shown = sum(weights(folder, "off_cpu_time").values())
    assert shown == weight, (shown, weight)


def check_thinned(folder):
    """Of more samples than max_frequency allows some are written, which count for all: few, and unbiased. A wait far
    longer than the others is certain, and counts for itself, beside others that may be there."""
    run("cc", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", f"{folder}/pool", f"{HERE}/pool.c")
    write_event(folder, "sched:off_cpu_time", rate=100000, flags=["callchain"], max_frequency=200)
    for left in (2, 1, 0):
        run(CPUPERF, "--spec-file=spec.cpspec", "--", f"{folder}/pool", "20", "2000", cwd=folder)
        joined = [n for s, n in weights(folder, "off_cpu_time").items() if "futex" in s]
        # beside others the program takes long to begin
        if joined and sum(joined) > 0.9 * wall_ns(folder) or not left:
            break
        again("check_thinned", f"waits of {joined} in {wall_ns(folder)} ns")
    cell = totals(folder)["off_cpu_time"]
    raw, weight, samples = int(cell["raw"]), int(cell["weight"]), int(cell["samples"])
    # 40,000 are due; half as many again in spans in which the rate rose; and of ends
    seconds = wall_ns(folder) / 1e9
    assert 100 < samples < 2 * 200 * (os.cpu_count() * seconds + 1), (cell, seconds)
    assert abs(raw - weight) < 5 * raw / math.sqrt(samples / 3), cell
    assert joined and 0.9 * wall_ns(folder) < sum(joined) < 1.5 * wall_ns(folder), (joined, wall_ns(folder))


STATES = ["on CPU", "waiting for a CPU", "blocked"]


@despite_hidden_turns
def check_one_tree(folder):
    """The three states in one tree: the sum of what the events have, which is all that threads do."""
    program = build(folder)
    events = ["software:cpu_clock", "sched:run_queue_time", "sched:off_cpu_time"]
    # it computes for 1 to 3 ms: not at the rate of the waits, at which there may be no sample of it
    rates = ("@100000", "@1000000", "@1000000")
    said = measure(folder, ",".join(map(str.__add__, events, rates)), program, options=["-g"])
    apart = {e: sum(int(r["count"]) for r in rows(folder, "--report=stacks", f"--event={e}")) for e in events}
    # by default too: how long the threads lived, by the records of the kernel, and the states of functions; columns give way
    # to long names of what others interrupted
    text = output(PRINT, "--quiet", cwd=folder)
    line = re.search(r"\n  ([\d.]+) (m?s) of 5 threads: ([\d.]+) % on CPU, ([\d.]+) % waiting for a CPU, "
                     r"([\d.]+) % blocked(?:, [\d.]+ % as they began and ended)?\n", text)
    assert line and re.search(r"\non CPU: .*\n +self( +total)?( +samples)?( +count)? +reason +object +function\n", text), text
    assert re.search(r"\nwaiting: .*\n +self( +total)?( +samples)?( +count)? +state +reason +object +function\n", text), text
    lived = float(line[1]) * {"s": 1e9, "ms": 1e6}[line[2]]
    assert 0.999 * said["life_ns"] <= lived <= 1.001 * said["threads"] * wall_ns(folder), (text, said)
    assert sum(float(line[i]) for i in (4, 5)) > 50, text
    assert abs(sum(float(n) for n in re.findall(r"([\d.]+) %", line[0])) - 100) < 0.25, text
    tree = rows(folder, "--report=tree", "--group-by=state")
    assert {r["event"] for r in tree} == {"thread_time"}, tree
    roots = {r["function"]: r for r in tree if r["depth"] == "0"}
    assert {s: int(roots[s]["total_count"]) if s in roots else 0 for s in STATES} == \
        dict(zip(STATES, apart.values())), (roots.keys(), apart)
    assert sum(float(r["total"]) for r in roots.values()) > 99.99, roots
    total = sum(apart.values())
    chance = 5 * math.sqrt(total * 1e6)
    assert 0.9 * said["life_ns"] - chance < total < 1.02 * said["threads"] * wall_ns(folder) + chance, \
        (apart, said, wall_ns(folder))
    # other reports and formats of the same samples
    assert sum(int(r["self_count"]) for r in rows(folder, "--report=waits")) == total
    by_state = {r["state"]: int(r["self_count"]) for r in rows(folder, "--sort=state", "--report=flat")}
    assert by_state == {s: int(r["total_count"]) for s, r in roots.items()}, by_state
    lines = output(PRINT, "--quiet", "--output-format=folded", "--group-by=state", cwd=folder).splitlines()
    assert sum(int(line.split()[-1]) for line in lines) == total
    assert {line.split(";")[1] for line in lines} == set(roots), lines
    page = output(PRINT, "--quiet", "--output-format=html", cwd=folder)
    assert '"label":"thread_time"' in page and "blocked" in roots, roots
    assert all((f'"{s}"' in page) == (s in roots) for s in STATES), (roots.keys(), page)
    # of some events
    some = rows(folder, "--report=waits", "--event=sched:*")
    assert {r["state"] for r in some} <= set(STATES[1:]), some
    assert sum(int(r["self_count"]) for r in some) == apart[events[1]] + apart[events[2]], some


def check_on_terminals(folder):
    """No line is wider than the terminal: columns that others say, too, are left out, and text is cut. Elsewhere it is as
    on one of 100 columns, but names are whole; where there is room, all columns are there."""
    run(CPUPERF, "--spec-file=wall", "--", build(folder), cwd=folder)
    session, quiet = f"{folder}/cpuperf.session", (PRINT, "--quiet", "--no-pager")
    for report in ([f"--report={r}"] for r in ("waits", "flat", "threads", "tree", "stacks")):
        whole = output(PRINT, "--quiet", *report, session)
        assert "…" not in re.sub(r"^… \d+ more.*$", "", whole, flags=re.M), whole
        for columns in 80, 100, 200:
            text, code = on_terminal(columns, *quiet, *report, session, NO_COLOR="1")
            # warnings and their hints name files of any length
            lines = [line for line in text.splitlines() if not re.search(r": warning: |^  hint: ", line)]
            assert code == 0 and max(map(len, lines)) <= columns, (columns, report, text)
            if report == ["--report=waits"]:
                headers = [re.search(r"^ +self .*$", t, re.M)[0].split() for t in (text, whole)]
                assert (headers[0] == headers[1]) == (columns == 100), headers
                assert ({"samples", "count", "pid", "thread"} <= set(headers[0])) == (columns == 200), headers
                assert {"self", "tid", "comm", "state", "reason"} <= set(headers[0]), headers


REASONS = """
import os, select, signal, socket, struct, threading, time
WAIT = 0.06
def partner(act):
    # acts when this process, which does nothing else, has waited that long
    me = os.getpid()
    if os.fork() == 0:
        while open(f"/proc/{me}/stat").read().rsplit(")", 1)[1].split()[0] != "S":
            time.sleep(0.001)
        time.sleep(WAIT)
        act()
        os._exit(0)
time.sleep(WAIT)
select.select([], [], [], WAIT)
select.poll().poll(1000 * WAIT)
select.epoll().poll(WAIT)
signal.sigtimedwait([signal.SIGUSR1], WAIT)
lock = threading.Lock(); lock.acquire(); lock.acquire(timeout=WAIT)
a, b = socket.socketpair()
a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, int(1e6 * WAIT)))
try: a.recv(1)
except BlockingIOError: pass
r, w = os.pipe()
partner(lambda: os.write(w, b"x")); os.read(r, 1)
e = os.eventfd(0)
partner(lambda: os.eventfd_write(e, 1)); os.eventfd_read(e)
os.wait(); os.wait()
partner(lambda: None); os.wait()
"""


def check_reasons(folder):
    """Waits of 60 ms, of which chance skips one in e^60; but for some switches Linux 6.18 reports neither
    sched_switch nor sched_exit_tp, so that a wait has no sample (seen once in some hundred runs)."""
    missing = {"sleep", "select", "poll", "epoll", "socket", "pipe", "futex", "signal", "eventfd", "child"}
    for _ in range(3):
        run(CPUPERF, "--event=sched:off_cpu_time@1000000", "-g", "--", sys.executable, "-c", REASONS, cwd=folder)
        found = [r for r in rows(folder, "--report=waits") if r["state"] == "blocked"]
        long = [r for r in found if int(r["self_samples"]) == 1 and int(r["self_count"]) >= 50e6]
        # what is surely sampled has no error: were its own length left to chance it would be over 5 %
        assert all(float(r["self_high"]) - float(r["self_low"]) < 0.5 for r in long), long
        tops = {}
        for r in found:
            tops.setdefault(r["tid"], {})[r["reason"]] = int(r["self_count"])
        reasons = max(tops.values(), key=len)
        missing -= {r for r, ns in reasons.items() if ns >= 50e6}
        if not missing:
            return
    assert not missing, (missing, reasons)


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def check_wakers(folder):
    """A thread that unlocks, one that writes, a child that ends, main that returns, and a timer. As in check_reasons, a wait may have
    no sample."""
    program = os.path.join(folder, "wakers")
    run("cc", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", program, f"{HERE}/wakers.c")
    event = {"group_name": "sched", "event_name": "off_cpu_time", "rate": 1000000, "stack_bytes": 8192,
             "flags": ["callchain", "user_stack", "waker"]}
    with open(f"{folder}/wakers.cpspec", "w", encoding="ascii") as f:
        json.dump({"events": [event]}, f)
    missing = {("futex", "actor", "unlock_it"), ("pipe", "actor", "send_it"), ("child", "wakers", "do_notify_parent"), ("signal", "wakers", "zap_other_threads"),
               ("sleep", "timer", "hrtimer_wakeup")}
    for _ in range(3):
        run(CPUPERF, f"--spec-file={folder}/wakers.cpspec", "-o", "wakers.session", "--", program, cwd=folder)
        found = rows(folder, "--report=waits", "wakers.session")
        missing -= {(r["reason"], r["waker"].split(" (")[0], r["waker_function"]) for r in found
                    if int(r["self_count"]) >= 50e6}
        if not missing:
            break
    assert not missing, (missing, found)
    total = sum(int(r["self_count"]) for r in found)
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        while sampled.comm(sleeper.pid) != "sleep\n" or state_of(sleeper.pid) != "S":
            time.sleep(0.01)
        run(CPUPERF, f"--spec-file={folder}/wakers.cpspec", "--duration=100ms", "-o", "lasts.session", f"--pid={sleeper.pid}",
            cwd=folder)
        sleeper.kill()
    lasts = rows(folder, "--report=waits", "lasts.session")
    assert "[not woken yet]" in {r["waker"] for r in lasts if r["state"] == "blocked"}, lasts
    lines = output(PRINT, "--quiet", "--output-format=folded", "--wakers", "wakers.session",
                   cwd=folder).splitlines()
    assert sum(int(line.split()[-1]) for line in lines) == total
    assert any(re.search(r";main;receive_it;.*;anon_pipe_read\S*;--;.*;send_it;act;.*;actor \(\d+/\d+\) \d+$", line)
               for line in lines), lines
    assert any(re.search(r";main;nap;.*;--;.*hrtimer_wakeup\S*;.*;timer \d+$", line) for line in lines), lines
    # without the option as before; as table; and in other formats
    assert "--" not in output(PRINT, "--quiet", "--output-format=folded", "wakers.session", cwd=folder)
    flat = rows(folder, "--report=flat", "--sort=waker", "wakers.session")
    assert sum(int(r["self_count"]) for r in flat) == total and "timer" in {r["waker"] for r in flat}, flat
    page = output(PRINT, "--quiet", "--output-format=html", "--wakers", "wakers.session", cwd=folder)
    assert '"--"' in page and '"timer"' in page and '"unlock_it"' in page
    # of other events there is none
    event["event_name"] = "run_queue_time"
    with open(f"{folder}/wakers.cpspec", "w", encoding="ascii") as f:
        json.dump({"events": [event]}, f)
    done = run(CPUPERF, f"--spec-file={folder}/wakers.cpspec", "--", "true", cwd=folder, code=None)
    assert done.returncode and "run_queue_time has no waker" in done.stderr, done.stderr


def check_whole_wakers(folder):
    """Without frame pointers, the callers of who ended a wait are there up to the start: of a program's first thread, of another
    one, and of a process that has ended. A wait may have ended before it began."""
    program = os.path.join(folder, "deep")
    run("cc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-o", program, f"{HERE}/deep_wakers.c")
    event = {"group_name": "sched", "event_name": "off_cpu_time", "rate": 1, "stack_bytes": 16384, "unwind": True,
             "flags": ["callchain", "user_stack", "waker"]}
    sampled.write_spec(folder, [event])
    calls = ";".join(f"deep{i}" for i in range(8, 0, -1))
    missing = {("act", "deep", "pthread_cond_signal"), ("act", "deep", "send"), ("main", "actor", "send"), ("main", "child", "send")}
    for _ in range(3):
        run(CPUPERF, f"--spec-file={folder}/s.cpspec", "-o", "deep.session", "--", program, cwd=folder)
        lines = output(PRINT, "--quiet", "--output-format=folded", "--wakers", "deep.session", cwd=folder).splitlines()
        for line in lines:
            waits, _, woken = line.rpartition(";--;")
            found = re.search(r"_\[k\];(?!.*_\[k\])(.*);(\w+) \(\d+/\d+\) \d+$", woken)
            if not found or "wake" not in found[1].split(";"):
                continue
            outermost = "act;start_thread" if found[2] == "actor" else "main;"
            assert f";wake;{calls};{outermost}" in found[1] and "[unknown]" not in found[1], line
            call = "send" if ";send;" in f";{found[1]}" else found[1].split(";")[0]
            missing -= {(next((f for f in waits.split(";") if f in ("act", "main")), ""), found[2], call)}
        if not missing:
            break
    assert not missing, (missing, lines)
    raw = [s["raw"] for path in glob.glob(f"{folder}/deep.session/cpuperf.0.[0-9]*.cpuperf") for s in sampled.Trace(path).samples()]
    known = [r for r in raw if len(r) > 704 and struct.unpack_from("<I", r, 8)[0] == 1]
    assert known and sum(struct.unpack_from("<I", r, 52)[0] > 0 for r in known) < len(known) / 2, [len(r) for r in raw]


@despite_hidden_turns
def check_wakers_that_exec(folder):
    """A child that executes a program wakes its parent: the callers are in the program of before, though the parent runs later."""
    program = os.path.join(folder, "deep")
    run("cc", "-O2", "-fomit-frame-pointer", "-pthread", "-o", program, f"{HERE}/deep_wakers.c")
    event = {"group_name": "sched", "event_name": "off_cpu_time", "rate": 1, "unwind": True, "flags": ["callchain", "user_stack", "waker"]}
    sampled.write_spec(folder, [event])
    run(CPUPERF, f"--spec-file={folder}/s.cpspec", "-o", "exec.session", "--", program, "100", cwd=folder)
    lines = output(PRINT, "--quiet", "--output-format=folded", "--wakers", "exec.session", cwd=folder).splitlines()
    woken = [line.rpartition(";--;")[2] for line in lines if "begin_new_exec" in line.rpartition(";--;")[2]]
    assert woken and not any("[unknown]" in line for line in woken), lines


def without_waker(session):
    """How many samples there are, and the ns of those whose wakeup was not seen."""
    found = [struct.unpack_from("<QI", s["raw"]) for path in glob.glob(f"{session}/cpuperf.0.[0-9]*.cpuperf")
             for s in sampled.Trace(path).samples()]
    return len(found), [ns for ns, version in found if version != 1]


def check_short_waits_have_wakers(folder):
    """Between the wakeup and its end a wait comes nearer to its sample: by a part of the rate that is not small."""
    program = os.path.join(folder, "wakers")
    run("cc", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", program, f"{HERE}/wakers.c")
    sampled.write_spec(folder, [event_of("sched:off_cpu_time", rate=10000, flags=["callchain", "waker"])])
    run(CPUPERF, f"--spec-file={folder}/s.cpspec", "-o", "short.session", "--", program, "20000", cwd=folder)
    nr, without = without_waker(f"{folder}/short.session")
    assert nr > 1000 and len(without) < nr / 50, (nr, len(without))


def check_diff(folder):
    """Two sessions are compared by function, state and reason, as shares of the time in each state. A wait is the program's function's."""
    program = build(folder)
    for name in ("a", "b"):
        run(CPUPERF, "--event=cpu_clock@100000,sched:run_queue_time@1000000,sched:off_cpu_time@1000000", "-g", "-r", "3", "-o", f"{name}.session", "--", program, cwd=folder)
    how = ("--report=diff", "--diff=a.session", "--top=0", "b.session")
    found = [r for r in rows(folder, *how) if r["function"]]
    assert len({r["event"] for r in found}) == 1, found
    napped = [r for r in found if (r["state"], r["reason"], r["function"]) == ("blocked", "sleep", "nap")]
    assert len(napped) == 1 and float(napped[0]["is"]) > 20 and int(napped[0]["is_samples"]), found
    assert "hold" in {r["function"] for r in found if (r["state"], r["reason"]) == ("blocked", "futex")}, found
    # from the wake-up on nobody waits for a lock any more: people are told what was before
    text = output(PRINT, "--quiet", "--report=waits", "--sort=function", "--top=0", "b.session", cwd=folder)
    queued = {r["reason"] for r in rows(folder, "--report=waits", "--sort=function", "b.session") if r["state"] == "waiting for a CPU"}
    for reason in queued - {"", "preempted", "yield", "new thread", "kernel thread"}:
        assert f"waiting for a CPU  after {reason} " in text and f"waiting for a CPU  {reason} " not in text, text
    for state in {r["state"] for r in found}:  # of each run that was in this state: 0, 1, 2 or 3 of them
        shares = sum(float(r["is"]) for r in found if r["state"] == state)
        assert any(abs(shares - 100 * runs / 3) < 0.1 for runs in range(4)), (state, found)
        assert state not in ("on CPU", "blocked") or abs(shares - 100) < 0.1, (state, found)
    # those on a CPU as if nothing had waited
    shown = ("function", "change", "was", "is", "p")
    alone = rows(folder, *how, "--event=cpu_clock", "--sort=function")
    # (without the vdso: what its names cannot be told in both sessions is one row where states are not)
    of_cpu = [[r[k] for k in shown] for r in found if r["state"] == "on CPU" and r["object"] != "[vdso]"]
    assert of_cpu == [[r[k] for k in shown] for r in alone if r["function"] and r["object"] != "[vdso]"], (found, alone)
    text = output(PRINT, "--quiet", *how, cwd=folder)
    assert re.search(r"\nthread_time, blocked: 3 runs now, 3 before; .*\nof the time of all threads: [\d.]+ % now, [\d.]+ % before\n", text), text
    assert not re.search(r"\n.*certain.* state", text), text


def process_times(pid):
    """Now, and the CPU time of the process, in ns."""
    return time.monotonic_ns(), time.clock_gettime_ns(~pid << 3 | 2)  # as clock_getcpuclockid()


@despite_hidden_turns
def check_sums_of_states(folder):
    """Of several runs, of --pid and of --cgroup: the shares of what was counted, which add up."""
    program = build(folder)
    run(CPUPERF, "--spec-file=program", "-r", "2", "-o", "runs", "--", program, cwd=folder)
    with open(f"{folder}/busy.py", "w", encoding="ascii") as f:
        f.write("import time\nwhile True:\n    sum(range(300000)); time.sleep(0.02)\n")
    with subprocess.Popen([sys.executable, f"{folder}/busy.py"]) as work:
        times, stolen_ns = [process_times(work.pid)], sampled.stolen_ns()
        with measuring(folder, "--spec-file=program", f"--pid={work.pid}"):
            times.append(process_times(work.pid))
            sampled.wait_for_cpu_time([work], sampled.user_seconds(work.pid) + 0.1)
            times.append(process_times(work.pid))
        times.append(process_times(work.pid))
        stolen_ns = sampled.stolen_ns() - stolen_ns + 20e6  # each is a multiple of 10 ms
        work.kill()
    for session, whose in (("runs", " in 2 runs"), ("cpuperf.session", "")):
        text = output(PRINT, "--quiet", session, cwd=folder)
        line = re.search(rf"\n  ([\d.]+) (m?s) of threads{whose}: ([\d.]+) % on CPU, ([\d.]+) % waiting for a CPU, ([\d.]+) % blocked\n", text)
        assert line and abs(sum(float(line[i]) for i in (3, 4, 5)) - 100) < 0.16, text
        ns = float(line[1]) * {"s": 1e9, "ms": 1e6}[line[2]]
    # the process has one thread, and was measured at least between the second time and the third
    (wall, cpu), (least_wall, least_cpu) = ([b - a for a, b in zip(times[i], times[-1 - i])] for i in (0, 1))
    on_cpu, shown = float(line[3]) / 100 * ns, 0.001 * ns  # what is shown is rounded
    assert least_wall - shown <= ns <= wall + shown, (text, times)
    assert least_cpu - shown <= on_cpu <= cpu + stolen_ns + shown, (text, times, stolen_ns)


def check_waits_by_function(folder):
    """--sort replaces the fields of the thread: one row for each function, state and reason, whoever called it."""
    program = build(folder)
    run(CPUPERF, "--event=sched:off_cpu_time@1000000", "-g", "--", program, cwd=folder)
    found = rows(folder, "--report=waits", "--sort=function")
    assert not {"pid", "tid", "thread", "comm"} & set(found[0]), found[0]
    places = [(r["state"], r["reason"], r["function"]) for r in found]
    assert len(set(places)) == len(places) and ("blocked", "sleep", "nap") in places, found
    text = output(PRINT, "--quiet", "--report=waits", "--sort=function", cwd=folder)
    assert re.search(r" nap$", text, re.M) and not re.search(r" (run|start_thread|__libc_start_main\S*)$", text, re.M), text


def check_waker_bytes(folder):
    """Of a place that another waker used before, nothing is sent."""
    event = {"group_name": "sched", "event_name": "off_cpu_time", "rate": 1000,
             "flags": ["callchain", "user_stack", "waker"]}
    with open(f"{folder}/bytes.cpspec", "w", encoding="ascii") as f:
        json.dump({"duration": 60, "events": [event]}, f)
    run(CPUPERF, "--spec-file=bytes.cpspec", "-o", "bytes.session", "--", "sh", "-c",
        "yes | head -c 40000000 | (sleep 0.2; cat) | tail -c 1", cwd=folder)
    nr = {}
    for path in glob.glob(f"{folder}/bytes.session/cpuperf.0.[01].cpuperf"):
        for raw in (s["raw"] for s in sampled.Trace(path).samples()):
            if len(raw) < 704 or struct.unpack_from("<I", raw, 8)[0] != 1:
                continue
            nr_kernel, nr_user = struct.unpack_from("<II", raw, 24)
            nr_regs, stack_bytes = struct.unpack_from("<II", raw, 48)
            kernel, user, stack = 192, 704, 1664
            assert stack_bytes <= 1024 and 0 <= len(raw) - (stack + stack_bytes if nr_user else user) < 8, (len(raw), stack_bytes)
            for used, end in ((64 + 8 * nr_regs, kernel - 16), (kernel - 8, kernel), (kernel + 8 * nr_kernel, user), (user + 8 * nr_user, stack)):
                assert not any(raw[used:end if nr_user else min(end, user)]), (nr_kernel, nr_user, nr_regs, stack_bytes, used, end)
            nr[nr_user > 0] = nr.get(nr_user > 0, 0) + 1
    assert sum(nr.values()) > 600, nr  # there are 512 places


def check_states_need_time(folder):
    run(CPUPERF, "--event=page_faults@1", "--", "true", cwd=folder)
    for args in (["--report=waits"], ["--report=tree", "--group-by=state"], ["--report=flat", "--sort=reason"]):
        done = run(PRINT, "--quiet", *args, cwd=folder, code=None)
        assert done.returncode == 1 and "states need samples of cpu_clock" in done.stderr, (args, done)


def check_runs(folder):
    """Each run is measured anew."""
    program = build(folder)
    measure(folder, "sched:wakeups,sched:off_cpu_time", program, options=["--runs=3"])
    cells = [r for r in rows(folder, "--report=summary")
             if r["state"] == "ok" and not r["trace"] and r["event"] == "wakeups"]
    assert len(cells) == 3 and all(int(c["value"]) >= 4 * 15 for c in cells), cells


def check_programs_of_runs(folder):
    """Programs are loaded for each run, here at other addresses, since others load some, too: they have their names,
    so that no wait stands in them."""
    program = build(folder)
    script = f"for i in 1 2 3 4 5 6 7 8 9; do {CPUPERF} --quiet=2 -e sched:wakeups -o {folder}/other -- sleep 0.1; done"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as others:
        measure(folder, "sched:off_cpu_time@100000", program, options=["-g", "-r", "5"])
        others.wait()
    stacks = list(weights(folder, "off_cpu_time"))
    assert stacks and not any(re.search(r"bpf_trace_run|__traceiter_", s) for s in stacks), stacks


def check_runs_alone(folder):
    """What outlives one run is not counted in the next: two processes wait in the third, not four."""
    run(CPUPERF, "--event=sched:off_cpu_time", "--runs=3", "--", "sh", "-c", "sleep 5 & exec sleep 0.7",
        cwd=folder)
    cells = [r for r in rows(folder, "--report=summary") if r["state"] == "ok" and not r["trace"]]
    assert len(cells) == 3, cells
    assert int(cells[2]["value"]) < 3 * int(cells[2]["span_ns"]), cells


def event_of(name, **keys):
    return {"group_name": name.split(":")[0], "event_name": name.split(":")[1], **keys}


def check_nothing_is_left(folder):
    """Programs, maps, links and pins end with cpuperf, however it ends: those of all that it loads."""
    next_id = {"prog": 11, "map": 12, "link": 31}  # commands of bpf(2)
    loaded = {"on_waking", "aggregate", "on_softirq_end", "on_complete", "on_free", "visit"}  # one of each at least
    tool = shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    bpf = functools.partial(ctypes.CDLL(None).syscall, {"x86_64": 321, "aarch64": 280}[os.uname().machine])

    def is_there(kind, number):
        """Does not open it: an array of programs that is opened while the kernel frees it stays for good (6.18)."""
        ids = (ctypes.c_uint32 * 3)(number - 1)
        return bpf(next_id[kind], ids, ctypes.sizeof(ids)) == 0 and ids[1] == number

    def named():
        """{(kind, id)} that its descriptors name."""
        found = set()
        for name in glob.glob(f"/proc/{session.pid}/fdinfo/*"):
            with contextlib.suppress(OSError), open(name, encoding="ascii") as f:
                found |= {(kind, int(n)) for kind, n in re.findall(r"^(prog|map|link)_id:\s*(\d+)", f.read(), re.M)}
        return found

    def programs():
        return {("prog", p["id"]): p.get("name", "") for p in json.loads(run(tool, "--json", "prog", "list").stdout)}

    def left(held):
        return {one for one in held if is_there(*one)}

    def pins():
        return sorted(glob.glob("/sys/fs/bpf/**", recursive=True))

    if not tool:
        print("skip: what is left in the kernel: there is no bpftool", flush=True)
        return
    events = [event_of("software:cpu_clock", rate=1000000, flags=["callchain"], aggregate=True),
              event_of("sched:off_cpu_time", rate=1000000, flags=["callchain", "waker"]),
              event_of("sched:run_queue_time", rate=1000000, flags=["callchain"], aggregate=True),
              *(event_of(f"latency:{name}") for name in ("run_queue", "block", "irq", "softirq", "syscall.read")),
              event_of("misc:process_cpu_time")]
    with open(f"{folder}/left.cpspec", "w", encoding="ascii") as f:
        json.dump({"duration": 60, "events": events}, f)
    before = pins()
    for end in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
        with subprocess.Popen([CPUPERF, f"--spec-file={folder}/left.cpspec", "-o", f"{folder}/{end.name}"], cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as session:
            held, missing = set(), loaded
            while missing:
                assert session.poll() is None, missing
                time.sleep(0.05)
                held, names = named(), programs()
                missing = loaded - {names.get(one) for one in held}
            assert {kind for kind, _ in held} == set(next_id) and left(held) == held, (held, left(held))
            session.send_signal(end)
        until = time.monotonic() + PATIENCE_S  # the kernel frees them in the background
        while left(held) and time.monotonic() < until:
            time.sleep(0.1)
        assert not left(held), (left(held), names)
        assert pins() == before, (pins(), before)


def check_intervals(folder):
    """Shares of a function with short waits and one with long ones, against what the program asked for: the 95 %
    interval holds the true share in 57 of 60 runs (CPUPERF_TEST_LONG=1; else 2), and at least in 53. The same where
    max_frequency leaves samples out."""
    nr = 60 if os.environ.get("CPUPERF_TEST_LONG") == "1" else 2
    program = os.path.join(folder, "shares")
    run("cc", "-O1", "-fno-omit-frame-pointer", "-o", program, f"{HERE}/shares.c")
    for keys in ({}, {"max_frequency": 100}):
        write_event(folder, "sched:off_cpu_time", rate=1000000, flags=["callchain"], **keys)
        hold_intervals(folder, program, nr)


def hold_intervals(folder, program, nr):
    held = 0
    for seed in range(nr):
        words = run(CPUPERF, "--spec-file=spec.cpspec", "--", program, str(seed), cwd=folder).stdout.split()
        said = {k: int(v) for k, v in zip(words[::2], words[1::2])}
        found = {r["function"]: r for r in rows(folder, "--report=flat")}
        slept = int(found["nap_a"]["total_count"]) + int(found["nap_b"]["total_count"])
        if slept > 1.3 * (said["a_ns"] + said["b_ns"]):
            print(f"skip: intervals of seed {seed}: timers were late, {slept} ns of {said}", flush=True)
            continue
        low, high = (float(found["nap_a"][f"total_{end}"]) for end in ("low", "high"))
        share = 100 * said["a_ns"] / (said["a_ns"] + said["b_ns"])
        held += low <= share <= high
        assert abs(share - (low + high) / 2) < 1.3 * (high - low), (share, found["nap_a"])
    print(f"intervals: {held} of {nr} runs hold the true share", flush=True)
    assert nr < 60 or held >= 53, held


def check_regions(folder):
    """How long was waited in a region, by about 60 samples of all waits: nothing else says it, so the amount is as
    uncertain as these, also where the region has all of them."""
    program = os.path.join(folder, "naps")
    with open(f"{program}.c", "w", encoding="ascii") as f:
        f.write("#include <cpuperf/mark.h>\n#include <time.h>\nint main(void) { struct timespec t = {0, 300000};"
                'for (int i = 0; i < 150; i++) { CPUPERF_BEGIN("nap"); nanosleep(&t, NULL); CPUPERF_END; } return 0; }\n')
    run("cc", "-O1", f"-I{os.environ['SOURCE_DIR']}/include", "-o", program, f"{program}.c")
    run(CPUPERF, "--event=sched:off_cpu_time@1000000", "-g", "--regions", "--", program, cwd=folder)
    row, = rows(folder, "--report=regions")
    ns, low, high = (int(row[f"off_cpu_time_count{end}"]) for end in ("", "_low", "_high"))
    assert 20e6 < ns < 120e6 and low < 0.9 * ns and high > 1.1 * ns, row


def check_described(folder):
    """As it works: not by opening the perf event that carries the samples."""
    for before, way in (([], "programs in the kernel"),
                        (["setpriv", "--bounding-set", "-bpf,-sys_admin"], "records of switches")):
        text = output(*before, CPUPERF, "--describe-event=sched:off_cpu_time", "--output-format=ndjson", cwd=folder)
        event = json.loads(text.splitlines()[0])
        assert event["works"] and event["way"] == way and ("BPF" in event["reason"]) == bool(before), event


def check_other_form(folder):
    """The event of samples and that of /proc name each other, wherever either is looked up."""
    pair = ("sched:run_queue_time", "misc:process_run_delay")
    for one, other in (pair, pair[::-1]):
        for option in ("--describe-event", "--list-events"):
            text = output(CPUPERF, f"{option}={one}", cwd=folder)
            assert other in text and "[not tried]" not in text, (option, one, text)


def check_refusals(folder):
    for event, text in (("sched:wakeups@1000", "can be counted, not sampled"),
                        ("sched:off_cpu_time@100Hz", "has no frequency")):
        done = run(CPUPERF, f"--event={event}", "--duration=100ms", cwd=folder, code=None)
        assert done.returncode and text in done.stderr, (event, done.stderr)
    with open(f"{folder}/twice.cpspec", "w", encoding="ascii") as f:
        json.dump({"events": [{"group_name": "sched", "event_name": "off_cpu_time", "rate": rate}
                              for rate in (1000, 2000)]}, f)
    done = run(CPUPERF, f"--spec-file={folder}/twice.cpspec", cwd=folder, code=None)
    assert done.returncode and "1:" in done.stderr and "at one rate only" in done.stderr, done.stderr



if __name__ == "__main__":
    need_programs()
    run_checks(globals())
