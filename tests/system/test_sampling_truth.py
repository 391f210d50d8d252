#!/usr/bin/env python3
"""Are the samples true? Programs whose profile and number of events are known (mix.c, known.c) are
sampled, and the records are held against nm, against the counters and against what cpuperf_print
says. CPUPERF, CPUPERF_PRINT, MIX and KNOWN name the programs; software events only.

What is a matter of chance, or of a machine that others use too, has TRIES tries; the rest has one.
"""
import contextlib
import functools
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from kit import again, need_sampling
import sampled
from sampled import Program, event, find_mapping, finish

MIX, KNOWN, PRINT = os.environ["MIX"], os.environ["KNOWN"], os.environ["CPUPERF_PRINT"]
TRIES = 5
RATE = 1000000  # ns: 1 kHz
WINDOW_NS = 100 * RATE
SHARES = {"work_a": 0.7, "work_b": 0.2, "work_c": 0.1}
TRACEFS = "/sys/kernel/tracing"
RAW_LINE = re.compile(r"(?:Tick|PC|Count): Event (0x\w+)(?:, (-?\d+)|.*, period (\d+))?")


class Doubt(AssertionError):
    """What a busy machine may do to a session once, but not each time."""


def doubt(condition, text):
    if not condition:
        raise Doubt(text)


# Beside a session: how often a timer of a CPU came so late that it was due again.
TIMER = f"""
import os, signal, sys, time
os.sched_setaffinity(0, [int(sys.argv[1])])
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except PermissionError:
    pass
ends = []
signal.signal(signal.SIGTERM, lambda *_: ends.append(1))
print(flush=True)
missed, due = 0, time.monotonic_ns()
while not ends:
    due += {RATE}
    time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
    late = (time.monotonic_ns() - due) // {RATE}
    missed += late
    due += late * {RATE}
print(missed)
"""
missed_ns = {}  # of the session in a folder, by CPU


@contextlib.contextmanager
def timers(folder):
    """Finds missed_ns of the block."""
    found = {cpu: subprocess.Popen([sys.executable, "-c", TIMER, str(cpu)], stdout=subprocess.PIPE, text=True)
             for cpu in sampled.CPUS}
    for p in found.values():
        p.stdout.readline()
    yield
    for p in found.values():
        p.terminate()
    missed_ns[folder] = {cpu: RATE * int(p.communicate()[0]) for cpu, p in found.items()}


def known(*args):
    subprocess.run([KNOWN, *map(str, args)], stdout=subprocess.DEVNULL, check=True)


def work_more(programs, seconds):
    """Until each had a CPU for so long from now on: a session begins late on a busy machine."""
    for p in programs:
        sampled.wait_for_cpu_time([p], sampled.user_seconds(p.pid) + seconds)


def session(folder, events, action, duration="60", **keys):
    """Traces and common file of a session around an action, which is given its process."""
    shutil.rmtree(folder)
    os.mkdir(folder)
    with timers(folder):
        p = sampled.start(folder, events, f"--duration={duration}", **keys)
        try:
            action(p)
        finally:
            p.send_signal(signal.SIGINT)
        finish(p)
    sampled.check_sound(folder)
    return sampled.traces(folder), sampled.common(folder)


def printed(folder, *args):
    return subprocess.run([PRINT, f"--session={folder}/s.cpsession", "--quiet", *args],
                          stdout=subprocess.PIPE, text=True, check=True).stdout


# ---- what holds for every session

def check_sums(trace):
    """What the trace says of its samples is what is in it; total = weight + residual."""
    samples = list(trace.samples())
    for item in trace.sampling["items"]:
        mine = [s for s in samples if s["event"] == item["event"]]
        rate = trace.events[item["event"]]["rate"]
        weight = sum(s.get("period", rate) for s in mine)
        assert item["samples"] == len(mine), (item, len(mine))
        assert item["weight"] == weight, (item, weight)
        assert item["idle"] == sum(s["tid"] == (0, 0) for s in mine), item
    (start_ns, *_), (end_ns, *_) = trace.readings[0, 0], trace.readings[1, 0]
    # a sample may have the time at which another session took the same occurrence: Linux fills it in once
    doubt(all(start_ns <= s["time"] <= end_ns for s in samples), "a sample of another iteration")
    assert trace.end[4] == trace.sampling["lost"] == 0, trace.sampling
    return samples


def residual(trace, place, weight):
    (_, before, *_), (_, after, *_) = trace.readings[0, place], trace.readings[1, place]
    return after - before - weight


def disorder_ns(samples):
    """How far times go back in the order of the file."""
    worst = latest = 0
    for s in samples:
        worst, latest = max(worst, latest - s["time"]), max(latest, s["time"])
    return worst


# ---- profile: shares, numbers, mappings, callchains

def check_number(trace, samples, missed_ns):
    """On a CPU that is never idle a clock takes time / period samples, within 1 %, but for those that fell due where
    timers of this CPU were late: a virtual machine is stopped for some ms now and then, and what should have come
    then does not come later. In the best of windows of 100 ms also without that."""
    start_ns, end_ns = (trace.readings[b, 0][0] for b in (0, 1))
    windows = [0] * ((end_ns - start_ns) // WINDOW_NS + 1)
    for s in samples:
        windows[(s["time"] - start_ns) // WINDOW_NS] += 1
    best = max(windows[:-1]) * RATE / WINDOW_NS
    least = 0.99 - missed_ns / (end_ns - start_ns)
    ratio = len(samples) * RATE / (end_ns - start_ns)
    print(f"  CPU {trace.cpu}: {len(samples)} samples in {(end_ns - start_ns) / 1e9:.3f} s: "
          f"{ratio:.4f} of what should come, at least {least:.4f}; in the best window {best:.2f}")
    doubt(0.99 <= best <= 1.02 and least <= ratio <= 1.01, (best, ratio, least))


def check_shares(name, functions):
    """Within three standard errors of what the program was made for."""
    n = sum(f in SHARES for f in functions)
    # the rest begins threads and looks at the clock, which is slow while others use the caches
    doubt(n >= 0.95 * len(functions), f"{name}: {n} of {len(functions)} in the known functions")
    assert n > 500, (name, n)
    for function, share in SHARES.items():
        error = math.sqrt(share * (1 - share) / n)
        off = (functions.count(function) / n - share) / error
        print(f"  {name}: {function} {functions.count(function) / n:.4f}, off by {off:+.1f} errors")
        doubt(abs(off) <= 3, (name, function, functions.count(function), n))


def user_chain(sample):
    chain = sample["chain"]
    return chain[chain.index(sampled.CONTEXT_USER) + 1:]


def check_depth(program, maps, samples, top):
    """The leaf, run, and what calls run: of return addresses the byte before counts."""
    deep = nr = 0
    for s in samples:
        chain = user_chain(s)
        assert chain[0] == s["ip"], s
        names = [program.function(find_mapping(maps, a), a) for a in chain[:1] +
                 tuple(a - 1 for a in chain[1:3])]
        nr += names[0] in SHARES
        deep += names[0] in SHARES and names[1:] == ["run", top]
    # the first and last instructions of a function have no frame: chance may meet them more often
    doubt(deep >= 0.99 * nr > 0, (deep, nr, top))


def is_before_exec(maps, sample):
    """What a process that the session saw begin did before it became the program that it is known for. The session's
    look at /proc may come after that, so its mappings say nothing of when."""
    return sample["time"] < min(m.time for m in maps if not m.is_made)


def check_profile(folder):
    program = Program(MIX)
    with sampled.Busy() as one:
        later = []

        def act(p):
            with sampled.mix("cpu_ms", 400, 4) as four:
                four.communicate()
            later.append(four.pid)
            work_more(one, 0.4)
            sampled.wait_for_mappings(p, f"{folder}/t.common.cpuperf", [of.pid for of in one])

        traces, common = session(folder, [event("software:cpu_clock", rate=RATE,
                                                flags=["pc", "callchain"])], act)
    maps = sampled.mappings(common)
    by_pid = {pid: [] for pid in [p.pid for p in one] + later}
    for trace in traces:
        samples = check_sums(trace)
        check_number(trace, samples, missed_ns[folder][trace.cpu])
        for s in samples:
            pid = s["tid"][0]
            if pid in by_pid and s["misc"] & 7 == 2 and not (pid in later and is_before_exec(maps[pid], s)):
                by_pid[pid].append(s)
    check_disorder(folder, traces)
    for pid, samples in by_pid.items():
        assert all((m := find_mapping(maps[pid], s["ip"])) and m.prot & sampled.PROT_EXEC
                   for s in samples), "a PC outside of all mappings"
        of_mix = [m for m in maps[pid] if m.name == program.path and m.prot & sampled.PROT_EXEC]
        assert {m.is_made for m in of_mix} >= {pid not in later}, of_mix
        check_depth(program, maps[pid], samples, "thread" if pid in later else "main")
    for name, pids in (("one thread", [p.pid for p in one]), ("four threads", later)):
        check_shares(name, [program.function(find_mapping(maps[pid], s["ip"]), s["ip"])
                            for pid in pids for s in by_pid[pid]])


def check_disorder(folder, traces):
    """In the file times go back by no more than cpuperf_print says; what it prints is in order."""
    done = subprocess.run([PRINT, f"--session={folder}/s.cpsession", "--output-format=raw",
                           "--verbose=1"], capture_output=True, text=True, check=True)
    told = dict(re.findall(r"(\S+): times went back by up to (\d+) ns", done.stderr))
    for number, trace in enumerate(traces):
        mine = disorder_ns(trace.samples())
        print(f"  CPU {trace.cpu}: times go back by {mine} ns in the file")
        assert mine <= int(told[f"t.0.{number}.cpuperf"]), told
    for text in done.stdout.split("\nCommon", maxsplit=1)[0].split("\nTrace ")[1:]:
        times = [int(t) for t in re.findall(r"Time: (\d+)", text)]
        assert times == sorted(times) and len(times) > 1000


# ---- several events

def check_own_rates(folder):
    """A timebase with siblings that are read in its samples, an event with a rate of its own, and
    misc at the timebase's pace, in one ring and one session."""
    events = [event("software:cpu_clock", rate=RATE, flags=["timebase", "pc"]),
              event("software:page_faults"), event("software:context_switches"),
              event("software:minor_faults", rate=100, flags=["pc"]), event("misc:memory_used")]

    def act(p):
        known("faults", 20000)
        known("switches", 3000)
        p.send_signal(signal.SIGSTOP)  # what cannot be read then is missed
        time.sleep(0.1)
        p.send_signal(signal.SIGCONT)
        time.sleep(0.5)

    with sampled.Busy():
        traces, _ = session(folder, events, act)
    total = [0] * 4
    for trace in traces:
        samples = check_sums(trace)
        check_siblings(trace, [s for s in samples if s["event"] == 0])
        faults = 100 * sum(s["event"] == 3 for s in samples)
        # a period, and at each boundary one that others' faults complete between its time and its reading: more where the
        # recorder had no CPU just there
        doubt(abs(residual(trace, 3, faults)) <= 300, (faults, residual(trace, 3, faults)))
        for place in range(4):
            total[place] += trace.readings[1, place][1] - trace.readings[0, place][1]
    assert total[1] >= 20000 and total[2] >= 6000 and total[3] >= 20000, total
    check_ticks(traces[0], 4)
    lines = check_raw(folder, traces)
    for number in range(len(traces)):  # siblings are told with each sample of the timebase
        assert lines[number, 0] == lines[number, 1] == lines[number, 2] > 100, lines


def check_siblings(trace, samples):
    """READ of each sample: the counts of the group, which only grow, from the start's reading to
    the end's; what is not in a sample happened before the first or after the last."""
    groups = [i for i in trace.ids.values() if i[3] == next(
        g[3] for g in trace.ids.values() if g[0] == 0)]
    places = [i[0] for i in groups]
    assert places == [0, 1, 2], trace.ids
    assert all(len(s["read"][1]) == len(places) for s in samples)
    for k, place in list(enumerate(places))[1:]:
        counts = [s["read"][1][k][0] for s in samples]
        bounds = [trace.readings[b, place][1] for b in (0, 1)]
        assert [bounds[0], *counts, bounds[1]] == sorted([bounds[0], *counts, bounds[1]]), place
        outside = bounds[1] - bounds[0] - (counts[-1] - counts[0])
        print(f"  CPU {trace.cpu}: {trace.events[place]['name']}: {counts[-1] - counts[0]} between "
              f"samples, {outside} outside")
        doubt(outside <= (bounds[1] - bounds[0]) / 4 + 1000, (place, outside, bounds))


def check_ticks(trace, place):
    """Misc was read as often as the timebase's pace asks, or was said to have been missed."""
    times = trace.ticks(place)
    start_ns, end_ns = (trace.readings[b, 0][0] for b in (0, 1))
    asked = (end_ns - start_ns) / RATE
    taken, missed = trace.sampling["ticks"], trace.sampling["ticks_missed"]
    print(f"  misc: {len(times)} ticks of {asked:.0f}, {missed} missed")
    assert times == sorted(times) and start_ns <= times[0] and times[-1] <= end_ns
    assert missed >= 95
    # those after the last may be on their way when the iteration ends, and many are on a busy machine
    behind = (end_ns - times[-1]) / RATE
    assert 0 <= taken - len(times) <= behind + 1, (taken, len(times), behind)
    assert taken + missed <= 1.01 * asked + 3, (taken, missed, asked)
    doubt(taken + missed >= 0.99 * (asked - behind) - 3, (taken, missed, asked, behind))


def check_raw(folder, traces):
    """cpuperf_print --output-format=raw: what it tells of each sample adds up to the total. How
    many lines it has for each event of each trace."""
    sums, lines, trace = {}, {}, None
    places = {e["id"]: place for place, e in enumerate(traces[0].events)}
    for line in printed(folder, "--output-format=raw").splitlines():
        if found := re.match(r"Trace (\d+)", line):
            trace = int(found[1])
        if found := RAW_LINE.search(line):
            key = trace, places[int(found[1], 16)]
            amount = int(found[2] or found[3] or traces[0].events[key[1]]["rate"])
            sums[key], lines[key] = sums.get(key, 0) + amount, lines.get(key, 0) + 1
    for number, trace in enumerate(traces):
        for place, e in enumerate(trace.events):
            if e["group"] == "software":
                total = trace.readings[1, place][1] - trace.readings[0, place][1]
                assert sums[number, place] == total, (number, e["name"], total, sums)
    return lines


def check_frequency(folder):
    """Each sample says its period, and that is its weight: for the clock, whose frequency the
    kernel makes a period, always the same; for faults as the kernel adapts it."""
    events = [event("software:cpu_clock", frequency=1000, flags=["pc"]),
              event("software:page_faults", frequency=500)]
    with sampled.Busy():
        traces, _ = session(folder, events, lambda _: known("faults", 60000), compression="zstd")
    for trace in traces:
        samples = check_sums(trace)
        assert {s["period"] for s in samples if s["event"] == 0} == {RATE}
        assert all(s["period"] > 0 for s in samples)
        weight = sum(s["event"] == 0 for s in samples) * RATE
        missed = missed_ns[folder][trace.cpu]
        doubt(abs(residual(trace, 0, weight)) <= 0.01 * (weight + missed) + RATE + missed, (weight, missed))
    of_faults = [s["period"] for t in traces for s in t.samples() if s["event"] == 1]
    total = sum(t.readings[1, 1][1] - t.readings[0, 1][1] for t in traces)
    print(f"  {len(of_faults)} samples of {min(of_faults)} to {max(of_faults)} of {total} faults")
    assert total >= 60000 and max(of_faults) > min(of_faults), (total, of_faults)
    check_raw(folder, traces)


# ---- tracepoints, user stacks

@functools.lru_cache
def see_tracefs():
    """What stands before a command so that it sees tracefs; None: it cannot be had."""
    if os.path.isdir(f"{TRACEFS}/events"):
        return ()
    prefix = ("unshare", "-m", "sh", "-c", f'mount -t tracefs nodev {TRACEFS} && exec "$@"', "sh")
    may = sampled.is_root() and shutil.which("unshare") and subprocess.run(
        [*prefix, "test", "-d", f"{TRACEFS}/events"], check=False,
        stderr=subprocess.DEVNULL).returncode == 0
    return prefix if may else None


def field(text, name):
    """Offset and size of a field of a tracepoint, by its format file."""
    return tuple(map(int, re.search(rf"\b{name}(?:\[\w+\])?;\s*offset:(\d+);\s*size:(\d+)",
                                    text).groups()))


def iterations_begun(folder):
    return sum(re.fullmatch(r"t\.\d+\.0\.cpuperf", name) is not None for name in os.listdir(folder))


def check_none_missing(number, traces):
    """traces: those of one CPU. What happens while a CPU is being read may be counted before the
    boundary and have a sample behind it, as the time of a reading is that of its begin. So at a
    boundary samples may be behind counts, but at some boundary they are not; and what is ahead of
    counts was counted before the first reading."""
    before, behind, at_boundaries = traces[0].readings[0, 0][1], 0, []
    for trace in traces:
        behind += residual(trace, 0, sum(1 for _ in trace.samples()))
        at_boundaries.append(behind)
    print(f"  CPU {number}: samples behind counts at boundaries: {at_boundaries}, {before} before")
    assert min(at_boundaries) >= -before, (at_boundaries, before)
    doubt(min(at_boundaries[-5:]) <= 0, at_boundaries)


def check_tracepoint(folder):
    """Rate 1: each occurrence is a sample, with the fields of the tracepoint."""
    if see_tracefs() is None:
        print("  skip: tracefs cannot be had here")
        return

    def act(_):
        known("switches", 2000)
        last = iterations_begun(folder) + 5
        while iterations_begun(folder) < last:
            time.sleep(0.02)

    session(folder, [event("tracepoint:sched:sched_switch", rate=1)], act, duration="100ms",
            prefix=see_tracefs(), num_iterations=1000)
    nr, ours, of_cpu = iterations_begun(folder), 0, {}
    for trace in (trace for i in range(nr) for trace in sampled.traces(folder, i)):
        of_cpu.setdefault(trace.cpu, []).append(trace)
        text = trace.events[0]["format"]
        (at, size), (pid_at, _) = field(text, "prev_comm"), field(text, "prev_pid")
        for s in check_sums(trace):
            name = s["raw"][at:at + size].split(b"\0")[0].decode()
            pid = int.from_bytes(s["raw"][pid_at:pid_at + 4], "little")
            assert pid == s["tid"][1] or s["tid"][1] == 2**32 - 1, s  # who leaves, and who dies
            ours += name == "known"
    for cpu, traces in of_cpu.items():
        check_none_missing(cpu, traces)
    print(f"  {ours} switches away from known")
    assert ours >= 4000, ours


def check_user_stack(folder):
    """Registers, and the bytes from the stack pointer up: of a leaf of mix the first two words are
    the frame of run and the address in run to which it returns."""
    program = Program(MIX)
    with sampled.Busy() as one:
        def act(p):
            work_more(one, 0.15)
            sampled.wait_for_mappings(p, f"{folder}/t.common.cpuperf", [of.pid for of in one])

        traces, common = session(folder, [event("software:cpu_clock", rate=RATE, stack_bytes=1024,
                                                flags=["pc", "user_stack"])], act)
        maps = sampled.mappings(common)
        deep = nr = 0
        for trace in traces:
            for s in check_sums(trace):
                pid = s["tid"][0]
                if pid not in [p.pid for p in one] or s["misc"] & 7 != 2 or \
                   not str(program.function(find_mapping(maps[pid], s["ip"]), s["ip"])).startswith("work_"):
                    continue
                nr += 1
                stack = [int.from_bytes(s["stack"][k:k + 8], "little") for k in (0, 8)]
                assert len(s["stack"]) <= 1024 and s["regs"][sampled.SP] % 8 == 0
                deep += s["regs"][sampled.SP] < stack[0] < s["regs"][sampled.SP] + 65536 and \
                    program.function(find_mapping(maps[pid], stack[1]), stack[1]) == "run"
    print(f"  {deep} of {nr} stacks begin at the stack pointer")
    assert nr > 100, nr
    # the first and last instructions of a function have no frame: chance may meet them more often
    doubt(deep >= 0.99 * nr - 1, (deep, nr))


def repeat(check, folder):
    for left in reversed(range(TRIES)):
        try:
            return check(folder)
        except Doubt as why:
            if not left:
                raise
            again(check.__name__, why)


def main():
    need_sampling()
    for check in (check_profile, check_own_rates, check_frequency, check_tracepoint,
                  check_user_stack):
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="cpuperf-sampling.") as folder:
            os.mkdir(f"{folder}/x")
            repeat(check, f"{folder}/x")
        print(f"{check.__name__}: ok, {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
