#!/usr/bin/env python3
"""num_iterations 0: iterations follow each other until the session is stopped or its target ends. Software
events only.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import sampled
from kit import CPUPERF, finish, may_sample, on_terminal, run, run_checks, SESSION, sql, start, wait_for


def manifest(folder):
    with open(f"{folder}/{SESSION}/cpuperf.cpsession", encoding="utf-8") as f:
        return json.load(f)


def causes(folder):
    return [c for c, in sql(folder, "SELECT cause FROM iterations ORDER BY iteration")]


def expect_ended(folder):
    """Iterations that took their time, and the last, which may end just when its time is over. The manifest
    counts them."""
    found = causes(folder)
    assert set(found[:-1]) <= {"time"} and found[-1] in ("time", "end"), found[-5:]
    assert manifest(folder)["num_iterations"] == len(found), (manifest(folder), len(found))
    return len(found)


def check_machine(folder):
    """The key, stopped by a signal. Segments of a tally come and go meanwhile."""
    if not may_sample("iterations of the machine"):
        return
    with open(f"{folder}/own.cpspec", "w", encoding="ascii") as f:
        f.write('{"num_iterations": 0, "duration": 0, "events": '
                '[{"group_name": "software", "event_name": "page_faults"}]}')
    p = start(folder, "--spec-file=own", "--no-live", "-o", SESSION, "--quiet")
    wait_for(p, f"{folder}/{SESSION}/cpuperf.s1.0.cpuperf")
    p.send_signal(signal.SIGINT)
    finish(p)
    assert expect_ended(folder) > 1000


def check_samples(folder):
    """A session that samples writes files of each iteration."""
    if not may_sample("samples of the machine"):
        return
    p = start(folder, "-e", "cpu_clock@100Hz", "-d", "20ms", "-n0")
    wait_for(p, f"{folder}/{SESSION}/cpuperf.5.0.cpuperf")
    p.send_signal(signal.SIGTERM)
    finish(p)
    assert expect_ended(folder) >= 6


def shown(text):
    """Lines as they are read, without colours and what was erased (a bar of progress, on a busy machine)."""
    text = re.sub(r"[^\n]*\r\x1b\[K", "", text)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", text).splitlines()


def functions(lines):
    return [line for line in lines if re.match(r" *[\d.]+ % (± [\d.]+)? ", line)]


def check_functions(folder):
    """On a terminal the end of a session that samples has its functions, and then its summary, on one screen: without
    the idle loop. Elsewhere, and where less is asked for, cpuperf_print has them."""
    if not may_sample("functions of the machine"):
        return
    until = ["-e", "cpu_clock@500Hz", "-d", "20ms", "-n0"]

    def stop(p):
        wait_for(p, f"{folder}/{SESSION}/cpuperf.20.0.cpuperf")
        sampled.wait_for_cpu_time([busy], sampled.user_seconds(busy.pid) + 0.2)
        p.send_signal(signal.SIGINT)
        busy.kill()

    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        with contextlib.suppress(PermissionError):  # on a busy machine it must be among the first, too
            os.setpriority(os.PRIO_PROCESS, busy.pid, -20)
        text, code = on_terminal(80, CPUPERF, *until, rows=24, meanwhile=stop)
    quiet, quiet_code = on_terminal(80, CPUPERF, "-e", "cpu_clock@500Hz", "-d", "20ms", "--quiet")
    lines = shown(text)
    assert code == 0 and quiet_code == 0, (text, quiet)
    assert not functions(shown(quiet)), quiet
    first = next((i for i, line in enumerate(lines) if re.match(r"cpu_clock: [\d,]+ samples?, ", line)), None)
    assert first, text
    summary = next(i for i, line in enumerate(lines) if re.search(r"^\d+ iterations?, .*all traces$", line))
    at = [i for i, line in enumerate(lines) if line in functions(lines)]
    assert 2 <= len(at) and first < at[0] and at[-1] < summary, text
    assert any(re.match(r" *[\d.]+ % .*(python|<module>)", lines[i]) for i in at), text
    assert not any(re.search(r"(_halt|_idle|mwait\w*|cpuidle\w*)$", lines[i]) for i in at), text
    assert max(map(len, lines[first:summary])) <= 80, text
    assert sum(max(1, -(-len(line) // 80)) for line in lines[first:]) < 24, text  # and a prompt
    piped, _ = finish(start(folder, "-e", "cpu_clock@500Hz", "-d", "20ms"))
    assert not functions(piped.splitlines()), piped


def check_functions_after_their_screen(folder):
    """The screen of functions is gone at the end; what it showed last is printed."""
    if not may_sample("functions of the machine"):
        return

    def stop(p):
        wait_for(p, f"{folder}/{SESSION}/cpuperf.1.0.cpuperf")
        p.send_signal(signal.SIGINT)

    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        text, code = on_terminal(80, CPUPERF, "-F", "500", "-o", SESSION, rows=24, meanwhile=stop, once=rb"\x1b\[\?1049h")
        busy.kill()
    screen, is_closed, after = text.rpartition("\x1b[?1049l")
    assert code == 0 and screen and is_closed and len(functions(shown(after))) >= 2, text


def check_command(folder):
    """The end of the command ends the session; its iterations are those of the time, in segments."""
    finish(start(folder, "-e", "task_clock", "-d", "10ms", "--num-iterations=0", command=["sleep", "0.1"]))
    expect_ended(folder)
    assert os.path.exists(f"{folder}/{SESSION}/cpuperf.s0.0.cpuperf"), os.listdir(f"{folder}/{SESSION}")


def check_processes(folder):
    """The same of a process that ran already."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as cat:
        p = start(folder, f"--pid={cat.pid}", "-e", "cpu_clock@100Hz", "-d", "10ms", "-n0")
        wait_for(p, f"{folder}/{SESSION}/cpuperf.2.0.cpuperf")
        cat.stdin.close()
    finish(p)
    assert expect_ended(folder) > 2


def check_said(folder):
    """The check of a spec and the saved spec name it."""
    done = run(CPUPERF, "-e", "page_faults", "-d1", "-n0", "--save-spec=saved.cpspec", "--check-spec", cwd=folder)
    assert ", iterations of 1 s until stopped, " in done.stdout, done.stdout
    with open(f"{folder}/saved.cpspec", encoding="ascii") as f:
        assert json.load(f)["num_iterations"] == 0
    assert "until stopped" in run(CPUPERF, "--spec-file=saved", "--check-spec", cwd=folder).stdout
    assert "from 0 to" in run(CPUPERF, "-epage_faults", "-n-1", cwd=folder, code=2).stderr


run_checks(globals())
