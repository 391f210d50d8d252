#!/usr/bin/env python3
"""Samples of waits that last when a span ends: with them on CPU, waiting for a CPU and blocked add up to wall time,
wherever it is divided. lasting.c waits at known places. CPUPERF and CPUPERF_PRINT name the programs; needs root
and a kernel with BTF.
"""
import functools
import glob
import math
import os
import re
import struct
import subprocess
import time

from kit import again, CPUPERF, need_programs, output, PRINT, run, run_checks
import sampled
from waited import Control, Groups, has_cgroups, measuring, move, rows

HERE = os.path.dirname(os.path.abspath(__file__))
MS = 1000000
WAITS = ["sched:off_cpu_time", "sched:run_queue_time"]
STATES = ",".join(f"{e}@{MS}" for e in ["software:cpu_clock", *WAITS])
PLACES = ["want_lock", "want_byte", "sleep_deep", "main"]


def repeated(check):
    """On a busy machine a CPU may be read some 10 ms after its waits were added up: what that disturbs is repeated."""
    @functools.wraps(check)
    def tries(folder):
        for i in range(4):
            os.mkdir(f"{folder}/{i}")
            try:
                return check(f"{folder}/{i}")
            except AssertionError as error:
                if i == 3:
                    raise
                again(check.__name__, error)
    return tries


class Lasting:
    """lasting.c with its number of threads, until it is closed."""
    def __init__(self, folder, nr_busy=0, prefix=()):
        program = os.path.join(folder, "lasting")
        run("cc", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", program, f"{HERE}/lasting.c")
        self.p = subprocess.Popen([*prefix, program, str(nr_busy)], stdout=subprocess.PIPE)
        self.pid = self.p.pid
        self.nr = int(self.p.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.p.kill()
        self.p.communicate()


def cells(folder, *args):
    """{iteration: {event: (count, what its samples stand for, ns of the span)}}"""
    found = {}
    for r in rows(folder, "--report=summary", *args):
        if r["state"] == "ok" and not r["trace"]:
            of = found.setdefault(int(r["iteration"]), {})
            of[r["label"]] = int(r["raw"]), int(r["weight"] or 0), int(r["span_ns"])
    return found


def places(folder, *args):
    """{function of lasting.c: ns of blocked time below it}"""
    found = {}
    for r in rows(folder, "--report=stacks", "--event=off_cpu_time", *args):
        for name in {*PLACES, "nap"} & set(re.findall(r"(\w+)\(", r["stack"])):
            found[name] = found.get(name, 0) + int(r["count"])
    return found


def expect_sums(found, threads, least=0.97, most=1.03):
    """In each iteration the states add up to wall times threads, and the samples to the counts. Readings at a busy
    boundary are some ms apart."""
    for i, of in found.items():
        span = max(ns for _, _, ns in of.values())
        slack = 10 * MS
        total = sum(count for count, _, _ in of.values())
        assert least * threads * (span - slack) <= total <= most * threads * (span + slack), (i, total, span, of)
        for name, (count, weight, _) in of.items():
            # the variance of the samples of waits that are shorter than the rate is at most rate times sum
            assert abs(count - weight) < 6 * math.sqrt(max(count, MS) * MS) + slack, (i, name, of)


def traces(folder):
    """Those of the CPUs. Their times are in order: a reader sorts within 1 ms."""
    for path in sorted(glob.glob(f"{folder}/cpuperf.session/cpuperf.[0-9]*.*.cpuperf")):
        trace = sampled.Trace(path)
        times = [s["time"] for s in trace.samples()]
        assert all(b > a - MS for a, b in zip(times, times[1:])), times
        yield trace


def heading(folder, *args):
    text = output(PRINT, "--quiet", *args, cwd=folder)
    assert "have no sample" not in text, text
    return text


@repeated
def check_process(folder):
    """Of a process, with stacks by frame pointers and by unwinding, in several iterations."""
    with Lasting(folder, 1) as lasting:
        for how in ("-g=fp", "-g=dwarf"):
            run(CPUPERF, f"--event={STATES}", how, f"--pid={lasting.pid}", "--duration=500ms", "--num-iterations=3",
                "-o", "s", cwd=folder)
            found = cells(folder, "s")
            assert len(found) == 3, found
            expect_sums(found, lasting.nr)
            heading(folder, "s")
            by_place = places(folder, "s")
            span = sum(max(ns for _, _, ns in of.values()) for of in found.values())
            # functions of libc have no frame pointer: then their caller is missing, in all samples
            for name in ["sleep_deep"] if how == "-g=fp" else PLACES:
                assert 0.97 * span - 30 * MS < by_place.get(name, 0) < 1.03 * span + 30 * MS, (how, name, by_place, span)
            deep = [r["stack"] for r in rows(folder, "--report=stacks", "--event=off_cpu_time", "s")
                    if "sleep_deep()" in r["stack"]]
            assert all(s.count("descend()") == 21 for s in deep) and deep, (how, deep)
            reasons = {r["reason"]: int(r["self_count"]) for r in rows(folder, "--report=waits", "s")
                       if r["state"] == "blocked"}
            assert {"futex", "pipe", "sleep", "signal"} <= set(reasons), reasons


@repeated
def check_no_callchain(folder):
    """Without stacks the samples are there all the same."""
    with Lasting(folder) as lasting:
        run(CPUPERF, f"--event={STATES}", f"--pid={lasting.pid}", "--duration=300ms", cwd=folder)
        expect_sums(cells(folder), lasting.nr)


@repeated
def check_record(folder):
    """What is written: a sample of the event, whose raw data says that the wait lasts; at the time of the reading, in
    the order of the ring."""
    with Lasting(folder) as lasting:
        run(CPUPERF, f"--event=sched:off_cpu_time@{MS}", "-g=dwarf", f"--pid={lasting.pid}", "--duration=300ms",
            "--num-iterations=2", cwd=folder)
    nr = 0
    for trace in traces(folder):
        for s in trace.samples():
            ns, version = struct.unpack_from("<QI", s["raw"])
            if version != 2:
                assert version == 0, s
                continue
            nr += 1
            assert s["tid"][0] == lasting.pid and 0 < ns <= 10000 * MS, s
            assert len(s["chain"]) > 4 and len(s["regs"]) > 15 and len(s["stack"]) > 100, s
    assert 2 * 4 <= nr <= 2 * 5, nr


def check_own_cpu(folder):
    """A sample goes to the trace of the CPU that its wait counts on."""
    for cpu in sampled.CPUS[:3]:
        with Lasting(folder, prefix=["taskset", "-c", str(cpu)]) as lasting:
            run(CPUPERF, f"--event=sched:off_cpu_time@{MS}", "-g=fp", f"--pid={lasting.pid}", "--duration=300ms",
                cwd=folder)
        found = []
        for path in glob.glob(f"{folder}/cpuperf.session/cpuperf.0.[0-9]*.cpuperf"):
            found += [int(path.split(".")[-2]) for s in sampled.Trace(path).samples()
                      if struct.unpack_from("<QI", s["raw"])[1] == 2]
        assert len(found) >= 4 and set(found) == {cpu}, (cpu, found)
        by_trace = {r["cpu"]: int(r["samples"] or 0) for r in rows(folder, "--report=summary")
                    if r["state"] == "ok" and r["trace"]}
        assert all((n > 0) == (c == str(cpu)) for c, n in by_trace.items()), (cpu, by_trace)


@repeated
def check_spans(folder):
    """Windows, --delay and a wait that began long before: its part in each span counts and is sampled."""
    with Lasting(folder) as lasting:
        for options, nr in ((["--windows=realtime:0.2:0.3:3"], 3), (["--delay=0.3", "--duration=300ms"], 1)):
            run(CPUPERF, f"--event={STATES}", "-g=fp", f"--pid={lasting.pid}", *options, "-o", f"s{nr}", cwd=folder)
            found = cells(folder, f"s{nr}")
            assert len(found) == nr, (options, found)
            expect_sums(found, lasting.nr)
            heading(folder, f"s{nr}")


@repeated
def check_group(folder):
    if not has_cgroups():
        return
    with Groups() as groups, Lasting(folder, 1) as lasting:
        move(lasting, groups.at)
        run(CPUPERF, f"--event={STATES}", "-g=fp", f"--cgroup={groups.name}", "--duration=400ms",
            "--num-iterations=2", cwd=folder)
        expect_sums(cells(folder), lasting.nr)
        heading(folder)


@repeated
def check_control(folder):
    """Waits that last when the events are disabled are sampled up to then; the next span begins anew."""
    control = Control()
    with Lasting(folder, 1) as lasting:
        with measuring(folder, "-e", STATES.replace("cpu_clock@1000000", "cpu_clock@100000"), "-g=dwarf", "--delay=-1", f"--pid={lasting.pid}", *control.options,
                       **control.how):
            times = []
            for _ in range(2):
                times += [control.ask(text) for text in ("enable", "disable") if not time.sleep(0.2)]
    least = sum(off[0] - on[1] for on, off in zip(times[::2], times[1::2]))
    most = sum(off[1] - on[0] for on, off in zip(times[::2], times[1::2]))
    (of,) = cells(folder).values()
    total = sum(weight for _, weight, _ in of.values())
    assert 0.95 * lasting.nr * least < total < 1.05 * lasting.nr * most + 10 * MS, (total, least, most, of)
    # a session that is stopped does not wait for the survey: functions may have no name
    by_thread = {}
    for r in rows(folder, "--report=waits", "--event=off_cpu_time"):
        by_thread[r["tid"]] = by_thread.get(r["tid"], 0) + int(r["self_count"])
    assert sum(0.99 * least < ns < 1.01 * most for ns in by_thread.values()) >= len(PLACES), (by_thread, least, most)
    heading(folder)
    assert sum(len(list(t.samples())) for t in traces(folder)) > 2 * lasting.nr


@repeated
def check_runs(folder):
    """Of each run what still waits at its end."""
    run(CPUPERF, f"--event={STATES}", "-g=fp", "--runs=3", "--", "sh", "-c", "sleep 20 >/dev/null 2>&1 & exec sleep 0.4", cwd=folder)
    found = cells(folder)
    assert len(found) == 3, found
    for i, of in found.items():
        count, weight, span = of["off_cpu_time"]
        assert 2 * 0.9 * 400 * MS < weight < 2.05 * span, (i, of)
        assert abs(count - weight) < 0.05 * count, (i, of)
    heading(folder)


@repeated
def check_machine(folder):
    """All that sleep on the machine: the samples stand for what is counted."""
    for more in ([], ["-g=aggregate"]):
        run(CPUPERF, f"--event={','.join(f'{w}@{MS}' for w in WAITS)}", *(more or ["-g=fp"]), "--duration=500ms",
            "--num-iterations=2", "-o", f"m{len(more)}", cwd=folder)
        found = cells(folder, f"m{len(more)}")
        for i, of in found.items():
            count, weight, span = of["off_cpu_time"]
            assert count > 50 * span, (i, of)  # of threads of the kernel alone there are more
            assert abs(count - weight) < 0.02 * count, (i, of)
        heading(folder, f"m{len(more)}", "--event=off_cpu_time")
        shown = sum(int(r["count"]) for r in rows(folder, "--report=stacks", "--event=off_cpu_time", f"m{len(more)}"))
        assert shown == sum(of["off_cpu_time"][1] for of in found.values()), (shown, found)


def check_rare(folder):
    """Where samples are rarer than ends of spans, they still stand for all waits: on average each span's end hits a
    wait with its share, and the mean of the weights is the count."""
    rate = 200 * MS
    with Lasting(folder) as lasting:
        run(CPUPERF, f"--event=sched:off_cpu_time@{rate}", f"--pid={lasting.pid}", "--duration=20ms",
            "--num-iterations=150", cwd=folder)
        found = cells(folder)
    counted, weight = (sum(of["off_cpu_time"][i] for of in found.values() if "off_cpu_time" in of) for i in (0, 1))
    assert counted > 5 * 0.9 * 20 * MS * len(found) and len(found) > 100, (counted, len(found))
    assert abs(counted - weight) < 5 * math.sqrt(counted * rate), (counted, weight, len(found))


@repeated
def check_hostile_stack(folder):
    """A stack pointer into a file, or nowhere, is not followed."""
    source = """
        #include <sys/mman.h>
        #include <fcntl.h>
        #include <unistd.h>
        int main(int argc, char **argv)
        {
            char *at = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE, open(argv[1], O_RDWR), 0);
            write(1, "x", 1);
            at = argc > 2 ? (char *)8 : at + 32768;
            __asm__ volatile("mov %0, %%rsp\\n mov %0, %%rbp\\n 1: mov $34, %%eax\\n syscall\\n jmp 1b" :: "r"(at));
        }"""
    if os.uname().machine != "x86_64":
        print("skip: stack pointers: written for x86-64", flush=True)
        return
    path = os.path.join(folder, "hostile")
    run("cc", "-O1", "-w", "-x", "c", "-o", path, "-", input=source)
    with open(f"{folder}/file", "wb") as f:
        f.write(bytes(65536))
    for args in ([f"{folder}/file"], [f"{folder}/file", "nowhere"]):
        with subprocess.Popen([path, *args], stdout=subprocess.PIPE) as hostile:
            hostile.stdout.read(1)
            time.sleep(0.1)
            run(CPUPERF, f"--event=sched:off_cpu_time@{MS}", "-g=dwarf", f"--pid={hostile.pid}", "--duration=200ms",
                "-o", f"h{len(args)}", cwd=folder)
            hostile.kill()
        (of,) = cells(folder, f"h{len(args)}").values()
        assert of["off_cpu_time"][1] > 190 * MS, of


need_programs()
run_checks(globals())
