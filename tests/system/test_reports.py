#!/usr/bin/env python3
"""The reports of cpuperf_print of sessions recorded here, of a program whose profile is known
(mix.c) and of a thread with an odd name: is what they say true, do they agree with one another and
in all formats, and does the program behave on terminals, in pipes and with options that make no
sense? CPUPERF, CPUPERF_PRINT and MIX name the programs.

Shares are a matter of chance: they may be off by five standard deviations, which is one in a million.
"""
import collections
import csv
import fnmatch
import functools
import glob
import io
import itertools
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import types

import kit
from kit import stride
import sampled
from sampled import COUNTED, counted, CPUS, event, finish

PRINT, MIX = os.environ["CPUPERF_PRINT"], os.environ["MIX"]
SHARES = {"work_a": 70, "work_b": 20, "work_c": 10}
SIGMAS = 5 / 1.96
ODD_NAME = 'a"b,c\nd'
SHOWN_NAME = 'a"b,c?d'  # what a terminal may obey is not shown
# A pager that goes on for a while: whose child is it then?
SLOW_PAGER = """
import os, sys, time
sys.stdin.read()
time.sleep(0.2)
print(open(f"/proc/{os.getppid()}/comm").read().strip())
"""
ODD_PROGRAM = f"""
import ctypes, os
os.sched_setaffinity(0, {{{CPUS[-1]}}})
ctypes.CDLL(None).prctl(15, {ODD_NAME.encode()!r}, 0, 0, 0)
while True:
    pass
"""
SORTS = ("function", "object", "comm", "pid", "tid", "cpu", "iteration", "event", "session",
         "comm,function", "function,object,comm,pid,tid,cpu,iteration,event,session")
REPORTS = [["--report=flat", f"--sort={sort}"] for sort in SORTS] + [
    [f"--report={name}"] for name in ("tree", "callers", "calls", "stacks", "threads", "branches")]
WITH_LINES = ["--report=flat", "--sort=function,line"]


def wait_for_loops(programs):
    """Until the first program (mix) works and the others have their odd name."""
    sampled.wait_for_cpu_time(programs[:1], 0.01)
    for p in programs[1:]:
        while not sampled.comm(p.pid).startswith(ODD_NAME[:6]):
            time.sleep(0.01)


class Session:
    """A folder with what was recorded while programs ran; with seconds, until each had a CPU for so long."""

    def __init__(self, folder, programs, duration, rate=1000000, seconds=None, **keys):
        os.mkdir(folder)
        self.file = f"{folder}/s.cpsession"
        running = [subprocess.Popen(p, stdout=subprocess.DEVNULL) for p in programs]
        try:
            wait_for_loops(running)
            if seconds:
                keys["num_iterations"] = 10000
            p = sampled.start(folder, [
                event("software:cpu_clock", rate=rate, flags=["callchain"]),
                event("software:task_clock", rate=5000000, flags=["callchain"]),
                counted()], f"--duration={duration}", **keys)
            if seconds:
                sampled.finish_when(p, folder, running, seconds)
            else:
                finish(p)
        finally:
            for p in running:
                p.kill()
                p.wait()
        # other tests may run the same programs, and have theirs replaced
        self.mix, self.ours = (f"--pid={','.join(str(p.pid) for p in which)}"
                               for which in (running[:1], running))


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82f63b78 * (crc & 1)
    return crc ^ 0xffffffff


def change_frames(data, change):
    at = 192
    while at + 16 <= len(data):
        _, kind, _, length = struct.unpack_from("<IHHI", data, at)
        payload = bytes(data[at + 16:at + 16 + length])
        changed = change(kind, payload)
        if changed != payload:
            data[at + 16:at + 16 + length] = changed
            struct.pack_into("<I", data, at + 12, crc32c(data[at + 4:at + 12] + changed))
        at += 16 + (length + 7) // 8 * 8


def twin(session, folder, change=lambda kind, payload: payload):
    """Another session in which the same happened: its id is another, and what change makes of the
    payloads of frames."""
    source = os.path.dirname(session.file)
    os.mkdir(folder)
    for name in os.listdir(source):
        with open(f"{source}/{name}", "rb") as f:
            data = bytearray(f.read())
        if name.endswith(".cpuperf"):
            data[24] ^= 1
            data[188:192] = struct.pack("<I", crc32c(data[:188]))
            change_frames(data, change)
        elif name.endswith(".cpsession"):
            manifest = json.loads(data)
            whose = bytearray.fromhex(manifest["session_id"])
            whose[0] ^= 1
            data = json.dumps({**manifest, "session_id": whose.hex()}).encode()
        with open(f"{folder}/{name}", "wb") as f:
            f.write(data)
    return types.SimpleNamespace(file=f"{folder}/s.cpsession", mix=session.mix, ours=session.ours)


def run(*args, **how):
    return kit.run(PRINT, "--quiet", *args, code=None, **how)


def output(*args):
    done = run(*args)
    assert done.returncode == 0, (args, done.stderr)
    return done.stdout


def rows(session, *args, event_label="cpu_clock"):
    """Those of a report (else: flat), of one event."""
    if not any(a.startswith(("--report=", "--diff=")) for a in args):
        args += ("--report=flat",)
    text = output(f"--session={session.file}", "--output-format=csv", *args)
    return [r for r in csv.DictReader(io.StringIO(text, newline=""))
            if event_label in (None, r["event"])]


def sums(table, key, value="self_count"):
    out = collections.Counter()
    for row in table:
        out[key(row)] += int(row[value])
    return +out


# ---- what is true

def check_shares(session):
    table = {r["function"]: r for r in rows(session, session.mix, "--only=^work_.$")}
    for name, part in SHARES.items():
        share, low, high = (float(table[name]["total" + k]) for k in ("", "_low", "_high"))
        assert low < share < high, table[name]
        assert share - SIGMAS * (share - low) < part < share + SIGMAS * (high - share), table[name]
        # some are in interrupts
        assert float(table[name]["self"]) > share / 2, table[name]
    assert table["main"]["self_samples"] == "0" and float(table["main"]["total"]) > 95
    assert table["run"]["object"] == "mix"


def paths_of(tree):
    """Each node's way from the root, as (function, object), and its row."""
    ways = {}
    for i, r in enumerate(tree):
        assert int(r["node"]) == int(tree[0]["node"]) + i, r
        above, depth = (ways[int(r["parent"])][0], int(r["depth"])) if r["parent"] else ((), 0)
        assert len(above) == depth, r
        ways[int(r["node"])] = above + ((r["function"], r["object"]),), r
    return list(ways.values())


def call(name):
    return name if name[-1:] in (")", "]") else name + "()"


def check_agreement(session, label):
    def table(name):
        return rows(session, f"--report={name}", session.ours, event_label=label)

    flat = table("flat")
    self_of = {(r["function"], r["object"]): int(r["self_count"]) for r in flat}
    total_of = {(r["function"], r["object"]): int(r["total_count"]) for r in flat}
    assert len(self_of) == len(flat) > 3
    tree = paths_of(table("tree"))
    assert sums((r for _, r in tree),
                lambda r: (r["function"], r["object"])) == +collections.Counter(self_of)
    totals, calls, stacks = (collections.Counter() for _ in range(3))
    below = sums((r for _, r in tree), lambda r: r["parent"], "total_count")
    for way, r in tree:
        weight = int(r["self_count"])
        for function in set(way):
            totals[function] += weight
        for pair in set(zip(way, way[1:])):
            calls[pair] += weight
        if weight:
            stacks["; ".join(call(name) for name, _ in way)] += weight
        assert int(r["total_count"]) == weight + below[r["node"]], r
    assert totals == collections.Counter(total_of)
    assert sums(table("stacks"), lambda r: r["stack"], "count") == stacks
    assert sums(table("calls"), lambda r: ((r["caller"], r["caller_object"]),
                                           (r["callee"], r["callee_object"])), "count") == calls
    inverted = paths_of(table("callers"))
    assert sums((r for way, r in inverted if len(way) == 1),
                lambda r: (r["function"], r["object"]), "total_count") == +collections.Counter(
                    self_of)
    assert {way[::-1]: r["self_count"] for way, r in inverted if r["self_count"] != "0"} == {
        way: r["self_count"] for way, r in tree if r["self_count"] != "0"}
    check_order(flat, tree, table("stacks"))


def check_order(flat, tree, stacks):
    def is_falling(values):
        return all(a >= b for a, b in zip(values, values[1:]))

    assert is_falling([(int(r["self_count"]), int(r["total_count"])) for r in flat])
    assert is_falling([int(r["count"]) for r in stacks])
    siblings = collections.defaultdict(list)
    for _, r in tree:
        siblings[r["parent"]].append(int(r["total_count"]))
    assert all(map(is_falling, siblings.values()))


def check_filters(session):
    def weight(*args):
        return sum(int(r["self_count"]) for r in rows(session, *args))

    total = weight()
    parts = ([["--cpu=0"], ["--cpu=1-9999"]],
             [["--iteration=0"], ["--iteration=1-2,4"], ["--iteration=3,5-9"]],
             [["--to=500ms"], ["--from=500ms", "--to=0.9s"], ["--from=900ms"]])
    for part in parts:
        assert sum(weight(*args) for args in part) == total, part
    # bursts of samples widen the intervals, however long ago the machine was started
    assert rows(session, session.ours) == rows(session, session.ours, "--to=1000s")
    assert weight("--iteration=1-2") > 0 and weight("--from=500ms", "--to=0.9s") > 0
    by_comm = sums(rows(session, "--sort=comm"), lambda r: r["comm"])
    for name in (SHOWN_NAME, "mix"):
        assert weight(f"--comm={name}") == by_comm[name] > 0
    # a*d: others may run programs of such names
    assert weight("--comm=mix", "--comm=a*d") == by_comm["mix"] + sum(
        w for name, w in by_comm.items() if fnmatch.fnmatchcase(name, "a*d"))
    by_pid = sums(rows(session, "--sort=pid"), lambda r: "--pid=" + r["pid"])
    assert weight(session.mix) == by_pid[session.mix] > 0
    assert weight(session.ours) > weight(session.mix)
    assert weight("--event=software:cpu*") == total and weight("--event=task*") == 0
    assert not rows(session, "--comm=nobody")


def check_shapes(session):
    def table(*args):
        return rows(session, session.mix, "--comm=mix", *args)

    def self_of(*args):
        return sums(table(*args), lambda r: (r["function"], r["object"]))

    stacks = [(way, int(r["self_count"])) for way, r in paths_of(table("--report=tree"))]

    def expect(leaf_of):
        """Self counts by leaf_of(way), where way is a stack from its root; None: not counted. The way
        of a sample in a prologue has no caller of the function, only the caller's caller."""
        out = collections.Counter()
        for way, count in stacks:
            out[leaf_of(way)] += count
        out.pop(None, None)
        return +out

    def split(caller):
        def leaf(way):
            is_split = [w[0] for w in way[-2:]] == [caller, "work_a"]
            return ("hot", way[-1][1]) if is_split else way[-1]
        return leaf

    def is_work(function):
        return re.fullmatch("work_.", function[0])

    whole = self_of()
    work = sum(whole[f"work_{c}", "mix"] for c in "abc")
    assert whole == expect(lambda way: way[-1])
    assert self_of("--merge=s/^work_.$/all/")["all", "mix"] == work
    assert self_of("--merge=s,^(wor)(k)_.$,\\2\\1,")["kwor", "mix"] == work
    hidden = expect(lambda way: [("[hidden]", ""), *(w for w in way if not is_work(w))][-1])
    assert hidden["run", "mix"] > work / 2
    assert self_of("--hide=^work_.$") == hidden
    assert self_of("--hide=.") == {("[hidden]", ""): sum(whole.values())}
    hot = expect(split("run"))
    assert hot["hot", "mix"] > whole["work_a", "mix"] / 2
    assert self_of("--split=^run$>^work_a$/hot") == hot
    assert self_of("--split=^main$>^work_a$/hot") == expect(split("main"))
    only = expect(lambda way: way[-1] if ("work_b", "mix") in way else None)
    assert only["work_b", "mix"] == whole["work_b", "mix"] > 0 and not only["work_a", "mix"]
    assert self_of("--only=^work_b$") == only
    assert {r["function"] for r in table("--merge-object")} >= {"mix"}
    assert {r["depth"] for r in table("--report=tree", "--max-depth=2")} == {"0", "1"}
    for name in stride(("flat", "tree", "callers", "calls", "stacks"), 2):
        assert len(table(f"--report={name}", "--top=2")) == 2, name
        large = table(f"--report={name}", "--min-percent=40")
        assert large and all(float(r.get("share") or r["total"]) >= 40 for r in large), name


# ---- formats

def check_formats(session, *args):
    """CSV and NDJSON have the same rows, and fields of the same text."""
    args = [f"--session={session.file}", *args]
    text = output(*args, "--output-format=csv")
    head, *body = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert "\r" not in text and text.endswith("\n"), args
    objects = [json.loads(line, parse_int=str, parse_float=str)
               for line in output(*args, "--output-format=ndjson").splitlines()]
    objects = [o for o in objects if "summary" not in o]  # what all iterations come to
    for o in objects:
        assert o.pop("report", "summary") == "summary" or "--report=summary" not in args
        assert list(o) == head, (args, o)
    assert len(body) == len(objects), args
    for row, o in zip(body, objects):
        assert row == ["" if v is None else str(v).lower() if isinstance(v, bool) else v
                       for v in o.values()], (args, row, o)
    assert len(set(head)) == len(head), head
    return body


def check_all_formats(session, again):
    for report in stride(REPORTS, 4):
        body = check_formats(session, session.ours, *report)
        assert body or report == ["--report=branches"], report
    check_formats(session, *WITH_LINES, session.mix)
    assert any(SHOWN_NAME in row
               for row in check_formats(session, session.ours, "--report=threads"))
    assert f'"{SHOWN_NAME}"'.replace('a"b', 'a""b') in output(
        f"--session={session.file}", "--report=threads", "--output-format=csv")
    check_formats(session, f"--diff={again.file}", session.ours)
    # in pieces and by several threads the same
    one, four = (output(f"--session={session.file}", session.ours, "--report=tree",
                        "--output-format=csv", f"--threads={n}") for n in (1, 4))
    assert one == four


# ---- several sessions

def lose(kind, payload):
    """As if a quarter of the clock's samples had not come, and records were lost."""
    if kind != 9:  # sampling
        return payload
    data = bytearray(payload)
    struct.pack_into("<QQ", data, 24, 2**64 - 1, 5)  # idle, which is not known; lost
    item_bytes, nr = struct.unpack_from("<II", data, 56)
    for at in range(64, 64 + nr * item_bytes, item_bytes):
        if struct.unpack_from("<I", data, at)[0] == 0:
            weight, = struct.unpack_from("<Q", data, at + 24)
            struct.pack_into("<Q", data, at + 24, weight * 3 // 4)
    return bytes(data)


def check_missing(session, folder):
    """Reports of samples say what did not come, for programs on the standard error."""
    short = twin(session, folder, lose)
    traces = [sampled.Trace(f"{folder}/{n}") for n in os.listdir(folder) if n.count(".") == 3]
    nr_lost = 5 * len(traces)
    # the machine may have been too busy for all samples before, too
    weight = sum(i["weight"] for t in traces for i in t.sampling["items"] if i["event"] == 0)
    expected = sum(ns - ns % 10**6 for ns in (t.readings[1, 0][3] - t.readings[0, 0][3] for t in traces))
    percent = 100 * weight / expected
    assert 0 < percent < 76, (weight, expected)  # one more than expected may have come
    said = rf"of the expected samples, {nr_lost} records were lost: shares may be wrong"
    file = f"--session={short.file}"
    for name in stride(("flat", "tree", "callers", "calls", "stacks", "threads"), 2):
        text = output(file, f"--report={name}", short.mix)
        part, = re.findall(rf"^cpu_clock: .*; ([0-9.]+) % {said}$", text, re.M)
        assert abs(float(part) - percent) < 0.06, (percent, text)
        for how in ("csv", "ndjson"):
            done = run(file, f"--report={name}", short.mix, f"--output-format={how}")
            assert done.returncode == 0 and "expected samples" not in done.stdout
            assert done.stderr.count(f"warning: cpu_clock: samples: {part} % {said}") == 1, done
    text, code = on_terminal(file, "--report=stacks", PAGER="cat", NO_COLOR="1")
    heading, = re.findall(r"^cpu_clock: .*(?:\r?\n  .*expected samples.*)?", text, re.M)
    assert code == 0 and "expected samples" in heading, text
    assert max(map(len, heading.splitlines())) <= 100, heading
    side = output(file, f"--session={session.file}", "--by-session", "--report=flat")
    assert re.search(rf"^cpu_clock; [0-9.]+ % {said}$", side, re.M), side
    return short


def check_several(session, again, other):
    twice = [f"--session={s.file}" for s in (session, again)]
    both = output(*twice, session.mix, "--report=flat", "--by-session")
    row = next(line for line in both.splitlines() if line.endswith(" work_a")).split()
    assert row[:4] == row[4:8] and f"session 2: {again.file}" in both, both
    text = output(*twice, "--report=flat", "--report=threads", "--output-format=csv")
    assert text.count("event,self,") == 2 and text.startswith("event,self,")
    one, two = (list(csv.DictReader(io.StringIO(output(
        *s, session.ours, "--output-format=csv", "--report=flat")))) for s in (twice[:1], twice))
    assert [(r["function"], 2 * int(r["self_count"])) for r in one] == [
        (r["function"], int(r["self_count"])) for r in two]
    for args in ([f"--session={other.file}", "--report=flat"], [f"--diff={other.file}"]):
        done = run(twice[0], *args)
        assert done.returncode == 1 and not done.stdout, done
        assert "measured other events than" in done.stderr and done.stderr.count("error:") == 1, done


def check_nothing(session):
    """Where no sample is left, reports say so; for programs there is the header."""
    file = f"--session={session.file}"
    nr = sum(int(r["self_samples"]) for r in rows(session, event_label=None))
    for name in stride(("flat", "tree", "callers", "calls", "stacks", "branches", "threads"), 2):
        args = [file, f"--report={name}"]
        what = "branches" if name == "branches" else "samples"
        text = output(*args, "--comm=nobody")
        assert text.startswith(f"\nNo {what}: {nr:,} samples are omitted\n"), text
        text = output(*args, "--cpu=9999", f"--event={COUNTED}")
        assert text.startswith(f"\nNo {what}; not counted: samples excluded by --event, --cpu\n")
        whole, none = (output(*args, session.mix, *more, "--output-format=csv").splitlines()
                       for more in ([], ["--comm=nobody"]))
        assert none == whole[:1] and none[0].startswith("event,"), none
        done = run(*args, "--comm=nobody", "--output-format=ndjson")
        assert not done.stdout and f"warning: --report={name}: no rows: " in done.stderr, done
    for form in stride(("folded", "pprof", "speedscope", "dot", "svg"), 4):
        done = run(file, "--comm=nobody", f"--output-format={form}", f"--output-file={os.path.dirname(session.file)}/none")
        assert f"warning: --output-format={form}: no samples: options exclude all {nr:,}\n" in done.stderr, done
    for name in ("heap", "latency", "functions", "memory", "regions"):
        assert "\nNo " in output(file, f"--report={name}"), name
        assert f"--report={name}: no rows: " in run(file, f"--report={name}", "--output-format=csv").stderr, name
    assert "--report=records: no rows: " in run(file, "--report=records", "--comm=nobody").stderr
    assert "no rows" not in run(file, "--report=records").stderr + run(file).stderr
    # written in pieces, of which none remains at the end
    done = run(file, "--report=flat", "--sort=pid,tid,function,line,cpu,iteration", "--output-format=ndjson")
    assert len(done.stdout) > 1 << 16 and "no rows" not in done.stderr, (len(done.stdout), done.stderr)


def check_no_function(session):
    """What no function is called is said, with what it may have meant; for programs there is the header."""
    known = max(rows(session, session.mix), key=lambda r: int(r["self_samples"]))["function"]  # not what others run
    for name in ("flat", "calls"):
        args = [f"--session={session.file}", f"--report={name}"]
        assert "No function matches --function: there are " in output(*args, "--function=nothing-like-it"), name
        assert f"No function matches --function: did you mean {known}?\n" in output(*args, f"--function={known}x"), name
        done = run(*args, f"--function={known}x", "--output-format=csv")
        assert len(done.stdout.splitlines()) == 1 and "no function matches --function" in done.stderr, done


def check_rest(session):
    """What hides rows is what shows them."""
    for name in ("flat", "stacks"):
        args = [f"--session={session.file}", f"--report={name}", session.mix, "--event=cpu_clock"]
        for hidden, shown in ((["--top=1"], ["--top=0"]), (["--top=0", "--min-percent=60"], ["--min-percent=0"]),
                              (["--top=1", "--min-percent=15"], ["--top=0", "--min-percent=0"])):
            lines = [l for l in output(*args, *hidden).splitlines() if l.startswith("…")]
            assert len(lines) == 1 and lines[0].endswith(f"({' '.join(shown)} shows all)"), lines
            assert "…" not in output(*args, "--top=0", *hidden, *shown).replace("… (", "")
    # its share is that of the rows' own samples
    args = [f"--session={session.file}", "--report=flat", session.mix, "--event=cpu_clock"]
    rest = re.search(r"^… [\d,]+ more: ([\d.]+) % ", output(*args, "--top=3"), re.M)
    own = sum(float(r["self"]) for r in csv.DictReader(io.StringIO(output(*args, "--top=0", "--output-format=csv")))) - sum(
        float(r["self"]) for r in csv.DictReader(io.StringIO(output(*args, "--top=3", "--output-format=csv"))))
    assert abs(float(rest[1]) - own) < 0.11, (rest[0], own)


def check_one_after_the_other(session):
    """A report begins at the first trace, whichever has read them before."""
    args, alone = [f"--session={session.file}"], {}
    for name in ("summary", "series"):
        alone[name] = output(*args, f"--report={name}")
    for names in (("summary", "summary"), ("series", "summary"), ("flat", "summary")):
        printed = output(*args, *(f"--report={n}" for n in names))
        assert printed.endswith(alone["summary"]), names


def check_records(session):
    """--top is of records too: the first of those that are shown."""
    args = [f"--session={session.file}", "--report=records"]
    lines = output(*args, session.mix).splitlines(True)
    starts = [i for i, l in enumerate(lines) if re.match(r" *-?\d+\.\d{6}  ", l)]
    for nr in (1, 7):
        assert output(*args, session.mix, f"--top={nr}") == "".join(lines[:starts[nr]])
        text = output(*args, f"--top={nr}")
        assert len(re.findall(r"^ *-?\d+\.\d{6}  ", text, re.M)) == nr, text
    assert output(*args, session.mix, "--top=0") == "".join(lines)
    for report in ("flat", "records"):
        done = subprocess.run([PRINT, args[0], f"--report={report}", session.mix],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=True)
        nr, = re.findall(r": (\d+) records processed", done.stderr)
        assert int(nr) > 100, done.stderr


def check_told_once(session, folder):
    """What is wrong with a file is told once, whatever the number of passes over it."""
    cut = twin(session, folder)
    names = [f"{folder}/{name}" for name in os.listdir(folder) if name.count(".") == 3]
    for name in names:
        with open(name, "rb+") as f:
            f.truncate(sampled.Trace(name).bytes - 80)  # its last frame
    done = run(f"--session={cut.file}", "--report=summary", "--report=flat", "--report=tree",
               "--report=records", session.mix)
    for name in names:
        base = os.path.basename(name)
        assert done.stderr.count(f"{base}: error: ") == 1, done.stderr
    assert done.returncode == 1 and done.stderr.count("truncated: its end is missing") == len(names)


def check_filtered_counts(session):
    """What of the filters holds for counts does, and of what does not there is one line."""
    args = [f"--session={session.file}", "--report=summary", "--output-format=csv"]

    def table(*more):
        return list(csv.DictReader(io.StringIO(output(*args, *more))))

    whole = table()
    cpu = str(CPUS[-1])
    for more, is_wanted in (([f"--cpu={cpu}"], lambda r: r["cpu"] == cpu),
                            (["--iteration=1,3-9"], lambda r: r["iteration"] in "134"),
                            (["--cpu=9999"], lambda r: False),
                            (["--iteration=2", f"--cpu={cpu}"],
                             lambda r: r["cpu"] == cpu and r["iteration"] == "2")):
        found, wanted = table(*more), [r for r in whole if is_wanted(r)]
        has_cpu = any(r.startswith("--cpu") for r in more)
        assert [r for r in found if not has_cpu or r["trace"]] == wanted, more
        if has_cpu:  # the totals are those of the one CPU
            assert [{**r, "trace": "", "cpu": "all"} for r in wanted] == \
                [r for r in found if not r["trace"]], more
    text = output(args[0], args[1], f"--cpu={cpu}", "--iteration=2", "--each-iteration")
    assert text.count("\nIteration ") == 1 and text.count("\nTrace ") == 1, text
    wanted = [r for r in whole if r["cpu"] == cpu and r["iteration"] == "2"]
    assert [r["samples"] for r in wanted if r["event"] == "cpu_clock"] == re.findall(
        r"^cpu_clock +([0-9,]+) .* (?:%|-)  ", text.replace(",", ""), re.M), text
    given = ["--pid=1", "--comm=x", "--only=x", "--event=task_clock", "--from=1ms", "--to=2ms"]
    for name, ignored in (("summary", "--pid, --comm, --only, --event, --from, --to"),
                          ("series", "--pid, --comm, --only"), ("top-down", "--pid, --comm, --only")):
        done = run(args[0], f"--report={name}", *given)
        assert done.stderr == f"cpuperf_print: warning: --report={name}: counts are not " \
            f"filtered by {ignored}\n", done.stderr
        assert not run(args[0], f"--report={name}", "--cpu=0", "--iteration=0").stderr


def check_one_table(session, again):
    """For programs several sessions are one table, in which they are told apart."""
    files = [session.file, again.file]
    names = "flat", "tree", "callers", "calls", "stacks", "threads", "series", "top-down", "summary"
    for name in stride(names, 3):
        args = ["--by-session", f"--report={name}"] + (
            [] if name in ("series", "summary") else [session.ours])
        body = check_formats(session, f"--session={again.file}", *args)
        text = output(*[f"--session={f}" for f in files], *args, "--output-format=csv")
        head = text.splitlines()[0].split(",")
        if name in ("flat", "threads"):  # shares are of the row's session
            sums = collections.Counter()
            for r in csv.DictReader(io.StringIO(text)):
                sums[r["event"], r["session"]] += float(r["self"])
            assert all(abs(s - 100) < 1 for s in sums.values()), sums
        column = head.index("session")
        assert column == 0 or name in ("flat", "threads"), head
        shown = [row[column] for row in body]
        if column == 0:
            half = len(shown) // 2
            assert shown == [files[0]] * half + [files[1]] * half, name
            assert [row[1:] for row in body[:half]] == [row[1:] for row in body[half:]], name
        assert set(shown) == set(files) or name == "top-down", (name, set(shown))
    for args in ([], ["--report=summary"]):
        done = run(*[f"--session={f}" for f in files], *args, "--output-format=raw")
        assert done.returncode == 2 and not done.stdout, done
        assert "--output-format=raw prints one session" in done.stderr, done

def check_of_other_events(session, other):
    """--by-session prints sessions of other specs one after the other."""
    files = [f"--session={s.file}" for s in (session, other)]
    pids = ",".join(s.mix.partition("=")[2] for s in (session, other))
    for name in ("flat", "threads"):
        args = [f"--pid={pids}", f"--report={name}"]  # programs of others may change on the disk meanwhile
        text = output(*files, "--by-session", *args)
        alone = [output(file, *args) for file in files]
        assert text == f"{session.file}:\n{alone[0]}\n{other.file}:\n{alone[1]}", text


def check_tally(session, folder):
    """What was only counted has no report of samples: one error, that says what there is."""
    os.mkdir(folder)
    finish(sampled.start(folder, [event("software:cpu_clock")], "--duration=10ms"))
    tally = f"{folder}/s.cpsession"
    for name in stride(("records", "flat", "tree", "callers", "calls", "stacks", "branches", "threads"), 3):
        done = run(f"--session={tally}", f"--report={name}")
        assert done.returncode == 1 and not done.stdout, done
        assert done.stderr.count("error:") == 1 and "reports of counts: summary, hosts, imbalance, heat, causal, memory, regions, series, latency, functions, values, changes, top-down;" in done.stderr, done
        assert f"{tally}: error: has counts only: --report={name} requires samples" in done.stderr, done
    done = run(f"--session={tally}", "--output-format=folded")
    assert done.returncode == 1 and "counts only: --output-format=folded requires samples" in done.stderr, done
    assert "formats of counts: perfetto, chrome, openmetrics, prometheus, sqlite, parquet, html;" in done.stderr, done
    for args in ([f"--session={tally}", f"--diff={session.file}"],
                 [f"--session={session.file}", f"--diff={tally}"],
                 [f"--session={session.file}", f"--session={tally}", "--report=flat"]):
        done = run(*args)
        assert done.returncode == 1 and done.stderr.count("error:") == 1, done
        assert f"{tally}: error: has counts only" in done.stderr, done
    for args in ([], [f"--session={session.file}"], ["--report=series"]):
        output(f"--session={tally}", *args)


def check_each_once(session, again):
    """A session that is given twice is no evidence of anything."""
    link = f"{os.path.dirname(session.file)}/link.cpsession"
    os.symlink(session.file, link)
    file = f"--session={session.file}"
    for args in ([file, file], [file, f"--diff={link}"], [file, f"--session={link}", "--by-session"],
                 [file, f"--diff={again.file}", f"--diff={again.file}"]):
        done = run(*args)
        assert done.returncode == 1 and not done.stdout, done
        assert "error: is the same session as" in done.stderr and "hint: use each" in done.stderr
        assert args[-1].partition("=")[2] in done.stderr or "--by" in args[-1], done.stderr
    os.unlink(link)


def check_diff(session, again, alone):
    """alone: of mix without the other program, so that its part is larger in each iteration."""
    same = rows(session, f"--diff={again.file}")
    assert len(same) > 3 and {r["certain"] for r in same} == {"false"}
    pids = ",".join(s.ours.partition("=")[2] for s in (session, alone))
    # all else equal: by name
    names = collections.defaultdict(list)
    for r in same:
        names[r["change"], r["was"]].append((r["function"].encode(), r["object"].encode()))
    assert all(of == sorted(of) for of in names.values())
    args = [f"--diff={session.file}", "--sort=comm", "--comm=mix", "--comm=a*d", f"--pid={pids}"]
    # of a target there is a row of all that it used
    table = {r["comm"]: r for r in rows(alone, *args) if r["comm"] or sampled.may_sample()}
    assert set(table) == {"mix", SHOWN_NAME}, table
    assert float(table["mix"]["was"]) < 95 and float(table["mix"]["is"]) == 100, table
    # on a busy machine samples come in so few bursts that a quarter of them may be chance
    is_found = float(table["mix"]["change_half"]) < float(table["mix"]["change"])
    assert table["mix"]["certain"] == table[SHOWN_NAME]["certain"] == ("true" if is_found else "false"), table
    args = [f"--session={alone.file}", *args]
    certain = {r["event"] for r in rows(alone, *args[1:], event_label=None)
               if r["comm"] == "mix" and r["certain"] == "true"}
    assert run(*args, "--fail-over=1", "--within").returncode == (3 if certain else 0), certain
    assert run(*args, "--fail-over=900000", "--within").returncode == 0
    assert run(f"--session={session.file}", f"--diff={again.file}",
               "--fail-over=0", "--within").returncode == 0
    text = output(*args)
    if len(certain) == 2:
        assert "2 changed significantly within these two runs" in text
        assert text.count("within these two runs") == 6, text  # a heading and two rows, of two events
    else:
        print(f"what changed is certain of {certain} alone: the machine is busy")
    assert {r["scope"] for r in table.values()} == {"within these two runs" if is_found else ""}, table
    assert {r["scope"] for r in same} == {""}
    done = run(*args, "--fail-over=1")
    assert done.returncode == 1 and not done.stdout, done
    assert "--fail-over requires several sessions per side, or --within" in done.stderr, done
    # shares change by points; amounts by percent of what was
    assert re.search(r"^ *-[\d.]+ pp ± [\d.]+ ", text, re.M), text
    amounts = output(*args, "--counts")
    assert " pp" not in amounts and re.search(r"^ *[-+][\d.]+ % ", amounts, re.M), amounts


def check_untested(session, again):
    """Nothing that could be certain is no success, whatever the format."""
    args = [f"--session={session.file}", f"--diff={again.file}", session.ours]  # the files of others may be gone meanwhile
    filters = ((["--iteration=0"], "nothing was tested: a test needs two iterations with samples"),
               (["--comm=nobody"], "nothing was compared: there are no samples"), (["--to=1us"], "nothing was"))
    for (more, text), form in stride(itertools.product(filters, ("text", "csv", "ndjson")), 3):
        done = run(*args, *more, f"--output-format={form}")
        assert done.returncode == 0, done
        assert done.stderr.count(f"warning: {text}") == (form != "text"), done
        with_limit = run(*args, *more, f"--output-format={form}", "--fail-over=5", "--within")
        assert with_limit.returncode == 1 and with_limit.stdout == done.stdout, with_limit
        assert f"error: {text}" in with_limit.stderr, with_limit
        assert "hint: record " in with_limit.stderr, with_limit


def nr_with_samples(folder, nr):
    """Of so many iterations."""
    return sum(any(sampled.Trace(path).samples() for path in glob.glob(f"{folder}/t.{i}.*.cpuperf")) for i in range(nr))


def check_counts(session, folder):
    """An iteration that was cut short is not the same work, and is none of the replicates."""
    os.mkdir(f"{folder}/cut")
    running = sampled.start(f"{folder}/cut", [
        event("software:cpu_clock", rate=1000000, flags=["callchain"]),
        event("software:task_clock", rate=5000000, flags=["callchain"]),
        counted()], "--duration=500ms", num_iterations=1000)
    while running.poll() is None and not os.path.exists(f"{folder}/cut/t.2.0.cpuperf"):
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    running.wait()
    nr = sum(bool(re.fullmatch(r"t\.\d+\.0\.cpuperf", n)) for n in os.listdir(f"{folder}/cut"))
    assert nr >= 3
    args = [f"--session={folder}/cut/s.cpsession", f"--diff={session.file}"]
    text = output(*args, "--counts")
    assert f"{nr - 1} iterations now, 5 before" in text, text
    assert "Iterations that were cut short are ignored: 1 now, 0 before" in text, text
    lasted = re.search(r"Iterations lasted ([\d.]+) s now, ([\d.]+) s before", text)
    assert lasted and float(lasted[1]) >= 0.499 and float(lasted[2]) >= 0.299, text  # later on a busy machine
    done = run(*args, "--counts", "--output-format=csv")
    assert "warning: iterations that were cut short are ignored: 1 now" in done.stderr, done
    assert f"warning: iterations lasted {lasted[1]}" in done.stderr, done
    text = output(*args)
    nr = nr_with_samples(f"{folder}/cut", nr)  # the last one may have been cut at its begin
    assert f"{nr} iterations now, 5 before" in text and "cut short" not in text, text


def total_of(args, field):
    rows = list(csv.DictReader(io.StringIO(output(*args, "--event=cpu_clock", "--output-format=csv"))))
    return sum(float(r[field]) for r in rows if r["event"] == "cpu_clock")


def check_rates(session, folder):
    """A session whose only iteration was cut short is used as far as it goes: amounts per second."""
    os.mkdir(f"{folder}/ended")
    running = sampled.start(f"{folder}/ended", [
        event("software:cpu_clock", rate=1000000, flags=["callchain"]),
        event("software:task_clock", rate=5000000, flags=["callchain"]),
        counted()], "--duration=1000", num_iterations=1)
    path = f"{folder}/ended/t.0.0.cpuperf"
    while running.poll() is None and not (os.path.exists(path) and os.path.getsize(path) > 100000):
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    running.wait()
    ended = f"--session={folder}/ended/s.cpsession"
    rows = list(csv.DictReader(io.StringIO(output(ended, "--report=summary", "--output-format=csv"))))
    # the CPUs are read one after the other: it lasted as long as the slowest
    seconds = max(int(r["end_ns"]) - int(r["start_ns"]) for r in rows if r["trace"]) / 1e9
    assert {r["cause"] for r in rows} == {"end"}, rows
    args = [ended, f"--diff={session.file}", "--counts", "--top=0"]
    text = output(*args)
    assert "Iterations were cut short: 1 now, 0 before; amounts per second are compared" in text, text
    assert "was per s" in text and "is per s" in text and "Iterations lasted" not in text, text
    expected = total_of([ended, "--report=flat", "--top=0"], "self_count") / seconds
    assert abs(total_of(args, "is_count") - expected) < expected / 1000, (total_of(args, "is_count"), expected)
    assert total_of(args, "was_count") > 0


def built_anew(path):
    """The program there with another build-id, as a new file."""
    with open(path, "rb") as f:
        code = f.read()
    at = code.index(b"\3\0\0\0GNU\0") + 8
    end = at + struct.unpack_from("<I", code, at - 12)[0]  # linkers differ in their lengths
    os.rename(path, path + ".old")
    with open(path, "wb") as f:
        f.write(code[:at] + bytes(b ^ 0xff for b in code[at:end]) + code[end:])
    os.chmod(path, 0o755)
    return code[at:end].hex()


def check_rebuilt(folder):
    """The program of before is gone: its functions have no names, and nothing is made of that."""
    path = shutil.copy(MIX, f"{folder}/app")
    command = [path, "ms", "60000", "1", str(CPUS[0])]
    was = Session(f"{folder}/was", [command], "100ms", seconds=0.2)
    build_id = built_anew(path)
    now = Session(f"{folder}/now", [command], "100ms", seconds=0.2)
    pids = ",".join(s.mix.partition("=")[2] for s in (was, now))
    args = [f"--session={now.file}", f"--diff={was.file}", f"--pid={pids}"]
    for more in ([], ["--sort=line"], ["--merge=s/^work_.*/works/"]):
        done = run(*args, "--output-format=csv", "--fail-over=0.0001", "--within", *more)
        table = list(csv.DictReader(io.StringIO(done.stdout, newline="")))
        ours = [r for r in table if r.get("object") not in ("[kernel]", "[vdso]")]  # which has functions of works
        assert not any(n in r.get("function", "") for r in ours for n in ("work", "+0x")), table
        assert done.stderr.count("app: names are missing on one side") == 1, done
        place = re.search(rf"{path}: warning: .*\n.* to DIR/(\S+) and use --debug-dir=DIR",
                          done.stderr).group(1)
        if not more:
            row, = {r["function"]: r for r in table if r["object"] == "app"
                    and r["event"] == "cpu_clock"}.values()
            assert row["function"] == "[all of app]", row
            assert float(row["was"]) > 50 and float(row["is"]) > 50, row
    text = output(*args)
    assert "app: names are missing on one side: compared as a whole; keep the old program" in text
    # as the hint has it
    assert place == f".build-id/{build_id[:2]}/{build_id[2:]}.debug"
    for i, place in enumerate((place, place.removesuffix(".debug"))):
        os.makedirs(os.path.dirname(f"{folder}/D{i}/{place}"))
        shutil.copy(f"{path}.old", f"{folder}/D{i}/{place}")
        done = run(*args, "--output-format=csv", f"--debug-dir={folder}/D{i}")
        table = [r["function"] for r in csv.DictReader(io.StringIO(done.stdout, newline=""))]
        assert "work_a" in table and "[all of app]" not in table, done
        assert "app: names are missing" not in done.stderr, done


# ---- options

BAD = (
    ("--sort=bad", '--sort: no column "bad"'), ("--sort=", '--sort: no column ""'),
    ("--sort=comm,", '--sort: no column ""'), ("--sort=Comm", "--sort: no column"),
    ("--top=x", "--top=x: not a number"), ("--top=-1", "--top=-1: not a number"),
    ("--top=", "--top=: not a number"), ("--top=1.5", "--top=1.5: not a number"),
    ("--min-percent=x", "--min-percent=x: not a percentage"),
    ("--min-percent=-1", "--min-percent=-1: not a percentage"),
    ("--min-percent=nan", "--min-percent=nan: not a percentage"),
    ("--min-percent=1%", "--min-percent=1%: not a percentage"),
    ("--max-depth=deep", "--max-depth=deep: not a number"),
    ("--threads=65", "--threads=65: not a number from 0 to 64"),
    ("--from=x", "--from=x: not a time"), ("--to=1y", "--to=1y: not a time"),
    ("--from=", "--from=: not a time"), ("--from=-1s", "--from=-1s: not a time"),
    (("--from=10s", "--to=5s"), "--from=10s is not before --to=5s"),
    ("--iteration=x", '"x" is not a list of numbers'), ("--cpu=1-", '"1-" is not a list of numbers'),
    ("--pid=1,,2", '"1,,2" is not a list of numbers'), ("--cpu=3-1", '"3-1" is not a list of numbers'),
    ("--report=flame", "html has a flame graph"), ("--output-format=flamegraph", "html has a flame graph"),
    ("--report=flt", "--report=flt: no such report"), ("--report=", "--report=: no such report"),
    ("--report=diff", "--report=diff requires --diff=FILE"),
    ("--fail-over=5", "--fail-over, --counts and --no-totals require --diff=FILE"),
    ("--fail-over=x", "--fail-over=x: not a percentage"),
    ("--counts", "--fail-over, --counts and --no-totals require --diff=FILE"),
    ("--output-format=xml", "--output-format=xml: no such format"),
    (("--report=flat", "--output-format=raw"), "raw prints only --report=summary"),
    (("--report=summary", "--report=records", "--output-format=raw"), "raw prints only"),
    ("--merge=foo", "--merge=foo: invalid"), ("--merge=s/(/x/", '--merge: "(": '),
    ("--split=a", "--split=a: invalid"), ("--hide=[", '--hide: "[": '),
    ("--only=", "--only: an empty expression"), ("--by-session=1", "--by-session does not take a value"),
)


def check_refused(session):
    for option, text in stride(BAD, 9):
        options = [option] if isinstance(option, str) else option
        done = run(f"--session={session.file}", *options)
        assert done.returncode == 2 and not done.stdout, (option, done)
        assert done.stderr.count("error: ") == 1 and text in done.stderr, (option, done.stderr)
    several = (([], "no session named"),
               ([f"--session={session.file}"] * 65, "used more than 64 times"),
               ([f"--session={session.file}", "--by-session", f"--diff={session.file}"],
                "--by-session and --diff are mutually exclusive"),
               ([f"--session={session.file}", f"--diff={session.file}", "--fail-over=5",
                 "--report=flat"], "--fail-over requires --report=diff"),
               ([f"--session={session.file}", f"--diff={session.file}", "--fail-over=5",
                 "--output-format=html"], "--fail-over requires --report=diff"),
               ([f"--session={session.file}", f"--diff={session.file}", "--report=tree"],
                "--report=tree does not compare"),
               ([f"--session={session.file}"] + ["--hide=x"] * 33,
                "used more than 32 times"))
    for args, text in stride(several, 3):
        os.environ["XDG_STATE_HOME"] = "/proc"  # no last session
        done = run(*args)
        assert done.returncode == 2 and not done.stdout and text in done.stderr, (args, done)


# ---- pipes and terminals

def check_pipes(session):
    report = [PRINT, "--quiet", f"--session={session.file}", "--report=records"]
    with subprocess.Popen(report, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        assert p.stdout.readline()
        p.stdout.close()
        assert b"error" not in p.stderr.read()
    assert p.returncode == 0
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run(report, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and "No space left" in done.stderr, done
    plain = output(f"--session={session.file}", "--report=flat")
    assert "\033" not in plain and "… " in plain


def on_terminal(*args, **env):
    """All that appears on a terminal of 100 columns, and the exit status; without the progress, which there is
    after a second."""
    text, code = kit.on_terminal(100, PRINT, "--quiet", *args, **env)
    return re.sub("(\r\\[[# ]+\\] +\\d+ % of [^\r\033]*\033\\[K)+\r\033\\[K", "", text), code


def check_terminal(session):
    args = [f"--session={session.file}", "--report=flat", "--top=5", session.mix]
    plain = output(*args)

    def words(text):
        """Of all lines: headings and notes are broken on a terminal, before what is missing without a semicolon."""
        return text.replace(";", "").split()

    text, code = on_terminal(*args, PAGER="cat", NO_COLOR="1")
    assert code == 0 and words(text) == words(plain), text
    for env in ({"PAGER": "cat"}, {"PAGER": "", "NO_COLOR": ""}, {"PAGER": "no-such-pager -x"}):
        text, code = on_terminal(*args, **env)
        assert code == 0 and "\033[" in text and "work_a" in text, (env, text)
    text, code = on_terminal(*args, "--no-pager", PAGER="sed s/^/paged:/")
    assert code == 0 and "paged:" not in text and "work_a" in text
    text, code = on_terminal(*args, PAGER="sed  -e\ts/^/paged:/", NO_COLOR="1")
    assert code == 0 and all(line.startswith("paged:") for line in text.splitlines()), text
    assert words(text.replace("paged:", "")) == words(plain)
    for pager in ("head -n 2", "true"):  # who has read enough
        text, code = on_terminal(args[0], session.mix, "--report=records", PAGER=pager)
        text = re.sub(r"^\S+: warning: .*\n", "", text, flags=re.M)  # of the session, on a busy machine
        assert code == 0 and text.count("\n") <= 2 and "error" not in text, (pager, text)
    pager = f"{os.path.dirname(session.file)}/pager.py"
    with open(pager, "w", encoding="ascii") as out:
        out.write(SLOW_PAGER)
    text, code = on_terminal(*args, PAGER=f"{sys.executable} {pager}")
    assert code == 0 and text.strip() == os.path.basename(PRINT)[:15], text
    wide, code = on_terminal(args[0], session.mix, "--report=stacks", "--top=0", PAGER="cat",
                             NO_COLOR="1")
    assert code == 0 and max(map(len, wide.splitlines())) <= 100, wide
    text, code = on_terminal(*args, "--sort=bad", PAGER="sed s/^/paged:/")
    assert code == 2 and "paged:" not in text and "error" in text
    if shutil.which("less"):
        text, code = on_terminal(*args, NO_COLOR="1")
        assert code == 0 and "work_a" in text, text


class Sessions:
    """What the checks share, each recorded when it is first asked for."""

    def __init__(self, folder):
        self.folder = folder
        self.mix = [MIX, "ms", "60000", "1", str(CPUS[0])]

    @functools.cached_property
    def both(self):
        odd = [sys.executable, "-c", ODD_PROGRAM]
        return Session(f"{self.folder}/both", [self.mix, odd], "300ms", num_iterations=5)

    @functools.cached_property
    def alone(self):
        return Session(f"{self.folder}/alone", [self.mix], "200ms", num_iterations=5)

    @functools.cached_property
    def other(self):
        return Session(f"{self.folder}/other", [self.mix], "20ms", rate=2000000)

    @functools.cached_property
    def again(self):
        return twin(self.both, f"{self.folder}/again")


def main():
    with tempfile.TemporaryDirectory() as folder:
        s = Sessions(folder)
        checks = {
            "shares": lambda: check_shares(s.both), "agreement": lambda: check_agreement(s.both, "cpu_clock"),
            "agreement of task_clock": lambda: check_agreement(s.both, "task_clock"),
            "filters": lambda: check_filters(s.both), "shapes": lambda: check_shapes(s.both),
            "all formats": lambda: check_all_formats(s.both, s.again),
            "several": lambda: check_several(s.both, s.again, s.other), "nothing": lambda: check_nothing(s.both),
            "no function": lambda: check_no_function(s.both),
            "rest": lambda: check_rest(s.both), "filtered counts": lambda: check_filtered_counts(s.both),
            "records": lambda: check_records(s.both), "one after the other": lambda: check_one_after_the_other(s.both),
            "told once": lambda: check_told_once(s.both, f"{folder}/no_end"),
            "one table": lambda: check_one_table(s.both, s.again),
            "missing": lambda: kit.may_sample("missing, since samples of user mode have no expected number") and
                       check_terminal(check_missing(s.both, f"{folder}/short")),
            "of other events": lambda: check_of_other_events(s.both, s.other),
            "tally": lambda: check_tally(s.both, f"{folder}/tally"), "each once": lambda: check_each_once(s.both, s.again),
            "diff": lambda: check_diff(s.both, s.again, s.alone), "untested": lambda: check_untested(s.both, s.again),
            "counts": lambda: kit.may_sample("counts, of all that runs") and check_counts(s.both, folder),
            "rates": lambda: kit.may_sample("rates, of all that runs") and check_rates(s.both, folder),
            "rebuilt": lambda: check_rebuilt(folder), "refused": lambda: check_refused(s.both),
            "pipes": lambda: check_pipes(s.both), "terminal": lambda: check_terminal(s.both)}
        for name, check in stride(checks.items(), 9):
            began = time.monotonic()
            check()
            print(f"{name}: ok, {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
