#!/usr/bin/env python3
"""--output-format=folded: do its lines come to what the reports say, stack by stack, and to what perf
script makes of the same samples; and can names that nobody should give break them?
"""
import collections
import csv
import io
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sampled  # noqa: E402
from kit import run, show
from sampled import event  # noqa: E402

PRINT, MIX = os.environ["CPUPERF_PRINT"], os.environ["MIX"]
PERIOD = 1000000
# Runs code of its own making, whose name a map tells, under a name of its own.
ODD = """
import ctypes, mmap, os, platform, sys
ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
code = mmap.mmap(-1, 4096, prot=7)
code.write({"x86_64": b"\\xeb\\xfe", "aarch64": b"\\0\\0\\0\\x14"}[platform.machine()])
at = ctypes.addressof(ctypes.c_char.from_buffer(code))
with open(f"/tmp/perf-{os.getpid()}.map", "w") as out:
    out.write(f"{at:x} 1000 odd;name(a, b) 12\\n")
print(os.getpid(), flush=True)
ctypes.CFUNCTYPE(None)(at)()
"""


def rows(folder, *args):
    return list(csv.DictReader(io.StringIO(show(folder, "--output-format=csv", "--top=0", *args))))


def folded(folder, *args, **keys):
    """Stack (outermost first) to weight; functions of the same name may be of several files."""
    out = collections.Counter()
    for line in show(folder, "--output-format=folded", *args, **keys).split("\n")[:-1]:
        found = re.fullmatch(r"(.*) ([0-9]+)", line)
        assert found, repr(line)
        stack, weight = found.groups()
        assert weight != "0", line
        out[stack] += int(weight)
    return out


def record(folder, programs, events, *args, **keys):
    """A session while programs run, until each had a CPU; what each printed first."""
    running = [subprocess.Popen(p, stdout=subprocess.PIPE, text=True) for p in programs]
    first = [p.stdout.readline() if p.args[0] == sys.executable else "" for p in running]
    try:
        sampled.finish_when(sampled.start(folder, events, *args, num_iterations=10000, **keys), folder, running, 0.3)
    finally:
        for p in running:
            p.kill()
            p.wait()
            p.stdout.close()
    return first, [p.pid for p in running]


def call(name):
    """As --report=stacks has it."""
    return name if name[-1] in ")]" else name + "()"


def without_task(lines):
    """Lines of several events as --report=stacks has them: the kernel's functions are not marked."""
    out = collections.Counter()
    for stack, weight in lines.items():
        label, _, *names = stack.split(";")
        out[label, "; ".join(call(n.removesuffix("_[k]")) for n in names)] += weight
    return out


def check_reports(folder, *only):
    """What else runs on the machine may have names that are harder to tell apart than ours."""
    lines = folded(folder, *only)
    expected = collections.Counter()
    for r in rows(folder, "--report=stacks", *only):
        expected[r["event"], r["stack"].replace("odd;name", "odd:name")] += int(r["count"])
    assert without_task(lines) == expected, (without_task(lines) - expected,
                                             expected - without_task(lines))
    # tasks by their names
    expected, found = collections.Counter(), collections.Counter()
    for r in rows(folder, "--report=flat", "--sort=comm", *only):
        comm = r["comm"].replace(";", ":") or "[no name]"
        expected[r["event"], comm] += int(r["self_count"])
    for stack, weight in lines.items():
        found[tuple(stack.split(";")[:2])] += weight
    assert found == expected, (found, expected)
    # the kernel's functions and no others
    kernel = {r["function"] for r in rows(folder, "--report=flat", "--sort=function,object", *only)
              if r["object"].startswith("[kernel")}
    names = {n for stack in lines for n in stack.split(";")[2:]}
    assert {n.removesuffix("_[k]") for n in names if n.endswith("_[k]")} <= kernel
    assert "asm_sysvec_apic_timer_interrupt" not in names
    assert any(n.endswith("_[k]") for n in names) == sampled.may_measure_kernel()


def check_one_event(folder, pid):
    """No event in front where there is one; the same, however many threads read."""
    only = (f"--pid={pid}", "--event=cpu_clock")
    lines = folded(folder, *only)
    assert all(stack.startswith("mix;") for stack in lines)
    r, = rows(folder, "--report=threads", "--sort=pid", *only)[:1]
    assert {r["comm"], r["pid"]} == {"mix", str(pid)}
    assert lines == folded(folder, *only, "--threads=1", env={"LC_ALL": "de_DE.UTF-8"})
    assert not folded(folder, "--comm=nosuch")


def check_odd_names(folder):
    """A semicolon in a name is no frame, a number behind it no weight."""
    lines = folded(folder, "--event=cpu_clock")
    odd = {stack: weight for stack, weight in lines.items() if "odd:name" in stack}  # others have an "odd", too
    names = {(s.split(";")[0], s.split(";")[-1]) for s in odd}
    assert {n for _, n in names if not n.endswith("_[k]")} == {"odd:name(a, b) 12"}, odd
    assert {t for t, _ in names} >= {"a:b 1?c", "[no name]"}, names


def collapse(text):
    """perf script's samples as folded stacks, by number of samples."""
    out = collections.Counter()
    for sample in text.split("\n\n"):
        comm, *frames = sample.strip("\n").split("\n")
        if frames:
            names = [f.split(None, 1)[1] for f in frames if len(f.split()) > 1]
            out[";".join([comm.strip(), *reversed(names)])] += 1
    return out


def check_beside_perf(folder, pid):
    """perf script makes the same stacks of the same samples, by its own names; where functions of libc or of the kernel have
    several, that is no difference."""
    if not sampled.have("perf"):
        print("beside perf: no perf here")
        return
    only, data = (f"--pid={pid}", "--event=cpu_clock"), f"{folder}/perf.data"
    show(folder, "--output-format=perf-data", f"--output-file={data}", *only)
    done = run(*sampled.perf_reader(), "perf", "script", "-i", data, "-F", "comm,ip,sym", code=None)
    if done.returncode == -signal.SIGSEGV:
        print("skip: beside perf: perf script crashed", flush=True)
        return
    assert done.returncode == 0, done.stderr
    theirs = collapse(done.stdout)
    ours = collections.Counter()
    for stack, weight in folded(folder, *only).items():
        assert weight % PERIOD == 0
        # perf does not tell where what has no name is: a libc without its debug file has none
        ours[re.sub(r"\[unknown\] \([^;]*\)", "[unknown]", stack.replace("_[k]", ""))] += \
            weight // PERIOD
    assert sum(ours.values()) == sum(theirs.values())
    addresses = sampled.kernel_addresses()  # 0: they are hidden
    work = [collections.Counter(), collections.Counter()]
    for to, of in zip(work, (ours, theirs)):
        for stack, nr in of.items():
            if ";run;work_" in stack:
                to[";".join(str(min(addresses.get(name, ()), default=0) or name) for name in stack.split(";"))] += nr
    assert work[0] == work[1] and len(work[0]) >= 2, work


def main():
    with tempfile.TemporaryDirectory() as base:
        odd = [[sys.executable, "-c", ODD, name] for name in ("a;b 1\nc", "")]
        maps = []
        try:
            maps, pids = record(
                base, [[MIX, "ms", "60000", "2"], *odd],
                [event("software:cpu_clock", rate=PERIOD, flags=["callchain"]),
                 sampled.counted(rate=1, flags=["callchain"])],
                "--duration=300ms")
            check_reports(base, f"--pid={','.join(map(str, pids))}")
            check_one_event(base, pids[0])
            check_odd_names(base)
            check_beside_perf(base, pids[0])
        finally:
            for pid in filter(None, maps):
                os.unlink(f"/tmp/perf-{int(pid)}.map")


if __name__ == "__main__":
    main()
