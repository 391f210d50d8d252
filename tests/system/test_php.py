#!/usr/bin/env python3
"""What PHP interprets, in place of its interpreter: functions and lines of a program that keeps its own account, what is
called through C, generators, destructors and files that are included; code that comes and goes at one address, and
requests of one process; of a command and of a process that runs already. Needs the right to load programs into the kernel,
and Debian's PHP, or another one, whose path is the environment's PHP."""
import collections
import contextlib
import csv
import http.client
import io
import os
import re
import sqlite3
import subprocess
import time

from kit import (CPUPERF, PRINT, finish, free_port, need_programs, output, run, run_checks, skip, start,
                 wait_until_recorded)

# Each function waits for its own CPU time, so that shares are known whatever else runs.
CLOCK = """<?php
function now()
{
    $r = getrusage();
    return $r["ru_utime.tv_sec"] + $r["ru_stime.tv_sec"] + ($r["ru_utime.tv_usec"] + $r["ru_stime.tv_usec"]) / 1e6;
}
function burn($seconds)
{
    $end = now() + $seconds;
    while (now() < $end) {
        for (
            $i = 0;
            $i < 3000;
            $i++
        ) {
        }
    }
}
"""
SHARES = CLOCK + """
function alpha()
{
    burn(0.06);
}
class Work
{
    function gamma()
    {
        foreach ($this->parts() as $s) {
            burn($s);
        }
    }
    function parts()
    {
        yield 0.01;
        yield from $this->rest();
    }
    function rest()
    {
        yield from [0.005];
        burn(0.005);
    }
    function __destruct()
    {
        burn(0.02);
    }
    static function made()
    {
        return function () {
            burn(0.02);
        };
    }
}
function negative($x)
{
    burn(0.01);
    return -$x;
}
function through_c()
{
    return array_map("negative", [0, 1]);
}
function all()
{
    alpha();
    (new Work())->gamma();
    through_c();
    Work::made()();
    include __DIR__ . "/part.php";
}
burn(0.15);
for ($i = 0; $i < 4; $i++) {
    all();
}
"""
PART = """<?php

burn(0.02);
"""
# CPU time of each function with all it calls, as a share of the whole.
WHOLE = 0.06 + 0.02 + 0.02 + 0.02 + 0.02 + 0.02
EXPECTED = {"alpha": 0.06, "Work::gamma": 0.02, "Work::__destruct": 0.02, "through_c": 0.02, "array_map": 0.02,
            "negative": 0.02, "Work::made": 0, "closure": 0.02}
# Each text is code of its own, which is freed when it was run. At first for as long as it may take to find out what the
# process is.
MADE = CLOCK + """
burn(0.15);
$calls = "";
for ($i = 0; $i < 160; $i++) {
    $since = hrtime(true);
    if ($i % 2 == 0) {
        eval('burn(0.003);');
    } else {
        eval('burn(0.001);');
    }
    $calls .= "$since " . hrtime(true) . " " . ($i % 2 == 0 ? "even" : "odd") . "\\n";
}
file_put_contents("calls", $calls);
"""
SERVED = CLOCK.replace("function burn", "function NAME") + """
$since = hrtime(true);
NAME(SECONDS);
file_put_contents("calls", "$since " . hrtime(true) . " NAME\\n", FILE_APPEND);
"""
SLEEPS = """<?php
function slept()
{
    for ($i = 0; $i < 400; $i++) {
        usleep(1000);
    }
}
slept();
"""
WAITING = CLOCK + """
echo "here\\n";
fgets(STDIN);
burn(0.4);
"""
DEEP = CLOCK + """
function down($n)
{
    return $n ? down($n - 1) : burn(0.1);
}
function tree($n)
{
    if ($n) {
        yield from tree($n - 1);
    } else {
        burn(0.1);
        yield 1;
    }
}
down(900);
foreach (tree(9) as $x) {
}
"""
EVENT = ["-e", "cpu_clock@1997Hz"]
PHP, PROGRAM = os.environ.get("PHP", "/usr/bin/php"), "program.php"


def may_run():
    if not os.path.exists(PHP):
        skip(f"needs {PHP}")
    if os.geteuid() != 0:
        skip("needs root: programs in the kernel")


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def record(folder, text, *options):
    write(f"{folder}/{PROGRAM}", text)
    write(f"{folder}/part.php", PART)
    run(CPUPERF, *(options or [*EVENT, "-g"]), "--output=s", "--", PHP, f"{folder}/{PROGRAM}", cwd=folder)


def rows(folder, *options):
    text = output(PRINT, "--quiet", f"{folder}/s", "--output-format=csv", "--top=0", *options)
    return list(csv.DictReader(io.StringIO(text)))


def totals(folder, *options):
    """CPU time below each function, in ns. A closure's name has its place from PHP 8.4 on."""
    found = collections.Counter()
    for r in rows(folder, "--report=flat", *options):
        found["closure" if "{closure" in r["function"] else r["function"]] += int(r["total_count"])
    return found


def read_stacks(folder):
    """The program's, and the weight of each."""
    text = output(PRINT, "--quiet", f"{folder}/s", "--output-format=folded")
    found = [re.fullmatch(r"(.*) (\d+)", line).groups() for line in text.splitlines()]
    return [(stack.split(";"), int(weight)) for stack, weight in found if "<main>" in stack]


def assert_named(folder):
    """No function of PHP without a name, and none that was left to the interpreter."""
    stacks = read_stacks(folder)
    bad = [s for s in stacks if any("(php)" in f or f == "execute_ex" for f in s[0])]
    assert sum(w for _, w in bad) <= sum(w for _, w in stacks) / 1000, (bad[:3], len(stacks))


def assert_callers(folder):
    """In their order, also through C, generators, and what the interpreter calls by itself."""
    whole = {"negative": ["<main>", "all", "through_c", "array_map", "negative", "burn"],
             "Work::rest": ["<main>", "all", "Work::gamma", "Work::parts", "Work::rest", "burn"],
             "Work::__destruct": ["<main>", "all", "Work::__destruct", "burn"]}
    for name, expected in whole.items():
        found = [s for s, _ in read_stacks(folder) if name in s and "burn" in s]
        assert all("zend_execute" in s[:s.index("<main>")] for s in found), (name, found)
        found = [[f for f in s[s.index("<main>"):] if f in sum(whole.values(), [])] for s in found]
        assert found and all(s == expected for s in found), (name, found)


def assert_lines(folder):
    """Each of these functions has one line that calls; it is at its first one for the moment that it begins, and at its last
    one for that in which it ends."""
    lines = {}
    for r in rows(folder, "--report=flat", "--sort=function,object,line"):
        if r["function"] == "<main>":
            r["function"] = r["object"]
        lines.setdefault(r["function"], {})[r["line"]] = int(r["total_count"])
    text = SHARES.splitlines()
    for name, call in [("alpha", "burn(0.06)"), ("Work::__destruct", "burn(0.02)"), ("negative", "burn(0.01)"),
                       ("through_c", "return array_map")]:
        number = next(i for i, line in enumerate(text, 1) if line.strip().startswith(call))
        right = lines[name].get(f"{folder}/{PROGRAM}:{number}", 0)
        assert right >= 0.99 * sum(lines[name].values()), (name, lines[name])
    assert lines["part.php"][f"{folder}/part.php:3"] >= 0.95 * sum(lines["part.php"].values()), lines["part.php"]
    assert_loop(lines["burn"], folder)


def assert_loop(lines, folder):
    """The loop's turns, of which the interpreter has the line in a register only, and not its begin, nor the call before."""
    place = {text: next(f"{folder}/{PROGRAM}:{i}" for i, line in enumerate(SHARES.splitlines(), 1) if line.strip() == text)
             for text in ("$end = now() + $seconds;", "while (now() < $end) {", "$i = 0;", "$i < 3000;", "$i++")}
    assert sum(lines.get(at, 0) for at in place.values()) >= 0.99 * sum(lines.values()), (lines, place)
    turns = lines.get(place["$i < 3000;"], 0) + lines.get(place["$i++"], 0)
    assert turns > 0.7 * sum(lines.values()) and lines.get(place["$i = 0;"], 0) < 0.02 * turns, (lines, place)


def assert_native(folder):
    """What the interpreter does for a function is the function's own, unless it is asked for; the sum stays."""
    merged, native = rows(folder, "--report=flat"), rows(folder, "--report=flat", "--native")
    assert sum(int(r["self_count"]) for r in merged) == sum(int(r["self_count"]) for r in native), (merged, native)
    own, alone = (sum(int(r["self_count"]) for r in found if r["function"] == "getrusage") for found in (merged, native))
    assert own > alone, (own, alone)


def check_shares(folder):
    record(folder, SHARES)
    found = totals(folder)
    for name, seconds in EXPECTED.items():
        assert abs(found[name] / found["all"] - seconds / WHOLE) < 0.05, (name, found)
    assert_native(folder)
    assert_named(folder)
    assert_callers(folder)
    assert_lines(folder)


def sampled_functions(folder):
    """The time of each sample, and the functions of its stack, each with its file."""
    output(PRINT, "--quiet", f"{folder}/s", "--output-format=sqlite", f"--output-file={folder}/s.sqlite")
    with contextlib.closing(sqlite3.connect(f"{folder}/s.sqlite")) as d:
        parents = {stack: (parent, name, of) for stack, parent, name, of in d.execute(
            "SELECT stack, parent, name, object_name FROM stacks JOIN functions USING (function)")}
        for time_ns, stack in d.execute("SELECT time_ns, stack FROM samples ORDER BY time_ns").fetchall():
            found = set()
            while stack in parents:
                stack, name, of = parents[stack]
                found.add((name, of))
            yield time_ns, found


def assert_ran(folder, functions):
    """Functions at one address by turns: each sample has the one that ran at its time by the program's own account, or none
    where it was just called or had returned."""
    with open(f"{folder}/calls", encoding="ascii") as f:
        calls = [(int(a), int(b), name) for a, b, name in map(str.split, f)]
    right = wrong = neither = 0
    for time_ns, stack in sampled_functions(folder):
        ran = next((name for a, b, name in calls if a <= time_ns <= b), None)
        found = {name for name, function in functions.items() if function in stack}
        wrong += ran is not None and bool(found - {ran})
        right += found == {ran}
        neither += ran is not None and not found
    assert wrong == 0 and right > 100 and neither <= right / 10, (right, wrong, neither)


def check_made(folder):
    record(folder, MADE)
    number = {name: next(i for i, line in enumerate(MADE.splitlines(), 1) if seconds in line)
              for name, seconds in (("even", "0.003"), ("odd", "0.001"))}
    assert_ran(folder, {name: ("<main>", f"{PROGRAM}({n}) : eval()'d code") for name, n in number.items()})
    assert_named(folder)


@contextlib.contextmanager
def serving(folder, port):
    """PHP's own server, which serves the files of the folder in one process."""
    with open(f"{folder}/log", "w", encoding="ascii") as log, \
         subprocess.Popen([PHP, "-S", f"127.0.0.1:{port}", "-t", folder], stdout=log, stderr=log, cwd=folder) as server:
        try:
            while "started" not in open(f"{folder}/log", encoding="ascii").read():
                assert server.poll() is None, open(f"{folder}/log", encoding="ascii").read()
                time.sleep(0.01)
            yield server
        finally:
            server.kill()


def check_requests(folder):
    """Requests of one process, each of which has its functions where those of the one before were."""
    for name, seconds in (("even", "0.003"), ("odds", "0.001")):
        write(f"{folder}/{name}.php", SERVED.replace("NAME", name).replace("SECONDS", seconds))
    write(f"{folder}/first.php", CLOCK + "burn(0.15);")
    port = free_port()
    with serving(folder, port) as server:
        with start(folder, *EVENT, "-g", "--output=s", f"--pid={server.pid}") as session:
            wait_until_recorded(session, f"{folder}/s/cpuperf.cpsession")
            for path in ["/first.php"] + ["/even.php", "/odds.php"] * 80:
                connection = http.client.HTTPConnection("127.0.0.1", port)
                connection.request("GET", path)
                assert connection.getresponse().status == 200
                connection.close()
            server.kill()
            finish(session)
    assert_ran(folder, {name: (name, f"{name}.php") for name in ("even", "odds")})


def check_waits(folder):
    """The sample of a wait is taken when it is over, and still in the function that waited; which the answer names."""
    record(folder, SLEEPS, "-e", "sched:off_cpu_time@50000", "-g")
    found = [(r["function"], r["line"]) for r in rows(folder, "--report=waits", "--sort=function,line")]
    assert found[0] == ("slept", f"{folder}/{PROGRAM}:5"), found


def check_deep(folder):
    record(folder, DEEP)
    stacks = [s for s, _ in read_stacks(folder) if "burn" in s]
    depths = {name: {s.count(name) for s in stacks if name in s} for name in ("down", "tree")}
    assert depths == {"down": {901}, "tree": {10}}, depths


def assert_runs(folder, *command):
    write(f"{folder}/{PROGRAM}", WAITING)
    with subprocess.Popen([*command, f"{folder}/{PROGRAM}"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as program:
        assert program.stdout.readline() == "here\n"
        with start(folder, *EVENT, "-g", "--output=s", f"--pid={program.pid}") as session:
            wait_until_recorded(session, f"{folder}/s/cpuperf.cpsession")
            finish(program)
            finish(session)
    sums = totals(folder)
    assert_named(folder)
    assert sums["burn"] > sums["<main>"] * 0.9, sums


def check_running(folder):
    """A process that runs already."""
    assert_runs(folder, PHP)


def check_behind_modules(folder):
    """A process that runs already, in which PHP is mapped as a library is: behind its modules, in a folder of its name."""
    loader, modules = "/lib64/ld-linux-x86-64.so.2", output(PHP, "-r", "echo ini_get('extension_dir');")
    with open(PHP, "rb") as f:
        if f.read(4) != b"\x7fELF" or not os.path.exists(loader):
            print("skip: check_behind_modules: no program that the loader may be asked to start")
            return
    print(len(os.listdir(modules)), "modules are installed")
    assert_runs(folder, loader, os.path.realpath(PHP))


def check_other_program(folder):
    """One that only looks like an interpreter has no frames, and no harm."""
    write(f"{folder}/a.c", """#include <time.h>
char executor_globals[2048]; const char *volatile text = "API20220829,NTS";
__attribute__((noinline)) int execute_ex(void)
{ int n = 0; while (clock() < CLOCKS_PER_SEC * 3 / 10) n++; return n; }
int main(void)
{
	for (long i = 0; i < 2048; i++) executor_globals[i] = (char)(i * 77);
	*(void **)(executor_globals + 488) = executor_globals + 512, *(void **)(executor_globals + 416) = 0;
	*(void **)(executor_globals + 512 + 24) = executor_globals + 1024;
	return execute_ex() < 0;
}
""")
    run("gcc", "-O1", "-rdynamic", "-o", f"{folder}/php", f"{folder}/a.c")
    run(CPUPERF, *EVENT, "-g", "--output=s", "--", f"{folder}/php", cwd=folder)
    found = {r["function"] for r in rows(folder, "--report=flat")}
    assert "execute_ex" in found and not any("(php)" in name for name in found), found


if __name__ == "__main__":
    need_programs()
    may_run()
    run_checks(globals(), everybody=True)
