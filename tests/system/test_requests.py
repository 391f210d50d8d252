#!/usr/bin/env python3
"""What ends an iteration before its time: SIGUSR1 and SIGUSR2. The session goes on, and loses no count at
the boundary. Software events only.
"""
import contextlib
import fcntl
import os
import shutil
import signal
import sys
import termios
import time

import sampled
from kit import CPUPERF, finish, may_sample, run, run_checks, SESSION, sql, start, wait_for, wait_until_measuring

# Spins until its standard input ends; then prints its CPU time in ns.
SPIN = """
import os, select, sys, time
while not select.select([0], [], [], 0)[0]:
    sum(range(20000))
print(time.process_time_ns())
"""
# The same; prints the time in ns after each 50 ms of CPU time.
TELL = """
import select, time
used = 0
while not select.select([0], [], [], 0)[0]:
    sum(range(20000))
    if time.process_time() > used + 0.05:
        used = time.process_time()
        print(time.monotonic_ns(), flush=True)
"""


# Calls getppid(2) until its standard input ends; prints the time in ns after each 5,000 calls, and at
# last their number.
CALL = """
import os, select, time
n = 0
while not select.select([0], [], [], 0)[0]:
    for _ in range(5000):
        os.getppid()
    n += 5000
    print(time.monotonic_ns(), flush=True)
print(n)
"""


def wait_until_spinning(p):
    """Until TELL has used 100 ms of CPU time from now on, or CALL has called 10,000 times."""
    begin, nr = time.monotonic_ns(), 0
    while nr < 3:
        nr += int(p.stdout.readline()) > begin


def iterations(folder):
    return sql(folder, "SELECT start_ns, end_ns, is_cut, cause FROM iterations ORDER BY iteration")


def assert_contiguous(found):
    for before, after in zip(found, found[1:]):
        assert before[1] == after[0], found


def end_iterations(p, folder, numbers):
    """Sends each signal when the iteration before is written."""
    for i, number in enumerate(numbers):
        p.send_signal(number)
        wait_for(p, f"{folder}/{SESSION}/cpuperf.{i}.0.cpuperf")


def check_command(folder):
    """Each signal ends an iteration of a command; the next one begins where it ended, and together they
    count what the command used."""
    p = start(folder, "-e", "task_clock", command=[sys.executable, "-c", SPIN])
    wait_until_measuring(p, folder)
    end_iterations(p, folder, [signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1])
    used = int(finish(p)[0].split()[0])
    found = iterations(folder)
    assert [i[2:] for i in found] == [(0, "request")] * 3 + [(0, "end")], found
    assert_contiguous(found)
    counted = sum(v or 0 for v, in sql(folder, "SELECT value FROM counts WHERE cpu IS NULL"))
    # More is what precedes the program's own clock; less, the kernel's work at context switches, which is dear
    # on some virtual machines.
    assert 0.8 * used <= counted, (used, counted)


def check_no_count_is_lost(folder):
    """Calls that are counted exactly, while many iterations end: in a session that samples, and with a
    flight recorder, whose ring is paused at each."""
    if not sampled.is_root():
        print("skip: exact counts over many snapshots: tracepoints need root", flush=True)
        return
    if not os.path.exists("/sys/kernel/tracing/events/syscalls/sys_enter_getppid"):
        print("skip: exact counts over many snapshots: no tracepoints of system calls", flush=True)
        return
    for name, options in ("plain", []), ("held", ["--flight-recorder=1h"]):
        p = start(folder, "-e", "task_clock@5000Hz,tracepoint:syscalls:sys_enter_getppid", *options,
                  command=[sys.executable, "-c", CALL])
        wait_until_measuring(p, folder)
        nr = 25
        for i in range(nr):
            if i % 5 == 0:
                wait_until_spinning(p)
            p.send_signal(signal.SIGUSR2)
            wait_for(p, f"{folder}/{SESSION}/cpuperf.{i + 1}.0.cpuperf")
        printed = [int(line) for line in finish(p)[0].splitlines() if line.isdecimal()]
        calls = min(printed)  # the others are times
        counted = sql(folder, "SELECT iteration, value FROM counts JOIN events USING (event) WHERE cpu IS NULL "
                              "AND name LIKE '%getppid'")
        assert len(counted) == nr + 1 and sum(v > 0 for _, v in counted) >= nr / 5, counted
        assert sum(v for _, v in counted) == calls, (name, calls, counted)
        shutil.rmtree(f"{folder}/{SESSION}")


def check_machine(folder):
    """An iteration that was requested is not one of those that the spec asks for, and the one after it
    lasts its whole time."""
    if not may_sample("requests on the machine"):
        return
    p = start(folder, "-e", "page_faults", "-d1", "-n2", "--no-live")
    wait_until_measuring(p, folder)
    p.send_signal(signal.SIGUSR1)
    finish(p)
    found = iterations(folder)
    assert [i[3] for i in found if i[3] != "request"] == ["time"] * 2 and len(found) == 3, found
    at = [i[3] for i in found].index("request")
    assert at == 2 or found[at + 1][1] - found[at + 1][0] >= 1e9, found
    assert_contiguous(found)


def check_samples(folder):
    """A request divides samples too: each belongs to the iteration that has its time."""
    p = start(folder, "-e", "task_clock@1000Hz", command=[sys.executable, "-c", TELL])
    wait_until_spinning(p)
    p.send_signal(signal.SIGUSR2)
    wait_for(p, f"{folder}/{SESSION}/cpuperf.1.0.cpuperf")
    wait_until_spinning(p)
    finish(p)
    found = iterations(folder)
    assert [i[3] for i in found] == ["request", "end"], found
    assert_contiguous(found)
    for i, (begin, end, _, _) in enumerate(found):
        times = [t for t, in sql(folder, f"SELECT time_ns FROM samples WHERE iteration = {i}")]
        assert times and min(times) >= begin and (i == 1 or max(times) < found[1][1]), (i, begin, end, times)


def check_runs(folder):
    """A run is not divided."""
    p = start(folder, "-r2", "-e", "task_clock", command=["sh", "-c", "kill -USR1 $PPID; kill -USR2 $PPID"])
    finish(p)
    assert [i[3] for i in iterations(folder)] == ["run", "run"], iterations(folder)


def check_early(folder):
    """Before there is an iteration, and after the last, a signal does nothing."""
    p = start(folder, "-e", "task_clock", command=["sh", "-c", "exit 3"])
    with contextlib.suppress(ProcessLookupError):
        for _ in range(20):
            time.sleep(0.002)
            if os.path.exists(f"{folder}/{SESSION}"):
                p.send_signal(signal.SIGUSR1)
    finish(p, 3)


def unread(pipe):
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def check_before_measuring(folder):
    """A signal while the spec is still read does nothing."""
    p = start(folder, "--spec-file=-", "--num-iterations=1", "--duration=1ms", "--output=here")
    p.stdin.write('{"events": [')
    p.stdin.flush()
    while unread(p.stdin) and p.poll() is None:
        time.sleep(0.01)
    for number in signal.SIGUSR1, signal.SIGUSR2:
        p.send_signal(number)
    p.stdin.write('{"group_name": "misc", "event_name": "load_average_1"}]}')
    finish(p)


def check_inherited(folder):
    """The command has the dispositions and the mask that cpuperf was started with."""
    show = "grep", "^Sig[BIC]", "/proc/self/status"

    def ignore():
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])

    for prepare in None, ignore, block:
        expected = run(*show, preexec_fn=prepare).stdout
        for options in [], ["-r2"]:
            found = run(CPUPERF, "-e", "task_clock", *options, "--", *show, cwd=folder, preexec_fn=prepare).stdout
            assert found == expected * (1 + len(options)), (prepare, options, expected, found)


run_checks(globals())
