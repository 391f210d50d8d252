"""The marks of a session, as the test of a guest compares them."""
import glob
import os
import struct

import sampled
from kit import CPUPERF, run

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.realpath(os.environ["MARKS"])
BEGIN, NUMBER, END, INSTANT, INT, THREAD, PAUSE, RESUME = range(1, 9)
GONE = 12  # the recorder's: the process ended
FLAGS = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-cast-function-type", "-Wno-unused-parameter"]


def build(folder, source, *more, compiler="cc", name="prog"):
    """The program of a source beside this file."""
    program = os.path.join(folder, name)
    run(compiler, *FLAGS, "-o", program, f"{HERE}/{source}", *more, "-pthread", "-ldl")
    return program


def measure(folder, *command, env=None):
    """What it printed; its exit status must be 7."""
    return run(CPUPERF, "--regions", "--", *command, cwd=folder, code=7, env=env).stdout


def varint(data, at):
    """The number of seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def marks(folder, may_lose=False):
    """[(kind, name, value, depth)] of each thread, the first one first, as it wrote them."""
    common, = glob.glob(f"{folder}/cpuperf.session/*.common.cpuperf")
    names, threads = {0: None}, {}
    for kind, payload in sampled.Trace(common).frames:
        if kind == 22:
            number, length = struct.unpack_from("<IH", payload)
            names[number] = payload[6:6 + length].decode()
        if kind == 24:
            pid, tid, _, _, lost, nr = struct.unpack_from("<IIIIQI", payload)
            assert may_lose or lost == 0, lost
            at = 28
            for _ in range(nr):
                head, (_, at) = payload[at], varint(payload, at + 1)
                depth, at = varint(payload, at) if head & 0x20 else (0, at)
                value, at = varint(payload, at) if head & 0x40 else (0, at)
                name, at = varint(payload, at) if head & 0x80 else (0, at)
                value = -(value + 1) // 2 if value & 1 else value // 2
                if head & 0x1f != GONE:
                    threads.setdefault((pid, tid), []).append((head & 0x1f, names[name], value, depth))
    return list(threads.values())


def short(of_thread):
    """A line to compare: beginnings and ends as brackets."""
    form = {BEGIN: "({1}", NUMBER: "({1}={2}", END: ")", INSTANT: "!{1}", INT: "{1}={2}", THREAD: "@{1}",
            PAUSE: "pause", RESUME: "resume"}
    return " ".join(form[m[0]].format(*m) for m in of_thread)
