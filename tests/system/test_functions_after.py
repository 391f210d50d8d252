#!/usr/bin/env python3
"""A program that goes on when calls of its functions are measured no longer is as before: its code is that of its file,
in its threads and children, and its results are right. A breakpoint of another tool is found, and stays.
"""
import csv
import io
import os
import signal
import subprocess
import tempfile
import time

from kit import CPUPERF, PRINT, programs_missing, run, run_checks, skip

BUILT = tempfile.TemporaryDirectory(prefix="cpuperf-test.")  # once for all checks
os.chmod(BUILT.name, 0o755)
EVENT = "function:work_*"
PROCESSES = 3  # a breakpoint is a byte in each
MOST_S = 60  # what would never happen


def built():
    program = f"{BUILT.name}/goes_on"
    if not os.path.exists(program):
        run("cc", "-O2", "-pthread", "-Wl,-z,noseparate-code", "-o", program, f"{os.environ['SOURCE_DIR']}/tests/system/goes_on.c")
    return program


def start(folder, name, *options, command=(), pid=None):
    """cpuperf, which a line to the FIFO of that name ends."""
    os.mkfifo(f"{folder}/{name}")
    return subprocess.Popen([CPUPERF, "-o", f"s.{name}", f"--control=fifo:{name}", *options, *([f"--pid={pid}"] if pid else []),
                             *(["--", *command] if command else [])], cwd=folder, text=True, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def stop(folder, name):
    with open(f"{folder}/{name}", "w", encoding="ascii") as f:
        f.write("stop\n")


def ask(p):
    """Bytes that are changed in the program and its children, wrong calls, calls."""
    p.stdin.write("\n")
    p.stdin.flush()
    return [int(x) for x in p.stdout.readline().split()]


def calls_of(folder, name, column="calls"):
    text = run(PRINT, "--quiet", "--report=functions", "--output-format=csv", f"s.{name}", cwd=folder).stdout
    return {row["function"]: int(row[column]) for row in csv.DictReader(io.StringIO(text))}


def wait_until(p, is_it):
    """Until an answer of the program is so; then there were calls of all of its threads."""
    deadline = time.monotonic() + MOST_S
    while not is_it(now := ask(p)):
        if time.monotonic() > deadline:
            p.kill()
            raise AssertionError(now)
        time.sleep(0.01)
    before = now[2]
    while ask(p)[2] < before + 20:
        time.sleep(0.01)
    return ask(p)


def finish(p, code=0):
    out, err = p.communicate()
    assert p.returncode == code, (p.returncode, out, err)
    return err


def need_kernel():
    missing = programs_missing()
    if missing:
        skip(f"programs in the kernel: {missing}")


def follow(folder, way):
    with start(folder, way, f"--function-way={way}", "-e", EVENT, command=[built()]) as p:
        assert p.stdout.readline().startswith("ready")
        assert wait_until(p, lambda now: now[0] > 0)[1] == 0
        stop(folder, way)
        assert wait_until(p, lambda now: now[0] == 0)[1] == 0
        err = finish(p)
    found = calls_of(folder, way)
    assert set(found) == {"work_once", "work_thrice", "work_deep"} and min(found.values()) > 0, found
    assert min(calls_of(folder, way, "timed").values()) > 0, found  # their ends were changed, too
    assert "The command went on unmeasured: exit status 0" in err and "keeps its patched" not in err, err


def check_patched(folder):
    if os.uname().machine != "x86_64":
        skip("x86-64 alone")
    follow(folder, "program")


def may_trace_others():
    """Who puts back after a recorder that was killed has not started the program."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as f:
            return int(f.read()) < (3 if os.geteuid() == 0 else 1)
    except FileNotFoundError:
        return True


def check_killed(folder):
    """Also when the recorder is killed, all at once."""
    if os.uname().machine != "x86_64":
        skip("x86-64 alone")
    if not may_trace_others():
        skip("ptrace_scope forbids to trace what another process has started")
    with start(folder, "killed", "--function-way=program", "-e", EVENT, command=[built()]) as p:
        assert p.stdout.readline().startswith("ready")
        assert wait_until(p, lambda now: now[0] > 0)[1] == 0
        p.kill()
        assert p.wait() == -signal.SIGKILL
        assert wait_until(p, lambda now: now[0] == 0)[1] == 0
        assert p.communicate()[0] == ""  # the program and its children have ended


def check_no_breakpoint_where_it_is_patched(folder):
    """The kernel would execute what the file has, and go on amid the jump."""
    need_kernel()
    if os.uname().machine != "x86_64":
        skip("x86-64 alone")
    with start(folder, "program", "--function-way=program", "-e", EVENT, command=[built()]) as p:
        pid = p.stdout.readline().split()[1]
        wait_until(p, lambda now: now[0] > 0)
        for target in ([f"--pid={pid}", "-d", "1"], ["--", "true"]):
            done = run(CPUPERF, "--strict", "-e", f"function:{built()}:work_deep", *target, cwd=folder, code=None)
            assert "has a patched entry of work_deep" in done.stderr, done.stderr
        done = run(CPUPERF, "--causal", f"--progress=function:{built()}:work_deep", "--", "true", cwd=folder, code=125)
        assert "work_deep: calls cannot be counted: process " in done.stderr and "has a patched entry of work_deep" in done.stderr, done.stderr
        stop(folder, "program")
        assert wait_until(p, lambda now: now[0] == 0)[1] == 0
        run(CPUPERF, "--strict", "-e", f"function:{built()}:work_deep", f"--pid={pid}", "-d", "0.01", cwd=folder)
        assert wait_until(p, lambda now: now[0] == 0)[1] == 0
        finish(p)


def check_breakpoints(folder):
    need_kernel()
    follow(folder, "kernel")


def check_a_process_that_ran_before(folder):
    need_kernel()
    with subprocess.Popen([built()], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        pid = p.stdout.readline().split()[1]
        with start(folder, "pid", "-e", EVENT, pid=pid) as measuring:
            wait_until(p, lambda now: now[0] > 0)
            stop(folder, "pid")
            finish(measuring)
        assert wait_until(p, lambda now: now[0] == 0)[1] == 0
        finish(p)


def check_a_breakpoint_of_another_tool(folder):
    """Of another session, which goes on."""
    need_kernel()
    with subprocess.Popen([built()], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        pid = p.stdout.readline().split()[1]
        with start(folder, "other", "-e", "function:work_deep", pid=pid) as other:
            wait_until(p, lambda now: now[0] == PROCESSES)
            with start(folder, "own", "-e", EVENT, pid=pid) as own:
                wait_until(p, lambda now: now[0] > PROCESSES)
                stop(folder, "own")
                err = finish(own)
            assert "still has breakpoints in 1 measured functions, as work_deep: another tool" in err, err
            assert ask(p)[:2] == [PROCESSES, 0]
            stop(folder, "other")
            assert "still has breakpoints" not in finish(other)
        assert wait_until(p, lambda now: now[0] == 0)[1] == 0
        finish(p)


def check_no_breakpoint_is_patched(folder):
    """One that is there when the program begins, as another session has it in all that map the file."""
    need_kernel()
    if os.uname().machine != "x86_64":
        skip("x86-64 alone")
    with subprocess.Popen([built()], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        with start(folder, "all", "-e", f"function:{built()}:work_deep") as other:
            wait_until(p, lambda now: now[0] > 0)
            with start(folder, "program", "--function-way=program", "-e", EVENT, command=[built()]) as own:
                own.stdout.readline()
                assert wait_until(own, lambda now: now[0] > PROCESSES)[1] == 0
                stop(folder, "program")
                assert wait_until(own, lambda now: now[0] == PROCESSES)[1] == 0
                stop(folder, "all")
                finish(other)
                assert wait_until(own, lambda now: now[0] == 0)[1] == 0
                err = finish(own)
            assert "1 functions are not counted in a process: they have a breakpoint" in err, err
            assert "has breakpoints in 1 measured functions: another tool has set them" in err, err
            assert set(calls_of(folder, "program")) == {"work_once", "work_thrice"}
        finish(p)


run_checks(globals())
