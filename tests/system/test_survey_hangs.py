#!/usr/bin/env python3
"""A file system that never answers holds up no session: a FUSE file, which is not read, and one that
looks like a local one (an overlay over it), at which the child that reads it hangs. The session ends
on SIGTERM, its lock is free at once, all else of the survey is there, what is not is named. CPUPERF
and DEAF name the programs; needs root.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import sampled

CLOCK = sampled.event("software:cpu_clock", rate=1000000, flags=["callchain"])


def run(folder, deaf, note):
    _, error = sampled.finish(sampled.start(folder, [CLOCK], "--duration=200ms"))
    assert re.search(note, error), (note, error)
    trace = sampled.common(folder)
    assert trace.of(10), "the kernel's symbols are not there"
    assert trace.end and any(re.search(note, n) for n in trace.notes), trace.notes
    made = {pid: {m.name for m in of_pid if m.is_made}
            for pid, of_pid in sampled.mappings(trace).items()}
    assert any(name.endswith("/deaf.so") for name in made[deaf]), made[deaf]
    assert made[os.getpid()], "a survey that ended there"


def stop_early(folder):
    """The target's mappings do not wait for those of others: a session of it that is ended while the survey hangs has them."""
    loop = "print(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", loop], stdout=subprocess.PIPE) as target:
        try:
            target.stdout.readline()
            p = sampled.start(folder, [CLOCK], f"--pid={target.pid}", "--duration=60")
            sampled.wait_for_cpu_time([target], sampled.user_seconds(target.pid) + 0.1)
            p.send_signal(signal.SIGINT)
            sampled.finish(p)
        finally:
            target.kill()
    made = sampled.mappings(sampled.common(folder))[target.pid]
    assert any("/libc.so" in m.name and m.is_made for m in made), made


def stop(folder, number):
    """A session that is ended while its survey hangs; the next has the lock at once."""
    p = sampled.start(folder, [CLOCK], "--duration=60")
    time.sleep(0.5)
    p.send_signal(number)
    sampled.finish(p)
    sampled.finish(sampled.start(folder, [CLOCK], "--duration=50ms"))


def check(how, note):
    folder = tempfile.mkdtemp(prefix="cpuperf-deaf-")
    with sampled.deaf(folder, *how) as (number, why):
        if number:
            run(folder, number, note)
            stop_early(folder)
            stop(folder, signal.SIGTERM)
            stop(folder, signal.SIGINT)
    shutil.rmtree(folder)
    return why


def main():
    if os.geteuid():
        print("skip: needs root to mount")
        return 77
    skips = [check([], r"file systems that may not answer \(\d+ files, fuse\)"),
             check(["overlay"], r"do not answer: process \d+ \(deaf child\): .*/over/deaf.so")]
    if any(skips):
        print("skip:", *filter(None, skips))
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
