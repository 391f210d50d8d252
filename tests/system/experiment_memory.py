"""The memory of experiments (lib/wire/causal_memory.h) without cpuperf: a program runs with the agent, and what both counted is
read. Of regions there is the memory of their marks, too (cpuperf/mark.h), which nobody empties."""
import fcntl
import os
import re
import socket
import struct
import subprocess
import threading
import time

from kit import run

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER, OBJECT, RANGE, CANDIDATE, POINT, REGION = "=6I5Q4I", "=2Q2I", "=Q2I", "=Q", "=2QI104sI", "=2IQ256s"
MAGIC, NR_POINTS, DIED, NONE = 0x344c5343, 64, 1 << 30, (1 << 32) - 1
HELLO, ASK_NOTHING, ASK_MEMORY, ASK_EXPERIMENT = "=6I", 0, 1, 10  # cpuperf/mark.h
MARKS, MARKS_MAGIC, NR_SLOTS, SLOT_BYTES = "=2IQ10I", 0x4b524d43, 16, 4096 + (512 << 10)
TEXT_USED = 128  # of struct cpuperf_mark_header
NAMES = ("critical", "slack")
BUSY = "threads waited for a CPU for more than 5 %"  # what is said where no round, or no run, is of use
FREE, NAMED = 0, 2


def build(folder, name="causal", *options):
    program = os.path.join(folder, name)
    run("cc", "-O2", "-g", "-pthread", *options, f"-I{os.environ['SOURCE_DIR']}/include", "-o", program, f"{HERE}/causal.c")
    return program


def make_memory(nr_bytes):
    fd = os.memfd_create("experiment", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, nr_bytes)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd


def make_marks(number):
    """The memory of an object's marks, as lib/wire/memory.c makes it. A thread that has ended had the first slot, and left a
    region "stale" open."""
    names = 4096
    text = names + 4096 * 4
    slots = text + (256 << 10)
    fd = make_memory(slots + NR_SLOTS * SLOT_BYTES)
    os.pwrite(fd, struct.pack(MARKS, MARKS_MAGIC, 2, slots + NR_SLOTS * SLOT_BYTES, 0, NR_SLOTS, names, text, slots, 0, number, 0, 0, 0), 0)
    stale = struct.pack("=I8s", 5, b"stale")
    os.pwrite(fd, struct.pack("=I", len(stale)), TEXT_USED)
    os.pwrite(fd, struct.pack("=I", 1), names)
    os.pwrite(fd, stale, text)
    os.pwrite(fd, struct.pack("=Q120xQ", 1, 1), slots)  # its head and tail
    os.pwrite(fd, struct.pack("=QI2H", 1, 1, 1, 0), slots + 4096)  # a beginning
    return fd


class Recorder:
    """The recorder's socket, at which processes of the program ask for the memory, and its objects for that of their marks."""

    def __init__(self, memory):
        self.name = f"cpuperf-marks-{os.urandom(4).hex()}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind("\0" + self.name)
        self.socket.listen(64)
        self.memory, self.nr_objects = memory, 0
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def end(self):
        self.socket.shutdown(socket.SHUT_RD)
        self.thread.join()
        self.socket.close()

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                hello = struct.unpack(HELLO, connection.recv(64))
                assert hello[2] in (ASK_NOTHING, ASK_MEMORY, ASK_EXPERIMENT), hello
                if hello[2] == ASK_EXPERIMENT:
                    socket.send_fds(connection, [b"\0"], [self.memory])
                elif hello[2] == ASK_MEMORY:
                    self.nr_objects += 1
                    marks = make_marks(self.nr_objects)
                    socket.send_fds(connection, [b"\0"], [marks])
                    os.close(marks)


class Run:
    """A run of the program with the agent, in memory that is made here: of functions of it, or (regions) of its regions, whose
    names it has already."""

    def __init__(self, program, chosen, percent, *args, before=(), of=None, regions=(), **how):
        head, order = self.of_regions(chosen, percent, regions) if regions else self.of_functions(of or program, chosen, percent)
        times = len(head)
        points = times + len(order) * 8
        names = points + NR_POINTS * struct.calcsize(POINT)
        self.memory = make_memory(names + len(regions) * struct.calcsize(REGION))
        os.pwrite(self.memory, head, 0)
        for i, name in enumerate(regions):
            os.pwrite(self.memory, struct.pack(REGION, NAMED if name else FREE, 0, 0, name.encode()), names + i * struct.calcsize(REGION))
        recorder = Recorder(self.memory)
        begin = time.monotonic_ns()
        self.status = subprocess.run([*before, program, *args], check=False, **how, env={
            **os.environ, "CPUPERF_EXPERIMENT": recorder.name, "LD_PRELOAD": os.environ["EXPERIMENTS"],
            **({"CPUPERF_MARKS": recorder.name} if regions else {})}).returncode
        self.wall = time.monotonic_ns() - begin
        (_, _, _, _, _, self.pid, _, self.all, self.behind, self.sampled, self.queued, self.threads, self.unsampled, _,
         _) = struct.unpack(HEADER, os.pread(self.memory, struct.calcsize(HEADER), 0))
        found = [struct.unpack(REGION, os.pread(self.memory, struct.calcsize(REGION), names + i * struct.calcsize(REGION)))
                 for i in range(len(regions))]
        self.left_open = {name.rstrip(b"\0").decode(): left for kind, left, _, name in found if kind == NAMED}
        self.paid = {name.rstrip(b"\0").decode(): paid for kind, _, paid, name in found if kind == NAMED}
        order = [name.rstrip(b"\0").decode() for _, _, _, name in found] if regions else order
        self.ns = dict(zip(order, struct.unpack(f"={len(order)}Q", os.pread(self.memory, 8 * len(order), times))))
        self.point = struct.unpack(POINT, os.pread(self.memory, struct.calcsize(POINT), points))
        os.close(self.memory)
        recorder.end()

    @staticmethod
    def of_functions(program, chosen, percent):
        symbols = {name: (int(at, 16), int(size, 16)) for at, size, name in
                   re.findall(r"^(\w+) (\w+) [tT] (\w+)$", subprocess.check_output(["nm", "-S", program], text=True), re.M)}
        functions = sorted((*symbols[name], name) for name in NAMES)
        order = [name for _, _, name in functions]
        st = os.stat(program)
        head = struct.pack(HEADER, MAGIC, 1, len(functions), len(functions), 1, 0, percent << 32 | order.index(chosen), *[0] * 8)
        head += struct.pack(OBJECT, st.st_dev, st.st_ino, 0, len(functions))
        for i, (at, size, _) in enumerate(functions):
            head += struct.pack(RANGE, at, size, i)
        return head, order

    @staticmethod
    def of_regions(chosen, percent, regions):
        return struct.pack(HEADER, MAGIC, 0, 0, len(regions), 1, 0, percent << 32 | regions.index(chosen), *[0] * 6, len(regions), 1), regions


def until(is_so, make):
    """A run of which this is so: on a busy machine a thread may end before another one has begun."""
    for _ in range(20):
        r = make()
        if is_so(r):
            return
    raise AssertionError(vars(r))
