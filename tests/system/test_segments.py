#!/usr/bin/env python3
"""A tally of many iterations, whose traces are segments: what is printed of it, in every format and
report, is what is printed of the same readings in files of one iteration each. Those are made here
from the segments, by schemas/trace-format.md. Then segments that were cut, damaged, lost, mixed with
another session's. CPUPERF and CPUPERF_PRINT name the programs.
"""
import csv
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import Terminal, have_tmux  # noqa: E402

from kit import CPUPERF, PRINT, run
from patience import PATIENCE_S

READER = os.path.join(os.environ["SOURCE_DIR"], "tests/system/read_trace.py")
EVENTS = [("software", "cpu_clock"), ("software", "context_switches"), ("misc", "cpu_user"),
          ("misc", "memory_used"), ("misc", "process_cpu_time")]
ONE = [{"group_name": "misc", "event_name": "cpu_user"}]
NR_ITERATIONS = 150
READINGS, END, ITERATION, INDEX = 4, 6, 13, 14


def make_table():
    table = []
    for c in range(256):
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
        table.append(c)
    return table


TABLE = make_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def frames(data):
    """Kind, begin and end of each frame."""
    at = 192
    while at < len(data):
        kind, length = struct.unpack_from("<HxxI", data, at + 4)
        end = at + 16 + (length + 7) // 8 * 8
        yield kind, at, end
        at = end


def plain_header(header, iteration):
    head = header[:16] + bytes(4) + header[20:56] + struct.pack("<I", iteration) + header[60:188]
    return head + struct.pack("<I", crc32c(head))


def plain_end(payload, nr_frames, offset):
    payload = (payload[:16] + struct.pack("<Q", nr_frames) + payload[24:48] +
               struct.pack("<Q", offset) + payload[56:])
    head = struct.pack("<HHI", END, 0, len(payload))
    return b"#FRM" + head + struct.pack("<I", crc32c(head + payload)) + payload


def split(data):
    """The iteration and the bytes of a file of its own, for each in the segment."""
    common, parts, made, nr_frames = [], {}, None, 0
    for kind, at, end in frames(data):
        if kind == ITERATION:
            iteration, = struct.unpack_from("<I", data, at + 16)
            made = plain_header(data[:192], iteration) + b"".join(common)
            nr_frames = len(common)
        elif made is None:
            common.append(data[at:end])
        elif kind == END:
            parts[iteration] = made + plain_end(data[at + 16:end], nr_frames, len(made))
        elif kind != INDEX:
            made += data[at:end]
            nr_frames += 1
    return parts


def show(folder, *args, code=0):
    return run(PRINT, "--session=t.cpsession", "--no-pager", *args, code=code, cwd=folder)


def write_spec(folder, **keys):
    spec = {"config_name": "check", "num_iterations": NR_ITERATIONS, "duration": 1,
            "output_path_prefix": f"{folder}/t", "session_result_spec_path": f"{folder}/t.cpsession",
            "events": [{"group_name": g, "event_name": e} for g, e in EVENTS], **keys}
    with open(f"{folder}/t.cpspec", "w", encoding="utf-8") as out:
        json.dump(spec, out)
    return f"--spec-file={folder}/t.cpspec"


def names(folder):
    return sorted(n for n in os.listdir(folder) if n.endswith(".cpuperf"))


def segments(folder):
    return [n for n in names(folder) if re.fullmatch(r"t\.s\d+\.\d+\.cpuperf", n)]


def make_plain(folder, plain):
    """The same session in files of one iteration each."""
    os.mkdir(plain)
    shutil.copy(f"{folder}/t.cpsession", plain)
    for name in segments(folder):
        trace = name.split(".")[2]
        with open(f"{folder}/{name}", "rb") as f:
            parts = split(f.read())
        for iteration, data in parts.items():
            with open(f"{plain}/t.{iteration}.{trace}.cpuperf", "wb") as f:
                f.write(data)


def without_offsets(text):
    return re.sub(r"^[0-9a-f]{4,}: ", "", text, flags=re.M)


def without_rates(text):
    """How fast it was read is another thing each time."""
    return re.sub(r"in [0-9.]+ seconds", "", text)


VIEWS = [("--report=summary",), ("--report=summary", "--output-format=csv"),
         ("--report=summary", "--output-format=ndjson"), ("--report=series", "--output-format=csv"),
         ("--report=series",), ("--report=top-down",), ("--report=summary", "--iteration=120-130"),
         ("--report=series", "--iteration=3", "--output-format=csv"),
         ("--output-format=openmetrics",), ("--output-format=chrome",), ("--output-format=perfetto",)]


def check_same_text(a, b, views):
    for view in views:
        one, other = (subprocess.run([PRINT, "--session=t.cpsession", "--no-pager", *view],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                     cwd=f) for f in (a, b))
        assert one.returncode == other.returncode, (view, one.stderr[-500:], other.stderr[-500:])
        assert one.stdout == other.stdout, (view, "differs")
        said = [without_rates(d.stderr.decode()) for d in (one, other)]
        assert said[0] == said[1], (view, said)
    raw = [show(f, "--output-format=raw", "--report=summary").stdout for f in (a, b)]
    assert without_offsets(raw[0]) == without_offsets(raw[1]) and len(raw[0]) > 10000
    rows = list(csv.DictReader(io.StringIO(
        show(a, "--report=summary", "--output-format=csv").stdout)))
    assert len({r["iteration"] for r in rows}) == NR_ITERATIONS


def check_same_files(a, b, folder):
    dumps = []
    for f in (a, b):
        path = f"{folder}/out.sqlite"
        show(f, "--output-format=sqlite", f"--output-file={path}")
        with sqlite3.connect(path) as db:
            dumps.append(list(db.iterdump()))
        os.unlink(path)
    assert dumps[0] == dumps[1], "sqlite differs"
    os.mkdir(f"{folder}/o")
    run(CPUPERF, write_spec(f"{folder}/o"), "--duration=1ms", "--quiet")
    for args in (["--output-format=html"], [f"--session={folder}/o/t.cpsession"]):
        assert show(a, *args).stdout == show(b, *args).stdout, (args, "differs")


def check_same_replay(a, b):
    if not have_tmux():
        print("no tmux: the replay is not compared")
        return
    one, other = (Terminal(["env", "-C", f, PRINT, "--session=t.cpsession", "--live"], 120, 36) for f in (a, b))
    with one, other:
        for t in (one, other):
            t.wait("REPLAY")
            t.press("End", "metric:used")  # a column whose every cell has a value, also without privileges
            t.wait(rf"n {NR_ITERATIONS}\b")
        for key, at in (("G", NR_ITERATIONS - 1), ("<", NR_ITERATIONS - 11), ("g", 0)):
            for t in (one, other):
                t.press(key, rf"iteration {at}  {at + 1} of {NR_ITERATIONS}")
            end = time.monotonic() + PATIENCE_S
            while (screens := [t.still() for t in (one, other)]) != screens[::-1]:  # what is drawn comes in pieces
                assert time.monotonic() < end, screens
        for t in (one, other):
            t.keys("q")
            t.wait("^status 0", history=True)


def check_reader(a, b):
    """The other reader sees the same numbers in both, and damage in neither."""
    rows = [set(run(sys.executable, READER, "--counts", *(f"{f}/{n}" for n in names(f)))
                .stdout.splitlines()) for f in (a, b)]
    assert rows[0] == rows[1] and len(rows[0]) > NR_ITERATIONS


def copy_of(folder, name):
    other = f"{folder}/{name}"
    os.mkdir(other)
    for n in [*names(f"{folder}/a"), "t.cpsession"]:
        shutil.copy(f"{folder}/a/{n}", other)
    return other


def check_without_index(folder):
    bare = copy_of(folder, "bare")
    for name in segments(bare):
        with open(f"{bare}/{name}", "r+b") as f:
            *_, (kind, at, _) = frames(f.read())
            assert kind == INDEX, name
            f.truncate(at)
    check_same_text(f"{folder}/a", bare, VIEWS[1:2])


def rows_of(done):
    return {tuple(row) for row in csv.reader(io.StringIO(done.stdout))}


def check_cut(folder):
    """Cut inside its last iteration: what stands before it is good, and what is lost is named."""
    cut = copy_of(folder, "cut")
    name = segments(cut)[-1]
    with open(f"{cut}/{name}", "r+b") as f:
        begins = [at for kind, at, _ in frames(f.read()) if kind == ITERATION]
        f.truncate(begins[-1] + 100)
    done = show(cut, "--report=summary", "--output-format=csv", code=1)
    assert f"{name}: " in done.stderr and "the file ends inside a frame" in done.stderr, done.stderr
    trace = name.split(".")[2]
    whole = show(f"{folder}/a", "--report=summary", "--output-format=csv")
    lost = rows_of(whole) - rows_of(done)
    # without a tick of its CPU the trace's row is "not counted" in both
    assert lost and {row[1:3] for row in lost} <= {(str(NR_ITERATIONS - 1), t) for t in (trace, "")}, lost


def check_cut_index(folder):
    """Nothing that was measured is lost: the iterations are found one by one."""
    cut = copy_of(folder, "cut_index")
    name = segments(cut)[-1]
    for missing in 3, 100, 0:
        with open(f"{cut}/{name}", "r+b") as f:
            data = f.read()
            *_, (kind, at, end) = frames(data)
            assert kind == INDEX
            if missing:
                f.truncate(end - missing)
            else:  # damaged in its middle
                f.seek(at + 40)
                f.write(bytes([data[at + 40] ^ 1]))
        done = show(cut, "--report=summary", "--output-format=csv")
        assert f"{name}: warning: its index is truncated or damaged" in done.stderr, done.stderr
        assert rows_of(done) == rows_of(show(f"{folder}/a", "--report=summary", "--output-format=csv"))
        shutil.copy(f"{folder}/a/{name}", cut)


def check_overfull(folder):
    """A segment of more iterations than there can be is lost, and no other one."""
    full = copy_of(folder, "full")
    name = segments(full)[-1]
    with open(f"{full}/{name}", "r+b") as f:
        data = f.read()
        f.truncate(next(at for kind, at, _ in frames(data) if kind == ITERATION))
        f.seek(0, os.SEEK_END)
        for i in range(65537):
            body = struct.pack("<HHI", ITERATION, 0, 8) + struct.pack("<II", i, 0)
            f.write(b"#FRM" + body[:8] + struct.pack("<I", crc32c(body)) + body[8:])
    done = show(full, "--report=summary", "--output-format=csv", code=1)
    assert f"{name}: error: contains more iterations than a segment can" in done.stderr, done.stderr
    trace = name.split(".")[2]
    whole = rows_of(show(f"{folder}/a", "--report=summary", "--output-format=csv"))
    assert {row for row in whole if row[2] not in (trace, "")} <= rows_of(done)


def check_many_damages(folder):
    """A file's problems are one line: the first of them, and the number of the others."""
    bad = copy_of(folder, "bad")
    for name in segments(bad):
        with open(f"{bad}/{name}", "r+b") as f:
            for kind, at, _ in list(frames(f.read())):
                if kind == READINGS:
                    f.seek(at + 40)
                    f.write(b"damage")
    done = show(bad, "--report=summary", "--output-format=csv", code=1)
    lines = done.stderr.splitlines()
    damaged = [line for line in lines if "error: damaged at offset" in line]
    assert len(damaged) == len(segments(bad)), lines[-3:]
    assert all(re.search(r"; [0-9]+ more problems$", line) for line in damaged), lines[-3:]


def check_lost(folder):
    lost = copy_of(folder, "lost")
    for name in segments(lost):
        os.unlink(f"{lost}/{name}")
    done = show(lost, code=1)
    assert "no trace" in done.stderr, done.stderr
    wrong = copy_of(folder, "wrong")
    first = segments(wrong)[0]
    os.rename(f"{wrong}/{first}", f"{wrong}/{first.replace('.s0.', '.0.')}")
    done = show(wrong, code=1)
    assert "holds many iterations" in done.stderr or "not of this session" in done.stderr, \
        done.stderr


def iterations_there(folder):
    """Of a session that has not ended: their numbers, and what is said."""
    done = subprocess.run([PRINT, f"--session={folder}/t.cpsession", "--report=summary", "--output-format=csv"],
                          stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE, check=False)
    rows = csv.DictReader(io.StringIO(done.stdout))
    return sorted({int(r["iteration"]) for r in rows if r["iteration"].isdigit()}), done.stderr


def check_killed(folder):
    """kill -9: all iterations but the one in progress are there."""
    os.mkdir(f"{folder}/k")
    spec = write_spec(f"{folder}/k", num_iterations=100000)
    with subprocess.Popen([CPUPERF, spec, "--duration=10ms", "--quiet"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        deadline = time.monotonic() + PATIENCE_S
        while len(before := iterations_there(f"{folder}/k")[0]) < 3:
            assert time.monotonic() < deadline and p.poll() is None
            time.sleep(0.05)
        p.send_signal(signal.SIGKILL)
    seen, said = iterations_there(f"{folder}/k")
    assert seen == list(range(len(seen))) and len(seen) >= len(before), (seen, before, said)
    assert "damaged" not in said or "ends inside a frame" in said, said


def check_full_segments(folder):
    """A new segment after 1,000 iterations; each prints by itself."""
    os.mkdir(f"{folder}/f")
    spec = write_spec(f"{folder}/f", num_iterations=1005, events=ONE)
    run(CPUPERF, spec, "--duration=1ms", "--quiet")
    found = segments(f"{folder}/f")
    cpus = len(found) // 2
    assert {n.split(".")[1] for n in found} == {"s0", "s1"}, found
    rows = list(csv.DictReader(io.StringIO(
        show(f"{folder}/f", "--report=summary", "--output-format=csv").stdout)))
    assert len(rows) >= 1005 * cpus
    for name in found:
        if ".s0." in name:
            os.unlink(f"{folder}/f/{name}")
    done = show(f"{folder}/f", "--report=summary", "--output-format=csv", code=1)
    assert "no traces of iteration 0-999" in done.stderr, done.stderr
    assert {int(r["iteration"]) for r in csv.DictReader(io.StringIO(done.stdout))} == \
        set(range(1000, 1005))


def check_names(folder):
    """Up to 100 iterations the names are the documented ones."""
    os.mkdir(f"{folder}/n")
    spec = write_spec(f"{folder}/n", num_iterations=100, events=ONE)
    run(CPUPERF, spec, "--duration=1ms", "--quiet")
    assert "t.99.0.cpuperf" in names(f"{folder}/n") and not segments(f"{folder}/n")
    show(f"{folder}/n")


def check_prefix_again(folder):
    """A session of files over one of segments, and the other way round: none is mixed in."""
    again = f"{folder}/n"
    many = write_spec(again, num_iterations=120)
    run(CPUPERF, many, "--duration=1ms", "--quiet")
    done = show(again, "--report=summary", "--output-format=csv")
    iterations = {int(r["iteration"]) for r in csv.DictReader(io.StringIO(done.stdout))}
    assert iterations == set(range(120)), (sorted(iterations)[-3:], done.stderr)
    run(CPUPERF, write_spec(again, num_iterations=3, events=ONE), "--duration=1ms", "--quiet")
    done = show(again, "--report=summary", "--output-format=csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {int(r["iteration"]) for r in rows} == {0, 1, 2}, done.stderr
    assert {r["event"] for r in rows} == {"cpu_user"}


def main():
    with tempfile.TemporaryDirectory() as folder:
        a, b = f"{folder}/a", f"{folder}/b"
        os.mkdir(a)
        metrics = [{"name": "used", "expr": "{memory_used} / 1e9"}]
        run(CPUPERF, write_spec(a, metrics=metrics), "--duration=5ms", "--quiet")
        assert len(segments(a)) == len(names(a)) == os.sysconf("SC_NPROCESSORS_ONLN"), names(a)
        make_plain(a, b)
        check_same_text(a, b, VIEWS)
        check_same_files(a, b, folder)
        check_same_replay(a, b)
        check_reader(a, b)
        check_without_index(folder)
        check_cut(folder)
        check_cut_index(folder)
        check_overfull(folder)
        check_many_damages(folder)
        check_lost(folder)
        check_killed(folder)
        check_full_segments(folder)
        check_names(folder)
        check_prefix_again(folder)


main()
