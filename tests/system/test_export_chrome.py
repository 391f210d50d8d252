#!/usr/bin/env python3
"""--output-format=chrome: does it say what the traces and the reports say? Each sample stands in it
once, as the bytes of the traces have it; weights are those of --report=threads, stacks those of
--report=stacks, counters those of --report=series.
"""
import collections
import csv
import io
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sampled  # noqa: E402
from kit import may_sample, output, show, without_totals
from sampled import event  # noqa: E402

CPUPERF, PRINT, MIX = (os.environ[n] for n in ("CPUPERF", "CPUPERF_PRINT", "MIX"))
COUNTERS = 4194304  # a pid that no process can have
# A process whose first thread has another name than the second; both run.
TWO_NAMES = """
import ctypes, os, threading
def spin(name):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    os.write(1, b"%d\\n" % threading.get_native_id())
    while True:
        pass
threading.Thread(target=spin, args=(b"second",)).start()
spin(b"first")
"""
METRIC = {"name": "double", "expr": "{software:page_faults} * 2", "unit": "faults"}


def rows(folder, *args):
    return list(csv.DictReader(io.StringIO(show(folder, "--output-format=csv", *args))))


def export(folder, *args, **keys):
    text = show(folder, "--output-format=chrome", *args, **keys)
    return json.loads(text, parse_constant=lambda name: sys.exit(f"{name} is no JSON"))


def record(folder, events, *args, **keys):
    """A session while programs run, until each had a CPU; the pid of the one with three threads, that of the other and of
    its second thread."""
    with subprocess.Popen([MIX, "ms", "60000", "3"], stdout=subprocess.DEVNULL) as mix, \
            subprocess.Popen([sys.executable, "-c", TWO_NAMES], stdout=subprocess.PIPE) as two:
        try:
            tids = {int(two.stdout.readline()) for _ in range(2)}
            p = sampled.start(folder, events, *args, num_iterations=10000, **keys)
            sampled.finish_when(p, folder, [mix, two], 0.1, [(two.pid, tid) for tid in tids])
        finally:
            mix.kill()
            two.kill()
    return mix.pid, two.pid, *(tids - {two.pid})


def lose(folder, nr):
    """Makes the first trace say that its ring lost so many records."""
    with open(f"{folder}/t.0.0.cpuperf", "r+b") as f:
        data = f.read()
        at, = struct.unpack_from("<H", data, 14)
        while struct.unpack_from("<H", data, at + 4)[0] != 9:
            at += 16 + (struct.unpack_from("<I", data, at + 8)[0] + 7) // 8 * 8
        flags, length = struct.unpack_from("<HI", data, at + 6)
        assert not flags & 1, "packed"
        payload = bytearray(data[at + 16:at + 16 + length])
        struct.pack_into("<Q", payload, 32, nr)
        f.seek(at + 12)
        f.write(struct.pack("<I", sampled.crc32c(data[at + 4:at + 12] + payload)) + payload)


def names_of(out, what):
    return {(e["pid"], e["tid"] if what == "thread_name" else 0): e["args"]["name"]
            for e in out["traceEvents"] if e["ph"] == "M" and e["name"] == what}


def known(id_):
    """The kernel's -1: the task had ended."""
    return -1 if id_ == 2**32 - 1 else id_


def check_samples(folder, out):
    """Against the traces: time, CPU, thread, event of each."""
    start = out["otherData"]["start_monotonic_ns"]
    labels = [e["label"] for e in sampled.traces(folder)[0].events]
    expected = collections.Counter(
        (s["time"] - start, t.cpu, *map(known, s["tid"]), labels[s["event"]])
        for i in range(sampled.nr_iterations(folder)) for t in sampled.traces(folder, i) for s in t.samples())
    assert start == min(t.end[0] for t in sampled.traces(folder))
    found = collections.Counter((round(s["ts"] * 1000), s["cpu"], s["pid"], s["tid"], s["name"])
                                for s in out["samples"])
    assert found == expected, (found - expected, expected - found)
    last = {}
    for s in out["samples"]:
        assert last.get((s["pid"], s["tid"]), -math.inf) <= s["ts"]
        last[s["pid"], s["tid"]] = s["ts"]
    threads = names_of(out, "thread_name")
    assert set(last) == set(threads)
    assert {pid for pid, _ in last} | {COUNTERS} == {pid for pid, _ in names_of(out, "process_name")}


def check_weights(folder, out, *args):
    """A thread may have had several names, of which it has one here."""
    expected, names, found = collections.Counter(), collections.defaultdict(set), collections.Counter()
    for r in rows(folder, "--report=threads", *args):
        thread = int(r["pid"] or -1), int(r["tid"] or -1)
        expected[r["event"], *thread] += int(r["self_count"])
        names[thread].add(r["comm"])
    for s in out["samples"]:
        found[s["name"], s["pid"], s["tid"]] += s["weight"]
    assert found == expected, (found - expected, expected - found)
    given = sampled.names_given(folder)
    for thread, name in names_of(out, "thread_name").items():
        assert name in names[thread] | given[thread], (thread, name, names[thread], given[thread])


def call(name):
    return name if name[-1] in ")]" else name + "()"


def check_stacks(folder, out, *args):
    frames, used = out["stackFrames"], set()

    def stack(sf):
        way = []
        while sf is not None:
            used.add(str(sf))
            way.append(call(frames[str(sf)]["name"]))
            sf = frames[str(sf)].get("parent")
            assert len(way) <= len(frames), "a circle"
        return "; ".join(reversed(way))

    found, expected = collections.Counter(), collections.Counter()
    for s in out["samples"]:
        found[s["name"], stack(s["sf"])] += s["weight"]
    for r in rows(folder, "--report=stacks", "--top=0", *args):
        expected[r["event"], r["stack"]] += int(r["count"])
    assert found == expected, (found - expected, expected - found)
    assert used == set(frames) and "0" not in frames
    nodes = [(f["name"], f["category"], f.get("parent")) for f in frames.values()]
    assert len(set(nodes)) == len(nodes), "a frame twice"


def check_counters(folder, out):
    """A rate stands where its time begins, a value where it was read."""
    expected, found = {}, {}
    for r in without_totals(rows(folder, "--report=series")):
        if not r["value"]:
            continue
        name = r["label"] + " samples" * (r["kind"] == "samples")
        name += f" {r['thing_name']}" * bool(r["thing"]) + f" CPU {r['cpu']}" * (r["cpu"] != "all")
        at = int(r["time_ns"]) - (int(r["span_ns"]) if r["kind"] != "value" else 0)
        assert (name, at) not in expected
        expected[name, at] = r["unit"] or "value", float(r["value"])
    for e in out["traceEvents"]:
        if e["ph"] == "C":
            assert e["pid"] == COUNTERS and (e["name"], e["ts"]) not in found, e
            (unit, value), = e["args"].items()
            found[e["name"], round(e["ts"] * 1000)] = unit, value
    assert set(found) == set(expected), set(found) ^ set(expected)
    for key, (unit, value) in expected.items():
        assert found[key][0] == unit and math.isclose(found[key][1], value, rel_tol=1e-6,
                                                      abs_tol=2e-9), (key, found[key], unit, value)
    return {name for name, _ in found}


def check_losses(folder, out):
    """What is told of the samples in a report's warnings stands in the file."""
    done = subprocess.run([PRINT, f"--session={folder}/s.cpsession", "--report=threads",
                           "--output-format=csv"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=True)
    told = re.findall(r"warning: (.*): samples: (.*)", done.stderr)
    losses = [line for line in out["otherData"]["losses"]
              if not re.match("(incomplete|remedy for) stacks", line)]  # threads has no callers
    assert losses == [f"{label}: {text}" for label, text in told], told
    return told


def check_all(folder, pid, two, second):
    out = export(folder)
    assert list(out) == ["displayTimeUnit", "traceEvents", "samples", "stackFrames", "otherData"]
    check_samples(folder, out)
    check_weights(folder, out)
    # functions of others may lose their names meanwhile: their files may be replaced
    own = f"--pid={pid},{two}"
    check_stacks(folder, export(folder, own), own)
    counters = check_counters(folder, out)
    assert {"cpu_clock samples CPU 0", "busy CPU 0", "memory_free", "page_faults CPU 0",
            "double CPU 0"} <= counters, counters
    names = {**names_of(out, "process_name"), **names_of(out, "thread_name")}
    assert names[pid, 0] == "mix" and names[two, 0] == names[two, two] == "first"
    assert names[two, second] == "second"
    assert out["otherData"]["session"] == "odd \\ name"
    check_losses(folder, out)
    # the same, however many threads read, and whatever the locale
    text = show(folder, own, "--output-format=chrome", "--threads=1")
    assert text == show(folder, own, "--output-format=chrome", "--threads=3", env={"LC_ALL": "de_DE.UTF-8"})
    only = [f"--pid={pid}", "--event=cpu_clock"]
    out = export(folder, *only)
    assert {s["pid"] for s in out["samples"]} == {pid}
    check_weights(folder, out, *only)
    check_stacks(folder, out, *only)
    lines = {r["function"] + f" ({r['line']})" * (r["line"] != "[no line]")
             for r in rows(folder, "--report=flat", "--sort=function,line", *only)}
    out = export(folder, "--lines", *only)
    shown = {f["name"] for f in out["stackFrames"].values()}
    assert shown == lines, shown ^ lines
    out = export(folder, "--comm=nosuch")
    assert out["samples"] == [] and out["stackFrames"] == {}


def check_tally(folder):
    """A session that only counts has counters."""
    sampled.finish(sampled.start(folder, [event("software:cpu_clock"), event("misc:memory_free"),
                                          event("arch:instructions_retired"), event("software:page_faults")],
                                 "--duration=100ms", num_iterations=3, metrics=[METRIC]))
    out = export(folder)
    assert list(out) == ["displayTimeUnit", "traceEvents", "otherData"]
    counters = {"memory_free", "cpu_clock CPU 0", "double"}
    if not sampled.may_sample():
        counters = {"memory_free", "cpu_clock"}
    assert counters <= check_counters(folder, out)
    if not any(e["name"].startswith("instructions") for e in out["traceEvents"]):
        assert any("instructions" in text for text in out["otherData"]["not_counted"]), out["otherData"]


def main():
    with tempfile.TemporaryDirectory() as base:
        sampling, tally = f"{base}/a", f"{base}/b"
        os.mkdir(sampling)
        os.mkdir(tally)
        check_tally(tally)
        if not may_sample("samples"):
            return
        pids = record(sampling, [
            event("software:cpu_clock", rate=1000000, flags=["callchain"]),
            event("software:context_switches", rate=1, flags=["callchain"]),
            event("software:page_faults"), event("misc:cpu_utilization", label="busy"),
            event("misc:memory_free")], "--duration=300ms", config_name="odd \\ name", metrics=[METRIC])
        check_all(sampling, *pids)
        lose(sampling, 7)
        told = check_losses(sampling, export(sampling))
        assert all("7 records were lost" in text for _, text in told) and len(told) == 2, told
        both = json.loads(output(PRINT, f"--session={sampling}/s.cpsession", f"--session={tally}/s.cpsession",
                                 "--output-format=chrome"))["traceEvents"]
        alone = export(tally)["traceEvents"]
        counters = [{e["name"] for e in events if e["ph"] == "C"} for events in (both, alone)]
        assert counters[1] and counters[1] <= counters[0], counters  # other events of another session


if __name__ == "__main__":
    main()
