#!/usr/bin/env python3
"""--report=series and --report=top-down against arithmetic of our own over the bytes of traces.

Uses software and misc events only; what top-down derives needs a PMU, and is checked if there is one.
"""
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

from kit import CPUPERF, may_sample, output, PRINT

COUNT, VALUE, SHARE = 1, 2, 3
ENDED = 32  # READING_ENDED of base/reading.h
OF_CPU, OF_THINGS = (1, 3), 4
START, END, TICK = range(3)


def show(folder, *args, how="csv", report="series", **environment):
    return output(PRINT, f"--session={folder}/s.cpsession", f"--report={report}", "--quiet",
               f"--output-format={how}", *args, **environment)


def points(folder, *args):
    return list(csv.DictReader(io.StringIO(show(folder, *args))))


def facts(trace):
    """Kind, scope and scale of each event, from the bytes of the events frame."""
    out, at = [], 8
    payload, = trace.of(2)
    for _ in range(struct.unpack_from("<I", payload)[0]):
        length, _, kind, scope = struct.unpack_from("<IIII", payload, at)
        text = at + 40 + struct.unpack_from("<I", payload, at + 36)[0]
        for _ in range(7):
            text += 2 + struct.unpack_from("<H", payload, text)[0]
        out.append((kind, scope, struct.unpack_from("<d", payload, text)[0] or 1))
        at += 4 + length
    return out


def readings(trace):
    """(event, instance): [boundary, time, raw, enabled, running, base] in the order of time. A process that has ended is
    listed, and read as before, until it is waited for: what is the same after that is its last reading."""
    out, ended = {}, {}
    for payload in trace.of(4):
        boundary, length, nr, _ = struct.unpack_from("<IIII", payload)
        for i in range(nr):
            event, instance, state, flags, *rest = struct.unpack_from("<IIIIQQQQQ", payload,
                                                                      16 + i * length)
            if state == 1:
                out.setdefault((event, instance), []).append((boundary, *rest))
            if flags & ENDED:
                ended[event, instance] = min(rest[0], ended.get((event, instance), rest[0]))
    # the counts of the timebase's group are readings at the time of its sample
    for s in trace.samples():
        if "read" not in s:
            continue
        (enabled, running), members = s["read"]
        group = next(v[3] for k, v in trace.ids.items() if s.get("id", k) == k and v[0] == s["event"])
        places = [v[:2] for v in trace.ids.values() if v[3] == group]
        assert len(places) == len(members)
        for (event, instance), (raw, *_) in zip(places, members):
            out.setdefault((event, instance), []).append((TICK, s["time"], raw, enabled, running, 0))
    for of_event in out.values():
        of_event.sort(key=lambda r: ({START: 0, TICK: 1, END: 2}[r[0]], r[1]))
    for key, end in ended.items():
        out[key] = [r for r in out[key] if r[1] <= end]
    return out


def number(kind, scale, a, b):
    """What is shown of two readings; None: no number."""
    (_, t0, raw0, on0, run0, base0), (_, t1, raw1, on1, run1, base1) = a, b
    if kind == VALUE:
        return raw1 * scale
    if raw1 < raw0 or base1 < base0:
        return None
    if kind == SHARE:
        return 100 * (raw1 - raw0) / (base1 - base0) if base1 > base0 else None
    if on1 > on0 and run1 == run0:
        return None
    ran = (on1 - on0) / (run1 - run0) if run1 - run0 < on1 - on0 else 1
    return (raw1 - raw0) * ran * scale * 1e9 / (t1 - t0) if t1 > t0 else None


def expected(trace):
    """(event, cpu or "all", thing or "", time of the end): the number, and other fields."""
    out, about = {}, facts(trace)
    for (event, instance), of_event in readings(trace).items():
        kind, scope, scale = about[event]
        cpu = str(trace.cpu) if scope in OF_CPU else "all"
        thing = str(instance) if scope == OF_THINGS else ""
        for a, b in zip(of_event, of_event[1:]):
            if scope == OF_THINGS and a[1:] == b[1:]:
                continue  # the end repeats the last reading of a process that has ended
            on, ran, base = (b[i] - a[i] for i in (3, 4, 5))
            fields = {"raw": b[2] if kind == VALUE else b[2] - a[2],
                      "base": base if kind == SHARE else "",
                      "enabled_ns": on if b[3] else "", "running_ns": ran if b[3] else "",
                      "span_ns": "" if kind == VALUE else b[1] - a[1],
                      "time_ns": b[1] - trace.end[0]}
            out[event, cpu, thing, str(b[1])] = number(kind, scale, a, b), fields
    return out


def is_near(shown, value):
    return math.isclose(float(shown), value, rel_tol=1e-6, abs_tol=2e-9)


def per(row):
    """What a count per second is divided by: a time is a share of the time that passed."""
    unit = row["unit"]
    assert unit == "%" or unit.endswith("/s") or row["kind"] == "value", row
    return 1e7 if row["kind"] == "count" and unit == "%" else 1


def check_points(folder):
    """Each pair of readings that follow one another is a point, and the other way round."""
    traces = sampled.traces(folder)
    names = [(e["group"], e["name"]) for e in traces[0].events]
    about = facts(traces[0])
    rows = [r for r in points(folder) if r["kind"] not in ("samples", "metric")]
    found = {(names.index((r["group"], r["event"])), r["cpu"], r["thing"], r["monotonic_ns"]): r
             for r in rows if r["state"] not in ("not supported", "no permission")}
    nr = 0
    assert len(found) == sum(r["state"] not in ("not supported", "no permission") for r in rows)
    for trace in traces:
        for key, (value, fields) in expected(trace).items():
            row = found.pop(key)
            if value is None:
                assert not row["value"] and row["state"] != "ok", (row, key)
                continue
            assert is_near(row["value"], value / per(row)), (row, value)
            assert {name: row[name] for name in fields} == \
                {name: str(n) for name, n in fields.items()}, (row, fields)
            nr += 1
    check_totals(folder, [r for r in rows if about[names.index((r["group"], r["event"]))][1] in OF_CPU])
    # what is left: totals, sums over things, and things that came later, which count from 0
    for (event, cpu, *_), row in found.items():
        assert about[event][1] == OF_THINGS or cpu == "all", row
    return nr


def check_totals(folder, rows):
    """Each iteration has a point over its CPUs, of what the summary's rows of them come to."""
    cells = list(csv.DictReader(io.StringIO(show(folder, report="summary"))))
    totals = {(c["iteration"], c["group"], c["event"]): c for c in cells if not c["trace"]}
    for r in rows:
        if r["cpu"] == "all":
            c = totals[r["iteration"], r["group"], r["event"]]
            assert [r[n] for n in ("state", "raw", "base", "span_ns", "enabled_ns")] == \
                [c[n] for n in ("state", "raw", "base", "span_ns", "enabled_ns")], (r, c)
            totals.pop((r["iteration"], r["group"], r["event"]))
    assert all(c["kind"] == "metric" for c in totals.values()), totals


def check_samples(folder):
    """All samples are in some slice, with what they stand for; slices do not overlap."""
    rows = [r for r in points(folder) if r["kind"] == "samples"]
    for trace in sampled.traces(folder):
        for place, event in enumerate(trace.events):
            of_event = [r for r in rows
                        if r["event"] == event["name"] and r["cpu"] == str(trace.cpu)]
            items = [i for i in trace.sampling["items"] if i["event"] == place]
            if not items:
                assert not of_event
                continue
            assert sum(int(r["raw"]) for r in of_event) == sum(i["samples"] for i in items)
            assert sum(int(r["weight"]) for r in of_event) == sum(i["weight"] for i in items)
            at = trace.end[0]
            for r in of_event:
                assert int(r["monotonic_ns"]) - int(r["span_ns"]) == at, r
                at = int(r["monotonic_ns"])
                assert is_near(r["value"], int(r["raw"]) * 1e9 / int(r["span_ns"])), r
            assert at == trace.end[1]


def record(folder, spec, *args):
    output(CPUPERF, f"--spec-file={spec}", f"--output-path-prefix={folder}/t", "--quiet",
        f"--session-result-spec-path={folder}/s.cpsession", *args)


def check_system():
    """The whole machine ten times a second."""
    with tempfile.TemporaryDirectory() as folder:
        record(folder, f"{os.environ['SOURCE_DIR']}/specs/system.cpspec", "--duration=1500ms")
        nr = check_points(folder)
        assert nr > 100, nr
        check_samples(folder)
        check_filters(folder)
        check_text(folder)
    return nr


def check_group():
    """Counts that stand in the timebase's samples, beside misc at its pace; metrics of both."""
    events = [sampled.event("software:cpu_clock", rate=5000000, flags=["timebase"]),
              sampled.event("software:page_faults"),
              sampled.event("software:context_switches", rate=3),
              sampled.event("misc:cpu_user"),
              sampled.event("misc:process_cpu_time", pids=["name:cpuperf", "name:sleep"])]
    metrics = [{"name": "faults", "expr": "1000 * {page_faults} / {cpu_clock}"},
               {"name": "mixed", "expr": "{page_faults} / {cpu_user}"}]
    with tempfile.TemporaryDirectory() as folder:
        spec = sampled.write_spec(folder, events, metrics=metrics)
        with sampled.Busy():  # so that programs have some of the CPU's time in each slice
            sleeps = subprocess.Popen("for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done", shell=True)
            output(CPUPERF, spec, "--duration=400ms", "--quiet")  # some end before it does
            sleeps.wait()
        nr = check_points(folder)
        check_samples(folder)
        rows = points(folder)
        of = {(r["event"], r["cpu"], r["monotonic_ns"]): r for r in rows if r["kind"] == "count" and r["raw"]}
        # a CPU may have samples behind the reading of the end, which then counts less than they: of that there is no number
        made = [r for r in rows if r["event"] == "faults" and r["state"] == "ok"]
        assert len(made) > 20
        # at the ends of the iteration there is one
        assert all(r["cpu"] == "all" for r in rows if r["event"] == "mixed")
        for r in made:
            faults, clock = (int(of[name, r["cpu"], r["monotonic_ns"]]["raw"])
                             for name in ("page_faults", "cpu_clock"))
            assert is_near(r["value"], 1000 * faults / clock), r
        text = show(folder, how="text")
        assert re.search(r"(?m)^mixed +(?!.*n/a)\S", text), text  # by slices of time there is one
        text = show(folder, "--event=metric:*", how="text")  # of events that are not shown
        assert re.search(r"(?m)^faults +(?!.*n/a)\S", text), text
        assert not re.search(r"(?m)^(page_faults|cpu_user)", text), text
    return nr


def check_filters(folder):
    everything = points(folder)
    some = points(folder, "--event=memory_*", "--event=misc:forks")
    assert some == [r for r in everything
                    if r["event"].startswith("memory_") or r["event"] == "forks"]
    one = str(sampled.CPUS[-1])
    of_machine = {r["event"] for r in everything} - {r["event"] for r in everything
                                                     if r["cpu"] != "all"}
    some = [r for r in points(folder, f"--cpu={one}")
            if r["cpu"] == one or r["event"] in of_machine]
    assert some == [r for r in everything if r["cpu"] == one or r["event"] in of_machine]
    some = points(folder, "--from=500ms", "--to=1s")
    assert [r for r in some if r["span_ns"]] == \
        [r for r in everything if r["span_ns"] and int(r["time_ns"]) <= 1000000000 and
         int(r["time_ns"]) - int(r["span_ns"]) >= 500000000]
    values = [r for r in some if not r["span_ns"]]  # of the time since the tick before
    assert all(500000000 < int(r["time_ns"]) <= 1000000000 for r in values) and values
    before = {}  # of each value: when the one before it was read
    for r in (r for r in everything if not r["span_ns"]):
        key = r["event"], r["cpu"], r["thing"]
        if 500000000 < before.get(key, 0) < int(r["time_ns"]) <= 1000000000:
            assert r in values, r
        before[key] = int(r["time_ns"])
    assert not points(folder, "--iteration=7")
    objects = [json.loads(line) for line in show(folder, how="ndjson").splitlines()]
    assert len(objects) == len(everything)
    for o, r in zip(objects, everything):
        assert o.pop("report") == "series"
        assert list(o) == list(r)
        for key, text in r.items():
            is_text = key in ("group", "event", "label", "thing_name", "kind", "state", "unit") \
                or text == "all"
            assert o[key] == (text if is_text and text else None if not text and not is_text else
                              o[key] if is_text else float(text)), (key, o, r)


def check_text(folder):
    """80 columns on demand of nobody: 100; in ASCII where the locale is; the mean is that of all."""
    text = show(folder, how="text", env={"LC_ALL": "C.UTF-8"})
    assert "█" in text
    assert all(len(line) <= 100 or " n/a: " in line for line in text.splitlines()), text
    plain = show(folder, how="text", env={"LC_ALL": "C"})
    assert plain.isascii() and "#" in plain
    rows = [r for r in points(folder) if r["event"] == "context_switches" and r["value"]]
    mean = sum(int(r["raw"]) for r in rows) * 1e9 / sum(int(r["span_ns"]) for r in rows)
    shown = re.search(r"(?m)^context_switches" + 3 * r" +([\d.,]+) ?([kM]?)/s" + "  ", plain)
    assert shown, plain
    low, middle, high = (float(n.replace(",", "")) * {"": 1, "k": 1e3, "M": 1e6}[prefix]
                         for n, prefix in zip(shown.groups()[::2], shown.groups()[1::2]))
    rates = [float(r["value"]) for r in rows]
    for found, of_rows in (low, min(rates)), (middle, mean), (high, max(rates)):
        assert abs(found - of_rows) <= max(1, 1e-3 * of_rows), (shown[0], of_rows)


TALLY = [sampled.event("software:cpu_clock"), sampled.event("software:page_faults"),
         sampled.event("misc:cpu_user"), sampled.event("misc:memory_used"),
         sampled.event("misc:context_switches"), sampled.event("misc:disk_read_bytes"),
         sampled.event("fixed:instructions_retired"), sampled.event("fixed:unhalted_core_cycles")]


def check_tally():
    """A point for each cell of the tables, and metrics over all CPUs."""
    metrics = [{"name": "faults", "expr": "1e9 * {page_faults} / {cpu_clock}"}]
    with tempfile.TemporaryDirectory() as folder:
        spec = sampled.write_spec(folder, TALLY, metrics=metrics, num_iterations=5)
        output(CPUPERF, spec, "--duration=30ms", "--quiet")
        cells = list(csv.DictReader(io.StringIO(show(folder, report="summary"))))
        rows = {(r["iteration"], r["cpu"], r["event"], r["thing_name"]): r for r in points(folder)}
        for c in cells:
            r = rows.pop((c["iteration"], c["cpu"], c["event"], c["thing"]))
            assert r["state"] == c["state"] and r["raw"] == c["raw"], (r, c)
            if not c["value"]:
                assert not r["value"], (r, c)
            elif c["kind"] == "count":
                assert (c["unit"] == "ns") == (r["unit"] == "%"), (r, c)
                rate = float(c["value"]) * 1e9 / int(c["span_ns"])
                assert is_near(r["value"], rate / per(r)), (r, c)
            else:
                assert abs(float(r["value"]) - float(c["value"])) <= 1e-4, (r, c)
        assert not rows, rows
        check_top_down(folder, cells)
        both = output(PRINT, f"--session={folder}/s.cpsession", "--report=summary", "--report=series",
                   "--report=top-down", "--report=series", "--quiet")
        assert both.count("Over time: ") == 2  # a session is read from its start each time
    return len(cells)


def check_top_down(folder, cells):
    """Instructions per cycle, if they were counted; else why not. Without events: which specs."""
    rows = list(csv.DictReader(io.StringIO(show(folder, report="top-down"))))
    assert [r["metric"] for r in rows] == ["ipc", "page_faults"], rows
    sums = {name: [int(c["value"]) for c in cells if c["event"] == name and c["value"]]
            for name in ("instructions_retired", "unhalted_core_cycles")}
    if all(sums.values()):
        ipc = sum(sums["instructions_retired"]) / sum(sums["unhalted_core_cycles"])
        assert is_near(rows[0]["value"], ipc), (rows[0], ipc)
    else:
        assert not rows[0]["value"] and rows[0]["state"] == "n/a"
        text = show(folder, report="top-down", how="text")
        assert re.search(r"(?m)^ipc +n/a +(instructions_retired|unhalted_core_cycles).*: \S", text)
        # page faults are not compared with anything, even where they were counted
        assert re.search(r"(?m)^page_faults +n/a +(instructions_retired|page_faults): \S", text), text
    with tempfile.TemporaryDirectory() as other:
        spec = sampled.write_spec(other, TALLY[2:3])
        output(CPUPERF, spec, "--duration=10ms", "--quiet")
        assert "basic-cpu.cpspec: ipc" in show(other, report="top-down", how="text")
        assert show(other, report="top-down").count("\n") == 1


def main():
    nr = check_system(), check_group() if may_sample("groups") else 0, check_tally()
    print("series: %d and %d points of ticks, %d cells of a tally agree" % nr)


main()
