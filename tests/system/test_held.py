#!/usr/bin/env python3
"""--output=-: a session that is held in memory, printed at its end, and leaves no files, however it ends.
Software events only.
"""
import contextlib
import csv
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from kit import CPUPERF, finish, may_sample, output, run, run_checks

EVENTS = ["-e", "task_clock@1000Hz,page_faults"]
# The target has memory of its own, and ends when its standard input does.
COMMAND = [sys.executable, "-c", "import sys; sum(range(3000000)); sys.stdin.read()"]
HELD = re.compile(r"^(/.*/cpuperf-[0-9a-f]{16})(/|$)")


def held_folders(pid):
    """Where the process has open files of a held session."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            match = HELD.match(os.readlink(f"/proc/{pid}/fd/{fd}"))
            found.update([match[1]] if match else [])
    return found


def begin(folder, env=None):
    """A session that is being recorded, and its folder."""
    p = subprocess.Popen([CPUPERF, *EVENTS, "-o", "-", "--", *COMMAND], cwd=folder, text=True, env={**os.environ, **(env or {})},
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while True:
        found = held_folders(p.pid)
        if found and os.path.exists(f"{min(found)}/cpuperf.cpsession"):
            return p, min(found)
        assert p.poll() is None, p.communicate()
        time.sleep(0.01)


def expect_gone(folder, held):
    """A process removes it when cpuperf has ended."""
    while os.path.exists(held):
        time.sleep(0.01)
    assert os.listdir(folder) == [], os.listdir(folder)


def check_command(folder):
    """The answer as ever, but nothing is saved, and nothing is said of files."""
    p, held = begin(folder)
    assert os.stat(held).st_mode == 0o40700
    _, err = finish(p)
    assert "exit status 0" in err and "page_faults" in err and "task_clock: " in err, err
    assert "aved in" not in err and held not in err, err
    assert not os.path.exists(held) and os.listdir(folder) == [], os.listdir(folder)
    done = run(CPUPERF, *EVENTS, "-o-", "-r2", "--", "true", cwd=folder)
    assert "2 runs" in done.stderr and os.listdir(folder) == [], done.stderr


def check_last(folder):
    """It is not the last session."""
    os.mkdir(f"{folder}/state")
    for name, is_last in ("-", False), ("x", True):
        run(CPUPERF, *EVENTS, "-o", name, "--", "true", cwd=folder, env={"XDG_STATE_HOME": f"{folder}/state"})
        assert os.path.exists(f"{folder}/state/cpuperf/last") == is_last, name


def check_ends(folder):
    """A signal that ends the session, one that kills, and a command that does not exist."""
    for number in signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV:
        p, held = begin(folder)
        p.send_signal(number)
        p.communicate()
        expect_gone(folder, held)
    run(CPUPERF, *EVENTS, "-o-", "--", "./no-such-program", cwd=folder, code=127)
    assert os.listdir(folder) == []


def check_machine_formats(folder):
    """csv goes to the file, as that of a saved session."""
    run(CPUPERF, *EVENTS, "-o-", "--output-format=csv", "--output-file=out.csv", "--", "true", cwd=folder)
    with open(f"{folder}/out.csv", encoding="utf-8") as f:
        assert {"task_clock", "page_faults"} <= {r["event"] for r in csv.DictReader(f)}
    assert os.listdir(folder) == ["out.csv"]


def check_machine(folder):
    """Samples of the machine are answered on standard output; a tally prints its tables, and needs no folder."""
    if not may_sample("the machine"):
        return
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:  # an idle machine has no other samples
        done = run(CPUPERF, "-e", "cpu_clock@200Hz", "-d", "0.2", "-n2", "-o-", cwd=folder)
        busy.kill()
    assert re.search(r"^cpu_clock: .*samples?,", done.stdout, re.M) and "aved in" not in done.stderr, done
    nowhere = {"XDG_RUNTIME_DIR": "/proc"}
    done = run(CPUPERF, "-e", "page_faults", "-d", "0.01", "-n2", "-o-", cwd=folder, env=nowhere)
    assert "2 iterations" in done.stdout and "aved in" not in done.stderr, done
    assert os.listdir(folder) == []


def check_place(folder):
    """The user's own folder in memory is preferred, and one that is not in memory is not used. The spec and its
    check make none."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="test-") as own:
        p, held = begin(folder, {"XDG_RUNTIME_DIR": own})
        assert os.path.dirname(held) == own, held
        finish(p)
        assert os.listdir(own) == []
        text = output(CPUPERF, *EVENTS, "-o-", "--check-spec", "--", "true", cwd=folder, env={"XDG_RUNTIME_DIR": own})
        assert "event(s) work here" in text and os.listdir(own) == [], text
    p, held = begin(folder, {"XDG_RUNTIME_DIR": "/proc"})
    assert os.path.dirname(held) == "/dev/shm", held
    finish(p)


# Spins until more than half of the file system is used, or its standard input ends, for which it waits.
FILL = """
import os, select, sys
while (fs := os.statvfs(sys.argv[1])).f_bavail > fs.f_blocks * 0.45 and not select.select([0], [], [], 0)[0]:
    sum(range(10000))
sys.stdin.read()
"""


def check_full(folder):
    """When half of what was free is used, the measuring ends, and is answered."""
    mount = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=16m tmpfs "$0" && exec "$@"', folder]
    if subprocess.run([*mount, "true"], capture_output=True, check=False).returncode:
        print("skip: a full file system: mounting one needs root")
        return
    with subprocess.Popen([*mount, CPUPERF, "-e", "task_clock@500Hz", "-g=dwarf", "-o-", "--", sys.executable, "-c", FILL,
                           folder], env={**os.environ, "XDG_RUNTIME_DIR": folder}, stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as p:
        inside, state = f"/proc/{p.pid}/root{folder}", "recording"
        while "recording" in state:
            assert p.poll() is None, p.stderr.read()
            time.sleep(0.05)
            for held in os.listdir(inside):
                with contextlib.suppress(FileNotFoundError), \
                        open(f"{inside}/{held}/cpuperf.cpsession", encoding="utf-8") as f:
                    state = f.read()
        err = p.communicate("")[1]
    assert p.returncode == 0 and "warning: measuring ended early: half of the memory" in err, err
    assert "task_clock: " in err and "still running when the measuring ended" in err, err


def on_small_disk(folder, size, command):
    """Measures the command in a file system of that size; returns what was printed and the status, and the names in it."""
    script = 'mount -t tmpfs -o size="$0" tmpfs "$1" && cd "$1" && shift && "$@"; status=$?; ls; exit $status'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, size, folder, CPUPERF, *EVENTS, "-o", "x", "--", "sh", "-c", command],
                          capture_output=True, text=True, check=False)
    return done, done.stdout.split()


def check_no_room(folder):
    """Without room for the session, or with none from some time on, there is an answer, and the command's status."""
    if subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", folder], capture_output=True, check=False).returncode:
        print("skip: a full disk: mounting one needs root")
        return
    done, names = on_small_disk(folder, "64k", "echo said >kept; exit 3")
    assert done.returncode == 3 and names == ["kept"], done
    assert "exit status 3" in done.stderr and "task_clock" in done.stderr, done
    assert "Not saved in x: No space left on device. The session was held in memory, and is gone" in done.stderr, done
    done, names = on_small_disk(folder, "2m", "head -c 4m /dev/zero >fill 2>&-; exit 3")
    assert done.returncode == 3 and names == ["fill", "x"], done
    assert "task_clock" in done.stderr, done
    assert re.search("error: .*cannot be written: No space left on device", done.stderr), done  # whichever file comes first


run_checks(globals())
