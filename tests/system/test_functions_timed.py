#!/usr/bin/env python3
"""Times of calls of functions that nobody has prepared, by replacing instructions where they begin and return: they lie
between what the program's own clock saw within the calls and around them, however they end, and the program does what it
does without. HOOKED and HOOKS: as of test_hooks.py.
"""
import os

from kit import run, run_checks, skip

if os.uname().machine != "x86_64":
    skip("x86-64 alone")
HERE = os.path.dirname(os.path.abspath(__file__))
HOOKED = os.environ["HOOKED"]
FLAGS = ["-O2", "-O1", "-O2 -fcf-protection=full", "-O2 -fno-omit-frame-pointer -no-pie"]
THROWS = """
#include <stdio.h>
#define OUT __attribute__((noinline))
static volatile int sink;
OUT int leaf(int x) { sink = x; return x + sink; }
struct guard { int *n; OUT ~guard() { ++*n; sink++; } };
OUT int fall(int n, int *left) { guard g{left}; if (n < 0) throw 1; int r = n ? fall(n - 2, left) : 5; sink = r; return r + leaf(n); }
OUT int catches(int n) { int sum = 0, left = 0; for (int i = 0; i < n; i++) try { sum += fall(i % 4, &left); } catch (int) { sum += leaf(i); } return sum + left; }
int main() { printf("%d\\n", catches(100)); return 6; }
"""
LIBRARY = r"""
long word = 7, other = 8;
#define FUNCTION(name, load) ".text\n.globl " #name "\n.type " #name ", @function\n" #name ": .cfi_startproc\n" \
	"xor %eax, %eax\nxor %ecx, %ecx\nnop\n" load "\nret\n.cfi_endproc\n.size " #name ", . - " #name "\nud2\n"
__asm__(FUNCTION(changed, "movabs $word, %rax") FUNCTION(same, "lea other(%rip), %rax"));
"""
LOADS = r"""
#include <stdio.h>
long *changed(void), *same(void);
int main(void) { changed(); changed(); long a = *changed(), b = *same(); printf("%ld %ld\n", a, b + *same() - 8); return 6; }
"""


def build(folder, flags):
    program = f"{folder}/timed{flags.replace(' ', '')}"
    run("cc", "-pthread", *flags.split(), "-o", program, f"{HERE}/timed.c")
    return program


def measure(folder, program, *options, code=6):
    """The recorder's lines by function; why some have no times; what the program printed, by its first words."""
    done = run(HOOKED, "-p", *options, "calls", program, program, cwd=folder, code=code)
    calls, untimed = {}, {}
    with open(f"{folder}/calls", encoding="utf-8") as f:
        for name, *rest in (line.rstrip("\n").split("\t") for line in f):
            if name == "untimed":
                untimed[rest[0]] = rest[1]
            elif name not in ("limits", "refused"):
                calls[name] = dict(zip(("calls", "ended", "wall", "self", "max", "cost", "least"), map(int, rest)))
    said = {line.split()[0]: [int(x) for x in line.split()[1:]] for line in done.stdout.splitlines() if " " in line}
    return calls, untimed, said, done


def is_between(least, ns, most):
    """Both clocks go at the same rate, as far as the recorder has found it."""
    return least * 0.97 <= ns <= most * 1.03


def check_times(folder):
    for flags in FLAGS:
        calls, untimed, said, _ = measure(folder, build(folder, flags))
        assert said["child"] == [0], (flags, said)
        expected = {"work_plain": 7, "work_returns": 5, "work_outer": 1, "work_jumps": 1, "work_deep": 10, "work_catches": 1,
                    "work_left": 100, "work_after": 50, "work_handles": 50, "work_raises": 1, "work_often": 4 * 1000 + 11, "work_threads": 4,
                    "work_switches": 20, "work_between": 1, "work_ends": 1}
        assert {n: c["calls"] for n, c in calls.items() if n in expected} == expected, (flags, calls)
        timed = {n: c for n, c in calls.items() if n in expected and n not in untimed}
        assert len(timed) > 10 and "work_ends" in untimed, (flags, untimed)
        for name, c in timed.items():
            # half are left by longjmp; where the stack is another what is known of a call may be dropped
            ended = {"work_left": 50}.get(name, c["calls"])
            assert c["ended"] == ended or name in ("work_switches", "work_between"), (flags, name, c)
            assert c["self"] <= c["wall"] and c["max"] <= c["wall"], (flags, name, c)
        plain, outer, jumps = said["work_plain"], said["work_outer"], said["work_jumps"]
        for name in {"work_plain", "work_returns"} & set(timed):
            inner, around, _ = said[name]
            # the last call of work_plain is within work_jumps, around which alone the clock was read
            around += jumps[1] if name == "work_plain" else 0
            assert is_between(inner, timed[name]["wall"], around), (flags, name, said, timed[name])
        if {"work_outer", "work_plain"} <= set(timed):
            assert is_between(outer[0], timed["work_outer"]["self"], outer[1] - 3000000), (flags, said, timed["work_outer"])
            assert is_between(outer[0] + 3000000, timed["work_outer"]["wall"], outer[1]), (flags, said, timed["work_outer"])
        if "work_jumps" in timed and "work_plain" in timed and flags != "-O1":  # where it is a call
            assert is_between(jumps[0], timed["work_jumps"]["wall"], jumps[1] - 8000000), (flags, said, timed["work_jumps"])
        if "work_deep" in timed:
            assert is_between(said["work_deep"][0], timed["work_deep"]["self"], said["work_deep"][1]), (flags, said, timed["work_deep"])
        if {"work_catches", "work_after"} <= set(timed):  # what was left there is no caller of it
            assert timed["work_catches"]["self"] <= (said["work_catches"][1] - said["work_after"][0]) * 1.03, (flags, said, timed)
        assert plain[2] == 7, said


def check_exceptions(folder):
    """They leave calls, which are counted; their callers have times."""
    program = f"{folder}/throws"
    for compiler in "c++ -O2", "c++ -O1 -fcf-protection=full":
        run(*compiler.split(), "-x", "c++", "-o", program, "-", input=THROWS)
        alone = run(program, code=6)
        calls, untimed, _, done = measure(folder, program)
        assert done.stdout == alone.stdout, (compiler, done, alone)
        # of 4 in turn: 0; 1 and -1; 2 and 0; 3, 1 and -1
        expected = {"_Z4leafi": (125, 125), "_Z4falliPi": (200, 75), "_Z7catchesi": (1, 1)}
        found = {n: (calls[n]["calls"], calls[n]["ended"]) for n in expected if n not in untimed}
        assert found == {n: expected[n] for n in found} and len(found) >= 2, (compiler, calls, untimed)


def check_an_end_that_the_loader_changes(folder):
    """It is not what the file has: then calls are counted."""
    run("cc", "-shared", "-Wl,-z,notext", "-Wl,-Bsymbolic", "-x", "c", "-o", f"{folder}/libfound.so", "-", input=LIBRARY)
    run("cc", "-x", "c", "-o", f"{folder}/loads", "-", "-xnone", f"{folder}/libfound.so", f"-Wl,-rpath,{folder}", input=LOADS)
    done = run(HOOKED, "-p", "calls", f"{folder}/libfound.so", f"{folder}/loads", cwd=folder, code=6)
    with open(f"{folder}/calls", encoding="utf-8") as f:
        lines = {line.split("\t")[0]: line.rstrip("\n").split("\t")[1:] for line in f}
    assert done.stdout == "7 8\n", done
    assert lines["changed"][:2] == ["3", "0"] and lines["same"][:2] == ["2", "2"], lines
    assert {"placed=2", "timed=1", "half=1"} <= set(lines["limits"]), lines


def check_counts_alone(folder):
    calls, untimed, said, _ = measure(folder, build(folder, "-O2"), "-c")
    assert said["child"] == [0] and calls["work_plain"]["calls"] == 7 and not untimed, (calls, untimed)
    assert not any(c["ended"] or c["wall"] for c in calls.values()), calls


run_checks(globals())
