#!/usr/bin/env python3
"""OpenMetrics of sessions recorded here: does the format's own parser take it, is every number that of
the summary's csv, are units and names what they should be, and is nothing that was not counted given
as 0? CPUPERF, CPUPERF_PRINT and MIX name the programs.
"""
import collections
import csv
import decimal
import glob
import io
import json
import os
import struct
import subprocess
import sys
import tempfile

from kit import may_sample
import sampled
from sampled import CPUS, crc32c, event, finish

try:
    from prometheus_client.openmetrics import parser
    from prometheus_client.samples import Timestamp
except ImportError:
    print("skip: no prometheus_client, python3-prometheus-client has it")
    sys.exit(77)

# Debian 12's parser compares seconds or nanoseconds, so it takes 1.9, 2.0 for times that go back.
Timestamp.__gt__ = lambda self, other: (self.sec, self.nsec) > (other.sec, other.nsec)

PRINT = os.environ["CPUPERF_PRINT"]
Decimal = decimal.Decimal
FACTORS = {"ns": Decimal("1e-9"), "%": Decimal("0.01")}
ODD_LABEL = 'a "b" \\ d=e,'
EVENTS = [
    event("software:context_switches", label=ODD_LABEL),
    event("software:major_faults", label="rare"),
    event("software:task_clock"),
    event("software:page_faults", label="twin1"),
    event("software:page_faults", label="twin2", flags=["user"]),
    event("fixed:instructions_retired"), event("fixed:unhalted_core_cycles"),
    event("misc:memory_used"), event("misc:cpu_utilization"),
    event("misc:net_rx_bytes"), event("misc:process_rss"), event("misc:process_cpu_time"),
]
METRICS = [{"name": "switches per s", "expr": f"{{{ODD_LABEL}}} / duration", "unit": "1/s"},
           {"name": "micro", "expr": "{task_clock} / 1000", "unit": "µs"},
           {"name": "size", "expr": "{memory_used} / 1024", "unit": "KiB"},
           {"name": "growth", "expr": "{memory_used} / duration", "unit": "B/s"},
           {"name": "all", "expr": "{memory_used}", "unit": "total"}]


def output(*args, **env):
    done = subprocess.run([PRINT, "--quiet", *args], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=600, check=False,
                          env={**os.environ, **env})
    assert done.returncode == 0, (args, done.stderr)
    return done.stdout


def families(text):
    assert text.endswith("# EOF\n")
    return {f.name: f for f in parser.text_string_to_metric_families(text)}


def cells(file, *args):
    return list(csv.DictReader(io.StringIO(output(
        f"--session={file}", "--report=summary", "--output-format=csv", *args), newline="")))


def change_frames(folder, change):
    """What change makes of (iteration, kind, payload) of the frames of each trace."""
    for path in glob.glob(f"{folder}/t.[0-9]*.cpuperf"):
        with open(path, "rb") as f:
            data = bytearray(f.read())
        at, iteration = 192, int(os.path.basename(path).split(".")[1])
        while at + 16 <= len(data):
            kind, flags, length = struct.unpack_from("<HHI", data, at + 4)
            if not flags & 1:
                payload = change(iteration, kind, bytes(data[at + 16:at + 16 + length]))
                data[at + 16:at + 16 + length] = payload
                struct.pack_into("<I", data, at + 12, crc32c(data[at + 4:at + 12] + payload))
            at += 16 + (length + 7) // 8 * 8
        with open(path, "wb") as f:
            f.write(data)


def multiplex(folder):
    """As if the first event had been counted half of the time, and the second not at all in an
    iteration."""
    starts = {}

    def change(iteration, kind, payload):
        if kind == 2:  # and two events are called alike
            return payload.replace(b"twin2", b"twin1")
        if kind != 4:
            return payload
        data = bytearray(payload)
        boundary, size, nr = struct.unpack_from("<III", data)
        for at in range(16, 16 + nr * size, size):
            index, _ = struct.unpack_from("<II", data, at)
            _, _, enabled, running, _ = struct.unpack_from("<5Q", data, at + 16)
            if boundary == 0:
                starts[index] = enabled, running
            elif index == 0 or (index == 1 and iteration == 1):
                half = (enabled - starts[index][0]) // 2 * (index == 0)
                struct.pack_into("<Q", data, at + 40, starts[index][1] + half)
        return bytes(data)
    change_frames(folder, change)


def last_points(family):
    """Of each series, which has its points together, in order of time."""
    last = {}
    for s in family.samples:
        last[s.name, tuple(sorted(s.labels.items()))] = s
    return list(last.values())


def thing_of(labels):
    """As csv has it: "PID COMM" of a process, else the one name."""
    if "pid" in labels:
        return f"{labels['pid']} {labels['comm']}"
    return next((labels[name] for name in ("device", "cgroup", "comm", "thing") if name in labels), "")


def wanted(rows):
    """What the lines should be: by event, number of its column among those of its label, CPU, thing."""
    out, last = collections.defaultdict(Decimal), {}
    states, shares, running = collections.Counter(), {}, {}
    for r in rows:
        if r["kind"] == "metric" or not r["trace"]:
            continue
        cpu = r["cpu"].replace("all", "")
        key = (r["label"], cpu, r["thing"])
        if not r["thing"]:
            states[key[:2], r["state"]] += 1
        if r["enabled_ns"]:
            e, n = running.get(key[:2], (0, 0))
            running[key[:2]] = e + int(r["enabled_ns"]), n + int(r["running_ns"])
        if r["value"] == "":
            continue
        if r["kind"] == "share":
            raw, base = shares.get(key, (0, 0))
            shares[key] = raw + int(r["raw"]), base + int(r["base"])
        elif r["kind"] == "value":
            last[key] = Decimal(r["value"])
        else:
            out[key] += Decimal(r["value"]) * FACTORS.get(r["unit"], 1)
    out.update(last)
    return out, shares, states, running


def check_numbers(file, found, *args):
    rows = cells(file, *args)
    twins = {"twin1"} if not any(r["label"] == "twin2" for r in rows) else set()
    numbers, shares, states, running = wanted(rows)
    seen, halves = set(), collections.Counter()
    for f in found.values():
        if not f.name.startswith(("cpuperf_software", "cpuperf_fixed", "cpuperf_misc")):
            continue
        for s in last_points(f):
            assert s.name == f.name + ("_total" if f.type == "counter" else ""), s
            key = (s.labels["event"], s.labels.get("cpu", ""), thing_of(s.labels))
            assert ("column" in s.labels) == (key[0] in twins), s
            assert ("device" in s.labels) == f.name.startswith("cpuperf_misc_net_"), s
            seen.add(key)
            if key[0] in twins:  # both columns are one row each in the csv
                halves[key] += Decimal(s.value)
            elif key in shares:
                raw, base = shares[key]
                assert abs(s.value - raw / base) < 1e-8, (s, raw, base)
            else:
                assert abs(Decimal(s.value) - numbers[key]) <= abs(numbers[key]) * Decimal(
                    "1e-12"), (s, numbers[key])
    for key, value in halves.items():
        assert abs(value - numbers[key]) < Decimal("1e-6"), key
    of_things = {k for k in numbers if k[0].startswith(("net_", "process_"))}
    assert seen == {k for k in set(numbers) | set(shares) if k not in of_things or k[2]}, seen
    check_states(found, states, running, twins)
    return numbers


def check_states(found, states, running, twins):
    got = collections.Counter()
    for s in last_points(found["cpuperf_event_iterations"]):
        got[(s.labels["event"], s.labels.get("cpu", "")), s.labels["state"]] += int(s.value)
    # what has no CPU is of the first one's row in the csv
    assert {k: n for k, n in got.items() if k[0][1]} == {
        k: n for k, n in states.items() if k[0][1] and (k[0][0], "") not in
        {place for place, _ in got}}, (got, states)
    ratios = [s for s in last_points(found["cpuperf_event_running_ratio"])
              if s.labels["event"] not in twins]
    assert len(ratios) > 1
    for s in ratios:
        enabled, ran = running[s.labels["event"], s.labels["cpu"]]
        assert abs(s.value - ran / enabled) < 1e-8, s


def check_names(found):
    for name, kind, unit in (("cpuperf_software_context_switches", "counter", "switches"),
                             ("cpuperf_software_task_clock_seconds", "counter", "seconds"),
                             ("cpuperf_misc_memory_used_bytes", "gauge", "bytes"),
                             ("cpuperf_misc_net_rx_bytes", "counter", "bytes"),
                             ("cpuperf_misc_process_cpu_time_seconds", "counter", "seconds"),
                             ("cpuperf_misc_cpu_utilization_ratio", "gauge", "ratio"),
                             ("cpuperf_event_running_ratio", "gauge", "ratio"),
                             ("cpuperf_session", "info", ""), ("cpuperf_event", "info", "")):
        f = found[name]
        assert (f.type, f.unit) == (kind, unit) and f.documentation, f
    infos = {s.labels["event"]: s.labels for s in found["cpuperf_event"].samples}
    assert ODD_LABEL in infos and infos["memory_used"]["metric_family"] == \
        "cpuperf_misc_memory_used_bytes"
    for name in ("instructions_retired", "unhalted_core_cycles"):
        if infos[name]["state"] != "ok":  # no number, so no family
            assert f"cpuperf_fixed_{name}" not in found and infos[name]["reason"], name
    assert len(found["cpuperf_session"].samples[0].labels["session_id"]) == 32


def check_times(file, found):
    ends = sorted({int(r["realtime_ns"]) for r in cells(file)})
    starts = {int(r["realtime_ns"]) - int(r["end_ns"]) + int(r["start_ns"]) for r in cells(file)}
    for f in found.values():
        for s in f.samples:
            assert s.timestamp.sec * 10**9 + s.timestamp.nsec in ends, s
    start = found["cpuperf_session_start_time_seconds"].samples[0].value
    assert abs(start - min(starts) / 1e9) < 1e-5
    spans = {r["iteration"]: int(r["end_ns"]) - int(r["start_ns"]) for r in cells(file)}
    assert abs(found["cpuperf_session_measured_seconds"].samples[-1].value
               - sum(spans.values()) / 1e9) < 1e-9
    nrs = [s.value for s in found["cpuperf_session_iterations"].samples]
    assert nrs == list(range(1, len(spans) + 1)), nrs


def check_points(file, found):
    """A point of each series for each iteration that it has a number in: what was counted up to its end."""
    ends = {int(r["iteration"]): int(r["realtime_ns"]) for r in cells(file)}
    rows = [r for r in cells(file) if r["label"] == ODD_LABEL and r["trace"]]
    got = {}
    for s in found["cpuperf_software_context_switches"].samples:
        got.setdefault(s.labels["cpu"], []).append((s.timestamp.sec * 10**9 + s.timestamp.nsec, int(s.value)))
    for cpu, points in got.items():
        total, expected = 0, []
        for r in sorted((r for r in rows if r["cpu"] == cpu), key=lambda r: int(r["iteration"])):
            total += int(r["value"])
            expected.append((ends[int(r["iteration"])], total))
        assert points == expected and len(points) == len(ends), (cpu, points, expected)
    metrics = [s.value for s in found["cpuperf_metric_switches_per_s_per_second"].samples]
    each = [float(r["value"]) for r in cells(file) if r["label"] == "switches per s" and r["cpu"] == "all"]
    assert len(metrics) == len(each) and all(abs(a - b) <= 1e-6 * b for a, b in zip(metrics, each)), (metrics, each)


def check_units(file, found):
    """Base units, and numbers in them: once there, a "1000" of µs would be read as seconds."""
    for label, name, unit, factor in (("micro", "micro_seconds", "seconds", 1e-6), ("size", "size_bytes", "bytes", 1024),
                                      ("growth", "growth_bytes_per_second", "bytes_per_second", 1), ("all", "all", "", 1)):
        f = found[f"cpuperf_metric_{name}"]
        each = [float(r["value"]) * factor for r in cells(file) if r["label"] == label and r["cpu"] == "all"]
        got = [s.value for s in f.samples]
        assert (f.type, f.unit) == ("gauge", unit) and len(got) == len(each) == 3, (f, each)
        assert all(abs(a - b) <= 1e-6 * b for a, b in zip(got, each)), (label, got, each)


def wait_for_row(p, text):
    for row in p.stdout:
        if text in row:
            return
    raise AssertionError(p.communicate())


def check_ended(folder):
    """Without times, a process that has ended has the sum of what it counted, but no value of now."""
    os.mkdir(folder)
    ending = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    p = sampled.start(folder, [event("misc:process_rss"), event("misc:process_cpu_time")], "--duration=200ms",
                      "--output-format=ndjson", num_iterations=1000)
    try:
        wait_for_row(p, f'"thing":"{ending.pid} ')
    finally:
        ending.kill()
        ending.wait()
    now = json.loads(p.stdout.readline())["iteration"]
    wait_for_row(p, f'"iteration":{now + 2},')
    p.terminate()
    finish(p)
    file = f"--session={folder}/s.cpsession"
    found = families(output(file, "--output-format=openmetrics"))
    rows = [r for r in output(file, "--output-format=prometheus").splitlines() if not r.startswith("#")]
    end = found["cpuperf_session_iterations"].samples[-1].timestamp
    last = last_points(found["cpuperf_misc_process_rss_bytes"])
    own = f'pid="{ending.pid}"'
    assert any(s.labels["pid"] == str(ending.pid) and s.timestamp != end for s in last), last
    values = [float(r.rpartition(" ")[2]) for r in rows if r.startswith("cpuperf_misc_process_rss_bytes{")]
    assert sorted(values) == sorted(s.value for s in last if s.timestamp == end) and values, (values, last)
    assert not [r for r in rows if own in r and "_rss_" in r], rows
    times = [float(r.rpartition(" ")[2]) for r in rows if own in r and "_cpu_time_" in r]
    assert len(times) == 1 and times[0] > 0, rows


def check_classic(file, numbers):
    """The sums over all, once, without a time."""
    text = output(f"--session={file}", "--output-format=prometheus")
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    assert "# EOF" not in text and "# UNIT" not in text and len({r.rpartition(" ")[0] for r in rows}) == len(rows), text
    for cpu in map(str, CPUS):
        row, = [r for r in rows if r.startswith("cpuperf_software_context_switches_total{") and f'cpu="{cpu}"' in r]
        assert Decimal(row.rpartition(" ")[2]) == numbers[ODD_LABEL, cpu, ""], (row, numbers)
    metric, = [r for r in rows if r.startswith("cpuperf_metric_switches_per_s")]
    totals = [float(r["value"]) for r in cells(file) if r["label"] == "switches per s" and r["cpu"] == "all"]
    value = float(metric.rpartition(" ")[2])
    assert abs(value - sum(totals) / len(totals)) <= 1e-6 * value, metric


def set_clock_back(folder):
    """As if the clock of the day had been set back by an hour before the second iteration."""
    def change(iteration, kind, payload):
        if kind != 3 or iteration == 0:
            return payload
        monotonic, boottime, realtime = struct.unpack("<3Q", payload)
        return struct.pack("<3Q", monotonic, boottime, realtime - 3600 * 10**9)
    change_frames(folder, change)


def check_clock_set_back(folder):
    """Times of a series go on from the iteration before, by the session's own clock."""
    file = f"{folder}/s.cpsession"
    expected = sorted(int(r["realtime_ns"]) for r in cells(file) if r["label"] == ODD_LABEL and r["cpu"] == "0")
    set_clock_back(folder)
    assert min(int(r["realtime_ns"]) for r in cells(file)) < expected[0] - 3500 * 10**9
    found = families(output(f"--session={file}", "--output-format=openmetrics"))
    points = [s.timestamp.sec * 10**9 + s.timestamp.nsec for s in found["cpuperf_session_iterations"].samples]
    assert len(points) == 3 and all(abs(a - b) < 10**6 for a, b in zip(points, expected)), (points, expected)


def check_tally(folder):
    os.mkdir(folder)
    finish(sampled.start(folder, EVENTS, "--duration=60ms", num_iterations=3, metrics=METRICS))
    file = f"{folder}/s.cpsession"
    text = output(f"--session={file}", "--output-format=openmetrics")
    assert text == output(f"--session={file}", "--output-format=openmetrics",
                          LC_ALL="de_DE.UTF-8", LANG="de_DE.UTF-8")
    found = families(text)
    check_names(found)
    numbers = check_numbers(file, found)
    check_times(file, found)
    check_points(file, found)
    check_units(file, found)
    check_classic(file, numbers)
    check_clock_set_back(folder)
    multiplex(folder)
    changed = families(output(f"--session={file}", "--output-format=openmetrics"))
    shares = [s.value for s in last_points(changed["cpuperf_event_running_ratio"])
              if s.labels["event"] == ODD_LABEL]
    assert len(shares) in (len(CPUS), os.cpu_count()) and all(abs(s - 0.5) < 1e-6 for s in shares), shares
    less = check_numbers(file, changed)
    for cpu in map(str, CPUS):
        assert abs(less[ODD_LABEL, cpu, ""] - 2 * numbers[ODD_LABEL, cpu, ""]) <= 3
        missing, = [s.value for s in last_points(changed["cpuperf_event_iterations"])
                    if (s.labels["event"], s.labels["cpu"] if "cpu" in s.labels else "",
                        s.labels["state"]) == ("rare", cpu, "not counted")]
        assert missing == 1
    for args in (["--cpu=0"], ["--iteration=1"]):
        found = families(output(f"--session={file}", "--output-format=openmetrics", *args))
        check_numbers(file, found, *args)
    # not counted in all there is: no line, and no 0
    assert "cpuperf_software_major_faults" not in found
    none = families(output(f"--session={file}", "--output-format=openmetrics", "--iteration=99"))
    assert none["cpuperf_session"].samples and "cpuperf_event_iterations" not in none


def check_samples(folder):
    os.mkdir(folder)
    busy = sampled.mix("ms", 60000, 1, CPUS[0])
    try:
        finish(sampled.start(folder, [event("software:cpu_clock", rate=1000000),
                                      event("misc:memory_used")], "--duration=100ms",
                             num_iterations=2))
    finally:
        busy.kill()
        busy.wait()
        busy.stdout.close()
    file = f"{folder}/s.cpsession"
    found = families(output(f"--session={file}", "--output-format=openmetrics"))
    sums = collections.Counter()
    for r in cells(file):
        for name in ("samples", "idle", "weight", "lost", "throttled"):
            if r[name] and r["trace"]:
                sums[name, r["label"], r["cpu"]] += int(r[name])
    for name in ("samples", "idle", "weight", "lost", "throttled"):
        f = found["cpuperf_samples" + ("" if name == "samples" else f"_{name}")]
        assert {(name, s.labels["event"], s.labels["cpu"]): s.value for s in last_points(f)} == {
            k: v for k, v in sums.items() if k[0] == name}, name
        assert f.type == "counter" and f.samples, f
    assert sum(s.value for s in last_points(found["cpuperf_samples"])) > (100 if sampled.may_sample() else 0)
    assert all(s.value == 0 for s in found["cpuperf_records_lost"].samples)


def check_refusals(folder):
    file = f"--session={folder}/s.cpsession"
    for args, why in (([file, "--report=summary"], "and --report=summary are mutually exclusive"),
                      ([file, file.replace("tally", "sampling")], "prints one session or one job")):
        done = subprocess.run([PRINT, *args, "--output-format=openmetrics"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        assert done.returncode == 2 and not done.stdout, done
        assert f"error: --output-format=openmetrics {why}\n" in done.stderr, done.stderr


def main():
    with tempfile.TemporaryDirectory() as top:
        may_tally = may_sample("check_tally, check_refusals")
        if may_tally:
            check_tally(f"{top}/tally")
        check_samples(f"{top}/sampling")
        check_ended(f"{top}/ended")
        if may_tally:
            check_refusals(f"{top}/tally")


main()
