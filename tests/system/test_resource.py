#!/usr/bin/env python3
"""The group resource: descriptors by who opened them, bytes and calls by who reads and writes, threads by who created them, and
exceptions; compared with programs of which they are known, and with what strace counts."""
import csv
import os
import re
import shutil
import subprocess
import sys

from heap_memory import BLOCKS, PEAK, Recorder, STACKS
from kit import CPUPERF, PRINT, run, run_checks
from sampled import event, write_spec

AGENT = os.environ["AGENT"]
IS_LONG = os.environ.get("CPUPERF_TEST_LONG") == "1"
FDS, IO, THREADS, EXCEPTIONS = 256, 512, 1024, 2048
FD, READ, WRITTEN, THREAD, THROWN, CAUGHT = range(1, 7)  # the innermost addresses of their stacks
READING = "read pread64 readv preadv preadv2 recvfrom recvmsg recvmmsg".split()
WRITING = "write pwrite64 writev pwritev pwritev2 sendto sendmsg sendmmsg".split()
BOTH = "sendfile splice copy_file_range".split()
CREATING = ("open openat creat dup dup2 dup3 fcntl socket accept accept4 epoll_create epoll_create1 eventfd eventfd2 timerfd_create "
            "signalfd signalfd4 inotify_init inotify_init1 memfd_create").split()


def build(folder, name="fds", *options):
    program = f"{folder}/{name}"
    run("cc", "-O1", "-g", "-D_GNU_SOURCE", "-w", "-fno-builtin", "-pthread", *options, "-o", program,
        f"{os.path.dirname(__file__)}/{name}.c")
    return program


def sums_of(memory, *kinds):
    """Calls and bytes of each kind, and the stacks."""
    head = memory.header()
    assert not (head["no_node"] or head["no_block"] or head["invalid"] or head["nested"]), head
    stacks = [s for s in memory.stacks() if s["path"]]
    result = []
    for kind in kinds:
        of = [s for s in stacks if s["path"][-1] == kind]
        result += [(sum(s["samples"] for s in of), sum(s["bytes"] for s in of))]
    return result, stacks


def record(*command, wants, nr=1, **more):
    recorder = Recorder(AGENT, rate=0, wants=wants | STACKS)
    done = recorder.run(*command, capture_output=True, text=True, **more)
    assert done.returncode == 0 and len(recorder.memories) == nr, (command, done, len(recorder.memories))
    return done.stdout, recorder.memories


def measure(*command, wants=FDS | STACKS, rate=0, nr=1):
    """Of each process opened, live; the stacks of descriptors and of memory."""
    recorder = Recorder(AGENT, rate=rate, wants=wants)
    done = recorder.run(*command, capture_output=True, text=True)
    assert done.returncode == 0 and len(recorder.memories) == nr, (command, done, len(recorder.memories))
    result = []
    for memory in recorder.memories:
        head = memory.header()
        assert not (head["no_node"] or head["no_block"] or head["invalid"] or head["nested"]), head
        fds = [s for s in memory.stacks() if s["path"] and s["path"][-1] == 1]
        others = [s for s in memory.stacks() if s not in fds]
        result.append((sum(s["samples"] for s in fds), sum(s["live_samples"] for s in fds), fds, others, head))
        assert all(s["bytes"] == s["samples"] and s["max"] == 1 for s in fds), fds
    return done.stdout, result


def check_known(folder):
    program = build(folder)
    _, [(opened, live, fds, others, _)] = measure(program, "leak")
    assert (opened, live, len(fds), others) == (105, 5, 2, []), fds
    assert sorted((s["samples"], s["live_samples"]) for s in fds) == [(5, 5), (100, 0)], fds
    _, [(opened, live, _, _, _)] = measure(program, "threads")
    assert (opened, live) == (16000, 0), (opened, live)
    _, [(opened, live, _, _, _)] = measure(program, "vforks")
    assert (opened, live) == (3, 3), "a child by vfork closes its own"
    said, [(opened, live, _, _, _), *_] = measure(program, "clones", nr=2)  # and /bin/true
    assert (said, opened, live) == ("1\n", 14, 2), (said, opened, live)
    _, [(opened, live, *_), (in_child, live_in_child, *_)] = measure(program, "forks", nr=2)
    assert (opened, live, in_child, live_in_child) == (3, 3, 2, 2)
    _, [before, after] = measure(program, "execs", nr=2)
    assert (before[:2], after[:2]) == ((4, 4), (105, 5)), (before, after)
    assert measure(program, "errno")[0] == "77 9\n"
    _, [(opened, live, fds, _, _)] = measure(program, "leak", wants=FDS)
    assert (opened, live, len(fds)) == (105, 5, 1), "without stacks"


def count_calls(folder, *command):
    """Descriptors that the program's own process got, by strace."""
    run("strace", "-o", f"{folder}/strace", *command)
    nr = 0
    with open(f"{folder}/strace", encoding="utf-8", errors="replace") as f:
        for line in f:
            called = re.match(r"(\w+)\((.*)\) += (-?\d+)", line)
            if not called or int(called[3]) < 0:
                continue
            name, arguments, result = called.groups()
            if name in ("pipe", "pipe2", "socketpair"):
                nr += 2
            elif name == "fcntl":
                nr += "F_DUPFD" in arguments
            elif name == "dup2":
                nr += arguments.split(", ")[0] != result
            else:
                nr += name in CREATING
    return nr


def check_strace(folder):
    """Each function, and a shell; less what the loader and libc open for themselves, which a run that does nothing shows."""
    if not shutil.which("strace"):
        print("skip: strace is not installed", flush=True)
        return
    program = build(folder)
    base = count_calls(folder, program)
    for what in ("leak", "kinds"):
        alone = count_calls(folder, program, what) - base
        _, memories = measure(program, what, nr=2 if what == "kinds" else 1)  # with the sh of popen
        (opened, live, fds, _, _), *_ = memories
        print(f"{what}: {opened} descriptors, by strace {alone}", flush=True)
        # popen makes a pipe, of which its caller gets one end; freopen closes and opens, or dups, by the C library
        assert alone - 2 <= opened <= alone if what == "kinds" else opened == alone, (what, alone, opened, fds)
        assert live == (5 if what == "leak" else 0), (what, fds)


def check_io_known(folder):
    program = build(folder, "io")
    _, [memory] = record(program, "known", wants=IO)
    [read, written], stacks = sums_of(memory, READ, WRITTEN)
    assert (read, written, len(stacks)) == ((50, 550), (100, 700), 2), stacks
    _, [memory] = record(program, "threads", wants=IO)
    assert sums_of(memory, READ, WRITTEN)[0] == [(4000, 44000), (8000, 56000)]
    for _ in range(60):
        _, [memory] = record(program, "rush", wants=IO)
        [written], stacks = sums_of(memory, WRITTEN)
        assert written == (3, 21) and len(stacks) == 2, stacks
    _, memories = record(program, "forks", wants=IO, nr=2)
    assert [sums_of(m, WRITTEN)[0] for m in memories] == [[(3, 21)], [(2, 14)]]
    _, [memory] = record(program, "cancelled", wants=IO)
    assert sums_of(memory, READ, WRITTEN)[0] == [(0, 0), (5, 35)]
    assert record(program, "errno", wants=IO)[0] == "x 77 9\n"
    printed, [memory] = record(program, "alternate", wants=IO)
    assert printed == "0\n", "written below the stack of a handler"
    assert (2, 6) in [(s["samples"], s["bytes"]) for s in memory.stacks() if s["path"][-1] == WRITTEN], memory.stacks()
    _, [memory] = record(program, "known", wants=FDS)
    assert not sums_of(memory, READ, WRITTEN)[1][2:], "of descriptors only"


def strace_lines(path):
    """Those of strace -f, of which each is one call."""
    begun = {}
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            pid, text = line.split(maxsplit=1)
            if text.endswith(" <unfinished ...>\n"):
                begun[pid] = text[:-len(" <unfinished ...>\n")]
            elif text.startswith("<... "):
                yield begun.pop(pid, "") + text.split(" resumed>", 1)[1]
            else:
                yield text


def strace_io(folder, *command, code=0):
    """Calls and bytes that were read and written, by strace; less what the loader reads: the beginnings of files."""
    run("strace", "-f", "-o", f"{folder}/strace", "-e", "trace=" + ",".join(READING + WRITING + BOTH), *command, code=code)
    sums = {READ: [0, 0], WRITTEN: [0, 0]}
    for line in strace_lines(f"{folder}/strace"):
        called = re.match(r"(\w+)\((.*)\) += (-?\d+)", line)
        if not called or re.search(r"\\177ELF.*, 832\)", line) or called[1] == "pread64" and re.search(", 64$|GNU", called[2]):
            continue
        name, arguments, moved = called[1], called[2], max(int(called[3]), 0)
        if name in ("recvmmsg", "sendmmsg"):
            moved = sum(int(n) for n in re.findall(r"msg_len=(\d+)", arguments))
        for kind, names in ((READ, READING), (WRITTEN, WRITING)):
            if name in names + BOTH:
                sums[kind][0] += 1
                sums[kind][1] += moved
    return sums


def check_io_strace(folder):
    """Each function, also those that check the room, and each kind of stream."""
    if not shutil.which("strace"):
        print("skip: strace is not installed", flush=True)
        return
    for options, what, nr in (([], "kinds", 1), (["-D_FORTIFY_SOURCE=2"], "kinds", 1), ([], "streams", 3)):
        program = build(folder, "io", *options)
        alone = strace_io(folder, program, what)
        _, memories = record(program, what, wants=IO, nr=nr)
        ours = [tuple(map(sum, zip(*one))) for one in zip(*(sums_of(m, READ, WRITTEN)[0] for m in memories))]
        print(f"{what} {options}: {ours}, by strace {list(alone.values())}", flush=True)
        assert ours == [tuple(n) for n in alone.values()] and ours[0][0] > 12, (what, memories[0].stacks())


def build_created(folder):
    program = f"{folder}/created"
    run("c++", "-O1", "-g", "-w", "-pthread", "-o", program, f"{os.path.dirname(__file__)}/created.cc")
    return program


def live_of(memory, kind):
    return sum(s["live_samples"] for s in memory.stacks() if s["path"] and s["path"][-1] == kind)


def check_threads(folder):
    program = build_created(folder)
    printed, [memory] = record(program, "threads", wants=THREADS)
    [(created, _)], stacks = sums_of(memory, THREAD)
    assert (printed, created, live_of(memory, THREAD)) == ("1 42\n", 56, 3), (printed, created, stacks)
    assert sorted(s["samples"] for s in stacks) == [1, 1, 1, 3, 50], stacks
    printed, [memory] = record(program, "refused", wants=THREADS)
    assert printed == subprocess.run([program, "refused"], capture_output=True, text=True, check=True).stdout
    assert sums_of(memory, THREAD)[0] == [(0, 0)]
    _, memories = record(program, "forks", wants=THREADS, nr=2)
    assert [(*sums_of(m, THREAD)[0], live_of(m, THREAD)) for m in memories] == [((3, 3), 1), ((4, 4), 0)]
    if not shutil.which("strace"):
        print("skip: strace is not installed", flush=True)
        return
    run("strace", "-f", "-o", f"{folder}/strace", "-e", "trace=clone,clone3", program, "threads")
    with open(f"{folder}/strace", encoding="utf-8") as f:
        by_strace = len(re.findall(r"clone3?(?:\(.*| resumed>.*)\) += \d+", f.read()))
    assert by_strace == created, (by_strace, created)


def check_exceptions(folder):
    """Of 20, each second one is thrown again; and one in the library. A program in C loads a module that throws."""
    program = build_created(folder)
    printed, [memory] = record(program, "throws", wants=EXCEPTIONS)
    sums, stacks = sums_of(memory, THROWN, CAUGHT)
    assert (printed, sums) == ("50\n", [(21, 21), (31, 31)]), (printed, sums, stacks)
    types = {(s["path"][-2], s["path"][-1]) for s in stacks}
    assert len(types) == 6 and all(place >> 63 for place, _ in types), ("three types, thrown and caught", stacks)
    here = os.path.dirname(__file__)
    for options in ([], ["-static-libstdc++", "-static-libgcc"]):
        run("c++", "-shared", "-fPIC", "-o", f"{folder}/module.so", f"{here}/module.cc", *options)
        with open(f"{folder}/loads.c", "w", encoding="ascii") as f:
            f.write('#include <dlfcn.h>\n#include <stdio.h>\nint main(int c, char **v) { void *h = dlopen(v[1], RTLD_LAZY);\n'
                    'int (*f)(int) = dlsym(h, "throws"); printf("%d\\n", f(5)); dlclose(h); return !!dlopen(v[1], RTLD_NOLOAD); }\n')
        run("cc", "-w", "-o", f"{folder}/loads", f"{folder}/loads.c")
        alone = subprocess.run([f"{folder}/loads", f"{folder}/module.so"], capture_output=True, text=True, check=False)
        recorder = Recorder(AGENT, rate=0, wants=EXCEPTIONS | STACKS)
        done = recorder.run(f"{folder}/loads", f"{folder}/module.so", capture_output=True, text=True)
        assert (done.stdout, done.returncode, done.stderr) == (alone.stdout, alone.returncode, alone.stderr), (options, done, alone)
        assert done.stdout == "5\n" and sums_of(recorder.memories[0], THROWN, CAUGHT)[0] == [(5, 5), (5, 5)], options


def check_created_session(folder):
    program = build_created(folder)
    output = f"{folder}/s"
    for what, rows in (("threads", (("thread_created", "many", 50), ("thread_live", "staying", 3))),
                       ("throws", (("exception_thrown", "thrower", 20), ("exception_caught", "throws", 31),
                                   ("exception_thrown", "std::runtime_error", 10), ("exception_thrown", "int", 10),
                                   ("exception_thrown", "std::out_of_range", 1), ("exception_caught", "std::runtime_error", 20)))):
        run(CPUPERF, f"--output={output}", "--event=" + ",".join(sorted({f"resource:{row[0]}@1" for row in rows})), "-g", "--", program, what)
        text = run(PRINT, output, "--report=tree", "--output-format=csv").stdout
        for name, function, count in rows:
            found = [line for line in text.splitlines() if line.startswith(f"{name},") and f",{function}" in line]
            assert any(str(count) in line.split(",") for line in found), (name, function, count, text)


def check_runtime_within(folder):
    """Exceptions of a program that has the runtime within itself are not seen, which is said; of no other."""
    source = f"{os.path.dirname(__file__)}/created.cc"
    for options, is_within in (([], False), (["-static-libstdc++", "-static-libgcc", "-s"], True)):
        run("c++", "-O1", "-w", "-pthread", "-o", f"{folder}/created", source, *options)
        done = run(CPUPERF, f"--output={folder}/{is_within}", "--event=resource:exception_thrown@1", "--", "sh", "-c",
                   f"{folder}/created throws; true")
        note = "1 process has the C++ runtime within the program (-static-libstdc++): its exceptions are in no number"
        assert (note in done.stderr) == is_within, (is_within, done)
        rows = list(csv.DictReader(run(PRINT, f"{folder}/{is_within}", "--report=summary", "--output-format=csv").stdout.splitlines()))
        assert [int(r["value"]) for r in rows if r["event"] == "exception_thrown"] == [0 if is_within else 21], rows


def check_beside_heap(folder):
    """Memory is as without descriptors: amounts, blocks and the peak."""
    program = build(folder)
    _, [(opened, live, _, others, head)] = measure(program, "threads", wants=BLOCKS | STACKS | PEAK | FDS, rate=1)
    _, [(none, _, _, alone, head_alone)] = measure(program, "threads", wants=BLOCKS | STACKS | PEAK, rate=1)
    assert (opened, live, none) == (16000, 0, 0)
    assert sum(s["bytes"] for s in others) == sum(s["bytes"] for s in alone)
    assert sum(s["live_bytes"] for s in others) == sum(s["live_bytes"] for s in alone)
    assert head["peak"] and abs(head["peak"] - head_alone["peak"]) <= 16 << 10, (head, head_alone)


def check_programs(folder):
    """Programs that know nothing of it print and return what they do alone."""
    with open(f"{folder}/x.c", "w", encoding="ascii") as f:
        f.write("#include <stdio.h>\nint main(void) { puts(\"x\"); return 4; }\n")
    with open(f"{folder}/Makefile", "w", encoding="ascii") as f:
        f.write("all:\n\t@echo $$PATH\n")
    python = ("import subprocess, tempfile, socket, os; f = tempfile.TemporaryFile(); print(subprocess.run(['ls', '/usr'], "
              "capture_output=True).stdout); a = socket.socketpair(); print(len(os.listdir('/proc/self/fd')))")
    for command in ([sys.executable, "-c", python], ["gcc", "-O2", "-o", f"{folder}/x", f"{folder}/x.c"],
                    ["bash", "-c", "for i in 1 2 3; do echo $(ls /usr | wc -l); done <&0 3</dev/null; exit 9"],
                    ["perl", "-e", "open(F, '<', '/etc/passwd'); print scalar(<F>); exec 'sh', '-c', 'echo a >&2; kill -9 $$'"],
                    ["make", "-s", "-C", folder], ["tar", "cf", "/dev/null", "/etc/passwd"],
                    ["find", "/usr/share/doc", "-maxdepth", "1"]):
        alone = subprocess.run(command, capture_output=True, check=False)
        recorder = Recorder(AGENT, rate=0, wants=FDS | IO | STACKS)
        done = recorder.run(*command, capture_output=True)
        assert (alone.returncode, alone.stdout, alone.stderr) == (done.returncode, done.stdout, done.stderr), (command, alone, done)
        assert any(s["path"][-1] == 1 for m in recorder.memories for s in m.stacks() if s["path"]), command


BUILD = {
    "Makefile": "program: a.o b.o main.o\n\t$(CXX) -pthread -o $@ a.o b.o main.o\n"
                "%.o: %.cc all.h\n\t$(CXX) -O1 -pthread -c -o $@ $<\n",
    "all.h": "#include <map>\n#include <stdexcept>\n#include <string>\n#include <thread>\n#include <vector>\n"
             "int a(int n);\nint b(const std::string &s);\n",
    "a.cc": '#include "all.h"\nint a(int n) { std::map<int, std::string> m; for (int i = 0; i < n; i++) m[i] = std::to_string(i);'
            ' if (n > 3) throw std::runtime_error("many"); return (int)m.size(); }\n',
    "b.cc": '#include "all.h"\nint b(const std::string &s) { std::vector<std::thread> t; for (char c : s) t.emplace_back([c] {'
            " try { a(c - '0'); } catch (const std::exception &) { } }); for (auto &x : t) x.join(); return (int)t.size(); }\n",
    "main.cc": '#include "all.h"\n#include <cstdio>\nint main() { std::printf("%d\\n", b("12345")); return 3; }\n'}
SQL = """create table t(a integer primary key, b text);
begin; with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into t select i, 'row ' || i * 7919 % 100003 from n; commit;
create index x on t(b); select count(*), max(b) from t; delete from t where a % 3 = 0; vacuum; select count(*) from t;
pragma integrity_check; select * from missing;
"""
SOCKETS = ("BasicTCPTest", "BasicUDPTest", "SendmsgUDPTest", "NonBlockingTCPTests", "FileObjectClassTestCase", "BufferIOTest")


def as_alone(folder, command, *, code=0, nr=None, before=lambda: None, result=lambda: None):
    """The program under all groups and the heap at once: its output, its exit status and result() as alone, what it reads
    and writes as strace counts. The sums: of each number in the innermost addresses, calls and bytes."""
    def unlike(text):
        return re.sub(rb"in \d+\.\d+s", b"", text)

    before()
    alone, want = subprocess.run(command, capture_output=True, check=False), result()
    before()
    recorder = Recorder(AGENT, rate=1, wants=FDS | IO | THREADS | EXCEPTIONS | BLOCKS | STACKS | PEAK)
    done = recorder.run(*command, capture_output=True)
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout) and done.returncode == code, (command, alone, done)
    assert unlike(done.stderr) == unlike(alone.stderr) and result() == want, (command, alone, done)
    assert nr in (None, len(recorder.memories)), (command, len(recorder.memories))
    sums = [tuple(map(sum, zip(*one))) for one in zip(*(sums_of(m, READ, WRITTEN, FD, THREAD, THROWN, CAUGHT)[0]
                                                        for m in recorder.memories))]
    allocated = sum(s["samples"] for m in recorder.memories for s in m.stacks() if not s["path"] or s["path"][-1] > CAUGHT)
    assert allocated == sum(m.threads()[0] for m in recorder.memories), command
    if shutil.which("strace"):
        before()
        strace = [tuple(n) for n in strace_io(folder, *command, code=code).values()]
        print(f"{os.path.basename(command[0])}: {sums}, {allocated} allocations, by strace {strace}", flush=True)
        return sums, strace
    print("skip: strace is not installed", flush=True)
    return sums, sums[:2]


def check_build(folder):
    """A C++ build by make, of which the program is the same to the byte; then the program."""
    os.mkdir(f"{folder}/b")
    nr = 12 if IS_LONG else 0
    for name, text in {**BUILD, **{f"more{i}.cc": BUILD["a.cc"].replace("int a(", f"int a{i}(") for i in range(nr)}}.items():
        text = text.replace("b.o", " ".join(["b.o", *(f"more{i}.o" for i in range(nr))]))
        with open(f"{folder}/b/{name}", "w", encoding="ascii") as f:
            f.write(text)

    def clean():
        for name in os.listdir(f"{folder}/b"):
            if name.endswith(".o") or name == "program":
                os.remove(f"{folder}/b/{name}")

    def program():
        with open(f"{folder}/b/program", "rb") as f:
            return f.read()
    sums, strace = as_alone(folder, ["make", "-s", *["-j3"] * IS_LONG, "-C", f"{folder}/b"], before=clean, result=program)
    assert sums[:2] == strace and sums[2][0] > 100 or IS_LONG, (sums, strace)
    sums, strace = as_alone(folder, [f"{folder}/b/program"], code=3, nr=1)
    assert sums[:2] == strace and [s[0] for s in sums[3:]] == [5, 2, 2], (sums, strace)


def check_sqlite(folder):
    if not shutil.which("sqlite3"):
        print("skip: sqlite3 is not installed", flush=True)
        return
    with open(f"{folder}/s.sql", "w", encoding="ascii") as f:
        f.write(SQL)

    def remove():
        if os.path.exists(f"{folder}/s.db"):
            os.remove(f"{folder}/s.db")

    def base():
        with open(f"{folder}/s.db", "rb") as f:
            return f.read()
    sums, strace = as_alone(folder, ["sqlite3", "-batch", f"{folder}/s.db", f".read {folder}/s.sql"], code=1, nr=1,
                            before=remove, result=base)
    assert sums[:2] == strace and sums[1][0] > 100, (sums, strace)


def check_sockets(_):
    """A part of python3's own tests; all of those of sockets, threads and processes with CPUPERF_TEST_LONG=1."""
    python = next((p for p in (sys.executable, "python3") if not subprocess.run(
        [p, "-c", "import test.test_socket"], capture_output=True, check=False).returncode), None)
    if not python:
        print("skip: python3's own tests are not installed", flush=True)
        return
    # what they bind and who connects first is not the same in each run
    sums, strace = as_alone(os.getcwd(), [python, "-m", "unittest", *(f"test.test_socket.{name}" for name in SOCKETS)], nr=1)
    assert all(abs(a - b) <= max(2, b // 100) for o, s in zip(sums, strace) for a, b in zip(o, s)), (sums, strace)
    assert sums[3][0] > 10 and sums[2][0] > 50, sums
    for name in ("test_socket", "test_threading", "test_subprocess") if IS_LONG else ():
        done = subprocess.run([python, "-m", "test", name], capture_output=True, text=True, check=False)
        ours = Recorder(AGENT, rate=1, wants=FDS | IO | THREADS | EXCEPTIONS | BLOCKS | STACKS | PEAK).run(
            python, "-m", "test", name, capture_output=True, text=True)
        found = [re.findall(r"Total tests: .*|run=\d+.*|Result: \w+|^Tests result: \w+", d.stdout, re.M) for d in (done, ours)]
        assert ours.returncode == done.returncode and found[0] == found[1], (name, done.stdout, ours.stdout, ours.stderr)
        print(f"{name}: {found[0]}", flush=True)


def check_session(folder):
    """Counts and trees, and beside the heap."""
    program = build(folder)
    names = ("fd_opened", "fd_live", "fd_leaked")
    output = f"{folder}/s"
    run(CPUPERF, f"--output={output}", "--event=" + ",".join(f"resource:{n}" for n in names), "--", program, "leak")
    text = run(PRINT, output, "--report=summary", "--each-iteration").stdout
    for name, count in zip(names, (105, 5, 5)):
        assert re.search(rf"{name}\s.*\b{count}\b", text), (name, text)
    spec = write_spec(folder, [event(f"resource:{n}", rate=1, flags=["callchain"]) for n in names] +
                      [event("heap:live", rate=1, flags=["callchain"])])
    run(CPUPERF, spec, "--", program, "leak")
    text = run(PRINT, f"{folder}/s.cpsession", "--report=tree", "--output-format=csv").stdout
    for name, function, count in (("fd_opened", "churn", 100), ("fd_opened", "leak", 5), ("fd_live", "leak", 5),
                                  ("fd_leaked", "leak", 5)):
        rows = [line for line in text.splitlines() if line.startswith(f"{name},") and line.endswith(f",{function}")]
        assert len(rows) == 1 and str(count) in rows[0].split(","), (name, rows, text)
    assert not re.search("fd_live.*churn", text), text
    assert not re.search("^live,", text, re.M), text  # of memory


def check_no_children(folder):
    """A child by fork connects, and is refused."""
    program, to = build(folder), f"{folder}/out"
    for options, name, count, command in (([], "fd_opened", 5, [program, "forks"]), (["--no-children"], "fd_opened", 3, [program, "forks"]),
                                          (["--no-children"], "fd_live", 9, [program, "execs"])):
        run(CPUPERF, *options, "--output-format=csv", f"--output-file={to}", f"--event=resource:{name}", "--", *command,
            cwd=folder)
        with open(to, encoding="utf-8") as f:
            text = f.read()
        assert re.search(rf"\b{name},.*\b{count}\b", text), (options, text)


def check_io_session(folder):
    program = build(folder, "io")
    output, names = f"{folder}/s", ("io_read", "io_read_calls", "io_written", "io_write_calls")
    run(CPUPERF, f"--output={output}", "--event=" + ",".join(f"resource:{n}@1" for n in names), "-g", "--", program, "known")
    text = run(PRINT, output, "--report=summary", "--output-format=csv").stdout
    for name, count in zip(names, (550, 50, 700, 100)):
        assert re.search(rf"{name}\b.*,{count},", text), (name, text)
    text = run(PRINT, output, "--report=tree", "--output-format=csv").stdout
    for name, function, count in zip(names, ("reader", "reader", "writer", "writer"), (550, 50, 700, 100)):
        rows = [line for line in text.splitlines() if line.startswith(f"{name},") and line.endswith(f",{function}")]
        assert len(rows) == 1 and str(count) in rows[0].split(","), (name, rows, text)


def check_errors(folder):
    for events, text in (("resource:fd_live@2", "the rate is 1"), ("resource:fd_live@9Hz", "has no frequency")):
        done = run(CPUPERF, f"--output={folder}/s", f"--event={events}", "--", "true", code=None)
        assert done.returncode and text in done.stderr, (events, done)
    done = run(CPUPERF, f"--output={folder}/s", "--event=resource:fd_live", "--duration=10ms", code=None)
    assert done.returncode and "an agent in a command" in done.stderr, done
    listed = run(CPUPERF, "--list-events=resource").stdout
    assert "fd_leaked" in listed, listed


run_checks(globals())
