"""What tests of waits share: programs that wait as they are told, sessions that measure them until they are ended,
control groups, and sockets of --control.
"""
import contextlib
import csv
import io
import os
import signal
import socket
import subprocess
import time

from kit import CPUPERF, output, PRINT, wait_until_measuring


def rows(folder, *args):
    text = output(PRINT, "--quiet", "--output-format=csv", *args, cwd=folder)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def counts(folder):
    """{event: its count over all CPUs and iterations}"""
    found = {}
    for r in rows(folder, "--report=summary"):
        if r["state"] == "ok" and not r["trace"]:
            found[r["label"]] = found.get(r["label"], 0) + int(r["value"])
    return found


def samples(folder):
    """{pid: ns that its samples stand for}"""
    found = {}
    for r in rows(folder, "--report=waits"):
        found[int(r["pid"])] = found.get(int(r["pid"]), 0) + int(r["self_count"])
    return found


class Program:
    """follow.c, which waits to be told to begin."""
    def __init__(self, program, *args):
        self.p = subprocess.Popen([program, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.p.pid
        if args[0] == "sleep":
            assert self.p.stdout.readline() == b"ready\n"

    def go(self):
        self.p.stdin.write(b"\n")
        self.p.stdin.flush()

    def wait_until_asleep(self, nr):
        """Until so many threads are there, and each waits."""
        states = []
        while states != nr * ["S"]:
            time.sleep(0.002)
            states = []
            for tid in os.listdir(f"/proc/{self.pid}/task"):
                with open(f"/proc/{self.pid}/task/{tid}/stat", encoding="ascii") as f:
                    states.append(f.read().rpartition(")")[2].split()[0])

    def cpu_ns(self):
        return time.clock_gettime_ns(~self.pid << 3 | 2)  # as clock_getcpuclockid()

    def slept(self):
        text = self.p.communicate()[0]
        return int(text)

    def nap(self, nr):
        for _ in range(nr):
            self.go()
            assert self.p.stdout.read(1)

    def close(self):
        self.p.kill()
        self.p.communicate()


@contextlib.contextmanager
def measuring(folder, *options, **how):
    """A session in a new folder, ended by SIGINT if nothing else ends it."""
    with subprocess.Popen([CPUPERF, "-d", "600", *options], cwd=folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, **how) as session:
        try:
            wait_until_measuring(session, folder)
            yield session
            time.sleep(0.05)
            if session.poll() is None:
                session.send_signal(signal.SIGINT)
            _, said = session.communicate()
            # A session that ends by itself at the same time may die of the signal when all is saved: before its last line.
            assert session.returncode in (0, -signal.SIGINT, 130) and "aved in " in said, (session.returncode, said)
        finally:
            session.kill()


def cgroup_root():
    for line in open("/proc/self/mountinfo", encoding="utf-8"):
        fields = line.split()
        if fields[fields.index("-") + 1] == "cgroup2" and fields[3] == "/":
            return fields[4]
    return None


class Groups:
    """A control group with one below it, and one beside it."""
    def __init__(self):
        self.at = f"{cgroup_root()}/cpuperf-follow-{os.getpid()}-{time.monotonic_ns()}"  # a killed test may have left one
        self.name = f"/{os.path.basename(self.at)}"
        self.folders = [self.at, f"{self.at}/below", f"{self.at}-beside"]

    def __enter__(self):
        for folder in self.folders:
            os.mkdir(folder)
        return self

    def __exit__(self, *_):
        for folder in (self.folders[1], self.folders[0], self.folders[2]):
            while os.path.exists(folder):
                with contextlib.suppress(OSError):  # what was killed is still there
                    for pid in open(f"{folder}/cgroup.procs", encoding="ascii"):
                        os.kill(int(pid), signal.SIGKILL)
                    os.rmdir(folder)
                time.sleep(0.01)


def move(program, folder):
    with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as f:
        f.write(str(program.pid))


def has_cgroups():
    try:
        with Groups():
            return True
    except OSError as why:
        print(f"skip: control groups: {why}", flush=True)
        return False


class Control:
    """A socket that enables and disables events."""
    def __init__(self):
        self.ours, self.theirs = socket.socketpair()
        self.options = [f"--control=fd:{self.theirs.fileno()},{self.theirs.fileno()}"]
        self.how = {"pass_fds": [self.theirs.fileno()]}

    def ask(self, text):
        """When it was done, between two times."""
        before = time.monotonic_ns()
        self.ours.sendall(text.encode() + b"\n")
        got = b""
        while len(got) < 5:
            got += self.ours.recv(5 - len(got))
        assert got == b"ack\n\0", got
        return before, time.monotonic_ns()
