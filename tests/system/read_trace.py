#!/usr/bin/env python3
"""Reads cpuperf traces; written from schemas/trace-format.md alone, shares no line with lib/trace.
read_trace.py FILE... prints JSON lines: the header, then each frame, of each trace.
read_trace.py --counts FILE... prints CSV: what each event of each trace counted, unscaled.
Exit status 1 if anything was damaged, cut or no trace. """
import csv, functools, json, struct, sys

# name:type; a type of struct, or a length and that many bytes: text16, text32, bytes32
HEADER = """byte_order:I version:H header_bytes:H incompatible:I compatible:I session_id:16s
    boot_id:16s iteration:I trace:I cpu:I nr_traces:I host:64s machine:16s"""
EVENT = """bytes:I id:I kind:I scope:I flags:I rate:Q state:I perf_group:I attr:bytes32 group:text16
    name:text16 label:text16 unit:text16 description:text16 source:text16 reason:text16"""
READING = "event:I instance:I state:I reserved:I time_ns:Q raw:Q enabled_ns:Q running_ns:Q base:Q"
FRAMES = {
    1: ("info", """duration_ns:Q num_iterations:Q user_hz:I page_bytes:I tool:text16 kernel:text16
        cpu_model:text16 config_name:text16 model_name:text16 spec_json:text32"""),
    2: ("events", "nr:I reserved:I"),
    3: ("clocks", "monotonic_ns:Q boottime_ns:Q realtime_ns:Q"),
    4: ("readings", "boundary:I record_bytes:I nr:I reserved:I"),
    5: ("note", "time_ns:Q text:text16"),
    6: ("end", "start_ns:Q end_ns:Q nr_frames:Q nr_readings:Q lost:Q throttled:Q bytes:Q"),
}
STATES = ["", "ok", "offline", "not supported", "no permission", "limit reached", "failed"]
HAS_RAW, VALUE, SHARE = ("ok", "offline"), 2, 3  # states; kinds
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

def decode(kind, payload):
    name, layout = FRAMES.get(kind, (kind, ""))
    d, at = fields(layout, payload)
    if name == "events":
        d["events"] = []
        while len(d["events"]) < d["nr"]:
            d["events"].append(fields(EVENT, payload, at)[0])
            at += 4 + d["events"][-1]["bytes"]
    if name == "readings":
        places = range(at, len(payload), d["record_bytes"])
        d["readings"] = [fields(READING, payload, place)[0] for place in places]
    return {"frame": name, **d}

def header(data):
    if data[:8] != b"\x89CPUPRF\n" or len(data) < 192:
        raise ValueError("no cpuperf trace")
    d = fields(HEADER, data, 8)[0]
    end = d["header_bytes"] - 4
    if end < 188 or data[end:end + 4] != struct.pack("<I", crc32c(data[:end])):
        raise ValueError("the header is damaged")
    if (d["byte_order"], d["version"], d["incompatible"]) != (0x01020304, 1, 0):
        raise ValueError("of a version that is not known")
    return d

def intact(data, at):
    """Kind, payload and end of the frame at a place; None if there is no intact one."""
    sync, kind, flags, length, crc = struct.unpack("<4sHHII", data[at:at + 16].ljust(16, b"\0"))
    stop, end = at + 16 + length, at + 16 + (length + 7) // 8 * 8
    if sync != b"#FRM" or flags or end > len(data) or end - at > 64 << 20 or any(data[stop:end]):
        return None
    good = crc32c(data[at + 4:at + 12] + data[at + 16:stop]) == crc
    return (kind, data[at + 16:stop], end) if good else None

def read(data, say):
    """The header and the decoded frames; say(message) for all that is wrong."""
    head, frames, nr_readings, whole = header(data), [], 0, False
    at = head["header_bytes"]
    while at < len(data):
        start, frame = at, None
        while at < len(data) and not (frame := intact(data, at)):
            at += 8
        if at > start:
            say(f"damaged at offset {start}: {min(at, len(data)) - start} bytes skipped")
        if not frame:
            break
        try:
            d = {**decode(*frame[:2]), "offset": at}
        except (struct.error, ValueError) as e:
            d = {"frame": "malformed"}
            say(f"malformed frame at offset {at}: {e}")
        last = [d.get(k) for k in ("frame", "nr_frames", "nr_readings", "bytes")]
        whole = last == ["end", len(frames), nr_readings, at]
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

def counts(head, frames):
    events = next((f["events"] for f in frames if f["frame"] == "events"), [])
    all_readings = ((f["boundary"], r) for f in frames for r in f.get("readings", ()))
    readings = {(boundary, r["event"], r["instance"]): r for boundary, r in all_readings}
    for (boundary, event, instance), end in readings.items():
        if boundary == 1 and event < len(events) and end["state"]:
            v, start = events[event], readings.get((0, event, instance), {"state": 0})
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
            for row in counts(head, frames) if as_csv else [{"file": path, **head}, *frames]:
                emit(row)
        except (ValueError, OSError) as e:
            wrong.append(f"{path}: {e}\n")
    sys.stderr.writelines(wrong)
    return bool(wrong)
sys.exit(main(sys.argv[1:]))
