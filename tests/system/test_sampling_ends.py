#!/usr/bin/env python3
"""How a sampling session ends, and what does not begin: kills at random moments, a full disk, a
signal, a storm of processes, too little memory that may be locked, what is refused. CPUPERF,
CPUPERF_PRINT and MIX name the programs; software events only.
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from kit import need_sampling
import sampled
from sampled import CPUS, event, finish

PRINT = os.environ["CPUPERF_PRINT"]
FAST = 100000  # ns: 10 kHz
IS_LONG = os.environ.get("CPUPERF_TEST_LONG") == "1"
KILLS = 60 if IS_LONG else 10
MAX_MISSING_NS = 500000000
HEAD_BYTES = 192
CLOCK = event("software:cpu_clock", rate=FAST, flags=["callchain"])
STORM = """i=0
while [ $i -lt %d ]; do (exit 0)& i=$((i + 1)); [ $((i %% 100)) = 0 ] && wait; done
wait"""


def setting(name):
    with open(f"/proc/sys/kernel/{name}", encoding="ascii") as f:
        return int(f.read())


def status(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(key))


def manifest(folder):
    with open(f"{folder}/s.cpsession", encoding="utf-8") as f:
        return json.load(f)


def run(folder, events, *args, code=0, prefix=(), **keys):
    return finish(subprocess.Popen(
        [*prefix, os.environ["CPUPERF"], sampled.write_spec(folder, events, **keys), *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), code)


def show(folder, code, how="text"):
    return finish(subprocess.Popen([PRINT, f"--session={folder}/s.cpsession",
                                    f"--output-format={how}"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True), code)


def times_of(trace):
    return [s["time"] for s in trace.samples()]


# ---- kills

def waiting(pid):
    """(thread, ns that it had a CPU so far) of each that waits for one, or for a disk."""
    found = set()
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as f:
                state = f.read().rpartition(")")[2].split()[0]
            with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
                found |= {(tid, f.read().split()[0])} if state in "RD" else set()
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            pass
    return found


def sleep(seconds, pid):
    """Sleeps; returns how late a program wakes up here at worst, and for how long a thread of the process got no CPU."""
    late_ns, starved_ns, end_ns, since = 0, 0, time.monotonic_ns() + seconds * 1e9, {}
    while (before_ns := time.monotonic_ns()) < end_ns:
        since = {thread: since.get(thread, before_ns) for thread in waiting(pid)}
        time.sleep(0.01)
        now_ns = time.monotonic_ns()
        late_ns = max(late_ns, now_ns - before_ns - 10000000)
        starved_ns = max([starved_ns, *(now_ns - of_ns for of_ns in since.values())])
    return late_ns, starved_ns


def kill_one(folder, after_s):
    """Kills a session at a moment; the iteration it was in, and how much of it is missing beyond what a busy machine
    explains."""
    began_ns, stolen_ns = time.monotonic_ns(), sampled.stolen_ns()
    p = sampled.start(folder, [CLOCK], "--duration=1", num_iterations=100)
    late_ns, starved_ns = sleep(after_s, p.pid)
    killed_ns = time.monotonic_ns()
    p.kill()
    p.communicate()
    stolen_ns = sampled.stolen_ns() - stolen_ns
    # a kill may come before the last one has files, or before these have their heads
    names = [n for n in os.listdir(folder) if re.fullmatch(r"t\.\d+\.\d+\.cpuperf", n)]
    whole = [n for n in names if os.path.getsize(f"{folder}/{n}") >= HEAD_BYTES]
    for name in set(names) - set(whole):
        os.unlink(f"{folder}/{name}")
    # the one in progress is counted, or will be in a moment
    last = max([int(n.split(".")[1]) for n in whole], default=manifest(folder)["num_iterations"] - 1)
    assert manifest(folder)["num_iterations"] >= last
    before = [sampled.traces(folder, i) for i in range(last)]
    assert all(t.end for of_iteration in before for t in of_iteration)
    assert all(len(of_iteration) == len(CPUS) for of_iteration in before)
    left = sampled.traces(folder, last)
    times = [[began_ns] for _ in CPUS]
    for of_iteration in [*before, left]:
        for cpu, trace in enumerate(of_iteration):
            times[cpu] += times_of(trace)
    for of_cpu in times:  # nor are there holes
        assert len(of_cpu) < 2 or len(of_cpu) >= 0.5 * (of_cpu[-1] - of_cpu[1] - stolen_ns) / FAST, of_cpu[-1]
    missing_ns = max(killed_ns - of_cpu[-1] for of_cpu in times) - 4 * late_ns - starved_ns
    return last, missing_ns


def check_kills(folder):
    """kill -9: at most the last half second is missing, all before reads, and the next session is
    not disturbed by what is left."""
    chance, rows = random.Random(), []
    seed = chance.randrange(10**6)
    chance.seed(seed)
    with sampled.Busy():
        for _ in range(KILLS):
            for name in os.listdir(folder):
                if name.endswith((".cpuperf", ".cpsession")):
                    os.unlink(f"{folder}/{name}")
            rows.append(kill_one(folder, chance.uniform(0.2, 1.3)))
    print(f"  seed {seed}; iteration and missing ms: "
          f"{[(i, round(ns / 1e6)) for i, ns in rows]}")
    assert all(ns <= MAX_MISSING_NS for _, ns in rows), rows
    out, error = show(folder, 1)
    assert "cpu_clock" in out and error, (out, error)
    run(folder, [CLOCK], "--duration=0.1")
    assert manifest(folder)["num_iterations"] == 1
    show(folder, 0)
    sampled.check_sound(folder, [f"t.0.{t}.cpuperf" for t in range(len(CPUS))] +
                        ["t.common.cpuperf"])


# ---- a full disk

def check_full_disk(folder):
    if not sampled.is_root() or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=12m", "none", folder], check=False).returncode:
        print("  skip: no file system can be mounted here")
        return
    try:
        with sampled.Busy():
            _, error = run(folder, [event("software:cpu_clock", rate=FAST, stack_bytes=4096,
                                          flags=["user_stack"])], "--duration=60", code=1)
        assert error.count("error: ") == 1 and "No space left on device" in error, error
        assert f"{folder}/t." in error, error
        traces = sampled.traces(folder)
        assert sum(len(times_of(t)) for t in traces) > 100
        assert not any(t.is_cut for t in traces), "half a frame was left"
        assert "cpu_clock" in show(folder, 1)[0]
    finally:
        subprocess.run(["umount", folder], check=True)


def check_full_by_common(folder):
    """The common file fills the disk, with the kernel's symbols: what the CPUs' traces can hold is
    there, each has its end, and why it ended."""
    if not sampled.is_root() or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=640k", "none", folder], check=False).returncode:
        print("  skip: no file system can be mounted here")
        return
    try:
        with sampled.Busy():
            _, error = run(folder, [event("software:cpu_clock", rate=FAST)], "--duration=60",
                           code=1)
        assert "No space left on device" in error, error
        traces = sampled.traces(folder)
        print("  samples", [len(times_of(t)) for t in traces], "bytes",
              [t.bytes for t in traces], "common", sampled.common(folder).bytes)
        ends = [bool(t.end) for t in [*traces, sampled.common(folder)]]
        assert all(ends), (ends, error, os.listdir(folder), os.statvfs(folder))
        assert any("No space left" in note for t in traces for note in t.notes)
        sampled.check_sound(folder)
        shown, error = show(folder, 1)
        assert "No space left on device" in shown and "t.common.cpuperf" in error, (shown, error)
        assert "incomplete: the disk was full or a limit was reached; the last data is missing" in error and "killed" not in error, error
    finally:
        subprocess.run(["umount", folder], check=True)


def check_limits(folder):
    """A limit of file sizes is a full disk; the one of CPU time, and each signal, is an end."""
    busy = [event("software:cpu_clock", rate=FAST, stack_bytes=4096, flags=["user_stack"])]
    with sampled.Busy():
        _, error = run(folder, busy, "--duration=60", code=1, prefix=["prlimit", "--fsize=1000000"])
        assert "File too large" in error, error
        traces = sampled.traces(folder)
        assert all(t.bytes <= 1000000 and t.end for t in traces), [t.bytes for t in traces]
        assert max(t.bytes for t in traces) > 900000, [t.bytes for t in traces]
        for number in (signal.SIGQUIT, signal.SIGXCPU, signal.SIGHUP, signal.SIGTERM):
            os.unlink(f"{folder}/s.cpsession")
            p = sampled.start(folder, [CLOCK], "--duration=60")
            time.sleep(0.3)
            p.send_signal(number)
            finish(p, number == signal.SIGXCPU)
            assert all(t.end for t in [*sampled.traces(folder), sampled.common(folder)])
            assert not [n for n in os.listdir(folder) if n.endswith((".lock", ".tmp"))]
    sampled.check_sound(folder, [f"t.0.{t}.cpuperf" for t in range(len(CPUS))])


# ---- signals, and no files

def check_signal(folder):
    """SIGINT ends the iteration: it is whole, and said to be cut, unless it had just lasted as long as it should."""
    with sampled.Busy():
        p = sampled.start(folder, [CLOCK], "--duration=0.4", num_iterations=100)
        time.sleep(0.6)
        p.send_signal(signal.SIGINT)
        out, error = finish(p)
    done = manifest(folder)["num_iterations"]
    assert done >= 1 and f"stopped after {done} of 100" in error, error
    sampled.check_sound(folder)
    begin = min(t.end[0] for t in sampled.traces(folder, 0))
    for i in range(done):
        for t in sampled.traces(folder, i):
            is_cut = bool(t.end[7] & 1)
            assert not is_cut if i < done - 1 else is_cut or t.end[1] >= begin + done * 400000000, (i, done, t.end)
    # where two iterations meet, each sample is of the one that it was taken in
    for cpu in range(len(CPUS)):
        traces = [sampled.traces(folder, i)[cpu] for i in range(done)]
        for one, next_one in zip(traces, traces[1:]):
            assert one.readings[1, 0] == next_one.readings[0, 0]
            at = one.readings[1, 0][0]  # the last one may just have begun
            assert max(times_of(one), default=at) <= at < min(times_of(next_one), default=at + 1)
    assert out.count("cpu_clock") >= done, out
    show(folder, 0)


def check_no_files(folder):
    stolen_ns = sampled.stolen_ns()
    with sampled.Busy():
        out, _ = run(folder, [CLOCK], "--duration=0.2", "--output-path-prefix=",
                     "--session-result-spec-path=")
    assert os.listdir(folder) == ["s.cpspec"], os.listdir(folder)
    stolen_ns = sampled.stolen_ns() - stolen_ns
    row = next(line for line in out.splitlines() if "cpu_clock" in line)
    assert int(row.split()[1].replace(",", "")) > 0.5 * (len(CPUS) * 200000000 - stolen_ns) / FAST, out
    assert not re.search("\x1b|\r", out)  # no status line: it is no terminal


# ---- a storm of processes

def check_fork_storm(folder):
    """Memory stays bounded by what is asked for, not by how many processes there were."""
    peaks, storm = [], 20000 if IS_LONG else 4000
    # else the address sanitizer holds what is freed
    options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=0:thread_local_quarantine_size_kb=0"
    p = sampled.start(folder, [{**CLOCK, "rate": 10 * FAST}], "--duration=600",
                      prefix=("env", f"ASAN_OPTIONS={options}"))
    with open(os.environ["CPUPERF"], "rb") as f:
        own = 8192 if b"__asan_report_load" in f.read() else 0  # what the sanitizer keeps of threads and places of allocations
    # others that start many programs meanwhile may take some memory once: who keeps some of each needs more each time
    for nr in (1000, storm, storm, storm):
        subprocess.run(["sh", "-c", STORM % nr], check=True)
        peaks.append(status(p.pid, "VmHWM"))
        if len(peaks) > 1 and peaks[-1] - peaks[-2] < storm / 4 + own:
            break
    p.send_signal(signal.SIGINT)
    finish(p)
    sampled.check_sound(folder)
    forks = sum(r.kind == sampled.R_FORK for r in sampled.common(folder).records())
    lost = sum(t.sampling["lost"] for t in sampled.traces(folder))
    print(f"  {forks} forks recorded, {lost} records lost, peak memory {peaks} KiB")
    assert forks >= 1000 + storm * (len(peaks) - 1) and lost == 0, (forks, lost)
    assert peaks[-1] - peaks[-2] < storm / 4 + own, peaks  # KiB


# ---- what is not given, and what is refused

def check_locked_memory(folder):
    """Without CAP_IPC_LOCK rings are as large as the limit lets them be; it is said or refused."""
    if not sampled.is_root() or setting("perf_event_paranoid") < 0 or not sampled.have("setpriv"):
        print("  skip: not root, or no limit holds, or no setpriv")
        return
    prefix = ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"]
    _, error = run(folder, [CLOCK], "--duration=0.1", prefix=prefix)
    said = re.search(r"buffers of (\d+) KiB per CPU, not 16384", error)
    assert said and "RLIMIT_MEMLOCK" in error, error
    assert sampled.traces(folder)[0].sampling["ring_bytes"] == int(said[1]) << 10
    _, error = run(folder, [CLOCK], "--duration=0.1", "--strict", code=1, prefix=prefix)
    assert "--strict" in error and "RLIMIT_MEMLOCK" in error, error
    _, error = run(folder, [CLOCK], "--duration=0.1", "--strict", "--buffer-size-in-mb=3")
    assert "4 MiB" in error and sampled.traces(folder)[0].sampling["ring_bytes"] == 4 << 20, error


def check_refusals(folder):
    """With the place in the spec, and before anything is written."""
    limit = setting("perf_event_max_sample_rate")
    for keys, place, text in (
            ({"rate": 9999}, "9999", "10000 ns instead"),
            ({"frequency": limit + 1}, str(limit + 1), f"limit of {limit}\n"),
            ({"rate": 1000000, "flags": ["last_branch"]}, '["last_branch"]', "LBR"),
            ({"rate": 1000000, "frequency": 1000}, "1000}", "rate and frequency are mutually exclusive"),
            ({"flags": ["callchain"]}, '["callchain"]', "needs a rate"),
            ({"rate": 1000000, "flags": ["user_stack"], "stack_bytes": 65536}, "65536", "65528")):
        _, error = run(folder, [event("software:cpu_clock", **keys)], code=1)
        with open(f"{folder}/s.cpspec", encoding="utf-8") as f:
            column = f.read().index(place) + 1
        assert text in error and f"s.cpspec:1:{column}: error: " in error, (keys, error)
        assert os.listdir(folder) == ["s.cpspec"], os.listdir(folder)


def main():
    need_sampling()
    for name, check in sorted(globals().items()):
        if not name.startswith("check_") or sys.argv[1:] and name not in sys.argv[1:]:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="cpuperf-sampling.") as folder:
            os.mkdir(f"{folder}/x")
            check(f"{folder}/x")
        print(f"{name}: ok, {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
