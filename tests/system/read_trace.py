#!/usr/bin/env python3
"""Reads cpuperf traces; written from schemas/trace-format.md alone, shares no line with lib/trace.
read_trace.py FILE... prints JSON lines: the header, then each frame, of each trace.
read_trace.py --counts FILE... prints CSV: what each event of each trace counted, unscaled.
Exit status 1 if anything was damaged, cut or no trace, or packed where there is no libzstd. """
import csv, ctypes, functools, json, struct, sys

# name:type; a type of struct, or a length and that many bytes: text16, text32, bytes32
HEADER = """byte_order:I version:H header_bytes:H incompatible:I compatible:I session_id:16s
    boot_id:16s iteration:I trace:I cpu:I nr_traces:I host:64s machine:16s"""
EVENT = """bytes:I id:I kind:I scope:I flags:I rate:Q state:I perf_group:I attr:bytes32 group:text16
    name:text16 label:text16 unit:text16 description:text16 source:text16 reason:text16"""
EVENT_LATER = "scale:d", "frequency:Q", "format:text32"  # not in older traces
READING = "event:I instance:I state:I flags:I time_ns:Q raw:Q enabled_ns:Q running_ns:Q base:Q"
ID = "id:Q event:I instance:I attr:I group:I"
THING = "number:I name:text16"
SAMPLED = "event:I instance:I samples:Q idle:Q weight:Q lost:Q throttled:Q unthrottled:Q"
FRAMES = {
    1: ("info", """duration_ns:Q num_iterations:Q user_hz:I page_bytes:I tool:text16 kernel:text16
        cpu_model:text16 config_name:text16 model_name:text16 spec_json:text32"""),
    2: ("events", "nr:I reserved:I"),
    3: ("clocks", "monotonic_ns:Q boottime_ns:Q realtime_ns:Q"),
    4: ("readings", "boundary:I record_bytes:I nr:I reserved:I"),
    5: ("note", "time_ns:Q text:text16"),
    6: ("end", "start_ns:Q end_ns:Q nr_frames:Q nr_readings:Q lost:Q throttled:Q bytes:Q"),
    7: ("records", "ring:I cpu:I"),
    8: ("ids", "item_bytes:I nr:I"),
    9: ("sampling", """ring_bytes:Q max_rate_start:Q max_rate_end:Q idle_ns:Q lost:Q ticks:Q
        ticks_missed:Q item_bytes:I nr:I"""),
    10: ("kallsyms", ""),
    11: ("things", "nr_events:I nr:I"),
    13: ("iteration", "iteration:I reserved:I"),
    14: ("index", "item_bytes:I nr:I"),
    15: ("build_id", """major:I minor:I inode:Q inode_generation:Q from_ns:Q to_ns:Q id:bytes32
        path:bytes32"""),
    16: ("target", """flags:I pid:I status:I reserved:I start_ns:Q end_ns:Q user_ns:Q system_ns:Q
        peak_bytes:Q minor_faults:Q major_faults:Q read_blocks:Q written_blocks:Q
        voluntary_switches:Q involuntary_switches:Q text:text16"""),
    30: ("symbol_range", "first:Q last:Q"),
    19: ("window", """window:I clock:I cycle:Q gap_ns:Q start_late_ns:Q end_late_ns:Q clock_ns:Q"""),
}
ITEMS = {"readings": ("record_bytes", READING), "ids": ("item_bytes", ID),
         "sampling": ("item_bytes", SAMPLED), "index": ("item_bytes", "iteration:I reserved:I from:Q")}
SIDE_BAND = (1, 2)  # rings whose records end with these fields:
SAMPLE_ID = "pid:I tid:I time_ns:Q"
PACKED = 1  # flag of a frame, and the feature bit that allows it
SEGMENT = 2  # feature bit: many iterations, each behind a frame that says which
MAX_BYTES = 64 << 20
STATES = ["", "ok", "offline", "not supported", "no permission", "limit reached", "failed"]
HAS_RAW, VALUE, SHARE, THINGS = ("ok", "offline"), 2, 3, 4  # states; kinds; scope
NO_READING = {"state": 0}
BORN = {"state": 1, "time_ns": 0, "raw": 0, "enabled_ns": 0, "running_ns": 0, "base": 0}
COLUMNS = """iteration trace cpu group event label state
    raw_delta enabled_delta running_delta base_delta""".split()
CRC_TABLE = list(range(256))
for _ in range(8):
    CRC_TABLE = [n >> 1 ^ (0x82F63B78 if n & 1 else 0) for n in CRC_TABLE]

def crc32c(data):
    step = lambda crc, byte: crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return functools.reduce(step, data, 0xFFFFFFFF) ^ 0xFFFFFFFF

def fields(layout, data, at=0):
    """The fields that begin at a place, and the place behind them. struct.error: too short."""
    out = {}
    for name, kind in (field.split(":") for field in layout.split()):
        code, length = "<" + kind, {"16": "<H", "32": "<I"}.get(kind[-2:])
        if length:
            code = "<%ds" % struct.unpack_from(length, data, at)
            at += struct.calcsize(length)
        value, = struct.unpack_from(code, data, at)
        at += struct.calcsize(code)
        if kind.startswith("text") or name in ("host", "machine"):
            value = value.rstrip(b"\0").decode("utf-8", "replace")
        out[name] = value.hex() if isinstance(value, bytes) else value
    return out, at

@functools.lru_cache
def libzstd():
    try:
        return ctypes.CDLL("libzstd.so.1")
    except OSError:
        return None

def unpack(payload):
    """The plain payload of a packed frame; None: there is no zstd here."""
    length, = struct.unpack_from("<I", payload)
    if length > MAX_BYTES - 16:
        raise ValueError("too long")
    zstd, size, packed = libzstd(), ctypes.c_size_t, payload[4:]
    if not zstd:
        return None
    out = ctypes.create_string_buffer(length)
    zstd.ZSTD_decompress.restype = zstd.ZSTD_findFrameCompressedSize.restype = size
    if (zstd.ZSTD_findFrameCompressedSize(packed, size(len(packed))) != len(packed) or
            zstd.ZSTD_decompress(out, size(length), packed, size(len(packed))) != length):
        raise ValueError("does not unpack")
    return out.raw

def event(payload, at):
    d, place = fields(EVENT, payload, at)
    end = at + 4 + d["bytes"]
    for layout in EVENT_LATER:
        later, place = fields(layout, payload[:end], place) if place < end else ({}, place)
        d.update(later)
    return d, end

def record(ring, payload, at):
    d = fields("type:I misc:H size:H", payload, at)[0]
    end = at + d["size"]
    if d["size"] < 8 or d["size"] % 8 or end > len(payload):
        raise ValueError(f"a record of {d['size']} bytes")
    if ring in SIDE_BAND:
        d.update(fields(SAMPLE_ID, payload[:end], max(end - 16, at + 8))[0])
    return {**d, "bytes": payload[at + 8:end].hex()}, end

def decode(kind, payload):
    name, layout = FRAMES.get(kind, (kind, ""))
    d, at = fields(layout, payload)
    if name == "events":
        d["events"] = []
        while len(d["events"]) < d["nr"]:
            one, at = event(payload, at)
            d["events"].append(one)
    if name in ITEMS:
        size, item = ITEMS[name]
        places = range(at, at + d["nr"] * d[size], d[size])
        d["readings" if name == "readings" else "items"] = [
            fields(item, payload, place)[0] for place in places]
    if name == "things":
        d["events"] = list(struct.unpack_from(f"<{d['nr_events']}I", payload, at))
        d["things"], at = [], at + 4 * d["nr_events"]
        while len(d["things"]) < d["nr"]:
            one, at = fields(THING, payload, at)
            d["things"].append(one)
    if name == "records":
        d["records"] = []
        while at < len(payload):
            one, at = record(d["ring"], payload, at)
            d["records"].append(one)
    if name == "kallsyms":
        d["lines"] = payload.decode("utf-8", "replace").splitlines()
    return {"frame": name, **d}

def header(data):
    if data[:8] != b"\x89CPUPRF\n" or len(data) < 192:
        raise ValueError("no cpuperf trace")
    d = fields(HEADER, data, 8)[0]
    end = d["header_bytes"] - 4
    if end < 188 or data[end:end + 4] != struct.pack("<I", crc32c(data[:end])):
        raise ValueError("the header is damaged")
    if (d["byte_order"], d["version"], d["incompatible"] & ~(PACKED | SEGMENT)) != (0x01020304, 1, 0):
        raise ValueError("of a version that is not known")
    return d

def intact(data, at, features):
    """Kind, payload (None: cannot be unpacked here) and end of the frame at a place; None if there
    is no intact one."""
    sync, kind, flags, length, crc = struct.unpack("<4sHHII", data[at:at + 16].ljust(16, b"\0"))
    stop, end = at + 16 + length, at + 16 + (length + 7) // 8 * 8
    if (sync != b"#FRM" or flags & ~(features & PACKED) or end > len(data) or
            end - at > MAX_BYTES or any(data[stop:end])):
        return None
    if crc32c(data[at + 4:at + 12] + data[at + 16:stop]) != crc:
        return None
    try:
        return kind, unpack(data[at + 16:stop]) if flags else data[at + 16:stop], end
    except (struct.error, ValueError):
        return None

def read(data, say):
    """The header and the decoded frames; say(message) for all that is wrong."""
    head, frames, nr_readings, whole, skipped = header(data), [], 0, False, False
    first, index = 0, []  # frame of the iteration at hand; where each begins
    at = head["header_bytes"]
    while at < len(data):
        start, frame = at, None
        while at < len(data) and not (frame := intact(data, at, head["incompatible"])):
            at += 8
        if at > start:
            say(f"damaged at offset {start}: {min(at, len(data)) - start} bytes skipped")
        if not frame:
            break
        try:
            d = {"frame": "skipped", "kind": frame[0]}
            if frame[1] is None:
                skipped = True
                say(f"packed frame at offset {at}: no libzstd here: skipped")
            else:
                d = {**decode(*frame[:2]), "offset": at}
        except (struct.error, ValueError) as e:
            d = {"frame": "malformed"}
            say(f"malformed frame at offset {at}: {e}")
        if head["incompatible"] & SEGMENT and d["frame"] == "iteration":
            if index and not whole:
                say(f"iteration {index[-1][0]} is not whole")
            first, nr_readings = len(frames), 0
            index.append((d["iteration"], at))
        if d["frame"] == "index":
            if (struct.unpack("<Q", frame[1][-8:])[0], frame[2]) != (at, len(data)):
                say(f"the index at offset {at} is out of place")
            if [(i["iteration"], i["from"]) for i in d["items"]] != index:
                say(f"the index at offset {at} does not agree with what was read")
        else:
            last = [d.get(k) for k in ("frame", "nr_frames", "bytes")]
            whole = last == ["end", len(frames) - first, at] and (
                skipped or d["nr_readings"] == nr_readings)
        frames.append(d)
        nr_readings += len(d.get("readings", ()))
        at = frame[2]
    if not whole:
        say("not whole: no end that agrees with what was read")
    return head, frames

def number(kind, start, end):
    """State and deltas of one event: "From readings to numbers" of the page."""
    before, after = (STATES[min(r["state"], 6)] for r in (start, end))
    if after not in HAS_RAW or kind == VALUE:
        return after, {"raw": end["raw"]} if after in HAS_RAW else {}
    if before not in HAS_RAW:
        return before or "failed", {}
    d = {k: end[k] - start[k] for k in ("raw", "enabled_ns", "running_ns", "base", "time_ns")}
    if min(d.values()) < 0:
        return "failed", {}
    is_perf = any(r[k] for r in (start, end) for k in ("enabled_ns", "running_ns"))
    if not d["base"] if kind == SHARE else is_perf and not d["running_ns"]:
        return "not counted", {"enabled_ns": d["enabled_ns"]}
    return after, d

def iterations(head, frames):
    """Header and frames of each iteration: of a segment those behind each of its begins."""
    begins = [i for i, f in enumerate(frames) if f["frame"] == "iteration"]
    if not begins or not head["incompatible"] & SEGMENT:
        yield head, frames
        return
    for begin, end in zip(begins, begins[1:] + [len(frames)]):
        own = {**head, "iteration": frames[begin]["iteration"]}
        yield own, frames[:begins[0]] + frames[begin:end]

def counts(head, frames):
    events = next((f["events"] for f in frames if f["frame"] == "events"), [])
    all_readings = ((f["boundary"], r) for f in frames for r in f.get("readings", ()))
    readings = {(boundary, r["event"], r["instance"]): r for boundary, r in all_readings}
    for (boundary, event, instance), end in readings.items():
        if boundary == 1 and event < len(events) and end["state"]:
            v = events[event]
            start = readings.get((0, event, instance), BORN if v["scope"] == THINGS else NO_READING)
            state, d = number(v["kind"], start, end)
            yield [*(head[k] for k in COLUMNS[:3]), v["group"], v["name"], v["label"], state,
                   *(d.get(k, "") for k in ("raw", "enabled_ns", "running_ns", "base"))]

def main(args):
    as_csv, wrong = args[:1] == ["--counts"], []
    write_row = csv.writer(sys.stdout, lineterminator="\n").writerow
    emit = write_row if as_csv else lambda d: print(json.dumps(d))
    emit(COLUMNS) if as_csv else None
    for path in args[as_csv:]:
        try:
            with open(path, "rb") as f:
                head, frames = read(f.read(), lambda what: wrong.append(f"{path}: {what}\n"))
            rows = [{"file": path, **head}, *frames]
            if as_csv:
                rows = (row for own in iterations(head, frames) for row in counts(*own))
            for row in rows:
                emit(row)
        except (ValueError, OSError) as e:
            wrong.append(f"{path}: {e}\n")
    sys.stderr.writelines(wrong)
    return bool(wrong)
sys.exit(main(sys.argv[1:]))
