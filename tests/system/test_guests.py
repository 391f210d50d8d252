#!/usr/bin/env python3
"""Programs with marks of other tools: NVTX, ITT, ROCTX, coz, likwid. Their marks in the session are compared, one
by one, with what the program did.
"""
import csv
import glob
import io
import os
import shutil
import subprocess
import time

from kit import CPUPERF, output, PRINT, run, run_checks
from marks import BEGIN, build, END, FLAGS, HERE, INSTANT, LIBRARY, marks, measure, NUMBER, short

INCLUDE = f"{os.environ['SOURCE_DIR']}/include"


def open_at_end(of_thread):
    """Follows the depths as the reader does: the names that remain open."""
    stack = []
    for kind, name, _, depth in of_thread:
        if kind in (BEGIN, NUMBER):
            assert depth <= len(stack), (name, depth, stack)
            del stack[depth:]  # of a range that ended elsewhere
            stack.append(name)
        if kind == END:
            assert depth < len(stack), (depth, stack)
            del stack[depth:]
    return stack


def check_nvtx(folder):
    program = build(folder, "guests_nvtx.c")
    alone = run(program, code=7).stdout
    assert alone == "no tool\nlevels -2 -2, errno 1\n", alone
    assert measure(folder, program) == "levels -2 -2, errno 1\n"
    own, ender = marks(folder)
    assert short(own) == (
        "(outer (inner ) ) "
        # a pop of the outer domain divides the inner range
        "(library: registered (other: inner=17 ) ) (other: inner ) "
        "(first (second ) ) (second ) "
        # "elsewhere" ended in the other thread: it has no end, and "after" has its depth
        "(elsewhere (after ) "
        "!instant !wide ä€😀 value=-5 small=-6 !unicode ![no name] ![no name]"), short(own)
    assert [m[3] for m in own if m[1] in ("elsewhere", "after")] == [0, 0], own
    assert short(ender) == "@ender !end of a region of another thread", ender


def check_nvtx_after_fork(folder):
    measure(folder, build(folder, "guests_nvtx.c"), "fork")
    own, *others = marks(folder)
    child, = (t for t in others if t[0][1] == "child")
    # what is open in the parent is not open in the child
    assert short(child) == "(child )" and [m[3] for m in child] == [0, 0], child
    assert short(own).endswith(" (open )"), own


def check_nvtx_threads(folder):
    assert measure(folder, build(folder, "guests_nvtx.c"), "threads") == ""
    own, *others = marks(folder)
    assert len(others) == 8 and not any(map(open_at_end, others)), [t[-3:] for t in others]
    for thread in others:
        pushed = [m for m in thread if m[0] == NUMBER]
        assert [m[2] for m in pushed] == list(range(1000)), pushed
        assert all(m[1] == f"domain {m[2] % 8}: pushed" for m in pushed), pushed
        assert sum(m[0] == INSTANT for m in thread) == 125, len(thread)
    # Of 1,000 open ranges 24 have keys: the others, and those that the same place of the table has, remain.
    assert short(own[1000:]) == "(last )" and own[1000][3] <= 1000, own[1000:]


def check_nvtx_in_signals(folder):
    assert measure(folder, build(folder, "guests_nvtx.c"), "signals") == "signals 1\n"
    *children, own = marks(folder, may_lose=True)
    assert len(children) == 60, len(children)
    names = [m[1] for m in own if m[0] == BEGIN]
    assert names.count("handler") > 0 and abs(names.count("b") - 2 * names.count("a")) <= names.count("a") / 50, \
        [(n, names.count(n)) for n in set(names)]


def check_itt(folder):
    program = build(folder, "guests_itt.c")
    assert run(program, code=7).stdout == "no tool\n"
    assert measure(folder, program) == "null 1 1\nsame 1 1, flags 1, app load\n"
    own, *others = marks(folder)
    assert [short(t) for t in others] == ["!end of a region of another thread"] * 2, others
    assert short(own) == (
        "@main one (app: load (early: parse ) ) (app: one (app: two ) ) (app: two ) (app ) "
        "!app: here (event (event ) app: bytes=40 app: bytes=42 app: bytes=41 app: bytes=42 ratio=3 pause resume"), short(own)
    assert [m[3] for m in own if m[1] == "event"] == [0, 0], own


def check_itt_with_times(folder):
    program, began = build(folder, "guests_itt.c"), time.monotonic_ns()
    measure(folder, program, "times")
    rest_ns = time.monotonic_ns() - began - 320000000  # all but what the program sleeps
    own, = marks(folder, may_lose=True)
    assert short(own) == "(t: past !t: within ) (t ) (t: now !t: still ) (t: three t: value=5 )", short(own)
    # the times are those that were passed: 20 ms, which the program slept before it marked them
    text = output(PRINT, "cpuperf.session", "--quiet", "--report=regions", "--output-format=csv", cwd=folder)
    rows = {row["path"]: row for row in csv.DictReader(io.StringIO(text, newline="")) if row["kind"] == "region"}
    assert int(rows["t: past"]["wall_ns"]) >= 20000000, text
    assert int(rows["t: three"]["wall_ns"]) < rest_ns > int(rows["t: now"]["wall_ns"]), (rest_ns, text)


def check_roctx(folder):
    stub = build(folder, "guests_roctx.c", "-DSTUB", "-shared", "-fPIC", name="libroctx64.so.4")
    program = build(folder, "guests_roctx.c", stub, f"-Wl,-rpath,{folder}")
    assert run(program, code=7).stdout.startswith("stub push\n")
    text = measure(folder, "env", f"LD_PRELOAD={LIBRARY}", program)
    assert text == "levels 0 1 1 0 -1\n", text
    assert [short(t) for t in marks(folder)] == ["(outer (inner ) ) !mark (range )"], marks(folder)
    # or in place of the other library
    os.unlink(stub)
    os.symlink(LIBRARY, stub)
    assert measure(folder, program) == text
    assert short(marks(folder)[0]) == "(outer (inner ) ) !mark (range )", marks(folder)


def check_coz(folder):
    program = build(folder, "guests_coz.c")
    run(program, code=7)
    measure(folder, "env", f"LD_PRELOAD={LIBRARY}", program)
    own, = marks(folder)
    assert short(own) == f"work begun=10 step=15 work ended=9 {HERE}/guests_coz.c=1", short(own)
    measure(folder, build(folder, "guests_coz.c", "-DCOMPAT", f"-I{INCLUDE}", f"-I{INCLUDE}/cpuperf/compat"))
    own, = marks(folder)
    points = [m[1] for m in own if m[0] == INSTANT]
    assert points[:-1] == ["step"] * 15 and "/guests_coz.c:" in points[-1], points
    assert [m[0] for m in own].count(BEGIN) == 10 and [m[0] for m in own].count(END) == 9, own


def check_likwid(folder):
    flags = [f"-I{INCLUDE}", f"-I{INCLUDE}/cpuperf/compat"]
    for compiler, more in (("cc", []), ("cc", ["-DLIKWID_PERFMON"]), ("c++", ["-x", "c++", "-std=c++11"]),
                           ("clang-14", ["-std=gnu99"])):
        if not shutil.which(compiler):
            print(f"skip: {compiler}: not installed")
            continue
        program = os.path.join(folder, "likwid")
        run(compiler, *FLAGS, *more, *flags, "-o", program, f"{HERE}/guests_likwid.c")
        assert measure(folder, program) == "got 0 0 0\n"
        own, = marks(folder)
        assert short(own) == (
            "(triad (copy ) ) (copy ) " + "(deep " * 40 + ") " * 40 +
            "(own (within (left open ) )"), (compiler, short(own))
        assert [m[3] for m in own[-5:]] == [0, 1, 2, 1, 0], own
        assert open_at_end(own) == [], own
    run("cc", *FLAGS, "-DCPUPERF_NO_MARKS", *flags, "-o", program, f"{HERE}/guests_likwid.c")
    assert run(program, code=7).stdout == "got 0 0 0\n"


def check_a_users_own_tool_wins(folder):
    text = run(CPUPERF, "--regions", "--", "env", cwd=folder,
               env={"NVTX_INJECTION64_PATH": "/own/tool.so", "INTEL_LIBITTNOTIFY64": None})
    assert "NVTX_INJECTION64_PATH=/own/tool.so\n" in text.stdout, text.stdout
    assert f"INTEL_LIBITTNOTIFY64={LIBRARY}\n" in text.stdout, text.stdout
    assert "NVTX_INJECTION64_PATH is set, to /own/tool.so" in text.stderr, text.stderr
    assert "INTEL_LIBITTNOTIFY64" not in text.stderr, text.stderr
    plain = run(CPUPERF, "--", "env", cwd=folder, env={"INTEL_LIBITTNOTIFY64": None}).stdout
    assert "INTEL_LIBITTNOTIFY64" not in plain, plain


def check_programs_without_marks_stay_apart(folder):
    """One that has the library and no marks is not connected, and one without cpuperf has nothing to call."""
    program = build(folder, "guests_coz.c")
    done = run(program, code=7, env={"LD_PRELOAD": LIBRARY})
    assert not done.stdout and not done.stderr, done
    run(CPUPERF, "--regions", "--", "env", f"LD_PRELOAD={LIBRARY}", "true", cwd=folder)
    files = [open(path, "rb").read() for path in glob.glob(f"{folder}/cpuperf.session/*.cpuperf")]
    assert any(b"no program wrote marks" in data for data in files), len(files)
    needed = subprocess.run(["readelf", "-d", LIBRARY], stdout=subprocess.PIPE, check=True).stdout.decode()
    assert [line.split("[")[1] for line in needed.splitlines() if "NEEDED" in line] == ["libc.so.6]"], needed


run_checks(globals(), everybody=True)
