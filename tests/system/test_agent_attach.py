#!/usr/bin/env python3
"""The agent of the heap in processes that run already: --pid --attach. attached.c has what is attached to, attaches.c
does so again and again. What is measured is known; else the program must not notice: its output, its exit status, its
registers, and what its entries of the GOT hold when it is over.
CPUPERF_TEST_LONG=1: 1,000 attachments to threads in malloc and dlopen, else 20.
"""
import collections
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

from kit import CPUPERF, PRINT, output, run, run_checks

ATTACHED, ATTACHES, AGENT = (os.environ[name] for name in ("ATTACHED", "ATTACHES", "AGENT"))
IS_LONG = os.environ.get("CPUPERF_TEST_LONG") == "1"
EVENTS = "heap:allocated,heap:allocations,heap:freed,heap:live"
CANNOT_YET = "no thread was where"


class Program:
    """Runs while the block lasts, and has said "ready"."""

    def __init__(self, *command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, bufsize=1, env=env)
        self.pid = self.process.pid

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def line(self):
        """Has it read a line, and returns its answer."""
        self.process.stdin.write("x")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        """What it says when it is to end."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.stdout.read()


def attach(folder, pid, *options, code=0, events=EVENTS):
    """A session of cpuperf, again if no thread could be asked."""
    for _ in range(10):
        shutil.rmtree(f"{folder}/s", ignore_errors=True)
        done = run(CPUPERF, f"--pid={pid}", "--attach", f"--event={events}", f"--output={folder}/s", *options, cwd=folder,
                   code=None)
        if CANNOT_YET not in done.stderr:
            break
    assert done.returncode == code, done.stderr
    return done.stderr


def counts(folder):
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=summary")
    return {m[1]: int(m[2].replace(",", "")) for m in re.finditer(r"^  (.+?) {2,}([\d,]+) ", text, re.M)}


class Session:
    """cpuperf, attached to a process while the block lasts."""

    def __init__(self, folder, pid, *options, events=EVENTS):
        self.folder, self.pid, self.options, self.events, self.said = folder, pid, options, events, ""

    def __enter__(self):
        for _ in range(10):
            shutil.rmtree(f"{self.folder}/s", ignore_errors=True)
            self.process = subprocess.Popen([CPUPERF, "--verbose", f"--pid={self.pid}", "--attach", *self.options,
                                             f"--event={self.events}", f"--output={self.folder}/s"],
                                            stderr=subprocess.PIPE, text=True)
            for line in self.process.stderr:
                self.said += line
                if "are rewritten" in line:
                    return self
            self.process.wait()
            assert CANNOT_YET in self.said, self.said
        raise AssertionError(self.said)

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.said += self.process.stderr.read()
        self.process.wait()
        self.process.stderr.close()


def check_known(folder):
    """What is allocated while it is attached, and nothing else: twice, as a second session finds the agent loaded. With
    malloc, calloc and strdup: 13 blocks of 2,016 bytes and one of 5,000, of which 6 blocks of 100, a copy, and the block
    of the time before are freed, in later rounds that of the round before."""
    with Program(ATTACHED, "lines") as p:
        for _ in range(2):
            with Session(folder, p.pid):
                assert p.line() == "done"
            got = counts(folder)
            assert (got["allocated"], got["allocations"]) == (7016, 14), got
            assert (got["freed"], got["live"]) == (608, 6408), got
        with Session(folder, p.pid):
            assert p.line() == p.line() == "done"
        got = counts(folder)
        assert (got["allocations"], got["freed"]) == (28, 2 * 608 + 5000), got


def check_stacks(folder):
    """The stacks of allocations reach main. What is mapped is read beside: a short session may end before that."""
    with Program(ATTACHED, "lines") as p:
        for seconds in (0.5, 2, 8, 30):
            with Session(folder, p.pid, "-g", events="heap:allocated@1"):
                assert p.line() == "done"
                time.sleep(seconds)
            text = output(PRINT, f"{folder}/s", "--quiet", "--report=tree")
            if "[unknown]" not in text:
                break
        assert re.search(r"\bmain\b", text) and re.search(r"\ballocate_known\b", text), text


def got_entries(pid):
    """What the entries by which objects call functions of the heap hold, by object and offset."""
    bases, found = {}, {}
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            fields = line.split()
            if len(fields) == 6 and fields[5].startswith("/") and int(fields[2], 16) == 0:
                bases.setdefault(fields[5], int(fields[0].split("-")[0], 16))
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for path, base in bases.items():
            if "libcpuperf" in path or "/ld-" in path or os.path.getsize(path) < 64:
                continue
            text = subprocess.run(["readelf", "-rW", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  check=False).stdout
            for m in re.finditer(r"^([0-9a-f]{12,16})\s+\S+\s+R_\w+\s+\S+\s+(malloc|calloc|realloc|free|close|open|read)@",
                                 text, re.M):
                memory.seek(base + int(m[1], 16))
                found[path, int(m[1], 16), m[2]] = struct.unpack("Q", memory.read(8))[0]
    return found


def check_entries(folder):
    """They are rewritten, and restored."""
    if not shutil.which("readelf"):
        print("skip: entries: readelf is not installed")
        return
    with Program(ATTACHED, "lines") as p:
        before = got_entries(p.pid)
        with Session(folder, p.pid):
            during = got_entries(p.pid)
        after = got_entries(p.pid)
    changed = {key[2] for key, value in before.items() if during[key] != value}
    assert {"malloc", "free", "calloc"} <= changed, (before, during)
    assert {key: after[key] for key in before} == before, (before, after)


def check_loaded_later(folder):
    """A library that is loaded while it is attached, and again."""
    with Program(ATTACHED, "loads") as p:
        with Session(folder, p.pid):
            answer = p.line()
            if answer == "none":
                print("skip: loaded later: there is no libsqlite3.so.0")
                return
            assert p.line() == answer == "done"
        assert counts(folder)["allocations"] >= 2
        assert p.line() == "done"


def check_idle(folder):
    """Waits do not end, and the program does not see it."""
    for what in ("sleep", "poll", "epoll", "select", "pause", "read", "join"):
        with Program(ATTACHED, what) as p:
            said = attach(folder, p.pid, "--duration=50ms")
            said += attach(folder, p.pid, "--duration=50ms")
            assert p.process.poll() is None, (what, p.process.stdout.read(), said)
            if what not in ("read", "join"):
                text = p.end()
                assert text == "end\n", (what, text)


def check_time(folder):
    """A sleep of three seconds lasts that long."""
    with Program(ATTACHED, "long") as p:
        attach(folder, p.pid, "--duration=50ms")
        text = p.process.stdout.read()
        assert re.match(r"slept [3-9]\.\d\d\nend\n$", text), text
        assert p.process.wait() == 0


def check_registers(_):
    """Registers, the red zone, errno and the mask of signals, of a thread that computes."""
    with Program(ATTACHED, "registers") as p:
        text = run(ATTACHES, str(p.pid), AGENT, "30").stdout
        assert text.count("\n") >= 10, text
        text = p.end()
        assert text == "end\n", text


def print_figures(what, text):
    """Of attaches: the times for which a thread stood still, and why no thread could be asked."""
    rows = [line.split() for line in text.splitlines() if re.match(r"[\d.]+ \d+ [\d.]+ \d+$", line)]
    stops = sorted(float(row[i]) for row in rows for i in (0, 2))
    reasons = collections.Counter(re.sub(r"process \d+", "it", line) for line in text.splitlines()
                                  if line.startswith(("refused:", "stays:")))
    if stops:
        print(f"{what}: {len(rows)} attachments, a thread was stopped for {stops[len(stops) // 2]:.2f} ms (median), "
              f"{stops[len(stops) * 95 // 100]:.2f} ms (95 %), {stops[-1]:.2f} ms (longest)")
    for reason, nr in reasons.most_common():
        print(f"{what}: {nr} times {reason}")


def check_threads(_):
    """Threads that are in malloc and dlopen all the time, and look at their memory and their results."""
    for what in ("threads", "busy"):
        with Program(ATTACHED, what) as p:
            nr = 1000 if IS_LONG else 20 if what == "threads" else 3
            done = run(ATTACHES, str(p.pid), AGENT, str(nr), timeout=5000)
            if IS_LONG:
                print_figures(what, done.stdout)
            times = re.search(r"attached (\d+) allocations (\d+)", done.stdout)
            assert what == "busy" or int(times[1]) > nr // 2, done.stdout
            assert p.process.poll() is None, done.stdout
            text = p.end()
            assert text == "end\n", text
            assert p.process.wait() == 0


def check_killed(folder):
    """cpuperf may die at any moment: the program goes on, and can be attached to again."""
    with Program(ATTACHED, "registers") as p, Program(ATTACHED, "threads") as q:
        for i in range(60 if IS_LONG else 12):
            for pid in (p.pid, q.pid):
                c = subprocess.Popen([ATTACHES, str(pid), AGENT, "100"], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
                time.sleep(0.02 + i * 0.0037)
                c.kill()
                c.wait()
        for program in (p, q):
            attach(folder, program.pid, "--duration=20ms")
            assert program.end() == "end\n"
            assert program.process.wait() == 0


def check_changes(folder):
    """A program that forks, executes or ends meanwhile."""
    with Program(ATTACHED, "forks") as p:
        for _ in range(3):
            attach(folder, p.pid, "--duration=100ms")
        text = p.end()
        assert text == "end\n", text
    with Program(ATTACHED, "executes") as p:
        for _ in range(3):  # it may run another program by then
            run(CPUPERF, f"--pid={p.pid}", "--attach", f"--event={EVENTS}", f"--output={folder}/s", "--duration=50ms",
                code=None)
            shutil.rmtree(f"{folder}/s", ignore_errors=True)
        assert p.process.poll() is None, p.process.stdout.read()
    with Program(ATTACHED, "lines") as p:
        with Session(folder, p.pid) as s:
            p.process.stdin.close()
            p.process.wait()
            p.process.stdin = subprocess.Popen(["true"], stdin=subprocess.PIPE).stdin
        assert p.process.returncode == 0 and "error" not in s.said, s.said


def check_programs(folder):
    """Programs that are not ours."""
    script = "import sys\nprint('ready', flush=True)\nfor line in sys.stdin: print(len([bytearray(2000) for i in range(200)]), flush=True)"
    with Program(sys.executable, "-S", "-c", script) as p:
        with Session(folder, p.pid):
            p.process.stdin.write("x\n")
            assert p.process.stdout.readline() == "200\n"
        got = counts(folder)
        assert got["allocations"] >= 200, got
        p.process.stdin.close()
        assert p.process.wait() == 0
        p.process.stdin = subprocess.Popen(["true"], stdin=subprocess.PIPE).stdin
    if not shutil.which("sqlite3"):
        print("skip: programs: sqlite3 is not installed")
        return
    with Program("sqlite3", "-batch", "-cmd", ".print ready") as p:
        with Session(folder, p.pid):
            p.process.stdin.write("create table t(a); insert into t values (randomblob(100000)); select count(*) from t;\n")
            p.process.stdin.flush()
            assert p.process.stdout.readline() == "1\n"
        got = counts(folder)
        assert got["allocations"] > 20, got


def refused(pid, *options, events=EVENTS):
    done = run(CPUPERF, f"--pid={pid}", "--attach", f"--event={events}", "--duration=10ms", *options, code=None)
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(lines) == 1, done.stderr
    return lines[0]


def check_loader(folder):
    """What the program's loader says of a library that it does not load; the program goes on."""
    with open(f"{folder}/text.so", "w", encoding="ascii") as f:
        f.write("no library, but a text that is long enough to be looked at by a loader as if it were one, and some more")
    libraries = [("text.so", "text.so: invalid ELF header")]
    if not subprocess.run(f"echo 'int other;' | cc -xc -shared -o libother.so - && echo 'extern int other; int *f(void) "
                          "{ return &other; }' | cc -xc -shared -fPIC -o needs.so - -L. -lother && rm libother.so",
                          shell=True, cwd=folder, check=False).returncode:
        libraries.append(("needs.so", "libother.so: cannot open shared object file: No such file or directory"))
    else:
        print("skip: loader: cc makes no library")
    for what in "registers", "pause":
        with Program(ATTACHED, what) as p:
            for name, want in libraries:
                done = run(ATTACHES, str(p.pid), f"{folder}/{name}", "1", code=None)
                assert done.returncode == 1 and "cannot load the agent: " in done.stderr and want in done.stderr, done
            attach(folder, p.pid, "--duration=20ms")
            text = p.end()
            assert text == "end\n", text


def check_refused(folder):
    """What cannot have the agent is told why, and goes on."""
    source = f"{folder}/p.c"
    with open(source, "w", encoding="utf-8") as c:
        c.write('#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n#ifdef OWN\n'
                'void *malloc(size_t n) { static char m[1 << 20]; static size_t at; at += (n + 15) & ~15ul; return m + at - '
                '((n + 15) & ~15ul); }\nvoid free(void *p) { (void)p; }\n#endif\n'
                'int main(void) { free(malloc(10)); puts("ready"); fflush(stdout); pause(); return 0; }\n')
    for options, want in ((["-static"], "is linked statically"), (["-fsanitize=address"], "sanitizer"),
                          (["-m32"], "another kind of machine"), (["-DOWN", "-rdynamic"], "linked into its program")):
        if subprocess.run(["cc", *options, "-o", f"{folder}/p", source], stderr=subprocess.DEVNULL,
                          check=False).returncode:
            print(f"skip: refused: cc cannot do {options}")
            continue
        with Program(f"{folder}/p") as p:
            assert want in refused(p.pid), options
            assert p.process.poll() is None
    with Program(ATTACHED, "pause") as p:
        assert "no event is of the groups" in refused(p.pid, events="task_clock")
        with Session(folder, p.pid):
            assert "is measured by another cpuperf" in refused(p.pid)
        p.process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        assert "is stopped" in refused(p.pid)
        p.process.send_signal(signal.SIGCONT)
    done = run(CPUPERF, "--attach", f"--event={EVENTS}", code=None)
    assert done.returncode == 2 and "--attach requires --pid" in done.stderr, done.stderr


if platform.machine() not in ("x86_64", "aarch64"):
    print("skip: --attach is for x86-64 and arm64")
    sys.exit(77)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
run_checks(globals())
