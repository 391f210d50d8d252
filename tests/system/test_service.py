#!/usr/bin/env python3
"""What a service manager hears (sd_notify), and the unit: systemd's own checker takes it, and cpuperf measures with the
capabilities that it leaves. CPUPERF and CPUPERF_PRINT name the programs.
"""
import csv
import io
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import time

from kit import CPUPERF, PRINT, finish, need_sampling, output, run, run_checks
from patience import PATIENCE_S
from receiver import Answer, Receiver

UNIT = f"{os.environ['SOURCE_DIR']}/service/cpuperf@.service.in"


def start(folder, *options, events=("-e", "task_clock"), **env):
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(f"{folder}/notify")
    manager.settimeout(PATIENCE_S)
    p = subprocess.Popen([CPUPERF, *events, "--output=session", *options], cwd=folder,
                         env={**os.environ, "NOTIFY_SOCKET": f"{folder}/notify", **env},
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return p, manager


def wait_for_line(p, text):
    """What it says up to a line with the text."""
    said = ""
    while text not in said:
        line = p.stderr.readline()
        assert line, said
        said += line
    return said


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


def write_spec(folder, *events, duration="0.2"):
    rows = ", ".join(f'{{ "group_name": "software", "event_name": "{e}" }}' for e in events)
    with open(f"{folder}/new", "w", encoding="ascii") as f:
        f.write(f'{{ "events": [ {rows} ], "duration": {duration}, "num_iterations": 0 }}')
    os.rename(f"{folder}/new", f"{folder}/x.cpspec")


def labels(folder, session):
    text = output(PRINT, "--quiet", "--output-format=csv", session, cwd=folder)
    return {r["label"] for r in csv.DictReader(io.StringIO(text, newline=""))}


def wait_for_iterations(folder, nr):
    """Of the session in progress."""
    while True:
        done = subprocess.run([PRINT, "--quiet", "--report=series", "--output-format=csv", f"{folder}/session"],
                              capture_output=True, text=True, check=False)
        rows = list(csv.DictReader(io.StringIO(done.stdout, newline="")))
        if len({r["iteration"] for r in rows}) >= nr:
            return
        time.sleep(0.05)


def check_reload(folder):
    """SIGHUP: another spec is measured from the next iteration on, in a session of its own; the same and an invalid
    one change nothing."""
    write_spec(folder, "task_clock")
    p, manager = start(folder, "--spec-file=x.cpspec", "--metrics-listen=unix:sock", events=())
    assert manager.recv(1000) == b"READY=1"
    wait_for_iterations(folder, 1)
    p.send_signal(signal.SIGHUP)
    assert "x.cpspec has not changed: the session goes on" in wait_for_line(p, "has not changed")
    with open(f"{folder}/x.cpspec", "w", encoding="ascii") as f:
        f.write('{ "events": [ { "group_name": "software", "event_name": "none" },\n'
                '{ "group_name": "software", "event_name": "task_clock" } ], "duration": 0.2, "num_iterations": 0 }')
    p.send_signal(signal.SIGHUP)
    said = wait_for_line(p, "is invalid")
    assert said.count("error: ") == 1 and "x.cpspec:1:" in said, said
    assert not os.path.exists(f"{folder}/session.old") and p.poll() is None
    socket_before = os.stat(f"{folder}/sock").st_ino
    write_spec(folder, "page_faults", "context_switches")
    p.send_signal(signal.SIGHUP)
    while True:
        heard = manager.recv(1000)
        assert heard != b"STOPPING=1"
        if heard.startswith(b"RELOADING=1\nMONOTONIC_USEC="):
            break
    assert manager.recv(1000) == b"READY=1"
    p.send_signal(signal.SIGHUP)  # as it begins
    wait_for_iterations(folder, 2)
    assert os.stat(f"{folder}/sock").st_ino == socket_before, "who listens has not changed"
    p.terminate()
    finish(p)
    assert drain(manager)[-1] == b"STOPPING=1"
    assert labels(folder, "session.old") == {"task_clock"}
    assert labels(folder, "session") == {"page_faults", "context_switches"}
    for name in ("session", "session.old"):
        with open(f"{folder}/{name}/cpuperf.cpsession", encoding="utf-8") as f:
            assert '"recording"' not in f.read(), name


def check_reload_pushes(folder):
    """Profiles of both sessions arrive, by the spool of both."""
    def spec(event):
        with open(f"{folder}/new", "w", encoding="ascii") as f:
            json.dump({"config_name": event, "duration": 0.2, "num_iterations": 0, "events": [
                {"group_name": "software", "event_name": "cpu_clock", "frequency": 499, "flags": ["pc"]},
                {"group_name": "software", "event_name": event}]}, f)
        os.rename(f"{folder}/new", f"{folder}/x.cpspec")

    def wait_for_requests(r, nr):
        while len(r.requests) < nr:
            assert p.poll() is None, p.communicate()
            time.sleep(0.05)

    spec("page_faults")
    with Receiver("pyroscope", [Answer(type="application/proto")] * 1000) as r:
        p, manager = start(folder, "--spec-file=x.cpspec", f"--push={r.url}", f"--push-spool={folder}/spool",
                           "--push-wait=60s", events=())
        wait_for_requests(r, 2)
        spec("context_switches")
        p.send_signal(signal.SIGHUP)
        while not os.path.exists(f"{folder}/session.old"):
            assert p.poll() is None, p.communicate()
            time.sleep(0.05)
        before = len(r.requests)
        wait_for_requests(r, before + 3)
        p.terminate()
        _, said = p.communicate()
    assert said.count("profile(s) sent") == 2 and "invalid" not in said and "dropped" not in said, said


def check_reload_of_what_cannot_begin(folder):
    """A spec that is valid, and whose session is refused, is followed by a session by the one before."""
    write_spec(folder, "task_clock")
    p, manager = start(folder, "--spec-file=x.cpspec", "--strict", events=())
    assert manager.recv(1000) == b"READY=1"
    with open(f"{folder}/x.cpspec", "w", encoding="ascii") as f:
        f.write('{ "events": [ { "group_name": "software", "event_name": "page_faults" } ],\n'
                '"target": { "cgroups": [ "no/such/group" ] }, "duration": 0.2, "num_iterations": 0 }')
    p.send_signal(signal.SIGHUP)
    wait_for_line(p, "cannot begin: one by the spec before follows")
    while manager.recv(1000) != b"READY=1":
        pass
    wait_for_iterations(folder, 1)
    p.terminate()
    finish(p)
    assert labels(folder, "session") == {"task_clock"}


def check_a_terminal_that_closes_ends_it(folder):
    write_spec(folder, "task_clock")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(CPUPERF, [CPUPERF, "--quiet", "--no-live", "--spec-file=x.cpspec", "--output=session"])
    while not os.path.exists(f"{folder}/session"):
        time.sleep(0.05)
    wait_for_iterations(folder, 1)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 1), status  # 1: nobody reads what it prints
    assert labels(folder, "session") == {"task_clock"}


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


def check_containers(folder):
    """The DaemonSet and compose.yaml say the same: one folder, which each start replaces, of so many bytes at most. The image
    has the name that compose.yaml wants."""
    texts = {}
    for name in "service/compose.yaml", "service/kubernetes/daemonset.yaml", "scripts/package.d/image":
        with open(f"{os.environ['SOURCE_DIR']}/{name}", encoding="utf-8") as f:
            texts[name] = f.read()
    compose, daemonset, image = texts.values()
    args = re.findall(r"^ *- (--\S+)", daemonset, re.M)
    assert len(args) > 4 and args == re.findall(r"^ *- (--\S+)", compose, re.M), args
    place = next(arg for arg in args if arg.startswith("--output="))
    assert place.startswith("--output=/var/lib/cpuperf/") and "%" not in place, place
    here = [f"--output={folder}/session" if arg == place else arg for arg in args]
    run(CPUPERF, *here, "--check-spec", f"--save-spec={folder}/saved.cpspec", code=None)
    with open(f"{folder}/saved.cpspec", encoding="utf-8") as f:
        assert json.load(f)["retain"]["bytes"] > 0
    assert re.search(r"image: (\S+)", compose)[1] == re.search(r"image=\$layout:(\S+)", image)[1]


def check_the_unit_is_valid(folder):
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        print("skip: unit: systemd-analyze is not installed")
        return
    with open(UNIT, encoding="ascii") as f, open(f"{folder}/cpuperf@x.service", "w", encoding="ascii") as out:
        out.write(f.read().replace("@CPUPERF_BINDIR@/cpuperf", "/bin/true").replace("Documentation=", "#"))
    done = subprocess.run([analyze, "verify", f"{folder}/cpuperf@x.service"], capture_output=True, text=True, check=False)
    own = [line for line in done.stderr.splitlines() if "cpuperf@" in line]
    assert not own, own
    done = subprocess.run([analyze, "security", "--offline=true", "--threshold=35", f"{folder}/cpuperf@x.service"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-300:]


need_sampling()
run_checks(globals())
