#!/usr/bin/env python3
"""Are the counts true? A program does a known number of things (known.c) inside one iteration.

Each try reads /proc four times: outside the iteration, inside it, and again after the program:

    outer { cpuperf's iteration { inner { known } inner } } outer

What was counted lies between known's own figures (getrusage) and /proc of the outer window, and is
not less than /proc of the inner one. The sources differ, and by how much is said at MARGIN.
`perf stat -a` counts the same events beside; CPUPERF and KNOWN name the programs.
"""
import csv
import io
import json
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

CPUPERF, KNOWN = os.environ["CPUPERF"], os.environ["KNOWN"]
CPUS = sorted(os.sched_getaffinity(0))
SOFTWARE = ["cpu_clock", "context_switches", "cpu_migrations", "page_faults"]
MISC = ["cpu_user", "cpu_utilization", "memory_used", "memory_available", "page_faults",
        "context_switches"]
TRIES = 3

# The kernel adds to PERF_COUNT_SW_PAGE_FAULTS at the exception (arch/*/mm/fault.c), to pgfault
# when a fault is complete (mm_account_fault() in mm/memory.c): faults that end in a signal are in
# the first only, those the kernel makes for itself (arguments of execve) in the second only. Both
# are few beside known's. Context switches are added at the same place: no margin.
MARGIN = {"page_faults": 0.03, "context_switches": 0}
# perf's window begins after perf was loaded and its events were opened, and ends before it is
# torn down: its own faults and switches are in our count and not in its own.
PERF_MARGIN = 0.08
# Other programs may ask for their parents too, a few times in a second.
GETPPID, OTHERS = 50000, 1000
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
        outer = machine()
        with subprocess.Popen([*prefix, CPUPERF, f"--spec-file={folder}/s.cpspec",
                               "--output-format=csv", f"--duration={duration}", "--quiet"],
                              stdout=subprocess.PIPE, text=True) as p:
            while not os.path.exists(f"{folder}/s.cpsession"):  # made after the first reading
                assert p.poll() is None
                time.sleep(0.002)
            inner = machine()
            self.result = action()
            self.inner = {k: v - inner[k] for k, v in machine().items()}
            p.send_signal(signal.SIGINT)
            self.rows = list(csv.DictReader(io.StringIO(p.communicate()[0])))
            assert p.returncode == 0
        self.outer = {k: v - outer[k] for k, v in machine().items()}
        os.unlink(f"{folder}/s.cpsession")

    def cells(self, label):
        cells = [r for r in self.rows if r["label"] == label]
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
    for what, event, own, least in (
            (("faults", 30000), "page_faults", lambda d: d["faults"], 30000),
            (("switches", 15000), "context_switches",
             lambda d: d["voluntary"] + d["involuntary"], 30000)):
        one = Try(folder, lambda what=what: known(*what))
        assert one.encloses(one.result)
        assert own(one.result) >= least  # known did what it says
        slack = MARGIN[event] * one.outer[event]
        low = max(own(one.result), one.inner[event] - slack)
        high = one.outer[event] + slack
        told = f"{event}: {what}: own {own(one.result)}, /proc {one.inner[event]} to " \
               f"{one.outer[event]}, counted {one.count(event)}"
        print(told)
        assert low <= one.count(event) <= high, told
        # misc reads the same /proc: no margin at all
        assert one.inner[event] <= one.count("misc_" + event) <= one.outer[event], told
        # and it is counted once, not once for each CPU
        assert len(one.cells("misc_" + event)) == 1
        assert len(one.cells(event)) == os.sysconf("SC_NPROCESSORS_ONLN")


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
    """cpu_clock of each CPU is the wall time between its two readings."""
    worst = []
    for _ in range(TRIES):
        one = Try(folder, lambda: time.sleep(0.7))
        worst.append(max(abs(int(r["value"]) / int(r["span_ns"]) - 1)
                         for r in one.cells("cpu_clock")))
        for r in one.cells("cpu_clock"):
            wall = int(r["end_ns"]) - int(r["start_ns"])
            assert 0.7e9 <= wall < 60e9
            assert int(r["enabled_ns"]) == int(r["running_ns"])
    print(f"cpu_clock: off by {statistics.median(worst):.6%} of wall time")
    assert statistics.median(worst) < 0.001, worst


def check_cpu_user(folder):
    """A CPU on which a program spins is busy in user mode at least as long as that says of itself.
    The kernel counts in ticks of 10 ms: two of them may be missing."""
    cpu = CPUS[-1]
    one = Try(folder, lambda: known("spin", 800, cpu))
    row = next(r for r in one.cells("misc_cpu_user") if int(r["cpu"]) == cpu)
    busy = next(r for r in one.cells("misc_cpu_utilization") if int(r["cpu"]) == cpu)
    window_ns = int(row["end_ns"]) - int(row["start_ns"])
    own = 100 * (one.result["cpu_ns"] - 20e6) / window_ns
    print(f"cpu_user: {row['value']} %, of which known {own:.1f} % (and two ticks)")
    assert own > 30, "the machine is too busy to test anything"
    assert own <= float(row["value"]) <= float(busy["value"]) <= 100


def meminfo():
    with open("/proc/meminfo", encoding="ascii") as f:
        kib = {line.split(":")[0]: int(line.split()[1]) for line in f}
    return {"memory_available": kib["MemAvailable"] << 10,
            "memory_used": kib["MemTotal"] - kib["MemFree"] - kib["Buffers"] - kib["Cached"] << 10}


def hold(mib):
    """What /proc/meminfo says while known fills memory, keeps it and frees it."""
    seen = [meminfo()]
    with subprocess.Popen([KNOWN, "hold", str(mib), "400"], stdout=subprocess.DEVNULL) as p:
        while p.poll() is None:
            seen.append(meminfo())
            time.sleep(0.005)
    assert p.returncode == 0
    time.sleep(0.15)
    return [*seen, meminfo()]


def check_memory(folder):
    """Each value is one that /proc shows in the window. A rise may be less than what was filled:
    pages freed before wait in lists of the CPUs, where the kernel counts them as used."""
    mib, slack = 256, 24 << 20
    one = Try(folder, lambda: hold(mib), duration="0.05")
    for event in ("memory_used", "memory_available"):
        shown = [m[event] for m in one.result]
        values = [int(r["value"]) for r in one.cells("misc_" + event)]
        rose, should = max(values) - min(values), max(shown) - min(shown)
        print(f"{event}: {min(values) >> 20} to {max(values) >> 20} MiB, /proc: "
              f"{min(shown) >> 20} to {max(shown) >> 20} MiB")
        assert min(shown) - slack <= min(values) <= max(values) <= max(shown) + slack
        assert should / 2 <= rose <= should + slack, (rose, should)


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

    def act():
        if has_perf:
            return perf_count(event, KNOWN, "getppid", GETPPID, prefix=prefix)[0]
        known("getppid", GETPPID)
        return GETPPID

    one = Try(folder, act, more=[("tracepoint", event)], prefix=prefix)
    print(f"{event}: {GETPPID} made, {one.count(event)} counted, "
          f"{'by perf ' + str(one.result) if has_perf else 'no perf'}")
    assert GETPPID <= one.count(event) <= GETPPID + OTHERS, one.count(event)
    assert GETPPID <= one.result <= one.count(event), (one.result, one.count(event))


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
        for _ in range(TRIES):
            one = Try(folder, lambda what=what: perf_stat(*what))
            ratios.append(one.count(event) / one.result[event])
        print(f"{event}: {statistics.median(ratios):.4f} of what perf stat counts")
        assert 1 <= statistics.median(ratios) <= 1 + PERF_MARGIN, ratios


def main():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if os.geteuid() != 0 and int(f.read()) > 0:
            print("skip: may not count whole CPUs: root, CAP_PERFMON or perf_event_paranoid 0")
            raise SystemExit(77)
    for name, check in sorted(globals().items()):
        if name.startswith("check_"):
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="cpuperf-truth.") as folder:
                check(folder)
            print(f"{name}: ok, {time.monotonic() - began:.1f} s", flush=True)


main()
