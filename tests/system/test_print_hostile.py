#!/usr/bin/env python3
"""Damaged and hostile sessions through all of cpuperf_print: real sessions, of which files are cut,
flipped, exchanged and rewritten (with checksums that are right, so that what is behind them is
reached), and of which programs changed or went away. Each is printed by every report: exit status 0
or 1, and a message where something is known to be wrong; never a crash, never more than SECONDS of a
CPU or than MIB. CPUPERF and CPUPERF_PRINT name the programs. CPUPERF_TEST_SEED makes other damage, and chooses what of
it is tried; CPUPERF_TEST_LONG=1 tries all of it, of sessions of the whole machine.
"""
import concurrent.futures
import csv
import gzip
import io
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import tempfile
import time

from kit import stride
from patience import PATIENCE_S
import sampled
from sampled import crc32c, event

HERE = os.path.dirname(os.path.abspath(__file__))
PRINT = os.environ["CPUPERF_PRINT"]
REPORTS = ("summary", "records", "flat", "tree", "callers", "calls", "stacks", "branches", "annotate", "threads",
           "series", "top-down", "waits", "changes")
SECONDS, WAIT_SECONDS, MIB = 10, PATIENCE_S, 500
SEED = int(os.environ.get("CPUPERF_TEST_SEED", "1"))
IS_LONG = os.environ.get("CPUPERF_TEST_LONG") == "1"
NR_DEEP = NR_LENGTHS = 1300
NR_KINDS = 3  # of which one damage is tried
FORMATS = ("csv", "sqlite", "ndjson", "openmetrics")
U32, U64 = 2**32 - 1, 2**64 - 1
HUGE = (0, 1, 0x7FFF, 0xFFFF, 0x7FFFFFFF, U32, 2**63 - 1, U64, U64 - 7, 2**47)
EVENTS, READINGS, RECORDS, KALLSYMS = 2, 4, 7, 10
SWITCH = 14
COMM, EXIT, FORK, MMAP2, KSYMBOL = 3, 4, 7, 10, 17
ESCAPE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
SANITIZED = re.compile(r"Sanitizer|runtime error:")


# ---- running

def limit():
    """An end to writing and to work, of the process alone: the machine may be busy. Memory is looked
    at behind, because sanitizers reserve all of it."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(folder, *args):
    """Exit status, messages, output, MiB; status None: too long."""
    env = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=8")
    with open(f"{folder}/out", "w+b") as out, open(f"{folder}/err", "w+b") as err:
        child = subprocess.Popen([PRINT, *args], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 env=env, preexec_fn=limit)
        end, status = time.monotonic() + WAIT_SECONDS, 0
        while not (done := os.wait4(child.pid, os.WNOHANG))[0]:
            if time.monotonic() > end:
                child.send_signal(signal.SIGKILL)
                status, done = None, os.wait4(child.pid, 0)
                break
            time.sleep(0.002)
        child.returncode = 0
        texts = []
        for file in (err, out):
            file.seek(0)
            texts.append(file.read(8 << 20).decode("utf-8", "replace"))
    if status is not None:
        status = os.waitstatus_to_exitcode(done[1])
    return status, *texts, done[2].ru_maxrss / 1024


def is_fine(name, result, must_say):
    """What must never be."""
    status, err, out, mib = result
    wrong = []
    if status not in (0, 1):
        wrong.append("too long" if status in (None, -signal.SIGXCPU) else f"status {status}")
    if SANITIZED.search(err):
        wrong.append("sanitizer")
    if mib > MIB:
        wrong.append(f"{mib:.0f} MiB")
    if (must_say or status == 1) and not re.search("error|warning", err):
        wrong.append("says nothing")
    if ESCAPE.search(out) or ESCAPE.search(err):
        wrong.append("control characters")
    if wrong:
        print(f"  {name}: {', '.join(wrong)}\n{err[-1500:]}")
    return not wrong


# ---- files

class Frames:
    """A file as frames that can be changed and written again, checksums and all; those that nobody
    changed as they were."""

    def __init__(self, path):
        data = read(path)
        self.head, self.frames, self.bytes, at = data[:192], [], {}, 192
        for kind, payload in sampled.Trace(path).frames:  # unpacked
            length, = struct.unpack_from("<I", data, at + 8)
            end = at + 16 + (length + 7) // 8 * 8
            self.frames.append((kind, payload))
            self.bytes[id(payload)] = data[at:end], payload  # kept, for its id
            at = end

    def write(self, path):
        out = [self.head]
        for kind, payload in self.frames:
            head = struct.pack("<HHI", kind, 0, len(payload))
            as_was, _ = self.bytes.get(id(payload), (None, None))
            out.append(as_was or b"#FRM" + head + struct.pack("<I", crc32c(head + payload)) +
                       payload + bytes(-len(payload) % 8))
        write(path, b"".join(out))

    def small(self):
        """Frames that a checksum in Python is no matter for."""
        return [i for i, (kind, payload) in enumerate(self.frames)
                if payload and kind != KALLSYMS]


def write(path, data):
    if os.path.lexists(path):
        os.unlink(path)  # it may be a link to the original
    with open(path, "wb") as f:
        f.write(data)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def copy_of(folder, to):
    """All files of a session as links, so that writing one anew leaves the others as they are."""
    os.mkdir(to)
    for name in os.listdir(folder):
        if name.endswith(".cpuperf"):
            os.link(f"{folder}/{name}", f"{to}/{name}")
    manifest = json.loads(read(f"{folder}/s.cpsession"))
    manifest["output_path_prefix"] = f"{to}/t"
    write(f"{to}/s.cpsession", json.dumps(manifest).encode())
    return to


# ---- kinds of damage: each yields (name, what changes a copy, whether it must be said)

def chance(*item):
    """Of the item alone, whatever was tried before."""
    return random.Random(f"{SEED} {item}")


def file_names(folder):
    return sorted(n for n in os.listdir(folder) if n.endswith(".cpuperf"))


def cut(session):
    for name in file_names(session):
        size, rng = os.path.getsize(f"{session}/{name}"), chance("cut", name)
        places = {0, 1, 11, 100, 191, 192, 207, size - 1, size - 8, size - 60,
                  *(rng.randrange(size) for _ in range(4))}
        for at in sorted(places):
            yield (f"{name} cut at {at}",
                   lambda to, name=name, at=at: write(f"{to}/{name}",
                                                      read(f"{to}/{name}")[:at]), True)


def flipped(data, places):
    data = bytearray(data)
    for at, value in places:
        data[at] ^= value
    return bytes(data)


def flip(session):
    for name in file_names(session):
        size = os.path.getsize(f"{session}/{name}")
        for i, nr in enumerate((1, 1, 2, 50)):
            rng = chance("flip", name, i)
            places = [(rng.randrange(size), rng.randrange(1, 256)) for _ in range(nr)]
            yield (f"{name} flipped at {places[0][0]} and {nr - 1} more",
                   lambda to, name=name, places=places: write(
                       f"{to}/{name}", flipped(read(f"{to}/{name}"), places)), True)


def exchange(session, other):
    def put(source, name):
        return lambda to: write(f"{to}/{name}", read(source))

    names = file_names(session)
    for a, b in itertools.permutations(names, 2):
        yield f"{a} in place of {b}", put(f"{session}/{a}", b), True
    for name in names:
        yield f"{name} of another session", put(f"{other}/{name}", name), True
        yield f"{name} is the manifest", put(f"{session}/s.cpsession", name), True
        yield f"{name} is a program", put(PRINT, name), True
        yield f"{name} is missing", lambda to, name=name: os.unlink(f"{to}/{name}"), True
    for name in names:
        yield (f"{name} is a folder", lambda to, name=name: (os.unlink(f"{to}/{name}"),
                                                             os.mkdir(f"{to}/{name}")), True)
        yield (f"{name} is a pipe", lambda to, name=name: (os.unlink(f"{to}/{name}"),
                                                           os.mkfifo(f"{to}/{name}")), True)


def manifests(session):
    good = json.loads(read(f"{session}/s.cpsession"))
    for change in ({"num_iterations": 2**31}, {"num_traces": 2**31}, {"num_traces": 0},
                   {"num_iterations": 10**6, "num_traces": 4096}, {"num_iterations": -1},
                   {"output_path_prefix": "/nowhere/" + "x" * 5000}, {"output_path_prefix": 3}):
        yield (f"manifest with {str(change)[:60]}",
               lambda to, change=change: write(f"{to}/s.cpsession",
                                               json.dumps({**good, **change}).encode()), True)
    for name, data in (("empty", b""), ("cut", json.dumps(good).encode()[:20]), ("deep", b"[" * 10**6),
                       ("a trace", read(f"{session}/t.0.0.cpuperf")), ("zeros", bytes(1 << 20))):
        yield (f"manifest is {name}",
               lambda to, data=data: write(f"{to}/s.cpsession", data), True)


def rewrite(name, change):
    """Frames of a copy's file changed by a function."""
    def act(to):
        frames = Frames(f"{to}/{name}")
        change(frames)
        frames.write(f"{to}/{name}")
    return act


def put_at(frames, i, at, data):
    kind, payload = frames.frames[i]
    frames.frames[i] = kind, payload[:at] + data + payload[at + len(data):]


def lengths(session):
    """The first words of each kind of frame, where counts and lengths are, as large as can be."""
    places = set()
    for name in file_names(session):
        frames = Frames(f"{session}/{name}")
        for i in frames.small():
            kind, payload = frames.frames[i]
            if all(p[:2] != (name, kind) for p in places if p[2] != i):
                places |= {(name, kind, i, at)
                           for at in range(0, min(len(payload) - 4, 72, 28 if kind == RECORDS else 72),
                                           4)}
    for name, kind, i, at in chance("lengths").sample(sorted(places), min(NR_LENGTHS, len(places))):
        value = chance("length", name, kind, i, at).choice((U32, 0x7FFFFFFF, 65535))
        yield (f"{name}: kind {kind}, {value:#x} at {at}", rewrite(
            name, lambda f, i=i, at=at, value=value: put_at(f, i, at, struct.pack("<I", value))),
               False)


def deep(session):
    """Any words of any frame, with checksums that are right."""
    names = file_names(session)
    for nr in range(NR_DEEP):
        def change(frames, nr=nr):
            mine = chance("deep", nr)
            for _ in range(mine.choice((1, 4, 30))):
                i = mine.choice(frames.small())
                payload = frames.frames[i][1]
                width = mine.choice((1, 2, 4, 8))
                value = mine.choice((*HUGE, mine.getrandbits(64))) & (1 << 8 * width) - 1
                put_at(frames, i, mine.randrange(max(1, len(payload) // 8 - 1)) * 8,
                       value.to_bytes(width, "little"))
        yield f"{names[nr % len(names)]}: deep, {nr}", rewrite(names[nr % len(names)], change), False


# ---- records that were never recorded

def record(kind, body, when, pid=0, misc=2, size=None):
    body += bytes(-len(body) % 8) + struct.pack("<IIQ", pid, pid, when)
    return struct.pack("<IHH", kind, misc, (8 + len(body) if size is None else size) & 0xFFFF) + body


def mmap2(pid, start, length, name, when, offset=0, prot=5, **more):
    body = struct.pack("<IIQQQIIQQII", pid, pid, start & U64, length & U64, offset & U64, 8, 1, 77, 1,
                       prot, 2) + name
    return record(MMAP2, body, when, pid, **more)


def fork(pid, parent, when):
    return record(FORK, struct.pack("<IIIIQ", pid, parent, pid, parent, when), when, pid)


def nonsense(pid, when, folder):
    """What records may say of a process: rows of a table."""
    text, far = b"/usr/bin/env\0", 1 << 40
    yield "nested", [mmap2(pid, 0x1000 * i, far - 0x2000 * i, text, when + i) for i in range(3000)]
    yield "combs", [mmap2(pid, 0x3000 * (i % 1000), 0x3000 * 1000, text, when + i % 7)
                    for i in range(3000)]
    yield "over and over", [mmap2(pid, 0x400000 + 0x1000 * (i % 2), 0x2000, text, when)
                            for i in range(5000)]
    yield "around the end", [mmap2(pid, U64 - 4095, 8192, text, when),
                             mmap2(pid, 0, U64, text, when), mmap2(pid, U64, U64, text, when),
                             mmap2(pid, 4096, 0, text, when)]
    yield "offsets", [mmap2(pid, 0, 2**47, text, when, offset=o) for o in HUGE]
    yield "long names", [mmap2(pid, 0, 2**47, n, when) for n in (
        b"x" * 4096, b"/" * 4095 + b"\0", b"", b"\0", b"\xff\xfe\x1b[31m\0", b"../" * 1000 + b"x\0")]
    yield "odd files", [mmap2(pid, 0, 2**47, n.encode() + b"\0", when + i) for i, n in enumerate((
        "/dev/zero", "/dev/stdin", "/proc/self/mem", "/proc/kcore", "/proc/self/fd/1", "/",
        f"{folder}/pipe", f"{folder}/loop", f"{folder}/cut.elf", f"{folder}/rubbish.elf",
        f"{folder}/s.cpsession", "[vdso]", "[stack]", "[heap]", "//anon", "memfd:x (deleted)",
        "/usr/bin/env (deleted)"))]
    yield "families", [fork(a, b, when + a % 3) for a in range(pid, pid + 60)
                       for b in range(pid, pid + 60)]
    yield "own child", [fork(pid, pid, when + i) for i in range(5000)]
    yield "comings and goings", [r for i in range(2000) for r in (
        fork(pid, pid + 1, when + i), record(EXIT, struct.pack("<IIIIQ", pid, 1, pid, 1, when + i),
                                             when + i, pid))]
    yield "names of tasks", [record(COMM, struct.pack("<II", pid, pid) + n, when + i, pid,
                                    misc=0x2002) for i, n in enumerate(
        (b"\x1b[2J\x07\0", b"", b"x" * 3000, b"a\nb\rc\0", b"\xc3\x28\0") * 50)]
    yield "kernel symbols", [record(KSYMBOL, struct.pack("<QIHH", a & U64, n, 1, 0) + b"f" * 400,
                                    when) for a in HUGE for n in (0, 1, U32)]
    yield "lengths", [mmap2(pid, 0, 2**47, text, when, size=s) for s in (0, 4, 7, 9, 16, 0xFFF8)]
    yield "backwards", [mmap2(pid, 0x400000, 0x2000, text, U64 - i * 2**50) for i in range(3000)]


def records(session, pid):
    """Behind the mappings that are there, of the process that has most of the samples; and before."""
    frames = Frames(f"{session}/t.common.cpuperf")
    when = struct.unpack_from("<Q", sampled.Trace(f"{session}/t.0.0.cpuperf").of(6)[0])[0]
    for (name, made), is_first in itertools.product(nonsense(pid, when, session), (False, True)):
        payload = struct.pack("<II", 1, 0) + b"".join(made)

        def change(f, payload=payload, is_first=is_first):
            at = next(i for i, (kind, _) in enumerate(frames.frames) if kind == RECORDS)
            f.frames.insert(at if is_first else len(f.frames) - 1, (RECORDS, payload))
        yield (f"records: {name}{', first' if is_first else ''}",
               rewrite("t.common.cpuperf", change), False)


def places_of(payload, kind):
    """Where records of this kind begin in a frame of records."""
    at, found = 8, []
    while at + 8 <= len(payload):
        this, _, size = struct.unpack_from("<IHH", payload, at)
        if size < 8:
            break
        found += [at] * (this == kind)
        at += size
    return found


def switches(session):
    """Records of switches, and what schedstat said, with other times, threads, directions and counts; in any order."""
    names = [n for n in file_names(session) if "common" not in n]
    for nr in range(NR_DEEP):
        def change(frames, nr=nr):
            mine = chance("switches", nr)
            chosen = [i for i in frames.small() if frames.frames[i][0] in (READINGS, RECORDS)]
            for i in mine.sample(chosen, min(len(chosen), 8)):
                kind, payload = frames.frames[i]
                places = places_of(payload, SWITCH) if kind == RECORDS else range(0, len(payload) - 8, 8)
                for at in mine.sample(list(places), min(len(places), mine.choice((1, 5, 50)))):
                    # a record: misc, tid or time; of a reading any word
                    offset, width = mine.choice(((4, 2), (12, 4), (16, 8))) if kind == RECORDS else (0, 8)
                    value = mine.choice((*HUGE, mine.getrandbits(64))) & (1 << 8 * width) - 1
                    put_at(frames, i, at + offset, value.to_bytes(width, "little"))
            if mine.random() < 0.3 and len(chosen) > 1:  # out of order, and twice
                a, b = mine.sample(chosen, 2)
                frames.frames[a], frames.frames[b] = frames.frames[b], frames.frames[a]
                frames.frames.insert(a, frames.frames[b])
        yield f"{names[nr % len(names)]}: switches, {nr}", rewrite(names[nr % len(names)], change), False


def nr_waits(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt_switches"))


def make_switches(folder, program):
    """Waits of processes that run already, by records of their switches: no programs can be loaded."""
    events = [event("software:cpu_clock", rate=2000000, flags=["callchain"]),
              event("sched:off_cpu_time", rate=1000000), event("sched:run_queue_time", rate=1000000)]
    os.mkdir(folder)
    with subprocess.Popen([program, "plain", "600000"]) as child, \
            subprocess.Popen(["sh", "-c", "while :; do sleep 0.001; done"], start_new_session=True) as other:
        try:
            session = sampled.start(folder, events, f"--pid={child.pid},{other.pid}", "--duration=150ms",
                                    num_iterations=10000, prefix=("setpriv", "--bounding-set", "-bpf,-sys_admin"))
            enough = nr_waits(other.pid) + 10
            while nr_waits(other.pid) < enough:
                assert session.poll() is None, session.communicate()
                time.sleep(0.01)
            sampled.finish_when(session, folder, [child], 0.1)
        finally:
            child.kill()
            os.killpg(other.pid, signal.SIGKILL)


# ---- sessions

def compile_to(path, *flags):
    subprocess.run([*os.environ.get("CC", "cc").split(), "-O1", "-fno-omit-frame-pointer", "-D_GNU_SOURCE",
                    *flags, f"{HERE}/chains.c", "-o", path, "-ldl"], check=True)


def make_session(folder, program):
    """Short, with all that a session may have; the pid of the program. Of the whole machine the code of all programs is
    read each time."""
    events = [event("software:cpu_clock", rate=2000000, flags=["callchain", "user_stack"],
                    stack_bytes=1024), event("software:page_faults", rate=50, flags=["pc"]),
              event("misc:memory_used")]
    os.mkdir(folder)
    child = subprocess.Popen([program, "plain", "600000"])  # its mappings are read beside the measuring
    while os.readlink(f"/proc/{child.pid}/exe") != os.path.realpath(program):  # before exec it is this test
        time.sleep(0.001)
    session = sampled.start(folder, events, "--duration=600", *([] if IS_LONG else [f"--pid={child.pid}"]))
    sampled.wait_for_mappings(session, f"{folder}/t.common.cpuperf", [child.pid])
    sampled.wait_for_cpu_time([child], sampled.user_seconds(child.pid) + 0.2)
    session.send_signal(signal.SIGINT)
    sampled.finish(session)
    child.kill()
    child.wait()
    with open(f"{folder}/cut.elf", "wb") as f:
        f.write(read(program)[:5000])
    with open(f"{folder}/rubbish.elf", "wb") as f:
        f.write(b"\x7fELF\2\1\1" + random.Random(SEED).randbytes(100000))
    os.mkfifo(f"{folder}/pipe")
    os.symlink("loop", f"{folder}/loop")
    return child.pid


def all_reports():
    # of annotate one function: the code of all of a machine is long
    return [*(f"--report={name}" for name in REPORTS), "--function=spin"]


def is_sound(form, path, status, out):
    """What is written is what the format's readers take, whatever was read."""
    if form == "sqlite":
        if status == 0 or os.path.getsize(path):
            with sqlite3.connect(path) as db:
                return db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return True
    if form == "ndjson":
        return all(isinstance(json.loads(line), dict) for line in out.split("\n")[:-1])
    if form == "openmetrics":
        return status == 1 and not out or out.endswith("# EOF\n")
    return all(csv.reader(io.StringIO(out, newline=""), strict=True))


def check_format(name, to, main, form, must_say):
    args = [main, "--quiet", f"--output-format={form}", f"--output-file={to}/made"]
    args += all_reports() if form in ("csv", "ndjson") else []
    result = run(to, *args)
    made = f"{to}/made"
    out = read(made)[:256 << 20].decode("utf-8", "replace") if os.path.exists(made) else ""
    fine = is_fine(f"{name}, {form}", result[:2] + ("" if form == "sqlite" else out,) + result[3:],
                   must_say)
    if out and not is_sound(form, made, result[0], out):
        print(f"  {name}, {form}: not sound")
        return False
    return fine


def check_case(folder, session, number, case):
    name, change, must_say = case
    to = copy_of(session, f"{folder}/{number}")
    try:
        change(to)
        main = f"--session={to}/s.cpsession"
        fine = is_fine(name, run(to, main, "--quiet", *all_reports()), must_say)
        if number % 3 == 0:
            form = FORMATS[number // 3 % len(FORMATS)]
            fine &= check_format(name, to, main, form, must_say)
        if number % 5 == 0:
            fine &= is_fine(name + ", diff", run(to, main, "--quiet",
                                                 f"--diff={session}/s.cpsession"), must_say)
        if number % 7 == 0:
            fine &= is_fine(name + ", inline", run(to, main, "--quiet", "--report=flat", "--inline",
                                                   "--lines", "--comm=victim"), must_say)
        return fine
    finally:
        shutil.rmtree(to)


# ---- programs that changed

def make_another(path):
    compile_to(path, "-Dspin=other_spin", "-Dthree=other_three")


CHANGES = {
    "another program": make_another,
    "cut": lambda p: (make_another(p), write(p, read(p)[:4000])),
    "rubbish": lambda p: write(p, b"\x7fELF\2\1\1" + random.Random(SEED).randbytes(50000)),
    "a folder": lambda p: (os.unlink(p), os.mkdir(p)),
    "a pipe": lambda p: (os.unlink(p), os.mkfifo(p)),
    "gone": os.unlink,
}


def check_changed(folder, session, program, pid):
    """A program that is not what was recorded is not used, and that is said."""
    ok = True
    for name, change in stride(CHANGES.items(), 1):
        os.rename(program, f"{program}.kept")
        shutil.copy2(f"{program}.kept", program)
        change(program)
        args = f"--session={session}/s.cpsession", f"--pid={pid}", "--quiet"
        ok &= is_fine(f"program: {name}", run(folder, *args, *all_reports()), False)
        status, err, out, _ = run(folder, *args, "--report=flat", "--output-format=csv")
        rows = list(csv.DictReader(out.splitlines()))
        names = {row["function"] for row in rows}
        right = status == 0 and not names & {"spin", "three", "other_spin", "other_three"} and any(
            n.startswith("[unknown] (victim+0x") for n in names) and "victim" in err
        if not right:
            print(f"  program: {name}: status {status}, {sorted(names)[:9]}\n{err}")
        ok &= right
        if os.path.isdir(program):
            os.rmdir(program)
        os.replace(f"{program}.kept", program)
    return ok


def says_unread(folder, session, form):
    """Whether what is exported says by itself that files of the session could not be read."""
    path = f"{folder}/exported"
    run(folder, f"--session={session}/s.cpsession", "--quiet=2", f"--output-format={form}",
        f"--output-file={path}")
    data = read(path)
    data = gzip.decompress(data) if form == "pprof" else data
    said = b"not all could be read: " in data
    if form == "openmetrics":
        said = b"\ncpuperf_session_unread_parts 0 " not in data
    return said


def check_said(folder, session):
    """Who is given what was exported does not see standard error."""
    damaged = copy_of(session, f"{folder}/damaged")
    name = next(name for name in file_names(damaged) if not name.endswith(("cpsession", "common.cpuperf")))
    data = read(f"{damaged}/{name}")
    write(f"{damaged}/{name}", data[:len(data) * 2 // 3])
    forms = ("pprof", "perfetto", "speedscope", "chrome", "html", "openmetrics", "sqlite")
    wrong = [form for form in stride(forms, 1)
             if says_unread(folder, session, form) or not says_unread(folder, damaged, form)]
    if wrong:
        print("damage is not told, or told of what is whole:", wrong)
    return not wrong


def main():
    with tempfile.TemporaryDirectory(prefix="cpuperf-hostile.") as folder:
        program, session = f"{folder}/victim", f"{folder}/session"
        compile_to(program)
        pid = make_session(session, program)

        def other():
            make_session(f"{folder}/other", program)
            return f"{folder}/other"

        def by_switches():
            made = f"{folder}/by_switches"
            make_switches(made, program)
            found = run(folder, f"--session={made}/s.cpsession", "--quiet", "--report=waits")
            assert found[0] == 0 and "by records of switches" in found[2], found
            return made

        good = run(folder, f"--session={session}/s.cpsession", "--quiet", *all_reports())
        assert good[0] == 0 and "spin" in good[2], good
        kinds = {"cut": cut, "flip": flip, "exchange": lambda of: exchange(of, other()), "manifests": manifests,
                 "lengths": lengths, "deep": deep, "records": lambda of: records(of, pid), "switches": switches}
        failed = []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for kind, make in stride(kinds.items(), NR_KINDS):
                began = time.monotonic()
                of = by_switches() if kind == "switches" else session
                cases = stride(enumerate(make(of)), 1)
                fine = list(pool.map(lambda case, of=of: check_case(folder, of, *case), cases))
                print(f"{kind}: {sum(fine)} of {len(fine)}, {time.monotonic() - began:.1f} s",
                      flush=True)
                failed += [kind] * (not all(fine))
        failed += ["programs"] * (not check_changed(folder, session, program, pid))
        failed += ["said"] * (not check_said(folder, session))
        assert not failed, failed


if __name__ == "__main__":
    main()
