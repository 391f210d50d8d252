#!/usr/bin/env python3
"""Calls of functions, measured by programs in the kernel: counts are exactly those that the program makes, and times
are those of its calls. calls.c has the functions. CPUPERF names the program; needs root and a kernel with uprobes.
"""
import contextlib
import glob
import os
import signal
import struct
import subprocess
import time

from kit import CPUPERF, hidden_turns, need_programs, output, run, run_checks
from sampled import event, text16, Trace, write_spec

HERE = os.path.dirname(os.path.abspath(__file__))
N, THREADS = 1000, 3
FUNCTION, HAS_TIMES, IS_PART, BITS = 31, 1, 4, 4
MS = 1000000


def build(folder, *options, name="calls", source="calls.c"):
    program = os.path.join(folder, name)
    run("cc", "-O1", "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer", "-pthread", *options, "-o", program, f"{HERE}/{source}", "-ldl")
    return program


def build_library(folder):
    with open(f"{folder}/library.c", "w", encoding="ascii") as f:
        f.write("volatile int sum; int in_library(int n) { sum++; return n + 1; }\n")
    library = f"{folder}/libcalls.so"
    run("cc", "-O1", "-shared", "-fPIC", "-o", library, f"{folder}/library.c")
    return library


def function_of(payload):
    names = "event flags way bits address calls wall self cpu max cost".split()
    f = dict(zip(names, struct.unpack_from("<4I7Q", payload)))
    f["name"], at = text16(payload, 72)
    f["object"], at = text16(payload, at)
    length, nr = struct.unpack_from("<II", payload, at)
    f["buckets"] = {}
    for i in range(nr):
        number, _, count = struct.unpack_from("<IIQ", payload, at + 8 + i * length)
        f["buckets"][number] = count
    f["ended"] = sum(f["buckets"].values())
    return f


def traces(folder):
    return [Trace(path) for path in sorted(glob.glob(f"{folder}/t.*.cpuperf"))]


def functions(folder, place=0):
    """{name: sums} of an event, over all iterations."""
    found = {}
    for f in (function_of(p) for t in traces(folder) for p in t.of(FUNCTION)):
        if f["event"] != place:
            continue
        assert f["way"] == 1 and f["bits"] == BITS and f["object"].startswith("/"), f
        to = found.setdefault(f["name"], dict.fromkeys(("calls", "ended", "wall", "self", "cpu", "cost"), 0) |
                              {"buckets": {}})
        for key in ("calls", "ended", "wall", "self", "cpu", "cost"):
            to[key] += f[key]
        for bucket, count in f["buckets"].items():
            to["buckets"][bucket] = to["buckets"].get(bucket, 0) + count
        to["max"], to["flags"] = f["max"], f["flags"]
    return found


def counts(folder, place=0):
    """What an event counted, over all CPUs and iterations."""
    return sum(rest[1] * (1 if boundary else -1) for t in traces(folder)
               for boundary, event_place, state, rest in t.all_readings()
               if event_place == place and state == 1 and boundary < 2)


def notes(folder):
    return [n for t in traces(folder) for n in t.notes]


def names(program, *functions, **keys):
    """An event for each; unsafe: they are measured at any cost."""
    return [event(f"function:{program}:{f}", flags=["unsafe"], **keys) for f in functions]


def measure(folder, events, program, *words, options=(), code=0, **keys):
    for path in glob.glob(f"{folder}/t.*") + glob.glob(f"{folder}/s.cpsession"):
        os.unlink(path)
    done = run(CPUPERF, write_spec(folder, events, **keys), *options, "--", program, *words, cwd=folder, code=code)
    found = [functions(folder, i) for i in range(len(events))]
    for i, functions_of_event in enumerate(found):
        assert counts(folder, i) == sum(f["calls"] for f in functions_of_event.values()), (i, found)
    return {name: f for of_event in found for name, f in of_event.items()}, done


def check_threads_and_fork(folder):
    program = build(folder)
    bare = output(program, "count")
    found, done = measure(folder, names(program, "leaf"), program, "count")
    leaf = found["leaf"]
    assert (leaf["calls"], leaf["ended"]) == ((THREADS + 1) * N,) * 2, leaf
    assert leaf["self"] == leaf["wall"] and 0 < leaf["cpu"] <= leaf["wall"], leaf
    assert bare in done.stdout, (bare, done.stdout)
    found, _ = measure(folder, names(program, "leaf"), program, "count", options=["--no-children"])
    assert found["leaf"]["calls"] == THREADS * N, found


def check_others(folder):
    """A process of the same program that is no target is not counted."""
    program = build(folder)
    with subprocess.Popen([program, "forever"]) as other:
        found, _ = measure(folder, names(program, "leaf"), program, "count")
        other.kill()
    assert found["leaf"]["calls"] == (THREADS + 1) * N, found


def check_several_events(folder):
    """A function of two events is in both, and is measured once."""
    program = build(folder)
    found, _ = measure(folder, names(program, "leaf", "le*f", "sleeper"), program, "count", "sleep")
    for place in (0, 1):
        assert functions(folder, place)["leaf"]["calls"] == (THREADS + 1) * N + 1, place
    assert functions(folder, 2).keys() == {"sleeper"} and found["sleeper"]["calls"] == 2


def check_exec(folder):
    """The stack of open calls ends with the program."""
    program = build(folder)
    found, _ = measure(folder, names(program, "main", "leaf"), program, "count", "exec", "count", "sleep")
    assert found["leaf"]["calls"] == 2 * (THREADS + 1) * N + 1 == found["leaf"]["ended"], found
    assert found["main"]["calls"] == 2 and found["main"]["ended"] == 1, found


def check_deep(folder):
    """All are counted; the kernel sees the return of 64 open calls."""
    program, nr = build(folder), 300003
    found, _ = measure(folder, names(program, "deep"), program, f"nr={nr}", "deep")
    deep = found["deep"]
    assert (deep["calls"], deep["ended"]) == (nr, 64), deep
    assert any(f"{nr - 64} calls have no times" in n for n in notes(folder)), notes(folder)


def check_times(folder):
    """20 ms are in their bucket, of 16 for each power of two, or behind it; and no time on a CPU, but for waits that
    were not seen to end."""
    program, turns = build(folder), hidden_turns()
    found, _ = measure(folder, names(program, "sleeper", "outer", "leaf"), program, "sleep", options=["-r", "2"])
    outer, sleeper, leaf = found["outer"], found["sleeper"], found["leaf"]
    assert (outer["calls"], sleeper["calls"], leaf["calls"]) == (2, 4, 2), found
    assert sleeper["flags"] & HAS_TIMES and sleeper["ended"] == 4
    assert min(sleeper["buckets"]) >= (24 - BITS) * 16 + (20 * MS >> 24 - BITS), sleeper
    assert sleeper["wall"] >= 80 * MS and sleeper["max"] >= 20 * MS
    unseen = (hidden_turns() - turns) * sleeper["max"]
    assert sleeper["cpu"] < sleeper["wall"] / 4 + unseen and outer["cpu"] < outer["wall"] / 4 + unseen, found
    assert outer["wall"] == outer["self"] + sleeper["wall"] + leaf["wall"], found
    assert outer["self"] <= outer["wall"] - 80 * MS, found
    assert outer["cost"] > sleeper["cost"] / 2 > 0, found


def check_iterations(folder):
    """No call falls between two, and none is in both."""
    program = build(folder)
    for turns in (10, 40, 160, 640):  # 0.4 s at least: beside a load longer, until there are some iterations
        found, _ = measure(folder, names(program, "leaf", "sleeper"), program, *["count", "sleep"] * turns, duration=0.01,
                           num_iterations=0)
        leaf, nr = found["leaf"], turns * ((THREADS + 1) * N + 1)
        assert (leaf["calls"], leaf["ended"], found["sleeper"]["ended"]) == (nr, nr, 2 * turns), found
        assert leaf["self"] == leaf["wall"], leaf
        if sum(1 for t in traces(folder) for p in t.of(FUNCTION)) > 4:
            return
    raise AssertionError("all calls are of one iteration or two, however long it takes")


def check_longjmp(folder):
    """Calls that do not return have no times, and the others no wrong ones."""
    program = build(folder, "-DLEAVES")
    bare = output(program, "leap", "sleep")
    found, done = measure(folder, names(program, "leaper", "caller_of_leaper", "leaf", "outer"), program, "leap",
                          "sleep")
    for name in ("leaper", "caller_of_leaper"):
        assert (found[name]["calls"], found[name]["ended"]) == (N, 0), found
    assert found["leaf"]["calls"] == N + 1 and found["outer"]["calls"] == 1, found
    assert found["leaf"]["self"] == found["leaf"]["wall"] and found["leaf"]["ended"] in (0, N + 1), found
    assert bare in done.stdout, done.stdout


def check_stacks(folder):
    """A task that changes its stack goes on right, and all its calls are counted."""
    program = build(folder, "-DLEAVES")
    for word in ("stacks", "stacks-below"):
        bare = output(program, word)
        found, done = measure(folder, names(program, "work", "leaf"), program, word)
        assert bare in done.stdout, (word, done)
        assert found["work"]["calls"] == 20 and found["leaf"]["calls"] == 19, (word, found)


def check_signal(folder):
    program = build(folder, "-DLEAVES")
    bare = output(program, "signal")
    found, done = measure(folder, names(program, "raiser", "in_handler"), program, "signal")
    assert bare in done.stdout and found["raiser"]["calls"] == found["in_handler"]["calls"] == 1, (found, done)


def check_library(folder):
    """A library that is loaded while it is measured."""
    program, library = build(folder), build_library(folder)
    found, _ = measure(folder, names(library, "in_library"), program, f"load={library}")
    assert found["in_library"]["calls"] == N, found


def check_samples(folder):
    program = build(folder)
    events = [event(f"function:{program}:leaf", rate=10, flags=["unsafe", "pc"])]
    found, _ = measure(folder, events, program, "count")
    nr = sum(item["samples"] for t in traces(folder) if t.of(9) for item in t.sampling["items"])
    assert found["leaf"]["calls"] == (THREADS + 1) * N, found
    # of each CPU every tenth
    assert nr <= (THREADS + 1) * N // 10 <= nr + os.cpu_count(), nr


def user_and_system_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return tuple(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))


def system_ticks(pid):
    """The time in the kernel: grows while a program that calls nothing there has breakpoints."""
    return user_and_system_ticks(pid)[1]


def wait_until_fast(pid):
    """Until it had a CPU for half a second, of which it was not in the kernel: beside others that takes a while."""
    user, system = user_and_system_ticks(pid)
    while True:
        time.sleep(0.05)
        now = user_and_system_ticks(pid)
        if now[1] != system:
            user, system = now
        elif now[0] - user >= os.sysconf("SC_CLK_TCK") / 2:
            return


def child_of(process, program):
    while True:
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as f:
            for pid in f.read().split():
                with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/exe", "rb"):
                    if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(program):
                        return int(pid)


def check_limit(folder):
    """What costs too much is counted no longer, by name; what costs little is."""
    program = build(folder)
    events = [event(f"function:{program}:{f}") for f in ("leaf", "sleeper")]
    with subprocess.Popen([CPUPERF, write_spec(folder, events), "--", program, "sleep", "forever"], cwd=folder,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        child = child_of(p, program)
        wait_until_fast(child)
        os.kill(child, signal.SIGKILL)
    text = "\n".join(notes(folder))
    assert "leaf is counted no longer" in text and "max_own_cpu" in text, text
    leaf, sleeper = functions(folder)["leaf"], functions(folder, 1)["sleeper"]
    assert "sleeper is" not in text and sleeper["calls"] == 2, text
    assert (leaf["flags"] & IS_PART, sleeper["flags"] & IS_PART) == (IS_PART, 0), (leaf, sleeper)


def check_limit_at_the_end(folder):
    """The program ends while breakpoints are removed, which takes 0.1 s: calls that are missing are said."""
    program = build(folder)
    for nr in (1250, 2500, 5000, 10000, 20000):
        run(CPUPERF, write_spec(folder, [event(f"function:{program}:leaf")]), "--", program, f"nr={nr}", "count", cwd=folder)
        leaf = functions(folder)["leaf"]
        is_said = any("leaf is counted no longer" in text for text in notes(folder))
        assert bool(leaf["flags"] & IS_PART) == is_said and (is_said or leaf["calls"] == 4 * nr), (nr, leaf, is_said)


def check_killed(folder):
    """A recorder that is killed leaves nothing in the program that it measured, which goes on."""
    program = build(folder)
    with subprocess.Popen([program, "forever"]) as measured:
        with subprocess.Popen([CPUPERF, write_spec(folder, names(program, "leaf"), num_iterations=0),
                               f"--pid={measured.pid}"], cwd=folder, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as p:
            ticks = system_ticks(measured.pid)
            while system_ticks(measured.pid) < ticks + 5:
                assert p.poll() is None
                time.sleep(0.01)
            p.kill()
        wait_until_fast(measured.pid)
        assert measured.poll() is None
        measured.kill()


def check_refused(folder):
    program = build(folder)
    done = run(CPUPERF, write_spec(folder, [event(f"function:{program}:leaf", frequency=99)]), "--", program,
               cwd=folder, code=None)
    assert done.returncode and "its rate is the calls per sample" in done.stderr, done
    done = run(CPUPERF, write_spec(folder, [event("software:task_clock", flags=["unsafe"])]), "--", program,
               cwd=folder, code=None)
    assert done.returncode and "groups usdt and function" in done.stderr, done


need_programs()
run_checks(globals())
