#!/usr/bin/env python3
"""Functions that the compiler has prepared, as events: measured by the agent in the program, also for an ordinary user,
who may load no programs into the kernel; counts are exact, and the program does what it does without. What cannot be
measured so is said, with what to type. HOOKS names the agent; hooks_calls.c has the functions.
"""
import contextlib
import csv
import glob
import io
import os
import shutil
import sqlite3
import struct
import subprocess
import tempfile
import time

from kit import CPUPERF, own_uid, PRINT, programs_missing, run, run_checks
import sampled

HERE = os.path.dirname(os.path.abspath(__file__))
X86 = os.uname().machine == "x86_64"
TIMED = "-finstrument-functions"
COUNTED = ["-pg", "-pg -mfentry", "-fpatchable-function-entry=5"] if X86 else []
BY_COMPILER, BY_KERNEL = "entries made by the compiler", "breakpoints"
BUILT = tempfile.TemporaryDirectory(prefix="cpuperf-test.")  # once for all checks
os.chmod(BUILT.name, 0o755)

THROWS = """
extern "C" int puts(const char *);
#define OUT __attribute__((noinline))
OUT int leaf(int x) { asm volatile("" : "+r"(x)); return x + 1; }
OUT int fall(int n) { if (!n) throw 1; return fall(n - 1) + leaf(n); }
OUT int catches(int n) { int sum = 0; for (int i = 0; i < n; i++) try { fall(3); } catch (int) { sum += leaf(i); } return sum; }
int main() { puts(catches(50) == 50 * 49 / 2 + 50 ? "all" : "some"); return 5; }
"""
MANY = """
#define OUT __attribute__((noinline))
volatile int sink;
OUT void parse_word(int x) { sink += x; }
OUT void parse_line(int x) { parse_word(x); parse_word(x); sink++; }
OUT __attribute__((no_instrument_function)) void parse_file(int x) { sink += x; }
OUT int parse_tree(int n) { sink++; return n ? parse_tree(n - 1) + 1 : 0; }
int main(void) { for (int i = 0; i < 100000; i++) parse_line(i); parse_file(1); return parse_tree(2) == 2 ? 4 : 1; }
"""

# Of each line so many calls, and twice as many of what they call; then it writes the line.
STEPS = """
#include <stdio.h>
#define OUT __attribute__((noinline))
volatile int sink;
OUT void inner(int x) { sink += x; }
OUT void step(int x) { inner(x); inner(x); sink++; }
int main(void)
{
	int n;
	while (scanf("%d", &n) == 1) { for (int i = 0; i < n; i++) step(i); printf("%d\\n", n); fflush(stdout); }
	return 7;
}
"""

# Calls hot until there is something to read, or so often, and writes how often.
HOT = """
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#define OUT __attribute__((noinline))
volatile int sink;
OUT void hot(int x) { sink += x; }
OUT void cold(int x) { sink -= x; }
int main(int argc, char **argv)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	long n = 0, most = argc > 1 ? atol(argv[1]) : 0;
	cold(1);
	while (most ? n < most : !poll(&in, 1, 0)) for (int i = 0; i < 10000; i++, n++) hot(i);
	cold(2);
	printf("%ld\\n", n);
	return 6;
}
"""
MIXED = """
#define OUT __attribute__((noinline, noclone))
volatile int sink;
OUT __attribute__((patchable_function_entry(5))) int parse_nops(int x) { sink += x; return sink * 3; }
OUT int parse_plain(int x) { sink -= x; return sink * 5 + x; }
int main(void) { for (int i = 0; i < 7; i++) sink += parse_nops(i) + parse_plain(i); return 6; }
"""


def build(source, flags="", name="hooks_calls"):
    """A program of a file, or of a text."""
    program = os.path.join(BUILT.name, (name + flags).replace(" ", ""))
    if os.path.exists(program):
        return program
    path = f"{HERE}/{source}"
    if "\n" in source:
        path = f"{BUILT.name}/{name}.{'cc' if 'throw' in source else 'c'}"
        with open(path, "w", encoding="ascii") as f:
            f.write(source)
    compiler = "c++" if path.endswith(".cc") else "cc"
    run(compiler, "-O1", "-fno-optimize-sibling-calls", "-pthread", *flags.split(), "-o", program, path)
    return program


def everybodys(with_agent=True):
    """A copy of what is installed, as far as it is needed here: in folders that everybody may enter."""
    folder = f"{BUILT.name}/tree{with_agent:d}"
    if not os.path.exists(folder):
        os.makedirs(f"{folder}/bin")
        for program in (CPUPERF, PRINT):
            sampled.for_everybody(program, f"{folder}/bin")
        if with_agent:
            agent = os.environ["HOOKS"]
            to = os.path.normpath(f"{folder}/bin/" + os.path.relpath(agent, os.path.dirname(CPUPERF)))
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(agent, to)
    return f"{folder}/bin/cpuperf"


ORDINARY = {"user": own_uid(), "group": own_uid(), "extra_groups": []} if os.geteuid() == 0 else {}


def measure(folder, event, program, *words, options=(), user=False, code=3, **how):
    """{name: calls} of the event, and what was printed."""
    os.chmod(folder, 0o777)
    how = {"cwd": folder, **(ORDINARY if user else {}), **how}
    shutil.rmtree(f"{folder}/s", ignore_errors=True)
    done = run(everybodys(), "-o", "s", "-e", f"function:{event}", *options, "--", program, *words, code=code, **how)
    if not os.path.exists(f"{folder}/s"):
        return {}, done
    text = run(PRINT, "--quiet", "--report=functions", "--output-format=csv", "s", cwd=folder).stdout
    return {row["function"]: int(row["calls"]) for row in csv.DictReader(io.StringIO(text))}, done


def counted(folder):
    """What the event counted in each iteration."""
    text = run(PRINT, "--quiet", "--output-format=csv", "s", cwd=folder).stdout
    return [int(row["raw"]) for row in csv.DictReader(io.StringIO(text))]


def notes_of(folder):
    return [n for path in glob.glob(f"{folder}/t.*.cpuperf") for n in sampled.Trace(path).notes]


def may_measure_as_user():
    if sampled.paranoid() <= 2:
        return True
    print("skip: an ordinary user: perf_event_paranoid may refuse him", flush=True)
    return False


def check_each_way_of_the_compiler(folder):
    for way in [TIMED, *COUNTED]:
        program = build("hooks_calls.c", way)
        alone = run(program, "plain", code=3, cwd=folder)
        found, done = measure(folder, "[lam][egi]*", program, "plain")
        assert [found[n] for n in ("leaf", "middle", "again")] == [10050, 1000, 51], (way, found)
        assert done.stdout == alone.stdout, (way, alone, done)
        assert f"measured by {BY_COMPILER}" in done.stderr, (way, done.stderr)
        assert ("not timed" in done.stderr) == (way != TIMED), (way, done.stderr)


def check_an_ordinary_user(folder):
    if not may_measure_as_user():
        return
    program = build(MANY, TIMED, "many")
    found, done = measure(folder, "parse_[lwt]*", program, user=True, code=4)
    assert found == {"parse_word": 200000, "parse_line": 100000, "parse_tree": 3}, found
    assert f"300,003 calls of 3 functions; measured by {BY_COMPILER}" in done.stderr, done.stderr
    assert "To measure" not in done.stderr, done.stderr  # no right would add anything


def check_what_is_not_prepared(folder):
    """One function of four: the kernel measures all of them; where it may not, the agent does."""
    program = build(MANY, TIMED, "many")
    missing = programs_missing()
    if missing:
        print(f"skip: programs in the kernel: {missing}", flush=True)
    else:
        found, done = measure(folder, "parse_[ft]*", program, code=4)
        assert found == {"parse_tree": 3, "parse_file": 1}, found
        assert f"measured by {BY_KERNEL}" in done.stderr, done.stderr
    if may_measure_as_user() and os.geteuid() == 0:
        found, done = measure(folder, "parse_[ft]*", program, code=4, user=True)
        assert found == {"parse_tree": 3} | ({"parse_file": 1} if X86 else {}), found
        assert X86 or "not measured: parse_file: the compiler has not prepared it" in done.stderr, done.stderr


def check_both_ways_at_once(folder):
    """An event for each: each has its own."""
    if programs_missing():
        return
    program = build(MANY, TIMED, "many")
    found, done = measure(folder, "parse_tree", program, code=4, options=["-e", "function:parse_file"])
    assert found == {"parse_tree": 3, "parse_file": 1}, found
    assert BY_COMPILER in done.stderr and BY_KERNEL in done.stderr, done.stderr


def check_threads_children_and_exec(folder):
    for mode, names in (("threads", {"leaf": 200000, "work": 200}), ("forks", {"leaf": 53, "middle": 5}),
                        ("exec", {"leaf": 10060, "middle": 1001})):
        found, _ = measure(folder, "[lmw][eio]*", build("hooks_calls.c", TIMED), mode)
        assert names.items() <= found.items(), (mode, found)
    found, _ = measure(folder, "middle", build("hooks_calls.c", TIMED), "forks", options=["--no-children"])
    assert found == {"middle": 2}, found


def check_a_killed_program(folder):
    for way in [TIMED, *COUNTED[:1]]:
        found, _ = measure(folder, "[lm][ei]*", build("hooks_calls.c", way), "killed", code=128 + 9)
        assert (found["leaf"], found["middle"]) == (10000, 1000), (way, found)


def check_calls_that_are_left(folder):
    found, done = measure(folder, "[jdl]*", build("hooks_calls.c", TIMED), "jumps")
    number = found["deeper"]
    assert number and (found["jumps"], found["jump"], found["leaf"]) == (1, number, number + 1), found
    assert f"{2 * number} calls have no times: they were left by longjmp" in done.stderr, done.stderr
    found, done = measure(folder, "*", build(THROWS, TIMED, "throws"), code=5)
    assert {k.split("(")[0]: v for k, v in found.items()} == {"leaf": 50, "fall": 200, "catches": 1, "main": 1}, found
    assert done.stdout == "all\n", done


def check_iterations_add_up(folder):
    """What is counted belongs to one of them; none twice."""
    script = f"for i in 1 2 3 4 5; do {build('hooks_calls.c', TIMED)} plain; sleep 0.02; done"
    found, _ = measure(folder, f"{build('hooks_calls.c', TIMED)}:leaf", "sh", "-c", script, code=0,
                       options=["-d", "30ms", "-n", "0"])
    assert found == {"leaf": 5 * 10050}, found
    assert sum(counted(folder)) == 5 * 10050, counted(folder)


def refused(folder, *args, **how):
    found, done = measure(folder, *args, user=True, **how)
    assert not found, (found, done)
    return done.stderr


def check_without_perf_events(folder):
    """As in a container, which may refuse all of them."""
    deny = build("deny.c", "", "deny")
    for error in ("1", "38"):
        done = run(deny, error, everybodys(), "-o", "s", "-e", "function:parse_word", "--", build(MANY, TIMED, "many"),
                   code=4, cwd=folder)
        assert "not measured" not in done.stderr and "200,000 calls of 1 function" in done.stderr, done.stderr
        assert counted(folder) == [200000], counted(folder)
        shutil.rmtree(f"{folder}/s")


def check_refusals(folder):
    if not may_measure_as_user() or os.geteuid() != 0:
        return
    text = refused(folder, "parse_word", build(MANY, "", "bare"), code=4, options=["--function-way=kernel"])
    assert "programs in the kernel (BPF) are not permitted" in text, text
    assert "setcap" in text, text
    text = refused(folder, "parse_word@1", build(MANY, TIMED, "many"), code=4)
    assert "remove the rate" in text, text
    if X86:
        text = refused(folder, "parse_word", build(MANY, "-static -fpatchable-function-entry=5", "fixed"), code=4)
        assert "link the program dynamically" in text, text


def check_control(folder):
    """Calls while the event is disabled are not counted, in sums and in times: of one event, and of all; patched, too."""
    for way in [TIMED, "-O1"] if X86 else [TIMED]:
        at = f"{folder}/{way}"
        os.mkdir(at)
        for path in ("ctl", "ack"):
            os.mkfifo(f"{at}/{path}")
        ctl, ack = (os.open(f"{at}/{path}", os.O_RDWR) for path in ("ctl", "ack"))
        with subprocess.Popen([everybodys(), "-o", "s", "--function-way=program", "--control=fifo:ctl,ack", "--delay=-1",
                               "-e", "function:step", "-e", "function:inner", "-e", "function:[i]nner", "--", build(STEPS, way, "steps")], cwd=at,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
            for request, number in ((b"ping", 5), (b"enable", 100), (b"disable", 3000), (b"enable", 20), (b"disable function:step", 7),
                                    (b"enable function:step", 4), (b"disable function:[i]nner", 2), (b"enable", 3), (b"disable", 1), (b"enable", 6)):
                os.write(ctl, request + b"\n")
                assert os.read(ack, 5) == b"ack\n\0"
                print(number, file=p.stdin, flush=True)
                assert p.stdout.readline() == f"{number}\n"
        assert p.returncode == 7, p.returncode
        os.close(ctl)
        os.close(ack)
        text = run(PRINT, "--quiet", "--report=functions", "--output-format=csv", "s", cwd=at).stdout
        found = {r["function"]: r for r in csv.DictReader(io.StringIO(text))}
        # of a function with two events all calls but those while both were disabled
        assert {n: int(r["calls"]) for n, r in found.items()} == {"step": 135, "inner": 2 * 142}, (way, found)
        assert sorted(counted(at)) == [135, 2 * 140, 2 * 142], (way, counted(at))
        for row in found.values():
            assert row["timed"] == row["calls"] and int(row["self_ns"]) <= int(row["wall_ns"]), row
        # what calls took while they were disabled is in no sum
        run(PRINT, "--quiet", "s", "--output-format=sqlite", "--output-file=x.db", cwd=at)
        with contextlib.closing(sqlite3.connect(f"{at}/x.db")) as db:
            assert db.execute("SELECT sum(count) FROM function_call_buckets GROUP BY function_call ORDER BY 1").fetchall() == \
                [(135,), (284,), (284,)]


def check_limit(folder):
    """What costs too much is counted no longer, by name and with its price; what costs little is, and what is unsafe. Where
    instructions are replaced it is counted on, without times."""
    for way, flags in (TIMED, []), (TIMED, ["unsafe"]), *([("-O1", []), ("-O1", ["unsafe"])] if X86 else []):
        program, is_counted_on = build(HOT, way, "hot" + way), way != TIMED
        at = f"{folder}/{way}{len(flags)}"
        os.mkdir(at)
        spec = sampled.write_spec(at, [sampled.event(f"function:{program}:hot", flags=flags), sampled.event(f"function:{program}:cold", flags=flags)], function_way="program",
                                  max_own_cpu=0.1, duration=0.02, num_iterations=0)
        with subprocess.Popen([everybodys(), spec, "--", program, *(["5000000"] if flags else [])], cwd=at, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as p:
            is_said = bool(flags)
            while not is_said:
                assert p.poll() is None, p.stderr.read()
                time.sleep(0.02)
                with contextlib.suppress(struct.error):  # a file may have no head yet
                    is_said = any(f"hot is {'counted on, and timed' if is_counted_on else 'counted'} no longer: its " in n for n in notes_of(at))
            said, errors = p.communicate("\n")
        rows = {r["function"]: r for r in csv.DictReader(io.StringIO(
            run(PRINT, "--quiet", "--report=functions", "--output-format=csv", f"{at}/s.cpsession").stdout))}
        calls, timed = ({n: int(r[column]) for n, r in rows.items()} for column in ("calls", "timed"))
        assert p.returncode == 6 and calls["cold"] == timed["cold"] == 2, (p.returncode, rows, errors)
        assert (calls["hot"] == int(said)) == (bool(flags) or is_counted_on) and calls["hot"] <= int(said), (way, flags, calls, said)
        assert 0 < timed["hot"] and (timed["hot"] == int(said)) == bool(flags), (way, flags, rows, said)
        text = "\n".join(notes_of(at))
        assert ("all may cost 0.1 % (max_own_cpu; the flag" in text) == (not flags) and "cold is" not in text, text
        shown = run(PRINT, "--quiet", "--report=functions", f"{at}/s.cpsession").stdout
        assert ("Calls of hot are missing: they cost too much (max_own_cpu)" in shown) == (not flags and not is_counted_on), shown
        assert ("Calls of hot were timed at first, then counted: times cost too much" in shown) == (not flags and is_counted_on), shown


def check_a_way_that_is_chosen(folder):
    program = build(MANY, TIMED, "many")
    if not programs_missing():
        _, done = measure(folder, "parse_tree", program, options=["--function-way=kernel"], code=4)
        assert f"3 calls of 1 function; measured by {BY_KERNEL}" in done.stderr, done.stderr
    found, done = measure(folder, "parse_[ft]*", program, options=["--function-way=program"], code=4)
    assert found == {"parse_tree": 3} | ({"parse_file": 1} if X86 else {}) and BY_COMPILER in done.stderr, done.stderr
    _, done = measure(folder, "parse_tree@1", program, options=["--function-way=program"], code=None)
    assert "can be counted, not sampled" in done.stderr, done.stderr


def check_ways_beside_each_other(folder):
    """Each function in its own: one has times, the other its calls alone."""
    if not X86:
        skip("x86-64 alone")
    _, done = measure(folder, "parse_*", build(MIXED, "", "mixed"), options=["--function-way=program"], code=6)
    text = run(PRINT, "--quiet", "--report=functions", "--output-format=csv", "s", cwd=folder).stdout
    rows = {r["function"]: (r["calls"], r["timed"], r["wall_ns"] != "") for r in csv.DictReader(io.StringIO(text))}
    assert rows == {"parse_plain": ("7", "7", True), "parse_nops": ("7", "0", False)}, (rows, done)


def check_other_programs(folder):
    """One that calls nothing of it is no silent 0."""
    found, done = measure(folder, f"{build('hooks_calls.c', TIMED)}:leaf", "true", code=0)
    assert not found and "no process of the command has called one of these functions" in done.stderr, done.stderr


def check_without_the_agent(folder):
    """An incomplete installation is named."""
    done = run(everybodys(with_agent=False), "-e", "function:parse_word", "--", build(MANY, TIMED, "many"), cwd=folder, code=None)
    assert "libcpuperf-functions.so is not installed: it is in the package cpuperf" in done.stderr, done.stderr


run_checks(globals(), everybody=True)
