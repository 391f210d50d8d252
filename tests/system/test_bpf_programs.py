#!/usr/bin/env python3
"""Are misc:bpf_run_count and bpf_run_time what the kernel has of each BPF program? A program that this test loads runs as
often as it says (BPF_PROG_TEST_RUN), within a session, and the kernel's bpf_prog_info is read by itself. Our own programs,
of the same session, are there by name.
"""
import csv
import ctypes
import io
import os
import platform
import re
import struct
import subprocess
import sys

from kit import CPUPERF, PRINT, run, run_checks
from sampled import for_everybody

SYSCALL = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
PROG_LOAD, TEST_RUN, GET_INFO = 5, 10, 15
SOCKET_FILTER = 1
INFO_RUN_TIME = 192  # offsets of run_time_ns and run_cnt in struct bpf_prog_info
NAME = "known_runs"


def bpf(command, attributes):
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes.ljust(128, b"\0"), 128)
    rc = libc.syscall(SYSCALL, command, buffer, 128)
    if rc < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return rc


def load():
    """r0 = 0; exit. The descriptor."""
    code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xb7, 0, 0, 0, 0x95, 0, 0, 0))
    text = ctypes.create_string_buffer(b"GPL")
    return bpf(PROG_LOAD, struct.pack("=IIQQIIQII16s", SOCKET_FILTER, 2, ctypes.addressof(code), ctypes.addressof(text), 0, 0, 0,
                                      0, 0, NAME.encode()))


def run_program(fd, times):
    data = ctypes.create_string_buffer(64)
    bpf(TEST_RUN, struct.pack("=IIIIQQII", fd, 0, 64, 0, ctypes.addressof(data), 0, times, 0))


def info(fd):
    """id, ns, runs."""
    out = ctypes.create_string_buffer(256)
    bpf(GET_INFO, struct.pack("=IIQ", fd, 256, ctypes.addressof(out)))
    return struct.unpack_from("=I", out, 4) + struct.unpack_from("=QQ", out, INFO_RUN_TIME)


def things(folder, name):
    """The rows of an event in the summary."""
    text = run(PRINT, "--quiet", "--output-format=csv", f"{folder}/{name}").stdout
    return [r for r in csv.DictReader(io.StringIO(text)) if r["event"].startswith("bpf_run_") and r["thing"]]


def check_known(folder):
    """The number is exact, and the time that of the kernel."""
    fd = load()
    os.set_inheritable(fd, True)
    number, ns, runs = info(fd)
    times = 12345
    subprocess.run([CPUPERF, "--quiet", "--no-live", "-o", f"{folder}/known", "-e", "misc:bpf_run_count,misc:bpf_run_time", "--",
                    sys.executable, __file__, "run", str(fd), str(times)], check=True, pass_fds=[fd], stderr=subprocess.DEVNULL)
    _, ns_after, runs_after = info(fd)
    assert runs_after - runs == times, (runs, runs_after)
    rows = {r["event"]: r for r in things(folder, "known") if r["thing"].startswith(f"{number} {NAME} (")}
    assert int(rows["bpf_run_count"]["value"]) == times, rows
    assert int(rows["bpf_run_time"]["value"]) == ns_after - ns > 0, (rows, ns, ns_after)
    # a test beside this one that reads all programs holds them, too
    assert re.search(rf"\((\S+ {os.getpid()}|cpuperf \d+)\)$", rows["bpf_run_count"]["thing"]), rows
    os.close(fd)


def check_our_own(folder):
    """Of a session that measures waits by a program, which is loaded when the session begins."""
    process = subprocess.Popen([CPUPERF, "--quiet", "--no-live", "-o", f"{folder}/own", "-n3", "-d200ms", "-e",
                                "sched:off_cpu_time,misc:bpf_run_count"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert process.wait() == 0
    own = [r for r in things(folder, "own") if re.search(rf"\(.* {process.pid}\)$", r["thing"])]
    assert sum(int(r["value"] or 0) for r in own) > 0, own


def check_refused(folder):
    """An ordinary user is told why."""
    program = for_everybody(CPUPERF, os.path.dirname(folder))
    done = subprocess.run([program, "--describe-event=misc:bpf_run_time"], user=65534, group=65534, extra_groups=[], cwd="/",
                          capture_output=True, text=True, check=False)
    assert "root" in done.stdout.split("here", 1)[1], (done.stdout, done.stderr)


def main():
    if sys.argv[1:2] == ["run"]:
        run_program(int(sys.argv[2]), int(sys.argv[3]))
        return
    try:
        os.close(load() if SYSCALL and os.geteuid() == 0 else os.dup(-1))
    except OSError as e:
        print(f"skip: BPF programs cannot be loaded here: {e.strerror}")
        sys.exit(77)
    run_checks(globals(), everybody=True)


main()
