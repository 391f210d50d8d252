#!/usr/bin/env python3
"""Are the counts true? A program does a known number of things (known.c) inside one iteration.

Each try reads /proc four times: outside the iteration, inside it, and again after the program:

    outer { cpuperf's iteration { inner { known } inner } } outer

What was counted lies between known's own figures (getrusage) and /proc of the outer window, and is
not less than /proc of the inner one. The sources differ, and by how much is said at MARGIN.
`perf stat -a` counts the same events beside; CPUPERF and KNOWN name the programs.
"""
import csv
import json
import os
import shutil
import signal
import statistics
import subprocess
import time

from kit import again, CPUPERF, hidden_turns, need_sampling, run_checks

KNOWN = os.environ["KNOWN"]
CPUS = sorted(os.sched_getaffinity(0))
SOFTWARE = ["cpu_clock", "context_switches", "cpu_migrations", "page_faults"]
MISC = ["cpu_user", "cpu_utilization", "memory_used", "memory_available", "page_faults",
        "context_switches"]
TRIES, MOST_TRIES = 3, 12

# The kernel adds to PERF_COUNT_SW_PAGE_FAULTS at the exception (arch/*/mm/fault.c), to pgfault
# when a fault is complete (mm_account_fault() in mm/memory.c): faults that end in a signal are in
# the first only, those the kernel makes for itself (arguments of execve) in the second only. Both
# are few beside known's. Context switches are added at the same place: no margin, but for those from
# the first process where the kernel hides them (kit.hidden_turns).
MARGIN = {"page_faults": 0.03, "context_switches": 0}
# perf's window begins after perf was loaded and its events were opened, and ends before it is
# torn down: its own faults and switches are in our count and not in its own.
PERF_MARGIN = 0.08
GETPPID = 50000
# Others do things too, and all the more, the busier the machine is: what must be few beside
# known's is tried with twice as much, up to so often.
DOUBLINGS = 7
TRACEFS = "/sys/kernel/tracing"


def proc(path, key):
    with open(path, encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.split()[0] == key)


def machine():
    return {"context_switches": proc("/proc/stat", "ctxt"),
            "page_faults": proc("/proc/vmstat", "pgfault")}


def write_spec(folder, more=()):
    spec = {"num_iterations": 1000, "output_path_prefix": "",
            "session_result_spec_path": f"{folder}/s.cpsession",
            "events": [{"group_name": "software", "event_name": e} for e in SOFTWARE] +
                      [{"group_name": "misc", "event_name": e, "label": "misc_" + e}
                       for e in MISC] +
                      [{"group_name": group, "event_name": e, "label": e} for group, e in more]}
    with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
        json.dump(spec, out)


class Try:
    """One session around an action; more: (group, event) besides; prefix: of the command."""

    def __init__(self, folder, action, duration="60", more=(), prefix=()):
        write_spec(folder, more)
        outer, turns = machine(), hidden_turns()
        # a file, because nobody reads before the end
        with open(f"{folder}/rows.csv", "w+", encoding="utf-8") as out, subprocess.Popen(
                [*prefix, CPUPERF, f"--spec-file={folder}/s.cpspec", "--output-format=csv",
                 f"--duration={duration}", "--quiet"], stdout=out) as p:
            while not os.path.exists(f"{folder}/s.cpsession"):  # made after the first reading
                assert p.poll() is None
                time.sleep(0.002)
            inner = machine()
            self.result = action()
            self.inner = {k: v - inner[k] for k, v in machine().items()}
            p.send_signal(signal.SIGINT)
            assert p.wait() == 0
            out.seek(0)
            self.rows = list(csv.DictReader(out))
        self.hidden = {"page_faults": 0, "context_switches": hidden_turns() - turns}
        self.outer = {k: v - outer[k] for k, v in machine().items()}
        os.unlink(f"{folder}/s.cpsession")

    def cells(self, label):
        cells = [r for r in self.rows if r["label"] == label and r["trace"]]  # no totals
        assert cells and all(r["state"] == "ok" for r in cells), (label, cells)
        return cells

    def count(self, label):
        return sum(int(r["value"]) for r in self.cells(label))

    def encloses(self, done):
        return int(self.rows[0]["start_ns"]) <= done["start_ns"] < done["end_ns"] <= \
            int(self.rows[-1]["end_ns"])


def known(*args):
    return json.loads(subprocess.run([KNOWN, *map(str, args)], stdout=subprocess.PIPE,
                                     check=True).stdout)


def check_between(folder):
    """What others make the kernel fault in by itself (arguments of execve, memory read by ptrace) is in /proc
    alone: they are few beside known's where it makes enough."""
    for what, nr, event, own, least in (
            ("faults", 30000, "page_faults", lambda d: d["faults"], 1),
            ("switches", 15000, "context_switches", lambda d: d["voluntary"] + d["involuntary"], 2)):
        for made in (nr << i for i in range(DOUBLINGS)):
            if made > nr:
                again("check_between", told)
            one = Try(folder, lambda what=what, made=made: known(what, made))
            assert one.encloses(one.result)
            assert own(one.result) >= least * made  # known did what it says
            slack, hidden = MARGIN[event] * one.outer[event], one.hidden[event]
            told = f"{event}: {what} {made}: own {own(one.result)}, /proc {one.inner[event]} to " \
                   f"{one.outer[event]}, counted {one.count(event)}, hidden {hidden} at most"
            print(told)
            assert own(one.result) <= one.count(event), told
            # misc reads the same /proc: no margin at all
            assert one.inner[event] <= one.count("misc_" + event) <= one.outer[event], told
            # and it is counted once, not once for each CPU
            assert len(one.cells("misc_" + event)) == 1
            assert len(one.cells(event)) == os.sysconf("SC_NPROCESSORS_ONLN")
            if one.inner[event] - slack - hidden <= one.count(event) <= one.outer[event] + slack:
                break
            assert MARGIN[event], told
        else:
            raise AssertionError(told)


def check_migrations(folder):
    if len(CPUS) < 2:
        print("skip: migrations: one CPU")
        return
    one = Try(folder, lambda: known("migrate", 3000))
    counted = one.count("cpu_migrations")
    print(f"cpu_migrations: 3000 made, {counted} counted")
    # each is a switch too: no more than those
    assert 3000 <= counted <= one.outer["context_switches"]


def check_clock(folder):
    """cpu_clock of each CPU is the wall time between its two readings, unless others have the CPU as it is read."""
    worst = []
    while len(worst) < TRIES or sorted(worst)[1] >= 0.001 and len(worst) < MOST_TRIES:
        if len(worst) >= TRIES:
            again("check_clock", f"off by {sorted(worst)[1]:.6%} of wall time")
        one = Try(folder, lambda: time.sleep(0.7))
        worst.append(max(abs(int(r["value"]) / int(r["span_ns"]) - 1)
                         for r in one.cells("cpu_clock")))
        for r in one.cells("cpu_clock"):
            wall = int(r["end_ns"]) - int(r["start_ns"])
            assert 0.7e9 <= wall < 60e9
            assert int(r["enabled_ns"]) == int(r["running_ns"])
    print(f"cpu_clock: off by {statistics.median(worst):.6%} of wall time")
    assert sorted(worst)[1] < 0.001, worst


def user_ticks(cpu):
    with open("/proc/stat", encoding="ascii") as f:
        fields = next(line.split() for line in f if line.startswith(f"cpu{cpu} "))
    return int(fields[1]) + int(fields[2])  # and nice


def check_cpu_user(folder):
    """In ticks, as /proc has it: between what that shows outside and inside of the iteration. And
    no less than what a program says of itself that spins there: of each of its turns the kernel
    counts the whole ticks in it, or one more, or one less."""
    cpu, tick_ns = CPUS[-1], 1e9 / os.sysconf("SC_CLK_TCK")

    def act():
        before = user_ticks(cpu)
        return known("spin", 800, cpu), user_ticks(cpu) - before

    before = user_ticks(cpu)
    one = Try(folder, act)
    outer = user_ticks(cpu) - before
    own, inner = one.result
    row = next(r for r in one.cells("misc_cpu_user") if int(r["cpu"]) == cpu)
    busy = next(r for r in one.cells("misc_cpu_utilization") if int(r["cpu"]) == cpu)
    least = own["cpu_ns"] / tick_ns - 2 - own["voluntary"] - own["involuntary"]
    print(f"cpu_user: {row['raw']} ticks, /proc {inner} to {outer}, known at least {least:.0f}")
    assert own["cpu_ns"] >= 800e6
    assert max(inner, least) <= int(row["raw"]) <= outer
    assert abs(float(row["value"]) - 100 * int(row["raw"]) / int(row["base"])) < 1e-3, row
    assert float(row["value"]) <= float(busy["value"]) <= 100


def meminfo():
    with open("/proc/meminfo", encoding="ascii") as f:
        kib = {line.split(":")[0]: int(line.split()[1]) for line in f}
    return {"memory_available": kib["MemAvailable"] << 10,
            "memory_used": kib["MemTotal"] - kib["MemFree"] - kib["Buffers"] - kib["Cached"] << 10}


def hold(mib, seconds):
    """(time_ns, what /proc/meminfo says) all the time before known fills memory, while it keeps it,
    and afterwards, each for so long."""
    seen = []

    def watch(is_over):
        while not is_over():
            seen.append((time.monotonic_ns(), meminfo()))
            time.sleep(0.002)

    for _ in range(2):
        with subprocess.Popen([KNOWN, "hold", str(mib), str(int(1000 * seconds))],
                              stdout=subprocess.DEVNULL) as p:
            watch(lambda: p.poll() is not None)
        assert p.returncode == 0
        end = time.monotonic() + seconds
        watch(lambda: time.monotonic() > end)
    return seen


def bounds_near(seen, event, when_ns):
    """The least and most that /proc showed of late and soon after; None if it was not looked at."""
    near = [(t, shown[event]) for t, shown in seen if abs(t - when_ns) <= 100e6]
    if not [t for t, _ in near if t < when_ns - 20e6] or not [t for t, _ in near if t > when_ns + 20e6]:
        return None
    return min(v for _, v in near), max(v for _, v in near)


def are_true(one, event):
    """Whether each value is one that /proc showed at about that time; None if what others do with
    memory hides what known does. Pages freed before wait in lists of the CPUs, where the kernel
    counts them as used until somebody asks for them."""
    slack, apart, close = 24 << 20, 64 << 20, []
    for row in one.cells("misc_" + event):
        value, bounds = int(row["value"]), bounds_near(one.result, event, int(row["end_ns"]))
        if not bounds:
            continue
        if not bounds[0] - slack <= value <= bounds[1] + slack:
            print(f"{event}: {value >> 20} MiB, /proc {bounds[0] >> 20} to {bounds[1] >> 20} MiB")
            return False
        if bounds[1] - bounds[0] <= slack:
            close.append(bounds)
    rise = max((b[0] for b in close), default=0) - min((b[1] for b in close), default=0)
    print(f"{event}: {len(close)} readings between close bounds, {rise >> 20} MiB apart")
    return True if rise >= apart + 2 * slack else None


def check_memory(folder):
    """What is read is what /proc shows then, while a program takes memory and gives it back. One
    session may be held up between the time of its reading and the reading: not each time."""
    answers = []
    for seconds in (0.4, 0.8, 1.6, 1.6, 1.6):
        if answers:
            again("check_memory", f"used and available are those of /proc: {answers}")
        one = Try(folder, lambda seconds=seconds: hold(256, seconds), duration="0.05")
        answers = [are_true(one, event) for event in ("memory_used", "memory_available")]
        if all(answers):
            return
    assert False not in answers, answers
    print("skip: memory: what others do with memory hides what known does")


def perf_stat(*what):
    """known inside perf's window, which is inside ours; what perf counted."""
    done = subprocess.run(["perf", "stat", "-a", "-x,", "-e", "context-switches,page-faults,"
                           "cpu-migrations", "--", KNOWN, *map(str, what)], check=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return {line.split(",")[2].replace("-", "_"): int(line.split(",")[0])
            for line in done.stderr.splitlines() if line.count(",") > 3}


def may_perf(event, prefix=()):
    return shutil.which("perf") and subprocess.run(
        [*prefix, "perf", "stat", "-a", "-e", event, "true"], check=False,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def perf_count(event, *command, prefix=()):
    """What perf stat counted of one event while the command ran, in how many ns of all CPUs."""
    done = subprocess.run([*prefix, "perf", "stat", "-a", "-x,", "-e", event, "--",
                           *map(str, command)], check=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    fields = next(line.split(",") for line in done.stderr.splitlines() if event in line)
    return int(fields[0]), int(fields[3])


def check_tsc(folder):
    """A PMU of its own: the ticks of a second, ours beside perf's in our window."""
    if not os.path.exists("/sys/bus/event_source/devices/msr/events/tsc"):
        print("skip: msr_tsc: this machine has no PMU msr")
        return
    if not may_perf("msr/tsc/"):
        print("skip: msr_tsc: perf is not there or may not count msr/tsc/")
        return
    ratios = []
    for _ in range(TRIES):
        one = Try(folder, lambda: perf_count("msr/tsc/", "sleep", 0.5), more=[("misc", "msr_tsc")])
        rows = one.cells("msr_tsc")
        assert len(rows) == os.sysconf("SC_NPROCESSORS_ONLN")
        ours = sum(int(r["value"]) for r in rows) / sum(int(r["span_ns"]) for r in rows)
        ratios.append(ours / (one.result[0] / one.result[1]))
    print(f"msr_tsc: {statistics.median(ratios):.6f} of what perf stat counts in a second")
    assert 0.99 <= statistics.median(ratios) <= 1.01, ratios


def see_tracefs():
    """What stands before a command so that it sees tracefs: nothing, or a mount of its own that
    nobody else sees. None: it cannot be had."""
    if os.path.isdir(f"{TRACEFS}/events"):
        return []
    prefix = ["unshare", "-m", "sh", "-c", f'mount -t tracefs nodev {TRACEFS} && exec "$@"', "sh"]
    may = os.geteuid() == 0 and shutil.which("unshare") and subprocess.run(
        [*prefix, "test", "-d", f"{TRACEFS}/events"], check=False,
        stderr=subprocess.DEVNULL).returncode == 0
    return prefix if may else None


def check_tracepoint(folder):
    """A tracepoint of a system call that a program makes a known number of times."""
    event, prefix = "syscalls:sys_enter_getppid", see_tracefs()
    if prefix is None or subprocess.run([*prefix, "test", "-d", f"{TRACEFS}/events/syscalls"],
                                        check=False).returncode:
        print("skip: tracepoint: tracefs or its system calls cannot be had here")
        return
    has_perf = may_perf(event, prefix)

    def act(nr):
        if has_perf:
            return perf_count(event, KNOWN, "getppid", nr, prefix=prefix)[0]
        known("getppid", nr)
        return nr

    for nr in (GETPPID << i for i in range(DOUBLINGS)):
        if nr > GETPPID:
            again("check_tracepoint", f"{nr // 2} made, {counted} counted")
        one = Try(folder, lambda nr=nr: act(nr), more=[("tracepoint", event)], prefix=prefix)
        counted = one.count(event)
        print(f"{event}: {nr} made, {counted} counted, "
              f"{'by perf ' + str(one.result) if has_perf else 'no perf'}")
        assert nr <= one.result <= counted, (one.result, counted)
        if counted <= 1.02 * nr:  # other programs may ask for their parents too
            return
    raise AssertionError("more was counted than made, however much that was")


def check_perf(folder):
    if not may_perf("page-faults"):
        print("skip: beside perf stat: perf is not there or may not count")
        return
    for what, event in ((("faults", 60000), "page_faults"),
                        (("switches", 30000), "context_switches"),
                        (("migrate", 6000), "cpu_migrations")):
        if event == "cpu_migrations" and len(CPUS) < 2:
            continue
        ratios = []
        while not ratios or ratios[-1] > 1 + PERF_MARGIN:
            assert len(ratios) < DOUBLINGS, ratios
            if ratios:
                again("check_perf", f"{ratios[-1]:.4f} of what perf stat counts of {event}")
            nr = what[1] << len(ratios)
            one = Try(folder, lambda nr=nr, what=what: perf_stat(what[0], nr))
            ratios.append(one.count(event) / one.result[event])
            print(f"{event}: {nr} made: {ratios[-1]:.4f} of what perf stat counts")
            assert ratios[-1] >= 1, ratios


need_sampling()
run_checks(globals())
