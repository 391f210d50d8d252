#!/usr/bin/env python3
"""Sessions whose oldest traces are removed (retain): what remains, in which order it goes, what the
manifest and reports say of it, and what a reader finds after kill -9, or while traces are removed.
CPUPERF and CPUPERF_PRINT name the programs.
"""
import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import sampled
from kit import CPUPERF, PRINT, may_sample, output, run, run_checks, show
from sampled import event, write_spec

COUNT = [event("software:context_switches" if sampled.may_sample() else "misc:cpu_user")]
SAMPLE = [event("software:cpu_clock", frequency=997, flags=["pc"])]
NAME = re.compile(r"t\.(s?)(\d+)\.(\d+)\.cpuperf$")
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"


def manifest(folder):
    with open(f"{folder}/s.cpsession", encoding="utf-8") as f:
        return json.load(f)


def numbers(folder):
    """Of the files of trace 0."""
    found = (NAME.match(n) for n in os.listdir(folder))
    return sorted(int(m[2]) for m in found if m and m[3] == "0")


def read(folder):
    """The iterations that print, and what is said of them."""
    done = run(PRINT, f"--session={folder}/s.cpsession", "--report=summary", "--output-format=csv",
               code=None)
    return sorted({int(r["iteration"]) for r in csv.DictReader(io.StringIO(done.stdout))
                   if r["iteration"]}), done


def expect_whole(folder, nr):
    """The end of a session of nr iterations: the oldest are removed, all others print."""
    said = manifest(folder)
    removed = said["removed"]["iterations"]
    assert said["num_iterations"] == nr and "state" not in said, said
    for key in "begin", "end":
        assert re.fullmatch(TIME, said["removed"][key]), said
    found, done = read(folder)
    assert found == list(range(removed, nr)), (removed, found[:3], found[-3:])
    assert done.returncode == 0, done.stderr
    last = f"{removed - 1:,}"
    said = re.findall(rf"iterations 0 to {last} were removed \(retain\): {TIME} to {TIME}",
                      done.stderr)
    assert len(said) == 1, done.stderr
    assert "no traces of" not in done.stderr and "ignored" not in done.stderr, done.stderr
    left = numbers(folder)
    assert left == list(range(left[0], left[-1] + 1)), left
    return removed, done.stderr


def check_tally(folder):
    spec = write_spec(folder, COUNT, num_iterations=3000, duration=0)
    run(CPUPERF, spec, "--retain=iterations:200", "--quiet")
    removed, _ = expect_whole(folder, 3000)
    assert 180 <= 3000 - removed <= 200, removed
    text = output(PRINT, f"--session={folder}/s.cpsession", "--report=summary", "--each-iteration")
    assert re.search(rf"^{3000 - removed} iterations, all traces\n"
                     rf"\(iterations 0 to {removed - 1:,} were removed \(retain\)", text, re.M), text


def check_headings(folder):
    """Every report for people says which iterations its session has lost; those for programs, a warning."""
    os.mkdir(f"{folder}/other")
    for where in (f"{folder}/other", folder):
        spec = write_spec(where, SAMPLE if may_sample("reports of samples") else COUNT, num_iterations=12, duration=0.01)
        run(CPUPERF, spec, "--retain=iterations:3", "--quiet")
        assert expect_whole(where, 12)[0] == 9
    session, line = f"--session={folder}/s.cpsession", "iterations 0 to 8 were removed (retain): "
    names = ("flat", "tree", "callers", "calls", "stacks", "threads", "records") if may_sample("reports") else ()
    for name in (*names, "summary", "series", "top-down"):
        for form in ("text", "markdown"):
            done = run(PRINT, session, f"--report={name}", f"--output-format={form}", code=None)
            assert done.stdout.count(f"({line}") == 1, (name, form, done)
        done = run(PRINT, session, f"--report={name}", "--output-format=csv", code=None)
        assert line not in done.stdout and line in done.stderr, (name, done)
    other = f"{folder}/other/s.cpsession"
    for args in ([f"--session={other}", "--report=series"], [f"--diff={other}"]):
        both = run(PRINT, session, *args, code=None).stdout
        assert both.count(f"({folder}/s.cpsession: {line}") == both.count(f"({other}: {line}") == 1, (args, both)


def check_key(folder):
    """As a key of the spec; a session that stays below its limit removes nothing."""
    spec = write_spec(folder, COUNT, num_iterations=150, duration=0, retain={"iterations": 1})
    run(CPUPERF, spec, "--quiet")
    assert expect_whole(folder, 150)[0] == 149
    run(CPUPERF, spec, "--quiet", "--retain=iterations:150,seconds:1000h,bytes:1GiB")
    assert "removed" not in manifest(folder)
    found, done = read(folder)
    assert found == list(range(150)) and "removed" not in done.stderr, done.stderr


def check_seconds(folder):
    """A span of time: iterations that began earlier are removed."""
    spec = write_spec(folder, COUNT, num_iterations=150, duration=0.01)
    run(CPUPERF, spec, "--retain=seconds:500ms", "--quiet")
    removed, _ = expect_whole(folder, 150)
    rows = list(csv.DictReader(io.StringIO(output(
        PRINT, f"--session={folder}/s.cpsession", "--report=summary", "--output-format=csv"))))
    span = max(int(r["end_ns"]) for r in rows) - min(int(r["start_ns"]) for r in rows)
    assert span <= 500_000_000 or removed == 149, (span, removed)


def check_bytes(folder):
    spec = write_spec(folder, COUNT, num_iterations=2000, duration=0)
    kib = 128 * os.sysconf("SC_NPROCESSORS_ONLN")
    run(CPUPERF, spec, f"--retain=bytes:{kib}KiB", "--quiet")
    expect_whole(folder, 2000)
    left = sum(os.path.getsize(f"{folder}/{n}") for n in os.listdir(folder) if NAME.match(n))
    assert kib << 9 < left <= kib << 10, (left, kib)


def check_samples(folder):
    """Of a session that samples, the traces of whole iterations are removed."""
    if not may_sample("samples"):
        return
    spec = write_spec(folder, SAMPLE, num_iterations=40, duration=0.01)
    run(CPUPERF, spec, "--retain=iterations:7", "--quiet")
    assert expect_whole(folder, 40)[0] == 33
    assert "t.common.cpuperf" in os.listdir(folder)
    assert "removed (retain)" in run(PRINT, f"--session={folder}/s.cpsession").stderr


def check_common_file(folder):
    """The common file counts, and remains: a warning says that it leaves little room for traces."""
    if not may_sample("the common file"):
        return
    spec = write_spec(folder, SAMPLE, num_iterations=10**6, duration=0.05)
    with subprocess.Popen([CPUPERF, spec, "--retain=bytes:64KiB"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as p:
        said = next(n for n in p.stderr if "that retain allows: fewer iterations remain" in n)
        p.send_signal(signal.SIGINT)
        rest = p.stderr.read()
    assert "that retain allows" not in rest and p.returncode == 0, (said, rest, p.returncode)
    assert os.path.getsize(f"{folder}/t.common.cpuperf") > 32 << 10
    assert len(numbers(folder)) == 1, numbers(folder)


# Forks processes that map a file for execution many times, until its standard input ends. First, a process
# ends whose child never calls exec: what it is named and has mapped is its parent's.
CHURN = """
import ctypes, mmap, os, select, sys
libc = ctypes.CDLL(None)
fd = os.open("/proc/self/exe", os.O_RDONLY)
def map_one(offset=0):
    return mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC, offset=offset)
if not os.fork():
    libc.prctl(15, b"inherited")
    if os.fork():
        os._exit(0)
    while not select.select([0], [], [], 0)[0]:
        sum(range(20000))
    os._exit(0)
os.wait()
while not select.select([0], [], [], 0)[0]:
    if not os.fork():
        libc.prctl(15, b"short")
        maps = [map_one() for _ in range(200)]
        os._exit(0)
    os.wait()
"""


def check_shortened(folder):
    """The common file loses what only removed iterations needed, again and again, and what remains keeps its
    names; after kill -9 too."""
    if not may_sample("a common file that is shortened"):
        return
    common, sizes, nr_shortened = f"{folder}/t.common.cpuperf", [0], 0
    spec = write_spec(folder, SAMPLE, num_iterations=10**6, duration=0.1, sync_period=0.1)
    with subprocess.Popen([sys.executable, "-c", CHURN], stdin=subprocess.PIPE) as churn, \
            Recording(folder, spec, "--retain=iterations:5") as p:
        first = rss_kib(p.pid)
        while nr_shortened < 4:
            assert p.poll() is None and churn.poll() is None
            size = os.path.getsize(common)
            nr_shortened += size < sizes[-1]
            sizes.append(size)
            assert size < 256 << 20, sizes[::len(sizes) // 50 + 1]
            time.sleep(0.01)
        last = rss_kib(p.pid)
        p.kill()
        p.wait()
        churn.stdin.close()
    written = sum(b - a for a, b in zip(sizes, sizes[1:]) if b > a)
    assert 2 * sizes[-1] < written, (sizes[-1], written)
    done = run(PRINT, f"--session={folder}/s.cpsession", "--report=records", "--output-format=csv", code=None)
    for line in done.stderr.splitlines():
        assert not re.search(r"\bt\..*(damage|skipped|not of this|cannot be)", line), done.stderr
        assert "t.common" not in line or line.endswith("truncated: its end is missing"), line
    samples = [r for r in csv.DictReader(io.StringIO(done.stdout)) if r["kind"] == "sample"]
    if "records of tasks and mappings were lost" in done.stderr:
        print("names not checked: the kernel lost records of tasks, the machine is busy")
        return
    last = max(int(r["iteration"]) for r in samples)  # in progress when it was killed
    # a task that has ended has no tid
    unnamed = [r for r in samples if r["comm"] == "[unknown]" and int(r["tid"] or 0) > 0 and int(r["iteration"]) < last]
    assert samples and not unnamed, (len(samples), unnamed[:3])
    inherited = [r for r in samples if r["comm"] == "inherited" and not r["address"].startswith("0xffff")]
    assert inherited and not [r for r in inherited if r["object"] in ("", "[unknown]")], inherited[:3]
    kept = {r["comm"] for r in samples}
    assert "inherited" in kept and "short" in kept, kept
    print(f"{written >> 10:,} KiB written, {sizes[-1] >> 10:,} remain, {max(sizes) >> 10:,} at most; "
          f"RSS {first:,} to {last:,} KiB")


def check_command(folder):
    spec = write_spec(folder, COUNT)
    run(CPUPERF, spec, "--retain=iterations:3", "--quiet", "--runs=12", "--", "true")
    assert expect_whole(folder, 12)[0] == 9


def check_command_in_part(folder):
    """The counts that remain are a part of the command's: their rates are of their own time."""
    spin = "import time\nwhile time.process_time() < 0.6: pass"
    spec = write_spec(folder, [event("software:task_clock"), *SAMPLE])
    run(CPUPERF, spec, "--duration=0.1", "--num-iterations=0", "--retain=iterations:2", "--quiet",
        "--", sys.executable, "-c", spin)
    rows = csv.DictReader(io.StringIO(show(folder, "--report=summary", "--output-format=csv")))
    rows = [r for r in rows if r["cpu"] == "all" and r["event"] == "task_clock"]
    counted = sum(float(r["value"]) for r in rows)
    took = sum(int(r["end_ns"]) - int(r["start_ns"]) for r in rows)
    text = show(folder)
    rate = float(re.search(r"^  task_clock .* ([\d.]+) %$", text, re.M)[1])
    assert abs(rate - 100 * counted / took) < 0.2, (rate, counted, took, text)
    assert re.search(r"were removed \(retain\): .*; counts are of the .* after it\)$", text, re.M), text
    assert "of the CPU time" not in text, text


class Recording:
    """A session that records until the end of the block; it has removed some iterations."""

    def __init__(self, folder, spec, *args):
        self.folder = folder
        # freed memory that a sanitizer sets aside is not the session's
        env = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1:thread_local_quarantine_size_kb=64"}
        self.p = subprocess.Popen([CPUPERF, spec, *args, "--quiet"], stdout=subprocess.DEVNULL, env=env)

    def __enter__(self):
        while "removed" not in (manifest(self.folder) if numbers(self.folder) else {}):
            assert self.p.poll() is None
            time.sleep(0.01)
        return self.p

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()


def check_killed(folder):
    """After kill -9 all that is there prints, without a gap, and nothing from before what was removed."""
    spec = write_spec(folder, COUNT, num_iterations=10**6, duration=0, sync_period=0.1)
    with Recording(folder, spec, "--retain=iterations:300"):
        pass
    found, done = read(folder)
    removed = manifest(folder)["removed"]["iterations"]
    assert found == list(range(found[0], found[-1] + 1)) and found[0] >= removed, done.stderr
    assert done.stderr.count("were removed (retain)") == 1 + (found[0] > removed), done.stderr
    assert done.stderr.count("did not end") == 1, done.stderr


def check_taken(folder):
    """While something else has the name of the manifest, nothing is removed: no manifest would name it."""
    spec = write_spec(folder, COUNT, num_iterations=10**6, duration=0, sync_period=0.01)
    name = f"{folder}/s.cpsession"
    with Recording(folder, spec, "--retain=iterations:300") as p:
        while True:
            os.rename(name, f"{folder}/last")
            with contextlib.suppress(FileExistsError):
                os.mkdir(name)
                break
        first = numbers(folder)[-1]
        while numbers(folder)[-1] < first + 50:
            assert p.poll() is None
            time.sleep(0.01)
        p.send_signal(signal.SIGINT)
        assert p.wait() == 1
    os.rmdir(name)
    os.rename(f"{folder}/last", name)
    found, done = read(folder)
    assert found and found[0] == manifest(folder)["removed"]["iterations"], (found[:1], done.stderr)


def rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


def pass_day(folder, events, nr, kib, more_kib):
    """A session removes nr iterations, and is killed. From the first tenth on its memory and its traces do not
    grow (by more_kib): what is beyond the limit was written between two removals. What remains can be read."""
    spec = write_spec(folder, events, num_iterations=10**6, duration=0.001, sync_period=0.1)
    seen, removed = [], 0
    with Recording(folder, spec, f"--retain=bytes:{kib}KiB") as p:
        while removed < nr:
            assert p.poll() is None
            removed = manifest(folder)["removed"]["iterations"]
            traces = []
            for name in filter(NAME.match, os.listdir(folder)):
                with contextlib.suppress(FileNotFoundError):  # removed
                    traces.append(os.path.getsize(f"{folder}/{name}"))
            seen.append((removed, rss_kib(p.pid), sum(traces) >> 10))
            time.sleep(0.02)
    assert [s[0] for s in seen] == sorted(s[0] for s in seen), seen
    early = [s for s in seen if s[0] <= nr / 10] or seen[:1]
    for _, rss, disk in seen:
        assert rss <= max(s[1] for s in early) + more_kib and disk <= kib + 8192, (early, seen[::len(seen) // 50 + 1])
    found, done = read(folder)
    assert found and found == list(range(found[0], found[-1] + 1)) and found[0] >= removed, (found[:1], done.stderr)
    for wrong in "not of this session", "cannot be", "damage":
        assert wrong not in done.stderr, done.stderr
    print(f"{found[0]:,} iterations removed, {len(found):,} read; RSS {early[-1][1]:,} to {seen[-1][1]:,} KiB, "
          f"traces up to {max(s[2] for s in seen):,} of {kib:,} KiB")


def check_day(folder):
    """As many iterations as a day has seconds with CPUPERF_TEST_LONG=1, else a part of them."""
    is_long = os.environ.get("CPUPERF_TEST_LONG") == "1"
    kib = 128 * os.sysconf("SC_NPROCESSORS_ONLN")
    # while a slow disk is synced, nothing is removed: a file system in memory has no such time
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else folder
    with tempfile.TemporaryDirectory(prefix="cpuperf-test.", dir=where) as fast:
        pass_day(fast, COUNT, 86400 if is_long else 3000, kib, 4096)
    with tempfile.TemporaryDirectory(prefix="cpuperf-test.", dir=where) as fast:
        if may_sample("a day of samples"):
            pass_day(fast, SAMPLE, 4000 if is_long else 100, 10 * kib, 16384)  # all files that are mapped


def check_meanwhile(folder):
    """A reader, while iterations are removed: what is there, and one line about what went."""
    spec = write_spec(folder, COUNT, num_iterations=10**6, duration=0, sync_period=0.01)
    nr_vanished = 0
    with Recording(folder, spec, "--retain=iterations:1000"):
        for _ in range(4):
            found, done = read(folder)
            nr_vanished += "while they were read" in done.stderr
            assert done.stderr.count("while they were read") <= 1, done.stderr
            for wrong in "not of this session", "cannot be":
                assert wrong not in done.stderr, done.stderr
            assert found == sorted(found), found
    print(f"{nr_vanished} of 4 readers met a removal")


run_checks(globals())
