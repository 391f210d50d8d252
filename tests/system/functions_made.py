"""Functions in a session that was recorded without: an event of it becomes one of the group function, and frames of
functions are added to its traces, as schemas/trace-format.md describes them. So every machine has such a session, and
what is in it is known."""
import glob
import re
import struct

from sampled import crc32c, unpack

HAS_TIMES, HAS_CPU = 1, 2
KERNEL, PATCHED, COMPILED = 1, 2, 3
INFO, EVENTS, END, FUNCTION = 1, 2, 6, 31
GROUP = 13


def bucket(ns):
    """Of a histogram: the number of the one that has so many ns."""
    if ns < 16:
        return ns
    shift = ns.bit_length() - 5
    return (shift << 4) + (ns >> shift)


def low(number):
    """The least ns of a bucket."""
    k, j = number >> 4, number & 15
    return (j + 16) << (k - 1) if k else j


def text16(text):
    data = text.encode()
    return struct.pack("<H", len(data)) + data


def function(name, times=(), calls=None, event=0, obj="/usr/bin/prog", address=0x1000, way=KERNEL, self_ns=None, cpu_ns=None,
             cost_ns=0, has_times=True, max_ns=None):
    """A frame's payload, of calls that took these times in ns."""
    buckets = {}
    for ns in times:
        buckets[bucket(ns)] = buckets.get(bucket(ns), 0) + 1
    wall = sum(times)
    flags = (HAS_TIMES if has_times else 0) | (HAS_CPU if cpu_ns is not None else 0)
    numbers = struct.pack("<IIIIQQQQQQQ", event, flags, way, 4, address, len(times) if calls is None else calls, wall,
                          wall if self_ns is None and has_times else self_ns or 0, cpu_ns or 0,
                          max(times, default=0) if max_ns is None else max_ns, cost_ns)
    items = b"".join(struct.pack("<IIQ", number, 0, count) for number, count in sorted(buckets.items()))
    return numbers + text16(name) + text16(obj) + struct.pack("<II", 16, len(buckets)) + items


def make_frame(kind, payload):
    head = struct.pack("<HHI", kind, 0, len(payload))
    return b"#FRM" + head + struct.pack("<I", crc32c(head + payload)) + payload + bytes(-len(payload) % 8)


def rename(payload, name, label):
    """The events frame, with one that is called so in the group function, and its position."""
    out, at, found = payload[:8], 8, None
    for place in range(struct.unpack_from("<I", payload)[0]):
        length, = struct.unpack_from("<I", payload, at)
        data = payload[at + 4:at + 4 + length]
        texts = 36 + struct.unpack_from("<I", data, 32)[0]
        end, names = texts, []
        for _ in range(4):
            size, = struct.unpack_from("<H", data, end)
            names.append(data[end + 2:end + 2 + size].decode())
            end += 2 + size
        if names[1] == name and found is None:
            found = place
            data = struct.pack("<I", GROUP << 11 | place + 1) + data[4:texts] + \
                b"".join(map(text16, ("function", label, label, "calls"))) + data[end:]
        out += struct.pack("<I", len(data)) + data
        at += 4 + length
    return out, found


def change(path, functions, events):
    with open(path, "rb") as f:
        data = f.read()
    at, = struct.unpack_from("<H", data, 14)
    out, nr = data[:at], 0
    while at < len(data):
        _, kind, flags, length = struct.unpack_from("<4sHHI", data, at)
        payload, whole = data[at + 16:at + 16 + length], data[at:at + 16 + (length + 7) // 8 * 8]
        at += len(whole)
        if kind == EVENTS:
            payload = unpack(payload) if flags & 1 else payload
            for name, label in events.items():
                payload, place = rename(payload, name, label)
                assert place is not None, name
            whole = make_frame(kind, payload)
        if kind == END:
            for payload_of_one in functions:
                out, nr = out + make_frame(FUNCTION, payload_of_one), nr + 1
            frames, = struct.unpack_from("<Q", payload, 16)
            payload = payload[:16] + struct.pack("<Q", nr) + payload[24:48] + struct.pack("<Q", len(out)) + payload[56:]
            assert frames + len(functions) == nr, (path, frames, nr)
            whole = make_frame(kind, payload)
        out, nr = out + whole, nr + 1
    with open(path, "wb") as f:
        f.write(out)


def add_functions(prefix, events, by_iteration):
    """prefix: of the traces; events: their names, and what they are called as functions; by_iteration: the functions of
    each."""
    for path in glob.glob(f"{prefix}.*.cpuperf"):
        place = re.fullmatch(r".*\.(\d+)\.(\d+)\.cpuperf", path)
        if place:
            of = by_iteration[int(place[1])] if place[2] == "0" and int(place[1]) < len(by_iteration) else ()
            change(path, of, events)
