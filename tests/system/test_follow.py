#!/usr/bin/env python3
"""Whom the programs in the kernel follow: control groups, threads that exec, CPUs; and when: --control, windows,
--delay. follow.c waits for known times. CPUPERF and CPUPERF_PRINT name the programs; needs root and a kernel with
BTF.
"""
import json
import os
import subprocess
import time

from kit import CPUPERF, despite_hidden_turns, need_programs, run, run_checks, wait_for
from patience import PATIENCE_S
from waited import Control, counts, Groups, has_cgroups, measuring, move, Program, rows, samples

HERE = os.path.dirname(os.path.abspath(__file__))
MS = 1000000
SAMPLED = "sched:off_cpu_time@1000000"


def build(folder):
    program = os.path.join(folder, "follow")
    run("cc", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", program, f"{HERE}/follow.c")
    return program


def histogram(folder, event):
    """The count of an event's histograms."""
    return sum(int(r["count"]) for r in rows(folder, "--report=latency") if r["event"] == event and not r["what"])


# --- control groups ---

@despite_hidden_turns
def check_cgroup(folder):
    """Counts, samples and latencies of the group and of what is below it, of nobody beside it."""
    if not has_cgroups():
        return
    program = build(folder)
    with Groups() as groups:
        inside = [Program(program, "sleep", "2", "300"), Program(program, "sleep", "3", "300")]
        beside = Program(program, "sleep", "5", "300")
        for one, where in zip([*inside, beside], groups.folders):
            move(one, where)
        event = {"group_name": "sched", "event_name": "off_cpu_time", "rate": MS, "flags": ["callchain", "waker"]}
        with open(f"{folder}/group.cpspec", "w", encoding="ascii") as f:
            json.dump({"target": {"cgroups": [groups.name]}, "events": [
                event, {"group_name": "sched", "event_name": "wakeups"},
                {"group_name": "sched", "event_name": "run_queue_time"},
                {"group_name": "latency", "event_name": "run_queue"},
                {"group_name": "latency", "event_name": "syscall.clock_nanosleep"}]}, f)
        with measuring(folder, "--spec-file=group.cpspec") as session:
            begin = time.monotonic_ns()
            for one in [beside, *inside]:
                one.go()
            slept = sum(one.slept() for one in inside)
            beside.slept()
            session.wait()  # the group is empty
            end = time.monotonic_ns()
    found = counts(folder)
    waited = found["off_cpu_time"]
    # beside the sleeps they wait for the byte and for each other
    least = 5 * 300 * MS
    assert least <= slept and least <= waited <= slept + 7 * (end - begin - 300 * MS) + 10000 * MS, (found, slept)
    by_pid = samples(folder)
    assert set(by_pid) == {one.pid for one in inside}, (by_pid, [one.pid for one in inside])
    assert by_pid[inside[0].pid] >= 0.98 * 2 * 300 * MS and by_pid[inside[1].pid] >= 0.98 * 3 * 300 * MS, by_pid
    assert 5 <= found["wakeups"] <= 60, found
    assert found["syscall.clock_nanosleep"] == histogram(folder, "syscall.clock_nanosleep") == 5, found
    assert found["run_queue"] == histogram(folder, "run_queue") >= 5, found
    assert found["run_queue_time"] > 0, found


@despite_hidden_turns
def check_cgroup_moves(folder):
    """Waits are divided where their process is moved, with all its threads; also if readings come between."""
    if not has_cgroups():
        return
    program, threads, times = build(folder), 3, []
    for options in ([], ["--duration=40ms", "--num-iterations=0"]):
        folder = f"{folder}/x"
        os.mkdir(folder)
        with Groups() as groups:
            other, one = Program(program, "burn", "100000"), Program(program, "sleep", str(threads), "60000")
            move(other, groups.at)  # does not wait; the session goes on while it is there
            one.go()
            one.wait_until_asleep(threads)
            with measuring(folder, f"--cgroup={groups.name}", "-e", SAMPLED, *options):
                for to in (groups.at, groups.folders[2], groups.folders[1], groups.folders[2]):
                    time.sleep(0.15)
                    before = time.monotonic_ns()
                    move(one, to)
                    times.append((before, time.monotonic_ns()))
                one.close()
                other.close()
            into, out, again, last = times
            times.clear()
            least = threads * (out[0] - into[1] + last[0] - again[1])
            most = threads * (out[1] - into[0] + last[1] - again[0])
            waited, sampled = counts(folder)["off_cpu_time"], samples(folder)
            assert least <= waited <= most + MS, (options, least, waited, most)
            assert set(sampled) <= {one.pid, other.pid} and least <= sampled[one.pid] <= most, \
                (options, least, sampled, most, one.pid)


@despite_hidden_turns
def check_cgroup_created_in(folder):
    """What a process of the group creates is in it; what is created in another group, is not."""
    if not has_cgroups():
        return
    program = build(folder)
    with Groups() as groups:
        script = f"read x; {program} nap 1 </dev/null; echo $$ >{groups.folders[2]}/cgroup.procs; " \
                 f"(echo; sleep 2) | {program} nap 2000 >/dev/null; echo $$ >{groups.folders[1]}/cgroup.procs; " \
                 f"(echo; sleep 0.2) | {program} nap 200 >/dev/null"
        with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as shell:
            with open(f"{groups.at}/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(shell.pid))
            keeper = Program(program, "burn", "100000")
            move(keeper, groups.at)
            with measuring(folder, f"--cgroup={groups.name}", "-e",
                           "latency:syscall.clock_nanosleep,sched:off_cpu_time"):
                begin = time.monotonic_ns()
                shell.communicate(b"\n")
                inside = time.monotonic_ns() - begin - 2000 * MS  # at most: it is outside for so long at least
                keeper.close()
    found = counts(folder)
    # two that sleep 0.2 s: sleep(1) and the program; and the shell, which waits for them
    assert found["syscall.clock_nanosleep"] == histogram(folder, "syscall.clock_nanosleep") == 2, found
    # else at least 6 s more; beside others the four wait longer for each other
    assert 3 * 195 * MS < found["off_cpu_time"] < max(2500 * MS, 4 * inside), (found, inside)


# --- when: --control, windows, --delay ---

EVENTS = "sched:off_cpu_time,sched:run_queue_time,sched:wakeups,latency:syscall.clock_nanosleep,latency:run_queue"


@despite_hidden_turns
def check_control(folder):
    """What lies between disable and enable is neither counted nor sampled, in waits that last and in short ones."""
    program, control = build(folder), Control()
    sleeper, napper = Program(program, "sleep", "2", "60000"), Program(program, "nap", "2")
    sleeper.go()
    sleeper.wait_until_asleep(2)
    with measuring(folder, "-e", EVENTS.replace("sched:off_cpu_time", SAMPLED), 
                   f"--pid={sleeper.pid},{napper.pid}", *control.options, **control.how):
        control.ask("ping")
        first = control.ask("disable")
        napper.nap(30)
        time.sleep(0.2)
        second = control.ask("enable")
        napper.nap(20)
        time.sleep(0.2)
        third = control.ask("disable")
        napper.nap(10)
        sleeper.close()  # its waits end while nothing is measured
        napper.close()
    found = counts(folder)
    assert found["syscall.clock_nanosleep"] == histogram(folder, "syscall.clock_nanosleep") == 20, found
    assert found["run_queue"] == histogram(folder, "run_queue") <= found["wakeups"] + 20, found
    assert 20 <= found["wakeups"] <= 60, found
    # three threads, of which two do nothing but wait; the third sleeps 20 times 2 ms, and then waits for its input
    span = int(rows(folder, "--report=summary")[0]["span_ns"])
    least, most = 0.9 * (third[0] - second[1]), span - (second[0] - first[1])
    napped = (0.9 * 20 * 2 + 100) * MS
    assert 2 * 0.98 / 0.9 * least + napped <= found["off_cpu_time"] <= 3 * most, (found, least, most)
    # of waits that end in a gap there are samples up to the gap
    sampled = samples(folder)
    assert set(sampled) == {sleeper.pid, napper.pid}, (sampled, sleeper.pid, napper.pid)
    assert 2 * least <= sampled[sleeper.pid] <= 2 * most, (sampled, sleeper.pid, least, most)


@despite_hidden_turns
def check_control_samples(folder):
    """A wait that lasts over a gap is sampled without it."""
    program, control = build(folder), Control()
    sleeper = Program(program, "sleep", "2", "60000")
    sleeper.go()
    sleeper.wait_until_asleep(2)
    with measuring(folder, "-e", SAMPLED, "--delay=-1", f"--pid={sleeper.pid}", *control.options, **control.how):
        times = [control.ask(text) for text in ("ping", "enable", "disable") if not time.sleep(0.15)]
        time.sleep(0.3)
        times += [control.ask(text) for text in ("enable", "ping") if not time.sleep(0.15)]
        sleeper.p.kill()  # the waits end, and what follows is no wait
        sleeper.close()
        end = time.monotonic_ns()
    _, on, off, again, last = times
    least = 2 * (off[0] - on[1] + last[0] - again[1])
    most = 2 * (off[1] - on[0] + end - again[0])
    found, sampled = counts(folder)["off_cpu_time"], samples(folder)
    assert least <= found <= most, (least, found, most)
    assert set(sampled) == {sleeper.pid} and least <= sampled[sleeper.pid] <= most, (least, sampled, most)


@despite_hidden_turns
def check_never_enabled(folder):
    """Its state is disabled, as of other events; others are measured."""
    program, control = build(folder), Control()
    napper = Program(program, "nap", "1")
    with measuring(folder, "-e", EVENTS, "--delay=-1", f"--pid={napper.pid}", *control.options, **control.how):
        for name in ("wakeups", "syscall.clock_nanosleep"):
            control.ask(f"enable {name}")
        napper.nap(10)
        napper.close()
    states = {r["label"]: r["state"] for r in rows(folder, "--report=summary") if not r["trace"]}
    enabled = {"wakeups", "syscall.clock_nanosleep"}
    assert states == {e.split(":")[1]: "ok" if e.split(":")[1] in enabled else "disabled"
                      for e in EVENTS.split(",")}, states
    found = counts(folder)
    assert found["syscall.clock_nanosleep"] == histogram(folder, "syscall.clock_nanosleep") == 10, found
    assert 10 <= found["wakeups"] <= 30 and not histogram(folder, "run_queue"), found


@despite_hidden_turns
def check_delay(folder):
    """A wait that began before is counted and sampled from the end of the delay on; so with windows."""
    program = build(folder)
    for options in (["--delay=0.3"], ["--windows=realtime:0.3:60:1"]):
        folder = f"{folder}/x"
        os.mkdir(folder)
        sleeper = Program(program, "sleep", "2", "60000")
        sleeper.go()
        sleeper.wait_until_asleep(2)
        options = [CPUPERF, "-e", SAMPLED, f"--pid={sleeper.pid}", "-d", "60", *options]
        with subprocess.Popen(options[:-3] if "--windows" in options[-1] else options, cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as session:
            wait_for(session, f"{folder}/cpuperf.session/cpuperf.0.0.cpuperf")  # the delay is over
            time.sleep(0.3)
            sleeper.close()
            session.wait(timeout=PATIENCE_S)
        span = int(rows(folder, "--report=summary")[0]["span_ns"])
        found, sampled = counts(folder)["off_cpu_time"], samples(folder)
        assert 2 * 100 * MS < found <= 2 * span and span < 10000 * MS, (options, found, span)
        assert 0.98 * found < sampled[sleeper.pid] <= 1.001 * found, (options, found, sampled)


# --- on which CPU ---

@despite_hidden_turns
def check_cpus(folder):
    """A wait counts where the task runs again; latencies where they end; samples are of chosen CPUs, too."""
    if os.cpu_count() < 2:
        print("skip: CPUs: there is one", flush=True)
        return
    program = build(folder)
    for cpu in (0, 1):
        napper = Program(program, "nap", "5", "1")
        napper.nap(1)
        path = f"{folder}/{cpu}"
        os.mkdir(path)
        with measuring(path, "-e", EVENTS.replace("sched:off_cpu_time", SAMPLED), f"--pid={napper.pid}",
                       f"--cpu={cpu}"):
            napper.nap(40)
            napper.close()
        found, sampled = counts(path), samples(path) if cpu else {}
        naps = found["syscall.clock_nanosleep"]
        assert naps == histogram(path, "syscall.clock_nanosleep") == 40 * cpu, (cpu, found)
        assert found["run_queue"] == histogram(path, "run_queue"), (cpu, found)
        if cpu:
            assert found["off_cpu_time"] > 40 * 5 * MS and found["wakeups"] >= 40, found
            assert set(sampled) == {napper.pid} and sampled[napper.pid] > 40 * 5 * MS * 0.8, sampled
        else:
            assert not any(found.values()), found


def check_aggregated(folder):
    """Samples that are added up in the kernel: of chosen CPUs, and of a control group."""
    program = build(folder)
    event = ["-e", "software:cpu_clock@100000", "-g=aggregate"]
    last = max(os.sched_getaffinity(0))
    for cpu in {0, last}:
        path = f"{folder}/{cpu}"
        os.mkdir(path)
        run(CPUPERF, *event, f"--cpu={cpu}", "--", "taskset", "-c", str(last), program, "burn", "300", cwd=path)
        burnt = [int(r["total_count"]) for r in rows(path, "--report=flat") if r["function"] == "burn"]
        assert (sum(burnt) > 0) == (cpu == last), (cpu, last, burnt)
    if not has_cgroups():
        return
    with Groups() as groups:
        inside, below, beside = [Program(program, "burn", "100000") for _ in range(3)]
        for one, where in zip((inside, below, beside), groups.folders):
            move(one, where)
        with measuring(folder, *event, f"--cgroup={groups.name}"):
            for one, end in [(one, one.cpu_ns() + 50 * MS) for one in (inside, below, beside)]:
                while one.cpu_ns() < end:
                    time.sleep(0.01)
            for one in (inside, below, beside):
                one.close()
    by_pid = {}
    for r in rows(folder, "--report=threads"):
        by_pid[int(r["pid"])] = by_pid.get(int(r["pid"]), 0) + int(r["self_count"])
    assert set(by_pid) == {inside.pid, below.pid} and min(by_pid.values()) > 0, by_pid


# --- threads that exec ---

def check_exec(folder):
    """A thread that execs while others wait: their waits end with them, and belong to the old program."""
    program, ms = build(folder), 300
    event = {"group_name": "sched", "event_name": "off_cpu_time", "rate": MS, "flags": ["callchain"]}
    with open(f"{folder}/exec.cpspec", "w", encoding="ascii") as f:
        json.dump({"events": [event, {"group_name": "latency", "event_name": "syscall.clock_nanosleep"}]}, f)
    for _ in range(3):  # for some switches Linux 6.18 reports nothing, so a wait has no sample
        run(CPUPERF, "--spec-file=exec.cpspec", "--output=exec.session", "--", program, "exec", str(ms), cwd=folder)
        waits = [r for r in rows(folder, "--report=waits", "exec.session") if int(r["self_count"]) >= 100 * MS]
        if len(waits) == 4:
            break
    # two that pause, the one that sleeps and execs, and then the first thread, which that has become
    first = {r["pid"] for r in waits}
    assert len(waits) == 4 and len(first) == 1, waits
    assert sorted((r["tid"] in first, r["reason"]) for r in waits) == \
        [(False, "signal"), (False, "sleep"), (True, "signal"), (True, "sleep")], waits
    assert all(ms * MS * 0.9 < int(r["self_count"]) < 20 * ms * MS for r in waits), waits
    assert len({r["tid"] for r in waits}) == 3, waits
    stacks = [r["stack"] for r in rows(folder, "--report=stacks", "exec.session") if int(r["count"]) >= 100 * MS]
    sleeps = [s for s in stacks if "clock_nanosleep" in s]
    assert sorted("main()" in s for s in sleeps) == [False, True], sleeps  # the other is a thread's
    assert sum(int(r["count"]) for r in rows(folder, "--report=latency", "exec.session") if not r["what"]) == 2


if __name__ == "__main__":
    need_programs()
    run_checks(globals())
