#!/usr/bin/env python3
"""The group resource: descriptors by who opened them, compared with programs whose descriptors are known, and with what
strace counts."""
import os
import re
import shutil
import subprocess

from heap_memory import BLOCKS, PEAK, Recorder, STACKS
from kit import CPUPERF, PRINT, run, run_checks
from sampled import event, write_spec

AGENT = os.environ["AGENT"]
FDS = 256
CREATING = ("open openat creat dup dup2 dup3 fcntl socket accept accept4 epoll_create epoll_create1 eventfd eventfd2 timerfd_create "
            "signalfd signalfd4 inotify_init inotify_init1 memfd_create").split()


def build(folder):
    program = f"{folder}/fds"
    run("cc", "-O1", "-g", "-D_GNU_SOURCE", "-w", "-fno-builtin", "-pthread", "-o", program,
        f"{os.path.dirname(__file__)}/fds.c")
    return program


def measure(*command, wants=FDS | STACKS, rate=0, nr=1):
    """Of each process opened, live; the stacks of descriptors and of memory."""
    recorder = Recorder(AGENT, rate=rate, wants=wants)
    done = recorder.run(*command, capture_output=True, text=True)
    assert done.returncode == 0 and len(recorder.memories) == nr, (command, done, len(recorder.memories))
    result = []
    for memory in recorder.memories:
        head = memory.header()
        assert not (head["no_node"] or head["no_block"] or head["invalid"] or head["nested"]), head
        fds = [s for s in memory.stacks() if s["path"] and s["path"][-1] == 1]
        others = [s for s in memory.stacks() if s not in fds]
        result.append((sum(s["samples"] for s in fds), sum(s["live_samples"] for s in fds), fds, others, head))
        assert all(s["bytes"] == s["samples"] and s["max"] == 1 for s in fds), fds
    return done.stdout, result


def check_known(folder):
    program = build(folder)
    _, [(opened, live, fds, others, _)] = measure(program, "leak")
    assert (opened, live, len(fds), others) == (105, 5, 2, []), fds
    assert sorted((s["samples"], s["live_samples"]) for s in fds) == [(5, 5), (100, 0)], fds
    _, [(opened, live, _, _, _)] = measure(program, "threads")
    assert (opened, live) == (16000, 0), (opened, live)
    _, [(opened, live, _, _, _)] = measure(program, "vforks")
    assert (opened, live) == (3, 3), "a child by vfork closes its own"
    _, [(opened, live, *_), (in_child, live_in_child, *_)] = measure(program, "forks", nr=2)
    assert (opened, live, in_child, live_in_child) == (3, 3, 2, 2)
    _, [before, after] = measure(program, "execs", nr=2)
    assert (before[:2], after[:2]) == ((4, 4), (105, 5)), (before, after)
    assert measure(program, "errno")[0] == "77 9\n"
    _, [(opened, live, fds, _, _)] = measure(program, "leak", wants=FDS)
    assert (opened, live, len(fds)) == (105, 5, 1), "without stacks"


def count_calls(folder, *command):
    """Descriptors that the program's own process got, by strace."""
    run("strace", "-o", f"{folder}/strace", *command)
    nr = 0
    with open(f"{folder}/strace", encoding="utf-8", errors="replace") as f:
        for line in f:
            called = re.match(r"(\w+)\((.*)\) += (-?\d+)", line)
            if not called or int(called[3]) < 0:
                continue
            name, arguments, result = called.groups()
            if name in ("pipe", "pipe2", "socketpair"):
                nr += 2
            elif name == "fcntl":
                nr += "F_DUPFD" in arguments
            elif name == "dup2":
                nr += arguments.split(", ")[0] != result
            else:
                nr += name in CREATING
    return nr


def check_strace(folder):
    """Each function, and a shell; less what the loader and libc open for themselves, which a run that does nothing shows."""
    if not shutil.which("strace"):
        print("skip: strace is not installed", flush=True)
        return
    program = build(folder)
    base = count_calls(folder, program)
    for what in ("leak", "kinds"):
        alone = count_calls(folder, program, what) - base
        _, memories = measure(program, what, nr=2 if what == "kinds" else 1)  # with the sh of popen
        (opened, live, fds, _, _), *_ = memories
        print(f"{what}: {opened} descriptors, by strace {alone}", flush=True)
        # popen makes a pipe, of which its caller gets one end; freopen closes and opens, or dups, by the C library
        assert alone - 2 <= opened <= alone if what == "kinds" else opened == alone, (what, alone, opened, fds)
        assert live == (5 if what == "leak" else 0), (what, fds)


def check_beside_heap(folder):
    """Memory is as without descriptors: amounts, blocks and the peak."""
    program = build(folder)
    _, [(opened, live, _, others, head)] = measure(program, "threads", wants=BLOCKS | STACKS | PEAK | FDS, rate=1)
    _, [(none, _, _, alone, head_alone)] = measure(program, "threads", wants=BLOCKS | STACKS | PEAK, rate=1)
    assert (opened, live, none) == (16000, 0, 0)
    assert sum(s["bytes"] for s in others) == sum(s["bytes"] for s in alone)
    assert head["live"] == head_alone["live"] and head["peak"] == head_alone["peak"], (head, head_alone)


def check_programs(folder):
    """Programs that know nothing of it print and return what they do alone."""
    with open(f"{folder}/x.c", "w", encoding="ascii") as f:
        f.write("#include <stdio.h>\nint main(void) { puts(\"x\"); return 4; }\n")
    with open(f"{folder}/Makefile", "w", encoding="ascii") as f:
        f.write("all:\n\t@echo $$PATH\n")
    python = ("import subprocess, tempfile, socket, os; f = tempfile.TemporaryFile(); print(subprocess.run(['ls', '/usr'], "
              "capture_output=True).stdout); a = socket.socketpair(); print(len(os.listdir('/proc/self/fd')))")
    for command in (["python3", "-c", python], ["gcc", "-O2", "-o", f"{folder}/x", f"{folder}/x.c"],
                    ["bash", "-c", "for i in 1 2 3; do echo $(ls /usr | wc -l); done <&0 3</dev/null; exit 9"],
                    ["perl", "-e", "open(F, '<', '/etc/passwd'); print scalar(<F>); exec 'sh', '-c', 'echo a >&2; kill -9 $$'"],
                    ["make", "-s", "-C", folder], ["tar", "cf", "/dev/null", "/etc/passwd"],
                    ["find", "/usr/share/doc", "-maxdepth", "1"]):
        alone = subprocess.run(command, capture_output=True, check=False)
        recorder = Recorder(AGENT, rate=0, wants=FDS | STACKS)
        done = recorder.run(*command, capture_output=True)
        assert (alone.returncode, alone.stdout, alone.stderr) == (done.returncode, done.stdout, done.stderr), (command, alone, done)
        assert any(s["path"][-1] == 1 for m in recorder.memories for s in m.stacks() if s["path"]), command


def check_session(folder):
    """Counts and trees, and beside the heap."""
    program = build(folder)
    names = ("fd_opened", "fd_live", "fd_leaked")
    output = f"{folder}/s"
    run(CPUPERF, f"--output={output}", "--event=" + ",".join(f"resource:{n}" for n in names), "--", program, "leak")
    text = run(PRINT, output, "--report=summary").stdout
    for name, count in zip(names, (105, 5, 5)):
        assert re.search(rf"{name}\s.*\b{count}\b", text), (name, text)
    spec = write_spec(folder, [event(f"resource:{n}", rate=1, flags=["callchain"]) for n in names] +
                      [event("heap:live", rate=1, flags=["callchain"])])
    run(CPUPERF, spec, "--", program, "leak")
    text = run(PRINT, f"{folder}/s.cpsession", "--report=tree", "--output-format=csv").stdout
    for name, function, count in (("fd_opened", "churn", 100), ("fd_opened", "leak", 5), ("fd_live", "leak", 5),
                                  ("fd_leaked", "leak", 5)):
        rows = [line for line in text.splitlines() if line.startswith(f"{name},") and line.endswith(f",{function}")]
        assert len(rows) == 1 and str(count) in rows[0].split(","), (name, rows, text)
    assert not re.search("fd_live.*churn", text), text
    assert not re.search("^live,", text, re.M), text  # of memory


def check_errors(folder):
    for events, text in (("resource:fd_live@2", "the rate is 1"), ("resource:fd_live@9Hz", "has no frequency")):
        done = run(CPUPERF, f"--output={folder}/s", f"--event={events}", "--", "true", code=None)
        assert done.returncode and text in done.stderr, (events, done)
    done = run(CPUPERF, f"--output={folder}/s", "--event=resource:fd_live", "--duration=10ms", code=None)
    assert done.returncode and "an agent in a command" in done.stderr, done
    listed = run(CPUPERF, "--list-events=resource").stdout
    assert "fd_leaked" in listed, listed


run_checks(globals())
