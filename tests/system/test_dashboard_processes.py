"""Processes on the dashboard, in a real terminal (tmux): filter, tree, owners and command lines, pages over time, a profile of a process
beside the session, which it does not touch; each key at sizes from 60x15 to 300x100. Software and misc events: no PMU needed.
"""
import csv
import glob
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from kit import CPUPERF, PRINT, may_count_faults, ordinary_user, run_checks, stride
from terminal import Terminal, have_tmux

EVENTS = [("software", "context_switches"), ("misc", "cpu_utilization"), ("misc", "memory_available"),
          ("misc", "memory_dirty"), ("misc", "process_cpu_time"), ("misc", "process_rss")]
SPIN = b"import time\nwhile sum(range(99999)): time.sleep(.01)"


def write_spec(folder, **more):
    spec = {"config_name": "watched", "duration": 1, "num_iterations": 10000,
            "events": [{"group_name": g, "event_name": e} for g, e in EVENTS],
            "output_path_prefix": f"{folder}/t", "session_result_spec_path": f"{folder}/s.cpsession",
            **more}
    with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
        json.dump(spec, out)
    return f"--spec-file={folder}/s.cpspec"


class Spinner:
    """A process that uses a fifth of a CPU, with an argument that nobody else has."""

    def __init__(self, word):
        # pylint: disable=consider-using-with
        self.word = f"{word}-{os.getpid()}"
        self.process = subprocess.Popen(["py", "-", self.word], executable=sys.executable, stdin=subprocess.PIPE)
        self.process.stdin.write(SPIN)
        self.process.stdin.close()
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def watch(folder, size=(120, 40), env=None, command=()):
    return Terminal([*command, CPUPERF, write_spec(folder), "--duration=100ms"], *size, env)


def rows_of(folder):
    done = subprocess.run([PRINT, f"--session={folder}/s.cpsession", "--output-format=csv"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def expect_whole(folder):
    """All iterations are there, one after the other, and nothing else is."""
    with open(f"{folder}/s.cpsession", encoding="utf-8") as text:
        nr = json.load(text)["num_iterations"]
    assert {int(row["iteration"]) for row in rows_of(folder)} == set(range(nr)), nr
    names = [name for name in os.listdir(folder) if not re.match(r"t\.s?\d+\.\d+\.cpuperf$", name)]
    assert set(names) <= {"s.cpspec", "s.cpsession", "state", "run"}, names


def check_small_screen(_):
    """At 80 x 24 there are several processes, whatever else a machine has; a wide screen has no lines without use."""
    if os.cpu_count() > 4 or os.geteuid() != 0:
        print("skip: screens of 80x24 and 160x50: more than 4 CPUs, or not root", flush=True)
        return
    with Terminal([CPUPERF, "--spec-file=watch", "--output=-"], 80, 24) as t:
        t.wait(r"^ process \+\d+")
        t.wait(r"^ process .*(\n \d+ \S.*){4}")
        t.keys("q")
    with Terminal([CPUPERF, "--spec-file=watch", "--output=-"], 160, 50) as t:
        text = t.wait(r"^ +[\d.]+ % │")
        assert not re.search(r"^ {80}│", text, re.M), text
        t.keys("q")


def check_list(folder):
    """What is typed filters, also owner and command line; a tree has each process below its parent."""
    with Spinner("one-of-a-kind") as s, watch(folder) as t:
        t.wait(r"iteration ([2-9]|\d\d)")
        t.press("/", r"^ filter: _")
        t.keys("-l", "OF-A-KIND")
        text = t.wait(r"^ process /OF-A-KIND ")
        assert re.search(rf"^ {s.pid} py", text, re.M), text
        t.press("Enter", r"q quit .*Enter profile")
        text = t.press("u", r"one-of-a-kind-\d+$")
        assert re.search(rf"^ {s.pid} py.* [\w-]+ +py - one-of", text, re.M), text
        t.press("t", rf"└ {s.pid} py")
        parent = t.text().split("\n")
        at = next(i for i, line in enumerate(parent) if f"└ {s.pid} py" in line)
        assert re.match(rf" .*\b{os.getpid()} ", parent[at - 1]), parent[at - 1]
        t.press("t", rf"^ {s.pid} py")
        t.press("Escape", r"^ process \+\d+ more|^ process  ")
        t.press("G", r"^ process .*more")
        t.keys("q")
        t.wait(r"^status 0\.", history=True)


def check_values(folder):
    """What a page and the table show is what the files have."""
    with Spinner("values") as s, watch(folder) as t:
        t.wait(r"iteration ([2-9]|\d\d)")
        t.keys("/")
        t.keys("-l", s.word)
        t.wait(rf"^ {s.pid} py")
        t.keys("Enter", "p")
        t.wait("PAUSED")
        text = t.press("o", rf"^ process {s.pid} .*at most the last")
        iteration = int(re.search(r"iteration (\d+)", text)[1])
        name = re.search(r"^ process (\d+ \S+)", text, re.M)[1]
        shown = re.search(r"process_rss  ([\d.,]+ \w*B)", text)[1]
        t.press("Escape", r"^ process ")
        t.press("p", "PAUSED", absent=True)
        t.keys("q")
        t.wait(r"^status 0\.", history=True)
    row = next(row for row in rows_of(folder) if int(row["iteration"]) == iteration and
               row["event"] == "process_rss" and row["thing"] == name)
    number, unit = shown.split()
    scale = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
    assert abs(float(number.replace(",", "")) * scale - int(row["raw"])) <= int(row["raw"]) / 1000, (shown, row)


def check_profile(folder):
    """Enter shows the functions of the process; Escape leads back; the session knows nothing of it."""
    os.mkdir(f"{folder}/state")
    place = tempfile.mkdtemp(prefix="cpuperf-test.", dir="/dev/shm")
    env = {"XDG_STATE_HOME": f"{folder}/state", "XDG_RUNTIME_DIR": place}
    with Spinner("profiled") as s, watch(folder, env=env) as t:
        t.wait(r"iteration ([2-9]|\d\d)")
        t.keys("/")
        t.keys("-l", s.word)
        t.wait(rf"^ {s.pid} py")
        t.keys("Enter")
        t.press("Enter", rf"profiling process {s.pid}: \d s left")
        text = t.wait(r"^ cpu_clock 997 Hz")
        text = t.wait(r"\d\d\.\d\d % ± .*python")
        assert "ENDED" in text, text
        assert re.search(rf"^ cpu_clock 997 Hz .* python\S* \({s.pid}\) ", text, re.M), text
        t.press("?", r"q +back to the screen before")
        t.press("x", r"back to the screen before", absent=True)
        assert not os.path.exists(f"{folder}/state/cpuperf/last"), "the profile is remembered as the last session"
        if may_count_faults("callers and callees: without frame pointers only the kernel's functions have them"):
            t.press("Enter", r"\b(callee|caller)\b")
            t.press("Escape", r"\b(callee|caller)\b", absent=True)
        t.press("Escape", r"^ watched  iteration \d+")
        text = t.press("Enter", rf"profiling process {s.pid}")
        t.press("Escape", r"the profile was stopped")
        t.keys("Enter")
        t.wait(rf"profiling process {s.pid}")
        # the session ends in the middle of a profile
        os.kill(int(subprocess.run(["pgrep", "-P", str(t.pid()), "cpuperf"], check=True, stdout=subprocess.PIPE,
                                   text=True).stdout), signal.SIGINT)
        t.wait(r"^status 0\.", history=True)
    expect_whole(folder)
    with open(f"{folder}/state/cpuperf/last", encoding="utf-8") as last:
        assert last.read().strip().endswith("/s.cpsession")
    assert not glob.glob(f"{place}/*"), os.listdir(place)
    os.rmdir(place)


def check_killed(folder):
    """SIGKILL in the middle of a profile leaves neither a process nor a file of it."""
    place = tempfile.mkdtemp(prefix="cpuperf-test.", dir="/dev/shm")
    with Spinner("unlucky") as s, watch(folder, env={"XDG_RUNTIME_DIR": place}) as t:
        t.wait(r"iteration ([2-9]|\d\d)")
        t.keys("/")
        t.keys("-l", s.word)
        t.wait(rf"^ {s.pid} py")
        t.keys("Enter")
        t.press("Enter", rf"profiling process {s.pid}: [1-4] s left")
        pid = int(subprocess.run(["pgrep", "-P", str(t.pid()), "cpuperf"], check=True, stdout=subprocess.PIPE,
                                 text=True).stdout)
        inner = [p for p in subprocess.run(["pgrep", "-P", str(pid)], check=True, stdout=subprocess.PIPE, text=True)
                 .stdout.split()]
        assert len(inner) >= 2 and glob.glob(f"{place}/*"), inner
        os.kill(pid, signal.SIGKILL)
        until(lambda: not glob.glob(f"{place}/*") and not any(os.path.exists(f"/proc/{p}") for p in inner))
    os.rmdir(place)


def until(is_done):
    for _ in range(600):
        if is_done():
            return
        time.sleep(0.1)
    raise AssertionError("it does not come to be")


def check_refused(folder):
    """Where a profile is not possible, one line says why; nothing else happens."""
    with Spinner("ends") as s, watch(folder) as t:
        t.wait(r"iteration ([2-9]|\d\d)")
        t.keys("/")
        t.keys("-l", s.word)
        t.wait(rf"^ {s.pid} py")
        t.keys("Enter")
        t.press("p", "PAUSED")  # so that it stays on the screen
        s.process.send_signal(signal.SIGKILL)
        s.process.wait()
        t.press("Enter", rf"no profile: there is no process {s.pid}")
        t.keys("q")
        t.wait(r"^status 0\.", history=True)
    expect_whole(folder)
    with Terminal([PRINT, f"--session={folder}/s.cpsession", "--live"], 120, 40) as t:
        t.wait(r"REPLAY")
        t.keys("Tab")
        t.press("Enter", r"a replay cannot profile a process: o shows it over time")
        t.press("u", r"not in a replay")
        t.press("o", r"^ process .*at most the last")
        t.press(".", r"iteration 1 ")
        t.press("Escape", r"^ process  |^ process \+")
        t.keys("q")
        t.wait(r"^status 0\.", history=True)


def check_mixed_installation(folder):
    """Who would show the profile is of another version: that is said before it is made."""
    os.mkdir(f"{folder}/bin")
    shutil.copy(CPUPERF, f"{folder}/bin/cpuperf")
    with open(f"{folder}/bin/cpuperf_print", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho cpuperf_print 0.0.9\n")
    os.chmod(f"{folder}/bin/cpuperf_print", 0o755)
    with Spinner("mixed") as s, Terminal([f"{folder}/bin/cpuperf", write_spec(folder), "--duration=100ms"], 120, 40) as t:
        t.wait(r"iteration ([2-9]|\d\d)")
        t.keys("/")
        t.keys("-l", s.word)
        t.wait(rf"^ {s.pid} py")
        t.keys("Enter")
        t.press("p", "PAUSED")
        t.press("Enter", r"cpuperf_print is of another version than cpuperf .*: cpuperf_print 0\.0\.9")
        t.keys("q")
        t.wait(r"^status 0\.", history=True)


def check_rights(folder):
    """Of a process of another user: the line of the second session."""
    user = ordinary_user(folder)
    if not user:
        return
    (program,), how = user
    with Spinner("of-root") as s, Terminal(["setpriv", f"--reuid={how['user']}", f"--regid={how['group']}", "--clear-groups",
                                       program, write_spec(folder), "--duration=100ms"], 120, 40) as t:
        t.wait(r"iteration ([2-9]|\d\d)")
        t.keys("Tab", "/")
        t.keys("-l", s.word)
        t.wait(rf"^ {s.pid} py")
        t.keys("Enter")
        t.press("p", "PAUSED")
        t.press("Enter", r"no profile: .*(belongs to another user|more rights|permi)")
        t.keys("q")
        t.wait(r"^status 0\.", history=True)


KEYS = ("Tab", "j", "k", "u", "t", "s", "s", "s", "l", "h", "g", "G", "PPage", "NPage", "o", "j", "k",
        "NPage", "Escape", "Tab", "l", "j", "Enter", "k", "Escape", "Tab", "j", "Enter", "?", "x", "Escape",
        "v", "v", "v", "t", "t", "f", "b", "d", "c", "r", "w", "x", "?", "x", "/", "a", "BSpace", "Escape",
        "p", "p", "C-l", "0", "$")


def check_sizes(folder):
    """Each key at the smallest, the largest and other sizes: it goes on, within the screen, and the help and the hints are there."""
    for size in ((60, 15), (300, 100), *stride(((80, 24), (100, 30), (160, 45), (200, 60)), 1)):
        with Spinner("sizes"), watch(folder, size) as t:
            t.wait(r"iteration ([1-9]|\d\d)")
            for key in KEYS:
                t.keys(key)
                lines = t.text().rstrip("\n").split("\n")
                assert len(lines) <= size[1] and max(map(len, lines)) <= size[0], (size, key)
            text = t.wait(r"^ q quit  \? help")
            assert re.search(r"^ watched  iteration \d+", text), text
            if size[0] >= 160:
                t.wait(r"│ process")
            t.keys("q")
            t.wait(r"^status 0\.", history=True)


if not have_tmux():
    print("skip: no tmux here (scripts/deps test installs it)")
    sys.exit(77)
run_checks(globals(), everybody=True)
