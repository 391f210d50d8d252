#!/usr/bin/env python3
"""The time of threads, sampled by timers in the program: against its clocks, and what the program sees of it: its masks, handlers,
timers, and system calls."""
import collections
import os
import re
import subprocess

from heap_memory import Recorder, STACKS
from kit import CPUPERF, PRINT, run, run_checks
from sampled import event, write_spec

AGENT = os.environ["AGENT"]
TIMES, CPU, REAL, MS = 4096, 7, 8, 1000000
TICKS = 10 * MS  # the kernel looks at the timers once a tick, and others run, too


def build(folder, name="times", *options):
    program = f"{folder}/{name}"
    run("cc", "-O1", "-g", "-w", "-pthread", *options, "-o", program, f"{os.path.dirname(__file__)}/{name}.c")
    return program


def sampled(memory, kind):
    """ns of the samples of that kind."""
    return sum(s["bytes"] for s in memory.stacks() if s["path"] and s["path"][-1] == kind)


def measure(*command, cpu=MS, real=0, nr=1, status=0):
    recorder = Recorder(AGENT, rate=0, wants=TIMES | STACKS, intervals=(cpu, real))
    done = recorder.run(*command, capture_output=True, text=True)
    assert (done.returncode, done.stderr, len(recorder.memories)) == (status, "", nr), (command, done, len(recorder.memories))
    for memory in recorder.memories:
        head = memory.header()
        assert not (head["no_node"] or head["no_block"] or head["invalid"]), head
    return done.stdout, recorder.memories


def check_cpu_time(folder):
    """As much as the clock says: of one thread, of many, of those that are shorter than a tick, and after SIGKILL."""
    program = build(folder)
    for mode, ms, threads, status in (("burn", 400, 1, 0), ("threads", 200, 9, 0), ("short", 40, 1, 0), ("killed", 400, 1, -9)):
        _, [memory] = measure(program, mode, str(ms), status=status)
        clock, got = memory.header()["cpu_ns"], sampled(memory, CPU)
        print(f"{mode}: {got / 1e6:.1f} of {clock / 1e6:.1f} ms", flush=True)
        assert clock > (ms * 2.5 if mode == "short" else ms * (threads - 1 or 1)) * MS * 0.9, (mode, clock)
        assert clock * 0.8 - 4 * TICKS < got < clock + 2 * TICKS, (mode, clock, got)
        assert not sampled(memory, REAL)


def check_real_time(folder):
    """Waits have their time where they wait, also one that never ends, and those that the process ends in."""
    program = build(folder)
    _, [memory] = measure(program, "waits", "500", cpu=0, real=MS)
    assert not sampled(memory, CPU)
    waits = collections.Counter()  # by main's calls: a nap may also end in a signal of the CPU's clock, within libc
    for s in memory.stacks():
        if s["path"] and s["path"][-1] == REAL:
            waits[tuple(s["path"][:5])] += s["bytes"]
    assert sum(w > 480 * MS for w in waits.values()) >= 2, waits  # ten naps, and poll
    assert sum(waits.values()) < 20 * 1125 * MS, waits


def check_own_signals(folder):
    """The program's own are as without the agent."""
    program = build(folder)
    for mode in ("profile", "timer"):
        alone = int(run(program, mode, "400").stdout)
        got = int(measure(program, mode, "400")[0])
        print(f"{mode}: {got} signals, {alone} without the agent", flush=True)
        assert alone * 0.5 < got < alone * 2, (mode, alone, got)
    out, [memory] = measure(program, "masks", "100")
    assert out == "0 missing 0 wrong\n", out
    assert sampled(memory, CPU) > 100 * MS, "a thread that blocks all signals is sampled"
    out, [memory] = measure(program, "handlers", "200")
    assert out == "0 wrong 31 own\n", out
    assert sampled(memory, CPU) > 150 * MS, "until the program uses all"


def check_calls(folder):
    """No system call ends early, though timers expire 10,000 times a second."""
    program = build(folder)
    for real in (0, MS):
        out, _ = measure(program, "calls", "200", cpu=MS // 10, real=real)
        assert out == "0 of 3000\n", out


def check_stacks(folder):
    """Little stacks, and handlers on stacks of their own, also those that are disarmed meanwhile."""
    program = build(folder)
    for mode in ("coroutine", "alternate", "autodisarm"):
        _, [memory] = measure(program, mode, "200")
        depths = [len(s["path"]) for s in memory.stacks() if s["path"] and s["path"][-1] == CPU]
        assert sampled(memory, CPU) > 120 * MS and max(depths) >= 4, (mode, depths)


def check_processes(folder):
    """A child by fork has timers of its own, and one that executes a program begins anew."""
    program = build(folder)
    _, memories = measure(program, "forks", "300", nr=3)
    got = [sampled(m, CPU) for m in memories]
    assert got[0] > 200 * MS and got[1] > 200 * MS and got[2] < 100 * MS, got


def check_gprof(folder):
    """A program that profiles itself has its counts."""
    program = build(folder, "times", "-pg", "-no-pie")
    run(program, "burn", "1000", cwd=folder)
    os.rename(f"{folder}/gmon.out", f"{folder}/gmon.alone")
    recorder = Recorder(AGENT, rate=0, wants=TIMES | STACKS, intervals=(MS, 0))
    assert recorder.run(program, "burn", "1000", cwd=folder).returncode == 0
    seconds = []
    for name in ("gmon.alone", "gmon.out"):
        flat = run("gprof", "-b", "-p", program, f"{folder}/{name}").stdout
        seconds.append(sum(float(x) for x in re.findall(r"^ *[\d.]+ +[\d.]+ +([\d.]+)", flat, re.M)))
    print(f"gprof: {seconds[1]} s, {seconds[0]} s without the agent", flush=True)
    assert seconds[0] * 0.5 < seconds[1] < seconds[0] * 2, seconds


def check_session(folder):
    """From cpuperf to a report, with perf events and where the kernel refuses all."""
    program, deny = build(folder), build(folder, "deny")
    spec = write_spec(folder, [event("resource:cpu_time", frequency=997, flags=["callchain"]), event("resource:real_time")])
    for before in ([], [deny, "1"], [deny, "38"]):
        done = subprocess.run([*before, CPUPERF, spec, "--", program, "threads", "100"], cwd=folder, capture_output=True, text=True)
        if done.returncode == 77:
            print("skip: no seccomp here", flush=True)
            continue
        assert done.returncode == 0, done
        manifest = next(f"{folder}/{n}" for n in os.listdir(folder) if n.endswith(".cpsession"))
        tree = run(PRINT, manifest, "--report=tree").stdout
        assert re.search(r"(start_thread|\[unknown\].*)\n.* burns\n.* burn\n", tree), tree
        count = re.search(r"cpu_time: [\d,]+ samples, ([\d.]+) (m?s)", tree)
        ms = float(count[1]) * (1 if count[2] == "ms" else 1000)
        assert 560 < ms < 1000, count


def check_hint(folder):
    """Who may measure nothing by the kernel reads how to sample in the program."""
    done = subprocess.run([build(folder, "deny"), "1", CPUPERF, "-e", "cpu_clock@997Hz", f"--output={folder}/s", "--", "true"],
                          capture_output=True, text=True)
    assert done.returncode == 77 or "-g -e resource:cpu_time@997Hz,resource:real_time@997Hz -- true" in done.stderr, done


def check_by_itself(folder):
    """Without options the program's timers stand in for perf events that are refused; a program that loads no agent runs,
    and its answer says why nothing was sampled."""
    deny, program = build(folder, "deny"), build(folder)
    for error in ("38", "1"):
        command = [deny, error, CPUPERF, f"--output={folder}/s{error}", "--"]
        done = subprocess.run([*command, program, "threads", "100"], capture_output=True, text=True)
        if done.returncode == 77:
            print("skip: no seccomp here", flush=True)
            return
        assert done.returncode == 0 and "timers.cpspec" in done.stderr, done
        assert re.search(r"cpu_time: [\d,]+ samples(.*\n)+?.* burn\n", done.stderr), done
        assert "To measure time by timers" not in done.stderr and "build-id" not in done.stderr, done
        done = subprocess.run([*command[:3], "-F", "20", *command[3:], program, "threads", "100"], capture_output=True, text=True)
        assert int(re.search(r"cpu_time: ([\d,]+) samples", done.stderr)[1]) < 60, done  # of 600 to 800 ms
        done = subprocess.run([*command[:3], "--strict", *command[3:], program], capture_output=True, text=True)
        assert done.returncode == 125 and "timers.cpspec" not in done.stderr, done
    alone = f"{folder}/alone"
    with open(f"{alone}.c", "w") as f:
        f.write("int main(void) { return 3; }")
    run("gcc", "-static", "-o", alone, f"{alone}.c")
    done = subprocess.run([*command[:3], f"--output={folder}/s", "--", alone], capture_output=True, text=True)
    assert done.returncode == 3 and "linked statically" in done.stderr and "timers.cpspec" not in done.stderr, done


def check_refused(folder):
    """What makes no sense."""
    def message(**keys):
        spec = write_spec(folder, [event("resource:cpu_time", **keys)])
        done = subprocess.run([CPUPERF, spec, "--", "true"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 125, done
        return done.stderr
    assert "at most 10000 samples per second" in message(frequency=20000)
    assert "at most 10000 samples per second" in message(rate=1000)


# Beside programs that take turns within a tick, the kernel's timers of CPU time hardly expire: of 400 ms none were seen.
try:
    os.nice(-20)
except PermissionError:
    print("not root: other programs must leave a CPU free", flush=True)
run_checks(globals())
