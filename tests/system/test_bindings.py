#!/usr/bin/env python3
"""Marks of programs in Python and Fortran: what is in the session is compared, mark by mark, with what they did."""
import os
import shutil

from kit import run, run_checks
from marks import LIBRARY, marks, measure, short

HERE = os.path.dirname(os.path.abspath(__file__))
BINDINGS = f"{os.environ['SOURCE_DIR']}/bindings"
PYTHON = ("/usr/bin/python3", f"{HERE}/bindings.py")
PATHS = {"PYTHONPATH": f"{BINDINGS}/python", "CPUPERF_MARKS_LIBRARY": None}


def check_python(folder):
    text = measure(folder, *PYTHON, env=PATHS)
    assert text == "xx decorated Says so.\n1 1\non True\n", text
    own, *others = marks(folder)
    assert short(own) == (
        "(outer (request=17 ) (decorated ) ) (failing ) !caught (by hand=-1 ) queue=-5 true=1 wraps=3 !ä? "
        # the first coroutine ends while the second one is open
        "(coroutine (coroutine ) ) (coroutine ) pause resume (around fork )"), short(own)
    assert sorted(map(short, others)) == ["(in child )", "@worker (in thread )"], others


def check_python_alone(folder):
    """Nothing is loaded, and the program does what it does."""
    for env in ({}, {"CPUPERF_MARKS": "x", "CPUPERF_MARKS_LIBRARY": "/nowhere.so"}):
        done = run(*PYTHON, cwd=folder, env={**PATHS, **env}, code=7)
        assert done.stdout == f"xx decorated Says so.\n1 1\noff {bool(env)}\n" and not done.stderr, done
    # to be measured later: loaded, and not on
    done = run(*PYTHON, cwd=folder, env={**PATHS, "CPUPERF_MARKS_LIBRARY": LIBRARY}, code=7)
    assert done.stdout.endswith("off True\n") and not done.stderr, done


def check_fortran(folder):
    compiler = shutil.which("gfortran")
    if not compiler:
        print("skip: Fortran: gfortran is not installed")
        return
    program = f"{folder}/prog"
    run(compiler, "-std=f2008", "-Wall", "-Wextra", "-Werror", "-o", program, f"{BINDINGS}/fortran/cpuperf_marks.f90",
        f"{BINDINGS}/fortran/likwid.f90", f"{HERE}/bindings.f90", LIBRARY, f"-Wl,-rpath,{os.path.dirname(LIBRARY)}",
        cwd=folder)
    assert not run(program, code=7).stdout
    assert not measure(folder, program)
    own, = marks(folder)
    assert short(own) == (
        "@fortran (padded (request=17 ) ) !here small=-3 big=5000000000 (long=5000000000 ) pause resume "
        "(triad (copy ) ) (copy )"), short(own)


run_checks(globals(), everybody=True)
