#!/usr/bin/env python3
"""Build-ids of what ran before and during a session are those that readelf tells; a file that was
replaced, overwritten or removed meanwhile gets no wrong one. And who listens to mappings beside a
session of ours gets what the kernel would have told without it: perf works, and no mapping of its
recordings has the mark of a build-id. CPUPERF, CPUPERF_PRINT, MIX and DEAF name programs.
"""
import contextlib
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

from kit import may_sample
import sampled

CLOCK = sampled.event("software:cpu_clock", rate=1000000, flags=["callchain"])
MISC_BUILD_ID = 1 << 14
PERF_RUNS = 6


def readelf(path):
    out = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", out)[1]


def told_ids(trace):
    """(major, minor, inode, generation, path): [(from_ns, to_ns, id)]"""
    out = {}
    for p in trace.of(15):
        major, minor, inode, generation, start, end, length = struct.unpack_from("<IIQQQQI", p)
        at = 44 + length
        path = p[at + 4:at + 4 + struct.unpack_from("<I", p, at)[0]].decode()
        out.setdefault((major, minor, inode, generation, path), []).append(
            (start, end, p[44:at].hex()))
    return out


def mappings(trace):
    """(pid, path, time, id of the survey, ids that were told beside) of what is executable."""
    told = told_ids(trace)
    for r in trace.records():
        if r.kind != sampled.R_MMAP2 or not struct.unpack_from("<I", r.body, 56)[0] & 4:
            continue
        path, (pid,) = sampled.name_of(r.body[64:]), struct.unpack_from("<I", r.body)
        when, = struct.unpack_from("<Q", r.body, len(r.body) - 8)
        if r.ring == sampled.RING_MADE and r.misc & MISC_BUILD_ID:  # else of another listener
            yield pid, path, when, r.body[36:36 + r.body[32]].hex(), set()
        else:
            key = (*struct.unpack_from("<IIQQ", r.body, 32), path)
            yield pid, path, when, None, {i for a, b, i in told.get(key, []) if a <= when <= b}


def run(path):
    subprocess.run([path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)


def put(source, path):
    with open(source, "rb") as f, open(path, "r+b" if os.path.exists(path) else "wb") as out:
        out.truncate(0)
        out.write(f.read())
    os.chmod(path, 0o755)


def wait_for(folder, *wanted):
    """Until the session has stored these build-ids: (name, id)."""
    for _ in range(600):
        told = {(os.path.basename(key[-1]), i) for key, ids in told_ids(sampled.common(folder)).items()
                for _, _, i in ids}
        if told >= set(wanted):
            return
        time.sleep(0.1)
    raise AssertionError((wanted, told))


def change_files(folder, first, second):
    """Runs programs, and does to them what is done to files. When each changed."""
    when = {}
    for name in ("during", "renamed", "written", "removed"):
        run(f"{folder}/{name}")
    os.unlink(f"{folder}/removed")
    when["renamed"] = time.monotonic_ns()
    os.rename(f"{folder}/other", f"{folder}/renamed")
    wait_for(folder, ("during", first), ("written", first))
    when["written"] = time.monotonic_ns()
    put(os.environ["MIX"], f"{folder}/written")
    time.sleep(0.1)
    run(f"{folder}/renamed")
    run(f"{folder}/written")
    wait_for(folder, ("written", second), ("renamed", second))
    return when


def check_ids(folder):
    one, other = os.environ["DEAF"], os.environ["MIX"]
    for name in ("during", "renamed", "written", "removed"):
        put(one, f"{folder}/{name}")
    put(other, f"{folder}/other")
    time.sleep(0.1)  # what was written in the same tick as it is mapped cannot be verified
    first, second = readelf(one), readelf(other)
    session = sampled.start(folder, [CLOCK], "--duration=600")
    while not os.path.exists(f"{folder}/t.common.cpuperf"):
        assert session.poll() is None
        time.sleep(0.1)
    time.sleep(0.5)
    when = change_files(folder, first, second)
    session.send_signal(signal.SIGINT)
    sampled.finish(session)
    sampled.check_sound(folder)
    seen, surveyed = set(), 0
    for pid, path, at, survey, ids in mappings(sampled.common(folder)):
        name = os.path.basename(path)
        if os.path.dirname(path) == folder:
            right = second if at > when.get(name, at) else first
            assert ids <= {right}, (path, at, when, ids)
            seen |= {(name, i) for i in ids}
        elif pid == os.getpid() and path == os.path.realpath(sys.executable) and survey:
            surveyed += 1
            assert survey == readelf(path), path
    assert surveyed, "no build-id of what ran before"
    assert {("during", first), ("written", first), ("written", second),
            ("renamed", second)} <= seen, seen
    subprocess.run([os.environ["CPUPERF_PRINT"], f"--session={folder}/s.cpsession", "--quiet",
                    "--output-format=sqlite", f"--output-file={folder}/out.db"], check=True)
    with contextlib.closing(sqlite3.connect(f"{folder}/out.db")) as db:
        read = {build_id for build_id, in db.execute(
            "SELECT build_id FROM objects WHERE path = ?", (f"{folder}/during",))}
    assert read == {first}, read


def perf_works(perf, path):
    return subprocess.run([perf, "record", "-q", "-e", "cpu-clock", "-o", path, "true"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def check_perf(folder, perf):
    path = f"{folder}/perf.data"
    session = sampled.start(folder, [CLOCK], "--duration=60")
    nr_told = 0
    for _ in range(PERF_RUNS):
        done = subprocess.run([perf, "record", "-B", "-g", "-e", "cpu-clock", "-o", path, "sh", "-c",
                               "ls / /usr; cat /etc/passwd; true"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 0, done.stderr
        dump = subprocess.run([perf, "report", "-D", "-i", path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, errors="replace",
                              check=False).stdout
        told = [line for line in dump.splitlines() if "PERF_RECORD_MMAP2" in line]
        assert not [line for line in told if re.search(r" @ \S+ <", line)], told
        nr_told += bool(told)  # perf may lose them beside a load
    assert nr_told, "perf recorded no mapping"
    session.terminate()
    sampled.finish(session)


def check_marked(folder, perf):
    """Of another program that asks for build-ids the kernel leaves the mark in our records."""
    session = sampled.start(folder, [CLOCK], "--duration=4")
    time.sleep(0.5)
    peer = subprocess.Popen([perf, "record", "-q", "--buildid-mmap", "-a", "-e", "dummy", "-o",
                             f"{folder}/perf.data", "sleep", "2"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    while peer.poll() is None:
        run(os.environ["DEAF"])
    sampled.finish(session)
    sampled.check_sound(folder)
    if not any(r.misc & MISC_BUILD_ID for r in sampled.common(folder).records()
               if r.kind == sampled.R_MMAP2 and r.ring != sampled.RING_MADE):
        print("no record was marked here: this kernel or perf does not do it", flush=True)


def main():
    perf = shutil.which("perf")
    with tempfile.TemporaryDirectory(prefix="cpuperf-ids-") as folder:
        folder = os.path.realpath(folder)
        check_ids(folder)
        if not perf or not perf_works(perf, f"{folder}/perf.data"):
            print("skip: no perf to run beside a session")
            return 77
        check_perf(folder, perf)
        if may_sample("marks in records, that who listens on whole CPUs leaves"):
            check_marked(folder, perf)
    return 0


if __name__ == "__main__":
    sys.exit(main())
