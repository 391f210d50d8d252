#!/usr/bin/env python3
"""The key target of a spec: the same as the options, which replace it; what --save-spec writes; and a
command of a spec, which runs only if it was asked for and nobody else can have written it.
"""
import json
import os
import shutil
import subprocess

from kit import CPUPERF, output, PRINT, run, run_checks, wait_until_named

FOLDER = "cpuperf.session"
EVENTS = [{"group_name": "software", "event_name": "task_clock"}]


def write(folder, target, name="own.cpspec", **keys):
    with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
        json.dump({"events": EVENTS, "target": target, **keys}, f)
    return f"--spec-file={name}"


def read(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def answer(folder):
    return output(PRINT, "--quiet", cwd=folder)


def check_refused(folder):
    """The command of a spec does not run by itself: the error has it, escaped, and the line to type."""
    spec = write(folder, {"command": ["sh", "-c", "touch ran\x1b[31m; touch ran"]})
    for args in ((), ("-d1",), ("--strict",), ("--save-spec=saved.cpspec",)):
        done = run(CPUPERF, spec, *args, cwd=folder, code=1)
        assert done.stderr.count("error: ") == 1 and "its command is not run: sh -c 'touch ran" in done.stderr, done.stderr
        assert "\x1b" not in done.stderr, done.stderr
        assert "cpuperf --spec-file=own.cpspec --run-spec-command" in done.stderr, done.stderr
    run(CPUPERF, spec, cwd=folder, code=1, env={"CPUPERF_RUN_SPEC_COMMAND": "1"})
    with open(f"{folder}/own.cpspec", encoding="utf-8") as f:
        run(CPUPERF, "--spec-file=-", cwd=folder, stdin=f, code=1)
    assert "task_clock" in run(CPUPERF, spec, "--check-spec", cwd=folder).stdout
    assert os.listdir(folder) == ["own.cpspec"], os.listdir(folder)


def check_checked(folder):
    """--check-spec prints the target, how long it is measured, and on which CPUs; it runs nothing."""
    for target, options, text in (
            ({}, ["--", "sh", "-c", "touch ran"],
             "target: the command sh -c 'touch ran', with the processes that it starts\n"),
            ({"command": ["touch", "ran"], "children": False}, [],
             "target: the command touch ran, without the processes that it starts\n"),
            ({"command": ["touch", "ran"], "wait_children": True}, [],
             "target: the command touch ran, with the processes that it starts, until they have ended\n"),
            ({}, [f"--pid={os.getpid()},1", "--comm=no-such *"],
             f"target: processes {os.getpid()}, 1 and processes named 'no-such *', with the processes that they "
             "start\n"),
            ({"cgroups": ["/a b"]}, [], "target: the control group '/a b'\n"),
            ({"cgroups": ["/a b"], "attach": True}, [],
             "target: the control group '/a b', into which the agent is loaded\n")):
        done = run(CPUPERF, write(folder, target), "--check-spec", "-C0", *options, cwd=folder)
        assert ", until the target ends, 1 CPU(s)" in done.stdout and f"\n{text}" in done.stdout, done.stdout
    spec = write(folder, {})
    assert "target:" not in run(CPUPERF, spec, "--check-spec", cwd=folder).stdout
    assert "3 run(s)" in run(CPUPERF, spec, "--check-spec", "-r3", "--", "true", cwd=folder).stdout
    timed = run(CPUPERF, spec, "--check-spec", "-d2", "--", "true", cwd=folder).stdout
    assert "1 iteration(s) of 2 s" in timed and "target: the command true" in timed, timed
    assert "is not a list of CPUs" in run(CPUPERF, spec, "--check-spec", "-Cx", cwd=folder, code=1).stderr
    assert os.listdir(folder) == ["own.cpspec"], os.listdir(folder)


def check_asked_for(folder):
    """It runs as one behind -- does: its arguments, standard input, exit status, what it inherits."""
    script = "echo \"$0\" \"$1\" \"$#\"; cat; grep -E 'Sig(Ign|Blk|Cgt)' /proc/self/status; ls /proc/self/fd; exit 7"
    command = ["sh", "-c", script, "a 'b\nc", ""]
    bare = run(*command, input="in\n", code=7).stdout
    spec = write(folder, {"command": command})
    done = run(CPUPERF, spec, "--run-spec-command", cwd=folder, input="in\n", code=7)
    assert done.stdout == bare, (done.stdout, bare)
    assert "exit status 7" in done.stderr and "task_clock" in done.stderr, done.stderr
    with open(f"{folder}/own.cpspec", encoding="utf-8") as f:
        run(CPUPERF, "--spec-file=-", "--run-spec-command", cwd=folder, stdin=f, code=7)
    spec = write(folder, {"command": ["sh", "-c", "echo x >> n"]}, runs=3)
    done = run(CPUPERF, spec, "--run-spec-command", cwd=folder)
    assert "3 runs, exit status 0" in done.stderr, done.stderr
    long = ["true", *["x" * 200] * 900]
    run(CPUPERF, write(folder, {"command": long}), "--run-spec-command", cwd=folder)
    run(CPUPERF, write(folder, {"command": ["no-such-program"]}), "--run-spec-command", cwd=folder, code=127)


def check_written_by_others(folder):
    """A file that another user can have written runs nothing; the line to type names the command."""
    write(folder, {"command": ["touch", "ran"]})
    path = f"{folder}/own.cpspec"
    cases = [(0o666, None, "every user can write to it"), (0o664, None, "a group can write to it")]
    if os.geteuid() == 0:
        cases += [(0o644, (65534, 0), "it belongs to another user"), (0o664, (0, 65534), "a group can write to it")]
    for mode, owner, why in cases:
        os.chmod(path, mode)
        if owner:
            os.chown(path, *owner)
        done = run(CPUPERF, "--spec-file=./own.cpspec", "--run-spec-command", cwd=folder, code=1)
        assert f"its command is not run: {why}: touch ran" in done.stderr, done.stderr
        assert "cpuperf --spec-file=./own.cpspec -- touch ran" in done.stderr, done.stderr
    assert os.listdir(folder) == ["own.cpspec"], os.listdir(folder)
    # no part of a long command is a line to type
    write(folder, {"command": ["touch", "ran/" * 60]})
    done = run(CPUPERF, "--spec-file=./own.cpspec", "--run-spec-command", cwd=folder, code=1)
    assert "ran/r..." in done.stderr and "cpuperf --spec-file=./own.cpspec -- COMMAND\n" in done.stderr, done.stderr
    run(CPUPERF, "--spec-file=./own.cpspec", "--", "touch", "typed", cwd=folder)
    assert os.path.exists(f"{folder}/typed") and not os.path.exists(f"{folder}/ran")


def check_replaced(folder):
    """A target of the options replaces that of the spec, also its children; --cpu replaces cpus."""
    spec = write(folder, {"command": ["touch", "ran"], "children": False, "cpus": "4000"})
    run(CPUPERF, spec, "--cpu=0", "--", "sh", "-c", "true; true", cwd=folder)
    assert answer(folder).startswith("sh -c 'true; true': exit status 0")
    with subprocess.Popen(["sleep", "600"]) as p:
        wait_until_named(p, "sleep")
        run(CPUPERF, spec, f"--pid={p.pid}", "--cpu=0", "-d0.05", cwd=folder)
        assert f"process {p.pid} (sleep)" in answer(folder)
        done = run(CPUPERF, spec, f"--pid={p.pid}", "-d0.05", cwd=folder, code=1)
        assert "own.cpspec:1:" in done.stderr and "CPU 4000 is not online" in done.stderr, done.stderr
        name = f"key-{os.getpid()}-test"  # no other run of this test has it
        os.symlink(shutil.which("sleep"), f"{folder}/{name}")
        with subprocess.Popen([f"{folder}/{name}", "600"]) as q:
            wait_until_named(q, name)
            some = f"{name[:-4]}*"
            run(CPUPERF, write(folder, {"pids": [p.pid], "comms": ["no-such", some]}), "-d0.05", cwd=folder)
            assert "2 processes: " in answer(folder), answer(folder)
            run(CPUPERF, "--comm=no-such", f"--comm={some}", "-e", "task_clock", "-d0.05", cwd=folder)
            assert f"process {q.pid} ({name})" in answer(folder), answer(folder)
            q.kill()
        p.kill()
    assert not os.path.exists(f"{folder}/ran")


def check_saved(folder):
    """Each option that says what is measured is written as its key, and read back."""
    run(CPUPERF, "-e", "task_clock", "--no-children", "--cpu=0", "--save-spec=saved.cpspec", "--", "echo", "a b",
        cwd=folder)
    assert read(f"{folder}/saved.cpspec")["target"] == {"command": ["echo", "a b"], "cpus": "0", "children": False}
    done = run(CPUPERF, "--spec-file=saved", "--run-spec-command", "--save-spec=again.cpspec", cwd=folder)
    assert done.stdout == "a b\n", done
    assert read(f"{folder}/saved.cpspec") == read(f"{folder}/again.cpspec")
    me = os.getpid()
    for args, target in ((["--pid", f"{me},1"], {"pids": [me, 1]}),
                         (["--comm=a*", "--comm=b", "--pid=1"], {"pids": [1], "comms": ["a*", "b"]}),
                         (["--cgroup=/x"], {"cgroups": ["/x"]}), (["--cpu=0"], {"cpus": "0"})):
        run(CPUPERF, "-e", "task_clock", *args, "--check-spec", "--save-spec=saved.cpspec", cwd=folder)
        assert read(f"{folder}/saved.cpspec")["target"] == target, args
    run(CPUPERF, "-e", "task_clock", "--check-spec", "--save-spec=saved.cpspec", cwd=folder)
    assert "target" not in read(f"{folder}/saved.cpspec")
    run(CPUPERF, "-e", "task_clock", "--", "true", b"\xff", cwd=folder)
    done = run(CPUPERF, "-e", "task_clock", "--save-spec=x.cpspec", "--", "touch", b"\xff", cwd=folder, code=125)
    assert "--save-spec: the command is too long, or not UTF-8" in done.stderr, done.stderr


def check_mistakes(folder):
    for target, text in (({"command": []}, "command is empty"), ({"command": "ls"}, "must be an array"),
                         ({"command": [1]}, "a word must be a string"), ({"pids": ["1"]}, "a process must be a number"),
                         ({"pids": [0]}, "a process must be a number"), ({"cgroups": ["/a", "/b"]}, "must be an array of 1 to 1"),
                         ({"command": ["ls"], "pids": [1]}, "mutually exclusive"),
                         ({"cgroups": ["/a"], "comms": ["x"]}, "mutually exclusive"),
                         ({"children": False}, "children requires"), ({"child": False}, "did you mean"),
                         ([], "must be an object"), ({"pids": [99999999]}, "there is no process 99999999"),
                         ({"cgroups": ["/no-such"]}, "/no-such: no such control group"), ({"cpus": "x"}, "not a list of CPUs")):
        done = run(CPUPERF, write(folder, target), "-d0.05", cwd=folder, code=1)
        assert done.stderr.count("error: ") == 1 and text in done.stderr, (target, done.stderr)
        assert done.stderr.startswith("own.cpspec:1:"), done.stderr
    assert os.listdir(folder) == ["own.cpspec"], os.listdir(folder)


run_checks(globals())
