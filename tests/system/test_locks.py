#!/usr/bin/env python3
"""Locks at which threads waited (--report=locks): locks.c knows how often, and who held them. CPUPERF and CPUPERF_PRINT
name the programs; most of it needs the right to load programs into the kernel.
"""
import csv
import io
import json
import os
import re
import sys

import browser
from kit import again, CPUPERF, hidden_turns, need_programs, on_terminal, ordinary_user, output, PRINT, run, run_checks

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 20


def build(folder):
    program = os.path.join(folder, "locks")
    run("cc", "-O1", "-g", "-pthread", "-o", program, f"{HERE}/locks.c")
    return program


def measure(folder, *options, rounds=ROUNDS):
    """What the program found: {name: number}."""
    words = run(CPUPERF, *options, "--", build(folder), str(rounds), cwd=folder).stdout.split()
    return {k: int(v) for k, v in zip(words[::2], words[1::2])}


def write_waits(folder, *flags, rate=1):
    event = {"group_name": "sched", "event_name": "off_cpu_time", "rate": rate, "stack_bytes": 8192,
             "flags": ["callchain", "user_stack", *flags]}
    with open(f"{folder}/waits.cpspec", "w", encoding="ascii") as f:
        json.dump({"events": [event]}, f)
    return f"--spec-file={folder}/waits.cpspec"


def rows(folder, *args):
    text = output(PRINT, "--quiet", "--output-format=csv", "--report=locks", *args, cwd=folder)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def check_each_wait(folder):
    """With each wait sampled, counts are those of the program, and holders those that it made."""
    need_programs()
    spec = write_waits(folder)
    for left in reversed(range(10)):  # where the kernel hides turns, waits may be missing
        turns = hidden_turns()
        counts = measure(folder, spec)
        found = rows(folder)
        is_whole = sorted(int(r["waits"]) for r in found if r["kind"] == "mutex") == [ROUNDS, 3 * ROUNDS]
        if is_whole or hidden_turns() == turns or not left:
            break
        again("check_each_wait", "waits are missing, and there were hidden turns")
    assert counts["table"] == 3 * ROUNDS and counts["log"] == ROUNDS, counts
    table = [r for r in found if r["lock"] == "table_lock"]
    log = [r for r in found if int(r["address"], 16) == counts["heap"]]
    assert len(table) == len(log) == 1, found
    for row, waits, threads, holder in ((table[0], counts["table"], 3, "update"), (log[0], counts["log"], 1, "log")):
        assert (row["kind"], row["function"], row["holder"], row["holder_is"]) == ("mutex", "take", holder, "owner"), row
        assert int(row["waits"]) == int(row["samples"]) == waits and int(row["threads"]) == threads, row
        assert float(row["holder_share"]) == 100, row
        assert int(row["max"]) <= int(row["time"]) and abs(int(row["mean"]) * waits - int(row["time"])) <= waits, row
    assert table[0]["object"] == "locks" and int(table[0]["holder_tid"]) == counts["update"], table
    assert (log[0]["lock"], log[0]["object"]) == ("", ""), log
    # what is no lock says so, and main waits for the ends of threads
    assert {r["kind"] for r in found if r["lock"].startswith("table.")} == {"barrier"}, found
    assert {r["function"] for r in found if r["kind"] == "thread end"} <= {"main", "join"}, found
    times = [int(r["time"]) for r in found]
    assert times == sorted(times, reverse=True), found
    # people: names in place of addresses, in 80 columns
    text, status = on_terminal(80, PRINT, "--quiet", "--no-pager", "--report=locks", f"{folder}/cpuperf.session")
    lines = re.sub(r"\x1b\[\??[0-9;]*[a-zA-Z]|\x1b[=>]", "", text).splitlines()
    assert status == 0 and max(map(len, lines)) <= 80, text
    assert any(line.startswith("table_lock ") and " mutex " in line and "update 100 %" in line for line in lines), text
    assert any(line.startswith(hex(counts["heap"])) and "log 100 %" in line for line in lines), text
    first = json.loads(output(PRINT, "--quiet", "--output-format=ndjson", "--report=locks", cwd=folder).splitlines()[0])
    assert first["report"] == "locks" and first["lock"] == found[0]["lock"], first


def check_page(folder):
    """The page's table has what the report has."""
    need_programs()
    if not browser.find():
        print("skip: the page: no chromium (scripts/deps test)")
        return
    measure(folder, write_waits(folder))
    found = rows(folder)
    output(PRINT, "--quiet", "--output-format=html", "--output-file=page.html", cwd=folder)
    with browser.Browser() as page:
        page.open(f"{folder}/page.html#view=locks")
        heads = page.run("[...document.querySelectorAll('#report th')].map((e) => e.textContent)")
        cells = page.run("[...document.querySelectorAll('#report tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
        shown = [dict(zip(heads, row)) for row in cells]
        fields = ("lock", "address", "kind", "waits", "threads", "function", "object")
        assert [[r[name] for name in fields] for r in shown] == [[r[name] for name in fields] for r in found], (shown, found)
        assert {f"{r['holder']} {r['holder share']}" for r in shown if r["kind"] == "mutex" and r["function"] == "take"} == {"update 100.0 %", "log 100.0 %"}, shown
        page.search("table_lock")
        page.until("document.querySelectorAll('#report tbody tr').length === 1")
        page.assert_quiet()


def check_wakers(folder):
    """Who ends a wait stands for who holds what has no owner; an owner goes before."""
    need_programs()
    counts = measure(folder, write_waits(folder, "waker"))
    found = {r["lock"] or int(r["address"], 16): r for r in rows(folder)}
    assert found["table_lock"]["holder"] == "update" and found[counts["heap"]]["holder_is"] == "owner", found
    barriers = [r for r in found.values() if r["kind"] == "barrier" and r["holder"]]
    assert barriers and {r["holder_is"] for r in barriers} == {"waker"}, found
    assert {r["holder"].split(" (")[0] for r in barriers} <= {"update", "log", "locks"}, found
    assert "woken by " in output(PRINT, "--quiet", "--report=locks", cwd=folder)


def check_sentence(folder):
    """Above the answer stands that most of the time is waiting for one lock, and whose it is, though that thread is busy."""
    need_programs()
    lines = run(CPUPERF, "--", build(folder), "serial", cwd=folder).stderr.splitlines()
    assert re.fullmatch(r"\d\d % of the time of 5 threads is waiting for one lock, held by update", lines[0]), lines
    assert "--report=locks" in lines[-1], lines
    # a condition is no lock, and who is joined holds none
    lines = run(CPUPERF, "--", sys.executable, "-c", "import threading, time; threading.Timer(0.3, print).start()",
                cwd=folder).stderr.splitlines()
    assert "one lock" not in lines[0], lines


def check_idle_holder(folder):
    """A lock whose holder waits for work itself limits nothing."""
    need_programs()
    lines = run(CPUPERF, "--", build(folder), "follow", cwd=folder).stderr.splitlines()
    assert "waiting for" not in lines[0], lines


def check_values(folder):
    """A word that is no lock has no owner, though it is the number of a thread."""
    need_programs()
    run(CPUPERF, write_waits(folder), "--", build(folder), "value", cwd=folder)
    word = [r for r in rows(folder) if r["lock"] == "word"]
    assert word and {(r["kind"], r["holder"]) for r in word} == {("futex", "")}, word


def check_younger_calls(folder):
    """The calls that are younger than futex(2) have their lock: futex_waitv its first, futex_wait its only one."""
    need_programs()
    done = run(CPUPERF, write_waits(folder), "--", build(folder), "calls", cwd=folder, code=None)
    if done.returncode == 77:
        print("skip: younger calls: the kernel has no futex_waitv(2) and futex_wait(2)")
        return
    assert done.returncode == 0, done
    found = {r["lock"]: (r["kind"], r["threads"], r["function"], r["holder"]) for r in rows(folder)}
    assert found["first_word"] == ("futex", "1", "wait_for_first", ""), found
    assert found["second_word"] == ("futex", "1", "wait_for_second", ""), found


def check_static(folder):
    """Of a static program the kinds are known, too."""
    need_programs()
    program = os.path.join(folder, "locks")
    run("cc", "-O1", "-g", "-pthread", "-static", "-o", program, f"{HERE}/locks.c")
    run(CPUPERF, write_waits(folder), "--", program, "3", cwd=folder)
    kinds = {(r["kind"], r["function"]) for r in rows(folder)}
    assert ("mutex", "take") in kinds and "futex" not in {kind for kind, _ in kinds}, kinds


def check_cut(folder):
    """Of a wait that a range of time cuts, each column has the same part."""
    need_programs()
    run(CPUPERF, write_waits(folder), "--", build(folder), "serial", cwd=folder)
    (whole,) = [r for r in rows(folder) if r["lock"] == "table_lock"]
    for ms in range(100, 60000, 50):  # the program may begin late
        part = next((r for r in rows(folder, f"--to={ms}ms") if r["lock"] == "table_lock"), {"waits": "0"})
        if part["waits"] == "3":
            break
    assert part["waits"] == whole["waits"] == "3" and int(part["time"]) < int(whole["time"]), (part, whole)
    assert int(part["mean"]) <= int(part["max"]) <= int(part["time"]), part
    assert int(part["max"]) < int(whole["max"]) and abs(3 * int(part["mean"]) - int(part["time"])) <= 3, part


def check_ranges(folder):
    """Only what is selected: of no thread, and of no time."""
    need_programs()
    measure(folder, write_waits(folder))
    update = rows(folder, "--comm=update")
    assert update and "take" not in {r["function"] for r in update}, update
    assert not rows(folder, "--pid=1")
    assert "No wait for a lock" in output(PRINT, "--quiet", "--report=locks", "--pid=1", cwd=folder)


def check_without_waits(folder):
    """A session that samples no waits says what to measure."""
    run(CPUPERF, "--event=task_clock@100000", "--", "true", cwd=folder)
    assert "sched:off_cpu_time@1" in output(PRINT, "--quiet", "--report=locks", cwd=folder)
    done = run(PRINT, "--quiet", "--report=locks", "--output-format=csv", cwd=folder)
    assert "sched:off_cpu_time@1" in done.stderr and done.stdout.startswith("lock,"), done


def check_added_up(folder):
    """Samples that the kernel adds up have no locks, which is said."""
    need_programs()
    event = {"group_name": "sched", "event_name": "off_cpu_time", "rate": 1, "flags": ["callchain"], "aggregate": True}
    with open(f"{folder}/waits.cpspec", "w", encoding="ascii") as f:
        json.dump({"events": [event]}, f)
    measure(folder, f"--spec-file={folder}/waits.cpspec", rounds=3)
    done = run(PRINT, "--quiet", "--report=locks", cwd=folder)
    assert "No known lock" in done.stdout and "samples were added up by stack" in done.stderr, done
    assert re.search(r"the locks of \d+ waits at futexes are not known", done.stderr), done


def check_by_switches(folder):
    """An ordinary user's waits have no locks, which is said."""
    user = ordinary_user(folder)
    if not user:
        return
    (cpuperf,), how = user
    run(cpuperf, "--event=sched:off_cpu_time@1000000", "--", build(folder), "3", **how)
    text = output(PRINT, "--quiet", "--report=locks", f"{folder}/cpuperf.session")
    assert "right to load programs (BPF)" in text, text


run_checks(globals(), everybody=True)
