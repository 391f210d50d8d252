#!/usr/bin/env python3
"""--output-format=speedscope: is it as speedscope's own schema says, and does it say what the reports
say: weights of each thread those of --report=threads, stacks those of --report=stacks, samples in the
order of time, which is taken from the bytes of the traces?
"""
import collections
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import jsonschema

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sampled  # noqa: E402
from kit import output, show
from sampled import event  # noqa: E402

PERIOD = 1000000
EVENTS = [event("software:cpu_clock", rate=PERIOD, flags=["callchain"]),
          event("software:page_faults", rate=1, flags=["callchain"])]
PRINT, MIX = os.environ["CPUPERF_PRINT"], os.environ["MIX"]
SCHEMA = f"{os.environ['SOURCE_DIR']}/tests/data/speedscope/file-format-schema.json"


def rows(folder, *args):
    return list(csv.DictReader(io.StringIO(show(folder, "--output-format=csv", *args))))


def export(folder, *args, **keys):
    text = show(folder, "--output-format=speedscope", *args, **keys)
    out = json.loads(text, parse_constant=lambda name: sys.exit(f"{name} is no JSON"))
    for p in out["profiles"]:  # the command line is found by test_afterwards
        p["name"] = p["name"].partition(": ")[0]
    return out


def record(folder, events, *args, until=None, **keys):
    """A session of a program of three threads, which the scheduler moves about; its pid. It ends when until(pid)
    returns, if there is one."""
    with subprocess.Popen([MIX, "ms", "600000", "3"], stdout=subprocess.DEVNULL) as mix:
        try:
            p = sampled.start(folder, events, *args, **keys)
            if until:
                sampled.wait_for_mappings(p, f"{folder}/t.common.cpuperf", [mix.pid])
                until(mix.pid)
                p.send_signal(signal.SIGINT)
            sampled.finish(p)
        finally:
            mix.kill()
    return mix.pid


def worked(pid):
    """Ticks of a CPU that each thread of the program had which works."""
    out = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as f:
            out[tid] = int(f.read().rpartition(")")[2].split()[11])
    return {tid: ticks for tid, ticks in out.items() if tid != str(pid)}


def each_works(folder, pid):
    """Until there is a second iteration, and each of three threads had a CPU for a tenth of a second."""
    before, ticks = worked(pid), {}
    while not (os.path.exists(f"{folder}/t.1.0.cpuperf") and len(ticks) == 3 and
               all(n - before.get(tid, 0) >= os.sysconf("SC_CLK_TCK") / 10 for tid, n in ticks.items())):
        time.sleep(0.02)
        ticks = worked(pid)


def check_file(out):
    """What any file must be, beyond the schema."""
    with open(SCHEMA, encoding="utf-8") as f:
        jsonschema.validate(out, json.load(f))
    frames = [tuple(sorted(f.items())) for f in out["shared"]["frames"]]
    assert len(frames) == len(set(frames)), "a frame twice"
    used = set()
    for p in out["profiles"]:
        assert len(p["samples"]) == len(p["weights"]) > 0, p["name"]
        assert p["startValue"] == 0 and p["endValue"] == sum(p["weights"]), p["name"]
        assert all(a != b for a, b in zip(p["samples"], p["samples"][1:])), "not merged"
        used.update(i for s in p["samples"] for i in s)
    assert used == set(range(len(frames))), "frames that no sample has, or the other way round"


def name_of(row):
    number = f" #{row['thread']}" if row["thread"] else ""
    return f"{row['event']} — {row['comm']} {row['pid'] or '-'}/{row['tid'] or '-'}{number}"


def check_threads(folder, out, *args):
    """The profiles are the rows of --report=threads, the heaviest of an event first."""
    threads = rows(folder, "--report=threads", *args)
    expected = {name_of(r): int(r["self_count"]) for r in threads}
    assert len(expected) == len(threads)
    found = {p["name"]: p["endValue"] for p in out["profiles"]}
    assert found == expected, (found, expected)
    assert len(out["profiles"]) == len(expected)
    for a, b in zip(out["profiles"], out["profiles"][1:]):
        assert a["name"].split(" — ")[0] != b["name"].split(" — ")[0] or \
            a["endValue"] >= b["endValue"]


def call(name):
    return name if name[-1] in ")]" else name + "()"


def check_stacks(folder, out, *args):
    """Stacks of each event weigh what they do in --report=stacks."""
    names = [f["name"] for f in out["shared"]["frames"]]
    found = collections.Counter()
    for p in out["profiles"]:
        label = p["name"].split(" — ")[0]
        for stack, weight in zip(p["samples"], p["weights"]):
            found[label, "; ".join(call(names[i]) for i in stack)] += weight
    expected = collections.Counter()
    for r in rows(folder, "--report=stacks", "--top=0", *args):
        expected[r["event"], r["stack"]] += int(r["count"])
    assert found == expected, (found - expected, expected - found)


def leaves(folder, pid):
    """tid: the sampled functions of a thread of mix in the order of time, from the bytes of the traces;
    None where it was in no function of the program."""
    program, maps = sampled.Program(MIX), sampled.mappings(sampled.common(folder))[pid]
    samples = collections.defaultdict(list)
    for i in range(sampled.nr_iterations(folder)):
        for s in (s for t in sampled.traces(folder, i) for s in t.samples()):
            if s["tid"][0] == pid and s["event"] == 0:
                samples[s["tid"][1]].append((s["time"], next((a for a in s["chain"] if a < 2**64 - 4096), 0)))
    return {tid: [program.function(sampled.find_mapping(maps, a), a) for _, a in sorted(of)]
            for tid, of in samples.items()}


def check_time(out, pid, tid, expected):
    """Weights are spread over the stacks as the samples came."""
    profile, = (p for p in out["profiles"] if re.sub(" #[0-9]+$", "", p["name"]) == f"cpu_clock — mix {pid}/{tid}")
    frames, shown = out["shared"]["frames"], []
    for stack, weight in zip(profile["samples"], profile["weights"]):
        assert weight % PERIOD == 0
        leaf = frames[stack[-1]]
        is_named = leaf["file"] == "mix" and not leaf["name"].startswith("[unknown]")
        shown += [leaf["name"] if is_named else None] * (weight // PERIOD)
    assert shown == expected, [(i, *two) for i, two in enumerate(zip(shown, expected)) if two[0] != two[1]]


def check_two(folder, pid, other):
    """Two sessions are told apart in one file."""
    own = f"--pid={pid},{record(other, EVENTS, '--duration=100ms')}"
    alone = [export(folder, own), export(other, own)]
    both = export(folder, own, f"--session={other}/s.cpsession")
    check_file(both)
    assert [s["session_id"] for s in both["cpuperf"]] == \
        [out["cpuperf"][0]["session_id"] for out in alone]
    expected = {f"{p['name']} of {f}/s.cpsession": p["endValue"]
                for f, out in zip((folder, other), alone) for p in out["profiles"]}
    assert {p["name"]: p["endValue"] for p in both["profiles"]} == expected
    assert both["name"].startswith(alone[0]["name"].split("; ")[0] + " and 1 more")
    assert both == export(folder, own, f"--session={other}/s.cpsession", "--by-session")


def main():
    with tempfile.TemporaryDirectory() as base:
        folder, other = f"{base}/a", f"{base}/b"
        os.mkdir(folder)
        os.mkdir(other)
        pid = record(folder, EVENTS, "--duration=200ms", num_iterations=10000, config_name='a "name", odd',
                     until=lambda pid: each_works(folder, pid))
        out = export(folder)
        check_file(out)
        # functions of others may lose their names meanwhile: their files may be replaced; and CSV quotes names of theirs
        own = f"--pid={pid}"
        check_threads(folder, export(folder, own), own)
        check_stacks(folder, export(folder, own), own)
        assert out["exporter"].startswith("cpuperf_print ") and 'a "name", odd' in out["name"]
        assert out["cpuperf"][0]["session"] == 'a "name", odd'
        units = {p["name"].split(" — ")[0]: p["unit"] for p in out["profiles"]}
        assert units["cpu_clock"] == "nanoseconds" and units.get("page_faults", "none") == "none"
        expected = leaves(folder, pid)
        for tid, functions in expected.items():
            check_time(out, pid, tid, functions)
        assert len(expected) >= 3 and {"work_a", "work_b"} <= {f for of in expected.values() for f in of}, expected.keys()
        # the same, however many threads read, and whatever the locale
        text = show(folder, own, "--output-format=speedscope", "--threads=1")
        assert text == show(folder, own, "--output-format=speedscope", "--threads=3",
                            env={"LC_ALL": "de_DE.UTF-8"})
        # filters, and lines
        only = [own, "--event=cpu_clock"]
        out = export(folder, *only)
        check_file(out)
        check_threads(folder, out, *only)
        assert {p["name"].split()[2] for p in out["profiles"]} == {"mix"}
        out = export(folder, "--lines", *only)
        check_file(out)
        lines = {(r["function"], r["line"].replace("[no line]", "")) for r in
                 rows(folder, "--report=flat", "--sort=function,line", *only)}
        assert lines == {(f["name"], f"{f['file']}:{f['line']}" if "line" in f else "")
                         for f in out["shared"]["frames"]}
        # nothing to show is a file too
        out = export(folder, "--comm=nosuch")
        check_file(out)
        assert not out["profiles"]
        check_two(folder, pid, other)
        # no place for what must be put in order
        output(PRINT, f"--session={folder}/s.cpsession", "--quiet", "--output-format=speedscope",
               code=1, env={"TMPDIR": f"{folder}/none"})


if __name__ == "__main__":
    main()
