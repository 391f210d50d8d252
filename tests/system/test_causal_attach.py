#!/usr/bin/env python3
"""Experiments in processes that run already: cpuperf --causal --pid. causal.c and attached.c are started without cpuperf.

What a function would bring can be seen on a quiet machine alone. What holds on any: threads of before are sampled and slowed
down, and nothing of it remains: not when it ends well, not when cpuperf is killed, and not in what the program answers.
"""
import csv
import io
import os
import platform
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

from attaching import CANNOT_YET, got_entries
from experiment_memory import BUSY, HEADER
from kit import again, CPUPERF, can_execute, own_uid, programs_missing, run, run_checks, stride

HERE = os.path.dirname(os.path.abspath(__file__))
ATTACHED = os.environ["ATTACHED"]
CALLS = "sem_wait|sem_post|read|write|pthread_create|pthread_join|pthread_mutex_unlock|waitpid|syscall|dlopen|dlsym"


def build(folder, name="causal", *options):
    program = os.path.join(folder, name)
    run("cc", "-O2", "-g", "-pthread", *options, f"-I{os.environ['SOURCE_DIR']}/include", "-Wl,-z,now", "-o", program,
        f"{HERE}/causal.c")
    return program


class Program:
    """Runs while the block lasts."""

    def __init__(self, *command, **how):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        **how)
        self.pid = self.process.pid
        if command[0] == ATTACHED:
            assert self.process.stdout.readline() == "ready\n"
        while not os.listdir(f"/proc/{self.pid}/task")[1:] and "serve" in command:
            time.sleep(0.001)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def end(self):
        """What it says when it is to end, and how it ends."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.stdout.read(), self.process.wait()

    def status(self, key):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as f:
            return re.search(f"^{key}:\\s*(.*)$", f.read(), re.M)[1]

    def events(self):
        """Descriptors that are not its own."""
        found = []
        for fd in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                found.append(os.readlink(f"/proc/{self.pid}/fd/{fd}"))
            except OSError:
                pass
        return [name for name in found if "perf_event" in name or "memfd" in name or "socket" in name]

    def timers(self):
        try:
            with open(f"/proc/{self.pid}/timers", encoding="utf-8") as f:
                return len(re.findall("^ID:", f.read(), re.M))
        except OSError:  # as the kernel is configured
            return None

    def memory(self):
        """The header of the experiments' memory; None: it has none."""
        with open(f"/proc/{self.pid}/maps", encoding="utf-8", errors="replace") as f:
            at = [int(line.split("-")[0], 16) for line in f if "cpuperf-experiment" in line]
        if not at:
            return None
        with open(f"/proc/{self.pid}/mem", "rb") as f:
            f.seek(at[0])
            return struct.unpack(HEADER, f.read(struct.calcsize(HEADER)))

    def entries(self):
        return got_entries(self.pid, CALLS)


def experiment(pid, *options, progress="nothing"):
    """A run of cpuperf to its end, again if no thread could be asked."""
    for _ in range(50):  # each asks for 2 s, in which none may have a CPU
        done = subprocess.run([CPUPERF, "-o-", "--causal", f"--pid={pid}", f"--progress={progress}", *options], check=False,
                              capture_output=True, text=True)
        if CANNOT_YET not in done.stderr:
            return done
        again("experiment", CANNOT_YET)
    raise AssertionError(done)


class Experiments:
    """cpuperf, while the block lasts: threads have been slowed down."""

    def __init__(self, program, functions="critical", speedup=100, progress="handle"):
        self.program, self.is_tried = program, progress == "handle"
        self.command = [CPUPERF, "-o-", f"--causal={functions}", f"--speedup={speedup}", f"--pid={program.pid}",
                        f"--progress={progress}", "-d120"]

    def __enter__(self):
        for _ in range(50):
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while self.process.poll() is None:
                memory = self.program.memory()
                if memory and memory[7 if self.is_tried else 9]:
                    return self
                time.sleep(0.01)
            said = self.process.communicate()[1]
            # (timers miss threads that take turns between ticks: clock.c)
            assert CANNOT_YET in said or "nothing was in a function" in said, said
            again("Experiments", said)
        raise AssertionError(said)

    def __exit__(self, *_):
        self.process.terminate()
        self.said = self.process.communicate()[1]


def check_nothing_remains(folder):
    """Entries, descriptors, the action of the signal and timers are as before; the address space does not grow."""
    mapped = []
    with Program(build(folder), "serve", "300", "100") as p:
        before, caught = p.entries(), p.status("SigCgt")
        for _ in range(3):
            with Experiments(p):
                memory, during = p.memory(), p.entries()
                assert p.events() or p.timers(), os.listdir(f"/proc/{p.pid}/fd")
            assert (memory[5], memory[11], memory[12]) == (p.pid, 2, 0), memory
            changed = {key[2] for key, value in before.items() if during[key] != value}
            assert {"sem_wait", "sem_post"} <= changed, (before, during)
            after = p.entries()
            assert not p.events() and not p.timers() and not p.memory(), p.events()
            assert {key: after[key] for key in before} == before, (before, after)
            assert experiment(p.pid, "-d20ms", progress="handle").returncode == 125
            mapped.append(p.status("VmSize"))
        # a thread that has no CPU has not handled its last signal: then the handler stays until the next time
        while p.status("SigCgt") != caught:
            assert experiment(p.pid, "-d20ms", progress="handle").returncode == 125
        assert mapped[1] == mapped[2], mapped
        assert p.end() == ("", -signal.SIGTERM)


def check_regions(folder):
    """Those that begin after cpuperf has come; of another cpuperf, whose regions have other numbers, too."""
    with Program(build(folder), "serve", "300", "100") as p:
        for scope in "regions:handle", "regions":
            with Experiments(p, scope):
                pass
        for seconds in 1, 4, 16:  # until a thread has been sampled in a region: others may have the CPUs
            done = experiment(p.pid, f"-d{seconds}", "--causal=regions:nothing", progress="handle")
            if "no region matches" in done.stderr:
                break
            again("check_regions", done.stderr)
        assert "no region matches" in done.stderr, done
        assert p.process.poll() is None and p.end() == ("", -signal.SIGTERM)


def check_recorder_is_killed(folder):
    """Nobody is slowed down any more, each thread ends what samples it, and the next cpuperf restores the rest."""
    with Program(build(folder), "serve", "300", "100") as p:
        before = p.entries()
        with Experiments(p) as e:
            e.process.kill()
            e.process.wait()
            while p.events() or p.timers():  # at the next signal of each
                time.sleep(0.01)
            assert p.memory()[4] & 1 << 30, p.memory()
            assert p.entries() != before
        assert "did not pass nothing" in experiment(p.pid, "-d50ms").stderr
        after = p.entries()
        assert {key: after[key] for key in before} == before, (before, after)
        assert p.process.poll() is None


def check_begun_after_that(folder):
    """Threads and children that begin when cpuperf has been killed have nothing."""
    with Program(build(folder), "turnover", "300", "100") as p:
        with Experiments(p, progress="nothing") as e:
            e.process.kill()
            e.process.wait()
            sampled, others = before = p.memory()[11:13]
            while sum(p.memory()[11:13]) < sum(before) + 40:
                time.sleep(0.001)
            after = p.memory()[11:13]
            # but four that were being made, one that made them, and a child
            assert after[0] <= sampled + 6 and after[1] > others, (before, after)


def check_beside_another_agent(folder):
    """That of the heap, preloaded, is in front of all."""
    with Program(build(folder), "serve", "300", "100", env={**os.environ, "LD_PRELOAD": os.environ["AGENT"]}) as p:
        done = experiment(p.pid, "-d20ms")
        assert "did not pass nothing" in done.stderr, done


def check_by_timers(folder):
    """Without descriptors for events."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))
    with Program(build(folder), "serve", "300", "100", preexec_fn=limit) as p:
        with Experiments(p):
            assert p.memory()[11:13] == (2, 0) and p.timers() in (2, None) and not p.events(), (p.memory(), p.timers())
        assert not p.timers(), p.timers()


def check_programs(folder):
    """They notice nothing: threads in malloc and dlopen, registers, children, a sleep, waits, and calls that take signals."""
    for what in ("forks", "takes", *stride(("threads", "registers", "loads", "poll", "epoll", "select", "pause", "sleep", "busy"), 2)):
        with Program(ATTACHED, what) as p:
            for _ in range(1 if what in ("threads", "registers", "busy") else 2):  # calls are counted for a second
                done = experiment(p.pid, "-d20ms")
                assert "did not pass nothing" in done.stderr, (what, done)
            assert p.end() == ("end\n", 0), what
    with Program(ATTACHED, "long", "1") as p:
        experiment(p.pid, "-d20ms")
        assert re.fullmatch(r"slept \d+\.\d\d\nend\n", p.process.stdout.read())
    assert not os.listdir(folder), os.listdir(folder)


def check_it_ends(folder):
    """The program ends meanwhile, as it wants."""
    del folder
    with Program(ATTACHED, "registers") as p:
        cpuperf = subprocess.Popen([CPUPERF, "-o-", "--causal", f"--pid={p.pid}", "--progress=nothing", "-d600"],
                                   stderr=subprocess.PIPE, text=True)
        while not p.memory() and cpuperf.poll() is None:
            time.sleep(0.01)
        assert p.end() == ("end\n", 0)
        said = cpuperf.communicate()[1]
        assert cpuperf.returncode == 125 and said.count("error:") == 1 and "stays in use" not in said, said
        assert "it ended before it was seen to pass nothing" in said or CANNOT_YET in said, said


def check_it_executes(folder):
    """Another program, without the loader: there is nothing to be restored."""
    static = build(folder, "static", "-static")
    with Program("/bin/sh", "-c", f"read line; exec {static} serve 300 100") as p:
        cpuperf = subprocess.Popen([CPUPERF, "-o-", "--causal", f"--pid={p.pid}", "--progress=nothing", "-d600"],
                                   stderr=subprocess.PIPE, text=True)
        while not p.memory() and cpuperf.poll() is None:
            time.sleep(0.01)
        p.process.stdin.write("\n")
        p.process.stdin.flush()
        while os.readlink(f"/proc/{p.pid}/exe") != static:
            time.sleep(0.01)
        cpuperf.terminate()
        said = cpuperf.communicate()[1]
        assert "stays in use" not in said, said
        assert p.process.poll() is None


def check_children(folder):
    """One below it that runs already has the agent, too."""
    program = build(folder)
    command = f"{program} serve 300 100 <&- >/dev/null 2>&1 & exec {program} serve 300 100"
    with Program("/bin/sh", "-c", command) as p:
        children = []
        while not children or any(len(os.listdir(f"/proc/{n}/task")) < 2 for n in (p.pid, *children)):
            with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
                children = [int(n) for n in f.read().split()]
        try:
            with Experiments(p, speedup=10) as e:
                assert p.memory()[11:13] == (4, 0), p.memory()
            with open(f"/proc/{children[0]}/maps", encoding="utf-8") as f:
                text = f.read()
            assert "libcpuperf-causal.so" in text, text
            assert "cpuperf-experiment" not in text or CANNOT_YET in e.said, e.said
        finally:
            os.kill(children[0], signal.SIGKILL)
        assert p.end() == ("", -signal.SIGTERM)


def check_threads_that_end(folder):
    """Those that begin and end all the time, also as a session does, and children."""
    with Program(build(folder), "turnover", "300", "100") as p:
        for _ in range(5):
            with Experiments(p, progress="nothing"):
                assert p.process.poll() is None
            assert p.process.poll() is None and not p.events() and not p.timers(), p.process.poll()
        assert p.end() == ("", -signal.SIGTERM)


def check_points(folder):
    """Of each kind, but for that of coz's macros, which looks for the agent once."""
    with Program(build(folder), "serve", "300", "100") as p:
        for point in "answered", "handle", *(() if programs_missing() else ("function:answer",)):
            done = experiment(p.pid, "-d100ms", progress=point)
            # a machine may be so busy that no time is left
            assert done.returncode == 125 and re.search(f"the time was over before each was tried|did not pass {point}|of the time: "
                                                        "nothing could be", done.stderr), done
        done = experiment(p.pid, "-d500ms", progress="request")
        assert done.returncode == 125 and "did not pass request" in done.stderr, done
        assert "has passed: " in done.stderr or "--progress=function:" in done.stderr, done


def check_rounds(folder):
    """Rounds in which threads waited for a CPU are not used: all may be such."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        with Program(build(folder), "serve", "3000", "1000") as p:
            done = subprocess.run([CPUPERF, "-o-", "--causal=critical", f"--pid={p.pid}", "--progress=handle", "-r2",
                                   "--output-format=csv"], check=False, capture_output=True, text=True)
    except PermissionError:
        return
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    if done.returncode:
        assert done.returncode == 125, done
        assert CANNOT_YET in done.stderr or BUSY in done.stderr, done
        return
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {(r["function"], r["quantity"]) for r in rows} <= {("critical", "throughput"), ("critical", "latency")}, rows
    assert rows and all(float(r["rate"]) > 0 and r["point"] == "handle" for r in rows), rows


def check_errors(folder):
    program, static = build(folder), build(folder, "static", "-static")
    for args, status, message in [
            (("--pid=1",), 2, "--causal --pid requires --progress"),
            (("--pid=1", "--progress=x", "--", program), 2, "--pid and a command are mutually exclusive"),
            (("--pid=1", "--progress=x", "--prepare=true"), 2, "--prepare is of a command"),
            (("--pid=1,2", "--progress=x"), 125, '"1,2" is not the number of one process'),
            (("--pid=4194304", "--progress=x"), 125, "process 4194304 does not exist"),
            ((f"--pid={os.getpid()}", "--progress=function:nowhere"), 125, 'no function matches "nowhere"')]:
        done = subprocess.run([CPUPERF, "-o-", "--causal", *args], check=False, capture_output=True, text=True)
        assert done.returncode == status and message in done.stderr and done.stderr.count("error:") == 1, (args, done)
    with Program(static, "serve", "30", "10") as p:
        assert "is linked statically" in experiment(p.pid).stderr
    with Program(program, "serve", "30", "10") as p:
        with Experiments(p):
            assert "is measured by another cpuperf" in experiment(p.pid).stderr
        p.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WNOWAIT)
        assert "is stopped" in experiment(p.pid).stderr
        if os.geteuid() == 0 and can_execute(program, "of another user"):
            done = subprocess.run([CPUPERF, "-o-", "--causal", f"--pid={p.pid}", "--progress=x"], check=False, capture_output=True,
                                  text=True, user=own_uid())
            assert done.returncode in (125, 126) and done.stderr.count("error:") == 1, done


if platform.machine() not in ("x86_64", "aarch64") or not shutil.which("readelf"):
    print("skip: --causal --pid is for x86-64 and arm64, and this needs readelf")
    sys.exit(77)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
run_checks(globals())
