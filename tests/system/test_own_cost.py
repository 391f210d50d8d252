#!/usr/bin/env python3
"""A limit of what cpuperf itself may use (max_own_cpu): rates become lower step by step, each trace has the rates it
was taken at, and sums, reports and exports of such a session are what was counted. CPUPERF and CPUPERF_PRINT name the
programs.
"""
import contextlib
import gzip
import http.client
import itertools
import json
import math
import os
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import time

import pages
import protos
import receiver
import store
from kit import again, CPUPERF, PRINT, hidden_faults, need_sampling, output, run, run_checks, show
from patience import PATIENCE_S
from sampled import Trace, check_sound, event, finish, start, write_spec

# certainly exceeded
TINY = 0.0001
RATE = 50
SAMPLED = [event("software:page_faults", rate=RATE, flags=["pc"]),
           event("software:cpu_clock", frequency=1999, flags=["pc", "callchain"])]
MORE = [event("software:context_switches")]
NR = 40
STEP = re.compile(r"cpuperf uses \S+ % of a CPU, above max_own_cpu \(0\.0001 %\)(?:, and half the rate saved less than "
                  r"a tenth)?: from iteration (\d+) on, rates are (?:divided by (\d+)|those of the spec again)")


def divisor(trace):
    """0: the trace has none."""
    found = trace.of(26)
    return struct.unpack("<II", found[0])[0] if found else 0


def all_traces(folder):
    """By iteration and CPU."""
    found = {}
    for name in os.listdir(folder):
        m = re.fullmatch(r"t\.(\d+)\.(\d+)\.cpuperf", name)
        if m:
            found[int(m[1]), int(m[2])] = Trace(f"{folder}/{name}")
    return found


def faults():
    """Of this process: it has some in each iteration."""
    return run(CPUPERF, "--version")


def check_lower_step_by_step(folder):
    hidden = hidden_faults()
    p = start(folder, SAMPLED + MORE, duration=0.1, num_iterations=NR, max_own_cpu=TINY)
    while p.poll() is None:
        faults()
    _, said = finish(p)
    hidden = hidden_faults() - hidden
    steps = [(int(i), int(n or 1)) for i, n in STEP.findall(said)]
    divisors = [1, *(n for _, n in steps)]
    assert len(steps) >= 2 and divisors[1] == 2, said
    # lower ones that save nothing are taken back
    assert all(new in (2 * old, old / 2) for old, new in itertools.pairwise(divisors)), said
    check_sound(folder)
    found = all_traces(folder)
    assert len({i for i, _ in found}) == NR
    now, carried, doubts, before, dropped, delay = {}, {}, {}, {}, {}, {}
    for (iteration, t), trace in sorted(found.items()):
        by = [1, *(n for i, n in steps if i <= iteration)][-1]
        page, clock, _ = trace.events
        assert divisor(trace) == by, (iteration, t)
        assert page["attrs"][0].period == RATE * by and not page["attrs"][0].freq
        assert clock["attrs"][0].period == 1999 // by and clock["attrs"][0].freq
        assert (page["rate"], clock["frequency"]) == (RATE, 1999)  # the spec's: columns stay what they are
        item = next(i for i in trace.sampling["items"] if i["event"] == 0)
        assert item["weight"] == RATE * by * item["samples"], item
        assert (len(trace.of(19)) == 1) == (t == 0 and iteration in dict(steps)), "a gap is named"
        begin, end = trace.readings[0, 0], trace.readings[1, 0]
        # Samples are divided where the last event is read: by as many us as that is later than this one, in which there is a
        # fault at most, samples may be ahead. A count is taken later than its time by as long as others have the CPU.
        ahead, behind = ((trace.readings[b, 1][0] - trace.readings[b, 0][0]) // 1000 for b in (1, 0))
        if now.get(t) != by:  # opened anew: the count begins at 0, and so does the first period
            now[t], carried[t], doubts[t], delay[t] = by, 0, 0, [begin[2] - begin[0]]
            before[t], dropped[t] = begin[1], max(behind, 0)
        carried[t] += end[1] - begin[1] - item["weight"]
        delay[t].append(end[2] - end[0])
        late = (delay[t][-1] - min(delay[t][-3:])) // 1000
        # a sample of the moment of a reading may be on either side of it
        is_whole = not item["throttled"] and not trace.sampling["lost"]
        low = min((-1 - 2 * doubts[t]) * RATE * by, -before[t]) - max(ahead, 0)
        due = hidden / (RATE * by)  # samples, of what has none
        missing = due + 5 * math.sqrt(due) + 2 if hidden else 0
        high = (2 + doubts[t] + missing) * RATE * by + late + dropped[t]
        assert not is_whole or low <= carried[t] < high, (iteration, t, low, carried, high, ahead, late, before, dropped, hidden, item)
        if not is_whole:  # how much of a period it left over is not known
            carried[t], doubts[t], before[t] = 0, 1, late
    notes = [n for trace in found.values() for n in trace.notes if ", rates are " in n]
    assert len(notes) == len(steps), notes


def weights(folder):
    """Of page_faults, as its traces have them; what was counted; and the sum of the errors that are allowed."""
    found = all_traces(folder)
    items = [(trace, next(i for i in trace.sampling["items"] if i["event"] == 0)) for trace in found.values()]
    return (sum(i["samples"] for _, i in items), sum(i["weight"] for _, i in items),
            sum(t.readings[1, 0][1] - t.readings[0, 0][1] for t, _ in items))


def record_undisturbed(folder):
    """Others who sample page faults at the same moment may spoil a sample: Linux fills some of it in once for all."""
    for _ in range(20):
        p = start(folder, SAMPLED + MORE, duration=0.1, num_iterations=NR // 2, max_own_cpu=TINY)
        while p.poll() is None:
            faults()
        finish(p)
        done = run(PRINT, f"--session={folder}/s.cpsession", "--quiet", "--report=flat", code=None)
        if done.returncode == 0:
            return
        assert "invalid: skipped" in done.stderr, done.stderr
        again("record_undisturbed", done.stderr)
    raise AssertionError(done.stderr)


def check_readers_agree(folder):
    record_undisturbed(folder)
    samples, weight, counted = weights(folder)
    assert samples and abs(weight - counted) <= 2 * RATE * 1024 * os.cpu_count(), (weight, counted)
    one = ["--event=page_faults"]
    flat = json.loads(show(folder, "--report=summary", "--output-format=ndjson").splitlines()[0])
    assert flat
    rows = [json.loads(line) for line in show(folder, "--report=flat", "--output-format=ndjson", *one).splitlines()]
    assert sum(r["self_count"] if "self_count" in r else r["count"] for r in rows if "function" in r) == weight, rows[:2]
    folded = show(folder, "--output-format=folded", *one)
    assert sum(int(line.rpartition(" ")[2]) for line in folded.splitlines()) == weight
    run(PRINT, f"--session={folder}/s.cpsession", "--quiet", "--output-format=sqlite", f"--output-file={folder}/x.db")
    with contextlib.closing(sqlite3.connect(f"{folder}/x.db")) as db:
        found, = db.execute("SELECT sum(weight) FROM samples JOIN events USING (event)"
                            " WHERE name = 'page_faults'").fetchone()
        assert found == weight, (found, weight)
        divisors = dict(db.execute("SELECT iteration, rate_divisor FROM iterations"))
        assert divisors == {i: divisor(t) for (i, _), t in all_traces(folder).items()}, divisors
        # so is the rate of each sample known
        wrong = db.execute("SELECT count(*) FROM samples s JOIN events e USING (event) JOIN iterations i"
                           " ON i.host_id = s.host_id AND i.iteration = s.iteration"
                           " WHERE e.name = 'page_faults' AND s.weight <> e.rate * i.rate_divisor").fetchone()
        assert wrong == (0,), wrong
    compare_store(folder, weight, divisors)
    compare_pages(folder, samples, weight)
    compare_profiles(folder, samples, weight)
    run(PRINT, f"--session={folder}/s.cpsession", "--quiet", "--output-format=perf-data",
        f"--output-file={folder}/x.data")
    again = output(PRINT, f"--perf-data={folder}/x.data", "--quiet", "--output-format=folded", *one)
    assert sum(int(line.rpartition(" ")[2]) for line in again.splitlines()) == weight
    text = show(folder, "--report=flat", *one)
    assert "shares may be wrong" not in text, text
    diff = output(PRINT, f"--session={folder}/s.cpsession", "--quiet", "--diff=@0-2", "--report=diff", *one)
    assert "page_faults" in diff and "delay" not in diff, diff
    assert "Rates divided by 2\n" in show(folder, "--report=summary", "--output-format=raw")


def compare_store(folder, weight, divisors):
    missing = store.missing()
    if missing:
        print(f"skip: the store: {missing}")
        return
    run(PRINT, f"--session={folder}/s.cpsession", "--quiet", "--output-format=parquet", f"--output-file={folder}/store")
    found, by_rate, of = store.query(
        f"{folder}/store", "SELECT iteration, rate_divisor FROM iterations",
        "SELECT sum(s.weight) FROM samples s JOIN iterations i USING (session_id, iteration) JOIN events e"
        " USING (session_id, event) WHERE s.event = 'page_faults' AND s.weight = e.rate * i.rate_divisor",
        "SELECT sum(weight) FROM samples WHERE event = 'page_faults'")
    assert {int(i): int(n) for i, n in found.rows} == divisors, found.rows
    assert [int(r.rows[0][0]) for r in (by_rate, of)] == [weight, weight], (by_rate, of, weight)


def page_sums(data):
    """Samples and weight by event."""
    sums = {}
    for group, _, samples, weight in pages.cells(data):
        total = sums.setdefault(data["events"][group["event"]]["label"], [0, 0])
        total[0] += samples
        total[1] += weight
    return sums


def compare_pages(folder, samples, weight):
    """The page has a period only where all samples have the same."""
    text = show(folder, "--output-format=html")
    data = pages.data_of(text)
    assert page_sums(data)["page_faults"] == [samples, weight], (page_sums(data), samples, weight)
    assert not next(e for e in data["events"] if e["label"] == "page_faults")["period"]
    assert re.search(r"sampled each 50, at rates divided by up to \d+ \(max_own_cpu\)", json.dumps(data)), data["facts"]
    one = [i for i in range(NR // 2) if {divisor(t) for (k, _), t in all_traces(folder).items() if k == i} == {2}][:1]
    for i in one:
        text = show(folder, "--output-format=html", f"--iteration={i}")
        data = pages.data_of(text)
        taken = page_sums(data).get("page_faults")
        assert not taken or taken[1] == taken[0] * 2 * RATE, taken


def compare_profiles(folder, samples, weight):
    """otlp and pprof, in whose tables a mean period stands for the event's rate."""
    try:
        protos.need()
    except SystemExit:
        return
    reader = receiver.Reader()
    data = output(PRINT, f"--session={folder}/s.cpsession", "--quiet", "--output-format=otlp", text=False)
    found = next(w for (name, _), w in reader.otlp_data(data).weights.items() if name == "page_faults")
    assert sum(found.values()) == weight, (sum(found.values()), weight)
    request = reader.otlp.ExportProfilesServiceRequest.FromString(data)
    profile = next(p for p in request.resource_profiles[0].scope_profiles[0].profiles
                   if request.dictionary.string_table[p.sample_type.type_strindex] == "page_faults")
    assert profile.period == weight // samples, (profile.period, weight, samples)
    raw = gzip.decompress(output(PRINT, f"--session={folder}/s.cpsession", "--quiet", "--output-format=pprof", text=False))
    p = reader.pprof.Profile.FromString(raw)
    sums = {p.text[t.type]: sum(s.value[i] for s in p.sample) for i, t in enumerate(p.sample_type)}
    assert sums["page_faults"] == weight, (sums, weight)


def check_waits_and_runs(folder):
    """Waits are measured by programs of the kernel, which are loaded anew; each run opens its events itself."""
    waits = [event("sched:off_cpu_time", rate=100000)]
    spec = write_spec(folder, waits + MORE, duration=0.05, num_iterations=10000, max_own_cpu=TINY)
    with subprocess.Popen([CPUPERF, spec], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as p:
        said = ""
        while len(STEP.findall(said)) < 2:
            line = p.stderr.readline()
            assert line, said
            said += line
        p.send_signal(signal.SIGINT)
        said += p.stderr.read()
    assert p.returncode == 0, said
    for trace in all_traces(folder).values():
        assert trace.events[0]["attrs"][0].period == 100000 * divisor(trace)
    runs = f"{folder}/runs"
    os.mkdir(runs)
    spec = write_spec(runs, [event("software:page_faults", rate=1, flags=["pc"])], max_own_cpu=TINY)
    run(CPUPERF, spec, "--runs=60", "--", "sleep", "0.02")
    found = all_traces(runs)
    assert {1, 2} <= {divisor(t) for t in found.values()}
    for (iteration, t), trace in found.items():
        for item in trace.sampling["items"]:
            assert item["weight"] == divisor(trace) * item["samples"], (iteration, t)


def check_says_why_not(folder):
    """Once, where nothing can be divided; and nothing of all this without a limit."""
    done = run(CPUPERF, write_spec(folder, MORE, duration=0.02, num_iterations=12), f"--max-own-cpu={TINY:f} %")
    assert done.stderr.count("above max_own_cpu") == 1 and "nothing is sampled" in done.stderr, done.stderr
    for name in "a", "b":
        os.mkdir(f"{folder}/{name}")
    keys = {"duration": 0.02, "num_iterations": 12}
    for nr in 12, 100, 1000:  # it begins to look when what runs already was surveyed
        spec = write_spec(f"{folder}/a", SAMPLED, max_own_cpu=TINY, duration=0.02, num_iterations=nr)
        done = run(CPUPERF, spec, f"--pid={os.getpid()}")
        if "above max_own_cpu" in done.stderr:
            break
    assert done.stderr.count("above max_own_cpu") == 1 and "rates stay as they are" in done.stderr, done.stderr
    done = run(CPUPERF, write_spec(f"{folder}/b", SAMPLED, **keys))
    assert "max_own_cpu" not in done.stderr
    for trace in all_traces(f"{folder}/b").values():
        assert not divisor(trace) and not trace.of(19) and b"max_own_cpu" not in trace.of(1)[0]
    for wrong in "-1", "101", "x", "1 s", "%", "":
        done = run(CPUPERF, write_spec(folder, MORE, **keys), f"--max-own-cpu={wrong}", code=2)
        assert "max_own_cpu must be a number from 0 to 100 percent" in done.stderr, done.stderr


class Local(http.client.HTTPConnection):
    """At a socket of the file system."""

    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def scrape(at):
    """Numbers by name; none while nothing is measured yet."""
    connection = Local(at)
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    lines = answer.read().decode().splitlines() if answer.status == 200 else []
    connection.close()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def check_metrics(folder):
    """The limit, and by what rates are divided, are metrics."""
    at = f"{folder}/socket"
    p = start(folder, SAMPLED, "-n", "0", "-d", "50ms", f"--metrics-listen=unix:{at}", max_own_cpu=TINY)
    found = {}
    try:
        while found.get("cpuperf_rate_divisor", 0) < 2:
            assert p.poll() is None, p.communicate()
            found = scrape(at)
            time.sleep(0.02)
        assert found["cpuperf_max_own_cpu_ratio"] == TINY / 100, found
        assert found["process_cpu_seconds_total"] > 0 and found["process_resident_memory_bytes"] > 0
    finally:
        p.terminate()
        p.communicate()


need_sampling()
run_checks(globals())
