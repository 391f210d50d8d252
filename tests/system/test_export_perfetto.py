#!/usr/bin/env python3
"""--output-format=perfetto: is it a trace of known fields (protoc), and would a reader of Perfetto
take all of it? It reads packets one after the other and for each sequence by itself, leaves out what
refers to what was not there before, and puts in order of time what is left: so is it read here. What
is read must be what the reports say, and samples what is in the bytes of the traces.
"""
import collections
import csv
import io
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import protos  # noqa: E402
import kit
import sampled  # noqa: E402
from kit import output, PRINT, without_totals
from sampled import event  # noqa: E402

MIX = os.environ["MIX"]
CLEARED, NEEDS_STATE = 1, 2
REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6
KERNEL_MODE, USER_MODE = 1, 2
KERNEL = "[kernel.kallsyms]"
TWO_NAMES = """
import ctypes, threading
def run(name):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    while True:
        pass
threading.Thread(target=run, args=(b"other",), daemon=True).start()
run(b"first")
"""
SAMPLED = [event("software:cpu_clock", rate=1000000, flags=["callchain", "timebase"]),
           event("software:page_faults", rate=1, flags=["callchain"])]
COUNTED = [sampled.counted(rate=0), event("misc:cpu_utilization", rate=0),
           event("misc:memory_available", rate=0)]


def show(folder, *args, **how):
    return kit.show(folder, *args, text=False, **how)


def rows(folder, *args):
    text = show(folder, "--output-format=csv", "--top=0", *args).decode()
    return list(csv.DictReader(io.StringIO(text)))


class Sequence:
    """What a reader knows of the packets of one writer."""

    def __init__(self, timebase):
        self.timebase = timebase
        self.interned = collections.defaultdict(dict)

    def intern(self, what, item):
        assert item.iid and item.iid not in self.interned[what], (what, item)
        self.interned[what][item.iid] = item

    def add(self, data):
        # in one message all is known at once, so what is referred to is looked for behind it
        for what in ("function_name", "build_id", "mapping_path", "source_path", "mapping", "frame",
                     "callstack"):
            for item in getattr(data, what):
                self.intern(what, item)
        for item in data.mapping:
            assert item.path and all(i in self.interned["mapping_path"] for i in item.path)
            assert not item.build_id or item.build_id in self.interned["build_id"]
            assert item.start <= item.end
        for item in data.frame:
            assert item.function_name in self.interned["function_name"], item
            assert item.mapping in self.interned["mapping"], item
            assert not item.source_path or item.source_path in self.interned["source_path"]
        for item in data.callstack:
            assert item.frame and all(i in self.interned["frame"] for i in item.frame)

    def text(self, what, iid):
        return self.interned[what][iid].text.decode()

    def frames(self, callstack):
        """name, path, place, of each frame, the outermost first."""
        out = []
        for i in self.interned["callstack"][callstack].frame:
            frame = self.interned["frame"][i]
            path, = self.interned["mapping"][frame.mapping].path
            out.append((self.text("function_name", frame.function_name),
                        self.text("mapping_path", path), frame.rel_pc, frame.line))
        return out


Sample = collections.namedtuple("Sample", "event time cpu pid tid mode count frames")


class Trace:
    """What a reader makes of it."""

    def __init__(self, messages, data):
        protos.check_known("perfetto", "Trace", data)
        self.sequences, self.tracks, self.clocks = {}, {}, []
        self.samples, self.values, self.notes, self.lost = [], [], [], collections.Counter()
        self.processes, self.threads, self.system, self.uuid = {}, {}, None, None
        self.config = []
        for packet in messages.Trace.FromString(data).packet:
            self.take(packet)
        self.samples.sort(key=lambda s: s.time)
        assert self.system and self.uuid and self.clocks
        assert bool(self.config) == bool(self.timebases())

    def timebases(self):
        return [s.timebase for s in self.sequences.values() if s.timebase.name]

    def take(self, p):
        assert p.sequence
        if p.sequence_flags & CLEARED:
            assert p.sequence not in self.sequences and p.first_on_sequence
            assert p.defaults.clock == MONOTONIC
            self.sequences[p.sequence] = Sequence(p.defaults.perf_samples.timebase)
            return
        assert p.sequence in self.sequences and not p.HasField("defaults")
        if p.HasField("timestamp"):
            assert self.clocks, "a time before any clock"
        if p.HasField("interned"):
            self.sequences[p.sequence].add(p.interned)
        if p.HasField("interned") or p.HasField("perf_sample") or p.HasField("track_event"):
            assert p.sequence_flags == NEEDS_STATE and p.timestamp
        for what in ("clock_snapshot", "uuid", "system", "config", "track", "track_event",
                     "perf_sample"):
            if p.HasField(what):
                getattr(self, "take_" + what)(getattr(p, what), p)

    def take_clock_snapshot(self, m, _):
        now = {c.id: c.timestamp for c in m.clock}
        assert set(now) == {REALTIME, MONOTONIC, BOOTTIME} and m.primary == BOOTTIME
        assert not self.clocks or self.clocks[-1][MONOTONIC] < now[MONOTONIC]
        self.clocks.append(now)

    def take_uuid(self, m, _):
        self.uuid = struct.pack(">qq", m.msb, m.lsb)

    def take_system(self, m, _):
        self.system = m

    def take_config(self, m, _):
        self.config = [s.config for s in m.source]

    def take_track(self, m, p):
        assert m.uuid and m.uuid not in self.tracks
        assert not m.parent or m.parent in self.tracks
        self.tracks[m.uuid] = m
        if m.HasField("process"):
            pid = m.process.pid % 2**32  # -1: of a task that had gone
            assert pid not in self.processes and p.timestamp
            self.processes[pid] = m.process.name
        if m.HasField("thread"):
            task = m.thread.pid % 2**32, m.thread.tid % 2**32
            assert task not in self.threads and p.timestamp
            assert self.tracks[m.parent].process.pid == m.thread.pid
            self.threads[task] = m.thread.name

    def take_track_event(self, m, p):
        track = self.tracks[m.track]
        if m.type == 4:
            assert track.HasField("counter") and m.HasField("value")
            self.values.append((track, p.timestamp, m.value))
        else:
            assert m.type == 3 and m.name and track.name == "cpuperf"
            self.notes.append(m.name)

    def take_perf_sample(self, m, p):
        s = self.sequences[p.sequence]
        assert s.timebase.name and s.timebase.clock == 2
        if m.records_lost:
            assert not m.pid
            self.lost[m.cpu] += m.records_lost
            return
        assert m.callstack in s.interned["callstack"] and m.mode in (KERNEL_MODE, USER_MODE)
        self.samples.append(Sample(s.timebase.name, p.timestamp, m.cpu, m.pid, m.tid, m.mode,
                                   m.timebase_count, s.frames(m.callstack)))

    def realtime(self, time_ns):
        clocks = next((c for c in reversed(self.clocks) if c[MONOTONIC] <= time_ns), self.clocks[0])
        return time_ns - clocks[MONOTONIC] + clocks[REALTIME]


def export(messages, folder, *args, **keys):
    return Trace(messages, show(folder, "--output-format=perfetto", *args, **keys))


# ---- against the reports

def check_samples(folder, trace, *args):
    found = collections.Counter((s.event, s.frames[-1][0]) for s in trace.samples)
    expected = collections.Counter()
    for r in rows(folder, "--report=flat", *args):
        expected[r["event"], r["function"]] += int(r["self_samples"])
    assert found == +expected, (found - expected, expected - found)
    found, expected = collections.Counter(), collections.Counter()
    for s in trace.samples:
        names = (n if n[-1] in ")]" else n + "()" for n, *_ in s.frames)
        found[s.event, "; ".join(names)] += 1
    for r in rows(folder, "--report=stacks", *args):
        expected[r["event"], r["stack"]] += int(r["samples"])
    assert found == expected, (found - expected, expected - found)


def check_threads(folder, trace, *args):
    found = collections.Counter((s.event, s.pid, s.tid) for s in trace.samples)
    expected, names = collections.Counter(), collections.defaultdict(set)
    for r in rows(folder, "--report=threads", *args):
        key = tuple(int(r[k] or 2**32 - 1) for k in ("pid", "tid"))
        expected[r["event"], *key] += int(r["self_samples"])
        names[key].add(r["comm"])
    assert found == expected
    known = {k for k in names if k[0]}
    assert set(trace.threads) == known, set(trace.threads) ^ known
    given = sampled.names_given(folder)
    for k, name in trace.threads.items():
        assert name in names[k] | given[k], (k, name, names[k], given[k])
    assert set(trace.processes) == {pid for pid, _ in trace.threads}
    for pid, name in trace.processes.items():
        if (pid, pid) in trace.threads:
            assert trace.threads[pid, pid] == name


def check_modes(trace):
    for s in trace.samples:
        assert (s.mode == KERNEL_MODE) == (s.frames[-1][1] == KERNEL)
        assert all(place >> 63 for _, path, place, _ in s.frames if path == KERNEL)
    assert {s.mode for s in trace.samples} == {USER_MODE, *[KERNEL_MODE] * sampled.may_measure_kernel()}


def check_counts(trace, folder):
    """Each sample is a period further, from what the counter said at the start of the iteration."""
    nr = 0
    for i in range(sampled.nr_iterations(folder)):
        for t in sampled.traces(folder, i):
            if (0, 0) not in t.readings:  # of no CPU, in a session of processes
                continue
            _, start, *_ = t.readings[0, 0]
            when = {s["time"] for s in t.samples() if s["event"] == 0}
            own = [s.count for s in trace.samples
                   if s.event == "cpu_clock" and s.cpu == t.cpu and s.time in when]
            assert own == [start + 1000000 * (k + 1) for k in range(len(own))], (start, own[:3])
            nr += len(own)
    assert nr == sum(s.event == "cpu_clock" for s in trace.samples)


def leaves(folder, tid):
    """time and function of a thread's samples of the clock, from the bytes of the traces."""
    program, maps = sampled.Program(MIX), sampled.mappings(sampled.common(folder))[tid[0]]
    samples = sorted((s["time"], next(a for a in s["chain"] if a < 2**64 - 4096))
                     for i in range(sampled.nr_iterations(folder)) for t in sampled.traces(folder, i)
                     for s in t.samples() if s["tid"] == tid and s["event"] == 0)
    return [(when, program.function(sampled.find_mapping(maps, a), a)) for when, a in samples]


def check_bytes(folder, trace, pid):
    """Times, threads, and places in the program."""
    tids = {s.tid for s in trace.samples if s.pid == pid}
    assert len(tids) >= 3
    program = sampled.Program(MIX)
    at = sampled.Mapping(0, 0, 2**32, 0, 5, program.path, 0)
    for tid in tids:
        of = [s for s in trace.samples if (s.event, s.tid) == ("cpu_clock", tid)]
        expected = leaves(folder, (pid, tid))
        assert [s.time for s in of] == [when for when, _ in expected]
        for s, (_, function) in zip(of, expected):
            name, path, place, _ = s.frames[-1]
            assert not function or (name, path) == (function, program.path)
            own = program.function(at, place)
            assert path != program.path or (own == name if own else name.startswith("[unknown]")), (name, own, place)
    if sampled.have("readelf"):
        build_id, = re.findall("Build ID: ([0-9a-f]+)", output("readelf", "-n", MIX))
        ids = [{s.text("mapping_path", m.path[0]): s.interned["build_id"][m.build_id].text.hex()
                for m in s.interned["mapping"].values() if m.build_id}
               for s in trace.sequences.values() if s.interned]
        assert ids and all(i.get(program.path) in (None, build_id) for i in ids)
        assert any(i.get(program.path) == build_id for i in ids)


def check_values(folder, trace, *args):
    """Each point of --report=series that has a value, from the start of what it is of."""
    expected = []
    for r in without_totals(rows(folder, "--report=series", *args)):
        if r["kind"] == "samples" or not r["value"]:
            continue
        end, span = int(r["monotonic_ns"]), int(r["span_ns"] or 0)
        name = r["label"] + (f" {r['thing_name']}" if r["thing_name"] else
                             f" CPU {r['cpu']}" if r["cpu"] != "all" else "")
        expected.append((name, r["unit"], end if r["kind"] == "value" else end - span,
                         float(r["value"])))
    found = sorted((t.name, t.counter.unit_name, when, value) for t, when, value in trace.values)
    assert len(found) == len(expected)
    for a, b in zip(found, sorted(expected)):
        assert a[:3] == b[:3] and abs(a[3] - b[3]) <= 1e-6 * abs(b[3]) + 1e-9, (a, b)
    for track, _, _ in trace.values:
        assert not track.parent or track.name.startswith(trace.tracks[track.parent].name)
    return {track.name for track, _, _ in trace.values}


def check_facts(folder, trace, before, after):
    name, system = os.uname(), trace.system
    assert (system.utsname.sysname, system.utsname.release, system.utsname.machine) == \
        ("Linux", name.release, name.machine)
    assert system.hz == os.sysconf("SC_CLK_TCK") and system.page_bytes == os.sysconf("SC_PAGESIZE")
    with open(f"{folder}/t.0.0.cpuperf", "rb") as f:
        assert trace.uuid in f.read(188), "the session's id"
    times = [trace.realtime(s.time) for s in trace.samples]
    assert before <= min(times) and max(times) <= after
    bases = trace.timebases()
    assert {t.name: t.period for t in bases} == {"cpu_clock": 1000000, "page_faults": 1}
    assert [c.perf_event.timebase for c in trace.config] == bases
    assert all(c.name == "linux.perf" for c in trace.config)
    samples = sum(s.event == "cpu_clock" for s in trace.samples)
    for part in ('a "name", odd', f"host {name.nodename}", f"cpu_clock: {samples:,} sample"):
        assert any(part in note for note in trace.notes), trace.notes


# ---- sessions

def threads_of(pid):
    """tid: name"""
    return {int(tid): sampled.comm(f"{pid}/task/{tid}") for tid in os.listdir(f"/proc/{pid}/task")}


def record(folder, events, *args, **keys):
    """The pids of mix, and of a process whose threads are called otherwise. The session ends once each of their threads
    that work had a CPU."""
    with subprocess.Popen([MIX, "ms", "60000", "3"], stdout=subprocess.DEVNULL) as mix, \
            subprocess.Popen([sys.executable, "-c", TWO_NAMES]) as two:
        try:
            while len(threads_of(mix.pid)) < 4 or set(threads_of(two.pid).values()) != {"first\n", "other\n"}:
                time.sleep(0.01)
            threads = [(p.pid, tid) for p in (mix, two) for tid in threads_of(p.pid) if tid != mix.pid]
            p = sampled.start(folder, events, *args, num_iterations=10000, **keys)
            sampled.finish_when(p, folder, [mix, two], 0.1, threads)
        finally:
            mix.kill()
            two.kill()
    return mix.pid, two.pid


def key(sample):
    """What does not depend on which thread read it."""
    return sample[:-1], len(sample.frames)


def check_sampled(messages, folder):
    before = time.time_ns()
    pid, two = record(folder, SAMPLED + COUNTED, "--duration=500ms",
                 config_name='a "name", odd')
    after = time.time_ns()
    trace = export(messages, folder)
    check_facts(folder, trace, before, after)
    check_threads(folder, trace)
    assert trace.processes[two] == trace.threads[two, two] == "first"
    assert {name for (of, _), name in trace.threads.items() if of == two} == {"first", "other"}
    check_modes(trace)
    check_counts(trace, folder)
    check_bytes(folder, trace, pid)
    names = check_values(folder, trace)
    assert {f"{n} CPU {sampled.CPUS[0]}" for n in (sampled.COUNTED, "cpu_utilization")} <= names
    again = export(messages, folder, "--threads=1", env={"LC_ALL": "de_DE.UTF-8"})
    assert sorted(key(s) for s in trace.samples) == sorted(key(s) for s in again.samples)
    # names of others' programs may change meanwhile
    own = [f"--pid={pid}"]
    check_samples(folder, export(messages, folder, *own), *own)
    only = [*own, "--event=cpu_clock"]
    part = export(messages, folder, *only)
    check_samples(folder, part, *only)
    check_threads(folder, part, *only)
    assert set(part.processes.values()) == {"mix"}
    assert any("more are omitted" in note for note in part.notes), part.notes  # others' time may be missing, too
    assert not export(messages, folder, "--comm=nosuch").samples


def check_tally(messages, folder):
    os.mkdir(folder)
    events = [sampled.counted(), event("software:page_faults"),
              event("misc:cpu_utilization"), event("misc:disk_read_bytes")]
    sampled.finish(sampled.start(folder, events, "--duration=100ms", num_iterations=3))
    trace = export(messages, folder)
    assert not trace.samples and not trace.config and check_values(folder, trace)
    error = subprocess.run([PRINT, f"--session={folder}/s.cpsession", "--output-format=pprof"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    assert error.returncode == 1 and "has counts only" in error.stderr


def lose(kind, data, at):
    """As if the ring had lost 7 records, and the clock had run half of its time."""
    if kind == 9:
        struct.pack_into("<Q", data, at + 32, 7)
    boundary, length, nr = struct.unpack_from("<III", data, at)
    for reading in range(at + 16, at + 16 + nr * length, length) if (kind, boundary) == (4, 1) else ():
        if struct.unpack_from("<I", data, reading) == (0,):
            enabled, = struct.unpack_from("<Q", data, reading + 32)
            struct.pack_into("<Q", data, reading + 40, enabled // 2)


def counted_percent(folder):
    """For how much of the time the clock ran, by the readings."""
    enabled = running = 0
    for t in (t for i in range(sampled.nr_iterations(folder)) for t in sampled.traces(folder, i)):
        if (0, 0) in t.readings:
            (_, _, enabled_from, running_from), (_, _, enabled_to, running_to) = (t.readings[at, 0] for at in (0, 1))
            if running_to >= running_from:  # else it is no number
                enabled += enabled_to - enabled_from
                running += running_to - running_from
    return 100 * running / enabled


def check_lost(messages, folder):
    for name in os.listdir(folder):
        if not re.fullmatch(r"t\.\d+\.\d+\.cpuperf", name):
            continue
        with open(f"{folder}/{name}", "rb") as f:
            data = bytearray(f.read())
        at, cpu = struct.unpack_from("<H", data, 14)[0], struct.unpack_from("<I", data, 64)[0]
        while at < len(data) and cpu in sampled.CPUS:  # one of no CPU has no ring
            _, kind, flags, length = struct.unpack_from("<4sHHI", data, at)
            if not flags & 1:
                lose(kind, data, at + 16)
            head = data[at + 4:at + 12] + data[at + 16:at + 16 + length]
            struct.pack_into("<I", data, at + 12, sampled.crc32c(head))
            at += 16 + (length + 7) // 8 * 8
        with open(f"{folder}/{name}", "wb") as f:
            f.write(data)
    trace = export(messages, folder)
    nr = 7 * sampled.nr_iterations(folder)
    assert trace.lost == {cpu: nr for cpu in sampled.CPUS}, trace.lost
    notes = "\n".join(trace.notes)
    assert f"{nr * len(sampled.CPUS)} records were lost" in notes, notes
    if not kit.may_sample("a clock that ran half of its time"):
        return
    part, = re.findall("^cpu_clock: multiplexed: it was counted ([0-9.]+) % of the time", notes, re.M)
    assert abs(float(part) - counted_percent(folder)) < 0.051, (part, counted_percent(folder), notes)


def main():
    protos.need()
    messages = protos.load("perfetto")
    with tempfile.TemporaryDirectory() as folder:
        check_sampled(messages, folder)
        check_tally(messages, f"{folder}/tally")
        check_lost(messages, folder)


if __name__ == "__main__":
    main()
