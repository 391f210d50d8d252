#!/usr/bin/env python3
"""Waits that the kernel adds up by stack: the key aggregate on off_cpu_time and run_queue_time. With a rate of 1
each wait is a sample of its own length, so that samples, in whatever iteration, add up to the count.
CPUPERF and CPUPERF_PRINT name the programs; needs root and a kernel with BTF.
"""
import atexit
import contextlib
import csv
import functools
import glob
import io
import math
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from kit import CPUPERF, hidden_turns, need_programs, output, PRINT, run, run_checks, stride, wait_for
from sampled import Trace, write_spec

HERE = os.path.dirname(os.path.abspath(__file__))
FRAME_STACKS, R_SAMPLE = 20, 9
ON_ONE_CPU = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]  # one table
IS_LONG = os.environ.get("CPUPERF_TEST_LONG") == "1"
PAUSED_SWITCHES = 20000 if IS_LONG else 12000


@functools.lru_cache(maxsize=None)
def build(name):
    """Once for all checks; removed at the end."""
    folder = tempfile.mkdtemp(prefix="cpuperf-test.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = os.path.join(folder, name)
    run("cc", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-o", program,
        f"{HERE}/{name}.c")
    return program


def wait_event(name, rate=1, **keys):
    return {"group_name": "sched", "event_name": name, "rate": rate, "flags": ["callchain"], "aggregate": True, **keys}


WAITS = [wait_event("off_cpu_time"), wait_event("run_queue_time")]


def measure(folder, *command, events=None, options=(), **keys):
    """The session's folder, and what the command printed: {name: number}."""
    spec = write_spec(folder, events or WAITS, **{"duration": 60, "num_iterations": 0, **keys})
    done = run(CPUPERF, spec, "-o", f"{folder}/session", "--output-format=csv", "--output-file=/dev/null", *options, "--",
               *command, cwd=folder)
    words = done.stdout.split()
    return f"{folder}/session", {k: int(v) for k, v in zip(words[::2], words[1::2]) if v.isdigit()}


def rows(session, *args):
    text = output(PRINT, "--quiet", "--output-format=csv", *args, session)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def of_traces(session, name):
    return [r for r in rows(session, "--report=summary") if r["trace"] and r["event"] == name]


def sums(cells, *keys):
    return [sum(int(c[key] or 0) for c in cells) for key in keys]


SKIPPED = 0.005  # of switches: on a busy machine the kernel (6.18) was seen to skip the end of one, and so a sample


def is_whole(raw, weight):
    return 0 <= raw - weight <= raw * SKIPPED


def stacks_of(session, iteration="*"):
    """(samples, weight) of all that was added up, and how many samples were not."""
    added, single = [], 0
    for path in glob.glob(f"{session}/cpuperf.{iteration}.*.cpuperf"):
        trace = Trace(path)
        for payload in trace.of(FRAME_STACKS):
            at = 8
            while at < len(payload):
                samples, weight, _ = struct.unpack_from("<QQQ", payload, at)
                kind, _, size = struct.unpack_from("<IHH", payload, at + 24)
                assert kind == R_SAMPLE, kind
                added.append((samples, weight))
                at += 24 + size
        single += sum(r.kind == R_SAMPLE for r in trace.records())
    return added, single


def check_each_once(folder):
    """Over many iterations, and so many boundaries: each wait once, with its length, or in parts that have its stack."""
    number, turns = 3000 if IS_LONG else 1500, hidden_turns()
    session, said = measure(folder, build("faults"), str(number), "8", "doze", duration=0.005)
    added, single = stacks_of(session)
    found = 0
    for event in WAITS:
        cells = of_traces(session, event["event_name"])
        raw, weight, samples, lost = sums(cells, "raw", "weight", "samples", "lost")
        assert lost == 0 and is_whole(raw, weight), (raw, weight, cells[0])
        assert sum(c["trace"] == "0" for c in cells) > 1
        found += samples
    assert sum(n for n, _ in added) + single == found, (found, single)
    parts = len(glob.glob(f"{session}/cpuperf.*.0.cpuperf"))
    assert len(added) < sum(n for n, _ in added), "nothing was added up"
    dozed = [r for r in rows(session, "--report=stacks", "--event=sched:off_cpu_time", "--top=0")
             if "nanosleep" in r["stack"] and "main" in r["stack"]]
    naps, ns = sums(dozed, "samples", "count")
    turns = hidden_turns() - turns
    print(f"{said['switches']} naps, {naps} found, some in parts; {turns} turns of tasks that the kernel may hide")
    assert said["switches"] * (1 - SKIPPED) - turns <= naps <= number + parts and ns <= said["dozed_ns"], (naps, ns, said, turns)
    # a wait that ends while its stack is read is sampled at its end
    assert not [r for r in rows(session, "--report=stacks", "--comm=faults", "--top=0") if "[no address]" in r["stack"]]
    # no wait is left to chance
    assert all(r["share_high"] == r["share_low"] == r["share"] for r in dozed), dozed


def check_reports_agree(folder):
    turns = hidden_turns()
    session, said = measure(folder, build("faults"), "1000", "8", "doze",
                         events=[{"group_name": "software", "event_name": "cpu_clock", "rate": 1000000,
                                  "flags": ["callchain"], "aggregate": True}, *WAITS])
    summary = {r["event"]: r for r in rows(session, "--report=summary") if r["samples"] and not r["trace"]}
    samples, ns = sums(summary.values(), "samples", "weight")
    waits = rows(session, "--report=waits", "--top=0")
    assert sums(waits, "self_samples", "self_count") == [samples, ns], (summary, waits)
    assert {r["state"] for r in waits} == {"on CPU", "waiting for a CPU", "blocked"}, waits
    asleep, = [r for r in waits if (r["state"], r["reason"], r["comm"]) == ("blocked", "sleep", "faults")]
    least = said["switches"] * (1 - SKIPPED) - (hidden_turns() - turns)
    assert least <= int(asleep["self_samples"]) <= 1000, (asleep, said)
    flat = rows(session, "--report=flat", "--top=0")
    assert sums(flat, "self_samples", "self_count") == [samples, ns]
    tree = output(PRINT, "--quiet", "--report=tree", "--group-by=state", "--output-format=ndjson", session)
    assert "nanosleep" in tree and "blocked" in tree
    folded = output(PRINT, "--quiet", "--output-format=folded", "--event=sched:off_cpu_time", session).splitlines()
    of_doze = {line.rsplit(" ", 1)[0] for line in folded if "nanosleep" in line and ";main;" in line}
    assert len(of_doze) == 8, of_doze
    assert all(line.count("left") + line.count("right") == 20 for line in of_doze), of_doze
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == int(summary["off_cpu_time"]["weight"])
    assert not re.search(r"bpf|__schedule\b|;schedule ", "\n".join(folded)), folded
    for name in stride(("pprof", "sqlite", "html", "speedscope", "chrome", "perfetto"), 2):
        output(PRINT, "--quiet", f"--output-format={name}", f"--output-file={folder}/x.{name}", session)
    output(PRINT, "--quiet", f"--diff={session}", "--within", session, code=None)


def check_weights(folder):
    """Waits far shorter than the rate: as in a ring, the weights of samples stand for all waits."""
    session, _ = measure(folder, build("waits"), "short",
                         events=[wait_event("off_cpu_time", 500000), wait_event("run_queue_time", 500000)])
    raw, weight, samples = sums(of_traces(session, "off_cpu_time"), "raw", "weight", "samples")
    assert 100 < samples < 4000, samples
    assert abs(raw - weight) < 5 * math.sqrt(raw * 5e5), (raw, weight)
    # of short waits an interval as if each sample were of the mean length of its row's, or of the others': what is left
    # to chance. Beside others' work nearly all time is a wait for a CPU.
    waits = rows(session, "--report=waits", "--top=0")
    nr, = sums(waits, "self_samples")
    asleep = [r for r in waits if (r["state"], r["reason"]) == ("blocked", "sleep") and 50 <= int(r["self_samples"]) <= nr - 50]
    for row in asleep:
        part, own = float(row["self"]) / 100, int(row["self_samples"])
        width = 200 * 1.96 * part * (1 - part) * math.sqrt(1 / own + 1 / (nr - own))
        assert width / 3 < float(row["self_high"]) - float(row["self_low"]) < 3 * width, (width, nr, row)
    assert asleep, waits
    added, _ = stacks_of(session)
    assert added and all(w >= n * 500000 * 0.9999 for n, w in added), added


def check_callgraph(folder):
    """-g=aggregate adds waits up too, each run's anew; those with a waker stay single."""
    waits = build("waits")
    run(CPUPERF, "--event=sched:off_cpu_time@1", "-g=aggregate", "--runs=3", "-o", f"{folder}/session", "--", waits,
        cwd=folder)
    for run_nr in range(3):
        added, _ = stacks_of(f"{folder}/session", run_nr)
        assert added, run_nr
    by_run = {}
    for cell in of_traces(f"{folder}/session", "off_cpu_time"):
        by_run.setdefault(cell["iteration"], []).append(cell)
    assert len(by_run) == 3, by_run
    for cells in by_run.values():
        weight, samples = sums(cells, "weight", "samples")
        assert samples >= 55 and weight >= 4 * 15 * 10e6 * 0.95, cells
    spec = write_spec(folder, [wait_event("off_cpu_time", aggregate=False, flags=["callchain", "waker"])])
    run(CPUPERF, spec, "-g=aggregate", "-o", f"{folder}/session", "--", waits, cwd=folder)
    added, single = stacks_of(f"{folder}/session")
    assert not added and single > 50, (added, single)


def record_stacks(folder, number):
    """Waits with as many stacks. Returns the bytes of the session, and the most memory of cpuperf in KiB."""
    program, session = build("faults"), f"{folder}/session"
    spec = write_spec(folder, [wait_event("off_cpu_time")], duration=3600, num_iterations=0,
                      compression="zstd:1")
    with open(f"{folder}/said", "w", encoding="utf-8") as said:
        pid = os.posix_spawn(CPUPERF, [CPUPERF, spec, "-o", session, "--output-file=/dev/null", "--", *ON_ONE_CPU, program, str(number),
                                       str(number), "doze"], os.environ,
                             file_actions=[(os.POSIX_SPAWN_DUP2, said.fileno(), fd) for fd in (1, 2)])
        _, status, usage = os.wait4(pid, 0)
    assert status == 0, open(f"{folder}/said", encoding="utf-8").read()
    text = output(PRINT, "--report=summary", "--each-iteration", session, stderr=subprocess.STDOUT)
    said = re.search(r"([\d,]+) samples found no room in the kernel's table\s+of stacks and were\s+written one by one; "
                     r"([\d,]+) were\s+added up", text)
    assert said, text
    full, samples = (int(n.replace(",", "")) for n in said.groups())
    raw, weight, all_samples, lost = sums(of_traces(session, "off_cpu_time"), "raw", "weight", "samples", "lost")
    size = sum(os.path.getsize(path) for path in glob.glob(f"{session}/*"))
    print(f"{number} stacks: {samples} added up, {full} written one by one, {lost} lost; {size / 2**20:.1f} MiB in "
          f"files, {usage.ru_maxrss / 1024:.1f} MiB of memory", flush=True)
    assert full > number / 8 and full + samples == all_samples + lost, (full, samples, all_samples, lost)
    assert is_whole(raw, weight) or lost, (raw, weight)
    return size, usage.ru_maxrss


def check_full(folder):
    """More stacks than the kernel's table has room for: the rest goes to the ring, and is said. With
    CPUPERF_TEST_LONG=1 a million of them, which need no more memory."""
    size, memory = record_stacks(folder, 6000)
    assert size < 16 << 20, size
    if IS_LONG:
        more, most = record_stacks(folder, 1000000)
        assert more - size < 1000000 * 200, (size, more)
        assert most < memory + (64 << 10), (memory, most)


def check_crowd(folder):
    """No map of threads fills up: what is known of a thread is stored with it."""
    number, turns = 4000, hidden_turns()
    session, _ = measure(folder, build("waits"), "crowd", str(number), events=[wait_event("off_cpu_time")])
    turns = hidden_turns() - turns
    raw, weight, lost = sums(of_traces(session, "off_cpu_time"), "raw", "weight", "lost")
    assert lost == 0 and is_whole(raw, weight), (raw, weight, lost)
    asleep = [r for r in rows(session, "--report=waits", "--top=0", "--event=sched:off_cpu_time")
              if r["reason"] == "sleep"]
    assert number * (1 - SKIPPED) - turns <= len({r["tid"] for r in asleep}) <= number, (turns, len(asleep))
    # a thread that waits for a CPU while it falls asleep is blocked for less
    assert all(int(r["self_samples"]) == 1 and 0 < int(r["self_count"]) for r in asleep)
    assert sum(int(r["self_count"]) > 400e6 for r in asleep) > number * 0.9


def record_paused(folder, is_added):
    """The recorder stands still while a process waits thousands of times. Returns its session."""
    def switches():
        with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
            return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", f.read(), re.M)[1])

    event = wait_event("off_cpu_time", aggregate=is_added)
    spec = write_spec(folder, [event, {"group_name": "sched", "event_name": "wakeups"}], duration=600,
                      buffer_size_in_mb=1)
    session = f"{folder}/{is_added}"
    with subprocess.Popen([build("faults"), "100000000", "8", "doze"], stdout=subprocess.DEVNULL) as p:
        with subprocess.Popen([CPUPERF, spec, f"--pid={p.pid}", "-o", session], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as recorder:
            wait_for(recorder, f"{session}/cpuperf.cpsession")
            enough = switches() + 1000
            while switches() < enough:
                time.sleep(0.05)
            recorder.send_signal(signal.SIGSTOP)
            enough = switches() + PAUSED_SWITCHES
            while switches() < enough:
                time.sleep(0.1)
            recorder.send_signal(signal.SIGCONT)
            time.sleep(0.5)
            recorder.send_signal(signal.SIGINT)
        assert recorder.returncode == 0
        p.kill()
    return session


def check_full_rings(folder):
    """Waits that find no room in a ring are counted where the numbers stand. The kernel's table needs no reader."""
    for is_added in stride((False, True), 1):
        session = record_paused(folder, is_added)
        raw, weight, samples, lost = sums(of_traces(session, "off_cpu_time"), "raw", "weight", "samples", "lost")
        wakeups, = sums(of_traces(session, "wakeups"), "value")
        assert wakeups > PAUSED_SWITCHES and abs(samples + lost - wakeups) <= wakeups / 200, (wakeups, samples, lost)
        for report in ("summary", "waits", "flat"):
            text = output(PRINT, f"--report={report}", session, stderr=subprocess.STDOUT)
            assert (f"{lost:,}" in text and "lost" in text) or is_added, text
            assert "records of switches" not in text, text
        if is_added:
            assert lost == 0 and abs(raw - weight) < raw / 100, (raw, weight, lost)
        else:
            assert lost > 1000 and weight < raw, (raw, weight, lost)


def record_day(folder, seconds):
    """A program that computes and sleeps, 10,000 samples per second. Returns the samples, the bytes of the
    traces, and the most memory of cpuperf in KiB. In the kernel a clock's samples are at too many addresses for this."""
    session = f"{folder}/{seconds}"
    spec = write_spec(folder, [{"group_name": "software", "event_name": "cpu_clock", "rate": 100000,
                                "flags": ["callchain", "user"], "aggregate": True},
                               wait_event("off_cpu_time", 100000)],
                      duration=seconds)
    most = 0
    # else the address sanitizer holds what is freed
    env = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"}
    with subprocess.Popen([build("faults"), "100000000", "8", "work"], stdout=subprocess.DEVNULL) as p:
        with subprocess.Popen([CPUPERF, spec, f"--pid={p.pid}", "-o", session, "--output-file=/dev/null"],
                              stderr=subprocess.DEVNULL, env=env) as recorder:
            wait_for(recorder, f"{session}/cpuperf.cpsession")
            while recorder.poll() is None:
                with contextlib.suppress(OSError, TypeError), \
                        open(f"/proc/{recorder.pid}/status", encoding="ascii") as f:
                    most = max(most, int(re.search(r"^VmHWM:\s*(\d+)", f.read(), re.M)[1]))
                time.sleep(0.1)
        assert recorder.returncode == 0 and p.poll() is None
        p.kill()
    added, single = stacks_of(session)
    size = sum(os.path.getsize(path) for path in glob.glob(f"{session}/cpuperf.0.*.cpuperf"))
    samples = sum(n for n, _ in added)
    print(f"{seconds} s: {samples} samples added up in {len(added)} stacks, {single} single; {size / 1024:.0f} KiB of "
          f"traces, {most / 1024:.1f} MiB of memory", flush=True)
    return samples, size, most


def check_days(folder):
    """Neither files nor memory grow with time. CPUPERF_TEST_LONG=1: as many samples of a CPU as in 24 h at 99 Hz."""
    short, longer = (60, (864, 1728)) if IS_LONG else (0.5, (2, 8, 32))
    samples, size, memory = record_day(folder, short)
    for long in longer:  # beside others it may have less of a CPU now
        more, most_size, most_memory = record_day(folder, long)
        if more > 2 * samples:
            break
    assert more > 2 * samples, (samples, more)
    assert most_size < min(size, 512 << 10) + (768 << 10), (size, most_size)  # the different stacks are few
    assert most_memory < memory + (8 << 10), (memory, most_memory)


def check_refusals(folder):
    spec = write_spec(folder, [wait_event("off_cpu_time", flags=["callchain", "waker"])])
    done = run(CPUPERF, spec, "--", "true", cwd=folder, code=None)
    assert done.returncode and "waker: samples with this flag cannot be added up" in done.stderr, done.stderr
    # without the right to load programs: not by records of switches, which nothing adds up
    spec = write_spec(folder, [wait_event("off_cpu_time")])
    done = subprocess.run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", CPUPERF, spec, "-o",
                           f"{folder}/session", "--", "true"], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    assert "off_cpu_time (programs in the kernel (BPF) are not permitted; nothing adds up records of switches: sample without " \
        "aggregate)" in done.stdout, done.stdout


need_programs()
run_checks(globals())
