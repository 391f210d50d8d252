#!/usr/bin/env python3
"""The agent of the heap in processes that run already: --pid --attach. attached.c has what is attached to, attaches.c
does so again and again. What is measured is known; else the program must not notice: its output, its exit status, its
registers, and what its entries of the GOT hold when it is over.
CPUPERF_TEST_LONG=1: 1,000 attachments to threads in malloc and dlopen, else a few, and all kinds of programs, else a part.
"""
import collections
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from attaching import CANNOT_YET, got_entries
from kit import again, CPUPERF, PRINT, can_execute, output, own_uid, run, run_checks, stride

ATTACHED, ATTACHES, AGENT = (os.environ[name] for name in ("ATTACHED", "ATTACHES", "AGENT"))
IS_LONG = os.environ.get("CPUPERF_TEST_LONG") == "1"
EVENTS = "heap:allocated,heap:allocations,heap:freed,heap:live"
HEAP = "malloc|calloc|realloc|free|close|open|read"


class Program:
    """Runs while the block lasts, and has said "ready"."""

    def __init__(self, *command, env=None, **how):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, bufsize=1, env={**os.environ, **(env or {})}, **how)
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


def attach_again(*command, **how):
    """What a session was that attaches, and ends by itself; again if a thread could not be asked."""
    output = next(word.partition("=")[2] for word in command if word.startswith("--output="))
    for left in reversed(range(50)):  # each asks for 2 s, in which none may have a CPU
        shutil.rmtree(output, ignore_errors=True)
        done = run(*command, code=None, **how)
        if CANNOT_YET not in done.stderr or not left:
            break
        again("attach_again", CANNOT_YET)
    return done


def attach(folder, pid, *options, code=0, events=EVENTS):
    done = attach_again(CPUPERF, f"--pid={pid}", "--attach", f"--event={events}", f"--output={folder}/s", *options, cwd=folder)
    assert done.returncode == code, done.stderr
    return done.stderr


def counts(folder):
    text = output(PRINT, f"{folder}/s", "--quiet", "--report=summary", "--each-iteration")
    return {m[1]: int(m[2].replace(",", "")) for m in re.finditer(r"^  (.+?) {2,}([\d,]+) ", text, re.M)}


class Session:
    """cpuperf, attached to a process while the block lasts."""

    def __init__(self, folder, pid, *options, events=EVENTS, program=CPUPERF):
        self.folder, self.pid, self.options, self.events, self.said = folder, pid, options, events, ""
        self.program = program

    def __enter__(self):
        for _ in range(50):
            shutil.rmtree(f"{self.folder}/s", ignore_errors=True)
            self.process = subprocess.Popen([self.program, "--verbose", f"--pid={self.pid}", "--attach", *self.options,
                                             f"--event={self.events}", f"--output={self.folder}/s"],
                                            stderr=subprocess.PIPE, text=True)
            for line in self.process.stderr:
                self.said += line
                if "are rewritten" in line:
                    return self
            self.process.wait()
            assert CANNOT_YET in self.said, self.said
            again("Session", CANNOT_YET)
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


def check_entries(folder):
    """They are rewritten, and restored."""
    if not shutil.which("readelf"):
        print("skip: entries: readelf is not installed")
        return
    with Program(ATTACHED, "lines") as p:
        before = got_entries(p.pid, HEAP)
        with Session(folder, p.pid):
            during = got_entries(p.pid, HEAP)
        after = got_entries(p.pid, HEAP)
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
    for what in stride(("sleep", "poll", "epoll", "select", "pause", "read", "join"), 2):
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
        slept = re.fullmatch(r"slept (\d+\.\d\d)\nend\n", text)
        assert slept and float(slept[1]) >= 3, text
        assert p.process.wait() == 0


def check_handler(folder):
    """A thread that is in a signal's handler, on a stack of the least size: nothing is written beside it."""
    program = f"{folder}/alternate"
    run("cc", "-O1", "-D_GNU_SOURCE", "-fno-builtin", "-pthread", "-o", program, f"{os.path.dirname(__file__)}/alternate.c")
    for word in stride(("plain", "autodisarm"), 1):
        with Program(program, "waits", word) as p:
            with Session(folder, p.pid, "-g", events="heap:allocated@1"):
                assert p.line() == "0", word
            assert counts(folder)["allocated"] >= 303, counts(folder)


def check_registers(_):
    """Registers, the red zone, errno and the mask of signals, of a thread that computes."""
    with Program(ATTACHED, "registers") as p:
        text = run(ATTACHES, str(p.pid), AGENT, "100" if IS_LONG else "10").stdout
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
    nr, most = (1000, 1000) if IS_LONG else (2, 200)
    for what in stride(("threads", "busy"), 1):
        with Program(ATTACHED, what) as p:
            times = tried = 0
            while tried < most and times <= tried // 2:  # of the first few it may be unlucky with most
                done = run(ATTACHES, str(p.pid), AGENT, str(nr), timeout=5000)
                if IS_LONG:
                    print_figures(what, done.stdout)
                assert "(null)" not in done.stdout, done.stdout
                assert p.process.poll() is None, done.stdout
                times += int(re.search(r"attached (\d+) allocations \d+", done.stdout)[1])
                tried += nr
                if what == "busy":
                    break
            assert what == "busy" or times > tried // 2, done.stdout
            text = p.end()
            assert text == "end\n", text
            assert p.process.wait() == 0


def check_replaced(folder):
    """An agent whose file is replaced meanwhile, as by an upgrade, ends its session."""
    library, new = f"{folder}/libcpuperf-agent.so", f"{folder}/new"
    shutil.copy(AGENT, library)
    shutil.copy(AGENT, new)
    with Program(ATTACHED, "registers") as p:
        text = ""
        while "attached 1 " not in text:
            text = run(ATTACHES, str(p.pid), library, "1", new).stdout
        with open(f"/proc/{p.pid}/maps", encoding="utf-8") as maps:
            assert f"{library} (deleted)" in maps.read()
        assert p.end() == "end\n"


def check_killed(folder):
    """cpuperf may die at any moment: the program goes on, and can be attached to again."""
    for what, most in stride((("registers", 6), ("threads", 2)), 1):
        with Program(ATTACHED, what) as p:
            began = time.monotonic()
            run(ATTACHES, str(p.pid), AGENT, "1")
            whole = time.monotonic() - began  # from its start to its end, of which it is killed at a 60th and so on
            for i in stride(range(1, 61), most):
                c = subprocess.Popen([ATTACHES, str(p.pid), AGENT, "100"], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
                time.sleep(whole * i / 60)
                c.kill()
                c.wait()
            attach(folder, p.pid, "--duration=20ms")
            assert p.end() == "end\n"
            assert p.process.wait() == 0


def check_changes(folder):
    """A program that forks, executes or ends meanwhile."""
    with Program(ATTACHED, "forks") as p:
        for _ in range(3 if IS_LONG else 1):
            attach(folder, p.pid, "--duration=100ms")
        text = p.end()
        assert text == "end\n", text
    with Program(ATTACHED, "executes") as p:
        for _ in range(3 if IS_LONG else 1):  # it may run another program by then
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


def check_beside_another_agent(folder):
    """That of experiments, preloaded, is in front of all."""
    with Program(ATTACHED, "lines", env={"LD_PRELOAD": os.environ["EXPERIMENTS"]}) as p:
        with Session(folder, p.pid):
            assert p.line() == "done"
    assert counts(folder)["allocations"] == 14, counts(folder)


def refused(pid, *options, events=EVENTS):
    done = run(CPUPERF, f"--pid={pid}", "--attach", f"--event={events}", "--duration=10ms", *options, code=None)
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(lines) == 1, done.stderr
    return lines[0]


ALLOCATORS = (("jemalloc", "libjemalloc.so.2"), ("tcmalloc_minimal", "libtcmalloc_minimal.so.4"), ("mimalloc", "libmimalloc.so.2"))


def known_of(folder, p, *, program=CPUPERF, text="done"):
    """Attached to, a program that allocates known amounts shows them."""
    with Session(folder, p.pid, program=program):
        assert p.line() == text
    got = counts(folder)
    assert (got["allocated"], got["allocations"], got["freed"], got["live"]) == (7016, 14, 608, 6408), got


def check_beside_threads(folder):
    """What a thread allocates is counted once, however many threads the process has."""
    with Program(ATTACHED, "beside") as p:
        known_of(folder, p)


def check_allocators(folder):
    """Another allocator, preloaded or linked: of a program that is attached to, and of a command."""
    for name, library in stride(ALLOCATORS, 1):
        ways = {"preloaded": (ATTACHED, {"LD_PRELOAD": library})}
        linked = f"{folder}/{name}"
        if subprocess.run(["cc", "-O2", "-fno-builtin", "-o", linked, f"{os.environ['SOURCE_DIR']}/tests/system/attached.c",
                           "-Wl,--no-as-needed", f"-l{name}", "-lpthread", "-ldl"], stderr=subprocess.DEVNULL,
                          check=False).returncode:
            print(f"skip: allocators: lib{name} is not installed to link with")
            continue
        ways["linked"] = (linked, {})
        with Program(ATTACHED, "threads", env=ways["preloaded"][1]) as p:
            for _ in range(100):  # each time it may be that no thread was where it can be asked, or none had a CPU then
                done = run(ATTACHES, str(p.pid), AGENT, "20" if IS_LONG else "1")
                if re.search(r"^attached [1-9]\d* allocations [1-9]", done.stdout, re.M):
                    break
            else:
                raise AssertionError((name, done.stdout))
            text = p.end()
            assert text == "end\n", (name, text)
        for way, (program, env) in stride(ways.items(), 1):
            with Program(program, "lines", env=env) as p:
                with open(f"/proc/{p.pid}/maps", encoding="utf-8") as maps:
                    assert f"lib{name}." in maps.read(), (name, way)
                known_of(folder, p)
            shutil.rmtree(f"{folder}/s", ignore_errors=True)
            script = f'LD_PRELOAD="$LD_PRELOAD:{env["LD_PRELOAD"]}" exec "$0" lines' if env else 'exec "$0" lines'
            done = run(CPUPERF, f"--event={EVENTS}", f"--output={folder}/s", "--", "sh", "-c", script, program, input="x",
                       cwd=folder)
            got = counts(folder)
            assert done.stdout == "ready\ndone\nend\n" and got["allocations"] >= 28 and got["allocated"] >= 14032, (name, way, got)


def installed(folder):
    """cpuperf where everybody may run it, and read its agent."""
    base = f"{folder}/installed"
    for path, place in ((CPUPERF, "bin"), (AGENT, "lib/cpuperf"), (ATTACHED, "bin")):
        os.makedirs(f"{base}/{place}", exist_ok=True)
        shutil.copy(path, f"{base}/{place}/{os.path.basename(path)}")
        os.chmod(f"{base}/{place}/{os.path.basename(path)}", 0o755)
    for path in (base, f"{base}/bin", f"{base}/lib", f"{base}/lib/cpuperf", folder, os.path.dirname(folder)):
        os.chmod(path, 0o755)
    return f"{base}/bin/cpuperf", f"{base}/bin/attached"


def check_users(folder):
    """root attaches to a user's process; a user to his own, and not to another's: one error says so."""
    if os.geteuid() != 0:
        print("skip: users: this is not root")
        return
    program, attached = installed(folder)
    who = {"user": own_uid(), "group": own_uid(), "extra_groups": []}
    with Program(attached, "lines", **who) as p:
        known_of(folder, p, program=program)
    os.mkdir(f"{folder}/his")
    os.chown(f"{folder}/his", own_uid(), own_uid())
    options = ("--attach", f"--event={EVENTS}", "--duration=50ms")
    with Program(attached, "pause", **who) as p:
        done = attach_again(program, f"--pid={p.pid}", *options, f"--output={folder}/his/s", cwd=f"{folder}/his", **who)
        assert done.returncode == 0, done.stderr
        assert counts(f"{folder}/his")["live"] == 0
    os.chmod(attached, 0o711)  # what may not be read may not be traced
    for how in ({}, who):
        with Program(attached, "pause", **how) as p:
            done = run(program, f"--pid={p.pid}", *options, f"--output={folder}/his/t", cwd=f"{folder}/his", code=1, **who)
            errors = [line for line in done.stderr.splitlines() if "error:" in line]
            assert len(errors) == 1 and re.search(r"is of another user, or has more rights|may not be measured|may not be traced",
                                                  errors[0]), done.stderr
            assert p.process.poll() is None and p.end() == "end\n"
    path = "/proc/sys/kernel/yama/ptrace_scope"
    if not os.path.exists(path):
        print("skip: users: this kernel lacks Yama; a program that may not be read stood in for ptrace_scope")
        return
    os.chmod(attached, 0o755)
    with open(path, encoding="ascii") as f:
        scope = int(f.read())
    with Program(attached, "pause", **who) as p:
        done = attach_again(program, f"--pid={p.pid}", *options, f"--output={folder}/his/u", cwd=f"{folder}/his", **who)
        assert (done.returncode == 0) == (scope == 0) and (scope == 0 or "ptrace_scope" in done.stderr), (scope, done.stderr)


def child_of(pid):
    """Its only child, which has said "ready"."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return int(f.read())


def check_containers(folder):
    """Namespaces that do not matter, and those that do: refused, with the reason, and the program goes on."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        print("skip: containers: needs root and unshare")
        return
    for option, want in [*stride((("--pid", None), ("--user", None), ("--mount", None), ("--ipc", None)), 1),
                         ("--net", "is in another network namespace")]:
        if subprocess.run(["unshare", option, "--fork", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            print(f"skip: containers: unshare {option} fails here")
            continue
        with Program("unshare", option, "--fork", "--kill-child", ATTACHED, "lines") as p:
            p.pid = child_of(p.pid)
            if want:
                assert want in refused(p.pid), option
                assert p.line() == "done"
            else:
                known_of(folder, p)
    root = f"{folder}/root"
    for path in [ATTACHED] + re.findall(r"(/\S+) \(", run("ldd", ATTACHED).stdout):
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, root + path)
    with Program("chroot", root, ATTACHED, "lines") as p:
        assert "has other files than cpuperf: it has no" in refused(p.pid)
        assert p.line() == "done"
    if subprocess.run(["unshare", "--mount", "sh", "-c", f"mount --bind {folder} {folder} && mount -o remount,bind,noexec {folder}"],
                      stderr=subprocess.DEVNULL, check=False).returncode:
        print("skip: containers: nothing can be mounted here")
        return
    program, _ = installed(folder)
    script = f"mount --bind {folder} {folder} && mount -o remount,bind,noexec {folder} && exec {ATTACHED} lines"
    with Program("unshare", "--mount", "sh", "-c", script) as p:
        done = run(program, f"--pid={p.pid}", "--attach", f"--event={EVENTS}", "--duration=10ms", code=1)
        assert "is on a file system without programs (noexec)" in done.stderr, done.stderr
        assert p.line() == "done"


def check_sealed(folder):
    """A seccomp filter of the process, and of one thread, which is left alone."""
    with Program(ATTACHED, "sealed") as p:
        assert "is in a sandbox (seccomp)" in refused(p.pid)
        assert p.end() == "end\n"
    with Program(ATTACHED, "partly_sealed") as p:
        for _ in range(5 if IS_LONG else 2):
            attach(folder, p.pid, "--duration=20ms")
        text = p.end()
        assert text == "end\n", text


def check_control(folder):
    """Events of the agent cannot be disabled by --control: it is said, nothing is loaded, and others are measured."""
    os.mkfifo(f"{folder}/f")
    with Program(ATTACHED, "pause") as p:
        done = run(CPUPERF, f"--pid={p.pid}", "--attach", "--event=heap:live,task_clock", f"--control=fifo:{folder}/f",
                   "--duration=50ms", f"--output={folder}/s")
        assert "--control cannot disable the agent: use --windows or --delay" in done.stderr, done.stderr
        assert "from when cpuperf attached" not in done.stderr, done.stderr
        with open(f"/proc/{p.pid}/maps", encoding="utf-8") as maps:
            assert "libcpuperf-agent" not in maps.read()
    done = run(CPUPERF, "--event=heap:live,task_clock", f"--control=fifo:{folder}/f", f"--output={folder}/t", "--", "true")
    assert "--control cannot disable the agent: use --windows or --delay" in done.stderr, done.stderr


def has_agent(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return "libcpuperf-agent" in maps.read()


def check_named(folder):
    """Several processes, by number, name and the spec: what cannot have the agent is named, the others have it. None
    can: an error."""
    name = f"at{os.getpid()}"
    program = f"{folder}/{name}"
    shutil.copy(ATTACHED, program)
    event = '{ "group_name": "heap", "event_name": "live" }'
    with open(f"{folder}/s.cpspec", "w", encoding="ascii") as f:
        f.write(f'{{ "target": {{ "comms": ["{name}"], "attach": true }}, "events": [{event}] }}')
    ways = [f"--comm={name}", "--attach", "--event=heap:live"], [f"--spec-file={folder}/s.cpspec"]
    with Program(program, "sealed") as sealed:
        for way in stride([*ways, [f"--pid={sealed.pid}", "--attach", "--event=heap:live"]], 1):
            done = run(CPUPERF, *way, "--duration=50ms", f"--output={folder}/s", code=1)
            assert len(re.findall("is in a sandbox", done.stderr)) == 1, (way, done.stderr)
        for nr, way in stride(enumerate([*ways, None]), 1):
            with Program(program, "pause") as one, Program(program, "pause") as other:
                way = way or [f"--pid={one.pid},{other.pid},{sealed.pid}", "--attach", "--event=heap:live"]
                done = attach_again(CPUPERF, *way, "--duration=50ms", f"--output={folder}/s{nr}")
                assert done.returncode == 0, done.stderr
                assert re.findall(r"warning: --attach: process (\d+) is in a sandbox", done.stderr) == [str(sealed.pid)], done.stderr
                assert "heap and descriptors of 2 of 3 from when cpuperf attached" in done.stderr, done.stderr
                assert has_agent(one.pid) and has_agent(other.pid) and not has_agent(sealed.pid), done.stderr
        with Program(program, "sealed"):
            done = run(CPUPERF, *ways[0], "--duration=50ms", f"--output={folder}/t", code=1)
            assert done.stderr.count("is in a sandbox") == 2 and "none of the 2 processes can have the agent" in done.stderr
        assert sealed.end() == "end\n"
    done = run(CPUPERF, "--attach", "--event=heap:live", "--", "true", code=None)
    assert done.returncode != 0 and "--attach requires --pid, --comm or --cgroup" in done.stderr, done.stderr
    with open(f"{folder}/t.cpspec", "w", encoding="ascii") as f:
        f.write(f'{{ "target": {{ "attach": true }}, "events": [{event}] }}')
    done = run(CPUPERF, f"--spec-file={folder}/t.cpspec", "--check-spec", code=None)
    assert "target: attach requires pids, comms or cgroups" in done.stderr + done.stdout, done


def check_cgroup(folder):
    """The processes of a control group, and below it; an empty one is an error."""
    mounts = [line.split() for line in open("/proc/self/mounts", encoding="utf-8")]
    group2 = [m[1] for m in mounts if m[2] == "cgroup2"]
    name = f"cpuperf_attach_{os.getpid()}"
    try:
        os.makedirs(f"{group2[0]}/{name}/below")
    except (IndexError, OSError):
        print("skip: cgroup: no control group can be made here")
        return
    try:
        done = run(CPUPERF, f"--cgroup={name}", "--attach", "--event=heap:live", "--duration=50ms", f"--output={folder}/t", code=1)
        assert "the control group has no process" in done.stderr, done.stderr
        with Program(ATTACHED, "pause") as one, Program(ATTACHED, "lines") as other, Program(ATTACHED, "sealed") as sealed:
            for pid, place in ((one.pid, ""), (other.pid, "/below"), (sealed.pid, "/below")):
                with open(f"{group2[0]}/{name}{place}/cgroup.procs", "w", encoding="ascii") as f:
                    f.write(str(pid))
            done = attach_again(CPUPERF, f"--cgroup={name}", "--attach", f"--event={EVENTS},task_clock", "--duration=100ms",
                                f"--output={folder}/s")
            assert done.returncode == 0, done.stderr
            assert f"warning: --attach: process {sealed.pid} is in a sandbox" in done.stderr, done.stderr
            assert "heap and descriptors of 2 of 3" in done.stderr and "task_clock" in done.stderr, done.stderr
            assert has_agent(one.pid) and has_agent(other.pid) and not has_agent(sealed.pid), done.stderr
            assert counts(folder)["live"] == 0
    finally:
        for _ in range(100):
            try:
                os.rmdir(f"{group2[0]}/{name}/below")
                break
            except OSError:
                time.sleep(0.05)
        os.rmdir(f"{group2[0]}/{name}")


def lines_until(session, text):
    """What it says up to a line with this text, or to its end."""
    said = []
    for line in session.stderr:
        said.append(line)
        if text in line:
            break
    return said


def check_just_begun(folder):
    """A process whose loader has not come to the C library is waited for: a pipe among what it loads before holds it."""
    pipe = f"{folder}/pipe.so"
    os.mkfifo(pipe)
    begun = Program(ATTACHED, "lines", env={"LD_PRELOAD": pipe})
    with subprocess.Popen([CPUPERF, "--verbose", f"--pid={begun.pid}", "--attach", f"--event={EVENTS}",
                           f"--output={folder}/s"], stderr=subprocess.PIPE, text=True) as p:
        said = lines_until(p, "it may have just begun")
        assert "has no C library" in said[-1], said
        os.close(os.open(pipe, os.O_WRONLY))
        assert "pipe.so" in begun.process.stdout.readline()
        with begun:
            said += lines_until(p, "are rewritten")
            assert begun.line() == "done"
            p.send_signal(signal.SIGINT)
            said += p.stderr.readlines()
    if not any(CANNOT_YET in line for line in said):
        assert counts(folder)["allocations"] == 14, said


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
    for what in stride(("registers", "pause"), 1):
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
    for options, want in stride(((["-static"], "is linked statically"), (["-fsanitize=address"], "sanitizer"),
                                 (["-m32"], "another kind of machine"),
                                 (["-DOWN", "-rdynamic"], "linked into its program")), 2):
        if subprocess.run(["cc", *options, "-o", f"{folder}/p", source], stderr=subprocess.DEVNULL,
                          check=False).returncode:
            print(f"skip: refused: cc cannot do {options}")
            continue
        if options == ["-m32"] and not can_execute(f"{folder}/p", "refused: 32 bits"):
            continue
        with Program(f"{folder}/p") as p:
            assert want in refused(p.pid), options
            assert p.process.poll() is None
    with Program(ATTACHED, "pause") as p:
        assert "no event is of the groups" in refused(p.pid, events="task_clock")
        with Session(folder, p.pid):
            assert "is measured by another cpuperf" in refused(p.pid)
        p.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WNOWAIT)
        assert "is stopped" in refused(p.pid)
        p.process.send_signal(signal.SIGCONT)
    done = run(CPUPERF, "--attach", f"--event={EVENTS}", "--pid=4294967297", code=None)
    assert done.returncode and '"4294967297" is not a process number' in done.stderr, done.stderr
    done = run(CPUPERF, "--attach", f"--event={EVENTS}", code=None)
    assert done.returncode == 2 and "--attach requires --pid" in done.stderr, done.stderr


if platform.machine() not in ("x86_64", "aarch64"):
    print("skip: --attach is for x86-64 and arm64")
    sys.exit(77)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
run_checks(globals())
