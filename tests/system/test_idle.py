#!/usr/bin/env python3
"""Waits for work are one line of an answer, and those for a mutex remain its rows: idle.c has both. CPUPERF and
CPUPERF_PRINT name the programs; it needs the right to load programs into the kernel.
"""
import os
import re

from kit import CPUPERF, need_programs, output, PRINT, run, run_checks

HERE = os.path.dirname(os.path.abspath(__file__))
IDLE = re.compile(r"\nidle: (\d+) threads?, [\d.,]+ \w+ waiting for work or events: (.*) \(--idle=show\)\n")


def answer(folder, *options, **variables):
    return output(PRINT, "--quiet", "--top=0", *options, cwd=folder, env=variables)


def waiting(text):
    """(state, reason, function) of the rows of waits, as they are ordered."""
    table = text[text.index("\nwaiting: "):]
    found = re.findall(r"\n *[\d.]+ % .*?  (blocked|waiting for a CPU) +(\S.*?)  +\S+ +(\S+)(?=\n)", table)
    assert found, text
    return found


def check_folded(folder):
    need_programs()
    program = os.path.join(folder, "idle")
    run("cc", "-O1", "-g", "-pthread", "-o", program, f"{HERE}/idle.c")
    run(CPUPERF, "--", program, cwd=folder)
    text = answer(folder)
    line = IDLE.search(text)
    assert line and line[1] == "4" and line[2] == "condition in next_job", text
    assert ("blocked", "futex", "take") in waiting(text), text
    assert ("blocked", "futex", "next_job") not in waiting(text), text
    # what is shown adds up to the heading, and so it does when nothing is folded
    shown = answer(folder, "--idle=show")
    assert not IDLE.search(shown) and waiting(shown)[0] == ("blocked", "futex", "next_job"), shown
    assert text.split("\nwaiting: ")[1].split("\n")[0] != shown.split("\nwaiting: ")[1].split("\n")[0], (text, shown)
    # other forms and reports have all
    for options in (("--output-format=csv", "--report=flat"), ("--report=flat", ), ("--report=waits", )):
        assert answer(folder, *options) == answer(folder, "--idle=show", *options), options

    rules = os.path.join(folder, "rules")
    with open(rules, "w", encoding="ascii") as f:
        f.write("# what is mine\n!condition:next_job@idle\nfutex:take\n")
    for text in (answer(folder, f"--idle-rules={rules}"), answer(folder, CPUPERF_IDLE_RULES=rules)):
        line = IDLE.search(text)
        assert line and line[1] == "2" and line[2] == "mutex in take", text
        assert waiting(text)[0] == ("blocked", "futex", "next_job"), text


def check_refusals(folder):
    rules = os.path.join(folder, "rules")
    with open(rules, "w", encoding="ascii") as f:
        f.write("\nepoll\n")
    for options, said in (([f"--idle-rules={rules}"], f"{rules}:2:1: error: no rule"), (["--idle=hide"], "not one of fold, show"),
                          (["--idle-rules=/nonexistent"], "/nonexistent: ")):
        done = run(PRINT, "--session=/nonexistent.cpsession", *options, code=None)
        assert done.returncode == 2 and said in done.stderr, (options, done.stderr)


run_checks(globals())
