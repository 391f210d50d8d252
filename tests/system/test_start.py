"""What a start opens: nothing that what was asked does not need. By strace; no time is asserted."""
import re
import shutil

from kit import CPUPERF, PRINT, run, run_checks, skip

TYPES = "/sys/kernel/btf/vmlinux"


def trace(folder, *command):
    """The calls of a command and of all it starts, a line each."""
    if not shutil.which("strace"):
        skip("strace is not installed")
    run("strace", "-f", "-y", "-qq", "-e", "trace=openat,read,bpf,perf_event_open,execve", "-o", f"{folder}/strace",
        *command, cwd=folder)
    with open(f"{folder}/strace", encoding="utf-8", errors="replace") as f:
        return f.read().splitlines()


def check_help(folder):
    for program in (CPUPERF, PRINT):
        for option in ("--help", "--version"):
            for line in trace(folder, program, option):
                assert not re.search(r' (bpf|perf_event_open)\(|"/sys/|"/proc/(sys|kallsyms)', line), (program, option, line)


def check_command(folder):
    """The kernel's symbols are read once, beside the program, and of its types only those that are needed."""
    lines = trace(folder, CPUPERF, "--output=session", "--", "true")
    assert sum('openat(' in line and '"/proc/kallsyms"' in line for line in lines) <= 1
    if not any("BPF_PROG_TYPE_TRACING" in line and not line.endswith(")") for line in lines):
        print("skip: types: programs in the kernel (BPF) are not permitted", flush=True)
        return
    assert not any(re.search(rf" read\(\d+<{TYPES}>", line) for line in lines), "all types were read"


def check_events(folder):
    """Events that no program in the kernel measures are listed without one."""
    lines = trace(folder, CPUPERF, "--list-events=software:page_faults")
    assert not any(" bpf(" in line for line in lines)


run_checks(globals())
