#!/usr/bin/env python3
"""Every report as csv and as ndjson: are both what strict readers of these formats take, do they say
the same, are numbers whole and free of the locale, do odd names come back as they are, and has a
report of nothing its header? And what the rows of --report=records say is what its lines say.
CPUPERF, CPUPERF_PRINT and MIX name the programs.
"""
import collections
import csv
import glob
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import kit
import sampled
from sampled import CPUS, event

PRINT, MIX, SOURCE = (os.environ[name] for name in ("CPUPERF_PRINT", "MIX", "SOURCE_DIR"))
ODD_COMM, SHOWN_COMM = 'c,"d\ne', 'c,"d?e'  # what a terminal may obey is not shown
ODD_FILE, SHOWN_FILE = 'm,i "x\ny', 'm,i "x?y'
ODD_PROGRAM = f"""
import ctypes, os
os.sched_setaffinity(0, {{{CPUS[-1]}}})
ctypes.CDLL(None).prctl(15, {ODD_COMM.encode()!r}, 0, 0, 0)
while True:
    pass
"""
# of records alone, of the kinds that have them
RARE = ["period", "address", "function", "object", "stack", "branches", "fields", "data_address",
        "physical_address", "data_source", "weight", "stack_bytes", "start", "end", "offset",
        "rights", "build_id", "name", "parent_pid", "parent_tid", "lost", "bpf_id", "instance",
        "raw", "base", "enabled_ns", "running_ns", "bytes", "counts", "weight_2", "weight_3",
        "transaction", "data_page_bytes", "code_page_bytes", "cgroup_id", "aux_bytes", "other_pid",
        "other_tid", "namespaces", "flags", "cookie", "thread"]
# a whole number wherever it stands
WHOLE = {"time_ns", "monotonic_ns", "start_ns", "end_ns", "realtime_ns", "span_ns", "iteration",
         "trace", "cpu", "pid", "tid", "thread", "node", "parent", "depth", "raw", "base", "enabled_ns",
         "running_ns", "samples", "idle", "weight", "lost", "throttled", "expected", "residual",
         "ticks", "ticks_missed", "self_samples", "total_samples", "was_samples", "is_samples",
         "self_count", "total_count", "count", "branches", "iterations", "thing", "period",
         "parent_pid", "parent_tid", "bpf_id", "instance", "bytes", "stack_bytes"}
OF_COUNTS = ("heat", "summary", "series", "top-down")


def reports():
    """All reports but diff, as the shell completes them (check_generated: what the program has), and what-if and causal, which
    need other sessions (system_what_if, system_causal_kept)."""
    with open(f"{SOURCE}/doc/completions/cpuperf_print.bash", encoding="utf-8") as f:
        words = re.search(r'--report\)\s+COMPREPLY=.*compgen -W "([^"]*)"', f.read()).group(1)
    names = [name for name in words.split() if name not in ("diff", "what-if", "causal")]
    assert len(names) > 10 and "records" in names, names
    return names


def run(*args, **env):
    return kit.run(PRINT, "--quiet", *args, code=None, text=False, env=env)


def output(*args, **env):
    done = run(*args, **env)
    assert done.returncode == 0, (args, [l for l in done.stderr.splitlines() if b"error" in l])
    return done.stdout.decode("utf-8", "strict")


def unique(pairs):
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), names
    return dict(pairs)


def no_constant(text):
    raise AssertionError(f"{text} is no JSON")


def objects_of(text, **how):
    assert not text or text.endswith("\n")
    return [json.loads(line, object_pairs_hook=unique, parse_constant=no_constant, **how)
            for line in text.splitlines()]


def table_of(text):
    assert text.endswith("\n"), text[-80:]
    head, *body = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert len(set(head)) == len(head) and all(re.fullmatch("[a-z][a-z0-9_]*", h) for h in head), head
    assert all(len(row) == len(head) for row in body)
    return head, body


def as_field(v):
    return "" if v is None else str(v).lower() if isinstance(v, bool) else v


def check_numbers(head, body):
    for row in body:
        for name, text in zip(head, row):
            if name in WHOLE and not (name == "thing" and "iteration" in head[1:3]):
                assert re.fullmatch(r"-?\d*", text) or (name, text) == ("cpu", "all"), (name, text)
            assert not re.fullmatch(r"[-+]?(nan|inf(inity)?)", text.lower()), (name, text)


def check_stack(text, frames):
    """The sampled function first; what has no name has no object in brackets behind it."""
    for f in frames:
        begin = f"{f['address']} {f['function']}"
        assert text.startswith(begin), (text, f)
        text = text[len(begin):].removeprefix(f" ({f['object']})")
        assert text[:2] in ("; ", ""), text
        text = text[2:]
    assert not text, text


def check_records(head, body, objects):
    """What a kind does not have is not in its object; lists and objects are text in CSV."""
    assert head[-len(RARE):] == RARE, head
    for row, o in zip(body, objects):
        fields = dict(zip(head, row))
        assert {n for n in head if fields[n]} <= set(o) <= set(head), (row, o)
        check_stack(fields.pop("stack"), o.pop("stack", []))
        assert " ".join(f"{k}={v}" for k, v in o.pop("fields", {}).items()) == fields.pop("fields")
        for name, value in o.items():
            assert fields[name] == as_field(value), (name, row, o)


def check_same(name, text, lines):
    head, body = table_of(text)
    check_numbers(head, body)
    objects = objects_of(lines, parse_int=str, parse_float=str)
    objects = [o for o in objects if "summary" not in o]  # what all iterations come to
    if name != "summary":
        assert {o.pop("report") for o in objects} <= {name}
    assert len(objects) == len(body), (name, len(objects), len(body))
    if name == "records":
        check_records(head, body, objects)
        return head, body
    for row, o in zip(body, objects):
        assert list(o) == head, (name, head, o)
        assert [as_field(v) for v in o.values()] == row, (name, row, o)
    return head, body


def check_report(name, files, env):
    args = [*files, f"--report={name}"]
    text, lines = (output(*args, f"--output-format={form}") for form in ("csv", "ndjson"))
    for form, same in (("csv", text), ("ndjson", lines)):
        assert output(*args, f"--output-format={form}", **env) == same, (name, "by the locale")
    head, body = check_same(name, text, lines)
    # a report of nothing is its header
    none = ["--iteration=99999"] if name in OF_COUNTS else ["--comm=nobody at all"]
    assert table_of(output(*args, *none, "--output-format=csv")) == (head, []) or \
        name in ALWAYS, name
    objects = objects_of(output(*args, *none, "--output-format=ndjson"))
    assert all("summary" in o for o in objects) or name in ALWAYS, name
    return head, body


def check_several(name, first, second, ours):
    files = [ours, *(f"--session={s}" for s in (first, second))]
    text, lines = (output(*files, "--by-session", f"--report={name}", f"--output-format={form}")
                   for form in ("csv", "ndjson"))
    head, body = check_same(name, text, lines)
    column = head.index("session")
    assert {row[column] for row in body} == {first, second}, name


def check_odd_names(folder, tables):
    head, body = tables["threads"]
    assert SHOWN_COMM in [row[head.index("comm")] for row in body]
    head, body = tables["flat"]
    assert SHOWN_FILE in [row[head.index("object")] for row in body]
    head, body = tables["records"]
    names = [row[head.index("name")] for row in body]
    assert SHOWN_COMM in names and any(n.endswith("/" + SHOWN_FILE) for n in names)
    assert SHOWN_COMM in [row[head.index("comm")] for row in body]
    assert f"({SHOWN_FILE})" in " ".join(row[head.index("stack")] for row in body)
    assert '"' in folder and "," in folder


def check_lines(table, *args):
    """A row says what the line for people does, in the same order."""
    head, body = table
    starts = re.findall(r"^ *(-?\d+)\.(\d{6})  CPU (\d+|-) +(.*)$",
                        output(*args, "--report=records"), re.M)
    assert len(starts) == len(body)
    kinds = collections.Counter()
    for (seconds, micros, cpu, rest), row in zip(starts, body):
        r = dict(zip(head, row))
        at = abs(int(r["time_ns"])) // 1000
        assert (abs(int(seconds)), int(micros)) == (at // 10**6, at % 10**6), (rest, r)
        assert cpu == (r["cpu"] or "-"), (rest, r)
        kinds[r["kind"]] += 1
        if r["kind"] == "reading":
            assert rest == f"{r['event']} reads {r['raw']}", (rest, r)
            continue
        assert rest.startswith(r["comm"]), (rest, r)
        assert f"{r['pid']}/{r['tid']} " in f"{rest} ", (rest, r)
        if r["kind"] == "sample":
            place = f"  {r['address'][2:]} {r['function']}" if r["address"] else ""
            assert f" {r['event']} period {r['period']}{place}" in rest, (rest, r)
            assert r["stack"].startswith(f"{r['address']} {r['function']}".strip()), r
        elif r["kind"] == "mmap":
            assert f" mmap {r['start']}-{r['end']} offset {r['offset']} " in rest, (rest, r)
            assert rest.endswith(r["name"]) and r["build_id"] in rest and r["rights"] in rest
        elif r["kind"] in ("exec", "comm"):
            assert rest.endswith(f"{r['kind'].replace('comm', 'name')} {r['name']}"), (rest, r)
        elif r["kind"] in ("fork", "thread"):
            assert rest.endswith(f"of {r['parent_pid']}/{r['parent_tid']}"), (rest, r)
    assert kinds["sample"] > 10 and kinds["mmap"] > 10 and kinds["comm"] + kinds["exec"], kinds


def check_counts(table):
    """Where counts are shown, so are the raw number and how long it was counted."""
    head, body = table
    for row in body:
        r = dict(zip(head, row))
        if r["kind"] == "count" and r["state"] == "ok" and r["enabled_ns"]:
            assert int(r["running_ns"]) <= int(r["enabled_ns"]) and r["raw"] != "", r
    assert any(r[head.index("enabled_ns")] for r in body)


def locale(folder):
    """One that writes 1.234,5 where it can be had; its name alone is worth a try."""
    if shutil.which("localedef"):
        subprocess.run(["localedef", "--no-archive", "-i", "de_DE", "-f", "UTF-8",
                        f"{folder}/de_DE.UTF-8"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
    return {"LC_ALL": "de_DE.UTF-8", "LOCPATH": folder}


def record(folder, programs, **keys):
    """The session, and the processes of the programs."""
    os.mkdir(folder)
    running = [subprocess.Popen(p, stdout=subprocess.DEVNULL) for p in programs]
    try:
        sampled.wait_for_cpu_time(running, 0.02)
        while "c," not in sampled.comm(running[1].pid):
            time.sleep(0.01)
        p = sampled.start(folder, [
            event("software:cpu_clock", rate=1000000, flags=["callchain"]),
            event("software:task_clock", rate=5000000),
            sampled.counted(), event("misc:memory_used")],
            "--duration=150ms", num_iterations=10000, **keys)
        sampled.finish_when(p, folder, running, 0.1)
    finally:
        for p in running:
            p.kill()
            p.wait()
    return f"{folder}/s.cpsession", [str(p.pid) for p in running]


EMPTY = ("branches", "top-down", "latency", "functions", "values", "regions", "heap", "sizes", "lifetimes", "memory", "locks", "changes")  # nothing of theirs is measured
# Rows that no filter of samples removes; of targets diff has what they used.
ALWAYS = ("top-down", "hosts", "imbalance", *(["diff"] if sampled.machine() else []))


def main():
    with tempfile.TemporaryDirectory(prefix='t,a"b ') as top:
        program = shutil.copy(MIX, f"{top}/{ODD_FILE}")
        programs = [[program, "ms", "60000", "2", str(CPUS[0])],
                    ["/usr/bin/python3", "-c", ODD_PROGRAM]]
        (first, pids), (second, more) = (record(f"{top}/{name}", programs) for name in ("one", "two"))
        # the files of other programs, which have the names of functions, may be gone meanwhile
        ours = f"--pid={','.join(pids + more)}"
        env, tables = locale(top), {}
        for name in reports() + ["diff"]:
            files = [f"--session={first}", ours] + ([f"--diff={second}"] if name == "diff" else [])
            tables[name] = check_report(name, files, env)
            assert tables[name][1] or name in EMPTY, name
            if name not in ("diff", *EMPTY):
                check_several(name, first, second, ours)
        check_odd_names(top, tables)
        check_lines(tables["records"], f"--session={first}", ours)
        for name in ("summary", "series"):
            check_counts(tables[name])
        assert not glob.glob(f"{top}/core*")


main()
