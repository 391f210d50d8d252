#!/usr/bin/env python3
"""Experiments (cpuperf --causal): causal.c has a function on which its end depends, and one on which it does not.

What a function would bring to the wall time can be seen on a quiet machine alone. What holds on any: that the agent counts
the time of the function, that the share of it is what the others are slowed down by, and that they sleep. CPUPERF
names the program, EXPERIMENTS the agent.
"""
import csv
import errno
import io
import json
import os
import re
import resource
import signal
import struct
import subprocess
import time

from experiment_memory import build, BUSY, DIED, HEADER, NAMES, NONE, Run, until
from kit import CPUPERF, output, PRINT, programs_missing, run, run_checks

HERE = os.path.dirname(os.path.abspath(__file__))


def check_others_are_slowed_down(folder):
    program = build(folder)

    def one(how, chosen):
        r = Run(program, chosen, 50, how, "120", "60")
        assert r.status == 0 and r.pid and r.threads == 3 and not r.unsampled, vars(r)
        assert r.ns["slack"] > 0 < r.ns["critical"] <= r.sampled - r.ns["slack"], vars(r)
        assert abs(r.all - r.ns[chosen] / 2) < 1000, vars(r)
        return r

    for how in "join", "barrier":
        # the thread that makes them waits for their end, so it is spared what they have paid
        until(lambda r: r.all <= r.behind, lambda how=how: one(how, "critical"))
        # nobody is: who runs the other function has slept
        until(lambda r: r.wall >= r.ns["critical"] + r.all <= r.ns["critical"] + r.behind,
              lambda how=how: one(how, "slack"))


def check_without_perf_events(folder):
    """Timers do it, and miss threads that run between ticks. The program that executes this one has the agent, too."""
    program, deny = build(folder), os.path.join(folder, "deny")
    run("cc", "-o", deny, f"{HERE}/deny.c")

    def one():
        r = Run(program, "critical", 50, "join", "120", "60", before=(deny, str(errno.EACCES)))
        assert r.status == 0 and r.threads == 4 and not r.unsampled, vars(r)
        assert abs(r.all - r.ns["critical"] / 2) < 1000, vars(r)
        return r

    until(lambda r: r.all > 0, one)


def check_few_pending_signals(folder):
    """Where no signal may be pending (RLIMIT_SIGPENDING), the kernel would send SIGIO in place of that of an event."""
    r = Run(build(folder), "critical", 50, "join", "60", "30",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, 0)))
    assert r.status == 0 and r.threads + r.unsampled == 3, vars(r)


def check_threads_that_are_left(folder):
    """Two on one CPU wait for it in turns. One of them is left when the process ends: for how long it waited counts, too."""
    cpu = min(os.sched_getaffinity(0))
    with open(f"{folder}/waited", "w+", encoding="ascii") as f:
        r = Run(build(folder), "critical", 0, "beside", "100", "0", stdout=f, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        f.seek(0)
        waited = int(f.read())
    assert r.status == 12 and r.threads == 2 and 0 < waited <= r.queued, (waited, vars(r))


def check_mutex_of_dead(folder):
    """Whose owner has ended with it is locked once."""
    r = Run(build(folder), "critical", 50, "robust", "0", "0")
    assert r.status == 11, vars(r)


def check_nobody_to_be_slowed_down(folder):
    program = build(folder)
    for percent in 0, 40, 100:
        r = Run(program, "critical", percent, "serial", "100", "30")
        assert r.status == 3 and r.threads == 1, vars(r)
        assert r.all == r.behind and abs(r.all - r.ns["critical"] * percent / 100) < 1000, vars(r)


def check_child_that_blocks_signals(folder):
    """It is sampled nevertheless, and its parent waits for it, or for what it writes into a pipe."""
    program = build(folder)

    def one(how, status):
        r = Run(program, "critical", 50, how, "100", "30")
        assert r.status == status and r.threads == 2 and not r.unsampled, vars(r)
        assert r.all > 0 and abs(r.all - r.ns["critical"] / 2) < 1000, vars(r)
        return r

    until(lambda r: r.all <= r.behind, lambda: one("masked", 3))
    until(lambda r: 0 < r.all <= r.behind, lambda: one("pipe", 4))


def check_other_waits(folder):
    """Threads of C11, futexes by syscall(2), and local sockets: who waits is spared what others have paid."""
    program = build(folder)

    def one(how, status, threads):
        r = Run(program, "critical", 50, how, "60", "0")
        assert r.status == status and r.threads == threads and not r.unsampled, vars(r)
        assert r.all > 0 and abs(r.all - r.ns["critical"] / 2) < 1000, vars(r)
        return r

    for how, status in ("c11", 5), ("futex", 6), ("socket", 7):
        until(lambda r: 0 < r.all <= r.behind, lambda how=how, status=status: one(how, status, 2))


def check_channels(folder):
    """A thread that waits for another one by a pipe, eventfd, pair or connection, in read, poll, select or epoll, is spared
    what that has paid; one that waits for another process is not."""
    program = build(folder)

    def one(how, status):
        r = Run(program, "critical", 50, how, "60", "0")
        assert r.status == status and not r.unsampled, vars(r)
        assert r.all > 0 and abs(r.all - r.ns["critical"] / 2) < 1000, vars(r)
        return r

    for channel, way in [("pipe", "poll"), ("pipe", "select"), ("eventfd", "read"), ("eventfd", "ppoll"), ("pair", "pselect"),
                         ("pair", "epoll_pwait"), ("tcp", "read"), ("tcp", "poll"), ("tcp", "epoll_wait")]:
        until(lambda r: r.all <= r.behind, lambda how=f"once_{channel}_{way}": one(how, 0))
    for way in "poll", "select", "epoll_wait":
        until(lambda r: r.behind < r.all / 2, lambda way=way: one(f"outside_{way}", 10))


def check_loaded(folder):
    """What dlopen loads is known, by a path and by a name."""
    program, library = build(folder), build(folder, "libloaded.so", "-shared", "-fPIC", "-DLIBRARY")
    os.environ["LD_LIBRARY_PATH"] = folder
    for os.environ["LOADED"] in library, "libloaded.so":
        r = Run(program, "critical", 50, "loaded", "30", "0", of=library)
        # by a name it is looked at later, where nothing is waited for not at all
        assert r.status == 8 and (r.ns["critical"] > 0 or "/" not in os.environ["LOADED"]), vars(r)
        assert abs(r.all - r.ns["critical"] / 2) < 1000, vars(r)
    del os.environ["LD_LIBRARY_PATH"], os.environ["LOADED"]


def check_point(folder):
    """What coz's macros count is in the memory."""
    r = Run(build(folder), "slack", 50, "served", "60", "30")
    assert r.status == 0 and r.threads == 2, vars(r)
    assert r.point[0] == 1000 and r.point[2] == 2 and r.point[3].rstrip(b"\0") == b"request", r.point
    assert abs(r.all - r.ns["slack"] / 2) < 1000, vars(r)


def look_into(pid):
    """The header of the memory of a process that runs."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as f:
        at = [int(line.split("-")[0], 16) for line in f if "cpuperf-experiment" in line]
    with open(f"/proc/{pid}/mem", "rb") as f:
        f.seek(at[0])
        return struct.unpack(HEADER, f.read(struct.calcsize(HEADER)))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(n) for n in f.read().split()]


def find_command(recorder, program):
    """The process of the command, once the agent is in it."""
    while True:
        for pid in children(recorder.pid):
            try:
                if os.readlink(f"/proc/{pid}/exe") == program and look_into(pid)[5]:
                    return pid
            except (OSError, IndexError):
                pass
        time.sleep(0.01)


def check_recorder_is_killed(folder):
    """The program runs on, and nobody is slowed down any more."""
    program = build(folder)
    recorder = subprocess.Popen([CPUPERF, "--causal=critical", "--speedup=100", "--progress=request", "--",
                                 program, "serve", "300", "200"])
    pid = find_command(recorder, program)
    try:
        while look_into(pid)[6] & NONE == NONE or not look_into(pid)[7]:
            time.sleep(0.01)
        recorder.kill()
        recorder.wait()
        assert look_into(pid)[4] & DIED, look_into(pid)
        for _ in range(30):  # a sample may be on its way, of a thread that has no CPU
            before = look_into(pid)
            while look_into(pid)[9] < before[9] + 60_000_000:
                time.sleep(0.01)
            if look_into(pid)[7] == before[7]:
                break
        assert look_into(pid)[7] == before[7], (before, look_into(pid))
        assert look_into(pid)[6] & NONE != NONE
    finally:
        os.kill(pid, signal.SIGKILL)


def check_marks_are_read(folder):
    """Of a point that may be a region, so that it has a latency; of a function for nothing."""
    program = build(folder)
    for point, nr in ("handle", 1), ("function:answer", 0):
        if nr == 0 and programs_missing():
            print(f"skip: a function as point: {programs_missing()}")
            continue
        recorder = subprocess.Popen([CPUPERF, "--causal=critical", f"--progress={point}", "-d120", "--", program, "serve", "300", "200"])
        pid = find_command(recorder, program)
        try:
            assert look_into(pid)[13] == nr, (point, look_into(pid))
        finally:
            recorder.kill()
            recorder.wait()
            os.kill(pid, signal.SIGKILL)


def in_rounds(program, *options, how="serve"):
    """The document of experiments in rounds, and what was said if threads waited too much for a CPU."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        done = subprocess.run([CPUPERF, "-o-", "--causal=critical,slack", *options, "--output-format=json", "--",
                               program, how, "3000", "1000"],
                              check=False, capture_output=True, text=True)
    except PermissionError:
        return None
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    if done.returncode:
        assert done.returncode == 125 and BUSY in done.stderr, done
        return None
    assert "error" not in done.stderr, done
    return json.loads(done.stdout)


def check_rounds(folder):
    """Rounds in which threads waited for a CPU are not used: all may be such, or all of an experiment, and latency needs
    looks in time."""
    document = in_rounds(build(folder), "--progress=handle", "-r2")
    if not document:
        return
    rows = document["reports"][0]["rows"]
    quantities = {name: [r["quantity"] for r in rows if r["function"] == name] for name in NAMES}
    assert rows and all(q == ["throughput", "latency"][:len(q)] for q in quantities.values()), rows
    assert all(r["point"] == "handle" and r["rate"] > 0 and r["wall_ns"] is None for r in rows), rows
    assert all(r["latency_ns"] > 0 for r in rows if r["quantity"] == "latency"), rows
    assert {r["function"] for r in rows} <= set(NAMES), rows


def check_points(folder):
    """Of each kind one that is passed, and none."""
    program = build(folder)
    points = "request", "answered", "handle", "handled", "nothing", *(() if programs_missing() else ("function:answer",))
    for point in points:
        for time_s in (0.2, 2, 20):  # a machine may be so busy that it passes none meanwhile
            done = subprocess.run([CPUPERF, "--causal", f"--progress={point}", f"-d{time_s}s", "--", program, "serve", "300", "100"],
                                  check=False, capture_output=True, text=True)
            if f"did not pass {point}" not in done.stderr or point == "nothing" or done.returncode != 125:
                break
        assert done.returncode == 125, done
        expected = ("did not pass nothing",) if point == "nothing" else ("the time was over before each was tried", BUSY)
        assert any(text in done.stderr for text in (*expected, "libcpuperf-causal.so is not loaded")), done
        assert point != "nothing" or "has passed: request" in done.stderr or "not loaded" in done.stderr, done


def processes_of(program):
    """Those that execute it and have not ended."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += [pid] if os.readlink(f"/proc/{pid}/exe") == program else []
        except OSError:
            pass
    return found


def check_functions_that_could_be_points(folder):
    """Where nothing ends, or no point is passed: how often functions are called, counted while the program runs."""
    if programs_missing():
        print(f"skip: calls are counted: {programs_missing()}")
        return
    program = os.path.realpath(build(folder))
    for how, command, of in ((("--at-most=500ms",), ("sh", "-c", f"{program} serve 300 100; exit"), f"{program}:"),
                             (("--progress=nothing", "-d200ms"), (program, "serve", "300", "100"), "")):
        of = "FILE:" if len(of) > 120 else of
        for _ in range(20):  # a machine may be so busy that nothing is called in a second, or only what starts the program has run
            done = run(CPUPERF, "--causal=*" if of else "--causal=critical", *how, "--", *command, code=125)
            if re.search(rf"called in a second: .*answer [0-9].* \(--progress=function:{of}NAME\)", done.stderr):
                break
        else:
            raise AssertionError(done)
        assert "cpuperf_mark" not in done.stderr, done
        for _ in range(1000):  # it was killed, and ends when it runs
            if not processes_of(program):
                break
            time.sleep(0.01)
        else:
            raise AssertionError("what the shell has made goes on")


def is_whole(row):
    """Runs in which threads waited for a CPU are not used, so there may be less rounds than two."""
    known = [row[key] for key in ("saves_low", "saves", "saves_high")]
    if row["rounds"] == 2:
        return known == sorted(known)
    return [x is None for x in known] == [True, row["rounds"] is None, True] and row["rounds"] in (None, 1)


def check_runs_that_wait(folder):
    """Two threads that run on one CPU wait for it in each run: none is used, and the rows are there."""
    program = build(folder)
    cpu = min(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        text = output(CPUPERF, "-o", f"{folder}/s", "--causal=critical,slack", "-r2", "--", program, "join", "60", "60")
    finally:
        os.sched_setaffinity(0, before)
    assert "6 of 6 runs are not used: threads waited for a CPU for more than 5 % of the time" in text, text
    assert "is known to save any time (2 rounds of 2 experiments" in text, text
    with open(f"{folder}/s/cpuperf.cpsession", encoding="utf-8") as f:
        made = json.load(f)["experiments"]
    assert made["rounds_not_used"] == 6 and "wall" not in made, made
    assert [r["function"] for r in made["rows"]] in (list(NAMES), list(NAMES[::-1])), made
    assert not any(key in r for r in made["rows"] for key in ("saves", "saves_low", "saves_high", "rounds")), made


def check_command(folder):
    program = build(folder)
    os.environ["TMPDIR"] = folder
    args = ("--causal=crit*,slack", "--speedup=50,100%", "-r", "2")
    document = json.loads(output(CPUPERF, "-o", f"{folder}/s", *args, "--output-format=json", "--", program, "join", "40", "20"))
    report, = document["reports"]
    rows = report["rows"]
    assert [(r["function"], r["speedup"]) for r in rows] == [(n, p) for n in NAMES for p in (50, 100)], rows
    assert all(r["object"] == program and is_whole(r) for r in rows), rows
    assert rows[0]["on_cpu"] > rows[2]["on_cpu"] > 0, rows
    # the session has them, and a run that was recorded
    kept = json.loads(output(PRINT, f"{folder}/s", "--report=causal", "--output-format=json"))
    assert kept["reports"] == document["reports"] and kept["sessions"][0]["iterations"] == 1, kept
    assert "join 40 20: exit status 0" in output(PRINT, "--no-pager", f"{folder}/s"), folder
    text = output(PRINT, "--no-pager", f"{folder}/s", "--report=causal")
    # (a line on how experiments and the recorded run differ may stand between the table and the curves)
    assert len(re.findall(r"^critical  +[0-9.]+ %  +[0-9.]+ %(  |$)", text, re.M)) == 2, text
    if any(r["rounds"] for r in rows):
        assert text.count("\ncritical\n") == 1 and re.search(r"^ +[0-9]+ % .*\*", text, re.M) and "* by experiments" in text, text
    assert all(len(line) <= 80 for line in text.splitlines() if re.match(" +[0-9]+ % ", line)), text
    table = list(csv.DictReader(io.StringIO(output(CPUPERF, "-o", "-", "--causal=crit*", "-r2", "--output-format=csv", "--",
                                                   program, "join", "40", "20"))))
    assert [r["function"] for r in table] == ["critical"] and float(table[0]["speedup"]) == 50, table
    text = run(CPUPERF, "--causal", "-r2", "--ignore-status", "--", program, "serial", "40", "20", cwd=folder).stdout
    assert re.search(r"\(2 rounds of 2 experiments in [^)]*\)", text) and "critical" in text and "faster by" in text, text
    assert os.path.exists(f"{folder}/cpuperf.session/cpuperf.cpsession"), os.listdir(folder)
    del os.environ["TMPDIR"]
    assert not [name for name in os.listdir(folder) if name.startswith("cpuperf-causal")], os.listdir(folder)


def table_of(program, scope):
    return list(csv.DictReader(io.StringIO(output(
        CPUPERF, "-o", "-", f"--causal={scope}", "-r2", "--output-format=csv", "--", program, "join", "20", "20"))))


def tried(program, scope):
    return {row["function"] for row in table_of(program, scope)}


def check_random_amounts(folder):
    program = build(folder)
    command = ("--causal=crit*", "-r2", "--", program, "serial", "20", "10")
    text = output(CPUPERF, "-o", f"{folder}/s", "--ignore-status", "--speedup=random:7", *command)
    assert "(--speedup=random:7)" in text, text
    with open(f"{folder}/s/cpuperf.cpsession", encoding="utf-8") as f:
        made = json.load(f)["experiments"]
    assert made["seed"] == 7 and [r["speedup"] for r in made["rows"]] == [15, 40, 65, 90], made


def check_scopes(folder):
    """By name, by source file, and without what is excluded of both."""
    program = build(folder)
    for scope, names in [("@causal.c,!causal:sl*", {"critical"}), ("@*/system/causal.c,slack,!@*.h", {"slack"})]:
        assert tried(program, scope) == names, scope
    lines = {row["line"] for row in table_of(program, "lines")}
    named = {(row["function"], os.path.basename(row["source"]), int(row["line"]) > 0) for row in table_of(program, "lines:crit*")}
    assert named == {("critical", "causal.c", True)} and len(lines) > 1, (named, lines)
    run("strip", "-g", program)
    for scope, message in [("@causal.c,!@*/causal.c", "source files of the functions are not known"), ("!*", "none remains"),
                           ("!", "names no functions"), ("@", "names no functions"), ("a:", "is not [OBJECT:]GLOB"),
                           (",".join(65 * ["x"]), "more than 64 parts")]:
        done = run(CPUPERF, f"--causal={scope}", "--", program, "join", "30", "10", code=125)
        assert message in done.stderr and done.stderr.count("error:") == 1, (scope, done)


def check_without_names(folder):
    """Most of the time is in a function of which the program has no name, and it is said."""
    program = build(folder, "stripped", "-DLIBRARY", "-rdynamic")  # critical alone is exported
    for args, is_said in (("20", "100"), True), (("60", "5"), False):
        run("strip", program)
        done = run(CPUPERF, "-o-", "--causal", "-r2", "--", program, "join", *args)
        assert ("% of the CPU time was in functions that could be tried" in done.stderr) == is_said, done


def check_link(folder):
    """A library that is a link is known by the file, as the recorded run knows it."""
    library, program = build(folder, "libcrit.so.1.2", "-shared", "-fPIC", "-DLIBRARY", "-Wl,-soname,libcrit.so.1"), f"{folder}/linked"
    os.symlink("libcrit.so.1.2", f"{folder}/libcrit.so.1")
    with open(f"{program}.c", "w", encoding="ascii") as f:
        f.write("unsigned long critical(unsigned long); int main(void) { return !critical(20000000); }")
    run("cc", f"{program}.c", "-o", program, library, f"-Wl,-rpath,{folder}")
    row, = csv.DictReader(io.StringIO(output(CPUPERF, "-o-", "--causal=libcrit*:critical", "-r2", "--output-format=csv", "--", program)))
    assert row["object"] == os.path.realpath(library), row


def check_errors(folder):
    program, static = build(folder), build(folder, "static", "-static")
    for args, status, message in [
            (("--causal",), 2, "--causal requires a command"),
            (("--speedup=50", "--", program), 125, "require --causal"),
            (("--causal", "--by=wall", "--", program), 2, "--by requires"),
            (("--causal", "--event=cpu_clock", "--", program), 2, "--causal records what it needs"),
            (("--causal", "--output-format=github", "--", program), 2, "requires --versus or --sweep"),
            (("--causal", "-o", folder, "--", program), 125, "is not a session's file"),
            (("--causal", "--sweep=n=1,2", "--", program), 2, "mutually exclusive"),
            (("--causal", "--speedup=0", "--", program), 125, "must be 1 to 100"),
            (("--causal", "--speedup=50,", "--", program), 125, "must be 1 to 100"),
            (("--causal", "--speedup=random:0", "--", program), 125, "must be random or random:SEED"),
            (("--causal", "--speedup=randomly", "--", program), 125, "must be random or random:SEED"),
            (("--causal=,", "--", program), 125, "names no functions"),
            (("--causal=nowhere", "--", program), 125, 'no function matches "nowhere"'),
            (("--causal", "-d", "1", "--", program), 2, "--duration requires --progress"),
            (("--progress=request", "--", program), 125, "require --causal"),
            (("--causal", "--progress=function:", "--", program), 125, "names no point"),
            (("--causal", "--progress=function:nowhere", "--", program), 125, 'no function matches "nowhere"'),
            (("--causal", "--progress=request", "--", static, "serve", "30", "10"), 125, "--causal: static is linked statically"),
            (("--causal", "--progress=request", "--", program), 125, "exit status 2"),
            (("--causal", "--progress=nothing", "--", program, "served", "30", "10"), 125, "it ended before it was seen to pass nothing"),
            (("--causal", "--progress=nothing", "-d", "100ms", "--", program, "serve", "30", "10"), 125, "did not pass nothing within"),
            (("--causal", "--progress=request", "--", program, "served", "30", "10"), 125, "it ends before some rounds"),
            (("--causal", "--at-most=100ms", "--", program, "serve", "30", "10"), 125, "did not end within 0.1 s"),
            (("--causal", "--", f"{folder}/none"), 127, "cannot be executed"),
            (("--causal", "--", program), 125, "exit status 2"),
            (("--causal=main", "--", program, "join", "30", "10"), 125, "nothing was in a function that is meant")]:
        done = subprocess.run([CPUPERF, *args], check=False, capture_output=True, text=True)
        assert done.returncode == status and message in done.stderr, (args, done)
        assert done.stderr.count("error:") == 1, done.stderr


run_checks(globals())
