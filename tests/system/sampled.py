"""What the tests of sampling share: sessions, and their traces as plain Python.

Reads frames as schemas/trace-format.md and records as linux/perf_event.h describe them, to see
what is in them; whether a file is sound is for read_trace.py to say. Runs the programs that CPUPERF
and MIX name.
"""
import bisect
import collections
import contextlib
import ctypes
import functools
import json
import os
import platform
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

CPUS = sorted(os.sched_getaffinity(0))
RING_SAMPLES, RING_SIDE_BAND, RING_MADE = range(3)
INTERPRETED = 0xfffffffe  # the event of records of what was interpreted

# PERF_SAMPLE_…, by their bits
(IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCH_STACK, REGS_USER,
 STACK_USER) = (1 << i for i in range(14))
IDENTIFIER = 1 << 16
# PERF_FORMAT_…
TIME_ENABLED, TIME_RUNNING, FORMAT_ID, GROUP, LOST = (1 << i for i in range(5))
# PERF_RECORD_…, PERF_CONTEXT_…
R_COMM, R_FORK, R_SAMPLE, R_MMAP2 = 3, 7, 9, 10
CONTEXT_USER = 2**64 - 512
PROT_EXEC = 4
SP = {"x86_64": 7, "aarch64": 31}[platform.machine()]  # bit of the stack pointer in the registers

Attr = collections.namedtuple("Attr", "type config period sample_type read_format freq regs stack"
                                      " max_stack")
Record = collections.namedtuple("Record", "ring cpu kind misc body")


def attr_of(data):
    kind, _, config, period, sample_type, read_format, bits = struct.unpack_from("<IIQQQQQ", data)
    regs, stack = struct.unpack_from("<QI", data, 80)
    max_stack, = struct.unpack_from("<H", data, 108)
    return Attr(kind, config, period, sample_type, read_format, bits >> 10 & 1, regs, stack,
                max_stack)


def text16(data, at):
    length, = struct.unpack_from("<H", data, at)
    return data[at + 2:at + 2 + length].decode("utf-8", "replace"), at + 2 + length


def unpack(payload):
    """The payload of a packed frame."""
    length, = struct.unpack_from("<I", payload)
    out = ctypes.create_string_buffer(length)
    decompress = ctypes.CDLL("libzstd.so.1").ZSTD_decompress
    decompress.restype = ctypes.c_size_t
    done = decompress(out, ctypes.c_size_t(length), payload[4:], ctypes.c_size_t(len(payload) - 4))
    assert done == length
    return out.raw


def crc32c_table():
    table = list(range(256))
    for _ in range(8):
        table = [c >> 1 ^ (0x82F63B78 if c & 1 else 0) for c in table]
    return table


def crc32c(data, table=tuple(crc32c_table())):
    crc = 2**32 - 1
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 2**32 - 1


class Trace:
    """One file of a session: its frames as (kind, payload), and what they say."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        self.bytes = len(data)
        self.cpu, = struct.unpack_from("<I", data, 64)
        at, = struct.unpack_from("<H", data, 14)
        self.frames = []
        while at + 16 <= len(data):
            sync, kind, flags, length = struct.unpack_from("<4sHHI", data, at)
            if sync != b"#FRM" or at + 16 + length > len(data):
                break  # cut
            payload = data[at + 16:at + 16 + length]
            self.frames.append((kind, unpack(payload) if flags & 1 else payload))
            at += 16 + (length + 7) // 8 * 8
        self.is_cut = at != len(data)

    def of(self, kind):
        return [payload for k, payload in self.frames if k == kind]

    @functools.cached_property
    def events(self):
        """name, rate, frequency, attrs, format of each event."""
        out = []
        for payload in self.of(2):
            at = 8
            for _ in range(struct.unpack_from("<I", payload)[0]):
                length, = struct.unpack_from("<I", payload, at)
                out.append(self.event(payload[at:at + 4 + length]))
                at += 4 + length
        return out

    @staticmethod
    def event(data):
        number, = struct.unpack_from("<I", data, 4)
        rate, = struct.unpack_from("<Q", data, 20)
        attr_bytes, = struct.unpack_from("<I", data, 36)
        attrs, at, end = [], 40, 40 + attr_bytes
        while at < end:
            attrs.append(attr_of(data[at:end]))
            at += struct.unpack_from("<I", data, at + 4)[0]
        texts = []
        for _ in range(7):
            text, at = text16(data, at)
            texts.append(text)
        frequency, = struct.unpack_from("<Q", data, at + 8)  # behind the scale
        length, = struct.unpack_from("<I", data, at + 16)
        return {"id": number, "group": texts[0], "name": texts[1], "label": texts[2], "rate": rate,
                "frequency": frequency, "attrs": attrs,
                "format": data[at + 20:at + 20 + length].decode()}

    @functools.cached_property
    def ids(self):
        """id: event, instance, attr, group; in the order in which they were opened."""
        out = {}
        for payload in self.of(8):
            length, nr = struct.unpack_from("<II", payload)
            for i in range(nr):
                key, *rest = struct.unpack_from("<QIIII", payload, 8 + i * length)
                out[key] = rest
        return out

    @functools.cached_property
    def readings(self):
        """(boundary, event): (time_ns, raw, enabled_ns, running_ns) of start and end."""
        return {(boundary, place): rest for boundary, place, state, rest in self.all_readings()
                if state == 1 and boundary < 2}

    def ticks(self, event):
        """When an event was read between them."""
        return [rest[0] for boundary, place, state, rest in self.all_readings()
                if (boundary, place, state) == (2, event, 1)]

    def all_readings(self):
        for payload in self.of(4):
            boundary, length, nr, _ = struct.unpack_from("<IIII", payload)
            for i in range(nr):
                at = 16 + i * length
                event, _, state, _, *rest = struct.unpack_from("<IIIIQQQQ", payload, at)
                yield boundary, event, state, rest

    @functools.cached_property
    def end(self):
        """start_ns, end_ns, frames, readings, lost, throttled, bytes, flags; None: no end."""
        return struct.unpack_from("<8Q", self.of(6)[-1]) if self.of(6) else None

    @functools.cached_property
    def sampling(self):
        payload = self.of(9)[-1]
        names = "ring_bytes max_rate_start max_rate_end idle_ns lost ticks ticks_missed".split()
        out = dict(zip(names, struct.unpack_from("<7Q", payload)))
        length, nr = struct.unpack_from("<II", payload, 56)
        item = "event instance samples idle weight lost throttled unthrottled".split()
        out["items"] = [dict(zip(item, struct.unpack_from("<II6Q", payload, 64 + i * length)))
                        for i in range(nr)]
        return out

    @property
    def notes(self):
        return [text16(payload, 8)[0] for payload in self.of(5)]

    def records(self):
        for payload in self.of(7):
            ring, cpu = struct.unpack_from("<II", payload)
            at = 8
            while at < len(payload):
                kind, misc, size = struct.unpack_from("<IHH", payload, at)
                yield Record(ring, cpu, kind, misc, payload[at + 8:at + size])
                at += size

    def sharing(self):
        """The event of samples that have a stranger's id: Linux fills the id in once for all who
        sample the same occurrence of a software event or tracepoint, also those of other sessions."""
        ids = [i for i in self.ids.values() if i[0] != INTERPRETED and self.events[i[0]]["attrs"][i[2]].type in (1, 2)
               and (self.events[i[0]]["rate"] or self.events[i[0]]["frequency"])
               and not (self.events[i[0]]["attrs"][i[2]].type == 1 and
                        self.events[i[0]]["attrs"][i[2]].config < 2)]
        assert len(ids) == 1, self.ids
        return ids[0]

    def samples(self):
        """Each sample as a dictionary, with its event's place."""
        sampled = [i for i, e in enumerate(self.events) if e["rate"] or e["frequency"]]
        for r in self.records():
            if r.kind != R_SAMPLE or r.ring != RING_SAMPLES:
                continue
            event, which = sampled[0], 0
            if self.events[event]["attrs"][0].sample_type & IDENTIFIER:
                event, _, which, _ = self.ids.get(struct.unpack_from("<Q", r.body)[0]) or \
                    self.sharing()
            if event == INTERPRETED:
                continue
            yield {"event": event, "misc": r.misc,
                   **sample_of(self.events[event]["attrs"][which], r.body)}


def sample_of(a, body):
    """The fields of a sample, as its attr orders them."""
    at, out = 0, {}

    def take(layout):
        nonlocal at
        values = struct.unpack_from("<" + layout, body, at)
        at += struct.calcsize("<" + layout)
        return values

    def take_read():
        if a.read_format & GROUP:
            nr, *times = take("Q" * (1 + bool(a.read_format & TIME_ENABLED) +
                                     bool(a.read_format & TIME_RUNNING)))
            width = 1 + bool(a.read_format & FORMAT_ID) + bool(a.read_format & LOST)
            return times, [take("Q" * width) for _ in range(nr)]
        return [], [take("Q" * bin(a.read_format).count("1") + "Q")]

    for bit, name, get in (
            (IDENTIFIER, "id", lambda: take("Q")[0]), (IP, "ip", lambda: take("Q")[0]),
            (TID, "tid", lambda: take("II")), (TIME, "time", lambda: take("Q")[0]),
            (ADDR, "addr", lambda: take("Q")[0]), (ID, "id", lambda: take("Q")[0]),
            (STREAM_ID, "stream", lambda: take("Q")[0]), (CPU, "cpu", lambda: take("II")[0]),
            (PERIOD, "period", lambda: take("Q")[0]), (READ, "read", take_read),
            (CALLCHAIN, "chain", lambda: take("%dQ" % take("Q"))),
            (RAW, "raw", lambda: take("%ds" % take("I"))[0])):
        if a.sample_type & bit:
            out[name] = get()
    if a.sample_type & BRANCH_STACK:
        raise ValueError("no machine of these tests has branches")
    if a.sample_type & REGS_USER and take("Q")[0]:
        numbers = [i for i in range(64) if a.regs >> i & 1]
        out["regs"] = dict(zip(numbers, take("%dQ" % len(numbers))))
    if a.sample_type & STACK_USER:
        size, = take("Q")
        stack, = take("%ds" % size)
        out["stack"] = stack[:take("Q")[0]] if size else b""
    return out


# ---- mappings and programs

Mapping = collections.namedtuple("Mapping", "time start length offset prot name is_made")


def name_of(data):
    return data[:data.index(b"\0")].decode("utf-8", "replace")


def mappings(common):
    """pid: its mappings, of the common file; a later one lies over an earlier one."""
    out = {}
    for r in common.records():
        if r.kind == R_MMAP2:
            pid, _, start, length, offset = struct.unpack_from("<IIQQQ", r.body)
            prot, = struct.unpack_from("<I", r.body, 56)
            when = struct.unpack_from("<Q", r.body, len(r.body) - 8)[0]
            out.setdefault(pid, []).append(
                Mapping(when, start, length, offset, prot, name_of(r.body[64:]),
                        r.ring == RING_MADE))
    return out


def names_given(folder):
    """(pid, tid): the names that records give a thread, as reports print them: also such without a sample."""
    out = collections.defaultdict(set)
    for name in os.listdir(folder):
        if name.endswith(".cpuperf"):
            for r in Trace(f"{folder}/{name}").records():
                if r.kind == R_COMM:
                    text = r.body[8:r.body.index(b"\0", 8)].decode("utf-8", "replace")
                    out[struct.unpack_from("<II", r.body)].add("".join(c if c.isprintable() else "?" for c in text))
    return out


def find_mapping(of_pid, address):
    return next((m for m in reversed(of_pid) if m.start <= address < m.start + m.length), None)


class Program:
    """The functions of an ELF file (64 bits), by nm, and stubs of its linkage table, as NAME@plt; addresses as offsets in
    the file."""

    STUB_BYTES = 16

    def __init__(self, path):
        self.path = os.path.realpath(path)
        with open(path, "rb") as f:
            data = f.read()
        at, = struct.unpack_from("<Q", data, 32)
        size, nr = struct.unpack_from("<HH", data, 54)
        heads = (struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(nr))
        self.loads = [(offset, vaddr, length) for kind, _, offset, vaddr, _, length in heads
                      if kind == 1]
        lines = subprocess.run(["nm", "-S", "--defined-only", path], stdout=subprocess.PIPE,
                               text=True, check=True).stdout.splitlines()
        words = sorted((int(w[0], 16), int(w[1], 16), w[3]) for w in map(str.split, lines)
                       if len(w) == 4 and w[2] in "tT")
        lines = subprocess.run(["nm", "--synthetic", path], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        words = sorted(words + [(int(w[0], 16), self.STUB_BYTES, w[2]) for w in map(str.split, lines)
                                if len(w) == 3 and w[2].endswith("@plt")])
        self.starts = [w[0] for w in words]
        self.functions = words

    def function(self, mapping, address):
        """The name of the function at an address of a process that has mapped the file; None."""
        if mapping is None or mapping.name != self.path:
            return None
        offset = address - mapping.start + mapping.offset
        vaddr = next((offset - o + v for o, v, n in self.loads if o <= offset < o + n), None)
        if vaddr is None:
            return None
        start, size, name = self.functions[bisect.bisect(self.starts, vaddr) - 1]
        return name if start <= vaddr < start + size else None


# ---- sessions

def event(name, **keys):
    group, name = name.split(":", 1)
    return {"group_name": group, "event_name": name, **keys}


def counted(flags=(), **keys):
    """COUNTED, which every user may count in his programs, beside times."""
    flags = [*flags, *USER]
    return event(f"software:{COUNTED}", **{"label": COUNTED, **({"flags": flags} if flags else {}), **keys})


def write_spec(folder, events, **keys):
    """Writes the spec; returns the option that names it."""
    spec = {"events": events, "num_iterations": 1, "output_path_prefix": f"{folder}/t",
            "session_result_spec_path": f"{folder}/s.cpsession", **keys}
    with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
        json.dump(spec, out)
    return f"--spec-file={folder}/s.cpspec"


def machine(*args):
    """The option that makes this test and the processes that it starts the target of a session, where this user may
    not measure whole CPUs; none if he may, or if the arguments name a target."""
    targets = ("--pid", "--comm", "--cgroup", "--")
    return [] if may_sample() or any(a.split("=")[0] in targets for a in args) else [f"--pid={os.getpid()}"]


def start(folder, events, *args, prefix=(), **keys):
    """A session that has begun to measure, of machine() unless the arguments name a target: its manifest is new."""
    def manifest():
        try:
            found = os.stat(f"{folder}/s.cpsession")
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    spec, before = write_spec(folder, events, **keys), manifest()
    p = subprocess.Popen([*prefix, os.environ["CPUPERF"], spec, *machine(*args), *args], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    while p.poll() is None and manifest() == before:
        time.sleep(0.002)
    return p


def finish(p, code=0):
    out, error = p.communicate(timeout=600)
    assert p.returncode == code, (p.returncode, out, error)
    return out, error


def wait_for_mappings(p, path, pids):
    """Until the common file of the session has those of the processes: its look at them may come late."""
    while True:
        with contextlib.suppress(FileNotFoundError, struct.error):  # it may not be there yet, or have no head
            if set(pids) <= set(mappings(Trace(path))):
                return
        assert p.poll() is None, p.communicate()
        time.sleep(0.02)


def finish_when(p, folder, programs, seconds, threads=()):
    """Ends a session of many iterations once the second has begun, the mappings of each of the programs were read, and
    each had a CPU for so long; and so had each of the threads, (pid, tid)."""
    until = [(program, user_seconds(program.pid) + seconds) for program in programs]
    of_threads = [(thread, user_seconds(*thread) + seconds) for thread in threads]
    while not os.path.exists(f"{folder}/t.1.0.cpuperf"):
        assert p.poll() is None, p.communicate()
        time.sleep(0.01)
    wait_for_mappings(p, f"{folder}/t.common.cpuperf", [program.pid for program in programs])
    for program, end in until:
        wait_for_cpu_time([program], end)
    for thread, end in of_threads:
        while user_seconds(*thread) < end:
            time.sleep(0.02)
    p.send_signal(signal.SIGINT)
    return finish(p)


def nr_iterations(folder):
    return sum(bool(re.fullmatch(r"t\.\d+\.0\.cpuperf", name)) for name in os.listdir(folder))


def traces(folder, iteration=0):
    """The traces of an iteration, by trace number."""
    nr = sum(n.startswith(f"t.{iteration}.") for n in os.listdir(folder))
    return [Trace(f"{folder}/t.{iteration}.{t}.cpuperf") for t in range(nr)]


def common(folder):
    return Trace(f"{folder}/t.common.cpuperf")


def check_sound(folder, names=None):
    """All files (or these) are whole, by a reader that is not ours."""
    reader = os.path.join(os.path.dirname(os.path.abspath(__file__)), "read_trace.py")
    names = names or sorted(n for n in os.listdir(folder) if n.endswith(".cpuperf"))
    p = subprocess.run([sys.executable, reader, *names], cwd=folder, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True, check=False)
    assert p.returncode == 0, p.stderr


def mix(*args):
    return subprocess.Popen([os.environ["MIX"], *map(str, args)], stdout=subprocess.PIPE, text=True)


def wait_for_cpu_time(programs, seconds):
    """Until each of the programs had a CPU for so long."""
    for p in programs:
        while user_seconds(p.pid) < seconds:
            time.sleep(0.02)


def user_seconds(pid, tid=None):
    """Of a process, or of one of its threads."""
    with open(f"/proc/{pid}/task/{tid}/stat" if tid else f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rpartition(")")[2].split()[11]) / os.sysconf("SC_CLK_TCK")


def stolen_ns():
    """What the host and interrupts have taken of all CPUs so far: a clock's count includes it, and the
    kernel's accounting of tasks may not; samples that fall due then are missing. Counted in 10 ms."""
    with open("/proc/stat", encoding="ascii") as f:
        words = f.readline().split()
    return sum(map(int, words[6:9])) * 10**9 // os.sysconf("SC_CLK_TCK")


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as f:
        return f.read()


class Busy:
    """A mix on each CPU for as long as the block takes."""

    def __enter__(self):
        self.programs = [mix("ms", 60000, 1, cpu) for cpu in CPUS]
        time.sleep(0.05)
        return self.programs

    def __exit__(self, *unused):
        for p in self.programs:
            p.kill()
            p.wait()
            p.stdout.close()


@contextlib.contextmanager
def deaf(folder, *how):
    """A process that has mapped a file that never answers (deaf.c), in folders of this one: its number, and
    "", or None and why there is none."""
    for name in ("fuse", "empty", "over"):
        os.mkdir(f"{folder}/{name}")
    with subprocess.Popen([os.environ["DEAF"], folder, *how], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        try:
            line = p.stdout.readline()
            if line:
                yield int(line), ""
            else:
                assert p.wait() == 77, p.stderr.read()
                yield None, p.stderr.read().strip() or "no overlay over FUSE"
        finally:
            p.stdin.close()
            p.wait()
            for name in ("over", "fuse"):
                subprocess.run(["umount", "-l", f"{folder}/{name}"], stderr=subprocess.DEVNULL,
                               check=False)


def for_everybody(path, folder):
    """A copy in a folder that everybody may enter, of what may be in a home that is closed."""
    copy = f"{folder}/{os.path.basename(path)}"
    new = shutil.copy(path, f"{copy}.new")
    os.chmod(new, 0o755)
    os.replace(new, copy)  # a child of a killed program may still run the one before
    return copy


@functools.lru_cache
def perf_reader():
    """What stands before a perf that reads a file. As root it enters the mount namespaces of the
    processes that the file tells of, and in a chroot it does not find back from there to the files
    of this one: so it gets a /proc that has none of them."""
    prefix = ("unshare", "--mount", "--propagation", "unchanged", "--pid", "--fork", "sh", "-c",
              'mount --make-private /proc && mount -t proc proc /proc && exec "$@"', "sh")
    may = is_root() and have("unshare") and subprocess.run(
        [*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0
    return prefix if may else ()


def is_root():
    return os.geteuid() == 0


def may_measure_kernel():
    """Whether this user may measure his programs in the kernel, too."""
    return is_root() or paranoid() <= 1


def may_sample():
    """Whether this user may measure whole CPUs."""
    return is_root() or paranoid() <= 0


def paranoid():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        return int(f.read())


@functools.lru_cache
def kernel_addresses():
    """name: its addresses, of the kernel's functions; 0 where they are hidden."""
    out = collections.defaultdict(set)
    with open("/proc/kallsyms", encoding="ascii") as f:
        for line in f:
            address, _, name = line.split()[:3]
            out[name].add(int(address, 16))
    return out


def have(*commands):
    return all(shutil.which(c) for c in commands)


# Switches; where this user may not measure the kernel, in which they happen, faults of user mode.
COUNTED = "context_switches" if may_measure_kernel() else "minor_faults"
# The flag of what this user may count in user mode alone.
USER = [] if may_measure_kernel() else ["user"]
