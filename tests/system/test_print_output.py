#!/usr/bin/env python3
"""The file that --output-file names: whose it is, what of it is there when printing fails or is
killed, and what is never written over. As this user, and as another one where this one is root.
CPUPERF, CPUPERF_PRINT and MIX name programs. Filling a disk needs root, to mount one; else that
part is skipped.
"""
import ctypes
import itertools
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import sampled

PRINT = os.environ["CPUPERF_PRINT"]
NOBODY = 65534
OLD = b"of last week\n"
FORMATS = ["text", "csv", "ndjson", "raw", "folded", "pprof", "speedscope", "perfetto", "chrome",
           "openmetrics", "html", "perf-data"]
REPORTS = [["--report=flat", "--output-format=csv"], ["--report=records", "--output-format=ndjson"]]
SOME = [["--report=summary"], ["--output-format=perf-data"], ["--output-format=pprof"]]


def outputs(user):
    """All, and for another user as many as differ in how they are written."""
    if user is not None:
        return SOME
    return [[f"--output-format={form}"] for form in [*FORMATS, "sqlite"]] + REPORTS


def who(user):
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


def owner(user):
    return os.geteuid() if user is None else user


def has_no_tmpfile():
    """In a child, before it runs: openat knows no files without a name, as those of some file
    systems (NFS). A filter of system calls."""
    openat = {"x86_64": 257, "aarch64": 56}[platform.machine()]

    def step(code, jump_true, jump_false, value):
        return code.to_bytes(2, "little") + bytes([jump_true, jump_false]) + value.to_bytes(4, "little")

    load, equal, give = 0x20, 0x15, 0x06
    steps = (step(load, 0, 0, 0) + step(equal, 0, 4, openat) + step(load, 0, 0, 32) +
             step(0x54, 0, 0, os.O_TMPFILE) +  # and
             step(equal, 0, 1, os.O_TMPFILE) + step(give, 0, 0, 0x00050000 | 95) +  # EOPNOTSUPP
             step(give, 0, 0, 0x7fff0000))
    text = ctypes.create_string_buffer(steps, len(steps))

    class Program(ctypes.Structure):
        _fields_ = [("nr", ctypes.c_ushort), ("steps", ctypes.c_void_p)]

    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(steps) // 8, ctypes.cast(text, ctypes.c_void_p))
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0  # PR_SET_SECCOMP, a filter


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data, user=None):
    with open(path, "wb") as f:
        f.write(data)
    os.chown(path, owner(user), -1)
    os.chmod(path, 0o644)


class Place:
    """A session, and a folder of a user to print to."""

    def __init__(self, folder, user):
        self.user, self.out, self.path = user, f"{folder}/out", f"{folder}/out/made"
        self.session = f"--session={folder}/s.cpsession"
        self.program = sampled.for_everybody(PRINT, os.path.dirname(folder))
        self.nowhere = f"{folder}/nowhere"  # names cost time: there are none but the kernel's
        os.mkdir(self.nowhere)
        os.mkdir(self.out)
        os.chown(self.out, owner(user), -1)

    def args(self, *args):
        return [self.program, "--quiet=2", self.session, f"--sysroot={self.nowhere}",
                f"--output-file={self.path}", *args]

    def run(self, *args, code=0, **more):
        done = subprocess.run(self.args(*args), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, timeout=600, cwd="/", **who(self.user), **more)
        assert done.returncode == code, (args, done.returncode, done.stderr)
        return done

    def fail(self, text, *args, code=1, **more):
        error = self.run(*args, code=code, **more).stderr
        assert error.count(b"error: ") == 1 and text.encode() in error, (args, error)

    def put_old(self):
        write(self.path, OLD, self.user)

    def check_old(self, *context):
        assert os.listdir(self.out) == ["made"] and read(self.path) == OLD, (
            context, os.listdir(self.out), read(self.path)[:99])


def check_made(place):
    """A new file and one in place of another are the user's alone, and nothing else is left."""
    for args, has_old in itertools.product(outputs(place.user), (False, True)):
        if has_old:
            place.put_old()
        before = os.umask(0)
        place.run(*args)
        os.umask(before)
        st = os.stat(place.path)
        assert (st.st_mode, st.st_uid) == (0o100600, owner(place.user)), (args, st)
        assert st.st_size > 40 and os.listdir(place.out) == ["made"], args
        os.unlink(place.path)


def check_same_without_tmpfile(place):
    """Where files must have a name the result is the same."""
    place.run("--output-format=folded")
    wanted = read(place.path)
    for has_old in (False, True):
        os.unlink(place.path)
        if has_old:
            place.put_old()
        place.run("--output-format=folded", preexec_fn=has_no_tmpfile)
        assert read(place.path) == wanted and os.listdir(place.out) == ["made"]
        assert os.stat(place.path).st_mode == 0o100600


def limit(handler):
    signal.signal(signal.SIGXFSZ, handler)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))


def limit_named(handler):
    has_no_tmpfile()
    limit(handler)


def check_no_room(place):
    place.put_old()
    for args, prepare in itertools.product(outputs(place.user), (limit, limit_named)):
        place.fail("File too large" if "sqlite" not in args[0] else "cannot be", *args,
                   preexec_fn=lambda: prepare(signal.SIG_IGN))
        place.check_old(args, prepare)
    for args, prepare in itertools.product(SOME, (limit, limit_named)):
        place.run(*args, code=-signal.SIGXFSZ, preexec_fn=lambda: prepare(signal.SIG_DFL))
        place.check_old(args, prepare)


def check_full_disk(place):
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k,mode=777", "none",
                                            place.out], check=False).returncode:
        print("skip: a full disk: no file system can be mounted here")
        return
    try:
        place.put_old()
        for form in ("perf-data", "html", "sqlite", "perfetto", "chrome", "speedscope"):
            place.fail("No space left on device", f"--output-format={form}")
            place.check_old(form)
        place.run("--report=threads", "--top=1")  # what fits is there
        assert read(place.path) != OLD
    finally:
        subprocess.run(["umount", place.out], check=True)


def is_writing(pid, place):
    """Whether it has the new file open; the old one is looked into before."""
    try:
        files = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        return any(f.startswith(f"{place.out}/") and f != place.path for f in files)
    except FileNotFoundError:  # a descriptor that is gone meanwhile
        return False


def check_signals(place):
    """Held in the middle, by names that do not come, and killed there."""
    place.put_old()
    ends = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU]
    cases = [(None, end) for end in ends + [signal.SIGKILL]]
    for prepare, end in cases + [(has_no_tmpfile, end) for end in ends]:
        with subprocess.Popen(place.args("--output-format=perf-data", "--kallsyms=/dev/stdin"),
                              stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=prepare,
                              **who(place.user)) as p:
            while not is_writing(p.pid, place):
                assert p.poll() is None
                time.sleep(0.005)
            assert len(os.listdir(place.out)) == 1 + (prepare is not None)
            p.send_signal(end)
            assert p.wait() == -end
        place.check_old(prepare, end)


def check_links(place):
    """What a link points to is not written, whosever it is."""
    target = f"{os.path.dirname(place.out)}/precious"
    for made_by, has_target in itertools.product({place.user, None}, (True, False)):
        if has_target:
            write(target, OLD, place.user)
        os.symlink(target, place.path)
        os.chown(place.path, owner(made_by), -1, follow_symlinks=False)
        place.fail("is a symbolic link, which is not followed", "--output-format=folded")
        assert os.readlink(place.path) == target
        assert not has_target or read(target) == OLD
        assert has_target or not os.path.exists(target)
        os.unlink(place.path)
        if has_target:
            os.unlink(target)


def check_others(place):
    """Another user's file stays, also where everybody may write."""
    if os.geteuid() != 0:
        print("skip: another user's file: this is not root")
        return
    other = NOBODY if place.user is None else 0
    for mode in (0o700, 0o1777):
        os.chmod(place.out, mode)
        write(place.path, OLD, other)
        os.chmod(place.path, 0o666)
        place.fail("belongs to another user", "--output-format=folded")
        place.check_old(mode)
        os.unlink(place.path)
        os.mkfifo(place.path, 0o666)
        os.chmod(place.path, 0o666)
        os.chown(place.path, NOBODY if place.user is None else NOBODY - 1, -1)
        place.fail("is a FIFO of another user", "--output-format=folded")
        os.unlink(place.path)


def check_in_place(place):
    """What is no file takes what is printed as it comes."""
    place.run("--output-format=folded")
    wanted = read(place.path)
    os.unlink(place.path)
    os.mkfifo(place.path)
    os.chown(place.path, owner(place.user), -1)
    with tempfile.TemporaryFile() as out:  # holds more than a pipe
        with subprocess.Popen(["cat", place.path], stdout=out):
            place.run("--output-format=folded")
        out.seek(0)
        assert out.read() == wanted
    os.unlink(place.path)
    for place.path in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        assert place.run("--output-format=folded").stdout == wanted
    with tempfile.TemporaryFile() as out:  # behind what is there already
        out.write(OLD)
        out.flush()
        subprocess.run(place.args("--output-format=folded"), stdout=out, check=True,
                       **who(place.user))
        out.seek(0)
        assert out.read() == OLD + wanted
        place.fail("cannot hold a perf.data file, whose beginning is written last", "--output-format=perf-data")
    place.path = "/dev/null"
    for args in outputs(place.user):
        place.run(*args)
    place.path = "/dev/full"
    place.fail("No space left on device", "--output-format=folded")
    place.path = "/dev/fd/99"
    place.fail("cannot be opened: Bad file descriptor", "--output-format=folded")


def check_no_place(place):
    good = place.path
    for place.path, text in ((place.out, "Is a directory"), (f"{good}/", "Not a directory"),
                             (f"{place.out}/none/x", "No such file"),
                             (f"{place.out}/{'n' * 256}", "too long")):
        write(good, OLD, place.user)
        place.fail(text, "--output-format=folded")
        assert read(good) == OLD and os.listdir(place.out) == ["made"]
    if place.user is not None:
        os.chmod(place.out, 0o555)
        place.path = f"{place.out}/x"
        place.fail("Permission denied", "--output-format=folded")


def make_session(folder):
    with sampled.mix("ms", 60000) as mix:
        sampled.wait_for_cpu_time([mix], 0.01)
        sampled.finish(sampled.start(folder, [sampled.event("software:cpu_clock", rate=1000000,
                                                            flags=["callchain"])],
                                     "--duration=200ms"))
        mix.kill()


def main():
    users = [None, NOBODY] if os.geteuid() == 0 else [None]
    with tempfile.TemporaryDirectory(prefix="cpuperf-output.") as folder:
        os.mkdir(f"{folder}/session")
        make_session(f"{folder}/session")
        for name, check in sorted(globals().items()):
            if not name.startswith("check_") or (sys.argv[1:] and name not in sys.argv[1:]):
                continue
            for user in users:
                began = time.monotonic()
                own = f"{folder}/own"
                shutil.copytree(f"{folder}/session", own)
                for path in (folder, own):
                    os.chmod(path, 0o755)
                for path in [own] + [f"{own}/{name}" for name in os.listdir(own)]:
                    os.chown(path, owner(user), -1)
                check(Place(own, user))
                shutil.rmtree(own)
                print(f"{name} as {owner(user)}: ok, {time.monotonic() - began:.1f} s", flush=True)


main()
