"""What a start opens: nothing that what was asked does not need. By strace; no time is asserted."""
import re
import shutil

from kit import CPUPERF, PRINT, run, run_checks, skip
from sampled import Trace

TYPES = "/sys/kernel/btf/vmlinux"


def trace(folder, *command):
    """The calls of a command and of all it starts, a line each."""
    if not shutil.which("strace"):
        skip("strace is not installed")
    run("strace", "-f", "-y", "-qq", "-e", "trace=openat,read,bpf,fsync,perf_event_open,execve", "-o", f"{folder}/strace",
        *command, cwd=folder)
    with open(f"{folder}/strace", encoding="utf-8", errors="replace") as f:
        return f.read().splitlines()


def check_help(folder):
    for program in (CPUPERF, PRINT):
        for option in ("--help", "--version"):
            for line in trace(folder, program, option):
                assert not re.search(r' (bpf|perf_event_open)\(|"/sys/|"/proc/(sys|kallsyms)', line), (program, option, line)


def check_command(folder):
    """The kernel's symbols are read once, beside the program, and of its types only those that are needed. Processes of
    others are not read, nothing waits for the disk, and what Python, a wait that lasts or samples that are added up would
    need is not loaded; nor is libpfm4 for events that need no table of a CPU."""
    lines = trace(folder, CPUPERF, "--output=session", "--", "true")
    assert not any(" fsync(" in line for line in lines)
    own = {line.split()[0] for line in lines}
    assert {n for line in lines for n in re.findall(r' openat\(.*"/proc/(\d+)/', line)} <= own
    loaded = {n for line in lines for n in re.findall(r'BPF_PROG_LOAD.*prog_name="(\w+)"', line)}
    assert not loaded & {"interpreted_walk", "sample_tasks", "on_exit"}, loaded
    assert not any("/libpfm.so" in line for line in trace(folder, CPUPERF, "--output=session", "-e", "task_clock", "--", "true"))
    assert sum('openat(' in line and '"/proc/kallsyms"' in line for line in lines) <= 1
    if not any("BPF_PROG_TYPE_TRACING" in line and not line.endswith(")") for line in lines):
        print("skip: types: programs in the kernel (BPF) are not permitted", flush=True)
        return
    assert not any(re.search(rf" read\(\d+<{TYPES}>", line) for line in lines), "all types were read"


def check_kernel_parts(folder):
    """A session has the kernel's symbols in parts, each behind its range, of which a report reads those that it needs."""
    run(CPUPERF, f"--output={folder}/s", "-e", "cpu_clock@997Hz", "--duration=0.2", "--", "sh", "-c",
        "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); : </dev/null; done")
    kinds = [kind for kind, _ in Trace(f"{folder}/s/cpuperf.common.cpuperf").frames if kind in (10, 30)]
    if not kinds:
        print("skip: parts: this user is not shown the kernel's symbols", flush=True)
        return
    assert len(kinds) > 20 and kinds == [30, 10] * (len(kinds) // 2), kinds


def check_events(folder):
    """Events that no program in the kernel measures are listed without one."""
    lines = trace(folder, CPUPERF, "--list-events=software:page_faults")
    assert not any(" bpf(" in line for line in lines)


def check_all_events(folder):
    """Of all events no program in the kernel is tried, and no library is read for its probes: those who name one do that."""
    for pattern, has_libraries in (("", False), ("=latency:run_queue", False), ("=usdt:*", True)):
        lines = trace(folder, CPUPERF, f"--list-events{pattern}")
        # the loader reads the cache, too, and once more for libpfm4, of which models of CPUs are
        loads = 1 + any("/libpfm.so.4" in line for line in lines)
        assert (sum('"/etc/ld.so.cache"' in line for line in lines) > loads) == has_libraries, pattern
        if not pattern:
            assert not any("BPF_PROG_LOAD" in line for line in lines)


run_checks(globals())
