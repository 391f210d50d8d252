"""The marks of a session, as the test of a guest compares them."""
import glob
import os
import struct

import sampled
from kit import CPUPERF, run

LIBRARY = os.path.realpath(os.environ["MARKS"])
BEGIN, NUMBER, END, INSTANT, INT, THREAD, PAUSE, RESUME = range(1, 9)


def measure(folder, *command, env=None):
    """What it printed; its exit status must be 7."""
    return run(CPUPERF, "--regions", "--", *command, cwd=folder, code=7, env=env).stdout


def marks(folder, may_lose=False):
    """[(kind, name, value, depth)] of each thread, the first one first, as it wrote them."""
    common, = glob.glob(f"{folder}/cpuperf.session/*.common.cpuperf")
    names, threads = {0: None}, {}
    for kind, payload in sampled.Trace(common).frames:
        if kind == 22:
            number, length = struct.unpack_from("<IH", payload)
            names[number] = payload[6:6 + length].decode()
        if kind == 23:
            pid, tid, _, _, lost, size, nr = struct.unpack_from("<IIIIQII", payload)
            assert may_lose or lost == 0, lost
            for i in range(nr):
                _, value, name, what, depth = struct.unpack_from("<QqIII", payload, 32 + i * size)
                threads.setdefault((pid, tid), []).append((what, names[name], value, depth))
    return list(threads.values())


def short(of_thread):
    """A line to compare: beginnings and ends as brackets."""
    form = {BEGIN: "({1}", NUMBER: "({1}={2}", END: ")", INSTANT: "!{1}", INT: "{1}={2}", THREAD: "@{1}",
            PAUSE: "pause", RESUME: "resume"}
    return " ".join(form[m[0]].format(*m) for m in of_thread)
