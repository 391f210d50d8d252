#!/usr/bin/env python3
"""The raw format of a session that samples: files made here, byte by byte, as
schemas/trace-format.md and linux/perf_event.h describe them, with each kind of record and each
thing that a sample may hold; machines that have them all are rare. CPUPERF_PRINT names the program.
"""
import json
import os
import re
import struct
import subprocess
import tempfile

PRINT = os.environ["CPUPERF_PRINT"]
COMMON = 0xFFFFFFFF
SESSION = b"0123456789abcdef"

# PERF_SAMPLE_…, PERF_FORMAT_GROUP, PERF_SAMPLE_BRANCH_HW_INDEX
IP, TID, TIME, ADDR, READ, CALLCHAIN = (1 << i for i in range(6))
PERIOD, RAW, BRANCHES, REGS, STACK, WEIGHT, SOURCE, IDENTIFIER = (
    1 << i for i in (8, 10, 11, 12, 13, 14, 15, 16))
GROUP, HW_INDEX, SAMPLE_ID_ALL = 8, 1 << 17, 1 << 18
USER, KERNEL, GUEST_KERNEL, BIT_13, BIT_14 = 2, 1, 4, 1 << 13, 1 << 14


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


def words(*values):
    return struct.pack(f"<{len(values)}Q", *(v % 2**64 for v in values))


def text16(text):
    data = text.encode()
    return struct.pack("<H", len(data)) + data


class File:
    """Frames, and where in the file each record or reading is that was put into one."""

    def __init__(self, iteration, trace, cpu, session=SESSION):
        head = struct.pack("<8sIHHII16s16sIIII64s16s", b"\x89CPUPRF\n", 0x01020304, 1, 192, 0, 0,
                           session, b"", iteration, trace, cpu, 1, b"box", b"x86_64")
        head = head.ljust(188, b"\0")
        self.data = head + struct.pack("<I", crc32c(head))
        self.nr_frames = self.nr_readings = 0

    def frame(self, kind, payload):
        head = struct.pack("<HHI", kind, 0, len(payload))
        self.data += b"#FRM" + head + struct.pack("<I", crc32c(head + payload)) + payload
        self.data += b"\0" * (-len(payload) % 8)
        self.nr_frames += 1

    def common_frames(self, events):
        self.frame(1, words(0, 1) + struct.pack("<II", 100, 4096) + text16("") * 5 + bytes(4))
        self.frame(2, struct.pack("<II", len(events), 0) + b"".join(events))

    def readings(self, boundary, *readings):
        """(event, time, raw, and of a share its base) each; their offsets."""
        at = len(self.data) + 16 + 16
        self.frame(4, struct.pack("<IIII", boundary, 56, len(readings), 0) + b"".join(
            struct.pack("<IIIIQQQQQ", event, 0, 1, 0, time, raw, 0, 0, *(base or [0]))
            for event, time, raw, *base in readings))
        self.nr_readings += len(readings)
        return [at + 56 * i for i in range(len(readings))]

    def records(self, ring, cpu, *records):
        """Their offsets."""
        at, offsets = len(self.data) + 16 + 8, []
        for record in records:
            offsets.append(at)
            at += len(record)
        self.frame(7, struct.pack("<II", ring, cpu) + b"".join(records))
        return offsets

    def end(self):
        self.frame(6, words(1000, 9000, self.nr_frames, self.nr_readings, 0, 0, len(self.data), 0))

    def write(self, path):
        with open(path, "wb") as out:
            out.write(self.data)


def event(number, name, kind=1, rate=0, frequency=0, attr=b"", fields=""):
    body = struct.pack("<IIIIQIII", number, kind, 1, 3, rate, 1, 0xFFFFFFFF, len(attr)) + attr
    body += b"".join(map(text16, ("group", name, name, "", "", "", ""))) + words(0, frequency)
    body += struct.pack("<I", len(fields)) + fields.encode()
    return struct.pack("<I", len(body)) + body


def attr(sample_type, period, freq=0, read_format=0, branches=0, regs=0):
    out = struct.pack("<IIQQQQQ", 1, 128, 0, period, sample_type | IDENTIFIER | TID | TIME,
                      read_format, SAMPLE_ID_ALL | freq << 10).ljust(72, b"\0")
    return (out + words(branches, regs)).ljust(128, b"\0")


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def name(text):
    data = text.encode()
    return data + b"\0" * (8 - len(data) % 8)


FIELDS = "".join(f"\tfield:{decl};\toffset:{at};\tsize:{size};\tsigned:{signed};\n" for
                 decl, at, size, signed in (("unsigned short common_type", 0, 2, 0),
                                            ("int pid", 4, 4, 1), ("char comm[8]", 8, 8, 0),
                                            ("__data_loc char[] path", 16, 4, 0),
                                            ("u8 mac[3]", 20, 3, 0), ("int beyond", 64, 4, 1)))
EVENTS = [
    event(0x2801, "clock", rate=1000, attr=attr(IP | READ, 1000, read_format=GROUP)),
    event(0x2804, "switches", attr=attr(0, 0)),
    event(0x1001, "cycles", rate=500,
          attr=attr(IP | ADDR | BRANCHES | WEIGHT | SOURCE, 500, branches=HW_INDEX)),
    event(0x3001, "sched", rate=1, attr=attr(RAW, 1), fields=FIELDS),
    event(0x1002, "adapted", frequency=100, attr=attr(PERIOD, 100, freq=1)),
    event(0x1003, "stacks", rate=10, attr=attr(CALLCHAIN | REGS | STACK, 10, regs=7)),
    event(0x2002, "memory", kind=2),
    event(0x2003, "packets"),
    event(0x3002, "bare", rate=2, attr=attr(RAW, 2)),
    event(0x2005, "new"),  # has no reading at the start: its first one counts nothing
    event(0x2006, "busy", kind=3),
]
# places in EVENTS: the timebase and its sibling share a group
IDS = {0: 0, 1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 8: 5}


def sample(place, time, before=b"", behind=b"", misc=USER, pid=0x1a2b, tid=0x1a2c):
    """before: what comes before TID, behind: what comes after TIME."""
    return record(9, misc, words(100 + place) + before + struct.pack("<II", pid, tid) +
                  words(time) + behind)


def other(kind, time, body, misc=0, place=None):
    """Any other record: of the ring of samples if it is of an event."""
    end = struct.pack("<IIQ", 1, 1, time) + (b"" if place is None else words(100 + place))
    return record(kind, misc, body + end)


# A record and the lines that it is to make, without their offsets but for None, which begins a line
# that has none. In the order of time; Time lines are added. Below each: what is in it.
def raw_sample():
    data = struct.pack("<HHi8sHHBBBB8x", 300, 0, -7, b"ba\x1bsh", 32, 6, 0xAB, 0xCD, 0xEF, 0)
    return struct.pack("<I", 44) + (data + b"/a\x07\x9bb").ljust(44, b"\0")


FLAGS = (1 | 5 << 4 | 4 << 20 | 3 << 24 | 1 << 30, 2 | 4 | 8 | 15 << 20 | 1 << 26 | 2 << 30, 0)
TRACE = [
    (sample(0, 1100, words(0xFFFFFFFF80123456), words(2, 0, 1007), KERNEL),
     ["PC: Event 0x2801, aspace 0x1a2b, pc 0xffffffff80123456", "Count: Event 0x2804, 7"]),
    (sample(2, 1100, words(0x401000), words(0x7000, 3, 42) +
            b"".join(words(0x100 + i, 0x200 + i, f) for i, f in enumerate(FLAGS)) + words(9, 0x55),
            GUEST_KERNEL | BIT_14),
     ["PC: Event 0x1001, aspace 0x1a2b, pc 0x401000, exact, guest kernel",
      "LastBranch: Event 0x1001, aspace 0x1a2b, 3 branches, index 42",
      (None, "      from 0x100, to 0x200, mispredicted, call, speculated correctly, user, 5 cycles"),
      (None, "      from 0x101, to 0x201, predicted, in transaction, aborted, data fault, kernel"),
      (None, "      from 0x102, to 0x202"),
      "Data: Event 0x1001, address 0x7000, weight 0x9, source 0x55"]),
    (sample(3, 1200, b"", raw_sample()),
     ["Tick: Event 0x3001",
      'Raw: Event 0x3001, common_type 300, pid -7, comm "ba?sh", path "/a??b", mac abcdef']),
    (sample(8, 1250, b"", struct.pack("<I4s", 4, b"\1\2\xfe\xff")),
     ["Tick: Event 0x3002", "Raw: Event 0x3002, 4 bytes 0102feff"]),
    (sample(4, 1300, b"", words(12345)), ["Tick: Event 0x1002, period 12345"]),
    (sample(5, 1400, b"", words(6, -128, 0xFFFFFFFF81000001, -512, 0x401000, -2560, 0x9) +
            words(2, 1, 2, 3) + words(16, 0, 0, 12)),
     ["PC: Event 0x1003, aspace 0x1a2b, pc 0xffffffff81000001",
      "Callchain: Event 0x1003, kernel 0xffffffff81000001, user 0x401000, guest user 0x9",
      "UserStack: Event 0x1003, 12 bytes, 3 registers of 64 bits",
      "UserRegisters: Event 0x1003, 0 0x1, 1 0x2, 2 0x3"]),
    (sample(5, 1450, b"", words(1, -512, 0, 0)),
     ["Tick: Event 0x1003", "Callchain: Event 0x1003, user", "UserStack: Event 0x1003, 0 bytes"]),
    (other(5, 1500, words(1500, 102, 102), place=2), ["Throttle: Event 0x1001"]),
    (other(6, 1501, words(1501, 102, 102), place=2), ["Unthrottle: Event 0x1001"]),
    (other(2, 1502, words(100, 17), place=0), ["Lost: Event 0x2801, 17 records"]),
    (other(13, 1503, words(18), place=2), ["Lost: Event 0x1001, 18 samples"]),
    (other(14, 1504, b"", place=2), ["SwitchIn: pid 1, tid 1"]),
    (sample(0, 1700, words(0x401000), words(2, 0, 1010)),
     ["PC: Event 0x2801, aspace 0x1a2b, pc 0x401000", "Count: Event 0x2804, 3"]),
]
START = [(0, 1000, 5000), (1, 1000, 1000), (2, 1000, 0), (3, 1000, 0), (4, 1000, 0), (5, 1000, 0),
         (7, 1000, 300), (8, 1000, 0), (10, 1000, 40, 100)]
TICKS = [(6, 1600, 4096), (7, 1600, 310), (9, 1610, 50), (6, 1650, 4097), (9, 1650, 57),
         (10, 1650, 43, 112)]
END = [(0, 9000, 7123), (1, 9000, 1025), (2, 9000, 400), (3, 9000, 1), (4, 9000, 12400),
       (5, 9000, 20), (6, 9000, 5000), (7, 9000, 333), (8, 9000, 2),
       (10, 9000, 50, 200)]
BUILD_ID = bytes(range(20))
MAPPING = struct.pack("<IIQQQ", 7, 8, 0x400000, 0x2000, 0x1000)
TASK = struct.pack("<IIIIQ", 7, 5, 8, 6, 1300)
IN_COMMON = [
    (2, other(3, 1000, struct.pack("<II", 7, 8) + name("a\x1b\x9bn\xe4me")),
     ["Comm: pid 7, tid 8, a???n\xe4me"]),
    (1, other(3, 1100, struct.pack("<II", 7, 8) + name("new"), BIT_13),
     ["Comm: pid 7, tid 8, exec, new"]),
    (1, other(7, 1300, TASK), ["Fork: pid 7, tid 8, parent pid 5, parent tid 6"]),
    (1, other(4, 1300, TASK), ["Exit: pid 7, tid 8, parent pid 5, parent tid 6"]),
    (1, other(1, 1400, MAPPING + name("/bin/true")),
     ["Mmap: pid 7, tid 8, start 0x400000, length 0x2000, offset 0x1000, /bin/true"]),
    (1, other(10, 1500, MAPPING + struct.pack("<IIQQII", 8, 1, 99, 1, 5, 2) + name("/bin/true")),
     ["Mmap2: pid 7, tid 8, start 0x400000, length 0x2000, offset 0x1000, r-xp, device 8:1, "
      "inode 99, /bin/true"]),
    (1, other(10, 1600, MAPPING + struct.pack("<I20sII", 20, BUILD_ID, 2, 1) + name("/bin/true"),
              BIT_14),
     ["Mmap2: pid 7, tid 8, start 0x400000, length 0x2000, offset 0x1000, -w-s, build id "
      + BUILD_ID.hex() + ", /bin/true"]),
    (1, other(17, 1700, struct.pack("<QIHH", 0xFFFFFFFFC0000000, 300, 1, 1) + name("prog")),
     ["Ksymbol: start 0xffffffffc0000000, length 0x12c, type 1, gone, prog"]),
    (1, other(18, 1800, struct.pack("<HHIQ", 1, 0, 12, 0)), ["Bpf: program 12, loaded"]),
    (1, other(18, 1900, struct.pack("<HHIQ", 2, 0, 12, 0)), ["Bpf: program 12, unloaded"]),
    (1, other(15, 1910, struct.pack("<Ii", 9, -1), BIT_13 | BIT_14),
     ["SwitchOut: pid 1, tid 1, preempted, other pid 9, other tid unknown"]),
    (1, other(15, 1920, struct.pack("<II", 9, 10)), ["SwitchIn: pid 1, tid 1, other pid 9, other tid 10"]),
    (1, other(14, 1930, b"", BIT_13), ["SwitchOut: pid 1, tid 1"]),
    (1, other(16, 1940, struct.pack("<II", 7, 8) + words(2, 4, 5, 4, 6)), ["Namespaces: pid 7, tid 8, 4:5, 4:6"]),
    (1, other(19, 1950, words(77) + name("/a")), ["Cgroup: 77, /a"]),
    (1, other(11, 1960, words(4096, 64, 3)), ["Aux: offset 0x1000, 64 bytes, flags 0x3"]),
    (1, other(22, 1970, words(0xABC, 2, 1, 2)), ["DeferredCallchain: pid 1, tid 1, cookie 0xabc, 2 addresses"]),
    (1, other(12, 1980, struct.pack("<II", 7, 8)), ["Record: kind 12 (itrace_start), 32 bytes"]),
    (1, other(2, 2000, words(0, 3)), ["Lost: 3 records"]),
    (1, record(99, 0, words(1)), ["Record: kind 99, 16 bytes"]),
]


def lines_of(offset, time, before, texts):
    if time != before:
        yield f"{offset:04x}: Time: {time}"
    for text in texts:
        yield text[1] if isinstance(text, tuple) else f"{offset:04x}: {text}"


def make_trace(folder):
    """What is to be printed of it: up to its end, and its end."""
    out, entries, lines, last = File(0, 0, 3), [], [], None
    out.common_frames(EVENTS)
    out.frame(8, struct.pack("<II", 24, len(IDS)) + b"".join(
        struct.pack("<QIIII", 100 + place, place, 0, 0, group) for place, group in IDS.items()))
    out.readings(0, *START)
    half = len(TRACE) // 2
    for part in (TRACE[half:], TRACE[:half]):  # the second half first: the reader mends that
        mixed = part[:2] + part[3:4] + part[2:3] + part[4:]
        offsets = out.records(0, 3, *(r for r, _ in mixed))
        entries += [(time_of(r), TRACE.index((r, texts)), o, texts)
                    for o, (r, texts) in zip(offsets, mixed)]
    told = (["Value: Event 0x2002, 4096"], ["Count: Event 0x2003, 10"], [],
            ["Value: Event 0x2002, 4097"], ["Count: Event 0x2005, 7"],
            ["Count: Event 0x2006, 3 of 12"])
    for i, (offset, tick) in enumerate(zip(out.readings(2, *TICKS), TICKS)):
        entries.append((tick[1], 99 + i, offset, told[i]))
    for time, _, offset, texts in sorted(entries, key=lambda e: e[:2]):
        lines += lines_of(offset, time, last, texts)
        last = time
    at = out.readings(1, *END)
    rest = [(0, 123), (1, 15), (2, -100), (3, 0), (4, 55), (5, 0), (7, 23), (8, 0), (9, "7 of 88")]
    end = [f"{at[0]:04x}: Time: 9000"]
    end += [f"{at[i]:04x}: Count: Event 0x{number(END[i][0]):x}, {count}" for i, count in rest]
    end.append(f"{at[6]:04x}: Value: Event 0x2002, 5000")
    out.end()
    out.write(f"{folder}/t.0.0.cpuperf")
    return lines, end


def make_nameless(folder):
    out = File(0, 0, 3)
    out.common_frames(EVENTS)
    out.records(0, 3, record(1, 0, words(1)))
    out.end()
    out.write(f"{folder}/t.0.0.cpuperf")


def number(place):
    return struct.unpack_from("<I", EVENTS[place], 4)[0]


def time_of(data):
    kind, = struct.unpack_from("<I", data)
    if kind != 9:
        return struct.unpack_from("<Q", data, len(data) - 16)[0]
    place = struct.unpack_from("<Q", data, 8)[0] - 100
    return struct.unpack_from("<Q", data, 32 if place in (0, 2) else 24)[0]


def make_common(folder, session=SESSION):
    out, lines, last = File(COMMON, COMMON, COMMON, session), [], None
    out.common_frames(EVENTS)
    places = {}
    symbols = len(out.data)
    out.frame(10, b"ffffffff81000000 T _text\nffffffff81000010 t x\t[module]\n")
    out.frame(10, b"ffffffff81000020 T y\n")
    for ring in (1, 2):  # made records stand behind those that they come before
        mine = [i for i, entry in enumerate(IN_COMMON) if entry[0] == ring]
        places.update(zip(mine, out.records(ring, COMMON if ring == 2 else 0,
                                            *(IN_COMMON[i][1] for i in mine))))
    for i, (_, data, texts) in enumerate(IN_COMMON):
        time = 2000 if data[0] == 99 else struct.unpack_from("<Q", data, len(data) - 8)[0]
        lines += lines_of(places[i], time, last, texts)
        last = time
    out.end()
    out.write(f"{folder}/t.common.cpuperf")
    return [*lines, f"{symbols:04x}: Kallsyms: 3 lines of kernel symbols"]


def show(folder, code=0, how="raw"):
    done = subprocess.run([PRINT, f"--session={folder}/s.cpsession", f"--output-format={how}"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done


def compare(printed, *parts):
    wanted = [line for part in parts for line in part] + [""]
    for got, want in zip(printed.split("\n"), wanted + [""]):
        assert got == want, f"printed:\n{got}\nwanted:\n{want}"
    assert printed == "\n".join(wanted) + "\n"


def main():
    head = ["", "Iteration 0", "=" * 14, "", "Trace 0", "-" * 8]
    middle = ["", "Common", "-" * 8]
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/s.cpsession", "w", encoding="utf-8") as out:
            json.dump({"num_iterations": 1, "num_traces": 1,
                       "output_path_prefix": f"{folder}/t"}, out)
        lines, end = make_trace(folder)
        common = make_common(folder)
        done = show(folder)
        compare(done.stdout, head, lines, end, middle, common)
        # in the log: records, ticks, numbers at the end and their time; two frames of symbols
        nr = len(TRACE) + len(TICKS) + len(END) + 1 + len(IN_COMMON) + 2
        assert f"{nr} records processed" in done.stderr, done.stderr
        for how in ("text", "csv", "ndjson"):
            assert "Callchain" not in show(folder, how=how).stdout

        # killed: what there is is printed, what is left of counts is not known
        with open(f"{folder}/t.0.0.cpuperf", "r+b") as trace:
            data = trace.read()
            trace.truncate(len(data) - 80 - 32 - 56 * len(END))
        done = show(folder, 1)
        compare(done.stdout, head, lines, middle, common)
        assert "t.0.0.cpuperf: error: truncated: its end is missing" in done.stderr, done.stderr
        make_trace(folder)

        # without ids there are no layouts, and a record may have no name
        make_nameless(folder)
        done = show(folder, 1)
        assert re.search("^....: Mmap: pid unknown, tid unknown, start 0x0, .*, offset 0x0$", done.stdout, re.M), done.stdout
        make_trace(folder)

        # the common file: another session's, none
        make_common(folder, b"another session!")
        for said in ("a trace of another session: ignored", "cannot be read: No such file"):
            done = show(folder, 1)
            compare(done.stdout, head, lines, end)
            assert f"t.common.cpuperf: error: {said}" in done.stderr, done.stderr
            assert "without it there are only addresses: tasks and functions have no names" in done.stderr, done.stderr
            if said.startswith("a trace"):
                os.remove(f"{folder}/t.common.cpuperf")
    print(f"print_raw: {len(lines) + len(end) + len(common)} lines are as they must be")


main()
