"""Plays the recorder of a program's heap: makes the memory of lib/wire/heap_memory.h, answers the agent's
socket, and reads what it added up. Written from that header; the tests compare cpuperf with it."""
import array
import ctypes
import functools
import mmap
import os
import random
import socket
import struct
import subprocess
import threading
import weakref

BLOCKS, STACKS, PEAK, OVERHEAD, UNTOUCHED, LIVES, PATTERN, ADAPTIVE = 1, 2, 4, 8, 16, 32, 128, 1 << 15
HELLO = struct.Struct("<6I")
STACK = struct.Struct("<4I22Q")
(UNREADABLE, FOREIGN, STATIC_PROGRAM, LOADER, RIGHTS, SANITIZER, NO_AGENT, NO_ROOM, FILTER, CHILDREN, PAGES, TIMES,
 CONNECT, LIMIT) = range(1, 15)
FIELDS = ("samples bytes freed_samples freed_bytes max temporary_samples temporary_bytes peak_samples peak_bytes "
          "untouched_samples untouched lives overhead calls freed_calls temporary_calls peak_calls").split()
MAX_NODES, MAX_STACKS, MAX_THREADS, NR_SHARDS = 1 << 20, 1 << 16, 1024, 8192
THREADS = 4096
CLASSES, NR_CLASSES, CLASS = THREADS + 64 * MAX_THREADS, 42, struct.Struct("<6Q")
NODES = CLASSES + (MAX_THREADS + 1) * NR_CLASSES * CLASS.size
STACKS_AT = NODES + 16 * MAX_NODES
SHARDS = STACKS_AT + STACK.size * MAX_STACKS
ARENA = SHARDS + 32 * NR_SHARDS


class Memory:
    """Of one process image."""

    def __init__(self, pid, rate, wants, arena=256 << 20, intervals=(0, 0)):
        self.pid, self.rate = pid, rate
        self.fd = os.memfd_create("heap", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        self.bytes = ARENA + arena
        os.ftruncate(self.fd, self.bytes)
        import fcntl
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self.map = mmap.mmap(self.fd, self.bytes)
        self.map[:128] = struct.pack("<2I2Q4I6Q2I8x2Q8x", 0x50454843, 11, self.bytes, rate, wants, MAX_NODES,
                                     MAX_STACKS, MAX_THREADS, THREADS, NODES, STACKS_AT, SHARDS, ARENA, CLASSES, 0, 0, *intervals)

    def header(self):
        names = ("mapped arena_used nr_nodes nr_stacks nr_threads nr_epochs live peak peak_ns moment "
                 "no_node no_block nested unknown cut deep invalid stacks_ns cpu_base_ns cpu_ns seen_ns real_ns").split()
        return dict(zip(names, struct.unpack_from("<2Q4I4Q12Q", self.map, 128)))

    def missed(self):
        """What is not measured: {(reason, name): how often}."""
        rows = [struct.unpack_from("<3I52s", self.map, 296 + 64 * i) for i in range(16)]
        return {(why, name.split(b"\0")[0].decode()): nr for state, nr, why, name in rows if state == 2 and nr}

    def threads(self):
        """calls, bytes, frees of all threads."""
        all_ = [struct.unpack_from("<2I3Q", self.map, THREADS + 64 * i) for i in range(self.header()["nr_threads"])]
        return [sum(t[k] for t in all_) for k in (2, 3, 4)]

    def path(self, node):
        """Addresses from the outermost caller on."""
        path = []
        while node:
            pc, parent, _ = struct.unpack_from("<QII", self.map, NODES + 16 * node)
            if parent == 0xffffffff:
                break
            assert parent < node, "callers have smaller numbers"
            path.append(pc)
            node = parent
        return path[::-1]

    def stacks(self):
        """Each stack, parts of it as one: its path and amounts, with live ones and those at the peak."""
        head, result, of_node = self.header(), [], {}
        for i in range(head["nr_stacks"]):
            values = STACK.unpack_from(self.map, STACKS_AT + STACK.size * i)
            s = dict(zip(FIELDS, values[5:]))
            for what in ("samples", "bytes", "calls"):
                s["live_" + what] = s[what] - s["freed_" + what]
                if values[4] != head["moment"]:
                    s["peak_" + what] = s["live_" + what]
            whole = of_node.setdefault(values[0], s)
            if whole is not s:
                whole.update({k: max(whole[k], v) if k == "max" else whole[k] + v for k, v in s.items()})
                continue
            s["path"] = self.path(values[0])
            result.append(s)
        return result

    def blocks(self):
        """Tracked blocks: shard, key, stack and size."""
        result = []
        for i in range(NR_SHARDS):
            _, depth, at, bucket, _, nr = struct.unpack_from("<2IQ2IQ", self.map, SHARDS + 32 * i)
            numbers = struct.unpack_from("<%dI" % (1 << depth), self.map, at) if depth else [bucket]
            found = []
            for number in dict.fromkeys(n for n in numbers if n):
                start = ARENA + 512 * (number - 1)
                in_bucket, _ = struct.unpack_from("<2I", self.map, start)
                blocks = [struct.unpack_from("<3I", self.map, start + 8 + 12 * k) for k in range(42)]
                blocks = [b for b in blocks if b[1]]
                assert len(blocks) == in_bucket
                found += blocks
            assert len(found) == nr, (len(found), nr)
            result += [(i, *b) for b in found]
        return result


def serve(sock, memories, make):
    """Until the recorder is gone."""
    while True:
        try:
            c, _ = sock.accept()
        except OSError:
            return
        with c:
            hello = c.recv(64)
            if len(hello) != HELLO.size or HELLO.unpack(hello)[2] != 5:
                continue
            m = make(struct.unpack("<3i", c.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])
            memories.append(m)
            c.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [m.fd]))])
            os.close(m.fd)  # the mapping has its own


class Recorder:
    """Answers the agents of all programs that run with its environment. What nobody holds any more is closed: an ordinary
    user may have few files open."""

    def __init__(self, agent, rate=1, wants=BLOCKS | STACKS | PEAK, **more):
        self.name, self.agent, self.memories = "cpuperf-marks-%08x" % random.randrange(1, 1 << 32), agent, []
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sock.bind("\0" + self.name)
        sock.listen(64)
        weakref.finalize(self, sock.shutdown, socket.SHUT_RDWR)
        make = functools.partial(Memory, rate=rate, wants=wants, **more)
        threading.Thread(target=serve, args=(sock, self.memories, make), daemon=True).start()

    def environment(self):
        return dict(os.environ, LD_PRELOAD=self.agent, CPUPERF_HEAP=self.name)

    def run(self, *command, **more):
        return subprocess.run(command, env=self.environment(), **more)
