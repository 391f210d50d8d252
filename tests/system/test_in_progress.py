"""A session that is printed while it is recorded: what is complete is printed, with one line that says
so, and it is no error. A killed session is one, and so is damage. CPUPERF and CPUPERF_PRINT name the
programs.
"""
import fcntl
import glob
import json
import os
import shutil
import signal
import subprocess
import time

from kit import CPUPERF, PRINT, run, run_checks
from sampled import event, machine, write_spec

FORMATS = [["--report=summary"], ["--report=flat"], ["--report=threads"], ["--report=records"],
           ["--report=series"], ["--output-format=csv"], ["--output-format=raw"], ["--output-format=html"],
           ["--output-format=perfetto"], ["--output-format=folded"], ["--output-format=chrome"],
           ["--output-format=openmetrics"]]
IN_PROGRESS, KILLED = "in progress: what is recorded so far is used", "the session did not end: it was killed"


def show(manifest, *options, code=0):
    """Standard output is a pipe, so that binary formats are written to it."""
    done = run(PRINT, "--quiet", f"--session={manifest}", *options, code=code, text=False)
    said = done.stderr.decode()
    assert code or "error" not in said, (options, said)
    return done.stdout, said


def check_live(folder):
    """A command that waits for its input: every print before its end is of a session in progress."""
    with subprocess.Popen([CPUPERF, "-o", "s", "--", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); "
                           "done; echo begun; read line"], cwd=folder, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        assert p.stdout.readline() == b"begun\n"
        manifest = f"{folder}/s/cpuperf.cpsession"
        for options in [[]] + FORMATS[:5]:
            _, said = show(manifest, *options)
            assert said.count(IN_PROGRESS) == 1, (options, said)
        p.send_signal(signal.SIGKILL)
    with open(manifest + ".lock", "rb") as lock:  # until its last process has ended
        fcntl.flock(lock, fcntl.LOCK_EX)
    _, said = show(manifest, code=1)
    assert KILLED in said and IN_PROGRESS not in said, said


def check_live_runs(folder):
    """The run in progress is none that the run before it left running."""
    script = "echo begun; read line"
    with subprocess.Popen([CPUPERF, "-r", "2", "-o", "runs", "--", "sh", "-c", script], cwd=folder,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        assert p.stdout.readline() == b"begun\n"
        p.stdin.write(b"\n")
        p.stdin.flush()
        assert p.stdout.readline() == b"begun\n"
        manifest = f"{folder}/runs/cpuperf.cpsession"
        while show(manifest, "--output-format=raw")[0].count(b", exec, sh\n") < 2:
            time.sleep(0.05)
        text, _ = show(manifest)
        p.send_signal(signal.SIGKILL)
    with open(manifest + ".lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    for text in (text, show(manifest, code=1)[0]):
        assert b"sh -c" in text and b"still running" not in text, text.decode()


def record(folder):
    """Two iterations, as they are in the middle of recording: without ends, in the state recording."""
    write_spec(folder, [event("software:cpu_clock", rate=1000000), event("software:page_faults")],
               num_iterations=2)
    run(CPUPERF, f"--spec-file={folder}/s.cpspec", "--duration=50ms", "--quiet", *machine())
    path = f"{folder}/s.cpsession"
    with open(path, encoding="utf-8") as f:
        manifest = json.load(f)
    manifest["state"] = "recording"
    with open(path, "w", encoding="utf-8") as f:
        json.dump(manifest, f)
    with open(path + ".lock", "wb"):
        pass


def change(folder, to, edit):
    """A copy of the session, whose files edit changes."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to)
    edit(to)
    return f"{to}/s.cpsession"


def last(folder):
    return sorted(glob.glob(f"{folder}/*.1.0.cpuperf"))[0]


def common(folder):
    return glob.glob(f"{folder}/*.common.cpuperf")[0]


def cut(path, left):
    """left: of the file's bytes; below 1 a part of them."""
    size = os.path.getsize(path)
    os.truncate(path, int(size * left) if isinstance(left, float) else min(left, size))


def hold(manifest):
    lock = open(manifest + ".lock", "rb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def damage(path):
    with open(path, "r+b") as f:
        f.seek(os.path.getsize(path) // 2)
        byte = f.read(1)[0]
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte ^ 255]))


def check_every_state(folder):
    """What a file may be when it is read: cut in a frame, in its header, empty, not there yet."""
    os.mkdir(f"{folder}/a")
    record(f"{folder}/a")
    edits = [lambda to: None]
    edits += [lambda to, left=left: cut(last(to), left) for left in (0, 5, 60, 0.3, 0.7, 0.9, 0.99)]
    edits += [lambda to, left=left: cut(common(to), left) for left in (0, 100, 0.2, 0.8, 0.999)]
    edits += [lambda to: os.unlink(last(to)), lambda to: os.unlink(common(to)),
              lambda to: [os.unlink(path) for path in glob.glob(f"{to}/*.1.*.cpuperf")]]
    for nr, edit in enumerate(edits):
        manifest = change(f"{folder}/a", f"{folder}/b", edit)
        with hold(manifest):
            for options in FORMATS if nr in (0, 5) else FORMATS[nr % 2:5:2]:
                _, said = show(manifest, *options)
                assert said.count(IN_PROGRESS) == 1, (nr, options, said)
        _, said = show(manifest, "--report=flat", code=1)
        assert KILLED in said, (nr, said)


def check_damage_is_an_error(folder):
    """Also while it is recorded: in the middle of a file, and an older iteration that is not there."""
    os.mkdir(f"{folder}/a")
    record(f"{folder}/a")
    for edit, why in ((lambda to: damage(last(to)), "damaged at offset"),
                      (lambda to: [os.unlink(path) for path in glob.glob(f"{to}/*.0.*.cpuperf")
                                   if not path.endswith(".common.cpuperf")], "no traces of iteration 0")):
        manifest = change(f"{folder}/a", f"{folder}/b", edit)
        with hold(manifest):
            _, said = show(manifest, "--report=flat", code=1)
            assert why in said and IN_PROGRESS in said, said


def check_end_is_seen(folder):
    """A lock that is held by no one, beside a manifest without a state: the session has ended."""
    os.mkdir(f"{folder}/a")
    record(f"{folder}/a")
    manifest = f"{folder}/a/s.cpsession"
    run("sed", "-i", 's/, "state": "recording"//', manifest)
    _, said = show(manifest)
    assert IN_PROGRESS not in said and KILLED not in said, said


run_checks(globals())
