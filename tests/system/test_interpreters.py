#!/usr/bin/env python3
"""What Python interprets, in place of its interpreter: functions and lines of a program that keeps its own account, code
that comes and goes at one address, deep recursion, threads, generators, calls through C; of a command and of a process
that runs already. Needs the right to load programs into the kernel, and Debian's Python, or another one, whose path is
the environment's INTERPRETER."""
import os
import re

from interpreted import count_calls, folded, rows, running, sampled_stacks
from kit import CPUPERF, PRINT, finish, need_programs, output, run, run_checks, skip, start, wait_for, wait_until_recorded

# Each function waits for its own CPU time, so that shares are known whatever else runs.
SHARES = """
import sys, time, threading, functools
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(300): pass
def alpha():
    burn(0.09)
def beta(): burn(0.03)
class Work:
    def gamma(self):
        for s in self.parts(): burn(s)
    def parts(self):
        for i in range(3): yield 0.01
def key(x):
    burn(0.01)
    return -x
def through_c(): return sorted(range(3), key=key)
def all():
    alpha(); beta(); Work().gamma(); through_c()
for i in range(4): all()
t = threading.Thread(target=all); t.start(); t.join()
"""
# CPU time of each function with all it calls, as a share of the whole.
WHOLE = 0.09 + 0.03 + 0.03 + 0.03
EXPECTED = {"alpha": 0.09, "beta": 0.03, "Work.gamma": 0.03, "through_c": 0.03, "key": 0.03}
MADE = """
import time
def make(i):
    ns = {}
    exec(f"def f_{'even' if i % 2 == 0 else 'odd'}(s):\\n  " + body, {"time": time}, ns)
    return list(ns.values())[0]
calls = []
for i in range(160):
    f, since = make(i), time.monotonic_ns()
    f(0.003 if i % 2 == 0 else 0.001)
    calls.append((since, time.monotonic_ns(), f.__name__))
    del f
open("calls", "w").write("".join(f"{a} {b} {name}\\n" for a, b, name in calls))
"""
BURNS = r'body = "e = time.thread_time() + s\n  while time.thread_time() < e:\n    for i in range(100): pass"'
SLEEPS = 'body = "time.sleep(s)"'
LATE = """
import time
def burns():
    end = time.thread_time() + 0.8
    while time.thread_time() < end:
        for i in range(300): pass
def sleeps():
    for i in range(400): time.sleep(0.001)
burns(); sleeps()
"""
UNTIL_ENDED = """
import select, sys, time
def is_ended(): return select.select([sys.stdin], [], [], 0)[0]
def burns():
    while not is_ended() and time.thread_time() < 20:
        for i in range(3000): pass
def sleeps():
    for i in range(20000):
        if is_ended(): break
        time.sleep(0.001)
"""
DEEP = """
import time
def down(n): return down(n - 1) if n else spin()
def spin():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        for i in range(300): pass
down(900)
"""
WAITING = """
import sys, time
print("here", flush=True); sys.stdin.readline()
def served():
    end = time.thread_time() + 0.4
    while time.thread_time() < end:
        for i in range(300): pass
served()
"""
# C calls a short function again and again: many a sample is where it is entered, and has no frame.
ENTERED = """
import time
def key(x): return -x
end = time.thread_time() + 0.3
while time.thread_time() < end: sorted(range(300), key=key)
"""
HUNG = """
import sys, threading
lock, is_there = threading.Lock(), threading.Event()
lock.acquire()
def stuck():
    is_there.set()
    lock.acquire()
def worker(): stuck()
def reader():
    print("here", flush=True); sys.stdin.readline()
threading.Thread(target=worker, daemon=True).start()
is_there.wait()
reader()
"""
EVENT = ["-e", "cpu_clock@1997Hz"]
PYTHON, PROGRAM = os.environ.get("INTERPRETER", "/usr/bin/python3.11"), "program.py"


def named(qualified):
    """As this version names it: before 3.11 code is not qualified."""
    version = output(PYTHON, "-c", "import sys; print(sys.version_info >= (3, 11))").strip()
    return qualified if version == "True" else qualified.rpartition(".")[2]


def may_run():
    if not os.path.exists(PYTHON):
        skip(f"needs {PYTHON}")
    if os.geteuid() != 0:
        skip("needs root: programs in the kernel")


def record(folder, text, *options):
    path = f"{folder}/{PROGRAM}"
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    run(CPUPERF, *(options or [*EVENT, "-g"]), "--output=s", "--", PYTHON, path, cwd=folder)


def totals(folder, *options):
    """CPU time below each function, in ns."""
    found = rows(folder, "--report=flat", *options)
    return {r["function"]: int(r["total_count"]) for r in found if r["function"] != "<module>" or r["object"] == PROGRAM}


def read_stacks(folder):
    """The program's, and the weight of each: not those of the interpreter's start, which takes a few milliseconds; so
    may the recorder, until it has found out what the process is."""
    return [(stack, weight) for stack, weight in folded(folder) if "Py_InitializeFromConfig" not in stack]


def assert_named(folder):
    """No function of Python without a name, and none that was left to the interpreter."""
    stacks = [s for s in read_stacks(folder) if "<module>" in s[0]]
    bad = [s for s in stacks if any("(python)" in f or f == "_PyEval_EvalFrameDefault" for f in s[0])]
    assert sum(w for _, w in bad) <= sum(w for _, w in stacks) / 1000, (bad[:3], len(stacks))


def assert_callers(folder):
    """In their order, also through C. A thread has no module."""
    whole = ["<module>", "all", "through_c", "key", "burn"]
    found = [[f for f in stack if f in whole] for stack, _ in read_stacks(folder) if "key" in stack]
    assert found and all(stack in (whole, whole[:-1], whole[1:], whole[1:-1]) for stack in found), found


def assert_lines(folder):
    """Each of these functions has one line that calls. It is at its first one, above that, for the moment that it begins."""
    lines = {}
    for r in rows(folder, "--report=flat", "--sort=function,line"):
        lines.setdefault(r["function"], {})[r["line"]] = int(r["total_count"])
    for name, text in [("alpha", "burn(0.09)"), (named("Work.gamma"), "for s in self"), ("all", "alpha(); beta()")]:
        number = next(i for i, line in enumerate(SHARES.splitlines(), 1) if line.strip().startswith(text))
        first, calls = (f"{folder}/{PROGRAM}:{n}" for n in (number - 1, number))
        assert set(lines[name]) <= {first, calls} and lines[name][calls] >= 0.98 * sum(lines[name].values()), (name, lines)


def assert_native(folder):
    """What the interpreter does for a function is the function's own, unless it is asked for; the sum stays."""
    merged, native = rows(folder, "--report=flat"), rows(folder, "--report=flat", "--native")
    assert sum(int(r["self_count"]) for r in merged) == sum(int(r["self_count"]) for r in native), (merged, native)
    own, = (int(r["self_count"]) for r in merged if r["function"] == "burn")
    alone = sum(int(r["self_count"]) for r in native if r["function"] == "burn")
    assert own > alone, (own, alone)
    texts = [output(PRINT, "--quiet", f"{folder}/s", "--output-format=folded", "--only=^burn$", *more)
             for more in ((), ("--native",))]
    behind = [re.findall(r"burn;(?:.*;)?_?Py", text) for text in texts]
    assert not behind[0] and behind[1], behind


def assert_source(folder):
    """Lines of the script with their samples."""
    found = [r for r in rows(folder, "--report=annotate", "--function=burn") if r["kind"] == "line"]
    lines = {int(r["line"]): r["text"].strip() for r in found if r["line"]}
    text = SHARES.splitlines()
    assert lines and all(text[number - 1].strip() == shown for number, shown in lines.items()), lines
    assert {r["file"] for r in found} == {f"{folder}/{PROGRAM}"}, found
    loop = sum(int(r["self_samples"]) for r in found if "for i in range(300)" in r["text"])
    assert loop > sum(int(r["self_samples"]) for r in found) / 2, found


def check_shares(folder):
    record(folder, SHARES)
    found = totals(folder)
    for name, seconds in EXPECTED.items():
        assert abs(found[named(name)] / found["all"] - seconds / WHOLE) < 0.05, (name, found)
    assert_native(folder)
    assert_source(folder)
    assert_named(folder)
    assert_callers(folder)
    assert_lines(folder)


def check_own(folder):
    """What is a function's own is the same with callers and without."""
    record(folder, ENTERED, "-e", "cpu_clock@9997Hz", "-g")
    sums = {}
    for report in ("flat", "annotate"):
        for r in rows(folder, f"--report={report}"):
            key = r["function"], r["object"]
            sums.setdefault(key, {}).setdefault(r.get("kind", report), []).append(int(r["self_count"] or 0))
    sums = {key: {kind: sum(counts) for kind, counts in of.items()} for key, of in sums.items()}
    assert "line" in sums["key", PROGRAM] and all(len(set(of.values())) == 1 for of in sums.values()), sums


def check_frame_pointers(folder):
    """Debian's Python has none, so that native callers are missing, and those of Python are not."""
    record(folder, SHARES, *EVENT, "-g=fp")
    assert_callers(folder)


def assert_made(folder):
    """Functions at one address by turns: each sample has the one that ran at its time by the program's own account, or none
    where it was just called or had returned, or the process was not recognised yet."""
    right, wrong, neither = count_calls(folder, sampled_stacks(folder))
    assert wrong == 0 and right > 100 and neither <= right / 10, (right, wrong, neither)


def check_made(folder):
    record(folder, BURNS + MADE)
    assert_made(folder)
    assert_named(folder)


def check_waits(folder):
    """The sample of a wait is taken when it is over, and still in the function that waited; which the answer names."""
    record(folder, SLEEPS + MADE, "-e", "sched:off_cpu_time@50000", "-g")
    assert_made(folder)
    found = [(r["function"], r["line"]) for r in rows(folder, "--report=waits", "--sort=function,line")]
    assert found[0] == ("f_even", "<string>:2"), found


def check_deep(folder):
    record(folder, DEEP)
    depths = [stack.count("down") for stack, _ in read_stacks(folder) if "spin" in stack]
    assert depths and all(d == 901 for d in depths), depths


def check_source_of_others(folder):
    """Code says which file it is of, and may say anything: what the process may not read is not shown, also to root."""
    for name, mode in (("own.py", 0o644), ("secret.py", 0o600)):
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            f.write("\n" * 4 + "hidden = 1\n" * 4)
        os.chmod(f"{folder}/{name}", mode)
    text = "".join(f"""
code = compile("def named_{name}():\\n" + "\\n" * 4 + "  end = time.thread_time() + 0.1\\n"
               "  while time.thread_time() < end: pass", "{folder}/{name}.py", "exec")
exec(code); named_{name}()""" for name in ("own", "secret"))
    with open(f"{folder}/{PROGRAM}", "w", encoding="ascii") as f:
        f.write(f"import os, time\nos.setgid(65534); os.setuid(65534)\n{text}")
    run(CPUPERF, *EVENT, "-g", "--output=s", "--", PYTHON, f"{folder}/{PROGRAM}", cwd=folder)
    for name in ("own", "secret"):
        found = [r for r in rows(folder, "--report=annotate", f"--function=named_{name}") if r["kind"] == "line"]
        assert found and {r["file"] for r in found} == {f"{folder}/{name}.py"}, found
        assert not any("hidden" in r["text"] for r in found), found
    found = rows(folder, "--report=annotate", "--function=named_*", f"--source-dir={folder}")
    shown = {r["function"] for r in found if "hidden" in r["text"]}
    assert shown == {"named_own"}, found


def waiting(folder, text):
    path = f"{folder}/{PROGRAM}"
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    return running(PYTHON, path)


def check_running(folder):
    """A process that runs already."""
    with waiting(folder, WAITING) as program:
        with start(folder, *EVENT, "-g", "--output=s", f"--pid={program.pid}") as session:
            wait_until_recorded(session, f"{folder}/s/cpuperf.cpsession")
            finish(program)
            finish(session)
    sums = totals(folder)
    assert_named(folder)
    assert sums["served"] > sums["<module>"] * 0.9, sums


def check_hung(folder):
    """Waits that last are read while the threads are asleep, also of those that have not run since the session began."""
    with waiting(folder, HUNG) as program:
        run(CPUPERF, "-e", "sched:off_cpu_time@1000000", "-g", "--output=s", f"--pid={program.pid}", "--duration=0.4s",
            cwd=folder)
        finish(program)
    found = totals(folder)
    assert found["stuck"] and found["reader"], found


def check_found_late(folder):
    """Nothing says beforehand that Python will run: its functions are read once it was met, at a sample or at a wait. How soon
    that is is the machine's: the program goes on until most of it has names."""
    for events, name in (([*EVENT, "-g"], "burns"), (["-e", "sched:off_cpu_time@50000", "-g"], "sleeps")):
        place = f"{folder}/{name}"
        os.mkdir(place)
        os.symlink(PYTHON, f"{place}/interp")
        with open(f"{place}/script", "w", encoding="ascii") as f:
            f.write(f"{UNTIL_ENDED}{name}()")
        with start(place, *events, "--duration=100ms", "--num-iterations=0", "--output=s",
                   command=[f"{place}/interp", f"{place}/script"]) as session:
            wait_for(session, f"{place}/s/cpuperf.1.0.cpuperf")  # so the first iteration is there
            found = {}
            while found.get(name, 0) <= max(found.values(), default=0) / 2:
                assert session.poll() is None, (found, session.communicate())
                found = totals(place)
            finish(session)


def check_only_pace(folder):
    """Samples that only pace the readings of others have no functions; those of another clock have."""
    with open(f"{folder}/pace.cpspec", "w", encoding="ascii") as f:
        f.write("""{ "events": [
            { "group_name": "software", "event_name": "cpu_clock", "rate": 1000000, "flags": [ "timebase" ] },
            { "group_name": "software", "event_name": "task_clock", "rate": 1000000, "flags": [ "pc" ] } ] }""")
    record(folder, LATE, "--spec-file=pace.cpspec")
    found = {event: {r["function"] for r in rows(folder, "--report=flat", f"--event={event}")} for event in ("cpu_clock", "task_clock")}
    assert found["cpu_clock"] <= {"[no address]"} and "burns" in found["task_clock"], found


def check_other_program(folder):
    """One that only looks like an interpreter has no frames, and no harm."""
    with open(f"{folder}/a.c", "w", encoding="ascii") as f:
        f.write("""#include <time.h>
char _PyRuntime[4096] = {1, 2, 3}, PyCode_Type[64]; const unsigned long Py_Version = 0x030b02f0;
__attribute__((noinline)) int _PyEval_EvalFrameDefault(void)
{ int n = 0; while (clock() < CLOCKS_PER_SEC * 3 / 10) n++; return n; }
int main(void) { for (long i = 0; i < 4096; i++) _PyRuntime[i] = (char)(i * 77); return _PyEval_EvalFrameDefault() < 0; }
""")
    run("gcc", "-O1", "-rdynamic", "-o", f"{folder}/python3", f"{folder}/a.c")
    run(CPUPERF, *EVENT, "-g", "--output=s", "--", f"{folder}/python3", cwd=folder)
    found = {r["function"] for r in rows(folder, "--report=flat")}
    assert "_PyEval_EvalFrameDefault" in found and not any("(python)" in name for name in found), found


if __name__ == "__main__":
    need_programs()
    may_run()
    run_checks(globals(), everybody=True)
