#!/usr/bin/env python3
"""Probes of programs and libraries (USDT): hits are exactly those that the program makes. probes.c has the probes.
CPUPERF and CPUPERF_PRINT name the programs; needs root and a kernel with BTF and uprobes.
"""
import csv
import errno
import ctypes
import glob
import io
import json
import os
import platform
import shutil
import subprocess
import time

from kit import CPUPERF, finish, need_programs, ordinary_user, output, PRINT, run, run_checks, skip, start, wait_for, wait_until_recorded
from sampled import event, have, Trace
from waited import Control, Groups, has_cgroups, move

HERE = os.path.dirname(os.path.abspath(__file__))
THREADS, N = 4, 1000
UID = 65531  # the kernel limits the buffers of all processes of a user together


def build(folder, *options, name="probes", source="probes.c"):
    program = os.path.join(folder, name)
    run("cc", "-O2", "-pthread", *options, "-o", program, f"{HERE}/{source}", "-ldl")
    return program


def build_library(folder):
    return build(folder, "-shared", "-fPIC", name="libprobe.so", source="probes_library.c")


def counts(session):
    """{event: hits} of the whole session."""
    text = output(PRINT, "--quiet", "--output-format=csv", "--report=summary", session)
    found = {}
    for row in csv.DictReader(io.StringIO(text, newline="")):
        if row["group"] == "usdt" and row["cpu"] == "all":
            found[row["event"]] = found.get(row["event"], 0) + int(row["value"])
    return found


def measure(folder, events, *command, options=(), code=0, env=None):
    """{event: hits}, and what cpuperf and the command printed."""
    done = run(CPUPERF, *(f"--event={e}" for e in events), *options, "-o", f"{folder}/session", "--", *command,
               cwd=folder, code=code, env=env)
    return (None if code else counts(f"{folder}/session")), done


def expected(words=0, n=N):
    """Of 4 threads, and as many more: a child by fork hits with one thread, one by exec with all."""
    return {"demo:tick": (THREADS + words) * n, "demo:guarded": (THREADS + words) * n // 10}


EVENTS = ("usdt:demo:tick", "usdt:demo:guarded")


def check_threads_fork_exec(folder):
    program = build(folder)
    assert "guarded 0\n" in output(program, str(N))  # nobody listens
    for words, more in (((), 0), (("fork",), 1), (("exec",), THREADS), (("fork", "exec", "fork"), 2 + THREADS)):
        found, done = measure(folder, EVENTS, program, str(N), *words)
        assert found == expected(more), (words, found)
        assert f"guarded {THREADS * N // 10}\n" in done.stdout, done.stdout
    found, _ = measure(folder, EVENTS, program, str(N), "fork", "exec", options=["--no-children"])
    assert found == expected(), found


def check_many(folder):
    """5 times, as hits that are lost are lost by chance."""
    program = build(folder)
    for _ in range(5):
        found, _ = measure(folder, EVENTS, program, "20000", "fork", "exec")
        assert found == expected(1 + THREADS, 20000), found


def check_semaphore(folder):
    """A part that is guarded runs while its probe is measured, not while another one is."""
    program = build(folder)
    found, done = measure(folder, ["usdt:demo:tick"], program, str(N))
    assert found == {"demo:tick": THREADS * N} and "guarded 0\n" in done.stdout, (found, done)


def check_kinds_of_programs(folder):
    for options in (("-static",), ("-no-pie",), ("-s",), ("-m32",)):
        done = run("cc", "-O2", "-pthread", *options, "-o", f"{folder}/p", f"{HERE}/probes.c", "-ldl", code=None)
        if done.returncode:
            print(f"skip: {options}: the compiler has no such libraries")
            continue
        found, _ = measure(folder, EVENTS, f"{folder}/p", str(N), "fork", "exec")
        assert found == expected(1 + THREADS), (options, found)
    os.symlink(f"{folder}/p", f"{folder}/link")
    found, _ = measure(folder, EVENTS, "./link", str(N))
    assert found == expected(), found
    with open(f"{folder}/script", "w", encoding="ascii") as f:
        f.write(f"#!{folder}/p {N}\n")
    os.chmod(f"{folder}/script", 0o755)
    found, _ = measure(folder, EVENTS, f"{folder}/script")
    assert found == expected(), found


def check_several_places(folder):
    program, library = build(folder), build_library(folder)
    found, _ = measure(folder, ["usdt:demo:twice"], program, str(N), "twice")
    assert found == {"demo:twice": 3 * N}, found
    link = ("-Wl,--no-as-needed", f"-L{folder}", "-lprobe")
    needs = build(folder, *link, "-Wl,-rpath,$ORIGIN", name="needs")
    found, _ = measure(folder, ["usdt:demo:library"], build(folder, *link, name="bare"), str(N), "dlopen=libprobe.so",
                       env={"LD_LIBRARY_PATH": folder})
    assert found == {"demo:library": N}, found
    words = (str(N), f"dlopen={library}")
    found, _ = measure(folder, ["usdt:demo:tick", "usdt:demo:library", f"usdt:{library}:demo:tick"], needs, *words)
    assert found == {"demo:tick": (THREADS + 1) * N, "demo:library": N, f"{library}:demo:tick": N}, found
    text = output(CPUPERF, "--describe-event=usdt:demo:tick", "--", needs)
    assert f"{needs}+0x" in text and f"{library}+0x" in text and "arguments 8@$1" in text, text
    text = output(CPUPERF, "--describe-event=usdt:demo:guarded", "--", needs)
    assert "semaphore" in text and "us a hit" in text, text


def check_loaded_later(folder):
    """What is no file of the target when it starts is not found, but can be named."""
    program, library = build(folder), build_library(folder)
    words = (str(N), f"dlopen={library}")
    _, done = measure(folder, ["usdt:demo:library"], program, *words, code=125)
    assert "what the target maps at its start has no such probe" in done.stderr and "usdt:/FILE" in done.stderr, done
    found, _ = measure(folder, [f"usdt:{library}:demo:library", "usdt:demo:tick"], program, *words)
    assert found == {f"{library}:demo:library": N, "demo:tick": THREADS * N}, found


def check_samples(folder):
    program = build(folder, "-g", "-fno-omit-frame-pointer")
    for callgraph in ("-g=fp", "-g=dwarf"):
        run(CPUPERF, "-e", "usdt:demo:tick@10", callgraph, "-o", f"{folder}/session", "--", program, str(N), "fork",
            cwd=folder)
        found = counts(f"{folder}/session")
        rows = list(csv.DictReader(io.StringIO(
            output(PRINT, "--quiet", "--report=flat", "--output-format=csv", f"{folder}/session"), newline="")))
        by_name = {r["function"]: r for r in rows}
        nr = sum(int(r["self_samples"]) for r in rows)
        assert found == {"demo:tick": (THREADS + 1) * N}, found
        # of each CPU every tenth
        assert found["demo:tick"] // 10 - os.cpu_count() <= nr <= found["demo:tick"] // 10, (nr, found)
        assert set(n for n, r in by_name.items() if int(r["self_samples"])) == {"tick"}, by_name
        if callgraph == "-g=dwarf":  # a function without a frame hides its caller from frame pointers
            assert "hit" in by_name, by_name
    done = run(CPUPERF, "-e", "usdt:demo:tick@99Hz", "--", program, str(N), cwd=folder, code=125)
    assert "its rate is the hits per sample" in done.stderr, done


def check_lost(folder):
    """Each hit is a sample or is lost, and that is counted once."""
    run(CPUPERF, "-e", "usdt:demo:tick@1", "-g=dwarf", "--buffer-size-in-mb=1", "-o", f"{folder}/session", "--",
        build(folder), "500", cwd=folder)
    items = [i for path in glob.glob(f"{folder}/session/*.0.*.cpuperf") for i in Trace(path).sampling["items"]]
    samples, lost = sum(i["samples"] for i in items), sum(i["lost"] for i in items)
    assert lost > 0 and samples + lost == THREADS * 500, (samples, lost)


def check_processes(folder):
    """--pid counts that process, not another one of the same file; the machine counts both."""
    program = build(folder)
    with subprocess.Popen([program, str(N), "wait", "fork", "exec", "stay"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "waits\n"
        p = start(folder, "-o", "session", "-e", ",".join(EVENTS), f"--pid={child.pid}")
        wait_until_recorded(p, f"{folder}/session/cpuperf.cpsession")
        machine = start(folder, "-o", "machine", "-e", f"usdt:{program}:demo:tick", "--duration=600s")
        wait_until_recorded(machine, f"{folder}/machine/cpuperf.cpsession")
        # both measure from some time after that on: hits until then would be missing
        time.sleep(1)
        run(program, str(N))
        child.stdin.write("x")
        child.stdin.flush()
        assert "waits\n" in iter(child.stdout.readline, "")  # the program that was executed prints, too
        machine.send_signal(2)
        finish(machine, code=None)
        child.stdin.write("x")
        child.stdin.close()
        child.wait()
        finish(p)
    assert counts(f"{folder}/session") == expected(1 + THREADS), counts(f"{folder}/session")
    found = counts(f"{folder}/machine")
    assert found == {f"{program}:demo:tick": (2 * THREADS + 1 + THREADS) * N}, found


def waiting(program, *words):
    return subprocess.Popen([program, str(N), "wait", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_stopped(program, measured, *words, go=lambda: None):
    """Runs the program, which waits until the session measures it; returns when both have ended."""
    with waiting(program, *words) as child:
        assert child.stdout.readline() == "waits\n"
        p = measured(child)
        go()
        child.stdin.write("x")
        child.stdin.close()
        child.wait()
        if p:
            finish(p)


def check_price(folder):
    """Before the first breakpoint."""
    _, done = measure(folder, EVENTS, build(folder), "1")
    lines = done.stderr.splitlines()
    for e in EVENTS:
        price, = (i for i, line in enumerate(lines) if f"{e}: each hit costs about 0.7 us" in line)
        assert "not known" in lines[price] and price < len(lines) - 1, lines


def check_runs(folder):
    """Each run is an iteration with its own hits."""
    program = build(folder)
    measure(folder, EVENTS, program, str(N), options=["-r", "3"])
    text = output(PRINT, "--quiet", "--output-format=csv", f"{folder}/session")
    rows = [r for r in csv.DictReader(io.StringIO(text, newline="")) if r["group"] == "usdt" and r["cpu"] == "all"]
    found = {e: [int(r["value"]) for r in rows if r["event"] == e] for e in ("demo:tick", "demo:guarded")}
    assert found == {"demo:tick": [THREADS * N] * 3, "demo:guarded": [THREADS * N // 10] * 3}, text


def check_cpu(folder):
    """Hits on the CPUs of --cpu alone: on the other ones there are none."""
    program = build(folder)
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        print("skip: check_cpu: one CPU")
        return
    for pinned, want in ((cpus[0], THREADS * N), (cpus[1], 0)):
        found, _ = measure(folder, [f"usdt:{program}:demo:tick"], "taskset", "-c", str(pinned), program, str(N),
                           options=[f"--cpu={cpus[0]}"])
        assert found == {f"{program}:demo:tick": want}, (pinned, found)


def check_windows(folder):
    """Hits between the captures do not count; those within them do."""
    program = build(folder)

    def measured(child, delay):
        shutil.rmtree(f"{folder}/session", ignore_errors=True)
        # the file of samples begins with the window
        p = start(folder, "-o", "session", "-e", ",".join([*EVENTS, "cpu_clock@1000000"]), f"--pid={child.pid}",
                  f"--windows=realtime:{delay}:600:1")
        wait_until_recorded(p, f"{folder}/session/cpuperf.cpsession")
        if delay != "600":
            wait_for(p, f"{folder}/session/cpuperf.0.0.cpuperf")
        return p

    for delay, want in (("600", {"demo:tick": 0, "demo:guarded": 0}), ("0.001", expected())):
        # it hits before the window begins, or after that
        run_stopped(program, lambda child, d=delay: measured(child, d))
        assert counts(f"{folder}/session") == want, (delay, counts(f"{folder}/session"))


def check_cgroup(folder):
    """Hits of programs in the group and below it, not of one beside it."""
    if not has_cgroups():
        return
    program = build(folder)
    with Groups() as groups:
        def measured(child):
            move(child, groups.folders[1])
            p = start(folder, "-o", "session", "-e", f"usdt:{program}:demo:tick", f"--cgroup={groups.name}",
                      "--duration=600s")
            wait_until_recorded(p, f"{folder}/session/cpuperf.cpsession")
            sessions.append(p)
            return None

        sessions = []
        run_stopped(program, measured, go=lambda: run(program, str(N)))
        sessions[0].send_signal(2)
        finish(sessions[0], code=None)
    assert counts(f"{folder}/session") == {f"{program}:demo:tick": THREADS * N}, counts(f"{folder}/session")


def check_control(folder):
    """Hits while the events are disabled do not count."""
    program, control = build(folder), Control()

    def go(child):
        child.stdin.write("x")
        child.stdin.close()
        child.wait()

    with waiting(program) as first, waiting(program) as second, waiting(program) as third:
        children = (first, second, third)
        assert [child.stdout.readline() for child in children] == ["waits\n"] * 3
        pids = ",".join(str(child.pid) for child in children)
        p = subprocess.Popen([CPUPERF, "-o", "session", "-e", ",".join(EVENTS), f"--pid={pids}", "--delay=-1",
                              *control.options], cwd=folder, stdin=subprocess.DEVNULL, **control.how)
        control.ask("ping")
        for child, command in zip(children, ("enable", "disable", "")):
            go(child)
            if child is not third:
                control.ask(command)
        assert p.wait() == 0
    assert counts(f"{folder}/session") == expected(), counts(f"{folder}/session")


def replaces_nops():
    if platform.machine() != "x86_64":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(336) < 0 and ctypes.get_errno() == errno.ENXIO


def check_red_zone(folder):
    """Where the kernel would change a program's results, it is not probed."""
    program = build(folder)
    if not replaces_nops():
        print("skip: check_red_zone: this kernel does not replace NOPs of 5 bytes")
        return
    _, done = measure(folder, ["usdt:demo:red"], program, str(N), "red", code=125)
    assert "red zone" in done.stderr and '"unsafe"' in done.stderr, done
    text = output(CPUPERF, "--describe-event=usdt:demo:red", "--", program)
    assert "not supported" in text and "red zone" in text, text
    with open(f"{folder}/s.cpspec", "w", encoding="ascii") as f:
        json.dump({"events": [event("usdt:demo:red", flags=["unsafe"])]}, f)
    done = run(CPUPERF, "--spec-file=s.cpspec", "-o", "session", "--", program, str(N), "red", cwd=folder)
    assert counts(f"{folder}/session") == {"demo:red": N}
    wrong = int(done.stdout.split(" wrong")[0].split()[-1])
    assert wrong > N / 2, done.stdout  # else the rule is not needed any more
    with open(f"{folder}/s.cpspec", "w", encoding="ascii") as f:
        json.dump({"events": [event("software:page_faults", flags=["unsafe"])]}, f)
    done = run(CPUPERF, "--spec-file=s.cpspec", "--check-spec", cwd=folder, code=1)
    assert "for events of the groups usdt and function" in done.stderr, done


def check_lists(folder):
    program = build(folder)
    names = output(CPUPERF, "--list-events=usdt:*", "--output-format=names", "--", program).split()
    assert {"usdt:demo:tick", "usdt:demo:guarded", "usdt:demo:twice"} <= set(names), names
    assert "usdt:" in output(CPUPERF, "--list-events=usdt", "--", program)
    for name, why in (("usdt:demo:tock", "no such probe"), ("usdt:demo", "did you mean usdt:demo:"),
                      (f"usdt:{program}:demo:tock", "the file has no such probe"),
                      ("usdt:/nothing:demo:tick", "cannot be read"), ("usdt:/etc/passwd:demo:tick", "no such probe"),
                      ("usdt::tick", "provider:name"), ("usdt:demo:", "provider:name")):
        done = run(CPUPERF, f"--event={name}", "--", program, "1", cwd=folder, code=125)
        assert why in done.stderr, done.stderr


def check_libraries(folder):
    """250 exceptions; the system's python, if it was built with probes."""
    with open(f"{folder}/t.cpp", "w", encoding="ascii") as f:
        f.write("int main() { int n = 0; for (int i = 0; i < 250; i++) try { throw i; } catch (int) { n++; } "
                "return n != 250; }\n")
    if have("g++", "readelf"):
        run("g++", "-o", f"{folder}/t", f"{folder}/t.cpp")
        events = ("usdt:libstdcxx:throw", "usdt:libstdcxx:catch", "usdt:libstdcxx:rethrow")
        done = run(CPUPERF, "-e", ",".join(events), "-o", "session", "--", f"{folder}/t", cwd=folder, code=None)
        if "Unknown event" in done.stderr:
            print("skip: check_libraries: libstdc++ was built without probes")
        else:
            found = counts(f"{folder}/session")
            assert found == {"libstdcxx:throw": 250, "libstdcxx:catch": 250, "libstdcxx:rethrow": 0}, found


def check_ordinary_user(folder):
    program = build(folder)
    user = ordinary_user(folder)
    if not user:
        return
    (cpuperf,), how = user
    shutil.copy(program, f"{folder}/p")
    done = run(cpuperf, "-e", "usdt:demo:tick", "-o", "session", "--", "./p", str(N),
               **{**how, "user": UID, "group": UID})
    assert "not permitted" in done.stdout + done.stderr and "guarded 0\n" in done.stdout, done
    text = output(cpuperf, "--describe-event=usdt:demo:tick", "--", "./p", **{**how, "user": UID, "group": UID})
    assert "no permission" in text, text


def check_nothing_is_left(folder):
    """Killed, it leaves no breakpoint: the semaphore falls back to 0."""
    program = build(folder)
    with subprocess.Popen([program, str(N), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as child:
        assert child.stdout.readline() == "waits\n"
        p = start(folder, "-o", "session", "-e", "usdt:demo:guarded", f"--pid={child.pid}")
        while not os.path.exists(f"{folder}/session/cpuperf.cpsession"):
            assert p.poll() is None, p.communicate()
        p.kill()
        p.communicate()
        out, _ = child.communicate("x")
    assert out == "guarded 0\n", out


if __name__ == "__main__":
    need_programs()
    if not os.path.exists("/sys/bus/event_source/devices/uprobe"):
        skip("this kernel has no PMU of uprobes")
    run_checks(globals(), everybody=True)
