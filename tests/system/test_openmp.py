#!/usr/bin/env python3
"""OpenMP and Kokkos: what their runtimes say of a program becomes regions. A program with the runtime of LLVM does
known numbers of everything; callers by the published interfaces alone do what runtimes may do, and rarely do.
"""
import collections
import csv
import io
import os
import re
import shutil

from kit import CPUPERF, output, PRINT, run, run_checks
from marks import BEGIN, build, LIBRARY, marks, measure, NUMBER, short


def build_openmp(folder, *more):
    """None where clang or its runtime is not installed: scripts/deps has both."""
    compiler = shutil.which("clang-14") or shutil.which("clang")
    if not compiler:
        return None
    llvm = os.path.dirname(os.path.dirname(os.path.realpath(compiler)))
    try:
        return build(folder, "guests_openmp.c", "-fopenmp", f"-L{llvm}/lib", f"-Wl,-rpath,{llvm}/lib",
                     *more, compiler=compiler)
    except AssertionError:
        return None


def regions(folder, *options):
    text = output(PRINT, "cpuperf.session", "--quiet", "--report=regions", "--output-format=csv", *options, cwd=folder)
    return [row for row in csv.DictReader(io.StringIO(text, newline="")) if row["kind"] == "region"]


def begun(of_thread):
    """How many of each name, without the offset in the function."""
    return collections.Counter(re.sub(r"\+0x[0-9a-f]+$", "", m[1]) for m in of_thread if m[0] in (BEGIN, NUMBER))


def check_runtime_of_llvm(folder):
    program = build_openmp(folder)
    if not program:
        print("skip: OpenMP of clang is not installed: scripts/deps test")
        return
    run(program, code=7)
    measure(folder, program)
    threads = marks(folder)
    counts = [begun(t) for t in threads]
    assert len(threads) == 3, threads
    for c in counts:
        assert c["omp: parallel first"] == c["omp: parallel second"] == 1, c
        assert c["omp: wait at barrier"] == c["omp: wait for critical"] == c["omp: wait for lock"] == 1, c
        assert sum(nr for name, nr in c.items() if name.startswith("omp: loop ")) == 1, c
        assert sum(nr for name, nr in c.items() if name.startswith("omp: critical ")) == 1, c
        # after the loop and the single one, and at the end of both regions
        assert c["omp: wait at implicit barrier"] == 4, c
    for name, nr in (("omp: single ", 1), ("omp: task ", 5), ("omp: wait for tasks", 1)):
        assert sum(nr for c in counts for found, nr in c.items() if found.startswith(name)) == nr, (name, counts)
    for t in threads:
        text = short(t)
        assert text.count("(") == text.count(")") and "!" not in text, text
    # Workers hear of the second region after a pause, which is in none.
    for name in ("first", "second"):
        rows = [row for row in regions(folder, "--group-by=thread")
                if re.fullmatch(rf"omp: parallel {name}\+0x[0-9a-f]+", row["path"])]
        wall = sorted(int(row["wall_ns"]) for row in rows)
        first, = (int(row["wall_ns"]) for row in rows if int(row["tid"]) == int(row["pid"]))
        assert len(wall) == 3 and wall[-1] == first, (name, rows)


def check_names_of_stripped_programs(folder):
    program = build_openmp(folder)
    if not program:
        print("skip: OpenMP of clang is not installed: scripts/deps test")
        return
    run("strip", program)
    measure(folder, program)
    assert all(begun(t)["omp: parallel prog"] == 2 for t in marks(folder)), marks(folder)


def check_names_of_functions(folder):
    """What is called from where, by the program's own symbols: the region's name leads to the call."""
    program = build_openmp(folder, "-no-pie")
    if not program:
        print("skip: OpenMP of clang is not installed: scripts/deps test")
        return
    measure(folder, program)
    names = {m[1] for t in marks(folder) for m in t if m[1] and m[1].startswith("omp: parallel")}
    symbols = {line.split()[2]: int(line.split()[0], 16)
               for line in output("nm", "--defined-only", program).splitlines()}
    code = output("objdump", "-d", "--no-show-raw-insn", program)
    for name in names:
        function, offset = name.removeprefix("omp: parallel ").split("+")
        returns_to = symbols[function] + int(offset, 16)
        lines = code.splitlines()
        at, = (i for i, line in enumerate(lines) if line.lstrip().startswith(f"{returns_to:x}:"))
        assert re.search(r"\b(call|bl)\b.*kmpc_fork_call", lines[at - 1]), (name, lines[at - 1])


def check_what_runtimes_may_do(folder):
    program = build(folder, "guests_ompt.c")
    assert run(program, code=7).stdout == "no tool\n"
    assert run(program, code=7, env={"OMP_TOOL_LIBRARIES": LIBRARY}).stdout == "no tool\n"
    assert measure(folder, program) == ""
    own, worker = marks(folder)
    assert short(own) == (
        "(omp: parallel ) "
        "(omp: task ) (omp: task (omp: wait for tasks (omp: task ) ) ) (omp: task ) "
        "(omp: wait for lock ) (omp: wait for lock ) "
        "(omp: wait for critical ) (omp: critical ) (omp: wait for ordered ) (omp: ordered ) "
        "(omp: loop ) (omp: wait )"), short(own)
    assert short(worker) == "(omp: parallel (omp: wait at implicit barrier ) )", worker
    wall = {row["tid"] == row["pid"]: int(row["wall_ns"]) for row in regions(folder, "--group-by=thread")
            if row["path"] == "omp: parallel"}
    assert wall[False] <= wall[True], wall
    measure(folder, program, "nested")
    own, = marks(folder)
    assert short(own) == " ".join(["(omp: parallel"] * 3000 + [")"] * 3000), short(own)[:200]


def check_kokkos(folder):
    program = build(folder, "guests_kokkos.c")
    assert run(program, code=7).stdout == "no tool\n"
    assert measure(folder, program) == ""
    own, = marks(folder)
    assert short(own) == (
        "(solve (parallel_for: axpy ) (parallel_reduce: dot (fence: [no name] ) ) (parallel_scan: sums ) "
        "(deep_copy: to=4096 ) ) (part ) !here"), short(own)


def check_a_users_own_tool_wins(folder):
    text = run(CPUPERF, "--regions", "--", "env", cwd=folder,
               env={"OMP_TOOL_LIBRARIES": "/own/tool.so", "KOKKOS_TOOLS_LIBS": None})
    assert "OMP_TOOL_LIBRARIES=/own/tool.so\n" in text.stdout, text.stdout
    assert f"KOKKOS_TOOLS_LIBS={LIBRARY}\n" in text.stdout, text.stdout
    assert "OMP_TOOL_LIBRARIES is set, to /own/tool.so: marks of OpenMP go there" in text.stderr, text.stderr
    # Which of two variables that differ Kokkos would take is not ours to decide.
    for own, warns in (("/own/tool.so", True), (LIBRARY, False)):
        text = run(CPUPERF, "--regions", "--", "env", cwd=folder,
                   env={"KOKKOS_PROFILE_LIBRARY": own, "KOKKOS_TOOLS_LIBS": None})
        assert "KOKKOS_TOOLS_LIBS" not in text.stdout, text.stdout
        assert ("KOKKOS_PROFILE_LIBRARY is set" in text.stderr) == warns, text.stderr


run_checks(globals(), everybody=True)
