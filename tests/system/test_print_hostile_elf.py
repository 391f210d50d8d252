#!/usr/bin/env python3
"""Programs that were made, after they were recorded, to harm who prints their names: with sections
that are holes of tebibytes, changed in many places, cut off while they are read, on a file system
that does not answer. A name may be lost, with a word why; the report is printed, within fixed limits
of time and memory (those of test_print_hostile.py). CPUPERF and CPUPERF_PRINT name the programs,
CPUPERF_TEST_SEED makes other changes, CPUPERF_TEST_LONG=1 makes 900 of them.
"""
import concurrent.futures
import ctypes
import lzma
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time

import sampled
import test_print_hostile as hostile
from test_print_hostile import HUGE, SEED, read, write

NR_CHANGED = 900 if os.environ.get("CPUPERF_TEST_LONG") == "1" else 36
TEBIBYTE, GIBIBYTE = 1 << 40, 1 << 30


class Elf:
    """Of 64 bits, little-endian: its sections, to be changed in place."""

    def __init__(self, data):
        self.data = bytearray(data)
        self.shoff, = struct.unpack_from("<Q", data, 40)
        self.shnum, self.shstrndx = struct.unpack_from("<HH", data, 60)
        names = self.field(self.shstrndx, 24)
        self.sections = {}
        for i in range(self.shnum):
            at = names + struct.unpack_from("<I", data, self.shoff + 64 * i)[0]
            self.sections[bytes(data[at:data.index(b"\0", at)]).decode()] = i

    def field(self, section, at):
        return struct.unpack_from("<Q", self.data, self.shoff + 64 * section + at)[0]

    def set(self, name, at, value):
        struct.pack_into("<Q", self.data, self.shoff + 64 * self.sections[name] + at, value)

    def place(self, name):
        i = self.sections[name]
        return self.field(i, 24), self.field(i, 32)


# ---- the program, in the forms in which there are names

def make_forms(folder, program):
    def form(name, *command):
        shutil.copy(program, f"{folder}/{name}")
        subprocess.run([*command, f"{folder}/{name}"], check=True)
        return f"{folder}/{name}"
    made = {"whole": program,
            "packed": form("packed", "objcopy", "--compress-debug-sections=zlib"),
            "stripped": form("stripped", "strip", "-s")}
    debug = form("debug", "objcopy", "--only-keep-debug")
    write(f"{folder}/small.xz", lzma.compress(read(debug)))
    made["in a section"] = form("mini", "strip", "-s")
    subprocess.run(["objcopy", f"--add-section=.gnu_debugdata={folder}/small.xz", made["in a section"]],
                   check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", form("linked", "strip", "-s")],
                   check=True)
    return {name: read(path) for name, path in made.items()}, read(f"{folder}/linked"), read(debug)


def write_sparse(path, data, size):
    """The file's own system may have a smaller end."""
    write(path, bytes(data))
    while size > len(data):
        try:
            os.truncate(path, size)
            return
        except OSError:
            size //= 2


def change(data, rng):
    """Words anywhere, and more of them where lengths and offsets are."""
    elf = Elf(data)
    places = [(0, 64), (elf.shoff, 64 * elf.shnum), (0, len(data) - 8)]
    places += [elf.place(name) for name in elf.sections if name.startswith((".debug", ".symtab", ".eh",
                                                                            ".gnu_debug", ".rela"))]
    for _ in range(rng.choice((1, 3, 10, 40))):
        start, size = rng.choice(places)
        width = rng.choice((1, 1, 2, 4, 8))
        at = min(start + rng.randrange(max(1, size)), len(data) - width)
        value = rng.choice((*HUGE, rng.getrandbits(64))) & (1 << 8 * width) - 1
        elf.data[at:at + width] = value.to_bytes(width, "little")
    return bytes(elf.data)


# ---- cases

class Case:
    """A session of a program at the path of which stands something else by now."""

    def __init__(self, folder):
        self.folder, self.program = folder, f"{folder}/bin/victim"
        os.mkdir(f"{folder}/bin")
        hostile.compile_to(self.program, "-g", "-Wl,--build-id")
        os.mkdir(f"{folder}/session")
        with subprocess.Popen([self.program, "plain", "600000"]) as child:
            session = sampled.start(f"{folder}/session", [sampled.event("software:cpu_clock", rate=2000000, flags=["callchain"])],
                                    "--duration=600")
            sampled.wait_for_mappings(session, f"{folder}/session/t.common.cpuperf", [child.pid])
            sampled.wait_for_cpu_time([child], sampled.user_seconds(child.pid) + 0.2)
            session.send_signal(signal.SIGINT)
            sampled.finish(session)
            child.kill()
        self.pid = child.pid
        self.forms, self.linked, self.debug = make_forms(folder, self.program)

    def print(self, name, number=0, must_say=False, sysroot=None):
        to = f"{self.folder}/out{number}"
        os.makedirs(to, exist_ok=True)
        more = [f"--sysroot={sysroot}"] if sysroot else []
        result = hostile.run(to, f"--session={self.folder}/session/s.cpsession", "--quiet",
                             "--report=flat", "--lines", "--inline", "--top=0", f"--pid={self.pid}",
                             *more)
        fine = hostile.is_fine(name, result, must_say)
        if result[0] != 0 or "victim" not in result[2]:
            print(f"  {name}: no report: {result[0]}, {result[1][-500:]}")
            return False, result
        return fine, result


def check_changed(case):
    """In trees of their own, so that several can be printed at once."""
    rng, names = random.Random(SEED), list(case.forms)
    cases = [(names[i % len(names)], i, change(case.forms[names[i % len(names)]], rng))
             for i in range(NR_CHANGED)]

    def one(made):
        name, i, data = made
        root = f"{case.folder}/root{i}"
        os.makedirs(root + os.path.dirname(case.program))
        write(root + case.program, data)
        fine = case.print(f"{name}, {i}", i, sysroot=root)[0]
        shutil.rmtree(root)
        shutil.rmtree(f"{case.folder}/out{i}", ignore_errors=True)
        return fine
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        fine = list(pool.map(one, cases))
    print(f"changed: {sum(fine)} of {len(fine)}", flush=True)
    return all(fine)


def hollow(data, section, size, total):
    elf = Elf(data)
    elf.set(section, 24, len(data))
    elf.set(section, 32, size)
    return elf.data, len(data) + total


def holes(case):
    """Files that cost their owner some blocks."""
    whole, packed = case.forms["whole"], case.forms["packed"]
    yield "symbols of tebibytes", *hollow(whole, ".symtab", 8 * TEBIBYTE, 8 * TEBIBYTE)
    yield "symbols of gibibytes", *hollow(whole, ".symtab", 2 * GIBIBYTE, 32 * GIBIBYTE)
    yield "names of gibibytes", *hollow(whole, ".strtab", 2 * GIBIBYTE, 32 * GIBIBYTE)
    yield "lines of gibibytes", *hollow(whole, ".debug_line", 4 * GIBIBYTE, 32 * GIBIBYTE)
    yield "frames of gibibytes", *hollow(case.forms["stripped"], ".eh_frame", GIBIBYTE, 32 * GIBIBYTE)
    yield "small, packed: of gibibytes", packed, 32 * GIBIBYTE
    elf = Elf(packed)
    at, _ = elf.place(".debug_info")
    struct.pack_into("<Q", elf.data, at + 8, 3 * GIBIBYTE)  # ch_size
    yield "unpacks to gibibytes", elf.data, 32 * GIBIBYTE


def check_holes(case):
    ok = True
    for name, data, size in holes(case):
        write_sparse(case.program, data, size)
        fine, result = case.print(name, must_say=not name.startswith(("small", "unpacks", "frames")))
        if name.startswith("small") and "spin" not in result[2]:
            print(f"  {name}: names are lost that need not be\n{result[1]}")
            fine = False
        ok &= fine
    write(case.program, case.linked)
    write_sparse(f"{case.folder}/bin/debug", case.debug, 32 * GIBIBYTE)
    ok &= case.print("link to gibibytes", must_say=True)[0]
    os.unlink(f"{case.folder}/bin/debug")
    return ok


def check_cut(case):
    """Cut off and written again, over and over, as cp does it, while it is read."""
    data, is_over = case.forms["whole"], threading.Event()

    def cut():
        while not is_over.wait(0.002):
            os.truncate(case.program, 4096)
            write(case.program, data)
    writer = threading.Thread(target=cut)
    writer.start()
    try:
        return all([case.print(f"cut off, {i}")[0] for i in range(8)])
    finally:
        is_over.set()
        writer.join()
        write(case.program, data)


class Deaf:
    """A file system in the program's folder whose daemon, this one, says that it is there, and not a
    word more. None: it cannot be mounted."""

    def __init__(self, folder):
        self.folder, libc = folder, ctypes.CDLL(None, use_errno=True)
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0".encode()
        if libc.mount(b"deaf", folder.encode(), b"fuse", 0, options):
            os.close(self.fd)
            raise OSError(ctypes.get_errno(), "fuse cannot be mounted")
        request = os.read(self.fd, 1 << 17)
        unique, = struct.unpack_from("<Q", request, 8)
        body = struct.pack("<IIIIHHI", 7, 31, 65536, 0, 12, 9, 4096) + bytes(40)
        os.write(self.fd, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        """What was read by the daemon cannot be taken back by a signal."""
        try:
            while os.read(self.fd, 1 << 17):
                pass
        except OSError:
            pass

    def end(self):
        subprocess.run(["umount", "-f", "-l", self.folder], check=True)
        os.close(self.fd)


def check_deaf(case):
    try:
        deaf = Deaf(os.path.dirname(case.program))
    except OSError as e:
        print(f"skip: a file system that does not answer: {e}")
        return True
    try:
        fine, result = case.print("does not answer", must_say=True)
    finally:
        deaf.end()
    if "takes too long" not in result[1]:
        print(f"  does not answer: that is not said\n{result[1]}")
    return fine and "takes too long" in result[1]


def main():
    with tempfile.TemporaryDirectory(prefix="cpuperf-hostile.") as folder:
        case = Case(folder)
        good = case.print("good")
        assert good[0] and "spin" in good[1][2], good
        failed = []
        for check in (check_holes, check_cut, check_deaf, check_changed):
            began = time.monotonic()
            if not check(case):
                failed.append(check.__name__)
            print(f"{check.__name__}: {time.monotonic() - began:.1f} s", flush=True)
            write(case.program, case.forms["whole"])
        assert not failed, failed


if __name__ == "__main__":
    main()
