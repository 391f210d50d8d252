#!/usr/bin/env python3
"""What a service manager hears (sd_notify), and the unit: systemd's own checker takes it, and cpuperf measures with the
capabilities that it leaves. CPUPERF and CPUPERF_PRINT name the programs.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import time

from kit import CPUPERF, PRINT, finish, need_sampling, output, run_checks

UNIT = f"{os.environ['SOURCE_DIR']}/service/cpuperf@.service.in"


def start(folder, *options, **env):
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(f"{folder}/notify")
    manager.settimeout(60)
    p = subprocess.Popen([CPUPERF, "-e", "task_clock", "--output=session", *options], cwd=folder,
                         env={**os.environ, "NOTIFY_SOCKET": f"{folder}/notify", **env},
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return p, manager


def drain(manager):
    manager.setblocking(False)
    said = []
    try:
        while True:
            said.append(manager.recv(1000))
    except BlockingIOError:
        return said


def check_ready_and_stopping(folder):
    p, manager = start(folder, "--duration=1h", "--num-iterations=0")
    assert manager.recv(1000) == b"READY=1"
    assert os.path.exists(f"{folder}/session"), "measuring has begun"
    time.sleep(0.5)
    p.send_signal(signal.SIGTERM)
    finish(p)
    said = drain(manager)
    assert said[-1] == b"STOPPING=1" and b"READY=1" not in said, said


def check_watchdog(folder):
    """In an iteration of an hour, and not for another process's sake."""
    p, manager = start(folder, "--duration=1h", "--num-iterations=0", WATCHDOG_USEC="3000000")
    assert manager.recv(1000) == b"READY=1"
    assert [manager.recv(1000) for _ in range(3)] == [b"WATCHDOG=1"] * 3
    os.kill(p.pid, signal.SIGSTOP)
    time.sleep(0.2)
    drain(manager)
    time.sleep(2)
    assert not drain(manager), "one that does not measure says nothing"
    os.kill(p.pid, signal.SIGCONT)
    p.send_signal(signal.SIGTERM)
    finish(p)
    manager.close()
    os.unlink(f"{folder}/notify")
    p, manager = start(folder, "--duration=1h", "--num-iterations=0", WATCHDOG_USEC="300000", WATCHDOG_PID="1")
    assert manager.recv(1000) == b"READY=1"
    time.sleep(1)
    p.send_signal(signal.SIGTERM)
    finish(p)
    assert b"WATCHDOG=1" not in drain(manager)[:-2]


def check_a_manager_that_is_gone(folder):
    for name in ("", "relative", "/" + "x" * 200, f"{folder}/none"):
        p = subprocess.Popen([CPUPERF, "-e", "task_clock", "-d", "100ms", "-n", "1"], cwd=folder,
                             env={**os.environ, "NOTIFY_SOCKET": name, "WATCHDOG_USEC": "x"},
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        finish(p)


def capabilities():
    with open(UNIT, encoding="ascii") as f:
        line = re.search(r"^CapabilityBoundingSet=(.*)$", f.read(), re.M)[1]
    return [c.removeprefix("CAP_").lower() for c in line.split()]


def check_its_capabilities_suffice(folder):
    setpriv = shutil.which("setpriv")
    if os.geteuid() or not setpriv:
        print("skip: capabilities: needs root and setpriv")
        return
    bounds = ",".join(["-all", *("+" + c for c in capabilities())])
    done = subprocess.run([setpriv, f"--bounding-set={bounds}", "--no-new-privs", CPUPERF, "--spec-file=continuous",
                           "--duration=1s", "--num-iterations=2", "--output=s"], cwd=folder, check=False,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}, capture_output=True, text=True)
    assert done.returncode == 0 and "not supported" not in done.stderr, done
    flat = output(PRINT, "--quiet", "s", "--report=flat", "--output-format=csv", cwd=folder)
    assert "[kernel]" in flat, flat


def check_the_unit_is_valid(folder):
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        print("skip: unit: systemd-analyze is not installed")
        return
    with open(UNIT, encoding="ascii") as f, open(f"{folder}/cpuperf@x.service", "w", encoding="ascii") as out:
        out.write(f.read().replace("@CMAKE_INSTALL_FULL_BINDIR@/cpuperf", "/bin/true").replace("Documentation=", "#"))
    done = subprocess.run([analyze, "verify", f"{folder}/cpuperf@x.service"], capture_output=True, text=True, check=False)
    own = [line for line in done.stderr.splitlines() if "cpuperf@" in line]
    assert not own, own
    done = subprocess.run([analyze, "security", "--offline=true", "--threshold=35", f"{folder}/cpuperf@x.service"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-300:]


need_sampling()
run_checks(globals())
