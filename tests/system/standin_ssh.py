"""A stand-in for ssh, for test_hosts.py: PATH has a program ssh that runs this file. What the host does is said
by its name: a real cpuperf runs unless the name is in PARTS or SHELLS. A part of its own speaks the protocol of
lib/hosts/frame.h, which it shares no line with, and lies as asked."""
import json
import os
import struct
import subprocess
import sys
import threading
import time

MAGIC = b"cpuperf part\n"
HELLO, PONG, READY, OUT, ERR, ALIVE, FILE, BYTES, END, PING, RUN, START, SIGNAL = range(13)
SKEW_NS = -3_600_000_000_123  # of the clock of the host skewed
FAILED = 2


def string(text):
    text = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<H", len(text)) + text


class Part:
    """The host's end of the conversation."""

    def __init__(self, skew_ns=0, version=None, protocol=1):
        self.skew_ns = skew_ns
        sys.stdout.buffer.write(MAGIC)
        self.say(HELLO, struct.pack("<I", protocol) + string(version or os.environ["VERSION"]) + string("node"))

    def say(self, kind, data=b""):
        sys.stdout.buffer.write(struct.pack("<II", len(data), kind) + data)
        sys.stdout.buffer.flush()

    def hear(self):
        size, kind = struct.unpack("<II", sys.stdin.buffer.read(8))
        return kind, sys.stdin.buffer.read(size)

    def compare_clocks(self):
        while True:
            kind, data = self.hear()
            if kind == RUN:
                return
            self.say(PONG, data + struct.pack("<Q", time.time_ns() + self.skew_ns))

    def begin(self):
        """Until it is to start: the instant."""
        self.compare_clocks()
        self.say(READY)
        kind, data = self.hear()
        assert kind == START
        return struct.unpack("<Q", data)[0]

    def file(self, name, data=b"x", size=None):
        self.say(FILE, struct.pack("<Q", len(data) if size is None else size) + string(name))
        if data:
            self.say(BYTES, data)

    def end(self, status=0, how=0, why=""):
        self.say(END, struct.pack("<II", status, how) + string(why))


def skewed():
    part = Part(SKEW_NS)
    instant = part.begin()
    with open("skewed.instant", "w", encoding="ascii") as f:
        json.dump(instant, f)
    part.file("cpuperf.cpsession")
    part.end()


def another(kind, data=b""):
    """A frame that is not due, in place of a file."""
    def run():
        part = Part()
        part.begin()
        part.say(kind, data)
        time.sleep(1000)
    return run


def sends(*names, data=b"x", size=None):
    def run():
        part = Part()
        part.begin()
        for name in names:
            part.file(name, data, size)
        part.end()
        time.sleep(1000)
    return run


def late():
    part = Part()
    part.compare_clocks()
    for _ in range(160):  # alive, but not ready in time
        part.say(ALIVE)
        time.sleep(0.1)
    part.say(READY)
    _, data = part.hear()
    part.file("cpuperf.cpsession")
    part.end(how=struct.unpack("<Q", data)[0] < time.time_ns())


def silent():
    part = Part()
    part.begin()
    time.sleep(1000)


def big():
    """More than the starter has room for: 8 MiB."""
    part = Part()
    part.begin()
    part.file("cpuperf.cpsession")
    part.say(FILE, struct.pack("<Q", 128 * 65536) + string("cpuperf.0.0.cpuperf"))
    for _ in range(128):
        part.say(BYTES, b"x" * 65536)
    part.end()
    time.sleep(1000)


def dies():
    part = Part()
    part.begin()
    part.file("cpuperf.cpsession", b"x", size=2)


def floods():
    part = Part()
    part.begin()
    part.say(OUT, b"x" * 65536)
    for _ in range(3):
        part.say(OUT, b"y" * 65536)
    part.say(ERR, b"cpuperf: error: the \x1b[2Jreason\n")
    part.end(1, FAILED, "why")


def repeats_pongs():
    part = Part()
    part.hear()
    part.say(PONG, struct.pack("<QQ", 1, 1))
    time.sleep(1000)


def centuries():
    part = Part()
    while True:
        _, data = part.hear()
        part.say(PONG, data + struct.pack("<Q", (1 << 63) - 1))


def asks_for(machine, times=1, at_once=1):
    def run():
        for _ in range(times):
            sys.stdout.buffer.write((b"cpuperf send " + machine + b"\n") * at_once)
            sys.stdout.buffer.flush()
            time.sleep(0.2)  # not in one read
        time.sleep(1000)
    return run


def dropped(command):
    """The connection is gone halfway: nobody reads what the script says, and it gets no more."""
    with subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=without_cpuperf()) as p:
        p.stdout.readline()
        p.stdin.write(b"half")
        for pipe in (p.stdout, p.stderr, p.stdin):
            pipe.close()
    sys.exit(255)


def garbled(command):
    """A connection that changes what is sent."""
    with subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, env=without_cpuperf()) as p:
        def change():
            data = os.read(0, 65536)  # in the head of gzip, which does not notice
            os.write(p.stdin.fileno(), data[:9] + b"\x55" + data[10:])

        threading.Thread(target=change, daemon=True).start()
        os._exit(p.wait())


def without_cpuperf():
    return {**os.environ, "PATH": "/usr/bin:/bin"}


PARTS = {
    "other_machine": asks_for(b"../x86_64"),
    "no_name": asks_for(b""),
    "twice_asks": asks_for(os.uname().machine.encode(), 2),
    "at_once_asks": asks_for(os.uname().machine.encode(), 1, 2),
    "long_asks": asks_for(b"x" * 100),
    "skewed": skewed,
    "late": late,
    "silent": silent,
    "big": big,
    "dies": dies,
    "floods": floods,
    "old": lambda: Part(version="0.0.1") and time.sleep(1000),
    "protocol": lambda: Part(protocol=2) and time.sleep(1000),
    "escapes": lambda: Part(version="\x1b[2J") and time.sleep(1000),
    "above": sends("../cpuperf.x.cpuperf"),
    "absolute": sends("/tmp/cpuperf.x.cpuperf"),
    "hidden": sends("host.json"),
    "twice": sends("cpuperf.cpsession", "cpuperf.cpsession"),
    "short": sends("cpuperf.cpsession", data=b"x", size=2),
    "more": sends("cpuperf.cpsession", data=b"xx", size=1),
    "nothing": sends(),
    "again": another(READY),
    "greets": another(HELLO, struct.pack("<I", 1) + string("x") + string("x")),
    "asks": another(RUN),
    "unknown": another(13),
    "huge": another(OUT, b"x" * 65537),
    "truncated": another(END, b"\0"),
    "pongs": repeats_pongs,
    "centuries": centuries,
}
SHELLS = {
    "refused": "echo 'ssh: connect to host refused port 22: Connection refused' >&2; exit 255",
    "hangs": "exec sleep 1000",
    "missing": "exec sh -c 'no-such-cpuperf --as-part'",
    "noisy": "printf 'Welcome\\033[2J to this host\\n'; exec cpuperf --as-part",
}


def main():
    host = sys.argv[sys.argv.index("--") + 1].partition("@")[2] or sys.argv[sys.argv.index("--") + 1]
    if os.environ.get("STANDIN_LOG"):
        with open(os.environ["STANDIN_LOG"], "a", encoding="utf-8") as f:
            f.write(json.dumps(sys.argv[1:]) + "\n")
    if host in PARTS:
        try:
            PARTS[host]()
        except (BrokenPipeError, struct.error):  # the starter has ended
            os._exit(1)
        return
    if host == "dropped":
        dropped(sys.argv[sys.argv.index("--") + 2])
    if host == "garbled":
        garbled(sys.argv[sys.argv.index("--") + 2])
    if host.startswith("bare"):
        os.execve("/bin/sh", ["sh", "-c", sys.argv[sys.argv.index("--") + 2]], without_cpuperf())
    command = SHELLS.get(host) or sys.argv[sys.argv.index("--") + 2]
    os.execv("/bin/sh", ["sh", "-c", command])


main()
