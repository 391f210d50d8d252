#!/usr/bin/env python3
"""Which functions of a program can be measured, what a call would cost, and why not: --list-functions and names of
events of the group function. Compared with nm, and with what the kernel counts. CPUPERF names the program.
"""
import csv
import glob
import io
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from kit import CPUPERF, output, run, run_checks, skip

C = """
#include <stdio.h>
static int parse_number(int x) { return x * 3; }
__attribute__((noinline)) int parse_word(int x) { return x + parse_number(x); }
__attribute__((noinline)) int parse_line(int x) { printf("%d\\n", x); return x; }
int parse_alias(int x) __attribute__((alias("parse_word")));
int main(int argc, char **argv) { return parse_line(parse_word(argc)) * 0; }
"""

CXX = """
#include <stdexcept>
namespace ns {
__attribute__((noinline)) int leaf(int x) { return x * 3; }
__attribute__((noinline)) int thrower(int x) { if (x > 2) throw std::runtime_error("x"); return x; }
template<class T> __attribute__((noinline)) int of(T x) { return thrower(leaf(x)); }
}
int main(int argc, char **argv) { try { return ns::of(argc); } catch (std::exception &e) { return 1; } }
"""

COROUTINE = """
#include <ucontext.h>
static ucontext_t a, b;
__attribute__((noinline)) int change(int x) { swapcontext(&a, &b); return x; }
int main(int argc, char **argv) { return argc > 5 ? change(argc) : 0; }
"""


CHOSEN = """
#define OUT __attribute__((noinline, noclone))
volatile int sink;
OUT int leaf_one(int x) { sink = x; return x + 1; }
OUT int leaf_loop(int x) { int s = 0; for (int i = 0; i < x; i++) { sink = i; s += sink; } return s; }
OUT int leaf_branch(int x) { if (x > 3) sink = x; sink = 2; return x; }
OUT int calls_one(int x) { int r = leaf_one(x); sink = r; return r; }
OUT int calls_two(int x) { int r = calls_one(x) * 3; sink = r; return r; }
OUT int calls_tail(int x) { sink = x; return leaf_one(x + 2); }
int main(int c, char **v) { return calls_two(c) + leaf_loop(c) + leaf_branch(c) + calls_tail(c) > 1000; }
"""


def build(folder, text, *options, name="prog", compiler="cc"):
    source = os.path.join(folder, name + (".cc" if compiler == "c++" else ".c"))
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    program = os.path.join(folder, name)
    run(compiler, "-O2", *options, "-o", program, source)
    return program


def listed(*command, what="", options=()):
    text = output(CPUPERF, "--list-functions" + (f"={what}" if what else ""), "--output-format=ndjson", *options,
                  *(("--", *command) if command else ()))
    return {row["function"]: row for row in map(json.loads, text.splitlines())}


def refused(*args):
    done = run(CPUPERF, *args, code=None)
    assert done.returncode, args
    return done.stderr


def check_program(folder):
    """Names, places and prices; no function of the start."""
    program = build(folder, C, "-fcf-protection")
    rows = listed(program)
    assert {"main", "parse_line", "parse_alias", "_start"} <= set(rows), rows
    assert "parse_word" not in rows, "an alias is no function of its own"
    assert "parse_word" in listed(program, what="parse_w*")
    assert rows["_start"]["measured"] == "omitted" and "start" in rows["_start"]["reason"]
    row = rows["parse_line"]
    assert row["measured"] == "calls and times" and row["object"] == program
    if os.uname().machine == "x86_64":
        assert row["entry"] == "emulated" and row["hit_ns"] < rows["parse_alias"]["hit_ns"], rows
    symbols = {w[-1]: int(w[0], 16) for w in map(str.split, output("nm", program).splitlines()) if len(w) == 3}
    for name, row in rows.items():
        assert row["address"] == symbols[name], name


def check_formats(folder):
    program = build(folder, C)
    text = output(CPUPERF, "--list-functions=parse_*", "--", program)
    assert "parse_line" in text and "us/call" in text, text
    rows = list(csv.DictReader(io.StringIO(output(CPUPERF, "--list-functions", "--output-format=csv", "--", program))))
    assert {"main", "parse_line"} <= {row["function"] for row in rows}
    assert output(CPUPERF, "--list-functions=parse_l*", "--output-format=names", "--", program) == "parse_line\n"
    event = output(CPUPERF, "--describe-event=function:parse_*", "--", program)
    assert "Calls of 2 functions of " + program in event and "us a call" in event, event


def check_process(folder):
    """Of a process that runs, and of a library by its name."""
    program = shutil.copy(shutil.which("sleep"), f"{folder}/sleeper")
    with subprocess.Popen([program, "1000"]) as p:
        while "libc.so" not in Path(f"/proc/{p.pid}/maps").read_text(encoding="utf-8"):
            time.sleep(0.001)
        rows = listed(what="libc.so:nanosleep", options=(f"--pid={p.pid}",))
        p.kill()
    assert set(rows) == {"nanosleep"}, rows


def check_exceptions(folder):
    """What an exception may pass has no times; what calls nothing has."""
    program = build(folder, CXX, compiler="c++")
    rows = listed(program, what="ns::*")
    assert rows["ns::leaf(int)"]["measured"] == "calls and times", rows
    assert rows["ns::thrower(int)"]["measured"] == "calls" and "exception" in rows["ns::thrower(int)"]["reason"]
    assert "int ns::of<int>(int)" in listed(program, what="ns::of<int>")
    assert set(listed(program, what="_ZN2ns4leafEi")) == {"ns::leaf(int)"}
    assert listed(program, what="main")["main"]["measured"] == "calls"


def check_spelled(folder):
    """Commas of parameters, and slashes of a path, end no name."""
    program = build(folder, CXX + "int ns_two(int a, long b) { return a + b; }", compiler="c++")
    text = output(CPUPERF, "--check-spec", "-e", "function:ns_two(int, long),software:page_faults", "--", program)
    assert "function:ns_two(int, long)" in text and "software:page_faults" in text, text
    os.chdir(folder)
    text = output(CPUPERF, "--check-spec", "-e", "function:./prog:ns::*,software:page_faults", "--", "./prog")
    assert "function:./prog:ns::*" in text and "software:page_faults" in text, text


def check_criteria(folder):
    """Of names, of code, of calls; each that is omitted has its reason."""
    program = build(folder, CHOSEN)

    def chosen(*options):
        return {name for name, row in listed(program, what="*_*", options=options).items() if row["measured"] != "omitted"}

    every = {"leaf_one", "leaf_loop", "leaf_branch", "calls_one", "calls_two", "calls_tail"}
    sizes = {name: row["size"] for name, row in listed(program, what="*_*").items() if name in every}
    most = max(sizes.values())
    assert chosen() == every
    for options, expected in (
            (["--functions-include=calls_*,leaf_one"], {"leaf_one", "calls_one", "calls_two", "calls_tail"}),
            (["--functions-exclude=calls_*"], {"leaf_one", "leaf_loop", "leaf_branch"}), (["--functions-loops"], {"leaf_loop"}),
            (["--functions-callers-of=leaf_one"], {"calls_one", "calls_two", "calls_tail"}),
            (["--functions-callers-of=leaf_one", "--functions-depth=1"], {"calls_one", "calls_tail"}),
            ([f"--functions-min-size={most}"], {name for name in sizes if sizes[name] == most}),
            (["--functions-min-instructions=1000"], set()), (["--functions-min-instructions=2"], every),
            (["--functions-callers-of=leaf_one", "--functions-exclude=*two"], {"calls_one", "calls_tail"})):
        assert chosen(*options) == expected, (options, chosen(*options))
    assert listed(program, what="leaf_*", options=["--functions-loops"])["leaf_one"]["reason"] == "it has no loop (functions.loops)"
    text = refused("-e", "function:leaf_one", "--functions-loops", "--", program)
    assert "leaf_one is not measured: it has no loop" in text, text
    text = refused("-e", "function:*", f"--functions-exclude={3000 * 'x'}", "--", program)  # it would exclude nothing
    assert "functions.exclude: " in text and "or too long" in text, text
    text = refused("-e", "task_clock", "--functions-loops", "--", program)
    assert "no event is one of the group function" in text, text


def check_coroutines(folder):
    program = build(folder, COROUTINE)
    row = listed(program, what="change")["change"]
    assert row["measured"] == "calls" and "switches stacks" in row["reason"], row


def check_go(folder):
    compilers = glob.glob("/usr/lib/go-*/bin/go") or ([shutil.which("go")] if shutil.which("go") else [])
    if not compilers:
        print("skip: go: it is not installed")
        return
    source = f"{folder}/main.go"
    with open(source, "w", encoding="utf-8") as f:
        f.write("package main\n\n//go:noinline\nfunc deep(n int) int {\n\tvar a [64]int\n\ta[n%64] = n\n"
                "\tif n == 0 {\n\t\treturn 0\n\t}\n\treturn deep(n-1) + a[n%64]\n}\n\nfunc main() { println(deep(9)) }\n")
    env = {**os.environ, "GOCACHE": f"{folder}/cache", "GO111MODULE": "off", "GOFLAGS": "", "HOME": folder}
    run(compilers[0], "build", "-o", f"{folder}/gone", source, env=env)
    row = listed(f"{folder}/gone", what="main.deep")["main.deep"]
    assert row["measured"] == "calls" and "Go" in row["reason"], row
    if os.uname().machine == "x86_64":
        assert row["offset"] != row["address"] - 0x400000, "where it begins again"


def check_errors(folder):
    """What, why, and what to type."""
    program = build(folder, C)
    text = refused("-e", "function:parse_lime", "--", program)
    assert 'no function matches "parse_lime"' in text and "did you mean parse_line" in text, text
    text = refused("--list-functions=nothing_*", "--", program)
    assert "no function matches" in text, text
    stripped = f"{folder}/stripped"
    run("strip", "-o", stripped, program)
    text = refused("--list-functions=nothing_*", "--", stripped)
    assert "stripped" in text, text
    with open(program, "rb") as whole, open(f"{folder}/part", "wb") as part:
        part.write(whole.read()[:4000])
    os.chmod(f"{folder}/part", 0o755)
    text = refused("--list-functions=nothing_*", "--", f"{folder}/part")
    assert "part is truncated" in text and "stripped" not in text, text
    text = refused("--list-functions=libnone.so:*", "--", program)
    assert "no file of the target, and no installed library, is libnone.so" in text, text
    assert "omitted" in output(CPUPERF, "--list-functions=_start", "--", program)
    assert "_start is not measured" in refused("--describe-event=function:_start", "--", program)
    assert "functions of which program" in refused("--describe-event=function:main")
    assert "requires a program" in refused("--list-functions")
    assert "[OBJECT:]GLOB" in refused("--list-functions=libc.so:", "--", program)


def check_without_symbols(folder):
    """A library that is stripped is measured by what it exports; a program that has no names, by its libraries."""
    program = build(folder, C, "-s")
    assert "malloc" in listed(program, what="malloc")


def check_inlined(folder):
    """The places at which no call is made, by the file's own DWARF."""
    program = build(folder, """
#include <stdio.h>
static inline __attribute__((always_inline)) int within(int x) { int s = 0; while (x--) s += printf("%d", x); return s; }
__attribute__((noinline)) int one(int x) { return x + within(x); }
int main(int argc, char **argv) { return one(within(argc)); }
""", "-g")
    text = refused("--list-functions=within", "--", program)
    assert "it is inlined at 2 places" in text, text
    assert "inlined at" not in refused("--list-functions=without", "--", program)


def check_named_file(folder):
    """A library that the target does not map yet is named by its path."""
    library = build(folder, C, "-shared", "-fPIC", name="libown.so")
    program = build(folder, "int main(void) { return 0; }")
    assert "parse_line" in listed(program, what=f"{library}:parse_line")
    assert "parse_line" in listed(what=f"{library}:parse_line")


if not shutil.which("cc") or not shutil.which("c++"):
    skip("no compiler")
run_checks(globals(), everybody=True)
