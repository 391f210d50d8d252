#!/usr/bin/env python3
"""Arguments and results of functions, recorded by programs in the kernel: each value with the calls that had it, whichever
register or place of the stack it was in. CPUPERF names the program; needs root and a kernel with uprobes."""
import contextlib
import json
import os
import sqlite3

from kit import CPUPERF, need_programs, output, PRINT, run, run_checks, show
from sampled import event, write_spec
import store

SOURCE = r"""
#include <stddef.h>
#include <string.h>
#define OUT __attribute__((noinline))
static volatile long sink;
OUT int handle(const char *path, size_t size) { for (size_t i = 0; i < size; i++) sink += i; return path ? (int)strlen(path) - 5 : -1; }
OUT long many(int a, signed char b, short c, unsigned d, double x, void *p, long f, long g, signed char h)
{ sink += a + b + c + d + (long)x + f + g + h; return -a * 1000L; }
OUT unsigned char deep(int n) { unsigned char r = n ? deep(n - 1) + 1 : 0; sink++; return r; }
int main(int argc, char **argv)
{
	if (argc > 1) { for (int i = 0; i < 40; i++) handle(NULL, (i % 4 + 1) * (*argv[1] - '0'));
		if (argc > 2) handle(NULL, 20000000);
		return 0; }
	static const char *const path[] = {"/etc/passwd", "/a \"b\"", "/var/lib/\x1b[2Jx"};
	for (int i = 0; i < 60; i++) handle(path[i % 3], i % 3 * 1000);
	handle(NULL, 7);
	for (int i = 0; i < 1000; i++) many(i, -3, -300, 4000000000u, 2.5, (void *)0x1234, -i * 17L, 77, -8);
	for (int i = 0; i < 5; i++) deep(9);
	return 0;
}
"""


def build(folder):
    with open(f"{folder}/values.c", "w", encoding="ascii") as f:
        f.write(SOURCE)
    run("cc", "-O1", "-fno-optimize-sibling-calls", "-fcf-protection=none", "-o", f"{folder}/values", f"{folder}/values.c")
    return f"{folder}/values"


def record(folder, text):
    run(CPUPERF, write_spec(folder, [event(f"function:{text}")]), "--", build(folder), cwd=folder)
    return [json.loads(line) for line in show(folder, "--report=values", "--output-format=ndjson").splitlines()]


def calls(found, argument):
    return {r["value"]: int(r["calls"]) for r in found if r["argument"] == argument}


def check_values(folder):
    """By text and number, with the times of their calls; at NULL nothing is read."""
    found = record(folder, "handle(path:str, size:u64)>int")
    assert calls(found, "size") == {"0": 20, "1000": 20, "2000": 20, "7": 1}, found
    assert calls(found, "result") == {"6": 20, "1": 20, "9": 20, "-1": 1}, found
    texts = [r for r in found if r["argument"] == "path"]
    assert sorted(int(r["calls"]) for r in texts) == [1, 20, 20, 20], texts
    assert {r["kind"] for r in texts} == {"text", "null"} and "/a \"b\"" in calls(found, "path"), texts
    # Each call is in one row of each argument.
    times = [[int(r["wall_ns"]) for r in found if r["argument"] == name] for name in ("size", "path", "result")]
    assert all(min(t) > 0 and sum(t) == sum(times[0]) for t in times), times
    assert all(r["timed"] == r["calls"] and r["function"] == "handle" for r in found), found
    sums = {r["value"]: int(r["sum"]) for r in found if r["argument"] == "size"}
    assert sums["2000"] == 40000, sums
    shown = show(folder, "--report=functions")
    assert "\nValues of arguments and results\n" in shown and "\"/a \"b\"\"" in shown and "\033" not in shown, shown
    assert "\nhandle(path:str, size:u64)>int,handle,size,7,1," in show(folder, "--report=values", "--output-format=csv").replace('"', "")
    none = show(folder, "--report=values", "--function=other")
    assert "handle" not in none, none


def check_exports(folder):
    """The tables of SQLite and of the store, and --sort=iteration, have the values of each iteration."""
    run(CPUPERF, "--event=function:handle(path:str, size:u64)>int", "--runs=2", "--output=s", "--", build(folder), cwd=folder)
    own = [json.loads(line) for line in output(PRINT, "s", "--quiet", "--report=values", "--sort=iteration", "--top=0",
                                               "--output-format=ndjson", cwd=folder).splitlines()]
    names = "iteration", "argument", "kind", "type", "calls", "timed", "wall_ns", "max_ns"
    own = sorted([[str(r[n]) for n in names] + [r["value"], r["sum"]] for r in own])
    assert len(own) == 2 * 12 and {r[0] for r in own} == {"0", "1"}, own
    columns = ", ".join(f"v.{n}" for n in names) + ", coalesce(v.value, ''), v.sum, v.low, v.high, v.function"
    run(PRINT, "s", "--quiet", "--output-format=sqlite", "--output-file=x.db", cwd=folder)
    with contextlib.closing(sqlite3.connect(f"{folder}/x.db")) as db:
        found = {"sqlite": db.execute(f"SELECT {columns} FROM function_values v JOIN events USING(event)").fetchall()}
    if store.missing():
        print(f"skip: the store: {store.missing()}")
    else:
        run(PRINT, "s", "--quiet", "--output-format=parquet", "--output-file=store", cwd=folder)
        found["parquet"] = store.query(f"{folder}/store", f"SELECT {columns} FROM function_values v")[0].rows
    for name, got in found.items():
        assert sorted([*map(str, r[:9]), None if r[9] is None else int(r[9])] for r in got) == \
            sorted([*r[:9], None if r[9] in (None, "") else int(r[9])] for r in own), (name, got, own)
        for r in got:
            assert r[12] == "handle" and (r[10] is None) == (r[2] in ("text", "null")), (name, r)
            assert r[2] != "number" or int(r[8]) == r[10] == r[11], (name, r)


def check_slowest(folder):
    """A value that is rare is shown if its calls take longest."""
    program = build(folder)
    run(CPUPERF, "--event=function:handle(path:skip, size:u64)", "--output=s", "--", program, "9", "slow", cwd=folder)
    for top, first in ("1", 1), ("3", 3):
        shown = [line.split() for line in output(PRINT, "s", "--quiet", "--report=values", f"--top={top}", cwd=folder).splitlines()
                 if line.startswith("handle")]
        assert [line[2] for line in shown] == ["9", "18", "27", "36"][:first] + ["20000000"], shown
    assert shown[-1][3] == "1", shown


def check_diff(folder):
    """By the names of arguments, also of another build: means, and how many calls had a value."""
    programs = {"a": build(folder), "b": f"{folder}/moved"}
    run("cc", "-O1", "-fcf-protection=none", "-fno-toplevel-reorder", "-include", "/dev/stdin", "-o", programs["b"], f"{folder}/values.c",
        input="void first(void) {}\n")
    for side, number in ("a", "1"), ("b", "2"):
        for i in range(2):
            run(CPUPERF, "--event=function:handle(path:skip, size:u64)>int", f"--output={side}{i}", "--", programs[side], number, cwd=folder)
    args = PRINT, "b0", "b1", "--diff=a0", "--diff=a1", "--quiet"
    found = {r["event"]: r for r in map(json.loads, output(*args, "--output-format=ndjson", cwd=folder).splitlines())}
    counts = {name: (round(r["was_count"], 1), round(r["is_count"], 1), r["certain"]) for name, r in found.items()}
    for size, was, now in (1, 10, 0), (2, 10, 10), (3, 10, 0), (4, 10, 10), (6, 0, 10), (8, 0, 10):
        assert counts[f"handle(size = {size}) calls"] == (was, now, was != now), (size, counts)
    assert counts["handle(size) mean"] == (2.5, 5, True), counts
    assert counts["handle(result = -1) calls"] == (40, 40, False) and "handle(result = -1) ns_per_call" in counts, counts
    assert "handle(result) mean" not in counts and "handle(size = 1) ns_per_call" not in counts, counts
    shown = output(*args, cwd=folder)
    assert "\nValues of arguments and results: 2 sessions now, 2 before; " in shown and "handle(size = 6)" in shown, shown
    single = output(PRINT, "b0", "--diff=a0", "--quiet", cwd=folder)
    assert "a test needs two iterations per side" in " ".join(single.split()) and "handle(size = 6)" in single, single


def check_places(folder):
    """Of each width, signed or not, in registers and on the stack; many are ranges, whose calls are all."""
    found = record(folder, "many(a:int, b:char, c:short, d:u32, x:double, p:ptr, f:long, g:skip, h:s8)>long")
    for argument, value in (("b", "-3"), ("c", "-300"), ("d", "4000000000"), ("p", "0x1234"), ("h", "-8")):
        assert calls(found, argument) == {value: 1000}, (argument, found)
    assert calls(found, "a") == {"0": 1, "1": 1, **{f"{1 << n} to {(2 << n) - 1}": 1 << n for n in range(1, 9)}, "512 to 1023": 488}, found
    assert calls(found, "f")["-16383 to -8192"] == 482, calls(found, "f")
    assert sum(calls(found, "result").values()) == 1000 and "-1048575 to -524288" in calls(found, "result"), found
    assert not calls(found, "x") and not calls(found, "g"), found


def check_recursion(folder):
    """Each open call has its own values."""
    found = record(folder, "deep(n:int)>u8")
    each = {str(n): 5 for n in range(10)}
    assert calls(found, "n") == each and calls(found, "result") == each, found
    walls = {r["value"]: int(r["wall_ns"]) for r in found if r["argument"] == "n"}
    assert walls == {r["value"]: int(r["wall_ns"]) for r in found if r["argument"] == "result"}, found
    assert all(walls[str(n)] < walls[str(n + 1)] for n in range(9)), walls


def check_debug(folder):
    """What the file's debug information says of a function is its signature; without, and of a structure, it is refused."""
    source = f"{folder}/debug.cc"
    with open(source, "w", encoding="ascii") as f:
        f.write("""
struct pair { long a, b, c; };
enum color { RED, GREEN = 7 };
#define OUT __attribute__((noinline))
namespace ns {
struct box { int n; OUT bool put(const char *name, unsigned char size, color c, float f, const int &more) const; };
OUT bool box::put(const char *name, unsigned char size, color c, float f, const int &more) const 
{ static volatile float s; s = name[0] + size + c + f + more + n; return s > 3; }
OUT long whole(int a, pair p, int b) { volatile long s = a + p.a + b; return s; }
OUT pair made(int a) { volatile long s = a; return pair{s, s, s}; }
OUT void nothing() { static volatile int s; s++; }
}
int main(int argc, char **argv)
{
	ns::box b{1};
	for (int i = 0; i < 5; i++) b.put("name", 250, GREEN, 1.5f, i);
	ns::nothing();
	return int(ns::whole(3, ns::made(4), 5)) & 0;
}
""")
    run("c++", "-g", "-O1", "-fno-exceptions", "-o", f"{folder}/debug", source)
    run("c++", "-O1", "-o", f"{folder}/plain", source)

    def values(name, program="debug", code=0):
        done = run(CPUPERF, f"--event=function:{name}", "--output=s", "--", f"./{program}", cwd=folder, code=code)
        return done.stderr if code is None else \
            [json.loads(line) for line in output(PRINT, "s", "--quiet", "--report=values", "--output-format=ndjson", cwd=folder).splitlines()]

    found = values("ns::box::put(...)")
    assert calls(found, "name") == {"name": 5} and calls(found, "size") == {"250": 5} and calls(found, "c") == {"7": 5}, found
    assert list(calls(found, "this").values()) == [5] and calls(found, "result") == {"1": 5} and not calls(found, "f"), found
    assert list(calls(found, "more"))[0].startswith("0x"), found
    found = values("ns::whole(...)")
    assert {r["argument"] for r in found} == {"a", "result"} and calls(found, "a") == {"3": 1} and calls(found, "result") == {"12": 1}, found
    found = values("ns::*(...)")
    assert {r["symbol"][:8] for r in found} == {"_ZNK2ns3", "_ZN2ns5w"}, found
    for name, program, said in (("ns::nothing", "debug", "no argument and no result"), ("ns::made", "debug", "returns a structure"),
                                ("ns::whole", "plain", "no debug information")):
        assert said in values(f"{name}(...)", program, code=None), name


def check_tree(folder):
    """Each call is under its caller, with and without frame pointers, although the callers' return addresses are replaced."""
    for options in (["-fomit-frame-pointer"], ["-fno-omit-frame-pointer"]):
        folder = f"{folder}/t"
        os.mkdir(folder)
        with open(f"{folder}/tree.c", "w", encoding="ascii") as f:
            f.write("""
#define OUT __attribute__((noinline))
OUT int parse(int x) { volatile int a = x; return a; }
OUT int from_a(int x) { return parse(x) + 1; }
OUT int from_b(int x) { return from_a(x) + parse(x); }
int main(void) { int s = 0; for (int i = 0; i < 30; i++) s += from_a(i); for (int i = 0; i < 10; i++) s += from_b(i); return s & 0; }
""")
        run("cc", "-O1", "-fno-optimize-sibling-calls", *options, "-o", f"{folder}/tree", f"{folder}/tree.c")
        run(CPUPERF, "--trace=functions", "--output=s", "--", "./tree", cwd=folder)
        paths = {}
        for line in output(PRINT, "s", "--quiet", "--output-format=folded", cwd=folder).splitlines():
            stack, nr = line.rsplit(" ", 1)
            path = ";".join(name for name in stack.split(";") if name in ("main", "from_a", "from_b", "parse"))
            paths[path] = paths.get(path, 0) + int(nr)
        assert paths == {"main": 1, "main;from_a": 30, "main;from_a;parse": 30, "main;from_b": 10, "main;from_b;parse": 10,
                         "main;from_b;from_a": 10, "main;from_b;from_a;parse": 10}, paths


def check_refused(folder):
    program = build(folder)
    for text, said in (("handle(path:foo)", '"foo" is no type of a value'), ("handle(path:str)>double", "a result of type double is not recorded"),
                       ("handle(path)>int", '"path" is not of the form NAME:TYPE'), ("nope(a:int)", 'no function matches "nope"')):
        shown = run(CPUPERF, f"--event=function:{text}", "--", program, code=None).stderr
        assert said in shown, shown
    two = run(CPUPERF, "--event=function:handle(path:str)", "--event=function:handle(path:ptr)", "--", program, code=None).stderr
    assert "two events have signatures of handle that differ" in two, two
    other = run(CPUPERF, "--event=function:handle(path:str)", "--function-way=program", "--", program, code=None).stderr
    assert "recorded by the kernel alone" in other, other


need_programs()
run_checks(globals())
