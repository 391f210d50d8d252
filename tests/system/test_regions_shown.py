#!/usr/bin/env python3
"""Regions in the formats of other programs: each call stands in them with the times that --report=regions adds up, a call
without an end of its own says so, instants and values are there.
"""
import collections
import csv
import gzip
import io
import json
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import protos  # noqa: E402
from kit import CPUPERF, output, PRINT, run, run_checks  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
REQUESTS = 5
PATHS = {"request": (REQUESTS, 0), "request > parse": (REQUESTS, 0), "open": (1, 1)}


def record(folder):
    program = os.path.join(folder, "shown")
    run("cc", "-O1", "-g", f"-I{os.environ['SOURCE_DIR']}/include", "-pthread", "-o", program, f"{HERE}/regions_shown.c")
    run(CPUPERF, "--regions", "-e", "cpu_clock@1000Hz", "-g", "--", program, cwd=folder)
    rows = {r["path"]: r for r in table(folder) if r["kind"] == "region"}
    assert {p: (int(r["calls"]), int(r["closed"])) for p, r in rows.items()} == PATHS, rows
    return {p: int(r["wall_ns"]) for p, r in rows.items()}


def show(folder, *options, **how):
    return output(PRINT, "--quiet", *options, cwd=folder, **how)


def table(folder, *options):
    text = show(folder, "--report=regions", "--output-format=csv", *options)
    return list(csv.DictReader(io.StringIO(text, newline="")))


class Slices:
    """{path: ns} of begins and ends in order."""

    def __init__(self):
        self.ns, self.calls, self.closed = collections.Counter(), collections.Counter(), collections.Counter()
        self.open = collections.defaultdict(list)

    def begin(self, task, name, time_ns):
        self.open[task].append((name, time_ns))

    def end(self, task, time_ns, is_closed):
        path = " > ".join(name for name, _ in self.open[task])
        self.ns[path] += time_ns - self.open[task].pop()[1]
        self.calls[path] += 1
        self.closed[path] += is_closed

    def check(self, want):
        assert not any(self.open.values()), self.open
        assert {p: (n, self.closed[p]) for p, n in self.calls.items()} == PATHS, (self.calls, self.closed)
        assert dict(self.ns) == want, (self.ns, want)


def check_instants_and_values(folder):
    record(folder)
    rows = {(r["kind"], r["path"], r["name"]): r for r in table(folder) if r["kind"] != "region"}
    assert sorted(rows) == [("instant", "request", "parsed"), ("value", "request", "queue")], rows
    instant, value = rows["instant", "request", "parsed"], rows["value", "request", "queue"]
    numbers = [float(value["value_" + n]) for n in ("mean", "p50", "p90", "p99")]
    assert (value["count"], value["value_min"], value["value_max"], numbers) == ("5", "-1", "3", [1, 1, 3, 3]), value
    assert instant["count"] == "5" and instant["value_mean"] == instant["value_min"] == instant["calls"] == "", instant
    # 5 requests of 20 ms, and a thread; load makes them longer, never shorter
    assert 0 < float(instant["per_second"]) <= 50 and instant["region"] == "request", instant
    half = table(folder, "--to=30ms")
    assert [int(r["count"]) for r in half if r["kind"] == "instant"] < [5], half
    seconds = 5 / float(instant["per_second"])
    late = [r for r in table(folder, "--from=20ms") if r["kind"] == "instant"]
    assert late and abs(int(late[0]["count"]) / float(late[0]["per_second"]) - (seconds - 0.02)) < 1e-5, (late, seconds)
    assert {r["name"] for r in table(folder, "--region=parse")} == {""}
    threads = [r for r in table(folder, "--group-by=thread") if r["kind"] != "region"]
    assert all(f"/{r['tid']} " in r["thread"] for r in threads) and len(threads) == 2, threads
    lines = [json.loads(line) for line in show(folder, "--report=regions", "--output-format=ndjson").splitlines()]
    assert [(r["count"], r["value_min"]) for r in lines if r["kind"] == "value"] == [(5, -1)], lines
    for options in ((), ("--group-by=thread",)):
        text = show(folder, "--report=regions", *options)
        below = text.split("Instants and values, by the innermost region that they are in")[1].splitlines()
        assert [line.split()[-2:] for line in below[2:]] == [["parsed", "request"], ["queue", "request"]], text
        assert below[3].split()[0] == "5" and below[3].split()[3] == "-1", text


PARTS = r"""
#include <cpuperf/mark.h>
#include <stdio.h>
#include <time.h>
static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}
int main(void)
{
	CPUPERF_BEGIN("all");
	for (int i = 0; i < 100; i++) {
		long begin = now();
		CPUPERF_BEGIN("part");
		CPUPERF_INSTANT("tick");
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, 0);
		CPUPERF_END;
		printf("%ld %ld\n", begin, now());
	}
	CPUPERF_END;
}
"""


def check_what_was_not_measured_is_not_counted(folder):
    """Calls, times and instants are those of the iterations, or of what a flight recorder held: the program's own clock
    says which."""
    with open(f"{folder}/d.c", "w", encoding="ascii") as f:
        f.write(PARTS)
    run("cc", f"-I{os.environ['SOURCE_DIR']}/include", "-o", f"{folder}/d", f"{folder}/d.c")
    for options, spans_of in ((["-e", "page_faults", "--delay=1s"], "SELECT start_ns, end_ns FROM iterations"),
                              (["-e", "page_faults", "--windows=realtime:0.3:0.4:2"],
                               "SELECT start_ns, end_ns FROM iterations"),
                              (["-e", "cpu_clock@100Hz", "--flight-recorder=500ms"],
                               "SELECT min(from_ns), max(to_ns) FROM held")):
        session = f"{folder}/{options[-1].split('=')[0]}"
        text = output(CPUPERF, "--regions", *options, "-o", session, "--", f"{folder}/d")
        parts = [tuple(map(int, line.split())) for line in re.findall(r"^\d+ \d+$", text, re.M)]
        assert len(parts) == 100, text
        output(PRINT, session, "--quiet", "--output-format=sqlite", f"--output-file={session}.db")
        with sqlite3.connect(f"{session}.db") as db:
            spans = db.execute(spans_of).fetchall()
            in_db = dict(db.execute("SELECT path, count(*) FROM region_calls JOIN regions USING(region) GROUP BY 1"))
        measured = sum(end - begin for begin, end in spans)
        # a second of the delay, or between and behind windows, or before what was held: but for the program's start
        assert measured < parts[-1][1] - parts[0][0] - 100e6, (spans, parts)
        within = [min(e, end) - max(b, begin) for begin, end in spans for b, e in parts if b < end and e > begin]
        begun = sum(begin <= b < end for begin, end in spans for b, _ in parts)
        rows = {r["path"] + r["name"]: r for r in csv.DictReader(io.StringIO(
            output(PRINT, session, "--quiet", "--report=regions", "--output-format=csv"), newline=""))}
        part, tick = rows["all > part"], rows["all > parttick"]
        assert abs(int(part["calls"]) - len(within)) <= 1 and int(part["cut"]) <= 2 * len(spans), (part, spans, parts)
        # a boundary is within a part, but for one that falls between two
        is_within = any(b + 1e6 < at < e - 1e6 for span in spans for at in span for b, e in parts)
        assert int(part["cut"]) or not is_within, (part, spans, parts)
        # what is open when the recorder ends, before the program, ends with the last mark
        assert sum(within) * 0.99 - within[-1] <= int(part["wall_ns"]) <= sum(within) * 1.01, (part, spans, parts)
        assert int(rows["all"]["calls"]) == int(rows["all"]["cut"]) == 1, (rows, spans)
        assert abs(int(tick["count"]) - begun) <= 1, (tick, spans, parts)
        assert abs(int(tick["count"]) / float(tick["per_second"]) - measured / 1e9) < 0.01, (tick, spans)
        assert in_db == {"all": len(spans), "all > part": int(part["calls"])}, (in_db, rows)  # parts have rows
        metrics = output(PRINT, session, "--quiet", "--output-format=openmetrics")
        assert f'region_calls_total{{region="all > part"}} {part["calls"]}' in re.sub(r'{.*(region="[^"]*").*}', r"{\1}", metrics), metrics


def check_chrome(folder):
    want = record(folder)
    slices, numbers, values, instants = Slices(), [], [], 0
    for e in json.loads(show(folder, "--output-format=chrome"))["traceEvents"]:
        if e.get("cat") != "region":
            continue
        task, ns = (e["pid"], e["tid"]), round(e["ts"] * 1000)
        if e["ph"] == "B":
            slices.begin(task, e["name"], ns)
            numbers += [e["args"]["number"]] if "args" in e else []
        elif e["ph"] == "E":
            slices.end(task, ns, e.get("args", {}).get("closed", False))
        elif e["ph"] == "C":
            values.append((e["name"], e["args"]["value"]))
        else:
            assert (e["ph"], e["s"], e["name"]) == ("i", "t", "parsed"), e
            instants += 1
    slices.check(want)
    assert numbers == list(range(REQUESTS)) and instants == REQUESTS, (numbers, instants)
    assert values == [("queue", 3 - i) for i in range(REQUESTS)], values
    output(CPUPERF, "--regions", "-e", "page_faults", "-o", "counted", "--", "./shown", cwd=folder)
    events = json.loads(show(folder, "counted", "--output-format=chrome"))["traceEvents"]
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert set(named) == {(e["pid"], e["tid"]) for e in events if e.get("cat") == "region"}, events
    assert {name if pid != tid else "" for (pid, tid), name in named.items()} == {"", "renamed"}, named
    assert {pid: "shown" for pid, _ in named} == {
        e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name" and e["pid"] in {p for p, _ in named}}
    chosen = json.loads(show(folder, "--output-format=chrome", "--region=parse"))["traceEvents"]
    assert {e["name"] for e in chosen if e.get("cat") == "region"} == {"parse"}, chosen


def check_perfetto(folder):
    try:
        protos.need()
    except SystemExit:
        print("skip: perfetto: no protoc")
        return
    want = record(folder)
    data = output(PRINT, "--quiet", "--output-format=perfetto", cwd=folder, text=False)
    protos.check_known("perfetto", "Trace", data)
    slices, tracks, values, instants, numbers = Slices(), {}, [], 0, []
    for packet in protos.load("perfetto").Trace.FromString(data).packet:
        if packet.HasField("track"):
            assert packet.track.uuid not in tracks, packet
            tracks[packet.track.uuid] = packet.track
            if packet.track.HasField("thread"):  # also that without samples
                t = packet.track.thread
                assert t.name == ("shown" if t.pid == t.tid else "renamed"), packet
        e = packet.track_event
        if not packet.HasField("track_event") or e.HasField("value"):
            continue
        track = tracks[e.track]
        if track.HasField("counter"):
            assert tracks[track.parent].HasField("thread"), track
            values.append((track.name, e.integer))
            continue
        if not track.HasField("thread"):
            continue
        if e.type == 1:
            slices.begin(e.track, e.name, packet.timestamp)
            numbers += [a.integer for a in e.annotation if a.name == "number"]
        elif e.type == 2:
            slices.end(e.track, packet.timestamp, any(a.name.startswith("closed") and a.flag for a in e.annotation))
        else:
            assert e.type == 3 and e.name == "parsed", e
            instants += 1
    slices.check(want)
    assert instants == REQUESTS and numbers == list(range(REQUESTS)), (instants, numbers)
    assert values == [("queue", 3 - i) for i in range(REQUESTS)], values
    # a session that only counts has the same names
    output(CPUPERF, "--regions", "-e", "page_faults", "-o", "counted", "--", "./shown", cwd=folder)
    data = output(PRINT, "--quiet", "counted", "--output-format=perfetto", cwd=folder, text=False)
    tracks = [p.track for p in protos.load("perfetto").Trace.FromString(data).packet if p.HasField("track")]
    assert sorted(t.thread.name for t in tracks if t.HasField("thread")) == ["renamed", "shown"], tracks
    assert "shown" in [t.process.name for t in tracks if t.HasField("process")], tracks


def check_sqlite(folder):
    want = record(folder)
    db = os.path.join(folder, "regions.db")
    show(folder, "--output-format=sqlite", f"--output-file={db}")
    db = sqlite3.connect(db)
    calls = {p: rest for p, *rest in db.execute(
        "SELECT path, count(*), sum(is_closed), sum(end_ns - begin_ns), sum(self_ns) FROM region_calls JOIN regions"
        " USING(region) GROUP BY region")}
    assert {p: (c[0], c[1]) for p, c in calls.items()} == PATHS, calls
    assert {p: c[2] for p, c in calls.items()} == want, (calls, want)
    assert calls["request"][3] == want["request"] - want["request > parse"], calls
    assert [v for v, in db.execute("SELECT value FROM marks WHERE name = 'queue' ORDER BY time_ns")] == [
        3 - i for i in range(REQUESTS)]
    assert db.execute("SELECT count(*) FROM marks JOIN regions USING(region) WHERE marks.name = 'parsed' AND value IS NULL"
                      " AND path = 'request'").fetchone() == (REQUESTS,)
    of_samples = dict(db.execute("SELECT path, count(*) FROM samples LEFT JOIN regions USING(region) GROUP BY 1"))
    assert of_samples["request > parse"] > 0 and of_samples["request"] > 0, of_samples


def check_openmetrics(folder):
    want = record(folder)
    text = show(folder, "--output-format=openmetrics")
    got = {(m[1], m[2]): m[3] for m in re.finditer(r'^cpuperf_region_(\w+)_total\{region="([^"]*)"\} (\S+)', text, re.M)}
    assert {p: (int(got["calls", p]), int(got["closed", p])) for p in PATHS} == PATHS, text[-3000:]
    assert {p: round(float(got["seconds", p]) * 1e9) for p in PATHS} == want, (got, want)
    assert round(float(got["self_seconds", "request"]) * 1e9) == want["request"] - want["request > parse"], got


def check_labels_and_frames(folder):
    record(folder)
    try:
        protos.need()
        data = gzip.decompress(output(PRINT, "--quiet", "--output-format=pprof", cwd=folder, text=False))
        p = protos.load("pprof").Profile.FromString(data)
        texts = p.text
        regions = {texts[label.text] for s in p.sample for label in s.label if texts[label.key] == "region"}
        assert {"request", "request > parse"} <= regions <= set(PATHS), regions  # "open" is short
    except SystemExit:
        print("skip: pprof: no protoc")
    folded = show(folder, "--output-format=folded", "--group-by=region", "--event=cpu_clock").splitlines()
    assert any(line.startswith("shown;request;parse;") for line in folded), folded
    assert all(re.match(r"(shown|renamed);(request|open|\[none\]);", line) for line in folded), folded
    frames = json.loads(show(folder, "--output-format=speedscope", "--group-by=region"))["shared"]["frames"]
    assert {"request", "parse"} <= {f["name"] for f in frames}, frames


CLOSED = "1 call of a region has no end of its own"
FAST = r"""
#include <cpuperf/mark.h>
int main(void)
{
	for (int i = 0; i < 3000000; i++) {
		CPUPERF_BEGIN("fast");
		CPUPERF_END;
	}
}
"""


def check_what_is_missing_is_said(folder):
    record(folder)
    try:
        protos.need()
        data = gzip.decompress(output(PRINT, "--quiet", "--output-format=pprof", cwd=folder, text=False))
        p = protos.load("pprof").Profile.FromString(data)
        assert any(CLOSED in p.text[c] for c in p.comment), [p.text[c] for c in p.comment]
    except SystemExit:
        print("skip: pprof: no protoc")
    for form in ("speedscope", "chrome"):
        assert CLOSED in show(folder, f"--output-format={form}"), form
    db = os.path.join(folder, "losses.db")
    show(folder, "--output-format=sqlite", f"--output-file={db}")
    assert any(CLOSED in str(row) for row in sqlite3.connect(db).execute("SELECT * FROM losses"))
    for options, is_said in (((), False), (("--sort=region",), True), (("--region=request",), True)):
        text = show(folder, "--report=flat", *options)
        assert (f"({CLOSED}" in text) == is_said, text
    for options, is_said in (((), False), (("--group-by=region",), True)):
        done = run(PRINT, "--output-format=folded", *options, cwd=folder)
        assert (CLOSED in done.stderr) == is_said, done.stderr
    with open(f"{folder}/fast.c", "w", encoding="ascii") as f:
        f.write(FAST)
    run("cc", "-O1", f"-I{os.environ['SOURCE_DIR']}/include", "-o", f"{folder}/fast", f"{folder}/fast.c")
    run(CPUPERF, "--regions", "-e", "task_clock", "--", "./fast", cwd=folder)
    text = show(folder, "--report=regions")
    if " marks were lost" not in text.splitlines()[1]:
        print("skip: no mark was lost")
        return
    assert re.search(r"^Note: \d+ of \d+ marks were lost: ", text, re.M), text
    assert "marks were lost: " in show(folder, "--output-format=chrome")


def table_of(text):
    return text.split("\nRegions of ")[1].split("\n\n")[0].splitlines()[1:]


def check_answer(folder):
    """By default, the regions stand before the functions, no wider than the terminal; without marks there are none."""
    record(folder)
    names = [path.split(" > ")[-1] for path in PATHS]
    rows = table_of(show(folder))
    assert sorted(row.split()[-1] for row in rows[1:]) == sorted(names) and "max" in rows[0], rows
    run(CPUPERF, "--regions", "--spec-file=wall", "--", f"{folder}/shown", cwd=folder)
    assert rows[0].split()[:3] == ["calls", "wall", "self"], rows
    rows = table_of(show(folder, "--rows=24"))
    assert len(rows) == 1 + len(PATHS) and "cpu_clock" in rows[0] and "max" not in rows[0].split(), rows
    assert all(len(row) <= 80 for row in rows), rows
    assert "off_cpu_time" in table_of(show(folder))[0]
    run(CPUPERF, "--regions", "--", "true", cwd=folder)
    assert "egions" not in show(folder), show(folder)


run_checks(globals(), everybody=True)
