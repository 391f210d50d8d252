#!/usr/bin/env python3
"""Values of a command's processes for an ordinary user, from /proc: what its children used, however short they lived, is
in a line of theirs or in that of the rest. kids.py's own figures are those of times(2).
"""
import csv
import io
import os

from kit import ordinary_user, output, PRINT, run, run_checks, skip

REST = "exited and unattributed"
TICKS = 0.02

# Processes one after the other, each the child of one that waits for it, which use so many seconds.
KIDS = """
import os, time
def burn(s):
    while time.process_time() < s:
        pass
def level(left):
    p = os.fork()
    if p == 0:
        if left:
            level(left - 1)
        burn(0.05)
        os._exit(0)
    os.waitpid(p, 0)
for i in range(4):
    level(i % 2)
t = os.times()
print(t.user + t.system, t.children_user + t.children_system)
"""


def check_children(folder):
    """They are in the rest: the lines add up to what times(2) returns."""
    (cpuperf,), how = ordinary_user(folder)
    done = run(cpuperf, "--event=process_cpu_time,process_minor_faults", "--", "python3", "-c", KIDS,
               env={"ASAN_OPTIONS": "detect_leaks=0"}, **how)
    own, children = map(float, done.stdout.split())
    text = output(PRINT, "--quiet", "--output-format=csv", "--report=summary", f"{folder}/cpuperf.session")
    rows = [r for r in csv.DictReader(io.StringIO(text)) if r["event"] == "process_cpu_time" and r["trace"] != ""]
    assert all(r["state"] == "ok" for r in rows), rows
    found = {r["thing"]: int(r["value"]) / 1e9 for r in rows}
    assert children >= 6 * 0.05 - TICKS and abs(found[REST] - children) <= TICKS, (found, children)
    assert abs(found[""] - own - children) <= TICKS + 0.02, (found, own, children)
    assert abs(sum(found.values()) - 2 * found[""]) < 1e-6, found
    text = output(PRINT, "--quiet", "--report=summary", f"{folder}/cpuperf.session")
    assert REST in text, text


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("an ordinary user is made by root")
    run_checks(globals(), everybody=True)
