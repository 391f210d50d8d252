#!/usr/bin/env python3
"""Counters of NVIDIA's GPUs at a rate of their own, of a stand-in for the vendor's libraries whose samples and clock are
known (tests/cuda/standin.c).
"""
import csv
import glob
import io
import json
import os
import signal
import struct
import subprocess
import time

import sampled
from kit import CPUPERF, need_sampling, run, run_checks, show, skip, wait_for
from patience import PATIENCE_S
from marks import BEGIN, END, varint
from sampled import event, write_spec

CUDA = os.environ["CUDA_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))
BUSY = "gpu:pm/sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
TENSOR = "gpu:pm/sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"
MS = 1_000_000
OFFSET = 1_700_000_000_000_000_000
PPM = 150


def with_gpu(words=""):
    return {"CPUPERF_CUDA_PATH": CUDA, "CPUPERF_STANDIN": words}


def ticks(trace, place=0):
    """(time, value in percent) of each reading between the boundaries."""
    return [(rest[0], rest[1] / 1e6) for boundary, event_at, state, rest in trace.all_readings()
            if (boundary, event_at, state) == (2, place, 1)]


def clocks(trace):
    """(GPU's time, CLOCK_MONOTONIC) of each pair."""
    pairs = [struct.unpack_from("<IIIIQQQ", payload) for payload in trace.of(27)]
    assert all(pair[2] == 0 and pair[5] <= pair[6] for pair in pairs), pairs
    return [(gpu_ns, (before_ns + after_ns) // 2) for *_, gpu_ns, before_ns, after_ns in pairs]


def value_at(gpu_ns):
    """What the stand-in says of a sample that ended then."""
    return gpu_ns // 1000 % 1_000_000 / 10_000


def distance(a, b):
    """In microseconds, of two values, which begin anew each second."""
    off = abs(a - b) % 100
    return min(off, 100 - off) * 10_000


def gpu_by_line(pairs, at_ns):
    """The GPU's time of a time that was converted by neighbouring pairs."""
    after = next((i for i, (_, ns) in enumerate(pairs) if ns >= at_ns), len(pairs) - 1)
    (gpu_a, a), (gpu_b, b) = pairs[max(after, 1) - 1], pairs[max(after, 1)]
    return gpu_b + (at_ns - b) * (gpu_b - gpu_a) // (b - a)


def first_traces(folder, nr):
    return [sampled.Trace(f"{folder}/t.{i}.0.cpuperf") for i in range(nr)]


def check_a_tally(folder):
    """Values and times are those of the stand-in, whose clock is fast; each is in the iteration of its time, and the
    stored pairs give the same."""
    run(CPUPERF, write_spec(folder, [event(BUSY, every=0.001)], duration=0.4, num_iterations=3),
        env=with_gpu(f"ppm={PPM}"))
    found, pairs = first_traces(folder, 3), []
    for trace in found:
        pairs += clocks(trace)
    assert len(pairs) >= 4 and pairs == sorted(pairs), pairs
    samples = [ticks(trace) for trace in found]
    for trace, of_trace in zip(found, samples):
        start_ns, end_ns = trace.end[0], trace.end[1]
        times = [at for at, _ in of_trace]
        assert times == sorted(set(times)), times
        # the boundary is read soon after the end was due, but that may last on a busy machine: not for an iteration
        assert times[0] > start_ns - MS and times[-1] <= 2 * end_ns - start_ns, (start_ns, times[0], times[-1], end_ns)
        for at, value in of_trace:
            gpu = OFFSET + at + at * PPM // 1_000_000
            assert distance(value, value_at(gpu)) < 200, (at, value, value_at(gpu))
            assert distance(value, value_at(gpu_by_line(pairs, at))) < 2, (at, value)
    every = [at for of_trace in samples for at, _ in of_trace]
    steps = [b - a for a, b in zip(every, every[1:])]
    assert 0 < min(steps) and max(steps) < 1.5 * MS, (min(steps), max(steps))  # none is missing between two iterations
    assert len(every) > 1000, len(every)
    assert all("was held up" in note for note in found[0].notes), found[0].notes
    compare_reports(folder, every, [value for of_trace in samples for _, value in of_trace])


def at_boundaries(trace):
    """(boundary, time, value in percent) of the readings at both ends."""
    return [(boundary, rest[0], rest[1] / 1e6) for boundary, event_at, state, rest in trace.all_readings()
            if boundary != 2 and (event_at, state) == (0, 1)]


def check_boundaries(folder):
    """An iteration has the newest sample at its end, with its time; so has one after a gap."""
    run(CPUPERF, write_spec(folder, [event(BUSY, every=0.001)], duration=0.3, num_iterations=3, delay=0.2),
        env=with_gpu(f"ppm={PPM}"))
    for trace in first_traces(folder, 3):
        (_, begin_at, begin), (_, end_at, end) = at_boundaries(trace)
        assert (end_at, end) == ticks(trace)[-1], (end_at, end, ticks(trace)[-1])
        # a busy machine may be late, but not by the gap
        assert trace.end[1] - end_at < 200 * MS, (trace.end, end_at)
        assert abs(begin_at - ticks(trace)[0][0]) < 200 * MS, (begin_at, ticks(trace)[0])
        for at, value in [(begin_at, begin), (end_at, end)]:
            assert distance(value, value_at(OFFSET + at + at * PPM // 1_000_000)) < 200, (at, value)
    run(CPUPERF, write_spec(folder, [event(BUSY, every=1)], duration=0.1, num_iterations=3), env=with_gpu())
    assert not [at for trace in first_traces(folder, 3) for at in at_boundaries(trace)], "no sample, no number"


def compare_reports(folder, times, values):
    """What shows values over time has them."""
    text = show(folder, "--report=series", "--output-format=csv")
    points = [row for row in csv.DictReader(io.StringIO(text)) if row["thing_name"] == "nvidia0"]
    found = {int(row["monotonic_ns"]): float(row["value"]) for row in points}
    assert all(abs(found[at] - value) < 1e-5 for at, value in zip(times, values) if at in found)
    # of a reading just before a boundary that of the boundary stands in its place
    missing = [at for at in times if at not in found]
    assert len(missing) <= 4, missing
    chrome = json.loads(show(folder, "--output-format=chrome"))
    counters = [e for e in chrome["traceEvents"] if e["ph"] == "C"]
    assert len(counters) >= len(times), len(counters)
    assert "nvidia0" in show(folder, "--output-format=openmetrics")


def check_other_paces(folder):
    """Each 10 ms without the key every; beside others of misc with their own."""
    run(CPUPERF, write_spec(folder, [event(BUSY), event("misc:memory_used", every=0.05)], duration=0.5),
        env=with_gpu())
    trace, = first_traces(folder, 1)
    times = [at for at, _ in ticks(trace)]
    assert len(times) > 25 and all(abs(b - a - 10 * MS) < MS / 2 for a, b in zip(times, times[1:])), times
    assert trace.ticks(1)


def check_a_sampling_session(folder):
    need_sampling()
    events = [event("software:cpu_clock", rate=1_000_000, flags=["timebase"]), event(BUSY, every=0.001),
              event("misc:memory_used")]
    run(CPUPERF, write_spec(folder, events, duration=0.4, num_iterations=2), env=with_gpu(f"ppm={PPM}"))
    found = first_traces(folder, 2)
    for trace in found:
        of_trace = ticks(trace, 1)
        times = [at for at, _ in of_trace]
        assert len(times) > 200 and max(b - a for a, b in zip(times, times[1:])) < 1.5 * MS, times
        assert times[-1] <= 2 * trace.end[1] - trace.end[0], (times[-1], trace.end)  # reading took time
        assert trace.ticks(2), "the timebase's pace goes on"
        for at, value in of_trace:
            assert distance(value, value_at(OFFSET + at + at * PPM // 1_000_000)) < 200, (at, value)


def helper_of(p):
    """The process that samples, of a session."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(path, encoding="utf-8", errors="replace") as f:
                    pid, rest = int(path.split("/")[2]), f.read()
            except OSError:
                continue
            if "(cpuperf-gpu-pm)" in rest and rest.rsplit(")", 1)[1].split()[1] == str(p.pid):
                return pid
        time.sleep(0.05)
    raise AssertionError("no process samples")


def check_a_killed_helper(folder):
    """The session goes on, and says so once; the events have no numbers from then on."""
    option = write_spec(folder, [event(BUSY, every=0.001), event("misc:memory_used")], duration=0.3, num_iterations=60)
    with subprocess.Popen([CPUPERF, option], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                          env={**os.environ, **with_gpu()}) as p:
        pid = helper_of(p)
        wait_for(p, f"{folder}/t.0.0.cpuperf")
        os.kill(pid, signal.SIGKILL)
        end = len(glob.glob(f"{folder}/t.*.0.cpuperf")) + 3
        wait_for(p, f"{folder}/t.{end}.0.cpuperf")
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=PATIENCE_S)
    assert p.returncode == 0, (p.returncode, err)
    assert err.count("cpuperf-gpu-pm, which samples GPUs by the vendor's libraries, has ended") == 1, err
    last = first_traces(folder, end)[-1]
    assert not ticks(last), "nothing samples"
    assert (1, 1) in last.readings and (1, 0) not in last.readings, last.readings


def check_a_helper_that_hangs(folder):
    done = run(CPUPERF, write_spec(folder, [event(BUSY, every=0.001)], duration=0.3, num_iterations=3),
               env=with_gpu("hang=cuptiPmSamplingDecodeData,from=4"))
    assert done.stderr.count("does not answer: the events of gpu:pm/ end there") == 1, done.stderr


def check_it_ends_with_its_session(folder):
    option = write_spec(folder, [event(BUSY)], duration=0.1, num_iterations=0)
    with subprocess.Popen([CPUPERF, option], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          env={**os.environ, **with_gpu("hang=cuptiPmSamplingDecodeData,from=20")}) as p:
        pid = helper_of(p)
        time.sleep(1.5)  # it hangs by now
        p.kill()
        p.wait()
    deadline = time.monotonic() + PATIENCE_S
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.05)


def check_refusals(folder):
    """One line and what to do; the other events are measured."""
    for words, path, said, hint in [
            ("cuptiPmSamplingEnable=35", CUDA, "reserved for administrators", "NVreg_RestrictProfilingToAdminUsers=0"),
            ("passes=2", CUDA, "they need 2 passes", "fewer"),
            ("", f"{CUDA}_old", "PM sampling needs that of CUDA 12.6", "CPUPERF_CUDA_PATH")]:
        option = write_spec(folder, [event(BUSY), event("misc:memory_used")], duration=0.01)
        done = run(CPUPERF, option, env={"CPUPERF_CUDA_PATH": f"{path}:{CUDA}", "CPUPERF_STANDIN": words})
        lines = [line for line in done.stderr.splitlines() if said in line]
        assert len(lines) == 1 and BUSY in lines[0] and hint in done.stderr, done.stderr
    done = run(CPUPERF, write_spec(folder, [event("gpu:pm/sm__cycles active")], duration=0.01), code=None, env=with_gpu())
    assert done.returncode and "no name of a metric" in done.stderr, done.stderr


def check_a_lost_gpu_and_a_full_buffer(folder):
    option = write_spec(folder, [event(BUSY, every=0.001)], duration=0.3, num_iterations=2)
    done = run(CPUPERF, option, env=with_gpu("cuptiPmSamplingDecodeData=9,from=4"))
    assert done.stderr.count("nvidia0: the GPU is lost") == 1, done.stderr
    # in between: where nothing follows, as beside a load, or nothing was before, there is no gap
    option = write_spec(folder, [event(BUSY, every=0.001)], duration=0.8, num_iterations=2)
    done = run(CPUPERF, option, env=with_gpu("overflow=8"))
    assert "samples of nvidia0 were lost: the buffer of the hardware was full" in done.stderr, done.stderr
    lost = int(done.stderr.split(" samples of nvidia0 were lost")[0].split()[-1])
    times = [at for trace in first_traces(folder, 2) for at, _ in ticks(trace)]
    gap = max(b - a for a, b in zip(times, times[1:]))
    assert abs(gap - (lost + 1) * MS) < MS, (gap, lost)


def check_a_full_queue(folder):
    """More samples than an iteration holds: a warning says how many are missing."""
    names = [f"gpu:pm/sm__cycles_active.sum.metric{i}" for i in range(30)]
    for duration in (1.5, 3, 6, 12):  # beside a load fewer come in a time
        done = run(CPUPERF, write_spec(folder, [event(name, every=0.001) for name in names], duration=duration),
                   env=with_gpu("devices=16"))
        if "a tally holds no more of an iteration" in done.stderr:
            return
    raise AssertionError(done.stderr)


def check_a_flight_recorder(folder):
    """Only what is of its span is written."""
    need_sampling()
    run(CPUPERF, "-e", "software:cpu_clock@997Hz", "-e", BUSY, "--flight-recorder=0.3s", "--", "sleep", "1.6", cwd=folder,
        env=with_gpu())
    path, = glob.glob(f"{folder}/cpuperf.session/*.0.0.cpuperf")
    trace = sampled.Trace(path)
    place, = [i for i, e in enumerate(trace.events) if e["name"].startswith("pm/")]
    times = [at for at, _ in ticks(trace, place)]
    assert all(abs(b - a - 10 * MS) < MS / 2 for a, b in zip(times, times[1:])), times
    assert 10 < len(times) < 40, len(times)
    assert times[0] > trace.end[1] - 320 * MS, (times[0], trace.end)
    assert trace.end[1] - times[-1] < 200 * MS, (times[-1], trace.end)


def check_a_library_that_others_may_write(folder):
    """Root loads nothing that another user can have changed."""
    if os.geteuid():
        skip("only root's programs refuse that")
    for name in ["libcuda.so.1", "libcupti.so.12"]:
        with open(f"{CUDA}/{name}", "rb") as f, open(f"{folder}/{name}", "wb") as out:
            out.write(f.read())
    os.chmod(f"{folder}/libcuda.so.1", 0o777)
    option = write_spec(folder, [event(BUSY), event("misc:memory_used")], duration=0.01)
    done = run(CPUPERF, option, env={"CPUPERF_CUDA_PATH": folder, "CPUPERF_STANDIN": ""})
    assert "is not loaded by root" in done.stderr, done.stderr


def regions_of(path):
    """(begin, end) of each region, by the marks."""
    spans, begun = [], None
    for payload in sampled.Trace(path).of(24):
        nr, = struct.unpack_from("<I", payload, 24)
        at, now = 28, 0
        for _ in range(nr):
            head, (delta, at) = payload[at], varint(payload, at + 1)
            now += delta
            for bit in (0x20, 0x40, 0x80):
                if head & bit:
                    _, at = varint(payload, at)
            if head & 0x1f == BEGIN:
                begun = now
            if head & 0x1f == END:
                spans.append((begun, now))
    return spans


def check_regions_of_nvtx(folder):
    """Samples lie where the regions are in which the program used the GPU: their times are of one clock."""
    need_sampling()
    program = os.path.join(folder, "prog")
    run("cc", "-O1", "-o", program, f"{HERE}/gpu_region.c", "-ldl")
    run(CPUPERF, "--regions", f"--event={TENSOR}@0.001s", "--", program, f"{folder}/times", f"{folder}/since", cwd=folder,
        env=with_gpu(f"ppm={PPM},file={folder}/times"))
    common, = glob.glob(f"{folder}/cpuperf.session/*.common.cpuperf")
    regions = regions_of(common)
    assert len(regions) == 5, regions
    events = [trace for path in sorted(glob.glob(f"{folder}/cpuperf.session/*.0.0.cpuperf"))
              for trace in [sampled.Trace(path)]]
    places = [i for i, e in enumerate(events[0].events) if e["name"].startswith("pm/")]
    samples = [s for trace in events for s in ticks(trace, places[0])]
    # what the program wrote is within its marks, between which it may have had no CPU, nor before the time was in the file
    with open(f"{folder}/times", encoding="ascii") as f, open(f"{folder}/since", encoding="ascii") as since:
        used = [(int(begin), int(line.split()[1])) for line, begin in zip(f, since)]
    assert len(used) == 5 and all(a <= c < d <= b for (a, b), (c, d) in zip(regions, used)), (regions, used)
    inside = [v for at, v in samples if any(a + 2 * MS < at < b - 2 * MS for a, b in used)]
    outside = [v for at, v in samples if not any(a - 2 * MS < at < b + 2 * MS for a, b in regions)]
    assert len(inside) > 150 and set(inside) == {100.0}, (len(inside), set(inside))
    assert len(outside) > 100 and set(outside) == {0.0}, (len(outside), set(outside))


run_checks(globals())
