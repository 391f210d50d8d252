#!/usr/bin/env python3
"""Values of a command's processes for an ordinary user, from /proc: what its children used, however short they lived, is
in a line of theirs or in that of the rest. kids.py's own figures are those of times(2).
"""
import csv
import io
import os
import sys

from kit import CPUPERF, hidden_turns, ordinary_user, output, PRINT, programs_missing, run, run_checks, skip

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
print(time.process_time(), t.children_user + t.children_system, flush=True)
os._exit(0)
"""


def check_children(folder):
    """They are in the rest: the lines add up to what times(2) returns."""
    (cpuperf,), how = ordinary_user(folder)
    done = run(cpuperf, "--event=process_cpu_time,process_minor_faults", "--", sys.executable, "-c", KIDS,
               env={"ASAN_OPTIONS": "detect_leaks=0"}, **how)
    own, children = map(float, done.stdout.split())
    text = output(PRINT, "--quiet", "--output-format=csv", "--report=summary", f"{folder}/cpuperf.session")
    rows = [r for r in csv.DictReader(io.StringIO(text)) if r["event"] == "process_cpu_time" and r["trace"] != ""]
    assert all(r["state"] == "ok" for r in rows), rows
    found = {r["thing"]: int(r["value"]) / 1e9 for r in rows}
    assert children >= 6 * 0.05 - TICKS and abs(found[REST] - children) <= TICKS, (found, children)
    assert abs(found[""] - own - children) <= TICKS + 0.02, (found, own, children)
    assert abs(sum(found.values()) - 2 * found[""]) < 1e-6, found
    text = output(PRINT, "--quiet", "--report=summary", "--each-iteration", f"{folder}/cpuperf.session")
    assert REST in text, text


CHURN = """
import os, time
for i in range(60):
    p = os.fork()
    if p == 0:
        if os.fork() == 0:
            while time.process_time() < 0.02:
                pass
            os._exit(0)
        os.wait()
        os._exit(0)
    os.waitpid(p, 0)
t = os.times()
print(time.process_time() + t.children_user + t.children_system, flush=True)
os._exit(0)
"""


def check_churn(folder):
    """Of grandchildren and their parents, some are read, and end together: over all iterations nothing counts twice."""
    (cpuperf,), how = ordinary_user(folder)
    done = run(cpuperf, "--event=process_cpu_time", "--duration=30ms", "--num-iterations=0", "--", sys.executable, "-c",
               CHURN, env={"ASAN_OPTIONS": "detect_leaks=0"}, **how)
    text = output(PRINT, "--quiet", "--output-format=csv", "--report=summary", f"{folder}/cpuperf.session")
    rows = [r for r in csv.DictReader(io.StringIO(text)) if r["trace"] != "" and r["thing"] and r["value"]]
    found, used = sum(int(r["value"]) for r in rows) / 1e9, float(done.stdout)
    assert used - 2 * TICKS <= found <= used + 2 * TICKS + 0.02, (used, found, rows)


# Each level writes to the disk, then waits for the next one, which does the same. They print what each wrote
# itself. With two threads, one of which has ended.
WRITERS = """
import os, sys, threading, time
def write():
    with open(f"{os.getpid()}.data", "wb") as f:
        f.write(b"x" * 500000)
def own():
    with open("/proc/self/io", encoding="ascii") as f:
        return int(dict(line.split(": ") for line in f)["write_bytes"])
def level(left):
    write()
    if sys.argv[1] == "threads":
        t = threading.Thread(target=write)
        t.start()
        t.join()
    print(os.getpid(), own(), flush=True)
    p = os.fork() if left else -1
    if p == 0:
        level(left - 1)
        os._exit(0)
    if p > 0:
        os.waitpid(p, 0)
    time.sleep(float(sys.argv[2]))
level(3)
"""


def check_written(folder):
    """Bytes count once: for the process that wrote them, not again for those that waited for it."""
    before, nr_hidden, nr = hidden_turns(), 0, 0
    for who in ("user", "root"):
        os.makedirs(f"{folder}/root", exist_ok=True)
        if who == "root" and programs_missing():
            print(f"skip: processes that end, by programs in the kernel: {programs_missing()}")
            continue
        (cpuperf,), how = ordinary_user(folder) if who == "user" else ([CPUPERF], {"cwd": f"{folder}/root"})
        for kind in ("one", "threads"):
            for pause in ("0", "0.3"):
                done = run(cpuperf, "--event=process_write_bytes,process_peak_rss", "--", sys.executable, "-c", WRITERS, kind, pause,
                           env={"ASAN_OPTIONS": "detect_leaks=0"}, **how)
                words = list(map(int, done.stdout.split()))
                wrote = dict(zip(words[::2], words[1::2]))
                if not any(wrote.values()):
                    print("skip: bytes written: this file system counts none")
                    return
                nr += len(wrote)
                nr_hidden += compare(how["cwd"], who, kind, wrote)
    # ends may have been hidden from programs in the kernel; one was where no turn was counted
    assert nr_hidden <= hidden_turns() - before + 1, (nr_hidden, nr)


def compare(folder, who, kind, wrote):
    """Returns of how many processes the end was hidden from programs in the kernel."""
    text = output(PRINT, "--quiet", "--output-format=csv", "--report=summary", f"{folder}/cpuperf.session")
    rows = [r for r in csv.DictReader(io.StringIO(text)) if r["trace"] != ""]
    found = {r["thing"]: int(r["value"]) for r in rows if r["event"] == "process_write_bytes" and r["value"]}
    by_pid = {int(thing.split()[0]): n for thing, n in found.items() if thing not in ("", REST)}
    hidden = set(wrote) - set(by_pid) if who == "root" else set()
    assert set(by_pid) <= set(wrote), (who, wrote, found)
    total = sum(wrote.values()) - sum(wrote[pid] for pid in hidden)
    assert found[""] == total, (who, wrote, found)
    # /proc does not have what a thread wrote that ended unread: the rest has it
    partial = [int(r["thing"].split()[0]) for r in rows if r["state"] == "partial"]
    assert all(n == wrote[pid] or pid in partial and n < wrote[pid] for pid, n in by_pid.items()), (who, wrote, rows)
    assert not partial or who == "user" and kind == "threads", (who, rows)
    peaks = [r["value"] for r in rows if r["event"] == "process_peak_rss" and r["thing"]]
    assert "0" not in peaks and (who == "user" or len(peaks) == len(wrote) - len(hidden)), rows
    return len(hidden)


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("an ordinary user is made by root")
    run_checks(globals(), everybody=True)
