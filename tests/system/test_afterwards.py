#!/usr/bin/env python3
"""What is chosen after a session was recorded: a process with its descendants, processes by their command
lines, rows ordered by their total. A tree of programs whose parents are known is recorded once, and each report of it is
read once. CPUPERF and CPUPERF_PRINT name the programs; software events only.
"""
import contextlib
import csv
import functools
import io
import json
import os
import re
import sqlite3
import subprocess
import sys

from kit import CPUPERF, may_sample, output, PRINT, run, run_checks, stride

SPIN = "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done"
# Each line: the name under which a process writes its pid, and what it runs. b1 is an orphan: b does not
# wait for it.
TREE = {
    "root": "sh $D/a & sh $D/c & wait; sh $D/b; while [ ! -e $D/done ]; do sleep 0.1; done",
    "a": "sh $D/a1; :",
    "a1": "python3 $D/threads; :",
    "a11": ":",
    "b": "sh $D/b1 & :",
    "b1": "sh $D/b11; :",
    "b11": ": > $D/done",
    "c": "exec sh $D/c1",
    "c1": ":",
}


def record(folder):
    """{name: pid} of the tree."""
    for name, more in TREE.items():
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            f.write(f"echo $$ > $D/{name}.pid\n{SPIN}\n{more}\n")
    with open(f"{folder}/threads", "w", encoding="ascii") as f:
        f.write(f"""import os, subprocess, threading
others = [threading.Thread(target=sum, args=(range(3000000),)) for _ in range(3)]
for t in others:
    t.start()
sum(range(3000000))
with open("{folder}/tids", "w") as f:
    print(os.getpid(), *(t.native_id for t in others), file=f)
subprocess.run(["sh", "{folder}/a11"])
""")
    # some twenty samples of each: each report unwinds them, and names none of the kernel
    how = {"frequency": 4000} if os.environ.get("CPUPERF_TEST_LONG") == "1" else {"frequency": 250, "flags": ["user"]}
    events = [{"group_name": "software", "event_name": "cpu_clock", **how},
              {"group_name": "software", "event_name": "task_clock"}]
    with open(f"{folder}/s.cpspec", "w", encoding="ascii") as f:
        json.dump({"num_iterations": 0, "events": events}, f)
    run(CPUPERF, "--quiet", "--spec-file=./s.cpspec", "--callgraph=dwarf", "--output-file=/dev/null", "--output-format=csv",
        "--", "sh", f"{folder}/root", cwd=folder, env={"D": folder})
    pids = {}
    for name in TREE:
        with open(f"{folder}/{name}.pid", encoding="ascii") as f:
            pids[name] = int(f.read())
    return pids


@functools.lru_cache(maxsize=None)
def rows(folder, *args):
    """Of a report; nothing may change them. A session is not written to after it was recorded."""
    text = output(PRINT, "--quiet", "--output-format=csv", f"--session={folder}/cpuperf.session", *args)
    return list(csv.DictReader(io.StringIO(text)))


def by_pid(folder, *args):
    out = {}
    for r in rows(folder, "--report=flat", "--sort=pid", *args):
        out[int(r["pid"])] = out.get(int(r["pid"]), 0) + int(r["self_samples"])
    return out


def trees(folder, pids):
    everything = by_pid(folder)

    def tree(*names):
        got = by_pid(folder, "--tree-of=" + ",".join(str(pids[n]) for n in names))
        assert all(everything[p] == n for p, n in got.items()), (names, got, everything)
        return set(got)

    def of(*names):
        return {pids[n] for n in names}

    assert of(*TREE) <= set(everything), (pids, everything)
    assert pids["c"] == pids["c1"], "exec keeps the pid"
    below = {"a11": of("a11"), "b11": of("b11"), "b1": of("b1", "b11"),  # the parent of b1 ended before
             "c": of("c"), "root": set(everything)}  # cpuperf measures this tree alone
    for name, wanted in stride(below.items(), 2):
        assert tree(name) == wanted, (name, tree(name), wanted)
    assert tree("b") == of("b", "b1", "b11")
    a, a1 = tree("a"), tree("a1")
    assert a1 >= of("a1", "a11") and a == a1 | of("a") and not a & (tree("b") | of("c"))
    assert tree("a", "b", "c") == a | tree("b") | of("c")
    # other reports and formats choose the same samples
    only = f"--tree-of={pids['a1']}"
    wanted = sum(by_pid(folder, only).values())
    records = rows(folder, "--report=records", only)
    shown = {int(r["pid"]) for r in records}  # also of processes that were too short for a sample
    assert shown >= a1 and not shown & (set(everything) - a1), (shown, a1, everything)
    assert sum(r["kind"] == "sample" for r in records) == wanted
    assert not any(r["kind"] == "reading" for r in records)
    folded = output(PRINT, "--quiet", "--output-format=folded", only, cwd=folder)
    assert len(folded) < len(output(PRINT, "--quiet", "--output-format=folded", cwd=folder))
    path = f"{folder}/perf.data"
    run(PRINT, "--quiet", "--output-format=perf-data", f"--output-file={path}", only, cwd=folder)
    text = output(PRINT, "--quiet", "--output-format=csv", "--report=flat", "--sort=pid",
                  f"--perf-data={path}")
    got = list(csv.DictReader(io.StringIO(text)))
    assert {int(r["pid"]) for r in got} == a1
    assert sum(int(r["self_samples"]) for r in got) == wanted
    # perf.data holds the parents too
    text = output(PRINT, "--quiet", "--output-format=csv", "--report=flat", "--sort=pid",
                  f"--perf-data={path}", f"--tree-of={pids['a11']}")
    assert {int(r["pid"]) for r in csv.DictReader(io.StringIO(text))} == of("a11")
    # none, and nothing but numbers
    assert not rows(folder, "--report=flat", "--tree-of=4194304")
    for bad in ("x", "", "3-1"):
        done = run(PRINT, f"--tree-of={bad}", cwd=folder, code=2)
        assert "not a list of numbers" in done.stderr and "--tree-of" in done.stderr, done
    done = run(PRINT, only, "--report=series", cwd=folder, code=None)
    assert "--tree-of" in done.stderr, done


def command_lines(folder, pids):
    by_line = {}
    for r in rows(folder, "--report=flat", "--sort=cmdline,pid"):
        by_line.setdefault(r["cmdline"], set()).add(int(r["pid"]))
    # each script spins longer than any reading takes, but a busy machine may read one too late: then its
    # command line is not known, and never another
    for line, of in by_line.items():
        if line.startswith("sh ") and line != "[unknown]":
            name = line.rpartition("/")[2]
            assert pids[name] in of, (line, of, pids)
    root = f"sh {folder}/root"
    assert pids["root"] in by_line[root], "the command itself is always known"
    everything = set().union(*(of for line, of in by_line.items() if line != "[unknown]"))
    wanted = {root: by_line[root], "sh */root": by_line[root], "sh": set(), "[[]unknown]": set(), "*": everything}
    for glob, found in stride(wanted.items(), 2):
        assert by_pid(folder, f"--cmdline={glob}").keys() == found, (glob, found)
    text = output(PRINT, "--quiet", "--report=flat", "--sort=cmdline", cwd=folder)
    assert f"  {root[:100]}" in text, text


def others_command_line(folder):
    """Of a process that ran before a session of the machine, and of one with a long line."""
    if not may_sample("command lines of what runs already"):
        return
    spin = "sum(range(10**10))"
    with subprocess.Popen([sys.executable, "-c", spin, "an argument", "x" * 5000]) as other:
        try:
            for seconds in ("0.3", "3", "20"):  # on a busy machine it may have no sample
                run(CPUPERF, "--quiet", "-F", "200", "-d", seconds, "-o", "machine", cwd=folder)
                text = output(PRINT, "--quiet", "--report=flat", "--sort=cmdline", "--output-format=csv",
                              f"--pid={other.pid}", "machine", cwd=folder)
                lines = {r["cmdline"] for r in csv.DictReader(io.StringIO(text))}
                if lines:
                    break
        finally:
            other.kill()
    whole = f"{sys.executable} -c {spin} an argument {'x' * 5000}"
    assert lines == {whole[:4096] + " \u2026"}, lines
    text = output(PRINT, "--quiet", "--report=flat", "--sort=cmdline", f"--pid={other.pid}", "machine",
                  cwd=folder)
    assert whole[:100] + "\u2026" in text and whole[:101] not in text, text


def numbers(folder, tops, created):
    """created: the tids of a program in the order of their creation, the main thread first."""
    want = {(created[0], tid, i + 1) for i, tid in enumerate(created)}
    found = {(int(r["pid"]), int(r["tid"]), int(r["thread"])) for r in rows(folder, "--report=threads")
             if r["pid"] == str(created[0]) and r["comm"] == "python3"}
    assert found == want, (found, want)
    assert {f"python3 ({pid}/{tid} #{number})" for pid, tid, number in want} <= set(tops("--group-by=thread"))
    only = f"--pid={created[0]}"

    def of_records():
        for r in rows(folder, "--report=records", only, "--top=5000"):
            if r["comm"] == "python3" and r["kind"] == "sample":
                assert (int(r["pid"]), int(r["tid"]), int(r["thread"])) in want, r

    def of_flat():
        assert {r["thread"] for r in rows(folder, "--report=flat", "--sort=thread", only)} == {"1", "2", "3", "4"}

    def of_sqlite():
        run(PRINT, "--quiet", "--output-format=sqlite", only, f"--output-file={folder}/n.db", cwd=folder)
        with contextlib.closing(sqlite3.connect(f"{folder}/n.db")) as db:
            assert want == set(db.execute("SELECT pid, tid, thread FROM threads WHERE pid = ? AND comm = 'python3'",
                                          (created[0],)))

    def of_chrome():
        chrome = json.loads(output(PRINT, "--quiet", "--output-format=chrome", only, cwd=folder))
        assert want == {(e["pid"], e["tid"], e["args"]["sort_index"]) for e in chrome["traceEvents"]
                        if e["name"] == "thread_sort_index"}

    for compare in stride((of_records, of_flat, of_sqlite, of_chrome), 2):
        compare()


def roots(folder, pids):
    everything = by_pid(folder)
    lines = {}
    for r in rows(folder, "--report=flat", "--sort=cmdline"):
        lines[r["cmdline"]] = lines.get(r["cmdline"], 0) + int(r["self_samples"])
    comms = {}
    for r in rows(folder, "--report=flat", "--sort=comm"):
        comms[r["comm"]] = comms.get(r["comm"], 0) + int(r["self_samples"])

    def tops(*args):
        out = {}
        for r in rows(folder, "--report=tree", *args):
            if r["depth"] == "0":
                assert int(r["self_count"]) == 0 and r["object"] == "", r
                out[r["function"]] = out.get(r["function"], 0) + int(r["total_samples"])
        return out

    processes = {}
    for name, nr in tops("--group-by=process").items():
        pid = int(name.rpartition("(")[2][:-1])
        processes[pid] = processes.get(pid, 0) + nr
    assert processes == everything, (processes, everything)
    assert {p for p in pids.values() if f"sh ({p})" in tops("--group-by=process")} >= {pids["a11"]}
    threads, tids = {}, {}
    for name, nr in tops("--group-by=thread").items():
        pid, tid = map(int, re.search(r"\((\d+)/(\d+) #\d+\)$", name).groups())
        threads[pid, tid] = threads.get((pid, tid), 0) + nr
    for r in rows(folder, "--report=flat", "--sort=pid,tid"):
        key = int(r["pid"]), int(r["tid"])
        tids[key] = tids.get(key, 0) + int(r["self_samples"])
    assert threads == tids and sum(pid != tid for pid, tid in tids) >= 3, (threads, tids)
    with open(f"{folder}/tids", encoding="ascii") as f:
        created = list(map(int, f.read().split()))
    numbers(folder, tops, created)
    for name, found in stride((("comm", comms), ("cmdline", lines)), 1):
        assert tops(f"--group-by={name}") == found, name
    folded = output(PRINT, "--quiet", "--output-format=folded", "--group-by=process", cwd=folder)
    assert all(re.search(r"^[^;]*;[^;]* \(\d+\);", line) for line in folded.splitlines()), folded[:500]
    run(PRINT, "--quiet", "--output-format=sqlite", f"--output-file={folder}/s.db", cwd=folder)
    with contextlib.closing(sqlite3.connect(f"{folder}/s.db")) as db:
        assert dict(db.execute("SELECT ifnull(cmdline, '[unknown]'), count(*) FROM samples"
                               " JOIN tasks USING(task) GROUP BY cmdline")) == lines
        assert len(list(db.execute("SELECT DISTINCT event, pid, tid, comm FROM threads"))) == \
            len(list(db.execute("SELECT * FROM threads")))
    done = run(PRINT, "--group-by=pid", cwd=folder, code=2)
    assert "--group-by=pid: not one of process, thread, comm, cmdline" in done.stderr, done


def order_by_total(folder):
    by_self, by_total = (rows(folder, "--report=flat", *more) for more in ([], ["--sort=total"]))
    assert sorted(map(str, by_self)) == sorted(map(str, by_total)) and by_self != by_total
    for event in {r["event"] for r in by_total}:
        totals = [int(r["total_count"]) for r in by_total if r["event"] == event]
        assert totals == sorted(totals, reverse=True), (event, totals)
    # with columns: the same rows as without total
    plain, ordered = (rows(folder, "--report=flat", f"--sort={sort}")
                      for sort in ("comm,function", "comm,total,function"))
    assert sorted(map(str, plain)) == sorted(map(str, ordered))
    session = f"--session={folder}/cpuperf.session"
    done = run(PRINT, session, f"--diff={folder}/cpuperf.session", "--sort=total", code=2)
    assert "--sort=total and --report=diff are mutually exclusive" in done.stderr, done


def exports(folder, pids):
    """Each format that names processes has their command lines."""
    def show(how):
        return run(PRINT, "--quiet", f"--session={folder}/cpuperf.session", f"--output-format={how}", text=False,
                   env={"LC_ALL": "C.UTF-8"}).stdout

    # shells that compute, and are one program each; see command_lines() for those that are not known, root always is
    known = {r["cmdline"] for r in rows(folder, "--report=flat", "--sort=cmdline")}
    commands = {f"sh {folder}/{name}": pids[name] for name in ("root", "a11", "b1", "b11")}
    commands = {command: pid for command, pid in commands.items() if command in known}
    assert commands, known

    def of_raw():
        raw = re.findall(r"^[0-9a-f]+: Cmdline: pid (\d+), (.*)$", show("raw").decode(), re.M)
        assert {(str(pid), command) for command, pid in commands.items()} <= set(raw), (commands, raw)

    def of_chrome():
        labels = {e["pid"]: e["args"]["labels"] for e in json.loads(show("chrome"))["traceEvents"]
                  if e["name"] == "process_labels"}
        assert all(labels[pid] == command for command, pid in commands.items()), (commands, labels)

    def of_speedscope():
        profiles = [p["name"] for p in json.loads(show("speedscope"))["profiles"]]
        for command, pid in commands.items():
            assert any(p.endswith(f"{pid} #1: {command}") for p in profiles), (command, profiles)

    def of_perfetto():
        perfetto = show("perfetto")
        for command in commands:
            assert b"\x12" + bytes([len(command)]) + command.encode() in perfetto, command

    for compare in stride((of_raw, of_chrome, of_speedscope, of_perfetto), 2):
        compare()


def check_afterwards(folder):
    pids = record(folder)
    trees(folder, pids)
    command_lines(folder, pids)
    roots(folder, pids)
    exports(folder, pids)
    others_command_line(folder)
    order_by_total(folder)


run_checks(globals())
