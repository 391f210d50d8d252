#!/usr/bin/env python3
"""Processes that come and go: does each have a line with all that it used? What wait4 returns of them is compared with
the sum of their lines over all iterations: a process may be gone late, in a later iteration than it ended in. So the
session goes on until the sum is there, and nothing depends on when. A few may be missing: kernels of some virtual
machines do not run programs while they interrupt the host's agent.
"""
import contextlib
import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading

from kit import CPUPERF, output, PRINT, run_checks, skip, wait_for

EVENTS = ["process_cpu_time", "process_faults", "process_minor_faults", "process_major_faults", "process_write_bytes",
          "process_run_delay"]
MAX_ITERATIONS = 2000
NAME = f"s{os.getpid()}_"  # of the programs of this test


def need_exits():
    described = output(CPUPERF, "--quiet", "--describe-event=misc:process_cpu_time")
    reason = described.partition("a process that ends has no line: ")[2].strip()
    if reason:
        skip(f"processes that end: {reason}")
    assert "a process that ends has a line" in described, described


def write_spec(folder, num_iterations, **keys):
    spec = {"num_iterations": num_iterations, "output_path_prefix": f"{folder}/t", "session_result_spec_path": f"{folder}/s.cpsession",
            "events": [{"group_name": "misc", "event_name": e, **keys} for e in EVENTS]}
    with open(f"{folder}/s.cpspec", "w", encoding="utf-8") as out:
        json.dump(spec, out)


class Lines:
    """The lines of processes in a running session, added up over its iterations."""

    def __init__(self, folder, duration, **keys):
        write_spec(folder, MAX_ITERATIONS, **keys)
        self.sums, self.iteration, self.seen = {}, 0, []
        self.process = subprocess.Popen([CPUPERF, f"--spec-file={folder}/s.cpspec", f"--duration={duration}", "--quiet",
                                         "--output-format=csv"], stdout=subprocess.PIPE, text=True)
        wait_for(self.process, f"{folder}/s.cpsession")  # before it begins, SIGUSR1 would end it
        with self.requests():
            self.header = self.process.stdout.readline().rstrip("\n").split(",")
            self.read(lambda: self.seen)  # the first iteration is over: now it measures

    def read(self, is_enough):
        """Reads lines until is_enough says so."""
        for text in self.process.stdout:
            row = dict(zip(self.header, next(csv.reader([text]))))
            self.iteration = int(row["iteration"] or 0)
            if row["trace"] != "" and row["value"] != "":  # also of partial sums
                of = self.sums.setdefault(row["thing"], {})
                of[row["event"]] = of.get(row["event"], 0) + int(row["value"])
                self.seen.append((self.iteration, row["thing"], row["event"], int(row["value"])))
            if is_enough():
                return
        raise AssertionError("the session ended before", self.sums)

    def read_iterations(self, nr):
        """To the end of this one, and those after it."""
        end = self.iteration + nr
        self.read(lambda: self.iteration > end)
        return end

    @contextlib.contextmanager
    def requests(self):
        """Ends iterations every 0.1 s."""
        done = threading.Event()

        def ask():
            while not done.wait(0.1):
                self.process.send_signal(signal.SIGUSR1)

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def sum(self, event, *words):
        return sum(of.get(event, 0) for name, of in self.sums.items() if any(w in name for w in words))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()
        assert self.process.returncode == 0


def used(rusage):
    return {"process_cpu_time": round(1e9 * (rusage.ru_utime + rusage.ru_stime)),
            "process_faults": rusage.ru_minflt + rusage.ru_majflt, "process_minor_faults": rusage.ru_minflt,
            "process_major_faults": rusage.ru_majflt}


def programs(folder):
    """A program that does nothing and a shell, by names that nobody else has: other tests run beside this one."""
    shutil.copy(shutil.which("true"), f"{folder}/{NAME}x")
    shutil.copy(shutil.which("sh"), f"{folder}/{NAME}y")
    return f"{folder}/{NAME}x", f"{folder}/{NAME}y"


def check_one(folder):
    """One process, that may be in no reading: its line has what wait4 returns."""
    need_exits()
    _, shell = programs(folder)
    burn = f"i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo {'x' * 20000} > {folder}/data"
    with Lines(folder, "100ms", pids=["0", f"name:{NAME}*"]) as lines:
        find_lines(lines, shell, burn)


def find_lines(lines, shell, burn):
    nr_found = 0
    for _ in range(15):
        p = subprocess.Popen([shell, "-c", burn], stdin=subprocess.DEVNULL)
        _, p.returncode, rusage = os.wait4(p.pid, 0)
        assert p.returncode == 0
        name, want, last = f"{p.pid} {NAME}y", used(rusage), lines.iteration + 50

        def is_found():
            return lines.sum("process_cpu_time", name) >= want["process_cpu_time"] - 2000

        lines.read(lambda: is_found() or lines.iteration > last)
        lines.read_iterations(0)
        if not is_found():
            continue
        # what the kernel does for it after its end is in no wait4
        assert lines.sum("process_cpu_time", name) - want["process_cpu_time"] < 10000000
        for event in EVENTS[1:4]:
            assert want[event] <= lines.sum(event, name) <= want[event] + 2, (event, lines.sums, want)
        assert lines.sum("process_write_bytes", name) == 512 * rusage.ru_oublock
        print(f"{name}: {lines.sums[name]}, by wait4 {want}")
        nr_found += 1
        if nr_found == 5:
            break
    assert nr_found == 5, f"{nr_found} of 15 have a line"


def check_delay(folder):
    """What a process waited for a CPU that another one used: at least what it read of itself before its end."""
    need_exits()
    _, shell = programs(folder)
    burn = "i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done; read cpu delay runs < /proc/$$/schedstat; echo $delay"
    with Lines(folder, "100ms", pids=["0", f"name:{NAME}*"]) as lines:
        with subprocess.Popen(["taskset", "-c", "0", shell, "-c", "while :; do :; done"]) as other:
            try:
                find_delay(lines, ["taskset", "-c", "0", shell, "-c", burn])
            finally:
                other.kill()


def find_delay(lines, command):
    """One that was read before it had its name lacks what it waited until then."""
    for _ in range(15):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as p:
            name, want = f"{p.pid} {NAME}y", int(p.stdout.read())
        last = lines.iteration + 50
        lines.read(lambda: lines.sum("process_run_delay", name) >= want or lines.iteration > last)
        lines.read_iterations(0)
        got = lines.sum("process_run_delay", name)
        print(f"{name}: waited {got} ns for a CPU, {want} before its end")
        if want and want <= got < want + 10 ** 9:
            return
    raise AssertionError("no line has the delay")


def check_many(folder):
    """More processes in an iteration than get a line each: the sums by command have the others. In a later iteration
    those that ended have no line."""
    need_exits()
    short, shell = programs(folder)
    with Lines(folder, "600s", pids=["0", f"name:{NAME}*"]) as lines:
        run_many(lines, short, shell)


def run_many(lines, short, shell):
    p = subprocess.Popen([shell, "-c", f"i=0; while [ $i -lt 2500 ]; do i=$((i + 1)); {short}; done"])
    _, status, rusage = os.wait4(p.pid, 0)
    p.returncode = status
    want = used(rusage)
    with lines.requests():
        lines.read(lambda: lines.sum("process_faults", NAME) >= 0.8 * want["process_faults"] and
                   lines.sum("process_cpu_time", NAME) >= 0.8 * want["process_cpu_time"])
        end = lines.read_iterations(30)
    left = {n for i, n, *_ in lines.seen if i == end and not n.endswith(" (ended)")}
    assert left <= {"", f"{lines.process.pid} cpuperf"}, left
    for event in EVENTS[1:4]:
        assert lines.sum(event, NAME) <= 1.01 * want[event], (event, lines.sum(event, NAME), want)
    assert lines.sum("process_cpu_time", NAME) <= want["process_cpu_time"] * 1.05 + 10000000
    for event in EVENTS[:4]:
        for k in range(end + 1):
            rows = [(n, v) for i, n, e, v in lines.seen if i == k and e == event]
            assert sum(v for n, v in rows if n) == sum(v for n, v in rows if not n), (k, event)
    in_one = max(len({n for i, n, *_ in lines.seen if i == k}) for k in range(end))
    print(f"{len(lines.sums)} lines, at most {in_one} in an iteration, {want}")
    assert in_one <= 1100
    # others' processes that end take room from those that have lines
    assert lines.sum("process_cpu_time", f"{NAME}x (ended)") > 0 and len(lines.sums) > 100


def check_target(folder):
    """The short-lived children of a command have lines, and those of others by the same name have none."""
    need_exits()
    short, shell = programs(folder)
    write_spec(folder, MAX_ITERATIONS)
    command = f"""import os, sys
faults = 0
for _ in range(300):
    rusage = os.wait4(os.posix_spawn({short!r}, ["x"], {{}}), 0)[2]
    faults += rusage.ru_minflt + rusage.ru_majflt
print(faults, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([shell, "-c", f"while :; do {short}; done"]) as other:
        try:
            with subprocess.Popen([CPUPERF, f"--spec-file={folder}/s.cpspec", "--duration=100ms", "--quiet", "--",
                                   sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
                want = int(p.stdout.readline())
                other.kill()  # it ran beside all of them
                wait_for_children(p, folder, want)
                p.communicate()
                assert p.returncode == 0
        finally:
            other.kill()
    nr, ours = children(folder)
    print(f"{nr} lines, {ours} faults, by wait4 {want}")
    assert nr <= 300 and ours <= 1.01 * want


def wait_for_children(p, folder, want):
    """They are gone a while after they were waited for."""
    nr = ours = 0
    while nr < 150 or ours < want / 2:
        assert p.poll() is None, (nr, ours, want)
        nr, ours = children(folder)


def children(folder):
    """How many have a line, and their faults."""
    text = output(PRINT, "--quiet", "--report=summary", "--output-format=csv", f"{folder}/s.cpsession")
    found = [(r["thing"], int(r["value"])) for r in csv.DictReader(io.StringIO(text))
             if r["event"] == "process_faults" and r["trace"] and r["value"] and f"{NAME}x" in r["thing"]]
    return len({name for name, _ in found}), sum(value for _, value in found)


if __name__ == "__main__":
    run_checks(globals())
