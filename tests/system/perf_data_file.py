"""Writes perf.data as perf record of any version and machine would: of either byte order, to a file
or a pipe, packed or not. What is in it the caller knows, so readers can be held against it. Source:
linux/perf_event.h and tools/perf/Documentation/perf.data-file-format.txt.
"""
import ctypes
import ctypes.util
import struct

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCH, REGS, STACK, WEIGHT, \
    DATA_SRC, IDENTIFIER, TRANSACTION, REGS_INTR, PHYS, AUX, CGROUP, DATA_PAGE, CODE_PAGE, \
    WEIGHT_STRUCT = (1 << i for i in range(25))
MMAP, LOST, COMM, EXIT, THROTTLE, UNTHROTTLE, FORK, READ_RECORD, SAMPLE, MMAP2 = range(1, 11)
AUX_RECORD, LOST_SAMPLES, SWITCH, SWITCH_CPU_WIDE, NAMESPACES, KSYMBOL, CGROUP_RECORD = \
    11, 13, 14, 15, 16, 17, 19
KERNEL, USER, HYPERVISOR, GUEST_KERNEL, GUEST_USER = range(1, 6)
CONTEXT_KERNEL, CONTEXT_USER, CONTEXT_GUEST = 2**64 - 128, 2**64 - 512, 2**64 - 2048
CONTEXT_USER_DEFERRED, CALLCHAIN_DEFERRED = 2**64 - 640, 22
COMM_EXEC, MISC_BUILD_ID = 1 << 13, 1 << 14
HW_INDEX, COUNTERS = 1 << 17, 1 << 19
FREQ, SAMPLE_ID_ALL = 10, 18  # bits of the attr's flags


class File:
    def __init__(self, order="<", attr_bytes=112, sample_id_all=True, mmap2=True, leaks=False):
        self.order, self.attr_bytes = order, attr_bytes
        self.sample_id_all, self.mmap2, self.leaks = sample_id_all, mmap2, leaks
        self.attrs, self.records, self.features, self.stream = [], [], {}, None

    # --- numbers and texts ---
    def pack(self, shape, *values):
        return struct.pack(self.order + shape, *values)

    def words(self, *values):
        return self.pack(f"{len(values)}Q", *values)

    @staticmethod
    def text(s):
        return s.encode() + b"\0" * (8 - len(s.encode()) % 8)

    def string(self, s):
        body = s.encode() + b"\0"
        body += b"\0" * (-len(body) % 64)
        return self.pack("I", len(body)) + body

    # --- events ---
    def event(self, type_, config, sample_type, ids, period=0, freq=0, branch=0, regs=0, stack=0,
              read_format=0, regs_intr=0, precise=0, bits=0):
        bits |= (bool(freq) << FREQ) | (self.sample_id_all << SAMPLE_ID_ALL) | precise << 15
        flags = bytes(bits >> 8 * i & 255 for i in range(8))
        if self.order == ">":
            flags = bytes(int(f"{b:08b}"[::-1], 2) for b in flags)
        attr = self.pack("IIQQQQ", type_, self.attr_bytes, config, freq or period, sample_type,
                         read_format) + flags
        attr += self.pack("IIQQQQIiQIHH", 0, 0, 0, 0, branch, regs, stack, 0, regs_intr, 0, 0, 0)
        attr = (attr + bytes(self.attr_bytes))[:self.attr_bytes]
        self.attrs.append({"bytes": attr, "type": sample_type, "ids": ids, "branch": branch,
                           "regs": regs, "read": read_format, "regs_intr": regs_intr})
        return len(self.attrs) - 1

    # --- records ---
    def record(self, type_, misc, body):
        assert len(body) % 8 == 0
        self.records.append(self.pack("IHH", type_, misc, 8 + len(body)) + body)

    def trailer(self, pid, tid, time, cpu, event, id_):
        a = self.attrs[event]["type"]
        out = b""
        if not self.sample_id_all:
            return out
        if a & TID:
            out += self.pack("II", pid, tid)
        if a & TIME:
            out += self.words(time)
        if a & ID:
            out += self.words(id_)
        if a & STREAM_ID:
            out += self.words(id_)
        if a & CPU:
            out += self.pack("II", cpu, 0)
        if a & IDENTIFIER:
            out += self.words(id_)
        return out

    def other(self, type_, body, misc=USER, pid=0, tid=0, time=0, cpu=0, event=0, nr=0, id_=None):
        id_ = self.attrs[event]["ids"][nr] if id_ is None else id_
        self.record(type_, misc, body + self.trailer(pid, tid, time, cpu, event, id_))

    def comm(self, pid, tid, name, misc=0, **keys):
        self.other(COMM, self.pack("II", pid, tid) + self.text(name), misc, pid, tid, **keys)

    def fork(self, pid, ppid, tid, ptid, time, **keys):
        self.other(FORK, self.pack("IIIIQ", pid, ppid, tid, ptid, time), 0, pid, tid, time, **keys)

    def mmap(self, pid, start, length, offset, path, misc=USER, inode=(8, 1, 4711, 0), rights=5, **keys):
        if self.leaks:  # the bit of another listener's build-ids, and no build-id
            misc, inode = misc | MISC_BUILD_ID, (254, 0, 4711, 0)
        body = self.pack("IIQQQ", pid, pid, start, length, offset)
        if self.mmap2:
            body += self.pack("IIQQ", *inode)
        if self.mmap2 and self.mmap2 != "short":  # kernels from 3.12 to 3.15 wrote no more
            body += self.pack("II", rights, 2)
        self.other(MMAP2 if self.mmap2 else MMAP, body + self.text(path), misc, pid, pid, **keys)

    def lost(self, nr, event=0, **keys):
        self.other(LOST, self.words(self.attrs[event]["ids"][0], nr), 0, event=event, **keys)

    def branch_flags(self, mispredicted=0, predicted=0, cycles=0, kind=0):
        v = mispredicted | predicted << 1 | cycles << 4 | kind << 20
        return self.turned(v)

    def turned(self, v):
        """A bit field of 64 bits as the compiler of that machine lays it out."""
        if self.order == "<":
            return v
        out, at = 0, 0
        for width in (1, 1, 1, 1, 16, 4, 2, 4, 3, 31):
            field = v >> at & (1 << width) - 1
            out |= field << 64 - at - width
            at += width
        return out

    def sample(self, event=0, nr=0, misc=USER, ip=0, pid=0, tid=0, time=0, addr=0, cpu=0, period=0,
               chain=(), raw=b"", branches=(), regs=(), stack=b"", weight=0, read=(), data_src=0,
               regs_intr=()):
        a, t = self.attrs[event], self.attrs[event]["type"]
        id_ = a["ids"][nr]
        body = b""
        for bit, word in ((IDENTIFIER, id_), (IP, ip)):
            body += self.words(word) if t & bit else b""
        body += self.pack("II", pid, tid) if t & TID else b""
        for bit, word in ((TIME, time), (ADDR, addr), (ID, id_), (STREAM_ID, id_)):
            body += self.words(word) if t & bit else b""
        body += self.pack("II", cpu, 0) if t & CPU else b""
        body += self.words(period) if t & PERIOD else b""
        body += self.words(*read) if t & READ else b""
        body += self.words(len(chain), *chain) if t & CALLCHAIN else b""
        if t & RAW:
            raw += b"\0" * (-(len(raw) + 4) % 8)
            body += self.pack("I", len(raw)) + raw
        if t & BRANCH:
            body += self.words(len(branches))
            body += self.words(7) if a["branch"] & HW_INDEX else b""
            for from_, to, flags in branches:
                body += self.words(from_, to, flags)
            body += self.words(*[3] * len(branches)) if a["branch"] & COUNTERS else b""
        if t & REGS:
            body += self.words(2 if regs else 0, *regs)
        if t & STACK:
            stack += b"\0" * (-len(stack) % 8)
            body += self.words(len(stack)) + (stack + self.words(len(stack)) if stack else b"")
        body += self.words(weight) if t & (WEIGHT | WEIGHT_STRUCT) else b""
        body += self.words(data_src) if t & DATA_SRC else b""
        body += self.words(0) if t & TRANSACTION else b""
        if t & REGS_INTR:
            body += self.words(2 if regs_intr else 0, *regs_intr)
        for bit in (PHYS, CGROUP, DATA_PAGE, CODE_PAGE):
            body += self.words(4096) if t & bit else b""
        if t & AUX:
            body += self.words(8) + b"auxiliar"
        self.record(SAMPLE, misc, body)

    # --- features, by their numbers ---
    def feature_string(self, number, s):
        self.features[number] = self.string(s)

    def who(self, host, kernel, version, arch, cpu, command):
        for number, s in ((3, host), (4, kernel), (5, version), (6, arch), (8, cpu)):
            self.feature_string(number, s)
        self.features[7] = self.pack("II", 4, 2)
        self.features[10] = self.words(1024 * 1024)
        self.features[11] = self.pack("I", len(command)) + b"".join(map(self.string, command))

    def names(self, names):
        out = self.pack("II", len(self.attrs), self.attr_bytes)
        for a, name in zip(self.attrs, names):
            out += a["bytes"] + self.pack("I", len(a["ids"])) + self.string(name)
            out += self.words(*a["ids"])
        self.features[12] = out

    def build_ids(self, rows):
        """rows: (misc, path, 20 bytes)"""
        out = b""
        for misc, path, id_ in rows:
            body = self.pack("i", -1) + id_ + bytes([len(id_), 0, 0, 0]) + self.text(path)
            body += b"\0" * (-len(body) % 8)
            out += self.pack("IHH", 0, misc | 1 << 15, 8 + len(body)) + body
        self.features[2] = out

    # --- the whole ---
    def pack_records(self, first, pieces=3, kind=81):
        """What stands from the first record on, packed by zstd as one stream in so many pieces, cut
        inside records."""
        data = b"".join(self.records[first:])
        size = -(-len(data) // pieces)
        self.records = self.records[:first]
        for packed in zstd_stream([data[i:i + size] for i in range(0, len(data), size)]):
            for at in range(0, len(packed), 60000):
                part = packed[at:at + 60000]
                if kind == 83:
                    part = self.words(len(part)) + part + b"\0" * (-len(part) % 8)
                self.records.append(self.pack("IHH", kind, 0, 8 + len(part)) + part)
        self.features[27] = self.pack("IIIII", 1, 1, 1, 3, 1 << 20)

    def whole(self, magic=b"PERFILE2", header_bytes=104, told_size=None):
        entry = self.attr_bytes + 16
        ids_at = header_bytes + entry * len(self.attrs)
        table, ids = b"", b""
        for a in self.attrs:
            table += a["bytes"] + self.words(ids_at + len(ids), 8 * len(a["ids"]))
            ids += self.words(*a["ids"])
        data = b"".join(self.records)
        at = ids_at + len(ids)
        bits = [sum(1 << n % 64 for n in self.features if n // 64 == w) for w in range(4)]
        out = magic[::-1] if self.order == ">" and magic == b"PERFILE2" else magic
        out += self.words(header_bytes, entry, header_bytes, entry * len(self.attrs), at,
                          len(data) if told_size is None else told_size, 0, 0, *bits)
        out = out[:header_bytes] + table + ids + data
        sections, end = b"", len(out) + 16 * len(self.features)
        bodies = [self.features[n] for n in sorted(self.features)]
        for body in bodies:
            sections += self.words(end, len(body))
            end += len(body)
        return out + sections + b"".join(bodies)

    def pipe(self, features_first=False):
        """features_first: as perf of Linux 4.14 to 4.16 writes it."""
        attrs, features = b"", b""
        for a in self.attrs:
            body = a["bytes"] + self.words(*a["ids"])
            attrs += self.pack("IHH", 64, 0, 8 + len(body)) + body
        for number in sorted(self.features):
            body = self.words(number) + self.features[number]
            body += b"\0" * (-len(body) % 8)
            if len(body) < 65000:
                features += self.pack("IHH", 80, 0, 8 + len(body)) + body
        out = (b"PERFILE2" if self.order == "<" else b"2ELIFREP") + self.words(16)
        out += features + attrs if features_first else attrs + features
        return out + b"".join(self.records) + self.pack("IHH", 68, 0, 8)


def zstd_stream(pieces):
    """Each piece as perf has it: flushed, and the stream goes on."""
    lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    lib.ZSTD_createCCtx.restype = ctypes.c_void_p

    class Buffer(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]

    compress = lib.ZSTD_compressStream2
    compress.restype = ctypes.c_size_t
    compress.argtypes = [ctypes.c_void_p, ctypes.POINTER(Buffer), ctypes.POINTER(Buffer),
                         ctypes.c_int]
    context = lib.ZSTD_createCCtx()
    out = []
    for piece in pieces:
        room = ctypes.create_string_buffer(len(piece) + 4096)
        source = ctypes.create_string_buffer(piece, len(piece))
        to = Buffer(ctypes.addressof(room), len(room), 0)
        from_ = Buffer(ctypes.addressof(source), len(piece), 0)
        left = compress(context, ctypes.byref(to), ctypes.byref(from_), 1)  # ZSTD_e_flush
        assert left == 0 and from_.pos == len(piece)
        out.append(room.raw[:to.pos])
    return out
