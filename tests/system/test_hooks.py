#!/usr/bin/env python3
"""Calls of functions that the compiler has prepared, added up by the agent of functions: exact beside what the
program did and beside callgrind, in each of the compiler's ways; and the program does what it does without.
"""
import os
import re
import shutil
import subprocess

from kit import output, own_libraries, run, run_checks, skip

HERE = os.path.dirname(os.path.abspath(__file__))
HOOKED = os.environ["HOOKED"]
X86 = os.uname().machine == "x86_64"
# What each way sees: the ends of calls, too, or their beginnings alone.
TIMED = {"-finstrument-functions": True}
PATCHED = "-O2"  # nothing is prepared: the agent replaces instructions
COUNTED = {"-pg": False, "-pg -mfentry": False, "-fpatchable-function-entry=5": False} if X86 else {}
XRAY = "-fxray-instrument -fxray-instruction-threshold=1"
CLANG = {"cc": "clang-14", "c++": "clang++-14"}


def has_xray():
    """Whether clang is here, with its runtime, which it links."""
    return X86 and shutil.which(CLANG["cc"]) and subprocess.run(
        [CLANG["cc"], *XRAY.split(), "-x", "c", "-o", "/dev/null", "-"], input=b"int main(void) { return 0; }",
        stderr=subprocess.DEVNULL, check=False).returncode == 0


if has_xray():
    TIMED[XRAY] = True
else:
    print("skip: -fxray-instrument: no clang-14 with its runtime")
WAYS = TIMED | COUNTED | ({PATCHED: True} if X86 else {})
PLAIN = set()  # programs in which nothing is prepared


def build(folder, source, flags, *more, compiler="cc", name="prog"):
    program = os.path.join(folder, name)
    compiler = CLANG[compiler] if "xray" in flags else compiler
    PLAIN.discard(program)
    if flags.split()[-1].startswith("-O"):
        PLAIN.add(program)
    run(compiler, "-Wall", "-Wextra", "-pthread", *flags.split(), "-o", program, f"{HERE}/{source}", *more)
    return program


def hooked(folder, program, *args, code, options=(), command=(), patched=True):
    """The lines of the recorder by function, its limits, and what the program wrote."""
    path = os.path.join(folder, "calls")
    options = [*(["-p"] if patched and program in PLAIN else []), *options]
    done = run(HOOKED, *options, path, program, *command, program, *args, code=code, cwd=folder)
    calls, limits = {}, {}
    for line in open(path, encoding="utf-8"):
        name, *rest = line.rstrip("\n").split("\t")
        if name in ("refused", "untimed"):
            continue
        if name == "limits":
            limits = {k: int(v) for k, v in (word.split("=") for word in rest)}
        else:
            names = "calls", "ended", "wall", "self", "max", "cost", "least"
            calls[name] = dict(zip(names, map(int, rest)))
    return calls, limits, done


def counts(calls, *names):
    return [calls.get(name, {}).get("calls", 0) for name in names]


def check_counts_are_those_of_the_program(folder):
    for way, is_timed in WAYS.items():
        program = build(folder, "hooks_calls.c", f"-O2 {way}")
        alone = run(program, "plain", code=3, cwd=folder)
        calls, limits, done = hooked(folder, program, "plain", code=3)
        assert (done.stdout, done.stderr) == (alone.stdout, alone.stderr), (way, done)
        assert counts(calls, "leaf", "middle", "again", "mixed") == [10050, 1000, 51, 2], (way, calls)
        assert calls["leaf"]["ended"] == (10050 if is_timed else 0), (way, calls)
        assert limits["processes"] == 1 and limits["missed"] == 0, (way, limits)
        assert limits["nameless"] == 0, (way, limits)


def check_times_add_up(folder):
    program = build(folder, "hooks_calls.c", "-O2 -finstrument-functions")
    calls, _, _ = hooked(folder, program, "plain", code=3)
    for name, c in calls.items():
        assert c["ended"] == c["calls"], (name, c)
        # one that began on another CPU than it ended on, whose counter is ahead, has no time
        if c["calls"] == 1 and not c["wall"]:
            continue
        assert 0 < c["self"] <= c["wall"] and c["max"] <= c["wall"], (name, c)
        # a bucket's lower end is at most a sixteenth below, and 1 ns
        assert c["least"] <= c["wall"] + c["ended"] and c["wall"] * 15 / 16 <= c["least"] + 2 * c["ended"], (name, c)
        assert c["cost"] > 0, (name, c)
    # 1,000 calls of middle and 50 of again are all that calls leaf
    inside = calls["middle"]["wall"] - calls["middle"]["self"]
    assert 0 < inside < calls["leaf"]["wall"], calls
    assert calls["leaf"]["wall"] == calls["leaf"]["self"], calls


def check_counts_alone(folder):
    program = build(folder, "hooks_calls.c", "-O2 -finstrument-functions")
    calls, _, _ = hooked(folder, program, "plain", code=3, options=["-c"])
    assert counts(calls, "leaf", "middle") == [10050, 1000], calls
    assert calls["leaf"]["ended"] == calls["leaf"]["wall"] == 0, calls


def check_what_is_not_measured(folder):
    for way, is_timed in WAYS.items():
        program = build(folder, "hooks_calls.c", f"-O2 {way}")
        calls, limits, _ = hooked(folder, program, "plain", code=3, options=["-o", "middle"])
        assert list(calls) == ["middle"] and counts(calls, "middle") == [1000], (way, calls)
        assert limits["nameless"] == limits["missed"] == limits["untimed"] == 0, (way, limits)
        if is_timed:  # its time is that of what calls it
            assert calls["middle"]["self"] == calls["middle"]["wall"], (way, calls)
        if way in ("-fpatchable-function-entry=5", XRAY):  # entries of others remain as they are
            assert limits["patched"] == 1 and limits["unpatched"] == 0, (way, limits)


def check_calls_that_do_not_return(folder):
    for way, is_timed in WAYS.items():
        program = build(folder, "hooks_calls.c", f"-O2 {way}")
        calls, limits, _ = hooked(folder, program, "jumps", code=3)
        assert counts(calls, "jumps", "deeper", "jump", "leaf") == [1, 70000, 70000, 70001], (way, calls)
        if is_timed:
            assert [calls[n]["ended"] for n in ("jumps", "deeper", "jump", "leaf")] == [1, 0, 0, 70001], calls
            # more than there are frames; where instructions are replaced, what surely never returns has none
            assert limits["untimed"] == (0 if way == PATCHED else 140000), (way, limits)


def check_deep_recursion(folder):
    for way, is_timed in WAYS.items():
        program = build(folder, "hooks_calls.c", f"-O2 {way}")
        calls, limits, _ = hooked(folder, program, "deep", code=3)
        assert counts(calls, "again", "leaf") == [70001, 70000], (way, calls)
        if is_timed:  # as deep as there is room: the others have no times
            assert (1 << 16) - calls["again"]["ended"] in (0, 1), (way, calls)  # main may have one
            assert calls["leaf"]["ended"] < 1 << 16, (way, calls)
            lost = 70001 + 70000 - calls["again"]["ended"] - calls["leaf"]["ended"]
            assert limits["untimed"] == lost, (way, calls, limits)


def check_threads(folder):
    for way in WAYS:
        program = build(folder, "hooks_calls.c", f"-O2 {way}")
        calls, limits, _ = hooked(folder, program, "threads", code=3)
        assert counts(calls, "leaf", "work") == [200000, 200], (way, calls)
        assert limits["joined"] == 0, (way, limits)  # those that have ended leave their slots


def check_more_threads_than_slots(folder):
    for way, is_timed in WAYS.items():
        program = build(folder, "hooks_calls.c", f"-O2 {way}")
        calls, limits, _ = hooked(folder, program, "crowd", code=3)
        assert counts(calls, "leaf", "wait_for_all") == [200 * 5000, 200], (way, calls)
        assert limits["joined"] >= 200 - 127, (way, limits)
        if is_timed:
            assert calls["wait_for_all"]["ended"] == 200 - limits["joined"], (way, calls, limits)


def check_children(folder):
    for way in WAYS:
        program = build(folder, "hooks_calls.c", f"-O2 {way}")
        calls, limits, done = hooked(folder, program, "forks", code=3)
        wide = counts(calls, "add_wide")[0]
        assert "wide" not in done.stdout or ("wide 0\n" in done.stdout and wide == 1), (way, done.stdout, wide)
        assert counts(calls, "middle", "leaf") == [5, 53], (way, calls)  # a child by vfork calls leaf
        assert limits["processes"] == 4 + wide, (way, limits)


def check_many_children(folder):
    program = build(folder, "hooks_calls.c", "-O2 -finstrument-functions")
    calls, limits, _ = hooked(folder, program, "many", code=3, options=["-c"])
    assert counts(calls, "leaf") == [1100] and limits["processes"] == 1100, (calls, limits)  # than may be at a time


LIBRARY = r"""
int in_library(int x) { __asm__ volatile(""); return x + 2; }
"""
LOADER = r"""
#include <dlfcn.h>
__attribute__((constructor)) void early(void) {}
__attribute__((destructor)) void late(void) {}
int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW);
	int (*f)(int), sum = 0;
	*(void **)&f = dlsym(library, "in_library");
	for (int i = 0; i < 500; i++)
		sum += f(i);
	dlclose(library);
	return sum == 0 || argc == 0;
}
"""


def check_what_is_loaded_later(folder):
    for way in TIMED if not X86 else {**TIMED, "-pg": False}:
        if way == XRAY:  # prepared before main alone
            continue
        program, library = f"{folder}/loader", f"{folder}/library.so"
        run("cc", "-O2", *way.split(), "-shared", "-fPIC", "-x", "c", "-o", library, "-", input=LIBRARY)
        run("cc", "-O2", *way.split(), "-x", "c", "-o", program, "-", input=LOADER)
        run(HOOKED, "calls", f"{program},{library}", program, library, cwd=folder)
        with open(f"{folder}/calls", encoding="ascii") as f:
            calls = {line.split("\t")[0]: line.split("\t")[1] for line in f}
        assert calls.get("in_library") == "500", (way, calls)
        if way in TIMED:  # gcc's -pg leaves constructors as they are
            assert calls.get("early") == calls.get("late") == "1", (way, calls)


def check_another_program(folder):
    for way in WAYS:
        program = build(folder, "hooks_calls.c", f"-O2 {way}")
        calls, limits, _ = hooked(folder, program, "exec", code=3)
        assert counts(calls, "middle", "leaf") == [1001, 10060], (way, calls)
        assert limits["processes"] == 2, (way, limits)


def check_signal_handlers(folder):
    for way, is_timed in WAYS.items():
        program = build(folder, "hooks_calls.c", f"-O2 {way}")
        calls, limits, done = hooked(folder, program, "signals", code=3)
        number = int(re.search(r"signals (\d+)\n", done.stdout)[1])
        assert counts(calls, "handled") == [number], (way, calls, done.stdout)
        assert counts(calls, "leaf")[0] % 1000 == 0, (way, calls)
        if is_timed:  # a handler that interrupts the agent, too
            assert calls["handled"]["ended"] > number * 0.9, (way, calls)
        assert limits["missed"] == 0, (way, limits)


def check_signal_handlers_that_jump(folder):
    for way, is_timed in WAYS.items():
        program = build(folder, "hooks_calls.c", f"-O2 {way}")
        calls, limits, done = hooked(folder, program, "escapes", code=3)
        number = int(re.search(r"signals (\d+)\n", done.stdout)[1])
        assert counts(calls, "escape", "again") == [number, 11], (way, calls, done.stdout)
        assert limits["missed"] == 0, (way, limits)
        if is_timed:  # also where the last one left the agent itself
            assert calls["again"]["ended"] == 11, (way, calls)


def check_killed(folder):
    for way in WAYS:
        program = build(folder, "hooks_calls.c", f"-O2 {way}")
        calls, _, _ = hooked(folder, program, "killed", code=128 + 9)
        assert counts(calls, "leaf", "middle") == [10000, 1000], (way, calls)


def check_recorder_killed(folder):
    program = build(folder, "hooks_calls.c", "-O2 -finstrument-functions")
    # the program's parent, which is killed before it starts: nobody listens
    alone = run(program, "plain", code=3)
    gone = run(program, "plain", code=3,
               env=dict(os.environ, LD_PRELOAD=os.environ["HOOKS"], CPUPERF_FUNCTIONS="cpuperf-marks-0badcafe"))
    assert (gone.stdout, gone.stderr) == (alone.stdout, alone.stderr), gone
    none = run(program, "plain", code=3, env=dict(os.environ, LD_PRELOAD=os.environ["HOOKS"]))
    assert (none.stdout, none.stderr) == (alone.stdout, alone.stderr), none


def check_little_address_space(folder):
    program = build(folder, "hooks_calls.c", "-O2 -finstrument-functions")
    calls, _, done = hooked(folder, program, "threads", code=3, command=["prlimit", f"--as={1 << 30}"])
    assert counts(calls, "leaf", "work") == [200000, 200], (calls, done)


# --- beside callgrind

def by_callgrind(folder, program, code):
    """Calls of each function of the program, as callgrind's file has them."""
    if not shutil.which("valgrind"):
        skip("no valgrind")
    path, quiet = os.path.join(folder, "callgrind"), os.path.join(folder, "quiet.so")
    # the profile of -pg has a timer, whose last signal ends programs in valgrind
    run("cc", "-shared", "-x", "c", "-o", quiet, "-", input="void __monstartup() {} void _mcleanup() {}")
    run("valgrind", "--tool=callgrind", f"--callgrind-out-file={path}", "--compress-strings=no", "--compress-pos=no",
        program, code=code, cwd=folder,
        env={"LD_PRELOAD": quiet, "LD_LIBRARY_PATH": own_libraries(folder, program)})
    calls, callee = {}, None
    for line in open(path, encoding="utf-8"):
        if line.startswith("cfn="):
            callee = line[4:].strip().split("'")[0]
        elif line.startswith("calls="):
            calls[callee] = calls.get(callee, 0) + int(line[6:].split()[0])
    return calls


def demangled(calls):
    names = output("c++filt", input="\n".join(calls) + "\n").splitlines()
    return {n: c["calls"] for n, c in zip(names, calls.values())}


def beside_callgrind(folder, optimise, way, compiler="c++"):
    """The same program, as the compiler makes another one of each way: of a recursion a loop, say."""
    program = build(folder, "hooks_calls.cc", f"{optimise} {way}", compiler=compiler)
    truth = by_callgrind(folder, program, code=5)
    calls, limits, done = hooked(folder, program, code=5)
    assert done.stdout == run(program, code=5, cwd=folder).stdout, (way, done)
    ours = demangled(calls)
    for name in ("leaf(int)", "fall(int)", "rise(int)", "catches(int)", "fib(int)", "square::area(int)",
                 "circle::area(int)", "guard::guard(int*)", "guard::~guard()", "early::early()", "early::~early()"):
        assert name in truth and ours.get(name) == truth[name], (optimise, way, name, ours.get(name), truth.get(name))
    assert limits["missed"] == 0, (way, limits)


def check_beside_callgrind(folder):
    for way in WAYS:
        beside_callgrind(folder, "-O2 -fno-inline" + ("" if way == XRAY else " -fno-ipa-icf"), way)


def check_beside_callgrind_plain(folder):
    beside_callgrind(folder, "-O0", "-finstrument-functions")


def check_beside_callgrind_clang(folder):
    if shutil.which("clang++-14"):
        beside_callgrind(folder, "-O1 -fno-inline", "-finstrument-functions", compiler="clang++-14")


# --- entries of NOPs

def entries(folder, flags, **how):
    program = build(folder, "hooks_calls.c", f"-O2 {flags}", **how)
    calls, limits, _ = hooked(folder, program, "plain", code=3)
    return counts(calls, "leaf", "middle"), limits


def check_entries_that_are_prepared(folder):
    if not X86:
        skip("x86-64 alone")
    for flags in ("-fpatchable-function-entry=16", "-fpatchable-function-entry=5 -fcf-protection=full",
                  "-fpatchable-function-entry=16,6", "-fpatchable-function-entry=6,1 -fcf-protection=full",
                  "-fpatchable-function-entry=7 -no-pie", "-fpatchable-function-entry=6 -fPIE -pie"):
        found, limits = entries(folder, flags)
        assert found == [10050, 1000], (flags, found)
        assert limits["patched"] > 10 and limits["unpatched"] == 0, (flags, limits)
    if shutil.which("clang-14"):  # whose NOPs are longer ones
        for nr in 5, 8, 13:
            found, limits = entries(folder, f"-fpatchable-function-entry={nr}", compiler="clang-14")
            assert found == [10050, 1000], (nr, found)


def check_entries_that_remain(folder):
    if not X86:
        skip("x86-64 alone")
    for flags in "=4", "=8,4", "=8,4 -fcf-protection=full":
        flags = f"-fpatchable-function-entry{flags}"
        found, limits = entries(folder, flags)
        assert found == [0, 0], (flags, found)
        assert limits["patched"] == 0 and limits["unpatched"] > 10, (flags, limits)


# --- what cannot have the agent

def check_not_prepared(folder):
    calls, limits, _ = hooked(folder, build(folder, "hooks_calls.c", "-O2"), "plain", code=3, patched=False)
    assert not calls and limits["processes"] == 0, (calls, limits)


def refused(folder, program, why):
    done = run(HOOKED, os.path.join(folder, "out"), program, program, "plain", code=125)
    assert why in done.stderr and not done.stdout, done


def check_refused(folder):
    refused(folder, build(folder, "hooks_calls.c", "-O2 -static"), "statically")
    narrow = os.path.join(folder, "narrow")
    made = subprocess.run(["cc", "-m32", "-x", "c", "-o", narrow, "-"], input=b"int main(void) { return 0; }",
                          stderr=subprocess.DEVNULL, check=False)
    if made.returncode:
        print("skip: a program of 32 bits: this compiler makes none")
    else:
        refused(folder, narrow, "is a program for another kind of machine")


run_checks(globals())
