#!/usr/bin/env python3
"""Completion as a person meets it: keys typed into bash and zsh in a terminal, with the files that are installed."""
import os
import shutil
import subprocess

from kit import CPUPERF, run_checks, skip
from terminal import Terminal, have_tmux

SOURCE = os.environ["SOURCE_DIR"]
NAME = "zzsleeper"  # a program that no machine has


class Shell:
    """A shell with both completions, in a folder with some files."""

    def __init__(self, folder, start):
        bin_folder = os.path.dirname(CPUPERF)
        self.t = Terminal(["cd", folder], width=100, height=40, shell=True)
        self.run(f"PATH={bin_folder}:$PATH", r"^\$ *$")
        self.run("exec " + " ".join(start), r"^\S*[$%#] *$")

    def run(self, line, pattern):
        self.t.tmux("send-keys", "-l", line)
        self.t.press("Enter", pattern)

    def complete(self, line, pattern, tabs=1):
        """Types the line and Tab until the pattern is shown; then empties the line."""
        self.t.keys("C-e", "C-u", "C-l")
        self.t.wait(r"\A\S*[$%#] *\n*\Z")
        self.t.tmux("send-keys", "-l", line)
        for _ in range(tabs):
            self.t.keys("Tab")
        self.t.wait(pattern)
        return self.t.still()

    def close(self):
        self.t.close()


def start_sleepers(folder):
    """Processes of a name of their own, of which two have numbers that differ in the last digit only."""
    shutil.copy(shutil.which("sleep"), f"{folder}/{NAME}")
    sleepers = []
    while len(sleepers) < 50:
        p = subprocess.Popen([f"{folder}/{NAME}", "1000"])
        sleepers.append(p)
        alike = [q for q in sleepers if q.pid != p.pid and q.pid // 10 == p.pid // 10]
        if alike:
            return sleepers, alike[0].pid, p.pid
    raise AssertionError("no two processes with numbers that are alike")


def fill(folder):
    os.makedirs(f"{folder}/sub folder")
    os.makedirs(f"{folder}/onward")
    for name in ("once.cpsession", "once.txt", "mine.cpspec", "mine.txt", "perf.data"):
        with open(f"{folder}/{name}", "w", encoding="utf-8"):
            pass


def try_lines(shell, one, other):
    """What each option of both programs is offered."""
    begin = str(one)[:-1]
    # specs: those here, and those that are installed
    shell.complete("cpuperf --spec-file=min", r"--spec-file=mine.cpspec *$")
    shell.complete("cpuperf --spec-file watc", r"--spec-file watch.cpspec *$")
    listed = shell.complete("cpuperf --spec-file=basic-cpu", r"basic-cpu-memory\.cpspec +basic-cpu\.cpspec", tabs=2)
    assert "mine" not in listed, listed
    # sessions and folders, by an option and without
    shell.complete("cpuperf_print once", r"cpuperf_print once\.cpsession *$")
    shell.complete("cpuperf_print --session=once", r"--session=once\.cpsession *$")
    shell.complete("cpuperf_print --diff onw", r"--diff onward/ *$")
    shell.complete("cpuperf_print on", r"(once\.cpsession +onward|onward/ +once\.cpsession)", tabs=2)
    shell.complete("cpuperf_print --report=flat per", r"--report=flat perf\.data *$")
    # formats, events, reports
    shell.complete("cpuperf_print --output-format=nd", r"--output-format=ndjson *$")
    shell.complete("cpuperf --output-format=nd", r"--output-format=ndjson *$")
    shell.complete("cpuperf --event=software:cpu_cl", r"--event=software:cpu_clock *$")
    # processes: numbers with names, the last of a list, names
    text = shell.complete(f"cpuperf --pid={begin}", rf"{other}.*{NAME}", tabs=2)
    assert str(one) in text, text
    shell.complete(f"cpuperf --pid=1,{other}", rf"--pid=1,{other}[ ,]*$")
    shell.complete(f"cpuperf -p {other}", rf"-p {other}[ ,]*$")
    shell.complete(f"cpuperf --comm={NAME[:4]}", rf"--comm={NAME} *$")
    # a command and its own files
    shell.complete("cpuperf -- printen", r"-- printenv *$")
    shell.complete("cpuperf -- cat mine.t", r"cat mine\.txt *$")
    # options
    shell.complete("cpuperf --wait-ch", r"--wait-children *$")


def try_in(folder, start, load):
    fill(folder)
    sleepers, one, other = start_sleepers(folder)
    shell = Shell(folder, start)
    try:
        for line in load:
            shell.run(line, r"^\S*[$%#] *$")
        shell.run("echo ready", "^ready$")
        try_lines(shell, one, other)
    finally:
        shell.close()
        for p in sleepers:
            p.kill()
            p.wait()


def check_bash(folder):
    try_in(folder, ["bash", "--norc", "--noprofile", "-i"],
             [f". {SOURCE}/doc/completions/cpuperf.bash", f". {SOURCE}/doc/completions/cpuperf_print.bash"])


def check_zsh(folder):
    if not shutil.which("zsh"):
        print("skip: zsh: it is not installed (scripts/deps test installs it)")
        return
    try_in(folder, ["zsh", "-f", "-i"],
             ["PS1='$ '", f"fpath=({SOURCE}/doc/completions $fpath)", "autoload -Uz compinit",
              f"compinit -u -d {folder}/dump"])


if not have_tmux():
    skip("no tmux here (scripts/deps test installs it)")
run_checks(globals())
